"""Lambert's function, by the iteration of SciPy: steps of Halley's, of which the last two have the derivative.

A step from an approximation that is right to rounding, without a derivative of its own, has those of the function up
to the second, since it converges cubically; two have eight.

References
----------
R. M. Corless et al., "On the Lambert W function", Advances in Computational Mathematics 5, 1996 (4.18-4.22, 5.9).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ..complex.functions import whole
from ..complex.pairs import complex_of
from ..record.recorder import Recorder
from .fourier import of_any
from .special import known_order
from .support import unsupported

STEPS = {0: 6, -1: 10}  # as many as bring the starts of both branches to rounding


def halley(w: Any, z: Any) -> Any:
    """A step towards `w exp(w) = z`, in the form that does not overflow."""
    is_right = w.real >= 0
    e = np.exp(np.where(is_right, -w, w))
    first = w - z * e
    second = w * e - z
    right = first / (w + 1 - (w + 2) * first / (2 * w + 2))
    left = second / (w * e + e - (w + 2) * second / (2 * w + 2))
    return w - np.where(is_right, right, left)


def start(z: Any, branch: int) -> Any:
    """By the series at the branch point, one at zero, and the asymptotic one."""
    far = np.log(np.where(z == 0, 1, z)) + 2j * math.pi * branch
    far = far - np.log(np.where(far == 0, 1, far))
    p = np.sqrt(2 * (math.e * z + 1))
    if branch:
        p = -p
        is_negative = (z.imag == 0) & (z.real < 0) & (np.abs(z) <= math.exp(-1))
        far = np.where(is_negative, np.log(np.where(is_negative, -z.real, 1.0)), far)
        is_near = is_negative & (np.abs(z + math.exp(-1)) < 0.1)
    else:
        is_near = np.abs(z + math.exp(-1)) < 0.3
        is_small = (z.real > -1) & (z.real < 1.5) & (np.abs(z.imag) < 1) & (-2.5 * np.abs(z.imag) - 0.2 < z.real)
        numerator = z * (12.851063829787234 + z * (12.340425531914894 + z))
        small = numerator / (12.851063829787234 + z * (32.34042553191489 + 14.340425531914894 * z))
        far = np.where(is_small, small, far)
    return np.where(is_near, -1 + p * (1 - p / 3), far)


def stopped(recorder: Recorder, z: Any) -> Any:
    parts = (recorder.array(recorder.apply("stop_gradient", recorder.value_of(part))) for part in (z.real, z.imag))
    return whole(recorder, *parts)


@of_any(scipy.special.lambertw)
def lambertw(recorder, z, k=0, tol=1e-8):
    branch = known_order(recorder, "scipy.special.lambertw", k, -1)
    if branch > 0:
        raise unsupported("scipy.special.lambertw of other branches than 0 and -1", "call one of these")
    given = complex_of(recorder, z)
    is_number = given.ndim == 0 and np.ndim(z) == 0
    z = given.astype(np.complex128)
    fixed = stopped(recorder, z)
    w = start(fixed, branch)
    for _ in range(STEPS[branch]):
        w = halley(w, fixed)
    w = halley(halley(w, z), z)
    if branch:
        w = np.where(z == 0, -np.inf, w)
    return w[()] if is_number else w
