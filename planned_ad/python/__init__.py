"""The user's program, as Python has it: its names, containers, code objects and source lines."""
