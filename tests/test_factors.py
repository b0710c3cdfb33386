"""Schur, Hessenberg, QZ and `L D L^T`: SciPy's values, with derivatives of first and second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import planned_ad
from planned_ad.errors import UnsupportedError
from planned_ad.functional.turn_equations import of_hessenberg, of_pair, of_schur
from planned_ad.trace import trace

from .numpy_functions.test_gradients import gradient
from .tracing_oracle import replay

rng = np.random.default_rng(3)
A = rng.normal(size=(4, 4))  # with a pair of conjugate eigenvalues
V = rng.normal(size=(4, 4))
REAL = V @ np.diag([1.0, 2.0, 3.5, 5.0]) @ np.linalg.inv(V)
B = rng.normal(size=(4, 4))
S = A + A.T  # with a pivot of two rows


def free_of_phase(t: Any, *unitary: Any) -> Any:
    """What does not depend on how vectors of complex factors are turned."""
    return np.diag(t), np.abs(t), *map(np.abs, unitary)


CASES: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "schur": (lambda a: sl.schur(a), A),
    "of real eigenvalues": (lambda a: sl.schur(a), REAL),
    "sorted": (lambda a: sl.schur(a, sort="lhp")[:2], A),
    "complex": (lambda a: free_of_phase(*sl.schur(a + 1j * B)), A),
    "complex of a real one": (lambda a: free_of_phase(*sl.schur(a, output="complex")), A),
    "hessenberg": (lambda a: sl.hessenberg(a, calc_q=True), A),
    "hessenberg of integers": (lambda a: sl.hessenberg(a[0, 0] * np.arange(9).reshape(3, 3)), A),
    "complex hessenberg": (lambda a: [g for f in sl.hessenberg(a + 1j * B, True) for g in (f.real, f.imag)], A),
    "qz": (lambda a: sl.qz(a, B + 0.5 * a.T), A),
    "complex qz": (lambda a: [np.abs(f) for f in sl.qz(a, B + 0.5 * a.T, output="complex")], A),
    "ldl": (lambda a: sl.ldl(a)[:2], S),
    "of the upper triangle": (lambda a: sl.ldl(a, lower=False)[:2], S),
    "of a hermitian matrix": (lambda a: [abs(f) for f in sl.ldl(a + 1j * (B - B.T))[:2]], S),
    "of small ones": (lambda a: (*sl.schur(a[:1, :1]), *sl.hessenberg(a[:2, :2], True), *sl.ldl(a[:1, :1])[:2]), S),
    "rq": (lambda a: sl.rq(a[:3]), A),
    "rq of a tall one": (lambda a: (*sl.rq(a[:, :3]), sl.rq(a[:, :3], mode="r")), A),
    "economic rq": (lambda a: sl.rq(a[:2], mode="economic"), A),
    "pivots": (lambda a: sl.qr(a, pivoting=True)[:2], A),
    "products": (lambda a: sl.qr_multiply(a[:, :3], a[:2])[0] + sl.qr_multiply(a[:, :3], a[:3, 0], "left")[0][:1], A),
}


def loss_of(f: Callable[..., Any]) -> Callable[[Any], Any]:
    def loss(a: Any) -> Any:
        found = f(a)
        parts = found if isinstance(found, tuple | list) else [found]
        total = 0.0
        for k, part in enumerate(parts):
            weights = np.cos(np.arange(1.0, part.size + 1) + k).reshape(part.shape)
            total = total + np.sum(weights * (np.real(part) + 0.3 * np.imag(part) if np.iscomplexobj(part) else part))
        return total

    return loss


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, x = CASES[name]
    loss = loss_of(f)
    direction = np.cos(3.0 * np.arange(x.size)).reshape(x.shape)
    actual, _ = replay(trace(loss, (x,)), x)
    np.testing.assert_allclose(actual, loss(x), rtol=1e-12)
    ends = [loss(x + s * 1e-4 * direction) for s in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4
    (dx,) = gradient(loss, (x,))
    np.testing.assert_allclose(np.sum(dx * direction), wanted, rtol=1e-6)


def test_derivatives_of_second_order_and_the_fallback() -> None:
    loss, a = loss_of(CASES["schur"][0]), A[:3, :3].copy()
    plan = planned_ad.compile(loss, (a,))
    direction = np.cos(3.0 * np.arange(9)).reshape(3, 3)
    ends = [plan.gradient(a + s * 1e-4 * direction) for s in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4
    np.testing.assert_allclose(plan.hvp(a, direction), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(plan.jvp(a, direction)[1], np.sum(plan.gradient(a) * direction), rtol=1e-10)
    assert "schur" in plan.explain().fallbacks[0]


def test_equal_eigenvalues_are_an_error() -> None:
    for f in (lambda a: sl.schur(a)[1], lambda a: sl.qz(a, a)[2], lambda a: sl.hessenberg(np.triu(a))):
        traced = trace(loss_of(f), (A,))
        with pytest.raises(np.linalg.LinAlgError, match="no derivative"):
            replay(traced, np.eye(4))


STACK = rng.normal(size=(2, 1, 3, 3))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: sl.schur(a),
        lambda a: sl.hessenberg(a, calc_q=True),
        lambda a: sl.qz(a[:, 0], np.stack([B[:3, :3], B[1:, 1:]])[:1]),
        lambda a: sl.ldl(a + a.swapaxes(-1, -2))[:2],
    ],
)
def test_of_stacks(f: Callable[..., Any]) -> None:
    loss = loss_of(f)
    direction = np.cos(3.0 * np.arange(STACK.size)).reshape(STACK.shape)
    np.testing.assert_allclose(replay(trace(loss, (STACK,)), STACK)[0], loss(STACK), rtol=1e-12)
    ends = [loss(STACK + s * 1e-4 * direction) for s in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4
    np.testing.assert_allclose(np.sum(gradient(loss, (STACK,))[0] * direction), wanted, rtol=1e-6)


@pytest.mark.parametrize("is_complex", [False, True])
def test_equations_of_many_rows_and_their_adjoints(is_complex: bool) -> None:
    n, low = 50, np.tri(50, k=-1)

    def numbers(*shape: int) -> np.ndarray:
        real = rng.normal(size=(*shape, n, n))
        return real + 1j * rng.normal(size=(*shape, n, n)) if is_complex else real

    output = "complex" if is_complex else "real"
    t, h = sl.schur(numbers(), output)[0], sl.hessenberg(numbers())
    pair = np.stack(sl.qz(numbers(), numbers(), output)[:2])
    from_second = low * (np.arange(n) > 0)
    for form, solve, places, unknown, batch in (
        (t, of_schur, low, low, ()),
        (h, of_hessenberg, np.tri(n, k=-2), from_second, ()),
        (pair, of_pair, low, low, (2,)),
    ):
        right, other = numbers(*batch) * places, numbers(*batch) * unknown
        x, y = solve(form, right, False), solve(form, other, True)
        np.testing.assert_allclose(np.vdot(other, x), np.vdot(y, right), rtol=1e-6)
        free = np.where(np.diag(np.diagonal(form if form.ndim == 2 else form[0], -1) != 0, -1), 0.0, places)
        w = [m - np.conj(m).T for m in (x if batch else [x, x])]
        for k, own in enumerate(form if batch else form[None]):
            moved = own @ w[0] - w[1] @ own
            given = right[k] if batch else right
            np.testing.assert_allclose(moved * free, given * free, atol=1e-7 * np.abs(x).max())


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="sort"):
        trace(loss_of(lambda a: sl.schur(a[:1, :1], sort="lhp")[0]), (A,))
    with pytest.raises(ValueError, match="square"):
        trace(loss_of(lambda a: sl.schur(a[:3])), (A,))
