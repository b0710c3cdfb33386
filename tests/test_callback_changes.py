"""What functions that SciPy calls leave behind is refused where it is read: in the trace they are called otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint, quad, solve_ivp
from scipy.optimize import brentq, curve_fit, fsolve, minimize

import planned_ad
from planned_ad.errors import UnsupportedError

from .sweeps import name_of, rotated

P = np.array([1.1, 0.4, 0.1])


class Problem:
    def __init__(self, p):
        self.p, self.calls, self.log, self.last = p, 0, [], np.zeros(2)

    def gap(self, x):
        self.calls += 1
        self.log.append(x)
        return x**2 - self.p[0]

    def loss(self, x):
        self.last[:] = x
        self.calls += 1
        return np.sum((x - self.p[:2]) ** 2)

    def model(self, x, a):
        self.calls += 1
        return a * x + self.p[1]


def in_a_closure(p, read):
    calls, log, n, where = [0], [], 0, np.zeros(1)

    def gap(x):
        nonlocal n
        calls[0] += 1
        n += 1
        log.append(x)
        where[0] = x
        return x**2 - p[0]

    root = brentq(gap, 0.0, 3.0)
    if read:
        return root * (calls[0] if read == 1 else len(log) if read == 2 else n if read == 3 else where[0])
    return root


def of_a_helper(p, read):
    def root(log):
        return brentq(lambda x: (log.append(x), x**2 - p[0])[1], 0.0, 3.0)

    log = []
    return root(log) * (len(log) if read else 1.0)


def in_methods(p, read):
    q, u, v, w = Problem(p), Problem(p), Problem(p), Problem(p)
    total = brentq(q.gap, 0.0, 3.0) + quad(u.gap, 0.0, 1.0)[0] + minimize(v.loss, [0.0, 0.0]).x[0]
    total = total + curve_fit(w.model, np.arange(4.0), np.arange(4.0) * p[0])[0][0]
    return total * q.calls if read else total


def of_differential_equations(p, read):
    calls = [0]

    def slope(t, y):
        calls[0] += 1
        return -p[0] * y

    return solve_ivp(slope, (0.0, 1.0), [1.0, 2.0], "BDF", [1.0]).y[0, 0] * (calls[0] if read else 1.0)


def of_systems(p, read):
    best = {"x": None, "seen": 2.0}

    def gaps(x):
        best["x"] = x
        return x**2 - p[:2]

    found = fsolve(gaps, [1.0, 1.0])
    return found[0] * (best["x"][0] if read else best["seen"])


PROGRAMS = (in_a_closure, of_a_helper, in_methods, of_differential_equations, of_systems)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_left_behind_is_refused_where_it_is_read(f: Callable) -> None:
    """Counts and logs that nobody reads are no matter."""
    plan = planned_ad.compile(f, (P, 0), check=False)
    assert plan(P * 1.1, 0) == pytest.approx(f(P * 1.1, 0), rel=1e-12)
    for read in range(1, 5 if f is in_a_closure else 2):
        with pytest.raises(UnsupportedError, match="has changed; SciPy calls it"):
            planned_ad.compile(f, (P, read), check=False)


def test_methods_that_count() -> None:
    for read in range(1, 5):

        def f(p: Any, read: int = read) -> Any:
            q = Problem(p)
            if read == 1:
                return brentq(q.gap, 0.0, 3.0) * len(q.log)
            if read == 2:
                return quad(q.gap, 0.0, 1.0)[0] * q.calls
            if read == 3:
                return minimize(q.loss, [0.0, 0.0]).x[0] * q.last[0]
            return curve_fit(q.model, np.arange(4.0), np.arange(4.0) * p[0])[0][0] * q.calls

        with pytest.raises(UnsupportedError, match="has changed; SciPy calls it"):
            planned_ad.compile(f, (P,), check=False)


def test_arguments_that_are_written_to() -> None:
    def f(p):
        def gap(x):
            p[1] += 1.0
            return x**2 - p[0]

        return brentq(gap, 0.0, 3.0)

    with pytest.raises(UnsupportedError, match="writes to an argument"):
        planned_ad.compile(f, (P.copy(),))


def counting_twice(p):
    q, u = Problem(p), Problem(p)
    first = brentq(q.gap, 0.0, 3.0) + brentq(q.gap, 0.0, 2.0) + 0.0 * q.gap(1.0)
    found = minimize(u.loss, [0.0, 0.0])
    return first + u.loss(found.x) + u.loss(p[:2] + 1.0)


def into_a_buffer(p):
    slopes = np.zeros(2)

    def slope(y, t):
        slopes[0], slopes[1] = y[1], -p[0] * y[0]
        return slopes

    first, second = odeint(slope, [1.0, 0.0], [0.0, 1.0])[-1], odeint(slope, [1.0, 0.5], [0.0, 2.0])[-1]
    return first[0] + second[1] + slope(np.array([2.0, 1.0]), 0.0)[1]


def with_a_cache(p):
    cache, n = {}, 0

    def gap(x):
        nonlocal n
        n += 1
        cache["x"], cache["n"] = x, cache.get("n", 0) + 1
        if n % 5 == 0:
            cache["fifth"] = x
        return x**2 - p[0]

    return sum(brentq(gap, 0.0, 2.0 + k) for k in range(3))


@pytest.mark.parametrize(
    ("f", "check"), rotated((counting_twice, into_a_buffer, with_a_cache), (True, False)), ids=name_of
)
def test_what_changes_may_be_changed_on(f: Callable, check: bool) -> None:
    plan = planned_ad.compile(f, (P,), check=check)
    for p in (P, P * 1.2):
        assert plan(p) == pytest.approx(f(p), rel=1e-9)


class Stop(Exception):
    pass


def stopped(p, solve):
    def gap(x):
        if x < p[0]:
            raise Stop
        return x**2 - 9.0

    try:
        return solve(gap) * p[0]
    except Stop:
        return 2.0 * p[0]


@pytest.mark.parametrize("solve", (lambda g: brentq(g, 0.0, 5.0), lambda g: quad(g, 0.0, 5.0)[0]))
@pytest.mark.parametrize("check", (True, False))
def test_errors_of_callbacks_that_are_caught(solve: Callable, check: bool) -> None:
    """Whether there is one is known when the plan runs; what is compiled where there is none raises it."""
    with pytest.raises(UnsupportedError, match="which the traced function catches"):
        planned_ad.compile(stopped, (np.array([2.0]), solve), check=check)


def test_errors_of_scipy_that_are_caught() -> None:
    def f(p):
        try:
            return brentq(lambda x: x**2 + p[0], 0.0, 3.0)
        except ValueError:
            return p[0] * 2.0

    plan = planned_ad.compile(f, (np.array([-1.0]),))
    assert plan(np.array([-2.0])) == pytest.approx(np.sqrt(2.0))
    with pytest.raises(ValueError, match="different signs"):
        plan(np.array([1.0]))


@pytest.mark.parametrize("read", (False, True))
def test_callbacks_of_minimize(read: bool) -> None:
    """They are called when the plan runs, whatever they ask of the numbers."""

    def f(p):
        steps = []

        def note(x):
            steps.append(f"{x[0]:.1f}")
            if len(steps) > 100:
                raise StopIteration

        root = minimize(lambda x: np.sum((x - p[:2]) ** 2), [0.0, 0.0], callback=note).x[0]
        return root * len(steps) if read else root

    if read:
        with pytest.raises(UnsupportedError, match="reads `steps`"):
            planned_ad.compile(f, (P,), check=False)
    else:
        assert planned_ad.compile(f, (P,))(P) == pytest.approx(f(P), rel=1e-12)


def test_functions_that_are_called_as_often_as_numpy_calls_them() -> None:
    def f(p):
        calls = [0, 0]

        def doubled(x):
            calls[0] += 1
            return 2.0 * x

        def halved(x):
            calls[1] += 1
            return 0.5 * x

        return np.sum(np.frompyfunc(doubled, 1, 1)(p)) * calls[0] + np.sum(np.vectorize(halved)(p)) * calls[1]

    assert planned_ad.compile(f, (P,), check=False)(P) == pytest.approx(float(f(P)), rel=1e-12)
