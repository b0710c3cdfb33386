"""What traced code sees in place of NumPy's functions, built-ins, classes and random generators."""
