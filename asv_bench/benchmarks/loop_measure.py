"""Figures of one program with loops, in a process of its own that runs on one processor.

`python -m benchmarks.loop_measure FIGURE PROGRAM SIZE [MORE]` prints a dictionary; `measured` runs it in a child.

FIGURE is 'gradient' (seconds of value and gradient; MORE: which of planned_ad, handwritten, insight and jax),
'compile' (seconds of trace, plan and compile; MORE: cold, or warm after another function has been compiled),
'checkpointing' (what a memory limit of a tenth of the cache costs), or 'memory' (bytes, and code size).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from .allocations import instructions
from .compiling import WARM_UP
from .loop_programs import LOOPS, LoopProgram
from .measure import compiled, example, seconds
from .peers import in_child, pin
from .programs import PROGRAMS

REPEATS = 15
KIND = "value_and_gradient"


class WrongResultError(Exception):
    """Value or gradient differ from those of the adjoint by hand: no time is worth anything then."""


def measured(figure: str, name: str, size: int, *more: str, timeout: float | None = None) -> dict[str, float]:
    return in_child("loop_measure", figure, name, str(size), *more, timeout=timeout)


def restoring(program: LoopProgram, call: Callable, arguments: tuple, size: int) -> tuple[Callable, Callable]:
    """What is timed: the arguments that the program writes to are put back, then the call. And the former alone."""
    pairs = [(arguments[k], program.arguments(size)[k]) for k in program.written]

    def restore() -> None:
        for target, original in pairs:
            np.copyto(target, original)

    def run() -> object:
        restore()
        return call(*arguments)

    return run, restore


Run = Callable[[], tuple[float, Sequence[np.ndarray]]]  # value and gradient


def run_of_ours(program: LoopProgram, size: int) -> tuple[Callable, Callable, Run]:
    ready = compiled(program, size, KIND)
    run, restore = restoring(program, ready.call, ready.arguments, size)
    return run, restore, lambda: (run()[0], ready.shadows)


def run_by_hand(program: LoopProgram, size: int, table: dict) -> tuple[Callable, Callable, Run]:
    from .handwritten_loops import call_of

    ready = call_of(program, size, table)
    run, restore = restoring(program, ready.function, ready.arguments, size)
    return run, restore, lambda: (run(), ready.shadows)


def check(who: str, expected: tuple, found: tuple) -> None:
    """Both are `(value, gradients)`; a gradient's error is taken relative to its largest element."""
    pairs = [(expected[0], found[0]), *zip(expected[1], found[1], strict=True)]
    for right, actual in pairs:
        error, scale = np.max(np.abs(np.asarray(actual) - right)), np.max(np.abs(right))
        if not error <= 1e-7 * scale:
            raise WrongResultError(f"{who} is wrong by {error / scale:.1e} of the largest element")


def gradient(name: str, size: int, *who: str) -> dict[str, float]:
    """Least seconds of a call, measured in turn; restoring arguments is not counted. Of JAX: its fastest way."""
    from .handwritten_loops import HANDWRITTEN, INSIGHT

    program = LOOPS[name]
    expected = run_by_hand(program, size, HANDWRITTEN)[2]()
    timed: dict[str, list] = {}
    idle: dict[str, tuple] = {}
    for one, make in (
        ("planned_ad", lambda: run_of_ours(program, size)),
        ("handwritten", lambda: run_by_hand(program, size, HANDWRITTEN)),
        ("insight", lambda: run_by_hand(program, size, INSIGHT) if name in INSIGHT else None),
    ):
        if one in who and (made := make()) is not None:
            run, restore, result = made
            check(one, expected, result())
            timed[one], idle[one] = [(run,)], (restore,)
    if "jax" in who:
        timed["jax"] = jax_calls(program, size, expected)
    calls = [call for several in timed.values() for call in several]
    times = iter(seconds(*calls, *idle.values(), repeats=REPEATS))
    found = {one: min(next(times) for _ in several) for one, several in timed.items()}
    for one in idle:
        found[one] -= next(times)
    return found


def jax_calls(program: LoopProgram, size: int, expected: tuple) -> list[tuple[Callable]]:
    """The ways that are not hopeless: others would take all the time of the measurement."""
    from . import jax_loops

    calls = jax_loops.calls(program, size)
    for call in calls:
        check("jax", expected, call())
    times = seconds(*((call,) for call in calls), repeats=1)
    return [(call,) for call, spent in zip(calls, times) if spent < 2.0 * min(times)]


def compiling(name: str, size: int, state: str = "warm") -> dict[str, float]:
    """From the function to its compiled gradient, once: a fresh process has no caches."""
    import planned_ad

    if state == "warm":
        compiled(PROGRAMS[WARM_UP], PROGRAMS[WARM_UP].small)
    program = LOOPS[name]
    arguments = example(program, program.arguments(size))
    start = time.perf_counter()
    planned_ad.compile(program.function, arguments)
    return {"seconds": time.perf_counter() - start}


def memory(name: str, size: int) -> dict[str, float]:
    ready = compiled(LOOPS[name], size)
    found = ready.plan.explain(ready.kind)
    return {
        "cached": found.cached_bytes,
        "workspace": found.workspace_bytes,
        "lower bound": found.lower_bound_bytes,
        "instructions": instructions(ready.plan.asm(ready.kind)),
    }


def checkpointing(name: str, size: int) -> dict[str, float]:
    """Time with a limit of a tenth of the cache by time without, and the bytes of both."""
    program = LOOPS[name]
    free = compiled(program, size)
    before = free.plan.explain(free.kind)
    limit = before.cached_bytes // 10
    limited = compiled(program, size, memory_limit=limit)
    calls = [restoring(program, ready.call, ready.arguments, size)[0] for ready in (free, limited)]
    for call in calls:
        call()
    for right, actual in zip(free.shadows, limited.shadows):
        np.testing.assert_allclose(actual, right, rtol=1e-10, atol=1e-12)
    without, with_limit = seconds(*((call,) for call in calls), repeats=REPEATS)
    return {
        "slowdown": with_limit / without,
        "limit": limit,
        "cached": before.cached_bytes,
        "workspace": limited.plan.explain(limited.kind).workspace_bytes,
    }


FIGURES: dict[str, Callable[..., dict[str, float]]] = {
    "gradient": gradient,
    "compile": compiling,
    "memory": memory,
    "checkpointing": checkpointing,
}

if __name__ == "__main__":
    pin()
    figure, name, size, *more = sys.argv[1:]
    print(json.dumps(FIGURES[figure](name, int(size), *more)))
