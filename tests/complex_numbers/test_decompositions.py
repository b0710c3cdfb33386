"""Eigenvalues of any matrix and decompositions of complex ones: compiled, degenerate, and where results change type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import planned_ad
from planned_ad.differentiate.forward import forward
from planned_ad.differentiate.reverse import reverse
from planned_ad.errors import UnsupportedError
from planned_ad.python.structure import flatten
from planned_ad.trace import trace
from tests.malloc import count_in_subprocess
from tests.oracle import check_gradient

from ..sweeps import left_out
from ..tracing_oracle import replay
from .test_gradients import swept

RNG = np.random.default_rng(4)
PARTS = RNG.normal(size=(2, 5, 5))
MATRIX = PARTS[0] + 1j * PARTS[1]
HERMITIAN = MATRIX + MATRIX.conj().T
REAL_VALUES = np.diag([1.0, 2.0, 4.0])


def of_all(parts: np.ndarray) -> Any:
    """A number that depends on all of it, and on the phases of vectors, but not on their signs."""
    a = parts[0] + 1j * parts[1]
    (w, v), (_, real_v) = np.linalg.eig(a), np.linalg.eig(parts[0])
    total = np.sum(w.imag**2) + np.sum((v * v[:1]).imag) + np.sum((real_v * real_v[:1]).real ** 2)
    values, vectors = np.linalg.eigh(a)
    u, s, vh = np.linalg.svd(a[:, :3], full_matrices=False)
    q, r = np.linalg.qr(a[:, :3])
    total = total + np.sum(values**3) + np.sum((vectors * vectors[:1]).real ** 2)
    total = total + np.sum(s**3) + np.sum((u[:3] * vh.T).imag) + np.sum((q[:3] * np.diag(r).real).imag)
    return total + np.sum(np.linalg.cholesky(a @ a.conj().T + np.eye(5)).imag)


def test_machine_code() -> None:
    check_gradient(of_all, PARTS, every_call=False, differences=False)  # of which there are others


def test_single_precision() -> None:
    a = np.diag([1.0, 3.0, 5.0]) + MATRIX[:3, :3] / 4

    def f(a):
        return np.sum(np.abs(scipy.linalg.eigvals(a)) ** 3) + np.sum(scipy.linalg.svd(a)[1] ** 3)

    expected = gradient(f, a)
    found = planned_ad.compile(f, a.astype(np.complex64)).gradient(a.astype(np.complex64))
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_whether_values_are_real_is_a_guard() -> None:
    def f(a):
        w = np.linalg.eigvals(a)
        return np.sum(np.cos(w) ** 2).real, w.dtype.kind == "c"

    rotation = np.array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    plan = planned_ad.compile(f, REAL_VALUES)
    for a in (REAL_VALUES, rotation, REAL_VALUES):
        value, is_complex = plan(a)
        assert value == pytest.approx(f(a)[0]) and bool(is_complex) is f(a)[1]


def test_in_a_loop() -> None:
    def f(stack):
        total = 0.0
        for k in range(6):
            total += np.max(np.abs(np.linalg.eigvals(stack[k])))
        return total

    stack = REAL_VALUES + RNG.normal(size=(6, 3, 3))
    found, _ = replay(trace(f, (stack,)), stack)
    assert found == pytest.approx(f(stack))


FAILING = {"eig": np.linalg.eigvals, "eigh": np.linalg.eigvalsh, "svd": lambda a: np.linalg.svd(a)[1]}


@pytest.mark.parametrize("name", FAILING)
def test_no_convergence_is_an_error(name: str) -> None:
    plan = planned_ad.compile(lambda a: np.sum(np.abs(FAILING[name](a))), HERMITIAN)
    with pytest.raises(np.linalg.LinAlgError, match="test_decompositions"):
        plan(np.nan * HERMITIAN)


def test_not_positive_definite() -> None:
    plan = planned_ad.compile(lambda a: np.sum(np.linalg.cholesky(a).real), HERMITIAN @ HERMITIAN)
    with pytest.raises(np.linalg.LinAlgError):
        plan(-HERMITIAN @ HERMITIAN)


def gradient(f: Any, a: np.ndarray) -> np.ndarray:
    leaves, _ = flatten((a,))
    (found,) = swept(reverse(trace(f, (a,)).tape), leaves, None)
    return found[..., 0] + 1j * found[..., 1] if np.iscomplexobj(a) else found


def tangent(f: Any, a: np.ndarray, direction: np.ndarray) -> Any:
    return swept(forward(trace(f, (a,)).tape), flatten((a,))[0], flatten((direction,))[0])[-1]


def test_equal_values() -> None:
    """Symmetric functions of the values have a derivative, of vectors it is nan."""
    one = np.eye(3)
    np.testing.assert_allclose(gradient(lambda a: np.sum(np.exp(np.linalg.eigvals(a))).real, one), np.e * one)
    np.testing.assert_allclose(gradient(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), one + 0j), 2 * one, atol=1e-14)
    assert np.isnan(gradient(lambda a: np.sum(np.linalg.eig(a)[1] * MATRIX[:3, :3].real), one)).any()
    assert np.isnan(gradient(lambda a: np.sum((np.linalg.eigh(a)[1] * MATRIX[:3, :3]).real), one + 0j)).any()


def exponential(a: np.ndarray) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.conj().T


@pytest.mark.parametrize("size", [0.0, 1e-11, 1e-5])
def test_the_phase_does_not_matter_where_nothing_depends_on_it(size: float) -> None:
    """Also where the number that LAPACK makes real is small, or zero."""
    a = np.array([[1, 0, 0], [0, 2, 0.3 + 0.1j], [0, 0.3 - 0.1j, 3]])
    a = a + size * np.array([[0, 1j, 1], [-1j, 0, 0], [1, 0, 0]])
    direction = HERMITIAN[:3, :3]

    def f(a):
        return np.sum((exponential(a) * MATRIX[:3, :3]).real)

    step = 1e-5
    expected = (f(a + step * direction) - f(a - step * direction)) / (2 * step)
    assert tangent(f, a, direction) == pytest.approx(expected, rel=1e-8)
    assert np.sum((gradient(f, a).conj() * direction).real) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("order", [2, left_out(-2), "nuc"])
def test_second_derivatives_of_norms_of_singular_values(order: Any) -> None:
    rng = np.random.default_rng(4)
    a, d = (rng.normal(size=(4, 6)).view(complex) for _ in range(2))
    plan = planned_ad.compile(lambda x: np.linalg.norm(x, order), a)
    step = 1e-5
    wanted = (plan.gradient(a + step * d) - plan.gradient(a - step * d)) / (2 * step)
    np.testing.assert_allclose(plan.hvp(a, d), wanted, rtol=1e-6, atol=1e-8)


REFUSED = {
    "generalised": lambda a: scipy.linalg.eig(a, a),
    "left": lambda a: scipy.linalg.eig(a, left=True),
    "raw": lambda a: np.linalg.qr(a, "raw"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="has no rule"):
        trace(REFUSED[name], (MATRIX,))


ALLOCATIONS = """
import planned_ad
import numpy as np
def f(a):
    total = np.sum(np.linalg.eig(a)[1].real) + np.sum(np.linalg.eigh(a)[1].real) + np.linalg.eigvals(a.real)[0].real
    return total + np.sum(np.linalg.svd(a)[0].real) + np.sum(np.linalg.qr(a)[0].real)
a = np.random.default_rng(0).normal(size=(12, 24)).view(complex)
plan = planned_ad.compile(f, a)
def call():
    plan(a)
"""


def test_nothing_is_allocated() -> None:
    assert count_in_subprocess(ALLOCATIONS, 100) == {"malloc": 0, "blocks": 0}
