"""Sparsity: on which elements of some values each element of others depends, whatever their numbers are.

A tape is run with sets of indices (see `index_sets`) beside numbers: an elementwise operation unites the sets of its
operands, a reduction those along its axes, and all that moves elements moves their sets. Numbers are known where they
depend on no argument: indices and masks that are, choose exactly, and a product with a known zero depends on nothing
(at finite arguments). Where they are not, the pattern holds for all that they could be: the sets of all elements that
an index could mean, of both sides of a branch or of `where`, of a loop that ends early after any iteration.

Reference: Griewank & Walther, Evaluating Derivatives, 2nd ed., 7.1 (index domains).
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ...analysis.enclosing import indices_of
from ...passes.dead_code import drop_dead
from ...passes.inline import write_out_calls
from ...regions.affine import Ragged, at
from ...regions.regions import Region, View, is_injective, show
from ...rules import RULES
from ...tape.callees import has_rule
from ...tape.captured import known_in
from ...tape.interpret import actual, below, fixed, memory_of
from ...tape.tape import (
    Apply,
    Branch,
    Buffer,
    Constant,
    IndexValue,
    Load,
    Loop,
    Operation,
    Scatter,
    Store,
    Tape,
    Value,
    walk,
)
from .dependence_rules import Elements, number, result_of, unknown
from .index_sets import IndexSets

MOST_WORK = 200_000  # operations of a loop that may end early; of one with more, everything depends on everything
FEW = 10  # iterations after which nothing changes, as a rule, in a loop that does the same in each

Contents = dict[tuple[int, View], Elements]  # of regions, by buffer and view


def pattern(tape: Tape, independents: Sequence[Value]) -> scipy.sparse.csr_array:
    """Where the derivatives of the results of `tape` by some of its values may differ from zero.

    Requires a tape as it is traced (before or after `vectorise`), whose operations need not define all values that they
    use. Ensures that every other derivative is zero, for all arguments for which the guards hold and at which
    everything is finite, while the arrays from outside that are `known_in` its buffers hold what they do now. Time and
    memory are linear in the operations, of loops in all iterations, and in the sizes of the sets, also of intermediate
    results.

    Returns
    -------
    csr_array of bool
        A row for each element of the results, one after the other; a column for each element of the independents.
        Sorted, without duplicates.

    Raises
    ------
    UnsupportedError
        The sets have more than 2**27 indices together.
    """
    tape = drop_dead(write_out_calls(tape, keep=has_rule))
    sets = IndexSets(sum(v.size for v in independents))
    run = Sparsity(tape.buffers, sets)
    start = 0
    for value in independents:
        own = unknown(value.shape, value.dtype)
        own.sets[...] = sets.singletons[start : start + value.size].reshape(value.shape)
        run.independents[value.id] = run.values[value.id] = own
        start += value.size
    with np.errstate(all="ignore"):
        run.run(tape.operations)
        rows = [np.broadcast_to(run.value(v).sets, v.shape).reshape(-1) for v in tape.results]
    rows_of_all = np.concatenate([np.zeros(0, np.int64), *rows])
    lengths, items = sets.expanded(rows_of_all)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return scipy.sparse.csr_array((np.ones(len(items), bool), items, pointers), shape=(len(rows_of_all), sets.size))


class Sparsity:
    """Runs operations as the interpreter does, on `Elements`."""

    def __init__(self, buffers: Sequence[Buffer], sets: IndexSets):
        self.buffers, self.sets, self.known = buffers, sets, known_in(buffers)
        self.memories: dict[int, Elements] = {}
        self.values: dict[int, Elements] = {}
        self.independents: dict[int, Elements] = {}
        self.indices: dict[int, int] = {}
        self.log: Contents | None = None  # what regions held before they were first written to

    def run(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            self.step(op)

    def step(self, op: Operation) -> None:
        match op:
            case Constant():
                self.values[op.out.id] = number(op.data)
            case Apply():
                self.values[op.out.id] = self.independents.get(op.out.id) or self.applied(op)
            case Load():
                loaded = self.shown(op.region.buffer, self.view(op.region)).each(np.copy)
                self.values[op.out.id] = self.independents.get(op.out.id) or loaded
            case Store():
                self.store(op)
            case Scatter():
                self.scatter(op)
            case IndexValue():
                self.values[op.out.id] = number(np.array(at(op.expression, self.indices), op.out.dtype))
            case Loop():
                self.loop(op)
            case Branch():
                self.branch(op)

    def value(self, value: Value) -> Elements:
        found = self.values.get(value.id)
        return unknown(actual(value.shape, self.indices), value.dtype) if found is None else found

    # Memory.

    def view(self, region: Region) -> View:
        return below(region.view, self.buffers[region.buffer], self.indices)

    def whole(self, id: int) -> View:
        return View(0, (self.buffers[id].span,), (1,))

    def shown(self, id: int, view: View) -> Elements:
        """What a buffer holds now; to be written to."""
        if id not in self.memories:
            buffer = self.buffers[id]
            memory = unknown((buffer.span,), buffer.dtype)
            if builtins.id(buffer.array) in self.known:
                memory = number(memory_of(buffer, self.known[builtins.id(buffer.array)]))
            self.memories[id] = memory
        return self.memories[id].each(lambda memory: show(memory, view))

    def write(self, id: int, view: View, new: Elements) -> None:
        if self.log is not None and (id, view) not in self.log:
            self.log[id, view] = self.shown(id, view).each(np.copy)
        self.put(id, view, new)

    def put(self, id: int, view: View, new: Elements) -> None:
        for old, part in zip(self.shown(id, view).parts, new.parts):
            old[...] = part

    def store(self, op: Store) -> None:
        id, view, value = op.region.buffer, self.view(op.region), self.value(op.value)
        if not op.accumulate:
            self.write(id, view, value)
        elif is_injective(view):
            self.write(id, view, self.sum_of(self.shown(id, view), value))
        else:  # an element shown several times receives each of its terms
            whole = self.whole(id)
            places = show(np.arange(whole.size), view).reshape(-1)
            terms = np.broadcast_to(value.sets, view.shape).reshape(-1)
            self.write(id, whole, self.added(self.shown(id, whole), places, terms))

    def sum_of(self, a: Elements, b: Elements) -> Elements:
        return Elements(self.sets.union(a.sets, b.sets), a.numbers + b.numbers, a.known & b.known)

    def added(self, memory: Elements, places: np.ndarray, terms: np.ndarray) -> Elements:
        """`memory`, all of it, where terms are added to some places."""
        touched, rows = np.unique(places, return_inverse=True)
        new = self.sets.unions(rows.reshape(-1), terms, len(touched))
        sets, known = memory.sets.copy(), memory.known.copy()
        sets[touched] = self.sets.union(sets[touched], new)
        known[touched] = False
        return Elements(sets, memory.numbers, known)

    def scatter(self, op: Scatter) -> None:
        view, value = self.view(op.region), self.value(op.value)
        indices = [self.value(i) for i in op.indices]
        id, target = op.region.buffer, self.shown(op.region.buffer, view)
        lead, rest = view.shape[: len(indices)], view.shape[len(indices) :]
        new = value.each(lambda a: np.broadcast_to(a, indices[0].sets.shape + rest))
        if not all(i.known.all() for i in indices):
            anywhere = self.sets.union_over(new.sets, tuple(range(indices[0].sets.ndim)))
            sets = self.sets.union(target.sets, anywhere)
            self.write(id, view, Elements(sets, target.numbers, np.zeros(view.shape, bool)))
            return
        places = np.ravel_multi_index(tuple(i.numbers for i in indices), lead).reshape(-1)
        count, width = int(np.prod(lead)), int(np.prod(rest))
        lines, new = target.each(lambda a: a.reshape(count, width).copy()), new.each(lambda a: a.reshape(-1, width))
        if op.accumulate:
            inner = (places[:, None] * width + np.arange(width)).reshape(-1)
            lines = self.added(lines.each(np.ravel), inner, new.sets.reshape(-1))
        else:
            distinct, from_end = np.unique(places[::-1], return_index=True)
            for old, part in zip(lines.parts, new.parts):
                old[distinct] = part[len(places) - 1 - from_end]
        self.write(id, view, lines.each(lambda a: a.reshape(view.shape)))

    # Blocks.

    def loop(self, op: Loop) -> None:
        (trips,) = actual((op.trips,), self.indices)
        may_end, skipped = False, 0
        if op.count is not None:
            count = self.value(op.count)
            may_end = not count.known
            if not may_end:
                skipped, trips = trips - int(count.numbers) if op.step < 0 else 0, int(count.numbers)
        if (may_end or is_while(op)) and work(op) > MOST_WORK:
            self.anything(op)
            return
        settles = not any(op.index in indices_of(inner) for inner in walk(op.body))
        start = at(op.start, self.indices)
        for trip in range(skipped, skipped + trips):
            self.indices[op.index] = start + trip * op.step
            if may_end or settles:
                changed = self.either(op.body, () if may_end else None)
                if settles and not changed:
                    break
            else:
                self.run(op.body)
        self.indices.pop(op.index, None)

    def anything(self, op: Loop) -> None:
        """Let all that a loop writes depend on all that it reads."""
        inside = [inner for inner in walk(op.body) if not inner.blocks]
        read = [self.value(v) for v in op.inputs]
        read += [self.shown(region.buffer, self.whole(region.buffer)) for inner in inside for region in inner.reads]
        distinct = [np.unique(elements.sets) for elements in read]
        every = self.sets.union_over(np.concatenate([np.zeros(0, np.int64), *distinct]), (0,))
        for id in sorted({region.buffer for inner in inside for region in inner.writes}):
            old = self.shown(id, self.whole(id))
            sets = self.sets.union(old.sets, every) if self.buffers[id].dtype.kind in "fc" else old.sets
            self.write(id, self.whole(id), Elements(sets, old.numbers, np.zeros_like(old.known)))

    def branch(self, op: Branch) -> None:
        predicate = self.value(op.predicate)
        if predicate.known:
            self.run(op.then if predicate.numbers else op.otherwise)
        else:
            self.either(op.then, op.otherwise)

    def either(self, one: Sequence[Operation], other: Sequence[Operation] | None) -> bool:
        """Run one block or the other: memory is as either leaves it. Without another, run the one.

        Returns whether memory has changed.
        """
        outer, self.log = self.log, {}
        self.run(one)
        first = self.log
        after_one = self.snapshot(first)
        self.restore(first)
        before = self.snapshot(first)
        second: Contents = {}
        if other is not None:
            self.log = second
            self.run(other)
        self.log = outer
        written = first | second  # what they held before
        after_other = self.snapshot(written) if other is not None else {}
        self.restore(second)
        self.restore(after_one)
        for (id, view), there in after_other.items():
            here = self.shown(id, view)
            known = here.known & there.known & (here.numbers == there.numbers)
            # In this order: what is in both as it was before keeps its number.
            self.put(id, view, Elements(self.sets.union(there.sets, here.sets), here.numbers, known))
        if outer is not None:
            outer.update((place, old) for place, old in written.items() if place not in outer)
        return any(differ(old, self.shown(*place)) for place, old in before.items()) or bool(second)

    def snapshot(self, places: Iterable[tuple[int, View]]) -> Contents:
        return {(id, view): self.shown(id, view).each(np.copy) for id, view in places}

    def restore(self, contents: Contents) -> None:
        """Regions that overlap: as they were before the first of them changed."""
        for (id, view), old in reversed(contents.items()):
            self.put(id, view, old)

    # Values.

    def applied(self, op: Apply) -> Elements:
        operands = [self.value(v) for v in op.operands]
        parameters: dict[str, Any] = {
            name: fixed(p, self.indices) if isinstance(p, View) else p for name, p in op.parameters
        }
        if RULES[op.primitive].kind == "view":
            operands = [self.laid_out(op.operands[0], operands[0])]
        shape = actual(op.out.shape, self.indices)
        return result_of(self.sets, op.primitive, operands, parameters, shape, op.out.dtype)

    def laid_out(self, value: Value, elements: Elements) -> Elements:
        """Elements as views count them: along a ragged axis, as many as there can be."""
        if not any(isinstance(n, Ragged) for n in value.shape):
            return elements
        whole = unknown(tuple(map(int, value.shape)), value.dtype)
        for target, part in zip(whole.parts, elements.parts):
            target[tuple(map(slice, part.shape))] = part
        return whole


def differ(a: Elements, b: Elements) -> bool:
    if not (np.array_equal(a.sets, b.sets) and np.array_equal(a.known, b.known)):
        return True
    return not np.array_equal(a.numbers[a.known], b.numbers[b.known])


def is_while(op: Loop) -> bool:
    """Whether all that a loop does it does under one condition."""
    *before, last = op.body
    return isinstance(last, Branch) and not last.otherwise and all(isinstance(inner, Load) for inner in before)


def work(op: Operation) -> int:
    """How many operations are run for `op`, about."""
    inside = 1 + sum(work(inner) for block in op.blocks for inner in block)
    if not isinstance(op, Loop):
        return inside
    settles = not any(op.index in indices_of(inner) for inner in walk(op.body))
    return inside * (min(int(op.trips), FEW) if settles else int(op.trips))
