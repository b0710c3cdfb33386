"""Symmetric bands of `scipy.linalg`. All but `solveh_banded` write out whole matrices: the cost is that of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..record.dispatch import implements
from ..record.recorder import Recorder
from .scipy_linalg import by_cholesky, solve_banded
from .support import asarray, floating, unsupported
from .systems import NOT_POSITIVE_DEFINITE, require_everywhere


def diagonals(recorder: Recorder, ab: Any, lower: bool) -> list[tuple[int, Any]]:
    """How far below the main diagonal, and the numbers of each, for a band as SciPy has it."""
    ab = recorder.array(floating(recorder, ab))
    count, n = ab.shape[-2] - 1, ab.shape[-1]
    return [(k, ab[k, : n - k] if lower else ab[count - k, k:]) for k in range(count + 1) if k < n]


def one_band(recorder: Recorder, ab: Any, function: str) -> None:
    if np.ndim(ab) != 2:
        raise unsupported(f"{function} of several matrices", "call it for each")


def lower_matrix(recorder: Recorder, ab: Any, lower: bool) -> Any:
    """The lower triangle of the matrix."""
    rows = diagonals(recorder, ab, lower)
    n = rows[0][1].shape[0]
    found = recorder.empty((n, n), rows[0][1].dtype)
    found[...] = 0.0
    for k, numbers in rows:
        places = np.arange(n - k)
        found[places + k, places] = numbers
    return found


@implements(scipy.linalg.cholesky_banded)
def cholesky_banded(recorder, ab, overwrite_ab=False, lower=False, check_finite=True):
    one_band(recorder, ab, "scipy.linalg.cholesky_banded")
    ab = asarray(recorder, ab)
    factor = np.linalg.cholesky(lower_matrix(recorder, ab, lower))
    count, n = ab.shape[-2] - 1, ab.shape[-1]
    found = recorder.empty(ab.shape, factor.dtype)
    found[...] = ab  # in whose corners LAPACK leaves what is there
    for k in range(min(count + 1, n)):
        numbers = np.diagonal(factor, -k)
        if lower:
            found[k, : n - k] = numbers
        else:
            found[count - k, k:] = numbers
    return found


@implements(scipy.linalg.cho_solve_banded)
def cho_solve_banded(recorder, cb_and_lower, b, overwrite_b=False, check_finite=True):
    cb, lower = cb_and_lower
    one_band(recorder, cb, "scipy.linalg.cho_solve_banded")
    factor, b = lower_matrix(recorder, cb, lower), asarray(recorder, b)
    require_everywhere(recorder, recorder.value_of(np.diagonal(factor) != 0), "singular matrix")
    dtype = np.result_type(factor.dtype, b.dtype)
    right = recorder.value_of((b[:, None] if b.ndim == 1 else b).astype(dtype))
    x = recorder.array(by_cholesky(recorder, recorder.value_of(factor.astype(dtype)), right, True))
    return x[:, 0] if b.ndim == 1 else x


@implements(scipy.linalg.solveh_banded)
def solveh_banded(recorder, ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """By LU, of the whole band; whether the matrix is positive definite is asked apart from it."""
    ab = asarray(recorder, ab)
    count, n = ab.shape[-2] - 1, ab.shape[-1]
    whole = recorder.empty((*ab.shape[:-2], 2 * count + 1, n), ab.dtype)
    below = recorder.call(np.zeros, ((*ab.shape[:-2], count + 1, n + count), ab.dtype), {})
    for k in range(min(count, n - 1) + 1):  # the k-th diagonal above, and below
        upper = ab[..., k, : n - k] if lower else ab[..., count - k, k:]
        whole[..., count - k, k:] = upper
        whole[..., count + k, : n - k] = upper
        below[..., k, : n - k] = upper
    smallest = recorder.namespace.function(smallest_pivot)(below, n)
    require_everywhere(recorder, recorder.value_of(np.logical_not(smallest <= 0)), NOT_POSITIVE_DEFINITE)
    return solve_banded(recorder, (count, count), whole, b)


def smallest_pivot(below, n):
    """Of the elimination without exchanges, which of a symmetric matrix are all positive where it is positive definite.

    `below` are the diagonals from the main one downwards, each with room for as many zeros as there are others, and is
    overwritten.
    """
    smallest = below[..., 0, 0]
    for j in range(n):
        pivot = below[..., 0, j]
        smallest = np.fmin(smallest, pivot)
        for k in range(1, below.shape[-2]):
            factor = below[..., k, j] / pivot
            for i in range(k, below.shape[-2]):
                below[..., i - k, j + k] -= factor * below[..., i, j]
    return smallest


@implements(scipy.linalg.eig_banded)
def eig_banded(
    recorder, a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", select_range=None,
    max_ev=0, check_finite=True,
):  # fmt: skip
    one_band(recorder, a_band, "scipy.linalg.eig_banded")
    if select not in ("a", "all", 0):
        raise unsupported("scipy.linalg.eig_banded with select=", "take the values that are wanted from all of them")
    if not eigvals_only:
        raise unsupported("scipy.linalg.eig_banded with vectors", "use np.linalg.eigh, or eigvals_only=True")
    return np.linalg.eigvalsh(lower_matrix(recorder, a_band, lower))


@implements(scipy.linalg.eigvals_banded)
def eigvals_banded(
    recorder, a_band, lower=False, overwrite_a_band=False, select="a", select_range=None, check_finite=True
):
    return eig_banded(recorder, a_band, lower, True, select=select, select_range=select_range)


@implements(scipy.linalg.bandwidth)
def bandwidth(recorder, a):
    """How far below and above the main diagonal numbers are that are not zero, which the plan relies on."""
    a = asarray(recorder, a)
    below = np.arange(a.shape[0])[:, None] - np.arange(a.shape[1])
    present = a != 0
    found = (np.max(np.where(present, places, 0), initial=0) for places in (below, -below))
    return tuple(int(recorder.outcome(recorder.value_of(number), "bandwidth")) for number in found)
