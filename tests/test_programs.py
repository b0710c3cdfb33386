"""Whole programs as people write them, through every call of their plans (see `tests.oracle.check_gradient`)."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.special

import planned_ad
from planned_ad.errors import OverlapError

from .oracle import check_every_call, check_gradient, compiled
from .sweeps import sweep

RANDOM = np.random.default_rng(2)


def floats(*shape: int) -> np.ndarray:
    return np.asarray(RANDOM.normal(size=shape))


def positive(*shape: int) -> np.ndarray:
    return np.asarray(RANDOM.uniform(0.5, 2.0, size=shape))


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


# Programs on which another tool is wrong or gives up.

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple, dict[str, Any]]] = {}


def program(*args: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Test the decorated function with these arguments."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = (f, args, options)
        return f

    return add


@program(floats(8))
def writes_through_a_view_variable(x):
    v = x[2:6]
    v *= 3
    x[3] = x[3] * x[2]
    v += x[0:4]
    return np.sum(x * x)


@program(floats(6))
def branch_in_a_loop_of_writes(x):
    for i in range(1, 6):
        if x[i] > 0:
            x[i] = x[i] * x[i - 1]
    return np.sum(x)


@program(floats(5, 6), floats(5, 6), floats(5, 6))
def finite_difference_time_domain(ex, ey, hz):
    for t in range(4):
        ey[0, :] = 0.1 * t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz) + np.sum(ex) * np.sum(ey)


@program(0.1 * floats(6))
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, 6):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * np.arange(1.0, 7.0))


@program(floats(7))
def sum_of_squares(x):
    return np.sum(x * x)


@program(floats(7))
def negative_strides(x):
    y = x[::-1]
    z = y[::-2]
    z *= y[:4]
    return np.sum(np.sin(x) * y)


@program(floats(9))
def boolean_mask_read(x):
    return np.sum(x[x > 0.1] ** 3)


@program(floats(5), np.array([4, 0, 4, 2]))
def index_gather(x, index):
    return np.sum(x[index] ** 2 * np.arange(1.0, 5.0))


@program(floats(4), positive(4))
def arctan2_of(y, x):
    return np.sum(np.arctan2(y, x) * np.arange(1.0, 5.0))


@program(1.3)
def newton_while(a):
    x = 1.0
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
    return x


@program(positive(8))
def break_out(x):
    total = 0.0
    for i in range(8):
        total += x[i] * x[i]
        if total > 3.0:
            break
    return total


# Optimisation and statistics.


@program(floats(6))
def rosenbrock_scalar(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


@program(floats(11))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program(floats(3), floats(12, 3), (RANDOM.random(12) > 0.5).astype(float))
def logistic_regression(w, features, labels):
    z = features @ w
    return np.mean(np.logaddexp(0.0, z) - labels * z) + 0.1 * np.dot(w, w)


@program(floats(4, 5), floats(5), floats(5, 3), floats(3), floats(7, 4), np.array([0, 2, 1, 1, 0, 2, 2]))
def multilayer_perceptron(w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    logits = logits - logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(7), y])


@program(floats(2), floats(2, 3), 0.3 * floats(2, 3, 3), planned_ad.Const(floats(9, 3)))
def gaussian_mixture(alphas, means, factors, data):
    terms = []
    for k in range(2):
        c = data - means[k]
        q = np.tril(factors[k], -1) + np.diag(np.exp(np.diag(factors[k])))
        z = c @ q.T
        terms.append(alphas[k] + np.sum(np.diag(factors[k])) - 0.5 * np.sum(z * z, axis=1))
    return np.sum(scipy.special.logsumexp(np.stack(terms), axis=0)) - 9 * scipy.special.logsumexp(alphas)


@program(positive(5) * 100, 100.0, 0.2, 0.05, positive(5))
def black_scholes(spot, strike, volatility, rate, years):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    normal = lambda d: 0.5 * (1 + scipy.special.erf(d / np.sqrt(2.0)))  # noqa: E731
    return np.sum(spot * normal(d1) - strike * np.exp(-rate * years) * normal(d2))


@program(positive(6), positive(6))
def beta_log_likelihood(a, b):
    ln_beta = scipy.special.gammaln(a) + scipy.special.gammaln(b) - scipy.special.gammaln(a + b)
    return np.sum(scipy.special.xlogy(a, b) - ln_beta) + np.sum(scipy.special.digamma(a))


@program(floats(5, 3))
def pairwise_energy(x):
    total = 0.0
    for i in range(5):
        for j in range(i):
            d = x[i] - x[j]
            total += 1.0 / np.sqrt(np.sum(d * d) + 0.01)
    return total


@program(floats(6, 3))
def pairwise_energy_broadcast(x):
    d = x[:, None, :] - x[None, :, :]
    r = np.sqrt(np.sum(d * d, axis=-1) + 0.1)
    return np.sum(1 / r)


@program(floats(8, 3), floats(3))
def attention(keys, query):
    w = scipy.special.softmax(keys @ query / math.sqrt(3))
    return np.sum((w[:, None] * np.tanh(keys)).sum(axis=0) ** 2)


@program(floats(4, 6))
def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    y = (x - mean) / np.sqrt(var + 1e-5)
    return np.sum(y**3 * np.arange(6))


# Stencils and time stepping.


@program(floats(12))
def jacobi_1d(a):
    b = a.copy()
    for _ in range(3):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * a)


@program(floats(6, 7), floats(6, 7))
def jacobi_2d(a, b):
    for _ in range(2):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(a**2) + np.sum(b)


@program(0.3 * floats(6, 7), 0.1)
def heat_2d(u, alpha):
    for _ in range(3):
        laplace = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += alpha * laplace * u[1:-1, 1:-1]
    return np.sum(np.sin(u))


@program(floats(5, 5))
def gauss_seidel(a):
    for i in range(1, 4):
        for j in range(1, 4):
            a[i, j] = (a[i - 1, j] * a[i + 1, j] + a[i, j - 1] * a[i, j + 1] + a[i, j]) / 3.0
    return np.sum(a * a)


@program(floats(4, 5))
def seidel_rows(a):
    for i in range(1, 3):
        a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] * a[i + 1, 2:]
        for j in range(1, 4):
            a[i, j] += 0.5 * a[i, j - 1]
            a[i, j] /= 3.0
    return np.sum(a**2)


@program(floats(6))
def burgers(u):
    for _ in range(3):
        u[1:] = u[1:] - 0.1 * u[1:] * (u[1:] - u[:-1])
    return np.sum(u**2)


@program(floats(2), 1.5)
def runge_kutta(y, mu):
    def rhs(y):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    h = 0.05
    for _ in range(3):
        k1 = rhs(y)
        k2 = rhs(y + 0.5 * h * k1)
        k3 = rhs(y + 0.5 * h * k2)
        k4 = rhs(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] ** 2 + y[1]


@program(floats(3), 0.7)
def lorenz_in_place(state, sigma):
    for _ in range(4):
        x, y, z = state
        d = np.empty(3)
        d[0] = sigma * (y - x)
        d[1] = x * (2.0 - z) - y
        d[2] = x * y - z
        state += 0.1 * d
    return state @ state


@program(floats(5), floats(5))
def leapfrog(q, p):
    for _ in range(3):
        p -= 0.05 * np.sin(q)
        q += 0.1 * p
        p -= 0.05 * np.sin(q)
    return 0.5 * p @ p - np.sum(np.cos(q))


# Linear algebra by hand.

SPD = floats(5, 5)
SPD = SPD @ SPD.T + 5 * np.eye(5)


@program(SPD.copy())
def cholesky(a):
    n = len(a)
    for j in range(n):
        a[j, j] = np.sqrt(a[j, j] - np.dot(a[j, :j], a[j, :j]))
        for i in range(j + 1, n):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
    return np.sum(np.log(np.diag(a))) + np.sum(np.tril(a) ** 2)


@program(SPD.copy())
def lu_decomposition(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.log(np.abs(np.diagonal(a)))) + np.sum(a)


@program(SPD.copy(), floats(5))
def triangular_solve(a, b):
    for i in range(5):
        b[i] -= a[i, :i] @ b[:i]
        b[i] /= a[i, i]
    return np.sum(b**2)


@program(SPD.copy(), floats(5))
def gaussian_elimination(a, b):
    n = len(b)
    for k in range(n - 1):
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x @ x


@program(floats(5), 4 + positive(6), floats(5), floats(6))
def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    for i in range(1, n):
        w = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[-1] /= diagonal[-1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / diagonal[i]
    return np.sum(rhs**2)


@program(floats(5, 3))
def gram_schmidt(a):
    q = np.zeros_like(a)
    r = np.zeros((3, 3))
    for k in range(3):
        r[k, k] = np.sqrt(np.sum(a[:, k] ** 2))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, 3):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(q**3) + np.sum(np.sin(r))


@program(floats(4, 3), floats(3, 5))
def matrix_product_loops(a, b):
    c = np.zeros((4, 5))
    for i in range(4):
        for k in range(3):
            c[i, :] += a[i, k] * b[k, :]
    return np.sum(c * c)


@program(floats(12, 10), floats(10, 11), 1.5, 0.5, floats(12, 11))
def gemm(a, b, alpha, beta, c):
    c[:] = alpha * a @ b + beta * c
    return np.sum(np.sin(c))


@program(floats(10, 12), floats(11, 10))
def transposed_products(a, b):
    return np.sum((a.T @ b.T) ** 2) + np.sum(a @ a.T)


@program(floats(2, 9, 10), floats(10, 12))
def batched_products(a, b):
    return np.sum(np.tanh(a @ b))


@program(floats(6, 6))
def power_iteration(a):
    v = np.ones(6)
    for _ in range(3):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


# Sequences.


@program(floats(6), 0.7)
def horner(c, x):
    total = 0.0
    for k in range(len(c) - 1, -1, -1):
        total = total * x + c[k]
    return total


@program(floats(4, 6))
def running_sums(x):
    return np.sum(np.cumsum(x, axis=1) ** 2) + np.sum(np.cumsum(x) * np.arange(24))


@program(positive(3, 5))
def running_products(x):
    return np.sum(np.cumprod(x, axis=0)) + np.sum(np.log(np.cumprod(x[0])))


@program(positive(7))
def taylor_of_log(x):
    power, total = 1.0, 0.0
    for i in range(1, 7):
        power = power * x[0]
        total += (-1) ** (i + 1) * power / i * x[i]
    return total


@program(floats(9))
def running_maximum(x):
    best = x[0]
    for v in x:
        best = np.maximum(best, v)
        x *= 0.9
    return best + np.sum(x)


@program(floats(8))
def fibonacci(x):
    a, b = x[0], x[1]
    for k in range(2, 8):
        a, b = b, a * b + x[k]
    return b


@program(floats(8), floats(3))
def convolution(x, kernel):
    y = np.zeros(6)
    for i in range(6):
        y[i] = np.sum(x[i : i + 3] * kernel)
    return np.sum(y**2)


@program(floats(9), floats(3))
def convolution_by_shifts(x, kernel):
    y = np.zeros(7)
    for k in range(3):
        y += kernel[k] * x[k : k + 7]
    return np.sum(np.exp(-y * y))


@program(floats(3, 4), 0.1 * floats(4, 4), 0.1 * floats(3, 4))
def recurrent_network(x, w, u):
    h = np.zeros(4)
    out = np.empty((3, 4))
    for t in range(3):
        h = np.tanh(w @ h + u[t] * x[t])
        out[t] = h
    return np.sum(out**2)


# Index arrays and masks.


@program(floats(6), np.array([0, 3, 3, 5]), floats(4))
def scatter_with_repeated_indices(x, index, values):
    x[index] = values * values
    return np.sum(x**2 * np.arange(1.0, 7.0))


@program(floats(6), np.array([0, 3, 3, 5]), floats(4))
def scatter_in_place(x, index, values):
    x[index] *= values
    return np.sum(x**2)


@program(floats(6), np.array([0, -3, 3, 5]), floats(4))
def add_at(x, index, values):
    np.add.at(x, index, values * x[index])
    return np.sum(x**3)


@program(floats(5, 3), np.array([[0, 4], [2, 2]]), floats(2, 2, 3))
def gather_rows(x, index, weights):
    return np.sum(x[index] * weights) + np.sum(np.take(x, index[0], axis=0) ** 2)


@program(floats(4, 5), np.array([0, 3, 1]), np.array([3, 2, 2]))
def gather_pairs(x, i, j):
    x[i, j] += x[j[::-1], i]
    return np.sum(x[i, 1:] ** 2) + np.sum(x[:, j] * x[i[:1], 0])


@program(floats(10), np.array([0, 0, 1, 2, 2, 2, 1, 0, 3, 3]))
def histogram(x, bins):
    sums = np.zeros(4)
    np.add.at(sums, bins, x)
    return np.sum(sums**2)


@program(floats(9))
def mask_writes(x):
    x[x < 0] *= -0.5
    x[x > 1] = 1.0
    return np.sum(x**2)


@program(floats(9))
def mask_by_where(x):
    return np.sum(np.where(x > 0, x**2, np.sin(x)))


@program(floats(3, 4), np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0]], bool))
def mask_argument(x, mask):
    y = np.zeros_like(x)
    y[mask] = x[mask] ** 2
    return np.sum(y * x)


@program(floats(7))
def sorted_by_argument(x):
    return np.sum(np.clip(x, -0.5, 0.8) * np.abs(x)) + np.max(x) * np.min(x)


# Views and aliases.


@program(floats(6))
def swap_of_views(x):
    a, b = x[:3], x[3:]
    t = a.copy()
    a[:] = b
    b[:] = t * 2
    return np.sum(a**2) + np.sum(b**3)


@program(floats(6))
def swap_elements(x):
    for i in range(3):
        x[i], x[5 - i] = x[5 - i], x[i] * 2
    return np.sum(x * np.arange(6.0))


@program(floats(4), floats(4))
def out_chain(x, y):
    t = np.empty(4)
    np.multiply(x, y, out=t)
    np.exp(t, out=t)
    np.add(t, x, out=t)
    np.sin(t, out=x)
    return np.sum(x * t)


@program(floats(7))
def reversed_in_place(x):
    x[::-1] = x * 2
    x[:] = x[::-1] ** 2
    return np.sum(x * np.arange(7.0))


@program(floats(7))
def shifted_up(x):
    x[1:] = x[:-1] * 2
    x[2:] += x[:-2]
    return np.sum(x**2 * np.arange(7.0))


@program(floats(7))
def shifted_down(x):
    x[:-1] = x[1:] * 2
    x[:-2] *= x[2:]
    return np.sum(x**2 * np.arange(7.0))


@program(floats(4, 6))
def views_of_views(x):
    a = x[1:, ::2]
    b = a.T[1:]
    c = b[::-1, 1]
    c *= a[0, 1:]
    b += 1.0
    d = x.reshape(2, 12)[1].reshape(3, 4)[:, ::-1]
    d[1] = d[0] * d[2]
    return np.sum(x**2)


@program(floats(5, 5))
def diagonals(x):
    np.einsum("ii->i", x)[:] *= 2.0
    x.T[0] += x.diagonal()
    return np.sum(x**2) + np.trace(x @ x)


@program(floats(4, 4))
def transpose_in_place(x):
    x += x.T
    x[:] = x.T @ x
    return np.sum(np.sin(x))


@program(floats(3, 4))
def broadcast_writes(x):
    y = np.empty((3, 4))
    y[...] = x[0]
    y[:, 1] = x[:, 2]
    y[1] = 2.0
    y[2, 1:3] += x[1:, 0]
    return np.sum(y * x)


@program(floats(4))
def empty_slices(x):
    y = np.zeros(3)
    y[3:] = x[4:]
    x[2:2] *= 2.0
    return np.sum(y) + np.sum(x[:0]) + np.sum(x**2)


@program(np.asfortranarray(floats(3, 4)), floats(8)[::2], floats(6)[::-1])
def other_layouts(a, b, c):
    a *= b
    b += c[1:5]
    return np.sum(a**2) + b @ c[:4]


@program(np.array(0.7), floats(2))
def zero_dimensional(a, x):
    a *= x[0]
    a[...] = np.sin(a)
    return a * x[1] + a


# Arguments and helpers.

Point = namedtuple("Point", "x y")


@dataclass
class Model:
    weights: np.ndarray
    bias: float
    name: str

    def predict(self, x):
        return x @ self.weights + self.bias


@program({"w": floats(3), "b": 0.5, "n": 2}, floats(3))
def dict_argument(params, x):
    total = params["b"]
    for _ in range(params["n"]):
        total = np.tanh(params["w"] @ x + total)
    return total


@program(Model(floats(3), 0.3, "linear"), floats(4, 3))
def dataclass_argument(model, x):
    return np.sum(model.predict(x) ** 2)


@program(Point(floats(3), 2.0), [floats(2), (floats(2), 0.1)])
def nested_arguments(point, tree):
    a, (b, scale) = tree
    a *= scale
    return np.sum(point.x) * point.y + a @ b + scale**3


@program(1.5, 2.5)
def float_arguments(a, b):
    return math.exp(-a * b) + math.sin(a) / b + max(a, b) ** 2


@program(floats(3), 2.0, floats(3))
def star_args(*args):
    x, scale, y = args
    return np.sum(x * y) * scale


@program(floats(5), 3, "tanh", True)
def static_arguments(x, n, name, flag):
    y = x
    for _ in range(n):
        y = np.tanh(y) if name == "tanh" else np.sin(y)
    return np.sum(y if flag else x)


@program(floats(6).astype(np.float32), floats(6).astype(np.float32), differences=False)
def single_precision(x, y):
    x *= y
    return np.sum(np.exp(x) * y)


@program(floats(4), floats(4).astype(np.float32), differences=False)
def mixed_precision(x, y):
    return np.sum(np.sin(x) * y) + np.sum(y * y)


@program(floats(4), np.arange(4))
def integer_data(x, n):
    return np.sum(x**n) + np.sum(x * n) + np.sum(n % 3 * x // 1)


@program(positive(9), positive(9))
def powers(x, y):
    return np.sum(x**y) + np.sum(x**2.5) + np.sum(2.0**y) + np.sum(x**-2) + np.sum((x - 1.2) ** 3)


@program(floats(3, 4), floats(4))
def many_functions(x, y):
    z = np.concatenate([x, y[None]], axis=0)
    z = np.stack([z, np.roll(z, 1, axis=0), np.flip(z, axis=1)])
    z = np.pad(z, ((0, 0), (1, 0), (0, 2)))
    z = np.repeat(np.tile(z, (1, 1, 2)), 2, axis=0)
    first, second = np.split(z, 2, axis=0)
    return np.sum(np.tensordot(first, second, axes=([1, 2], [1, 2])) ** 2) + np.std(z)


@program(floats(20), floats(20).astype(np.float32), differences=False)
def long_scalar_program(x, y):
    """Numbers of several dtypes cross the places where its one block is cut into functions."""
    flags = [y[i] > y[i - 1] for i in range(20)]
    total = 0.0
    for i in range(20):
        for j in range(20):
            total = total * 0.9 + np.where(flags[j], x[i] * x[j], y[i] * y[j] * x[j])
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name: str) -> None:
    f, args, options = PROGRAMS[name]
    check_gradient(f, *args, **options, every_call=False)


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(0, None, 3)))
def test_every_call(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    check_every_call(compiled(f, *args), f, args)
