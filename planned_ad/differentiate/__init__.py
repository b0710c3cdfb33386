"""Tape -> tape: reverse mode, forward mode, transposition, batches."""
