"""Sparse Jacobians and Hessians: against differences and dense ones, and in SciPy's optimisers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import planned_ad
from planned_ad.errors import ArgumentError, BranchError, NotDifferentiableError, UnsupportedError
from planned_ad.functional.sparse.sparse import sparse_hessian, sparse_jacobian

from .tolerances import assert_derivative, assert_same

N = 20
X = np.random.default_rng(7).uniform(0.4, 1.6, N)
PLACES = np.array([3, 0, 3, 17, 5])
WEIGHTS = np.random.default_rng(8).normal(size=(6, N)) * (np.arange(6)[:, None] == np.arange(N) % 6)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


def stencil(x):
    u = x.reshape(4, 5).copy()
    for _ in range(2):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - u[1:-1, 1:-1] ** 3)
    return u


def swept(x):
    u = x.copy()
    for i in range(1, len(u) - 1):
        u[i] = 0.4 * (u[i - 1] + np.sin(u[i + 1]))
    return u


def scattered(x):
    out = np.zeros(N)
    np.add.at(out, PLACES, x[:5] * x[5:10])
    return out


def branching(x):
    out = np.zeros(N)
    for i in range(1, N):
        if x[i] > 1:
            out[i] = x[i - 1] ** 2
        else:
            out[i] = x[0] * x[i]
    return out


JACOBIANS = {  # and the mode
    "stencil": (stencil, None),
    "stencil, by rows": (stencil, "reverse"),
    "sweep in place": (swept, None),
    "gather": (lambda x: x[PLACES] ** 2 * x[:5], None),
    "scatter": (scattered, None),
    "product with a sparse matrix": (lambda x: np.sin(WEIGHTS @ x), None),
    "row": (lambda x: np.sum(x[3:9] ** 3), None),
    "several results": (lambda x: (x[0] * x[1], {"a": np.outer(x[2:4], x[4:6])}), None),
    "empty": (lambda x: x[:0], None),
    "constant": (lambda x: np.ones(3), None),
}


def flat(tree) -> np.ndarray:
    if isinstance(tree, tuple | dict):
        return np.concatenate([flat(part) for part in (tree.values() if isinstance(tree, dict) else tree)])
    return np.reshape(tree, -1)


def differences(f, x) -> np.ndarray:
    step = 1e-6
    moves = step * np.eye(len(x))
    return np.stack([(flat(f(x + move)) - flat(f(x - move))) / (2 * step) for move in moves], axis=1)


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobian(name):
    """Each entry is one that differs from zero at random points."""
    f, mode = JACOBIANS[name]
    found, expected = sparse_jacobian(f, mode=mode)(X), differences(f, X)
    assert found.format == "csr"
    assert found.nnz == np.count_nonzero(abs(expected) > 1e-9)
    assert_derivative(found.toarray(), expected)


def test_both_sides_of_a_branch_have_entries():
    found = sparse_jacobian(branching)(X)
    assert found.nnz == 3 * (N - 1) - 1
    assert_derivative(found.toarray(), differences(branching, X))


@pytest.mark.parametrize("colouring", ["star", "distance-1"])
@pytest.mark.parametrize("f", [rosenbrock, rosenbrock_loop, lambda x: np.sum(stencil(x) ** 2)])
def test_hessian(f, colouring):
    found = sparse_hessian(f, colouring=colouring)(X)
    assert_same(found.toarray(), DENSE.setdefault(f, planned_ad.hessian(f)(X)))


DENSE: dict = {}


@pytest.mark.parametrize(("colouring", "count"), [("star", 3), ("distance-1", 3)])
def test_colours_of_a_tridiagonal_hessian(colouring, count):
    found = sparse_hessian(rosenbrock, colouring=colouring).plan(np.full(1000, 0.5))
    assert (found.colours, found.pattern.nnz, found.mode) == (count, 2998, "forward")


def test_a_hessian_takes_the_colouring_with_fewer_colours():
    def nine_points(x):
        u = x.reshape(20, 20)
        return np.sum(np.exp(u[1:, 1:] * u[:-1, :-1] * u[1:, :-1] * u[:-1, 1:]))

    def arrow(x):
        return np.sum(x * x[0] ** 2)

    x = np.full(400, 0.5)
    assert [sparse_hessian(f).plan(x).colours for f in (nine_points, arrow)] == [9, 2]


def test_an_unknown_colouring_is_refused():
    with pytest.raises(ArgumentError, match="colouring is 'star' or 'distance-1', not 'acyclic'"):
        sparse_hessian(rosenbrock, colouring="acyclic")


def test_the_direction_with_fewer_colours_is_taken():
    def f(x):
        return np.concatenate([x[:1] * np.sum(x), x[1:]])

    assert sparse_jacobian(f).plan(X).mode == "reverse"
    assert sparse_jacobian(f).plan(X).colours == 2
    assert sparse_jacobian(lambda x: x * x[0]).plan(X).mode == "forward"
    assert sparse_jacobian(f, mode="forward").plan(X).colours == N


def test_several_arguments_are_columns_one_after_the_other():
    def f(params, scale, y):
        return params["w"][1:] * y[0] * scale, scale * params["b"]

    args = ({"w": X[:4], "b": 2.0}, 3.0, X[::-1].copy())
    found = sparse_jacobian(f, argnums=(0, 1))(*args).toarray()
    dense = planned_ad.jacobian(f, argnums=(0, 1))(*args)
    rows = [np.column_stack([d[0]["w"].reshape(-1, 4), np.reshape(d[0]["b"], -1), np.reshape(d[1], -1)]) for d in dense]
    assert_same(found, np.concatenate(rows))


def test_run_time_indices_may_change():
    def f(x, places):
        return x[places] * x[:3]

    derivative = sparse_jacobian(f)
    for places in (np.array([3, 1, 4]), np.array([19, 0, 0])):
        assert_derivative(derivative(X, places).toarray(), differences(lambda x, p=places: f(x, p), X))
    assert derivative.plan(X, PLACES[:3]).pattern.nnz == 3 * N


def test_out_is_overwritten_and_nothing_else():
    derivative = sparse_hessian(rosenbrock)
    found = derivative(X)
    data, other = found.data, derivative(2 * X)
    assert derivative(2 * X, out=found) is found and found.data is data
    assert_same(found.toarray(), other.toarray())
    other.data[:] = 0  # of its own
    other.eliminate_zeros()
    assert derivative(X).nnz == found.nnz


@pytest.mark.parametrize(
    "change", [lambda m: m.toarray(), lambda m: m.tocsc(), lambda m: m[:3], lambda m: m.astype("f4")]
)
def test_out_of_another_pattern_is_refused(change):
    derivative = sparse_jacobian(lambda x: x[1:] * x[:-1])
    with pytest.raises(ArgumentError, match="out is not"):
        derivative(X, out=change(derivative(X)))


def test_single_precision():
    assert sparse_jacobian(lambda x: x[1:] * x[:-1])(X.astype(np.float32)).dtype == np.float32


def test_another_branch_within_the_pattern_or_refused():
    def f(x):
        if x[0] > 1:
            return x[1:] * x[0]
        return x[1:] ** 2

    low, high = np.append(0.5, X), np.append(1.5, X)
    wide, narrow = sparse_jacobian(f), sparse_jacobian(f)
    wide(high)
    assert_derivative(wide(low).toarray(), differences(f, low))
    narrow(low)
    with pytest.raises(BranchError, match="takes another branch"):
        narrow(high)
    assert_derivative(narrow(low).toarray(), differences(f, low))


def test_in_traced_code_it_is_refused():
    derivative = sparse_jacobian(lambda x: x**2)
    with pytest.raises(UnsupportedError, match="sparse derivative in traced code"):
        planned_ad.compile(lambda x: derivative(x), X)


def test_what_is_no_mode_or_colouring_is_refused():
    with pytest.raises(ArgumentError, match="mode is"):
        sparse_jacobian(np.sin, mode="backward")
    with pytest.raises(ArgumentError, match="colouring is"):
        sparse_hessian(np.sum, colouring="red")
    with pytest.raises(NotDifferentiableError, match="one floating scalar"):
        sparse_hessian(np.sin)(X)


def test_from_a_plan():
    def f(x, scale, y):
        return np.sum(scale * x[1:] * x[:-1] * y[1:])

    plan = planned_ad.compile(f, (X, planned_ad.Const(2.0), X[::-1].copy()))
    args = (X, 2.0, X[::-1].copy())
    (row,) = plan.jacobian(*args, sparse=True).toarray()
    assert_same(row, np.concatenate(plan.gradient(*args)))
    found = plan.hessian(*args, sparse=True)
    dense = plan.hessian(*args)
    assert_same(found.toarray(), np.block([list(line) for line in dense]))
    assert plan.hessian(*args, sparse=True, out=found) is found


# In SciPy.


@pytest.mark.parametrize("method", ["trust-constr", "trust-krylov"])
def test_minimisers_of_scipy(method):
    size = 1000
    start, hessian = np.full(size, 0.9), sparse_hessian(rosenbrock)
    if method == "trust-constr":
        curvature = {"hess": hessian, "options": {"sparse_jacobian": True}}
    else:
        curvature = {"hessp": lambda x, p: hessian(x) @ p}
    value = planned_ad.compile(rosenbrock, start)
    found = minimize(lambda x: value(x), start, jac=planned_ad.grad(rosenbrock), method=method, **curvature)
    assert found.success or found.status == 1
    np.testing.assert_allclose(found.x, np.ones(size), atol=1e-5)
