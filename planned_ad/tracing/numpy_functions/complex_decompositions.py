"""Eigenvalues of any matrix, and decompositions of complex ones: compositions of the rows of `rules.eigenvalues` and
`rules.complex_decompositions`.

NumPy computes in double precision what is given in single, and so does this, as vectors have signs by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SVDResult

from ...errors import UnsupportedError
from ...python.complex_parts import PART, WHOLE
from ...python.versions import NUMPY
from ...regions.regions import View, c_strides
from ...rules.complex_decompositions import pair_shapes
from ...rules.decompositions import qr_shapes, svd_shapes
from ...tape.tape import Value
from ..complex.complex_tracer import ComplexTracer
from ..complex.functions import of_complex
from ..complex.pairs import complex_of, is_complex_value, of_values
from ..record.recorder import Recorder
from .decompositions import require_convergence, unpacked
from .fourier import of_any
from .support import raise_where
from .systems import checked_square, last, matrices, require_everywhere

Shape = tuple[int, ...]
DOUBLE = np.dtype(complex)


def pairs_of_matrices(recorder: Recorder, a: Any, is_square: bool = False, dtype: Any = DOUBLE) -> tuple[Value, Any]:
    """The pairs of complex matrices to compute with, and the dtype of results."""
    given = complex_of(recorder, a)
    if given.ndim < 2:
        raise LinAlgError(f"{given.ndim}-dimensional array given. Array must be at least two-dimensional")
    if is_square and given.shape[-1] != given.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if not given.size:
        raise UnsupportedError("decompositions of empty complex matrices have no rule; leave them out")
    wanted = given.dtype if dtype is None else dtype
    return recorder.value_of(given.astype(wanted, copy=False).pairs), given.dtype


def arrays_of_row(recorder: Recorder, packed: Value, shapes: Sequence[Shape]) -> list[Any]:
    """Of shapes with a last axis of 2 behind that of matrices, complex arrays; of others, values."""
    return [
        complex_from_pairs(recorder, part) if shape[-1] == 2 and len(shape) > 1 else part
        for shape, part in zip(shapes, unpacked(recorder, packed, list(shapes)))
    ]


def complex_from_pairs(recorder: Recorder, pairs: Value) -> ComplexTracer:
    strides = c_strides(pairs.shape)[:-1]
    real, imag = (recorder.builder.view(pairs, View(which, pairs.shape[:-1], strides)) for which in range(2))
    return of_values(recorder, real, imag, WHOLE[pairs.dtype])


def in_precision(found: Any, dtype: Any) -> Any:
    """A result, in the precision of the argument."""
    return found.astype(dtype if found.dtype.kind == "c" else PART[np.dtype(dtype)], copy=False)


def is_refused(function: str, **options: Any) -> None:
    for name, (value, usual) in options.items():
        if value is not usual and (usual is None or value != usual):
            raise UnsupportedError(f"{function} with {name}= has no rule; leave it out")


# Eigenvalues of any square matrix.


def general_eigen(recorder: Recorder, a: Any, dtype: Any = DOUBLE) -> tuple[ComplexTracer, ComplexTracer, Any]:
    """Values, vectors, and the dtype of results."""
    if is_complex_value(a):
        pairs, kind = pairs_of_matrices(recorder, a, True, dtype)
        packed, n = recorder.apply("complex_eig", pairs), pairs.shape[-2]
    else:
        (value,) = matrices(recorder, a)
        checked_square(value)
        if not value.size:
            raise UnsupportedError("eigenvalues of empty matrices have no rule; leave them out")
        if value.dtype not in WHOLE:
            raise TypeError(f"array type {value.dtype} is unsupported in linalg")
        is_finite = np.all(np.isfinite(recorder.array(value)))
        message = "Array must not contain infs or NaNs"
        raise_where(recorder, np.logical_not(is_finite), LinAlgError(message))
        kind, n = WHOLE[value.dtype], value.shape[-1]
        wanted = value if dtype is None else recorder.builder.cast(value, PART[np.dtype(dtype)])
        packed = recorder.apply("eig", wanted)
    first = last(recorder, packed, 0)
    require_everywhere(recorder, recorder.apply("equal", first, first), "Eigenvalues did not converge")
    w, v = arrays_of_row(recorder, packed, [(n, 2), (n, n, 2)])
    return w, v, kind


def real_or_complex(recorder: Recorder, a: Any, w: ComplexTracer, kind: Any, found: ComplexTracer) -> Any:
    """Real parts, of a real matrix that has no other values, which the plan relies on."""
    if not is_complex_value(a):
        is_real = recorder.value_of(np.all(w.imag == 0))
        if recorder.outcome(is_real, "eigenvalues are real"):
            return found.real.astype(PART[kind])
    return in_precision(found, kind)


def as_numpy_gives(recorder: Recorder, a: Any, w: ComplexTracer, kind: Any, found: ComplexTracer) -> Any:
    """From NumPy 2.5 on complex, whatever the values are."""
    return real_or_complex(recorder, a, w, kind, found) if NUMPY < (2, 5) else in_precision(found, kind)


@of_any(np.linalg.eig)
def eig(recorder, a):
    w, v, kind = general_eigen(recorder, a)
    return EigResult(*(as_numpy_gives(recorder, a, w, kind, found) for found in (w, v)))


@of_any(np.linalg.eigvals)
def eigvals(recorder, a):
    w, _, kind = general_eigen(recorder, a)
    return as_numpy_gives(recorder, a, w, kind, w)


@of_any(scipy.linalg.eig)
def scipys_eig(
    recorder, a, b=None, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True,
    homogeneous_eigvals=False,
):  # fmt: skip
    """Values are complex, whatever they are; vectors of a real matrix that has no others are real."""
    is_refused("scipy.linalg.eig", b=(b, None), left=(left, False), homogeneous_eigvals=(homogeneous_eigvals, False))
    w, v, kind = general_eigen(recorder, a, None)
    return (w, real_or_complex(recorder, a, w, kind, v)) if right else w


@of_any(scipy.linalg.eigvals)
def scipys_eigvals(recorder, a, b=None, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    return scipys_eig(recorder, a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


@of_any(np.roots)
def roots(recorder, p):
    """The eigenvalues of the companion matrix; which coefficients at both ends are zero is a guard each."""
    p = recorder.call(np.atleast_1d, (p,), {})
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.dtype.kind not in "fc":
        p = p.astype(float)
    start, stop = 0, len(p)
    while start < stop and coefficient_is_zero(recorder, p[start]):
        start += 1
    while stop > start and coefficient_is_zero(recorder, p[stop - 1]):
        stop -= 1
    zeros, p = len(p) - stop, p[start:stop]
    if not len(p):
        return recorder.empty((0,), float)
    n = len(p) - 1
    if not n:
        return recorder.call(np.zeros, (zeros, p.dtype), {})
    matrix = recorder.call(np.zeros, ((n, n), p.dtype), {})
    if n > 1:
        np.fill_diagonal(matrix[1:], 1.0)
    matrix[0] = -p[1:] / p[0]
    w, _, kind = general_eigen(recorder, matrix)
    found = real_or_complex(recorder, matrix, w, kind, w)
    return np.concatenate([found, np.zeros(zeros, found.dtype)]) if zeros else found


def coefficient_is_zero(recorder: Recorder, number: Any) -> bool:
    zero = number == 0
    if recorder.is_concrete(zero):
        return bool(recorder.plain(zero))
    return bool(recorder.outcome(recorder.value_of(zero), "a coefficient is zero"))


# Complex matrices.


def hermitian(recorder: Recorder, a: Any, lower: bool, driver: str, dtype: Any) -> list[Any]:
    pairs, kind = pairs_of_matrices(recorder, a, True, dtype)
    n = pairs.shape[-2]
    packed = recorder.apply("complex_eigh", pairs, lower=lower, driver=driver)
    values, vectors = arrays_of_row(recorder, packed, pair_shapes([(n,), (n, n)]))
    require_convergence(recorder, values, "Eigenvalues did not converge")
    return [in_precision(found, kind) for found in (recorder.array(values), vectors)]


def is_lower(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


@of_complex(np.linalg.eigh)
def eigh(recorder, a, UPLO="L"):
    return EighResult(*hermitian(recorder, a, is_lower(UPLO), "evd", DOUBLE))


@of_complex(np.linalg.eigvalsh)
def eigvalsh(recorder, a, UPLO="L"):
    return hermitian(recorder, a, is_lower(UPLO), "evd", DOUBLE)[0]


@of_complex(scipy.linalg.eigh)
def scipys_eigh(recorder, a, b=None, *, lower=True, eigvals_only=False, driver=None, subset_by_index=None, **options):
    is_refused("scipy.linalg.eigh of complex matrices", b=(b, None))
    for name in ("subset_by_value", "type"):
        is_refused("scipy.linalg.eigh of complex matrices", **{name: (options.pop(name, None), None)})
    if driver not in (None, "evr", "evd"):
        raise UnsupportedError(f"scipy.linalg.eigh with driver={driver!r} has no rule; leave it out")
    w, v = hermitian(recorder, a, bool(lower), driver or "evr", None)
    if subset_by_index is not None:
        first, final = (int(k) for k in subset_by_index)
        w, v = w[..., first : final + 1], v[..., first : final + 1]
    return w if eigvals_only else (w, v)


@of_complex(scipy.linalg.eigvalsh)
def scipys_eigvalsh(recorder, a, b=None, **options):
    return scipys_eigh(recorder, a, b, eigvals_only=True, **options)


def complex_singular(recorder: Recorder, a: Any, full: bool, dtype: Any = DOUBLE) -> list[Any]:
    pairs, kind = pairs_of_matrices(recorder, a, False, dtype)
    shapes = svd_shapes(pairs.shape[-3:-1], full)
    u, s, vh = arrays_of_row(recorder, recorder.apply("complex_svd", pairs, full=full), pair_shapes(shapes))
    require_convergence(recorder, s, "SVD did not converge")
    return [in_precision(found, kind) for found in (u, recorder.array(s), vh)]


@of_complex(np.linalg.svd)
def svd(recorder, a, full_matrices=True, compute_uv=True, hermitian=False):
    is_refused("np.linalg.svd", hermitian=(bool(hermitian), False))
    found = complex_singular(recorder, a, bool(full_matrices and compute_uv))
    return SVDResult(*found) if compute_uv else found[1]


@of_complex(np.linalg.svdvals)
def svdvals(recorder, x):
    return complex_singular(recorder, x, False)[1]


@of_complex(scipy.linalg.svd)
def scipys_svd(
    recorder, a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):
    is_refused("scipy.linalg.svd", lapack_driver=(lapack_driver, "gesdd"))
    found = complex_singular(recorder, a, bool(full_matrices and compute_uv), None)
    return tuple(found) if compute_uv else found[1]


@of_complex(scipy.linalg.svdvals)
def scipys_svdvals(recorder, a, overwrite_a=False, check_finite=True):
    return complex_singular(recorder, a, False, None)[1]


def complex_orthogonal(recorder: Recorder, a: Any, complete: bool, dtype: Any = DOUBLE) -> tuple[Any, Any]:
    """`Q` and `R`; of a wide matrix, those of its first columns, and `Q^H` times the others."""
    a = complex_of(recorder, a)
    *batch, m, n = a.shape
    k = min(m, n)
    pairs, kind = pairs_of_matrices(recorder, a[..., :k], False, dtype)
    shapes = qr_shapes((m, k), complete)
    q, r = arrays_of_row(recorder, recorder.apply("complex_qr", pairs, complete=complete), pair_shapes(shapes))
    if n > k:
        r = np.concatenate([r, np.swapaxes(q, -1, -2).conj() @ a[..., k:]], axis=-1)
    elif complete and m > k:
        r = np.concatenate([r, np.zeros((*batch, m - k, n), r.dtype)], axis=-2)
    return in_precision(q, kind), in_precision(r, kind)


@of_complex(np.linalg.qr)
def qr(recorder, a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise UnsupportedError(f"np.linalg.qr of complex matrices with mode={mode!r} has no rule; use 'reduced'")
    q, r = complex_orthogonal(recorder, a, mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@of_complex(scipy.linalg.qr)
def scipys_qr(recorder, a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    if pivoting or mode not in ("full", "r", "economic"):
        raise UnsupportedError("scipy.linalg.qr with pivoting or mode='raw' has no rule; leave them out")
    q, r = complex_orthogonal(recorder, a, mode != "economic", None)
    return (r,) if mode == "r" else (q, r)


# Cholesky: the factor of the real matrix that has [[a, -b], [b, a]] in the place of each number a + ib is that of the
# complex one, since its diagonal is real.


def number_by_number(real: Any, imag: Any) -> Any:
    """The real matrix of twice the size in which complex numbers are blocks."""
    *batch, n, m = real.shape
    blocks = np.stack([np.stack([real, -imag], -1), np.stack([imag, real], -1)], -3)
    return blocks.reshape((*batch, 2 * n, 2 * m))


def complex_cholesky_factor(recorder: Recorder, a: Any, upper: bool) -> Any:
    a = complex_of(recorder, a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    own = np.swapaxes(a, -1, -2).conj() if upper else a
    factor = np.linalg.cholesky(number_by_number(own.real, np.tril(own.imag, -1)))
    found = recorder.call(np.zeros, (a.shape, a.dtype), {})
    found.real[...] = factor[..., ::2, ::2]
    found.imag[...] = factor[..., 1::2, ::2]
    return np.swapaxes(found, -1, -2).conj() if upper else found


@of_complex(np.linalg.cholesky)
def cholesky(recorder, a, /, *, upper=False):
    return complex_cholesky_factor(recorder, a, upper)


@of_complex(scipy.linalg.cholesky)
def scipys_cholesky(recorder, a, lower=False, overwrite_a=False, check_finite=True):
    return complex_cholesky_factor(recorder, a, not lower)
