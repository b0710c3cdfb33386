"""Methods of ufuncs: `reduce` and `accumulate` of those that have no primitive, `reduceat`, and `at`.

What has no primitive goes along the axis element by element, as NumPy does, in a loop of the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from ... import control
from ..record.dispatch import FUNCTIONS, METHODS, WITH_FUNCTION
from ..record.recorder import Recorder
from .support import NO_VALUE, asarray, axes_of, axis_of, deliver, unsupported

MOST_PARTS = 32  # of an array for `reduceat` that are summed as arrays of their own


def reduce_any(recorder: Recorder, ufunc: np.ufunc, array: Any, options: dict[str, Any]) -> Any:
    """`ufunc.reduce(array, axis, dtype, out, keepdims, initial, where)`, from the first element to the last."""
    found = WITH_FUNCTION["reduce"].get(ufunc)
    if found is not None:
        return found(recorder, array, **options)
    if ufunc is np.power:  # of which NumPy 2's reduce leaves elements out
        raise unsupported("numpy.power.reduce", "write the powers one by one")
    array, axis = asarray(recorder, array), options.get("axis", 0)
    axes = axes_of(axis, array.ndim)
    if len(axes) > 1 and ufunc.identity is None and not is_reorderable(ufunc):
        what = f"reduction operation '{ufunc.__name__}' is not reorderable"
        raise ValueError(f"{what}, so at most one axis may be specified")
    where, initial = options.get("where", True), options.get("initial", NO_VALUE)
    keepdims = options.get("keepdims", False) not in (False, NO_VALUE)
    is_plain = where is True and initial is NO_VALUE and options.get("dtype") is None
    if ufunc is np.logaddexp and is_plain and array.size:  # a sum of exponentials, which may be summed in any order
        total = FUNCTIONS[scipy.special.logsumexp](recorder, array, axis=axes, keepdims=keepdims)
        return deliver(recorder, recorder.value_of(total), options.get("out"))
    start = ufunc.identity if initial is NO_VALUE or initial is None else initial
    if where is not True:
        if start is None:
            what = f"reduction operation '{ufunc.__name__}' does not have an identity"
            raise ValueError(f"{what}, so to use a where mask one has to specify 'initial'")
        array = np.where(where, array, start)
    kept = tuple(k for k in range(array.ndim) if k not in axes)
    lines = array.transpose((*axes, *kept)).reshape(-1, *(array.shape[k] for k in kept))
    if options.get("dtype") is not None:
        lines = lines.astype(options["dtype"])
    if not lines.shape[0] and start is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    total = reduced_by(recorder, ufunc, lines, None if initial is NO_VALUE else initial)
    if total is None:
        total = np.full(lines.shape[1:], start)
    if keepdims:
        total = np.reshape(total, tuple(1 if k in axes else n for k, n in enumerate(array.shape)))
    return deliver(recorder, recorder.value_of(total), options.get("out"))


def is_reorderable(ufunc: np.ufunc) -> bool:
    return ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)


def reduced_by(recorder: Recorder, ufunc: Callable[..., Any], lines: Any, start: Any = None) -> Any:
    """The lines joined one after the other; None where there are none."""
    if start is None and lines.shape[0]:
        start, lines = lines[0], lines[1:]
    return recorder.namespace.function(control._joined_in_order)(ufunc, start, lines)


def accumulate_any(recorder: Recorder, ufunc: np.ufunc, array: Any, options: dict[str, Any]) -> Any:
    """`ufunc.accumulate(array, axis, dtype, out)`."""
    found = WITH_FUNCTION["accumulate"].get(ufunc)
    if found is not None:
        return found(recorder, array, **options)
    array = asarray(recorder, array)
    if options.get("dtype") is not None:
        array = array.astype(options["dtype"])
    axis = axis_of(options.get("axis", 0), array.ndim)
    lines = np.moveaxis(array, axis, 0)
    total = array
    if lines.shape[0]:
        total = np.moveaxis(recorder.namespace.function(control._partial_joins)(ufunc, lines), 0, axis)
    return deliver(recorder, recorder.value_of(total), options.get("out"))


def reduceat_any(recorder: Recorder, ufunc: np.ufunc, array: Any, options: dict[str, Any]) -> Any:
    """`ufunc.reduceat(array, indices, axis, dtype, out)`: of slices that begin at known indices."""
    if not recorder.is_concrete(options["indices"]):
        raise unsupported(f"numpy.{ufunc.__name__}.reduceat at indices that are data", "use known indices")
    begins = recorder.number_of(options["indices"])
    array = asarray(recorder, array)
    if options.get("dtype") is not None:
        array = array.astype(options["dtype"])
    axis = axis_of(options.get("axis", 0), array.ndim)
    lines = np.moveaxis(array, axis, 0)
    count = lines.shape[0]
    if begins.size and not (begins.min() >= 0 and begins.max() < count):
        wrong = next(b for b in begins if not 0 <= b < count)
        raise IndexError(f"index {wrong} out-of-bounds in {ufunc.__name__}.reduceat [0, {count})")
    if ufunc is np.add and begins.size > MOST_PARTS:
        found = np.moveaxis(sums_of_parts(lines, begins, count), 0, axis)
        return deliver(recorder, recorder.value_of(found), options.get("out"))
    ends = [*begins[1:].tolist(), count]
    parts = [
        reduce_any(recorder, ufunc, lines[b:e], {"axis": 0}) if b < e else lines[b]
        for b, e in zip(begins.tolist(), ends)
    ]
    return deliver(recorder, recorder.value_of(np.stack(parts, axis)), options.get("out"))


def sums_of_parts(lines: Any, begins: np.ndarray, count: int) -> Any:
    """Many of them: the first of each, and to it those up to the next, one by one."""
    others = np.maximum(np.append(begins[1:], count) - begins, 1) - 1
    first = np.repeat(np.cumsum(others) - others, others)
    rows = np.repeat(begins, others) + 1 + np.arange(others.sum()) - first
    total = lines[begins]
    np.add.at(total, np.repeat(np.arange(begins.size), others), lines[rows])
    return total


def at_any(recorder: Recorder, ufunc: np.ufunc, array: Any, index: Any, *operands: Any) -> None:
    """`ufunc.at`: an index that occurs again counts again, so the places are written to in rounds, once in each.

    Those of indices that are data one after the other.
    """
    if not recorder.is_array(array):
        array[...]
        raise unsupported(f"numpy.{ufunc.__name__}.at of an array made outside", "pass that array as an argument")
    if not recorder.is_concrete(index):
        elements = array.reshape(-1)
        places = recorder.concrete(np.arange(array.size).reshape(array.shape))[index]
        values = [np.broadcast_to(asarray(recorder, b), places.shape).reshape(-1) for b in operands]
        recorder.namespace.function(control._at_each)(ufunc, elements, places.reshape(-1), *values)
        if elements.storage.root is not array.storage.root:
            array[...] = elements.reshape(array.shape)
        return
    places = np.arange(array.size).reshape(array.shape)[recorder.plain(index)]
    others = [np.broadcast_to(asarray(recorder, b), places.shape).reshape(-1) for b in operands]
    places = places.reshape(-1)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], places[order])
    rounds = np.empty(places.size, int)
    rounds[order] = np.arange(places.size) - starts
    for number in range(int(rounds.max(initial=-1)) + 1):
        chosen = np.flatnonzero(rounds == number)
        where = np.unravel_index(places[chosen], array.shape)
        array[where] = ufunc(array[where], *(b[chosen] for b in others))


METHODS |= {"reduce": reduce_any, "accumulate": accumulate_any, "reduceat": reduceat_any, "at": at_any}
