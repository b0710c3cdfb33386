"""What passes ask of a tape: facts, which change nothing."""
