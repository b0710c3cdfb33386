"""Programs in which data decide places, states and ends are one loop, traced once; see `one_loop`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planned_ad
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .one_loop import PROGRAMS
from .one_loop.lengths import by_order
from .one_loop.pivots import gauss_fancy, selection_sort
from .one_loop.program import N, matrix_and_order, normal, system, two_numbers
from .one_loop.states import enum_state
from .sweeps import sweep
from .verdicts import Interpreted, examine

SEEDS = (0, 1, 2)
UNROLLED = [(name, unroll) for name in PROGRAMS for unroll in (1, 16, 300)]
IN_LISTS = {"lists_of_lists2"}  # of which the rows are made one by one


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_trace_serves_for_all_inputs(name: str) -> None:
    f, make = PROGRAMS[name]
    plan = Interpreted(f, make(0), 0)
    verify(plan.trace.tape)
    assert not plan.trace.unrolled or name in IN_LISTS
    for seed in SEEDS:
        plan.check(make(seed))


@pytest.mark.parametrize(("name", "unroll"), sweep(UNROLLED, slice(0, None, 8)))
def test_they_are_right_however_many_iterations_are_written_out(name: str, unroll: int) -> None:
    f, make = PROGRAMS[name]
    verdict = examine(f, [make(seed) for seed in SEEDS], unroll=unroll)
    assert verdict.kind == "right", verdict


@pytest.mark.parametrize(
    ("f", "make"),
    [(gauss_fancy, system), (by_order, matrix_and_order), (enum_state, two_numbers)],
    ids=lambda item: item.__name__,
)
def test_compiled(f, make) -> None:
    verdict = examine(f, [make(seed) for seed in SEEDS], unroll=0, compiled=True)
    assert verdict.kind == "right", verdict


def test_derivatives_of_an_elimination() -> None:
    """Of `sum(x ** 2)` with `A x = b`: by `b` it is quadratic, whatever the pivots are."""

    def f(b):
        return gauss_fancy(A, b)

    A = normal(3, N, N)
    inverse = np.linalg.inv(A)
    hessian = 2 * inverse.T @ inverse
    b, v = normal(4, N), normal(5, N)
    plan = planned_ad.compile(f, (b,), unroll=0)
    assert plan.gradient(b) == pytest.approx(hessian @ b)
    assert plan.hvp(b, v) == pytest.approx(hessian @ v)
    assert plan.jvp(b, v)[1] == pytest.approx(b @ hessian @ v)
    forward, reverse = plan.split()
    tape, db = forward.tape(), np.zeros(N)
    assert forward(b, tape) == pytest.approx(b @ hessian @ b / 2)
    reverse(tape, db, 1.0)
    assert db == pytest.approx(hessian @ b)


def test_an_index_past_a_moving_end_is_refused() -> None:
    def f(x, q):
        total = 0.0
        for i in range(len(x)):
            total += x[i:][q[i]] * x[: i + 1][-q[i] - 1]
        return total

    x, q = normal(0, N), np.zeros(N, int)
    plan = planned_ad.compile(f, (x, q), unroll=0)
    assert not plan.explain().fallbacks
    assert plan(x, q) == pytest.approx(f(x, q))
    with pytest.raises(IndexError):
        plan(x, np.full(N, 1))


def test_nothing_to_choose_from_is_numpys_error() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += x[np.argmax(x[i + 1 :])]
        return total

    with pytest.raises(ValueError, match="empty"):
        trace(f, (normal(0, N),), unroll=0)


def test_extremes_are_the_first_ones_and_nan() -> None:
    def f(x):
        found = np.zeros(len(x))
        for i in range(len(x)):
            found[i] = np.argmax(x[i:]) * 10.0 + np.argmin(x[i:])
        return found * x[0]

    for x in (np.array([1.0, 3.0, 3.0, 0.0, 0.0]), np.array([2.0, 1.0, np.nan, 5.0, np.nan])):
        plan = Interpreted(f, (x,), 0)
        assert not plan.trace.unrolled
        plan.check((x,))


def test_a_variable_that_no_iteration_has_assigned() -> None:
    def f(a, tol):
        low, high = 0.0, a
        while high - low > tol:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if middle**2 > a else (middle, high)
        return middle

    plan = planned_ad.compile(f, (2.0, 0.1), unroll=0)
    assert not plan.explain().fallbacks
    assert plan(3.0, 0.01) == pytest.approx(f(3.0, 0.01))
    with pytest.raises(UnboundLocalError):
        plan(2.0, 5.0)


def test_texts_that_data_choose_are_known_outside_of_loops() -> None:
    prices = {"high": 3.0, "low": 1.0}

    def f(x):
        label = "low"
        for v in x:
            label = "high" if v > 0.5 else "low"
        return x[0] * prices[label] + len(label)

    x = np.array([0.1, 0.7, 0.9])
    plan = planned_ad.compile(f, (x,), unroll=0)
    assert not plan.explain().fallbacks
    for sign in (1.0, -1.0):
        assert plan(sign * x) == f(sign * x)
        assert plan.gradient(sign * x)[0] == prices["high" if sign > 0 else "low"]


def test_the_status_that_is_returned() -> None:
    def f(x):
        status = None
        for _ in range(9):
            x = 0.5 * x
            if x < 0.3:
                status = "small"
        return x, status

    plan = planned_ad.compile(f, (2.0,), unroll=0)
    assert [plan(x) for x in (2.0, 900.0)] == [f(2.0), f(900.0)]


def test_running_totals_of_what_is_written_meanwhile() -> None:
    def f(x):
        x = x.copy()
        total = 0.0
        for k, t in enumerate(itertools.accumulate(x)):
            total += t
            if k + 1 < len(x):
                x[k + 1] = 0.5 * t
        return total

    for unroll in (0, 16):
        assert examine(f, [(normal(seed, N),) for seed in SEEDS], unroll=unroll).kind == "right"


def test_what_a_list_does_not_have() -> None:
    def f(x, k):
        rest = [0, 1, 2, 3]
        total = 0.0
        for i in range(3):
            rest.remove((k[i] + 1) // 2)
            total += x[rest[0]]
        return total

    x, k = normal(0, N), np.array([1, 3, 5])
    plan = planned_ad.compile(f, (x, k), unroll=0)
    assert not plan.explain().fallbacks
    assert plan(x, k) == f(x, k)
    assert plan(x, k[::-1].copy()) == f(x, k[::-1])
    with pytest.raises(ValueError, match="not in list"):
        plan(x, np.array([1, 1, 5]))


def test_selection_sort_is_the_order_of_the_elements() -> None:
    x = normal(7, 6)
    plan = planned_ad.compile(selection_sort, (x,), unroll=0)
    ranks = np.argsort(np.argsort(x)) + 1.0
    for y in (x, -x):
        assert plan(y) == pytest.approx(np.sort(y) * np.arange(1.0, 7))
    dx = np.zeros(6)
    plan.pullback(x, dx, np.ones(6))
    assert dx == pytest.approx(ranks)
