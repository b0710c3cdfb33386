"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (
    einsum,
    elementwise,
    indexing,
    joining,
    linear,
    matrices,
    norms,
    reductions,
    refused,
    sequences,
    shapes,
    special,
    statistics,
)
from .special import REPLACEMENTS

__all__ = [
    "REPLACEMENTS",
    "einsum",
    "elementwise",
    "indexing",
    "joining",
    "linear",
    "matrices",
    "norms",
    "reductions",
    "refused",
    "sequences",
    "shapes",
    "special",
    "statistics",
]
