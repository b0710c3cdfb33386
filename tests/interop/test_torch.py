"""Plans as functions of PyTorch's tensors."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, ShapeError, UnsupportedError

from .programs import SINGLE, W, X, branching, likelihood, rosenbrock, waves, writing, writing_late

torch = pytest.importorskip("torch")
torch_function = planned_ad.interop.torch_function


def given(x: np.ndarray):
    return torch.tensor(x, requires_grad=True)


@pytest.fixture(scope="module")
def plan():
    return planned_ad.compile(rosenbrock, X)


def in_torch(x):
    return torch.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_first_and_second_derivative(plan) -> None:
    f = torch_function(plan)
    x, other, v = given(X), given(X), torch.tensor(W)
    for call, leaf in ((f, x), (in_torch, other)):
        loss = torch.exp(-1e-3 * call(leaf))
        (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
        (gradient @ v).backward()
        leaf.first = gradient.detach()
    np.testing.assert_allclose(x.first, other.first, rtol=1e-12)
    np.testing.assert_allclose(x.grad, other.grad, rtol=1e-10)


def test_second_derivatives_by_all_arguments_of_an_array() -> None:
    f = torch_function(planned_ad.compile(waves, (X, 2.0, 3, W)))
    x, t, w = given(X), given(np.array(1.7)), given(W)
    assert torch.autograd.gradcheck(lambda x, t, w: f(x, t, 3, w), (x, t, w))
    assert torch.autograd.gradgradcheck(lambda x, t, w: f(x, t, 3, w), (x, t, w))


def test_a_loss_of_an_array_and_a_number() -> None:
    f = torch_function(planned_ad.compile(likelihood, (X, 0.5)))
    x, s = given(X), given(np.array(0.7))
    assert torch.autograd.gradcheck(f, (x, s))
    assert torch.autograd.gradgradcheck(f, (x, s))


@pytest.mark.parametrize("program, other", list(zip(SINGLE, [lambda x: torch.sum(torch.cos(x)) ** 2, torch.cos])))
def test_single_precision(program, other) -> None:
    found = []
    for f in (torch_function(planned_ad.compile(program, X.astype("f4"))), other):
        x = given(X.astype("f4"))
        (gradient,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
        found.append([gradient, *torch.autograd.grad((gradient * x).sum(), x)])
    for own, true in zip(*found):
        assert own.dtype == torch.float32
        np.testing.assert_allclose(own.detach(), true.detach(), rtol=1e-4)


def test_gradients_are_arrays_of_their_own(plan) -> None:
    x, f = given(X), torch_function(plan)
    loss = f(x)
    loss.backward(retain_graph=True)
    loss.backward()  # adds to what the first has handed over
    np.testing.assert_allclose(x.grad, 2 * plan.gradient(X), rtol=1e-15)
    assert f(x.detach()).requires_grad is False


@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_a_graph_is_swept_again_whatever_was_written_to_what_it_gave(plan, scale) -> None:
    x, true = given(X), scale * plan.gradient(X)
    loss = scale * torch_function(plan)(x)
    for _ in range(3):
        loss.backward(retain_graph=True)
        np.testing.assert_array_equal(x.grad, true)
        x.grad.fill_(np.nan)  # the very memory that PyTorch was given, the first time
        x.grad = None
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
        loss.backward()


def test_a_third_derivative_is_refused(plan) -> None:
    x = given(X)
    (first,) = torch.autograd.grad(torch_function(plan)(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    with pytest.raises(UnsupportedError, match="no third derivative"):
        (second.sum() + first.sum()).backward()


def test_a_write_between_the_sweeps_is_noticed() -> None:
    f = torch_function(planned_ad.compile(lambda x: np.sin(x), X))
    x = given(X) * 1.0
    result = f(x)
    x += 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_another_branch_is_traced(plan) -> None:
    f = torch_function(planned_ad.compile(branching(3), X))
    x = given(-X)
    f(x).backward()
    np.testing.assert_allclose(x.grad, np.sin(X), rtol=1e-14)


def test_what_is_refused(plan) -> None:
    with pytest.raises(UnsupportedError, match="takes a plan"):
        torch_function(rosenbrock)
    with pytest.raises(UnsupportedError, match="preserve_args"):
        torch_function(planned_ad.compile(writing, X))
    with pytest.raises(UnsupportedError, match="arrays and numbers"):
        torch_function(planned_ad.compile(lambda p: np.sum(p["x"]), {"x": X}))
    with pytest.raises(UnsupportedError, match="has to return one"):
        torch_function(planned_ad.compile(lambda x: (x, x), X))
    with pytest.raises(ShapeError):
        torch_function(plan)(given(X[1:]))
    constant = torch_function(planned_ad.compile(lambda x, w: np.sum(x * w), (X, planned_ad.Const(W))))
    with pytest.raises(ArgumentError, match="w is constant"):
        constant(given(X), given(W))


def test_arguments_that_are_written_to_are_preserved() -> None:
    f, x = torch_function(planned_ad.compile(writing, X, preserve_args=True)), given(X)
    f(x).backward()
    np.testing.assert_array_equal(x.detach(), X)
    np.testing.assert_allclose(x.grad, 8 * X, rtol=1e-15)


def test_another_branch_that_writes_is_refused() -> None:
    plan = planned_ad.compile(writing_late(2), X)
    f, x = torch_function(plan), torch.tensor(-X)
    for call in (f, lambda x: f(x.requires_grad_())):
        with pytest.raises(UnsupportedError, match=r"programs.py:\d+.*x\[i\] = 2.0.*preserve_args=True"):
            call(x)
        np.testing.assert_array_equal(x.detach(), -X)
    np.testing.assert_allclose(f(torch.tensor(X)), np.sum(X**2), rtol=1e-14)


def test_a_shared_plan_is_asked_for_all_its_branches() -> None:
    plan = planned_ad.compile(writing_late(3), X)
    f = torch_function(plan)
    with pytest.raises(UnsupportedError, match="writes to arguments"):  # compiled code would try that branch too
        plan(-X)
    own, x = copy.copy(plan), -X
    np.testing.assert_allclose(own(x), -8 * np.sum(X**3), rtol=1e-14)
    np.testing.assert_array_equal(x, -2 * X)
    np.testing.assert_allclose(f(torch.tensor(X)), np.sum(X**3), rtol=1e-14)
    with pytest.raises(UnsupportedError, match="writes to arguments"):  # it has recorded that branch before
        torch_function(own)


def test_another_branch_that_writes_is_given_copies() -> None:
    f, x = torch_function(planned_ad.compile(writing_late(2), X, preserve_args=True)), given(-X)
    f(x).backward()
    np.testing.assert_array_equal(x.detach(), -X)
    np.testing.assert_allclose(x.grad, -8 * X, rtol=1e-15)
