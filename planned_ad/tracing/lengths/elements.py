"""Loops over the elements of an axis whose length is known only when the plan runs, recorded by the tracer itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ...regions.affine import loop_index
from ...regions.regions import contiguous
from ...tape.tape import Buffer, Loop, Value
from ..record.blocks import Block
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..record.scopes import Scope
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer


@final
@dataclass(frozen=True, slots=True)
class RunTime:
    """A length that is known only when the plan runs: `count`, an int64 scalar from 0 to `most`."""

    count: Value
    most: int

    def scalar(self, recorder: Recorder) -> Any:
        """As a Python integer, of which it is known how large it may be, also where a loop has handed it on."""
        low, high = recorder.builder.limits.of(self.count)
        recorder.builder.limits.note(self.count, max(low, 0), min(high, self.most))
        return ScalarTracer(recorder, self.count, is_python=True)


Length = int | RunTime  # of which an `int` may be a `Ragged`, which the loops around move
UNBOUNDED = 1 << 40  # elements: more than there are


@dataclass(slots=True, eq=False)
class Position:
    """Where on an axis an element is asked for: the index of a loop over it, or a traced integer (then not `inside`).

    What has been computed for it is `known`, by source.
    """

    index: Any
    inside: bool = True
    known: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def of(self, source: Any) -> Any:
        """The element of `source` here, recorded once."""
        found = self.known.get(id(source))
        if found is None:
            self.known[id(source)] = found = (source, source.at(self))
        return found[1]


def for_each(recorder: Recorder, length: RunTime, body: Callable[[Position], None]) -> None:
    """Record `body` for each element. It must not be the first to write to memory made outside of it."""
    if not length.most:
        return
    scopes, builder = recorder.scopes, recorder.builder
    line = builder.line
    index, parts = scopes.new_loop()
    scope = Scope(outer=builder.operations, apart=Block(type(parts)(parts.apart)))
    scope.index, scope.range, scope.elements = index, (0, length.most - 1), True
    scopes.enter(scope, builder.next_value, parts)
    try:
        body(Position(LoopIndex(recorder, loop_index(index))))
    except Exception:
        scopes.leave(scope)
        raise
    operations = tuple(scopes.leave(scope))
    scopes.absorb(scope)
    for op in scope.before:
        builder.emit(op)
    builder.emit(Loop(index=index, start=0, step=1, trips=length.most, body=operations, count=length.count, line=line))
    scopes.guard()


def innermost(recorder: Recorder) -> Scope | None:
    """The innermost block around that is the program's."""
    own = [scope for scope in recorder.scopes.open if not scope.elements]
    return own[-1] if own else None


def memory(recorder: Recorder, label: str, shape: tuple[int, ...], dtype: Any, initial: Any) -> Buffer:
    """Memory that a loop over elements updates, and what it holds at first."""
    buffer = recorder.builder.new_buffer("local", label, np.dtype(dtype), contiguous(shape))
    recorder.builder.store(buffer.whole, recorder.constant(initial, np.dtype(dtype)))
    return buffer


def common_length(recorder: Recorder, lengths: list[RunTime | int], detail: str = "") -> RunTime:
    """The length of axes that go together; a guard, of this `detail`, that they are equal. Known ones are not 1."""
    first = next(n for n in lengths if type(n) is RunTime)
    count, most = first.count, first.most
    for other in lengths:
        if type(other) is RunTime and other.count is first.count:
            most = min(most, other.most)
            continue
        number = other.count if isinstance(other, RunTime) else recorder.constant(other, INT)
        same = recorder.apply("equal", count, number)
        if detail:  # what no trace can do is told apart, so that it is an error at once
            one = recorder.constant(1, INT)
            either = recorder.apply("logical_or", recorder.apply("equal", count, one), same)
            either = recorder.apply("logical_or", recorder.apply("equal", number, one), either)
            recorder.scopes.require_after(either, "length")
        recorder.scopes.require_after(same, "length", detail)
        # The guard may be tested later: until then no more elements than each has.
        count = recorder.apply("minimum", count, number)
        most = min(most, other.most if isinstance(other, RunTime) else other)
    return RunTime(count, most)


def stretched_length(recorder: Recorder, lengths: list[RunTime | int], into: RunTime | None) -> RunTime:
    """The length of axes of which those of length 1 are repeated; of `into`, if given, which is written to."""
    apply, one = recorder.apply, recorder.constant(1, INT)
    numbers = [n.count if isinstance(n, RunTime) else recorder.constant(n, INT) for n in lengths]
    most = max(n.most if isinstance(n, RunTime) else n for n in lengths)
    if into is not None:
        count, most = into.count, into.most
    else:
        none = recorder.constant(np.iinfo(INT).max, INT)
        count = none
        for number in numbers:
            count = apply("minimum", count, apply("where", apply("equal", number, one), none, number))
        count = apply("where", apply("equal", count, none), one, count)
    for number in numbers:
        if number is not count:
            fits = apply("logical_or", apply("equal", number, count), apply("equal", number, one))
            recorder.scopes.require_after(fits, "length")
    for number in numbers:  # as above, until the guard is tested
        if number is not count:
            own = apply("where", apply("equal", number, one), count, number)
            count = apply("minimum", count, own)
    known = (0 if isinstance(n, RunTime) else n for n in lengths if n != 1 and not (isinstance(n, RunTime) and n.most))
    return RunTime(count, min((most, *known)))  # those are not repeated
