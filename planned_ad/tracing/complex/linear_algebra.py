"""Linear algebra of complex matrices, by that of real ones.

`A + iB` acts on pairs of real vectors as the real matrix `[[A, -B], [B, A]]` of twice the size: sums, products,
inverses and powers of such matrices are those of the complex ones, and their eigenvalues and singular values are the
same, each twice. The sign of a determinant is lost that way; it comes from Gauss's elimination.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.linalg
from numpy.linalg._linalg import SlogdetResult

from ...errors import UnsupportedError
from ..record.recorder import Recorder
from .functions import bilinear, linear, of_complex, view, whole
from .pairs import complex_of

_function: Any
MOST_ROWS = 32  # of a matrix that is eliminated row by row


def embedded(recorder: Recorder, a: Any) -> Any:
    """`[[A, -B], [B, A]]` for `A + iB`."""
    a = complex_of(recorder, a)
    real, imag = a.real, a.imag
    return np.concatenate([np.concatenate([real, -imag], -1), np.concatenate([imag, real], -1)], -2)


def stacked_parts(recorder: Recorder, b: Any, axis: int) -> Any:
    b = complex_of(recorder, b)
    return np.concatenate([b.real, b.imag], axis)


def halves(recorder: Recorder, found: Any, axis: int) -> Any:
    """The complex array whose parts follow each other along an axis."""
    n = found.shape[axis] // 2
    before = (slice(None),) * (axis % found.ndim)
    return whole(recorder, found[(*before, slice(0, n))], found[(*before, slice(n, None))])


def of_embedding(*functions: Any) -> None:
    """Of functions of a matrix that keep sums and products."""

    def register(function: Any) -> None:
        @of_complex(function)
        def of_matrix(recorder: Recorder, a: Any, *args: Any, **kwargs: Any) -> Any:
            found = recorder.call(function, (embedded(recorder, a), *args), kwargs)
            return halves(recorder, found[..., : found.shape[-1] // 2], -2)

    for function in functions:
        register(function)


of_embedding(np.linalg.inv, np.linalg.pinv, np.linalg.matrix_power, scipy.linalg.inv, scipy.linalg.pinv)
of_embedding(scipy.linalg.expm, scipy.linalg.sqrtm, scipy.linalg.logm, scipy.linalg.signm)
of_embedding(scipy.linalg.fractional_matrix_power)


def solving(function: Any) -> None:
    """Of `solve(a, b)` and its like."""

    @of_complex(function)
    def solve(recorder: Recorder, a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        axis = -1 if np.ndim(b) == 1 else -2
        if (args or kwargs) and function is scipy.linalg.solve:
            raise UnsupportedError("scipy.linalg.solve of complex matrices takes no options")
        found = recorder.call(function, (embedded(recorder, a), stacked_parts(recorder, b, axis)), kwargs)
        return halves(recorder, found, axis)


solving(np.linalg.solve)
solving(scipy.linalg.solve)


@of_complex(np.linalg.lstsq)
def lstsq(recorder, a, b, rcond=None):
    axis = 0
    x, residuals, rank, s = np.linalg.lstsq(embedded(recorder, a), stacked_parts(recorder, b, axis), rcond=rcond)
    return halves(recorder, x, axis), residuals, rank // 2, s[::2]


# Determinants.


def pivots(recorder: Recorder, a: Any) -> tuple[list[Any], Any]:
    """The pivots of Gauss's elimination with row exchanges, and the sign of these."""
    n = a.shape[0]
    if a.ndim != 2 or n != a.shape[1]:
        raise UnsupportedError("the determinant of complex matrices is that of one square matrix at a time")
    if n > MOST_ROWS:
        raise UnsupportedError(
            f"the determinant of a complex matrix of more than {MOST_ROWS} rows has no rule; of a real one it has"
        )
    found: list[Any] = []
    sign: Any = 1.0
    for k in range(n):
        size = np.abs(a[:, 0])
        if n - k > 1:
            best = np.argmax(size)
            rows = np.arange(n - k)
            chosen = np.where((rows == best)[:, None], a[0], a)
            first = a[best]
            sign = sign * np.where(best == 0, 1.0, -1.0)
            found.append(first[0])
            a = chosen[1:, 1:] - np.outer(chosen[1:, 0] / first[0], first[1:])
        else:
            found.append(a[0, 0])
    return found, sign


@of_complex(np.linalg.det, scipy.linalg.det)
def det(recorder, a):
    found, sign = pivots(recorder, complex_of(recorder, a))
    return functools.reduce(lambda x, y: x * y, found, sign)


@of_complex(np.linalg.slogdet)
def slogdet(recorder, a):
    found, sign = pivots(recorder, complex_of(recorder, a))
    sizes = [abs(p) for p in found]
    phase = functools.reduce(lambda x, y: x * y, [p / s for p, s in zip(found, sizes)], sign)
    return SlogdetResult(phase, sum(np.log(s) for s in sizes))


# Numbers of matrices.


@of_complex(np.linalg.norm, scipy.linalg.norm)
def norm(recorder, x, ord=None, axis=None, keepdims=False, **options):
    x = complex_of(recorder, x)
    if axis is None and (ord is None or (x.ndim == 1 and ord == 2)):
        found = np.linalg.norm(stacked_parts(recorder, x.reshape(-1), 0))
        return np.reshape(found, (1,) * x.ndim) if keepdims else found
    axes = range(x.ndim) if axis is None else [axis] if np.ndim(axis) == 0 else list(axis)  # type: ignore[arg-type]
    if ord in (None, "fro", 2) and (len(axes) == 1 or ord != 2):
        return np.linalg.norm(stacked_parts(recorder, x, axes[0]), ord, axis, keepdims)
    if ord in (2, -2, "nuc"):
        singular = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        number = singular.sum(-1) if ord == "nuc" else singular[(..., 0 if ord == 2 else -1)[x.ndim == 2 :]]
        return np.expand_dims(number, tuple(axes)) if keepdims else number
    return np.linalg.norm(np.abs(x), ord, axis, keepdims)


@of_complex(np.linalg.multi_dot)
def multi_dot(recorder, arrays, *, out=None):
    return functools.reduce(np.dot, arrays)


linear(np.linalg.trace, 0, "x")
for _function in (np.linalg.matmul, np.linalg.cross):
    bilinear(_function)
bilinear(np.linalg.vecdot, 0)
view(np.linalg.diagonal)
view(np.linalg.matrix_transpose)
