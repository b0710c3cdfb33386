"""Fourier transforms, `numpy.fft` and `scipy.fft`: the compiled functions at their bottom.

What lies above them (lengths, axes, norms, several dimensions, Hermitian symmetry) is the libraries' own Python code,
which is traced. Complex arrays are pairs of reals here (`tracing.complex`), as in `rules.fourier`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg
from scipy.fft import _basic_backend, _realtransforms_backend

from ...rules.fourier import with_extent
from ...tape.tape import Value
from ..complex.functions import of_complex
from ..complex.pairs import as_pairs, from_pairs, is_complex_value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .support import axes_of, axis_of, broadcast, constant

numpys: Any = np.fft._pocketfft  # type: ignore[attr-defined]
try:
    from scipy.fft._duccfft import pyduccfft as scipys  # from SciPy 1.18
except ImportError:
    from scipy.fft._pocketfft import pypocketfft as scipys
Implementation = Callable[..., Any]


def of_any(*functions: Callable[..., Any]) -> Callable[[Implementation], Implementation]:
    """Register what stands for functions of real and of complex arguments."""

    def register(implementation: Implementation) -> Implementation:
        for function in functions:
            implements(function)(implementation)
            of_complex(function)(implementation)
        return implementation

    return register


# Transforms of values. Axes are counted without that of the pairs.


def conjugated(recorder: Recorder, pairs: Value) -> Value:
    signs = broadcast(recorder, constant(recorder, np.array([1.0, -1.0]), pairs.dtype), pairs.shape)
    return recorder.apply("multiply", pairs, signs)


def of_pairs(recorder: Recorder, pairs: Value, axes: Sequence[int], forward: bool, scale: float) -> Value:
    """The transforms of complex numbers along `axes`."""
    last = len(pairs.shape) - 2
    for number, axis in enumerate(axes):
        own = scale if number == len(axes) - 1 else 1.0
        pairs = recorder.apply("fourier", pairs, behind=last - axis, inverse=not forward, scale=own)
    return pairs


def half_of_reals(recorder: Recorder, a: Value, axis: int, scale: float) -> Value:
    """The transform of real numbers along one axis, up to the middle."""
    return recorder.apply("real_fourier", a, behind=len(a.shape) - 1 - axis, inner=1.0, scale=scale)


def reals_of_half(recorder: Recorder, half: Value, axis: int, n: int, scale: float) -> Value:
    """The real numbers of which half of the transform is given; times n, for a scale of one."""
    return recorder.apply("fourier_real", half, behind=len(half.shape) - 2 - axis, n=n, inner=2.0, scale=scale)


def of_reals(recorder: Recorder, a: Value, axes: Sequence[int], forward: bool, scale: float) -> Value:
    """The transforms of real numbers along `axes`: of the last, half, and the rest by symmetry."""
    *others, axis = axes
    half = half_of_reals(recorder, a, axis, 1.0 if others else scale)
    n = a.shape[axis]
    other = conjugated(recorder, half)
    first, second = (half, other) if forward else (other, half)
    key = (*[slice(None)] * axis, slice((n - 1) // 2, 0, -1))
    whole = np.concatenate([recorder.array(first), recorder.array(second)[key]], axis=axis)
    return of_pairs(recorder, recorder.value_of(whole), others, forward, scale)


def delivered(recorder: Recorder, pairs: Value, out: Any) -> Any:
    found = from_pairs(recorder, recorder.array(pairs))
    if out is None:
        return found
    out[...] = found
    return out


def pairs_of_array(recorder: Recorder, a: Any) -> Value:
    return recorder.value_of(as_pairs(recorder, a))


def complex_transform(recorder: Recorder, a: Any, axes: Sequence[int], forward: bool, scale: float) -> Value:
    if is_complex_value(a):
        return of_pairs(recorder, pairs_of_array(recorder, a), axes, forward, scale)
    if not axes:
        return pairs_of_array(recorder, a)
    return of_reals(recorder, recorder.value_of(a), axes, forward, scale)


def real_transform(recorder: Recorder, a: Any, axes: Sequence[int], forward: bool, scale: float) -> Value:
    *others, axis = axes
    half = half_of_reals(recorder, recorder.value_of(a), axis, 1.0 if others else scale)
    return of_pairs(recorder, half if forward else conjugated(recorder, half), others, forward, scale)


def transform_to_real(recorder: Recorder, a: Any, axes: Sequence[int], n: int, forward: bool, scale: float) -> Value:
    *others, axis = axes
    pairs = of_pairs(recorder, pairs_of_array(recorder, a), others, forward, 1.0)
    return reals_of_half(recorder, conjugated(recorder, pairs) if forward else pairs, axis, n, scale)


# NumPy's.


@of_any(numpys._raw_fft)
def _raw_fft(recorder, a, n, axis, is_real, is_forward, norm, out=None):
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    scale = scale_of_norm(n, norm if is_forward else numpys._swap_direction(norm))
    axis = axis_of(axis, a.ndim)
    to_real = is_real and not is_forward
    a = resized(recorder, a, n // 2 + 1 if to_real else n, axis)
    if to_real:
        found = transform_to_real(recorder, a, [axis], n, False, scale)
        if out is None:
            return recorder.array(found)
        out[...] = recorder.array(found)
        return out
    transform = real_transform if is_real else complex_transform
    return delivered(recorder, transform(recorder, a, [axis], True if is_real else is_forward, scale), out)


def scale_of_norm(n: int, norm: str | None) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return {"ortho": 1 / math.sqrt(n), "forward": 1 / n}.get(norm or "", 1.0)


def resized(recorder: Recorder, a: Any, n: int, axis: int) -> Any:
    """`a` cropped, or with zeros behind it, along one axis; integers as floating numbers."""
    if a.dtype.kind not in "fc":
        a = a.astype(np.float64)
    if a.shape[axis] >= n:
        return a if a.shape[axis] == n else a[(*[slice(None)] * axis, slice(n))]
    more = np.zeros(with_extent(a.shape, a.ndim - 1 - axis, n - a.shape[axis]), a.dtype)
    return np.concatenate([a, more], axis=axis)


# SciPy's.


def scale_of(inorm: int, a: Any, axes: Sequence[int], last: int | None = None) -> float:
    """`inorm`: 0 for none, 1 for the root of the number of elements, 2 for that number."""
    count = math.prod(last if last is not None and k == axes[-1] else a.shape[k] for k in axes)
    return (1.0, 1 / math.sqrt(count), 1 / count)[inorm]


def listed(axes: Any, ndim: int) -> list[int]:
    return list(axes_of(axes, ndim)) if axes is None else [axis_of(k, ndim) for k in axes]


@of_any(scipys.c2c)
def c2c(recorder, a, axes=None, forward=True, inorm=0, out=None, nthreads=1):
    axes = listed(axes, a.ndim)
    return delivered(recorder, complex_transform(recorder, a, axes, forward, scale_of(inorm, a, axes)), out)


@of_any(scipys.r2c)
def r2c(recorder, a, axes=None, forward=True, inorm=0, out=None, nthreads=1):
    axes = listed(axes, a.ndim)
    return delivered(recorder, real_transform(recorder, a, axes, forward, scale_of(inorm, a, axes)), out)


@of_any(scipys.c2r)
def c2r(recorder, a, axes=None, lastsize=0, forward=True, inorm=0, out=None, nthreads=1):
    axes = listed(axes, a.ndim)
    n = lastsize or 2 * a.shape[axes[-1]] - 1
    found = transform_to_real(recorder, a, axes, n, forward, scale_of(inorm, a, axes, n))
    return recorder.array(found)


# SciPy finds what is behind a function of `scipy.fft` by the types of its arguments, in compiled code. Of modules that
# are compiled elsewhere, these functions are Python around Fourier transforms.


def traced_code(function: Callable[..., Any]) -> Implementation:
    def called(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        return recorder.namespace.library_function(function)(*args, **kwargs)

    return called


for _kind in ("fft", "rfft", "hfft", "dct", "dst"):
    for _several in ("", "2", "n"):
        for _name in (_kind + _several, f"i{_kind}{_several}"):
            if hasattr(np.fft, _name):
                of_any(getattr(np.fft, _name))(traced_code(getattr(numpys, _name)._implementation))
            if hasattr(scipy.fft, _name):
                _code = getattr(_basic_backend, _name, None) or getattr(_realtransforms_backend, _name)
                of_any(getattr(scipy.fft, _name))(traced_code(_code))
for _function in (scipy.linalg.matmul_toeplitz, scipy.linalg.solve_circulant):
    of_any(_function)(traced_code(_function))
