"""Errors that data decide about and that the program handles itself: tests like any other, in loops that stay loops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.python.liveness import catches, handlers
from planned_ad.trace import trace

from .caught_programs import LOOPS, PROGRAMS, not_converged, required_in_a_helper, too_large
from .interpreted_plans import check_elsewhere
from .sweeps import name_of, rotated


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_handled_errors(f: Callable, unroll: int) -> None:
    check_elsewhere(f, 12, unroll, unroll == 0 and f in LOOPS, step=1e-6, rel=1e-12)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.random.default_rng(0).random(40),), unroll=0)
    assert found.rolled and not found.unrolled


FAILING = [
    (too_large, 3, 7.0, OverflowError, "too large: 2.0"),
    (required_in_a_helper, 30, -1.0, ValueError, "negative"),
    (required_in_a_helper, 30, np.nan, AssertionError, "not finite"),
    (not_converged, 0, 1e90, RuntimeError, "no convergence"),
]


@pytest.mark.parametrize("on_branch", ["retrace", "record", "raise"])
@pytest.mark.parametrize("f, place, number, error, message", FAILING)
def test_errors_that_nobody_handles_are_those_of_the_function(
    f: Callable, place: int, number: float, error: type, message: str, on_branch: str
) -> None:
    x, scale = np.linspace(0.1, 1.0, 40), 2.0
    plan = planned_ad.compile(f, (x, scale), unroll=0, on_branch=on_branch, check=False, preserve_args=True)
    assert plan(x, scale) == pytest.approx(f(x.copy(), scale)) and not plan.explain().fallbacks
    x[place] = number
    if f is not_converged:
        scale = 4.0
    given, shadow = x.copy(), np.full(40, 7.0)
    with pytest.raises(error, match=message):
        plan(x, scale)
    with pytest.raises(error, match=message):
        plan.gradient(x, scale, shadow)
    np.testing.assert_array_equal(x, given)
    assert np.all(shadow == 7.0)


def required(x):
    total = 0.0
    for v in x:
        if v > 5.0:
            raise OverflowError(f"too large: {v:.1f}")
        total += v**3
    return total


CALLS = {
    "grad": lambda x: planned_ad.grad(required)(x),
    "hessian": lambda x: planned_ad.hessian(required)(x),
    "value_and_grad": lambda x: planned_ad.value_and_grad(required)(x),
    "in a plan": lambda x: planned_ad.compile(lambda x: np.sum(planned_ad.grad(required)(x)), (X,))(x),
    "of a derivative": lambda x: planned_ad.compile(planned_ad.grad(required), (X,))(x),
    "value_and_gradient": lambda x: planned_ad.compile(required, (X,)).value_and_gradient(x),
}
OTHER_CALLS = {  # of which the error is that of a trace
    "jvp": lambda x: planned_ad.jvp(required)(x, x),
    "vectorize": lambda x: planned_ad.vectorize(required)(np.stack([X, x])),
    "hvp": lambda x: planned_ad.compile(required, (X,), on_branch="record").hvp(x, x),
    "jacobian": lambda x: planned_ad.compile(required, (X,)).jacobian(x),
}
X = np.linspace(0.0, 1.0, 30)


@pytest.mark.parametrize("name", [*CALLS, *OTHER_CALLS])
def test_derivatives_raise_the_error_too(name: str) -> None:
    call, message = (CALLS[name], "too large: 7.0") if name in CALLS else (OTHER_CALLS[name], "too large")
    call(X)
    with pytest.raises(OverflowError, match=message):
        call(np.append(X[1:], 7.0))


def test_errors_have_numbers_in_them() -> None:
    def f(x):
        total = 0.0
        for i, v in enumerate(x):
            if v > 0.9:
                raise ValueError("large at %d: %r" % (i, float(v)))  # noqa: UP031
            total += v * v
        return total

    plan = planned_ad.compile(f, (np.linspace(0.3, 0.7, 8),), check=False)
    with pytest.raises(ValueError, match=r"large at 7: 0.95$"):
        plan(np.linspace(0.3, 0.95, 8))


@pytest.mark.parametrize("check", [True, False])
def test_an_example_with_such_an_error_has_it_too(check: bool) -> None:
    with pytest.raises(ValueError, match="negative"):
        planned_ad.compile(required_in_a_helper, (-np.ones(40), 2.0), check=check)(-np.ones(40), 2.0)


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
@pytest.mark.parametrize(
    ("of_math", "other"),
    [*((f, None) for f in OF_ONE), *rotated(OF_TWO, (0.5, 2.0, -3.0, 0.0, 1.0, np.inf))],
    ids=name_of,
)
def test_functions_of_math_raise_what_they_raise(of_math: Callable, other: float | None) -> None:
    others = () if other is None else (other,)
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


def test_clauses_are_found_past_long_ones() -> None:
    clauses = " except KeyError:\n" + "  r = r + 1\n" * 300 + " except ValueError as error:\n  r = error\n"
    module = compile(f"def f(r):\n try:\n  r = r * r\n{clauses} return r\n", "a file", "exec")
    code = next(item for item in module.co_consts if hasattr(item, "co_code"))
    target = handlers(code)[0][2]
    assert catches(code, target, frozenset({"ValueError"}))
    assert not catches(code, target, frozenset({"TypeError"}))


class Entered:
    """What a `with` statement enters: how many of them are not left yet."""

    count = 0

    def __enter__(self):
        Entered.count += 1

    def __exit__(self, *error):
        Entered.count -= 1


def test_statements_that_enter_something_are_left_where_a_trace_begins_again() -> None:
    def f(x):
        s = 0.3
        for v in x:
            try:
                with Entered(), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    s = np.arcsin(s / v)
            except RuntimeWarning:
                try:
                    with Entered(), warnings.catch_warnings():
                        warnings.simplefilter("error")
                        s = np.cos(s) / v
                except RuntimeWarning:
                    s = 0.0
        return s

    filters, Entered.count = list(warnings.filters), 0
    trace(f, (np.array([0.5, 0.9, 0.2]),))
    assert Entered.count == 0
    assert warnings.filters == filters
