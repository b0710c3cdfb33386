"""Elementwise operations on arrays that are joined from parts, part by part: the joined array is no memory.

>>> import numpy as np
>>> from planned_ad.passes.boundary import primal
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = simplify(primal(trace(lambda u, y: np.copyto(y, u * np.roll(u, 1)), (np.zeros(99), np.zeros(99))).tape))
>>> print(brief(tape))
v0: float64[99] = u[...]
v6: float64[98] = u[0:98]
tape#2[1:99] = v6
v7: float64[1] = u[98:99]
tape#2[0:1] = v7
v4: float64[99] = tape#2[...]
v5: float64[99] = multiply(v0, v4)
y[...] = v5
>>> print(brief(simplify(without_joined_parts(tape))))
v6: float64[98] = u[0:98]
v7: float64[1] = u[98:99]
v12: float64[1] = u[0:1]
v9: float64[1] = multiply(v12, v7)
y[0:1] = v9
v13: float64[98] = u[1:99]
v11: float64[98] = multiply(v13, v6)
y[1:99] = v11

Periodic neighbours by `numpy.roll`, shifted arrays by `numpy.concatenate` and arrays whose margins are assigned to are
such. Each part of the result is then computed from where its operands lie. Requires a verified tape; ensures the same
numbers.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from ..regions.regions import Region, View, c_strides, contiguous, is_fixed
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Buffer, Load, Operation, Store, Tape, Value, all_blocks, walk
from .boxes import Box, cut_boxes, place_of

LEAST = 64  # elements: fewer are copied at once
MOST_BOXES = 4  # more of them are mostly borders
MOST_OPERATIONS = 300  # that are written


@dataclass(frozen=True, slots=True)
class JoinedPart:
    """A value that lies in a box of a joined array; `axes`: of each axis of the value, the array's."""

    box: Box
    axes: tuple[int, ...]
    value: Value

    def seen(self, builder: TapeBuilder, box: Box) -> Value:
        """What of it is in a smaller box."""
        if not self.value.shape:
            return self.value
        strides = dict(zip(self.axes, c_strides(self.value.shape)))
        offset = sum((box.starts[k] - self.box.starts[k]) * stride for k, stride in strides.items())
        return builder.view(
            self.value, View(offset, box.shape, tuple(strides.get(k, 0) for k in range(len(box.starts))))
        )


def without_joined_parts(tape: Tape) -> Tape:
    """Requires a verified tape; ensures the same numbers."""
    accesses = Counter(r.buffer for op in walk(tape.operations) if not op.blocks for r in (*op.reads, *op.writes))
    uses = Counter(v.id for op in walk(tape.operations) for v in (*op.steering, *(() if op.blocks else op.inputs)))
    uses.update(v.id for v in tape.results)
    chosen: dict[int, InParts] = {}
    for block in all_blocks(tape.operations):
        for group in stores_in_parts(tape, block, accesses, uses):
            chosen |= dict.fromkeys(map(id, group.stores), group)
    if not chosen:
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        builder.line = op.line
        if op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        elif id(op) in chosen and isinstance(op, Store):
            chosen[id(op)].write(builder, op)
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


@dataclass(frozen=True, slots=True)
class InParts:
    """Stores that are written box by box: what is `joined`, and what is `made` of that for them."""

    stores: tuple[Store, ...]
    joined: Mapping[int, Sequence[JoinedPart]]  # by id; the last one at a place counts
    made: Mapping[int, Apply]
    boxes: tuple[Box, ...]
    known: dict[tuple[Box, int], Value] = field(default_factory=dict)  # what is written already

    def write(self, builder: TapeBuilder, op: Store) -> None:
        for box in self.boxes:
            offset = op.region.view.offset
            for start, stride in zip(box.starts, op.region.view.strides):
                offset += start * stride
            region = Region(op.region.buffer, View(offset, box.shape, op.region.view.strides))
            builder.store(region, self.part(builder, op.value, box), op.accumulate)

    def part(self, builder: TapeBuilder, value: Value, box: Box) -> Value:
        """What is in a box of a value."""
        if (box, value.id) not in self.known:
            self.known[box, value.id] = self.new_part(builder, value, box)
        return self.known[box, value.id]

    def new_part(self, builder: TapeBuilder, value: Value, box: Box) -> Value:
        if value.id in self.made:
            op = self.made[value.id]
            return builder.apply(op.primitive, *(self.part(builder, v, box) for v in op.operands), **op.params)
        if value.id in self.joined:
            return next(part for part in reversed(self.joined[value.id]) if part.box.contains(box)).seen(builder, box)
        return JoinedPart(whole_box(value.shape), tuple(range(len(value.shape))), value).seen(builder, box)


