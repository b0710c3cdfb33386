"""Functions of matrices, `expm` and `sqrtm`, as plain code of products and systems, which is traced as such.

References
----------
N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26
(2005).
N. J. Higham, "Functions of Matrices", SIAM 2008 (6.29, the product form of Denman and Beavers' iteration).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..record.dispatch import implements
from .systems import checked_square, matrices, require_everywhere

# Coefficients of the numerator of the diagonal approximant of degree 13 (Higham 2005, 10.33), the constant first.
PADE: tuple[float, ...] = (
    *(64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600),
    *(670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1),
)
LARGEST = 5.371920351148152  # up to which the approximant is accurate (Higham 2005, table 2.3)


NO_REAL_ROOT = "This matrix has no principal square root of real numbers"


def exponential(a):
    """`r(a / 2^s)^(2^s)`, by the diagonal approximant of degree 13."""
    norm = np.max(np.sum(np.abs(a), axis=-2))
    squarings = np.maximum(np.ceil(np.log2(np.maximum(norm, 1e-300) / LARGEST)), 0.0)
    one = np.eye(a.shape[-1], dtype=a.dtype)
    x = a * 2.0**-squarings
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x6 @ (PADE[13] * x6 + PADE[11] * x4 + PADE[9] * x2) + PADE[7] * x6 + PADE[5] * x4 + PADE[3] * x2
    odd = x @ (odd + PADE[1] * one)
    even = x6 @ (PADE[12] * x6 + PADE[10] * x4 + PADE[8] * x2) + PADE[6] * x6 + PADE[4] * x4 + PADE[2] * x2
    even = even + PADE[0] * one
    result = np.linalg.solve(even - odd, even + odd)
    done = 0.0
    while done < squarings:
        result = result @ result
        done = done + 1.0
    return result


@implements(scipy.linalg.expm)
def expm(recorder, A):
    (a,) = matrices(recorder, A)
    checked_square(a)
    return recorder.namespace.function(exponential)(recorder.array(a))


def denman_beavers(a):
    """The product form of Denman and Beavers' iteration, scaled at first (Higham 2008, 6.29), and how far it is.

    It converges quadratically, and so do its derivatives: three steps follow where it is near.
    """
    n = a.shape[-1]
    one = np.eye(n, dtype=a.dtype)
    x, m = a, a
    distance: Any = 1.0
    steps = 0.0
    going: Any = 1.0
    while going > 0.5:
        size = np.exp(-np.linalg.slogdet(m)[1] / n)
        scale = np.where(distance > 0.01, size, 1.0)
        root = np.sqrt(scale)
        inverse = np.linalg.inv(m)
        x = 0.5 * root * (x @ (one + inverse / scale))
        m = 0.5 * (one + 0.5 * (scale * m + inverse / scale))
        distance = np.sum((m - one) ** 2)
        steps = steps + 1.0
        going = np.where(distance > 1e-8, 1.0, 0.0) * np.where(steps < 60.0, 1.0, 0.0)
    for _ in range(3):
        inverse = np.linalg.inv(m)
        x = 0.5 * (x @ (one + inverse))
        m = 0.5 * (one + 0.5 * (m + inverse))
    return x, np.sum((m - one) ** 2)


@implements(scipy.linalg.sqrtm)
def sqrtm(recorder, A, disp=None, blocksize=None):
    (a,) = matrices(recorder, A)
    root, distance = recorder.namespace.function(denman_beavers)(recorder.array(checked_square(a)))
    require_everywhere(recorder, recorder.value_of(distance < 1e-6), NO_REAL_ROOT)
    return root


@implements(scipy.linalg.signm)
def signm(recorder, A, disp=None):
    """`A (A A)^-1/2` (Higham 2008, 5.5)."""
    (a,) = matrices(recorder, A)
    a = recorder.array(checked_square(a))
    return a @ np.linalg.inv(sqrtm(recorder, a @ a))


# Gauss-Legendre nodes and weights between 0 and 1: a diagonal approximant of the logarithm, accurate to rounding where
# the matrix is within 1/4 of the unit matrix (Higham 2008, 11.18 and table 11.1).
LOG_NODES, LOG_WEIGHTS = (0.5 * (part + shift) for part, shift in zip(np.polynomial.legendre.leggauss(8), (1.0, 0.0)))


ROOTS = 7


def logarithm(a, root_of):
    """Inverse scaling and squaring: square roots bring it near the unit matrix; and how far these are from roots.

    `log(I + x)` is the integral of `x (I + t x)^-1` for `t` from 0 to 1.
    """
    one = np.eye(a.shape[-1], dtype=a.dtype)
    worst: Any = 0.0
    for _ in range(ROOTS):
        a, error = root_of(a)
        worst = np.maximum(worst, error)
    x = a - one
    total = np.zeros_like(a)
    for node, weight in zip(LOG_NODES, LOG_WEIGHTS):
        total = total + weight * np.linalg.solve(one + node * x, x)
    return 2.0**ROOTS * total, worst, np.max(np.sum(np.abs(x), axis=-2))


NO_REAL_LOGARITHM = "This matrix has no principal logarithm of real numbers"
FAR_FROM_ONE = "The logarithm of this matrix is too large for its approximant"


@implements(scipy.linalg.logm)
def logm(recorder, A, disp=None):
    (a,) = matrices(recorder, A)
    root_of, log_of = map(recorder.namespace.function, (denman_beavers, logarithm))
    found, distance, size = log_of(recorder.array(checked_square(a)), root_of)
    require_everywhere(recorder, recorder.value_of(distance < 1e-6), NO_REAL_LOGARITHM)
    require_everywhere(recorder, recorder.value_of(size < 0.3), FAR_FROM_ONE)
    return found


def _exponential_of(recorder, matrix):
    return recorder.namespace.function(exponential)(matrix)


@implements(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(recorder, A, t):
    if recorder.is_concrete(t) and recorder.number_of(t) == np.round(recorder.number_of(t)):
        return np.linalg.matrix_power(recorder.array(recorder.value_of(A)), int(recorder.number_of(t)))
    return _exponential_of(recorder, t * logm(recorder, A))


def _rotation(recorder, A):
    """`cos(A)` and `sin(A)`, blocks of an exponential: `exp([[0, -A], [A, 0]])`."""
    (a,) = matrices(recorder, A)
    a = recorder.array(checked_square(a))
    n, zero = a.shape[-1], np.zeros_like(a)
    both = _exponential_of(recorder, np.block([[zero, -a], [a, zero]]))
    return both[:n, :n], both[n:, :n]


def _hyperbolic(recorder, A):
    (a,) = matrices(recorder, A)
    a = recorder.array(checked_square(a))
    above, below = _exponential_of(recorder, a), _exponential_of(recorder, -a)
    return 0.5 * (above + below), 0.5 * (above - below)


@implements(scipy.linalg.cosm)
def cosm(recorder, A):
    return _rotation(recorder, A)[0].copy()


@implements(scipy.linalg.sinm)
def sinm(recorder, A):
    return _rotation(recorder, A)[1].copy()


@implements(scipy.linalg.tanm)
def tanm(recorder, A):
    return np.linalg.solve(*_rotation(recorder, A))


@implements(scipy.linalg.coshm)
def coshm(recorder, A):
    return _hyperbolic(recorder, A)[0]


@implements(scipy.linalg.sinhm)
def sinhm(recorder, A):
    return _hyperbolic(recorder, A)[1]


@implements(scipy.linalg.tanhm)
def tanhm(recorder, A):
    return np.linalg.solve(*_hyperbolic(recorder, A))


@implements(scipy.linalg.expm_frechet)
def expm_frechet(recorder, A, E, method=None, compute_expm=True, check_finite=True):
    """The derivative of the exponential along `E`, a block of `exp([[A, E], [0, A]])` (Higham 2008, 3.16)."""
    a, e = (recorder.array(m) for m in matrices(recorder, A, E))
    n = a.shape[-1]
    both = _exponential_of(recorder, np.block([[a, e], [np.zeros_like(a), a]]))
    along = both[:n, n:].copy()
    return (both[:n, :n].copy(), along) if compute_expm else along
