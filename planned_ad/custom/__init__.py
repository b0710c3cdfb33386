"""Functions with derivatives of their own."""
