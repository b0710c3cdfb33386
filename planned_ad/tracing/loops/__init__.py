"""Loops and branches recorded once: what is handed on, compared, chosen and filled."""
