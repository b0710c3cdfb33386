"""Factorisations, triangular systems, orthogonal columns, and a Toeplitz system."""

from __future__ import annotations

import numpy as np

from .kernel import Kernel


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return A


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def ludcmp(A, b):
    n = A.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    lu(A)
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


def trisolv(L, x, b):
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


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
    return y


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def positive_definite(r, n):
    b = r(n, n)
    return (b @ b.T / n + np.eye(n),)


def dominant(r, n):
    """Its factors need no other order of rows."""
    return r(n, n) + n * np.eye(n)


KERNELS = {
    "cholesky": Kernel(function=cholesky, arguments=positive_definite, tiny=(5,), S=(100,), M=(300,), writes=(0,)),
    "lu": Kernel(function=lu, arguments=lambda r, n: (dominant(r, n),), tiny=(5,), S=(60,), M=(220,), writes=(0,)),
    "ludcmp": Kernel(
        function=ludcmp,
        arguments=lambda r, n: (dominant(r, n), r(n)),
        tiny=(5,),
        S=(60,),
        M=(220,),
        writes=(0,),
    ),
    "trisolv": Kernel(
        function=trisolv,
        arguments=lambda r, n: (dominant(r, n), r(n), r(n)),
        tiny=(5,),
        S=(500,),
        M=(2000,),
        writes=(1,),
    ),
    "durbin": Kernel(
        function=durbin,
        arguments=lambda r, n: (r(n) / np.arange(2, n + 2) ** 2,),
        tiny=(6,),
        S=(1000,),
        M=(3000,),
    ),
    "gramschmidt": Kernel(
        function=gramschmidt,
        arguments=lambda r, m, n: (r(m, n) + np.eye(m, n),),
        tiny=(6, 4),
        S=(70, 60),
        M=(220, 180),
        writes=(0,),
    ),
}
