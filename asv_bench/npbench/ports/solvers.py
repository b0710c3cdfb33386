"""Factorisations are those of the library (LAPACK)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def cholesky(A):
    """The loops read the lower triangle, and leave the upper one."""
    factor = jnp.linalg.cholesky(jnp.tril(A) + jnp.tril(A, -1).T, symmetrize_input=False)
    return jnp.tril(factor) + jnp.triu(A, 1)


def lu(A):
    """With rows in the order that they have, since the matrix is diagonally dominant."""
    return jax.lax.linalg.lu(A)[0]


def ludcmp(A, b):
    factors = lu(A)
    y = solve_triangular(factors, b, lower=True, unit_diagonal=True)
    return solve_triangular(factors, y), y


def trisolv(L, x, b):
    return solve_triangular(L, b, lower=True)


def durbin(r):
    """Vectors of full length; what is reversed is a window of a longer one."""
    n = r.size
    zeros = jnp.zeros_like(r)
    padded = jnp.concatenate([r[::-1], zeros])

    def reversed_part(longer, k):
        return jax.lax.dynamic_slice(longer, (n - k,), (n,))

    def step(state, k):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + reversed_part(padded, k) @ y) / beta
        y = (y + alpha * reversed_part(jnp.concatenate([y[::-1], zeros]), k)).at[k].set(alpha)
        return (y, alpha, beta), None

    start = (zeros.at[0].set(-r[0]), -r[0], jnp.ones(()))
    return jax.lax.scan(step, start, jnp.arange(1, n))[0][0]


def gramschmidt(A):
    """Householder's factors, with the signs of Gram and Schmidt's."""
    Q, R = jnp.linalg.qr(A)
    signs = jnp.sign(jnp.diag(R))
    return Q * signs, R * signs[:, None]
