"""`scipy.linalg.lu_factor` and `lu_solve` of complex matrices: Gauss's elimination, a column at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..complex.functions import of_complex
from ..complex.linear_algebra import MOST_ROWS
from ..complex.pairs import complex_of
from ..record.recorder import Recorder
from .scipy_linalg import _order
from .support import asarray, unsupported


def complex_square(recorder: Recorder, a: Any, name: str) -> Any:
    a = complex_of(recorder, a)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape[0] > MOST_ROWS:
        raise unsupported(
            f"{name} of complex matrices that are not one square one of up to {MOST_ROWS} rows",
            "use numpy.linalg.solve",
        )
    return a


@of_complex(scipy.linalg.lu_factor)
def complex_lu_factor(recorder, a, overwrite_a=False, check_finite=True):
    """The pivot of a column is the first with the largest sum of the sizes of its parts, as in LAPACK."""
    a = complex_square(recorder, a, "scipy.linalg.lu_factor")
    n, pivots = a.shape[0], []
    for k in range(n):
        column, rows = a[k:, k], np.arange(n - k)
        best = np.argmax(np.abs(column.real) + np.abs(column.imag))
        pivots.append(best + k)
        first = a[k:][best]
        others = np.where((rows == best)[:, None], a[k], a[k:])[1:]
        factors = others[:, k] / first[k]
        rest = others[:, k + 1 :] - factors[:, None] * first[k + 1 :]
        below = np.concatenate([others[:, :k], factors[:, None], rest], axis=1)
        a = np.concatenate([a[:k], first[None], below])
    return a, recorder.array(recorder.stacked(pivots)).astype(np.int32)


@of_complex(scipy.linalg.lu_solve)
def complex_lu_solve(recorder, lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, pivots = lu_and_piv
    lu = complex_square(recorder, lu, "scipy.linalg.lu_solve")
    if trans:
        raise unsupported("scipy.linalg.lu_solve of complex matrices with trans=", "factor the transpose")
    order = recorder.array(_order(recorder, asarray(recorder, pivots)))
    given = complex_of(recorder, b)[order]
    n = lu.shape[0]
    forward: list[Any] = []
    found: list[Any] = []
    for k in range(n):
        own = given[k]
        for j in range(k):
            own = own - lu[k, j] * forward[j]
        forward.append(own)
    for k in reversed(range(n)):
        own = forward[k]
        for j in range(k + 1, n):
            own = own - lu[k, j] * found[n - 1 - j]
        found.append(own / lu[k, k])
    return np.stack(found[::-1])
