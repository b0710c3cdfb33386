"""Adjoints of windows that overlap: each element gets the sum of the cotangents of all the places that showed it.

>>> import numpy as np
>>> from numpy.lib.stride_tricks import sliding_window_view
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def adjoint(f, *arguments):
...     return brief(simplify(reverse(trace(f, arguments).tape, accumulate=True, loss=False)))
>>> print(adjoint(lambda x, w: sliding_window_view(x, 20) @ w, np.zeros(99), np.zeros(20)))
v0: float64[80, 20] = x{+0 [80, 20] by [1, 1]}
# reverse sweep
v3: float64[80] = cotangent#4[...]
v5: float64[20] = contract(v0, v3, a_labels=(0, 1), b_labels=(0,), out_labels=(1,))
dw#3[...] += v5
v6 = 0.0
rim#5[...] = v6
rim#5[19:99] = v3
v7: float64[99, 20] = rim#5{+19 [99, 20] by [1, -1]}
v11: float64[99, 20] = w{+0 [99, 20] by [0, 1]}
v9: float64[99, 20] = multiply(v7, v11)
v10: float64[99] = reduce_sum(v9, axes=(1,))
dx#2[...] += v10
>>> print(adjoint(lambda x: np.exp(sliding_window_view(x, 20)), np.zeros(99)))
v0: float64[80, 20] = x{+0 [80, 20] by [1, 1]}
v1: float64[80, 20] = exp(v0)
# reverse sweep
v2: float64[80, 20] = cotangent#2[...]
v3: float64[80, 20] = multiply(v2, v1)
v4: float64[20, 80] = view(v3, view={+0 [20, 80] by [1, 20]})
cotangent#3[...] = v4
for i0 in range(0, 20, 1):
    v5: float64[80] = cotangent#3[i0, :]
    dx#1[i0:i0 + 80] += v5

Where the cotangent is a product of what depends on where a window is and of what depends on where in the window an
element is (convolutions, moving averages), the former is copied with a rim of zeros, through which windows slide the
other way: a sum of products for each element, as in the primal. Otherwise cotangents are added tap by tap: one place in
all windows at a time, whose elements are all different.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..regions.affine import Extent, exact, loop_index
from ..regions.regions import Region, View, c_strides, contiguous, is_injective
from ..rules.table import RULES
from ..tape.builder import TapeBuilder
from ..tape.tape import Apply, Constant, Load, Loop, Operation, Value
from .shadows import local_memory

MOST_WRITTEN_OUT = 16  # taps; more are a loop


@dataclass(frozen=True, slots=True)
class Slide:
    """The axis along which windows move, and the shorter one within them: by the same stride, or against it."""

    moves: int
    within: int
    together: bool


def add_windows(builder: TapeBuilder, region: Region, cotangent: Value, indices: Iterator[int]) -> None:
    """Add `cotangent` to a region whose view shows elements at several indices, at any strides but zero.

    `indices`: of loops that may be made.
    """
    if not add_with_rim(builder, region, cotangent):
        add_taps(builder, region, cotangent, indices)


# Sums of products.


def add_with_rim(builder: TapeBuilder, region: Region, cotangent: Value) -> bool:
    """Whether the cotangent is such a product, and has been added."""
    view = region.view
    slides = slides_of(view)
    joined = None if slides is None else joined_view(view, slides)
    if slides is None or joined is None:
        return False
    moving_axes, inner = {s.moves for s in slides}, {s.within for s in slides}
    factors = Factors(builder.operations).of(cotangent)
    moving = [factor for factor in factors if factor.axes & moving_axes]
    fixed = [factor for factor in factors if not factor.axes & moving_axes]
    axes = moving_axes.union(*(factor.axes for factor in moving))
    if axes & inner:
        return False
    extents, kept = view.shape, sorted(axes)
    shape = tuple(extents[k] for k in kept)
    reach = {s.moves: extents[s.within] - 1 for s in slides}
    room = tuple(extents[k] + 2 * reach.get(k, 0) for k in kept)
    rim, strides = local_memory(builder, "rim", room, cotangent.dtype), dict(zip(kept, c_strides(room)))
    builder.store(rim, builder.constant(0, cotangent.dtype))
    start = sum(reach.get(k, 0) * strides[k] for k in kept)
    own = [factor.along(builder, kept, shape) for factor in moving] or [builder.constant(1, cotangent.dtype)]
    builder.store(Region(rim.buffer, View(start, shape, c_strides(room))), multiply_all(builder, own))
    # Along the axis that windows move along: the elements of the array, one after the other.
    slid = tuple(n + reach.get(k, 0) for k, n in enumerate(extents))
    steps = [strides.get(k, 0) for k in range(len(extents))]
    first = 0
    for s in slides:
        steps[s.within] = -strides[s.moves] if s.together else strides[s.moves]
        first += reach[s.moves] * strides[s.moves] if s.together else 0
    terms = [builder.load(Region(rim.buffer, View(first, slid, tuple(steps))))]
    terms += [factor.along(builder, range(len(slid)), slid) for factor in fixed]
    total = builder.apply("reduce_sum", multiply_all(builder, terms), axes=tuple(sorted(inner)))
    builder.store(Region(region.buffer, joined), total, accumulate=True)
    return True


def slides_of(view: View) -> list[Slide] | None:
    """The pairs of axes of equal strides; None where there are none, or more than two of a stride."""
    by_stride: dict[int, list[int]] = defaultdict(list)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides)):
        if n > 1:
            by_stride[abs(stride)].append(axis)
    slides = []
    for axes in by_stride.values():
        if len(axes) > 2:
            return None
        if len(axes) == 2:
            within, moves = sorted(axes, key=lambda k: view.shape[k])
            slides.append(Slide(moves, within, view.strides[moves] == view.strides[within]))
    return slides or None


def joined_view(view: View, slides: Sequence[Slide]) -> View | None:
    """What windows show, each element once; None where they overlap in another way too."""
    offset, shape = view.offset, list(view.shape)
    for s in slides:
        shape[s.moves] += view.shape[s.within] - 1
        if not s.together:
            offset = offset + (view.shape[s.within] - 1) * view.strides[s.within]
    left = [k for k in range(len(shape)) if k not in {s.within for s in slides}]
    found = View(offset, tuple(shape[k] for k in left), tuple(view.strides[k] for k in left))
    return found if is_injective(found) else None


@dataclass(frozen=True, slots=True)
class Spread:
    """A value as it is shown, by `strides`, along the axes of what it is a factor of."""

    value: Value
    strides: tuple[int, ...]

    @property
    def axes(self) -> frozenset[int]:
        """Those along which it is not the same everywhere."""
        return frozenset(k for k, stride in enumerate(self.strides) if stride)

    def along(self, builder: TapeBuilder, axes: Iterable[int], shape: tuple[int, ...]) -> Value:
        """Seen along some axes, at the start of the others."""
        return builder.view(self.value, View(0, shape, tuple(self.strides[k] for k in axes)))


class Factors:
    """What values are products of."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.made = {op.out.id: op for op in operations if isinstance(op, Apply | Load | Constant)}
        self.known: dict[int, frozenset[int]] = {}

    def of(self, value: Value) -> list[Spread]:
        op = self.made.get(value.id)
        if isinstance(op, Apply) and op.primitive == "multiply":
            return [factor for operand in op.operands if operand.shape for factor in self.of(operand)] + [
                Spread(operand, (0,) * len(value.shape)) for operand in op.operands if not operand.shape
            ]
        if isinstance(op, Apply) and op.primitive == "contract":
            labels = op.params
            out = labels["out_labels"]
            if {*labels["a_labels"], *labels["b_labels"]} == {*out}:
                return [outer_factor(v, labels[name], out) for v, name in zip(op.operands, ("a_labels", "b_labels"))]
        axes = self.axes(value)
        strides = c_strides(value.shape)
        return [Spread(value, tuple(stride if k in axes else 0 for k, stride in enumerate(strides)))]

    def axes(self, value: Value) -> frozenset[int]:
        if value.id not in self.known:
            self.known[value.id] = self.axes_of(value)
        return self.known[value.id]

    def axes_of(self, value: Value) -> frozenset[int]:
        op = self.made.get(value.id)
        if isinstance(op, Constant) and not value.shape:
            return frozenset()
        if isinstance(op, Load):
            return axes_shown(op.region.view)
        if isinstance(op, Apply) and op.primitive == "view":
            return axes_shown(op.params["view"])
        if isinstance(op, Apply) and RULES[op.primitive].kind == "elementwise":
            return frozenset().union(*(self.axes(v) for v in op.operands if v.shape))
        return frozenset(range(len(value.shape)))


