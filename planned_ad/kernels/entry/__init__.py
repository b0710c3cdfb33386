"""How compiled calls are entered: from Python, from `@njit` code and from C."""
