"""Where recording stands: the symbolic loops and branches around it, and what earlier runs of the trace have decided.

A trace may find that it began wrongly: a loop whose body needs the number behind its index, say. It then starts again
(`Restart`), with that decision made from the beginning. Tracing is deterministic, so decisions hold for the next run.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ...python.comprehensions import asks_whether_in, reads_an_item
from ...python.frames import user_frames
from ...python.source import Line
from ...regions.affine import Affine, Extent, Ranges, extremes
from ...regions.bounds import Iterations
from ...regions.regions import contiguous
from ...tape.tape import Buffer, Operation, Value
from .blocks import Block, Blocks, Made
from .builder import RecordingBuilder
from .decisions import MOST_ATTEMPTS, Attempt, Decisions, Restart, Site, Unrolled
from .ids import SIDES


class ShortLoop(NamedTuple):
    """A loop that is recorded iteration by iteration, since it has few."""

    site: Site
    length: int
    says_places_only: bool  # whether what it counts with are places of arrays, and no numbers


@dataclass(frozen=True, slots=True)
class Required:
    """What a line in a loop requires, told apart so that the guard after the loop names the line."""

    what: str
    detail: str
    line: Line


GROWS = "lets a list, dict or set grow or shrink"
MOST_TESTS = 3  # of data in short loops, each of which doubles the ways through them


@dataclass
class Scope:
    """A block of operations being recorded: the body of a loop, or a side of a branch.

    `before` receives what belongs in front of the loop or branch: the contents of memory that it is the first to
    write to, initial values.
    """

    outer: list[Operation]
    apart: Block  # what is made in front of it
    before: list[Operation] = field(default_factory=list)
    index: int | None = None  # of a loop
    range: tuple[Extent, Extent] = (0, 0)
    site: Site | None = None
    loop: Any = None  # the recording of a loop of the program's
    elements: bool = False  # whether it is a loop over the elements of an array, which the program does not see
    indices: list[tuple[Value, int]] = field(default_factory=list)  # (v, n): each iteration requires -n <= v < n
    reads: set[Any] = field(default_factory=set)  # the names of memories that the program has read in it
    writes: dict[Any, None] = field(default_factory=dict)  # what it has written to, in order
    promotes: bool = False  # an array made outside turned out to be written to: what was read of it is another value

    @property
    def has_last(self) -> bool:
        """Whether the last iterations can be recorded by themselves: not where data may leave the loop before them."""
        return self.loop is None or self.loop.exits is None


@dataclass
class Scopes:
    """The blocks around what is being recorded, outermost first."""

    builder: RecordingBuilder
    decisions: Decisions
    open: list[Scope] = field(default_factory=list)
    loops: int = 0  # loop indices given out
    sides: Iterator[int] = field(default_factory=lambda: iter(SIDES))  # the first value ids of sides of branches
    epoch: int = 0  # what was read from memory in another epoch is read again
    epochs: int = 0  # that have begun
    closed: dict[int, Extent] = field(default_factory=dict)  # the last value of the index of a loop that is over
    over: list[Scope] = field(default_factory=list)  # loops that are over
    flags: dict[Required, Buffer] = field(default_factory=dict)  # whether what the loops require holds so far
    restarting: bool = False  # a `Restart` is on its way
    dropped: set[int] = field(default_factory=set)  # values of what was differentiated that are there no more
    pending: bool = False  # a loop was left early: the trace starts again as soon as it can
    guards: int = 0  # of what data decide
    required: int = 0  # how often something was required to go on
    tests: int = 0  # of data in short loops, that became guards
    tested: set[Site] = field(default_factory=set)  # these loops
    at_ends: dict[int, Site] = field(default_factory=dict)  # loops that are at an iteration recorded by itself
    tested_at_ends: set[int] = field(default_factory=set)  # branches in these

    @property
    def depth(self) -> int:
        return len(self.open)

    @property
    def innermost(self) -> Scope | None:
        """The pass over a loop's body, or the side of a branch, that is being recorded."""
        return self.open[-1] if self.open else None

    @property
    def blocks(self) -> Blocks:
        """The passes of the builder; from the first block on it keeps account of what is seen where."""
        if self.builder.blocks is None:
            self.builder.blocks = Blocks(self.builder, self.dead)
        return self.builder.blocks

    def require(self, condition: Value, what: str = "index", detail: str = "") -> None:
        """The replay leaves, after the outermost loop, unless `condition` holds in all iterations."""
        builder = self.builder
        required = Required(what, detail, builder.line)
        flag = self.flags.get(required)
        if flag is None:
            with self.before(0):
                flag = self.flags[required] = builder.new_buffer("local", what, condition.dtype, contiguous(()))
                builder.store(flag.whole, builder.constant(True))
        both = builder.apply("logical_and", builder.load(flag.whole), condition)
        builder.store(flag.whole, both)

    def require_after(self, condition: Value, what: str, detail: str = "") -> None:
        """The replay leaves unless `condition` holds, here and in all iterations of the loops around."""
        self.required += 1
        if self.open:
            self.require(condition, what, detail)
        else:
            self.builder.guard(condition, True, what, detail)

    def guard(self) -> None:
        """Outside of all loops: record the guards for what they require."""
        if not self.open:
            for required, flag in self.flags.items():
                holds = self.builder.load(flag.whole)
                self.builder.guard(holds, True, required.what, required.detail, required.line)
            self.flags.clear()

    def sees(self, value: Value | int) -> bool:
        """Whether a value is that of a block around."""
        blocks = self.builder.blocks
        is_inner = blocks is not None and isinstance(value, Value) and value.id >= blocks.first
        return not is_inner or self.blocks.defined.get(value.id) is value  # type: ignore[union-attr]

    def dead(self, value: Value) -> BaseException:
        """What to raise where something from inside a block is used outside of it, or what a derivative has dropped."""
        if value.id in self.dropped:
            self.decisions.keeps = True
            return self.restart()
        sites = [scope for scope in [*self.open, *self.over] if scope.site is not None]
        return self.unroll(sites, "leaves something behind in a way that cannot be followed", self.builder.line)

    def enter(self, scope: Scope, first_value: int, made: Made) -> None:
        self.blocks.begin(first_value, made)
        self.open.append(scope)
        self.builder.depth = len(self.open)
        self.builder.operations = []
        self.begin_epoch()

    def leave(self, scope: Scope) -> list[Operation]:
        """Close the innermost block; its operations."""
        assert self.open.pop() is scope
        self.builder.depth = len(self.open)
        operations, self.builder.operations = self.builder.operations, scope.outer
        self.blocks.end()
        self.begin_epoch()
        return operations

    def begin_epoch(self) -> None:
        self.epochs += 1
        self.epoch = self.epochs

    def absorb(self, *parts: Any) -> None:
        """What was read and written in blocks that are over has been so in the block around."""
        if self.open:
            for part in parts:
                self.open[-1].reads |= part.reads
                self.open[-1].writes |= part.writes

    @property
    def root(self) -> list[Operation]:
        """The operations outside of all blocks."""
        return self.open[0].outer if self.open else self.builder.operations

    @contextmanager
    def before(self, depth: int) -> Iterator[None]:
        """Record in front of the outermost block that is deeper than `depth`."""
        if depth >= self.depth:
            yield
            return
        epoch = self.epoch
        self.begin_epoch()
        saved = self.blocks.begin_apart(self.open[depth].apart)
        self.builder.operations = self.open[depth].before
        inside, self.builder.depth = self.builder.depth, depth
        try:
            yield
        finally:
            self.builder.depth = inside
            self.blocks.end_apart(saved)
            self.epoch = epoch  # what was read before is what it was: nothing in front writes to what is there already

    @contextmanager
    def beside(self, apart: Block) -> Iterator[None]:
        """Make buffers that belong to a block, but to no pass over it."""
        self.blocks.stack.append(apart)
        try:
            yield
        finally:
            self.blocks.stack.pop()

    def promote(self, depth: int) -> None:
        """Note that an array made at `depth` is memory from now on."""
        for scope in self.open[depth:]:
            scope.promotes = True

    def is_side(self, depth: int) -> bool:
        """Whether the block at this depth is a side of a branch."""
        return depth < self.depth and self.open[depth].loop is None and not self.open[depth].elements

    def birth(self) -> object:
        """A name for what is made now, the same in each pass over the loop around."""
        block = self.blocks.stack[-1]
        if self.blocks.set_apart:
            return None
        block.births += 1
        return () if self.open[-1].elements else self.loop.branches.path, block.births

    # Loop indices.

    @property
    def indices(self) -> tuple[int, ...]:
        """Those of the loops around."""
        return tuple([scope.index for scope in self.open if scope.index is not None])

    def new_loop(self) -> tuple[int, Made]:
        """The index of a loop, and what it makes, the same in each pass over the block around."""
        self.loops += 1
        return self.blocks.loop(self.loops - 1)

    @property
    def loop(self) -> Any:
        """The recording of the innermost loop of the program's."""
        return next((scope.loop for scope in reversed(self.open) if scope.loop is not None), None)

    @property
    def ranges(self) -> Ranges:
        return {scope.index: scope.range for scope in self.open if scope.index is not None}

    def bounds(self, expression: Extent) -> tuple[int, int]:
        """The least and the greatest value of an expression over the iterations of the loops around that run."""
        return self.bounds_over(expression, self.ranges)

    def bounds_around(self, expression: Extent, index: int) -> tuple[int, int]:
        """As `bounds`, over the loops around the one with this index: whether it runs at all is not known."""
        ranges = itertools.takewhile(lambda item: item[0] != index, self.ranges.items())
        return self.bounds_over(expression, dict(ranges))

    def bounds_over(self, expression: Extent, ranges: Ranges) -> tuple[int, int]:
        if isinstance(expression, int):
            return expression, expression
        if all(isinstance(end, int) for ends in ranges.values() for end in ends):
            return extremes(expression, ranges)
        return _bounds(expression, tuple(ranges.items()))

    def capacity(self, expression: Extent) -> int:
        """The most that an extent is, anywhere in the loops that move it.

        Loops inside of those do not count: what has this extent may be moved out of them, to where they need not run.
        """
        ranges = self.ranges
        terms = dict(expression.terms) if isinstance(expression, Affine) else {}
        while ranges and next(reversed(ranges)) not in terms:
            ranges.popitem()
        return max(self.bounds_over(expression, ranges)[1], 0)

    def is_on_a_side(self, expression: Affine) -> bool:
        """Whether a test in the loops that move this stands before what is recorded, or has chosen between numbers."""
        moving = {index for index, _ in expression.terms}
        for scope in reversed(self.open):
            if scope.index in moving:
                moving |= {index for end in scope.range if isinstance(end, Affine) for index, _ in end.terms}
        within = itertools.dropwhile(lambda scope: scope.index not in moving, self.open)
        return any(scope.index is None or (scope.loop and scope.loop.branches.is_incomplete) for scope in within)

    def loops_in(self, expression: Extent) -> Sequence[Scope]:
        """The loops around whose index `expression` has."""
        terms = dict(expression.terms) if not isinstance(expression, int) else {}
        return [scope for scope in self.open if scope.index in terms]

    # Starting again.

    def unroll(self, scopes: Sequence[Scope], reason: str, line: Line) -> Restart:
        """The trace starts again with the innermost of these loops unrolled; or without what was attempted."""
        self.restarting = True
        if self.decisions.attempt is not None:
            return self.give_up(self.decisions.attempt, for_good=reason != GROWS)
        failed = {scope.site for scope in self.open if scope.site in self.decisions.tried}
        if failed and self.decisions.trial is not None:
            self.decisions.attempts |= dict.fromkeys(failed, MOST_ATTEMPTS)
            return self.give_up(self.decisions.trial, for_good=True)
        for scope in reversed(scopes or self.over):
            if scope.site is not None:
                self.decisions.unrolled[scope.site] = Unrolled(line=line, reason=reason)
                break
        return Restart()

    def unroll_in(self, scope: Scope, frame: types.FrameType, reason: str, line: Line) -> Restart:
        """The trace starts again with this loop unrolled in this place alone; or without what was attempted."""
        if self.decisions.attempt is not None:
            return self.give_up(self.decisions.attempt, for_good=True)
        assert scope.site is not None
        around = self.open[: self.open.index(scope)]
        self.decisions.unrolled_in[scope.site, self.place_of(frame, around)] = Unrolled(line=line, reason=reason)
        return self.restart()

    def place_of(self, frame: types.FrameType, around: Sequence[Scope]) -> object:
        """Where a loop is met: the calls that are running, and the loops around that are recorded."""
        calls = [(found.f_code, found.f_lasti) for found in user_frames(frame)]
        return *calls[1:], *(scope.site for scope in around if scope.site is not None)

    def is_unrolled(self, site: Site, frame: types.FrameType) -> bool:
        decisions = self.decisions
        if site in decisions.unrolled or not decisions.unrolled_in:
            return site in decisions.unrolled
        return (site, self.place_of(frame, self.open)) in decisions.unrolled_in

    def give_up(self, attempt: Attempt, for_good: bool) -> Restart:
        """The trace starts again with what was decided before an attempt."""
        attempts = self.decisions.attempts
        attempts[attempt.site] = MOST_ATTEMPTS if for_good else attempts.get(attempt.site, 0) + 1
        for part in fields(attempt.before):
            if part.name != "attempts":
                setattr(self.decisions, part.name, getattr(attempt.before, part.name))
        return self.restart()

    def gives_up(self) -> bool:
        """Whether there was an attempt, or a guess, which has ended in an error: what was decided before it holds."""
        if self.decisions.guess_integers():
            return True
        attempt = self.decisions.attempt or self.decisions.trial
        if attempt is not None:
            self.give_up(attempt, for_good=True)
        return attempt is not None

    def bound_loops(self, error: BaseException) -> BaseException:
        """The trace starts again, with a limit to the iterations of loops of run-time length; or `error`, if it has."""
        if self.decisions.bounded:
            return error
        self.decisions.bounded = True
        return self.restart()

    def test_in_short_loops(self, sites: set[Site]) -> None:
        """A guard is made in short loops: where that is often, each way through them would be a trace of its own."""
        self.guards += 1
        self.tests += bool(sites)
        self.tested |= sites
        if self.tests > MOST_TESTS:
            self.keep(self.tested)

    def try_as_loop(self, site: Site) -> None:
        """The trace starts again with a short loop recorded as a loop, for as long as none in it has to be unrolled."""
        decisions = self.decisions
        if site not in decisions.kept and site not in decisions.attempts:
            decisions.trial = decisions.trial or Attempt(decisions.copied(), site)
            decisions.tried.add(site)
            self.keep({site})

    def may_try(self, site: Site) -> bool:
        """Whether something is done there in another way than Python's, for as long as the trace ends in no error."""
        decisions = self.decisions
        if site in decisions.plain or site in decisions.attempts:
            return False
        decisions.trial = decisions.trial or Attempt(decisions.copied(), site)
        return True

    def keep(self, short: set[Site]) -> None:
        """The trace starts again, where these short loops are not recorded as loops yet."""
        if not short <= self.decisions.kept:
            self.decisions.kept |= short
            self.decisions.first.clear()  # what loops around them did at their ends was for iterations one by one
            self.decisions.last.clear()
            raise self.restart()

    def test_at_ends(self, branch: int) -> None:
        """The trace starts again, without iterations at the ends of loops by themselves, if these test data often.

        Each way through one of them goes through all that comes after; what they say by an index is computed instead.
        """
        if self.at_ends:
            self.tested_at_ends.add(branch)
        sites = set(self.at_ends.values())
        if len(self.tested_at_ends) > 1 and not sites <= self.decisions.computed:
            self.decisions.computed |= sites
            for site in sites:
                self.decisions.first.pop(site, None)
                self.decisions.last.pop(site, None)
            raise self.restart()

    def give_letters(self) -> Restart:
        """The trace starts again, with texts that loops read as numbers."""
        self.decisions.letters = True
        for site in self.decisions.texts:
            self.decisions.unrolled.pop(site, None)
        return self.restart()

    def see_what_reads(self, frame: types.FrameType | None, outside: bool = False) -> None:
        """From now on all functions are written so that the tracer sees what is read by an index: it may be a table.

        In loops, or also `outside` of them.
        """
        if (self.depth or outside) and not self.decisions.items and frame is not None and reads_an_item(frame):
            self.decisions.items = True
            raise self.restart()

    def see_what_asks(self, frame: types.FrameType) -> None:
        """So where members of a list are compared with a key, `key in items`."""
        if not self.decisions.items and asks_whether_in(frame):
            self.see_what_reads(frame)

    def restart(self) -> Restart:
        """The trace starts again."""
        self.restarting = True
        return Restart()

    def unroll_innermost(self, reason: str, line: Line) -> Restart:
        return self.unroll([s for s in self.open if s.site is not None], reason, line)

    def peel(self, scope: Scope, *, first: int = 0, last: int = 0) -> Restart:
        """The trace starts again with more iterations at an end of this loop recorded one by one.

        With all of them, where data say how many there are.
        """
        assert scope.site is not None
        assert not last or scope.has_last
        if scope.loop is not None and scope.loop.count is not None:
            reason = "is another one at an end, and has as many iterations as data say"
            return self.unroll([scope], reason, self.builder.line)
        self.restarting = True
        decisions = self.decisions
        decisions.first[scope.site] = decisions.first.get(scope.site, 0) + first
        decisions.last[scope.site] = decisions.last.get(scope.site, 0) + last
        return Restart()


@functools.lru_cache(maxsize=4096)
def _bounds(expression: Affine, ranges: tuple[tuple[int, tuple[Extent, Extent]], ...]) -> tuple[int, int]:
    iterations = Iterations()
    for index, (first, last) in ranges:
        iterations = iterations.inside(index, first, last, last - first + 1)
    return iterations.bounds(expression) or (0, 0)
