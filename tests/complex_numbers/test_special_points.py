"""Values and derivatives where numbers are real, imaginary or zero, or their parts are equal: on branch cuts, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace
from planned_ad.tracing.complex.formulas import FORMULAS

from ..tracing_oracle import replay

PARTS = [-2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5]
EVERYWHERE = np.array([complex(x, y) for x in PARTS for y in PARTS])
ON_CUTS = np.array([-2.0 + 0j, complex(-2.0, -0.0), complex(-0.5, 0.0), complex(-0.5, -0.0)])
ALIGNED = np.array([0.5, 2j, -2j, 0.5j, 1 + 1j, 1 - 1j, -1 + 1j, 0.7 - 0.7j, 2.0, 0.9, 1.1])
INSIDE = np.array([0.5, -0.5, 0.5j, -0.5j, 0.5 + 0.5j, 0.5 - 0.5j, -0.5 - 0.5j, 1 + 1j, 0j])
OUTSIDE = np.array([2 + 2j, 2 - 2j, 2.0, 3 + 1j])
Derivative = Callable[[Any], Any]
# Holomorphic functions with their first and second derivatives, and where that is looked at.
DERIVATIVES: list[tuple[np.ufunc, Derivative, Derivative, np.ndarray]] = [
    (np.exp, np.exp, np.exp, np.append(ALIGNED, 0j)),
    (np.expm1, np.exp, np.exp, np.append(ALIGNED, 0j)),
    (np.log, lambda z: 1 / z, lambda z: -1 / z**2, np.append(ALIGNED, ON_CUTS)),
    (np.log1p, lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2, np.append(ALIGNED, 0j)),
    (np.sqrt, lambda z: 0.5 / np.sqrt(z), lambda z: -0.25 / np.sqrt(z) ** 3, np.append(ALIGNED, ON_CUTS)),
    (np.square, lambda z: 2 * z, lambda z: 2 + 0 * z, np.append(ALIGNED, 0j)),
    (np.reciprocal, lambda z: -1 / z**2, lambda z: 2 / z**3, ALIGNED),
    (np.sin, np.cos, lambda z: -np.sin(z), np.append(ALIGNED, 0j)),
    (np.cosh, np.sinh, np.cosh, np.append(ALIGNED, 0j)),
    (np.tan, lambda z: 1 + np.tan(z) ** 2, lambda z: 2 * np.tan(z) * (1 + np.tan(z) ** 2), np.append(ALIGNED, 0j)),
    (np.tanh, lambda z: 1 - np.tanh(z) ** 2, lambda z: -2 * np.tanh(z) * (1 - np.tanh(z) ** 2), np.append(ALIGNED, 0j)),
    (np.arcsin, lambda z: (1 - z**2) ** -0.5, lambda z: z * (1 - z**2) ** -1.5, INSIDE),
    (np.arccos, lambda z: -((1 - z**2) ** -0.5), lambda z: -z * (1 - z**2) ** -1.5, INSIDE),
    (np.arctan, lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2, INSIDE),
    (np.arcsinh, lambda z: (1 + z**2) ** -0.5, lambda z: -z * (1 + z**2) ** -1.5, INSIDE),
    (np.arctanh, lambda z: 1 / (1 - z**2), lambda z: 2 * z / (1 - z**2) ** 2, INSIDE),
    (np.arccosh, lambda z: 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)),
     lambda z: -z / (np.sqrt(z - 1) * np.sqrt(z + 1)) ** 3, OUTSIDE),
]  # fmt: skip


@pytest.mark.parametrize(
    "ufunc", [f for f in FORMULAS if f.nin == 1 and f is not np.reciprocal], ids=lambda f: f.__name__
)
def test_values(ufunc: np.ufunc) -> None:
    found, _ = replay(trace(lambda z: ufunc(z), (EVERYWHERE,)), EVERYWHERE)
    with np.errstate(all="ignore"):
        expected = ufunc(EVERYWHERE)
    np.testing.assert_allclose(np.real(found), np.real(expected), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(np.imag(found), np.imag(expected), rtol=1e-13, atol=1e-15)


def test_sorting_puts_nan_last() -> None:
    z = np.array([complex(x, y) for x in (1.0, np.nan, -1.0, 0.0) for y in (np.nan, 2.0, -0.0, -np.inf)])
    found, _ = replay(trace(lambda z: np.sort(z), (z,)), z)
    np.testing.assert_array_equal(found, np.sort(z))


@pytest.mark.parametrize("row", DERIVATIVES, ids=lambda row: row[0].__name__)
def test_derivatives(row: tuple[np.ufunc, Derivative, Derivative, np.ndarray]) -> None:
    """The tangent along 1 is the complex derivative, and so is the tangent of that."""
    ufunc, first, second, z = row

    def tangents(z: np.ndarray) -> Any:
        def tangent(z: np.ndarray) -> Any:
            return planned_ad.jvp(lambda z: ufunc(z))(z, np.ones(z.shape, complex))[1]

        return planned_ad.jvp(tangent)(z, np.ones(z.shape, complex))

    (found, of_found), _ = replay(trace(tangents, (z,)), z)
    np.testing.assert_allclose(found, first(z), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(of_found, second(z), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("ufunc", [np.power, np.divide, np.multiply, np.add, np.subtract], ids=lambda f: f.__name__)
def test_values_of_two(ufunc: np.ufunc) -> None:
    a, b = (part.ravel() for part in np.meshgrid(EVERYWHERE[::3], EVERYWHERE[::5]))
    apart = b != 0
    a, b = a[apart], b[apart]
    found, _ = replay(trace(lambda a, b: ufunc(a, b), (a, b)), a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, ufunc(a, b), rtol=1e-13, atol=1e-15)


def test_roots_of_real_numbers() -> None:
    """On which side of the cut a real number lies, its history says; and so it says here."""
    x = np.array([-2.0, 3.0])
    for f in (
        lambda x: np.sqrt(x + 0j),
        lambda x: np.sqrt(-(x + 0j)),
        lambda x: np.sqrt(np.conj(x + 0j)),
        lambda x: np.sqrt(x * (1 + 0j)),
        lambda x: np.sqrt((x + 0j) * -1.0),
        lambda x: np.sqrt((x + 0j) / -2.0),
        lambda x: np.sqrt(-1 + 1j * (0.0 * x)),
        lambda x: np.sqrt(np.array([-1 - 0j, -1 + 0j]) * x),
        lambda x: np.log(x - np.conj(1 + 0j)),
    ):
        found, _ = replay(trace(f, (x,)), x)
        np.testing.assert_allclose(found, f(x), rtol=1e-14, atol=1e-15)


def test_quotients_that_are_masked_have_no_derivative() -> None:
    z = np.array([0j, 1 + 1j])

    def loss(z: np.ndarray) -> Any:
        return np.sum(np.abs(np.where(z == 0, 1, np.sin(z) / z)))

    found, _ = replay(trace(lambda z: planned_ad.grad(loss)(z), (z,)), z)
    assert found[0] == 0 and np.all(np.isfinite(found))
