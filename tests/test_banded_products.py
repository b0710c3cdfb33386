"""Products with known matrices of few diagonals are sums over these."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.banded_products import by_diagonals
from planned_ad.tape.tape import Apply, Branch

from .oracle import check_gradient

N = 24


def second(n=N):
    """Second differences with nothing beyond the ends."""
    return np.eye(n, k=1) + np.eye(n, k=-1) - 2.0 * np.eye(n)


def periodic(n=N):
    found = second(n)
    found[0, -1] = found[-1, 0] = 1.0
    return found


def clamped(n=N):
    found = second(n)
    found[0] = found[-1] = 0.0
    return found


def varying(n=N):
    """Of numbers that differ along the diagonals, and not as many rows as columns."""
    rows, columns = np.indices((n - 2, n))
    return np.where((columns - rows >= 0) & (columns - rows <= 2), 1.0 + rows * 0.1 + columns**2 * 0.01, 0.0)


def below(n=N):
    return np.diag(np.arange(1.0, n), -1)


MATRICES = [second, periodic, clamped, varying, below, lambda: varying().T]
PRODUCTS = {
    "vector": ((), lambda d, u: d @ u),
    "vector_in_front": ((), lambda d, u: u @ d.T),
    "columns": ((3,), lambda d, u: d @ u),
    "rows": ((3,), lambda d, u: u.T @ d.T),
    "einsum": ((2, 3), lambda d, u: np.einsum("ij,jkl->lik", d, u)),
    "dot": ((3,), lambda d, u: np.dot(d, u) + np.tensordot(d, u, 1)),
}


def products_left(operations):
    """Those that are not for infinite numbers alone."""
    found = []
    for op in operations:
        blocks = (op.then,) if isinstance(op, Branch) else op.blocks
        found += [op] if isinstance(op, Apply) and op.primitive == "contract" else []
        found += [inner for block in blocks for inner in products_left(block)]
    return found


SWEEP = [(made, name) for made in MATRICES for name in PRODUCTS]
FEW = [(second, "vector"), (periodic, "rows"), (varying, "columns"), (below, "einsum"), (clamped, "vector_in_front")]
LONG = [pytest.param(*one, marks=pytest.mark.long) for one in SWEEP if one not in FEW]


@pytest.mark.parametrize("made, product", [*FEW, *LONG])
def test_values_and_gradients(made, product):
    more, f = PRODUCTS[product]
    matrix = made()
    u = np.random.default_rng(0).normal(size=(matrix.shape[1], *more))

    def loss(u):
        return np.sum(np.sin(f(made(), u)))

    plan = planned_ad.compile(loss, (u,))
    assert not products_left(plan._variants[0].entries["gradient"].tape.operations)
    assert plan(u) == pytest.approx(loss(u), rel=1e-13)
    check_gradient(loss, u)


def test_in_a_loop_as_by_slices():
    def by_matrix(u):
        for _ in range(40):
            u = u + 0.1 * (clamped() @ u)
        return u @ u

    def by_slices(u):
        u = u.copy()
        for _ in range(40):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return u @ u

    u = np.random.default_rng(0).normal(size=N)
    found, expected = (planned_ad.compile(f, (u,)).gradient(u) for f in (by_matrix, by_slices))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("made", MATRICES)
def test_infinite_numbers_reach_what_numpy_says(made, number):
    """Zero times them is nan."""
    u = np.random.default_rng(0).normal(size=(made().shape[1], 2))
    plan = planned_ad.compile(lambda u: made() @ u, (u,), check=False)
    u[5, 1] = number
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(plan(u)), np.isnan(made() @ u))


def test_what_stays_a_product():
    rng = np.random.default_rng(0)
    assert by_diagonals(rng.normal(size=(24, 24))) is None
    assert by_diagonals(np.where(rng.random((24, 24)) < 0.05, 1.0, 0.0)) is None
    assert by_diagonals(np.zeros((24, 24))) is None
    assert by_diagonals(second(4)) is None