def outer_factor(value: Value, labels: Sequence[int], out: Sequence[int]) -> Spread:
    """An operand of an outer product, whose axes are named."""
    strides = dict(zip(labels, c_strides(value.shape)))
    return Spread(value, tuple(strides.get(label, 0) for label in out))


def axes_shown(view: View) -> frozenset[int]:
    return frozenset(k for k, stride in enumerate(view.strides) if stride != 0)


def multiply_all(builder: TapeBuilder, values: Sequence[Value]) -> Value:
    return functools.reduce(functools.partial(builder.apply, "multiply"), values)


# Tap by tap.


def add_taps(builder: TapeBuilder, region: Region, cotangent: Value, indices: Iterator[int]) -> None:
    """The shortest axes are stepped along, until what is left shows each element once."""
    view = region.view
    taps: list[int] = []
    by_extent = sorted(range(len(view.shape)), key=lambda k: view.shape[k])
    while not is_injective(with_axes(view, left_of(view, taps))):
        taps.append(by_extent[len(taps)])
    left, whole = left_of(view, taps), contiguous(view.shape)
    counts = [view.shape[k] for k in taps]
    if math.prod(counts) <= MOST_WRITTEN_OUT:
        for place in itertools.product(*map(range, counts)):
            here = Region(region.buffer, at(view, left, taps, place))
            builder.store(here, builder.view(cotangent, at(whole, left, taps, place)), accumulate=True)
        return
    memory = local_memory(builder, "cotangent", (*counts, *(view.shape[k] for k in left)), cotangent.dtype)
    order = [*taps, *left]
    builder.store(memory, builder.view(cotangent, with_axes(whole, order)))
    stored, own = memory.view, list(itertools.islice(indices, len(taps)))
    at_now: list[Extent] = [loop_index(index) for index in own]
    rest, ahead = list(range(len(taps), len(order))), list(range(len(taps)))

    def add_one() -> None:
        value = builder.load(Region(memory.buffer, at(stored, rest, ahead, at_now)))
        builder.store(Region(region.buffer, at(view, left, taps, at_now)), value, accumulate=True)

    body = builder.recorded(add_one)
    for index, count in reversed(list(zip(own, counts))):
        body = (Loop(index=index, start=0, step=1, trips=count, body=body, line=builder.line),)
    builder.emit(body[0])


def left_of(view: View, taps: Sequence[int]) -> list[int]:
    return [k for k in range(len(view.shape)) if k not in taps]


def with_axes(view: View, axes: Sequence[int]) -> View:
    """The axes of a view that are named, at the start of the others."""
    return View(view.offset, tuple(view.shape[k] for k in axes), tuple(view.strides[k] for k in axes))


def at(view: View, left: Sequence[int], axes: Sequence[int], place: Sequence[Extent]) -> View:
    """The axes `left` of a view, at a place along the other `axes`."""
    offset = view.offset + sum((i * view.strides[k] for k, i in zip(axes, place)), exact(0))
    return View(offset, tuple(view.shape[k] for k in left), tuple(view.strides[k] for k in left))
