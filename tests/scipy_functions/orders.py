"""Value, both modes and second order of a function, by the interpreter, against the function and differences of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from planned_ad.differentiate.forward import forward
from planned_ad.differentiate.reverse import reverse
from planned_ad.tape.interpret import array_of, interpret, memory_of
from planned_ad.tape.tape import Tape
from planned_ad.trace import trace
from tests.numpy_functions.test_gradients import weighted
from tests.tracing_oracle import check

Arrays = tuple[np.ndarray, ...]


def mostly_long(names: Iterable[str], *quick: str) -> list[Any]:
    """These, the quick ones always; the others are part of the sweeps."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.long) for name in names]


def run(tape: Tape, given: Mapping[int, np.ndarray]) -> Callable[[int], np.ndarray]:
    """What the arguments of a tape hold after it has run; those that are not given are zero before."""
    memories = {}
    for id in tape.arguments:
        buffer = tape.buffer(id)
        memories[id] = memory_of(buffer, given.get(id, np.zeros(buffer.shape, buffer.dtype)))
    with np.errstate(all="ignore"):
        interpret(tape, memories)
    return lambda id: array_of(tape.buffer(id), memories[id])


def slope(f: Callable[..., float], args: Arrays, directions: Arrays, step: float) -> float:
    """The derivative of `f` along a direction, to the order step**4."""

    def at(distance: float) -> float:
        moved = [a + distance * d if a.dtype.kind == "f" else a.copy() for a, d in zip(args, directions)]
        with np.errstate(all="ignore"):
            return float(f(*moved))

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


def check_orders(f: Callable[..., Any], *args: np.ndarray, order: int = 1) -> None:
    """Order 0: the value; 1: the gradient and the tangent too; 2: a product with the Hessian too."""
    check(f, *args)
    if not order:
        return
    loss = weighted(f)
    rng = np.random.default_rng(1)
    directions = tuple(rng.normal(size=a.shape) if a.dtype.kind == "f" else np.zeros(a.shape) for a in args)
    along = [d for a, d in zip(args, directions) if a.dtype.kind == "f"]
    primal = trace(loss, args).tape
    backward = reverse(primal)
    count = len(args)
    shadows = backward.arguments[count : count + len(along)]

    def product(*arguments: np.ndarray) -> float:
        held = run(backward, dict(zip(backward.arguments, arguments)))
        return sum(float(np.sum(held(id) * d)) for id, d in zip(shadows, along))

    expected = slope(loss, args, directions, 1e-5)
    close(product(*args), expected, 1e-6)
    tangents = forward(primal)
    close(float(pushed(tangents, args, along)(results(tangents)[-1])), expected, 1e-6)
    if order == 2:
        tape = forward(backward)
        held = pushed(tape, args, along)
        found = moving(tape)[len(along) : 2 * len(along)]
        actual = sum(float(np.sum(held(id) * d)) for id, d in zip(found, along))
        close(actual, slope(product, args, directions, 1e-4), 1e-5)


def close(actual: float, expected: float, tolerance: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def moving(tape: Tape) -> list[int]:
    return [id for id in tape.arguments if tape.buffer(id).kind == "tangent"]


def results(tape: Tape) -> list[int]:
    return [id for id in tape.arguments if tape.buffer(id).kind == "result"]


def pushed(tape: Tape, args: Arrays, along: list[np.ndarray]) -> Callable[[int], np.ndarray]:
    return run(tape, dict(zip(tape.arguments, args)) | dict(zip(moving(tape), along)))
