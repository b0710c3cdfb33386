"""Tape -> tape, without changing its numbers."""
