"""Symbolic loops: a `for` loop recorded once, for all its iterations.

The body runs a few times from the same state of the program: with variables as they are before the loop, then with
what an iteration hands to the next (`carries`) in their place, until nothing new turns up. The last run is
the body of the `Loop`. Python sees an ordinary iterator; variables are put back between the runs as a debugger does it.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..affine import Affine, Extent, Ragged, affine, exact, ragged, substitute
from ..regions import View, contiguous
from ..tape import Buffer, Loop, Operation, Value
from .array_tracer import ArrayTracer
from .blocks import Block, Made
from .branches import Branches
from .carries import (
    Array,
    Carry,
    Count,
    Fresh,
    Items,
    Joiner,
    Moving,
    NotCarried,
    Number,
    Whole,
    moved,
    period_of_exchange,
    put_together,
    same,
    taken_apart,
)
from .copies import NONE, Copy, array_in
from .list_growth import Growth
from .loop_copies import LoopCopies
from .loop_index import LoopIndex, index_of
from .lost import Lost
from .passes import Comparison
from .ragged import RaggedArray
from .run_time_counts import within_range
from .scalar_tracer import ScalarTracer
from .scopes import Scope, Site
from .state import Key, Place, State, capture, write_state
from .storage import ShiftedStorage, Storage
from .symbolic_keys import seen
from .traced_list import follow

if TYPE_CHECKING:
    from ..recorder import Recorder

MOST_PASSES = 60
MUTABLE = (list, dict)  # which stay the objects that they are: each of their items is a place of its own


@dataclass
class LoopTrace:
    """The recording of one loop of `trips` iterations, which runs in `frame`."""

    recorder: Recorder
    frame: types.FrameType
    site: Site
    trips: int
    count: Value | None  # how many at run time, where that is not known before
    targets: tuple[str, ...]  # variables that each iteration assigns before it reads them
    before: list[Operation] = field(default_factory=list)
    carries: dict[Key, Carry] = field(default_factory=dict)
    period: int = 1  # iterations of the program in one of the loop
    turn: int = 0  # which of them is running
    passes: int = 0
    more_passes: int = 0  # which only compare what they record
    made: dict[Key, tuple[Place, Any]] = field(default_factory=dict)  # variables that were not there before
    promoted: set[object] = field(default_factory=set)  # arrays of the body that a side of a branch writes to
    counts_iterations = True  # whether it is known before how many there are

    def __post_init__(self) -> None:
        scopes = self.recorder.scopes
        self.depth = scopes.depth
        self.index, self.parts = scopes.new_loop()
        self.apart = Block(Made(self.parts.apart))
        self.line = self.recorder.builder.line
        self.first_value = self.recorder.builder.next_value
        self.scope = Scope(outer=[], apart=self.apart, site=self.site)
        self.origin = self.capture()
        for name in self.targets:
            self.origin.values.pop((id(self.frame), "local", name), None)
        self.copies = LoopCopies(self)
        self.joiner = Joiner(self.recorder, self.depth, self.index, self.copies.refused)
        self.branches = Branches(self)
        self.growth = Growth(self)
        self.comparison = Comparison(self)
        self.refuse_hidden(self.origin)
        self.begin()

    def capture(self) -> State:
        return capture(self.frame, self.recorder.consumers.get(self.frame))

    @property
    def whole_trips(self) -> int:
        """Iterations of the loop on the tape."""
        return self.trips if self.period == 1 else self.trips // self.period

    @property
    def iteration(self) -> Extent:
        """The number of the present iteration of the program, as an expression."""
        return affine(self.turn, {self.index: self.period})

    # One pass.

    def begin(self) -> None:
        recorder = self.recorder
        for carry in self.carries.values():
            if isinstance(carry, Number):
                carry.changed = False
        last = exact(self.whole_trips) - 1
        self.scope = Scope(
            outer=recorder.builder.operations,
            apart=self.apart,
            before=self.before,
            index=self.index,
            range=(0, last),
            site=self.site,
        )
        self.scope.loop = self
        self.branches.begin()
        recorder.scopes.enter(self.scope, self.first_value, self.parts)
        self.turn = 0
        self.passes += 1
        if self.passes > MOST_PASSES + self.more_passes:
            raise self.unrolled("changes its variables in another way in each iteration")
        if self.passes > 1 or self.carries:
            made = {key: (place, Lost(recorder, place.name)) for key, (place, _) in self.made.items()}
            write_state(
                made
                | {
                    key: (place, self.carries[key].begin(recorder, self.index) if key in self.carries else value)
                    for key, (place, value) in self.origin.values.items()
                }
            )
            self.growth.begin()

    def advance(self) -> bool:
        """Called where the program fetches the next item: whether the body runs once more."""
        self.branches.finish()
        if self.turn + 1 < self.period:
            self.turn += 1
            self.recorder.scopes.begin_epoch()
            return True
        self.growth.settle()
        now = self.capture()
        self.refuse_hidden(now)
        self.refuse_growth(now)
        if self.recorder.scopes.open[-1] is not self.innermost:
            inner = self.recorder.scopes.open[-1]
            raise self.recorder.scopes.unroll([s for s in (self.scope, inner) if s.site], "is left early", self.line)
        grown = self.growth.leave()
        stores, failed = self.stores(now)
        settled = self.copies.settled() and grown
        if self.period == 1 and failed and self.rotated(failed):
            self.branches.forget()
            self.discard()
            self.begin()
            return True
        self.refuse_shared_writes(now)
        if failed or not settled:
            self.joiner.then, self.joiner.now = self.origin, now
            self.join(failed)
            self.copies.settled()
            self.comparison.forget()
        elif not (self.scope.promotes or self.branches.unknown or self.retyped()):
            if self.comparison.is_complete(now, stores):
                self.close(now, stores)
                return False
            self.more_passes += 1
        else:
            self.comparison.forget()
        if failed or not settled or self.scope.promotes or self.retyped():
            self.branches.forget()
        made = {key: found for key, found in now.values.items() if key not in self.origin.values}
        self.made |= {key: found for key, found in made.items() if found[0].kind != "item"}
        self.discard()
        self.prepare()
        self.begin()
        return True

    def discard(self) -> None:
        self.recorder.scopes.leave(self.scope)
        self.copies.restore()
        self.growth.restore()

    def stores(self, now: State) -> tuple[list[tuple[Buffer, Value]], dict[Key, tuple[Place, Any, Any]]]:
        """What the iteration hands on, and the places for which that has no form yet: place, before, after."""
        stores: list[tuple[Buffer, Value]] = []
        failed = {}
        for key, (place, old) in self.origin.values.items():
            if self.copies.is_unfit(key, place, old, now):
                continue
            if key not in now.values:
                if place.kind == "item" and is_left_behind(place, old, now):
                    continue
                raise self.unrolled(f"deletes `{place.name}`")
            new = now.values[key][1]
            carry = self.carries.get(key) or Whole(old)
            try:
                stores += carry.leave(self.recorder, new, self.index)
            except NotCarried as problem:
                if str(problem) or (isinstance(carry, Whole) is False and not isinstance(carry, Count)):
                    raise self.unrolled(str(problem) or f"changes the type of `{place.name}`") from None
                failed[key] = (place, old, new)
        return stores, failed

    def retyped(self) -> bool:
        """Whether a number that is handed on is of another type than it was begun with."""
        return any(isinstance(carry, Number) and carry.changed for carry in self.carries.values())

    def join(self, failed: dict[Key, tuple[Place, Any, Any]]) -> None:
        for key, (place, old, new) in failed.items():
            if isinstance(self.carries.get(key), Count):
                self.joiner.no_counts.add(place.name)
            if self.growth.holds(new):
                self.carries[key] = Fresh(place.name)
                continue
            try:
                with self.recorder.scopes.beside(self.apart):
                    self.carries[key] = self.joiner.join(place.name, old, new)
            except NotCarried as problem:
                raise self.peeled(str(problem)) from None

    def prepare(self) -> None:
        """Record in front of the loop what its new carries hold at first."""
        recorder = self.recorder
        scopes = recorder.scopes
        scope = Scope(outer=recorder.builder.operations, apart=self.apart, before=self.before, loop=self)
        scopes.open.append(scope)
        with scopes.before(self.depth):
            for buffer, initial in self.joiner.initial:
                recorder.builder.store(buffer.whole, recorder.value_of(initial, buffer.dtype))
            self.growth.prepare()
        scopes.open.pop()
        scopes.absorb(scope)
        self.joiner.initial.clear()

    def rotated(self, failed: dict[Key, tuple[Place, Any, Any]]) -> bool:
        """Whether variables exchange the arrays that they held before; then several iterations are one of the loop."""
        period = period_of_exchange(failed)
        if not self.runs_evenly:  # it may end in the middle of a period
            return False
        if type(self.trips) is int and 1 < period <= 4 and self.trips // period > 1:
            self.period = period
            return True
        return False

    # The end.

    def close(self, now: State, stores: list[tuple[Buffer, Value]]) -> None:
        """Put the loop on the tape, and into the variables what they hold after it."""
        recorder, builder = self.recorder, self.recorder.builder
        self.copies.refuse_what_was_read()
        runs = self.certainly_runs
        leaving = Leaving(self)
        after: dict[Key, tuple[Place, Any]] = {}
        for key, (place, value) in now.values.items():
            carry = self.carries.get(key)
            if key in self.origin.values and not isinstance(carry, Fresh):
                after[key] = (place, leaving.carried(carry, value))
            elif runs:
                after[key] = (place, leaving.survivor(value))
            elif place.kind != "item":
                after[key] = (place, Lost(recorder, place.name))
        self.growth.close(after)
        builder.line = self.line
        for buffer, value in [*stores, *leaving.stores]:
            builder.store(buffer.whole, value)
        self.end_body()
        body = tuple(recorder.scopes.leave(self.scope))
        recorder.scopes.absorb(self.scope)
        recorder.scopes.over.append(self.scope)
        for op in self.before:
            builder.emit(op)
        if runs:
            recorder.scopes.closed[self.index] = exact(self.whole_trips) - 1
        self.emit_loop(body)
        recorder.scopes.guard()
        for storage, buffer in leaving.storages:
            storage.value, storage.buffer, storage.is_concrete = None, buffer, False
            storage.depth = self.depth
            storage.reads.clear()
        self.copies.close()
        write_state({key: (place, leaving.finished(value)) for key, (place, value) in after.items()})

    @property
    def certainly_runs(self) -> bool:
        """Whether there is at least one iteration."""
        return self.count is None and self.recorder.scopes.bounds(exact(self.whole_trips))[0] > 0

    @property
    def runs_evenly(self) -> bool:
        """Whether how often it runs is known, or an expression of the loops around."""
        return self.count is None

    @property
    def innermost(self) -> Scope:
        """The block that is recorded at the end of the body."""
        return self.scope

    def end_body(self) -> None:
        """Record what comes last in the body."""

    def emit_loop(self, body: tuple[Operation, ...]) -> None:
        """Put the loop on the tape."""
        count = self.count
        if count is not None:
            count = within_range(self.recorder, count, self.index, body, self.scope.indices)
        self.recorder.builder.emit(
            Loop(index=self.index, start=0, step=1, trips=self.whole_trips, body=body, count=count, line=self.line)
        )

    # Refusing.

    def refuse_hidden(self, state: State) -> None:
        if state.hidden:
            raise self.unrolled(f"holds an iterator, `{state.hidden}`")

    def refuse_growth(self, now: State) -> None:
        sizes = [(*found, now.sizes[id][1]) for id, found in self.origin.sizes.items() if id in now.sizes]
        grown = [container for container, before, after in sizes if before != after]
        if grown:
            if self.counts_iterations and self.count is None:
                follow(self.recorder, grown)
            raise self.unrolled("lets a list, dict or set grow or shrink")
        for id, (_, content) in self.origin.contents.items():
            if id in now.contents and now.contents[id][1] != content:
                raise self.unrolled("changes a set, or an array that is not traced")

    def refuse_shared_writes(self, now: State) -> None:
        """An array that is handed on, and written into: its first form may be the program's argument, or have views."""
        written = {region.buffer for op in self.recorder.builder.operations for region in op.writes}
        for key, carry in self.carries.items():
            if isinstance(carry, Array) and carry.buffer.id in written and not carry.shared:
                storage = self.origin.values[key][1].storage
                users = [v for _, v in self.origin.values.values() if type(v) is ArrayTracer and v.storage is storage]
                later = now.values[key][1].storage if type(now.values[key][1]) is ArrayTracer else None
                users += [
                    v for k, (_, v) in now.values.items() if k != key and type(v) is ArrayTracer and v.storage is later
                ]
                if len(users) > 1 or (storage.buffer is not None and storage.buffer.visible) or storage.captured:
                    raise self.peeled("writes into an array that is another one in the first iteration")

    def unrolled(self, reason: str) -> BaseException:
        scopes = self.recorder.scopes
        if self.scope not in scopes.open:
            scopes.open.append(self.scope)
        return scopes.unroll([self.scope], reason, self.line)

    def peeled(self, reason: str) -> BaseException:
        """The first iteration differs: it is recorded by itself, where that has not been tried."""
        scopes = self.recorder.scopes
        if scopes.decisions.first.get(self.site, 0) < 2 and type(self.trips) is int:
            return scopes.peel(self.scope, first=1)
        return self.unrolled(reason)


