"""Functions of arrays whose length data decide: curves, masks and index arrays of them, and several as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from scipy.interpolate import interp1d

import planned_ad

X = np.linspace(0.1, 2.0, 12)
AT = np.array([0.3, 0.9, 1.7, -1.0, 3.0])


def points(x: Any, c: Any) -> tuple[Any, Any]:
    """As many as data say, in order."""
    t, y, place = [0.0], [c], 0.0
    while place < 1.0:
        place = place + 0.05 + 0.1 * abs(x[len(t) % 12] - c * 0.2)
        t.append(place)
        y.append(np.sin(3.0 * place) * c + x[0])
    return np.array(t), np.array(y)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoid": lambda t, y: np.trapezoid(y, t) + np.trapezoid(y**2, dx=0.1) + scipy.integrate.trapezoid(y, x=t),
    "trapezoid of rows": lambda t, y: np.sum(np.trapezoid(np.vstack([y, t * y]), t, axis=1) * [1.0, 2.0]),
    "trapezoid of columns": lambda t, y: np.sum(np.trapezoid(np.column_stack([y, t * y]), t, axis=0) * [1.0, 2.0]),
    "cumulative_trapezoid": lambda t, y: scipy.integrate.cumulative_trapezoid(y, t, initial=0)[-2],
    "interp": lambda t, y: np.interp(AT, t, y),
    "interp at a number, with ends": lambda t, y: np.interp(5.0, t, y, right=y[1]) + np.interp(-1.0, t, y, left=2.0),
    "interp at as many": lambda t, y: np.sum(np.interp(t * 0.9, t, y)) + np.sum(np.interp(y, AT[:3], AT[1:4])),
    "interp1d": lambda t, y: interp1d(t, y)(AT[:2]),
    "searchsorted": lambda t, y: np.searchsorted(t, AT) * y[-1] + np.searchsorted(t, 0.5, side="right"),
    "searchsorted of as many": lambda t, y: np.sum(np.searchsorted(AT[:3], t) * y),
    "gradient": lambda t, y: np.sum(np.gradient(y, t) ** 2) + np.max(np.gradient(y)) + np.gradient(y, 0.1)[0],
    "mask": lambda t, y: np.sum(y[t > 0.4] ** 2) + y[y > 0.2].mean() + len(t[(t > 0.3) & (y > 0)]),
    "mask of rows": lambda t, y: np.sum(np.vstack([y, t])[:, t > 0.4]) + np.column_stack([y, t])[t > 0.4][0, 1],
    "put where a mask is true": lambda t, y: put_where(y, t > 0.5),
    "where": lambda t, y: t[np.where(y > 0.3)[0][0]] * len(np.flatnonzero(y > 0.3)) + np.nonzero(t)[0][-1],
    "places": lambda t, y: y[[0, -1, 2]] * np.take(t, [1, 2, -2]) + y[np.array([3, 1, 0])],
    "rows at places": lambda t, y: np.sum(np.column_stack([y, t])[[2, 0, -1]] * [1.0, 2.0]) * np.vstack([y, t])[:, [1]],
    "argsort": lambda t, y: y[np.argsort(-t)][0] + np.sum(t[np.argsort(y)] * np.arange(1.0, 40.0)[: len(t)]),
    "joined": lambda t, y: np.sum(np.concatenate([y, t, AT]) * 1.5) + np.append(t, 7.0)[-1] + np.hstack([t, y])[-1],
    "joined beside": lambda t, y: np.sum(np.concatenate([np.vstack([y, t]), np.vstack([t, t])])[2:] ** 2),
    "stacked": lambda t, y: np.sum(np.stack([t, y])[:, -1]) + np.sum(np.stack([t, y], axis=1)[0] * [1.0, 2.0]),
    "running products": lambda t, y: np.sum(np.cumprod(1.0 + 0.1 * y)) + np.cumprod(t + 0.5)[-1],
    "diff": lambda t, y: np.sum(np.diff(y, axis=-1) / np.diff(t)),
    "shapes": lambda t, y: np.sum(y.reshape(-1) * t.ravel()) + np.asarray(y, float)[0] + t.astype(float)[-1],
}  # fmt: skip


def put_where(y: Any, mask: Any) -> Any:
    z = y.copy()
    z[mask] = 0.5
    return np.sum(z**2)


@pytest.mark.parametrize("names", [list(PROGRAMS)[k::6] for k in range(6)], ids=", ".join)
def test_one_trace_serves_all_lengths(names: list[str]) -> None:
    """Of a few programs at once, which share a compilation."""

    def loss(x: Any, c: Any) -> Any:
        total = 0.0
        for name in names:
            found = PROGRAMS[name](*points(x, c))
            total += np.sum(found * (1.0 + 0.1 * np.arange(np.size(found)).reshape(np.shape(found))))
        return total

    plan = planned_ad.compile(loss, (X, 1.0))
    lengths = set()
    for x, c in ((X, 1.0), (X * 0.3, 0.8), (X[::-1].copy(), 1.3), (X * 2.5, 0.6)):
        lengths.add(len(points(x, c)[0]))
        value, (dx, dc) = plan.value_and_gradient(x, c)
        assert value == pytest.approx(loss(x, c), rel=1e-12)
        direction = np.cos(np.arange(12.0))
        around = [loss(x + h * direction, c + 0.3 * h) for h in (-1e-6, 1e-6)]
        assert dx @ direction + 0.3 * dc == pytest.approx((around[1] - around[0]) / 2e-6, rel=1e-4, abs=1e-5)
    assert len(lengths) > 2 and len(plan._variants) == 1


def test_masks_in_loops() -> None:
    """Arrays of a length that data decide in each iteration."""

    def f(x, c):
        total = 0.0
        for k in range(6):
            t = x[x > 0.13 * k * c]
            total += (
                np.sum(t[t < 1.5]) + np.sum(np.append(t, 2.0 * c) ** 2) + t[np.argsort(-t)][0] * len(np.where(t > 1)[0])
            )
            total += np.interp(0.9, t, t**2) + np.trapezoid(t * c, t)
        return total

    plan = planned_ad.compile(f, (X, 1.0))
    assert "unrolled" not in str(plan.explain())
    for x, c in ((X, 1.0), (X, 2.3), (X * 0.7, 0.5)):
        value, (dx, _) = plan.value_and_gradient(x, c)
        assert value == pytest.approx(f(x, c), rel=1e-12)
        around = [f(x + h * X[::-1], c) for h in (-1e-7, 1e-7)]
        assert dx @ X[::-1] == pytest.approx((around[1] - around[0]) / 2e-7, rel=1e-5)


def test_places_that_are_not_there() -> None:
    plan = planned_ad.compile(lambda x, c: np.sum(points(x, c)[1][[0, 12]]), (X * 0.1, 0.6))
    with pytest.raises(IndexError):
        points(X * 4.0, 0.6)[1][[0, 12]]
    with pytest.raises((IndexError, planned_ad.errors.PlannedADError)):
        plan(X * 4.0, 0.6)
