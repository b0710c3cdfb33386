"""Triangular and symmetric products, and the matrices of statistics."""

from __future__ import annotations

import numpy as np

from .kernel import Kernel
from .products import ALPHA, BETA


def syrk(C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= BETA
        for k in range(A.shape[1]):
            C[i, : i + 1] += ALPHA * A[i, k] * A[: i + 1, k]
    return C


def syr2k(C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= BETA
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * ALPHA * B[i, k] + B[: i + 1, k] * ALPHA * A[i, k]
    return C


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= ALPHA
    return B


def symm(C, A, B):
    C *= BETA
    row = np.empty((C.shape[1],), dtype=C.dtype)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += ALPHA * B[i, j] * A[i, :i]
            row[j] = B[:i, j] @ A[i, :i]
        C[i, :] += ALPHA * B[i, :] * A[i, i] + ALPHA * row
    return C


def covariance(data):
    N, M = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i, i:M] = data[:, i] @ data[:, i:M] / (N - 1.0)
        cov[i:M, i] = cov[i, i:M]
    return cov


def correlation(data):
    N, M = data.shape
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(N) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
        corr[i + 1 : M, i] = corr[i, i + 1 : M]
    return corr


KERNELS = {
    "syrk": Kernel(
        function=syrk,
        arguments=lambda r, m, n: (r(n, n), r(n, m)),
        tiny=(4, 5),
        S=(50, 70),
        M=(150, 200),
        writes=(0,),
    ),
    "syr2k": Kernel(
        function=syr2k,
        arguments=lambda r, m, n: (r(n, n), r(n, m), r(n, m)),
        tiny=(4, 5),
        S=(35, 50),
        M=(110, 140),
        writes=(0,),
    ),
    "trmm": Kernel(
        function=trmm,
        arguments=lambda r, m, n: (r(m, m), r(m, n)),
        tiny=(4, 5),
        S=(65, 80),
        M=(200, 250),
        writes=(1,),
    ),
    "symm": Kernel(
        function=symm,
        arguments=lambda r, m, n: (r(m, n), r(m, m), r(m, n)),
        tiny=(4, 5),
        S=(40, 50),
        M=(120, 150),
        writes=(0,),
    ),
    "covariance": Kernel(
        function=covariance,
        arguments=lambda r, m, n: (r(n, m),),
        tiny=(4, 6),
        S=(100, 120),
        M=(500, 600),
        writes=(0,),
    ),
    "correlation": Kernel(
        function=correlation,
        arguments=lambda r, m, n: (r(n, m),),
        tiny=(4, 6),
        S=(100, 120),
        M=(500, 600),
        writes=(0,),
    ),
}
