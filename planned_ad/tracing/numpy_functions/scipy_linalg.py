"""`scipy.linalg`: systems and decompositions with SciPy's options.

`overwrite_a` and its like are permissions, of which no use is made; what `check_finite` looks for is not looked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ...python.versions import SCIPY
from ...rules.systems import order_of_factors
from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from . import decompositions as numpys
from . import systems
from .decompositions import eigen, orthogonal, pseudo_inverse, singular
from .support import asarray, broadcast, constant, reshape, unsupported
from .systems import (
    checked_square,
    cholesky_factor,
    factored,
    matrices,
    require_everywhere,
    solved,
    transposed_matrices,
    triangular,
)


def _columns(recorder: Recorder, b: Value, n: int, name: str) -> tuple[Value, bool]:
    """A right side as a matrix, and whether it is a vector."""
    is_vector = len(b.shape) == 1
    if is_vector:
        b = reshape(recorder, b, (*b.shape, 1))
    if b.shape[-2] != n:
        raise ValueError(f"{name}: incompatible shapes: the matrix has {n} rows, the right side {b.shape[-2]}")
    return b, is_vector


def _finished(recorder: Recorder, x: Value, is_vector: bool) -> Any:
    return recorder.array(reshape(recorder, x, x.shape[:-1]) if is_vector else x)


def _triangle(recorder: Recorder, a: Value, lower: bool, k: int = 0) -> Any:
    array = recorder.array(a)
    return np.tril(array, -k) if lower else np.triu(array, k)


def _symmetric(recorder: Recorder, a: Value, lower: bool) -> Value:
    """The symmetric matrix that one triangle stands for."""
    strict = recorder.value_of(_triangle(recorder, a, lower, 1))
    return recorder.value_of(_triangle(recorder, a, lower) + recorder.array(transposed_matrices(recorder, strict)))


def by_cholesky(recorder: Recorder, factor: Value, b: Value, lower: bool) -> Value:
    first = triangular(recorder, factor, b, lower=lower, transposed=not lower)
    return triangular(recorder, factor, first, lower=lower, transposed=lower)


GENERAL = (None, "gen", "general")
SYMMETRIC = ("sym", "symmetric", "her", "hermitian")


@implements(scipy.linalg.solve)
def solve(
    recorder,
    a,
    b,
    lower=False,
    overwrite_a=False,
    overwrite_b=False,
    check_finite=True,
    assume_a=None,
    transposed=False,
):
    a, b = matrices(recorder, a, b)
    checked_square(a)
    b, is_vector = _columns(recorder, b, a.shape[-1], "solve")
    if assume_a in ("pos", "positive definite"):
        own = a if lower else transposed_matrices(recorder, a)
        return _finished(recorder, by_cholesky(recorder, cholesky_factor(recorder, own), b, True), is_vector)
    if assume_a in ("upper triangular", "lower triangular"):
        options = {"lower": assume_a.startswith("lower"), "transposed": bool(transposed)}
        return _finished(recorder, triangular(recorder, a, b, check=True, **options), is_vector)
    if assume_a == "diagonal":
        a = recorder.value_of(np.tril(_triangle(recorder, a, False)))
    elif assume_a == "tridiagonal":
        a = recorder.value_of(np.triu(np.tril(recorder.array(a), 1), -1))
    elif assume_a in SYMMETRIC:
        a = _symmetric(recorder, a, bool(lower))
    elif assume_a not in (*GENERAL, "banded"):
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    if a.size == 0 or b.size == 0:
        return _finished(recorder, b, is_vector)
    return _finished(recorder, solved(recorder, a, b, bool(transposed)), is_vector)


@implements(scipy.linalg.inv)
def inv(recorder, a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    (a,) = matrices(recorder, a)
    checked_square(a)
    if assume_a in ("upper triangular", "lower triangular"):
        a = recorder.value_of(_triangle(recorder, a, assume_a.startswith("lower")))
    elif assume_a in ("pos", "positive definite", *SYMMETRIC):
        a = _symmetric(recorder, a, bool(lower))
    elif assume_a not in GENERAL:
        raise unsupported(f"scipy.linalg.inv with assume_a={assume_a!r}", "leave it out")
    return recorder.array(systems.inverse_matrices(recorder, a))


@implements(scipy.linalg.det)
def det(recorder, a, overwrite_a=False, check_finite=True):
    return systems.det(recorder, asarray(recorder, a).astype(np.float64))  # as SciPy does for float32


@implements(scipy.linalg.solve_triangular)
def solve_triangular(recorder, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    a, b = matrices(recorder, a, b)
    checked_square(a)
    b, is_vector = _columns(recorder, b, a.shape[-1], "solve_triangular")
    options = {"lower": bool(lower), "transposed": trans not in (0, "N"), "unit": bool(unit_diagonal)}
    return _finished(recorder, triangular(recorder, a, b, check=True, **options), is_vector)


@implements(scipy.linalg.cholesky)
def cholesky(recorder, a, lower=False, overwrite_a=False, check_finite=True):
    return systems.cholesky(recorder, a, upper=not lower)


@implements(scipy.linalg.cho_factor)
def cho_factor(recorder, a, lower=False, overwrite_a=False, check_finite=True):
    """The factor; what SciPy leaves in the other triangle is the matrix, from 1.18 on zeros."""
    (own,) = matrices(recorder, a)
    factor = systems.cholesky(recorder, recorder.array(own), upper=not lower)
    if SCIPY >= (1, 18):
        return factor, lower
    other = _triangle(recorder, own, not lower, 1)
    return factor + other, lower


@implements(scipy.linalg.cho_solve)
def cho_solve(recorder, c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    c, b = matrices(recorder, c, b)
    b, is_vector = _columns(recorder, b, c.shape[-1], "cho_solve")
    return _finished(recorder, by_cholesky(recorder, c, b, bool(lower)), is_vector)


# LU, with its factors as numbers.


def _interchanges(recorder: Recorder, f: Value) -> Any:
    """From 0, as SciPy has them."""
    n = order_of_factors(f.shape[-1])
    return recorder.array(f)[..., n * n : n * n + n].astype(np.int32) - np.int32(1)


def _order(recorder: Recorder, piv: Any) -> Value:
    """The permutation that interchanges make."""
    return recorder.apply("permutation", recorder.value_of(piv.astype(np.int64) + 1), inverse=False)


def _rows(recorder: Recorder, a: Any, order: Value) -> Any:
    """The rows of each matrix in another order."""
    return np.take_along_axis(a, recorder.array(order)[..., None], axis=-2)


def _factors(recorder: Recorder, a: Any, name: str) -> tuple[Value, Value]:
    (a,) = matrices(recorder, a)
    if a.shape[-1] != a.shape[-2] or not a.size:
        raise unsupported(f"{name} of a matrix that is not square, or empty", "use qr, or pad it")
    f = factored(recorder, a, required=False)
    return f, recorder.apply("lu_factors", f)


@implements(scipy.linalg.lu_factor)
def lu_factor(recorder, a, overwrite_a=False, check_finite=True):
    f, numbers = _factors(recorder, a, "scipy.linalg.lu_factor")
    return recorder.array(numbers), _interchanges(recorder, f)


@implements(scipy.linalg.lu_solve)
def lu_solve(recorder, lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, piv = lu_and_piv
    lu, b = matrices(recorder, lu, b)
    b, is_vector = _columns(recorder, b, lu.shape[-1], "lu_solve")
    order = _order(recorder, asarray(recorder, piv))
    if trans in (0, "N"):
        own = recorder.value_of(_rows(recorder, recorder.array(b), order))
        own = triangular(recorder, lu, own, lower=True, transposed=False, unit=True)
        return _finished(recorder, triangular(recorder, lu, own, lower=False, transposed=False), is_vector)
    own = triangular(recorder, lu, b, lower=False, transposed=True)
    own = triangular(recorder, lu, own, lower=True, transposed=True, unit=True)
    back = recorder.apply("permutation", recorder.value_of(asarray(recorder, piv).astype(np.int64) + 1), inverse=True)
    return _finished(recorder, recorder.value_of(_rows(recorder, recorder.array(own), back)), is_vector)


@implements(scipy.linalg.lu)
def lu(recorder, a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    f, numbers = _factors(recorder, a, "scipy.linalg.lu")
    n = numbers.shape[-1]
    piv = _interchanges(recorder, f).astype(np.int64) + 1
    back = recorder.apply("permutation", recorder.value_of(piv), inverse=True)
    lower = _triangle(recorder, numbers, True, 1) + np.eye(n, dtype=numbers.dtype)
    upper = _triangle(recorder, numbers, False)
    if permute_l:
        return _rows(recorder, lower, back), upper
    if p_indices:
        return recorder.array(back).astype(np.int32), lower, upper
    columns = np.arange(n) == recorder.array(back)[..., None]
    return columns.astype(numbers.dtype), lower, upper


# Bands.


@implements(scipy.linalg.solve_banded)
def solve_banded(recorder, l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    lower, upper = (int(k) for k in l_and_u)
    ab, b = matrices(recorder, ab, b)
    if ab.shape[-2] != lower + upper + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) does "
            f"not equal ab.shape[0] ({ab.shape[-2]})"
        )
    b, is_vector = _columns(recorder, b, ab.shape[-1], "solve_banded")
    if b.size == 0:
        return _finished(recorder, b, is_vector)
    f = recorder.apply("band_lu", ab, lower=lower, upper=upper)
    pivot = systems.last(recorder, f, f.shape[-1] - 1)
    require_everywhere(recorder, recorder.apply("equal", pivot, constant(recorder, 0, pivot.dtype)), "singular matrix")
    batch = np.broadcast_shapes(f.shape[:-1], b.shape[:-2])
    f, b = broadcast(recorder, f, (*batch, f.shape[-1])), broadcast(recorder, b, (*batch, *b.shape[-2:]))
    x = recorder.apply("band_solve", f, b, lower=lower, upper=upper, transposed=False)
    return _finished(recorder, x, is_vector)


# Equations of matrices.


@implements(scipy.linalg.solve_sylvester)
def solve_sylvester(recorder, a, b, q):
    return recorder.array(recorder.apply("sylvester", *matrices(recorder, a, b, q)))


@implements(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(recorder, a, q):
    a, q = matrices(recorder, a, q)
    return recorder.array(recorder.apply("sylvester", a, transposed_matrices(recorder, a), q))


@implements(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(recorder, a, q, method=None):
    """By the bilinear transformation to the continuous equation, whichever method is asked for."""
    a, q = map(recorder.array, matrices(recorder, a, q))
    one = np.eye(a.shape[-1])
    inverse = np.linalg.inv(a.T + one)
    b = inverse @ (a.T - one)
    c = 2 * (np.linalg.inv(a + one) @ q @ inverse)
    return solve_continuous_lyapunov(recorder, b.T, -c)


# Decompositions.


def _standard(recorder: Recorder, a: Value, b: Any, lower: bool, kind: int) -> tuple[Value, Value | None]:
    """The symmetric matrix of which the values are wanted, and the Cholesky factor of `b`."""
    if b is None:
        return a, None
    _, b = matrices(recorder, recorder.array(a), b)
    factor = cholesky_factor(recorder, b if lower else transposed_matrices(recorder, b))
    if kind != 1:
        left, whole = recorder.array(factor), recorder.array(_symmetric(recorder, a, lower))
        return recorder.value_of(np.swapaxes(left, -1, -2) @ whole @ left), factor
    half = triangular(recorder, factor, _symmetric(recorder, a, lower), lower=True, transposed=False)
    both = triangular(recorder, factor, transposed_matrices(recorder, half), lower=True, transposed=False)
    return both, factor


@implements(scipy.linalg.eigh)
def eigh(
    recorder,
    a,
    b=None,
    *,
    lower=True,
    eigvals_only=False,
    overwrite_a=False,
    overwrite_b=False,
    type=1,
    check_finite=True,
    subset_by_index=None,
    subset_by_value=None,
    driver=None,
):
    (a,) = matrices(recorder, a)
    checked_square(a)
    if subset_by_value is not None or driver not in (None, "evr", "evd", "gvd"):
        raise unsupported("scipy.linalg.eigh with these options", "leave them out, or choose driver='evd'")
    own, factor = _standard(recorder, a, b, bool(lower), type)
    name = "evd" if driver in ("evd", "gvd") or b is not None else "evr"
    w, v = eigen(recorder, own, bool(lower), name)
    if factor is not None and type != 3:
        v = triangular(recorder, factor, v, lower=True, transposed=True)
    w, v = recorder.array(w), recorder.array(v)
    if factor is not None and type == 3:
        v = recorder.array(factor) @ v
    if subset_by_index is not None:
        first, final = (int(k) for k in subset_by_index)
        w, v = w[..., first : final + 1], v[..., first : final + 1]
    return w if eigvals_only else (w, v)


@implements(scipy.linalg.eigvalsh)
def eigvalsh(recorder, a, b=None, **options):
    return eigh(recorder, a, b, eigvals_only=True, **options)


@implements(scipy.linalg.svd)
def svd(recorder, a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    if lapack_driver != "gesdd":
        raise unsupported(f"scipy.linalg.svd with lapack_driver={lapack_driver!r}", "leave it out")
    found = numpys.svd(recorder, a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@implements(scipy.linalg.svdvals)
def svdvals(recorder, a, overwrite_a=False, check_finite=True):
    return numpys.svd(recorder, a, compute_uv=False)


@implements(scipy.linalg.pinv)
def pinv(recorder, a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    if atol not in (None, 0) or return_rank:
        raise unsupported("scipy.linalg.pinv with atol or return_rank", "give rtol, and use np.linalg.matrix_rank")
    (a,) = matrices(recorder, a)
    if a.size == 0:
        return recorder.array(transposed_matrices(recorder, a))
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    return recorder.array(pseudo_inverse(recorder, a, rtol))


@implements(scipy.linalg.lstsq)
def lstsq(recorder, a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    eps = float(np.finfo(recorder.result_type(a, b)).eps) if recorder.result_type(a, b).kind == "f" else 2.0**-52
    x, residuals, rank, s = numpys.lstsq(recorder, a, b, eps if cond is None else cond)
    if np.ndim(b) == 1 and residuals.shape == (1,):
        residuals = residuals[0] if SCIPY < (1, 18) else residuals.reshape(())
    return x, residuals, rank, s


@implements(scipy.linalg.norm)
def norm(recorder, a, ord=None, axis=None, keepdims=False, check_finite=True):
    found = np.linalg.norm(a, ord, axis, keepdims)
    is_by_blas = ord in (None, 2) and axis is None and not keepdims and np.ndim(a) == 1
    return found.item() if is_by_blas else found


def unpivoted_qr(recorder: Recorder, a: Any, mode: str = "full") -> Any:
    """`scipy.linalg.qr` without pivots."""
    if mode == "raw":
        raise unsupported("scipy.linalg.qr with mode='raw'", "leave it out")
    (a,) = matrices(recorder, a)
    q, r = map(recorder.array, orthogonal(recorder, a, mode != "economic"))
    return (r,) if mode == "r" else (q, r)


@implements(scipy.linalg.rq)
def rq(recorder, a, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    """`J (Q R)^T J` of the matrix read from its last number to its first, of which that is the QR decomposition."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    (a,) = matrices(recorder, a)
    turned = recorder.array(a)[..., ::-1, ::-1]
    (turned,) = matrices(recorder, np.swapaxes(turned, -1, -2))
    found = map(recorder.array, orthogonal(recorder, turned, mode != "economic"))
    q, r = (np.swapaxes(part, -1, -2)[..., ::-1, ::-1] for part in found)
    return r if mode == "r" else (r, q)


