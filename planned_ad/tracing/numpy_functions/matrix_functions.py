"""Functions of matrices, `expm`, `sqrtm` and `logm`, as plain code of products and systems, which is traced as such.

References
----------
N. J. Higham, "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26, 2005.
N. J. Higham, "Functions of Matrices", SIAM 2008 (6.29, the product form of Denman and Beavers' iteration; 11.5).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..record.dispatch import implements
from .systems import matrices, square

# Coefficients of the numerator of the diagonal approximant of degree 13 (Higham 2005, 10.33), the constant first.
PADE: tuple[float, ...] = (
    *(64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600),
    *(670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1),
)
LARGEST = 5.371920351148152  # up to which the approximant is accurate (Higham 2005, table 2.3)


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
    square(a)
    return recorder.namespace.function(exponential)(recorder.array(a))
