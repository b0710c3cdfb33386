"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (  # noqa: F401
    decompositions,
    distributions,
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
    special,
    special_formulas,
    systems,
    text,
    ufunc_methods,
)
