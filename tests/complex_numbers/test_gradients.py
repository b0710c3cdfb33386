"""Reverse and forward sweeps of every case, run by the interpreter, against differences in real and imaginary parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planned_ad.differentiate.forward import forward
from planned_ad.differentiate.reverse import reverse
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.tape.tape import Tape
from planned_ad.trace import trace

from .cases import CASES, Case

SINGLE = ("astype",)  # what is computed in single precision, too roughly for differences
DOUBLE = [
    case
    for case in CASES
    if case.name not in SINGLE and not any(getattr(a, "dtype", None) == np.complex64 for a in case.arguments)
]


def total(result: Any) -> Any:
    """A real number in which each part of what a function returns has its own weight."""
    if isinstance(result, tuple):
        return sum([(k + 1.0) * total(part) for k, part in enumerate(result)])
    count = np.arange(np.size(result)).reshape(np.shape(result))
    return np.sum(np.cos(count + 1.0) * np.real(result)) + np.sum(np.sin(count + 2.0) * np.imag(result))


def swept(tape: Tape, leaves: list[np.ndarray], directions: list[np.ndarray] | None) -> list[np.ndarray]:
    """The shadows of a reverse sweep; of a forward one along `directions`, the results."""
    memories = {id: memory_of(tape.buffer(id), a) for id, a in zip(tape.arguments, leaves)}
    rest = tape.arguments[len(leaves) :]
    if directions is not None:
        memories |= {id: memory_of(tape.buffer(id), d) for id, d in zip(rest, directions)}
        rest = rest[len(leaves) :]
    memories |= {id: uninitialised(tape.buffer(id)) for id in rest}
    interpret(tape, memories)
    return [array_of(tape.buffer(id), memories[id]) for id in rest]


@pytest.mark.parametrize("case", DOUBLE, ids=lambda case: case.name)
def test_against_differences(case: Case) -> None:
    def loss(*arguments: Any) -> Any:
        return total(case.function(*arguments))

    leaves, structure = flatten(case.arguments)
    rng = np.random.default_rng(1)
    directions = [rng.normal(size=np.shape(a)) for a in leaves]
    step = 1e-5

    def moved(distance: float) -> float:
        return loss(*structure.unflatten([a + distance * d for a, d in zip(leaves, directions)]))

    coarse = (moved(2 * step) - moved(-2 * step)) / (4 * step)
    fine = (moved(step) - moved(-step)) / (2 * step)
    expected = (4 * fine - coarse) / 3  # an error of the order of step**4
    tape = trace(loss, case.arguments).tape
    arrays = [np.asarray(a) for a in leaves]
    shadows = swept(reverse(tape), arrays, None)
    reverse_found = sum(np.sum(shadow * d) for shadow, d in zip(shadows, directions, strict=True))
    forward_found = swept(forward(tape), arrays, directions)[-1]
    np.testing.assert_allclose(reverse_found, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(forward_found, expected, rtol=1e-7, atol=1e-7)
