"""Gradients by two threads beside one: mixtures of ten thousand points, NPBench's jacobi_2d L and softmax M.

`python -m benchmarks.threads` prints a table. Two cores have to be free: the least of many calls is compared, and where
other programs run all the time, no call has both to itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import planned_ad

from . import models
from .loop_programs import jacobi_2d
from .measure import seconds

THREADS = 2
STEPS = 20  # of jacobi_2d: a tenth of NPBench's, at the same size of its arrays


def softmax(x, weights):
    """Of the last axis, as in attention."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(weights * e / np.sum(e, axis=-1, keepdims=True))


def softmax_arguments(n: int) -> tuple:
    x, weights = np.random.default_rng(0).random((2, n // 8, 8, n, n))
    return x, weights


def jacobi_2d_arguments(n: int) -> tuple:
    a, b, weights = np.random.default_rng(0).random((3, n, n))
    return a, b, weights


@dataclass(frozen=True, kw_only=True)
class Threaded:
    """A program for threads: `fixed` are the positions of arguments that are data."""

    function: Callable[..., Any]
    arguments: Callable[[int], tuple]
    size: int
    small: int
    fixed: tuple[int, ...]


PROGRAMS = {
    "gmm": Threaded(function=models.gmm, arguments=models.gmm_arguments, size=10_000, small=500, fixed=(3,)),
    "jacobi_2d": Threaded(
        function=partial(jacobi_2d, STEPS), arguments=jacobi_2d_arguments, size=700, small=300, fixed=(2,)
    ),
    "softmax": Threaded(function=softmax, arguments=softmax_arguments, size=256, small=64, fixed=(1,)),
}


def gradient_by(threads: int, program: Threaded, arguments: tuple) -> tuple:
    """`(function, *arguments)` of the gradient by so many threads, with shadows of its own."""
    marked = (planned_ad.Const(a) if k in program.fixed else a for k, a in enumerate(arguments))
    plan = planned_ad.compile(program.function, tuple(marked), threads=threads, preserve_args=True)
    shadows = tuple(np.zeros_like(a) for k, a in enumerate(arguments) if k not in program.fixed)
    return plan.gradient, *arguments, *shadows


class Threads:
    """The time of one thread by that of several."""

    params = tuple(PROGRAMS)
    param_names = ("program",)
    timeout = 300

    def setup(self, name):
        if len(os.sched_getaffinity(0)) < THREADS:
            raise NotImplementedError(f"fewer than {THREADS} processors")
        program = PROGRAMS[name]
        arguments = program.arguments(program.size)
        self.one, self.several = (gradient_by(k, program, arguments) for k in (1, THREADS))

    def track_one_by_several(self, name):
        one, several = seconds(self.one, self.several)
        return one / several

    track_one_by_several.unit = "ratio"


def main() -> None:
    for name in PROGRAMS:
        suite = Threads()
        suite.setup(name)
        one, several = seconds(suite.one, suite.several, repeats=60)
        print(f"{name:<10} {one * 1e3:8.3g} ms {several * 1e3:8.3g} ms  {one / several:5.2f}", flush=True)


if __name__ == "__main__":
    main()
