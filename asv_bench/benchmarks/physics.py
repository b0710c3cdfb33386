"""Programs from physics, with their adjoints by hand."""

from __future__ import annotations

import numpy as np

SOFTENING = 1e-4


def n_body(x, v, m):
    """Kinetic and potential energy."""
    first, second = np.triu_indices(len(x), 1)
    squared = np.sum((x[first] - x[second]) ** 2, axis=1) + SOFTENING
    kinetic = 0.5 * np.sum(m * np.sum(v**2, axis=1))
    return kinetic - np.sum(m[first] * m[second] / np.sqrt(squared))


def n_body_adjoint(x, v, m):
    apart = x[:, None, :] - x[None, :, :]
    inverse = 1.0 / np.sqrt(np.sum(apart**2, axis=2) + SOFTENING)
    np.fill_diagonal(inverse, 0.0)
    dx = np.einsum("i,j,ij,ijk->ik", m, m, inverse**3, apart, optimize=True)
    return dx, m[:, None] * v, 0.5 * np.sum(v**2, axis=1) - inverse @ m


def n_body_arguments(n: int) -> tuple:
    k = np.arange(3 * n)
    x, v = 0.5 * np.sin(k) + 0.01 * k, 0.1 * np.cos(k)
    return x.reshape(n, 3), v.reshape(n, 3), 1.0 + 0.1 * np.sin(np.arange(n))


STEPS = 3


def jacobi_2d(a, b, weights):
    """NPBench's Jacobi iteration, in place; the loss is a weighted sum of the result."""
    for _ in range(STEPS):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(weights * a)


def jacobi_2d_adjoint(a, b, weights):
    da, db = weights.copy(), np.zeros_like(b)
    for _ in range(STEPS):
        spread(da, db)
        spread(db, da)
    return da, db


def spread(target, source):
    """Adjoint of `target[1:-1, 1:-1] = stencil of source`, on shadows."""
    share = 0.2 * target[1:-1, 1:-1]
    target[1:-1, 1:-1] = 0.0
    source[1:-1, 1:-1] += share
    source[1:-1, :-2] += share
    source[1:-1, 2:] += share
    source[2:, 1:-1] += share
    source[:-2, 1:-1] += share


def jacobi_2d_arguments(n: int) -> tuple:
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return i * (j + 2.0) / n, i * (j + 3.0) / n, np.cos(i + 2.0 * j)


FEED, SOURCE, DIFFUSION = 3.4, 1.0, 10.0


def laplacian(u):
    """Five points, edges clamped: no flux leaves the square."""
    change = np.zeros_like(u)
    down = u[1:, :] - u[:-1, :]
    right = u[:, 1:] - u[:, :-1]
    change[:-1, :] += down
    change[1:, :] -= down
    change[:, :-1] += right
    change[:, 1:] -= right
    return change * (len(u) - 1) ** 2


def brusselator(u, v):
    """Right-hand side after the forcing has set in; returns both rates."""
    place = np.arange(len(u)) / (len(u) - 1)
    x, y = place[:, None], place[None, :]
    forcing = np.where((x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01, 5.0, 0.0)
    reaction = u * u * v
    du = SOURCE + reaction - (FEED + 1.0) * u + DIFFUSION * laplacian(u) + forcing
    dv = FEED * u - reaction + DIFFUSION * laplacian(v)
    return du, dv


def brusselator_adjoint(u, v, to_u, to_v):
    """Pullback of the cotangents `to_u` and `to_v`; the Laplacian is its own transpose."""
    back = to_u - to_v
    return (
        2.0 * u * v * back - (FEED + 1.0) * to_u + FEED * to_v + DIFFUSION * laplacian(to_u),
        u * u * back + DIFFUSION * laplacian(to_v),
    )


def brusselator_arguments(n: int) -> tuple:
    x = np.arange(n) / (n - 1)
    u = 22.0 * (x * (1.0 - x)) ** 1.5
    v = 27.0 * (x * (1.0 - x)) ** 1.5
    return np.tile(u, (n, 1)), np.tile(v[:, None], (1, n))


def brusselator_cotangents(n: int) -> tuple:
    k = np.arange(n * n).reshape(n, n)
    return np.cos(k), np.sin(k)
