"""The tracers, and what traced code sees in place of NumPy; `planned_ad.trace` is the front door."""
