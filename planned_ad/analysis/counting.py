"""Known arrays that count evenly: what they hold at a place is computed from the place, and never read.

>>> counting(np.arange(3, 20003, 2))
(3, 2)
>>> counting(np.arange(10000.0) ** 2) is None
True
"""

from __future__ import annotations

import numpy as np

LEAST = {"f": 1 << 12, "i": 2}  # elements: shorter floats are read from near memory as fast; integers are indices
EXACT = 1 << 53  # whole numbers below are exact as floating ones


def counting(data: np.ndarray) -> tuple[int, int] | None:
    """`(first, step)` of an array whose k-th element, in C order, is `first + step * k`; None of any other.

    Of floating numbers, whole ones that are exact in double precision, and no zero with a sign.
    """
    if data.dtype.kind not in "if" or data.dtype.itemsize != 8 or data.size < LEAST[data.dtype.kind]:
        return None
    flat = data.reshape(-1)
    ends = [flat[k].item() for k in (0, 1, -1)]
    if any(not abs(end) < EXACT or end != int(end) for end in ends):
        return None
    first, second, last = map(int, ends)
    step = second - first
    if last != first + step * (flat.size - 1) or not np.array_equal(flat, np.arange(flat.size) * step + first):
        return None
    return None if np.any(np.signbit(flat[flat == 0])) else (first, step)
