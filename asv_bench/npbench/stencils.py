"""Stencils over time, implicit sweeps, and a recursive filter."""

from __future__ import annotations

import numpy as np

from .kernel import Kernel


def jacobi_1d(A, B, *, steps):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A, B


def jacobi_2d(A, B, *, steps):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A, B


def heat_3d(A, B, *, steps):
    for _ in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )
    return A, B


def seidel_2d(A, *, steps):
    N = A.shape[0]
    for _ in range(steps - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return A


def fdtd_2d(ex, ey, hz, edge):
    for t in range(edge.size):
        ey[0, :] = edge[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def adi_coefficients(steps, N):
    along, across = 2.0 * N * N / steps, 1.0 * N * N / steps
    return -along / 2.0, 1.0 + along, -along / 2.0, -across / 2.0, 1.0 + across, -across / 2.0


def adi(u, *, steps):
    N = u.shape[0]
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    a, b, c, d, e, f = adi_coefficients(steps, N)
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, N - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[-1, 1:-1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, N - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]) / (
                d * p[1:-1, j - 1] + e
            )
        u[1:-1, -1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def deriche_coefficients(alpha):
    """Of Deriche's smoothing: four of what goes in, two of what has come out."""
    decay = np.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - np.exp(2.0 * alpha))
    return k, k * decay * (alpha - 1.0), k * decay * (alpha + 1.0), -k * decay**2, 2.0**-alpha, -(decay**2)


def deriche(image, *, alpha):
    a1, a2, a3, a4, b1, b2 = deriche_coefficients(alpha)
    y1, y2 = np.empty_like(image), np.empty_like(image)
    W, H = image.shape
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    rows = y1 + y2
    y1[0, :] = a1 * rows[0, :]
    y1[1, :] = a1 * rows[1, :] + a2 * rows[0, :] + b1 * y1[0, :]
    for i in range(2, W):
        y1[i, :] = a1 * rows[i, :] + a2 * rows[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a3 * rows[-1, :]
    for i in range(W - 3, -1, -1):
        y2[i, :] = a3 * rows[i + 1, :] + a4 * rows[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return y1 + y2


KERNELS = {
    "jacobi_1d": Kernel(
        function=jacobi_1d,
        arguments=lambda r, t, n: (r(n), r(n), {"steps": t}),
        tiny=(4, 7),
        S=(800, 3200),
        M=(3000, 12000),
        writes=(0, 1),
    ),
    "jacobi_2d": Kernel(
        function=jacobi_2d,
        arguments=lambda r, t, n: (r(n, n), r(n, n), {"steps": t}),
        tiny=(4, 6),
        S=(50, 150),
        M=(80, 350),
        writes=(0, 1),
    ),
    "heat_3d": Kernel(
        function=heat_3d,
        arguments=lambda r, t, n: (r(n, n, n), r(n, n, n), {"steps": t}),
        tiny=(3, 5),
        S=(25, 25),
        M=(50, 40),
        writes=(0, 1),
    ),
    "seidel_2d": Kernel(
        function=seidel_2d,
        arguments=lambda r, t, n: (r(n, n), {"steps": t}),
        tiny=(3, 6),
        S=(8, 50),
        M=(15, 100),
        writes=(0,),
    ),
    "fdtd_2d": Kernel(
        function=fdtd_2d,
        arguments=lambda r, t, n, m: (r(n, m), r(n, m), r(n, m), r(t)),
        tiny=(3, 5, 6),
        S=(20, 200, 220),
        M=(60, 400, 450),
        writes=(0, 1, 2),
    ),
    "adi": Kernel(
        function=adi,
        arguments=lambda r, t, n: (r(n, n), {"steps": t}),
        tiny=(2, 6),
        S=(5, 100),
        M=(20, 200),
        writes=(0,),
    ),
    "deriche": Kernel(
        function=deriche,
        arguments=lambda r, w, h: (r(w, h), {"alpha": 0.25}),
        tiny=(5, 6),
        S=(400, 200),
        M=(1500, 1000),
    ),
}
