"""Curves that are told by points whose number is known when the plan runs: integrals, values between, slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.recorder import Recorder
from ..values.elementwise import elementwise
from .elements import common_length
from .run_time_arrays import RunTimeArray
from .sources import Other, Recipe
from .varying import refused


def filled_behind(a: RunTimeArray, number: Any) -> Any:
    """The elements with `number` behind them, as an array of as many as there may be."""
    recorder, front = a.recorder, a.stored().front
    places = np.arange(a.length.most).reshape(-1, *(1,) * len(a.rest))
    is_element = elementwise(recorder, np.less, (places, a.length.scalar(recorder)))
    return recorder.call(np.where, (is_element, front, a.dtype.type(number)), {})


def last_in_order(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def is_line(a: Any) -> bool:
    """Whether it is an array of a run-time length and one axis."""
    return type(a) is RunTimeArray and a.ndim == 1 and a.dtype.kind in "fiu"


def run_time_trapezoid(recorder: Recorder, y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """`numpy.trapezoid`."""
    if type(y) is not RunTimeArray or (x is not None and not is_line(x)) or int(axis) % y.ndim != y.axis:
        raise refused(recorder, "integrates, in this way,")
    before = (slice(None),) * y.axis
    pairs = y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]
    widths = dx if x is None else x[1:] - x[:-1]
    if x is not None and y.ndim - y.axis > 1:
        widths = widths[(slice(None), *[None] * (y.ndim - y.axis - 1))]
    return (widths * pairs).sum(axis=y.axis) / 2.0


def run_time_interp(recorder: Recorder, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """`numpy.interp`: behind the last point there is one at infinity, up to which the curve is level."""
    if not is_line(xp) and not is_line(fp):
        return of_each(recorder, x, lambda item: recorder.call(np.interp, (item, xp, fp, left, right), {}))
    if not (is_line(xp) and is_line(fp)):
        raise refused(recorder, "interpolates, with a known number of some,")
    common_length(recorder, [xp.length, fp.length])
    last, end = xp[-1], fp[-1]
    places, values = filled_behind(xp, last_in_order(xp.dtype)), filled_behind(fp, 0)

    def at(item: Any) -> Any:
        within = recorder.call(np.interp, (item, places, values), {} if left is None else {"left": left})
        found = recorder.call(np.where, (item >= last, end, within), {})
        return found if right is None else recorder.call(np.where, (item > last, right, found), {})

    return of_each(recorder, x, at) if type(x) is RunTimeArray else at(np.asarray(x) if type(x) in (list, tuple) else x)


def run_time_searchsorted(recorder: Recorder, a: Any, v: Any, side: Any = "left") -> Any:
    """`numpy.searchsorted`."""
    if not is_line(a):
        return of_each(recorder, v, lambda item: recorder.call(np.searchsorted, (a, item, side), {}))
    places, count = filled_behind(a, last_in_order(a.dtype)), a.length.scalar(recorder)

    def at(item: Any) -> Any:
        return elementwise(recorder, np.minimum, (recorder.call(np.searchsorted, (places, item, side), {}), count))

    return of_each(recorder, v, at) if type(v) is RunTimeArray else at(v)


def of_each(recorder: Recorder, x: RunTimeArray, function: Any) -> RunTimeArray:
    """A function of each number, whose results are of the kind of its first."""
    if not is_line(x):
        raise refused(recorder, "looks up")
    source, dtype = x.frozen(), recorder.value_of(function(x.dtype.type(0))).dtype
    recipe = Recipe(lambda p: recorder.result(recorder.value_of(function(p.of(source)), dtype)), (Other(source),))
    return RunTimeArray(recorder, recipe, x.length, 0, (), dtype)


def run_time_gradient(recorder: Recorder, f: Any, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """`numpy.gradient` of one axis."""
    if not is_line(f) or len(spacing) > 1 or edge_order != 1:
        raise refused(recorder, "takes, in this way, slopes of")
    h: Any = spacing[0] if spacing else 1.0
    found = recorder.call(np.zeros_like, (f * 1.0,), {})
    if np.ndim(h):
        steps = h[1:] - h[:-1]
        before, after = steps[:-1], steps[1:]
        both = before + after
        found[1:-1] = (
            f[2:] * (before / (after * both)) + f[1:-1] * ((after - before) / (before * after))
            - f[:-2] * (after / (before * both))
        )  # fmt: skip
        first, last = steps[0], steps[-1]
    else:
        found[1:-1] = (f[2:] - f[:-2]) / (2.0 * h)
        first = last = h
    found[0] = (f[1] - f[0]) / first
    found[-1] = (f[-1] - f[-2]) / last
    return found