def is_left_behind(place: Place, value: Any, now: State) -> bool:
    """Whether a list or dict that nothing leads to any more still holds what it did."""
    owner = place.owner
    if id(owner) in now.sizes or type(owner) not in MUTABLE:
        return False
    try:
        return same(owner[place.key], value)
    except LookupError:
        return False


class Leaving:
    """What variables hold after a loop: numbers and arrays of the last iteration are left in memory by it."""

    def __init__(self, loop: LoopTrace):
        self.loop, self.recorder = loop, loop.recorder
        self.stores: list[tuple[Buffer, Value]] = []
        self.storages: list[tuple[Storage, Buffer]] = []
        self.kept: dict[int, tuple[Value, Buffer]] = {}
        self.held: dict[int, ArrayTracer] = {}

    def carried(self, carry: Carry | None, value: Any) -> Any:
        """Of a variable that was there before the loop."""
        return value if carry is None else After(carry, value)

    def survivor(self, value: Any) -> Any:
        """Of something made in the loop."""
        recorder, depth = self.recorder, self.loop.depth
        if recorder.is_scalar(value):
            return Kept(self.keep(value.value, "after"), value)
        if recorder.is_array(value):
            storage = value.storage
            if self.loop.copies.is_replaced(value):
                copy = Copy(recorder.copies.names(storage), NONE, self.loop.copies.refused)
                return Held(self.keep(value.read(), storage.label()), copy)
            if storage.value is not None and storage.depth > depth and storage not in [s for s, _ in self.storages]:
                view = storage.view_of(storage.base)
                buffer = recorder.builder.new_buffer("local", storage.label(), storage.base.dtype, view)
                self.storages.append((storage, buffer))
                self.stores.append((buffer, storage.value))
            return value
        parts = taken_apart(value)
        if parts is not None and parts[0] not in MUTABLE:
            return put_together(parts[0], parts[1], [self.survivor(item) for item in parts[2]])
        return value

    def keep(self, value: Value, label: str) -> Buffer:
        if value.id not in self.kept:
            buffer = self.recorder.builder.new_buffer("local", label, value.dtype, contiguous(value.shape))
            self.kept[value.id] = (value, buffer)
            self.stores.append((buffer, value))
        return self.kept[value.id][1]

    def finished(self, value: Any) -> Any:
        """As the program sees it after the loop."""
        recorder = self.recorder
        if type(value) is Kept:
            load = recorder.builder.load(value.buffer.whole)
            return ScalarTracer(recorder, load, value.tracer.is_python)
        if type(value) is Held:
            if value.buffer.id not in self.held:
                self.held[value.buffer.id] = array_in(recorder, value.buffer, value.copy)
            return self.held[value.buffer.id]
        if type(value) is After:
            return self.after(value.carry)
        if type(value) is RaggedArray or (recorder.is_array(value) and type(value.storage) is ShiftedStorage):
            return self.settled(value)
        if type(value) is LoopIndex:
            return index_of(recorder, value.expression)
        parts = taken_apart(value)
        if (
            parts is not None
            and parts[0] not in MUTABLE
            and any(type(item) in (Kept, Held, After, LoopIndex, ArrayTracer, RaggedArray) for item in parts[2])
        ):
            return put_together(parts[0], parts[1], [self.finished(item) for item in parts[2]])
        return value

    def settled(self, array: Any) -> Any:
        """A view that the loop has moved, where the last iteration left it."""
        index, view = self.loop.index, array.layout
        last = exact(self.loop.whole_trips) - 1
        shape = tuple(
            ragged(int(n), substitute(n.expression, index, last)) if isinstance(n, Ragged) else n for n in view.shape
        )
        return seen(array, View(substitute(view.offset, index, last), shape, view.strides))

    def after(self, carry: Carry) -> Any:
        loop = self.loop
        if isinstance(carry, Whole):
            return carry.value
        may_be_less = loop.count is None and self.recorder.scopes.bounds(exact(loop.whole_trips))[0] < 0
        if isinstance(carry, Count):
            if loop.count is not None or may_be_less:
                trips = ScalarTracer(self.recorder, loop.count or self.none_or(loop.whole_trips), is_python=True)
                return trips * index_of(self.recorder, carry.step) + index_of(self.recorder, carry.start)
            total = carry.start + _product(exact(loop.whole_trips), carry.step)
            return index_of(self.recorder, total)
        if isinstance(carry, Moving):
            if may_be_less:
                raise loop.unrolled("moves a view, and may have a length less than zero")
            return seen(carry.array, moved(carry.view, loop.index, exact(loop.whole_trips) - 1))
        if isinstance(carry, Items):
            return put_together(carry.kind, carry.keys, [self.after(item) for item in carry.items])
        return carry.begin(self.recorder, loop.index)

    def none_or(self, trips: int) -> Value:
        """How often a loop runs whose length may come out as less than zero."""
        length = exact(trips)
        assert isinstance(length, Affine)
        value = self.recorder.builder.index_value(length)
        return self.recorder.apply("maximum", value, self.recorder.constant(0, np.int64))


def _product(trips: Extent, step: Extent) -> Extent:
    if isinstance(step, int):
        return trips * step
    assert isinstance(trips, int) and isinstance(step, Affine)
    return step * trips


@dataclass(frozen=True, slots=True)
class Kept:
    """A scalar of the last iteration, in memory."""

    buffer: Buffer
    tracer: ScalarTracer


@dataclass(frozen=True, slots=True)
class Held:
    """An array that the last iteration was handed, in memory."""

    buffer: Buffer
    copy: Copy


@dataclass(frozen=True, slots=True)
class After:
    """What a carry has become after the last iteration."""

    carry: Carry
    value: Any
