"""A program with types, as users write them: what mypy is to know of what `planned_ad` returns.

`make lint` checks it with the rules of `mypy --strict`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import planned_ad
from planned_ad import Active, Const, Duplicated, Explanation, Plan, Reverse

Vector = NDArray[np.float64]


def loss(x: Vector, power: int) -> float:
    return np.sum(x**power)


def shifted(x: Vector) -> Vector:
    return x[1:] - x[:-1]


def energy(x: Vector) -> float:
    return np.sum(planned_ad.fori_loop(0, 3, lambda i, y: y * x, x))


@planned_ad.custom_rule
def cube(x: Vector) -> Vector:
    return x**3


@cube.vjp(needs="x")
def cube_adjoint(x: Vector, cotangent: Vector) -> Vector:
    return 3 * x**2 * cotangent


@planned_ad.opaque(result=lambda x: 0.0)
def measured(x: Vector) -> float:
    return float(x.max())


@planned_ad.checkpoint
def layer(w: Vector, x: Vector) -> Vector:
    return np.tanh(w * x)


def a_plan_and_its_calls(x: Vector) -> None:
    plan = planned_ad.compile(loss, (x, 2))
    assert_type(plan, Plan[float])
    assert_type(plan(x, 2), float)
    value, gradient = assert_type(plan.value_and_gradient(x, 2), tuple[float, Any])
    assert type(value) is float and gradient.shape == x.shape
    shadow: Vector = plan.gradient(x, 2, np.empty_like(x))
    pulled: Vector = plan.pullback(x, 2, np.zeros_like(x), 1.0)
    assert shadow.tolist() == pulled.tolist() == gradient.tolist()
    assert_type(plan.jvp(x, 2, x), tuple[float, float])
    product: Vector = plan.hvp(x, 2, x)
    matrix: Vector = plan.hessian(x, 2)
    assert product.tolist() == (matrix @ x).tolist()
    step: Callable[[], Any] = plan.bind(x, 2, shadow)
    assert step() is shadow
    assert_type(copy.copy(plan), Plan[float])
    forward, reverse = plan.split()
    tape = forward.tape()
    assert forward(x, 2, tape) == value and reverse(tape).shape == x.shape
    assert_type(forward.tape_nbytes, int)
    assert isinstance(plan.kernel.gradient.address, int)


def what_a_plan_says(plan: Plan) -> None:  # a plan of anything
    explanation = assert_type(plan.explain(), Explanation)
    assert_type(explanation.cached_bytes, int)
    assert_type([kept.reason for kept in explanation.cached], list[str])
    assert_type(plan.listing("gradient"), str)


def derivatives_as_functions(x: Vector) -> None:
    gradient = planned_ad.grad(loss)
    found: Vector = gradient(x, power=2)
    value, again = assert_type(planned_ad.value_and_grad(loss)(x, 2), tuple[float, Any])
    assert type(value) is float and found.tolist() == again.tolist()
    assert_type(planned_ad.jvp(shifted)(x, x), tuple[Vector, Vector])
    result, pullback = planned_ad.vjp(shifted)(x)
    assert_type(result, Vector)
    cotangent: Vector = pullback(result)
    assert cotangent.shape == x.shape
    result, linear = planned_ad.linearize(shifted)(x)
    assert_type(linear(x), Vector)
    matrix: Vector = planned_ad.jacobian(shifted)(x)
    second: Vector = planned_ad.hessian(energy)(x)
    along: Vector = planned_ad.hvp(energy)(x, x)
    assert matrix.shape == (2, 3) and second.shape == (3, 3) and along.shape == (3,)
    assert_type(planned_ad.make_zero({"x": x}), dict[str, Vector])


def functions_with_rules(x: Vector) -> None:
    assert_type(cube(x), Vector)
    assert_type(measured(x), float)
    assert_type(layer(x, x), Vector)
    assert_type(cube_adjoint(x, x), Vector)


def loops_and_branches(x: Vector) -> None:
    assert_type(planned_ad.while_loop(lambda s: s < 100.0, lambda s: 2 * s, 3.0), float)
    assert_type(planned_ad.cond(x[0] > 0, shifted, shifted, x), Vector)
    assert_type(planned_ad.switch(0, [shifted], x), Vector)
    carry, _ = planned_ad.scan(lambda s, item: (s + item, None), 0.0, x)
    assert_type(carry, float)


def in_the_words_of_enzyme(x: Vector) -> None:
    shadow = np.zeros_like(x)
    found = planned_ad.autodiff(Reverse, loss, Active, Duplicated(x, shadow), Const(2))
    assert_type(found, tuple[Any, ...])
    assert shadow.tolist() == (2 * x).tolist()


def main() -> None:
    x = np.array([1.0, 2.0, 3.0])
    a_plan_and_its_calls(x)
    what_a_plan_says(planned_ad.compile(energy, x, on_branch="record"))
    derivatives_as_functions(x)
    functions_with_rules(x)
    loops_and_branches(x)
    in_the_words_of_enzyme(x)
