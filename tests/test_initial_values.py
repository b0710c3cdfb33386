"""`scipy.integrate.solve_ivp` by explicit methods: one loop over its steps, of which there are as many as data say."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import DOP853, RK23, RK45, solve_ivp

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.functional import adaptive_steps
from planned_ad.functional.problems import Problem
from planned_ad.functional.tableaus import tableau_of

from .interpreted_plans import InterpretedPlan
from .sweeps import sweep

P = np.array([1.1, 0.4, 0.1, 0.4])
TIMES = np.linspace(0.0, 6.0, 13)


def predators(t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return [a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]]


def by(p: Any, span: Any = (0, 6), y0: Any = (3.0, 1.0), **options: Any) -> Any:
    return solve_ivp(predators, span, y0, args=tuple(p), **options)


def switched(p: Any) -> Any:
    """A right side with a branch."""

    def slope(t: Any, y: Any) -> Any:
        inflow = p[3] if t > 2.5 else 0.0
        return np.array([inflow - p[0] * y[0], p[1] * y[0] - p[2] * y[1]])

    return solve_ivp(slope, (0, 5), [1.0, 0.0], t_eval=[1.0, 5.0], max_step=0.5).y


def counted(p: Any) -> Any:
    """A right side that counts its calls."""
    calls = [0]

    def slope(t: Any, y: Any) -> Any:
        calls[0] += 1
        return -p[:2] * y

    found = solve_ivp(slope, (0, 5), [3.0, 1.0])
    return found.y[:, -1] * calls[0] + p[2] * found.nfev


def segments(p: Any) -> Any:
    """Doses at intervals: a solution in each iteration."""
    y, total = np.array([3.0, 1.0]), 0.0
    for k in range(6):
        y = by(p, (k, k + 1), y, t_eval=[k + 1]).y[:, -1] + np.array([p[0], 0.0])
        total += np.sum(y)
    return total


def heat(p: Any) -> Any:
    """A right side on many unknowns."""

    def slope(t: Any, u: Any) -> Any:
        du = np.zeros_like(u)
        du[1:-1] = p[0] * (u[2:] - 2 * u[1:-1] + u[:-2]) * 4.0
        return du

    return solve_ivp(slope, (0, 0.5), np.sin(np.linspace(0, np.pi, 30)), t_eval=[0.2, 0.5], rtol=1e-6).y


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "at its end": lambda p: by(p).y[:, -1],
    "at times": lambda p: by(p, t_eval=TIMES).y,
    "in parts": lambda p: np.multiply(*by(p, t_eval=TIMES).y),
    "without times, in parts": lambda p: np.multiply(*by(p).y),
    "all steps": lambda p: np.sum(by(p, rtol=1e-5).y ** 2),
    "the largest": lambda p: by(p, rtol=1e-5).y[0].max(),
    "how many": lambda p: by(p).y[0, -1] * len(by(p).t),
    "by name": lambda p: solve_ivp(fun=predators, t_span=[0, 2], y0=(3, 1), args=tuple(p))["y"][0, -1],
    "of order 3": lambda p: by(p, method="RK23", t_eval=TIMES).y,
    "of order 8": lambda p: by(p, method=DOP853, rtol=1e-8, atol=1e-9, t_eval=TIMES).y,
    "backwards": lambda p: by(p, (3, 0), t_eval=[2.5, 1.0, 0.0], rtol=1e-7).y,
    "options": lambda p: by(p, first_step=0.01, max_step=0.3, atol=[1e-6, 1e-8]).y[:, -1],
    "from an active state": lambda p: solve_ivp(lambda t, y: np.sin(t) - p[0] * y, (0, 5), p[1:], rtol=1e-6).y[:, -1],
    "to an active time": lambda p: by(p, (0, 4 * p[1]), t_eval=np.linspace(0, 4 * p[1], 5), rtol=1e-6).y,
    "one number": lambda p: solve_ivp(lambda t, y: -p[0] * y[0], (0, 1), [1.0]).y[0, -1],
    "where it succeeds": lambda p: by(p).y[:, -1] if by(p).success else 1e6,
    "switched": switched, "counted": counted, "segments": segments, "heat": heat,
}  # fmt: skip


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(None, None, 3)))
def test_one_trace_serves_all_inputs(name: str) -> None:
    def loss(p: Any) -> Any:
        return np.sum(PROGRAMS[name](p))

    plan = InterpretedPlan(loss, P)
    for at in (P, P * [1.1, 0.9, 1.2, 0.8], P * 1.3):
        np.testing.assert_allclose(plan(at), loss(at), rtol=1e-8)
        around = [loss(at + h * P) for h in (-2e-5, -1e-5, 1e-5, 2e-5)]
        expected = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-5
        np.testing.assert_allclose(plan.gradient(at) @ P, expected, rtol=2e-5, atol=1e-6)
    (traced,) = plan.traces
    assert not traced.unrolled


def test_compiled() -> None:
    def loss(p: Any) -> Any:
        return np.sum(by(p, t_eval=TIMES, rtol=1e-9, atol=1e-9).y ** 2)

    plan = planned_ad.compile(loss, (P,))
    assert plan.explain().fallbacks == ()
    np.testing.assert_allclose(plan.value_and_gradient(1.2 * P)[0], loss(1.2 * P), rtol=1e-9)
    assert len(plan._variants) == 1
    direction = P * [1.0, -1.0, 0.5, 2.0]
    around = [plan.gradient(P + h * direction) for h in (-1e-5, 1e-5)]
    np.testing.assert_allclose(plan.hvp(P, direction), (around[1] - around[0]) / 2e-5, rtol=1e-4)


@pytest.mark.parametrize("times", [None, [2.0], [0.5, 2.0]])
def test_a_right_side_that_jumps(times: Any) -> None:
    """With tight tolerances the derivative is that of the solution, without the errors of steps."""

    def loss(p: Any) -> Any:
        return solve_ivp(
            lambda t, y: -(p[0] if t < 1 else p[1]) * y, (0, 2), [1.0], t_eval=times, rtol=1e-8, atol=1e-10
        ).y[0, -1]

    plan = InterpretedPlan(loss, P[:2])
    for p in (P[:2], P[2:]):
        np.testing.assert_allclose(plan.gradient(p), -np.exp(-p.sum()) * np.ones(2), rtol=1e-5)


def test_a_forcing_with_kinks() -> None:
    grid = np.linspace(0, 1, 6)

    def loss(y: Any) -> Any:
        return solve_ivp(lambda t, u: -u * np.interp(t, grid, y), (0, 1), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]

    y = np.array([0.1, 0.4, -0.2, 0.3, 0.5, 0.2])
    plan = InterpretedPlan(loss, y)
    for x in (y, y[::-1].copy()):
        slopes = -np.exp(-np.trapezoid(x, grid)) * np.array([0.1, 0.2, 0.2, 0.2, 0.2, 0.1])
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-4)  # in steps that are as long as the value needs


@pytest.mark.parametrize("method", [RK45, RK23, DOP853])
def test_steps_are_those_of_scipy(method: Any) -> None:
    def slope(t: float, y: np.ndarray) -> np.ndarray:
        return np.array([y[1], np.sin(t) - np.sin(y[0]) - 0.1 * y[1]])

    for rtol, times, back in itertools.product((1e-3, 1e-6), (None, TIMES, TIMES[3:7]), (False, True)):
        span, times = ((6.0, 0.0) if back else (0.0, 6.0)), times[::-1] if back and times is not None else times
        expected = solve_ivp(slope, span, [1.0, 0.5], method, times, rtol=rtol, atol=1e-8)
        start, tableau = np.array([1.0, 0.5]), tableau_of(method)
        found = adaptive_steps.solution(
            Problem(slope, (), *span, start, tableau, times, rtol, 1e-8, max_step=np.inf, first_step=None)
        )
        np.testing.assert_allclose(found["t"], expected.t, rtol=1e-7)
        np.testing.assert_allclose(found["y"], expected.y, rtol=1e-6, atol=1e-8)
        assert (found["nfev"], found["is_too_small"]) == (expected.nfev, expected.status == -1)


def test_steps_that_become_too_small() -> None:
    """`y' = y**2` is infinite at `1 / y0`: SciPy tells so by its status."""

    def blown_up(y0: Any) -> Any:
        found = solve_ivp(lambda t, y: y**2, (0, 1), y0)
        assert found.message == scipy_message(y0)
        return found.y[0, -1] if found.success else y0[0] * found.status

    def scipy_message(y0: Any) -> str:
        return adaptive_steps.REACHED if y0[0] < 1 else adaptive_steps.TOO_SMALL

    plan = planned_ad.compile(blown_up, (np.array([0.5]),))
    for y0 in ([0.5], [2.0], [0.7]):
        np.testing.assert_allclose(plan(np.array(y0)), blown_up(np.array(y0)), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"t_eval": [1.0, 9.0]}, "not within"), ({"t_eval": [2.0, 1.0]}, "sorted"), ({"max_step": -1.0}, "max_step"),
        ({"first_step": -1.0}, "first_step"), ({"first_step": 10.0}, "bounds"), ({"atol": -1.0}, "atol"),
        ({"atol": [1.0, 1.0, 1.0]}, "wrong shape"), ({"y0": [np.inf, 1.0]}, "finite"),
    ],
)  # fmt: skip
def test_errors_are_those_of_scipy(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        by(P, **options)
    with pytest.raises(ValueError, match=what):
        planned_ad.compile(lambda p: by(p, **options).y[0, -1], (P,))


def test_tolerances_below_rounding() -> None:
    with pytest.warns(UserWarning, match="`rtol` is too small"):
        planned_ad.compile(lambda p: by(p, (0, 0.1), rtol=1e-16).y[0, -1], (P,))


def test_what_is_left_to_the_code_of_scipy() -> None:
    """Complex states."""

    def turned(p: Any) -> Any:
        return solve_ivp(lambda t, y: 1j * p[0] * y, (0, 1), [1.0 + 0.0j], rtol=1e-8).y[0, -1].real

    plan = planned_ad.compile(turned, (P,))
    np.testing.assert_allclose(plan(P), np.cos(P[0]), rtol=1e-6)
    assert "takes steps in SciPy" in str(plan.explain().fallbacks)
    with pytest.raises(PlannedADError, match=r"`sol_of` of what .*solve_ivp returns"):
        planned_ad.compile(lambda p: by(p).sol_of, (P,))
    assert scipy.integrate.solve_ivp is solve_ivp
