"""What a plan does, without machine code: traces of a function for one array, run by the interpreter.

An input that breaks the guards of all traces is traced anew, as by a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.check.checked_traces import traced_after
from planned_ad.calls.parameters import is_scalar_loss
from planned_ad.tape.interpret import GuardBroken, interpret
from planned_ad.tape.tape import Tape
from planned_ad.trace import Trace

from .oracle import lazily_compiled, loss_tape, memories_for, shadows_in, swept
from .tracing_oracle import replay


class InterpretedPlan:
    """The value and the gradient of a function of one array, traced for an example."""

    def __init__(self, f: Callable[..., Any], example: np.ndarray, **options: Any):
        self.f, self.options = f, options
        self.traces: list[Trace] = []
        self.reverse_tapes: dict[int, Tape] = {}
        self.add(example)

    def add(self, x: np.ndarray) -> Trace:
        """One more trace, which begins with what the last one has found out, as those of a plan do."""
        after = self.traces[-1].decisions if self.traces else None
        self.traces.append(traced_after(self.f, (x.copy("K"),), {}, self.options, after))
        return self.traces[-1]

    def __call__(self, x: np.ndarray) -> Any:
        return self.run(lambda found: replay(found, x.copy("K"))[0], x)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self.run(lambda found: self.swept(found, x), x)

    def run(self, how: Callable[[Trace], Any], x: np.ndarray) -> Any:
        for found in self.traces:
            try:
                return how(found)
            except GuardBroken:
                continue
        return how(self.add(x))

    def swept(self, found: Trace, x: np.ndarray) -> np.ndarray:
        tape = self.reverse_tapes.get(id(found))
        if tape is None:
            tape = self.reverse_tapes[id(found)] = swept(found.tape, accumulate=False, loss=True)
        memories = memories_for(tape, found, (x.copy(),), {}, [])
        interpret(tape, memories)
        (shadow,) = shadows_in(tape, memories).values()
        return shadow


def with_loops_compiled(f: Callable[..., Any], example: np.ndarray, unroll: int) -> Any:
    """For values: compiled where all loops are recorded once. There is a derivative, too."""
    if unroll:
        return InterpretedPlan(f, example, unroll=unroll)
    plan = lazily_compiled(f, example, unroll=0, check=False)
    if is_scalar_loss(plan._variants[0].trace):
        loss_tape(plan)
    return plan


def check_elsewhere(f: Callable[..., Any], size: int, unroll: int, compiled: bool, step: float, rel: float) -> None:
    """A function of so many numbers between 0 and 1, its value and a slope, at other inputs than the example."""
    rng = np.random.default_rng(0)
    x, direction = rng.random((2, size))
    options: dict[str, Any] = {"unroll": unroll}
    plan = planned_ad.compile(f, (x,), check=False, **options) if compiled else InterpretedPlan(f, x, **options)
    for _ in range(5 if compiled else 2):
        x, change = rng.random(size), step * direction
        assert plan(x) == pytest.approx(f(x), rel=rel)
        slope = (f(x + change) - f(x - change)) / (2 * step)
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


def inputs(seed: int, size: int) -> np.ndarray:
    """Of a function of one array: a direction, the example, and three others."""
    return np.random.default_rng(seed).random((5, size))


def assert_right(f: Callable[..., Any], size: int, seed: int, unroll: int, compiled: bool = False) -> None:
    """Value and a slope, at other inputs than the example."""
    direction, x, *others = inputs(seed, size)
    plan = planned_ad.compile(f, (x,), unroll=unroll, check=False) if compiled else InterpretedPlan(f, x, unroll=unroll)
    for x in others:
        assert plan(x.copy()) == pytest.approx(f(x.copy()), rel=1e-11)
        slopes = [(f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (1e-7, 2e-7)]
        if slopes[0] == pytest.approx(slopes[1], rel=1e-4, abs=1e-4):  # no kink
            assert np.sum(plan.gradient(x.copy()) * direction) == pytest.approx(slopes[0], rel=2e-4, abs=2e-4)


def assert_loops_stay(f: Callable[..., Any], size: int, unroll: int = 16) -> None:
    """One trace serves for four inputs, and has no loop that is unrolled."""
    first, *others = np.random.default_rng(0).random((4, size))
    found = InterpretedPlan(f, first, unroll=unroll)
    for x in others:
        found(x)
    assert not [loop.reason for loop in found.traces[0].unrolled]
    assert len(found.traces) == 1
