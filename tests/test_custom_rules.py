"""Functions with derivatives of their own: traced rules, opaque functions, Numba functions."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.errors import NotDifferentiableError, TraceError, UnsupportedError
from planned_ad.functional.transforms import grad, jacobian
from planned_ad.testing import check_grads, check_rule

from .malloc import count_in_subprocess
from .oracle import assert_close, check_gradient
from .sweeps import left_out

X = np.array([0.3, -1.0, 2.0])


@planned_ad.custom_rule
def softplus(x):
    return np.log1p(np.exp(x))


@softplus.vjp(needs="x")
def _(x, cotangent):
    return cotangent * (1 - 1 / (1 + np.exp(x)))


@planned_ad.custom_rule
def tenfold(x, y, n, scale=1.0):
    """A rule that is wrong on purpose, by a factor of ten, so that its use shows."""
    return {"product": x * y * n * scale, "sum": np.sum(x)}


@tenfold.vjp(needs="n, y, result")
def _(n, y, result, cotangent):
    dx = 10 * cotangent["product"] * y * n + cotangent["sum"] * (1 + 0 * result["sum"])
    return dx, None, None, 0.0


@planned_ad.custom_rule
def counted(x):
    return np.sum(x > 0), 2 * x


@counted.vjp(needs="result")
def _(result, cotangent):
    assert cotangent[0] is None
    return 2 * cotangent[1] + 0 * result[0]


@planned_ad.custom_rule
def cut_off(a):
    if a > 0:
        return a * a
    return 0.0 * a


@cut_off.vjp(needs="a")
def _(a, cotangent):
    if a > 0:
        return 2 * a * cotangent
    return 0.0


@planned_ad.custom_rule
def horner(c, z):
    s = 0.0 * z
    for i in range(20):
        s = s * z + c[i]
    return s


@horner.jvp(needs="c, z")
def _(c, z, dc, dz):
    s, ds = 0.0 * z, 0.0 * z
    for i in range(20):
        ds = ds * z + s * dz + dc[i]
        s = s * z + c[i]
    return ds


@planned_ad.custom_rule
def shifted(x, k):
    return x * (k + 1)


@shifted.vjp(needs="k")
def _(k, cotangent):
    return cotangent * (k + 1), None


@planned_ad.custom_rule
def exponential(x):
    return np.exp(x)


@exponential.vjp(needs="x")
def _(x, cotangent):
    return cotangent * exponential(x)


@planned_ad.opaque(result=lambda a, b: b)
def solve(a, b):
    if a[0, 0] < 0:
        raise ZeroDivisionError("a negative corner")
    return np.linalg.solve(a, b)


@solve.vjp(needs="a, result")
def _(a, x, cotangent):
    db = solve(a.T, cotangent)
    return -np.outer(db, x), db


A = np.array([[4.0, 1.0, 0.5], [0.0, 3.0, 1.0], [1.0, 0.0, 5.0]])


@planned_ad.opaque(result=lambda x, n: (0.0, x))
def powers(x, n):
    return float(np.sum(x**n)), np.sin(x)


@powers.vjp(needs="x, n", opaque=True)
def _(x, n, cotangent):
    return cotangent[0] * n * x ** (n - 1) + cotangent[1] * np.cos(x), None


@numba.njit
def scaled_power_adjoint(x, c, n, cotangent, dx, dc):
    for i in range(x.size):
        dx[i] += c * n * x[i] ** (n - 1) * cotangent[i]
        dc[()] += x[i] ** n * cotangent[i]


@planned_ad.numba_rule(result=lambda x, c, n: x, adjoint=scaled_power_adjoint)
@numba.njit
def scaled_power(x, c, n, out):
    if c > 100:
        raise ValueError("too large")
    for i in range(x.size):
        out[i] = c * x[i] ** n


# Rules in traced code.


def test_the_rule_is_what_is_used():
    def f(x, y):
        found = tenfold(x, y, 3)
        return np.sum(found["product"]) * 2 + found["sum"]

    plan = planned_ad.compile(f, (X, X))
    dx, dy = plan.gradient(X, X + 1)
    assert_close(dx, 60 * (X + 1) + 1)
    assert_close(dy, np.zeros(3))
    assert plan(X, X) == f(X, X)


def test_every_stage_agrees():
    """The interpreter, the plan on NumPy, the kernel, and finite differences."""
    check_gradient(lambda x: np.sum(exponential(softplus(x) ** 2)), X)
    check_gradient(lambda x: np.sum(in_a_loop(x)), X)


def in_a_loop(x):
    s = x * 0.1
    for i in range(30):
        s = shifted(softplus(s) * 0.3, i) / (i + 1) + cut_off(s[0] + 0.05) * x
    return s


@pytest.mark.parametrize(
    "f, args, order",
    [
        (lambda x: softplus(x) * np.sin(x), (X,), 2),
        (lambda x: np.sum(x * exponential(x)), (X,), 2),
        (lambda x: counted(x)[1] * counted(x)[0], (X,), 2),
        (in_a_loop, (X,), 1),
        left_out((in_a_loop, (X,), 2)),
        (lambda c, z: horner(c, z) * horner(c, 2 * z), (np.linspace(-1, 1, 20), 0.7), 2),
    ],
    ids=["vjp", "itself", "linear", "loop", "loop twice", "jvp"],
)
def test_both_modes_and_second_order(f, args, order):
    check_grads(f, args, order=order)


def test_both_sides_of_a_branch_in_a_rule():
    plan = planned_ad.compile(lambda a: cut_off(a) * 1.0, 2.0)
    assert plan.gradient(3.0) == 6.0
    assert plan.gradient(-3.0) == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_dtypes_and_shapes(dtype, shape):
    x = np.full(shape, 0.5, dtype)
    plan = planned_ad.compile(lambda x: np.sum(softplus(x)), x)
    dx = plan.gradient(x)
    assert dx.dtype == dtype
    np.testing.assert_allclose(dx, np.full(shape, 1 / (1 + np.exp(-0.5))), rtol=1e-6)


def test_third_order_of_a_rule_that_calls_itself():
    third = grad(lambda x: grad(lambda x: grad(lambda x: exponential(2 * x))(x))(x))
    assert third(0.5) == pytest.approx(8 * np.e, rel=1e-12)


def test_outside_of_traced_code_it_is_the_function():
    assert np.array_equal(softplus(X), np.log1p(np.exp(X)))
    assert scaled_power(X, 2.0, 3)[2] == 16.0


# Opaque functions.


def test_an_opaque_function_and_its_name_in_explain():
    f = lambda a, b: np.sum(solve(a, b) ** 2)  # noqa: E731
    check_rule(solve, (A, X), order=2)
    notes = planned_ad.compile(f, (A, X)).explain().fallbacks
    assert any("callback into Python" in note and "solve" in note for note in notes)


def test_an_opaque_function_in_a_loop():
    def f(a, b):
        for i in range(20):
            b = solve(a, b) * (1 + 0.1 * i) + np.sin(b)
        return b

    check_grads(f, (A, X))


def test_an_opaque_vjp():
    check_grads(lambda x: powers(x, 3)[0] * powers(x, 2)[1], X, modes=("reverse",))
    with pytest.raises(NotDifferentiableError, match="vjp of powers"):
        grad(lambda x: np.sum(grad(lambda x: powers(x, 3)[0])(x)))(X)


def test_what_a_callback_raises_is_raised():
    plan = planned_ad.compile(lambda a, b: np.sum(solve(a, b)), (A, X))
    da, db = np.zeros((3, 3)), np.zeros(3)
    for call in (lambda: plan.gradient(-A, X, da, db), lambda: plan.gradient(-A, X), lambda: plan(-A, X)):
        with pytest.raises(ZeroDivisionError, match="negative corner"):
            call()
    plan.gradient(A, X, da, db)
    assert_close(db, np.linalg.solve(A.T, np.ones(3)))


def test_callbacks_of_several_threads():
    plan = planned_ad.compile(lambda x: np.sum(powers(x, 2)[1] ** 2 * x), X)
    wrong = []

    def work(k):
        x = X * k
        for _ in range(50):
            expected = 2 * np.sin(x) * np.cos(x) * x + np.sin(x) ** 2
            if not np.allclose(plan.gradient(x), expected):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Numba functions.


def test_a_numba_function_with_an_adjoint():
    check_rule(scaled_power, (X, 1.5, 3))


def test_a_numba_function_in_a_loop_on_rows_and_columns():
    def f(x, c):
        s = 0.0
        for i in range(20):
            s = s * 0.5 + np.sum(scaled_power(x[i], c, 3)) + np.sum(scaled_power(x[:, 1], s, 2)) * 0.01
        return s

    check_grads(f, (np.linspace(-0.5, 0.5, 40).reshape(20, 2), 0.5), modes=("reverse",))


def test_what_a_numba_function_raises_is_raised():
    plan = planned_ad.compile(lambda x, c: np.sum(scaled_power(x, c, 3) ** 2), (X, 1.0))
    with pytest.raises(ValueError, match="too large"):
        plan.gradient(X, 200.0)
    run = plan.kernel.gradient
    with pytest.raises(RuntimeError, match="raised an exception"):
        numba.njit(lambda x, c, dx: run(x, c, dx))(X, 200.0, np.zeros(3))
    assert plan.gradient(X, 2.0)[1] == pytest.approx(4 * np.sum(X**6))


def test_mixed_precision():
    x = X.astype(np.float32)
    plan = planned_ad.compile(lambda x, c: np.sum(scaled_power(x, c, 2)), (x, 1.5))
    dx, dc = plan.gradient(x, 1.5)
    assert dx.dtype == np.float32
    np.testing.assert_allclose(dx, 3 * x, rtol=1e-6)
    assert dc == pytest.approx(np.sum(X**2), rel=1e-6)


def test_nothing_is_allocated():
    code = """
