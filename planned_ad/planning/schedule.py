"""The schedule that the planner makes and the emitter follows: steps over fixed memory.

A `Nest` is a loop nest over a rectangular domain. Its items run in order at each index: nodes put
a number into a register, sinks put it into memory. Every access is an affine view of a memory,
given over the domain, so that emission is arithmetic on strides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..python.source import Line
from ..regions.affine import Affine
from ..regions.regions import View, contiguous
from ..tape.tape import Apply, Branch, Guard, Loop, Tape, Value


@dataclass(frozen=True, slots=True)
class Memory:
    """What an access addresses: a buffer of the tape, a slot that holds a value, or constant data."""

    kind: str  # 'buffer', 'slot' or 'constant'
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A number from memory."""

    memory: Memory
    view: View
    dtype: np.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Immediate:
    """A number known at compile time."""

    number: object
    dtype: np.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A number made of the indices of the loops around the nest."""

    expression: Affine
    dtype: np.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What an array that counts holds at `view`: `first + step * place`, without the array."""

    first: int
    step: int
    view: View
    dtype: np.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """An elementwise primitive on registers (numbers of earlier items of the nest)."""

    primitive: str
    operands: tuple[int, ...]
    parameters: tuple[tuple[str, object], ...]
    dtype: np.dtype
    line: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherRead:
    """A number from memory at `view` plus `sum(index * stride)`, the indices being registers."""

    memory: Memory
    view: View
    indices: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Put (or add) a register into memory; with `indices`, at computed places, in index order."""

    memory: Memory
    view: View
    source: int
    accumulate: bool = False
    indices: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """Combine a register over the axes where `view` has stride 0 into memory, which it defines.

    One that `adds` combines what memory holds, too.
    """

    memory: Memory
    view: View
    axes: tuple[int, ...]
    source: int
    operation: str  # 'reduce_sum', 'reduce_prod', 'reduce_max', 'reduce_min', 'reduce_any', 'reduce_all'
    dtype: np.dtype
    adds: bool = False


Item = Read | Immediate | Position | Counted | Compute | GatherRead | Write | Reduce


@dataclass(slots=True, kw_only=True)
class Nest:
    """Items run at each index of `domain`; `ordered` where the order of indices matters (scatter).

    A ragged extent of the domain ends where its expression says in the iteration that the loops around are in.
    `exact`: the items of which each product and sum is rounded by itself; see `last_bits`.
    """

    domain: tuple[int, ...]
    items: list[Item] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # of each item
    spills: dict[int, Write] = field(default_factory=dict)  # registers that other steps read: written when computed
    ordered: bool = False
    sweep: str = "primal"
    exact: frozenset[int] = frozenset()

    def add(self, item: Item, line: Line) -> int:
        self.items.append(item)
        self.lines.append(line)
        return len(self.items) - 1


@dataclass(slots=True, kw_only=True)
class LibraryStep:
    """One operation on whole arrays in memory: a product by BLAS, a scan, a search for true elements.

    Products may go to any rows in memory, `place`, and be added (`accumulate`) to what is there.
    """

    operation: Apply
    operands: tuple[tuple[Memory, View, np.dtype], ...]
    result: Memory
    place: View | None = None
    accumulate: bool = False
    sweep: str = "primal"

    @property
    def target(self) -> View:
        """Where the result goes in its memory."""
        return contiguous(self.operation.out.shape) if self.place is None else self.place


@dataclass(slots=True, kw_only=True)
class GuardStep:
    """Leave, with nothing written, unless the scalar in memory equals `outcome`."""

    operation: Guard
    memory: Memory
    view: View
    dtype: np.dtype
    sweep: str = "primal"


@dataclass(slots=True, kw_only=True)
class LoopStep:
    """Steps run once for each value of a loop index, in order; their views may move with it.

    `count`: where the number of iterations is, if that is known at run time only.
    """

    operation: Loop
    steps: list[Step] = field(default_factory=list)
    count: tuple[Memory, View] | None = None
    sweep: str = "primal"

    @property
    def blocks(self) -> tuple[list[Step], ...]:
        return (self.steps,)


@dataclass(slots=True, kw_only=True)
class BranchStep:
    """The one list of steps where the Boolean in memory is true, the other where it is not."""

    operation: Branch
    memory: Memory
    view: View
    then: list[Step] = field(default_factory=list)
    otherwise: list[Step] = field(default_factory=list)
    sweep: str = "primal"

    @property
    def blocks(self) -> tuple[list[Step], ...]:
        return (self.then, self.otherwise)


Step = Nest | LibraryStep | GuardStep | LoopStep | BranchStep


def walk_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step, those inside loops and branches after the loop or branch itself."""
    for step in steps:
        yield step
        if isinstance(step, LoopStep | BranchStep):
            for block in step.blocks:
                yield from walk_steps(block)


def guard_steps(steps: Iterable[Step]) -> list[GuardStep]:
    """In the order in which a kernel's status numbers them."""
    return [step for step in walk_steps(steps) if isinstance(step, GuardStep)]


def memories_of(step: Step) -> Iterator[Memory]:
    """What a step itself addresses, steps inside it aside."""
    match step:
        case Nest():
            for item in (*step.items, *step.spills.values()):
                if isinstance(item, Read | GatherRead | Write | Reduce):
                    yield item.memory
        case LibraryStep():
            yield from (memory for memory, _, _ in step.operands)
            yield step.result
        case GuardStep() | BranchStep():
            yield step.memory
        case LoopStep():
            if step.count is not None:
                yield step.count[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """A value kept from the primal for the reverse sweep, and why."""

    value: Value
    nbytes: int
    reason: str
    line: int
    file: str
    source: str

    @classmethod
    def at(cls, line: Line, value: Value, nbytes: int, reason: str) -> Cached:
        return cls(value=value, nbytes=nbytes, reason=reason, line=line.number, file=line.file, source=line.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A value that the reverse sweep recomputes or reloads."""

    what: str
    nbytes: int
    line: int
    file: str
    source: str

    @classmethod
    def at(cls, line: Line, what: str, nbytes: int) -> Source:
        return cls(what=what, nbytes=nbytes, line=line.number, file=line.file, source=line.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedRows:
    """Work that is done for `together` of `rows` rows at a time; `nbytes` of what is made there are never whole, and
    `once` bytes from outside are fetched that otherwise would be several times."""

    rows: int
    together: int
    nbytes: int
    once: int = 0
    line: Line

    def __str__(self) -> str:
        whole = f"; {self.nbytes} bytes are never whole" if self.nbytes > 0 else ""
        once = f"; {self.once} bytes are not fetched again" if self.once else ""
        return f"{self.together} of {self.rows} rows at a time{whole}{once}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Steps, where each slot and local buffer lies in the workspace, and the reasons for what is kept.

    `lifetimes`: the first and the last step that use a memory, by their numbers in the order of `walk_steps`.
    `threads`: how many do the parts of a step.
    """

    tape: Tape
    steps: tuple[Step, ...]
    offsets: dict[Memory, int]
    sizes: dict[Memory, int]
    lifetimes: dict[Memory, tuple[int, int]]
    constants: dict[int, np.ndarray]
    cached: tuple[Cached, ...]
    recomputed: tuple[Source, ...]
    reloaded: tuple[Source, ...]
    workspace_nbytes: int
    lower_bound_nbytes: int
    blocked: tuple[BlockedRows, ...] = ()
    threads: int = 1

    @property
    def cached_nbytes(self) -> int:
        """All bytes kept from the primal for the reverse sweep."""
        return sum(c.nbytes for c in self.cached)
