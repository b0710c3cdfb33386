"""Programs recorded with every loop symbolic, and replayed against themselves, with the effects on their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.tape import Branch, Loop, Operation, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .tracing_oracle import assert_same, perturbed, replay
from .tracing_oracle import perturbed_by_nothing as copied

N = 6


def vector(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=N)


def square() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(N, N))


def recorded(f: Callable, *args: Any, unroll: int = 0) -> Trace:
    traced = trace(f, copied(args), unroll=unroll)
    verify(traced.tape)
    for own in (copied(args), perturbed(args, np.random.default_rng(3))):
        after = copied(own)
        expected = f(*after)
        try:
            result, found = replay(traced, *own)
        except GuardBroken:
            continue
        assert_same(result, expected)
        arrays = [a for a in after if isinstance(a, np.ndarray | float)]
        for a, e in zip(found, arrays, strict=True):
            assert_same(a, np.asarray(e))
    return traced


def followed(f: Callable, *args: Any) -> list[Loop]:
    """The loops of a program that is recorded without unrolling any, outermost first."""
    traced = recorded(f, *args)
    assert not traced.unrolled, traced.unrolled
    loops = loops_of(traced)
    assert loops
    return loops


def loops_of(traced: Trace) -> list[Loop]:
    return [op for op in walk(traced.tape.operations) if isinstance(op, Loop)]


def branches_of(traced: Trace) -> list[Branch]:
    return [op for op in walk(traced.tape.operations) if isinstance(op, Branch)]


def reasons(f: Callable, *args: Any) -> str:
    """Why loops are unrolled."""
    traced = recorded(f, *args)
    assert traced.unrolled
    return "; ".join(found.reason for found in traced.unrolled)


def applied(operations: tuple[Operation, ...], name: str) -> int:
    return sum(getattr(op, "name", getattr(op, "primitive", "")) == name for op in walk(operations))
