"""Sparsity: on which elements of some values each element of others depends, whatever their numbers are.

A tape is run with sets of indices (see `index_sets`) beside numbers: an elementwise operation unites the sets of its
operands, a reduction those along its axes, and all that moves elements moves their sets. Numbers are known where they
depend on no argument: indices and masks that are, choose exactly, and a product with a known zero depends on nothing
(at finite arguments). Where they are not, the pattern holds for all that they could be: the sets of all elements that
an index could mean, of both sides of a branch or of `where`, of a loop that ends early after any iteration.

Reference: Griewank & Walther, Evaluating Derivatives, 2nd ed., 7.1 (index domains).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from .affine import Ragged, at
from .calls import has_rule
from .dead_code import drop_dead
from .index_sets import EMPTY, IndexSets
from .inline import write_out_calls
from .interpret import actual, below, fixed
from .regions import Region, View, is_injective, show
from .rules import RULES
from .tape import (
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
)

MOST_TERMS = 1 << 24  # of a contraction that are looked at one by one


@dataclass(frozen=True, slots=True)
class Elements:
    """Of each element of an array the set of what it depends on, and its number where that is known (else 1)."""

    sets: np.ndarray
    numbers: np.ndarray
    known: np.ndarray

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.sets, self.numbers, self.known

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Elements:
        return Elements(*map(change, self.parts))

    @property
    def zero(self) -> np.ndarray:
        """Where it is known to be zero."""
        return self.known & (self.numbers == 0)


def unknown(shape: tuple[int, ...], dtype: np.dtype) -> Elements:
    """Numbers of which nothing is known but that no derivative reaches them."""
    return Elements(np.zeros(shape, np.int64), np.ones(shape, dtype), np.zeros(shape, bool))


def number(data: np.ndarray) -> Elements:
    data = np.asarray(data)
    return Elements(np.zeros(data.shape, np.int64), data, np.ones(data.shape, bool))


def pattern(tape: Tape, independents: Sequence[Value]) -> scipy.sparse.csr_array:
    """Where the derivatives of the results of `tape` by some of its values may differ from zero.

    Requires a tape as it is traced (before or after `vectorise`), whose operations need not define all values that they
    use. Ensures that every other derivative is zero, for all arguments for which the guards hold and at which
    everything is finite. Time and memory are linear in the operations, of loops in all iterations, and in the sizes of
    the sets, also of intermediate results.

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


Contents = dict[tuple[int, View], Elements]  # of regions, by buffer and view


