"""Errors that data decide about and that the program handles itself: tests like any other, in loops that stay loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .caught_programs import LOOPS, PROGRAMS


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_handled_errors(f: Callable, unroll: int) -> None:
    rng = np.random.default_rng(0)
    x, direction = rng.random((2, 12))
    plan = planned_ad.compile(f, (x,), unroll=unroll, check=False)
    for _ in range(8):
        x, step = rng.random(12), 1e-6 * direction
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step) - f(x - step)) / 2e-6
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(40),), unroll=0)
    assert found.rolled and not found.unrolled


def test_an_error_that_nobody_handles_is_the_functions() -> None:
    def f(x):
        total = 0.0
        for v in x:
            if v > 2.0:
                raise OverflowError("too large")
            total += v * v
        return total

    x = np.linspace(0.0, 1.0, 20)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(OverflowError, match="too large"):
        plan(3.0 * x)


VALUES = np.array(
    [0.0, -0.0, 0.3, -0.3, 1.0, -1.0, 2.5, -2.5, 3.0, -3.0, 150.5, 171.5, 172.0, 709.5, 709.9, 710.4, 711.0, -710.4,
     -711.0, 1023.5, 1024.0, -1100.0, 1e200, 3e305, -3e305, np.inf, -np.inf, np.nan]
)  # fmt: skip
OF_ONE = (
    math.sqrt, math.cbrt, math.exp, math.exp2, math.expm1, math.log, math.log1p, math.log2, math.log10, math.sin,
    math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.asinh, math.acosh,
    math.atanh, math.erf, math.erfc, math.gamma, math.lgamma, math.fabs,
)  # fmt: skip
OF_TWO = (math.pow, math.atan2, math.copysign, math.fmod, math.remainder, math.log, math.hypot)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", (*OF_ONE, *((f, y) for f in OF_TWO for y in (0.5, 2.0, -3.0, 0.0, 1.0, np.inf))))
def test_functions_of_math_raise_what_they_raise(function: object) -> None:
    function, *others = function if isinstance(function, tuple) else (function,)
    of_math: Callable = function  # type: ignore[assignment]
    values = VALUES[-np.inf != VALUES] if of_math is math.lgamma else VALUES  # there SciPy has another infinity

    def f(x, *others):
        out = np.zeros(2 * len(x))
        for k in range(len(x)):
            try:
                out[k] = of_math(x[k], *others)
                out[k + len(x)] = of_math(*others, x[k])
            except ValueError:
                out[k] = -7.0
            except OverflowError:
                out[k] = -8.0
            except ZeroDivisionError:
                out[k] = -9.0
        return out

    plan = planned_ad.compile(f, (values, *others), check=False)
    np.testing.assert_allclose(plan(values, *others), f(values, *others), rtol=1e-12)


@pytest.mark.parametrize("on_branch", ["retrace", "record"])
@pytest.mark.parametrize("n", [3, 12])
def test_a_factor_that_there_is_not_has_a_finite_derivative(n: int, on_branch: str) -> None:
    def f(x):
        try:
            return np.sum(np.linalg.cholesky(x[:-1].reshape(n, n))) * x[-1]
        except np.linalg.LinAlgError:
            return x[0] * x[-1] ** 2

    good, bad = 3.0 * np.eye(n), 1.0 - 2.0 * np.eye(n)
    plan = planned_ad.compile(f, (np.append(good, 2.0),), on_branch=on_branch, check=False)
    expected = np.zeros(n * n + 1)
    expected[[0, -1]] = 4.0, -4.0
    np.testing.assert_allclose(plan.gradient(np.append(bad, 2.0)), expected)
