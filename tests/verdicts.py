"""How a program fares: right, refused, wrong, crashed or slow, by the function itself and by finite differences.

A program is examined at an example for which it is traced (or compiled), and at other data of the same signature, for
which other branches may be taken. Compared are the value, what is written to the arguments, and the gradient along a
random direction.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import time
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import planned_ad
from planned_ad.calls.check.checked_traces import traced_and_checked
from planned_ad.errors import NotDifferentiableError, PlannedADError
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import GuardBroken, interpret
from planned_ad.tape.tape import Tape
from planned_ad.trace import Trace, trace

from .oracle import memories_for, shadow_leaves, shadows_in, swept
from .plain_derivatives import plain
from .tracing_oracle import perturbed_by_nothing as copied
from .tracing_oracle import replay

MOST_SECONDS = 20
SAME = 1e-9  # relative to the largest number, of values
SLOPE = 1e-6  # of a derivative along a direction
STEP = 1e-4
NO_NUMBER = "which has no floating number"  # of a derivative by an integer, which Python's differences can be of
CHECKED = True  # whether the trace is compared with the function, as `compile` does

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kind` is right, refused, wrong, crashed or slow; `why` has the error or the numbers."""

    kind: str
    why: str = ""
    error: type[BaseException] | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}" if self.why else self.kind


class Wrong(Exception):
    """A number differs."""


class TooSlow(BaseException):
    """The time is over; no handler of the package for ordinary exceptions swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` at the next line of Python after so many seconds of work, whatever else the machine does.

    Where that is one of Hypothesis's callback of the garbage collector, which loses exceptions: a little later.
    """

    def stop(_: int, frame: types.FrameType | None) -> None:
        if frame is None or frame.f_code.co_name != "gc_callback":
            raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def examine(
    f: Function, argument_sets: list[tuple], *, unroll: int, compiled: bool = False, seconds: float = MOST_SECONDS
) -> Verdict:
    """The verdict on the plan of `f` for `argument_sets[0]`, called with each of the sets.

    Without `compiled` the interpreter runs the tapes, and nothing is compiled.
    """
    start = time.perf_counter()

    def verdict(kind: str, why: str = "", error: BaseException | None = None) -> Verdict:
        return Verdict(kind, why, type(error) if error else None, time.perf_counter() - start)

    try:
        with limited(seconds), np.errstate(all="ignore"):
            (_check_compiled if compiled else _check_interpreted)(f, argument_sets, unroll)
    except Wrong as error:
        return verdict("wrong", str(error))
    except TooSlow:
        return verdict("slow", f"more than {seconds} s")
    except NotDifferentiableError as error:
        if NO_NUMBER in str(error) or is_constant(f, argument_sets):
            return verdict("refused", f"{type(error).__name__}: {error}", error)
        return verdict("wrong", f"taken for a constant: {error}", error)
    except PlannedADError as error:
        return verdict("refused", f"{type(error).__name__}: {error}", error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return verdict("crashed", f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})", error)
    return verdict("right")


class Interpreted:
    """A function and its gradient as tapes, traced at one example and run by the interpreter at any arguments."""

    def __init__(self, f: Function, example: tuple, unroll: int):
        self.f = f
        self.trace = traced_and_checked(f, copied(example), {}, CHECKED, {"unroll": unroll})[0]
        self.loss, self.loss_trace = f, self.trace
        if not is_loss(f, example):
            self.loss = weighted(f)
            self.loss_trace = trace(self.loss, copied(example), unroll=unroll)

    @functools.cached_property
    def reverse_tape(self) -> Tape:
        """Made when values have been compared: a tape that has lost its arguments has no derivative either."""
        return swept(self.loss_trace.tape, accumulate=False, loss=True)

    def check(self, arguments: tuple) -> None:
        after = copied(arguments)
        value = value_of(self.f, after)
        result, written = replay(self.trace, *copied(arguments))
        _same(result, value, "value")
        _same(written, [leaf for leaf in flatten(after)[0] if isinstance(leaf, np.ndarray | float)], "written argument")
        memories = memories_for(self.reverse_tape, self.loss_trace, arguments, {}, [])
        interpret(self.reverse_tape, memories)
        _check_slope(self.loss, self.loss_trace, arguments, shadows_in(self.reverse_tape, memories))


def _check_interpreted(f: Function, argument_sets: list[tuple], unroll: int) -> None:
    first, *others = argument_sets
    plan = Interpreted(f, first, unroll)
    try:
        plan.check(first)
    except GuardBroken as broken:
        raise RuntimeError(f"the example's own guard is broken: {broken}") from broken
    for arguments in others:
        try:
            plan.check(arguments)
        except GuardBroken:  # a call of a plan traces again
            Interpreted(f, arguments, unroll).check(arguments)


