"""Pivots, orders and nearest neighbours: places that data decide, in parts whose lengths are the loop's own."""

from __future__ import annotations

import numpy as np

from .program import definite, linear_program, matrix, points, program, system, vector


def back(A, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def swap_rows(v, i, j):
    if len(v.shape) == 1:
        v[i], v[j] = v[j], v[i]
    else:
        v[[i, j], :] = v[[j, i], :]


@program(system)
def gauss_fancy(A, b):
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    return np.sum(back(A, b) ** 2)


@program(system)
def gauss_int(A, b):
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n - 1):
        p = int(np.argmax(abs(A[k:, k]))) + k
        A[[k, p], :] = A[[p, k], :]
        b[[k, p]] = b[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
        b[k + 1 :] -= A[k + 1 :, k] * b[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return np.sum(x**2)


@program(matrix)
def lu_list(A):
    A = A.copy()
    n = len(A)
    piv = list(range(n))
    sign = 1
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        if p != k:
            A[[k, p]] = A[[p, k]]
            piv[k], piv[p] = piv[p], piv[k]
            sign = -sign
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    s = 0.0
    for k in range(n):
        s += (piv[k] + 1) * np.log(abs(A[k, k])) + A[k, 0]
    return s + sign * np.prod(np.diag(A))


@program(system)
def lu_arange_tuple(A, b):
    A = A.copy()
    n = len(A)
    perm = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            perm[k], perm[p] = perm[p], perm[k]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    y = b[perm]
    for i in range(n):
        y[i] -= A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        y[i] = (y[i] - A[i, i + 1 :] @ y[i + 1 :]) / A[i, i]
    return np.sum(y**2)


@program(system)
def lu_indirect(A, b):
    A = A.copy()
    n = len(A)
    p = np.arange(n)
    b = b.copy()
    for k in range(n - 1):
        q = k + np.argmax(np.abs(A[p[k:], k]))
        p[k], p[q] = p[q], p[k]
        for i in range(k + 1, n):
            f = A[p[i], k] / A[p[k], k]
            A[p[i], k:] -= f * A[p[k], k:]
            b[p[i]] -= f * b[p[k]]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[p[i]] - A[p[i], i + 1 :] @ x[i + 1 :]) / A[p[i], i]
    return np.sum(x**2)


@program(system)
def scaled_helper(A, b):  # Kiusalaas
    a = A.copy()
    b = b.copy()
    n = len(b)
    s = np.zeros(n)
    for i in range(n):
        s[i] = max(np.abs(a[i, :]))
    for k in range(0, n - 1):
        p = np.argmax(np.abs(a[k:n, k]) / s[k:n]) + k
        if p != k:
            swap_rows(b, k, p)
            swap_rows(s, k, p)
            swap_rows(a, k, p)
        for i in range(k + 1, n):
            if a[i, k] != 0.0:
                lam = a[i, k] / a[k, k]
                a[i, k + 1 : n] = a[i, k + 1 : n] - lam * a[k, k + 1 : n]
                b[i] = b[i] - lam * b[k]
    return np.sum(back(a, b) ** 2)


@program(vector)
def selection_sort(x):
    x = x.copy()
    n = len(x)
    for i in range(n):
        j = i + np.argmin(x[i:])
        x[i], x[j] = x[j], x[i]
    return x * np.arange(1.0, n + 1)


@program(vector)
def selection_sort_desc(x):
    x = x.copy()
    n = x.size
    for i in range(n - 1, 0, -1):
        j = np.argmax(x[: i + 1])
        x[i], x[j] = x[j], x[i]
    return x * np.arange(1.0, n + 1)


@program(points)
def tsp_ragged(X):
    X = X.copy()
    n = len(X)
    L = 0.0
    for i in range(n - 1):
        d = np.sqrt(np.sum((X[i + 1 :] - X[i]) ** 2, axis=1))
        j = i + 1 + np.argmin(d)
        L += d[j - i - 1]
        X[[i + 1, j]] = X[[j, i + 1]]
    return L


@program(points)
def tsp_min(X):
    X = X.copy()
    n = len(X)
    L = 0.0
    for i in range(n - 1):
        d = np.linalg.norm(X[i + 1 :] - X[i], axis=1)
        j = np.argmin(d)
        L += d[j]
        t = X[i + 1].copy()
        X[i + 1] = X[i + 1 + j]
        X[i + 1 + j] = t
    return L


@program(points)
def tsp_where(X):
    n = len(X)
    visited = np.zeros(n, dtype=bool)
    cur = 0
    visited[0] = True
    L = 0.0
    tour = [0]
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1) + 1e-12)
    for _ in range(n - 1):
        nxt = int(np.argmin(np.where(visited, np.inf, D[cur])))
        L += D[cur, nxt]
        visited[nxt] = True
        tour.append(nxt)
        cur = nxt
    for a, b in zip(tour, tour[1:]):
        L += 0.5 * X[a, 0] * X[b, 1]
    return L


