"""Covariances and correlations."""

from __future__ import annotations

import numpy as np

from ..record.dispatch import implements
from . import shapes
from .joining import concatenate
from .support import FLOAT, asarray, refuse


@implements(np.cov)
def cov(recorder, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    refuse("cov", fweights=fweights, aweights=aweights)
    if dtype is None:
        dtype = np.promote_types(recorder.result_type(m, *([] if y is None else [y])), FLOAT)
    x = _variables(recorder, m, rowvar, dtype)
    if y is not None:
        x = concatenate(recorder, (x, _variables(recorder, y, rowvar, dtype)), 0)
    x = x - x.mean(axis=1, keepdims=True)
    count = x.shape[1] - (int(not bias) if ddof is None else ddof)
    return shapes.view(recorder, np.dot(x, x.T) / count, np.squeeze)


def _variables(recorder, m, rowvar, dtype):
    x = shapes.atleast_2d(recorder, asarray(recorder, m).astype(dtype))
    return x.T if not rowvar and x.shape[0] != 1 else x


@implements(np.corrcoef)
def corrcoef(recorder, x, y=None, rowvar=True, *, dtype=None):
    c = cov(recorder, x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(shapes.view(recorder, c, np.diagonal))
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)
