"""How the items of a sequence are fetched: one by one, or for a loop that is recorded once."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ... import control
from ...python.for_statements import for_statements
from ...python.frames import as_written
from ...python.index_uses import says_places_only
from ...python.instructions import instructions_of
from ...python.shadows import is_user_frame
from ...python.source import Line, current_line
from ...python.statements import GENERATOR
from ...regions.affine import Affine, exact, ragged
from ...tape.tape import Operation
from ..lengths.elements import Length, RunTime
from ..record.decisions import NO_STATEMENT, Site, Unrolled
from ..record.scopes import MOST_TESTS, ShortLoop
from ..values.loop_index import index_of
from .generators import Running, Taker, exits_of, takers_of
from .held import is_made_of_attributes
from .loops import LoopTrace
from .places import write_none

if TYPE_CHECKING:
    from ..record.recorder import Recorder

NEST_ELEMENTS, NEST_OPERATIONS = 64, 128  # of short loops in one another that are much code
MOST_WRITTEN_OUT, AT_ONCE = 8000, 12  # operations that a short loop may come to: in all its runs; in one, by `unroll`
ALSO_WRITTEN_OUT = 2000  # of those that become loops with it
TOGETHER = 6  # times as many iterations of short loops in one another are recorded one by one as of one loop
LEVEL = 1 << 20  # between the sites of the loops that one statement runs
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
OURS = "planned_ad."  # the modules between a program and its iterators


class Holder(Protocol):
    """What a loop runs over that may get longer or shorter in it."""

    is_table: bool  # of plain numbers or texts
    has_letters: bool  # of texts

    def is_resized(self) -> bool: ...

    def refuse(self) -> BaseException:
        """What to raise then."""


@dataclass
class Sequence:
    """`length` items, of which `item(k)` is one."""

    recorder: Recorder
    length: Length
    item: Callable[[Any], Any]
    holders: tuple[Holder, ...] = ()  # the lists, and other plain numbers, that items are made of
    is_plain: bool = False  # whether they are made of nothing else
    made_by: type | None = field(default=None, init=False)  # the class that a program made it by

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        frame = sys._getframe(1)
        return as_written(self.made_by, frame) if self.made_by and is_user_frame(frame) else type(self)

    def __iter__(self) -> Iterator[Any]:
        return LoopIterator(self)

    def over(self) -> Sequence:
        """What is left for an iterator at its end, which may outlive what it has run over: its length."""
        found = Sequence(self.recorder, self.length, self.item_of_none, is_plain=self.is_plain)
        found.made_by = self.made_by
        return found

    @staticmethod
    def item_of_none(k: Any) -> Any:
        raise AssertionError("an iterator at its end has no more items")


@dataclass
class Once(Sequence):
    """A sequence that is an iterator itself, as `enumerate` and `zip` are.

    Who makes another iterator of it takes it. Where it is asked for more nonetheless, the two share their items, and
    the trace starts again with an iterator that each of them steps.
    """

    iterator: LoopIterator | None = None
    is_taken: bool = False
    line: Line = field(default_factory=current_line)  # on which it is made

    is_iterator = True

    def taken(self) -> Once:
        self.refuse_taken()
        self.is_taken = True
        return self

    def refuse_taken(self) -> None:
        if self.is_taken:
            scopes = self.recorder.scopes
            scopes.decisions.shared.add(self.line)
            raise scopes.restart()

    @property
    def is_open(self) -> bool:
        return self.iterator is None or self.iterator.is_open

    @property
    def progress(self) -> object:
        return None if self.iterator is None else self.iterator.progress

    def __iter__(self) -> Iterator[Any]:
        if self.iterator is None:
            self.refuse_taken()
            self.iterator = LoopIterator(self)
        return iter(self.iterator)

    def __next__(self) -> Any:
        return next(iter(self))

    def __length_hint__(self) -> int:
        """Of Python's, only `reversed` gives one."""
        if self.made_by is not reversed:
            return NotImplemented
        return operator.length_hint(LoopIterator(self) if self.iterator is None else self.iterator)


