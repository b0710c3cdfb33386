"""Initial value problems by Radau, BDF, LSODA and `odeint`: SciPy's values, and derivatives along its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import BDF, odeint, solve_ivp

import planned_ad
from planned_ad.errors import UnsupportedError
from planned_ad.functional import initial_values

from .sweeps import sweep

P = np.array([40.0, 0.7, 1.2, 0.5])  # two rates and the state at the beginning
TIMES = np.linspace(0.0, 3.0, 7)
EXACT = {"rtol": 1e-9, "atol": 1e-11}


def slope(t: Any, y: Any, a: Any, b: Any) -> Any:
    """Stiff, with a solution that follows the cosine."""
    return [-a * (y[0] - np.cos(t)) + y[1], -b * y[1] + y[0] ** 2]


def jacobian(t: Any, y: Any, a: Any, b: Any) -> Any:
    return np.array([[-a, 1.0], [2 * y[0], -b]])


def by(p: Any, method: Any, span: Any = (0.0, 3.0), **options: Any) -> Any:
    return solve_ivp(slope, span, p[2:], method, args=(p[0], p[1]), **(EXACT | options))


def backwards(p: Any) -> Any:
    def turned(t: Any, y: Any) -> Any:
        return [-v for v in slope(-t, y, *p[:2])]

    return solve_ivp(turned, (0.0, -3.0), p[2:], "LSODA", [-1.0, -2.5], **EXACT).y


def told(p: Any) -> Any:
    found = by(p, "Radau", (0.01 * p[2], 2.0 + p[1]))
    return found.y[:, -1] * found.success + found.t[-1] + 0 * found.nfev


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a class, with a Jacobian, at active times": lambda p: by(p, BDF, t_eval=[p[1], 2 * p[1]], jac=jacobian).y,
    "to an active time": told,
    "backwards": backwards,
    "odeint": lambda p: odeint(slope, p[2:], TIMES, args=(p[0], p[1]), tfirst=True, rtol=1e-10, atol=1e-12)[1:],
    "LSODA from an active state to an active time": lambda p: (
        by(p, "LSODA", (0.0, 4.0 * p[1]), t_eval=[p[1], 4.0 * p[1]]).y
    ),
    "of one number": lambda p: solve_ivp(lambda t, y: np.sin(t) - p[0] * y, (0, 0.1), p[2:3], "LSODA", **EXACT).y[
        0, -1
    ],
}


def differences(loss: Callable, p: np.ndarray, direction: np.ndarray) -> Any:
    around = [loss(p + h * direction) for h in (-2e-4, -1e-4, 1e-4, 2e-4)]
    return (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-4


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(None, None, 2)))
def test_values_are_those_of_scipy_and_derivatives_those_of_its_solution(name: str) -> None:
    def loss(p: Any) -> Any:
        found = PROGRAMS[name](p)
        return np.sum(found * (1.0 + 0.5 * np.arange(np.size(found)).reshape(np.shape(found))))

    plan = planned_ad.compile(loss, (P,))
    direction = P * [1.0, -1.0, 0.5, 2.0]
    for at in (P, P * [1.5, 0.8, 0.7, 1.4]):
        np.testing.assert_allclose(plan(at), loss(at), rtol=1e-12)
        np.testing.assert_allclose(plan.gradient(at) @ direction, differences(loss, at, direction), rtol=1e-4)
    assert len(plan._variants) == 1


def robertson(p: Any, method: str, **options: Any) -> Any:
    """Rates that differ by nine orders of magnitude."""

    def rates(t: Any, y: Any) -> Any:
        forth, back, third = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
        return [back - forth, forth - back - third, third]

    return solve_ivp(rates, (0.0, 100.0), [1.0, 0.0, 0.0], method, [0.1, 10.0, 100.0], **options).y


@pytest.mark.parametrize(
    ("method", "options", "rtol"), [("BDF", {}, 2e-3), ("LSODA", {"rtol": 1e-6, "atol": 1e-10}, 1e-5)]
)
def test_a_stiff_problem(method: str, options: dict[str, float], rtol: float) -> None:
    rates, weights = np.array([0.04, 1e4, 3e7]), np.array([[1.0], [1e4], [1.0]])
    plan = planned_ad.compile(lambda p: np.sum(robertson(p, method, **options) * weights), (rates,))
    assert len(plan.explain().fallbacks) == 1

    def exactly(p: Any) -> Any:
        return np.sum(robertson(p, "Radau", rtol=1e-9, atol=1e-13) * weights)

    for k in range(3):
        direction = rates * (np.arange(3) == k)
        np.testing.assert_allclose(plan.gradient(rates) @ direction, differences(exactly, rates, direction), rtol=rtol)


def van_der_pol(p: Any, by_odeint: bool) -> Any:
    def rates(t: Any, y: Any) -> Any:
        return [y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]]

    if by_odeint:
        return odeint(rates, p[1:], [0.0, 0.4, 2.0], tfirst=True, rtol=1e-9, atol=1e-9)[1:, 0]
    return solve_ivp(rates, (0.0, 2.0), p[1:], "LSODA", [0.4, 2.0], rtol=1e-9, atol=1e-9).y[0]


@pytest.mark.parametrize("by_odeint", sweep([True, False], slice(1)))
def test_equations_that_are_stiff_for_some_numbers(by_odeint: bool) -> None:
    """The derivative is that of an explicit method where SciPy has found none to be stiff."""
    begin, weights = np.array([1.5, 1.9, 0.3]), np.array([1.0, -2.0])
    plan = planned_ad.compile(lambda p: van_der_pol(p, by_odeint) @ weights, (begin,))
    direction = np.array([1.0, 0.2, -0.3])

    def exactly(p: Any) -> Any:
        def rates(t: Any, y: Any) -> Any:
            return [y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0]]

        return solve_ivp(rates, (0.0, 2.0), p[1:], "Radau", [0.4, 2.0], rtol=1e-11, atol=1e-12).y[0] @ weights

    for rate, variants in ((3.0, 1), (500.0, 2), (1.5, 2)):
        at = np.array([rate, 1.9, 0.3])
        np.testing.assert_allclose(plan(at), van_der_pol(at, by_odeint) @ weights, rtol=1e-13)
        np.testing.assert_allclose(plan.gradient(at) @ direction, differences(exactly, at, direction), rtol=1e-4)
        assert len(plan._variants) == variants


def test_an_explicit_method_that_comes_to_another_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(initial_values, "LOOSE", 0.0)
    filled = initial_values.ToldSteps.filled
    monkeypatch.setattr(initial_values.ToldSteps, "filled", lambda *given: (told.append(1), filled(*given))[1])
    at, direction = np.array([1.5, 1.9, 0.3]), np.array([1.0, 0.2, -0.3])
    plan = planned_ad.compile(lambda p: np.sum(van_der_pol(p, True)), (at,))
    expected = differences(lambda p: np.sum(van_der_pol(p, True)), at, direction)
    np.testing.assert_allclose(plan.gradient(at) @ direction, expected, rtol=1e-4)
    assert told, "else it was the explicit method"


def test_second_derivatives() -> None:
    plan = planned_ad.compile(lambda p: np.sum(by(p, "BDF", t_eval=TIMES).y ** 2), (P,))
    direction = P * [1.0, -1.0, 0.5, 2.0]
    expected = differences(plan.gradient, P, direction)
    np.testing.assert_allclose(plan.hvp(P, direction), expected, rtol=1e-4, atol=1e-6 * np.max(np.abs(expected)))


def test_more_steps_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_values, "MOST_STEPS", 20)
    with pytest.raises(UnsupportedError, match="steps to the solution"):
        planned_ad.compile(lambda p: by(p, "BDF").y[0, -1], (P,))


def test_what_scipy_refuses() -> None:
    def stuck(p: Any) -> Any:
        return solve_ivp(lambda t, y: p[0] * y**2, (0.0, 1.0), [1.0], "BDF", [1.0]).y[0, 0]

    with pytest.raises(ValueError, match="solve_ivp"):
        planned_ad.compile(stuck, (P,))
