"""One variant of a program beside C, in a process of its own that runs on one processor.

`python -m benchmarks.c_measure PROGRAM VARIANT SIZE [FILE]` prints seconds of a call of the C function ("c") and of its
adjoint ("adjoint"), of value and gradient by ours ("ours"), all in turn; seconds of compiling ours up to a first
gradient ("compile"), bytes of workspace, and how far ours is from C ("value error", "gradient error"). The gradient
is written to FILE.

What is shorter than a call from Python is called a thousand times in a loop of machine code, in C and by Numba.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

import planned_ad

from .c_library import COMPILER
from .c_programs import C_PROGRAMS, ENZYME, CProgram
from .compiling import WARM_UP
from .measure import compiled, seconds
from .peers import in_child, pin
from .programs import PROGRAMS

TIMES = 1000
REPEATS = 50  # the machine may be shared


class Ours:
    """A variant's plan: `call` is what is timed."""

    def __init__(self, program: CProgram, variant: str, size: int):
        if program.jacobians:
            self.arguments = program.arguments(size)
            self.plan, self.kind = planned_ad.compile(program.jacobians[variant], self.arguments), "call"
            self.shadows = self.plan(*self.arguments)
            self.call = (self.plan, *self.arguments, *self.shadows)
        else:
            ready = compiled(program.in_numpy(variant), size, "value_and_gradient")
            self.plan, self.kind, self.arguments, self.shadows = ready.plan, ready.kind, ready.arguments, ready.shadows
            self.call = (ready.call, *ready.arguments)
        if program.written:
            self.call = (restored(self.call, [(self.arguments[k], self.arguments[k].copy()) for k in program.written]),)
        self.result()

    def result(self) -> tuple[float, Sequence[np.ndarray]]:
        """Value and gradient; or half the sum of the squares of residuals, and their Jacobians."""
        function, *arguments = self.call
        found = function(*arguments)
        if self.kind == "call":
            return 0.5 * sum(np.sum(r**2) for r in (found[0], found[1])), found[2:]
        return found[0], self.shadows

    @property
    def workspace(self) -> int:
        return self.plan.explain(None if self.kind == "call" else self.kind).workspace_bytes


def restored(call: tuple, pairs: list) -> Callable:
    """Arguments that are written to are put back before, which counts; C leaves them as they are."""
    function, *arguments = call

    def run() -> Any:
        for target, original in pairs:
            np.copyto(target, original)
        return function(*arguments)

    return run


def in_loop(ours: Ours) -> Callable:
    """Value and gradient, `TIMES` times."""
    call, arguments = ours.plan.kernel.value_and_gradient, ours.arguments

    @numba.njit
    def loop(arguments):
        for _ in range(TIMES):
            call(*arguments)

    return lambda: loop(arguments)


def error(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest difference, by the largest number in the same array."""
    return max(float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1.0)) for a, b in zip(found, expected, strict=True))


def times(program: CProgram, ours: Ours, size: int) -> dict[str, float]:
    """Least seconds of a call of each, measured in turn."""
    more, ending, by = ((TIMES,), "_repeated", TIMES) if program.repeated else ((), "", 1)
    calls: dict[str, tuple] = {
        "ours": (in_loop(ours),) if program.repeated else ours.call,
        "c": (program.primal(size, *more, ending=ending),),
    }
    if program.by_hand:
        calls["adjoint"] = (program.adjoint(size, *more, ending=ending)[0],)
    return {who: spent / by for who, spent in zip(calls, seconds(*calls.values(), repeats=REPEATS))}


def measured(name: str, variant: str, size: int, file: str = "") -> dict[str, float]:
    compiled(PROGRAMS[WARM_UP], PROGRAMS[WARM_UP].small)
    program = C_PROGRAMS[name]
    start = time.perf_counter()
    ours = Ours(program, variant, size)
    found = {"compile": time.perf_counter() - start, "workspace": ours.workspace}
    value, gradient = ours.result()
    expected = program.primal(size)()
    found["value error"] = abs(value - expected) / abs(expected)
    if program.by_hand:
        call, shadows = program.adjoint(size)
        call()
        found["gradient error"] = error(gradient, shadows)
    if file:
        np.savez(file, *gradient)
    return found | times(program, ours, size)


def in_a_child(name: str, variant: str, size: int, *file: str, timeout: float | None = None) -> dict[str, float]:
    return in_child("c_measure", name, variant, str(size), *file, timeout=timeout)


class BesideC:
    """Value and gradient on one thread, of each variant, by C and by what Enzyme takes of C's time."""

    params = tuple(f"{name}: {variant}" for name, program in C_PROGRAMS.items() for variant in program.variants)
    param_names = ("program and variant",)
    timeout = 600

    def setup(self, case):
        self.name, self.variant = case.split(": ")
        if COMPILER is None:
            raise NotImplementedError("there is no C compiler")

    def measured(self):
        return in_a_child(self.name, self.variant, C_PROGRAMS[self.name].size)

    def track_ours_by_c(self, case):
        times = self.measured()
        return times["ours"] / times["c"]

    def track_ours_by_enzyme(self, case):
        times = self.measured()
        return times["ours"] / (ENZYME[self.name] * times["c"])

    def track_ours_by_hand(self, case):
        if not C_PROGRAMS[self.name].by_hand:
            raise NotImplementedError("there is no adjoint by hand")
        times = self.measured()
        return times["ours"] / times["adjoint"]

    track_ours_by_c.unit = track_ours_by_enzyme.unit = track_ours_by_hand.unit = "ratio"


if __name__ == "__main__":
    pin()
    program, variant, size, *file = sys.argv[1:]
    print(json.dumps(measured(program, variant, int(size), *file)))
