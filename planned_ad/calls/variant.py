"""One trace of a function with the entries that are compiled from it, and how it breaks for other arguments."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..caching.folders import belonging_to
from ..differentiate.keep.rooms import MORE
from ..errors import PlannedADError
from ..planning.schedule import guard_steps
from ..python.garbage import seldom_collected
from ..python.options import PlanOptions
from ..python.progress import stage
from ..python.source import Line
from ..tape.guards import (
    REQUIRED,
    asked_for,
    error_of,
    guards_of,
    index_out_of_range,
    is_room,
    is_stretch,
    known_outcomes,
)
from ..tape.interpret import memory_of
from ..tape.tape import Guard
from ..trace import Trace
from ..tracing.record.decisions import Site, Unrolled
from .check.checked import Checked
from .entries import Entry, compiled_parts, limited_tape, loaded_entry
from .kinds import KINDS, CallKind
from .outside.watch import Watch
from .replay import Call
from .split_calls import build_halves
from .stored_plans import StoredTrace, find_entry, put_entry


class PlanOfTraces(Protocol):
    """A plan, as far as its calls know it: a function, and its traces so far."""

    _f: Callable[..., Any]
    _options: PlanOptions
    _lock: Any
    _variants: list[Variant]
    _asked: dict[str, Callable[[Trace], None]]
    _stretched: set[Line]
    _one_way: bool
    _tried_with: int
    _dropped: int
    _exact: set[Line]
    _has_history: bool
    _unrolled: dict[Site, Unrolled]
    _after: Trace | None

    def _slow_path(self, row: CallKind, variant: Variant) -> Callable[..., Any]: ...

    def _forget_calls(self) -> None: ...

    @property
    def kernel(self) -> Any: ...


class Variant:
    """One trace of the function (one outcome of its branches), and the entries compiled from it."""

    def __init__(
        self,
        traced: Trace,
        checked: Checked,
        preserve_args: bool,
        memory_limit: int | None,
        threads: int,
        slow_path: Callable[[CallKind, Variant], Callable[..., Any]],
        owner: object,
        watch: Watch,
        room: int = 1,
        stored: StoredTrace | None = None,
    ):
        self.trace, self.checked, self.watch, self.room, self.stored = traced, checked, watch, room, stored
        self.entries: dict[str, Entry] = {}
        self.preserve_args = preserve_args
        self._memory_limit, self.threads = memory_limit, threads
        self._slow_path = lambda row: slow_path(row, self)
        limits = preserve_args, memory_limit, threads
        self._with_room = lambda room: Variant(traced, checked, *limits, slow_path, owner, watch, room)
        self._owner, self.last_used = owner, time.monotonic()
        self._lock = threading.Lock()

    def entry(self, kind: str) -> Entry:
        """The compiled entry; compiled at first use."""
        row = KINDS[kind]
        return self.made(row, lambda: self._halves() if row.is_half else {kind: self._compiled(row)})

    def made(self, row: CallKind, make: Callable[[], dict[str, Entry]]) -> Entry:
        """The entry of a kind of call, which `make` compiles at first use, perhaps with others."""
        found = self.entries.get(row.name)
        if found is None:
            with self._lock:
                found = self.entries.get(row.name)
                if found is None:
                    self.entries |= make()
                    found = self.entries[row.name]
        return found

    @seldom_collected
    def _compiled(self, row: CallKind) -> Entry:
        with belonging_to(self.trace.line.file):
            parts = None if self.stored is None else find_entry(self.stored, row)
            if parts is None:
                with stage(f"compiling {row.name} of {self.trace.name}"):
                    tape, reruns = limited_tape(self.trace, row, self.preserve_args, self._memory_limit, self.room)
                    parts = compiled_parts(
                        self.trace, row, tape, reruns, None, self.watch, self.threads, self.preserve_args
                    )
                if self.stored is not None:
                    put_entry(self.stored, row, parts)
            return loaded_entry(self.trace, row, parts, self._slow_path(row), self.watch)

    def roomier(self) -> Variant:
        """The same trace, with more room for the iterations of loops that stop."""
        return self._with_room(self.room * MORE)

    @seldom_collected
    def _halves(self) -> dict[str, Entry]:
        with belonging_to(self.trace.line.file), stage(f"compiling both halves of {self.trace.name}"):
            return build_halves(
                self.trace, self.preserve_args, self._memory_limit, self._slow_path, self._owner, self.watch,
                self.room, self.stored, self.threads,
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Broken:
    """A variant whose guards do not hold for some arguments, the first that does not, and those asked before it."""

    variant: Variant
    guard: Guard
    held: Sequence[Guard]
    index: int | None = None  # the one that is out of range, where that is known

    @property
    def is_required(self) -> bool:
        """Whether it is what no run of this trace does without."""
        return self.guard.what in REQUIRED and not is_stretch(self.guard)

    def error(self) -> PlannedADError:
        traced = self.variant.trace
        return error_of(self.guard, traced.name, traced.max_steps, self.index)

    def known(self) -> list[Guard]:
        """What this says of another trace for the same arguments."""
        return known_outcomes(self.variant.trace.tape, self.held, self.guard)


def broken(call: Call, variant: Variant, entry: Entry, number: int) -> Broken:
    """That guard `number` of an entry broke."""
    steps = [step.operation for step in guard_steps(entry.memory.steps)]
    guard, number = steps[number], number - sum(map(is_room, steps[:number]))
    guards = [guard for guard in steps if not is_room(guard)]  # those of the trace
    index = None
    if guard.what == "index":
        traced = variant.trace
        recorded, buffers = guards_of(traced.tape), traced.tape.buffers
        if [*map(asked_for, recorded[number : number + 1])] == [asked_for(guard)]:
            memories = {
                leaf.buffer: memory_of(buffers[leaf.buffer], np.asarray(value, leaf.dtype))
                for leaf, value in zip(traced.leaves, call.leaves)
                if leaf.buffer is not None
            }
            index = index_out_of_range(traced.tape, recorded[number], memories)
    return Broken(variant, guard, guards[:number], index)


def more_telling(found: Broken | None, other: Broken) -> Broken:
    """What to say of two variants that broke, in this order: one that only lacks room takes the right branch."""
    return found if found is not None and is_room(found.guard) else other
