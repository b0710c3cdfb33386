"""Products of matrices of a few numbers in loops are written out number by number, and so is all around them.

>>> import numpy as np
>>> from planned_ad.passes.vectorise.vectorise import vectorise
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x, a):
...     for k in range(30):
...         x = a @ x
...     return x
>>> tape = vectorise(trace(f, (np.zeros(2), np.zeros((2, 2)))).tape)
>>> print(brief(tape))
v0: float64[2] = x[...]
x#2[...] = v0
for i0 in range(0, 30, 1):
    v1: float64[2, 2] = a[...]
    v2: float64[2] = x#2[...]
    v3: float64[2] = contract(v1, v2, a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
    x#2[...] = v3
v4: float64[2] = x#2[...]
return v4
>>> print(brief(small_matrices_in_numbers(tape)))
v0: float64[2] = x[...]
x#2[...] = v0
for i0 in range(0, 30, 1):
    v5 = a[0, 0]
    v6 = a[0, 1]
    v7 = a[1, 0]
    v8 = a[1, 1]
    v9 = x#2[0]
    v10 = x#2[1]
    v11 = multiply(v5, v9)
    v12 = multiply(v6, v10)
    v13 = add(v11, v12)
    v14 = multiply(v7, v9)
    v15 = multiply(v8, v10)
    v16 = add(v14, v15)
    x#2[0] = v13
    x#2[1] = v16
v4: float64[2] = x#2[...]
return v4

Vectors of two or three numbers leave most lanes empty, and each of a filter's dozen products would be a loop nest of
its own that finds in memory what the one before has just put there. Numbers stay in registers, and of those that are
known (`np.eye(2)`) some products fall away. (Scalar replacement; Callahan, Carr & Kennedy 1990.)

Requires a primal tape; ensures the same numbers, up to the order of sums.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from ..regions.affine import Extent
from ..regions.regions import Region, View, contiguous, is_fixed, is_ragged, show
from ..rules.table import RULES
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Branch, Constant, IndexValue, Load, Loop, Operation, Store, Tape, Value, renamed, walk

MOST_NUMBERS = 9  # of an array
MOST_WRITTEN_OUT = 400  # operations on numbers in a loop
COSTLY = 8.0  # additions: functions that are worth a vector
MOST_COSTLY = 4  # numbers that are not worth one
CHAINS = {"reduce_sum": "add", "reduce_prod": "multiply", "reduce_all": "logical_and", "reduce_any": "logical_or"}


def small_matrices_in_numbers(tape: Tape) -> Tape:
    """Requires a primal tape; ensures the same numbers, up to the order of sums. The same tape if nothing changes."""
    if not any(is_of_small_matrices(op) for op in walk(tape.operations)):
        return tape
    builder = rebuilt(tape)

    def write(op: Operation) -> None:
        if is_of_small_matrices(op):
            NumberWriter(builder).loop(op)
        elif op.blocks:
            builder.emit(builder.with_written_blocks(op, write))
        else:
            builder.emit(op)

    return written_anew(tape, builder, write)


def is_of_small_matrices(op: Operation) -> bool:
    """Whether it is a loop in which there are products, and no array of more than a few numbers."""
    if not isinstance(op, Loop):
        return False
    body = list(walk(op.body))
    products = [inner for inner in body if isinstance(inner, Apply) and inner.primitive == "contract"]
    if not any(math.prod(p.out.shape) > 1 for p in products):
        return False
    large = {v.id for v in op.inputs if v.size > MOST_NUMBERS}
    count = 0
    for inner in body:
        found = count_of_numbers(inner, large)
        if found is None:
            return False
        count += found
    return count <= MOST_WRITTEN_OUT


def count_of_numbers(op: Operation, large: set[int]) -> int | None:
    """How many operations on numbers `op` is; None where it stays what it is, and what is around it."""
    shapes = (*(v.shape for v in op.outputs), *(r.shape for r in ((*op.reads, *op.writes) if not op.blocks else ())))
    shapes = (*shapes, *(v.shape for v in op.inputs if v.id not in large))
    if any(is_ragged(shape) or not 0 < math.prod(shape) <= MOST_NUMBERS for shape in shapes):
        return None
    match op:
        case Loop() | Branch() | Constant() | IndexValue():
            return 0
        case Load() | Store():
            return op.region.view.size
        case Apply():
            if not works_on_numbers(op):
                return sum(v.size for v in (*op.operands, op.out) if v.id not in large)
            if any(v.id in large for v in op.operands):
                return None
            rule = RULES[op.primitive]
            if rule.kind == "elementwise" and rule.cost >= COSTLY and op.out.size > MOST_COSTLY:
                return None
            if op.primitive == "contract":
                extents = {label: n for own, v in with_labels(op) for label, n in zip(own, v.shape)}
                return 2 * math.prod(extents.values())
            return op.out.size if rule.kind == "elementwise" else sum(v.size for v in op.operands)
    return None


def works_on_numbers(op: Apply) -> bool:
    """Whether an operation on arrays is one on their numbers."""
    kind = RULES[op.primitive].kind
    if kind == "view":
        return is_fixed(op.params["view"])
    return kind in ("elementwise", "contract") or op.primitive in CHAINS or is_of_one_number(op)


def is_of_one_number(op: Apply) -> bool:
    """Whether a matrix is decomposed, or a system solved, that is one number."""
    return op.primitive in ONE_NUMBER and (
        op.operands[0].size == 1 if op.primitive == "lu" else op.operands[0].size == 3
    )


def with_labels(op: Apply) -> list[tuple[tuple[int, ...], Value]]:
    return list(zip((op.params["a_labels"], op.params["b_labels"]), op.operands))


class NumberWriter:
    """The writing of one loop: what numbers stand for each of its arrays."""

    def __init__(self, builder: TapeBuilder):
        self.builder = builder
        self.numbers: dict[int, list[Value]] = {}
        self.whole: dict[int, Value] = {}  # arrays that are there
        self.single: dict[int, Value] = {}  # for what was one number already

    def loop(self, op: Operation) -> None:
        """A loop, and in front of it the numbers of what it uses from outside."""
        for value in op.inputs:
            if value.shape and value.size <= MOST_NUMBERS:
                self.apart(value)
        self.write(op)

    def apart(self, value: Value) -> None:
        """The numbers of an array that is there."""
        self.whole[value.id] = value
        self.numbers[value.id] = [self.builder.view(value, View(k, (), ())) for k in range(value.size)]

    def of(self, value: Value) -> list[Value]:
        return self.numbers[value.id] if value.shape else [self.single.get(value.id, value)]

    def write(self, op: Operation) -> None:
        self.builder.line = op.line
        match op:
            case Loop() | Branch():
                steered = op.with_blocks(*(() for _ in op.blocks))
                written = self.builder.with_written_blocks(op, self.write)
                self.builder.emit(renamed(steered, self.single).with_blocks(*written.blocks))
            case Constant() if op.out.shape:
                self.numbers[op.out.id] = [self.builder.constant(number) for number in op.data.reshape(-1)]
            case Load() if op.out.shape:
                self.numbers[op.out.id] = self.loaded(op.region)
            case Store() if op.region.shape:
                numbers = self.of(op.value)
                for k, place in enumerate(places_in(op.region)):
                    self.builder.store(place, numbers[k if op.value.shape else 0], op.accumulate)
            case Apply() if any(v.shape for v in (*op.operands, op.out)):
                self.apply(op)
            case _:
                self.builder.emit(renamed(op, self.single))

    def loaded(self, region: Region) -> list[Value]:
        found: dict[Extent, Value] = {}
        for place in places_in(region):
            if place.view.offset not in found:
                found[place.view.offset] = self.builder.load(place)
        return [found[place.view.offset] for place in places_in(region)]

    def apply(self, op: Apply) -> None:
        if not works_on_numbers(op):
            operands = tuple(self.together(v) for v in op.operands)
            out = self.builder.apply(op.primitive, *operands, **op.params)
            if out.shape:
                self.apart(out)
                self.numbers[op.out.id], self.whole[op.out.id] = self.numbers[out.id], out
            else:
                self.single[op.out.id] = out
            return
        kind = RULES[op.primitive].kind
        if kind == "elementwise":
            found = [self.elementwise(op, k) for k in range(op.out.size)]
        elif kind == "view":
            order = show(np.arange(op.operands[0].size), op.params["view"]).reshape(-1)
            found = [self.of(op.operands[0])[k] for k in order]
        elif kind == "contract":
            found = self.product(op)
        elif op.primitive in CHAINS:
            found = self.reduced(op)
        else:
            found = ONE_NUMBER[op.primitive](self.builder, *map(self.of, op.operands))
        if op.out.shape:
            self.numbers[op.out.id] = found
        else:
            (self.single[op.out.id],) = found

    def elementwise(self, op: Apply, k: int) -> Value:
        operands = (self.of(v)[k if v.shape else 0] for v in op.operands)
        return self.builder.apply(op.primitive, *operands, **op.params)

    def chain(self, primitive: str, numbers: Sequence[Value]) -> Value:
        total = numbers[0]
        for number in numbers[1:]:
            total = self.builder.apply(primitive, total, number)
        return total

    def reduced(self, op: Apply) -> list[Value]:
        (operand,), axes = op.operands, op.params["axes"]
        kept = [axis for axis in range(len(operand.shape)) if axis not in axes]
        order = np.arange(operand.size).reshape(operand.shape).transpose(*kept, *axes).reshape(op.out.size, -1)
        return [self.chain(CHAINS[op.primitive], [self.of(operand)[k] for k in row]) for row in order]

    def product(self, op: Apply) -> list[Value]:
        extents = {label: n for own, v in with_labels(op) for label, n in zip(own, v.shape)}
        kept = op.params["out_labels"]
        summed = [label for label in extents if label not in kept]
        found = []
        for at in itertools.product(*(range(extents[label]) for label in kept)):
            terms = []
            for along in itertools.product(*(range(extents[label]) for label in summed)):
                index = dict(zip((*kept, *summed), (*at, *along)))
                terms.append(
                    self.builder.apply("multiply", *(self.number_at(own, v, index) for own, v in with_labels(op)))
                )
            found.append(self.chain("add", terms))
        return found

    def number_at(self, labels: tuple[int, ...], value: Value, index: dict[int, int]) -> Value:
        place = np.ravel_multi_index([index[label] for label in labels], value.shape) if value.shape else 0
        return self.of(value)[int(place)]

    def together(self, value: Value) -> Value:
        """The array of these numbers, for what takes it whole."""
        if value.id in self.whole or value.id not in self.numbers:
            return self.whole.get(value.id, self.single.get(value.id, value))
        own = self.builder.new_buffer("local", "small", value.dtype, contiguous(value.shape))
        for place, number in zip(places_in(own.whole), self.numbers[value.id]):
            self.builder.store(place, number)
        return self.builder.load(own.whole)


def places_in(region: Region) -> list[Region]:
    """Its elements, in order."""
    view = region.view
    steps = itertools.product(*(range(n) for n in view.shape))
    offsets = (sum(k * stride for k, stride in zip(at, view.strides)) for at in steps)
    return [Region(region.buffer, View(view.offset + offset, (), ())) for offset in offsets]


def lu_of_one(builder: TapeBuilder, a: list[Value]) -> list[Value]:
    """Its factors, interchanges counted from 1, and the first zero pivot (0: none)."""
    one, zero = (builder.constant(number, a[0].dtype) for number in (1.0, 0.0))
    return [a[0], one, builder.apply("where", builder.apply("equal", a[0], zero), one, zero)]


def inverse_of_one(builder: TapeBuilder, lu: list[Value]) -> list[Value]:
    return solved_by_one(builder, lu, [builder.constant(1.0, lu[0].dtype)])


def solved_by_one(builder: TapeBuilder, lu: list[Value], b: list[Value]) -> list[Value]:
    return [builder.apply("divide", number, lu[0]) for number in b]


ONE_NUMBER: dict[str, Callable[..., list[Value]]] = {
    "lu": lu_of_one,
    "lu_det": lambda builder, lu: lu[:1],
    "lu_inverse": inverse_of_one,
    "lu_solve": solved_by_one,
}
