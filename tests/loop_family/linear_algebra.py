"""Linear algebra by hand: factorisations, solves and products, with triangular bounds and symbolic extents."""

from __future__ import annotations

import numpy as np

from .program import Collection

LINEAR_ALGEBRA = Collection()
program = LINEAR_ALGEBRA.add


def nothing(n: int) -> int:
    """Every operand that the derivative reads has its final value in place."""
    return 0


@program(lambda n, d: (d.definite(n),), 6, 24, "triangular", cached=nothing, peer="jax: masked dynamic slices")
def cholesky(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.sum(np.log(np.diag(a)))


@program(lambda n, d: (d.definite(n),), 6, 22, "triangular")
def cholesky_scalars(a):
    n = len(a)
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(a[i, i] - total)
            else:
                factor[i, j] = (a[i, j] - total) / factor[j, j]
    return np.sum(factor**2 * np.arange(n))


@program(lambda n, d: (d.dominant(n),), 6, 24, "triangular", cached=nothing)
def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.log(np.abs(np.diagonal(a))))


@program(lambda n, d: (d.dominant(n), d.normal(n)), 6, 22, "triangular")
def ludcmp(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x @ x


@program(lambda n, d: (d.dominant(n),), 7, 24, "triangular")
def lu_right_looking(a):
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diag(a)))) + np.sum(np.triu(a))


@program(lambda n, d: (d.triangular(n), np.zeros(n, d.dtype), d.normal(n)), 7, 40, "triangular", cached=nothing)
def trisolv(factor, x, b):
    for i in range(factor.shape[0]):
        x[i] = (b[i] - factor[i, :i] @ x[:i]) / factor[i, i]
    return x @ x


@program(lambda n, d: (d.triangular(n), d.normal(n)), 7, 30, "triangular")
def triangular_solve_scalars(factor, b):
    for i in range(len(b)):
        for j in range(i):
            b[i] -= factor[i, j] * b[j]
        b[i] /= factor[i, i]
    return np.sum(b**2)


@program(lambda n, d: (d.triangular(n), d.normal(n)), 7, 30, "triangular")
def triangular_solve_columns(factor, b):
    for j in range(len(b)):
        b[j] = b[j] / factor[j, j]
        b[j + 1 :] -= b[j] * factor[j + 1 :, j]
    return np.sum(b**2)


@program(lambda n, d: (d.triangular(n), d.normal(n)), 7, 30, "triangular")
def transposed_solve_reversed(factor, b):
    n = len(b)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            b[i] -= factor[j, i] * b[j]
        b[i] /= factor[i, i]
    return np.sum(b**2)


@program(lambda n, d: (d.normal(n + 3, n) + np.eye(n + 3, n, dtype=d.dtype) * 2,), 6, 22, "triangular")
def gram_schmidt(a):
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]), dtype=a.dtype)
    for k in range(a.shape[1]):
        norm = np.dot(a[:, k], a[:, k])
        r[k, k] = np.sqrt(norm)
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(q**3) + np.sum(r * r)


@program(lambda n, d: (0.2 * d.normal(n),), 7, 40, "triangular carried")
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * np.arange(1, len(y) + 1))


