"""Derivatives as programs call them, worked out another way: each from an unrolled trace of the function alone.

A program that runs with these is plain Python: its loops and branches are Python's, and each derivative is the reverse
sweep of straight-line code for the arguments at hand, interpreted. No loop, branch or segment is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planned_ad.tape.interpret import GuardBroken, interpret
from planned_ad.tape.tape import Tape
from planned_ad.trace import Trace, trace

from .oracle import memories_for, shadows_in, swept
from .tracing_oracle import perturbed_by_nothing as copied
from .tracing_oracle import replay

STEP = 1e-3  # of the differences of gradients
UNROLLED_ALL = 1 << 30
Argnums = int | tuple[int, ...]


class Reference:
    """The derivatives of one program; traces are kept for each way through a function."""

    def __init__(self) -> None:
        self.traces: dict[Any, list[Trace]] = {}
        self.tapes: dict[int, Tape] = {}  # of the reverse sweeps
        self.kept: list[Trace] = []

    def traced(self, f: Callable[..., Any], args: tuple) -> tuple[Trace, Any]:
        """A trace that holds for these arguments, and the result."""
        known = self.traces.setdefault(f, []) if f.__closure__ is None else []
        for candidate in known:
            try:
                return candidate, replay(candidate, *copied(args))[0]
            except GuardBroken:
                continue
        known.append(trace(f, copied(args), unroll=UNROLLED_ALL))
        self.kept.append(known[-1])  # (so that its id stays its own)
        return known[-1], replay(known[-1], *copied(args))[0]

    def pulled(self, traced: Trace, args: tuple, cotangent: Any) -> list[Any]:
        """The cotangents of all arguments, for one of the result; zeros for those that have none."""
        tape = self.tapes.get(id(traced))
        if tape is None:
            tape = self.tapes[id(traced)] = swept(traced.tape, accumulate=True, loss=False)
        zeros = {leaf.buffer: np.zeros(leaf.shape, leaf.dtype) for leaf in traced.leaves if leaf.active}
        memories = memories_for(tape, traced, copied(args), zeros, [cotangent])
        interpret(tape, memories)
        shadows = shadows_in(tape, memories)
        found: list[Any] = [np.zeros(np.shape(arg)) for arg in args]
        for number, leaf in enumerate(traced.leaves):
            if leaf.buffer in shadows:
                found[number] = shadows[leaf.buffer]
        return [v if isinstance(arg, np.ndarray) else float(v) for v, arg in zip(found, args, strict=True)]

    # As the derivatives of the package are called.

    def value_and_grad(self, f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            traced, value = self.traced(f, args)
            return value, chosen(self.pulled(traced, args, 1.0), argnums)

        return call

    def grad(self, f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
        return lambda *args: self.value_and_grad(f, argnums)(*args)[1]

    def vjp(self, f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            args = copied(args)
            traced, value = self.traced(f, args)
            return value, lambda cotangent: chosen(self.pulled(traced, args, np.array(cotangent)), argnums)

        return call

    def jacobian(self, f: Callable[..., Any], argnums: int = 0, mode: str | None = None) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            traced, value = self.traced(f, args)
            if np.ndim(value) == 0:
                return np.asarray(self.pulled(traced, args, 1.0)[argnums])
            return np.stack([self.pulled(traced, args, row)[argnums] for row in np.eye(len(value))])

        return call

    def linearize(self, f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            slopes, value = self.jacobian(f, argnums)(*args), self.traced(f, args)[1]

            def linear(tangent: Any) -> Any:
                found = np.tensordot(slopes, tangent, axes=np.ndim(tangent))
                return found if found.ndim else float(found)

            return value, linear

        return call

    def jvp(self, f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            value, linear = self.linearize(f, argnums)(*args[:-1])
            return value, linear(args[-1])

        return call

    def hvp(self, f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
        """By differences, of order four, of gradients."""

        def call(*args: Any) -> Any:
            *args, vector = args

            def moved(distance: float) -> Any:
                own = list(copied(tuple(args)))
                own[argnums] = own[argnums] + distance * vector
                return self.grad(f, argnums)(*own)

            fine, coarse = (moved(STEP) - moved(-STEP), moved(2 * STEP) - moved(-2 * STEP))
            return (8 * fine - coarse) / (12 * STEP)

        return call

    def vectorize(self, f: Callable[..., Any], in_axes: Sequence[int | None]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            batch = next(arg for arg, axis in zip(args, in_axes) if axis is not None)
            rows = [f(*(a if x is None else a[k] for a, x in zip(args, in_axes))) for k in range(len(batch))]
            if isinstance(rows[0], tuple):
                return tuple(np.stack(part) for part in zip(*rows))
            return np.stack(rows)

        return call


def chosen(every: list[Any], argnums: Argnums) -> Any:
    return every[argnums] if isinstance(argnums, int) else tuple(every[k] for k in argnums)


NAMES = ("grad", "value_and_grad", "jvp", "vjp", "linearize", "jacobian", "hvp", "vectorize")


def transforms_of(owner: Any) -> dict[str, Any]:
    """The derivatives by the names that programs call them by."""
    return {name: getattr(owner, name) for name in NAMES}
