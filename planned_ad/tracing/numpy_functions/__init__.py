"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (
    decompositions,
    einsum,
    elementwise,
    indexing,
    joining,
    linear,
    matrices,
    matrix_functions,
    norms,
    order,
    reductions,
    refused,
    scipy_linalg,
    sequences,
    shapes,
    special,
    statistics,
    systems,
)
from .reductions import ACCUMULATIONS, REDUCTIONS
from .special import REPLACEMENTS

__all__ = [
    "ACCUMULATIONS",
    "REDUCTIONS",
    "REPLACEMENTS",
    "decompositions",
    "einsum",
    "elementwise",
    "indexing",
    "joining",
    "linear",
    "matrices",
    "matrix_functions",
    "norms",
    "order",
    "reductions",
    "refused",
    "scipy_linalg",
    "sequences",
    "shapes",
    "special",
    "statistics",
    "systems",
]
