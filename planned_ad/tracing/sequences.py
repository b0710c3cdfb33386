"""What `for` loops run over: ranges, arrays, and `enumerate`, `zip` and `reversed` of them.

Each is a `Sequence` with a length and an item for each position, also where the position is a loop's index. The
iterator of one hands out plain integers, or lets a `LoopTrace` record the body once.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import types
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..affine import Affine, Extent, exact, ragged
from ..shadows import is_user_frame
from .conversions import refuse_number
from .loop_index import expression_of, index_of, plain_or_traced
from .loops import LoopTrace
from .scalar_tracer import ScalarTracer
from .scopes import Unrolled

if TYPE_CHECKING:
    from ..recorder import Recorder
    from ..tape import Value

UNKNOWN_TRIPS = 1 << 40
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
GENERATOR = 0x20  # the flag of code that yields


@dataclass
class Sequence:
    """`length` items (an `int`, a `Ragged` where the loops around move it), of which `item(k)` is one."""

    recorder: Recorder
    length: int
    item: Callable[[Any], Any]

    def __iter__(self) -> Iterator[Any]:
        return LoopIterator(self)


@dataclass
class Once(Sequence):
    """A sequence that is an iterator itself, as `enumerate` and `zip` are."""

    iterator: LoopIterator | None = None
    is_iterator = True

    def __iter__(self) -> Iterator[Any]:
        if self.iterator is None:
            self.iterator = LoopIterator(self)
        return self.iterator

    def __next__(self) -> Any:
        return next(iter(self))


class RunTime(int):
    """A length that is known only when the plan runs: `count`. As an `int` it is more than any."""

    count: Value

    @staticmethod
    def of(count: Value) -> RunTime:
        found = RunTime(UNKNOWN_TRIPS)
        found.count = count
        return found


class Range:
    """`range(start, stop, step)` in traced code."""

    def __init__(self, recorder: Recorder, start: Extent, stop: Extent, step: int):
        self.recorder, self.first, self.end, self.step_ = recorder, start, stop, step
        is_known = isinstance(start, int) and isinstance(stop, int)
        self.known = builtins.range(start, stop, step) if is_known else None  # type: ignore[arg-type]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return builtins.range

    def concrete(self) -> range:
        """The range itself, where its bounds are known."""
        if self.known is None:
            start, stop = index_of(self.recorder, self.first), index_of(self.recorder, self.end)
            self.known = builtins.range(int(start), int(stop), self.step_)
        return self.known

    @property
    def start(self) -> Any:
        return index_of(self.recorder, self.first)

    @property
    def stop(self) -> Any:
        return index_of(self.recorder, self.end)

    @property
    def step(self) -> int:
        return self.step_

    def sequence(self) -> Sequence:
        recorder = self.recorder
        if self.known is not None:
            length: int = len(self.known)
        else:
            distance = self.end - self.first if self.step_ > 0 else self.first - self.end
            step = abs(self.step_)
            if isinstance(distance, Affine) and step > 1:
                if any(c % step for _, c in distance.terms):
                    raise recorder.scopes.unroll_innermost(
                        f"holds a range with step {self.step_} whose length differs", recorder.builder.line
                    )
                distance = Affine(-(-distance.constant // step), tuple((i, c // step) for i, c in distance.terms))
                length = ragged(recorder.scopes.capacity(distance), distance)
            elif isinstance(distance, int):
                length = max(-(-distance // step), 0)
            else:
                length = ragged(recorder.scopes.capacity(distance), distance)
        return Sequence(recorder, length, lambda k: k * self.step_ + self.start)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sequence())

    def __len__(self) -> int:
        return len(self.concrete())

    def __getitem__(self, key: Any) -> Any:
        return self.concrete()[key]

    def __contains__(self, value: Any) -> bool:
        return value in self.concrete()

    def __reversed__(self) -> Iterator[Any]:
        return iter(reversed_(self.recorder, self))

    def __eq__(self, other: Any) -> bool:
        return self.concrete() == (other.concrete() if type(other) is Range else other)

    def __hash__(self) -> int:
        return hash(self.concrete())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __repr__(self) -> str:
        return repr(self.concrete())

    def index(self, value: Any) -> int:
        return self.concrete().index(value)

    def count(self, value: Any) -> int:
        return self.concrete().count(value)


class LoopIterator:
    """The iterator of a sequence, which a `for` statement asks for the next item."""

    is_iterator = True  # with a position that nobody can put back

    def __init__(self, sequence: Sequence):
        self.sequence = sequence
        self.recorder = sequence.recorder
        self.position = 0
        self.begin = self.end = -1  # the iterations recorded together; none while negative
        self.at_first = self.at_last = 0  # iterations recorded one by one of a loop whose length differs
        self.decided = False
        self.loop: LoopTrace | None = None

    def __iter__(self) -> LoopIterator:
        return self

    def __next__(self) -> Any:
        if self.loop is not None:
            if self.loop.advance():
                return self.symbolic_item()
            self.position = (
                self.begin + self.loop.whole_trips * self.loop.period if self.end >= 0 else -1 - self.at_last
            )
            self.loop = None
        if not self.decided:
            self.decide(sys._getframe(1))
        if self.position == self.begin and self.begin != self.end:
            frame = sys._getframe(1)
            self.recorder.mark()
            trips = self.sequence.length if self.end < 0 else self.end - self.begin
            if self.end < 0 and self.at_first + self.at_last:
                rest = exact(trips) - self.at_first - self.at_last
                trips = ragged(self.recorder.scopes.capacity(rest), rest)
            count = trips.count if type(trips) is RunTime else None
            trips = UNKNOWN_TRIPS if count is not None else trips
            self.loop = LoopTrace(self.recorder, frame, (frame.f_code, frame.f_lasti), trips, count, targets(frame))
            return self.symbolic_item()
        if self.position < -1:  # the last ones of a loop whose length differs
            self.position += 1
            return self.sequence.item(index_of(self.recorder, exact(self.sequence.length) + self.position))
        if self.position < 0 or self.position >= self.sequence.length:
            raise StopIteration
        self.position += 1
        return self.sequence.item(self.position - 1)

    def symbolic_item(self) -> Any:
        assert self.loop is not None
        return self.sequence.item(index_of(self.recorder, self.loop.iteration + self.begin))

    def decide(self, frame: types.FrameType) -> None:
        """Which iterations are recorded together."""
        self.decided = True
        recorder, length = self.recorder, self.sequence.length
        site = (frame.f_code, frame.f_lasti)
        decisions = recorder.scopes.decisions
        is_followed = is_statement(frame, self.recorder.consumers)
        together = site not in decisions.unrolled and is_followed
        if type(length) is RunTime:
            if not together:
                raise refuse_number(recorder, "range(), a slice bound or a count", ScalarTracer(recorder, length.count))
            self.begin, self.end = 0, -1
            return
        if isinstance(exact(length), Affine):
            if not together:
                raise recorder.scopes.unroll_innermost("runs a loop of another length each time", recorder.builder.line)
            self.at_first, self.at_last = decisions.first.get(site, 0), decisions.last.get(site, 0)
            if recorder.scopes.bounds(exact(length))[0] < self.at_first + self.at_last:
                raise recorder.scopes.unroll_innermost("runs a loop of another length each time", recorder.builder.line)
            self.begin, self.end = self.at_first, -1
            return
        first, last = decisions.first.get(site, 0), decisions.last.get(site, 0)
        if together and length - first - last > recorder.unroll:
            self.begin, self.end = first, length - last
        elif length > recorder.unroll and is_user_frame(frame) and not is_followed:
            recorder.mark()
            reason = "is in a comprehension or generator, or its items are not fetched by a `for` statement"
            decisions.unrolled.setdefault(site, Unrolled(line=recorder.builder.line, reason=reason))

    def __del__(self) -> None:
        scopes = self.recorder.scopes
        if self.loop is not None and self.loop.scope in scopes.open and not scopes.restarting:  # by break or return
            self.loop.unrolled("is left early")
            scopes.pending = True


def is_statement(frame: types.FrameType, consumers: Container[types.FrameType]) -> bool:
    """Whether the next item is fetched by a `for` statement of traced code, whose variables can be followed.

    So can those of a generator expression whose items we add up ourselves.
    """
    code = frame.f_code
    if frame not in consumers and (
        not is_user_frame(frame) or code.co_name in COMPREHENSIONS or code.co_flags & GENERATOR
    ):
        return False
    return (code, frame.f_lasti) in for_statements(code)


@functools.lru_cache(maxsize=256)
def for_statements(code: types.CodeType) -> dict[tuple[types.CodeType, int], tuple[str, ...]]:
    """The places in `code` where a `for` statement fetches the next item, with the variables that it assigns."""
    found = {}
    instructions = list(dis.get_instructions(code))
    for k, instruction in enumerate(instructions):
        if instruction.opname != "FOR_ITER":
            continue
        rest, names = instructions[k + 1 :], []
        wanted = 1
        for following in rest:
            if following.opname == "UNPACK_SEQUENCE":
                wanted += following.arg - 1  # type: ignore[operator]
            elif following.opname in ("STORE_FAST", "STORE_DEREF", "STORE_NAME"):
                names.append(str(following.argval))
                wanted -= 1
            elif following.opname == "STORE_FAST_STORE_FAST":
                names += list(following.argval)
                wanted -= 2
            else:
                break
            if wanted <= 0:
                break
        appends = {"LIST_APPEND", "SET_ADD", "MAP_ADD"}
        target = instruction.argval
        inside = [i.opname for i in rest if isinstance(target, int) and i.offset < target]
        if not names or (appends & set(inside) and _is_inlined_comprehension(instructions, k)):
            continue
        found[code, instruction.offset] = tuple(names)
    return found


def _is_inlined_comprehension(instructions: list[dis.Instruction], k: int) -> bool:
    """Whether a FOR_ITER belongs to a comprehension that runs in the frame of its function (Python 3.12 on)."""
    return any(i.opname == "LOAD_FAST_AND_CLEAR" for i in instructions[max(k - 8, 0) : k])


def targets(frame: types.FrameType) -> tuple[str, ...]:
    """The variables that the `for` statement assigns."""
    return for_statements(frame.f_code).get((frame.f_code, frame.f_lasti), ())


# What traced code sees in place of the built-ins.


def sequence_of(recorder: Recorder, obj: Any) -> Sequence | None:
    """`obj` as a sequence with an item for each position, symbolic ones included; None for anything else."""
    if type(obj) is Sequence or (type(obj) is Once and obj.iterator is None):
        return obj
    if type(obj) is Range:
        return obj.sequence()
    if recorder.is_array(obj) and obj.ndim:
        return Sequence(recorder, len(obj), obj.__getitem__)
    return None


def range_(recorder: Recorder, *bounds: Any) -> Any:
    if any(recorder.is_scalar(bound) and bound.dtype.kind in "iu" for bound in bounds):
        return run_time_range(recorder, *bounds)
    expressions = [expression_of(bound) for bound in bounds]
    if any(e is None for e in expressions) or not 1 <= len(bounds) <= 3:
        return builtins.range(*bounds)
    start, stop, step = (0, expressions[0], 1) if len(bounds) == 1 else (*expressions, 1)[:3]
    if not isinstance(step, int) or step == 0:
        return builtins.range(*bounds)
    return Range(recorder, start, stop, step)  # type: ignore[arg-type]


def run_time_range(recorder: Recorder, *bounds: Any) -> Any:
    """A range whose bounds are traced integers."""
    recorder.mark()
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if type(step) is not int or step == 0:
        return builtins.range(*bounds)
    start, stop = plain_or_traced(start), plain_or_traced(stop)
    distance = stop - start if step > 0 else start - stop
    if abs(step) > 1:
        distance = (distance + (abs(step) - 1)) // abs(step)
    value = recorder.value_of(distance, np.int64)
    count = recorder.apply("maximum", value, recorder.constant(0, np.int64))
    return Sequence(recorder, RunTime.of(count), lambda k: k * step + plain_or_traced(start))


def enumerate_(recorder: Recorder, items: Any, start: Any = 0) -> Any:
    sequence = sequence_of(recorder, items)
    if sequence is None:
        return builtins.enumerate(items, start)
    return Once(recorder, sequence.length, lambda k: (start + k, sequence.item(k)))


def zip_(recorder: Recorder, *items: Any, strict: bool = False) -> Any:
    sequences = [sequence_of(recorder, item) for item in items]
    if not items or any(s is None or type(s.length) is not int for s in sequences):
        return builtins.zip(*items, strict=strict)
    lengths = {s.length for s in sequences if s is not None}
    if strict and len(lengths) > 1:
        return builtins.zip(*items, strict=True)
    return Once(recorder, min(lengths), lambda k: tuple(s.item(k) for s in sequences if s is not None))


def reversed_(recorder: Recorder, items: Any) -> Any:
    sequence = sequence_of(recorder, items)
    if sequence is None:
        return builtins.reversed(items)
    last = index_of(recorder, exact(sequence.length) - 1)
    return Once(recorder, sequence.length, lambda k: sequence.item(last - k))


def sequence_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the built-ins that loops run over."""
    functions = {
        builtins.range: range_,
        builtins.enumerate: enumerate_,
        builtins.zip: zip_,
        builtins.reversed: reversed_,
    }
    return {
        id(real): functools.wraps(real, ("__name__", "__doc__"), ())(functools.partial(ours, recorder))
        for real, ours in functions.items()
    }
