"""What a function reads from outside: found again at each call."""
