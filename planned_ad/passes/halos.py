"""Sums of contributions that are shifted along several axes, by copies of them with a rim of zeros.

>>> import numpy as np
>>> from planned_ad.passes.gather_form import gather_form
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.trace import trace
>>> def f(u):
...     return u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:]
>>> tape = simplify(reverse(trace(f, (np.zeros((9, 9, 9)),)).tape, accumulate=True, loss=False))
>>> print(brief(gather_form(tape)))
# reverse sweep
v19 = 0.0
rim_du#3[...] = v19
v9: float64[7, 7, 7] = cotangent#2[...]
rim_du#3[2:9, 2:9, 1:8] = v9
v10: float64[9, 9, 8] = rim_du#3[1:10, 1:10, 0:8]
v11: float64[9, 9, 8] = rim_du#3[1:10, 2:11, 1:9]
v12: float64[9, 9, 8] = rim_du#3[1:10, 0:9, 1:9]
v13: float64[9, 9, 8] = rim_du#3[2:11, 1:10, 1:9]
v14: float64[9, 9, 8] = rim_du#3[0:9, 1:10, 1:9]
v15: float64[9, 9, 8] = add(v10, v11)
v16: float64[9, 9, 8] = add(v15, v12)
v17: float64[9, 9, 8] = add(v16, v13)
v18: float64[9, 9, 8] = add(v17, v14)
du#1[:, :, 1:9] += v18

Along an axis, stores that are shifted by one to either side part it in five, so that stencils in three dimensions have
81 boxes or more. Here each element of the box around them all is stored once, as the sum of what is at its neighbours
in the copies: zero beyond their edges. That is two passes over memory, however many contributions there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..regions.regions import Region, View, c_strides, contiguous
from ..tape.builder import TapeBuilder
from ..tape.tape import Buffer, Store, Value
from .boxes import Box, Window, shown

MOST_COPIES = 3
SPARED = 2  # passes over memory for each copy, at least, that are no longer made


@dataclass(frozen=True, slots=True)
class RimmedCopy:
    """The sum of `values` with a rim: what is added to each of `boxes`. `low`: how wide the rim is at the start."""

    values: tuple[Value, ...]
    boxes: tuple[Box, ...]
    low: tuple[int, ...]
    shape: tuple[int, ...]


def bounding_box(boxes: Sequence[Box]) -> Box:
    """The smallest box that contains all."""
    starts = tuple(map(min, zip(*(box.starts for box in boxes))))
    return Box(starts, tuple(map(max, zip(*(box.stops for box in boxes)))))


def parted_stores(group: Sequence[Store], places: Sequence[Window]) -> tuple[list[Store], list[Store]]:
    """Stores that are written where they are, and those of what is shown at several places; both keep their order.

    The former come first: what is not added to what is there, and what is shown once. All are the former where one
    that is not added comes after ones that are.
    """
    plain = next((k for k, store in enumerate(group) if store.accumulate), len(group))
    if not all(store.accumulate for store in group[plain:]):
        return list(group), []
    added: dict[Box, tuple[Value, ...]] = {}
    for store, place in zip(group[plain:], places[plain:]):
        added[place.box] = (*added.get(place.box, ()), store.value)
    times = Counter(added.values())
    once = {box for box, values in added.items() if times[values] == 1}
    here = [store for store, place in zip(group[plain:], places[plain:]) if place.box in once]
    return [*group[:plain], *here], [store for store in group[plain:] if all(store is not other for other in here)]


def rimmed_copies(group: Sequence[Store], places: Sequence[Window]) -> list[RimmedCopy] | None:
    """What has to be copied for a group of stores; None where it would not pay."""
    if not group:
        return None
    boxes = [place.box for place in places]
    axes, whole = places[0].axes, bounding_box(boxes)
    size = contiguous(whole.shape).size
    if any(n != 1 for axis, n in enumerate(whole.shape) if axis not in axes):
        return None
    if not all(store.value.shape and store.value.dtype.kind == "f" for store in group):
        return None
    if any(2 * contiguous(box.shape).size < size for box in boxes):
        return None
    added: dict[Box, tuple[Value, ...]] = {}
    for store, box in zip(group, boxes):
        added[box] = (*added.get(box, ()), store.value)
    shown_at: dict[tuple[Value, ...], list[Box]] = {}
    for box, values in added.items():
        shown_at.setdefault(values, []).append(box)
    if len(shown_at) > MOST_COPIES or len(added) < SPARED * (len(shown_at) + 1):
        return None
    return [with_rim(values, boxes, whole, axes) for values, boxes in shown_at.items()]


def with_rim(values: tuple[Value, ...], boxes: Sequence[Box], whole: Box, axes: Sequence[int]) -> RimmedCopy:
    low = tuple(max(box.starts[k] for box in boxes) - whole.starts[k] for k in axes)
    high = (whole.stops[k] - min(box.stops[k] for box in boxes) for k in axes)
    shape = tuple(a + n + b for a, n, b in zip(low, values[0].shape, high))
    return RimmedCopy(values, tuple(boxes), low, shape)


class Rims:
    """The copies' memory: one for all groups that want the same, one group after the other."""

    def __init__(self, builder: TapeBuilder) -> None:
        self.builder = builder
        self.memories: dict[tuple, Buffer] = {}

    def of(self, copy: RimmedCopy, number: int, buffer: Buffer) -> Buffer:
        """`number`: which copy of a group it is."""
        key = number, buffer.dtype, copy.low, copy.values[0].shape, copy.shape
        if key not in self.memories:
            made = self.builder.new_buffer("local", f"rim_{buffer.label}", buffer.dtype, contiguous(copy.shape))
            self.memories[key] = made
        return self.memories[key]

    def clear(self) -> None:
        """Their insides are stored before they are read, each time; the rims stay zero."""
        for memory in self.memories.values():
            self.builder.store(memory.whole, self.builder.constant(0, memory.dtype))

    def write(
        self, buffer: Buffer, group: Sequence[Store], places: Sequence[Window], found: Sequence[RimmedCopy]
    ) -> None:
        """Store each element of the box around `group` once."""
        builder, axes, whole = self.builder, places[0].axes, bounding_box([place.box for place in places])
        builder.line = group[-1].line
        extents = tuple(whole.shape[k] for k in axes)
        terms = []
        for number, copy in enumerate(found):
            memory, strides = self.of(copy, number, buffer), c_strides(copy.shape)
            inner = sum(a * s for a, s in zip(copy.low, strides))
            builder.store(
                Region(memory.id, View(inner, copy.values[0].shape, strides)), sum_of_terms(builder, copy.values)
            )
            for box in copy.boxes:
                moved = sum((box.starts[k] - whole.starts[k]) * s for k, s in zip(axes, strides))
                terms.append(builder.load(Region(memory.id, View(inner - moved, extents, strides))))
        region = Region(buffer.id, shown(buffer.view, whole, axes, places[0].moving))
        builder.store(region, sum_of_terms(builder, terms), accumulate=True)


def sum_of_terms(builder: TapeBuilder, terms: Sequence[Value]) -> Value:
    found = terms[0]
    for term in terms[1:]:
        found = builder.apply("add", found, term)
    return found
