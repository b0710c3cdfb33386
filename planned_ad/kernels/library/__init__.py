"""Products, scans and callees: what is called or blocked rather than fused."""
