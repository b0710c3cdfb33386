"""Branches on traced values inside symbolic loops: both sides recorded, in different passes over the body.

A pass takes one side. Where it ends, Python's own trace function gives us control before the next statement runs:
what the side has changed is left in memory, and every changed variable is made to hold what that memory holds, so that
the rest of the body is recorded the same whichever side was taken. Passes go on until each side is known.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...python.exit_syntax import name_of
from ...python.frames import user_frames
from ...python.statements import GENERATOR, IDENTITY, Extent, asks_identity, while_statements
from ...tape.tape import Branch, Operation, Value
from ..record.aliases import NONE, Copy
from ..record.blocks import Block, Made
from ..record.decisions import Site
from ..record.lost_variables import DIFFERS
from ..record.recorder import Recorder
from ..record.scopes import MOST_TESTS, Scope
from . import splits, suspended_sides
from .carries import NextArray
from .choices import ABSENT, array_form, arrays_in, choose, is_private, records_instead, taken_up
from .form import HandedOn, place_for
from .forms import Nothing
from .generators import open_generators
from .held import memory_of, same
from .leaving_tests import follow_test
from .lists_in_turn import take_turns
from .place_names import place_names
from .places import Key, Place, is_read_first, may_be_asked_for, place_in, write_state
from .prefixes import Prefixes
from .sides import Active, Node, Side, ways_of
from .state import State, capture
from .stored_forms import Array
from .unassigned import begun_before, begun_without, own_default
from .unnoticed_reads import unnoticed
from .written_lists import lay_down

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop

MOST_NODES = 256  # branches of one body: more are tests in tests, of which there are twice as many with each


@dataclass
class Branches:
    """The branches of one loop's body."""

    loop: RecordedLoop
    nodes: dict[tuple[tuple[int, bool], ...], Node] = field(default_factory=dict)
    in_short_loops: set[int] = field(default_factory=set)  # of the nodes, by identity
    taken_by: dict[types.FrameType, str] = field(default_factory=dict)  # see `suspended_sides`
    active: list[Active] = field(default_factory=list)
    ordinal: int = 0
    generation: int = 0
    handed_on: list[Operation] = field(default_factory=list)  # the stores of sides for the next iteration
    raised: types.FrameType | None = None  # in which there was an error just now
    met: set[Site] = field(default_factory=set)  # tests of `while` statements' bodies in this pass
    ways: dict[Any, int] = field(default_factory=dict)  # to objects that the body makes, with their names
    unknown: bool = False  # whether this pass met a branch of which one side is still to be recorded
    prefixes: Prefixes = field(default_factory=Prefixes)

    def begin(self) -> None:
        """A pass begins."""
        self.ordinal, self.unknown = 0, False
        self.active.clear()
        self.met.clear()
        self.taken_by.clear()
        self.prefixes.forget_blocks()

    def forget(self) -> None:
        """The body begins from another state than before: no side is as it was."""
        self.generation += 1

    def restate(self) -> None:
        """The body has to be recorded once more, from the beginning."""
        self.generation += 1
        self.unknown = True

    @property
    def path(self) -> tuple[tuple[int, bool], ...]:
        """The sides that are running."""
        return tuple((a.number, a.outcome) for a in self.active)

    @property
    def recorder(self) -> Recorder:
        return self.loop.recorder

    # A test.

    def test(self, predicate: Value, extent: Extent | None = None) -> bool:
        """Which way this pass goes; `extent` is what the test decides about, where that is known."""
        recorder = self.recorder
        frame = next(user_frames(sys._getframe(1)))
        extent = splits.decided_at(recorder, frame) if extent is None else extent
        if extent is None:
            raise self.refused("tests a traced value, and its source is not at hand")
        if extent.leaves:
            extent = self.reached(frame, extent)
        if len(self.nodes) > MOST_NODES:
            recorder.scopes.keep({*recorder.written_out})  # what these made is in memory then, and runs as a loop
            raise self.refused("tests traced values one within the other, in too many ways")
        lay_down(recorder)
        prefix = self.prefix()
        frames = list(self.frames_from(frame))
        calls = tuple(map(splits.test_site, frames))
        before, ways = self.of_one_instruction(frame, calls[0]), ways_of(self.active)
        fails = splits.failing_side(recorder, frames, calls, predicate, before, ways)
        if fails is not None:
            return not fails
        number, node = self.node()
        node.site, node.calls = splits.test_site(frame), calls
        self.keep_short_loops(frame, node)
        outcome = self.next_side(number, node, prefix) ^ self.is_met_again(frame, node)
        entry = self.captured(frames)
        names = place_names(entry, self.loop.origin, self.ways)
        builder = recorder.builder
        active = Active(
            node=node,
            outcome=outcome,
            predicate=predicate,
            frame=frame,
            site=splits.test_site(frame),
            line=builder.line,
            calls=calls,
            extent=extent,
            scope=Scope(outer=builder.operations, apart=Block(Made(node.parts[outcome].apart))),
            entry=names.named(entry),
            names=names,
            frames=frames,
            prefix=prefix,
            next_value=builder.next_value,
            number=number,
            made=len(builder.made),
            copies=dict(recorder.copies.known),
        )
        recorder.scopes.enter(active.scope, node.first_value[outcome], node.parts[outcome])
        self.active.append(active)
        recorder.watch.on(frame)
        return outcome

    def keep_short_loops(self, frame: types.FrameType, node: Node) -> None:
        """Short loops that test data often are loops too; an `if` in a generator expression is in the one before."""
        self.recorder.scopes.test_at_ends(id(node))
        sites = {short.site for short in self.recorder.unrolling.values()} | {*self.recorder.flow.short_runs.values()}
        if sites:
            self.in_short_loops.add(id(node))
        of_items = frame in self.recorder.consumers and any(code is frame.f_code for code, _ in sites)
        if of_items or len(self.in_short_loops) > MOST_TESTS:
            self.recorder.scopes.keep(sites)

    def reached(self, frame: types.FrameType, extent: Extent) -> Extent:
        """What a test decides about that may leave a loop."""
        follow_test(self.recorder, frame, extent)
        exits = frame.f_locals.get(name_of(extent.loop))
        if exits is not None and exits.is_recorded:
            return extent
        if extent.otherwise is None or (extent.leaves == "return" and frame is self.loop.frame):
            raise self.refused(f"tests a traced value to {extent.leaves}")
        return self.reached(frame, extent.otherwise) if extent.otherwise.leaves else extent.otherwise

    def node(self) -> tuple[int, Node]:
        """The branch that is met next in the present block: its number there, and what is known of it."""
        if self.active:
            ordinal = self.active[-1].ordinal
            self.active[-1].ordinal += 1
        else:
            ordinal = self.ordinal
            self.ordinal += 1
        path = (*self.path, (ordinal, True))
        node = self.nodes.get(path)
        if node is None:
            scopes = self.recorder.scopes
            node = self.nodes[path] = Node({True: next(scopes.sides), False: next(scopes.sides)})
        return ordinal, node

    def next_side(self, number: int, node: Node, prefix: tuple[object, ...]) -> bool:
        """The side that is still to be recorded; of two that are known, one that has not been recorded once more."""
        known = [node.is_known(outcome, prefix, self.generation) for outcome in (True, False)]
        if any(known) and not all(known):
            return not known[0]
        if not any(known):  # the one longest ago: what a side changes is then found in the first passes, not one by one
            other_first = not node.sides and node.site in self.recorder.scopes.decisions.other_first
            return node.recorded(True) <= node.recorded(False) and not other_first
        return bool(self.unverified((*self.path, (number, True)))) or not self.unverified((*self.path, (number, False)))

    def half_known(self) -> Site | None:
        """The last test of which only one side has been recorded, and not the other one first."""
        tried = self.recorder.scopes.decisions.other_first
        found = [node.site for node in self.nodes.values() if len(node.sides) == 1 and node.site not in tried]
        return found[-1] if found else None

    def is_met_again(self, frame: types.FrameType, node: Node) -> bool:
        """Whether one side has let a `while` statement go on, which is no loop yet: perhaps the other one ends it."""
        site = splits.test_site(frame)
        is_new = not node.sides and any(
            lines.is_around(frame.f_lineno or 0) for lines in while_statements(frame.f_code)
        )
        is_again = is_new and site in self.met
        if is_again:
            self.met.discard(site)
        elif is_new:
            self.met.add(site)
        return is_again

    def unverified(self, path: tuple[tuple[int, bool], ...] = ()) -> bool:
        """Whether there is a side, in the one at the end of `path` or it itself, that no pass has confirmed."""
        for key, node in self.nodes.items():
            if node.calls in self.recorder.verified_tests:
                continue
            for outcome, side in node.sides.items():
                own = (*key[:-1], (key[-1][0], outcome))
                is_inside = own[: len(path)] == path
                if is_inside and side.generation == self.generation and not side.times:
                    return True
        return False

    def prefix(self) -> tuple[object, ...]:
        """What has been recorded on the way here: a side is as it was only after the same."""
        blocks = [*(a.scope.outer for a in self.active), self.recorder.builder.operations]
        return self.recorder.copies.state, *map(self.prefixes.number, blocks)

    def frames_from(self, frame: types.FrameType) -> Iterator[types.FrameType]:
        for found in user_frames(frame):
            yield found
            if found is self.loop.frame:
                return

    def of_one_instruction(self, frame: types.FrameType, site: Site) -> int:
        """How many tests are running that it has made."""
        return sum(a.frame is frame and a.site == site for a in self.active)

    # The end of a side.

    def close(self, ends: bool = False) -> None:
        """The innermost side is over; it `ends` the generator that tested."""
        active = self.active.pop()
        around = list(user_frames(active.frame))
        frames = [f for f in active.frames if f in around]
        while take_turns(self.recorder, active.entry, now := active.names.named(self.captured(frames))):
            pass
        self.refuse_growth(active, now)
        before = active.node.sides.get(active.outcome)
        side = active.node.sides[active.outcome] = Side((), self.changed(active, now, frames), active.prefix)
        side.when, side.ends = self.loop.passes, ends
        if any(other.ends != ends for other in active.node.sides.values()):
            raise self.refused("tests a traced value to return from a generator")
        self.generation += active.node.leaves_behind(active.outcome, now)
        direct = self.direct(active, now)
        met = active.node.places(direct).items()
        places = {key: here for key, place in met if (here := self.place_now(active, frames, key, place)) is not None}
        side.handed_on, side.direct = frozenset(places), frozenset(direct)
        with self.recorder.builder.between_statements():
            self.choose(active, now, places)
            if any(map(asks_identity, frames)) and any(map(is_copy, active.node.chosen.values())):
                raise splits.split(self.recorder, active.site) or self.refused(IDENTITY)
            self.hand_on(active, now, places, direct)
        self.end(active, side, before)
        self.emit(active, side)
        self.take_up(active, now, places, direct)
        self.recorder.watch.off_if_idle()

    def place_now(self, active: Active, frames: list[types.FrameType], key: Key, place: Place) -> Place | None:
        """A place, which another pass may have met, in this one."""
        found = place_in(frames, key, place)
        return None if found is None else active.names.place_now(key, found)

    def changed(self, active: Active, now: State, frames: list[types.FrameType]) -> dict[Key, Place]:
        """The places that hold something else than before the side."""
        found: dict[Key, Place] = {}
        known, left = active.entry.owners(), now.owners()
        for key, (place, _) in {**active.entry.values, **now.values}.items():
            old = active.entry.values.get(key, (place, ABSENT))[1]
            place, new = now.values.get(key, (place, ABSENT))
            if place.kind == "local":
                if place.owner not in frames:
                    continue
            elif id(place.owner) not in (left if new is ABSENT else known):
                continue  # of something that nobody can reach any more, or that is new itself
            elif old is ABSENT and is_read_first(place, new):
                continue
            elif (old is ABSENT or new is ABSENT) and may_be_asked_for(place):
                again = own_default(self.recorder, place) if old is ABSENT else None
                raise again or self.refused(f"sets or deletes `{place.name}` on one side of a branch")
            if new is ABSENT or old is ABSENT or not same(old, new):
                found[key] = place
        return found

    def refuse_growth(self, active: Active, now: State) -> None:
        """Lists, dicts, sets and arrays that are not traced have to be what they were."""
        for owner, (_, size) in active.entry.sizes.items():
            if owner in now.sizes and now.sizes[owner][1] != size:
                self.recorder.watch.off()
                grown = [now.sizes[owner][0]]
                self.recorder.follow_lists(grown)
                self.recorder.flow.follow_grown(grown)
                raise self.refused("lets a list, dict or set grow on one side of a branch")
        if active.entry.unseen:
            raise self.refused(f"holds {active.entry.unseen}, beside a branch")
        changed = now.changed_contents(active.entry)
        if changed:
            raise self.refused(f"changes {changed}, on one side of a branch")

    def choose(self, active: Active, now: State, places: dict[Key, Place]) -> None:
        """Find the forms in which the places come out of the branch."""
        recorder, node, apart, known = self.recorder, active.node, self.loop.apart, active.entry.owners()
        for key, place in places.items():
            value = now.values.get(key, (place, ABSENT))[1]
            old = active.entry.values.get(key, (place, ABSENT))[1]
            form = node.chosen.get(key)
            if not isinstance(form, Nothing):
                node.chosen[key] = choose(recorder, apart, place, form, value, old, now, known)
            node.names[key, active.outcome] = recorder.copies.names_in(value)
            if node.chosen[key] is not form:
                self.generation += 1

    def hand_on(self, active: Active, now: State, places: dict[Key, Place], direct: dict[Key, NextArray]) -> None:
        """Record what the side leaves in memory."""
        recorder, node, index = self.recorder, active.node, self.loop.index
        builder = recorder.builder
        for key in places:
            form, value = node.chosen[key], now.values.get(key, (None, ABSENT))[1]
            for buffer, left in form.leave(recorder, value, index):
                builder.store(place_for(buffer, left), left)
            if key not in node.shared and isinstance(array_form(form), Array) and not is_private(value, now):
                node.shared.add(key)
                self.generation += 1
        stores = [store for key in direct for store in direct[key].leave(recorder, now.values[key][1], index)]
        for buffer, left in stores:  # after all have been read
            builder.store(place_for(buffer, left), left)
            self.handed_on.append(builder.operations[-1])

    def end(self, active: Active, side: Side, before: Side | None) -> None:
        """The block of the side is over."""
        recorder, builder = self.recorder, self.recorder.builder
        side.operations, side.made = tuple(recorder.scopes.leave(active.scope)), tuple(builder.made[active.made :])
        side.left, side.generation = recorder.copies.since(active.copies), self.generation
        side.complete, side.reads, side.writes = active.complete, active.scope.reads, active.scope.writes
        if before is not None and before.generation == self.generation and before.complete and active.complete:
            side.times = before.times + 1
        recorder.scopes.absorb(*active.node.sides.values())
        builder.next_value = active.next_value
        for op in active.scope.before:
            builder.emit(op)

    def emit(self, active: Active, side: Side) -> None:
        """Put the branch on the tape, with what the last pass that took the other side recorded of it."""
        recorder, builder, node = self.recorder, self.recorder.builder, active.node
        other = node.sides.get(not active.outcome, Side((), {}, ()))
        is_known = node.is_known(not active.outcome, active.prefix, self.generation)
        if is_known:
            recorder.copies.join(other.left)
        if not active.complete or not is_known:
            self.incomplete()
        builder.made += other.made  # its operations are put here too
        # What was recorded after something else has other values by the same names: this pass does without.
        pair = (side.operations, other.operations if is_known else ())
        then, otherwise = pair if active.outcome else pair[::-1]
        builder.emit(Branch(predicate=active.predicate, then=then, otherwise=otherwise, line=active.line))

    def take_up(self, active: Active, now: State, places: dict[Key, Place], direct: dict[Key, NextArray]) -> None:
        """Let the variables hold what either side has left."""
        recorder, node, found = self.recorder, active.node, {}
        recorder.builder.line = active.line  # whichever side was taken
        for key, place in places.items():
            copy, shared = self.copy(active, key, place), key in node.shared
            found[key] = place, taken_up(recorder, node.chosen[key], self.loop.index, place.name, copy, shared)
        for key, carry in direct.items():
            found[key] = now.values[key][0], carry.in_place(recorder)
        name = unnoticed(found.values(), now)
        if name:
            again = records_instead(recorder, node.chosen.values())
            again = again or begun_without(self.loop, name) or splits.split(recorder, active.site)
            raise again or self.refused(f"reads `{name}`, {DIFFERS}")
        write_state(found, self.recorder.copied)

    def copy(self, active: Active, key: Key, place: Place) -> Copy:
        """For what the copies stand that hold what either side has left."""
        names = NONE.union(*(active.node.names.get((key, outcome), NONE) for outcome in (True, False)))
        refuse = splits.or_split(self.recorder, active.site, self.loop.copies.refused)
        if place.kind != "local" or place.owner is not self.loop.frame:
            return Copy(names, NONE, refuse)
        around = begun_before(self.loop)
        return Copy(names, NONE, lambda why, first: begun_without(self.loop, place.key, around) or refuse(why, first))

    def direct(self, active: Active, now: State) -> dict[Key, NextArray]:
        """The arrays that a side which ends with the body leaves where the loop hands them on.

        Not those of which something else would see that they are overwritten already.
        """
        loop, indirect = self.loop, active.node.indirect
        if not active.extent.leaves or active.frame is not loop.frame:
            return {}
        known = len(indirect)
        found = {key: carry for key, carry in loop.carries.items() if type(carry) is NextArray}
        for key in found.keys() - indirect:
            value: Any = now.values.get(key, (None, None))[1]
            if not found[key].fits(value):
                indirect.add(key)
        for key, (_, value) in now.values.items():
            seen = [memory_of(array) for array in arrays_in(value)]
            if (key in found and key not in indirect) or not seen:
                continue
            indirect |= {k for k, carry in found.items() if any(memory is carry.storage for memory in seen)}
        if len(indirect) > known:
            self.generation += 1
        return {key: carry for key, carry in found.items() if key not in indirect}

    def captured(self, frames: list[types.FrameType]) -> State:
        """The state that code in any of these frames can reach.

        Functions that the loop's body calls run in frames of their own in each pass. Their variables are known by how
        many calls the function is away from the body.
        """
        total, seen, recorder = State(frame=self.loop.frame), dict[int, Any](), self.recorder
        for calls, frame in enumerate(reversed(frames)):
            if frame in self.loop.generators:
                continue
            beside = [] if calls else open_generators(self.loop.generators)
            consumer, followed = recorder.consumers.get(frame), recorder.generators
            state = capture(frame, consumer, recorder.held, seen, calls, beside, followed)
            total.values |= state.values
            total.join(state)
        return total

    @property
    def is_incomplete(self) -> bool:
        """Whether it is known by now that the body has to be recorded once more."""
        return self.unknown or not all(active.complete for active in self.active)

    def incomplete(self) -> None:
        """The body has to be recorded once more."""
        if self.active:
            self.active[-1].complete = False
        else:
            self.unknown = True

    def finish(self) -> None:
        """The pass ends: so do all sides."""
        while self.active:
            self.close()

    def refused(self, reason: str) -> BaseException:
        self.recorder.watch.off()
        return self.recorder.scopes.unroll([self.loop.scope], reason, self.recorder.builder.line)

    # Control between statements.

    def event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        """A statement of `frame` begins, or it returns."""
        if event == "line":
            over = [a for a in self.active if a.frame is frame and a.is_over(frame)]
            if over:
                splits.follow_error(self.loop, frame, [(a.site, a.extent) for a in over], self.raised is frame)
            self.raised = None
            while self.active and self.active[-1].frame is frame and self.active[-1].is_over(frame):
                self.close()
        elif event == "exception":
            self.raised = frame
            for active in [a for a in self.active[-1:] if a.frame is frame and frame in a.frames]:
                calls = active.calls[: active.frames.index(frame) + 1]
                is_met_once = sum(node.calls == active.calls for node in self.nodes.values()) == 1
                of_none = active.of_none is True and is_met_once
                before, ways = self.of_one_instruction(frame, active.site) - 1, ways_of(self.active[:-1])
                splits.follow_failure(self.recorder, frame, calls, active.outcome, argument, of_none, before, ways)
        elif event == "return" and not frame.f_code.co_flags & GENERATOR:  # (a generator yields, and goes on)
            sides = [active for active in reversed(self.active) if active.frame is frame]
            if frame is not self.loop.frame:
                splits.follow_raise(self.recorder, frame, [(a.site, a.extent) for a in sides])
            for active in sides:
                self.follow_return(active)
        elif event == "return":
            suspended_sides.left(self.loop, frame)

    def follow_return(self, active: Active) -> None:
        """The function that tested has returned: its side goes on to the end of the caller's statement."""
        if active.frame is self.loop.frame:
            raise self.refused("tests a traced value to return")
        frames = list(user_frames(active.frame))
        constants, called = splits.returns_of_none(active.frame.f_code)
        is_none = active.frame.f_lasti in (constants if active.of_none is None else called)
        active.of_none = is_none and active.of_none is not False
        active.frame, active.called_at = frames[1], frames[1].f_lasti
        active.site, extent = splits.test_site(active.frame), splits.decided_at(self.recorder, active.frame)
        if extent is None:
            raise self.refused("tests a traced value, and its source is not at hand")
        active.extent = self.reached(active.frame, extent) if extent.leaves else extent
        self.recorder.watch.on(active.frame)


def is_copy(form: HandedOn) -> bool:
    """Whether what comes out is another object: arrays are copied in this form, a tuple is made anew."""
    classes = getattr(getattr(array_form(form), "kind", None), "__mro__", ())
    return tuple in classes or any(isinstance(leaf, Array) for leaf in form.leaves())
