"""Elementwise primitives whose derivative is zero: comparisons, logic, bits, tests of a number, index arithmetic."""

from __future__ import annotations

import numpy as np

from .elementwise import ANY
from .rows import boolean, row

for _compare in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
    row(_compare.__name__, _compare, (None, None), ("", ""), kinds=ANY, result=boolean)

for _logic in (np.logical_and, np.logical_or, np.logical_xor):
    row(_logic.__name__, _logic, (None, None), ("", ""), kinds=("b",), result=boolean)
row("logical_not", np.logical_not, (None,), ("",), kinds=("b",), result=boolean)

for _bits in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
    row(_bits.__name__, _bits, (None, None), ("", ""), kinds=("i", "b"))
row("bitwise_invert", np.bitwise_invert, (None,), ("",), kinds=("i", "b"))
row("left_shift", np.left_shift, (None, None), ("", ""), kinds=("i",), samples=((-9, 9), (0, 5)))
row("right_shift", np.right_shift, (None, None), ("", ""), kinds=("i",), samples=((-99, 99), (0, 5)))

for _test in (np.isnan, np.isinf, np.isfinite, np.signbit):
    row(_test.__name__, _test, (None,), ("",), result=boolean)

# An index counted from either end of an axis, as one counted from its start.
row(
    "wrap_index",
    lambda i, *, extent: np.where(i < 0, i + extent, i),
    (None,),
    ("",),
    kinds=("i",),
    samples=((-5, 4),),
    examples=({"extent": 5},),
)
