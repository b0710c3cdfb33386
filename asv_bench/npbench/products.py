"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from .kernel import Kernel

ALPHA, BETA = 1.5, 1.2


def gemm(C, A, B):
    C[:] = ALPHA * A @ B + BETA * C
    return C


def k2mm(A, B, C, D):
    D[:] = ALPHA * A @ B @ C + BETA * D
    return D


def k3mm(A, B, C, D):
    return A @ B @ C @ D


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A
    return x1, x2


def gesummv(A, B, x):
    return ALPHA * A @ x + BETA * B @ x


def gemver(A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += BETA * y @ A + z
    w += ALPHA * A @ x
    return A, x, w


def doitgen(A, C4):
    NR, NQ, NP = A.shape
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))
    return A


def spmv(rows, columns, values, x):
    """A sparse matrix, row by row."""
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        here = columns[rows[i] : rows[i + 1]]
        y[i] = values[rows[i] : rows[i + 1]] @ x[here]
    return y


def sparse_rows(r, n, each):
    """`each` numbers in a row, on the average."""
    counts = np.full(n, each)
    counts[::2] += 1
    counts[1::2] -= 1
    rows = np.concatenate([[0], np.cumsum(counts)])
    columns = (r(rows[-1]) * n).astype(np.int64)
    return rows, columns, r(rows[-1]), r(n)


def square_and(r, n, count):
    return (r(n, n), *(r(n) for _ in range(count)))


KERNELS = {
    "gemm": Kernel(
        function=gemm,
        arguments=lambda r, i, j, k: (r(i, j), r(i, k), r(k, j)),
        tiny=(3, 4, 5),
        S=(200, 220, 240),
        M=(1000, 1100, 1200),
        writes=(0,),
    ),
    "k2mm": Kernel(
        function=k2mm,
        arguments=lambda r, i, j, k, m: (r(i, k), r(k, j), r(j, m), r(i, m)),
        tiny=(3, 4, 5, 6),
        S=(160, 170, 180, 190),
        M=(800, 850, 900, 950),
        writes=(3,),
    ),
    "k3mm": Kernel(
        function=k3mm,
        arguments=lambda r, i, j, k, m, n: (r(i, k), r(k, j), r(j, m), r(m, n)),
        tiny=(3, 4, 5, 6, 7),
        S=(160, 170, 180, 190, 200),
        M=(800, 850, 900, 950, 1000),
    ),
    "atax": Kernel(
        function=atax,
        arguments=lambda r, m, n: (r(m, n), r(n)),
        tiny=(4, 5),
        S=(1000, 1250),
        M=(4000, 5000),
    ),
    "bicg": Kernel(
        function=bicg,
        arguments=lambda r, m, n: (r(m, n), r(n), r(m)),
        tiny=(4, 5),
        S=(1000, 1250),
        M=(4000, 5000),
    ),
    "mvt": Kernel(
        function=mvt,
        arguments=lambda r, n: (r(n), r(n), r(n), r(n), r(n, n)),
        tiny=(5,),
        S=(1400,),
        M=(5500,),
        writes=(0, 1),
    ),
    "gesummv": Kernel(
        function=gesummv,
        arguments=lambda r, n: (r(n, n), r(n, n), r(n)),
        tiny=(5,),
        S=(1000,),
        M=(4000,),
    ),
    "gemver": Kernel(
        function=gemver,
        arguments=lambda r, n: square_and(r, n, 8),
        tiny=(5,),
        S=(1000,),
        M=(3000,),
        writes=(0, 5, 6),
    ),
    "doitgen": Kernel(
        function=doitgen,
        arguments=lambda r, nr, nq, np_: (r(nr, nq, np_), r(np_, np_)),
        tiny=(3, 4, 5),
        S=(60, 60, 128),
        M=(110, 125, 256),
        writes=(0,),
    ),
    "spmv": Kernel(
        function=spmv,
        arguments=sparse_rows,
        tiny=(6, 3),
        S=(4096, 8),
        M=(32768, 16),
    ),
}
