"""Covariances of `scipy.stats`: what it makes of their eigenvectors, for positive definite ones by Cholesky's factor.

The derivative of eigenvectors has no meaning where eigenvalues are equal, as of `s * np.eye(n)`; that of what is made
of them here, an inverse and a determinant, has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.stats import _multivariate

from ..record.dispatch import implements


@implements(_multivariate._PSD)
def psd(recorder, M, *args, **kwargs):
    """SciPy's own, whose checks are those of its eigenvalues; of full rank with `L**-T` for `V / sqrt(w)`."""
    found: Any = _multivariate._PSD.__new__(_multivariate._PSD)
    recorder.namespace.library_function(_multivariate._PSD.__init__)(found, M, *args, **kwargs)
    n = found._M.shape[-1]
    is_lower = args[2] if len(args) > 2 else kwargs.get("lower", True)
    if found.rank == n:
        factor = np.linalg.cholesky(found._M if is_lower else found._M.T)
        found.U = recorder.call(scipy.linalg.solve_triangular, (factor, np.eye(n)), {"lower": True}).T
        found.log_pdet = 2.0 * np.sum(np.log(np.diag(factor)))
    return found
