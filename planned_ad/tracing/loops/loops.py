"""Symbolic loops: a `for` loop recorded once, for all its iterations.

The body runs a few times from the same state of the program: with variables as they are before the loop, then with
what an iteration hands to the next (`carries`) in their place, until nothing new turns up. The last run is
the body of the `Loop`. Python sees an ordinary iterator; variables are put back between the runs as a debugger does it.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...regions.affine import Extent, affine, exact
from ...tape.tape import Buffer, Loop, Operation, Value, walk
from ..lengths.run_time_counts import limited
from ..record.blocks import Block, Made
from ..record.decisions import Site
from ..record.lost_variables import DIFFERS, Lost
from ..record.scopes import GROWS, Scope
from ..values.array_tracer import ArrayTracer
from . import unassigned
from .after_loops import Leaving
from .branches import Branches
from .carries import Joiner, NextArray, NextNumber, begun_with, may_be_widened, period_of_exchange
from .choices import array_form
from .counts import Count
from .form import HandedOn, NotCarried, place_for
from .forms import Items, Nothing
from .generators import Running, open_generators
from .held import is_left_behind, is_made_of_arrays, is_number, put_back, same
from .lengths_of_data import store_at_first
from .letters import has_letters
from .list_growth import Growth
from .lists_in_turn import take_turns
from .loop_aliases import LoopCopies
from .moving_lengths import has_even_length
from .none_or_value import NoneOrValue
from .object_contents import forget_held
from .passes import Comparison
from .place_names import lasting_places, made_since
from .places import Key, Place, is_dead, was_assigned, write_state
from .recorded_loop import WaysOut
from .settling import settles
from .state import State, capture, met_in_loop
from .traced_list import TracedList
from .unnoticed_reads import unnoticed
from .written_lists import lay_down, storage_of

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MOST_PASSES = 60  # and a few more for each branch, of which a pass takes one side


@dataclass
class LoopTrace:
    """The recording of one loop of `trips` iterations, in `frame` or in `generators` that it takes the items of."""

    recorder: Recorder
    frame: types.FrameType
    site: Site
    trips: int
    count: Value | None  # how many at run time, where that is not known before
    targets: tuple[str, ...]  # variables that each iteration assigns before it reads them
    before: list[Operation] = field(default_factory=list)
    carries: dict[Key, HandedOn] = field(default_factory=dict)
    period: int = 1  # iterations of the program in one of the loop
    turn: int = 0  # which of them is running
    passes: int = 0
    more_passes: int = 0  # which only compare what they record
    made: dict[Key, tuple[Place, Any]] = field(default_factory=dict)  # variables that were not there before
    promoted: set[object] = field(default_factory=set)  # arrays of the body that a side of a branch writes to
    unset: set[Key] = field(default_factory=set)  # variables that have no value before it, and None for the trace
    needs_limit: bool = False  # whether a list has room for `max_steps` iterations
    exits: WaysOut | None = None  # the ways in which it is left, where those are followed
    counts_iterations = True  # whether it is known before how many there are
    generators: dict[types.FrameType, Running] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scopes = self.recorder.scopes
        lay_down(self.recorder)
        self.depth = scopes.depth
        self.index, self.parts = scopes.new_loop()
        self.apart = Block(Made(self.parts.apart))
        self.line = self.recorder.builder.line
        self.first_value = self.recorder.builder.next_value
        self.scope = Scope(outer=[], apart=self.apart, site=self.site)
        self.recorder.generators.update(self.generators)
        unassigned.held_at_first(self)
        self.origin = self.capture()
        self.there_before = self.origin.owners()  # objects, by identity
        self.recorder.meets_opaque = self.recorder.meets_opaque or self.origin.is_opaque
        for name in self.recorder.scopes.decisions.unset.get(self.site) or ():
            key: Key = (id(self.frame), "local", name)
            if key not in self.origin.values or type(self.origin.values[key][1]) is Lost:
                self.origin.values[key] = Place(self.frame, name, "local"), None
            self.unset.add(key)
        write_state({key: self.origin.values[key] for key in self.unset}, self.recorder.copied)
        targets = {self.frame: self.targets} | {frame: found.targets for frame, found in self.generators.items()}
        for key in [(id(frame), "local", name) for frame, names in targets.items() for name in names]:
            self.origin.values.pop(key, None)
        self.copies = LoopCopies(self)
        self.joiner = Joiner(self.recorder, self.depth, self.index, self.copies.refused, self.even_trips)
        self.joiner.no_counts |= self.recorder.scopes.decisions.uneven.get(self.site, frozenset())
        self.branches = Branches(self)
        self.growth = Growth(self)
        self.comparison = Comparison(self)
        self.refuse_hidden(self.origin)
        if self.exits is not None:
            self.exits.begin(self)
        self.begin()

    def capture(self) -> State:
        recorder, beside = self.recorder, open_generators(self.generators)
        consumer, followed = recorder.consumers.get(self.frame), recorder.generators
        return capture(self.frame, consumer, recorder.held, beside=beside, followed=followed)

    @property
    def runs_in(self) -> types.FrameType:
        """The code that its statement is in."""
        return next(iter(self.generators), self.frame)

    @property
    def whole_trips(self) -> int:
        """Iterations of the loop on the tape."""
        return self.trips if self.period == 1 else self.trips // self.period

    @property
    def iteration(self) -> Extent:
        """The number of the present iteration of the program, as an expression."""
        return affine(self.turn, {self.index: self.period})

    def may_be_uneven(self) -> bool:
        """Have the integers that are taken to grow evenly be numbers that data may change; whether there are some."""
        names = {self.origin.values[key][0].name for key, carry in self.carries.items() if type(carry) is Count}
        known = self.recorder.scopes.decisions.uneven
        known[self.site] = known.get(self.site, frozenset()) | names
        return bool(names)

    # One pass.

    def begin(self) -> None:
        recorder = self.recorder
        if not self.depth:
            forget_held(recorder.held)
        for carry in self.carries.values():
            if isinstance(carry, NextNumber):
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
        self.recorder.scopes.decisions.count_pass()
        if self.passes > MOST_PASSES + self.more_passes + 4 * len(self.branches.nodes):
            raise self.unrolled("changes its variables in another way in each iteration")
        if self.passes > 1 or self.carries:
            made = {key: (place, unassigned.lost(self, place.name)) for key, (place, _) in self.made.items()}
            begun = begun_with(recorder, self.carries, self.origin.values, self.index)
            name = unnoticed([*made.values(), *begun.values()], self.origin, after_loop=False, are_others_gone=True)
            if name:
                raise unassigned.refuse_lost(self, name, f"reads `{name}`, {DIFFERS}")
            write_state(made | self.origin.values | begun, recorder.copied)
            self.growth.begin()

    def advance(self) -> bool:
        """Called where the program fetches the next item: whether the body runs once more."""
        with self.recorder.builder.between_statements():
            return self.recorder.watch.aside(self.runs_again)

    def runs_again(self) -> bool:
        self.branches.finish()
        if self.turn + 1 < self.period:
            self.turn += 1
            self.recorder.scopes.begin_epoch()
            return True
        self.growth.settle()
        now = self.capture()
        while take_turns(self.recorder, self.origin, now, lambda *turn: has_even_length(self, *turn)):
            now = self.capture()
        self.refuse_hidden(now)
        self.refuse_growth(now)
        if self.recorder.scopes.open[-1] is not self.scope:
            inner = self.recorder.scopes.open[-1]
            raise self.recorder.scopes.unroll([s for s in (self.scope, inner) if s.site], "is left early", self.line)
        grown = self.growth.leave()
        stores, failed = self.stores(now)
        settled = self.copies.settled() and grown
        if self.period == 1 and failed and self.rotated(failed):
            self.branches.forget()
            self.know_made(now)
            self.discard()
            if self.joiner.initial:
                self.prepare()
            self.begin()
            return True
        self.refuse_shared_writes(now)
        if failed or not settled:
            self.joiner.then, self.joiner.now = self.origin, now
            self.join(failed)
            self.copies.settled()
            self.comparison.forget()
        elif not (self.scope.promotes or self.retyped()) and (not self.branches.unknown or self.comparison.is_vain()):
            if self.comparison.is_vain() or self.comparison.is_complete(now, stores):
                self.comparison.note_incomplete()
                self.close(now, stores)
                return False
            self.more_passes += 1
        else:
            self.comparison.forget()
        if failed or not settled or self.scope.promotes or self.retyped():
            self.branches.forget()
        self.know_made(now)
        self.discard()
        self.prepare()
        self.begin()
        return True

    def know_made(self, now: State) -> None:
        """Note the variables that this pass has made."""
        made = {key: found for key, found in now.values.items() if key not in self.origin.values}
        met = met_in_loop(self.recorder.namespace, made)
        self.origin.values.update(met)
        lasting = lasting_places(self.recorder, self.origin, self.there_before, made).items()
        self.made |= {key: found for key, found in lasting if was_assigned(*found) and key not in met}

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
                if place.kind in ("item", "attribute") and (
                    is_left_behind(place, old, now) or put_back(place, old, now)
                ):
                    continue
                raise self.unrolled(f"deletes `{place.name}`")
            new = now.values[key][1]
            if type(new) is TracedList:
                new.lay_down_where_filled()
            carry = self.carries.get(key)
            if carry is None:
                if not same(old, new):
                    failed[key] = (place, old, new)
                continue
            try:
                stores += carry.leave(self.recorder, new, self.index)
            except NotCarried as problem:
                if is_dead(place):
                    self.carries[key] = Nothing()
                elif str(problem) or not (may_be_widened(carry) or has_letters(carry)):
                    raise self.unrolled(str(problem) or f"changes the type of `{place.name}`") from None
                failed[key] = (place, old, new)
        return stores, failed

    def retyped(self) -> bool:
        """Whether a number that is handed on is of another type than it was begun with."""
        return any(isinstance(carry, NextNumber) and carry.changed for carry in self.carries.values())

    def join(self, failed: dict[Key, tuple[Place, Any, Any]]) -> None:
        for key, (place, old, new) in failed.items():
            if isinstance(self.carries.get(key), Nothing):
                continue
            old = self.origin.as_it_was(old)
            self.joiner.note_what_failed(place, self.carries.get(key))
            holder = self.growth.holder(new)
            if holder is not None:
                self.carries[key] = self.joiner.join_listed(place.name, old, new, holder.target.site)
                continue
            try:
                with self.recorder.scopes.beside(self.apart):
                    is_set = key in self.unset and (is_number(new) or type(new) in (NoneOrValue, ArrayTracer))
                    join = self.joiner.join_optional if is_set else self.joiner.join
                    self.carries[key] = self.growth.noted_in(join(place.name, old, new), new)
            except NotCarried as problem:
                if not is_dead(place) and key not in self.unset:
                    raise self.peeled(str(problem)) from None
                self.carries[key] = Nothing()

    def prepare(self) -> None:
        """Record in front of the loop what its new carries hold at first."""
        recorder = self.recorder
        scopes = recorder.scopes
        outer = recorder.builder.operations
        scope = Scope(outer=outer, apart=self.apart, before=self.before, loop=self, site=self.site)
        scopes.open.append(scope)
        with scopes.before(self.depth):
            for buffer, initial in self.joiner.initial:
                store_at_first(recorder, buffer, initial)
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
        own = set() if runs else made_since(recorder, self.origin, self.there_before, now.values)  # gone with it
        after: dict[Key, tuple[Place, Any]] = {}
        for key, (place, value) in now.values.items():
            carry = self.carries.get(key)
            if key in self.origin.values and not isinstance(carry, Nothing):
                after[key] = (place, leaving.carried(carry, value))
            elif runs:
                after[key] = (place, leaving.survivor(value))
            elif was_assigned(place, value) and id(place.owner) not in own:
                after[key] = (place, unassigned.lost(self, place.name))
        self.growth.close(after)
        builder.line = self.line
        for buffer, value in [*stores, *leaving.stores]:
            builder.store(place_for(buffer, value), value)
        self.end_body()
        if not self.depth:
            forget_held(recorder.held)
        body = tuple(recorder.scopes.leave(self.scope))
        recorder.generators = {f for s in recorder.scopes.open if s.loop is not None for f in s.loop.generators}
        recorder.scopes.absorb(self.scope)
        recorder.scopes.over.append(self.scope)
        for op in self.before:
            builder.emit(op)
        leaving.begin()
        if self.is_left:
            body = self.exits.steps(body, self.line)  # type: ignore[union-attr]
        elif runs:
            recorder.scopes.closed[self.index] = exact(self.whole_trips) - 1
        self.emit_loop(body)
        recorder.scopes.guard()
        if self.exits is not None:
            self.exits.close()
            recorder.scopes.guard()
        for storage, buffer in leaving.storages:
            storage.value, storage.buffer, storage.is_concrete = None, buffer, False
            storage.depth = self.depth
            storage.reads.clear()
        self.copies.close()
        finished = {key: (place, leaving.finished(value, place.name)) for key, (place, value) in after.items()}
        finished |= self.known_after(finished)
        around = [scope.loop.unset for scope in recorder.scopes.open if scope.loop is not None]
        for key in (self.unset & finished.keys()).difference(*around):  # of those it may come later
            place, value = finished[key]
            found = value.assigned() if type(value) is NoneOrValue else None
            finished[key] = place, unassigned.lost(self, place.name) if found is None else found
        if name := unnoticed(finished.values(), now, after_loop=True):
            raise unassigned.refuse_lost(self, name, f"leaves `{name}`, {DIFFERS}, for what comes after it")
        write_state(finished, self.recorder.copied)

    def known_after(self, finished: dict[Key, tuple[Place, Any]]) -> dict[Key, tuple[Place, Any]]:
        """Variables that hold after the loop what the program itself has in them."""
        return {}

    @property
    def certainly_runs(self) -> bool:
        """Whether there is at least one iteration."""
        return self.count is None and self.recorder.scopes.bounds_around(exact(self.whole_trips), self.index)[0] > 0

    @property
    def runs_evenly(self) -> bool:
        """Whether how often it runs is known, or an expression of the loops around."""
        return self.count is None and self.exits is None

    def even_trips(self) -> Extent | None:
        """How many iterations there are, where each hands on to the next; None where that is not known."""
        return exact(self.whole_trips) if self.runs_evenly and self.period == 1 else None

    @property
    def is_left(self) -> bool:
        """Whether it may be left before its last iteration."""
        return self.exits is not None and bool(self.exits.ways)

    def end_body(self) -> None:
        """Record what comes last in the body."""

    def emit_loop(self, body: tuple[Operation, ...]) -> None:
        """Put the loop on the tape."""
        count, trips = self.count, self.whole_trips
        if count is not None:
            count, most = limited(self.recorder, count, self.index, body, self.scope.indices, self.needs_limit)
            trips = trips if most is None else min(trips, most)
        self.recorder.builder.emit(
            Loop(
                index=self.index,
                start=0,
                step=1,
                trips=trips,
                body=body,
                count=count,
                stops=self.is_left,
                line=self.line,
            )
        )

    # Refusing.

    def refuse_hidden(self, state: State) -> None:
        if state.hidden:
            raise self.unrolled(f"holds {state.hidden}")

    def refuse_growth(self, now: State) -> None:
        sizes = [(*found, now.sizes[id][1]) for id, found in self.origin.sizes.items() if id in now.sizes]
        grown = [container for container, before, after in sizes if before != after]
        if grown:
            self.recorder.follow_lists(grown)
            if settles(self.recorder, [self.scope]):
                raise self.recorder.scopes.restart()
            self.recorder.flow.follow_grown(grown)
            raise self.unrolled(GROWS)
        changed = now.changed_contents(self.origin)
        if changed:
            raise self.unrolled(f"changes {changed}")
        self.origin.contents |= {id: met for id, met in now.contents.items() if id not in self.origin.contents}

    def refuse_shared_writes(self, now: State) -> None:
        """An array that is handed on, and written into: its first form may be the program's argument, or have views."""
        carries = {
            key: form.items[0] if isinstance(form, Items) and is_made_of_arrays(form.kind) else array_form(form)
            for key, form in self.carries.items()
        }
        arrays = {key: carry for key, carry in carries.items() if isinstance(carry, NextArray) and not carry.shared}
        if not arrays:
            return
        ours = set(map(id, self.branches.handed_on))
        recorded = walk(tuple(self.recorder.builder.operations))
        written = {r.buffer for op in recorded if not op.blocks and id(op) not in ours for r in op.writes}
        for key, carry in arrays.items():
            if carry.buffer_id in written:
                storage, later = storage_of(self.origin.values[key][1]), storage_of(now.values[key][1])
                users = [v for _, v in self.origin.values.values() if storage_of(v) is storage is not None]
                users += [v for k, (_, v) in now.values.items() if k != key and storage_of(v) is later is not None]
                if len(users) > 1 or (storage is not None and storage.is_seen_elsewhere):
                    raise self.peeled("writes into an array that is another one in the first iteration")

    def unrolled(self, reason: str) -> BaseException:
        scopes = self.recorder.scopes
        if scopes.decisions.unset.get(self.site):
            scopes.decisions.unset[self.site] = None
            return scopes.restart()
        if self.scope not in scopes.open:
            scopes.open.append(self.scope)
        return scopes.unroll([self.scope], reason, self.line)

    def left_early(self) -> BaseException:
        """The body has left the loop, on no test of its own: perhaps what one side of a branch returned was tested."""
        site = self.branches.half_known()
        if site is None and self.passes == 1 and self.exits is not None:
            return self.recorder.scopes.unroll_in(self.scope, self.frame, "is left at once", self.line)
        if site is None:
            return self.unrolled("is left early")
        self.recorder.scopes.decisions.other_first.add(site)
        return self.recorder.scopes.restart()

    def peeled(self, reason: str) -> BaseException:
        """The first iteration differs: it is recorded by itself, where that has not been tried."""
        scopes = self.recorder.scopes
        if scopes.decisions.first.get(self.site, 0) < 2 and type(self.trips) is int and self.count is None:
            return scopes.peel(self.scope, first=1)
        return self.unrolled(reason)
