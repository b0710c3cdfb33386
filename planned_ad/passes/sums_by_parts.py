"""What is summed over memory that was filled in parts is the sum over these parts, which need not be put together.

>>> import numpy as np
>>> from planned_ad.passes.dead_code import drop_dead
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def squares(x, y):
...     r = np.concatenate([np.sin(x), y])
...     return np.sum(r * r)
>>> tape = trace(squares, (np.zeros(3), np.zeros(5))).tape
>>> print(brief(drop_dead(tape)))
v0: float64[3] = x[...]
v1: float64[3] = sin(v0)
v2: float64[5] = y[...]
r#2[0:3] = v1
r#2[3:8] = v2
v4: float64[8] = r#2[...]
v5: float64[8] = multiply(v4, v4)
v6 = reduce_sum(v5, axes=(0,))
return v6
>>> print(brief(drop_dead(sums_by_parts(drop_dead(tape)))))
v0: float64[3] = x[...]
v1: float64[3] = sin(v0)
v2: float64[5] = y[...]
v7: float64[3] = multiply(v1, v1)
v8 = reduce_sum(v7, axes=(0,))
v9: float64[5] = multiply(v2, v2)
v10 = reduce_sum(v9, axes=(0,))
v6 = add(v8, v10)
return v6

Requires a tape; ensures the same numbers (sums reassociated). Residuals of several kinds, joined to one array, are such
memory.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..regions.regions import View, contiguous, is_fixed, overlap, remap
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Load, Operation, Store, Tape, Value, all_blocks, walk
from .boxes import Box, Window, cut_boxes, merged_boxes, place_of, shown

MOST_PARTS = 8


@dataclass(frozen=True, slots=True)
class FilledPart:
    """A part of memory, and which part of a stored value it holds."""

    place: View
    value: Value
    shown: View


@dataclass(frozen=True, slots=True)
class Joined:
    """A load of memory that some stores fill, what is computed of it element by element, and the sums of that."""

    load: Load
    whole: View
    parts: tuple[FilledPart, ...]
    chain: tuple[Apply, ...]
    sums: tuple[Apply, ...]


def sums_by_parts(tape: Tape) -> Tape:
    """Requires a tape; ensures the same numbers (sums reassociated). The same tape where there is no such memory."""
    accesses = Counter(r.buffer for op in walk(tape.operations) if not op.blocks for r in (*op.reads, *op.writes))
    users: dict[int, list[Operation]] = defaultdict(list)
    for op in walk(tape.operations):
        for value in dict.fromkeys(op.steering if op.blocks else op.inputs):
            users[value.id].append(op)
    kept = {value.id for value in tape.results}
    found = [j for block in all_blocks(tape.operations) for j in joined_in(tape, block, accesses, users, kept)]
    if not found:
        return tape
    builder = rebuilt(tape)
    sums = {op.out.id: (op, joined) for joined in found for op in joined.sums}

    def write(op: Operation) -> None:
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif isinstance(op, Apply) and op.out.id in sums:
            write_sums(builder, *sums[op.out.id])
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def joined_in(
    tape: Tape, block: Sequence[Operation], accesses: Counter[int], users: dict[int, list[Operation]], kept: set[int]
) -> list[Joined]:
    """The memories of a block that are only summed."""
    found, here = [], {id(op) for op in block}
    stores: dict[int, list[Store]] = defaultdict(list)
    for op in block:
        if isinstance(op, Store):
            stores[op.region.buffer].append(op)
        elif isinstance(op, Load) and op.region.buffer in stores and not tape.buffers[op.region.buffer].visible:
            buffer = tape.buffers[op.region.buffer]
            parts = filling(stores[buffer.id], buffer.view)
            is_all = op.region == buffer.whole and accesses[buffer.id] == 1 + len(stores[buffer.id])
            is_all &= all(store.value.dtype == op.out.dtype for store in stores[buffer.id])
            chain = chain_from(op, users, kept) if parts and is_all else None
            if chain is not None and all(id(user) in here for user in (*chain[0], *chain[1])):
                found.append(Joined(op, buffer.view, tuple(parts), *chain))
    return found


def filling(stores: Sequence[Store], whole: View) -> list[FilledPart]:
    """What stores leave of one another in memory that they fill; none where they do not, or that is in many parts."""
    if any(s.accumulate or not is_fixed(s.region.view) for s in stores):
        return []
    parts = side_by_side(stores, whole) or last_written(stores, whole)
    seen = all(remap(part.place, whole, contiguous(whole.shape)) is not None for part in parts)
    return parts if seen and 2 <= len(parts) <= MOST_PARTS else []


def side_by_side(stores: Sequence[Store], whole: View) -> list[FilledPart]:
    """Parts of which none is written twice, but for what is there at first."""
    parts = list(stores[1:]) if stores[0].region.view == whole else list(stores)
    if len(parts) > MOST_PARTS or sum(s.region.view.size for s in parts) != whole.size:
        return []
    if any(overlap(a.region, b.region) for a, b in itertools.combinations(parts, 2)):
        return []
    if any(s.value.shape != s.region.shape for s in parts):
        return []
    return [FilledPart(s.region.view, s.value, contiguous(s.value.shape)) for s in parts]


def last_written(stores: Sequence[Store], whole: View) -> list[FilledPart]:
    """Boxes of memory, each of which shows what one store has left there."""
    windows = [place_of(whole, s.region.view) for s in stores[-MOST_PARTS:]]
    if None in windows:
        return []
    places = [place for place in windows if place is not None]
    owned: dict[int, list[Box]] = defaultdict(list)
    for piece in cut_boxes([place.box for place in places]):
        owned[max(k for k, place in enumerate(places) if place.box.contains(piece))].append(piece)
    boxes = [(stores[-len(places) :][k].value, places[k], box) for k in owned for box in merged_boxes(owned[k])]
    if sum(math.prod(box.shape) for _, _, box in boxes) != whole.size:
        return []
    return [
        FilledPart(shown(whole, box, place.axes, 0), value, shown_in_box(value, place, box))
        for value, place, box in boxes
    ]


def shown_in_box(value: Value, place: Window, box: Box) -> View:
    """What a value that is stored at `place` puts into `box`."""
    shape = tuple(box.shape[k] for k in place.axes)
    if not value.shape:
        return View(0, shape, (0,) * len(shape))
    own = contiguous(value.shape)
    first = sum((box.starts[k] - place.box.starts[k]) * s for k, s in zip(place.axes, own.strides))
    return View(first, shape, own.strides)


def chain_from(
    load: Load, users: dict[int, list[Operation]], kept: set[int]
) -> tuple[tuple[Apply, ...], tuple[Apply, ...]] | None:
    """What is computed of the elements, and summed; None where something else looks at them."""
    chain: dict[int, Apply] = {}
    sums: dict[int, Apply] = {}
    waiting = [load.out]
    while waiting:
        value = waiting.pop()
        if value.id in kept:
            return None
        for user in users[value.id]:
            if not isinstance(user, Apply):
                return None
            kind = RULES[user.primitive].kind
            if kind == "elementwise":
                if user.out.id not in chain:
                    chain[user.out.id] = user
                    waiting.append(user.out)
            elif is_sum_of_all(user):
                sums[user.out.id] = user
            else:
                return None
    return (tuple(chain.values()), tuple(sums.values())) if sums else None


def is_sum_of_all(op: Apply) -> bool:
    """Whether it is the sum of all elements, or of products of equal ones."""
    if op.out.shape or op.out.dtype.kind != "f":
        return False
    return op.primitive == "reduce_sum" or (
        op.primitive == "contract" and op.params["a_labels"] == op.params["b_labels"]
    )


def write_sums(builder: TapeBuilder, op: Apply, joined: Joined) -> None:
    """The sum of the sums over the parts."""
    builder.line = op.line
    terms = [sum_of_part(builder, op, joined, part) for part in joined.parts]
    total = terms[0]
    for term in terms[1:-1]:
        total = builder.apply("add", total, term)
    builder.emit(Apply(out=op.out, primitive="add", operands=(total, terms[-1]), line=op.line))


def sum_of_part(builder: TapeBuilder, op: Apply, joined: Joined, filled: FilledPart) -> Value:
    made = {inner.out.id: inner for inner in joined.chain}
    known: dict[int, Value] = {joined.load.out.id: builder.view(filled.value, filled.shown)}
    place = remap(filled.place, joined.whole, contiguous(joined.whole.shape))
    assert place is not None

    def part(value: Value) -> Value:
        if not value.shape:
            return value
        if value.id not in known:
            inner = made.get(value.id)
            known[value.id] = (
                builder.view(value, place)
                if inner is None
                else builder.apply(inner.primitive, *map(part, inner.operands), **inner.params)
            )
        return known[value.id]

    axes = tuple(range(len(filled.place.shape)))
    if op.primitive == "reduce_sum":
        return builder.apply("reduce_sum", part(op.operands[0]), axes=axes)
    a, b = map(part, op.operands)
    return builder.apply("contract", a, b, a_labels=axes, b_labels=axes, out_labels=())
