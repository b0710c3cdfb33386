"""Which `while` statements run now, and which are loops on plain integers: nothing of their test meets a tracer.

Such a loop is noticed when its body records something. The frame is then watched, and where the body runs more than
`unroll` times the trace starts again, with that loop recorded as one (`counted_while.py`) from its beginning.

That takes Python's trace function, which branches need as well. Measured, up to the first gradient of a `while` of
1,000 steps: 0.2 s, as the same `for` takes; 4 to 18 s where its iterations are recorded one by one.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...python.frames import user_frame
from ...python.shadows import is_user_frame
from ...python.source import current_line
from ...python.statements import WhileLines, breaks_from, while_part, while_statements
from ...regions.affine import Affine
from ...tape.tape import Value
from ..record.decisions import Attempt, Site, Unrolled
from ..record.recorder import Recorder
from ..record.scopes import MOST_TESTS
from ..values.loop_index import PEEL_MOST
from ..values.scalar_tracer import ScalarTracer
from .counted_while import UNEVEN, CountedWhile
from .places import write_locals
from .stepping import REASON, is_stepping

MANY = 128  # iterations of a loop on floats that are known, which is unrolled up to there


@dataclass
class Visit:
    """One `while` statement that runs in a frame."""

    lines: WhileLines
    site: Site
    rounds: int  # how often its test has been reached
    testing: bool = False  # whether its test is running
    apart: int = 0  # iterations recorded by themselves before the loop
    loop: CountedWhile | None = None
    over: bool = False  # whether the loop has been recorded; what follows runs as it is, and `rounds` counts that
    ending: bool = False  # whether the test that ends it is running
    by_tests: bool = False  # whether that has to be of known numbers, which the loop was counted by
    settled: bool = False  # whether there is nothing more to find out
    tests: int = 0  # of data in its body, each a guard


class WhilesOnIntegers:
    """The `while` statements of one trace."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.sites: dict[types.CodeType, tuple[WhileLines, ...]] = {}  # statements to notice
        self.spots: dict[tuple[types.CodeType, int], tuple[WhileLines, ...]] = {}  # those around an instruction
        self.visits: dict[types.FrameType, list[Visit]] = {}  # outermost first
        self.bottom: types.CodeType | None = None

    @property
    def loops(self) -> Iterator[CountedWhile]:
        """The loops being recorded, innermost first."""
        for scope in reversed(self.recorder.scopes.open):
            if type(scope.loop) is CountedWhile:
                yield scope.loop

    # Noticing them.

    def look_at(self, code: types.CodeType) -> None:
        """Traced code can reach this function."""
        decisions = self.recorder.scopes.decisions
        found = [lines for lines in while_statements(code) if not decisions.knows(site_of(code, lines))]
        if found:
            self.sites[code] = tuple(found)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self.look_at(inner)

    def begin(self, frame: types.FrameType) -> None:
        """Tracing begins in `frame`."""
        self.bottom = frame.f_code
        decisions = self.recorder.scopes.decisions
        codes = {code for code, _ in (*decisions.counted, *decisions.ticking)}
        if codes:
            self.recorder.watch.begin(codes)

    def notice(self, frame: types.FrameType | None) -> None:
        """Something is recorded: begin to follow the statements around it."""
        while frame is not None and frame.f_code is not self.bottom:
            if is_user_frame(frame) and frame.f_code in self.sites and frame not in self.visits:
                self.notice_in(frame)
            frame = frame.f_back

    def notice_in(self, frame: types.FrameType) -> None:
        spot = (frame.f_code, frame.f_lasti)
        if spot not in self.spots:
            line = frame.f_lineno or 0
            self.spots[spot] = tuple(lines for lines in self.sites[frame.f_code] if lines.is_around(line))
        for lines in self.spots[spot]:
            if is_stepping(frame.f_code):
                site, line = site_of(frame.f_code, lines), self.recorder.builder.line
                self.recorder.scopes.decisions.unrolled.setdefault(site, Unrolled(line=line, reason=REASON))
                continue
            visit = Visit(lines, site_of(frame.f_code, lines), rounds=1)
            self.visits.setdefault(frame, []).append(visit)
            self.recorder.watch.on(frame)
            self.count(visit)

    # What happens to them.

    def event(self, frame: types.FrameType, event: str) -> None:
        """A statement of `frame` begins, or it returns."""
        visits = self.visits.get(frame, [])
        if event == "return":
            while visits:
                self.leave(visits.pop())
        elif event == "line":
            line = frame.f_lineno
            while visits and not visits[-1].lines.first <= line <= visits[-1].lines.last:
                self.leave(visits.pop())
            for visit in visits:
                if visit.testing and visit.lines.is_around(line):
                    self.begin_body(frame, visit)
            lines = next((s for s in while_statements(frame.f_code) if s.first <= line <= s.test), None)
            if lines is not None:
                if not visits or visits[-1].lines != lines:
                    visits = self.visits.setdefault(frame, visits)
                    visits.append(Visit(lines, site_of(frame.f_code, lines), rounds=0))
                if lines.refused:
                    visits[-1].rounds += 1
                    self.count(visits[-1])
                elif not visits[-1].testing:
                    self.reach_test(frame, visits[-1])
        if not visits and self.visits.pop(frame, None) is not None:
            self.recorder.watch.off_if_idle()

    def reach_test(self, frame: types.FrameType, visit: Visit) -> None:
        decisions = self.recorder.scopes.decisions
        visit.rounds += 1
        visit.testing, visit.ending = True, False
        if visit.site in decisions.ticking and visit.rounds == 1 and visit.site not in decisions.unrolled:
            self.start_clocks(frame, decisions.clocks[visit.site])
        if visit.loop is not None:
            loop = visit.loop
            if not loop.advance():
                visit.loop, visit.over, visit.rounds, visit.by_tests = None, True, 0, loop.by_tests
                visit.ending = not loop.breaks and not decisions.last.get(visit.site, 0)
            return
        if visit.over or visit.site not in decisions.counted or visit.site in decisions.unrolled:
            return
        if visit.apart < decisions.first.get(visit.site, 0):
            visit.apart += 1
            return
        if self.recorder.unrolling:  # short loops around: unrolled, they would repeat this one
            decisions.kept.update(short.site for short in self.recorder.unrolling.values())
            raise self.recorder.scopes.restart()
        self.recorder.builder.line = current_line()
        visit.loop = CountedWhile(self.recorder, frame, visit.site, 1, None, (), lines=visit.lines)

    def begin_body(self, frame: types.FrameType, visit: Visit) -> None:
        visit.testing = visit.ending = False
        if visit.loop is None:
            self.count(visit)
        elif visit.loop.testing:
            visit.loop.body_begins()

    def leave(self, visit: Visit) -> None:
        if visit.loop is not None:
            loop, visit.loop = visit.loop, None
            loop.left()

    def count(self, visit: Visit) -> None:
        """An iteration of a statement that is not recorded as one loop begins: are they many?"""
        decisions, unroll = self.recorder.scopes.decisions, self.recorder.unroll
        if visit.settled or visit.rounds <= unroll or any(loop.site == visit.site for loop in self.recorder.whiles):
            return
        refused = decisions.uncounted.get(visit.site)
        if visit.over:
            refused = Unrolled(
                line=self.recorder.builder.line, reason="goes on after a test of its integers has changed"
            )
        elif visit.lines.refused:
            refused = Unrolled(line=self.recorder.builder.line, reason=visit.lines.refused)
        elif visit.site in decisions.counted or visit.site in decisions.unrolled:
            return
        elif refused is None:
            decisions.counted.add(visit.site)
            raise self.recorder.scopes.restart()
        if visit.rounds > max(unroll, PEEL_MOST):
            decisions.long[visit.site] = refused
            may_tick = decisions.clocks.get(visit.site) and visit.site not in decisions.attempts
            visit.settled = not may_tick
            if may_tick and visit.rounds > MANY:
                decisions.trial = decisions.trial or Attempt(decisions.copied(), visit.site)
                decisions.ticking.add(visit.site)
                del decisions.long[visit.site], decisions.uncounted[visit.site]
                raise self.recorder.scopes.restart()

    def start_clocks(self, frame: types.FrameType, names: Iterable[str]) -> None:
        """Have floats that change in a loop be numbers that are computed when it runs: its test is of data then."""
        held = {name: frame.f_locals[name] for name in names if type(frame.f_locals.get(name)) is float}
        recorder = self.recorder
        write_locals(frame, {n: ScalarTracer(recorder, recorder.constant(t), is_python=True) for n, t in held.items()})

    def test_in_body(self) -> None:
        """A guard is made: where that is often in a statement, each way through it would be a trace of its own."""
        decisions = self.recorder.scopes.decisions
        for visit in (visits[-1] for visits in self.visits.values() if visits):
            visit.tests += 1
            if visit.tests > MOST_TESTS and not (decisions.knows(visit.site) or visit.site in decisions.uncounted):
                decisions.counted.add(visit.site)
                raise self.recorder.scopes.restart()

    # Comparisons.

    def compared(self, difference: Affine, relation: Callable[..., bool]) -> bool | None:
        """What a comparison of `difference` with zero gives, where it is in a test that may end a loop."""
        for loop in self.loops:
            frame = user_frame(sys._getframe(1))
            assert frame is not None
            if loop.testing:
                return loop.compared(difference, relation, decides=frame is loop.frame and decides(frame, loop.lines))
            if frame is loop.frame and breaks_from(frame, loop.lines):
                return loop.compared(difference, relation, decides=False)
        return None

    def tested(self, frame: types.FrameType, predicate: Value) -> bool | None:
        """Python asks for the truth of a traced value: what it is in the test of a loop; None elsewhere.

        One after a loop on integers is traced, since it counts iterations where there may be none: the loop is over.
        """
        for loop in self.loops:
            if loop.testing:
                return loop.tested(predicate, frame is loop.frame and decides(frame, loop.lines))
        visits = self.visits.get(frame, [])
        if not (visits and visits[-1].ending and decides(frame, visits[-1].lines)):
            return None
        if visits[-1].by_tests:
            raise self.refused(visits[-1])
        return False

    def refused(self, visit: Visit) -> BaseException:
        """What to raise where it is not known that a loop ends where it was counted to end."""
        decisions = self.recorder.scopes.decisions
        decisions.counted.discard(visit.site)
        decisions.uncounted[visit.site] = Unrolled(line=self.recorder.builder.line, reason=UNEVEN)
        return self.recorder.scopes.restart()

    def undecided(self) -> None:
        """A comparison of indices is not decided; where it is the test of a statement, that may be a loop."""
        frame = user_frame(sys._getframe(1))
        if frame is None:
            return
        found = while_part(frame)
        decisions = self.recorder.scopes.decisions
        for lines in () if found is None else self.sites.get(frame.f_code, ()):
            site = site_of(frame.f_code, lines)
            known = decisions.knows(site) or site in decisions.uncounted
            if found is None or lines.first != found[0].first or lines.refused or known:
                continue
            if not any(loop.frame is frame and loop.site == site for loop in self.recorder.whiles):
                decisions.counted.add(site)
                raise self.recorder.scopes.restart()


def site_of(code: types.CodeType, lines: WhileLines) -> Site:
    return code, -lines.first


def decides(frame: types.FrameType, lines: WhileLines) -> bool:
    """Whether the loop goes on only while what is asked for now is true."""
    found = while_part(frame)
    return found is not None and found[0].first == lines.first
