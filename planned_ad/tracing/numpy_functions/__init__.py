"""NumPy's functions on traced values. Importing this package fills the table `dispatch.FUNCTIONS`."""

from . import (  # noqa: F401
    einsum,
    elementwise,
    indexing,
    joining,
    linear,
    matrices,
    order,
    reductions,
    refused,
    sequences,
    shapes,
    text,
)
