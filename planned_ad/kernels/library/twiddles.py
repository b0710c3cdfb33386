"""Tables of the roots of unity that Fourier transforms multiply by.

They are made once in a process for each length, and stay, as the routines that read them do.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import fft

ALIGNMENT = 64
LANES = 8


def roots(n: int, k: np.ndarray) -> np.ndarray:
    """`exp(-2 pi i k / n)`, from angles of at most an eighth of a turn, so that symmetries hold to the last bit."""
    eighths, rest = np.divmod(8 * (np.asarray(k) % n), n)  # the angle is (eighths + rest / n) / 8 turns
    backwards = eighths % 2 == 1
    rest = np.where(backwards, n - rest, rest)
    angle = rest * (np.pi / 4 / n)
    cosine, sine = (np.where(rest == n, np.sqrt(0.5), f(angle)) for f in (np.cos, np.sin))
    x, y = np.where(backwards, sine, cosine), np.where(backwards, cosine, sine)  # within the quarter
    quarter = eighths // 2
    re = np.choose(quarter, [x, -y, -x, y])
    im = np.choose(quarter, [y, x, -y, -x])
    return re - 1j * im


def lasting(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Real numbers, or complex ones as pairs, one after the other at the start of a cache line."""
    if numbers.dtype.kind == "c":
        numbers = np.ascontiguousarray(numbers).view(np.float64)
    memory = np.empty(numbers.size * dtype.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    table = memory[start : start + numbers.size * dtype.itemsize].view(dtype)
    table[:] = numbers.reshape(-1)
    return table


@functools.cache
def pass_table(radix: int, m: int, dtype: np.dtype) -> np.ndarray:
    """Of a pass over `m` groups: for each group but the first, the factors of all outputs but the first."""
    p, j = np.ogrid[1:m, 1:radix]
    return lasting(roots(radix * m, p * j), dtype)


@functools.cache
def odd_table(radix: int, m: int, dtype: np.dtype) -> np.ndarray:
    """Likewise of all groups, and before them the conjugate roots of the radix."""
    p, j = np.ogrid[:m, 1:radix]
    return lasting(np.concatenate([roots(radix, -np.arange(radix)), roots(radix * m, p * j).reshape(-1)]), dtype)


@functools.cache
def turn_table(n1: int, n2: int, dtype: np.dtype) -> np.ndarray:
    """Between the steps of a transform of `n1 n2` numbers: blocks of lanes, real parts before imaginary ones."""
    starts = np.array(block_starts(n2))
    columns = starts[:, None, None] + np.arange(LANES)
    factors = roots(n1 * n2, np.arange(n1)[:, None] * columns)  # blocks, n1, lanes
    return lasting(np.stack([factors.real, factors.imag], axis=2), dtype)


def block_starts(n: int) -> list[int]:
    """Where blocks of lanes begin that cover `n` columns; the last may overlap the one before."""
    return [min(LANES * b, n - LANES) for b in range(-(-n // LANES))]


@functools.cache
def half_table(n: int, dtype: np.dtype) -> np.ndarray:
    """`-i exp(-2 pi i k / n) / 2` for `k <= n / 4`: what tells the even from the odd numbers of a real transform."""
    return lasting(-0.5j * roots(n, np.arange(n // 4 + 1)), dtype)


@functools.cache
def chirp_table(n: int, dtype: np.dtype) -> np.ndarray:
    """`exp(-pi i k^2 / n)`."""
    return lasting(chirp(n), dtype)


def chirp(n: int) -> np.ndarray:
    k = np.arange(n)
    return roots(2 * n, k * k % (2 * n))


@functools.cache
def filter_table(n: int, m: int, dtype: np.dtype) -> np.ndarray:
    """The transform, of length `m`, of the conjugate chirp on both sides of zero, over `m`."""
    response = np.zeros(m, complex)
    response[:n] = chirp(n).conj()
    response[m - n + 1 :] = response[1:n][::-1]
    return lasting(fft.fft(response) / m, dtype)
