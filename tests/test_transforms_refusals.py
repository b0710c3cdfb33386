"""What the functional interface refuses, and how it says so: with the user's line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad import grad, hessian, jacobian, jvp, vjp
from planned_ad.errors import ArgumentError, NotDifferentiableError, PlannedADError, UnsupportedError

from .test_transforms import X, weighted

NO_LOSS = {
    "array of shape (5,)": lambda x: x,
    "array of shape (1,)": lambda x: np.sum(x, keepdims=True),
    "(float64, float64)": lambda x: (np.sum(x), x[0]),
    "None": lambda x: None,
}


@pytest.mark.parametrize("what", NO_LOSS)
def test_a_gradient_is_of_one_number(what: str) -> None:
    with pytest.raises(NotDifferentiableError) as raised:
        grad(NO_LOSS[what])(X)
    assert what in str(raised.value)
    assert "test_transforms_refusals.py" in str(raised.value)


@pytest.mark.parametrize("argument", ["text", None, 3, True, [], {}])
def test_arguments_without_a_number(argument) -> None:
    for derivative in (grad, jacobian, vjp):
        with pytest.raises(NotDifferentiableError, match=r"test_transforms_refusals\.py:\d+ .*has no floating number"):
            derivative(lambda x: 3.0)(argument)


def test_arguments_of_other_dtypes() -> None:
    for dtype in (np.float16, object):
        with pytest.raises(UnsupportedError, match="has dtype"):
            grad(lambda x: np.sum(x))(np.ones(2, dtype))


def test_directions_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match=r"a tangent has shape \(3,\), and must have \(5,\)"):
        jvp(lambda x: x * 2)(X, X[:3])
    with pytest.raises(ArgumentError, match=r"the cotangent has shape \(3,\)"):
        vjp(lambda x: x * 2)(X)[1](X[:3])
    with pytest.raises(ArgumentError, match="the cotangent is array, and must be"):
        vjp(lambda x: (x * 2, x))(X)[1](X)
    with pytest.raises(ArgumentError, match="takes 2 tangents"):
        jvp(weighted, (0, 1))(X, X, 2.0, (X,))
    with pytest.raises(TypeError, match="tangent"):
        jvp(lambda x: x)(X)
    with pytest.raises(ArgumentError, match="mode is"):
        jacobian(np.sum, mode="sideways")


def test_errors_of_the_function_name_its_line() -> None:
    def no_rule(x):
        return np.unique(np.outer(x, x), axis=0)[0, 0]

    for derivative in (grad, hessian, jacobian):
        with pytest.raises(PlannedADError, match=r"test_transforms_refusals\.py:\d+ in no_rule"):
            derivative(no_rule)(X)

    def beyond(x):
        return x[7]

    with pytest.raises(IndexError) as raised:
        hessian(beyond)(X)
    assert any("in beyond" in note for note in raised.value.__notes__)


def test_a_plan_is_not_called_in_traced_code() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), (X,))
    with pytest.raises(ArgumentError, match="call the function itself"):
        grad(lambda x: plan(x))(X)


def test_arguments_that_share_memory_have_a_signature_of_their_own() -> None:
    def f(a, b):
        b[0] = 2 * a[1]
        return np.sum(a * b)

    g, x = grad(f), np.array([1.0, 2.0])
    np.testing.assert_array_equal(g(x, x.copy()), [4, 4])
    with pytest.raises(PlannedADError, match="shares memory with the argument `a`"):
        g(x, x)


def test_a_plan_in_traced_code_names_the_line() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), X)
    with pytest.raises(ArgumentError, match=r"test_transforms_refusals.py:\d+.*cannot be called inside a function"):
        grad(lambda x: plan.gradient(x)[0])(X)


@pytest.mark.parametrize("make", [planned_ad.grad, planned_ad.value_and_grad, planned_ad.hessian])
def test_what_traced_values_cannot_do_is_refused_in_our_words(make: Callable) -> None:
    def f(x):
        a = np.zeros(3)
        seen = memoryview(a)
        a[0] = x[0]
        return x @ x + seen[0]

    with pytest.raises(UnsupportedError, match=r"memoryview.* not for the numbers"):
        make(f)(np.arange(3.0))
