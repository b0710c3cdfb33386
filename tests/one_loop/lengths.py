"""Keys, functions and joins of arrays whose lengths loops move."""

from __future__ import annotations

import numpy as np

from .program import cube, matrix, matrix_and_order, program, vector


@program(matrix_and_order)
def row_at(A, q):
    s = 0.0
    for i in range(len(A)):
        s += np.sum(np.cos(A[q[i], i:])) + np.sum(A[i:, q[i]] ** 2) * (i + 1) + A[q[i], : i + 1] @ A[: i + 1, q[i]]
    return s


@program(matrix_and_order)
def put_row(A, q):
    A = A.copy()
    for i in range(len(A)):
        A[q[i], i:] = A[i, i:] * 0.5
        A[i:, q[i]] *= 1.5
        A[q[i], : i + 1] += A[: i + 1, i] ** 2
    return A


@program(matrix_and_order)
def swap_part(A, q):
    A = A.copy()
    n = len(A)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        A[[k, p], k:] = A[[p, k], k:]
        A[k:, [k, q[k]]] *= 2.0
    return A


@program(matrix_and_order)
def by_order(A, q):
    s = 0.0
    for i in range(len(A)):
        s += np.sum(np.sin(A[q[i:], i])) * (i + 1) + np.sum(A[i][q[: i + 1]] * np.arange(i + 1))
        s += np.sum(A[q[i:]] ** 2 * (i + 1)) + np.sum(A[i:, q] ** 2 * q)
    return s


@program(matrix_and_order)
def put_order(A, q):
    A = A.copy()
    for i in range(len(A)):
        A[q[i:], i] = A[i, i:] * 2
        A[i, q[: i + 1]] += 1.0
    return A


@program(vector)
def argsorts(x):
    s = 0.0
    for i in range(1, len(x)):
        o = np.argsort(x[:i])
        y = x[:i][o]
        s += np.sum(y * np.arange(i)) + np.sum(np.sort(-x[:i]) * x[:i])
        s += x[o[0]] * x[o[-1]] + x[:i][o[0]]
    return s


@program(vector)
def negative_at(x):
    s = 0.0
    n = len(x)
    for i in range(n - 1):
        j = np.argmin(x[i:]) - 1
        s += x[i:][j] * (i + 1)
    return s


@program(vector)
def cums(x):
    s = 0.0
    n = len(x)
    for i in range(1, n):
        s += np.sum(np.cumsum(x[:i]) * x[n - i :]) + np.prod(x[i:]) + np.cumprod(x[:i])[-1]
        s += np.ptp(x[:i]) + np.count_nonzero(x[i:] > 0) * x[i]
    return s


@program(vector)
def quant(x):
    s = 0.0
    n = len(x)
    for i in range(1, n):
        s += np.median(x[:i]) * i + np.quantile(x[i:], 0.3) + np.percentile(x[:i], 70)
    return s


@program(vector)
def masks(x):
    s = 0.0
    n = len(x)
    for i in range(1, n):
        p = x[:i]
        s += np.sum(p[p > 0] ** 2) * i + p[p > -5.0].mean()
        y = p.copy()
        y[y < 0] = 0.0
        s += np.sum(y * np.arange(i))
    return s


@program(vector)
def mask_put(x):
    x = x.copy()
    n = len(x)
    for i in range(1, n):
        p = x[i:]
        p[p > 0.5] = 0.25 * x[0]
        p[p < -0.5] *= 2.0
        x[:i] += 0.1
    return x


@program(matrix)
def norms(A):
    n = len(A)
    s = 0.0
    for i in range(n - 1):
        d = np.linalg.norm(A[i + 1 :] - A[i], axis=1)
        s += np.min(d) * (i + 1) + d[0] + d[-1] + np.sum(np.linalg.norm(A[:, i:], axis=0))
        s += np.sum(A[i:] / np.sum(A[i:] ** 2, axis=1, keepdims=True))
        s += np.sum(A[i:] - A[i:].mean(axis=0))
    return s


