"""Errors that NumPy's functions raise after a look at data: handled by the function, or raised by the call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.tracing.record.dispatch import FUNCTIONS

X = np.array([1.0, 2.0, 4.0])
CALLS: dict[str, tuple[Callable[[Any, Any], Any], list[float], list[list[float]]]] = {
    "average": (lambda x, w: np.average(x, weights=w), [1, 1, 2], [[0, 0, 0], [1, 0, -1]]),
    "cov": (lambda x, w: np.cov(x, aweights=w), [1, 1, 2], [[-1, 2, 1], [0, 0, 0]]),
    "histogram": (lambda x, b: np.histogram(x, bins=b)[0] @ x[:2], [0, 1.5, 5], [[5, 1, 0], [0, 9, 2]]),
    "range": (lambda x, b: np.histogram(x, 2, (b[0], b[1]))[0] @ x[:2], [0, 5, 0], [[5, 0, 0], [0, np.inf, 0]]),
    "digitize": (lambda x, b: np.digitize(x, b) @ x, [0, 1.5, 5], [[0, 9, 2]]),
    "repeat": (lambda x, n: np.sum(np.repeat(x, n.astype(int))), [1, 0, 2], [[1, -1, 3]]),
    "bincount": (lambda x, n: np.bincount(n.astype(int))[1] * x[0], [1, 0, 2], [[1, -1, 2]]),
    "partition": (lambda x, k: np.sum(np.partition(x, int(k[0]))), [1, 0, 0], [[3, 0, 0], [-4, 0, 0]]),
    "eigvals": (lambda x, a: np.linalg.eigvals(np.diag(x) + a).real.max(), [1, 0, 2], [[1, np.nan, 2]]),
}
ERRORS = (ValueError, ZeroDivisionError, np.linalg.LinAlgError)


def handled(call: Callable[[Any, Any], Any], x: Any, data: Any) -> Any:
    try:
        return call(x, data)
    except ERRORS:
        return 7 * x[0]


def in_a_loop(call: Callable[[Any, Any], Any], x: Any, data: Any) -> Any:
    total = 0.0
    for k in range(20):
        try:
            total += call(x + k * 0.01, data)
        except ERRORS:
            total += 7 * x[0]
    return total


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("program", [handled, in_a_loop])
def test_the_function_handles_them(program: Callable[..., Any], name: str) -> None:
    call, good, bad = CALLS[name]
    plan = planned_ad.compile(lambda x, data: program(call, x, data), (X, np.array(good, float)))
    for data in (good, *bad, good):
        given = np.array(data, float)
        np.testing.assert_allclose(plan(X, given), program(call, X, given), rtol=1e-10)


@pytest.mark.parametrize("name", CALLS)
def test_calls_raise_them(name: str) -> None:
    call, good, bad = CALLS[name]
    plan = planned_ad.compile(call, (X, np.array(good, float)))
    for data in bad:
        given = np.array(data, float)
        with pytest.raises(ERRORS) as expected:
            call(X, given)
        for run in (plan, plan.gradient):
            with pytest.raises(type(expected.value), match=re.escape(str(expected.value)[:20])):
                run(X, given)
    np.testing.assert_allclose(plan(X, np.array(good, float)), call(X, np.array(good, float)), rtol=1e-10)


@pytest.mark.parametrize("right", [False, True])
def test_bins_that_fall(right: bool) -> None:
    def f(x: Any, bins: Any) -> Any:
        total = np.digitize(x, bins, right) @ x
        for k in range(20):
            total += np.digitize(x * k, bins, right)[1] * x[0]
        return total

    known = planned_ad.compile(lambda x: np.digitize(x, np.array([4.0, 2.0, 1.0]), right) @ x, (X,))
    assert known(X) == np.digitize(X, np.array([4.0, 2.0, 1.0]), right) @ X
    plan = planned_ad.compile(f, (X, np.array([0.5, 2.0, 3.0])))
    for bins in ([0.5, 2.0, 3.0], [4.0, 2.0, 1.0], [2.0, 2.0, 2.0], [9.0, 9.0, 2.0]):
        assert plan(X, np.array(bins)) == f(X, np.array(bins))


def test_powers_of_integers() -> None:
    def f(x: Any) -> Any:
        k = x.astype(int)
        return np.sum(k ** k[::-1]) * x[0]

    plan = planned_ad.compile(f, (X[:2],))
    assert plan(np.array([3.0, 4.0])) == f(np.array([3.0, 4.0]))
    with pytest.raises(planned_ad.errors.PlannedADError, match="power of integers"):
        plan(np.array([-3.0, 4.0]))


def test_errors_of_ours_are_not_handled_by_the_function() -> None:
    """How many parts there are is a number of the trace; where it is another one, there is another trace."""

    def f(x: Any) -> Any:
        try:
            return np.sum(np.split(x, int(x[0]))[0])
        except Exception:
            return 3 * x[0]

    plan = planned_ad.compile(f, (np.array([2.0, 3.0, 4.0, 5.0]),))
    for first in (2.0, 1.0, 4.5, 3.0, 0.5):
        x = np.array([first, 3.0, 4.0, 5.0])
        assert plan(x) == f(x)


def test_chosen_by_what_is_chosen_in_a_function_that_handles_all_errors() -> None:
    def f(x: Any) -> Any:
        k = np.floor(x).astype(int)
        try:
            return x[k[k < 4]].sum()
        except Exception:
            return x[0] * 3

    plan = planned_ad.compile(f, (np.array([2.0, 1.5, 3.0, 4.0]),))
    for x in ([1.0, 2.0, 1.3, 0.5], [3.0, -2.0, 1.7, 0.5], [0.0, 1.2, -3.0, 2.5]):
        assert plan(np.array(x)) == f(np.array(x))


def test_mistakes_of_ours_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*args: Any) -> Any:
        raise AttributeError("a mistake")

    monkeypatch.setitem(FUNCTIONS, np.hypot, breaks)

    def f(x: Any) -> Any:
        try:
            return np.sum(np.hypot(x, 2.0))
        except Exception:
            return x[0] * 3

    with pytest.raises(planned_ad.errors.PlannedADError, match=r"the function has caught this.*hypot"):
        planned_ad.compile(f, (X,), check=False)


def test_errors_of_a_function_that_numpy_calls_are_its_own() -> None:
    def f(x: Any) -> Any:
        try:
            return np.sum(np.apply_along_axis(lambda row: row.nothing_of_the_kind, 1, x.reshape(1, 3)))
        except AttributeError:
            return x[0] * 3

    plan = planned_ad.compile(f, (X,))
    assert plan(2 * X) == f(2 * X)
