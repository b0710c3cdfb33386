"""Time is a scan over whole arrays; recurrences along an axis are scans over whole rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..stencils import adi_coefficients, deriche_coefficients


def repeated(step, state, count):
    return jax.lax.scan(lambda s, _: (step(*s), None), state, None, length=count)[0]


def jacobi_1d(A, B, *, steps):
    def step(A, B):
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        return A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:])), B

    return repeated(step, (A, B), steps - 1)


def jacobi_2d(A, B, *, steps):
    def mean(A):
        return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])

    def step(A, B):
        B = B.at[1:-1, 1:-1].set(mean(A))
        return A.at[1:-1, 1:-1].set(mean(B)), B

    return repeated(step, (A, B), steps - 1)


def heat_3d(A, B, *, steps):
    def later(A):
        middle = A[1:-1, 1:-1, 1:-1]
        return (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * middle + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * middle + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * middle + A[1:-1, 1:-1, :-2])
            + middle
        )

    def step(A, B):
        B = B.at[1:-1, 1:-1, 1:-1].set(later(A))
        return A.at[1:-1, 1:-1, 1:-1].set(later(B)), B

    return repeated(step, (A, B), steps - 1)


def seidel_2d(A, *, steps):
    """A row solves a bidiagonal system, whose inverse is the same for all: a scan over rows of products with it."""
    inside = A.shape[0] - 2
    gaps = np.subtract.outer(np.arange(inside), np.arange(inside))
    inverse = jnp.asarray(np.where(gaps >= 0, (1.0 / 9.0) ** (np.maximum(gaps, 0) + 1), 0.0))

    def sweep(A):
        known = A[1:-1, 1:-1] + A[1:-1, 2:] + A[2:, :-2] + A[2:, 1:-1] + A[2:, 2:]

        def row(above, at):
            here, first, last = at
            new = inverse @ (here + above[:-2] + above[1:-1] + above[2:]).at[0].add(first)
            return jnp.concatenate([first[None], new, last[None]]), new

        _, rows = jax.lax.scan(row, A[0], (known, A[1:-1, 0], A[1:-1, -1]))
        return (A.at[1:-1, 1:-1].set(rows),)

    return repeated(sweep, (A,), steps - 1)[0]


def fdtd_2d(ex, ey, hz, edge):
    def step(state, now):
        ex, ey, hz = state
        ey = ey.at[0, :].set(now).at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return jax.lax.scan(step, (ex, ey, hz), edge)[0]


def tridiagonal(before, diagonal, after, right, N):
    """Systems of constant coefficients, one in each column of `right`, with ones at both ends."""
    factors = np.zeros(N - 1)
    for j in range(1, N - 1):
        factors[j] = -after / (before * factors[j - 1] + diagonal)
    divisors = before * factors[:-1] + diagonal
    ones = jnp.ones(right.shape[1])

    def eliminate(q, at):
        row, divisor = at
        q = (row - before * q) / divisor
        return q, q

    def substitute(x, at):
        q, factor = at
        x = factor * x + q
        return x, x

    _, q = jax.lax.scan(eliminate, ones, (right, divisors))
    _, x = jax.lax.scan(substitute, ones, (q, factors[1:]), reverse=True)
    return jnp.concatenate([ones[None], x, ones[None]])


def adi(u, *, steps):
    N = u.shape[0]
    a, b, c, d, e, f = adi_coefficients(steps, N)

    def step(u):
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - f * u[1:-1, 2:]
        v = tridiagonal(a, b, c, right, N)
        right = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - c * v[2:]
        return (u.at[1:-1, :].set(tridiagonal(d, e, f, right.T, N).T),)

    return repeated(step, (u,), steps)[0]


def deriche(image, *, alpha):
    a1, a2, a3, a4, b1, b2 = deriche_coefficients(alpha)

    def along(rows):
        """Along the first axis: downwards with what goes in here and before, upwards with what follows."""
        zero = jnp.zeros_like(rows[:1])

        def step(state, row):
            last, second = state
            new = row + b1 * last + b2 * second
            return (new, last), new

        start = (zero[0], zero[0])
        forcing = a1 * rows + a2 * jnp.concatenate([zero, rows[:-1]])
        _, down = jax.lax.scan(step, start, forcing)
        later = jnp.concatenate([rows[1:], zero, zero])
        _, up = jax.lax.scan(step, start, a3 * later[:-1] + a4 * later[1:], reverse=True)
        return down + up

    return along(along(image.T).T)