def once(
    recorder: Recorder,
    length: Length,
    item: Callable[[Any], Any],
    holders: tuple[Holder, ...] = (),
    is_plain: bool = False,
) -> Once | LoopIterator:
    """The items one after the other, for loops and for the iterators that are made of it."""
    made = Once(recorder, length, item, holders, is_plain)
    return LoopIterator(made) if made.line in recorder.scopes.decisions.shared else made


class LoopIterator:
    """The iterator of a sequence, which a `for` statement asks for the next item.

    Whoever else asks, `zip` or a function of the user's, is given the items one by one. `level` tells apart the loops
    that one statement runs over several axes.
    """

    is_iterator = True

    def __init__(self, sequence: Sequence, level: int = 0, exits: Any = None):
        self.sequence, self.level = sequence, level
        self.exits = exits  # the ways in which the loop is left, where those are followed
        self.recorder = sequence.recorder
        self.statement = asking_statement()
        self.position = 0
        self.begin = self.end = -1  # the iterations recorded together; none while negative
        self.at_first = self.at_last = 0  # iterations recorded one by one of a loop whose length differs
        self.decided = False
        self.takers: tuple[Taker, ...] | None = ()  # of the items of the generators that it is asked by
        self.loop: LoopTrace | None = None
        self.left: LoopTrace | None = None  # a loop over it that data may have left: nobody knows where it is now
        self.operations: list[Operation] | None = None  # where texts are read: what is recorded one by one
        self.most = self.guards = 0  # of these, and of guards, before the trace starts again with numbers for the texts
        self.begun = 0  # how many operations there were when it began, of a short loop
        self.nest: tuple[list[Operation], int] | None = None  # of short loops in one another: where it begins
        self.is_open = (
            True  # neither at its end nor in a loop of its own: it may be asked, and nobody can put that back
        )

    @property
    def progress(self) -> object:
        """How far it is, between the loops over it."""
        return self.position, self.is_open

    def __iter__(self) -> LoopIterator:
        self.statement = asking_statement()
        return self

    def __next__(self) -> Any:
        frame = sys._getframe(1)
        return self.fetch(frame, is_asked_by(self, frame))

    def fetch(self, frame: types.FrameType, is_asked: bool) -> Any:
        """The next item for the code that runs in `frame`; `is_asked`: by a statement there that runs over this."""
        for holder in self.sequence.holders:
            if holder.is_resized():
                raise holder.refuse()
        self.refuse_left()
        self.recorder.scopes.at_ends.pop(id(self), None)
        if self.loop is not None:
            is_same = self.loop.runs_in is frame and self.loop.site == self.site(frame)
            if not (is_asked and is_same) or self.is_moved(frame):
                raise self.loop.unrolled("takes items of what it runs over in its body")
            if self.loop.advance():
                return self.symbolic_item()
            self.left = self.loop if self.loop.is_left else None
            self.position = (
                self.begin + self.loop.whole_trips * self.loop.period if self.end >= 0 else -1 - self.at_last
            )
            self.loop, self.is_open = None, True
        if not self.decided:
            self.decide(frame, is_asked)
        if self.position == self.begin and self.begin != self.end:
            self.loop = self.begin_loop(frame)
            return self.symbolic_item()
        if self.position < -1:  # the last ones of a loop whose length differs
            self.position += 1
            self.recorder.scopes.at_ends[id(self)] = self.site(frame)
            assert isinstance(self.sequence.length, int)
            return self.sequence.item(index_of(self.recorder, exact(self.sequence.length) + self.position))
        if self.position < 0 or self.position >= self.sequence.length:  # type: ignore[operator]
            short = self.recorder.unrolling.pop(id(self), None)
            self.keep_long(short)
            if short is not None and self.recorder.unrolling:
                self.keep_many_objects(short, frame)
            self.is_open = False
            self.sequence = self.sequence.over()
            raise StopIteration
        if self.operations is not None and (
            len(self.operations) > self.most or self.recorder.scopes.guards > self.guards + MOST_TESTS
        ):
            raise self.recorder.scopes.give_letters()
        if self.nest is not None and self.position:
            self.keep_nest(*self.nest)
        self.position += 1
        if self.begin >= 0:
            self.recorder.scopes.at_ends[id(self)] = self.site(frame)
        return self.sequence.item(self.position - 1)

    def keep_nest(self, operations: list[Operation], begun: int) -> None:
        """Short loops in one another are loops where the first iteration has operations on arrays: it is much code."""
        self.nest = None
        first, recorder = operations[begun:], self.recorder
        sizes = [v.size for op in first for v in op.outputs]
        iterations = math.prod(short.length for short in recorder.unrolling.values())
        if max(sizes, default=0) >= NEST_ELEMENTS and iterations * len(first) > NEST_OPERATIONS:
            recorder.scopes.keep({short.site for short in recorder.unrolling.values()})

    def keep_long(self, short: ShortLoop | None) -> None:
        """A short loop is recorded as a loop where all that it is run is much code."""
        if short is None:
            return
        counts, new = self.recorder.written_out, len(self.recorder.builder.operations) - self.begun
        counts[short.site] += new
        if counts[short.site] > MOST_WRITTEN_OUT:
            self.recorder.scopes.keep({short.site, *(k for k, count in counts.items() if count > ALSO_WRITTEN_OUT)})
        if new > AT_ONCE * self.recorder.unroll and short.says_places_only:
            self.recorder.scopes.try_as_loop(short.site)

    def keep_many_objects(self, short: ShortLoop, frame: types.FrameType) -> None:
        """Short loops in one another are loops where they make more objects than a loop is written out for."""
        nest, recorder = [short, *self.recorder.unrolling.values()], self.recorder
        if math.prod(each.length for each in nest) > recorder.unroll:
            made = [v for v in frame.f_locals.values() if type(v) is list and len(v) > recorder.unroll]
            if any(id(v) in recorder.displays and is_made_of_attributes(type(v[-1])) for v in made):
                recorder.scopes.keep({each.site for each in nest})

    def refuse_left(self) -> None:
        if self.left is not None:
            raise self.left.unrolled("is left on a traced test, and what it runs over is asked for more")

    def __length_hint__(self) -> int:
        self.refuse_left()
        if self.loop is not None:
            raise self.loop.unrolled("asks in its body how many items are left of what it runs over")
        if type(self.sequence.length) is not int or self.position < 0:
            return NotImplemented
        return max(self.sequence.length - self.position, 0)

    def begin_loop(self, frame: types.FrameType) -> LoopTrace:
        """Begin to record the iterations that are recorded together."""
        self.recorder.mark()
        scopes = self.recorder.scopes
        if self.recorder.unrolling:  # short loops around: unrolled, they would repeat this one
            scopes.decisions.kept.update(short.site for short in self.recorder.unrolling.values())
            if says_places_only(frame.f_code, frame.f_lineno):
                scopes.decisions.kept.add(self.site(frame))  # by itself it may be short enough to be unrolled
            raise scopes.restart()
        length = self.sequence.length
        trips, count = (length.most, length.count) if isinstance(length, RunTime) else (length, None)
        if self.end >= 0:
            trips = self.end - self.begin
        elif self.at_first + self.at_last:
            rest = exact(trips) - self.at_first - self.at_last
            trips = ragged(self.recorder.scopes.capacity(rest), rest)
        self.is_open = False
        if any(holder.is_table for holder in self.sequence.holders):
            self.recorder.tabled[self.site(frame)] = self.recorder.builder.line
        *inside, taker = (frame, *(taker for taker, _ in self.takers or ()))
        known = {each: generator for each, _, generator in self.recorder.taken_directly}
        generators = {each: Running(targets(each), known[each]) for each in inside}
        recorder, site, exits = self.recorder, self.site(frame), self.exits
        return LoopTrace(recorder, taker, site, trips, count, targets(taker), exits=exits, generators=generators)

    def is_moved(self, frame: types.FrameType) -> bool:
        """Whether somebody else takes the items of a generator than did before."""
        return bool(self.takers) and takers_of(frame, self.recorder, is_statement) != self.takers

    def site(self, frame: types.FrameType) -> Site:
        return frame.f_code, frame.f_lasti + self.level * LEVEL

    def symbolic_item(self) -> Any:
        assert self.loop is not None
        return self.sequence.item(index_of(self.recorder, self.loop.iteration + self.begin))

    def decide(self, frame: types.FrameType, is_asked: bool) -> None:
        """Which of the iterations to come are recorded together."""
        recorder, length = self.recorder, self.sequence.length
        site = self.site(frame)
        decisions = recorder.scopes.decisions
        is_followed = is_asked and (frame in recorder.consumers or is_user_frame(frame)) and is_statement(frame)
        self.takers = takers_of(frame, recorder, is_statement) if is_followed else ()
        is_followed = is_followed and self.takers is not None
        if self.takers and is_followed and self.exits is None:
            self.exits = exits_of(frame, self.takers)
        self.decided = is_followed or self.position > 0
        together = is_followed and not recorder.scopes.is_unrolled(site, frame)
        if isinstance(length, RunTime):
            if together:
                self.begin, self.end = 0, -1
                return
            if recorder.scopes.depth:  # perhaps it is the loops around that decide how long it is
                raise recorder.scopes.unroll_innermost("runs a loop of another length each time", recorder.builder.line)
            length = self.sequence.length = int(recorder.outcome(length.count, "count"))
        if isinstance(exact(length), Affine):
            if not together:
                raise recorder.scopes.unroll_innermost("runs a loop of another length each time", recorder.builder.line)
            self.at_first, self.at_last = decisions.first.get(site, 0), decisions.last.get(site, 0)
            apart = self.at_first + self.at_last
            if apart and recorder.scopes.bounds(exact(length))[0] < apart:
                raise recorder.scopes.unroll_innermost("runs a loop of another length each time", recorder.builder.line)
            self.begin, self.end = self.at_first, -1
            return
        has_texts = any(holder.has_letters for holder in self.sequence.holders)
        if decisions.letters is None and is_followed and (has_texts or site in decisions.texts):
            self.operations, self.guards = recorder.builder.operations, recorder.scopes.guards
            self.most = len(self.operations) + TOGETHER * recorder.unroll
            together = False
            if length > recorder.unroll and not self.sequence.is_plain:
                recorder.mark()
                decisions.texts.add(site)
                reason = "runs over texts, and is short in what it records"
                decisions.unrolled.setdefault(site, Unrolled(line=recorder.builder.line, reason=reason))
        is_text = has_texts and self.sequence.is_plain
        first, last = self.position + decisions.first.get(site, 0), decisions.last.get(site, 0)
        lengths = [length, *(short.length for short in recorder.unrolling.values())]
        is_nest = len(lengths) > 1 and math.prod(lengths) > TOGETHER * recorder.unroll
        is_kept = site in decisions.kept or is_nest or control.is_listing(frame.f_code)
        shortest = 1 if is_kept else recorder.unroll
        if self.exits is not None or frame.f_code is decisions.whole:
            shortest = 0
        if together and length - first - last > shortest:
            self.begin, self.end = first, length - last
            if first and not self.position:
                write_none(frame, decisions.unset.get(site) or ())
        elif together and length - first - last > 1:
            is_of_places = says_places_only(frame.f_code, frame.f_lineno)
            recorder.unrolling[id(self)] = ShortLoop(site, length, is_of_places)
            self.begun = len(recorder.builder.operations)
            is_one = all(short.says_places_only for short in recorder.unrolling.values())
            if is_one and math.prod(lengths) > recorder.unroll:
                self.nest = recorder.builder.operations, len(recorder.builder.operations)
        elif length > recorder.unroll and is_user_frame(frame) and not is_followed and self.position and not is_text:
            recorder.mark()
            decisions.unrolled.setdefault(site, Unrolled(line=recorder.builder.line, reason=NO_STATEMENT))

    def __del__(self) -> None:
        scopes = self.recorder.scopes
        self.recorder.unrolling.pop(id(self), None)
        scopes.at_ends.pop(id(self), None)
        if self.loop is not None and self.loop.scope in scopes.open and not scopes.restarting:  # by break or return
            self.loop.left_early()
            scopes.pending = True


