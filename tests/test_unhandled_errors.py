"""Errors that nobody handles: loops with them stay loops, and every call raises the function's own error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace


def with_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        if v < 0:
            raise ValueError(f"negative at {i}: {v}", v)
        total += v * v
    return total


def with_a_message(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            message = "element %d of %s is negative" % (i, len(x))  # noqa: UP031 (as people write it)
            raise ValueError(message)
        total += x[i] * x[i]
    return total


def checked(v, i, names):
    if v < 0:
        raise KeyError(names[0], str(i))
    return v * v


def in_a_helper(x):
    names = ["a", "b", "c"]
    total = 0.0
    for i, v in enumerate(x):
        total += checked(v, i, names)
    return total


CALLS: dict[str, Callable] = {
    "value": lambda f, plan, x: plan(x),
    "gradient": lambda f, plan, x: plan.gradient(x),
    "value_and_gradient": lambda f, plan, x: plan.value_and_gradient(x),
    "jvp": lambda f, plan, x: plan.jvp(x, np.ones_like(x)),
    "hvp": lambda f, plan, x: plan.hvp(x, np.ones_like(x)),
    "hessian": lambda f, plan, x: plan.hessian(x),
    "compile": lambda f, plan, x: planned_ad.compile(f, (x,)),
    "grad": lambda f, plan, x: planned_ad.grad(f)(x),
    "vectorize": lambda f, plan, x: planned_ad.vectorize(f)(np.stack([np.abs(x), x])),
    "function": lambda f, plan, x: planned_ad.function(f).gradient(x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("f", [with_the_index, with_a_message, in_a_helper], ids=lambda f: f.__name__)
def test_each_call_raises_the_error_of_the_function(f: Callable, name: str) -> None:
    x = np.linspace(0.1, 0.9, 20)
    plan = planned_ad.compile(f, (x,))
    if name != "compile":
        CALLS[name](f, plan, x)
    x[7] = -0.3
    with pytest.raises((ValueError, KeyError)) as expected:
        f(x)
    with pytest.raises(expected.type) as error:
        CALLS[name](f, plan, x)
    assert error.value.args == expected.value.args
    assert [type(arg) for arg in error.value.args] == [type(arg) for arg in expected.value.args]


@pytest.mark.parametrize("f", [with_the_index, with_a_message, in_a_helper], ids=lambda f: f.__name__)
def test_the_loop_stays_a_loop(f: Callable) -> None:
    found = trace(f, (np.linspace(0.1, 0.9, 40),))
    assert found.rolled and not found.unrolled


def test_a_handled_error_has_the_number() -> None:
    def f(x):
        total = 0.0
        for i, v in enumerate(x):
            try:
                if v < 0:
                    raise ValueError(f"{i}")
                total += v
            except ValueError as error:
                total += 10.0 * float(str(error))
        return total

    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=20),), check=False)
    x = rng.normal(size=20)
    assert plan(x) == pytest.approx(f(x))


class Stop(BaseException):
    """No error, but what ends a program."""


def test_what_is_no_error_ends_the_call_too() -> None:
    def f(x):
        total = 0.0
        for v in x:
            if v < 0:
                raise Stop
            total += v * v
        return total

    plan = planned_ad.compile(f, (np.ones(20),), check=False)
    assert plan(np.ones(20)) == 20.0
    with pytest.raises(Stop):
        plan(-np.ones(20))


def test_a_while_that_is_left_by_an_error() -> None:
    def f(x):
        y, n = x[0], 0
        while y < 5:
            y = y * 1.2 + x[1]
            n += 1
            if n > 50 or y < 0:
                raise RuntimeError("no convergence")
        return y

    plan = planned_ad.compile(f, (np.array([0.1, 0.2]),))
    assert plan(np.array([0.3, 0.2])) == pytest.approx(f(np.array([0.3, 0.2])))
    for x in (np.array([-1.0, 0.1]), np.array([1e-12, 0.0])):
        for call in (plan, plan.gradient):
            with pytest.raises(RuntimeError, match="no convergence"):
                call(x)


def not_negative(v):
    if v < 0:
        raise ValueError("negative")
    return v


def test_a_helper_whose_error_only_one_of_its_callers_handles() -> None:
    def f(x):
        total = 1.0
        for v in x:
            try:
                total = not_negative(total + v)
            except ValueError:
                total = 2 * total
            total = not_negative(1.5 * total)
        return total

    x = np.full(20, 0.1)
    plan = planned_ad.compile(f, (x,))
    assert not plan.explain().fallbacks
    for k in (None, 0, 3, 19):
        at = x.copy()
        at[k or 0] = x[0] if k is None else -1e7
        np.testing.assert_allclose(plan(at), f(at), rtol=1e-12)
        assert plan.gradient(at)[k or 0] == 0.0 or k is None
    with pytest.raises(ValueError, match="negative"):
        planned_ad.compile(lambda x: f(x) + not_negative(x[0]), (x,))(np.r_[-0.1, x[1:]])