class Sparsity:
    """Runs operations as the interpreter does, on `Elements`."""

    def __init__(self, buffers: Sequence[Buffer], sets: IndexSets):
        self.buffers, self.sets = buffers, sets
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

    def shown(self, id: int, view: View) -> Elements:
        """What a buffer holds now; to be written to."""
        if id not in self.memories:
            buffer = self.buffers[id]
            self.memories[id] = unknown((buffer.span,), buffer.dtype)
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
            whole = View(0, (self.buffers[id].span,), (1,))
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
        start = at(op.start, self.indices)
        for trip in range(skipped, skipped + trips):
            self.indices[op.index] = start + trip * op.step
            if may_end:
                self.either(op.body, ())
            else:
                self.run(op.body)
        self.indices.pop(op.index, None)

    def branch(self, op: Branch) -> None:
        predicate = self.value(op.predicate)
        if predicate.known:
            self.run(op.then if predicate.numbers else op.otherwise)
        else:
            self.either(op.then, op.otherwise)

    def either(self, one: Sequence[Operation], other: Sequence[Operation]) -> None:
        """Run one block or the other: memory is as either leaves it."""
        outer, self.log = self.log, {}
        self.run(one)
        first = self.log
        after_one = self.snapshot(first)
        self.restore(first)
        self.log = {}
        self.run(other)
        second, self.log = self.log, outer
        written = first | second  # what they held before
        after_other = self.snapshot(written)
        self.restore(second)
        self.restore(after_one)
        for (id, view), there in after_other.items():
            here = self.shown(id, view)
            known = here.known & there.known & (here.numbers == there.numbers)
            self.put(id, view, Elements(self.sets.union(here.sets, there.sets), here.numbers, known))
        if outer is not None:
            self.log = {**outer, **{place: old for place, old in written.items() if place not in outer}}

    def snapshot(self, places: Iterable[tuple[int, View]]) -> Contents:
        return {(id, view): self.shown(id, view).each(np.copy) for id, view in places}

    def restore(self, contents: Contents) -> None:
        """Regions that overlap: as they were before the first of them changed."""
        for (id, view), old in reversed(contents.items()):
            self.put(id, view, old)

    # Values.

    def applied(self, op: Apply) -> Elements:
        rule = RULES[op.primitive]
        operands = [self.value(v) for v in op.operands]
        parameters: dict[str, Any] = {
            name: fixed(p, self.indices) if isinstance(p, View) else p for name, p in op.parameters
        }
        shape = actual(op.out.shape, self.indices)
        if rule.kind == "view":
            moved = self.laid_out(op.operands[0], operands[0])
            return moved.each(lambda a: rule.evaluate(a, **parameters))
        if rule.kind == "gather":
            return self.gathered(operands[0], operands[1:])
        found = numbers_of(op.primitive, operands, parameters, shape, op.out.dtype)
        if op.out.dtype.kind not in "fc" or found.known.all():
            return found
        smooth = [
            a if adjoint is not None or rule.refused else unknown(a.sets.shape, a.numbers.dtype)
            for a, adjoint in zip(operands, rule.adjoints)
        ]
        match rule.kind:
            case "elementwise":
                sets = self.chosen(*operands) if op.primitive == "where" else self.united(smooth, shape)
            case "reduce":
                sets = self.sets.union_over(smooth[0].sets, parameters["axes"])
            case "scan":
                sets = self.scanned(smooth, **parameters)
            case "contract":
                sets = contracted(self.sets, *smooth, **parameters)
            case _:  # of a call everything depends on everything
                every = np.concatenate([a.sets.reshape(-1) for a in operands])
                sets = np.broadcast_to(self.sets.union_over(every, (0,)), shape)
        return Elements(np.where(found.known, EMPTY, sets), found.numbers, found.known)

    def laid_out(self, value: Value, elements: Elements) -> Elements:
        """Elements as views count them: along a ragged axis, as many as there can be."""
        if not any(isinstance(n, Ragged) for n in value.shape):
            return elements
        whole = unknown(tuple(map(int, value.shape)), value.dtype)
        for target, part in zip(whole.parts, elements.parts):
            target[tuple(map(slice, part.shape))] = part
        return whole

    def gathered(self, source: Elements, indices: Sequence[Elements]) -> Elements:
        known = np.logical_and.reduce([i.known for i in indices])
        places = tuple(np.where(known, i.numbers, 0) for i in indices)
        if not source.sets.size:
            shape = known.shape + source.sets.shape[len(indices) :]
            return unknown(shape, source.numbers.dtype)
        found = source.each(lambda a: a[places])
        if known.all():
            return found
        anywhere = self.sets.union_over(source.sets, tuple(range(len(indices))))
        exact = known.reshape(known.shape + (1,) * anywhere.ndim)
        return Elements(np.where(exact, found.sets, anywhere), found.numbers, found.known & exact)

    def united(self, operands: Sequence[Elements], shape: tuple[int, ...]) -> np.ndarray:
        sets = np.zeros((), np.int64)
        for a in operands:
            sets = self.sets.union(sets, a.sets)
        return np.broadcast_to(sets, shape)

    def chosen(self, condition: Elements, a: Elements, b: Elements) -> np.ndarray:
        either = self.sets.union(a.sets, b.sets) if not condition.known.all() else EMPTY
        return np.where(condition.known, np.where(condition.numbers, a.sets, b.sets), either)

    def scanned(
        self,
        operands: Sequence[Elements],
        *,
        axis: int,
        reverse: bool,
        form: str = "",
        exclusive: bool = False,
        operation: str = "",
    ) -> np.ndarray:
        """Running unions; a factor of a linear recurrence that is known to be zero lets nothing pass."""
        lines = [directed(a.sets, axis, reverse) for a in operands]
        out = np.zeros_like(operands[0].sets)
        target, state = directed(out, axis, reverse), np.zeros_like(lines[0][:1].reshape(lines[0].shape[1:]))
        stops = directed(operands[0].zero, axis, reverse) if form else None
        for i in range(len(target)):
            before = state
            if stops is not None and i:
                k = i - 1 if form == "late" else i
                state = np.where(stops[k], EMPTY, self.sets.union(state, lines[0][k]))
            state = self.sets.union(state, lines[-1][i])
            target[i] = before if exclusive or form == "exclusive" else state
        return out


