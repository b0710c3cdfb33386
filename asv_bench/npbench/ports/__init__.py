"""The kernels for JAX, as an expert writes them: whole rows and matrices, masks, library factorisations, and scans.

A port has the name and the arguments of its kernel and returns its results; it changes nothing in place.
"""
