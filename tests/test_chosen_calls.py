"""`compile(..., calls=...)`: which calls of a plan are compiled now."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import NotDifferentiableError


def number(x):
    return np.sum(np.sin(x) * x)


def array(x):
    return np.sin(x)


@pytest.mark.parametrize(
    "f, calls, compiled",
    [
        (number, None, {"gradient"}),
        (array, None, set()),
        (number, (), set()),
        (number, "value_and_gradient", {"value_and_gradient"}),
        (number, ["gradient", "pullback"], {"gradient", "pullback"}),
        (array, "pullback", {"pullback"}),
    ],
)
def test_what_is_compiled(f, calls, compiled):
    x = np.linspace(0.1, 1.0, 4)
    plan = planned_ad.compile(lambda x: f(x), (x,), calls=calls)
    assert plan._variants[0].entries.keys() == compiled
    assert plan(x) == pytest.approx(f(x))


def test_derivatives_that_are_plans_of_their_own():
    plan = planned_ad.compile(lambda x: number(x), (np.ones(3),), calls="hvp")
    assert "hvp" in vars(plan)
    assert not plan._variants[0].entries


def test_a_plan_that_is_there_compiles_them_too():
    def f(x):
        return number(x)

    x = np.ones(3)
    plan = planned_ad.compile(f, (x,))
    assert planned_ad.compile(f, (x,), calls="value_and_gradient") is plan
    assert plan._variants[0].entries.keys() == {"gradient", "value_and_gradient"}


def test_what_has_no_gradient():
    with pytest.raises(NotDifferentiableError, match="a gradient is of one floating scalar"):
        planned_ad.compile(array, (np.ones(3),), calls="value_and_gradient")


def test_functions_compile_what_is_called():
    f = planned_ad.function(lambda x: number(x))
    x = np.ones(3)
    f.value_and_gradient(x)
    assert f.plan(x)._variants[0].entries.keys() == {"value_and_gradient"}
