"""What the calls of a plan do: their entries, arguments, variants and explanations."""