@program(lambda n, d: (1.5, d.normal(n, n), d.normal(n, n + 2)), 6, 21, "triangular")
def trmm(alpha, a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return np.sum(b * b)


@program(lambda n, d: (1.5, 1.2, d.normal(n, n), d.normal(n, n - 1)), 6, 22, "triangular")
def syrk(alpha, beta, c, a):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


@program(lambda n, d: (1.5, 1.2, d.normal(n, n), d.normal(n, n - 1), d.normal(n, n - 1)), 6, 22, "triangular")
def syr2k(alpha, beta, c, a, b):
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return np.sum(c * c)


@program(lambda n, d: (1.5, 1.2, d.normal(n, n + 1), d.normal(n, n), d.normal(n, n + 1)), 6, 21, "triangular")
def symm(alpha, beta, c, a, b):
    temp2 = np.empty((c.shape[1],), dtype=c.dtype)
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            temp2[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * temp2
    return np.sum(c * c)


@program(lambda n, d: (d.normal(n - 1), 3 + d.positive(n), d.normal(n - 1), d.normal(n)), 7, 40, "")
def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    for i in range(1, n):
        w = lower[i - 1] / diagonal[i - 1]
        diagonal[i] -= w * upper[i - 1]
        rhs[i] -= w * rhs[i - 1]
    rhs[n - 1] /= diagonal[n - 1]
    for i in range(n - 2, -1, -1):
        rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / diagonal[i]
    return np.sum(rhs**2)


@program(lambda n, d: (d.positive(n, n),), 5, 20, "", step=1e-5)
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return np.sum(path * path)


@program(lambda n, d: (d.positive(n, n) + 0.5 * d.positive(n, n),), 5, 20, "branch", step=1e-5)
def floyd_warshall_scalars(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return np.sum(path * np.arange(n))


@program(lambda n, d: (d.normal(n + 2, n),), 6, 20, "triangular")
def covariance(data):
    m = data.shape[1]
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:m, i] = data[:, i] @ data[:, i:m] / (data.shape[0] - 1.0)
        cov[i, i:m] = cov[i:m, i]
    return np.sum(cov**2 * np.arange(m))


@program(lambda n, d: (d.normal(n + 2, n),), 6, 20, "triangular")
def correlation(data):
    m = data.shape[1]
    data -= np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    data /= np.sqrt(data.shape[0]) * stddev
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1 : m, i] = corr[i, i + 1 : m] = data[:, i] @ data[:, i + 1 : m]
    return np.sum(corr**2 * np.arange(m))


@program(lambda n, d: (d.normal(n, n - 1, n + 1), d.normal(n + 1, n + 1)), 6, 20)
def doitgen(a, c4):
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            total = np.zeros(a.shape[2], a.dtype)
            for s in range(a.shape[2]):
                total += a[r, q, s] * c4[s]
            a[r, q, :] = total
    return np.sum(a * a)


@program(lambda n, d: (d.normal(n), d.normal(n), d.normal(n), d.normal(n), d.normal(n, n)), 6, 24, "linear")
def mvt(x1, x2, y1, y2, a):
    n = len(x1)
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + a[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] = x2[i] + a[j, i] * y2[j]
    return x1 @ x1 + x2 @ x2


@program(
    lambda n, d: (1.5, 1.2, d.normal(n, n) / n, *(d.normal(n) for _ in range(6))),
    6,
    20,
)
def gemver(alpha, beta, a, u1, v1, u2, v2, y, z):
    n = len(u1)
    x, w = np.zeros_like(y), np.zeros_like(y)
    for i in range(n):
        for j in range(n):
            a[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] += beta * a[j, i] * y[j]
    for i in range(n):
        x[i] += z[i]
    for i in range(n):
        for j in range(n):
            w[i] += alpha * a[i, j] * x[j]
    return w @ w


@program(lambda n, d: (d.normal(n, n + 2), d.normal(n + 2)), 6, 24)
def atax(a, x):
    y = np.zeros_like(x)
    for i in range(a.shape[0]):
        tmp = 0.0
        for j in range(a.shape[1]):
            tmp += a[i, j] * x[j]
        for j in range(a.shape[1]):
            y[j] += a[i, j] * tmp
    return np.sum(y * y)


@program(lambda n, d: (d.normal(n, n + 2), d.normal(n + 2), d.normal(n)), 6, 24)
def bicg(a, p, r):
    s, q = np.zeros_like(p), np.zeros_like(r)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s[j] += r[i] * a[i, j]
            q[i] += a[i, j] * p[j]
    return s @ s + q @ q


@program(lambda n, d: (1.5, 0.5, d.normal(n, n), d.normal(n, n), d.normal(n)), 6, 24)
def gesummv(alpha, beta, a, b, x):
    n = len(x)
    y = np.empty(n)
    for i in range(n):
        tmp = y_i = 0.0
        for j in range(n):
            tmp = a[i, j] * x[j] + tmp
            y_i = b[i, j] * x[j] + y_i
        y[i] = alpha * tmp + beta * y_i
    return np.sum(y**2)


@program(lambda n, d: (1.5, 1.2, d.normal(n, n), d.normal(n, n - 1), d.normal(n - 1, n), d.normal(n, n)), 6, 20)
def two_products(alpha, beta, a, b, c, d):
    tmp = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                tmp[i, j] += alpha * a[i, k] * b[k, j]
    for i in range(d.shape[0]):
        d[i] *= beta
        for j in range(tmp.shape[1]):
            d[i] += tmp[i, j] * c[j]
    return np.sum(d * d)


@program(lambda n, d: (d.normal(n, n - 1), d.normal(n - 1, n), np.zeros((n, n), d.dtype)), 6, 24, cached=nothing)
def gemm_with_a_scalar_sum(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return np.sum(c * c)


@program(lambda n, d: (d.normal(n, n),), 6, 24)
def power_iteration(a):
    v = np.ones(len(a), a.dtype)
    for _ in range(len(a)):
        v = a @ v
        v = v / np.sqrt(v @ v)
    return v @ a @ v


@program(
    lambda n, d: (d.definite(n) + np.diag(np.arange(n)).astype(d.dtype), d.normal(n), 2 * n // 3 + 1), 6, 30, "carried"
)
def conjugate_gradient(a, b, steps):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    for _ in range(steps):
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        rr_new = r @ r
        p = r + (rr_new / rr) * p
        rr = rr_new
    return x @ b


@program(lambda n, d: (d.dominant(n), d.normal(n), n), 6, 24)
def jacobi_method(a, b, steps):
    x = np.zeros_like(b)
    diagonal = np.diag(a)
    rest = a - np.diag(diagonal)
    for _ in range(steps):
        x = (b - rest @ x) / diagonal
    return np.sum(x**2)


@program(lambda n, d: (d.definite(n),), 6, 21, "triangular")
def ldl(a):
    n = len(a)
    diagonal = np.zeros(n, a.dtype)
    for j in range(n):
        diagonal[j] = a[j, j] - np.sum(a[j, :j] ** 2 * diagonal[:j])
        for i in range(j + 1, n):
            a[i, j] = (a[i, j] - np.sum(a[i, :j] * a[j, :j] * diagonal[:j])) / diagonal[j]
    return np.sum(np.log(diagonal)) + np.sum(np.tril(a, -1) ** 2)


@program(lambda n, d: (d.dominant(n),), 6, 21, "branch triangular", step=1e-5)
def determinant_with_pivoting(a):
    n = len(a)
    det = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[k, k]):
                for j in range(n):
                    a[k, j], a[i, j] = a[i, j], a[k, j]
                det = -det
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
        det *= 0.5 * a[k, k]
    return det


@program(lambda n, d: (d.normal(n + 2, n) + np.eye(n + 2, n, dtype=d.dtype),), 6, 20, "triangular")
def householder(a):
    n = a.shape[1]
    for k in range(n):
        v = a[k:, k].copy()
        v[0] += np.sqrt(np.sum(v * v))
        v /= np.sqrt(np.sum(v * v))
        for j in range(k, n):
            a[k:, j] -= 2.0 * (v @ a[k:, j]) * v
    return np.sum(a[:n] ** 2 * np.arange(n))


@program(lambda n, d: (d.dominant(n),), 6, 20, "unrolled")
def gauss_jordan_inverse(a):
    n = len(a)
    inverse = np.eye(n, dtype=a.dtype)
    for k in range(n):
        pivot = a[k, k]
        inverse[k] = inverse[k] / pivot
        a[k] = a[k] / pivot
        for i in range(n):
            if i != k:
                factor = a[i, k]
                a[i] -= factor * a[k]
                inverse[i] -= factor * inverse[k]
    return np.sum(inverse**2)


@program(lambda n, d: (d.normal(n), d.normal(2 * n - 1)), 7, 24, "linear")
def toeplitz_product(x, t):
    n = len(x)
    y = np.zeros_like(x)
    for i in range(n):
        for j in range(n):
            y[i] += t[i - j + n - 1] * x[j]
    return y @ y


@program(lambda n, d: (d.normal(n, 5), d.normal(n)), 8, 40, "unrolled")
def banded_product(bands, x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        for j in range(max(0, i - 2), min(n, i + 3)):
            y[i] += bands[i, j - i + 2] * x[j]
    return np.sum(np.sin(y))


@program(lambda n, d: (d.normal(n, n),), 6, 20, "triangular linear", cached=nothing)
def transpose_in_place(a):
    n = len(a)
    for i in range(n):
        for j in range(i + 1, n):
            a[i, j], a[j, i] = a[j, i], a[i, j]
    return np.sum(a * np.arange(n))


@program(lambda n, d: (d.positive(n, n), d.positive(n, n), 3), 6, 20, "")
def sinkhorn(cost, mass, rounds):
    kernel = np.exp(-cost)
    u = np.ones(len(cost), cost.dtype)
    v = np.ones(len(cost), cost.dtype)
    for _ in range(2 * rounds):
        u = mass[0] / (kernel @ v)
        v = mass[1] / (kernel.T @ u)
    return np.sum(u[:, None] * kernel * v[None, :] * cost)
