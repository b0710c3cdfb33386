"""Whether a trace gives what the function gives."""