@program(matrix)
def argmax2d(A):
    n = len(A)
    s = 0.0
    for k in range(n):
        f = np.argmax(np.abs(A[k:, k:]))
        i, j = k + f // (n - k), k + f % (n - k)
        s += A[i, j] * (k + 1)
        rows = np.argmax(A[k:], axis=1)
        cols = np.argmin(A[k:], axis=0)
        s += np.sum(rows * A[k:, k]) + np.sum(cols * A[k])
        s += A[k:].max(axis=1).sum()
    return s


@program(vector)
def maybe_empty(x):
    n = len(x)
    s = 0.0
    for k in range(n):
        if k + 1 < n:
            j = k + 1 + np.argmin(x[k + 1 :])
            s += x[j] * x[k]
    return s


@program(vector)
def leave_out(x):
    n = len(x)
    s = 0.0
    for k in range(n):
        y = np.concatenate((x[:k], x[k + 1 :]))
        s += y.std() * x[k] + np.median(y)
        s += np.sum(np.delete(x, k) ** 3)
    return s


@program(vector)
def arange_in(x):
    n = len(x)
    s = 0.0
    for k in range(n):
        i = np.arange(k, n)
        j = np.arange(k + 1)
        s += np.sum(x[i] * i) + np.sum(x[k - j] * x[j]) + np.sum(np.arange(n - k) * x[k:])
    return s


@program(cube)
def advanced_sep(A, idx):
    s = 0.0
    w = np.arange(20.0)
    for i in range(len(A)):
        B = A[i, :, idx]
        s += np.sum(B.ravel() * w[: B.size]) * (i + 1)
        C = A[i:, 1, idx]
        D = A[i:, :, idx]
        E = A[: i + 1, idx[0] % 3, :]
        F = A[idx[0], :, : i + 1]
        s += np.sum(C * (i + 1) * np.arange(2)) + np.sum(D[0] * w[:2]) + np.sum(E[:, 1]) + F.sum()
        G = A[1, :, idx]
        s += np.sum(G[1] * w[:3])
    return s


@program(cube)
def advanced_sep_put(A, idx):
    A = A.copy()
    for i in range(len(A)):
        A[i, :, idx] = np.arange(6.0).reshape(2, 3) * A[0, 0, 0]
        A[i, 1, idx] += A[i, 1, 0]
    return A


@program(vector)
def unravel(x):
    n = len(x)
    D = (x[:, None] - x[None, :]) ** 2 + np.eye(n) * 9
    s = 0.0
    for _ in range(3):
        i, j = np.unravel_index(np.argmin(D), D.shape)
        s += D[i, j] * x[i]
        D[i, :] = 9.0
        D[:, i] = 9.0
    i, j = divmod(np.argmin(D), n)
    return s + x[int(i)] * x[int(j)]


@program(vector)
def argmax_if(x):
    s = 0.0
    n = len(x)
    for k in range(1, n):
        i = np.argmax(x[:k])
        if i == k - 1:
            s += x[k]
        elif x[i] > 0 and i != 0:
            s -= x[i] ** 2
        s += np.sum(x[i:k]) + np.sum(x[i:]) * 0.5
    return s


@program(vector)
def options_by_a_tree(x):
    n, up, down = 12, np.exp(0.1 * abs(x[0])), np.exp(-0.1 * abs(x[0]))
    values = np.maximum(1.0 + x[1] - up ** np.arange(n, -n - 1, -2.0), 0.0)
    for i in range(n - 1, -1, -1):
        prices = up ** np.arange(i, -i - 1, -2.0)
        values = np.maximum(0.99 * (0.5 * values[:-1] + 0.5 * values[1:]), 1.0 + x[1] - prices * down)
    return values[0]


@program(vector)
def steps_of_ranges(x):
    s = 0.0
    for i in range(3, 15):
        down, halves, evens = np.arange(i, -i, -1), np.arange(0, i, 0.5), np.arange(2 * i, 0, -2, dtype=float)
        tenths = np.arange(i * 2, i * 2 + 6, 0.1)
        s = s * 0.5 + np.sum(np.sin(down * x[0])) + halves @ halves * x[1] + evens.mean() * x[2] + tenths[-1] * x[3]
    return s
