"""What the primal keeps for its adjoint, and what is computed again: one question, in each of its forms."""