def asking_statement() -> tuple[types.FrameType, int] | None:
    """The `for` statement, by its frame and the instruction that fetches items, that asks for an iterator now.

    None where something else does: a function, which may be C code that has no frame, or a comprehension, which runs
    in a frame of its own.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_frame(frame):
        if not str(frame.f_globals.get("__name__", "")).startswith(OURS):
            return None
        frame = frame.f_back
    if frame is None:
        return None
    fetching = fetching_instructions(frame.f_code).get(frame.f_lasti)
    return None if fetching is None else (frame, fetching)


def is_asked_by(iterator: LoopIterator | NestedIterator, frame: types.FrameType) -> bool:
    """Whether the statement or comprehension that `frame` is at runs over this iterator, and not over one around it."""
    if iterator.statement == (frame, frame.f_lasti):
        return True
    return frame.f_code.co_name in COMPREHENSIONS and frame.f_locals.get(".0") is iterator


@functools.lru_cache(maxsize=256)
def fetching_instructions(code: types.CodeType) -> dict[int, int]:
    """From each instruction that asks for the iterator of a `for` statement to the one that fetches the items."""
    instructions = [i for i in instructions_of(code) if i.opname != "EXTENDED_ARG"]
    pairs = itertools.pairwise(instructions)
    return {a.offset: b.offset for a, b in pairs if (a.opname, b.opname) == ("GET_ITER", "FOR_ITER")}


def is_statement(frame: types.FrameType) -> bool:
    """Whether the next item is fetched by a `for` statement, or a generator expression, of which the rest runs here.

    (In another comprehension what is computed goes to a list that nobody sees.)
    """
    code = frame.f_code
    if code.co_name in COMPREHENSIONS and not code.co_flags & GENERATOR:
        return False
    return (code, frame.f_lasti) in for_statements(code)


def targets(frame: types.FrameType) -> tuple[str, ...]:
    """The variables that the `for` statement assigns."""
    return for_statements(frame.f_code).get((frame.f_code, frame.f_lasti), ())


class NestedIterator:
    """The iterator over all combinations of items, the last sequence running fastest: a nest of loops."""

    is_iterator = True

    @property
    def is_open(self) -> bool:
        return not self.iterators or any(iterator.is_open for iterator in self.iterators)

    @property
    def progress(self) -> object:
        return self.ended, tuple(iterator.progress for iterator in self.iterators)

    def __init__(self, sequences: tuple[Sequence, ...], join: Callable[..., Any]):
        self.sequences, self.join = sequences, join
        self.iterators: list[LoopIterator] = []
        self.items: list[Any] = []
        self.statement: tuple[types.FrameType, int] | None = None
        self.ended = False

    def __iter__(self) -> NestedIterator:
        self.statement = asking_statement()
        return self

    def __next__(self) -> Any:
        frame = sys._getframe(1)
        is_asked = is_asked_by(self, frame)
        if self.ended:
            raise StopIteration
        while True:
            level = len(self.items)
            if level == len(self.sequences):
                self.items.pop()
                level -= 1
            if level == len(self.iterators):
                self.iterators.append(LoopIterator(self.sequences[level], level))
            try:
                self.items.append(self.iterators[level].fetch(frame, is_asked))
            except StopIteration:
                self.iterators.pop()
                if not self.items:
                    self.ended = True
                    raise
                self.items.pop()
                continue
            if len(self.items) == len(self.sequences):
                return self.join(*self.items)
