"""The differentiable kernels of NPBench in plain NumPy, and `ports`: the same as an expert writes them for JAX.

The kernels are written from their definitions (PolyBench/C, lectures on Navier-Stokes, COSMO's stencils) in NPBench's
way: loops, slices, arrays that are changed in place.
"""
