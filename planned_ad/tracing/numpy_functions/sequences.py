"""Differences, integrals and convolutions along an axis; evenly spaced numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..record.dispatch import implements
from ..record.recorder import Recorder
from . import shapes
from .joining import concatenate
from .support import FLOAT, NO_VALUE, asarray, axes_of, axis_of, deliver, promoted, refuse


def _at(ndim: int, axis: int, index: object) -> tuple[Any, ...]:
    return (*(index if k == axis else slice(None) for k in range(ndim)), ...)


@implements(np.diff)
def diff(recorder, a, n=1, axis=-1, prepend=NO_VALUE, append=NO_VALUE):
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = asarray(recorder, a)
    if n == 0:
        return a
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, a.ndim)
    ends = [asarray(recorder, end) if end is not NO_VALUE else None for end in (prepend, append)]
    if any(end is not None for end in ends):
        edge = tuple(1 if k == axis else m for k, m in enumerate(a.shape))
        ends = [
            shapes.view(recorder, end, np.broadcast_to, edge) if end is not None and end.ndim == 0 else end
            for end in ends
        ]
        a = concatenate(recorder, [part for part in (ends[0], a, ends[1]) if part is not None], axis)
    difference = np.not_equal if a.dtype == bool else np.subtract
    for _ in range(n):
        a = difference(a[_at(a.ndim, axis, slice(1, None))], a[_at(a.ndim, axis, slice(None, -1))])
    return a


@implements(np.ediff1d)
def ediff1d(recorder, ary, to_end=None, to_begin=None):
    a = asarray(recorder, ary).ravel()
    parts = [a[1:] - a[:-1]]
    for position, end in ((0, to_begin), (len(parts), to_end)):
        if end is not None:
            end = asarray(recorder, end).ravel()
            if not np.can_cast(end.dtype, a.dtype, "same_kind"):
                raise TypeError("dtype of `to_begin` or `to_end` must be compatible with input `ary`.")
            parts.insert(position if position == 0 else len(parts), end.astype(a.dtype))
    return parts[0] if len(parts) == 1 else concatenate(recorder, parts)


@implements(np.gradient)
def gradient(recorder, f, *varargs, axis=None, edge_order=1):
    f = asarray(recorder, f)
    axes = axes_of(axis, f.ndim) if axis is None or np.ndim(axis) == 0 else tuple(axis_of(k, f.ndim) for k in axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    spacings = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if f.dtype.kind != "f":
        f = f.astype(FLOAT)
    results = tuple(_derivative(recorder, f, k, spacing, edge_order) for k, spacing in zip(axes, spacings))
    return results[0] if len(axes) == 1 else results


def _derivative(recorder: Recorder, f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """Central differences inside, one-sided ones of order `edge_order` at the ends."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")

    def part(start: int | None, stop: int | None) -> Any:
        return f[_at(f.ndim, axis, slice(start, stop))]

    def put(start: int | None, stop: int | None, value: Any) -> None:
        out[_at(f.ndim, axis, slice(start, stop))] = value

    out = np.zeros_like(f)
    if np.ndim(spacing) == 0:
        put(1, -1, (part(2, None) - part(None, -2)) / (2.0 * spacing))
        if edge_order == 1:
            put(0, 1, (part(1, 2) - part(0, 1)) / spacing)
            put(-1, None, (part(-1, None) - part(-2, -1)) / spacing)
        else:
            put(0, 1, -1.5 / spacing * part(0, 1) + 2.0 / spacing * part(1, 2) + -0.5 / spacing * part(2, 3))
            low, middle, high = part(n - 3, n - 2), part(n - 2, n - 1), part(n - 1, n)
            put(-1, None, 0.5 / spacing * low + -2.0 / spacing * middle + 1.5 / spacing * high)
        return out

    # Coordinates: the parabola through three neighbours (as NumPy's documentation derives it).
    steps = diff(recorder, spacing)
    if steps.ndim != 1 or steps.shape[0] != n - 1:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    h = steps.reshape(tuple(-1 if k == axis else 1 for k in range(f.ndim)))

    def step(start: int | None, stop: int | None) -> Any:
        return h[_at(f.ndim, axis, slice(start, stop))]

    left, right = step(None, -1), step(1, None)
    a, b, c = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
    put(1, -1, a * part(None, -2) + b * part(1, -1) + c * part(2, None))
    if edge_order == 1:
        put(0, 1, (part(1, 2) - part(0, 1)) / step(0, 1))
        put(-1, None, (part(-1, None) - part(-2, -1)) / step(-1, None))
        return out
    left, right = step(0, 1), step(1, 2)
    a = -(2.0 * left + right) / (left * (left + right))
    b, c = (left + right) / (left * right), -left / (right * (left + right))
    put(0, 1, a * part(0, 1) + b * part(1, 2) + c * part(2, 3))
    left, right = step(n - 3, n - 2), step(n - 2, n - 1)
    a, b = right / (left * (left + right)), -(right + left) / (left * right)
    c = (2.0 * right + left) / (right * (left + right))
    put(-1, None, a * part(n - 3, n - 2) + b * part(n - 2, n - 1) + c * part(n - 1, n))
    return out


