"""`plan.kernel`: the calls of a plan from the user's own compiled code."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import subprocess
import sys
import threading
import weakref
from typing import NamedTuple

import numba
import numpy as np
import pytest
import scipy
from numba.core.errors import TypingError

import planned_ad
from planned_ad.errors import (
    BranchError,
    IndexRangeError,
    LayoutError,
    OverlapError,
    ShapeError,
    StaticArgumentError,
    UnsupportedError,
)
from planned_ad.kernels.entry.native_calls import BROKEN_GUARD

from .malloc import count_in_subprocess


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


X = np.linspace(0.5, 1.5, 10)


@pytest.fixture(scope="module")
def plan():
    return planned_ad.compile(rosenbrock, X)


def test_each_kind_is_that_of_the_plan(plan) -> None:
    kernel = plan.kernel
    value, gradient, both, pullback = kernel.value, kernel.gradient, kernel.value_and_gradient, kernel.pullback

    @numba.njit
    def all_kinds(x, dx, more, added):
        number, second = both(x, more)
        return value(x), gradient(x, dx), number, second, pullback(x, added, 2.0)

    dx, more, added = np.empty(10), np.empty(10), np.ones(10)
    first, returned, number, second, third = all_kinds(X, dx, more, added)
    expected = plan.gradient(X)
    assert first == number == plan(X)
    assert np.array_equal(returned, expected) and np.array_equal(dx, expected)
    assert np.array_equal(second, expected) and np.array_equal(more, expected)
    np.testing.assert_allclose(third, 1 + 2 * expected, rtol=1e-14)
    assert np.shares_memory(returned, dx) and np.shares_memory(third, added)


def test_what_does_not_match_raises_and_nothing_is_written(plan) -> None:
    gradient = plan.kernel.gradient

    @numba.njit
    def call(x, dx):
        gradient(x, dx)

    dx = np.full(10, 7.0)
    for x, error, message in (
        (np.ones(9), ShapeError, r"gradient: x must have shape \(10,\)"),
        (np.ones(20)[::2], LayoutError, r"gradient: x must have strides \(8,\)"),
        (dx, OverlapError, "overlaps"),
    ):
        with pytest.raises(error, match=message):
            call(x, dx)
    with pytest.raises(ShapeError, match="dx must have shape"):
        call(X, np.ones(11))
    assert np.all(dx == 7)

    @numba.njit
    def caught(x, dx):
        try:
            gradient(x, dx)
        except Exception:
            return False
        return True

    assert caught(X, dx) and not caught(X[1:], dx)


def test_wrong_types_are_refused_when_the_caller_is_compiled(plan) -> None:
    gradient = plan.kernel.gradient

    @numba.njit
    def call(x, dx):
        return gradient(x, dx)

    @numba.njit
    def without_shadow(x):
        return gradient(x)

    frozen = X.copy()
    frozen.flags.writeable = False
    for arguments, message in (
        ((X.astype(np.float32), X), r"x must be a float64 array of shape \(10,\)"),
        ((X.reshape(5, 2), X), "x must be a float64 array"),
        ((X, frozen), "dx must be a writeable float64 array"),
        (((X, X), X), "x is passed as one argument, not a tuple"),
    ):
        with pytest.raises(TypingError, match=message):
            call(*arguments)
    with pytest.raises(TypingError, match="missing a required argument: 'dx'"):
        without_shadow(X)


def test_other_layouts() -> None:
    """What the plan was compiled for is what is taken, contiguous or not."""
    example = np.arange(24.0).reshape(4, 6)[::-2, 1:4].T
    plan = planned_ad.compile(lambda a: np.sum(np.arange(3) * np.sin(a.T)), example)
    gradient = plan.kernel.gradient
    da = np.zeros((2, 3)).T
    gradient(example, da)
    np.testing.assert_allclose(da, np.arange(3)[:, None] * np.cos(example), rtol=1e-14)
    with pytest.raises(LayoutError):
        gradient(example, np.zeros((3, 2)))
    with pytest.raises(LayoutError, match="a must have strides"):
        gradient(example.copy(order="F"), da)


def test_the_derivative_of_a_float_is_returned() -> None:
    plan = planned_ad.compile(lambda a, x, b: a * b + np.sum(x) * a, (2.0, np.ones(3), 5.0))
    gradient, both = plan.kernel.gradient, plan.kernel.value_and_gradient

    @numba.njit
    def call(a, x, b, dx):
        da, same, db = gradient(a, x, b, dx)
        value, (more, _, _) = both(a, x, b, dx)
        return da, db, same[0], value, more

    assert call(2, np.ones(3), np.float32(5), np.empty(3)) == (8.0, 2.0, 2.0, 16.0, 8.0)


def test_single_precision() -> None:
    x = np.linspace(0, 1, 5, dtype=np.float32)
    plan = planned_ad.compile(lambda x, a: np.sum(np.exp(x)) * a, (x, np.float32(2)))
    value, (dx, da) = plan.kernel.value_and_gradient(x, np.float32(2), np.empty_like(x))
    np.testing.assert_allclose(dx, 2 * np.exp(x), rtol=1e-6)
    np.testing.assert_allclose([value, da], [2 * np.exp(x).sum(), np.exp(x).sum()], rtol=1e-6)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


def test_containers_are_tuples() -> None:
    def f(tree, pair):
        return tree["w"][0] * tree["b"] * np.sum(pair.left * pair.right) ** tree["power"]

    tree, pair = {"w": [np.array([2.0]), "label"], "b": 3.0, "power": 2}, Pair(np.ones(2), np.full(2, 4.0))
    plan = planned_ad.compile(lambda tree, pair: f(tree, pair)[0], (tree, pair))
    gradient = plan.kernel.gradient

    @numba.njit
    def call(w, b, pair, dw, db, dpair):
        gradient(((w, None), b, 2), pair, ((dw, None), db, None), dpair)

    dw, db, dpair = np.empty(1), np.empty(1), Pair(np.empty(2), np.empty(2))
    call(tree["w"][0], 3.0, pair, dw, db, dpair)
    assert (dw[0], db[0]) == (3 * 64, 2 * 64)
    assert np.array_equal(dpair.left, [384, 384]) and np.array_equal(dpair.right, [96, 96])
    with pytest.raises(OverlapError):
        call(tree["w"][0], 3.0, pair, dw, dw, dpair)
    with pytest.raises(ShapeError, match="one element"):
        call(tree["w"][0], 3.0, pair, dw, np.empty(2), dpair)
    with pytest.raises(TypingError, match="dtree has"):
        gradient(((pair.left, None), 3.0, 2), pair, (dw,), dpair)


def test_static_arguments() -> None:
    def f(x, n, mode):
        return np.sum(x**n) if mode == "power" else np.sum(x)

    plan = planned_ad.compile(f, (X, 3, "power"))
    gradient = plan.kernel.gradient
    dx = np.empty(10)
    for n in (3, np.uint8(3), None):
        np.testing.assert_allclose(gradient(X, n, None, dx), 3 * X**2, rtol=1e-14)
    with pytest.raises(StaticArgumentError, match="n was 3 when the plan was compiled"):
        gradient(X, 4, None, dx)
    with pytest.raises(TypingError, match=r"mode was 'power' .* pass None"):
        gradient(X, 3, "power", dx)
    with pytest.raises(TypingError, match="n was 3 "):
        gradient(X, 3.0, None, dx)


def test_results_that_are_arrays_are_passed() -> None:
    def f(x):
        x[0] = 5.0
        return np.outer(x, x), x[1] * 2

    plan = planned_ad.compile(f, np.ones(3))
    value, pullback = plan.kernel.value, plan.kernel.pullback

    @numba.njit
    def call(x, dx, out, seed):
        _, number = value(x, out)
        pullback(x, dx, seed, 1.0)
        return number

    x, dx, out = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.empty((3, 3))
    number = call(x, dx, out, np.ones((3, 3)))
    assert np.array_equal(out, np.outer(x, x)) and number == 4 and x[0] == 5
    assert np.array_equal(dx, plan.pullback(np.array([5.0, 2.0, 3.0]), None, np.ones((3, 3)), 1.0))


def test_another_branch() -> None:
    def f(x):
        x[1] *= 2
        return x[0] ** 2 if x[0] > 0 else 3 * x[0] + x[1]

    plan = planned_ad.compile(f, np.array([1.0, 1.0]))
    gradient = plan.kernel.gradient

    @numba.njit
    def call(x, dx):
        gradient(x, dx)

    x, dx = np.array([-1.0, 1.0]), np.full(2, 7.0)
    with pytest.raises(BranchError, match=r"test_njit_kernel.py:\d+.*if x\[0\] > 0.*plan.gradient does"):
        call(x, dx)
    assert np.array_equal(x, [-1, 1]) and np.all(dx == 7)
    plan.gradient(x.copy(), dx)
    dx[:] = 7
    call(x, dx)  # compiled before the branch was recorded
    assert np.array_equal(dx, [3, 2]) and x[1] == 2
    call(np.array([2.0, 0.0]), dx)
    assert np.array_equal(dx, [4, 0])

    strict = planned_ad.compile(f, np.array([1.0, 1.0]), on_branch="raise").kernel.gradient
    with pytest.raises(BranchError) as caught:
        strict(np.array([-1.0, 1.0]), dx)
    assert "plan.gradient" not in str(caught.value)


def test_a_while_loop_with_more_memory() -> None:
    def newton(a):
        y = a
        while abs(y * y - a) > 1e-12 * a:
            y = 0.5 * (y + a / y)
        return y

    plan = planned_ad.compile(newton, 2.0, max_steps=8)
    gradient = plan.kernel.gradient
    with pytest.raises(BranchError, match="while abs"):
        gradient(1e30)
    plan.gradient(1e30)
    np.testing.assert_allclose([gradient(1e30), gradient(2.0)], [5e-16, 0.5 / math.sqrt(2)], rtol=1e-10)


class Model:
    def __init__(self) -> None:
        self.state, self.rate = np.ones(3), 2.0

    def loss(self):
        return self.rate * np.sum(self.state**2)

    def step(self):
        self.state = self.rate * self.state
        return np.sum(self.state)


def test_objects_are_tuples_too() -> None:
    dstate, drate = np.empty(3), np.empty(1)
    planned_ad.compile(Model.loss, (Model(),)).kernel.gradient((np.ones(3), 2.0), (dstate, drate))
    assert np.array_equal(dstate, [4, 4, 4]) and drate[0] == 3
    with pytest.raises(UnsupportedError, match=r"step puts a new value in the place of self\.state"):
        planned_ad.compile(Model.step, (Model(),)).kernel.gradient  # noqa: B018


def test_an_index_out_of_range() -> None:
    plan = planned_ad.compile(lambda x, i: np.sum(x[i] ** 2), (X, np.array([1, 2])))
    gradient, dx = plan.kernel.gradient, np.empty(10)
    np.testing.assert_allclose(gradient(X, np.array([0, -1]), dx)[[0, 1, 9]], [1.0, 0.0, 3.0])
    with pytest.raises(IndexRangeError, match="an index is out of range"):
        gradient(X, np.array([0, 10]), dx)


def test_threads() -> None:
    """Each call has a workspace of its own."""

    def f(x):
        for _ in range(3):
            x = np.sin(x) * x
            x[1:] *= x[:-1]
        return np.sum(x)

    size = 2000
    plan = planned_ad.compile(lambda x: f(x.copy()), np.ones(size))
    assert plan.explain().workspace_bytes > 8 * size
    gradient = plan.kernel.gradient

    @numba.njit(nogil=True)
    def repeat(x, dx, expected, times):
        wrong = 0
        for _ in range(times):
            gradient(x, dx)
            for i in range(x.size):
                wrong += dx[i] != expected[i]
        return wrong

    wrong: list[int] = []
    points = [np.linspace(0.1, 1 + k, size) for k in range(4)]
    expected = [gradient(x, np.empty(size)).copy() for x in points]
    for x, dx in zip(points, expected):
        np.testing.assert_allclose(plan.gradient(x), dx, rtol=1e-12)
    repeat(points[0], np.empty(size), expected[0], 1)
    threads = [
        threading.Thread(target=lambda x=x, e=e: wrong.append(repeat(x, np.empty(size), e, 300)))
        for x, e in zip(points, expected)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 4


def test_nothing_is_allocated() -> None:
    code = """
