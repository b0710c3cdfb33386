"""The derivatives of the programs with loops against finite differences: those by hand, ours, and JAX's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .loop_programs import LOOPS, LoopProgram
from .measure import compiled

STEP = 2e-4
TOLERANCE = 1e-8
"""For differences of fourth order in float64: 1e-9 from the step (n_body's close pairs), 1e-11 from rounding."""

Found = tuple[float, tuple, tuple]  # value, gradients, and the arguments as they were left


def difference(program: LoopProgram, position: int, element: int) -> float:
    """The derivative by one element of one argument."""

    def value(step: float) -> float:
        arguments = program.arguments(program.small)
        arguments[position].reshape(-1)[element] += step
        return program.function(*arguments)

    near, far = (value(h) - value(-h) for h in (STEP, 2.0 * STEP))
    return (8.0 * near - far) / (12.0 * STEP)


def differences(program: LoopProgram) -> tuple[np.ndarray, ...]:
    """The gradient by each active argument."""
    arguments = program.arguments(program.small)
    active = [k for k in range(len(arguments)) if k not in program.inactive]
    return tuple(
        np.reshape([difference(program, k, e) for e in range(arguments[k].size)], arguments[k].shape) for k in active
    )


def largest(expected: ArrayLike, actual: ArrayLike) -> float:
    """The largest error, relative where the expected number is above 1."""
    right = np.asarray(expected)
    return float(np.max(np.abs(np.asarray(actual) - right) / (1.0 + np.abs(right)), initial=0.0))


def error(program: LoopProgram, found: Found) -> float:
    """The largest error of value, gradients and final arguments."""
    arguments = program.arguments(program.small)
    value = program.function(*arguments)
    left = [largest(mine, theirs) for mine, theirs in zip(arguments, found[2]) if isinstance(mine, np.ndarray)]
    slopes = [largest(mine, theirs) for mine, theirs in zip(differences(program), found[1], strict=True)]
    return max([largest(value, found[0]), *left, *slopes])


def by_hand(program: LoopProgram, table: dict) -> Found:
    from .handwritten_loops import call_of

    ready = call_of(program, program.small, table)
    return ready.function(*ready.arguments), ready.shadows, ready.arguments


def ours(program: LoopProgram) -> Found:
    ready = compiled(program, program.small, "value_and_gradient")
    return ready.call(*ready.arguments)[0], ready.shadows, ready.arguments


def by_jax(program: LoopProgram, function: Callable) -> Found:
    """JAX's arguments cannot be written to: the program's own final ones stand for them."""
    from .jax_loops import value_and_gradient

    value, gradients = value_and_gradient(program, function)(*program.arguments(program.small))
    arguments = program.arguments(program.small)
    program.function(*arguments)
    return float(value), gradients, arguments


def derivatives(jax: bool) -> Iterator[tuple[str, str, Callable[[], Found]]]:
    """Who, of which program, and what calculates it."""
    from .handwritten_loops import HANDWRITTEN, INSIGHT

    for name, program in LOOPS.items():
        yield "planned_ad", name, partial(ours, program)
        for who, table in (("handwritten", HANDWRITTEN), ("insight", INSIGHT)):
            if name in table:
                yield who, name, partial(by_hand, program, table)
        if jax:
            from .jax_loops import JAX

            for function in JAX.get(name, ()):
                yield f"jax ({function.__name__})", name, partial(by_jax, program, function)
