"""Functions of `scipy.linalg` that are others of a matrix with a structure: symmetric, of diagonals, of a pattern."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..record.dispatch import implements
from .support import asarray, refuse


def symmetric(a, lower=True):
    """The symmetric matrix that one triangle is of."""
    below = np.tril(a, -1) if lower else np.triu(a, 1)
    return below + below.T + np.diag(np.diagonal(a))


@implements(scipy.linalg.pinvh)
def pinvh(recorder, a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    refuse("scipy.linalg.pinvh", return_rank=return_rank or None)
    return recorder.call(scipy.linalg.pinv, (symmetric(asarray(recorder, a), lower),), {"atol": atol, "rtol": rtol})


@implements(scipy.linalg.khatri_rao)
def khatri_rao(recorder, a, b):
    a, b = asarray(recorder, a), asarray(recorder, b)
    return (a[..., :, None, :] * b[..., None, :, :]).reshape(*a.shape[:-2], -1, a.shape[-1])


def toeplitz_of(recorder, c_or_cr):
    parts = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return recorder.call(scipy.linalg.toeplitz, tuple(asarray(recorder, part).reshape(-1) for part in parts), {})


@implements(scipy.linalg.solve_toeplitz)
def solve_toeplitz(recorder, c_or_cr, b, check_finite=True):
    return np.linalg.solve(toeplitz_of(recorder, c_or_cr), asarray(recorder, b))


@implements(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(recorder, c_or_cr, x, check_finite=False, workers=None):
    return toeplitz_of(recorder, c_or_cr) @ asarray(recorder, x)


@implements(scipy.linalg.solve_circulant)
def solve_circulant(recorder, c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    c, b = asarray(recorder, c), asarray(recorder, b)
    if c.ndim > 1 or (baxis, outaxis) != (0, 0) or singular != "raise":
        raise recorder.unsupported("scipy.linalg.solve_circulant of several matrices")
    return np.linalg.solve(recorder.call(scipy.linalg.circulant, (c,), {}), b)


@implements(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(recorder, d, e, select="a", select_range=None, **options):
    if select != "a":
        raise recorder.unsupported("scipy.linalg.eigvalsh_tridiagonal with select")
    return np.linalg.eigvalsh(tridiagonal(recorder, d, e))


@implements(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(recorder, d, e, eigvals_only=False, select="a", select_range=None, **options):
    if select != "a":
        raise recorder.unsupported("scipy.linalg.eigh_tridiagonal with select")
    found = np.linalg.eigh(tridiagonal(recorder, d, e))
    return found[0] if eigvals_only else tuple(found)


def tridiagonal(recorder, d, e):
    d, e = asarray(recorder, d), asarray(recorder, e)
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


@implements(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(recorder, A, B, check_finite=True):
    u, w, vt = np.linalg.svd((asarray(recorder, B).T @ asarray(recorder, A)).T, full_matrices=False)
    return u @ vt, w.sum()


@implements(scipy.linalg.issymmetric)
@implements(scipy.linalg.ishermitian)
def issymmetric(recorder, a, atol=None, rtol=None):
    a = asarray(recorder, a)
    if atol is None and rtol is None:
        return bool(np.all(a == a.T))
    return bool(np.all(np.abs(a - a.T) <= (atol or 0.0) + (rtol or 0.0) * np.abs(a.T)))