def whole_box(shape: tuple[int, ...]) -> Box:
    return Box((0,) * len(shape), shape)


def stores_in_parts(
    tape: Tape, block: Sequence[Operation], accesses: Mapping[int, int], uses: Mapping[int, int]
) -> Iterator[InParts]:
    """The stores of a block, in groups that share what they are made of."""
    memories = dict(joined_memories(tape, block, accesses))
    if not memories:
        return
    users: defaultdict[int, list[Operation]] = defaultdict(list)
    for op in block:
        for value in op.inputs:
            users[value.id].append(op)

    def sinks(value: Value) -> dict[int, Store] | None:
        """The stores that all that is done with a value ends in, in whole; None where it ends otherwise."""
        if len(users[value.id]) != uses[value.id]:
            return None
        found: dict[int, Store] = {}
        for op in users[value.id]:
            if isinstance(op, Store) and op.region.shape == value.shape:
                found[id(op)] = op
                continue
            further = sinks(op.out) if is_elementwise_of(op, value.shape) else None
            if further is None:
                return None
            found |= further
        return found

    made = {op.out.id: op for op in block if isinstance(op, Apply) and is_elementwise_of(op, op.out.shape)}
    groups: list[tuple[dict[int, Store], dict[int, Sequence[JoinedPart]]]] = []
    for loads, parts in memories.values():
        ends = [sinks(value) for value in loads]
        if None in ends:
            continue
        stores = {key: store for end in ends if end is not None for key, store in end.items()}
        joined: dict[int, Sequence[JoinedPart]] = {value.id: parts for value in loads}
        for group in [g for g in groups if not g[0].keys().isdisjoint(stores)]:
            groups.remove(group)
            stores, joined = stores | group[0], joined | group[1]
        if stores:
            groups.append((stores, joined))
    for stores, joined in groups:
        boxes = cut_boxes([part.box for parts in joined.values() for part in parts])
        needed = operations_for([store.value for store in stores.values()], made, joined)
        if len(boxes) <= MOST_BOXES and len(boxes) * len(needed) <= MOST_OPERATIONS:
            yield InParts(tuple(stores.values()), joined, needed, tuple(boxes))


def operations_for(values: Sequence[Value], made: Mapping[int, Apply], joined: Collection[int]) -> dict[int, Apply]:
    """The operations between what is joined and `values`."""
    depends: dict[int, bool] = {}

    def visit(value: Value) -> bool:
        if value.id not in depends:
            op = made.get(value.id)
            found = [visit(operand) for operand in op.operands] if op is not None else []
            depends[value.id] = value.id in joined or any(found)
        return depends[value.id]

    for value in values:
        visit(value)
    return {id: made[id] for id, found in depends.items() if found and id not in joined}


def is_elementwise_of(op: Operation, shape: tuple[int, ...]) -> TypeGuard[Apply]:
    return isinstance(op, Apply) and RULES[op.primitive].kind == "elementwise" and op.out.shape == shape


def joined_memories(
    tape: Tape, block: Sequence[Operation], accesses: Mapping[int, int]
) -> Iterator[tuple[int, tuple[list[Value], list[JoinedPart]]]]:
    """Private memories of a block that stores fill, part by part, and that are then read as a whole."""
    touching: defaultdict[int, list[Operation]] = defaultdict(list)
    for op in block:
        if isinstance(op, Load | Store) and not tape.buffers[op.region.buffer].visible:
            touching[op.region.buffer].append(op)
    for id, found in touching.items():
        buffer = tape.buffers[id]
        stores = list(itertools.takewhile(lambda op: isinstance(op, Store) and not op.accumulate, found))
        loads = [op for op in found[len(stores) :] if isinstance(op, Load) and op.region.view == buffer.view]
        if len(stores) < 2 or not loads or len(stores) + len(loads) != accesses[id] or buffer.view.size < LEAST:
            continue
        parts = [part_of_store(buffer, op) for op in stores if isinstance(op, Store)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts) and are_filling(buffer.shape, [part.box for part in known]):
            yield id, ([op.out for op in loads], known)


def part_of_store(buffer: Buffer, op: Store) -> JoinedPart | None:
    place = place_of(buffer.view, op.region.view) if is_fixed(op.region.view) else None
    return None if place is None else JoinedPart(place.box, place.axes, op.value)


def are_filling(shape: tuple[int, ...], boxes: Sequence[Box]) -> bool:
    """Whether boxes that are cut at each other fill an array."""
    return sum(contiguous(box.shape).size for box in cut_boxes(boxes)) == contiguous(shape).size
