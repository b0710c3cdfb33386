"""Numbers of which iterations leave several classes, and truths of which code asks whether one `is` True."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import with_loops_compiled
from .number_type_programs import NUMBERS, TRUTHS
from .sweeps import name_of, rotated


@pytest.mark.filterwarnings("ignore")  # of truths that are inverted, and of integers that overflow
@pytest.mark.parametrize(("f", "unroll"), rotated([*NUMBERS, *TRUTHS], [0, 16]), ids=name_of)
def test_classes_are_those_of_python(f: Callable, unroll: int) -> None:
    rng = np.random.default_rng(0)
    plan = with_loops_compiled(f, rng.random(24), unroll)
    for x in (rng.random(24), rng.random(24)):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)


def test_numbers_that_nobody_tells_apart_leave_loops_rolled() -> None:
    def f(x):
        total, best, found = 0, 0.0, False
        for v in x:
            best = max(0, v) if v > 0.5 else 1
            found = found or v > 0.9
            total += best * 2.0 - (3 if found else 0.5)
        return total

    found = trace(f, (np.linspace(0.0, 1.0, 30),), unroll=0)
    assert found.rolled and not found.unrolled


def test_a_truth_that_is_only_tested_leaves_loops_rolled() -> None:
    def f(x, verbose=False):
        total = 0.0
        for v in x:
            if float(v) > 0.5:
                total += v
            if verbose is True:
                print(total)
        return total

    found = trace(f, (np.linspace(0.0, 1.0, 30),), unroll=0)
    assert found.rolled and not found.unrolled


def test_what_max_gives_is_seen_where_its_type_is_asked_for() -> None:
    def f(x):
        return x[0] * 2.0 if isinstance(max(0, x[1]), int) else x[0]

    plan = planned_ad.compile(f, (np.ones(3),))
    for x in (np.array([3.0, 1.0, 0.0]), np.array([3.0, -1.0, 0.0])):
        assert plan(x) == f(x)


def positive(*numbers):
    return np.array([max(0, v) for v in numbers])


WRITTEN = {
    "itself": lambda x: positive(x[0], x[1]),
    "of a loop": lambda x: positive(*x),
    "of one": lambda x: np.array([max(0, x[0])]),
    "a copy": lambda x: positive(x[0], x[1]).copy(),
    "a view": lambda x: positive(x[0], x[1])[::-1],
    "elements": lambda x: positive(x[0], x[1])[[1, 0]],
    "a sum": lambda x: positive(x[0], x[1]) + 1,
    "a running sum": lambda x: np.cumsum([max(0, x[0]), max(0, x[1])]),
    "parts": lambda x: np.concatenate([positive(x[0], x[1]), [1]]),
    "parts by r_": lambda x: np.r_[max(0, x[0]), max(0, x[1])],
    "stacked": lambda x: np.stack([max(0, x[0]), max(0, x[1])]),
    "sorted": lambda x: np.sort(positive(x[0], x[1])),
    "repeated": lambda x: np.repeat(max(0, x[0]), 3),
    "full": lambda x: np.full(3, max(0, x[0])),
    "of sums": lambda x: np.array([np.sum(positive(x[0], x[1]))] * 2),
    "zeros like it": lambda x: np.zeros_like(positive(x[0], x[1])),
    "of floats": lambda x: positive(x[0], x[1]) * 1.0,
    "divided": lambda x: positive(x[0], x[1]) / 2,
}
INPUTS = [np.array(x) for x in ([0.6, 0.7, 0.1], [-0.5, -1.0, -1.0], [0.9, 0.6, 0.3], [-0.9, 0.1, 2.0])]


@pytest.mark.parametrize("name", WRITTEN)
def test_arrays_of_integers_cut_what_is_written_to_them(name: str) -> None:
    def f(x):
        array = WRITTEN[name](x)
        array[0] = 0.7
        return np.sum(array) + x[2]

    plan = planned_ad.compile(f, (INPUTS[0],))
    for x in INPUTS:
        assert plan(x) == pytest.approx(f(x), rel=1e-15)


def test_the_dtype_of_such_arrays() -> None:
    def f(x):
        return x[0] if positive(x[0], x[1]).dtype == int else x[1]

    plan = planned_ad.compile(f, (INPUTS[0],))
    assert [plan(x) for x in INPUTS] == [f(x) for x in INPUTS]


def test_arrays_whose_dtype_nobody_asks_for_are_data() -> None:
    def f(x):
        a, b = positive(*x), np.empty(3)
        b[:] = a * 0.5
        b[0] = np.linalg.norm(a) + a @ np.exp(a)
        return np.sum(b / 3) + np.sum(a[1:])

    plan = planned_ad.compile(f, (INPUTS[0],))
    assert "guards" not in str(plan.explain())
    for x in INPUTS:
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)


@pytest.mark.parametrize("digits", [0, 1, 2, 6, 15])
def test_floats_are_rounded_by_all_their_digits(digits: int) -> None:
    """As Python has it: 2.675 is below the tie that it is written as."""
    rng = np.random.default_rng(digits)
    ties = (rng.integers(-1000, 1000, 60) + 0.5) / 10.0**digits
    numbers = np.concatenate(
        [ties, np.round(rng.normal(size=60), digits + 1), [2.675, 1.005, 1e300, -0.0, -5e-07, 1e16]]
    )

    def f(x):
        return round(float(x[0]), digits) * 1.0

    plan = planned_ad.compile(f, (np.ones(1),), check=False)
    for number in numbers:
        got, want = plan(np.array([number])), round(float(number), digits)
        assert got == want and np.signbit(got) == np.signbit(want)


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8", "uint16", "uint32", "uint64"])
def test_small_integers_wrap_as_numpys_do(kind: str) -> None:
    make = getattr(np, kind)

    def f(x, k):
        return x[0] * make(k[0]) + np.sum(make(k) * 3) + isinstance(make(k[1]), make)

    plan = planned_ad.compile(f, (np.ones(2), np.array([3, 5])))
    for k in ([3, 5], [300, 70_000]):
        assert plan(np.array([2.0, 1.0]), np.array(k)) == f(np.array([2.0, 1.0]), np.array(k))


@pytest.mark.parametrize("count", [1, 40])
def test_integers_of_python_that_are_too_large_for_another_type_raise(count: int) -> None:
    def f(x):
        total = 0.0
        for i in range(count):
            total += x[1] * np.int16(int(x[0]) + i)
        return total

    plan = planned_ad.compile(f, (np.array([2.0, 3.0]),))
    assert plan(np.array([-4.0, 3.0])) == f(np.array([-4.0, 3.0]))
    for x in ([40_000.0, 1.0], [-40_000.0, 1.0]):
        with pytest.raises(OverflowError, match="out of bounds for int16"):
            plan(np.array(x))


ADD, LESS, POWER, NEGATIVE = float.__radd__, float.__lt__, float.__rpow__, float.__neg__


def test_methods_of_float_and_int_stand_for_operators() -> None:
    operators = {name: getattr(float, f"__{name}__") for name in ("mul", "truediv", "rsub", "mod", "abs")}

    def f(x):
        v, k = x[0].item(), int(np.argmax(x))
        total = ADD(v, 2.0) * POWER(2.0, v) + NEGATIVE(v) + operators["truediv"](1.0, v) + float.__mul__(2.0, 3.0)
        for name in ("mul", "rsub", "mod"):
            total = total + operators[name](v, x[1].item()) * int.__add__(k, 2)
        return total * x[2] if LESS(v, 9.0) else operators["abs"](v)

    plan = planned_ad.compile(f, (np.array([1.5, 0.7, 2.0]),))
    for x in (np.array([1.5, 0.7, 2.0]), np.array([-0.5, 1.7, 0.2]), np.array([10.5, 1.7, 0.2])):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)
        around = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        np.testing.assert_allclose(plan.gradient(x), around, rtol=1e-7, atol=1e-8)


def test_texts_are_those_of_the_type() -> None:
    def f(x):
        b, k = x[0] > 0.5, np.argmax(x)
        texts = [repr(b) == "np.True_", repr(k) == "np.int64(2)", str(k) == "2", f"{b}" == "True"]
        texts += [repr([b]) == "[np.True_]", repr(bool(b)) == "True", repr(int(k)) == "2"]
        return sum(10.0**n * text for n, text in enumerate(texts)) + x[0]

    plan = planned_ad.compile(f, (INPUTS[0],))
    assert [plan(x) for x in INPUTS] == [f(x) for x in INPUTS]


def test_arrays_that_loops_hand_on() -> None:
    def f(x):
        h = np.zeros(2)
        for i in range(30):
            h = np.array([max(0, x[i] + h[0]), max(0, x[i] - h[1])])
        h[0] = 0.7
        return h.sum() + x[0]

    plan = planned_ad.compile(f, (np.linspace(-1.0, 1.0, 30),))
    for x in (np.full(30, -0.5), np.full(30, 0.5), np.linspace(1.0, -1.0, 30)):
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


def test_loops_of_such_arrays_stay_loops() -> None:
    weights = np.array([[0.5, -0.2], [0.1, 0.3]])

    def f(x):
        h = np.zeros(2)
        for i in range(30):
            z = weights @ h + x[i]
            h = np.array([max(0, z[0]), max(0, z[1])])
        return h.sum() + x[0]

    found = trace(f, (np.linspace(-1.0, 1.0, 30),), unroll=0)
    assert found.rolled and not found.unrolled
