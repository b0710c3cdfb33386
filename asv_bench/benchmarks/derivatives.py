"""Times of a function's derivatives by the time of the function itself, compiled: how dear they are.

`python -m benchmarks.derivatives NAME` prints the seconds of each call of one program, measured in turn in one process
on one processor. Arguments that a program writes to are put back before each call, which is measured and taken off.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import planned_ad

from .loop_programs import LOOPS
from .measure import example, seconds, zeros_like
from .peers import pin
from .programs import PROGRAMS, Program

REPEATS = 9
ALL: dict[str, Program] = {name: p for name, p in PROGRAMS.items() if not p.cotangents} | {
    f"{name} (loops)": p for name, p in LOOPS.items()
}


def directions(program: Program, arguments: tuple) -> tuple:
    """One for each active argument, of no special numbers."""
    rng = np.random.default_rng(7)

    def like(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return np.asarray(rng.normal(size=argument.shape))
        return [like(a) for a in argument] if isinstance(argument, list) else float(rng.normal())

    return tuple(like(a) for k, a in enumerate(arguments) if is_active(program, k, a))


def is_active(program: Program, position: int, argument: Any) -> bool:
    first = argument[0] if isinstance(argument, list) else argument
    return position not in program.inactive and np.asarray(first).dtype.kind == "f"


def calls_of(program: Program) -> dict[str, tuple]:
    """What is timed: the function, its gradient, a product with its Hessian, and putting the arguments back."""
    size = program.size
    arguments, originals = program.arguments(size), program.arguments(size)
    plan = planned_ad.compile(program.function, example(program, arguments))
    vectors = directions(program, arguments)
    active = [a for k, a in enumerate(arguments) if is_active(program, k, a)]
    shadows = [zeros_like(a) for a in active if not isinstance(a, float)]
    outs = [item for a in active for item in leaves_like(a)]
    written = [(arguments[k], originals[k]) for k in getattr(program, "written", ())]
    if not written:
        program.function(*originals)
        pairs = [(a, o) for a, o in zip(arguments, originals) if isinstance(a, np.ndarray)]
        written = [(a, a.copy()) for a, o in pairs if not np.array_equal(a, o)]

    def restore() -> None:
        for target, original in written:
            np.copyto(target, original)

    def timed(call: Callable, *more: Any) -> tuple:
        if not written:
            return call, *arguments, *more

        def run() -> Any:
            restore()
            return call(*arguments, *more)

        return (run,)

    found = {
        "function": timed(plan._call),
        "gradient": timed(plan.gradient, *shadows),
        "hvp": timed(plan.hvp, *vectors, *outs),
    }
    return found | ({"restore": (restore,)} if written else {})


def leaves_like(argument: Any) -> list[np.ndarray]:
    if isinstance(argument, list):
        return [leaf for item in argument for leaf in leaves_like(item)]
    return [np.empty_like(argument)] if isinstance(argument, np.ndarray) else []


def times(name: str) -> dict[str, float]:
    """Seconds of each call, without the time to put the arguments back."""
    calls = calls_of(ALL[name])
    found = dict(zip(calls, seconds(*calls.values(), repeats=REPEATS)))
    restoring = found.pop("restore", 0.0)
    return {what: max(t - restoring, 1e-9) for what, t in found.items()}


class Ratios:
    """Ratios, for asv."""

    params = (list(ALL), ["gradient", "hvp"])
    param_names = ("program", "derivative")
    unit = "ratio"

    def track_by_function(self, name: str, what: str) -> float:
        found = times(name)
        return found[what] / found["function"]


if __name__ == "__main__":
    pin()
    print(json.dumps(times(sys.argv[1])))
