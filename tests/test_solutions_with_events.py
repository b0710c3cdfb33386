"""`events` and `dense_output` of `scipy.integrate.solve_ivp`, by explicit methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import planned_ad
from planned_ad.functional.adaptive_steps import TOO_SMALL
from planned_ad.functional.events import ENDED

from .interpreted_plans import InterpretedPlan
from .sweeps import sweep

P = np.array([1.2, 0.9, 0.3])


def event(function: Callable[..., Any], terminal: Any = False, direction: float = 0.0) -> Any:
    def told(t: Any, y: Any, *args: Any) -> Any:
        return function(t, y, *args)

    told.terminal, told.direction = terminal, direction  # type: ignore[attr-defined]
    return told


def oscillator(p: Any, *events: Any, span: Any = (0, 12), **options: Any) -> Any:
    options = {"rtol": 1e-7, "atol": 1e-9} | options
    return solve_ivp(
        lambda t, y: [y[1], -p[0] * y[0] - 0.1 * p[1] * y[1]], span, [1.0, p[2]], events=[*events], **options
    )


def shot(p: Any, method: str = "RK45") -> Any:
    """With resistance of the air, until it hits the ground."""

    def slope(t: Any, y: Any) -> Any:
        return [y[2], y[3], -0.1 * p[0] * y[2] * abs(y[2]), -9.81 - 0.1 * p[0] * y[3] * abs(y[3])]

    ground = event(lambda t, y: y[1], True, -1)
    return solve_ivp(slope, (0, 10), [0.0, 1.0, 10 * p[1], 5.0 + p[2]], method, events=ground, rtol=1e-8, atol=1e-8)


def bouncing(p: Any) -> Any:
    t, v, total = 0.0, 1.0 + p[2], 0.0
    for _ in range(4):
        ground = event(lambda t, y: y[0], True, -1)
        s = solve_ivp(lambda t, y: [y[1], -9.81 * p[0]], (t, t + 10), [0.0, v], events=ground, rtol=1e-6)
        t, v = s.t[-1], -0.8 * p[1] * s.y[1, -1]
        total = total + s.t_events[0][0] + v
    return total


def by_threshold(p: Any) -> Any:
    """The limit is an argument; what has not happened is told by an empty array."""
    found = oscillator(p, event(lambda t, y: y[0] + 0.5 * p[2], True), event(lambda t, y: y[0] - 9.0), span=(0, 5))
    assert found.t_events[1].shape == (0,)
    return found.t[-1] * found.status + found.t_events[1].size


def between(p: Any) -> Any:
    s = oscillator(p, dense_output=True)
    return np.sum(s.sol(np.linspace(0, 12, 20)) ** 2) + s.sol(1.3)[0] + s.sol(np.array([3.0, 1.0])).sum()


def mean_gap(p: Any) -> Any:
    return np.mean(np.diff(oscillator(p, event(lambda t, y: y[1])).t_events[0]))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "until it hits": lambda p: (lambda s: s.y[0, -1] + s.t_events[0][0])(shot(p)),
    "by order 8": lambda p: shot(p, "DOP853").y_events[0][0, 0] + shot(p, "DOP853").nfev,
    "by order 3": lambda p: shot(p, "RK23").y_events[0][0, 0],
    "how far apart": mean_gap,
    "upwards": lambda p: oscillator(p, event(lambda t, y: y[0] - 0.1, direction=1)).t_events[0].sum(),
    "where": lambda p: np.sum(oscillator(p, event(lambda t, y: y[1], direction=-1)).y_events[0] ** 2),
    "how many": lambda p: p[0] * len(oscillator(p, event(lambda t, y: y[0])).t_events[0]),
    "the third": lambda p: oscillator(p, event(lambda t, y: y[0] - 0.1, 3)).t[-1],
    "two": lambda p: sum(t.sum() for t in oscillator(p, event(lambda t, y: y[0]), event(lambda t, y: y[1])).t_events),
    "the earlier of two": lambda p: oscillator(
        p, event(lambda t, y: y[0] + 0.3, True), event(lambda t, y: y[1] + 0.4 * p[1], True)
    ).y[:, -1].sum(),
    "of time": lambda p: oscillator(p, event(lambda t, y: t - 3 * p[1], True)).y[0, -1],
    "with arguments": lambda p: solve_ivp(
        lambda t, y, a: -a * y, (0, 5), [1.0], events=event(lambda t, y, a: y[0] - 0.3 * a), args=(p[0],), rtol=1e-7
    ).t_events[0][0],
    "at times until": lambda p: np.sum(
        oscillator(p, event(lambda t, y: y[0] + 0.5, True), t_eval=np.linspace(0, 12, 40)).y
    ),
    "backwards": lambda p: oscillator(p, event(lambda t, y: y[0]), span=(0, -9)).t_events[0].sum(),
    "bouncing": bouncing, "by threshold": by_threshold, "between": between,
    "between, backwards": lambda p: oscillator(p, span=(2, -3), dense_output=True).sol([1.0, -2.5, 2.0]).sum(),
    "beyond": lambda p: oscillator(p, dense_output=True).sol(12.1).sum(),
    "between, by order 8": lambda p: oscillator(p, method="DOP853", dense_output=True).sol(np.arange(9.0)).sum(),
    "between, and at times": lambda p: oscillator(p, dense_output=True, t_eval=[1.0, 2.0]).sol(1.7)[1],
    "between, until it hits": lambda p: oscillator(
        p, event(lambda t, y: y[0] + 0.2, True), dense_output=True
    ).sol(np.array([0.5, 1.0])).sum(),
    "a root": lambda p: brentq(lambda t, s: s(t)[0] - 0.2, 0.0, 3.0, args=(oscillator(p, dense_output=True).sol,)),
    "an integral": lambda p: quad(lambda t, s: s(t)[0] ** 2, 0, 2, args=(oscillator(p, dense_output=True).sol,))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(None, None, 5)))
def test_one_trace_serves_all_inputs(name: str) -> None:
    function = PROGRAMS[name]
    plan = InterpretedPlan(function, P)
    direction = np.array([1.0, -0.7, 0.4])
    for at in (P, P * [1.1, 0.9, 1.2], P * 1.2):
        np.testing.assert_allclose(plan(at), function(at), rtol=1e-9)
        around = [function(at + h * direction) for h in (-2e-5, -1e-5, 1e-5, 2e-5)]
        expected = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-5
        np.testing.assert_allclose(plan.gradient(at) @ direction, expected, rtol=2e-5, atol=2e-6)
    (traced,) = plan.traces
    assert not traced.unrolled


def test_compiled() -> None:
    def when(p: Any) -> Any:
        return oscillator(p, event(lambda t, y: y[0] + 0.2, True)).t_events[0][0]

    plan = planned_ad.compile(when, (P,))
    assert plan.explain().fallbacks == ()
    np.testing.assert_allclose(plan(1.1 * P), when(1.1 * P), rtol=1e-9)
    direction = np.array([1.0, -0.7, 0.4])
    around = [plan.gradient(P + h * direction) for h in (-1e-5, 1e-5)]
    np.testing.assert_allclose(plan.hvp(P, direction), (around[1] - around[0]) / 2e-5, rtol=1e-4)


def test_the_status_is_that_of_the_run() -> None:
    def loss(p: Any) -> Any:
        s = oscillator(p, event(lambda t, y: y[0] - 1.0 - p[1], True), span=(0, 4))
        assert s.message == (ENDED if p[2] > 2.0 else s.message)
        return s.y[0, -1] * (2.0 if s.status == 1 else 3.0) + (1.0 if s.success else 0.0)

    plan = planned_ad.compile(loss, (P,))
    for p in (P, np.array([1.2, 0.9, 3.0])):
        np.testing.assert_allclose(plan(p), loss(p), rtol=1e-9)
    assert TOO_SMALL not in str(plan.explain())


def test_no_derivative_where_an_event_jumps() -> None:
    def when(p: Any) -> Any:
        return oscillator(p, event(lambda t, y: np.where(y[0] > 0.2, 1.0, -1.0), True)).t_events[0][0]

    plan = planned_ad.compile(when, (P,), check=False)
    np.testing.assert_allclose(plan(P), when(P), rtol=1e-9)
    assert np.all(np.isnan(plan.gradient(P)))


def test_what_terminal_may_be() -> None:
    with pytest.raises(ValueError, match="must be a boolean or positive integer"):
        planned_ad.compile(lambda p: oscillator(p, event(lambda t, y: y[0], 1.5)).t[-1], (P,))


@pytest.mark.long
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_events_are_those_of_scipy(method: str) -> None:
    """Sums of waves with events of all kinds, some at once."""
    rng = np.random.default_rng(len(method))
    for most, direction in ((False, 0), (1, -1), (2, 0)):
        levels = rng.uniform(-0.5, 0.5, 3)
        events = [
            event(lambda t, y, k=k, level=level: y[k] - level, most if k == 1 else False, direction)
            for k, level in enumerate(levels)
        ]

        def loss(p: Any, events: Any = events) -> Any:
            s = solve_ivp(lambda t, y: np.roll(y, 1) * p - y**3, (0, 8), p, method, events=events, rtol=1e-5)
            weights = [t.sum() + 2.0 * t.size for t in s.t_events]
            return sum(weights) + s.y[:, -1].sum() + s.t[-1] + s.nfev

        plan = InterpretedPlan(loss, P)
        for p in (P, -P, P[::-1] * 1.4):
            np.testing.assert_allclose(plan(p), loss(p), rtol=1e-9)
