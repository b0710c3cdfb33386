"""Keys with loop indices in them: `A[i, 1:-1]`, `u[i:i+3]`, `A[i, :i]` show memory at places that the loop moves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...regions.affine import Affine, Extent, exact, ragged
from ...regions.regions import View
from ..record.recorder import Recorder
from ..record.scopes import Scope
from ..values.loop_index import PEEL_MOST, LoopIndex, expression_of, plain_or_traced
from .keys import WHOLE, expanded, takes_all


def has_loop_index(key: Any) -> bool:
    """Whether a key has a loop's index in it, by itself or as a bound of a slice."""
    kind = type(key)
    if kind is LoopIndex:
        return True
    if kind is tuple:
        return any(has_loop_index(part) for part in key)
    return kind is slice and any(type(bound) is LoopIndex for bound in (key.start, key.stop, key.step))


class CutOff(Exception):
    """A bound of a slice leaves the axis in iterations that cannot be recorded apart from the others."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of an axis: `length` elements (a `Ragged` where the loops around move it) from `start` on, `step` apart."""

    start: Extent
    length: int
    step: int


def place(array: Any, key: Any) -> View | None:
    """Where the one element lies that a key of integers and loop indices names; None for other keys."""
    parts = key if type(key) is tuple else (key,)
    layout = array.layout
    if len(parts) != len(layout.shape) or any(expression_of(part) is None for part in parts):
        return None
    if any(wraps_around(array.recorder, extent, part) for extent, part in zip(layout.shape, parts)):
        return None
    offset = layout.offset
    for axis, (part, extent, stride) in enumerate(zip(parts, layout.shape, layout.strides)):
        offset = offset + position(array.recorder, extent, axis, part) * stride
    return View(offset, (), ())


def position(recorder: Recorder, extent: int, axis: int, part: Any) -> Extent:
    """An integer index, counted from the start of its axis; the same way round in all iterations."""
    expression, total, bounds = expression_of(part), exact(extent), recorder.scopes.bounds
    assert expression is not None
    if isinstance(expression, int) and isinstance(total, int):
        if not -total <= expression < total:
            raise IndexError(f"index {expression} is out of bounds for axis {axis} with size {total}")
        return expression + total if expression < 0 else expression
    if bounds(expression)[1] < 0:
        expression = expression + total
    if bounds(expression)[0] >= 0 and bounds(total - 1 - expression)[0] >= 0:
        return expression
    raise _other_ends(recorder, expression, total - 1)


def is_expression(part: Any) -> bool:
    return expression_of(part) is not None and type(part) is not bool


def wraps_around(recorder: Recorder, extent: int, part: Any) -> bool:
    """Whether an index counts from the end of its axis in some iterations, and not just in a few at an end of a loop.

    Such an index is computed when the loop runs: `y[i - j]` of two loops; and one of a loop of which it is not known
    how often it runs, which could leave the axis: `while j < n and total < 1.0`.
    """
    expression, total = expression_of(part), exact(extent)
    if not isinstance(expression, Affine) or not isinstance(total, int):
        return False
    low, high = recorder.scopes.bounds(expression)
    if low < 0 or high >= total:
        loops = [scope.loop for scope in recorder.scopes.loops_in(expression)]
        if not all(loop.counts_iterations for loop in loops):  # type: ignore[union-attr]
            return True
    leaves = low < -total or high >= total  # on the other side of a test, perhaps: it is looked at where it is computed
    if leaves and not recorder.scopes.is_on_a_side(expression):
        return False
    return (leaves or low < 0 <= high) and _ends_apart(recorder, expression, total - 1) is None


def _other_ends(recorder: Recorder, expression: Extent, most: Extent) -> BaseException:
    """What to raise where `expression` leaves the range from 0 to `most` in some iterations.

    Where those are a few at either end of one loop, they are recorded by themselves; else the loop is unrolled.
    """
    recorder.mark()
    scopes = recorder.scopes
    apart = _ends_apart(recorder, expression, most)
    if apart is not None:
        scope, ends = apart
        return scopes.peel(scope, **ends)
    moving = scopes.loops_in(expression)
    if moving and moving[-1].loop is not None and moving[-1].loop.may_be_uneven():  # it may be `i = (i + 1) % 7` below
        return scopes.restart()
    around = moving or scopes.loops_in(most) or scopes.open
    return scopes.unroll(around, "indexes outside of an array, or from both ends", recorder.builder.line)


def _ends_apart(recorder: Recorder, expression: Extent, most: Extent) -> tuple[Scope, dict[str, int]] | None:
    """The loop of which a few iterations at an end, recorded by themselves, leave indices that go one way round."""
    scopes = recorder.scopes
    if isinstance(expression, Affine) and isinstance(most, int) and len(expression.terms) == 1:
        ((index, step),) = expression.terms
        scope = next(s for s in scopes.open if s.index == index)
        if scope.site in scopes.decisions.computed:
            return None
        if scope.site is not None and all(isinstance(end, int) for end in scope.range):
            first, last = (expression.constant + step * int(end) for end in scope.range)  # type: ignore[arg-type]
            for k in range(1, PEEL_MOST + 1):
                if _one_way_round(first + k * step, last, most):
                    return scope, {"first": k}
                if scope.has_last and _one_way_round(first, last - k * step, most):
                    return scope, {"last": k}
    return None


