"""Stencils and time steps on grids, in place and with arrays that change names."""

from __future__ import annotations

import numpy as np

from .program import Collection

STENCILS = Collection()
program = STENCILS.add


def nothing(n: int) -> int:
    """A linear stencil needs no value of the primal."""
    return 0


@program(lambda n, d: (d.normal(n), d.normal(n), n), 7, 40, "linear", cached=nothing, peer="jax: fori_loop, at[].set")
def jacobi_1d(a, b, steps):
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a) + np.sum(b * np.arange(len(b)))


@program(lambda n, d: (d.normal(n, n + 1), d.normal(n, n + 1), n), 6, 24, "linear", cached=nothing)
def jacobi_2d(a, b, steps):
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(a**2) + np.sum(b)


@program(lambda n, d: (d.normal(n, n, n), d.normal(n, n, n), n), 5, 20, "linear", cached=nothing)
def heat_3d(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )
    return np.sum(a * a)


@program(
    lambda n, d: (d.normal(n, n), n - 1), 7, 22, "linear", cached=nothing, peer="jax: nested scans, no in-place rows"
)
def seidel_2d(a, steps):
    n = a.shape[0]
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return np.sum(a * a)


@program(lambda n, d: (d.normal(n, n + 1),), 7, 30, "linear", cached=nothing)
def gauss_seidel_scalars(a):
    for _ in range(2):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(a[1:-1] ** 2)


@program(lambda n, d: (d.normal(n, n), 1.4), 7, 25)
def gauss_seidel_nonlinear(a, omega):
    n = len(a)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            residual = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) - a[i, j] - 0.1 * a[i, j] ** 2
            a[i, j] += omega * residual
    return np.sum(a * a)


@program(lambda n, d: (d.normal(n, n), n // 2), 8, 21, "unrolled", cached=nothing)
def red_black_gauss_seidel(a, sweeps):
    n = a.shape[0]
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, n - 1, 2):
                    a[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return np.sum(a * a)


@program(lambda n, d: (d.normal(n, n + 1), d.normal(n, n + 1), d.normal(n, n + 1), d.normal(n)), 6, 25, "linear")
def fdtd_2d(ex, ey, hz, fict):
    for t in range(len(fict)):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz) + np.sum(ex) + np.sum(ey)


@program(lambda n, d: (d.normal(n, n), 3), 6, 20)
def adi(u, steps):
    n = u.shape[0]
    v, p, q = np.empty(u.shape, u.dtype), np.empty(u.shape, u.dtype), np.empty(u.shape, u.dtype)
    a, b, c = -0.3, 1.6, -0.3
    for _ in range(1, steps + 1):
        v[0, 1 : n - 1] = 1.0
        p[1 : n - 1, 0] = 0.0
        q[1 : n - 1, 0] = v[0, 1 : n - 1]
        for j in range(1, n - 1):
            p[1 : n - 1, j] = -c / (a * p[1 : n - 1, j - 1] + b)
            q[1 : n - 1, j] = (
                0.2 * u[j, 0 : n - 2] + 0.6 * u[j, 1 : n - 1] + 0.2 * u[j, 2:n] - a * q[1 : n - 1, j - 1]
            ) / (a * p[1 : n - 1, j - 1] + b)
        v[n - 1, 1 : n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1 : n - 1] = p[1 : n - 1, j] * v[j + 1, 1 : n - 1] + q[1 : n - 1, j]
        for i in range(1, n - 1):
            u[i, 1 : n - 1] = 0.5 * (v[1 : n - 1, i] + u[i, 1 : n - 1])
    return np.sum(u * u)


@program(lambda n, d: (0.3 * d.normal(n), np.zeros(n, d.dtype), n), 7, 40, "carried")
def names_swapped(u, v, steps):
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]) - 0.1 * u[1:-1] ** 3
        v[0] = v[-2]
        v[-1] = v[1]
        u, v = v, u
    return np.sum(u * u)


@program(lambda n, d: (d.normal(n, n), d.normal(n, n), n), 6, 21, "carried linear", cached=nothing)
def names_swapped_scalars(old, new, steps):
    n = len(old)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])
        old, new = new, old
    return np.sum(old * old)


@program(lambda n, d: (d.normal(n), d.normal(n), n), 8, 40, "carried linear")
def wave_by_three_names(u, before, steps):
    after = np.zeros_like(u)
    for _ in range(steps):
        after[1:-1] = 2 * u[1:-1] - before[1:-1] + 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u, after = u, after, before
    return u @ u + np.sum(before)


@program(lambda n, d: (d.normal(n), n), 7, 30, "carried")
def steps_that_make_arrays(u, steps):
    for _ in range(steps):
        flux = 0.5 * u**2
        u = u - 0.05 * (np.roll(flux, -1) - np.roll(flux, 1))
    return np.sum(u**3)


@program(lambda n, d: (d.normal(n), n // 2), 8, 40, "branch", step=1e-5)
def upwind(u, steps):
    n = len(u)
    for _ in range(steps):
        change = np.zeros_like(u)
        for i in range(1, n - 1):
            if u[i] > 0:
                change[i] = u[i] * (u[i] - u[i - 1])
            else:
                change[i] = u[i] * (u[i + 1] - u[i])
        u -= 0.1 * change
    return np.sum(u * u)


@program(lambda n, d: (d.normal(n, n),), 7, 30, "triangular")
def pascal(t):
    for i in range(1, len(t)):
        for j in range(1, i + 1):
            t[i, j] = 0.5 * (t[i - 1, j - 1] + t[i - 1, j]) * t[i, j]
    return np.sum(np.tril(t))


@program(lambda n, d: (d.positive(n, n), d.positive(n, n)), 6, 24)
def wavefront(c, w):
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            c[i, j] = w[i, j] + np.sqrt(c[i - 1, j] * c[i, j - 1]) / (1 + c[i - 1, j - 1])
    return c[-1, -1] + np.sum(c[-1])


@program(lambda n, d: (d.normal(n, n), 0.25), 8, 30)
def deriche_rows(image, alpha):
    k = (1 - np.exp(-alpha)) ** 2 / (1 + 2 * alpha * np.exp(-alpha) - np.exp(2 * alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1)
    a3, a4 = k * np.exp(-alpha) * (alpha + 1), -k * np.exp(-2 * alpha)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2 * alpha)
    h = image.shape[1]
    y1, y2 = np.empty_like(image), np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, h):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(h - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    return np.sum((y1 + y2) ** 2)


@program(lambda n, d: (d.normal(n), d.positive(n - 1), n), 8, 40)
def heat_with_conductivity(u, conductivity, steps):
    for _ in range(steps):
        flux = 0.1 * conductivity * (u[1:] - u[:-1])
        u[1:-1] += flux[1:] - flux[:-1]
    return np.sum(u**2)


@program(lambda n, d: (0.5 * d.positive(n, n), 0.5 * d.positive(n, n), n), 6, 24)
def gray_scott(u, v, steps):
    for _ in range(steps):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] * v[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.16 * lu - uvv + 0.06 * (1 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - 0.12 * v[1:-1, 1:-1]
        for field in (u, v):
            field[0, :] = field[-2, :]
            field[-1, :] = field[1, :]
            field[:, 0] = field[:, -2]
            field[:, -1] = field[:, 1]
    return np.sum(u * v)


@program(lambda n, d: (d.positive(n, n), d.normal(n, n), 4), 7, 24)
def pressure_poisson(p, b, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1] - b[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return np.sum(p * b)
