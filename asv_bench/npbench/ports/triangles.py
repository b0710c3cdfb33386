"""Loops of growing rows are products of whole matrices, masked."""

from __future__ import annotations

import jax.numpy as jnp

from ..products import ALPHA, BETA


def syrk(C, A):
    return jnp.triu(C, 1) + jnp.tril(BETA * C + ALPHA * (A @ A.T))


def syr2k(C, A, B):
    product = A @ B.T
    return jnp.triu(C, 1) + jnp.tril(BETA * C + ALPHA * (product + product.T))


def trmm(A, B):
    return ALPHA * (B + jnp.tril(A, -1).T @ B)


def symm(C, A, B):
    symmetric = jnp.tril(A) + jnp.tril(A, -1).T
    return BETA * C + ALPHA * (symmetric @ B)


def covariance(data):
    data = data - jnp.mean(data, axis=0)
    return data.T @ data / (data.shape[0] - 1.0)


def correlation(data):
    stddev = jnp.std(data, axis=0)
    stddev = jnp.where(stddev <= 0.1, 1.0, stddev)
    data = (data - jnp.mean(data, axis=0)) / (jnp.sqrt(data.shape[0]) * stddev)
    return jnp.where(jnp.eye(data.shape[1], dtype=bool), 1.0, data.T @ data)
