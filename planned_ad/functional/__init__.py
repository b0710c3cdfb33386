"""Derivatives as functions: `grad`, `vjp`, `jacobian` and their like, outside of traced code and in it."""
