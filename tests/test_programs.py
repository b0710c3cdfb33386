"""Whole programs as people write them, through every call of their plans (see `tests.oracle.check_gradient`)."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import OverlapError

from .oracle import check_every_call, check_gradient, compiled
from .programs import PROGRAMS
from .sweeps import sweep

# Small programs in the ways that people write them.


def square(x):
    for i in range(len(x)):
        x[i] = x[i] ** 2
    return np.sum(x)


def foo(x):
    res = 0.0
    for i in range(10):
        res += x[i] * x[i]
        x[i] = 0
    return res


def test_square() -> None:
    plan = check_gradient(square, np.array([1.0, 2.0]))
    x, dx = np.array([1.0, 2.0]), np.full(2, np.nan)
    assert plan.gradient(x, dx) is dx
    np.testing.assert_array_equal(dx, [2, 4])
    np.testing.assert_array_equal(x, [1, 4])


def test_foo_caches_its_ten_numbers() -> None:
    plan = check_gradient(foo, np.arange(1.0, 11))
    x = np.arange(1.0, 11)
    dx = plan.gradient(x.copy(), np.empty(10))
    np.testing.assert_array_equal(dx, 2 * x)
    explanation = plan.explain()
    assert explanation.cached_bytes == sum(c.nbytes for c in explanation.cached) == 80
    for cached in explanation.cached:
        assert cached.source == "x[i] = 0" and "x[i] = 0" in cached.reason
        assert cached.file == __file__ and cached.line == foo.__code__.co_firstlineno + 4


def test_products_of_intact_arguments_cache_nothing() -> None:
    plan = check_gradient(lambda x: x[0] * x[0] + x[1] * x[1], np.array([2.0, 3.0]))
    assert plan.explain().cached == ()


def summed(x):
    s = x[0] + x[1]
    x[:] = 0
    return s


def test_a_sum_of_overwritten_arguments_caches_nothing() -> None:
    plan = check_gradient(summed, np.array([2.0, 3.0]))
    assert plan.explain().cached == ()
    np.testing.assert_array_equal(plan.gradient(np.array([2.0, 3.0])), [1, 1])


def into_out(out, a):
    out[0] = a[0] * a[1]


def test_a_product_into_another_array_caches_nothing() -> None:
    plan = planned_ad.compile(into_out, (np.zeros(1), np.array([2.0, 3.0])))
    assert plan.explain("pullback").cached == ()
    out, a, dout, da = np.zeros(1), np.array([2.0, 3.0]), np.array([10.0]), np.array([0.5, 0.25])
    plan.pullback(out, a, dout, da)
    np.testing.assert_array_equal(out, [6.0])
    np.testing.assert_array_equal(dout, [0.0])
    np.testing.assert_array_equal(da, [30.5, 20.25])


def test_a_product_into_an_overlapping_array_is_refused() -> None:
    plan = planned_ad.compile(into_out, (np.zeros(1), np.array([2.0, 3.0])))
    a = np.array([2.0, 3.0])
    with pytest.raises(OverlapError, match="out"):
        plan.pullback(a[:1], a, np.zeros(1), np.zeros(2))
    np.testing.assert_array_equal(a, [2, 3])


def vector_of_matrices(matvec, vec):
    for i in range(len(vec)):
        mat = matvec[i]
        a = vec[i]
        col = (a, a, a)
        for j in range(3):
            mat[j, 0] = col[j]
        mat[0, 0] = vec[i]
    return matvec[2][0, 0]


def test_the_vector_of_matrices() -> None:
    def make() -> tuple[list[np.ndarray], list[float]]:
        return [np.arange(9.0).reshape(3, 3) for _ in range(3)], [1.0, 2.0, 3.0]

    plan = check_gradient(vector_of_matrices, *make())
    matvec, vec = make()
    dmatvec, dvec = [np.ones((3, 3)) for _ in range(3)], [0.0, 0.0, 0.0]
    value, _ = plan.value_and_gradient(matvec, vec, dmatvec, dvec)
    assert value == 3.0 and dvec == [0.0, 0.0, 1.0]
    for d in dmatvec:
        np.testing.assert_array_equal(d, np.zeros((3, 3)))
    assert plan.explain().cached == ()


def test_the_vector_of_matrices_with_an_array() -> None:
    matvec, vec = [np.arange(9.0).reshape(3, 3) for _ in range(3)], np.array([1.0, 2.0, 3.0])
    plan = check_gradient(vector_of_matrices, matvec, vec)
    dmatvec, dvec = [np.ones((3, 3)) for _ in range(3)], np.ones(3)
    value, _ = plan.value_and_gradient(matvec, vec, dmatvec, dvec)
    assert value == 3.0
    np.testing.assert_array_equal(dvec, [0, 0, 1])
    assert not np.any(dmatvec)
    assert plan.explain().cached == ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str) -> None:
    f, args, options = PROGRAMS[name]
    check_gradient(f, *args, **options, every_call=False)


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(0, None, 9)))
def test_every_call(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    check_every_call(compiled(f, *args), f, args)
