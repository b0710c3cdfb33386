"""Associated Legendre functions and spherical harmonics of known degree and order: DLMF 14.10.3, 14.30."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ...python.versions import SCIPY
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .special import known_order
from .support import asarray, unsupported


def known_degree_and_order(recorder: Recorder, name: str, n: Any, m: Any) -> tuple[int, int]:
    return known_order(recorder, name, n, 0), known_order(recorder, name, m, -(10**6))


def associated_legendre(n: int, m: int, x: Any, root: Any) -> Any:
    """`P_n^m(x)` for `m >= 0`, with the phase of Condon and Shortley; `root` is `sqrt(1 - x**2)`."""
    if m > n:
        return 0.0 * x
    last, value = 0.0, (-1.0) ** m * float(math.prod(range(1, 2 * m, 2))) * root**m + 0.0 * x
    for k in range(m, n):
        last, value = value, ((2 * k + 1) * x * value - (k + m) * last) / (k - m + 1)
    return value


def with_precision(recorder: Recorder, x: Any) -> tuple[Any, np.dtype]:
    """An argument in double precision, and the precision of the result."""
    x = asarray(recorder, x)
    return x.astype(float), np.result_type(x.dtype, np.float32)


def of_negative_order(n: int, m: int) -> float:
    """The factor of `P_n^m` in `P_n^(-m)`."""
    return (-1.0) ** m * math.factorial(n - m) / math.factorial(n + m) if m <= n else 0.0


@implements(special.lpmv)
def lpmv(recorder, m, v, x, out=None):
    n, m = known_degree_and_order(recorder, "scipy.special.lpmv", v, m)
    if out is not None:
        raise unsupported("scipy.special.lpmv with out=", "leave it out")
    x, dtype = with_precision(recorder, x)
    value = associated_legendre(n, abs(m), x, np.sqrt(1 - x * x))
    return (value if m >= 0 else of_negative_order(n, -m) * value).astype(dtype)[()]


def harmonic(n: int, m: int, theta: Any) -> Any:
    """A spherical harmonic without its factor `exp(i m phi)`, for `m >= 0`."""
    if m > n:
        return 0.0 * theta
    scale = math.sqrt((2 * n + 1) / (4 * math.pi) * math.factorial(n - m) / math.factorial(n + m))
    return scale * associated_legendre(n, m, np.cos(theta), np.abs(np.sin(theta)))


if hasattr(special, "sph_harm_y"):  # from SciPy 1.15 on

    @implements(special.sph_harm_y)
    def sph_harm_y(recorder, n, m, theta, phi, *, diff_n=0):
        n, m = known_degree_and_order(recorder, "scipy.special.sph_harm_y", n, m)
        if diff_n:
            raise unsupported("scipy.special.sph_harm_y with diff_n", "differentiate it")
        (theta, own), (phi, other) = with_precision(recorder, theta), with_precision(recorder, phi)
        sign = 1.0 if m >= 0 else (-1.0) ** m
        found = sign * harmonic(n, abs(m), theta) * np.exp(1j * m * phi)
        return (found if SCIPY < (1, 18) else found.astype(np.result_type(own, other, np.complex64)))[()]
