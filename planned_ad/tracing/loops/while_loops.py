"""`while` on a traced value, recorded once: a loop of at most `max_steps` iterations, run while a flag holds.

The test is what we see of such a loop: Python asks for it before the first iteration, and after each pass over the
body. The flag holds what it came out as, and the body is skipped once that is false; a guard after the loop makes sure
that it is in the end. Of `a and b`, Python runs the second part only where the first is true: such loops are followed
as those that a `break` leaves (see `exits`).
"""

from __future__ import annotations

import math
import types
from dataclasses import dataclass, field

import numpy as np

from ...python.exit_syntax import is_followed
from ...python.shadows import CONTROL
from ...python.statements import Extent, while_part
from ...regions.regions import contiguous
from ...tape.tape import Branch, Buffer, Load, Loop, Operation, Value
from ..record.decisions import Unrolled
from ..record.recorder import Recorder
from ..values.scalar_tracer import ScalarTracer
from .leaving_tests import follow_test
from .loops import LoopTrace
from .stepping import is_stepping

PARTS = "is a `while` in a generator whose test has several parts"
MAX_STEPS = 1000  # unless the user says otherwise


def test_while(recorder: Recorder, frame: types.FrameType, predicate: Value) -> bool | None:
    """What the test of a `while` statement gives; None where it is no such test, or has to be decided otherwise."""
    found = while_part(frame)
    if found is None:
        return None
    lines, is_alone = found
    if is_followed(frame.f_code, lines.first) or is_stepping(frame.f_code):
        return None
    site, decisions = (frame.f_code, -lines.first), recorder.scopes.decisions
    if site in decisions.unrolled:
        return None
    if not is_alone:
        follow_test(recorder, frame, Extent(lines.first, lines.last, loops=(lines.first,)))
        decisions.unrolled[site] = Unrolled(line=recorder.builder.line, reason=PARTS)
        return None
    for loop in recorder.whiles:
        if loop.frame is frame and loop.site == site:
            return loop.tested(predicate)
    if math.prod(short.length for short in recorder.unrolling.values()) > recorder.unroll:  # they would repeat it often
        recorder.scopes.keep({short.site for short in recorder.unrolling.values()})
    recorder.whiles.append(
        WhileTrace(recorder, frame, site, most_steps(recorder, frame), None, (), lines=lines, predicate=predicate)
    )
    recorder.watch.on(frame)
    return True


def most_steps(recorder: Recorder, frame: types.FrameType) -> int:
    """For how many iterations there is memory: what `planned_ad.while_loop` was told, unless a call needed more."""
    told = frame.f_locals.get("max_steps") if dict.get(frame.f_globals, "__name__") == CONTROL else None
    if type(told) is not int or recorder.max_steps > MAX_STEPS:
        return max(told or 0, recorder.max_steps)
    return told


@dataclass(kw_only=True)
class WhileTrace(LoopTrace):
    """The recording of one `while` loop, whose test was `predicate` at first."""

    lines: Extent  # of the statement
    predicate: Value
    flag: Buffer = field(init=False)
    counts_iterations = False

    def begin(self) -> None:
        if not self.passes:
            with self.recorder.scopes.beside(self.apart):
                self.flag = self.recorder.builder.new_buffer("local", "goes on", np.dtype(bool), contiguous(()))
            self.joiner.counts_evenly = False  # how often it runs is not known
            self.joiner.initial.append((self.flag, ScalarTracer(self.recorder, self.predicate, is_python=True)))
            counters = self.recorder.scopes.decisions.counters.get(self.site, set())
            for key, (place, value) in self.origin.values.items():
                if place.name in counters and type(value) is int:
                    with self.recorder.scopes.beside(self.apart):
                        self.carries[key] = self.joiner.number(place.name, value, np.dtype(np.int64), True)
            self.prepare()
        super().begin()

    def tested(self, predicate: Value) -> bool:
        """The test has come out as `predicate`; whether the body runs (once more)."""
        self.predicate = predicate
        return self.advance()

    def event(self, frame: types.FrameType, event: str) -> None:
        """A statement of `frame` begins, or it returns: where the loop is left, we have not been asked."""
        if frame is self.frame and (event == "return" or (event == "line" and not self.lines.has(frame.f_lineno))):
            self.recorder.watch.off()
            raise self.left()

    def left(self) -> BaseException:
        """What to raise where the loop is left and we have not been asked: integers may have decided, that count in it.

        The next run of the trace hands those on as traced ones, so that it is asked.
        """
        counters = self.recorder.scopes.decisions.counters.setdefault(self.site, set())
        now = self.capture()
        changed = {
            place.name
            for key, (place, old) in self.origin.values.items()
            if type(old) is int and key in now.values and type(now.values[key][1]) is int and now.values[key][1] != old
        }
        if changed <= counters:
            self.recorder.scopes.decisions.follow(self.frame.f_code.co_filename, [self.lines.first])
            return self.recorder.scopes.restart()
        counters |= changed
        return self.recorder.scopes.restart()

    @property
    def certainly_runs(self) -> bool:
        return False

    @property
    def runs_evenly(self) -> bool:
        return False

    def end_body(self) -> None:
        self.recorder.builder.store(self.flag.whole, self.predicate)

    def emit_loop(self, body: tuple[Operation, ...]) -> None:
        recorder, builder = self.recorder, self.recorder.builder
        goes_on = builder.new_value((), np.dtype(bool))
        steps: tuple[Operation, ...] = (
            Load(out=goes_on, region=self.flag.whole, line=self.line),
            Branch(predicate=goes_on, then=body, otherwise=(), line=self.line),
        )
        builder.emit(Loop(index=self.index, start=0, step=1, trips=self.trips, body=steps, stops=True, line=self.line))
        ended = builder.apply("logical_not", builder.load(self.flag.whole))
        recorder.whiles.remove(self)
        recorder.watch.off_if_idle()
        recorder.scopes.guard()  # an error in the body first
        recorder.scopes.require_after(ended, "max_steps")
