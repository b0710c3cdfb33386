"""Products that the iterations of a loop add to one matrix, as one product behind the loop.

>>> import numpy as np
>>> from planned_ad.differentiate.reverse import reverse
>>> from planned_ad.passes.pipeline import simplify
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(p, x):
...     for _ in range(20):
...         x = p @ x
...     return np.sum(x)
>>> tape = simplify(reverse(trace(f, (np.zeros((50, 50)), np.zeros(50))).tape, loss=True))
>>> print(brief(tape).split("reverse sweep")[1])
<BLANKLINE>
v6 = 0.0
dp#3[...] = v6
v9 = 1.0
dx#5[...] = v9
for i0 in range(19, -1, -1):
    v16: float64[50, 50] = p[...]
    v17: float64[50] = cache#6[i0, :]
    v12: float64[50] = dx#5[...]
    v14: float64[50, 50] = contract(v12, v17, a_labels=(0,), b_labels=(1,), out_labels=(0, 1))
    v15: float64[50] = contract(v16, v12, a_labels=(0, 1), b_labels=(0,), out_labels=(1,))
    dx#5[...] = v15
    dp#3[...] += v14
v18: float64[50] = dx#5[...]
dx#4[...] = v18
>>> print(brief(products_after_loops(tape)).split("reverse sweep")[1])
<BLANKLINE>
v6 = 0.0
dp#3[...] = v6
v9 = 1.0
dx#5[...] = v9
for i0 in range(19, -1, -1):
    v16: float64[50, 50] = p[...]
    v17: float64[50] = cache#6[i0, :]
    v12: float64[50] = dx#5[...]
    cotangents#7[i0, :] = v12
    v14: float64[50, 50] = contract(v12, v17, a_labels=(0,), b_labels=(1,), out_labels=(0, 1))
    v15: float64[50] = contract(v16, v12, a_labels=(0, 1), b_labels=(0,), out_labels=(1,))
    dx#5[...] = v15
v19: float64[20, 50] = cotangents#7[...]
v20: float64[20, 50] = cache#6[...]
v21: float64[50, 50] = contract(v19, v20, a_labels=(2, 0), b_labels=(2, 1), out_labels=(0, 1))
dp#3[...] += v21
v18: float64[50] = dx#5[...]
dx#4[...] = v18

Requires a tape with a reverse sweep; ensures the same numbers (sums reassociated). The matrix is then gone through
once, where each iteration would go through all of it. What is multiplied is kept for each iteration, unless it lies in
memory anyway: no more than a few times what the matrix takes, or what is in memory already.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..regions.affine import Extent, affine, coefficient, substitute
from ..regions.regions import Region, View, c_strides, contiguous, is_ragged
from ..tape.builder import TapeBuilder, rebuilt
from ..tape.tape import Apply, Load, Loop, Operation, Store, Tape, Value, walk

FEWEST = 8  # iterations
SMALLEST = 32 * 32  # numbers of a matrix that is worth it: smaller ones stay near the processor
MOST_SUMMED = 8  # terms that each iteration adds to a number: more are a product worth its memory
MOST_KEPT = 1 << 20  # numbers
TIMES = 4  # the matrix


def products_after_loops(tape: Tape) -> Tape:
    """Requires a tape with a reverse sweep; ensures the same numbers. The same tape where nothing changes."""
    primal, sweep = tape.operations[: tape.turn], tape.operations[tape.turn :]
    if not any(isinstance(op, Loop) for op in sweep):
        return tape
    builder = rebuilt(tape)
    uses = Counter(v.id for v in tape.results)
    uses.update(v.id for op in walk(tape.operations) for v in (op.steering if op.blocks else op.inputs))
    moving = _Moving(builder, uses)
    swept = moving.block(sweep)
    if not moving.count:
        return tape
    return replace(tape, buffers=tuple(builder.buffers), operations=(*primal, *swept))


@dataclass
class _Moving:
    """The rewriting of one sweep."""

    builder: TapeBuilder
    uses: Counter[int]
    count: int = 0

    def block(self, operations: Iterable[Operation]) -> tuple[Operation, ...]:
        def write() -> None:
            for op in operations:
                inner = op.with_blocks(*map(self.block, op.blocks)) if op.blocks else op
                if isinstance(inner, Loop):
                    self.loop(inner)
                else:
                    self.builder.emit(inner)

        return self.builder.recorded(write)

    def loop(self, loop: Loop) -> None:
        """A loop, and behind it what its iterations have added."""
        kept = KeptOperands(self.builder, loop)
        found = sums_of_products(loop, self.uses, kept)
        if not found:
            self.builder.emit(loop)
            return
        self.count += len(found)
        gone = {id(store) for store, _ in found}
        products = {product.out.id: product for _, terms in found for product in terms}
        for product in products.values():
            for operand in product.operands:
                kept.keep(operand)
        body: list[Operation] = []
        for op in loop.body:
            if id(op) not in gone:
                body.append(op)
            body += [kept.stores[out.id] for out in op.outputs if out.id in kept.stores]
        self.builder.emit(replace(loop, body=tuple(body)))
        totals = {}
        for id_, product in products.items():
            self.builder.line = product.line
            params = product.params
            label = 1 + max((*params["a_labels"], *params["b_labels"]))
            labels = {f"{side}_labels": (label, *params[f"{side}_labels"]) for side in "ab"}
            operands = [self.builder.load(kept.places[operand.id]) for operand in product.operands]
            totals[id_] = self.builder.apply("contract", *operands, **labels, out_labels=params["out_labels"])
        for store, terms in found:
            for product in terms:
                self.builder.emit(replace(store, value=totals[product.out.id]))


@dataclass
class KeptOperands:
    """Of operands the numbers of all iterations: where they lie, and what puts them there."""

    builder: TapeBuilder
    loop: Loop
    places: dict[int, Region] = field(default_factory=dict)
    stores: dict[int, Store] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made = {out.id: op for op in self.loop.body for out in op.outputs}
        self.written = {region.buffer for op in self.loop.body for region in op.writes}
        trips = self.loop.trips - 1
        self.least: Extent = self.loop.start if self.loop.step == 1 else self.loop.start - trips

    def is_worth(self, terms: Sequence[Apply]) -> bool:
        """Whether the operands take little memory beside what is there."""
        there = more = 0
        for product in terms:
            operands, params = product.operands, product.params
            kept = set(params["out_labels"])
            summed = [n for n, label in zip(operands[0].shape, params["a_labels"]) if label not in kept]
            if product.out.size < SMALLEST or math.prod(summed) > MOST_SUMMED:
                return False
            for operand in operands:
                if operand.id not in self.made or not operand.shape or is_ragged(operand.shape):
                    return False
                size = self.loop.trips * operand.size
                there, more = (there + size, more) if self.there(operand.id) is not None else (there, more + size)
        return more <= MOST_KEPT and more <= max(TIMES * terms[0].out.size, there)

    def there(self, id: int) -> Region | None:
        """Where the numbers of all iterations lie that this value is loaded from; None if they do not."""
        op = self.made.get(id)
        if not isinstance(op, Load) or op.region.buffer in self.written:
            return None
        view, index = op.region.view, self.loop.index
        step = coefficient(view.offset, index)
        if not step or not all(type(s) is int for s in view.strides):
            return None
        offset = substitute(view.offset, index, self.least)
        return Region(op.region.buffer, View(offset, (self.loop.trips, *view.shape), (step, *view.strides)))

    def keep(self, operand: Value) -> None:
        place = self.places.get(operand.id) or self.there(operand.id)
        if place is None:
            shape = (self.loop.trips, *operand.shape)
            place = self.builder.new_buffer("local", "cotangents", operand.dtype, contiguous(shape)).whole
            rows = View(self.row() * operand.size, operand.shape, c_strides(operand.shape))
            store = Store(region=Region(place.buffer, rows), value=operand, line=self.made[operand.id].line)
            self.stores[operand.id] = store
        self.places[operand.id] = place

    def row(self) -> Extent:
        """The number of an iteration, from that of the least index."""
        return affine(0, {self.loop.index: 1}) - self.least


Sums = list[tuple[Store, list[Apply]]]


def sums_of_products(loop: Loop, uses: Counter[int], kept: KeptOperands) -> Sums:
    """What adds products, read nowhere else, to memory that nothing else in the loop touches, the same each time."""
    if loop.count is not None or loop.stops or abs(loop.step) != 1:
        return []
    if not isinstance(loop.trips, int) or is_ragged((loop.trips,)) or loop.trips < FEWEST:
        return []
    made = {op.out.id: op for op in loop.body if isinstance(op, Apply)}
    touches = Counter(region.buffer for op in walk(loop.body) for region in {*op.reads, *op.writes})
    found: Sums = []
    read: dict[int, Counter[int]] = {}  # of what stores, by place, how often their sums read a value
    for op in loop.body:
        if not isinstance(op, Store) or not op.accumulate or not is_the_same(op, loop):
            continue
        counts: Counter[int] = Counter()
        terms = terms_of(op.value, made, counts)
        if terms is not None and op.value.shape == op.region.shape and kept.is_worth(terms):
            read[id(op)] = counts
            found.append((op, terms))
    while True:
        total = sum((read[id(store)] for store, _ in found), Counter[int]())
        adding = Counter(store.region.buffer for store, _ in found)
        left = [
            (store, terms)
            for store, terms in found
            if touches[store.region.buffer] == adding[store.region.buffer]
            and all(uses[value] == total[value] for value in read[id(store)])
        ]
        if len(left) == len(found):
            return left
        found = left


def is_the_same(store: Store, loop: Loop) -> bool:
    """Whether each iteration stores to the same place."""
    view = store.region.view
    is_fixed = not coefficient(view.offset, loop.index) and all(type(s) is int for s in view.strides)
    return is_fixed and not is_ragged(view.shape)


def terms_of(value: Value, made: Mapping[int, Apply], counts: Counter[int]) -> list[Apply] | None:
    """The products that a value is the sum of, and in `counts` how often it reads what; None of anything else."""
    counts[value.id] += 1
    op = made.get(value.id)
    if op is None or op.out.dtype.kind != "f":
        return None
    if op.primitive == "contract":
        return [op]
    if op.primitive != "add" or any(operand.shape != op.out.shape for operand in op.operands):
        return None
    parts = [terms_of(operand, made, counts) for operand in op.operands]
    return None if any(part is None for part in parts) else [term for part in parts for term in part or ()]
