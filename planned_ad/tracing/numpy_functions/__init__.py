"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (  # noqa: F401
    decompositions,
    einsum,
    elementwise,
    indexing,
    joining,
    linear,
    matrices,
    matrix_functions,
    order,
    reductions,
    refused,
    scipy_linalg,
    sequences,
    shapes,
    systems,
    text,
)
