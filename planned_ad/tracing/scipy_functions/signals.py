"""Filters and convolutions of signals: what `scipy.signal` calls of `_sigtools`, `_sosfilt` and `_upfirdn_apply`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy.signal import _signaltools, _upfirdn, _waveforms

from ..numpy_functions import shapes
from ..numpy_functions.sequences import SHORT_KERNEL
from ..numpy_functions.support import unsupported
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .image_filters import CONSTANT, REFLECT, WRAP, extended, rank_filter
from .intervals import traced_arrays
from .recurrences import filtered

_sigtools: Any = _signaltools._sigtools
VALID, SAME, FULL = range(3)
BOUNDARIES = {0: CONSTANT, 4: REFLECT, 8: WRAP}
DIRECT = 1 << 24  # products, up to which a convolution is summed up


@implements(_sigtools._linear_filter)
def linear_filter(recorder, b, a, x, axis=-1, zi=None):
    b, a, x = traced_arrays(recorder, b, a, x)
    if zi is None:
        b, a, x = common_type(b, a, x)
        y, _ = filtered(recorder, b, a, np.moveaxis(x, axis, -1), None)
        return np.moveaxis(y, -1, axis)
    b, a, x, zi = common_type(b, a, x, *traced_arrays(recorder, zi))
    order = max(a.shape[0], b.shape[0]) - 1
    x, zi = np.moveaxis(x, axis, -1), np.moveaxis(zi, axis, -1)
    y, zf = filtered(recorder, b, a, x, np.broadcast_to(zi, (*x.shape[:-1], order)))
    return np.moveaxis(y, -1, axis), np.moveaxis(zf, -1, axis)


def common_type(*arrays: Any) -> list[Any]:
    dtype = np.result_type(np.float32, *(array.dtype for array in arrays))
    return [array.astype(dtype) for array in arrays]


@implements(_signaltools._sosfilt)
def sosfilt(recorder, sos, x, zi):
    """Sections of second order, one after the other; `x` and the states `zi` are overwritten."""
    sos, x, zi = traced_arrays(recorder, sos, x, zi)
    signal = x
    for k in range(sos.shape[0]):
        signal, after = filtered(recorder, sos[k, :3], sos[k, 3:], signal, zi[:, k])
        zi[:, k] = after
    x[...] = signal


# Convolutions.


def windows_times(recorder: Recorder, a: Any, kernel: Any) -> Any:
    """The sum of each window of `a` times the kernel, for all windows that lie in `a`."""
    shape = tuple(n - m + 1 for n, m in zip(a.shape, kernel.shape))
    if kernel.size > SHORT_KERNEL:
        wide = shapes.view(recorder, a, np.lib.stride_tricks.sliding_window_view, kernel.shape)
        return np.tensordot(wide, kernel, a.ndim)
    parts = [
        kernel[place] * a[tuple(slice(k, k + n) for k, n in zip(place, shape))]
        for place in itertools.product(*map(range, kernel.shape))
    ]
    return sum(parts[1:], parts[0])


@implements(_sigtools._correlateND)
def correlate_nd(recorder, a, kernel, out, mode):
    """`a` is as long as the full result, with zeros at its end, unless only windows within it are asked for."""
    a, kernel = traced_arrays(recorder, a, kernel)
    a, kernel = (array.astype(np.result_type(a.dtype, kernel.dtype)) for array in (a, kernel))
    if mode != VALID:
        before = [m // 2 if mode == SAME else m - 1 for m in kernel.shape]
        after = [m - 1 - low if mode == SAME else m - 1 for low, m in zip(before, kernel.shape)]
        inner = a[tuple(slice(0, n - m + 1) for n, m in zip(a.shape, kernel.shape))]
        a = np.pad(inner, list(zip(before, after)))
    out[...] = windows_times(recorder, a, kernel)
    return out


@implements(_sigtools._convolve2d)
def convolve2d(recorder, a, kernel, flip, mode, boundary, fillvalue):
    a, kernel = traced_arrays(recorder, a, kernel)
    a, kernel = (array.astype(np.result_type(a.dtype, kernel.dtype)) for array in (a, kernel))
    kernel = kernel[::-1, ::-1] if flip else kernel
    wide = a
    for axis, m in enumerate(kernel.shape):
        low = {VALID: 0, SAME: m // 2 if flip else (m - 1) // 2, FULL: m - 1}[mode]
        high = {VALID: 0, SAME: m - 1 - low, FULL: m - 1}[mode]
        fill = recorder.plain(fillvalue)
        wide = extended(recorder, wide, axis, low, high, BOUNDARIES[boundary], np.asarray(fill).item())
    return windows_times(recorder, wide, kernel)


@implements(_signaltools.choose_conv_method)
def choose_conv_method(recorder, in1, in2, mode="full", measure=False):
    if measure:
        raise unsupported("choose_conv_method with measure=True", "choose between 'fft' and 'direct'")
    sizes = [math.prod(np.shape(item)) for item in (in1, in2)]
    if sizes[0] * sizes[1] <= DIRECT:
        return "direct"
    return recorder.call_python(_signaltools.choose_conv_method, (in1, in2, mode), {})


@implements(_sigtools._medfilt2d)
def medfilt2d(recorder, image, size):
    (a,) = traced_arrays(recorder, image)
    out = recorder.empty(a.shape, a.dtype)
    shape = tuple(int(m) for m in recorder.plain(size))
    rank_filter(recorder, a, math.prod(shape) // 2, np.ones(shape, bool), out, CONSTANT, 0.0, (0, 0))
    return out


@implements(_upfirdn._apply)
def upfirdn(recorder, x, phases, out, up, down, axis, mode, cval):
    """`phases` holds the kernel by its phases, each reversed; between two elements of `x` there are `up - 1` zeros."""
    if mode != 0 or cval != 0:
        raise unsupported("scipy.signal.upfirdn with mode or cval", "pad the signal with numpy.pad")
    x, phases = traced_arrays(recorder, x, phases)
    x = np.moveaxis(x, axis, -1)
    kernel = phases.reshape(up, -1)[:, ::-1].T.reshape(-1)
    n, count, m = x.shape[-1], out.shape[axis], kernel.shape[0]
    wide = recorder.empty((*x.shape[:-1], m - 1 + max((count - 1) * down + 1, n * up)), x.dtype)
    wide[..., m - 1 : m - 1 + n * up : up] = x
    taps = shapes.view(recorder, wide, np.lib.stride_tricks.sliding_window_view, m, axis=-1)
    out[...] = np.moveaxis(taps[..., : (count - 1) * down + 1 : down, :] @ kernel[::-1], -1, axis)


@implements(_waveforms.sawtooth)
def sawtooth(recorder, t, width=1):
    """Up in the first part of each period and down in the rest; the parts may be empty."""
    t, width = traced_arrays(recorder, t, width)
    t, width = (np.broadcast_to(array * 1.0, np.broadcast_shapes(t.shape, width.shape)) for array in (t, width))
    phase = np.mod(t, 2 * math.pi)
    rises = phase < width * 2 * math.pi
    up = phase / (math.pi * np.where(width == 0, 1.0, width)) - 1
    down = (math.pi * (width + 1) - phase) / (math.pi * np.where(width == 1, 1.0, 1 - width))
    found = np.where((width > 1) | (width < 0), math.nan, np.where(rises, up, down))
    return found if found.ndim else found[()]
