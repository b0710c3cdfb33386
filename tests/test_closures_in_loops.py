"""Functions that the body of a loop defines, over variables that it assigns: the loop stays one where that is right."""

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

X = np.array([0.3, 0.5, 1.0])


def dynamics(y, u):
    return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1] + (0.0 if u is None else u)])


def after_its_variable(x):
    y = x[:2]
    for _ in range(60):
        u = np.clip(-x[2] * y[0], -1, 1)
        rate = lambda y: dynamics(y, u)  # noqa: B023, E731
        y = y + 0.01 * rate(y + 0.005 * rate(y))
    return y @ y


def calculates_with_it(x):
    y = x[:2]
    for _ in range(60):

        def rate(y):
            return np.array([y[1], u - np.sin(y[0])])  # noqa: B023

        u = np.clip(-x[2] * y[0], -1, 1)
        y = y + 0.01 * rate(y)
    return y @ y


def reads_what_the_iteration_before_left(x):
    y, total = x[:2], 0.0
    for k in range(60):

        def scaled(y):
            return y * u  # noqa: B023

        if k > 0:
            total += np.sum(scaled(y))
        u = x[2] * y[0]
        y = y * 0.9
    return total


def calls_the_function_of_the_iteration_before(x):
    y, total, rate = x[:2], 0.0, None
    for k in range(60):
        if rate is not None:
            total += np.sum(rate(y))
        u = x[2] * y[0] * (k + 1)

        def rate(y):
            return dynamics(y, u)  # noqa: B023

        y = y * 0.95
    return total + np.sum(rate(x))


def called_after_the_loop(x):
    y = x[:2]
    for k in range(60):
        u = x[2] * y[0] * (k + 1)
        rate = lambda y: dynamics(y, u)  # noqa: B023, E731
        y = y * 0.95 + 0.01 * rate(y)
    return np.sum(rate(y)) + u


def before_its_variable(x):
    y = x[:2]
    for _ in range(60):
        rate = lambda y: dynamics(y, u)  # noqa: B023, E731
        u = np.clip(-x[2] * y[0], -1, 1)
        y = y + 0.01 * rate(y)
    return y @ y


def kept_in_a_list(x):
    y, total, rates = x[:2], 0.0, []
    for k in range(60):
        if k > 0:
            total += np.sum(rates[-1](y))
        u = x[2] * y[0] * (k + 1)
        rates.append(lambda y: y * u)  # noqa: B023
        y = y * 0.95
    return total + np.sum(rates[3](x))


ROLLED = [
    after_its_variable,
    calculates_with_it,
    reads_what_the_iteration_before_left,
    calls_the_function_of_the_iteration_before,
]
OTHERS = [called_after_the_loop, before_its_variable, kept_in_a_list]


@pytest.mark.parametrize("f", [*ROLLED, *OTHERS], ids=lambda f: f.__name__)
def test_closures(f: Callable) -> None:
    plan = planned_ad.compile(f, X, check=False)
    for x in (X, 1.3 * X, -X):
        slopes = [(f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6 for d in np.eye(3)]
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-11)
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-5, atol=1e-7)
    if f in ROLLED:
        assert not plan.explain().fallbacks
