"""`while` on plain integers, recorded once: a loop whose number of iterations its own test tells.

The first pass over the body runs with the numbers that variables have before the loop, and finds the integers that
grow evenly. From then on these are expressions of the loop's index, and a comparison of one in the test, or in an
`if` that breaks, comes out as in the first iteration, for as many iterations as the expression says. The loop has so
many; what is left to do after it, the last test or the part of an iteration before a `break`, the program does itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.statements import GENERATOR, WhileLines
from ...regions.affine import Affine, Extent, affine, exact, ragged, substitute
from ...tape.tape import Value
from ..lengths.ragged import RaggedArray
from ..record.decisions import Unrolled
from ..values.loop_index import LoopIndex, outcomes, plain_or_traced
from .carries import NextNumber, period_of_exchange
from .counts import Count
from .held import is_number, number_type
from .known_clocks import Clock, DecidedByData, RecordedBody
from .loops import LoopTrace

UNEVEN = (
    "is a `while` that does not end by comparing integers which grow by the same amount in each iteration "
    "(where they can be counted beforehand, write `for i in range(...)`)"
)
NEGATED = {
    operator.lt: operator.ge,
    operator.le: operator.gt,
    operator.gt: operator.le,
    operator.ge: operator.lt,
    operator.eq: operator.ne,
    operator.ne: operator.eq,
}
AT_LEAST_ONE: dict[Callable[..., bool], Callable[[Extent], Extent]] = {  # where a comparison with zero is true, only
    operator.lt: lambda difference: -difference,
    operator.le: lambda difference: 1 - difference,
    operator.gt: lambda difference: difference,
    operator.ge: lambda difference: difference + 1,
}


@dataclass(kw_only=True)
class CountedWhile(LoopTrace):
    """The recording of one `while` loop on integers; `trips` is 1 until a pass has found how many there are."""

    lines: WhileLines
    testing: bool = False  # whether the test is running now
    limit: Extent | None = None  # the iterations that the comparisons of this pass allow
    least: Extent | None = None  # those that any pass allowed
    breaks: bool = False  # whether a comparison outside of the test ends it
    tests: list[Value] = field(default_factory=list)  # of floats, as this pass has recorded them
    last_numbers: dict[Any, Any] = field(default_factory=dict)  # what these are after it, by place
    by_tests: bool = False  # whether there were such in a pass
    is_recounted: bool = False  # whether this pass has found another number of iterations by them

    @property
    def whole_trips(self) -> int:
        return self.trips

    # One pass.

    def begin(self) -> None:
        self.limit = None
        self.tests.clear()
        super().begin()
        self.testing = not self.lines.endless

    def advance(self) -> bool:
        if self.tests:
            self.recorder.watch.aside(self.count_by_tests)
        self.reached()
        goes_on = super().advance()
        self.testing = goes_on and not self.lines.endless
        return goes_on

    def reached(self) -> None:
        """Take over what the comparisons so far allow."""
        if self.limit is not None:
            last = self.recorder.scopes.decisions.last.get(self.site, 0)
            self.least = self.limit - last if self.least is None else self.lesser(self.least, self.limit - last)
            if self.recorder.scopes.bounds_around(self.least, self.index)[0] < 0 and (last or self.breaks):
                raise self.unrolled("may end before it begins")

    def body_begins(self) -> None:
        """The test has come out true."""
        self.testing = False
        known = self.least is not None
        self.reached()
        if not known and self.lines.leaves:  # its body may allow fewer, which this pass finds out
            return
        if self.least is not None and exact(self.trips) != self.least:
            self.trips = ragged(self.recorder.scopes.capacity(self.least), self.least)
            self.scope.range = (0, self.least - 1)

    # A test of floats that are known.

    def tested(self, test: Value, decides: bool) -> bool:
        """Python asks for the truth of a traced value; where it `decides`, the loop goes on only while it is true."""
        try:
            if decides and self.passes > 1 and self.recorded({}).outcome_at_first(test):
                self.tests.append(test)
                self.by_tests = True
                return True
        except DecidedByData:
            pass
        raise self.unrolled(UNEVEN)

    def recorded(self, now: dict[Any, Any]) -> RecordedBody:
        """The body so far; `now`: what this pass leaves, where it is over."""
        clocks, recorder = {}, self.recorder
        for key, carry in self.carries.items():
            first = self.origin.values[key][1]
            if type(carry) is NextNumber and carry.buffer is not None and type(first) in (int, float):
                is_left = key in now and is_number(now[key][1])
                left = recorder.value_of(plain_or_traced(now[key][1]), carry.dtype) if is_left else None
                clocks[carry.buffer.id] = Clock(np.asarray(first, carry.dtype).item(), left, key)
        return RecordedBody(recorder.builder.operations, self.index, recorder.scopes.blocks.numbers, clocks)

    def count_by_tests(self) -> None:
        """What the tests of this pass allow."""
        now = self.capture().values
        body = self.recorded(now)
        try:
            found = body.iterations(self.tests)
        except DecidedByData:
            raise self.unrolled(UNEVEN) from None
        self.limit = found if self.limit is None else self.lesser(self.limit, found)
        self.reached()
        if self.period > 1 or not isinstance(self.least, int):  # the program could not go on where the loop ends
            raise self.unrolled(UNEVEN)
        self.is_recounted = self.count_again() or self.is_recounted
        after = body.numbers_after(self.least, self.tests).items()
        keys = {id: body.clocks[id].key for id, _ in after if number_type(now[body.clocks[id].key][1])[1]}
        self.last_numbers = {keys[id]: number for id, number in after if id in keys}

    def known_after(self, finished: dict[Any, Any]) -> dict[Any, Any]:
        """Floats that the tests have counted by are the program's own again."""
        return {k: (place, self.last_numbers[k]) for k, (place, _) in finished.items() if k in self.last_numbers}

    def count_again(self) -> bool:
        if self.least is None or exact(self.trips) == self.least:
            return False
        self.trips = ragged(self.recorder.scopes.capacity(self.least), self.least)
        return True

    def retyped(self) -> bool:
        """Whether the pass was recorded for another number of iterations than it turned out to have."""
        if self.is_recounted:
            self.is_recounted = False
            return True
        return self.count_again() or super().retyped()

    def rotated(self, failed: dict[Any, Any]) -> bool:
        lengths = any(self.has_another_shape(*f[1:]) for f in failed.values())
        if self.passes == 1 and (lengths or period_of_exchange(failed) > 1):  # how often it runs has to be known first
            counters = {key: f for key, f in failed.items() if type(f[1]) in (int, float, LoopIndex)}
            self.join(counters)
            kinds = Count | NextNumber
            self.carries = {key: carry for key, carry in self.carries.items() if isinstance(carry, kinds)}
            return bool(self.carries)
        if not super().rotated(failed):
            return False
        self.carries.clear()
        self.trips, self.least = 1, None
        return True

    def has_another_shape(self, old: Any, new: Any) -> bool:
        """Whether two are arrays of another length each."""
        are_arrays = all(self.recorder.is_array(v) or type(v) is RaggedArray for v in (old, new))
        return are_arrays and old.ndim == new.ndim and old.shape != new.shape

    def close(self, *now: Any) -> None:
        if self.limit is None:
            raise self.unrolled(UNEVEN)
        super().close(*now)

    # A comparison.

    def compared(self, difference: Affine, relation: Callable[..., bool], decides: bool) -> bool | None:
        """What a comparison of `difference` with zero gives in all iterations; None where that is not for us to say.

        Where it `decides`, the loop goes on only while it is true.
        """
        scopes = self.recorder.scopes
        step = dict(difference.terms).get(self.index, 0)
        rest = substitute(difference, self.index, 0)
        found = outcomes(relation, *scopes.bounds(rest))
        if len(found) > 1 and not decides:
            return None
        outcome = True if len(found) > 1 else found.pop()
        if not step:
            if self.passes > 1:
                return None
            if found and relation in AT_LEAST_ONE:  # the body sees where it is true only
                self.scope.range = (0, AT_LEAST_ONE[relation](difference) - 1)
            return outcome
        trips = self.iterations(rest, step, relation if outcome else NEGATED[relation])
        if trips is not None:
            self.breaks |= not self.testing
            self.limit = trips if self.limit is None else self.lesser(self.limit, trips)
        return outcome

    def iterations(self, rest: Extent, step: int, relation: Callable[..., bool]) -> Extent | None:
        """For how many k from 0 on `relation(rest + k * step, 0)` holds; None where it does for all."""
        if relation in (operator.gt, operator.ge):
            return self.iterations(-rest, -step, operator.lt if relation is operator.gt else operator.le)
        if relation is operator.le:
            return self.iterations(rest - 1, step, operator.lt)
        if relation is operator.eq:
            return 1
        if relation is operator.ne:
            first, step = (-rest, step) if step > 0 else (rest, -step)  # (zero at first / step, where that is whole)
            low = self.recorder.scopes.bounds(first)[0]
            if isinstance(first, int):
                return first // step if first >= 0 and first % step == 0 else None
            if low < 0 or first.constant % step:
                raise self.unrolled("may pass the number that would end it")
        elif step < 0:
            return None
        else:
            first = -rest
        if isinstance(first, int):
            return -(-first // step)
        if any(c % step for _, c in first.terms):
            raise self.unrolled("runs a number of times that is no affine expression of the indices around")
        return affine(-(-first.constant // step), {index: c // step for index, c in first.terms})

    def lesser(self, a: Extent, b: Extent) -> Extent:
        """The smaller one, in all iterations of the loops around."""
        low, high = self.recorder.scopes.bounds(a - b)
        if high <= 0:
            return a
        if low >= 0:
            return b
        raise self.unrolled("ends by one test in some iterations of the loops around, by another in others")

    # Leaving.

    def left(self) -> None:
        """The statement is over, and we were not asked: before the first iteration, or inside of one."""
        recorder = self.recorder
        nothing = not recorder.builder.operations and not self.before
        if self.passes == 1 and self.turn == 0 and self.testing and nothing:
            self.discard()
            return
        if self.passes == 1:
            raise self.peeled("is left early")
        raise self.unrolled("is left early")

    def unrolled(self, reason: str) -> BaseException:
        decisions, code = self.recorder.scopes.decisions, self.frame.f_code
        decisions.counted.discard(self.site)
        is_followed = (code.co_filename, self.lines.first) in decisions.followed or code.co_flags & GENERATOR
        if reason == UNEVEN and self.branches.nodes and not is_followed:  # perhaps data decide when it ends
            decisions.follow(code.co_filename, [self.lines.first])
            return self.recorder.scopes.restart()
        if reason == UNEVEN:
            given = [self.origin.values[key] for key, carry in self.carries.items() if type(carry) is NextNumber]
            decisions.clocks[self.site] = frozenset(place.name for place, value in given if type(value) is float)
        decisions.uncounted[self.site] = Unrolled(line=self.line, reason=reason)
        return self.recorder.scopes.restart()
