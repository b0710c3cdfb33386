"""What the planner rearranges before it decides what to keep, and what it then need not keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planned_ad
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.early_uses import use_early
from planned_ad.passes.pipeline import simplify
from planned_ad.passes.reciprocals import multiply_by_reciprocals
from planned_ad.planning.schedule import Nest
from planned_ad.tape.tape import Tape

from .blocks import assert_same, counted
from .random_tapes import RandomTape
from .sweeps import sweep

N = 200


def jacobi(a, b):
    for _ in range(40):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(a * a)


def scaled(a, b):
    for i in range(1, len(a)):
        a[i] = (a[i] + b[i] * a[i - 1]) / 9.0
    return np.sum(a / 3.0) / np.sum(b)


def grid(n):
    return np.random.default_rng(0).normal(size=(n, n))


def tape_of(function, *arguments) -> Tape:
    plan = planned_ad.compile(function, arguments, unroll=0)
    return plan._variants[0].entry("gradient").tape


@pytest.mark.parametrize("passed", [use_early, multiply_by_reciprocals])
def test_programs_keep_their_meaning(passed):
    for tape in (tape_of(jacobi, grid(6), grid(6)), tape_of(scaled, grid(9)[0], grid(9)[1] + 4.0)):
        assert_same(tape, passed(tape), exact=passed is use_early)


@pytest.mark.parametrize("seed", sweep(range(60), slice(0, None, 3)))
def test_random_tapes_keep_their_meaning(seed):
    tape = simplify(reverse(RandomTape(seed).tape()))
    assert_same(tape, multiply_by_reciprocals(tape))
    moved = use_early(tape)
    assert_same(tape, moved, exact=True)
    assert len(moved.operations) == len(tape.operations) and moved.turn == tape.turn


def test_quotients_of_the_primal_are_refined():
    tape = tape_of(scaled, grid(9)[0], grid(9)[1])
    after = multiply_by_reciprocals(tape)
    primal = replace(after, operations=after.operations[: after.turn])
    assert counted(primal, "refined_quotient") == 1 and counted(after, "refined_quotient") == 1
    assert counted(after, "divide") < counted(tape, "divide")


def quotients(a, b):
    return a / b


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200, 1e280])
def test_refined_quotients_are_what_numpy_has_to_the_last_bit(scale):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4001, 33)) * scale * 2.0 ** rng.integers(-60, 60, (4001, 33))
    a[:, 0], a[::7, 1], a[::11, 2], a[::13, 3] = 0.0, -0.0, np.inf, np.nan
    special = [1.0, -3.0, 2.0**-70, np.nextafter(2.0, 0), np.nextafter(1.0, 2), 0.0, np.inf, np.nan, 1e-310, 1e200, 7.0]
    plan = planned_ad.compile(quotients, (a, a[0]), check=False)
    rows = planned_ad.compile(quotients, (a, np.ones((4001, 1))), check=False)
    with np.errstate(all="ignore"):
        for b in (np.resize(special, 33), rng.random(33) + 0.5, rng.normal(size=33) * 1e3):
            assert same_bits(plan(a, b), a / b)
            column = np.resize(b, (len(a), 1))
            assert same_bits(rows(a, column), a / column)


def same_bits(a, b) -> bool:
    """Nan apart, whose bits say nothing."""
    known = ~(np.isnan(a) & np.isnan(b))
    return np.array_equal(a[known].view(np.int64), b[known].view(np.int64))


@pytest.mark.parametrize("divisor", [0.0, np.inf, np.nan, 1e-310, 1e308 * 1.5])
def test_what_has_no_normal_reciprocal_is_divided_by(divisor):
    tape = tape_of(lambda x: np.sum(x**2) / divisor, np.ones(3))
    assert counted(multiply_by_reciprocals(tape), "divide") == counted(tape, "divide")


def test_a_stencil_needs_one_copy_of_the_grid():
    """The primal none: the second statement reads what the first one has stored."""
    plan = planned_ad.compile(jacobi, (grid(N), grid(N)))
    explained = plan.explain("gradient")
    assert explained.cached_bytes == 0
    assert explained.workspace_bytes < 1.05 * 8 * N * N
    primal = plan.listing("call")
    assert not any(line.strip().startswith("s") and "[...] =" in line for line in primal.splitlines())


def test_an_early_use_is_kept_in_place_of_what_it_uses():
    def function(a):
        for _ in range(30):
            a[1:-1] = np.sin(0.3 * a[1:-1]) + a[2:]
        return np.sum(a)

    a = np.random.default_rng(1).normal(size=50)
    plan = planned_ad.compile(function, (a,), unroll=0)
    direction, h = np.random.default_rng(2).normal(size=50), 1e-6
    slope = (function(a + h * direction) - function(a - h * direction)) / (2 * h)
    np.testing.assert_allclose(plan.gradient(a.copy()) @ direction, slope, rtol=1e-6)


@pytest.mark.parametrize(("rows", "nests"), ((200, 4), (20, 2)))
def test_rows_and_columns_of_a_large_square_matrix_have_nests_of_their_own(rows: int, nests: int) -> None:
    """In both sweeps: where the matrix is large, one way to go through it is across its lines."""
    a, x = np.ones((rows, rows)), np.ones(rows)
    plan = planned_ad.compile(lambda a, x, y: np.sum((a @ x) * (y @ a)), (a, x, x))
    assert sum(isinstance(step, Nest) and step.domain == (rows, rows) for step in plan.memory().steps) == nests
    np.testing.assert_allclose(plan.gradient(a, x, x)[0], np.full((rows, rows), 2.0 * rows))
