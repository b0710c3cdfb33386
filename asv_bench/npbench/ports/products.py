from __future__ import annotations

import jax
import jax.numpy as jnp

from ..products import ALPHA, BETA


def gemm(C, A, B):
    return ALPHA * A @ B + BETA * C


def k2mm(A, B, C, D):
    return ALPHA * A @ B @ C + BETA * D


def k3mm(A, B, C, D):
    return A @ B @ C @ D


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y_1, y_2, A):
    return x1 + A @ y_1, x2 + y_2 @ A


def gesummv(A, B, x):
    return ALPHA * (A @ x) + BETA * (B @ x)


def gemver(A, u1, v1, u2, v2, w, x, y, z):
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + BETA * (y @ A) + z
    return A, x, w + ALPHA * (A @ x)


def doitgen(A, C4):
    return A @ C4


def spmv(rows, columns, values, x):
    which = jnp.searchsorted(rows, jnp.arange(values.size), side="right") - 1
    return jax.ops.segment_sum(values * x[columns], which, rows.size - 1, indices_are_sorted=True)
