"""The derivatives of complex functions, by what they are defined to be, and beside those of JAX, PyTorch and autograd.

With `f = u + iv` of `z = x + iy`, and pairs of reals in the place of complex numbers: a cotangent `w` of `f` is pulled
back to `Re(conj(w) df/dx) + i Re(conj(w) df/dy)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import planned_ad

Z, W = 0.7 - 0.4j, 1.2 + 0.5j


@dataclass(frozen=True, slots=True)
class Function:
    """A function of NumPy's or another library's functions, and its derivatives by `z` and by its conjugate."""

    name: str
    of: Callable[[Any, complex], Any]
    by_z: complex
    by_conjugate: complex


FUNCTIONS = [
    Function("square", lambda np, z: z * z, 2 * Z, 0),
    Function("exp", lambda np, z: np.exp(z), np.exp(Z), 0),
    Function("conjugate", lambda np, z: np.conj(z), 0, 1),
    Function("real part", lambda np, z: np.real(z), 0.5, 0.5),
    Function("imaginary part", lambda np, z: np.imag(z), -0.5j, 0.5j),
    Function("size", lambda np, z: np.abs(z), np.conj(Z) / (2 * abs(Z)), Z / (2 * abs(Z))),
    Function("squared size", lambda np, z: z * np.conj(z), np.conj(Z), Z),
    Function("angle", lambda np, z: np.angle(z), -0.5j / Z, 0.5j / np.conj(Z)),
]
HOLOMORPHIC = [f for f in FUNCTIONS if f.by_conjugate == 0]


def cotangent_of(function: Function) -> Any:
    return W if np.iscomplexobj(function.of(np, Z)) else W.real


def pulled_back(function: Function) -> complex:
    _, pullback = planned_ad.vjp(lambda z: function.of(np, z))(Z)
    return pullback(cotangent_of(function))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_pullback(function: Function) -> None:
    w = cotangent_of(function)
    expected = w * np.conj(function.by_z) + np.conj(w) * function.by_conjugate
    assert pulled_back(function) == pytest.approx(expected)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_tangent(function: Function) -> None:
    _, tangent = planned_ad.jvp(lambda z: function.of(np, z))(Z, W)
    assert tangent == pytest.approx(function.by_z * W + function.by_conjugate * np.conj(W))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_jax_has_the_conjugates(function: Function) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    _, pullback = jax.vjp(lambda z: function.of(jax.numpy, z), jax.numpy.asarray(Z))
    theirs = pullback(jax.numpy.asarray(np.conj(cotangent_of(function))))[0]
    np.testing.assert_allclose(np.conj(theirs), pulled_back(function), rtol=1e-12)
    _, tangent = jax.jvp(lambda z: function.of(jax.numpy, z), (jax.numpy.asarray(Z),), (jax.numpy.asarray(W),))
    np.testing.assert_allclose(tangent, planned_ad.jvp(lambda z: function.of(np, z))(Z, W)[1], rtol=1e-12)


def test_jax_has_the_conjugate_gradient_of_a_loss() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    theirs = jax.grad(lambda z: jax.numpy.abs(z) ** 4)(jax.numpy.asarray(Z))
    np.testing.assert_allclose(np.conj(theirs), planned_ad.grad(lambda z: abs(z) ** 4)(Z), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_torch_has_the_same(function: Function) -> None:
    torch = pytest.importorskip("torch")
    z = torch.tensor(Z, dtype=torch.complex128, requires_grad=True)
    result = function.of(torch, z)
    result.backward(torch.tensor(cotangent_of(function), dtype=result.dtype))
    np.testing.assert_allclose(z.grad.item(), pulled_back(function), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_autograd_has_the_conjugates(function: Function) -> None:
    autograd = pytest.importorskip("autograd")
    anp = pytest.importorskip("autograd.numpy")
    pullback, _ = autograd.make_vjp(lambda z: function.of(anp, z))(Z)
    theirs = pullback(np.conj(cotangent_of(function)))
    np.testing.assert_allclose(np.conj(theirs), pulled_back(function), rtol=1e-12)
