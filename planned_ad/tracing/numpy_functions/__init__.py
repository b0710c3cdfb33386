"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (
    einsum,
    elementwise,
    indexing,
    joining,
    linear,
    matrices,
    norms,
    order,
    reductions,
    refused,
    sequences,
    shapes,
    special,
    statistics,
)
from .reductions import ACCUMULATIONS, REDUCTIONS
from .special import REPLACEMENTS

__all__ = [
    "ACCUMULATIONS",
    "REDUCTIONS",
    "REPLACEMENTS",
    "einsum",
    "elementwise",
    "indexing",
    "joining",
    "linear",
    "matrices",
    "norms",
    "order",
    "reductions",
    "refused",
    "sequences",
    "shapes",
    "special",
    "statistics",
]
