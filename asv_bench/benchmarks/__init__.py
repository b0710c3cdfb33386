"""Benchmarks: what planned_ad allocates, how fast it is, and how its peers do on the same programs."""
