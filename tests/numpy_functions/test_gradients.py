"""The reverse sweep of every case, run by the interpreter, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.tape.interpret import array_of, interpret, memory_of, uninitialised
from planned_ad.trace import trace

from . import cases_of_fourier, cases_of_order, cases_of_special  # noqa: F401 (add their cases)
from .cases import CASES, Case

SMOOTH = [case for case in CASES if not case.rounds]


def weighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss in which each element of what `function` returns has its own weight."""

    def total(result):
        if isinstance(result, list | tuple):
            return sum([(k + 1.0) * total(part) for k, part in enumerate(result)])
        weights = np.cos(np.arange(np.size(result)) + 1.0).reshape(np.shape(result))
        return np.sum(weights * result)

    return lambda *arguments: total(function(*arguments))


def gradient(function: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Of the loss with respect to each floating argument."""
    primal = trace(function, arguments).tape
    tape = reverse(primal)
    memories = {id: memory_of(tape.buffer(id), a) for id, a in zip(tape.arguments, arguments)}
    shadows = tape.arguments[len(arguments) :]
    memories |= {id: uninitialised(tape.buffer(id)) for id in shadows}
    interpret(tape, memories)
    return [array_of(tape.buffer(id), memories[id]) for id in shadows]


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.name)
def test_against_differences(case: Case) -> None:
    loss = weighted(case.function)
    floating = [k for k, a in enumerate(case.arguments) if a.dtype.kind == "f" and a.size]
    rng = np.random.default_rng(1)
    step = 1e-5
    directions = [rng.normal(size=a.shape) if k in floating else 0 for k, a in enumerate(case.arguments)]

    def moved(distance: float) -> float:
        arguments = [
            a + distance * d if k in floating else a.copy() for k, (a, d) in enumerate(zip(case.arguments, directions))
        ]
        with np.errstate(all="ignore"):
            return loss(*arguments)

    # Two step sizes, extrapolated: an error of the order of step**4.
    coarse = (moved(2 * step) - moved(-2 * step)) / (4 * step)
    fine = (moved(step) - moved(-step)) / (2 * step)
    expected = (4 * fine - coarse) / 3
    adjoints = iter(gradient(loss, case.arguments))
    actual = 0.0
    for k, a in enumerate(case.arguments):
        if a.dtype.kind == "f":
            actual += np.sum(next(adjoints) * directions[k]) if k in floating else 0 * np.sum(next(adjoints))
    np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-8)
