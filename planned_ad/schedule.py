"""The schedule that the planner makes and the emitter follows: steps over fixed memory.

A `Nest` is a loop nest over a rectangular domain. Its items run in order at each index: nodes put
a number into a register, sinks put it into memory. Every access is an affine view of a memory,
given over the domain, so that emission is arithmetic on strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .regions import View
from .source import Line
from .tape import Apply, Guard, Loop, Tape, Value


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
    """Combine a register over the axes where `view` has stride 0 into memory, which it defines."""

    memory: Memory
    view: View
    axes: tuple[int, ...]
    source: int
    operation: str  # 'reduce_sum', 'reduce_prod', 'reduce_max', 'reduce_min', 'reduce_any', 'reduce_all'
    dtype: np.dtype


Item = Read | Immediate | Compute | GatherRead | Write | Reduce


@dataclass(slots=True, kw_only=True)
class Nest:
    """Items run at each index of `domain`; `ordered` where the order of indices matters (scatter)."""

    domain: tuple[int, ...]
    items: list[Item] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # of each item
    spills: dict[int, Write] = field(default_factory=dict)  # registers that other steps read: written when computed
    ordered: bool = False
    sweep: str = "primal"

    def add(self, item: Item, line: Line) -> int:
        self.items.append(item)
        self.lines.append(line)
        return len(self.items) - 1


@dataclass(slots=True, kw_only=True)
class LibraryStep:
    """One operation on whole arrays in memory: a product by BLAS, a scan, a search for true elements."""

    operation: Apply
    operands: tuple[tuple[Memory, View, np.dtype], ...]
    result: Memory
    sweep: str = "primal"


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
    """Steps run once for each value of a loop index, in order; their views may move with it."""

    operation: Loop
    steps: list[Step] = field(default_factory=list)
    sweep: str = "primal"


Step = Nest | LibraryStep | GuardStep | LoopStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """A value kept from the primal for the reverse sweep, and why."""

    value: Value
    nbytes: int
    reason: str
    line: int
    file: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A value that the reverse sweep recomputes or reloads."""

    what: str
    nbytes: int
    line: int
    file: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """Steps, where each slot and local buffer lies in the workspace, and the reasons for what is kept."""

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
