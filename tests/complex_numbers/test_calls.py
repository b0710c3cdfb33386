"""Calls of plans with complex arguments, shadows, cotangents and results; and derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import (
    ArgumentError,
    DtypeError,
    NotDifferentiableError,
    ReadOnlyError,
    ShapeError,
    UnsupportedError,
)

Z = np.array([1 + 2j, 2 - 1j, 0.5j, -1.5])
C = 0.6 - 0.3j


def loss(z: np.ndarray, c: complex) -> Any:
    return np.sum(np.abs(z * c - 1) ** 2)


def gradient_of_loss(z: np.ndarray, c: complex) -> tuple[np.ndarray, complex]:
    """Twice the derivative by the conjugate: for `|f|**2` of a holomorphic `f` that is `2 f conj(f')`."""
    gap = z * c - 1
    return 2 * gap * np.conj(c), complex(np.sum(2 * gap * np.conj(z)))


LAYOUTS = {
    "in a row": Z,
    "every second": np.repeat(Z, 2)[::2],
    "backwards": Z[::-1],
    "columns": np.asfortranarray(np.outer(Z, Z)),
    "transposed": np.outer(Z, Z[:3]).T,
    "none": Z[:0],
    "single": Z.astype(np.complex64),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_gradient(name: str) -> None:
    z = LAYOUTS[name]
    plan = planned_ad.compile(loss, (z, C))
    value, (dz, dc) = plan.value_and_gradient(z, C)
    tolerance = 1e-5 if z.dtype == np.complex64 else 1e-12
    expected, expected_number = gradient_of_loss(z, C)
    np.testing.assert_allclose(value, loss(z, C), rtol=tolerance)
    np.testing.assert_allclose(dz, expected, rtol=tolerance, atol=tolerance)
    assert dz.dtype == z.dtype and type(dc) is complex
    np.testing.assert_allclose(dc, expected_number, rtol=tolerance)
    given = np.zeros_like(z)
    assert plan.gradient(z, np.complex128(C), given)[0] is given or name in ("every second", "backwards")
    assert plan(z, 2.0) == pytest.approx(loss(z, 2.0), rel=tolerance)  # a real number is a complex one


@pytest.fixture(scope="module")
def plan() -> Any:
    def f(z, c):
        return z * c, np.sum(z * z)

    return planned_ad.compile(f, (Z, C))


def test_results_and_cotangents(plan: Any) -> None:
    product, total = plan(Z, C)
    np.testing.assert_allclose(product, Z * C)
    assert type(total) is complex and total == pytest.approx(np.sum(Z * Z))
    out = np.zeros(4, complex)
    assert plan(Z, C, out)[0] is out
    first, second = np.array([1, 1j, 0, 2 - 1j]), 0.5 + 2j
    dz, dc = plan.pullback(Z, C, cotangent0=first, cotangent1=second)
    np.testing.assert_allclose(dz, first * np.conj(C) + second * np.conj(2 * Z))
    assert dc == pytest.approx(np.sum(first * np.conj(Z)))


def test_tangents(plan: Any) -> None:
    (_, _), (product, total) = plan.jvp(Z, C, 1j * np.ones(4), 2 + 0j)
    np.testing.assert_allclose(product, 1j * C + 2 * Z)
    assert total == pytest.approx(2j * np.sum(Z))


def test_split(plan: Any) -> None:
    forward, reverse = plan.split()
    tape = forward.tape()
    forward(Z, C, tape)
    dz, dc = reverse(tape, cotangent0=np.ones(4, complex), cotangent1=0j)
    np.testing.assert_allclose(dz, np.conj(C) * np.ones(4))
    assert dc == pytest.approx(np.sum(np.conj(Z)))


def test_errors(plan: Any) -> None:
    with pytest.raises(ShapeError, match=r"shape \(3,\).*\(4,\)"):
        plan(Z[:3], C)
    with pytest.raises(DtypeError, match=r"complex64.*complex128"):
        plan(Z.astype(np.complex64), C)
    with pytest.raises(ArgumentError, match="complex array"):
        plan(Z.real, C)
    with pytest.raises(NotDifferentiableError, match="complex"):
        plan.gradient(Z, C)
    with pytest.raises(UnsupportedError, match="real and imaginary part"):
        plan.jacobian(Z, C)
    shadow = np.zeros(4, complex)
    shadow.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="dz is read-only"):
        planned_ad.compile(lambda z: np.sum(np.abs(z)), Z).gradient(Z, shadow)
    with pytest.raises(NotDifferentiableError, match="real part or its size"):
        planned_ad.compile(lambda z: np.sum(z), Z).gradient(Z)


def test_containers() -> None:
    tree = {"z": Z.copy(), "c": C, "x": np.ones(4)}
    plan = planned_ad.compile(lambda tree: np.sum(np.abs(tree["z"] * tree["c"] * tree["x"])), (tree,))
    found = plan.gradient(tree)
    np.testing.assert_allclose(found["z"], np.abs(C) * Z / np.abs(Z))
    assert found["c"] == pytest.approx(C / abs(C) * np.sum(np.abs(Z)))
    shadow = {"z": np.zeros(4, complex), "c": 0j, "x": np.zeros(4)}
    assert plan.gradient(tree, shadow) is shadow and shadow["c"] == found["c"]


def test_writes_and_what_is_outside() -> None:
    table = np.array([1j, 2, 3, 4])

    def f(z):
        z[1:] *= table[1:]
        return np.sum(np.abs(z) ** 2)

    plan = planned_ad.compile(f, (Z,))
    for _ in range(2):
        z, expected = Z.copy(), Z.copy()
        assert plan(z) == pytest.approx(f(expected))
        np.testing.assert_array_equal(z, expected)
        table[1] = 5j


def test_nested() -> None:
    def power(z):
        return np.sum(np.abs(z) ** 4)

    gradient = planned_ad.grad(power)
    np.testing.assert_allclose(gradient(Z), 4 * np.abs(Z) ** 2 * Z)
    of_square = planned_ad.grad(lambda z: np.sum(np.abs(gradient(z)) ** 2))
    np.testing.assert_allclose(of_square(Z), 96 * np.abs(Z) ** 4 * Z)
    direction = np.array([1, 1j, 1 + 1j, 0])
    step = 1e-6 * direction
    differences = (4 * np.abs(Z + step) ** 2 * (Z + step) - 4 * np.abs(Z - step) ** 2 * (Z - step)) / 2e-6
    np.testing.assert_allclose(planned_ad.hvp(power)(Z, direction), differences, rtol=1e-7)
    np.testing.assert_allclose(planned_ad.jacobian(lambda z: np.abs(z) ** 2)(Z), np.diag(2 * Z))


def test_loops_are_recorded_once() -> None:
    def f(psi):
        for _ in range(100):
            psi = psi * np.exp(0.01j * np.abs(psi) ** 2)
        return psi.real @ psi.real

    plan = planned_ad.compile(f, (Z,))
    assert plan.explain().fallbacks == ()
    step = 1e-6 * np.array([1, 1j, 1 + 1j, -2])
    expected = (f(Z + step) - f(Z - step)) / 2e-6
    np.testing.assert_allclose(np.sum(np.real(np.conj(plan.gradient(Z)) * step)) / 1e-6, expected, rtol=1e-6)


def test_explain_speaks_of_complex_arrays(plan: Any) -> None:
    assert "z: complex128 array of shape (4,)" in str(plan.explain())
