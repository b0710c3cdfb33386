"""Numbers of the example that traced code asks for, among derivatives whose operations are replaced on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad import grad
from planned_ad.tape.loop_code import LoopInterpreter
from planned_ad.trace import trace

from .nested_oracle import Interpreted, fourth_order

X = np.array([0.5, 1.2, -0.7, 0.3, 0.9])


def kicked(a, u):
    """It decides on its argument, changes what is around, and decides on that."""
    if a[0] > 0.3:
        u[0] += a[1]
    else:
        u[1] -= a[0]
    return np.sum(a * a * u) if u[0] > u[1] else 0.5 * np.sum(a * a * u)


def kicked_slope(a, u):
    slope = np.zeros(5)
    if a[0] > 0.3:
        u[0] += a[1]
        slope[1] = a[0] ** 2
    else:
        u[1] -= a[0]
        slope[0] = -(a[1] ** 2)
    return (slope + 2 * a * u) * (1.0 if u[0] > u[1] else 0.5)


def again_and_again(x):
    u = x.copy()
    for _ in range(4):
        slope = grad(lambda a: kicked(a, u))(u.copy())
        u[:] = 0.3 * u + 0.2 * slope
        if np.sin(20.0 * u[0]) > 0.1:
            u[2] += u[0]
    return np.sum(u * u)


def again_and_again_by_hand(x):
    u = x.copy()
    for _ in range(4):
        slope = kicked_slope(u.copy(), u)
        u[:] = 0.3 * u + 0.2 * slope
        if np.sin(20.0 * u[0]) > 0.1:
            u[2] += u[0]
    return np.sum(u * u)


def of_second_order(x):
    """The inner derivative begins where the outer one does, and decides on memory that both write to."""
    u = x.copy()

    def outer(a):
        slope = grad(lambda b: kicked(b, u))(a)
        if u[0] > 1.0:
            u[3] += slope[2]
        return np.sum(slope * u)

    slope = grad(outer)(x[::-1].copy())
    if u[3] > 0.2:
        slope = slope * u[3]
    return np.sum(slope * u)


def of_second_order_by_hand(x):
    def outer(a):
        u = x.copy()
        slope = kicked_slope(a, u)
        if u[0] > 1.0:
            u[3] += slope[2]
        return np.sum(slope * u), u

    a = x[::-1].copy()
    slope, u = fourth_order(lambda b: outer(b)[0], a, 1e-3), outer(a)[1]
    if u[3] > 0.2:
        slope = slope * u[3]
    return np.sum(slope * u)


@pytest.mark.parametrize(
    ("f", "by_hand", "near"),
    [(again_and_again, again_and_again_by_hand, 1e-12), (of_second_order, of_second_order_by_hand, 1e-8)],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_what_is_decided_after_operations_were_replaced(
    f: Callable[..., Any], by_hand: Callable[..., Any], near: float
) -> None:
    value, slope = Interpreted(planned_ad.value_and_grad(f), (X,), 100)((X,))
    np.testing.assert_allclose(value, by_hand(X), rtol=near)
    np.testing.assert_allclose(slope, fourth_order(by_hand, X, 1e-3), rtol=1e-6, atol=1e-6)


def test_the_example_is_not_run_from_the_start_for_each_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(n):
        def f(x):
            for _ in range(n):
                x = 0.3 * x + 0.2 * grad(kicked)(x, np.ones(5))
            return np.sum(x)

        return f

    steps = []
    step = LoopInterpreter.step
    monkeypatch.setattr(LoopInterpreter, "step", lambda *given: steps.append(1) or step(*given))
    counts = []
    for n in (10, 40):
        steps.clear()
        trace(program(n), (X.copy(),), unroll=100)
        counts.append(len(steps))
    assert 0 < counts[1] < 6 * counts[0]
