"""`scipy.optimize.fmin`, `golden` and their like: SciPy's minimum, with the derivative of where the slope is zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import planned_ad
from planned_ad.errors import UnsupportedError

A = np.array([1.2, 0.7])  # the minimum is at a[0] - a[1] / 2


def bowl(x: Any, a: Any) -> Any:
    return (x - a[0]) ** 2 + a[1] * x


def bowls(x: Any, a: Any) -> Any:
    return bowl(x[0], a) + (x[1] - x[0] * a[1]) ** 2 if len(x) > 1 else bowl(x[0], a)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "fmin": lambda a: so.fmin(bowls, [0.0], args=(a,), disp=0, xtol=1e-9, ftol=1e-12)[0],
    "fmin of two": lambda a: so.fmin(lambda x: bowls(x, a), [0.0, 0.0], disp=False, xtol=1e-9, ftol=1e-12) @ [1.0, 0.0],
    "fmin_powell": lambda a: so.fmin_powell(bowls, np.zeros(1), (a,), disp=0)[0],
    "fmin_bfgs": lambda a: so.fmin_bfgs(bowls, [0.0, 1.0], None, (a,), disp=0)[0],
    "fmin_cg": lambda a: so.fmin_cg(lambda x: bowls(x, a), [0.0, 1.0], disp=0, gtol=1e-8)[0],
    "golden": lambda a: so.golden(bowl, (a,), brack=(0, 1), tol=1e-10),
    "brent": lambda a: so.brent(bowl, args=(a,), brack=(0, 1)),
    "fminbound": lambda a: so.fminbound(bowl, -3.0, 3.0, args=(a,), xtol=1e-10),
    "brute": lambda a: so.brute(bowls, ((-3.0, 3.0), (-1.0, 2.0)), (a,), Ns=6)[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_minima(name: str) -> None:
    f = PROGRAMS[name]
    plan = planned_ad.compile(f, (A,))
    for a in (A, A * [0.9, 1.3]):
        assert plan(a) == pytest.approx(f(a), rel=1e-12)
        np.testing.assert_allclose(plan.gradient(a), [1.0, -0.5], rtol=1e-9)


def cost(t: Any, a: Any) -> Any:
    return a[1] * t + t**2


ON_BOUNDS: dict[str, tuple[Callable[[Any], Any], Any]] = {  # with the exact derivative of where it lies
    "fminbound": (lambda a: so.fminbound(cost, a[0], 3.0, (a,)), lambda a: [1.0, 0.0]),
    "minimize_scalar": (lambda a: so.minimize_scalar(cost, bounds=(a[0], 3), args=(a,)).x, lambda a: [1.0, 0.0]),
    "its value": (
        lambda a: so.minimize_scalar(cost, bounds=(a[0], 3.0), args=(a,), method="bounded").fun,
        lambda a: [a[1] + 2 * a[0], a[0]],
    ),
    "the upper bound": (lambda a: so.fminbound(lambda t: -cost(t, a), 0.0, a[0], xtol=1e-7), lambda a: [1.0, 0.0]),
    "between them": (lambda a: so.minimize_scalar(lambda t: (t - a[0]) ** 2, bounds=(0, 3)).x, lambda a: [1.0, 0.0]),
}


@pytest.mark.parametrize("name", ON_BOUNDS)
def test_minima_on_bounds(name: str) -> None:
    f, exactly = ON_BOUNDS[name]
    a = np.array([0.5, 1.0])
    plan = planned_ad.compile(f, (a,))
    for at in (a, a * [1.2, 0.8]):
        assert plan(at) == pytest.approx(f(at), rel=1e-12)
        np.testing.assert_allclose(plan.gradient(at), exactly(at), rtol=1e-4, atol=1e-9)


def test_what_is_left_out() -> None:
    with pytest.raises(UnsupportedError, match="full_output="):
        planned_ad.compile(lambda a: so.fmin(bowls, [0.0], args=(a,), full_output=1, disp=0)[0][0], (A,))
