"""Sparse Jacobians and Hessians: patterns, colourings, and few products."""
