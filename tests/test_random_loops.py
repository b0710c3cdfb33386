"""Random functions with nested loops and branches: recorded as loops, against themselves, and against being unrolled.

Nothing is decided by the example arguments: traces and plans are run on others too. Differences are of one random
direction, and at a kink (where two steps disagree) nothing is said.
"""

from __future__ import annotations

import functools
import random
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planned_ad.errors import ConversionError, PlannedADError, UnsupportedError
from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .oracle import Shadows, compiled, interpreted, shadow_leaves, slope
from .random_loop_programs import arguments, function_of, write_program
from .sweeps import left_out, sweep
from .tracing_oracle import perturbed_by_nothing as copied
from .tracing_oracle import replay

COMMON = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
TOLERANCE = 1e-9  # sums are reassociated, and loops feed rounding back
NOT_YET: frozenset[str] = frozenset()  # constructs with known bugs
NO_BOUND = "known only at run time"  # what is kept in a loop whose length has no bound: refused
NO_NUMBER = "range(), a slice bound or a count needs the number"
UNROLLED_ALL = 1 << 30
MOST_UNROLLED = 0.2  # of all


@st.composite
def programs(draw, statements: int = 4) -> str:
    return write_program(lambda low, high: draw(st.integers(low, high)), NOT_YET, statements)


def run(f: Callable, args: tuple) -> tuple[float, tuple]:
    """What `f` returns, and its arguments afterwards."""
    after = copied(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*after), after


def run_to_numbers(f: Callable, args: tuple) -> tuple[float, tuple] | None:
    """As `run`; None where the program cannot run with these, or overflows."""
    try:
        value, after = run(f, args)
    except (IndexError, ValueError):
        return None
    return (value, after) if is_finite(value, after) else None


def is_finite(value: float, after: tuple) -> bool:
    return bool(np.isfinite(value)) and all(np.all(np.isfinite(a)) for a in after)


def assert_near(actual: object, expected: object, what: str) -> None:
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, what
    scale = float(max(1.0, np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=what)


def assert_same_run(actual: tuple, expected: tuple, what: str) -> None:
    """Two results, each with the arguments afterwards."""
    assert_near(actual[0], expected[0], f"{what}: value")
    for a, e in zip(actual[1], expected[1], strict=True):
        assert_near(a, e, f"{what}: an argument afterwards")


def assert_near_shadows(actual: Shadows, expected: Shadows, what: str) -> None:
    assert actual.keys() == expected.keys(), what
    for id in expected:
        assert_near(actual[id], expected[id], f"{what}, buffer {id}")


def gradient_of(traced: Trace, args: tuple) -> Shadows | None:
    """Of the interpreted reverse tape; None where it would have to keep something without a bound."""
    try:
        return interpreted(traced, "gradient", copied(args))
    except UnsupportedError as error:
        assert NO_BOUND in str(error)
        return None


@functools.lru_cache(maxsize=64)
def trace_of(source: str) -> Trace | None:
    """None where a loop of run-time length would have to be unrolled."""
    try:
        return trace(function_of(source), copied(arguments()), unroll=0)
    except ConversionError as error:
        assert NO_NUMBER in str(error)
        return None


def check(source: str, compile_too: bool = True) -> None:
    f = function_of(source)
    if run_to_numbers(f, arguments()) is None:
        return
    symbolic = trace_of(source)
    if symbolic is None:
        return
    verify(symbolic.tape)
    check_values(f, symbolic)
    expected = gradient_of(symbolic, arguments())
    if expected is not None:
        check_gradient(f, symbolic, expected)
        if compile_too:
            check_plan(f, symbolic)


def check_values(f: Callable, symbolic: Trace) -> None:
    """The trace against the function, on the arguments that it was made for and on others."""
    for seed in (0, 1, 2):
        args = arguments(seed)
        expected = run_to_numbers(f, args)
        if expected is not None:
            try:
                actual = replay(symbolic, *args)
            except GuardBroken:
                assert seed, "a guard fails for the example itself"
                continue
            assert_same_run(actual, expected, f"trace, seed {seed}")


def check_gradient(f: Callable, symbolic: Trace, expected: Shadows) -> None:
    """The gradient against that of the unrolled trace, and against differences."""
    args = arguments()
    try:
        unrolled = trace(f, copied(args), unroll=UNROLLED_ALL)
    except PlannedADError:  # run-time bounds cannot be unrolled
        pass
    else:
        whole = gradient_of(unrolled, args)
        if whole is not None:
            assert_near_shadows(expected, whole, "against unrolled")
    rng = np.random.default_rng(5)
    directions: Shadows = {
        leaf.buffer: np.asarray(rng.normal(size=leaf.shape))
        for leaf in symbolic.leaves
        if leaf.active and leaf.buffer is not None
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarse, fine = (slope(f, symbolic, args, directions, step) for step in (2e-4, 0.7e-4))
    if np.isclose(coarse, fine, rtol=1e-6, atol=1e-6):
        actual = sum(float(np.sum(expected[id] * d)) for id, d in directions.items())
        np.testing.assert_allclose(actual, fine, rtol=1e-5, atol=1e-5)


def check_plan(f: Callable, symbolic: Trace) -> None:
    """The compiled gradient against the interpreted one, twice, on several arguments."""
    plan = compiled(f, *copied(arguments()), unroll=0)
    traced = plan._variants[0].trace
    for seed in (0, 1, 0):
        args = arguments(seed)
        expected = run_to_numbers(f, args)
        if expected is None:
            continue
        own = copied(args)
        found = shadow_leaves(traced, plan.gradient(*own))
        assert_same_run((expected[0], own), expected, "gradient")
        try:
            assert_near_shadows(found, interpreted(symbolic, "gradient", args), "gradient")
        except GuardBroken:
            assert seed
    own = copied(arguments())
    assert_same_run((plan(*own), own), run(f, arguments()), "plan")


def program_of(seed: int, lines: int = 40) -> str:
    return write_program(random.Random(seed).randint, NOT_YET, lines=lines)


@pytest.mark.parametrize("seed", sweep(range(40), slice(12, 16)))
def test_random_loops(seed: int) -> None:
    check(program_of(seed, lines=22))


@pytest.mark.parametrize("seeds", [range(10), left_out(range(10, 50))], ids=str)
def test_most_loops_stay_loops(seeds: range) -> None:
    """At most a few programs have a loop that is recorded iteration by iteration, although it need not be."""
    unrolled = {}
    for seed in seeds:
        symbolic = trace_of(program_of(seed, lines=22))
        if symbolic is not None and symbolic.unrolled:
            unrolled[seed] = [found.reason for found in symbolic.unrolled]
    assert len(unrolled) <= MOST_UNROLLED * len(seeds), unrolled


@pytest.mark.long
@pytest.mark.parametrize("part", range(30))
@settings(COMMON, max_examples=50, derandomize=False)
@given(source=programs(statements=6))
def test_long_random_loops(part: int, source: str) -> None:
    check(source)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 3000, 100))
def test_seeds(start: int) -> None:
    """Without shrinking, and without compiling: as many programs as possible."""
    for seed in range(start, start + 100):
        source = program_of(seed)
        try:
            check(source, compile_too=False)
        except Exception as error:
            error.add_note(f"seed {seed}\n{source}")
            raise
