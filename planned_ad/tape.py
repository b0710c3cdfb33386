"""The tape: the one intermediate representation (IR).

Values are registers: arrays or scalars, assigned once. Buffers are memory: an
argument, a shadow, an array that the program writes into. Operations read and
write buffers only through `Load`, `Store` and `Scatter`, and say so as data
(`reads`, `writes`), so that no pass asks for an operation's name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .affine import Extent
from .regions import Region, View, limits
from .source import UNKNOWN, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """An immutable array, conceptually row-major; `shape == ()` is a scalar."""

    id: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Memory that can be written.

    `kind` is 'argument', 'shadow' (the adjoint of an argument), 'cotangent' (of a result), 'result' (filled for the
    caller), 'local', or 'cache' (what a loop keeps of each iteration for its reverse loop).
    Regions count elements from the first element of the array (its data pointer), so that an
    argument with negative strides is addressed at negative offsets; `view` is the whole array.
    """

    id: int
    kind: str
    label: str
    dtype: np.dtype
    view: View
    shadow_of: int | None = None
    line: Line = UNKNOWN

    @property
    def shape(self) -> tuple[int, ...]:
        return self.view.shape

    @property
    def low(self) -> int:
        """Lowest element addressed, relative to the data pointer."""
        return limits(self.view)[0] if self.view.size else 0

    @property
    def span(self) -> int:
        """Elements between the lowest and the highest address, both included."""
        low, high = limits(self.view)
        return high - low + 1 if self.view.size else 0

    @property
    def whole(self) -> Region:
        return Region(self.id, self.view)

    @property
    def visible(self) -> bool:
        """Whether the caller sees what is written here."""
        return self.kind not in ("local", "cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What all operations have: where the user wrote it. No memory effects unless a subclass says so."""

    line: Line = UNKNOWN

    @property
    def inputs(self) -> tuple[Value, ...]:
        return ()

    @property
    def outputs(self) -> tuple[Value, ...]:
        return ()

    @property
    def reads(self) -> tuple[Region, ...]:
        return ()

    @property
    def writes(self) -> tuple[Region, ...]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Operation):
    """`out` is `data`, known when the tape is made."""

    out: Value
    data: np.ndarray

    @property
    def outputs(self) -> tuple[Value, ...]:
        return (self.out,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply(Operation):
    """`out = primitive(*operands, **parameters)`: a row of the rule table, without memory effects."""

    out: Value
    primitive: str
    operands: tuple[Value, ...]
    parameters: tuple[tuple[str, object], ...] = ()

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.operands

    @property
    def outputs(self) -> tuple[Value, ...]:
        return (self.out,)

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Operation):
    """`out` is what `region` holds now."""

    out: Value
    region: Region

    @property
    def outputs(self) -> tuple[Value, ...]:
        return (self.out,)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.region,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Operation):
    """Write `value` to `region` (`accumulate`: add it). A scalar value is written to each element."""

    region: Region
    value: Value
    accumulate: bool = False

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.value,)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.region,) if self.accumulate else ()

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.region,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Operation):
    """Write (or add) `value` at run-time indices of `region`'s leading axes; the last of equal indices wins.

    `indices` are integer values of one common shape, in range and non-negative (see the primitive `wrap_index`);
    `value` has that shape followed by the region's remaining axes.
    """

    region: Region
    indices: tuple[Value, ...]
    value: Value
    accumulate: bool = False

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (*self.indices, self.value)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.region,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard(Operation):
    """The tape holds only while the scalar `predicate` equals `outcome`; else the replay leaves, nothing written."""

    predicate: Value
    outcome: object
    what: str

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.predicate,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Operation):
    """Run `body` for `index = start, start + step, ...`, `trips` times.

    Values defined inside are seen only inside; what an iteration leaves for the next or for
    later operations it leaves in buffers.
    """

    index: int
    start: int
    step: int
    trips: int
    body: tuple[Operation, ...]

    @property
    def inputs(self) -> tuple[Value, ...]:
        defined = {v.id for op in self.body for v in op.outputs}
        used = {v.id: v for op in self.body for v in op.inputs if v.id not in defined}
        return tuple(used.values())

    @property
    def reads(self) -> tuple[Region, ...]:
        return tuple(_over(r, self) for op in self.body for r in op.reads)

    @property
    def writes(self) -> tuple[Region, ...]:
        return tuple(_over(r, self) for op in self.body for r in op.writes)


def _over(region: Region, loop: Loop) -> Region:
    """What `region` touches over all iterations of `loop`: an axis more where it moves with the index."""
    offset = region.view.offset
    if isinstance(offset, int):
        return region
    move = dict(offset.terms).get(loop.index, 0)
    if not move:
        return region
    first: Extent = offset - move * _index(loop.index) + move * loop.start
    view = View(first, (loop.trips, *region.view.shape), (move * loop.step, *region.view.strides))
    return Region(region.buffer, view)


def _index(index: int):
    from .affine import loop_index

    return loop_index(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """A program: buffers, operations in order, and what it returns.

    `arguments` are ids of the buffers passed in, in order. `results` are the values returned (scalars and
    arrays), in order. Operations from position `turn` on belong to the reverse sweep (`turn == len(operations)`
    for a primal tape).
    """

    buffers: tuple[Buffer, ...]
    arguments: tuple[int, ...]
    operations: tuple[Operation, ...]
    results: tuple[Value, ...] = ()
    turn: int = 0
    active: frozenset[int] = field(default_factory=frozenset)  # argument buffers with derivative

    def buffer(self, id: int) -> Buffer:
        return self.buffers[id]

    def __str__(self) -> str:
        from .listing import tape_listing

        return tape_listing(self)


def defined_by(operations: tuple[Operation, ...]) -> dict[int, Operation]:
    """The operation that defines each value id."""
    return {v.id: op for op in operations for v in op.outputs}


def walk(operations: tuple[Operation, ...]) -> Iterator[Operation]:
    """Every operation, those inside loops after the loop itself."""
    for op in operations:
        yield op
        if isinstance(op, Loop):
            yield from walk(op.body)


def next_value(tape: Tape) -> int:
    """The first value id that is free."""
    return 1 + max((v.id for op in walk(tape.operations) for v in op.outputs), default=-1)


def renamed(op: Operation, names: Mapping[int, Value]) -> Operation:
    """`op` with other operands: each value whose id is in `names` replaced."""
    if not any(v.id in names for v in op.inputs):
        return op
    if isinstance(op, Loop):
        return replace(op, body=tuple(renamed(inner, names) for inner in op.body))

    def name(value: Value) -> Value:
        return names.get(value.id, value)

    match op:
        case Apply():
            return replace(op, operands=tuple(map(name, op.operands)))
        case Store():
            return replace(op, value=name(op.value))
        case Scatter():
            return replace(op, indices=tuple(map(name, op.indices)), value=name(op.value))
        case Guard():
            return replace(op, predicate=name(op.predicate))
    raise TypeError(f"{type(op).__name__} has operands that cannot be renamed")
