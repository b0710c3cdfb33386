"""Loop nests with explicit SIMD."""
