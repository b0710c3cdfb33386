"""`solve_ivp` with its adjoint."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError
from planned_ad.interop import solve_ivp

TIMES = np.linspace(0.0, 3.0, 7)[1:]
WEIGHTS = np.arange(12.0).reshape(2, 6)


def oscillator(t, y, k, force):
    return np.array([y[1], -k * np.sin(y[0]) + force[0] * np.cos(force[1] * t)])


def value(y0, k, force, method, plan=oscillator):
    return solve_ivp(plan, (0.0, 3.0), y0, (k, force), method, TIMES, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_adjoint_against_differences(method) -> None:
    point, h = [np.array([1.0, 0.5]), 2.0, np.array([0.3, 1.5])], 1e-5
    dy0, (dk, dforce) = value(*point, method).adjoint(WEIGHTS)
    found = np.concatenate([dy0, [dk], dforce])
    flat = np.concatenate([np.ravel(p) for p in point])
    for k in range(len(flat)):
        ends = []
        for step in (h, -h):
            moved = flat.copy()
            moved[k] += step
            ends.append(np.sum(WEIGHTS * value(moved[:2], moved[2], moved[3:], "DOP853").y))
        assert found[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)


def test_a_plan_in_which_time_is_active_and_the_first_time_counts() -> None:
    plan = planned_ad.compile(lambda t, y: -t * y, (0.0, np.ones(2)))
    found = solve_ivp(plan, (0.0, 2.0), [1.0, 3.0], t_eval=[0.0, 2.0], rtol=1e-9, atol=1e-9)
    dy0, rest = found.adjoint([[10.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(dy0, [10 + np.exp(-2), 2 * np.exp(-2)], rtol=1e-7)
    assert rest == ()


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="events"):
        solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], events=lambda t, y: y[0])
    with pytest.raises(ArgumentError, match="cotangents of shape"):
        solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[1.0]).adjoint(np.ones(3))