def _one_way_round(first: int, last: int, most: int) -> bool:
    """Whether indices from `first` to `last` are all counted from the start of an axis, or all from its end."""
    low, high = min(first, last), max(first, last)
    return (low >= 0 and high <= most) or (-most - 1 <= low and high < 0)


def stretch(recorder: Recorder, extent: int, part: slice) -> Stretch:
    """A slice of an axis."""
    total = exact(extent)
    bounds = [None if bound is None else expression_of(bound) for bound in (part.start, part.stop, part.step)]
    step = 1 if part.step is None else bounds[2]
    if any(b is None and given is not None for b, given in zip(bounds, (part.start, part.stop, part.step))):
        raise recorder.scopes.unroll_innermost("has a slice with traced bounds", recorder.builder.line)
    if isinstance(total, int) and all(b is None or isinstance(b, int) for b in bounds):
        found = range(total)[part]
        return Stretch(found.start if len(found) else 0, len(found), found.step)
    if not isinstance(step, int):
        raise recorder.scopes.unroll_innermost("has a slice whose step moves", recorder.builder.line)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        start = 0 if bounds[0] is None else _bound(recorder, bounds[0], total, total)
        stop = total if bounds[1] is None else _bound(recorder, bounds[1], total, total)
        distance = stop - start
    else:
        start = total - 1 if bounds[0] is None else _bound(recorder, bounds[0], total, total - 1)
        stop = -1 if bounds[1] is None else _bound(recorder, bounds[1], total, total - 1)
        distance = start - stop
    length = in_steps(distance, abs(step))
    if length is None:
        raise recorder.scopes.unroll_innermost("has a slice whose length is rounded", recorder.builder.line)
    if isinstance(length, int):
        return Stretch(start if length > 0 else 0, max(length, 0), step)
    return Stretch(start, ragged(recorder.scopes.capacity(length), length), step)


def in_steps(distance: Extent, step: int) -> Extent | None:
    """How many elements a distance has, one at its beginning and then one each `step`; not positive where it has none.

    None where loops move the distance by other than whole steps.
    """
    if isinstance(distance, int):
        return -(-distance // step)
    if any(move % step for _, move in distance.terms):
        return None
    return Affine(-(-distance.constant // step), tuple((index, move // step) for index, move in distance.terms))


def _bound(recorder: Recorder, bound: Extent, total: Extent, most: Extent) -> Extent:
    """A bound of a slice, counted from the start of the axis, where it is not cut off in any iteration."""
    limits = recorder.scopes.bounds
    if isinstance(bound, int) and isinstance(total, int) and isinstance(most, int):
        return max(0, min(bound + total if bound < 0 else bound, most))
    if limits(bound)[1] < 0:
        bound = bound + total
    if limits(bound)[0] >= 0 and limits(most - bound)[0] >= 0:
        return bound
    if _ends_apart(recorder, bound, most) is None:
        raise CutOff
    raise _other_ends(recorder, bound, most)


def with_run_time_bounds(key: Any) -> Any:
    """The key with the loop indices that are bounds of slices as integers known at run time."""
    if type(key) is tuple:
        return tuple(map(with_run_time_bounds, key))
    if type(key) is not slice:
        return key
    return slice(plain_or_traced(key.start), plain_or_traced(key.stop), key.step)


def is_index_array(part: Any) -> bool:
    """Whether a part of a key chooses several elements, so that all integers beside it are index arrays to NumPy."""
    return type(part) is list or type(part) is tuple or bool(getattr(part, "ndim", 0))


def puts_in_front(parts: Sequence[Any]) -> bool:
    """Whether NumPy has the axes of index arrays come first, since something stands between two of them."""
    if not any(map(is_index_array, parts)):
        return False
    own = [not (part is None or part is Ellipsis or type(part) is slice) for part in parts]
    return sum(here and not before for before, here in itertools.pairwise([False, *own])) > 1


def split(array: Any, key: Any) -> tuple[View, tuple[Any, ...] | None]:
    """The view that the loop indices in a key show, and the key for it that the rest is, if there is a rest.

    Integers are in the rest where their place beside index arrays counts.
    """
    recorder, layout = array.recorder, array.layout
    parts = expanded(array.ndim, key)
    in_front = puts_in_front(parts)
    if in_front != puts_in_front(key if type(key) is tuple else (key,)):
        raise recorder.scopes.unroll_innermost("indexes by an ellipsis for no axes", recorder.builder.line)
    offset: Extent = layout.offset
    shape: list[int] = []
    strides: list[int] = []
    rest: list[Any] = []  # for the view
    axis = 0
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(0)
            rest.append(WHOLE)
            continue
        extent, stride = layout.shape[axis], layout.strides[axis]
        if type(part) is slice:
            found = stretch(recorder, extent, part)
            offset = offset + found.start * stride
            shape.append(found.length)
            strides.append(found.step * stride)
            rest.append(WHOLE)
        elif is_expression(part) and not in_front and not wraps_around(recorder, extent, part):
            offset = offset + position(recorder, extent, axis, part) * stride
        else:
            shape.append(extent)
            strides.append(stride)
            rest.append(plain_or_traced(part))
        axis += 1
    return View(offset, tuple(shape), tuple(strides)), None if takes_all(rest) else tuple(rest)
