"""Matrix products: fused into nests, in tiles, by BLAS, by plain loops; all orders of axes, against NumPy."""

import itertools

import numpy as np
import pytest

import planned_ad
from planned_ad.kernels.library.blas import product_of, tiled_form
from planned_ad.planning.schedule import LibraryStep
from tests.oracle import check_gradient
from tests.sweeps import sweep
from tests.tolerances import SAME

RNG = np.random.default_rng(0)
SIZES = [(1, 7, 5), (5, 1, 7), (7, 5, 1), (2, 3, 4), (9, 9, 9), (10, 64, 10), (13, 40, 33), (40, 17, 66)]


def library_steps(plan, kind="call"):
    return [s for s in plan._variants[0].entry(kind).memory.steps if isinstance(s, LibraryStep)]


@pytest.mark.parametrize("dtype, size", sweep(itertools.product((np.float64, np.float32), SIZES), slice(0, 8, 2)))
def test_every_order_of_axes(dtype, size):
    m, k, n = size
    a, b = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
    w = RNG.normal(size=(m, n)).astype(dtype)
    bound = 10 * SAME[np.dtype(dtype)]  # sums of up to 66 terms
    for turn_a, turn_b, turn_out in itertools.product((False, True), repeat=3):
        x = np.ascontiguousarray(a.T) if turn_a else a
        y = np.ascontiguousarray(b.T) if turn_b else b
        v = np.ascontiguousarray(w.T) if turn_out else w

        def f(x, y, v, turns=(turn_a, turn_b, turn_out)):
            product = (x.T if turns[0] else x) @ (y.T if turns[1] else y)
            return np.sum((product.T if turns[2] else product) * v)

        plan = planned_ad.compile(f, (x, y, planned_ad.Const(v)))
        dx, dy = plan.gradient(x, y, v)
        np.testing.assert_allclose(dx.T if turn_a else dx, w @ b.T, rtol=bound, atol=bound)
        np.testing.assert_allclose(dy.T if turn_b else dy, a.T @ w, rtol=bound, atol=bound)


@pytest.mark.parametrize("size", [(64, 64, 64), (70, 33, 90)], ids=str)
def test_tiles_need_no_library(size):
    m, k, n = size
    plan = planned_ad.compile(lambda a, b: np.sum(np.sin(a @ b)), (np.ones((m, k)), np.ones((k, n))))
    assert plan.explain().fallbacks == ()


def test_large_products_go_to_blas_and_say_so():
    a, b = RNG.normal(size=(280, 300)), RNG.normal(size=(300, 290))
    plan = planned_ad.compile(lambda a, b: np.sum(np.sin(a @ b)), (a, b))
    assert all("BLAS" in note for note in plan.explain().fallbacks) and plan.explain().fallbacks
    da, db = plan.gradient(a, b)
    c = np.cos(a @ b)
    np.testing.assert_allclose(da, c @ b.T, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(db, a.T @ c, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("m, k, n", [(7, 1601, 1500), (16, 1300, 1037)])
def test_large_products_of_few_rows_need_no_library(m, k, n):
    x, w, out = RNG.normal(size=(m, k)), RNG.normal(size=(k, n)), RNG.normal(size=(m, n))

    def f(x, w, out):
        out[...] = x @ w
        return out[0, 0]

    plan = planned_ad.compile(f, (x, w, out), check=False)
    plan(x, w, out)
    np.testing.assert_allclose(out, x @ w, rtol=1e-11, atol=1e-11)
    assert all(tiled_form(product_of(step)) for step in library_steps(plan))


def test_products_go_where_they_are_stored():
    """Derivatives by weights are written once, also where they are added to others, or go to a part of an array."""
    x, parameters = RNG.normal(size=(8, 40)), 0.1 * RNG.normal(size=40 * 30 + 30 * 40)

    def f(x, parameters):
        first, second = parameters[:1200].reshape(40, 30), parameters[1200:].reshape(30, 40)
        for _ in range(20):
            x = np.tanh(x @ first) @ second
        return np.sum(x * x)

    check_gradient(f, x, parameters, every_call=False)
    plan = planned_ad.compile(lambda x, w: np.sum(np.tanh(x @ w)), (np.ones((8, 300)), np.ones((300, 200))))
    assert plan.explain().workspace_bytes < 300 * 200 * 8


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.sum(a @ b),
        lambda a, b: np.sum((a @ b) * np.arange(25.0)),
        lambda a, b: np.sum((np.ones((50, 20)) @ a) @ b),
        lambda a, b: np.sum(np.einsum("ij,jk->k", a, b) ** 2),
    ],
)
def test_operands_that_repeat_are_not_multiplied_out(f):
    a, b = RNG.normal(size=(20, 30)), RNG.normal(size=(30, 25))
    plan = planned_ad.compile(f, (a, b))
    assert not library_steps(plan, "gradient")
    step = 1e-6 * RNG.normal(size=a.shape)
    da, _ = plan.gradient(a, b)
    difference = (f(a + step, b) - f(a - step, b)) / 2
    assert np.isclose(np.sum(da * step), difference, rtol=1e-6)


def test_integers_are_multiplied_exactly():
    a, b = RNG.integers(-9, 9, size=(20, 30)), RNG.integers(-9, 9, size=(30, 25))
    plan = planned_ad.compile(lambda x, a, b: x * (a @ b), (1.0, a, b))
    np.testing.assert_array_equal(plan(1.0, a, b), a @ b)
