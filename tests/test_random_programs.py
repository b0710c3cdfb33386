"""Random programs: compiled against the interpreter, the schedule on NumPy, and finite differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

from .oracle import (
    assert_same_arguments,
    assert_shadows,
    check_pullback,
    compiled,
    interpreted,
    scheduled,
    shadow_leaves,
    slope,
)
from .random_programs import function_of, programs
from .sweeps import drawn
from .tracing_oracle import perturbed_by_nothing as copied

COMMON = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


LARGE = {"x": 70, "a": (5, 19)}  # several vectors, and a rest


def arguments(layout: int) -> tuple:
    rng = np.random.default_rng(21)
    x, a = rng.normal(size=6), rng.normal(size=(4, 3))
    if layout == 3:
        x, a = rng.normal(size=LARGE["x"]), rng.normal(size=LARGE["a"])
    if layout == 1:
        x, a = x[::-1], np.asfortranarray(a)
    elif layout == 2:
        x, a = np.repeat(x, 2)[::2], np.kron(a, np.ones((2, 2)))[::-2, ::2]
    return x, a, 0.4, np.array([2, 0, 2])


def check(source: str, layout: int) -> None:
    note(source)
    f, args = function_of(source), arguments(layout)
    after = copied(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = f(*after)
        except (ValueError, IndexError):
            assume(False)
    assume(np.isfinite(value) and all(np.all(np.isfinite(a)) for a in after))
    plan = compiled(f, *copied(args))
    traced = plan._variants[0].trace
    expected = interpreted(traced, "gradient", args)
    own = copied(args)
    assert_shadows(shadow_leaves(traced, plan.gradient(*own)), expected, "gradient")
    assert_same_arguments(own, after)
    entry = plan._variants[0].entry("gradient")
    for block in (None, 1 if layout != 3 else 7):
        assert_shadows(scheduled(entry, traced, args, block, True), expected, "schedule")
    check_differences(f, traced, args, expected)
    if layout == 0:
        vector = compiled(f, *copied((args[0], args[1])), s_of(args), args[3])
        check_pullback(vector, (args[0], args[1], s_of(args), args[3]))


def s_of(args: tuple) -> np.ndarray:
    return np.array(args[2])


def check_differences(f, traced, args: tuple, expected: dict) -> None:
    """Along one random direction; at a kink the differences of two steps disagree, and nothing can be said."""
    rng = np.random.default_rng(5)
    directions = {leaf.buffer: np.asarray(rng.normal(size=leaf.shape)) for leaf in traced.leaves if leaf.active}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarse, fine = (slope(f, traced, args, directions, step) for step in (2e-4, 0.7e-4))
    if not np.isclose(coarse, fine, rtol=1e-6, atol=1e-6):
        return
    actual = sum(float(np.sum(expected[k] * d)) for k, d in directions.items())
    np.testing.assert_allclose(actual, fine, rtol=1e-5, atol=1e-5)


@drawn(programs(), few=6, many=60)
def test_short_programs(source: str) -> None:
    check(source, 0)


@drawn(programs(), few=4, many=40)
def test_other_layouts(source: str) -> None:
    for layout in (1, 2):
        check(source, layout)


@drawn(programs(**LARGE), few=6, many=60)
def test_larger_arrays(source: str) -> None:
    check(source, 3)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@settings(COMMON, max_examples=100, derandomize=False)
@given(source=programs(statements=12, **LARGE))
def test_long_programs_on_larger_arrays(part: int, source: str) -> None:
    check(source, 3)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
@settings(COMMON, max_examples=50, derandomize=False)
@given(source=programs())
def test_many_other_layouts(part: int, source: str) -> None:
    for layout in (1, 2):
        check(source, layout)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
@settings(COMMON, max_examples=100, derandomize=False)
@given(source=programs(statements=14))
def test_long_programs(part: int, source: str) -> None:
    check(source, 0)
