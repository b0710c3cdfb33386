"""Sparse matrices from outside, made inside, of traced numbers; and solutions of their equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import planned_ad
from planned_ad.errors import PlannedADError
from planned_ad.trace import trace
from tests.tracing_oracle import check

from .orders import check_orders, mostly_long

rng = np.random.default_rng(0)
D = (rng.random((5, 6)) < 0.5) * rng.normal(size=(5, 6))
S = (rng.random((5, 5)) < 0.4) * rng.normal(size=(5, 5)) + 4 * np.eye(5)
X5, X6, X63 = rng.normal(size=5), rng.normal(size=6), rng.normal(size=(6, 3))
SQUARE, MATRIX, ARRAY = sp.csc_matrix(S), sp.csr_matrix(D), sp.csr_array(D)
LU, SOLVE = sla.splu(SQUARE), sla.factorized(SQUARE)
ROWS, COLUMNS = np.nonzero(S)
NUMBERS = S[ROWS, COLUMNS]


def band(kind):
    """Second differences, as for a Hodrick-Prescott filter."""
    return kind((np.repeat([[1.0], [-2.0], [1.0]], 5, axis=1), np.array([0, 1, 2])), shape=(3, 5))


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", mostly_long(["csr", "csc", "coo", "dia", "bsr"], "csr", "dia"))
def test_formats(form: str, kind: str) -> None:
    a = getattr(sp, f"{form}_{kind}")(D)
    check(lambda x, y: a @ x + (y @ a).sum() + (a.T @ y).sum() + a.dot(x), X6, X5)
    check(lambda x: a @ x, X63)


CASES = {
    "product": (lambda x: x @ (SQUARE @ x) + (MATRIX * X6).sum(), X5),
    "scaled": (lambda x: (2.0 * ARRAY * x[0] / x[1] - ARRAY) @ x, X6),
    "entries": (lambda x: ARRAY.multiply(x).sum() + ARRAY[1:3] @ x + ARRAY.sum() + ARRAY[1, 2], X6),
    "dense": (lambda x: ARRAY.toarray() @ x + ARRAY.sum(axis=1) + SQUARE.diagonal(), X6),
    "sums of lines": (lambda x: (sp.diags(np.asarray(SQUARE.sum(axis=1)).ravel()) - SQUARE) @ x * SQUARE.sum(0).A1, X5),
    "made inside": (lambda x: (sp.diags([np.ones(4), -2 * np.ones(5)], [-1, 0]) + SQUARE) @ x, X5),
    "made of known numbers": (
        lambda x: sp.tril(sp.coo_matrix(np.ones((5, 5)))) @ x + sp.kron(sp.eye(5), sp.csr_matrix([[2.0]])) @ x,
        X5,
    ),
    "powers": (lambda x: (SQUARE**3) @ x + (sp.csr_array(SQUARE) ** 2) @ x + SQUARE.power(2) @ x, X5),
    "kron": (lambda x: sp.kron(sp.eye(2), SQUARE) @ np.concatenate([x, x]), X5),
    "coordinates": (lambda v, x: sp.coo_matrix((v, (ROWS, COLUMNS)), shape=(5, 5)) @ x, NUMBERS, X5),
    "twice": (lambda v, x: sp.csr_matrix((v, ([0, 0, 1], [1, 1, 2])), shape=(3, 3)) @ x, NUMBERS[:3], X5[:3]),
    "sum": (lambda v, x: (sp.csr_array((v, (ROWS, COLUMNS)), shape=(5, 5)).T - SQUARE) @ x, NUMBERS, X5),
    "stiffness": (lambda k, x: (SQUARE.T @ sp.diags(k[:5]) @ SQUARE) @ x, NUMBERS, X5),
    "spsolve": (lambda b: sla.spsolve(SQUARE, b), X5),
    "splu": (lambda b: LU.solve(b) + LU.solve(b, "T") + SOLVE(b) + sla.splu(SQUARE).solve(b), X5),
    "of traced numbers": (lambda v, b: sla.spsolve(sp.csc_matrix((v, (ROWS, COLUMNS))), b), NUMBERS, X5),
    "columns of diagonals": (
        lambda x: (sp.eye(5, 5) + 3.0 * band(sp.dia_matrix).T.dot(band(sp.dia_matrix))).tocsc() @ x,
        X5,
    ),
    "absolute values": (
        lambda k: abs(sp.dia_array(((k[:10] - 0.5).reshape(2, 5), [0, -1]), shape=(5, 6)).tocsr()) @ X6,
        NUMBERS,
    ),
    "traced columns of diagonals": (
        lambda k: sp.dia_array((k[:10].reshape(2, 5), [0, -1]), shape=(5, 6)).T @ X5,
        NUMBERS,
    ),
    "spdiags": (lambda k: sp.spdiags([k[:5], k[:5] ** 2], [1, 0], 4, 5, format="csc").toarray(), NUMBERS),
    "spdiags of known numbers": (lambda x: sp.dia_array(sp.spdiags(np.ones((2, 5)), [0, 2], 5, 5)) @ x, X5),
    "of diagonals": (lambda k: sla.spsolve(sp.diags([k[:4], 4 + k[:5] ** 2], [-1, 0], format="csc"), X5), NUMBERS),
}


@pytest.mark.parametrize(
    "name",
    mostly_long(CASES, "product", "twice", "stiffness", "of traced numbers", "splu", "powers", "made of known numbers"),
)
def test_derivatives(name: str) -> None:
    check_orders(*CASES[name], order=2)


def test_numbers_from_outside_are_never_stale() -> None:
    own = SQUARE.copy()
    plan = planned_ad.compile(lambda x: np.sum(sla.spsolve(own, own @ (own @ x))), (X5,))
    for factor in (1.0, 3.0):
        own.data *= factor
        np.testing.assert_allclose(plan(X5), np.sum(own @ X5))
    assert any("spsolve" in text for text in plan.explain().fallbacks)


def test_a_product_allocates_nothing_and_stays_in_a_loop() -> None:
    laplacian = sp.diags([np.ones(49), -2 * np.ones(50), np.ones(49)], [-1, 0, 1], format="csr")

    def heat(u):
        for _ in range(30):
            u = u + 0.1 * (laplacian @ u)
        return np.sum(u**2)

    u, d = rng.normal(size=50), rng.normal(size=50)
    plan = planned_ad.compile(heat, (u,))
    assert plan.explain().fallbacks == ()
    expected = (heat(u + 1e-6 * d) - heat(u - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(plan.gradient(u) @ d, expected, rtol=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: sp.lil_matrix(D) @ x,
        lambda x: sp.csr_matrix((x, (np.argsort(x), np.arange(6)))) @ x,
    ],
)
def test_what_has_no_rule_is_refused(f) -> None:
    with pytest.raises(PlannedADError):
        trace(f, (X6,))
