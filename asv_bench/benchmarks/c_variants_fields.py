"""The programs of `c_programs/brusselator.c` and `fourier.c` in NumPy, each in several natural ways."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

START, DT = 1.1, 1e-5

# The Brusselator's Laplacian on a square whose edges are clamped, without the factor of the grid.


def laplacian_slices(u):
    change = np.zeros_like(u)
    down, right = u[1:] - u[:-1], u[:, 1:] - u[:, :-1]
    change[:-1] += down
    change[1:] -= down
    change[:, :-1] += right
    change[:, 1:] -= right
    return change


def laplacian_padded(u):
    wide = np.pad(u, 1, mode="edge")
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4.0 * u


def laplacian_rolled(u):
    up, down = np.roll(u, 1, axis=0), np.roll(u, -1, axis=0)
    left, right = np.roll(u, 1, axis=1), np.roll(u, -1, axis=1)
    up[0], down[-1], left[:, 0], right[:, -1] = u[0], u[-1], u[:, 0], u[:, -1]
    return up + down + left + right - 4.0 * u


def laplacian_indexed(u):
    places = np.arange(len(u))
    before, after = np.maximum(places - 1, 0), np.minimum(places + 1, len(u) - 1)
    return u[before] + u[after] + u[:, before] + u[:, after] - 4.0 * u


def laplacian_matrix(u):
    n = len(u)
    second = np.eye(n, k=1) + np.eye(n, k=-1) - 2.0 * np.eye(n)
    second[0, 0] = second[-1, -1] = -1.0
    return second @ u + u @ second


def laplacian_loops(u):
    n = len(u)
    change = np.empty_like(u)
    for i in range(n):
        for j in range(n):
            around = u[max(i - 1, 0), j] + u[min(i + 1, n - 1), j] + u[i, max(j - 1, 0)] + u[i, min(j + 1, n - 1)]
            change[i, j] = around - 4.0 * u[i, j]
    return change


LAPLACIANS = {
    "slices": laplacian_slices,
    "np.pad": laplacian_padded,
    "np.roll": laplacian_rolled,
    "index arrays": laplacian_indexed,
    "matrix": laplacian_matrix,
    "loops": laplacian_loops,
}


def rates(u, v, p, t, forcing, laplacian):
    feed, source, diffusion = p
    scale = diffusion * (len(u) - 1) ** 2
    reaction = u * u * v
    du = source + reaction - (feed + 1.0) * u + scale * laplacian(u)
    if t >= START:
        du = du + forcing
    return du, feed * u - reaction + scale * laplacian(v)


def euler(u, v, p, forcing, steps, *, laplacian):
    for step in range(steps):
        du, dv = rates(u, v, p, START + step * DT, forcing, laplacian)
        u = u + DT * du
        v = v + DT * dv
    return np.sum(u**2 + v**2)


def runge_kutta(u, v, p, forcing, steps, *, laplacian):
    for step in range(steps):
        t = START + step * DT
        du1, dv1 = rates(u, v, p, t, forcing, laplacian)
        du2, dv2 = rates(u + DT / 2 * du1, v + DT / 2 * dv1, p, t + DT / 2, forcing, laplacian)
        du3, dv3 = rates(u + DT / 2 * du2, v + DT / 2 * dv2, p, t + DT / 2, forcing, laplacian)
        du4, dv4 = rates(u + DT * du3, v + DT * dv3, p, t + DT, forcing, laplacian)
        u = u + DT / 6 * (du1 + 2 * du2 + 2 * du3 + du4)
        v = v + DT / 6 * (dv1 + 2 * dv2 + 2 * dv3 + dv4)
    return np.sum(u**2 + v**2)


def by_laplacian(method: Callable) -> dict[str, Callable]:
    return {name: functools.partial(method, laplacian=laplacian) for name, laplacian in LAPLACIANS.items()}


def forcing(n: int) -> np.ndarray:
    place = np.arange(n) / (n - 1)
    return np.where((place[:, None] - 0.3) ** 2 + (place - 0.6) ** 2 <= 0.01, 5.0, 0.0)


# Fourier transforms.


def weighted_power(z):
    return np.sum((z.real**2 + z.imag**2) / np.arange(1, len(z) + 1))


def transform_concatenated(z):
    n = len(z)
    if n == 1:
        return z
    even, odd = transform_concatenated(z[::2]), transform_concatenated(z[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + turned, even - turned])


def transform_in_place(z, out):
    """Into `out`, as C would."""
    n = len(z)
    if n == 1:
        out[0] = z[0]
        return
    half = n // 2
    transform_in_place(z[::2], out[:half])
    transform_in_place(z[1::2], out[half:])
    turned = np.exp(-2j * np.pi * np.arange(half) / n) * out[half:]
    out[half:] = out[:half] - turned
    out[:half] += turned


def transform_halves(z):
    """Down to matrices of 32 x 32."""
    n = len(z)
    places = np.arange(n)
    if n <= 32:
        return np.exp(-2j * np.pi * np.outer(places, places) / n) @ z
    even, odd = transform_halves(z[::2]), transform_halves(z[1::2])
    roots = np.exp(-2j * np.pi * places / n)
    return np.concatenate([even + roots[: n // 2] * odd, even + roots[n // 2 :] * odd])


def fft_halves(x):
    return weighted_power(transform_halves(x))


def fft_concatenated(x):
    return weighted_power(transform_concatenated(x + 0j))


def fft_written(x):
    out = np.empty(len(x), complex)
    transform_in_place(x, out)
    return weighted_power(out)


FFT_RECURSIVE = {"matrices of 32": fft_halves, "concatenate": fft_concatenated, "in place": fft_written}


def bits_reversed(n: int) -> np.ndarray:
    order = np.zeros(1, int)
    while len(order) < n:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def fft_slices(x):
    """One block after the other."""
    z = x[bits_reversed(len(x))] + 0j
    half = 1
    while half < len(z):
        roots = np.exp(-1j * np.pi * np.arange(half) / half)
        for start in range(0, len(z), 2 * half):
            turned = roots * z[start + half : start + 2 * half]
            z[start + half : start + 2 * half] = z[start : start + half] - turned
            z[start : start + half] += turned
        half *= 2
    return weighted_power(z)


def fft_reshaped(x):
    """All blocks at once, as rows."""
    z = x[bits_reversed(len(x))].reshape(-1, 1) + 0j
    while len(z) > 1:
        roots = np.exp(-1j * np.pi * np.arange(z.shape[1]) / z.shape[1])
        even, turned = z[::2], roots * z[1::2]
        z = np.concatenate([even + turned, even - turned], axis=1)
    return weighted_power(z[0])


def fft_loops(x):
    """Numbers, real and imaginary parts apart."""
    n = len(x)
    re, im = x[bits_reversed(n)], np.zeros(n)
    cosines, sines = np.cos(2 * np.pi * np.arange(n // 2) / n), -np.sin(2 * np.pi * np.arange(n // 2) / n)
    half = 1
    while half < n:
        for start in range(0, n, 2 * half):
            for k in range(start, start + half):
                c, s = cosines[(k - start) * (n // (2 * half))], sines[(k - start) * (n // (2 * half))]
                a, b = c * re[k + half] - s * im[k + half], c * im[k + half] + s * re[k + half]
                re[k + half], im[k + half] = re[k] - a, im[k] - b
                re[k] += a
                im[k] += b
        half *= 2
    total = 0.0
    for k in range(n):
        total += (re[k] ** 2 + im[k] ** 2) / (1 + k)
    return total


def fft_numpy(x):
    return weighted_power(np.fft.fft(x))


FFT_ITERATIVE = {"slices": fft_slices, "reshape": fft_reshaped, "loops": fft_loops, "np.fft": fft_numpy}
