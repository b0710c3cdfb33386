"""What the runs of one trace have found out, and decided for the runs after them.

Tracing is deterministic, so decisions hold for the next run.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ...errors import TraceError
from ...python.source import Line
from ...tape.tape import Guard, Tape
from ...tape.verify import outside_of_memory

Site = tuple[types.CodeType, int]  # a loop: its code and the instruction that fetches the next item
Calls = tuple[Site, ...]  # calls that are running, the innermost first: each at an instruction of its code
Ways = tuple[tuple[Calls, bool], ...]  # the tests on whose sides something is, and on which sides
MOST_ATTEMPTS = 3


class Restart(BaseException):
    """The trace has to start again; what it learned is in its `Decisions`. Never seen by the user."""


KNOWN_KEYS = "has keys of dicts, or items of sets, that are known in each iteration"
EMPTY_LISTS = "makes lists that are empty, of which data may say later which one is filled"
NO_STATEMENT = "is in a comprehension or generator, or its items are not fetched by a `for` statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolled:
    """A loop whose iterations were recorded one by one, and why."""

    line: Line
    reason: str


@dataclass(frozen=True)
class Attempt:
    """What was decided before one, for the lists of a site."""

    before: Decisions
    site: Site


# Of the decisions, those on how loops and tests are recorded: what a wrong guess about a value would have led to.
WAYS = ("unrolled", "first", "last", "kept", "uncounted", "long", "split", "raising", "failing", "unset", "other_first")


@dataclass(frozen=True)
class Failure:
    """That a side of a test ends in an error.

    `at_first`: in the first pass over a loop, in which a list that gets longer has the elements of the first iteration.
    """

    outcome: bool
    error: type[BaseException]
    at_first: bool


class TooManyPasses(TraceError):
    """More passes over a function than are allowed for all ways through it at once."""


@dataclass
class Decisions:
    """What the runs of one trace have found out about its loops."""

    unrolled: dict[Site, Unrolled] = field(default_factory=dict)
    given: frozenset[Site] = frozenset()  # of these, the ones that another trace has found
    unrolled_in: dict[tuple[Site, object], Unrolled] = field(default_factory=dict)  # where they are left at once
    first: dict[Site, int] = field(default_factory=dict)  # iterations at the beginning recorded one by one
    last: dict[Site, int] = field(default_factory=dict)  # and at the end
    kept: set[Site] = field(default_factory=set)  # short loops around loops that are recorded once: they are too
    stored: set[Line] = field(default_factory=set)  # lines whose arrays of run-time lengths are memory from the first
    keeps: bool = False  # all values of what is differentiated, since some are used apart from its results
    counters: dict[Site, set[str]] = field(default_factory=dict)  # integers that end a `while` loop
    counted: set[Site] = field(default_factory=set)  # `while` loops on integers that are recorded once
    uncounted: dict[Site, Unrolled] = field(default_factory=dict)  # and those that cannot be, with the reason
    long: dict[Site, Unrolled] = field(default_factory=dict)  # of these, the ones that have many iterations
    clocks: dict[Site, frozenset[str]] = field(default_factory=dict)  # floats that change in these: `t += dt`
    ticking: set[Site] = field(default_factory=set)  # the ones whose clocks are data
    tried: set[Site] = field(default_factory=set)  # loops recorded as loops, which need not be
    trial: Attempt | None = None  # what was decided before these two
    resized: set[Line] = field(default_factory=set)  # where loops run over what gets longer or shorter in them
    shared: set[Line] = field(default_factory=set)  # where iterators are made whose items several ask for
    whole: types.CodeType | None = None  # of the loop in which all of the function is, of one iteration
    passes: int = 0  # over the bodies of loops, in all runs
    most_passes: int = 0  # where all of the function is in one, or it is tried what short loops are as loops
    split: set[Site] = field(default_factory=set)  # tests of data whose sides go on to the end of their function
    raising: dict[Site, Any] = field(default_factory=dict)  # how far the sides of tests go on of which one raises
    nones: bool | None = None  # whether what asks for None is seen: None until a variable is that or a number
    letters: bool | None = None  # whether texts that loops read are numbers; None until a loop is long without
    texts: set[Site] = field(default_factory=set)  # loops that are unrolled since a text is read at their index
    items: bool = False  # what is read by an index is seen, since one was asked for its number by what it is read from
    # Which sides of tests end in an error that nobody handles, in their function or what has called it. Of tests that
    # one instruction makes, each has its number: see `splits.follow_failure`.
    failing: dict[tuple[Calls, int, Ways | None], Failure] = field(default_factory=dict)
    truths: bool = False  # Python's truths are known at once, since a function asks whether one `is True`
    chosen: bool = False  # which of its numbers `max` or `min` gives is seen: by `is`, or by the type that it has
    best: dict[Site, Any] = field(default_factory=dict)  # by `max` or `min` of tuples, the types of their numbers
    sums: dict[Site, Any] = field(default_factory=dict)  # by `sum` of arrays in loops, their shape and dtype
    # Variables that have no value before a loop, and None for the trace; None where that has not helped.
    unset: dict[Site, set[str] | None] = field(default_factory=dict)
    own_defaults: set[tuple[str, str, str]] = field(default_factory=set)  # of classes, which objects have themselves
    no_own_defaults: bool = False  # since the program can tell them from those of the class
    other_first: set[Site] = field(default_factory=set)  # tests whose other side is recorded first
    stepped: set[Site] = field(default_factory=set)  # `any` and `all` of items that change something
    growing: set[Site] = field(default_factory=set)  # lists that loops fill, by the instruction that makes them
    replaced: set[Site] = field(default_factory=set)  # lists of arrays in whose place loops put others
    in_place: dict[Site, bool] = field(default_factory=dict)  # and those to whose arrays loops write: whether as rows
    written: dict[Site, Any] = field(default_factory=dict)  # lists that loops write to, with the form of their numbers
    tables: dict[Site, Any] = field(default_factory=dict)  # dicts in memory, with the room for their keys
    widened: dict[Site, int] = field(default_factory=dict)  # of these, how often there was no room for a key
    placed: set[Site] = field(default_factory=set)  # dicts of lists or objects, which are at places in a list
    filled_first: dict[Site, bool] = field(default_factory=dict)  # of these, whether a loop fills them before that
    computed: set[Site] = field(default_factory=set)  # loops whose indices are computed where they count from both ends
    uneven: dict[Site, frozenset[str]] = field(default_factory=dict)  # by loop, integers that do not grow evenly in it
    filled: set[Site] = field(default_factory=set)  # lists of numbers that are replaced by something else, one by one
    lengths: dict[Site, Any] = field(default_factory=dict)  # lists whose length is data, with the rows of their memory
    before_guess: Decisions | None = None  # of what is in one of these
    # Lists and dicts that the program has by reference, by where they are made, with where the first ones are that lie
    # in the same memory.
    by_reference: dict[Site, Site] = field(default_factory=dict)
    no_records: set[Site] = field(default_factory=set)  # of these, the ones that cannot be
    plain: set[Site] = field(default_factory=set)  # lists that need all their elements one by one
    attempt: Attempt | None = None  # to have the length of a list settle in the first iterations of a loop
    attempts: dict[Site, int] = field(default_factory=dict)  # of these, how many have failed, by the list
    bounded: bool = False  # loops of run-time length, since a derivative in the program keeps what they compute
    stretched: set[Line] = field(default_factory=set)  # where run-time lengths may be 1, or masks choose any number
    known: Sequence[Guard] = ()  # that the example begins with, from a run of another trace
    fixed_lengths: bool = False  # slices with bounds from data outside of loops, by their numbers (guards)
    followed: set[tuple[str, int]] = field(default_factory=set)  # loops whose exits are: file and line of the statement
    searches: bool = False  # arrays of data, which are in order for the example, and may not be for other numbers
    asks_errors: bool = False  # filters of warnings around the plan have NumPy's errors raised, which are caught
    records: bool = False  # NumPy's warnings are recorded, since the program looks at what is
    warned: bool = False  # of loops that are unrolled to very much
    # Attributes of objects from outside that the program sets before it reads them, which the trace finds out: by the
    # object's identity and the name, the object, and what to say where it does not.
    set_first: dict[tuple[int, str], tuple[Any, str]] = field(default_factory=dict)
    constants: dict[int, Any] = field(default_factory=dict)  # captured arrays whose numbers it needs, by identity

    @classmethod
    def begun(
        cls,
        known: Sequence[Guard],
        stretched: Iterable[Line],
        unrolled: Mapping[Site, Unrolled],
        whole: types.CodeType | None,
        most_passes: int,
    ) -> Decisions:
        """With what is known beforehand."""
        return cls(
            known=known, stretched=set(stretched), unrolled=dict(unrolled), whole=whole, given=frozenset(unrolled),
            most_passes=most_passes,
        )  # fmt: skip

    def for_others(
        self, known: Sequence[Guard], stretched: Iterable[Line], unrolled: Mapping[Site, Unrolled]
    ) -> Decisions:
        """What another trace of the same function begins with: what this one has found out of its loops and lists."""
        lengths = {site: replace(room, times=min(room.times, 1)) for site, room in self.lengths.items()}
        return replace(
            self.copied(), known=known, stretched=set(stretched), unrolled={**self.unrolled, **unrolled},
            given=frozenset(unrolled), passes=0, lengths=lengths, before_guess=None, attempt=None, attempts={},
            asks_errors=False, set_first={}, constants={}, most_passes=self.most_passes if self.whole else 0,
            fixed_lengths=self.fixed_lengths and self.stretched == set(stretched), tried=set(), trial=None,
        )  # fmt: skip

    def copied(self) -> Decisions:
        """The same decisions, to which others can be added."""
        return replace(self, **{f.name: copy.copy(getattr(self, f.name)) for f in fields(self)})

    def followed_in(self, code: types.CodeType) -> set[int]:
        """The lines of loops, in the file of this code, whose exits are followed."""
        return {line for file, line in self.followed if file == code.co_filename}

    def follow(self, file: str, lines: Iterable[int]) -> None:
        """From now on, follow the exits of these loops: their functions are other code, of which nothing is known."""
        self.followed |= {(file, line) for line in lines}
        for known in (self.unrolled, self.first, self.last, self.uncounted, self.long):
            for site in [site for site in known if getattr(site[0], "co_filename", None) == file]:
                if site not in self.given:
                    del known[site]

    def knows(self, site: Site) -> bool:
        """Whether it is decided how a `while` loop on integers is recorded, and told where needed."""
        return site in self.counted or site in self.unrolled or site in self.long or site in self.ticking

    def learn_numbers(self, filled: set[Site], tabled: dict[Site, Line], gives_letters: bool = False) -> bool:
        """Make lists and dicts as Python makes them, give loops their plain numbers; whether that is something new."""
        if gives_letters and self.letters is not False:
            self.letters = False
            return True
        if not self.by_reference.keys() <= self.no_records:
            self.no_records |= self.by_reference.keys()
            return True
        tabled = {site: line for site, line in tabled.items() if site not in self.unrolled}
        filled = filled | self.growing | self.tables.keys() | self.placed
        if filled <= self.plain and not tabled:
            return False
        self.plain |= filled
        reason = "asks for more of the plain numbers that it runs over than a table of them has"
        self.unrolled |= {site: Unrolled(line=line, reason=reason) for site, line in tabled.items()}
        return True

    def count_pass(self) -> None:
        """All of a function at once takes as many passes as need be, up to what variants of it would cost."""
        self.passes += 1
        if self.most_passes and self.passes > self.most_passes:
            raise TooManyPasses("all ways through the function at once take too many passes over it")

    def place(self, site: Site) -> None:
        """A dict of lists, or a set, has keys of data: loops that are written out for known ones need not be."""
        self.placed.add(site)
        self.unrolled = {site: found for site, found in self.unrolled.items() if found.reason != KNOWN_KEYS}

    def follow_comprehensions(self) -> None:
        """A list is to be another one: the comprehensions that make it, or run over it, may be loops then."""
        reasons = NO_STATEMENT, EMPTY_LISTS
        self.unrolled = {site: found for site, found in self.unrolled.items() if found.reason not in reasons}

    def forget_ways(self) -> None:
        """What lists are has changed: how loops over them are recorded is to be found out again."""
        for known in (self.unrolled, self.first, self.last, self.uncounted, self.long):
            for site in [site for site in known if site not in self.given]:
                del known[site]

    def guess(self, site: Site, **known: Any) -> None:
        """Take what is in a list for something, since it is read before anything is known to be there."""
        if self.before_guess is None:
            self.before_guess = self.copied()
        self.lengths[site] = replace(self.lengths[site], **known, is_guessed=True)

    def know(self, site: Site, **known: Any) -> None:
        """What is in a list; where it was taken for something else, what else was decided since then is forgotten."""
        was_guessed = self.lengths[site].is_guessed
        self.lengths[site] = replace(self.lengths[site], **known)
        if was_guessed and not self.lengths[site].is_guessed and self.before_guess is not None:
            for name in WAYS:
                setattr(self, name, getattr(self.before_guess, name))
            self.before_guess = None

    def guess_integers(self) -> bool:
        """Whether something in a list, read before it was known, was taken for a float; it may be an integer."""
        guessed = {site: room for site, room in self.lengths.items() if room.is_guessed and room.form.dtype.kind == "f"}
        for site, room in guessed.items():
            self.lengths[site] = replace(room, form=replace(room.form, dtype=np.dtype(np.int64)))
        return bool(guessed)

    def unroll_what_reaches_outside(self, tape: Tape, loops: Iterable[tuple[Site, Line]], name: str) -> bool:
        """Whether loops reach memory beside their own, which would be a mistake of ours: they are unrolled then."""
        found = outside_of_memory(tape)
        if found is None:
            return False
        reason = f"would reach memory that is not its own when it is recorded once ({found})"
        reaching = {site: Unrolled(line=line, reason=reason) for site, line in loops}
        if not reaching:
            raise TraceError(f"{name}: the trace reaches memory that is not its own: {found}")
        self.unrolled |= reaching
        return True

    def reported(self, rolled: Iterable[Line] = ()) -> tuple[Unrolled, ...]:
        """The loops whose iterations were recorded one by one although they are many.

        What was decided for a loop in the code of another run, of which the last one has `rolled` it, holds no longer.
        """
        lines = set(rolled)
        return tuple(
            loop
            for loop in (*self.unrolled_in.values(), *{**self.long, **self.unrolled}.values())
            if loop.reason != NO_STATEMENT or loop.line not in lines
        )
