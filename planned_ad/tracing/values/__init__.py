"""Traced arrays, scalars and loop indices: what they answer to operators, attributes and keys."""