def _rank(recorder: Recorder, s: Any, shape: tuple[int, ...], rcond: Any) -> int:
    """How many singular values count, which the plan relies on."""
    rcond = float(np.finfo(s.dtype).eps) * max(shape) if rcond is None else rcond
    count = np.sum(s > np.max(s, initial=0.0) * rcond)
    return int(recorder.outcome(recorder.value_of(count), "rank"))


@implements(scipy.linalg.orth)
def orth(recorder, A, rcond=None):
    (a,) = matrices(recorder, A)
    u, s, _ = map(recorder.array, singular(recorder, a))
    return u[:, : _rank(recorder, s, a.shape, rcond)]


@implements(scipy.linalg.null_space)
def null_space(recorder, A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    (a,) = matrices(recorder, A)
    _, s, vh = map(recorder.array, singular(recorder, a, True))
    return vh[_rank(recorder, s, a.shape, rcond) :].T


@implements(scipy.linalg.subspace_angles)
def subspace_angles(recorder, A, B):
    """Small ones by their sines, others by their cosines, as SciPy has them."""
    first, second = orth(recorder, A), orth(recorder, B)
    if len(first) != len(second):
        raise ValueError("A and B must have the same number of rows")
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    both = first.T @ second
    cosines, sines = np.linalg.svdvals(both), np.linalg.svdvals(second - first @ both)
    small = cosines**2 >= 0.5
    by_cosines = np.arccos(np.clip(np.where(small, 0.0, cosines[::-1]), -1.0, 1.0))
    return np.where(small, np.arcsin(np.clip(np.where(small, sines, 0.0), -1.0, 1.0)), by_cosines)


@implements(scipy.linalg.polar)
def polar(recorder, a, side="right"):
    (a,) = matrices(recorder, a)
    u, s, vh = map(recorder.array, singular(recorder, a))
    if side == "right":
        return u @ vh, (np.swapaxes(vh, -1, -2) * s[..., None, :]) @ vh
    return u @ vh, (u * s[..., None, :]) @ np.swapaxes(u, -1, -2)


# Matrices that are made of vectors.


def _vector(recorder: Recorder, c: Any) -> Any:
    return asarray(recorder, c).reshape(-1)


@implements(scipy.linalg.toeplitz)
def toeplitz(recorder, c, r=None):
    c = _vector(recorder, c)
    r = c if r is None else _vector(recorder, r)
    numbers = np.concatenate([c[::-1], r[1:]])
    return numbers[np.arange(len(c))[::-1][:, None] + np.arange(len(r))]


@implements(scipy.linalg.hankel)
def hankel(recorder, c, r=None):
    c = _vector(recorder, c)
    r = np.zeros(len(c), c.dtype) if r is None else _vector(recorder, r)
    return np.concatenate([c, r[1:]])[np.arange(len(c))[:, None] + np.arange(len(r))]


@implements(scipy.linalg.circulant)
def circulant(recorder, c):
    c = asarray(recorder, c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]
