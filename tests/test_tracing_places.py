"""Names that branches and loops bind to views are places: what is read through them is what memory holds then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.errors import UnsupportedError
from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .oracle import assert_shadows, interpreted
from .place_programs import (
    PROGRAMS,
    conditional_expression,
    row_of_a_matrix_kept,
    rows_solved_one_after_the_other,
)
from .random_place_programs import arguments, function_of, write_program
from .sweeps import left_out, name_of, rotated, sweep
from .tracing_oracle import perturbed_by_nothing as copied
from .tracing_oracle import replay


def compared(f: Callable, seeds: range, unroll: int) -> Trace:
    """Trace `f` at the first arguments; compare with the function there, and at the others that go the same way."""
    traced = trace(f, arguments(seeds[0]), unroll=unroll)
    verify(traced.tape)
    for seed in seeds:
        own = arguments(seed)
        after = copied(own)
        expected = f(*after)
        try:
            result, found = replay(traced, *own)
        except GuardBroken:
            assert seed != seeds[0]
            continue
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
        for a, e in zip(found, after):
            np.testing.assert_allclose(a, e, rtol=1e-9, atol=1e-9)
    return traced


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_what_is_read_is_what_memory_holds_then(f: Callable, unroll: int) -> None:
    compared(f, range(4), unroll)


@pytest.mark.parametrize("f", sweep(PROGRAMS, slice(0, None, 2)), ids=name_of)
def test_gradients_are_those_of_the_unrolled_program(f: Callable) -> None:
    own = arguments(0)
    found, expected = (
        interpreted(trace(f, copied(own), unroll=unroll), "gradient", copied(own)) for unroll in (0, 1 << 30)
    )
    assert_shadows(found, expected, f.__name__)


@pytest.mark.parametrize("seeds", [range(20), *map(left_out, (range(k, k + 20) for k in range(20, 200, 20)))], ids=str)
def test_random_programs(seeds: range) -> None:
    rolled = 0
    for seed in seeds:
        source = write_program(seed)
        f = function_of(source, seed)
        try:
            rolled += not compared(f, range(10 * seed, 10 * seed + 2), 16 * (seed % 2)).unrolled
        except UnsupportedError:
            continue
        except AssertionError as error:
            raise AssertionError(f"{source}\n{error}") from None
    assert rolled >= 5


# What stays a loop.


def chosen_and_not_written(x, y, s):
    for i in range(20):
        v = x[:3] if y[i % 12] > s else x[3:6]
        s = s + 0.1 * v[0]
    return s


def chosen_read_and_written_then(x, y, s):
    for _i in range(20):
        v = x[:3] if y[0] > s else x[3:6]
        s = s + 0.1 * v[0]
        x *= 0.9
    return s


def made_on_each_side(x, y, s):
    v = np.zeros(3)
    for i in range(20):
        if x[i % 10] > s:
            v = np.tanh(v + s)
        else:
            v = 0.5 * v
            v[1] = s
        v[0] += 0.1
    return v.sum()


def new_array_of_the_old(x, y, s):
    old = x.copy()
    new = x.copy()
    for _i in range(20):
        old = new
        new = np.tanh(old) + s
        new[0] = y[0]
        y *= 0.9
    return old.sum() + new.sum()


def list_of_new_arrays(x, y, s):
    states = []
    for _i in range(20):
        x = 0.9 * x
        states.append(x)
        y *= 0.9
    return sum(h[0] for h in states) + y.sum()


@pytest.mark.parametrize(
    "f",
    [
        chosen_and_not_written, chosen_read_and_written_then, made_on_each_side, new_array_of_the_old,
        list_of_new_arrays, conditional_expression, rows_solved_one_after_the_other,
    ],
)  # fmt: skip
def test_stays_a_loop(f: Callable) -> None:
    assert not compared(f, range(4), 0).unrolled


def test_the_reason_is_told() -> None:
    (unrolled,) = trace(row_of_a_matrix_kept, arguments(0)).unrolled
    assert "writes to memory" in unrolled.reason
    assert unrolled.line.text.strip().startswith("for ")