@implements(np.trapezoid)
def trapezoid(recorder, y, x=None, dx=1.0, axis=-1):
    y = asarray(recorder, y)
    axis = axis_of(axis, y.ndim)
    if x is None:
        steps = dx
    else:
        x = asarray(recorder, x)
        steps = diff(recorder, x, axis=-1 if x.ndim == 1 else axis)
        if x.ndim == 1:
            steps = steps.reshape(tuple(-1 if k == axis else 1 for k in range(y.ndim)))
    ends = y[_at(y.ndim, axis, slice(1, None))] + y[_at(y.ndim, axis, slice(None, -1))]
    return (steps * ends / 2.0).sum(axis)


if hasattr(np, "trapz"):  # until NumPy 2.4
    implements(np.trapz)(trapezoid)


# Up to this many elements a kernel is unrolled into shifted copies, which vectorise and whose adjoints do too.
SHORT_KERNEL = 32


@implements(np.convolve)
def convolve(recorder, a, v, mode="full"):
    """A sum of shifted copies of the longer sequence, or, for long kernels, windows of it times the kernel."""
    a, v = (recorder.array(value) for value in promoted(recorder, a, v))
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    a, v = (shapes.atleast_1d(recorder, s) for s in (a, v))
    if len(v) > len(a):
        a, v = v, a
    n, m = len(a), len(v)
    if m == 0:
        raise ValueError("a cannot be empty" if n == 0 else "v cannot be empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    windows = np.lib.stride_tricks.sliding_window_view
    if mode == "valid":
        if m > SHORT_KERNEL:
            return shapes.view(recorder, a, windows, m) @ v[::-1]
        return functools.reduce(np.add, [a[m - 1 - k : n - k] * v[k] for k in range(m)])
    if m <= SHORT_KERNEL:
        full = recorder.empty((n + m - 1,), a.dtype)
        for k in range(m):
            full[k : k + n] += a * v[k]
    else:
        padded = recorder.empty((n + 2 * (m - 1),), a.dtype)
        padded[m - 1 : m - 1 + n] = a
        full = shapes.view(recorder, padded, windows, m) @ v[::-1]
    return full[(m - 1) // 2 : (m - 1) // 2 + n] if mode == "same" else full


@implements(np.correlate)
def correlate(recorder, a, v, mode="valid"):
    a, v = (shapes.atleast_1d(recorder, s) for s in (a, v))
    if len(v) > len(a):  # NumPy swaps them and turns the result round
        return convolve(recorder, v, a[::-1], mode)[::-1]
    return convolve(recorder, a, v[::-1], mode)


def linspace(recorder, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    refuse("linspace", device=None if device == "cpu" else device)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    kind = recorder.result_type(start, stop, float(num))
    start, stop = (recorder.array(recorder.value_of(end, kind)) for end in (start, stop))
    shape = np.broadcast_shapes(start.shape, stop.shape)
    gaps = num - 1 if endpoint else num
    delta = stop - start
    step = delta / gaps if gaps > 0 else np.full(shape, np.nan, kind)
    steps = np.arange(num, dtype=kind).reshape((-1,) + (1,) * len(shape))
    out = recorder.empty((num, *shape), kind)
    out[...] = steps * (step if gaps > 0 else delta) + start
    if endpoint and num > 1:
        out[-1, ...] = stop
    result = shapes.view(recorder, out, np.moveaxis, 0, axis) if axis else out
    if dtype is not None and np.dtype(dtype) != kind:
        result = np.floor(result).astype(dtype) if np.dtype(dtype).kind in "iu" else result.astype(dtype)
    return (result, step) if retstep else result


@implements(np.meshgrid)
def meshgrid(recorder, *xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    axes = list(range(n))
    if indexing == "xy" and n > 1:
        axes[:2] = [1, 0]
    grids = []
    for axis, x in zip(axes, xi):
        x = asarray(recorder, x)
        grids.append(x.reshape(tuple(-1 if k == axis else 1 for k in range(n))))
    if not sparse:
        grids = list(shapes.broadcast_arrays(recorder, *grids))
    return tuple(grid.copy() for grid in grids) if copy else tuple(grids)


@implements(np.logspace)
def logspace(recorder, start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    return deliver(recorder, recorder.value_of(base ** linspace(recorder, start, stop, num, endpoint, axis=axis)))
