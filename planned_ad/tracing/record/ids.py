"""The ids of the values of a trace, in ranges by their names; those of the program itself count from zero."""

SIDES = range(1 << 30, 1 << 40, 1 << 24)  # of sides of branches: where each begins
APART = range(1 << 40, 1 << 50)  # of what is recorded in front of blocks
CONSTANTS = range(1 << 50, 1 << 60)
DERIVATIVES = range(1 << 60, 1 << 61)  # of a derivative that is being written
