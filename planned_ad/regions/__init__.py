"""Integers and views of memory: affine expressions, strided regions, and questions about them."""