import numba, numpy as np, planned_ad
@numba.njit
def cube_adjoint(x, cotangent, dx):
    for i in range(x.size):
        dx[i] += 3 * x[i] ** 2 * cotangent[i]
@planned_ad.numba_rule(result=lambda x: x, adjoint=cube_adjoint)
@numba.njit
def cube(x, out):
    for i in range(x.size):
        out[i] = x[i] ** 3
@planned_ad.custom_rule
def double(x):
    return 2 * x
@double.vjp(needs="")
def _(cotangent):
    return 2 * cotangent
def f(x):
    s = 0.0
    for i in range(20):
        s = s * 0.1 + np.sum(cube(double(x) * s))
    return s
x, dx = np.linspace(0, 0.1, 5), np.zeros(5)
plan = planned_ad.compile(f, x)
def call():
    plan.gradient(x, dx)
"""
    assert count_in_subprocess(code) == {"malloc": 0, "blocks": 0}


# What is refused.


@planned_ad.custom_rule
def writes(x):
    x[0] = 1.0
    return x


@planned_ad.custom_rule
def product(x, y):
    return x * y


@product.vjp(needs="x, y")
def _(x, y, cotangent):
    return cotangent * y


@planned_ad.opaque(result=lambda x: x)
def unknown(x):
    return np.sin(x)


def captures(x):
    total = np.sum(x)

    @planned_ad.custom_rule
    def inner(x):
        return x * total

    return np.sum(inner(x))


def in_the_loop_of_another(x):
    s = 0.0
    for i in range(20):
        s = s + np.sum(softplus(x[:i]))
    return s


@pytest.mark.parametrize(
    "f, error, message",
    [
        (lambda x: np.sum(writes(x)), TraceError, r"x\[0\] = 1.0` writes to an argument of writes"),
        (lambda x: np.sum(product(x, x)), TraceError, r"vjp of product .* a cotangent for each parameter \(x, y\)"),
        (lambda x: np.sum(unknown(x)), NotDifferentiableError, r"needs a derivative of unknown .*@unknown.vjp"),
        (captures, UnsupportedError, "inner uses the traced value `total`"),
    ],
    ids=["writes", "cotangents", "no derivative", "captured"],
)
def test_refusals_name_the_function(f, error, message):
    with pytest.raises(error, match=message):
        planned_ad.compile(f, np.ones(30))


def test_a_loop_that_calls_a_rule_on_arrays_of_other_lengths_is_unrolled():
    x = np.linspace(-1, 1, 30)
    plan = planned_ad.compile(in_the_loop_of_another, x)
    assert "is unrolled" in plan.explain().fallbacks[0]
    assert plan(x) == pytest.approx(in_the_loop_of_another(x))
    np.testing.assert_allclose(plan.gradient(x), np.clip(19 - np.arange(30), 0, None) / (1 + np.exp(-x)))


def test_no_derivative_is_needed_of_constants():
    plan = planned_ad.compile(lambda x, y: np.sum(x * unknown(y)), (X, planned_ad.Const(X)))
    assert_close(plan.gradient(X, X), np.sin(X))


def test_a_missing_jvp_names_what_to_write():
    with pytest.raises(TraceError, match=r"powers .* has no jvp.*@powers.jvp"):
        jacobian(lambda x: powers(x, 2)[1], mode="forward")(X)


def test_names_in_needs_are_checked():
    with pytest.raises(TypeError, match="needs='z' is neither a parameter"):
        softplus.vjp(needs="z")(lambda z, cotangent: cotangent)


def changes_what_a_rule_uses(x):
    k, table = 1.0, np.array([1.0, 2.0, 3.0])

    @planned_ad.custom_rule
    def scaled(a):
        return a * k * table

    @scaled.vjp(needs="")
    def _(cotangent):
        return cotangent * k * table

    before = scaled(x)
    k, table[0] = 2.0, 5.0
    return before + scaled(x) * x


def test_a_rule_sees_what_its_variables_hold_when_it_is_called():
    check_grads(changes_what_a_rule_uses, X)


def test_values_of_another_trace_are_refused():
    class Model:
        pass

    def f(x):
        model = Model()
        model.scale = x * 2

        @planned_ad.custom_rule
        def inner(a):
            return a * model.scale

        return np.sum(inner(x))

    with pytest.raises(UnsupportedError, match="a value of another trace"):
        planned_ad.compile(f, X)


@planned_ad.opaque(result=lambda a, n: (0.0, a), derivative="differences")
def product_and_power(a, n):
    return float(np.prod(a)), a**n


def test_finite_differences_as_a_stopgap():
    def f(a):
        whole, powers = product_and_power(a, 3)
        return whole + np.sum(powers * np.arange(3))

    a = np.array([0.5, -2.0, 3.0])
    plan = planned_ad.compile(f, a)
    expected = np.prod(a) / a + 3 * a**2 * np.arange(3)
    gradient = plan.gradient(a)
    np.testing.assert_allclose(gradient, expected, rtol=1e-8)
    assert any("product_and_power by finite differences" in text for text in plan.explain().fallbacks)
    _, tangent = planned_ad.jvp(f)(a, np.array([1.0, 0.0, -2.0]))
    np.testing.assert_allclose(tangent, expected @ [1.0, 0.0, -2.0], rtol=1e-8)
    with pytest.raises(NotDifferentiableError, match="finite differences, which cannot be differentiated again"):
        planned_ad.hessian(f)(a)
    with pytest.raises(ValueError, match="neither None nor 'differences'"):
        planned_ad.opaque(lambda a: a, result=lambda a: a, derivative="symbolic")


def test_what_it_sees_may_change_between_calls() -> None:
    class Scale:
        w = 1.0

    @planned_ad.checkpoint
    def total(h, x):
        return np.sum(h(x) ** 2)

    def by_a_function(x):
        w = 2.0

        def h(z):
            return z * w

        t = total(h, x)
        w = 3.0
        return t + total(h, x)

    def by_an_object(x):
        scale = Scale()
        scale.w = 2.0
        sine = planned_ad.checkpoint(lambda z: np.sum(np.sin(z * scale.w)))
        t = sine(x)
        scale.w = 3.0
        return t + sine(x)

    x = np.array([1.0, 0.4])
    for f in (by_a_function, by_an_object):
        plan = planned_ad.compile(f, (x,), check=False)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert np.sum(plan.gradient(x)) == pytest.approx(slope, rel=1e-7)