def numbers_of(
    primitive: str,
    operands: Sequence[Elements],
    parameters: Mapping[str, Any],
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> Elements:
    """The numbers of a result where they are known, with no sets."""
    rule = RULES[primitive]
    zero = np.zeros((), bool)
    if primitive == "where":
        condition, a, b = operands
        known = condition.known & np.where(condition.numbers, a.known, b.known)
    elif rule.kind == "elementwise":
        if primitive in ("multiply", "divide"):
            zero = operands[0].zero | (operands[1].zero if primitive == "multiply" else False)
        known = np.logical_and.reduce(np.broadcast_arrays(*(a.known for a in operands))) | zero
    elif rule.kind == "reduce":
        known = np.all(operands[0].known, axis=parameters["axes"])
    else:
        known = np.array(all(a.known.all() for a in operands))
    known = np.broadcast_to(known, shape)
    if not known.any():
        return unknown(shape, dtype)
    numbers = np.asarray(rule.evaluate(*(a.numbers for a in operands), **parameters), dtype)
    numbers = np.where(zero, np.zeros((), dtype), np.broadcast_to(numbers, shape))
    return Elements(np.zeros(shape, np.int64), numbers, known)


def directed(a: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """`a` with the scanned axis first, in the direction of the scan: a view."""
    line = np.moveaxis(a, axis, 0)
    return line[::-1] if reverse else line


Labels = tuple[int, ...]


def contracted(
    sets: IndexSets, a: Elements, b: Elements, *, a_labels: Labels, b_labels: Labels, out_labels: Labels
) -> np.ndarray:
    """Each sum of products depends on what its factors depend on, but for products with a known zero."""
    if not a.zero.any():
        a, b, a_labels, b_labels = b, a, b_labels, a_labels
    extents = dict(zip((*a_labels, *b_labels), (*a.sets.shape, *b.sets.shape)))
    lone = tuple(label for label in b_labels if label not in a_labels)
    width = int(np.prod([extents[label] for label in lone], dtype=int))
    present = np.nonzero(np.atleast_1d(~a.zero))
    if a.zero.any() and len(present[0]) * width <= MOST_TERMS:
        place = dict(zip(a_labels, present))
        shared = tuple(label for label in b_labels if label in a_labels)
        other = b.each(lambda part: np.transpose(part, [b_labels.index(label) for label in (*shared, *lone)]))
        at_places = tuple(place[label] for label in shared)
        terms = len(present[0])
        lines = other.each(lambda part: part[at_places].reshape(terms if shared else 1, width))
        lines = lines.each(lambda part: np.broadcast_to(part, (terms, width)))
        own = np.where(lines.zero, EMPTY, np.atleast_1d(a.sets)[present][:, None])
        kept = tuple(label for label in out_labels if label not in lone)
        shape = tuple(extents[label] for label in (*kept, *lone))
        rows = np.zeros(terms, np.int64)
        for label in kept:
            rows = rows * extents[label] + place[label]
        rows = (rows[:, None] * width + np.arange(width)).reshape(-1)
        both = np.concatenate([own.reshape(-1), np.where(lines.zero, EMPTY, lines.sets).reshape(-1)])
        found = sets.unions(np.tile(rows, 2), both, int(np.prod(shape, dtype=int))).reshape(shape)
        return np.transpose(found, [(*kept, *lone).index(label) for label in out_labels])
    total = np.zeros((), np.int64)
    for part, labels in ((a, a_labels), (b, b_labels)):
        summed = tuple(k for k, label in enumerate(labels) if label not in out_labels)
        left = [label for label in labels if label in out_labels]
        reduced = sets.union_over(part.sets, summed)
        order = [label for label in out_labels if label in left]
        reduced = np.transpose(reduced, [left.index(label) for label in order])
        total = sets.union(total, reduced.reshape([extents[label] if label in left else 1 for label in out_labels]))
    return np.broadcast_to(total, tuple(extents[label] for label in out_labels))
