"""Loops until something is accepted, whose arrays are read behind them: their first iteration is known to run."""

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

X = np.array([1.0, 0.2])


def rate(y, p):
    return np.array([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]])


def adaptive_steps(p):
    y, t, h = np.array([0.5, 0.0]), 0.0, 0.1
    while t < 3.0:
        accepted = False
        while not accepted:
            k = rate(y, p)
            k_new = rate(y + h * k, p)
            y_new = y + h / 2 * (k + k_new)
            if np.linalg.norm(h / 2 * (k_new - k)) < 1e-3:
                accepted = True
                t_new = t + h
                h = h * 1.3
            else:
                h = h * 0.5
        t, y = t_new, y_new
    return y @ y + t


def one_step(p):
    accepted, h = False, 0.3
    while not accepted:
        y_new = p * (1 - h)
        if np.sum(y_new**2) * h < 0.2:
            accepted = True
            t_new = h
        else:
            h *= 0.7
    return np.sum(y_new) + t_new


def one_after_the_other(p):
    total = 0.0
    for i in range(5):
        found, c = False, p[0] * (i + 1)
        while not found:
            w = np.sin(p * c)
            z = w @ w
            if z < 1.0:
                found, r = True, c
            else:
                c = c * 0.8
        total = total + r + w[0] * z
    return total


def assigned_on_a_side(p):
    done, s = False, p[0]
    while not done:
        s = s + 0.3
        if s > p[1]:
            best = p * s
        if s > 2.0:
            done = True
    return np.sum(best)


def perhaps_never(p):
    y, e = p * 1.0, np.sum(p**2)
    while e > 0.5:
        y_new = y * 0.8
        e, y = np.sum(y_new**2), y_new
    return np.sum(y_new) + e


def containers_on_a_side(make):
    def f(p):
        t, y, ended = 0.0, p * 0.2, False
        while not ended and t < 3.0:
            h = 0.1 + 0.01 * y[0] ** 2
            y_new = y + h * np.sin(y) * p[1]
            if y[0] < 2.0:
                a, b = make(h, y, y_new)
                ended = a[0] + b[1] > 0.5
                y_new = y_new + b
            t, y = t + h, y_new
        return t + np.sum(y)

    return f


def of_list(h, y, y_new):
    rows = [h * y, h * y_new]
    return rows


def of_dict(h, y, y_new):
    rows = {"a": h * y, "b": h * y_new}
    return rows.values()


def of_nested(h, y, y_new):
    rows = [(h * y, 2), [h * y_new]]
    return rows[0][0], rows[1][0]


ROLLED = [adaptive_steps, one_after_the_other, *map(containers_on_a_side, (of_list, of_dict, of_nested))]


@pytest.mark.parametrize("f", [*ROLLED, one_step, assigned_on_a_side, perhaps_never], ids=lambda f: f.__name__)
def test_until_accepted(f: Callable) -> None:
    plan = planned_ad.compile(f, X, check=False)
    for x in (X, 1.3 * X, 0.1 * X, 5.0 * X, np.array([0.1, 2.05])):
        try:
            expected = f(x)
        except UnboundLocalError:
            with pytest.raises(UnboundLocalError):
                plan(x)
            continue
        slopes = [(f(x + 1e-7 * d) - f(x - 1e-7 * d)) / 2e-7 for d in np.eye(2)]
        np.testing.assert_allclose(plan(x), expected, rtol=1e-10)
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-5, atol=1e-6)
    if f in ROLLED:
        assert not plan.explain().fallbacks and plan.explain().variants <= 2
