"""Random programs that take derivatives in loops, branches and batches, of functions that write, test and loop.

Their value is compared with that of the same program over `nested_reference`, where nothing is recorded as a loop or
branch; and their gradient with differences of it (at a kink, where two steps disagree, nothing is said).
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import GuardBroken

from .nested_oracle import Interpreted, directions, moved, near
from .nested_reference import Reference, transforms_of
from .random_nested_programs import arguments, function_of, write_program
from .sweeps import sweep
from .tracing_oracle import perturbed_by_nothing as copied

VALUE = 1e-7  # the reference of a Hessian is a difference
SEEDS = 26


def program_of(seed: int, lines: int = 11, statements: int = 2) -> str:
    return write_program(random.Random(seed).randint, lines=lines, statements=statements)


def check(source: str, compile_too: bool = False, slopes: bool = True) -> str:
    """Whether the program is "right", "refused" or "not finite"; an exception where it is wrong."""
    reference = function_of(source, transforms_of(Reference()))
    f = function_of(source, transforms_of(planned_ad))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = value_of(reference, arguments())
        if not np.isfinite(expected):
            return "not finite"
        try:
            recorded = Interpreted(f, arguments())
            gradient = Interpreted(planned_ad.grad(f, (0, 1, 2, 3)), arguments()) if slopes else None
        except PlannedADError:
            return "refused"
        for seed in (0, 1):
            check_values(recorded, reference, seed)
        if gradient is not None:
            check_gradient(gradient, reference)
        if compile_too:
            check_plan(f, recorded, gradient)
    return "right"


def value_of(reference: Callable[..., Any], args: tuple) -> float:
    return float(reference(*copied(args)))


def check_values(recorded: Interpreted, reference: Callable[..., Any], seed: int) -> None:
    args = arguments(seed)
    try:
        actual = recorded(args)[0]
    except GuardBroken:
        assert seed, "a guard fails for the example itself"
        return
    np.testing.assert_allclose(actual, value_of(reference, args), rtol=VALUE, atol=VALUE, err_msg=f"arguments {seed}")


def check_gradient(gradient: Interpreted, reference: Callable[..., Any]) -> None:
    args = arguments()
    direction = directions(args)
    found = gradient(args)
    along = [np.asarray(leaf) for leaf in flatten(direction)[0]]
    actual = sum(float(np.sum(g * d)) for g, d in zip(found, along, strict=True))
    steps = [slope(reference, args, direction, step) for step in (4e-4, 2e-4)]
    if np.isclose(*steps, rtol=1e-6, atol=1e-6):
        np.testing.assert_allclose(actual, steps[1], rtol=1e-5, atol=1e-5, err_msg="gradient")


def slope(reference: Callable[..., Any], args: tuple, direction: tuple, step: float) -> float:
    """The derivative along the direction, by differences of order four."""

    def difference(h: float) -> float:
        return value_of(reference, moved(args, direction, h)) - value_of(reference, moved(args, direction, -h))

    return (8 * difference(step) - difference(2 * step)) / (12 * step)


def check_plan(f: Callable[..., Any], recorded: Interpreted, gradient: Interpreted | None) -> None:
    """Compiled, as it is interpreted."""
    plan = planned_ad.compile(f, copied(arguments()), unroll=0)
    actual = [np.asarray(plan(*copied(arguments())))]
    expected = recorded(arguments())[:1]
    if gradient is not None:
        actual += [np.asarray(g) for g in plan.gradient(*copied(arguments()))]
        expected += gradient(arguments())
    for a, e in zip(actual, expected, strict=True):
        assert near(a, e, 1e-8), (a, e)


@pytest.mark.parametrize("seed", sweep(range(SEEDS), slice(0, 4, 2)))
def test_values(seed: int) -> None:
    assert check(program_of(seed), slopes=False) == "right"


@pytest.mark.parametrize("seed", sweep(range(30, 34), slice(1, 3)))
def test_gradients(seed: int) -> None:
    assert check(program_of(seed)) == "right"


def test_sides_that_were_recorded_after_something_else() -> None:
    """A derivative inside of a branch meets a branch of which only one side is recorded anew."""
    source = program_of(408, lines=14, statements=3)
    gradient = planned_ad.grad(function_of(source, transforms_of(planned_ad)), (0, 1, 2, 3))
    with np.errstate(all="ignore"):
        check_gradient(Interpreted(gradient, arguments()), function_of(source, transforms_of(Reference())))


def test_compiled() -> None:
    assert check(program_of(34), compile_too=True, slopes=False) == "right"


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 1000, 20))
def test_seeds(start: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(start, start + 20):
        source = program_of(seed, lines=14, statements=3)
        try:
            found[check(source, compile_too=seed % 10 == 0)] += 1
        except Exception as error:
            error.add_note(f"seed {seed}\n{source}")
            raise
    assert found["right"] >= 18, found
