"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import einsum, elementwise, indexing, joining, linear, matrices, reductions, refused, sequences, shapes  # noqa: F401