import numba, numpy as np, planned_ad
x, dx = np.linspace(0.5, 1.5, 10), np.empty(10)
f = lambda a, x: np.sum(100 * (x[1:] - a * x[:-1] ** 2) ** 2) if a > 0 else np.sum(x)
gradient = planned_ad.compile(f, (1.0, x)).kernel.gradient
@numba.njit
def many(x, dx):
    for i in range(1000):
        gradient(1.0 + i, x, dx)
def call():
    many(x, dx)
"""
    assert count_in_subprocess(code, 10)["malloc"] <= 2 * 10  # of Numba: two for the two arrays of each call of `many`


def test_the_c_function() -> None:
    plan = planned_ad.compile(lambda x, a: np.sum(x**2) * a if a > 0 else a, (np.ones(3), 2.0))
    gradient = plan.kernel.gradient
    assert gradient.declaration == "int32_t gradient(const double *x, double a, double *dx, double *da)"
    pointer = np.ctypeslib.ndpointer(np.float64, shape=(3,), flags="C")
    number = ctypes.POINTER(ctypes.c_double)
    f = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, ctypes.c_double, pointer, number)(gradient.address)
    dx, da = np.full(3, 7.0), ctypes.c_double(7.0)
    assert f(np.ones(3), -2.0, dx, da) == BROKEN_GUARD and da.value == 7 and np.all(dx == 7)
    assert f(np.ones(3), 2.0, dx, da) == 0
    assert da.value == 3 and np.array_equal(dx, [4, 4, 4])


def test_pointers() -> None:
    """Where there are only pointers, as in a C callback."""
    kernel = planned_ad.compile(lambda t: np.exp(-t[0] * t[1]), np.ones(2)).kernel
    value, gradient = kernel.value, kernel.gradient

    @numba.cfunc("double(intc, CPointer(double))")
    def integrand(n, t):
        return value(t)

    found, _ = scipy.integrate.quad(scipy.LowLevelCallable(integrand.ctypes), 0, 1, args=(2.0,))
    assert math.isclose(found, (1 - math.exp(-2)) / 2, rel_tol=1e-10)

    @numba.cfunc("void(CPointer(double), CPointer(double))")
    def through_pointers(t, dt):
        gradient(t, dt)

    t, dt = np.array([0.5, 2.0]), np.empty(2)
    number = ctypes.POINTER(ctypes.c_double)
    through_pointers.ctypes(t.ctypes.data_as(number), dt.ctypes.data_as(number))
    np.testing.assert_allclose(dt, [-2 * math.exp(-1), -0.5 * math.exp(-1)], rtol=1e-14)


def test_it_lives_as_long_as_code_that_calls_it() -> None:
    def compiled():
        gradient = planned_ad.compile(rosenbrock, X, max_operations=1000).kernel.gradient  # no plan that others hold

        @numba.njit
        def inner(x, dx):
            return gradient(x, dx)

        @numba.njit
        def outer(x, dx):
            return inner(x, dx)

        return outer, outer(X, np.empty(10)), weakref.ref(gradient), weakref.ref(gradient._native)

    outer, expected, gradient, native = compiled()
    gc.collect()
    assert native() is not None
    assert np.array_equal(outer(X, np.empty(10)), expected)
    del outer
    for _ in range(3):
        gc.collect()
    assert gradient() is None and native() is None


def test_it_can_be_passed_and_pickled(plan) -> None:
    @numba.njit
    def apply(f, x, dx):
        return f(x, dx)

    expected = plan.gradient(X)
    assert np.array_equal(apply(plan.kernel.gradient, X, np.empty(10)), expected)
    again = pickle.loads(pickle.dumps(plan.kernel.gradient))
    assert np.array_equal(apply(again, X, np.empty(10)), expected)


CACHED = """
import numba, numpy as np, planned_ad, sys, warnings
factor = float(sys.argv[1])
gradient = planned_ad.compile(lambda x: np.sum(x * factor), np.ones(2)).kernel.gradient
@numba.njit
def inner(x, dx):
    gradient(x, dx)
@numba.njit(cache=True)
def outer(x, dx):
    inner(x, dx)
    return dx[0]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(outer(np.ones(2), np.empty(2)), sum("dynamic globals" in str(w.message) for w in caught))
"""


def test_code_that_calls_it_is_not_cached(tmp_path) -> None:
    """An address of another process, or the derivative of another function, would be found in the cache."""
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    for factor in ("2.0", "3.0"):
        child = subprocess.run([sys.executable, str(script), factor], capture_output=True, text=True)
        assert child.stdout.split() == [factor, "1"], child.stderr
