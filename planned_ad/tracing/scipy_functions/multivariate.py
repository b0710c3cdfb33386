"""Covariances of `scipy.stats`: what it makes of their eigenvectors, for positive definite ones by Cholesky's factor.

The derivative of eigenvectors has no meaning where eigenvalues are equal, as of `s * np.eye(n)`; that of what is made
of them here, an inverse and a determinant, has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.stats import _multivariate

from ...tape.guards import RAISES
from ..record.dispatch import implements
from ..record.recorder import Recorder
from ..values.python_errors import is_caught


@implements(_multivariate._PSD)
def psd(recorder, M, cond=None, rcond=None, lower=True, check_finite=True, allow_singular=True):
    """What SciPy makes, whose tests are of eigenvalues; of full rank with `L**-T` for `V / sqrt(w)`.

    Of what has a lower rank all is there too, with zeros for what has no part in it: the shapes are always the same.
    """
    if is_caught(ValueError) or is_caught(np.linalg.LinAlgError):
        found: Any = _multivariate._PSD.__new__(_multivariate._PSD)
        given = (M, cond, rcond, lower, check_finite, allow_singular)
        recorder.namespace.library_function(_multivariate._PSD.__init__)(found, *given)
        return with_factor(recorder, found, lower) if found.rank == found._M.shape[-1] else found
    found = _multivariate._PSD.__new__(_multivariate._PSD)
    found._M, found._pinv = recorder.call(np.asarray, (M,), {}), None
    s, u = recorder.call(scipy.linalg.eigh, (M,), {"lower": lower, "check_finite": check_finite})
    eps = recorder.namespace.library_function(_multivariate._eigvalsh_to_eps)(s, cond, rcond)
    is_part, smallest = s > eps, np.min(s)
    hold_to(recorder, smallest >= -eps, "the matrix is not positive semidefinite")
    if not allow_singular:
        hold_to(recorder, smallest > eps, "the matrix is not positive definite")
    found.eps, found.V, found.rank = 1e3 * eps, u * np.logical_not(is_part), np.count_nonzero(is_part)
    if not allow_singular or smallest > eps:
        return with_factor(recorder, found, lower)
    positive = np.where(is_part, s, 1.0)
    found.U = u * np.where(is_part, 1.0 / np.sqrt(positive), 0.0)
    found.log_pdet = np.sum(np.log(positive))
    return found


def with_factor(recorder: Recorder, found: Any, lower: bool) -> Any:
    """Of a positive definite matrix, by Cholesky's factor."""
    factor = np.linalg.cholesky(found._M if lower else found._M.T)
    found.U = recorder.call(scipy.linalg.solve_triangular, (factor, np.eye(found._M.shape[-1])), {"lower": True}).T
    found.log_pdet = 2.0 * np.sum(np.log(np.diag(factor)))
    return found


def hold_to(recorder: Recorder, holds: Any, what: str) -> None:
    recorder.scopes.require_after(recorder.value_of(holds), RAISES, what)
