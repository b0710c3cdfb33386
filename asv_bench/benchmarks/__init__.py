"""Benchmarks: what planned_ad allocates, how fast it is, and how its peers do on the same programs."""

import os

# What is compiled here is compiled: nothing of an earlier run is found.
os.environ["PLANNED_AD_CACHE_DIR"] = os.environ.get("PLANNED_AD_BENCH_CACHE_DIR", "off")
