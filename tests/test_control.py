"""Loops and branches as functions; loops whose length the data decide."""

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BranchError, IndexRangeError
from planned_ad.tape.tape import Branch, Loop, walk
from planned_ad.trace import trace

X = np.linspace(0.15, 0.9, 23)


def finite_differences(f, x):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


def gradient_is_right(f, x=X, **options):
    plan = planned_ad.compile(f, x, **options)
    np.testing.assert_allclose(plan.gradient(x), finite_differences(f, x), rtol=1e-6, atol=1e-7)
    return plan


def kinds(f, *args, **options):
    return [type(op) for op in walk(trace(f, args, **options).tape.operations)]


def through_fori_loop(x):
    return planned_ad.fori_loop(0, len(x), lambda i, s: 0.5 * s * x[i] + 1.0, x[0])


def through_scan(x):
    carry, ys = planned_ad.scan(lambda c, v: (0.3 * c * v + 1.0, (c * c, c + v)), x[0], x)
    return carry + ys[0].sum() + ys[1] @ x


def through_scan_without_items(x):
    carry, ys = planned_ad.scan(lambda c, _: (0.3 * c * x[1] + 1.0, None), x[0], length=30)
    assert ys is None
    return carry


def through_cond(x):
    def body(i, s):
        return planned_ad.cond(x[i] > 0.4, lambda a: a * x[i], lambda a: a + x[i] ** 2, s)

    return planned_ad.fori_loop(0, len(x), body, 1.0)


def through_switch(x):
    def body(i, s):
        branches = [lambda v: v, lambda v: v * v, lambda v: -np.sin(v)]
        return s + planned_ad.switch((x[i] * 3).astype(int), branches, x[i])

    return planned_ad.fori_loop(0, len(x), body, 0.0)


def through_while_loop(x):
    return planned_ad.while_loop(lambda s: s < 40.0, lambda s: s * 1.5 + x[1], x[0])


@pytest.mark.parametrize(
    "f",
    [through_fori_loop, through_scan, through_scan_without_items, through_cond, through_switch, through_while_loop],
)
def test_loops_and_branches_as_functions(f):
    assert Loop in kinds(f, X)
    gradient_is_right(f)


def test_both_sides_of_a_branch_stay():
    found = kinds(through_cond, X)
    assert found.count(Branch) == 1 and found.count(Loop) == 1


def test_they_run_untraced():
    assert planned_ad.fori_loop(3, 3, lambda i, s: s + i, 10) == 10
    assert planned_ad.switch(7, [lambda: "a", lambda: "b"]) == "b"


def root(x):
    """Newton's iteration for the square root, to a tolerance or a number of steps."""
    total = 0.0
    for value in x:
        guess, steps = 1.0, 0
        while abs(guess * guess - value) > 1e-12 and steps < 60:
            guess, steps = 0.5 * (guess + value / guess), steps + 1
        total += guess
    return total


def test_a_while_loop_is_recorded_once():
    plan = gradient_is_right(root, max_steps=60)
    np.testing.assert_allclose(plan.gradient(X), 0.5 / np.sqrt(X), rtol=1e-9)
    assert len(plan._variants) == 1
    assert kinds(root, X).count(Loop) == 2


def slow_root(x):
    guess = 1.0
    while abs(guess * guess - x[0]) > 1e-12:
        guess = guess - 0.05 * (guess * guess - x[0])
    return guess


def test_a_call_that_needs_more_steps_makes_room_for_them():
    near, far = np.array([1.0 + 1e-11]), np.array([2.0])
    plan = planned_ad.compile(slow_root, near, max_steps=8)
    np.testing.assert_allclose(plan.gradient(near), [0.5], rtol=0.1)
    expected = 0.5 / np.sqrt(far)
    np.testing.assert_allclose(plan.gradient(far), expected, rtol=1e-6)
    np.testing.assert_allclose(plan.gradient(far), expected, rtol=1e-6)
    assert len(plan._variants) == 1


def test_a_while_loop_can_be_told_how_much_memory_it_gets():
    def f(x):
        return planned_ad.while_loop(lambda s: s < 40.0, lambda s: s * s + x[1], x[0], max_steps=12)

    x = np.array([0.5, 1.1])
    plan = gradient_is_right(f, x)
    assert plan.explain().cached_bytes <= 12 * 9
    for start in (1e-3, -0.1):
        x = np.array([start, 0.3])
        np.testing.assert_allclose(plan.gradient(x), finite_differences(f, x), rtol=1e-5)


def test_a_call_that_needs_more_steps_raises_where_it_is_told_to():
    plan = planned_ad.compile(slow_root, np.array([1.0 + 1e-11]), max_steps=8, on_branch="raise")
    with pytest.raises(BranchError, match=r"while abs\(guess.*8 iterations.*max_steps="):
        plan.gradient(np.array([2.0]))


def row_sums(data, x, starts, columns):
    """A sparse matrix by rows times a vector."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += data[k] * x[columns[k]]
    return np.sum(np.sin(y))


def test_loops_between_run_time_integers():
    rng = np.random.default_rng(0)
    starts = np.array([0, 2, 2, 7, 9, 12])
    columns = rng.integers(0, 4, 12)
    data, x = rng.normal(size=12), rng.normal(size=4)
    plan = planned_ad.compile(row_sums, (data, x, starts, columns), unroll=0)
    assert plan.explain().cached_bytes <= 5 * 8  # the rows' sums, of which the cosine is taken
    for bounds in (starts, np.array([0, 0, 5, 6, 6, 12])):
        d_data, d_x = plan.gradient(data, x, bounds, columns)
        dense = np.zeros((5, 4))
        for i in range(5):
            np.add.at(dense[i], columns[bounds[i] : bounds[i + 1]], data[bounds[i] : bounds[i + 1]])
        slope = np.cos(dense @ x)
        np.testing.assert_allclose(d_x, dense.T @ slope, rtol=1e-12)
        rows = np.repeat(np.arange(5), np.diff(bounds))
        np.testing.assert_allclose(d_data, slope[rows] * x[columns], rtol=1e-12)


def test_an_index_out_of_range_in_a_loop_is_an_error():
    def picked(x, index):
        total = 0.0
        for k in range(len(index)):
            total += x[index[k]] ** 2
        return total

    index = np.arange(20) % 3
    plan = planned_ad.compile(picked, (np.ones(3), index))
    np.testing.assert_allclose(plan.gradient(np.ones(3), index - 3), 2 * np.bincount(index))
    before = np.full(3, 7.0)
    with pytest.raises(IndexRangeError, match=r"test_control\.py"):
        plan.gradient(np.ones(3), np.arange(20), before)
    np.testing.assert_array_equal(before, 7.0)


def test_a_loop_whose_length_is_data_keeps_what_its_derivative_needs():
    def powers(x, n):
        s = x[0]
        for _ in range(n[0]):
            s = np.sin(s) * x[1]
        return s

    plan = planned_ad.compile(powers, (X, np.array([5])))
    for n in (5, 0, -3, 12, 3000):
        s, ds = X[0], np.eye(len(X))[0]
        for _ in range(n):
            s, ds = np.sin(s) * X[1], np.cos(s) * X[1] * ds + np.sin(s) * np.eye(len(X))[1]
        assert plan(X, np.array([n])) == pytest.approx(s, rel=1e-12)
        np.testing.assert_allclose(plan.gradient(X, np.array([n])), ds, rtol=1e-10, atol=1e-300)
