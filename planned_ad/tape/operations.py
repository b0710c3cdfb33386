"""What a tape, the one intermediate representation (IR), is made of.

Values are registers: arrays or scalars, assigned once. Buffers are memory: an
argument, a shadow, an array that the program writes into. Operations read and
write buffers only through `Load`, `Store` and `Scatter`, and say so as data
(`reads`, `writes`), so that no pass asks for an operation's name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..python.source import UNKNOWN, Line
from ..regions.affine import Affine, Extent, coefficient, exact, ragged, substitute
from ..regions.regions import Region, View, ends, limits


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
    caller), 'local', 'cache' (what a loop keeps of each iteration for its reverse loop), or 'captured': the memory of
    `array`, which the program finds outside and only reads.
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
    array: np.ndarray | None = field(default=None, compare=False, repr=False)
    address: int = field(default=0, compare=False, repr=False)  # of its elements when it was found

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
    def nbytes(self) -> int:
        """Of that stretch."""
        return self.span * self.dtype.itemsize

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

    @property
    def blocks(self) -> tuple[tuple[Operation, ...], ...]:
        """The sequences of operations inside. Values defined in a block are seen only in it."""
        return ()

    @property
    def steering(self) -> tuple[Value, ...]:
        """What decides which of the blocks run, or how often."""
        return ()

    def with_blocks(self, *blocks: tuple[Operation, ...]) -> Operation:
        """The same operation around other blocks."""
        assert not blocks
        return self


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

    @property
    def title(self) -> str:
        """What it is called in messages: a call of a user's function by that function's name."""
        return str(self.params["callee"]) if self.primitive == "call" else self.primitive


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
    """The tape holds only while the scalar `predicate` equals `outcome`; else the replay leaves, nothing written.

    `what` it is about; `detail`, of an index: the axis that it is out of range for.
    """

    predicate: Value
    outcome: object
    what: str
    detail: str = ""

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.predicate,)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexValue(Operation):
    """`out`, an int64 scalar, is what `expression` of the indices of the loops around is now."""

    out: Value
    expression: Affine

    @property
    def outputs(self) -> tuple[Value, ...]:
        return (self.out,)


class Enclosing(Operation):
    """An operation with blocks, which remembers what they touch: to find out takes a walk over all that is inside."""

    __slots__ = ("_inputs", "_reads", "_writes")

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self._remembered("_inputs", lambda: free_values(self.blocks, self.steering))

    @property
    def reads(self) -> tuple[Region, ...]:
        return self._remembered("_reads", lambda: tuple(self.seen(r) for op in self._inside() for r in op.reads))

    @property
    def writes(self) -> tuple[Region, ...]:
        return self._remembered("_writes", lambda: tuple(self.seen(r) for op in self._inside() for r in op.writes))

    def seen(self, region: Region) -> Region:
        """What it touches in all, where an operation inside touches `region`."""
        return region

    def _inside(self) -> Iterator[Operation]:
        return itertools.chain.from_iterable(self.blocks)

    def _remembered(self, slot: str, find: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        try:
            return getattr(self, slot)
        except AttributeError:
            object.__setattr__(self, slot, found := find())
            return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Enclosing):
    """Run `body` for `index = start, start + step, ...`, `trips` times.

    Values defined inside are seen only inside; what an iteration leaves for the next or for
    later operations it leaves in buffers. `start` and `trips` (then a `Ragged`, and no iteration where it is not
    positive) may depend on the indices of enclosing loops. With `count`, an int64 scalar, the iterations
    are as many as that is at run time, at most `trips` (whoever makes the loop sees to it): the first ones of a loop
    that counts up, the last ones of one that counts down, which is its reverse.
    Of a loop that `stops`, the body is a branch that is not taken any more after an iteration in which it was not: the
    iterations after need not run.
    """

    index: int
    start: Extent
    step: int
    trips: int
    body: tuple[Operation, ...]
    count: Value | None = None
    stops: bool = False

    @property
    def steering(self) -> tuple[Value, ...]:
        return () if self.count is None else (self.count,)

    def seen(self, region: Region) -> Region:
        return over(region, self)

    @property
    def blocks(self) -> tuple[tuple[Operation, ...], ...]:
        return (self.body,)

    def with_blocks(self, *blocks: tuple[Operation, ...]) -> Loop:
        (body,) = blocks
        return replace(self, body=body)

    @property
    def last(self) -> Extent:
        """The index in the last iteration, where there is one."""
        return self.start + (exact(self.trips) - 1) * self.step

    @property
    def range(self) -> tuple[Extent, Extent]:
        """The least and the greatest index."""
        return (self.start, self.last) if self.step > 0 else (self.last, self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Enclosing):
    """Run `then` where the boolean scalar `predicate` holds, else `otherwise`.

    Values defined inside are seen only inside; what a side leaves for later operations it leaves in buffers.
    """

    predicate: Value
    then: tuple[Operation, ...]
    otherwise: tuple[Operation, ...]

    @property
    def steering(self) -> tuple[Value, ...]:
        return (self.predicate,)

    @property
    def blocks(self) -> tuple[tuple[Operation, ...], ...]:
        return (self.then, self.otherwise)

    def with_blocks(self, *blocks: tuple[Operation, ...]) -> Branch:
        then, otherwise = blocks
        return replace(self, then=then, otherwise=otherwise)


def free_values(blocks: tuple[tuple[Operation, ...], ...], first: tuple[Value, ...]) -> tuple[Value, ...]:
    """`first`, then the values that `blocks` use and do not define, each once."""
    used = {v.id: v for v in first}
    for block in blocks:
        defined = {v.id for op in block for v in op.outputs}
        used |= {v.id: v for op in block for v in op.inputs if v.id not in defined}
    return tuple(used.values())


def over(region: Region, loop: Loop) -> Region:
    """What `region` touches over all iterations of `loop`: an axis more where it moves with the index.

    Where an extent varies with the index, the stretch of memory from the lowest to the highest element.
    """
    offset = region.view.offset
    move = coefficient(offset, loop.index)
    if any(coefficient(exact(n), loop.index) for n in region.view.shape):
        return Region(region.buffer, stretch(region.view, loop))
    if not move:
        return region
    view = region.view
    first = substitute(offset, loop.index, loop.range[0])
    return Region(region.buffer, View(first, (loop.trips, *view.shape), (move * abs(loop.step), *view.strides)))


def stretch(view: View, loop: Loop) -> View:
    """The memory from the lowest to the highest element of `view` over all iterations, as one dense view."""
    least, most = loop.range
    low, high = ends(view)
    size = 1 + sum(abs(stride) * max(int(n) - 1, 0) for n, stride in zip(view.shape, view.strides))
    move = {e: coefficient(e, loop.index) for e in (low, high)}
    size += max(map(abs, move.values())) * max(int(loop.trips) - 1, 0)
    low = substitute(low, loop.index, least if move[low] > 0 else most)
    high = substitute(high, loop.index, most if move[high] > 0 else least)
    length = high - low + 1
    return View(low, (ragged(size, length),), (1,))


def defined_by(operations: tuple[Operation, ...]) -> dict[int, Operation]:
    """The operation that defines each value id."""
    return {v.id: op for op in operations for v in op.outputs}


def walk(operations: tuple[Operation, ...]) -> Iterator[Operation]:
    """Every operation, those inside loops and branches after the loop or branch itself."""
    for op in operations:
        yield op
        for block in op.blocks:
            yield from walk(block)


def all_blocks(operations: tuple[Operation, ...]) -> Iterator[tuple[Operation, ...]]:
    """`operations`, then the blocks inside of them."""
    yield operations
    for op in operations:
        for block in op.blocks:
            yield from all_blocks(block)


def renamed(op: Operation, names: Mapping[int, Value]) -> Operation:
    """`op` with other operands: each value whose id is in `names` replaced."""
    if not any(v.id in names for v in op.inputs):
        return op

    def name(value: Value) -> Value:
        return names.get(value.id, value)

    op = op.with_blocks(*(tuple(renamed(inner, names) for inner in block) for block in op.blocks))
    match op:
        case Loop():
            return op if op.count is None else replace(op, count=name(op.count))
        case Branch():
            return replace(op, predicate=name(op.predicate))
        case Apply():
            return replace(op, operands=tuple(map(name, op.operands)))
        case Store():
            return replace(op, value=name(op.value))
        case Scatter():
            return replace(op, indices=tuple(map(name, op.indices)), value=name(op.value))
        case Guard():
            return replace(op, predicate=name(op.predicate))
    raise TypeError(f"{type(op).__name__} has operands that cannot be renamed")
