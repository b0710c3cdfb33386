"""Elementary and special functions in vector registers, as formulas."""
