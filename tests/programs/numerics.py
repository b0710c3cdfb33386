"""Optimisation, statistics, time stepping and linear algebra as people write them."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

import planned_ad

from .registry import RANDOM, floats, positive, program

# Programs on which another tool is wrong or gives up.


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