@program(definite)
def chol_pivot(A):
    A = A.copy()
    n = len(A)
    L = np.zeros((n, n))
    piv = np.arange(n)
    for k in range(n):
        p = k + np.argmax(np.diag(A)[k:])
        if p != k:
            A[[k, p]] = A[[p, k]]
            A[:, [k, p]] = A[:, [p, k]]
            L[[k, p]] = L[[p, k]]
            piv[[k, p]] = piv[[p, k]]
        L[k, k] = np.sqrt(A[k, k])
        L[k + 1 :, k] = A[k + 1 :, k] / L[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(L[k + 1 :, k], L[k + 1 :, k])
    return np.sum(L * np.cos(piv))


@program(linear_program)
def simplex(A, b, c):
    m, n = A.shape
    T = np.zeros((m + 1, n + m + 1))
    T[:m, :n] = A
    T[:m, n : n + m] = np.eye(m)
    T[:m, -1] = b
    T[m, :n] = -c
    basis = list(range(n, n + m))
    for _ in range(20):
        j = np.argmin(T[-1, :-1])
        if T[-1, j] >= -1e-12:
            break
        col = T[:m, j]
        ratios = np.where(col > 1e-12, T[:m, -1] / np.where(col > 1e-12, col, 1.0), np.inf)
        i = np.argmin(ratios)
        basis[i] = j
        T[i] /= T[i, j]
        for r in range(m + 1):
            if r != i:
                T[r] -= T[r, j] * T[i]
    x = np.zeros(n + m)
    for i in range(m):
        x[basis[i]] = T[i, -1]
    return T[-1, -1] + np.sum(x[:n] ** 2)


@program(matrix)
def qr_pivot(A):
    A = A.copy()
    n = A.shape[1]
    perm = np.arange(n)
    R = np.zeros((n, n))
    Q = np.zeros_like(A)
    for k in range(n):
        norms = np.sum(A[:, k:] ** 2, axis=0)
        p = k + np.argmax(norms)
        A[:, [k, p]] = A[:, [p, k]]
        R[:, [k, p]] = R[:, [p, k]]
        perm[[k, p]] = perm[[p, k]]
        R[k, k] = np.linalg.norm(A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= R[k, j] * Q[:, k]
    return R


@program(matrix)
def complete_pivot(A):
    A = A.copy()
    n = len(A)
    s = 0.0
    for k in range(n):
        sub = np.abs(A[k:, k:])
        i, j = np.unravel_index(np.argmax(sub), sub.shape)
        i += k
        j += k
        A[[k, i]] = A[[i, k]]
        A[:, [k, j]] = A[:, [j, k]]
        for r in range(k + 1, n):
            A[r, k:] -= A[r, k] / A[k, k] * A[k, k:]
        s += (k + 1) * np.log(np.abs(A[k, k]))
    return s
