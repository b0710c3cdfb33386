"""Complex numbers and arrays: pairs of reals on a tape that stays real."""
