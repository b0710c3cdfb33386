"""Compile a program and time it: minima over interleaved repeats, since the machine is shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

import planned_ad

from .programs import Program

BATCH = 2e-3  # seconds that one batch of calls should take


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A plan, and what its derivative is called with."""

    plan: planned_ad.Plan
    kind: str  # 'gradient', 'value_and_gradient' or 'pullback'
    arguments: tuple  # primal arguments, then shadows, then cotangents
    shadows: tuple

    @property
    def call(self) -> Callable:
        return getattr(self.plan, self.kind)


def example(program: Program, arguments: tuple) -> tuple:
    """The arguments as `planned_ad.compile` wants them: data marked."""
    return tuple(planned_ad.Const(a) if k in program.inactive else a for k, a in enumerate(arguments))


def compiled(program: Program, size: int | None = None, kind: str | None = None, **options: Any) -> Compiled:
    """Compile the derivative of a program at its benchmark's size, and make shadows and cotangents.

    `kind`: 'gradient', 'value_and_gradient' or 'pullback'; by default 'gradient', or 'pullback' where the program has
    cotangents. `options` are those of `planned_ad.compile`.
    """
    size = program.size if size is None else size
    kind = kind or ("pullback" if program.cotangents else "gradient")
    arguments = program.arguments(size)
    shadows = tuple(zeros_like(a) for k, a in enumerate(arguments) if k not in program.inactive)
    cotangents = program.cotangents(size) if program.cotangents else (1.0,)
    return Compiled(
        plan=planned_ad.compile(program.function, example(program, arguments), **{"calls": kind} | options),
        kind=kind,
        arguments=(*arguments, *shadows, *(cotangents if kind == "pullback" else ())),
        shadows=shadows,
    )


def zeros_like(argument):
    return [zeros_like(a) for a in argument] if isinstance(argument, list) else np.zeros_like(argument)


def timer(call: tuple | Timer) -> Timer:
    """`(function, *arguments)` as a statement to be timed; a statement as it is."""
    if isinstance(call, Timer):
        return call
    function, *arguments = call
    return Timer("function(*arguments)", globals={"function": function, "arguments": tuple(arguments)})


def seconds(*calls: tuple | Timer, repeats: int = 15) -> tuple[float, ...]:
    """Least seconds per call of each `(function, *arguments)`, or of each statement, measured in turn."""
    timers = [timer(call) for call in calls]
    counts = []
    for each in timers:
        each.timeit(1)  # what a first call compiles
        counts.append(max(1, int(BATCH / (each.timeit(3) / 3))))
    best = [float("inf")] * len(timers)
    for _ in range(repeats):
        for k, (each, count) in enumerate(zip(timers, counts)):
            best[k] = min(best[k], each.timeit(count) / count)
    return tuple(best)


def ratio(a: tuple | Timer, b: tuple | Timer, repeats: int = 15) -> float:
    """Time of `a` by time of `b`."""
    first, second = seconds(a, b, repeats=repeats)
    return first / second