def _check_compiled(f: Function, argument_sets: list[tuple], unroll: int) -> None:
    plan = planned_ad.compile(f, copied(argument_sets[0]), unroll=unroll)
    scalar = is_loss(f, argument_sets[0])
    loss = f if scalar else weighted(f)
    of_loss = plan if scalar else planned_ad.compile(loss, copied(argument_sets[0]), unroll=unroll)
    for arguments in argument_sets:
        own, after = copied(arguments), copied(arguments)
        _same(plan(*own), value_of(f, after), "value")
        _same(own, after, "written argument")
        own = copied(arguments)
        gradient = of_loss.gradient(*own)
        _same(own, after, "argument written by the gradient")
        traced = of_loss._variants[0].trace
        _check_slope(loss, traced, arguments, shadow_leaves(traced, gradient))


def value_of(f: Function, arguments: tuple) -> Any:
    """What `f` itself returns; its calls of `planned_ad.grad` and the like are done by differences."""
    with plain():
        return f(*arguments)


def is_constant(f: Function, argument_sets: list[tuple]) -> bool:
    """Whether `f` returns the same for all arguments."""
    first, *others = (flatten(value_of(f, copied(arguments)))[0] for arguments in argument_sets)
    return all(np.array_equal(a, b) for other in others for a, b in zip(first, other, strict=True))


def is_loss(f: Function, arguments: tuple) -> bool:
    """Whether `f` returns one floating scalar."""
    value = value_of(f, copied(arguments))
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind == "f")


def weighted(f: Function) -> Function:
    """A scalar function of what `f` returns: an array, or containers of arrays and numbers."""

    def loss(*arguments: Any) -> Any:
        result = f(*arguments)
        parts = result if isinstance(result, tuple | list) else [result]
        total = 0.0
        for part in parts:
            size = np.size(part)
            total = total + np.sum(np.cos(np.arange(1.0, size + 1)).reshape(np.shape(part)) * part)
        return total

    return loss


def _same(actual: Any, expected: Any, what: str) -> None:
    ours, theirs = flatten(actual)[0], flatten(expected)[0]
    if len(ours) != len(theirs):
        raise Wrong(f"{what}: {len(ours)} parts instead of {len(theirs)}")
    for a, e in zip(ours, theirs):
        if not isinstance(e, np.ndarray | np.generic | float | int):
            equal = a == e
        else:
            a, e = np.asarray(a), np.asarray(e)
            scale = max(1.0, float(np.max(np.abs(e[np.isfinite(e)]), initial=0.0))) if e.dtype.kind == "f" else 0.0
            equal = a.shape == e.shape and np.allclose(a, e, rtol=0, atol=SAME * scale, equal_nan=True)
        if not equal:
            raise Wrong(f"{what} {_shown(a)} instead of {_shown(e)}")


def _shown(value: Any) -> str:
    return np.array2string(np.asarray(value), precision=9, threshold=6) if not isinstance(value, str) else repr(value)


def _check_slope(f: Function, traced: Trace, arguments: tuple, shadows: dict[int, np.ndarray]) -> None:
    """The gradient along a direction against differences, where `f` is smooth enough there for these."""
    rng = np.random.default_rng(11)
    directions = {
        leaf.buffer: rng.choice([-1.0, 1.0], leaf.shape) * rng.uniform(0.5, 1, leaf.shape)
        for leaf in traced.leaves
        if leaf.active
    }
    expected = slope(f, traced, arguments, directions)
    if expected is None:
        return
    terms = [np.asarray(shadows[k] * d) for k, d in directions.items()]
    actual = float(sum(np.sum(t) for t in terms))
    if not abs(actual - expected) <= SLOPE * max(1.0, abs(expected)):
        raise Wrong(f"derivative along a direction {actual:.9g} instead of {expected:.9g}")


def slope(f: Function, traced: Trace, arguments: tuple, directions: dict[int, np.ndarray]) -> float | None:
    """The derivative along `directions`, by differences; None where those of several steps do not agree."""

    def moved(distance: float) -> float:
        leaves, structure = flatten(copied(arguments))
        for k, leaf in enumerate(traced.leaves):
            if leaf.active:
                step = distance * directions[leaf.buffer]
                if isinstance(leaves[k], np.ndarray):
                    leaves[k] += step
                else:
                    leaves[k] = type(leaves[k])(leaves[k] + float(step))
        return float(value_of(f, structure.unflatten(leaves)))

    def central(h: float) -> float:
        return (moved(h) - moved(-h)) / (2 * h)

    coarse, middle, fine = central(2 * STEP), central(STEP), central(STEP / 16)
    best = (4 * middle - coarse) / 3
    scale = max(1.0, abs(best))
    if not (abs(coarse - best) < 1e-3 * scale and abs(fine - best) < SLOPE * scale):
        return None
    return best
