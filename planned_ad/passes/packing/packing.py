"""Statements alike, written out many times, become operations on arrays: what a loop over them would have been.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     total = 0.0
...     for k in range(300):
...         total += x[k] * x[k + 1]
...     return total
>>> tape = trace(f, (np.zeros(301),), unroll=1000).tape
>>> print(brief(tape)[:77])
v0 = x[0]
v1 = x[1]
v2 = multiply(v0, v1)
v3 = 0.0
v4 = add(v3, v2)
v5 = x[2]
>>> print(brief(packed(tape)))
v908: float64[300] = x[0:300]
v909: float64[300] = x[1:301]
v905: float64[300] = multiply(v908, v909)
v3 = 0.0
v906 = reduce_sum(v905, axes=(0,))
v907 = add(v3, v906)
return v907

Requires a primal tape; ensures the same numbers, up to the order of sums. A block is packed only where it is long. Its
operations are done in an order in which as many as possible that are alike, and do not wait for one another, come
together (S. Larsen and S. Amarasinghe, Exploiting Superword Level Parallelism, PLDI 2000); sums that are written out
term by term are sums of arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...regions.regions import Region, View, c_strides, contiguous, is_injective
from ...rules.table import RULES
from ...tape.builder import TapeBuilder, rebuilt
from ...tape.tape import Apply, Constant, Guard, Load, Operation, Store, Tape, Value, all_blocks, renamed
from ..dead_code import drop_dead
from ..inline import end_of_indices
from ..rewrite import rewrite
from .cells import cells_side_by_side
from .chains import Chain, chains_in
from .grouping import groups_in_order
from .kinds import Kinds, is_small, shows_a_block
from .members import Members, Values
from .order import Node, base_and_number
from .patterns import common_pattern
from .rolling import Levels, Rolling, StepsAlike, steps_in

LONG = 96  # operations on numbers in a block
VERY_LONG = 1000  # those that take longer to compile than any others do to run
WIDE = 32  # operations that are packed together on the average, in blocks that are not as long
FEWEST = 8  # operations that are packed together
LEAST_PACKED = 1 / 3  # of the operations on numbers of a block
MOST_SPREAD = 4  # numbers that are loaded for each that is needed


def packed(tape: Tape) -> Tape:
    """The tape with packed blocks; itself where there are no long ones, or none with much that is alike."""
    if not any(map(is_long, all_blocks(tape.operations))):
        return tape
    simpler = drop_dead(rewrite(tape))
    long = [block for block in all_blocks(simpler.operations) if is_long(block)]
    aside = cells_side_by_side(simpler, reversed(long))
    builder = rebuilt(aside)
    packing = Packing(builder, aside.results, end_of_indices(aside.operations))
    operations = packing.block(aside.operations)
    if not packing.count:
        return tape
    results = tuple(packing.names.get(v.id, v) for v in aside.results)
    found = replace(aside, buffers=tuple(builder.buffers), operations=operations, results=results, turn=len(operations))
    return drop_dead(rewrite(found))


def is_long(block: Sequence[Operation]) -> bool:
    return len(block) >= LONG and sum(map(is_small, block)) >= LONG


class Packing:
    """The walk over a tape: `count` operations were packed to `arrays`; `names` of what the results were."""

    def __init__(self, builder: TapeBuilder, results: Sequence[Value], next_index: int):
        self.builder = builder
        self.results = results
        self.count = self.arrays = 0
        self.next_index = next_index
        self.names: dict[int, Value] = {}
        self.constants: dict[int, np.ndarray] = {}

    def block(self, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """A block, and those inside of it, packed where they are long."""
        self.constants |= {op.out.id: op.data for op in operations if isinstance(op, Constant)}
        if is_long(operations):
            before, names, small = (self.count, self.arrays), dict(self.names), sum(map(is_small, operations))
            found = self.builder.recorded(lambda: BlockPacking(self, operations).write())
            count, arrays = self.count - before[0], self.arrays - before[1]
            if count >= LEAST_PACKED * small and (small >= VERY_LONG or count >= WIDE * arrays):
                return found
            self.count, self.arrays = before
            self.names.clear()  # the same dict: blocks around use it
            self.names.update(names)
        return tuple(op.with_blocks(*map(self.block, op.blocks)) if op.blocks else op for op in operations)


class BlockPacking:
    """The packing of one long block."""

    def __init__(self, packing: Packing, operations: Sequence[Operation]):
        self.packing = packing
        self.builder = packing.builder
        self.members = Members(self.builder, packing.names, packing.constants)
        self.kinds = Kinds(operations)
        self.uses = self.kinds.uses + Counter(v.id for v in packing.results)
        chains = [self.kinds.even(chain) for chain in chains_in(operations, packing.results)]
        ends = {chain.out.id: chain for chain in chains}
        inner = {link.out.id for chain in chains for link in chain.links}
        self.kinds.know(chains)
        self.nodes: list[Node] = []
        for op in operations:
            if not (isinstance(op, Apply) and op.out.id in inner):
                self.nodes.append(op)
            elif op.out.id in ends:
                self.nodes.append(ends[op.out.id])

    def write(self) -> None:
        for levels in groups_in_order(self.builder.buffers, self.nodes, [self.kinds.of(node) for node in self.nodes]):
            steps = steps_in(levels)
            if steps is None:
                self.groups(levels)
            else:
                self.roll(levels, steps)
        for value in self.packing.results:
            self.members.alone(value)

    def groups(self, levels: Levels) -> None:
        for level in levels:
            for _, group in level:
                self.builder.line = group[0].line
                if not self.pack(group):
                    for node in group:
                        self.alone(node)

    def roll(self, levels: Levels, steps: StepsAlike) -> None:
        """Write steps alike as a loop, where that is possible."""
        self.groups(levels[: steps.first])
        done = Rolling(self.members, steps, self.uses, self.packing.next_index).write()
        self.packing.next_index += done
        self.note(done, steps.count * len(steps.roles), len(steps.roles))
        self.groups(levels[steps.last if done else steps.first :])

    def alone(self, node: Node) -> None:
        """Write an operation as it was, unless it shows a part of what there is."""
        for op in node.links if isinstance(node, Chain) else (node,):
            self.builder.line = op.line
            if isinstance(op, Apply) and shows_a_block(op):
                self.members.show(op.out, op.operands[0], op.params["view"].offset)
                continue
            names = {v.id: self.members.alone(v) for v in op.inputs}
            op = renamed(op, {id: value for id, value in names.items() if value.id != id})
            self.builder.emit(op.with_blocks(*map(self.packing.block, op.blocks)) if op.blocks else op)

    def pack(self, group: Sequence[Any]) -> bool:
        """Write operations alike as one on arrays; whether that is possible."""
        first = group[0]
        if isinstance(first, Chain):
            done = self.pack_sums(group)
            self.note(done, sum(len(chain.links) for chain in group))
            return done
        if isinstance(first, Load) and len(group) > 1:
            return self.pack_loads(group)
        if len(group) < FEWEST:
            return False
        match first:
            case Store():
                return self.pack_stores(group)
            case Guard():
                return self.pack_guards(group)
            case Apply() if not shows_a_block(first):
                done = self.pack_applied(group)
                self.note(done, len(group))
                return done
        return False

    def note(self, done: bool, count: int, arrays: int = 1) -> None:
        """Operations that have been packed."""
        self.packing.count += done * count
        self.packing.arrays += done * arrays

    def pack_loads(self, loads: Sequence[Load]) -> bool:
        region = loads[0].region
        buffer, behind = self.builder.buffers[region.buffer], region.view.strides
        base, _ = base_and_number(region.view.offset)
        offsets = np.array([base_and_number(load.region.view.offset)[1] for load in loads])
        there = np.unique(offsets)
        pattern = common_pattern([there], len(there))
        if pattern is not None:
            view = View(base + int(there[0]), (*pattern.shape, *region.shape), (*pattern.strides[0], *behind))
            if is_injective(view):
                array = self.builder.load(Region(buffer.id, view))
                for load, member in zip(loads, np.searchsorted(there, offsets)):
                    self.members.where[load.out.id] = array, int(member) * load.out.size
                return True
        low, high = int(there[0]), int(there[-1]) + loads[0].out.size
        is_dense = behind == c_strides(region.shape) and buffer.view == contiguous(buffer.shape)
        if not is_dense or high - low > MOST_SPREAD * len(there) * loads[0].out.size:
            return False
        array = self.builder.load(Region(buffer.id, View(base + low, (high - low,), (1,))))
        for load, offset in zip(loads, offsets):
            self.members.where[load.out.id] = array, int(offset) - low
        return True

    def pack_stores(self, stores: Sequence[Store]) -> bool:
        stores = sorted(stores, key=lambda store: base_and_number(store.region.view.offset)[1])
        region = stores[0].region
        offsets = np.array([base_and_number(store.region.view.offset)[1] for store in stores])
        values = [store.value for store in stores]
        positions = self.members.positions(values)
        pattern = common_pattern([offsets] if positions is None else [offsets, positions], len(offsets))
        if pattern is None:
            pattern = common_pattern([offsets], len(offsets))
        if pattern is None or not self.members.can_be_packed(values):
            return False
        first = base_and_number(region.view.offset)[0] + int(offsets[0])
        view = View(first, (*pattern.shape, *region.shape), (*pattern.strides[0], *region.view.strides))
        if not is_injective(view):
            return False
        value = self.members.repeated(values, pattern.shape, region.shape)
        self.builder.store(Region(region.buffer, view), value, stores[0].accumulate)
        return True

    def pack_guards(self, guards: Sequence[Guard]) -> bool:
        """All at once: whether all hold, or any does."""
        values = [guard.predicate for guard in guards]
        splits = self.members.splits([values], most=1)
        if splits is None:
            return False
        (split,) = splits
        array = self.members.packed(values, split.shape)
        array = self.builder.broadcast(array, split.shape)
        primitive = "reduce_all" if guards[0].outcome else "reduce_any"
        predicate = self.builder.apply(primitive, array, axes=tuple(range(len(split.shape))))
        self.builder.emit(replace(guards[0], predicate=predicate))
        return True

    def pack_applied(self, operations: Sequence[Apply]) -> bool:
        operands = list(zip(*(op.operands for op in operations)))
        splits = self.members.splits(operands)
        if splits is None:
            return False
        for split in splits:
            some = [operations[k] for k in split.members]
            if len(some) < FEWEST and len(splits) > 1:
                for op in some:
                    self.alone(op)
                continue
            array = self.applied(some[0], [[values[k] for k in split.members] for values in operands], split.shape)
            for k, op in enumerate(some):
                self.members.where[op.out.id] = array, k * op.out.size
        return True

    def applied(self, op: Apply, operands: Sequence[Values], shape: tuple[int, ...]) -> Value:
        """The operation on these operands, along axes of that shape in front."""
        builder, members, params, lead = self.builder, self.members, op.params, len(shape)
        match RULES[op.primitive].kind:
            case "elementwise":
                arrays = [members.repeated(values, shape, op.out.shape) for values in operands]
                if not any(array.shape for array in arrays):  # the same number each time
                    arrays[0] = builder.broadcast(arrays[0], (*shape, *op.out.shape))
                return builder.apply(op.primitive, *arrays, **params)
            case "view":
                (values,) = operands
                view, size = params["view"], values[0].size
                strides = tuple(stride * size for stride in c_strides(shape))
                array = members.repeated(values, shape, values[0].shape)
                return builder.view(array, View(view.offset, (*shape, *view.shape), (*strides, *view.strides)))
            case "reduce":
                params["axes"] = tuple(axis + lead for axis in params["axes"])
                (values,) = operands
                return builder.apply(op.primitive, members.repeated(values, shape, values[0].shape), **params)
        label = 1 + max((*params["a_labels"], *params["b_labels"]), default=0)  # a product
        front = tuple(range(label, label + lead))
        arrays = []
        for name, values in zip(("a_labels", "b_labels"), operands):
            arrays.append(members.packed(values, shape))
            if len({value.id for value in values}) > 1:
                params[name] = (*front, *params[name])
        params["out_labels"] = (*front, *params["out_labels"])
        return builder.apply(op.primitive, *arrays, **params)

    def pack_sums(self, chains: Sequence[Chain]) -> bool:
        builder, rows, inner = self.builder, len(chains), chains[0].out.shape
        signs = np.array(chains[0].signs)
        count = len(signs)
        terms = [term for chain in chains for term in chain.terms]
        starts = [chain.start for chain in chains if chain.start is not None]
        if len(terms) < FEWEST or not self.members.can_be_packed(starts):
            return False
        splits = self.members.splits([terms], rows)
        if splits is None:
            return False
        sums: Value | None = None
        for split in splits:
            some, by = [terms[k] for k in split.members], signs[[k % count for k in split.members]]
            if len(some) == 1:
                total = self.members.alone(some[0])
                total = builder.apply("negative", total) if by[0] < 0 else total
                sums = total if sums is None else builder.apply("add", sums, total)
                continue
            array = builder.broadcast(self.members.repeated(some, split.shape, inner), (*split.shape, *inner))
            if np.any(by < 0):
                factors = builder.constant(by.reshape(split.shape), array.dtype)
                view = View(0, array.shape, (*c_strides(split.shape), *(0 for _ in inner)))
                array = builder.apply("multiply", array, builder.view(factors, view))
            axes, behind = len(split.shape), 1
            while behind < len(some) // rows:
                axes -= 1
                behind *= split.shape[axes]
            total = builder.apply("reduce_sum", array, axes=tuple(range(axes, len(split.shape))))
            total = builder.reshape(total, inner) if rows == 1 else total
            sums = total if sums is None else builder.apply("add", sums, total)
        assert sums is not None
        if starts:
            lead = sums.shape[: len(sums.shape) - len(inner)]
            sums = builder.apply("add", self.members.repeated(starts, lead, inner), sums)
        for k, chain in enumerate(chains):
            if rows == 1:
                self.members.names[chain.out.id] = sums
            else:
                self.members.where[chain.out.id] = sums, k * chain.out.size
        return True
