"""Linear algebra beyond values and gradients: second derivatives, errors, degenerate matrices, loops, compiled code."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl

import planned_ad
from planned_ad.errors import PlannedADError, SingularMatrixError
from planned_ad.tape.tape import Loop, walk
from planned_ad.trace import trace
from tests.malloc import count_in_subprocess
from tests.nested_oracle import ORDERS, check_second_derivatives
from tests.oracle import check_gradient
from tests.sweeps import left_out
from tests.tracing_oracle import assert_same, check, replay

from .cases import CASES
from .test_gradients import weighted

# One of each function, and batches and shapes where the rule differs.
SECOND = [
    *("solve-1", "solve-2", "solve-3", "inv-0", "inv-1", "det-1", "det-3", "det-5", "slogdet-0", "triangular-1"),
    *("cholesky-0", "cholesky-2", "cholesky-5", "eigh-0", "eigh-1", "eigh-2", "eigh-7", "svd-0", "svd-2", "svd-3"),
    *("completed-0", "completed-1", "completed-2", "qr-0", "qr-2", "qr-3", "pinv-1", "pinv-2", "lstsq-1"),
    *("lu-0", "lu-4", "lu-5", "bands-1", "equations-0", "expm-0"),
]
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("of_all", [False, left_out(True)])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_in_all_modes(name: str, of_all: bool) -> None:
    """Forward over reverse mode beside another order, or all."""
    case, other = BY_NAME[f"linalg.{name}"], ORDERS[1 + SECOND.index(name) % 3]
    orders = ORDERS if of_all else (ORDERS[0], other)
    check_second_derivatives(weighted(case.function), case.arguments, orders, unroll=None)


# Errors: a call of a plan raises what NumPy raises, with the line, and writes nothing.

ONES = np.ones((3, 3))
SINGULAR = {
    "inv": (lambda a: np.sum(np.linalg.inv(a)), ONES),
    "solve": (lambda a: np.sum(np.linalg.solve(a, a[0])), ONES),
    "cholesky": (lambda a: np.sum(np.linalg.cholesky(a)), -ONES),
    "scipy": (lambda a: np.sum(sl.solve_triangular(a, a[0])), 0 * ONES),
    "banded": (lambda a: np.sum(sl.solve_banded((1, 1), a, a[0])), 0 * ONES),
    "symmetric band": (lambda a: np.sum(sl.solveh_banded(a[:2], a[0])), -ONES),
    "symmetric band with a pivot of 0": (lambda a: np.sum(sl.solveh_banded(a[:2], a[0])), ONES),
    "wide symmetric band": (
        lambda a: np.sum(sl.solveh_banded(np.stack([np.diagonal(a), a[0], 0.1 * a[1]]), a[0], lower=True)),
        ONES + 0.5 * np.eye(3)[::-1],
    ),
    "eigh": (lambda a: np.sum(np.linalg.eigh(a)[0]), np.nan * ONES),
    "svd": (lambda a: np.sum(np.linalg.svd(a)[1]), np.nan * ONES),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_is_an_error(name: str) -> None:
    f, singular = SINGULAR[name]
    example = np.diag([1.0, 2.0, 3.0]) + 0.1
    plan = planned_ad.compile(f, (example,))
    shadow = np.full((3, 3), 7.0)
    with pytest.raises(np.linalg.LinAlgError, match="test_linear_algebra") as caught:
        plan.gradient(singular, shadow)
    assert isinstance(caught.value, SingularMatrixError) and isinstance(caught.value, PlannedADError)
    assert np.all(shadow == 7.0)
    assert np.all(np.isfinite(plan.gradient(example, shadow)))


def test_numbers_that_are_not_there_are_no_error() -> None:
    """As in NumPy: a matrix of nan is not singular, and has no Cholesky factor that would fail."""
    plan = planned_ad.compile(lambda a: np.sum(np.linalg.inv(a)) + np.sum(np.linalg.cholesky(a)), np.eye(3))
    assert np.isnan(plan(np.full((3, 3), np.nan)))


def bare_except(a, b):
    try:
        return np.sum(np.linalg.solve(a, b))
    except:  # noqa: E722
        return np.sum(b)


def growing_jitter(a, b):
    jitter = 1e-6
    for _ in range(12):
        try:
            factor = np.linalg.cholesky(a + jitter * np.eye(2))
            return 2 * np.sum(np.log(np.diag(factor))) + np.sum(sl.cho_solve((factor, True), b))
        except np.linalg.LinAlgError:
            jitter *= 10
    return -np.inf


@pytest.mark.parametrize("f", [bare_except, growing_jitter])
def test_what_catches_it_goes_on(f) -> None:
    b = np.array([1.0, 2.0])
    plan = planned_ad.compile(f, (np.eye(2), b))
    for a in np.eye(2), np.ones((2, 2)), np.array([[1.0, 1.5], [1.5, 1.0]]), np.diag([-0.3, 1.0]):
        assert plan(a, b) == pytest.approx(f(a, b))
        steps = [(f(a, b + h) - f(a, b - h)) / 2e-6 for h in np.eye(2) * 1e-6]
        np.testing.assert_allclose(plan.gradient(a, b)[1], steps, rtol=1e-5)


def test_in_a_loop_what_catches_it_goes_on() -> None:
    def f(x):
        total = 0.0
        for k in range(18):
            try:
                total += np.linalg.cholesky(np.array([[x[k], 1.0], [1.0, 1.0]]))[1, 1]
            except np.linalg.LinAlgError:
                total += x[k]
        return total

    x = np.linspace(0.5, 2.0, 18)
    assert_same(replay(trace(f, (x,)), x)[0], f(x))


def test_in_a_loop() -> None:
    def f(stack):
        total = 0.0
        for k in range(20):
            total += np.sum(np.linalg.inv(stack[k]))
        return total

    stack = np.stack([np.eye(2) * (k + 1) for k in range(20)])
    plan = planned_ad.compile(f, stack)
    assert plan(stack) == pytest.approx(f(stack))
    stack[7] = 1
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        plan.gradient(stack)


def test_in_a_custom_rule_the_numbers_show_it() -> None:
    @planned_ad.checkpoint
    def layer(a, b):
        return np.linalg.solve(a, b)

    plan = planned_ad.compile(lambda a, b: np.sum(layer(a, b) ** 2), (2 * np.eye(3), np.ones(3)))
    np.testing.assert_allclose(plan.gradient(2 * np.eye(3), np.ones(3))[1], 0.5)
    assert not np.isfinite(plan(np.ones((3, 3)), np.ones(3)))


def test_singular_where_the_example_is() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        planned_ad.compile(lambda a: np.sum(np.linalg.inv(a)), ONES)
    plan = planned_ad.compile(lambda a: np.sum(np.linalg.slogdet(a)[1]), np.eye(3))
    assert plan(ONES) == -np.inf


# Degenerate matrices.


def gradient(f, *args):
    return planned_ad.compile(f, args).gradient(*args)


@pytest.mark.filterwarnings("ignore:Diagonal number 4")
def test_factors_of_a_matrix_whose_last_pivot_is_zero() -> None:
    """On that pivot, the derivatives of the others do not depend."""

    def stationary(rates):
        a = rates * (1.0 - np.eye(4))
        factors, _ = sl.lu_factor((a - np.diag(np.sum(a, axis=1))).T)
        p = np.append(sl.solve_triangular(factors[:-1, :-1], -factors[:-1, -1]), 1.0)
        return np.sum(p / np.sum(p) * np.array([1.0, -2.0, 3.0, 0.5]))

    rates = np.array([[0.0, 1, 2, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 2, 1, 0]])  # the pivot is exactly zero
    check_gradient(stationary, rates)


def test_the_determinant_of_a_singular_matrix() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    cofactors = [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(gradient(np.linalg.det, a), cofactors, atol=1e-14)


def test_equal_eigenvalues() -> None:
    """What depends on the values alone has a derivative; that of vectors is nan, and not a number that is wrong."""
    a = np.diag([1.0, 1.0, 2.0])
    by_values = gradient(lambda a: np.sum(np.exp(np.linalg.eigvalsh(a))), a)
    np.testing.assert_allclose(by_values, np.diag(np.exp([1.0, 1.0, 2.0])), atol=1e-14)
    by_values = gradient(lambda a: np.sum(np.linalg.svd(a)[1] ** 2), 2 * np.eye(3))
    np.testing.assert_allclose(by_values, 4 * np.eye(3), atol=1e-14)

    def exponential(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * np.exp(w)) @ v.T)

    assert np.isnan(gradient(exponential, a)).any()
    assert np.isnan(gradient(lambda a: np.sum(np.linalg.svd(a)[0]), np.eye(3))).any()
    assert np.isfinite(gradient(exponential, np.diag([1.0, 2.0, 3.0]))).all()


def test_the_pseudo_inverse_has_a_derivative_where_singular_values_are_equal() -> None:
    np.testing.assert_allclose(gradient(lambda a: np.sum(np.linalg.pinv(a)), np.eye(3)), -np.ones((3, 3)), atol=1e-14)


def test_what_may_allocate_is_said() -> None:
    a = np.random.default_rng(0).normal(size=(60, 60))
    found = planned_ad.compile(lambda a: np.sum(np.linalg.svd(a)[1]) + np.sum(np.linalg.inv(a)), a).explain().fallbacks
    assert any("svd" in entry and "test_linear_algebra.py" in entry for entry in found)
    assert not any("lu" in entry for entry in found)


# Loops stay loops, and independent ones become a batch.


def kalman(y, p, h, r, f):
    one, x, total = np.eye(4), np.zeros(4), 0.0
    for k in range(len(y)):
        x, p = f @ x, f @ p @ f.T + 0.1 * one
        s, v = h @ p @ h.T + r, y[k] - h @ x
        gain = p @ h.T @ np.linalg.inv(s)
        total += v @ np.linalg.solve(s, v) + np.log(np.linalg.det(s))
        x, p = x + gain @ v, p - gain @ h @ p
    return total


def kalman_arguments(steps: int) -> tuple:
    h = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])
    f = np.eye(4) + np.diag([0.1, 0, 0.1], 1)
    return np.random.default_rng(0).normal(size=(steps, 2)), np.eye(4), h, np.eye(2), f


def test_a_filter_stays_a_loop() -> None:
    traced = check(kalman, *kalman_arguments(20))
    assert not traced.unrolled
    assert any(isinstance(op, Loop) for op in traced.tape.operations)
    assert len(list(walk(traced.tape.operations))) == len(
        list(walk(trace(kalman, kalman_arguments(200)).tape.operations))
    )


def test_independent_systems_become_a_batch() -> None:
    def f(a, b):
        x = np.zeros((40, 3))
        for k in range(40):
            x[k] = np.linalg.solve(a[k], b[k])
        return np.sum(x**2)

    rng = np.random.default_rng(1)
    arguments = rng.normal(size=(40, 3, 3)) + 3 * np.eye(3), rng.normal(size=(40, 3))
    plan = check_gradient(f, *arguments, every_call=False, differences=False)
    entry = plan._variants[0].entry("gradient")
    assert not any(isinstance(op, Loop) for op in entry.tape.operations)


# Machine code.

PROGRAMS = {
    "systems": lambda a, b: (
        np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1] + np.linalg.det(np.linalg.inv(a))
    ),
    "symmetric": lambda a, b: (
        np.sum(np.linalg.eigh(a @ a.T)[0] ** 2 * b) + np.sum(np.linalg.cholesky(a @ a.T + np.eye(4)))
    ),
    "rectangular": lambda a, b: (
        np.sum(np.linalg.svd(a[:, :2])[1] ** 3)
        + np.sum(np.linalg.qr(a[:, :3])[0] ** 3)
        + np.sum(np.linalg.lstsq(a[:, :2], b)[0] ** 2)
        + np.linalg.cond(a)
    ),
    "scipy": lambda a, b: (
        np.sum(sl.solve(a @ a.T, b, assume_a="pos") ** 2)
        + np.sum(sl.lu_solve(sl.lu_factor(a), b, trans=1) ** 2)
        + np.sum(sl.solve_banded((1, 2), a, b) ** 2)
        + np.sum(sl.solve_sylvester(a, a[:2, :2], a[:, :2]))
        + np.sum(sl.eigh(a)[0] ** 3)
        + np.sum(sl.expm(a) ** 2)
    ),
}


def arguments(dtype=np.float64, order="C"):
    rng = np.random.default_rng(2)
    a = rng.normal(size=(4, 4)) + np.diag([3.0, 4.0, 5.0, 6.0])
    return np.array(a, dtype, order=order), rng.normal(size=4).astype(dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_machine_code(name: str) -> None:
    check_gradient(PROGRAMS[name], *arguments(), every_call=False)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9, 12])
def test_orders_of_systems(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(3, n, n)), rng.normal(size=(3, n, 2))
    check_gradient(
        lambda a, b: np.sum(np.linalg.solve(a, b)) + np.sum(np.linalg.slogdet(a)[1]) + np.sum(np.linalg.inv(a)),
        *(a, b),
        differences=False,
        every_call=False,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts_and_single_precision(dtype) -> None:
    def f(a, b):
        return np.sum(np.linalg.solve(a, b)) + np.sum(np.linalg.cholesky(a @ a.T)) + np.linalg.norm(a, 2)

    expected = planned_ad.compile(f, arguments()).gradient(*arguments())
    for a in (arguments(dtype)[0], arguments(dtype, "F")[0], np.repeat(arguments(dtype)[0], 2, 0)[::2]):
        found = planned_ad.compile(f, (a, arguments(dtype)[1])).gradient(a, arguments(dtype)[1])
        for one, other in zip(found, expected):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, rtol=1e-12 if dtype == np.float64 else 1e-4, atol=1e-5)


ALLOCATIONS = """
import numpy as np, scipy.linalg as sl, planned_ad
def f(a, b):
    total = np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.cholesky(a @ a.T))
    total += np.sum(np.linalg.eigh(a)[1] ** 3) + np.sum(np.linalg.svd(a)[0] ** 3) + np.sum(np.linalg.qr(a)[0] ** 3)
    return total + np.sum(sl.solve_banded((1, 2), a[:4], b) ** 2) + np.sum(np.linalg.pinv(a[:, :3]))
rng = np.random.default_rng(0)
a, b = rng.normal(size=(12, 12)) + 12 * np.eye(12), rng.normal(size=12)
bound = planned_ad.compile(f, (a, b)).gradient
da, db = np.zeros_like(a), np.zeros_like(b)
def call():
    bound(a, b, da, db)
"""


def test_nothing_is_allocated() -> None:
    assert count_in_subprocess(ALLOCATIONS, 100) == {"malloc": 0, "blocks": 0}
