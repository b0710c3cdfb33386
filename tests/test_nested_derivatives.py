"""Derivatives in traced code: in loops, branches and comprehensions, of functions that see and change what is around.

Each program is compared with the same mathematics written out by hand, in value and gradient; with its loops recorded
as loops, and unrolled.
"""

# ruff: noqa: B023  (functions of loop variables are called at once)

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad import grad, hessian, jacobian, jvp, linearize, value_and_grad, vjp
from planned_ad.errors import TraceError, UnsupportedError
from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.verify import verify
from planned_ad.trace import trace

from .nested_oracle import Interpreted, fourth_order
from .sweeps import name_of, rotated

X = np.array([0.5, 1.2, -0.7, 0.3, 0.9])


def assert_near(actual: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# Pairs of programs: with derivatives, and written out.


def in_a_loop(x):
    s = 0.0
    for i in range(4):
        s = s + grad(lambda t: np.sin(t) * x[i] * t)(x[i + 1])
    return s


def in_a_loop_by_hand(x):
    return sum(x[i] * (np.cos(x[i + 1]) * x[i + 1] + np.sin(x[i + 1])) for i in range(4))


def training_loss(w):
    return np.sum((w - 1.0) ** 4) + np.sum(w[1:] * w[:-1])


def training_slope(w):
    g = 4 * (w - 1.0) ** 3
    g[:-1] += w[1:]
    g[1:] += w[:-1]
    return g


def training(x):
    """Gradient descent with momentum, differentiated through (MAML; Finn, Abbeel & Levine 2017)."""
    w, m = x.copy(), np.zeros(5)
    value = 0.0
    for _ in range(20):
        value, g = value_and_grad(training_loss)(w)
        m[:] = 0.5 * m + g
        w -= 0.01 * x[0] ** 2 * m
    return training_loss(w) + value


def training_by_hand(x):
    w, m, value = x.copy(), np.zeros(5), 0.0
    for _ in range(20):
        value = training_loss(w)
        m = 0.5 * m + training_slope(w)
        w = w - 0.01 * x[0] ** 2 * m
    return training_loss(w) + value


def in_branches(x):
    s = 0.0
    for i in range(5):
        if x[i] > 0:
            s += grad(lambda t: t**3 * x[0])(x[i])
        else:
            s += jvp(lambda t: np.exp(t) * x[1])(x[i], 2.0)[1]
    return s


def in_branches_by_hand(x):
    return sum(3 * v**2 * x[0] if v > 0 else 2 * np.exp(v) * x[1] for v in x)


def bent(t, x):
    if t > 0:
        return t**3 * x[0]
    return np.exp(t) * x[1]


def of_branches(x):
    s = 0.0
    for i in range(5):
        s += grad(bent)(x[i], x)
    return s


def of_branches_by_hand(x):
    return sum(3 * v**2 * x[0] if v > 0 else np.exp(v) * x[1] for v in x)


def in_a_comprehension(x):
    slopes = [grad(lambda t: t**2 * x[0] * v)(v) for v in x]
    return sum(slopes) + sum(map(grad(lambda t: t * t * x[1]), [1.0, 2.0]))


def in_a_comprehension_by_hand(x):
    return sum(2 * v * x[0] * v for v in x) + 6 * x[1]


def several_pullbacks(x):
    value, pullback = vjp(lambda z: z**2 * x[0])(x)
    s = np.sum(value)
    for i in range(5):
        e = np.zeros(5)
        e[i] = x[i]
        s += np.sum(pullback(e))
    return s + np.sum(pullback(x) * pullback(np.ones(5)))


def several_pullbacks_by_hand(x):
    return np.sum(x**2 * x[0]) + np.sum(2 * x * x[0] * x) + np.sum(4 * x**3 * x[0] ** 2)


def overwritten_afterwards(x):
    """What a pullback or a linear function needs is kept, whatever is written over it."""
    z, y = x.copy(), 2 * x + 1
    value, pullback = vjp(lambda a: np.sin(a) * y * a)(z)
    _, linear = linearize(lambda a: np.sin(a) * y * a)(z)
    z[:] = 5.0
    y[:] = 7.0
    value[:] = 0.0
    s = 0.0
    for i in range(3):
        y[i] = y[i] * 2
        s += np.sum(pullback(x)) + np.sum(linear(x**2))
        z[i] = s
    return s + np.sum(value)


def overwritten_afterwards_by_hand(x):
    slope = (2 * x + 1) * (np.cos(x) * x + np.sin(x))
    return 3 * np.sum(x * slope) + 3 * np.sum(x**2 * slope)


def pullback_of_the_last_iteration(x):
    for i in range(4):
        value, pullback = vjp(lambda z: np.cumsum(z * z) * x[i])(x * x[i + 1])
    return np.sum(pullback(value))


def pullback_of_the_last_iteration_by_hand(x):
    z = x * x[4]
    return np.sum(2 * z * x[3] * np.cumsum((np.cumsum(z * z) * x[3])[::-1])[::-1])


def pullbacks_from_branches(x):
    s = 0.0
    for i in range(4):
        if x[i] > 0:
            value, pullback = vjp(lambda t: t * t * x[i])(x[i])
        else:
            value, pullback = vjp(lambda t: np.sin(t) * x[i + 1])(x[i])
        s += pullback(value)
    return s


def pullbacks_from_branches_by_hand(x):
    return sum(2 * x[i] ** 2 * x[i] ** 3 if x[i] > 0 else np.cos(x[i]) * np.sin(x[i]) * x[i + 1] ** 2 for i in range(4))


def pullback_of_the_iteration_before(x):
    _, old = vjp(lambda z: np.cumsum(z * z))(0.3 * x)
    s = 0.0
    for i in range(4):
        _, new = vjp(lambda z: np.cumsum(z * z))(x * x[i])
        s += np.sum(old(x))
        old = new
    return s


def pullback_of_the_iteration_before_by_hand(x):
    c = np.cumsum(x[::-1])[::-1]
    return sum(np.sum(2 * z * c) for z in (0.3 * x, x * x[0], x * x[1], x * x[2]))


def writing_around(x):
    """The function writes to memory of the function around it, as any call of it does."""
    total = np.zeros(2)

    def f(t):
        total[0] += t * t
        total[1] = x[0] * t
        return total[0] * total[1]

    s = 0.0
    for i in range(4):
        s += jvp(f)(x[i], 1.0)[1] + grad(f)(x[i + 1])
    return s + total[0]


def writing_around_by_hand(x):
    total, s = 0.0, 0.0
    for i in range(4):
        for t in (x[i], x[i + 1]):
            total += t * t
            s += 2 * t * x[0] * t + total * x[0]
    return s + total


def leaving_values_around(x):
    """What the function leaves in lists, variables and objects is there afterwards."""
    found, last = [], 0.0

    def f(z):
        nonlocal last
        s, steps = 0.0, np.zeros(5)
        for i in range(5):
            s = s * 0.5 + np.sin(z[i]) * x[i]
            steps[i] = s
        found.append(s)
        last = s * 2
        return s * s, Steps(steps, [v * v for v in steps], lambda: s)

    slope, aux = grad(f, has_aux=True)(x)
    return np.sum(slope) * found[0] + last * aux.as_array[2] + sum(aux.as_list) + aux.as_function()


@dataclass
class Steps:
    as_array: Any
    as_list: Any
    as_function: Any


def leaving_values_around_by_hand(x):
    s, steps = 0.0, []
    for i in range(5):
        s = s * 0.5 + np.sin(x[i]) * x[i]
        steps.append(s)
    slope = 2 * s * 0.5 ** np.arange(4, -1, -1) * np.cos(x) * x
    return np.sum(slope) * s + 2 * s * steps[2] + sum(v * v for v in steps) + s


def views_of_what_is_around(x):
    v = x[::2]
    g = grad(lambda z: np.sum(z * v * x[1]))(v)
    x[0] = 3.0
    return np.sum(g * v) + np.sum(grad(lambda z: np.sum(z[::-1] * v))(v))


def views_of_what_is_around_by_hand(x):
    v = np.concatenate(([3.0], x[2::2]))
    return np.sum(x[::2] * x[1] * v) + np.sum(v)


def products_of_jacobians(x):
    m, y = np.eye(5), x
    for _ in range(3):
        m = jacobian(lambda y: np.sin(y) + 0.1 * y[::-1] * y)(y) @ m
        y = np.sin(y) + 0.1 * y[::-1] * y
    return np.sum(m * m)


def products_of_jacobians_by_hand(x):
    m, y = np.eye(5), x
    for _ in range(3):
        slope = np.zeros((5, 5))
        for i in range(5):
            slope[i, i] += np.cos(y[i]) + 0.1 * y[4 - i]
            slope[i, 4 - i] += 0.1 * y[i]
        m, y = slope @ m, np.sin(y) + 0.1 * y[::-1] * y
    return np.sum(m * m)


def prefixes(x):
    """Arrays whose extents differ between iterations, around the function and as its argument."""
    s = 0.0
    for i in range(1, 5):
        s += grad(lambda t: np.sum(x[:i] ** 2) * t * t)(x[i]) + grad(lambda z: np.sum(z**2 * x[0]))(x[:i])[0]
    return s


def prefixes_by_hand(x):
    return sum(2 * np.sum(x[:i] ** 2) * x[i] + 2 * x[0] * x[0] for i in range(1, 5))


def constants(x):
    c = np.array([1.0, 2.0])
    return np.sum(grad(lambda z: np.sum(z**2 * x[:2]))(c)) + grad(lambda t: t * t * x[0])(3.0)


def constants_by_hand(x):
    return 2 * x[0] + 4 * x[1] + 6 * x[0]


def explicit_control_flow(x):
    s = planned_ad.fori_loop(0, 4, lambda i, s: s + grad(lambda t: t**3 * s)(x[i]), x[0])
    last, rows = planned_ad.scan(lambda c, v: (c + grad(np.sin)(c) * v, jvp(np.exp)(c, v)[1]), s, x)
    return last + np.sum(rows) + grad(lambda t: planned_ad.fori_loop(0, 4, lambda i, c: c * t + x[i], t))(x[1])


def explicit_control_flow_by_hand(x):
    s = x[0]
    for i in range(4):
        s = s + 3 * x[i] ** 2 * s
    c, total = s, 0.0
    for v in x:
        total, c = total + np.exp(c) * v, c + np.cos(c) * v
    t = x[1]
    return c + total + 5 * t**4 + 3 * x[0] * t**2 + 2 * x[1] * t + x[2]


PAIRS: dict[Callable[..., Any], Callable[..., Any]] = {
    in_a_loop: in_a_loop_by_hand,
    training: training_by_hand,
    in_branches: in_branches_by_hand,
    of_branches: of_branches_by_hand,
    in_a_comprehension: in_a_comprehension_by_hand,
    several_pullbacks: several_pullbacks_by_hand,
    overwritten_afterwards: overwritten_afterwards_by_hand,
    pullback_of_the_last_iteration: pullback_of_the_last_iteration_by_hand,
    pullbacks_from_branches: pullbacks_from_branches_by_hand,
    pullback_of_the_iteration_before: pullback_of_the_iteration_before_by_hand,
    writing_around: writing_around_by_hand,
    leaving_values_around: leaving_values_around_by_hand,
    views_of_what_is_around: views_of_what_is_around_by_hand,
    products_of_jacobians: products_of_jacobians_by_hand,
    prefixes: prefixes_by_hand,
    constants: constants_by_hand,
    explicit_control_flow: explicit_control_flow_by_hand,
}


@pytest.mark.parametrize(("f", "unroll"), rotated(PAIRS, [0, 100]), ids=name_of)
def test_programs(f: Callable[..., Any], unroll: int) -> None:
    by_hand = PAIRS[f]
    gradient = Interpreted(planned_ad.value_and_grad(f), (X,), unroll)
    for x in (X, -X):
        try:
            value, slope = gradient((x,))
        except GuardBroken:  # a branch of an unrolled loop
            assert x is not X
            continue
        assert_near(value, by_hand(x), 1e-12)
        assert_near(slope, fourth_order(by_hand, x, 1e-4), 1e-8)


COMPILED = [training, of_branches, overwritten_afterwards, leaving_values_around, products_of_jacobians]


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_compiled_programs(f: Callable[..., Any]) -> None:
    by_hand, x = PAIRS[f], X.copy()
    plan = planned_ad.compile(f, (x,), unroll=0)
    assert_near(plan(x), by_hand(X), 1e-12)
    assert_near(plan.gradient(x.copy()), fourth_order(by_hand, X, 1e-4), 1e-8)


def test_second_derivatives_of_nested_programs() -> None:
    for f in (in_a_loop, several_pullbacks, writing_around):
        found = hessian(f)(X)
        assert_near(found, found.T, 1e-12)
        assert_near(found, fourth_order(lambda z, f=f: fourth_order(PAIRS[f], z, 1e-3), X, 1e-3), 1e-6)


def test_training_stays_a_loop() -> None:
    plan = planned_ad.compile(training, (X,))
    assert plan._variants[0].trace.unrolled == ()


# `while`.


def test_newton_iteration() -> None:
    def root(a):
        t = 1.0
        while abs(t**3 + t - a) > 1e-12:
            t = t - (t**3 + t - a) / grad(lambda t: t**3 + t - a)(t)
        return t

    plan = planned_ad.compile(root, (2.5,))
    for a in (2.5, 7.5):
        t = plan(a)
        assert_near(t**3 + t, a, 1e-10)
        assert_near(plan.gradient(a), 1 / (3 * t * t + 1), 1e-8)


def test_of_while() -> None:
    def grown(t, r):
        while t < 4.0:
            t = t * r
        return t * r

    def f(x):
        return grad(grown)(x[0], x[1]) * x[0]

    def by_hand(x):
        t, product = x[0], x[1]
        while t < 4.0:
            t, product = t * x[1], product * x[1]
        return product * x[0]

    gradient = Interpreted(value_and_grad(f), (np.array([0.5, 1.5]),))
    for x in (np.array([0.5, 1.5]), np.array([0.1, 1.3])):
        value, slope = gradient((x,))
        assert_near(value, by_hand(x), 1e-12)
        assert_near(slope, fourth_order(by_hand, x, 1e-5), 1e-7)


def test_branches_outside_of_loops_are_checked() -> None:
    def f(x):
        return np.sum(grad(lambda z: np.sum(z * z) if z[0] > 0 else np.sum(z**3))(x))

    def linear(x):
        _, along = linearize(lambda z: z * z if z[0] > 0 else z**3)(x)
        s = 0.0
        for i in range(5):
            s += np.sum(along(x * x[i]))
        return s

    first, second = planned_ad.compile(f, (X,)), planned_ad.compile(linear, (X,), unroll=0)
    for x in (X, -X):
        assert_near(first.gradient(x), 2 * np.ones(5) if x[0] > 0 else 6 * x, 1e-12)
        slope = 2 * x if x[0] > 0 else 3 * x * x
        assert_near(second(x), np.sum(slope * x) * np.sum(x), 1e-12)


# What is refused.


def test_linearize_of_what_writes_outside() -> None:
    def f(x):
        total = np.zeros(1)
        total[0] = x[1]

        def inner(t):
            total[0] += t
            return t * total[0]

        return linearize(inner)(x[0])[1](1.0)

    with pytest.raises(UnsupportedError, match=r"test_nested_derivatives\.py:\d+ .*pass that memory as an argument"):
        planned_ad.compile(f, (X,))


def test_arguments_that_share_memory_may_not_be_written() -> None:
    def write(a, b):
        a[0] = 5.0
        return np.sum(a * b)

    for other in (lambda x: x, lambda x: x[::-1], lambda x: x[:2]):
        with pytest.raises(TraceError, match="shares memory"):
            planned_ad.compile(lambda x, other=other: np.sum(grad(write)(x, other(x)) ** 2), (X,))
    halves = planned_ad.compile(lambda x: np.sum(grad(write)(x[:2], x[3:]) ** 2), (X,))
    assert_near(halves(X), X[4] ** 2, 1e-12)


def test_called_by_the_standard_library() -> None:
    def f(x):
        return np.sum(functools.reduce(lambda a, b: a + grad(lambda y: y * y * x[0])(b), [1.0, 2.0], 0.0))

    assert_near(planned_ad.compile(f, (X,))(X), 6 * X[0], 1e-12)


def test_a_derivative_has_names_of_its_own_for_what_sides_of_branches_compute() -> None:
    def inner(x, y, s, idx):
        for j in range(6):
            x[idx[5]] = np.tanh((x[5 - j] if idx[j] > 2 else y[j]) if y[5 - j] > 0.1 else (s if j != 0 else y[j]))
        return np.sum(np.sin(x)) + np.sum(np.cos(y)) + s

    def f(a, b, s, idx):
        t = s
        for k in range(4):
            if t > 0.2:
                grad(inner, (0, 1))(0.5 * a[1], b[0] + 0.1 * t, a[k, 0], idx)
            else:
                t = t + 0.1 * np.sum(grad(lambda z: inner(z, b[0], s, idx))(s * a[1]))
        return t + np.sum(a * b)

    rng = np.random.default_rng(0)
    args = (rng.normal(size=(4, 6)), rng.normal(size=(4, 6)), 0.3, np.array([5, 2, 1, 3, 0, 4]))
    verify(trace(grad(f, (0, 1, 2)), args, unroll=0).tape)


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_a_derivative_of_one_of_a_loop_as_often_as_data_say(count: int) -> None:
    weights = 0.1 * np.cos(np.arange(25)).reshape(5, 5)

    def inner(x, k):
        r = x
        for j in range(k):
            r = np.sin(weights @ (r + x[j] * x))
        return np.sum(r)

    def f(x, m):
        return np.sum(grad(inner)(x, m[0]) * x)

    plan = planned_ad.compile(f, (X, np.array([3])), calls=())
    known = planned_ad.compile(lambda x: np.sum(grad(inner)(x, count) * x), (X,), calls=())
    assert_near(plan.gradient(X, np.array([count])), known.gradient(X), 1e-12)
