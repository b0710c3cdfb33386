"""Eigenvalues, singular values and QR, and what is made of them: norms, ranks, pseudo-inverses, least squares.

Compositions of the primitives of `planned_ad.rules.decompositions`; what has no convergence (of nan, say) raises, as in
NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, QRResult, SVDResult

from ...regions.regions import View, c_strides
from ...rules.decompositions import qr_shapes, size, svd_shapes
from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .support import NO_VALUE, broadcast, constant, unsupported
from .systems import checked_square, factored, last, matrices, require_everywhere, transposed_matrices

Shape = tuple[int, ...]


def unpacked(recorder: Recorder, packed: Value, shapes: list[Shape]) -> list[Value]:
    """The arrays of these shapes that each row has, one after the other."""
    *batch, width = packed.shape
    found, start = [], 0
    for shape in shapes:
        strides = (*(s * width for s in c_strides(tuple(batch))), *c_strides(shape))
        found.append(recorder.builder.view(packed, View(start, (*batch, *shape), strides)))
        start += size(shape)
    return found


def require_convergence(recorder: Recorder, values: Value, message: str) -> None:
    first = last(recorder, values, 0)
    require_everywhere(recorder, recorder.apply("equal", first, first), message)


def filled_with_zeros(recorder: Recorder, dtype: np.dtype, shape: Shape) -> Value:
    return broadcast(recorder, constant(recorder, 0, dtype), shape)


# Eigenvalues.


def eigen(recorder: Recorder, a: Value, lower: bool, driver: str = "evd") -> list[Value]:
    """Values and vectors of symmetric matrices."""
    n = a.shape[-1]
    if a.size == 0:
        return [filled_with_zeros(recorder, a.dtype, a.shape[:-1]), a]
    packed = recorder.apply("eigh", a, lower=lower, driver=driver)
    values, vectors = unpacked(recorder, packed, [(n,), (n, n)])
    require_convergence(recorder, values, "Eigenvalues did not converge")
    return [values, vectors]


def _is_lower(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


@implements(np.linalg.eigh)
def eigh(recorder, a, UPLO="L"):
    lower = _is_lower(UPLO)
    (a,) = matrices(recorder, a)
    return EighResult(*map(recorder.array, eigen(recorder, checked_square(a), lower)))


@implements(np.linalg.eigvalsh)
def eigvalsh(recorder, a, UPLO="L"):
    lower = _is_lower(UPLO)
    (a,) = matrices(recorder, a)
    return recorder.array(eigen(recorder, checked_square(a), lower)[0])


# Singular values.


def singular(recorder: Recorder, a: Value, full: bool = False) -> list[Value]:
    """`U`, singular values, `V^T`."""
    *batch, m, n = a.shape
    shapes = svd_shapes((m, n), full)
    if a.size == 0:
        parts = [np.broadcast_to(np.eye(*s, dtype=a.dtype), (*batch, *s)) for s in (shapes[0], shapes[2])]
        u, vh = map(recorder.value_of, parts)
        return [u, filled_with_zeros(recorder, a.dtype, (*batch, 0)), vh]
    found = unpacked(recorder, recorder.apply("svd", a, full=full), shapes)
    require_convergence(recorder, found[1], "SVD did not converge")
    return found


@implements(np.linalg.svd)
def svd(recorder, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        raise unsupported("np.linalg.svd with hermitian=True", "use np.linalg.eigh, or leave it out")
    (a,) = matrices(recorder, a)
    if not compute_uv:
        return recorder.array(singular(recorder, a)[1])
    return SVDResult(*map(recorder.array, singular(recorder, a, bool(full_matrices))))


@implements(np.linalg.svdvals)
def svdvals(recorder, x, /):
    return svd(recorder, x, compute_uv=False)


# QR.


def orthogonal(recorder: Recorder, a: Value, complete: bool) -> list[Value]:
    """`Q` and `R`; of a wide matrix, those of its first columns, and `Q^T` times the others."""
    *batch, m, n = a.shape
    k = min(m, n)
    array = recorder.array(a)
    if a.size == 0:
        count = m if complete else k
        q = recorder.value_of(np.broadcast_to(np.eye(m, count, dtype=a.dtype), (*batch, m, count)))
        return [q, filled_with_zeros(recorder, a.dtype, (*batch, count, n))]
    first = recorder.value_of(array[..., :k])
    q, r = unpacked(recorder, recorder.apply("qr", first, complete=complete), qr_shapes((m, k), complete))
    if n > k:
        rest = recorder.array(transposed_matrices(recorder, q)) @ array[..., k:]
        r = recorder.value_of(np.concatenate([recorder.array(r), rest], axis=-1))
    elif complete and m > k:
        below = recorder.array(filled_with_zeros(recorder, a.dtype, (*batch, m - k, n)))
        r = recorder.value_of(np.concatenate([recorder.array(r), below], axis=-2))
    return [q, r]


@implements(np.linalg.qr)
def qr(recorder, a, mode="reduced"):
    if mode in ("f", "full", "e", "economic", "raw"):
        raise unsupported(f"np.linalg.qr with mode={mode!r}", "use 'reduced', 'complete' or 'r'")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    (a,) = matrices(recorder, a)
    q, r = orthogonal(recorder, a, mode == "complete")
    if mode == "r":
        return recorder.array(r)
    return QRResult(recorder.array(q), recorder.array(r))


# What is made of singular values.


def tolerances(recorder: Recorder, s: Value, shape: Shape, rtol: Any, tol: Any = None) -> Any:
    """Below which singular values count as zero, for each matrix; without derivative."""
    if tol is not None:
        return np.asarray(tol)[..., None] if np.ndim(tol) else tol
    if rtol is None:
        rtol = max(shape[-2:]) * float(np.finfo(s.dtype).eps)
    largest = recorder.array(recorder.apply("stop_gradient", recorder.apply("reduce_max", s, axes=(len(s.shape) - 1,))))
    return (largest * rtol)[..., None]


@implements(np.linalg.matrix_rank)
def matrix_rank(recorder, A, tol=None, hermitian=False, *, rtol=None):
    value = recorder.value_of(A)
    if len(value.shape) < 2:
        nonzero = recorder.apply("not_equal", value, constant(recorder, 0, value.dtype))
        return np.any(recorder.array(nonzero)).astype(np.int64)
    (a,) = matrices(recorder, A)
    if a.size == 0:
        return recorder.result(broadcast(recorder, constant(recorder, 0, np.int64), a.shape[:-2]))
    s = singular(recorder, a)[1]
    return np.count_nonzero(recorder.array(s) > tolerances(recorder, s, a.shape, rtol, tol), axis=-1)


def pseudo_inverse(recorder: Recorder, a: Value, rcond: Any) -> Value:
    """Of matrices that are not empty."""
    if not isinstance(rcond, int | float | np.floating | np.integer):
        raise unsupported("a pseudo-inverse with an array for rcond", "pass a number")
    found = recorder.apply("pinv", a, rcond=float(rcond))
    first = recorder.builder.view(found, View(0, found.shape[:-2], c_strides(found.shape)[:-2]))
    require_everywhere(recorder, recorder.apply("equal", first, first), "SVD did not converge")
    return found


@implements(np.linalg.pinv)
def pinv(recorder, a, rcond=None, hermitian=False, *, rtol=NO_VALUE):
    (a,) = matrices(recorder, a)
    if rcond is None:
        rcond = (
            1e-15 if rtol is NO_VALUE else max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
        )
    elif rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if a.size == 0:
        return recorder.array(transposed_matrices(recorder, a))
    return recorder.array(pseudo_inverse(recorder, a, rcond))


@implements(np.linalg.lstsq)
def lstsq(recorder, a, b, rcond=None):
    """By the pseudo-inverse. Whether there are residuals depends on the rank: the trace of a projector."""
    a, b = matrices(recorder, a, b)
    if len(a.shape) != 2:
        raise np.linalg.LinAlgError(f"{len(a.shape)}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    if a.size == 0 or b.size == 0:
        raise unsupported("np.linalg.lstsq of empty arrays", "leave such systems out")
    eps = float(np.finfo(a.dtype).eps)
    rcond = eps * max(m, n) if rcond is None else eps if rcond < 0 else rcond
    inverse = recorder.array(pseudo_inverse(recorder, a, rcond))
    matrix, right = recorder.array(a), recorder.array(b)
    x = inverse @ right
    s = unpacked(recorder, recorder.apply("svd", a, full=False), svd_shapes((m, n), False))[1]
    rank = np.round(np.sum(inverse * matrix.T)).astype(np.int32)
    residuals = recorder.empty((0,), a.dtype)
    if m > n:
        full = recorder.value_of(rank == n)
        if recorder.scopes.depth:
            require_everywhere(recorder, full, "least squares in a loop with a matrix that has not full rank")
            is_full = True
        else:
            is_full = recorder.outcome(full, "rank")
        if is_full:
            residuals = residuals_of(right, matrix @ x)
    return x, residuals, rank, recorder.array(s)


def residuals_of(right: Any, found: Any) -> Any:
    """The squared distance of each column."""
    return np.atleast_1d(np.sum((right - found) ** 2, axis=0))


@implements(np.linalg.cond)
def cond(recorder, x, p=None):
    (a,) = matrices(recorder, x)
    if a.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = recorder.array(singular(recorder, a)[1])
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        inverse = recorder.array(recorder.apply("lu_inverse", factored(recorder, checked_square(a), required=False)))
        found = np.linalg.norm(recorder.array(a), p, (-2, -1)) * np.linalg.norm(inverse, p, (-2, -1))
    known = np.isnan(found) & ~np.any(np.isnan(recorder.array(a)), axis=(-2, -1))
    return np.where(known, np.asarray(np.inf, a.dtype), found)[()]
