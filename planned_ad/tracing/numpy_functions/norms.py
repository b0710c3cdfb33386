"""Norms of vectors and matrices."""

from __future__ import annotations

import math

import numpy as np

from ...rules.reductions import without
from ..record.dispatch import implements
from .contraction import pair
from .decompositions import singular
from .reductions import count_nonzero, max_, min_, reduced, sum_
from .support import axes_of, floating, reshape


def norm_of_vectors(recorder, x, ord, axis, keepdims):
    """Norms of all elements, or of those along `axis` (which may be a tuple of axes)."""
    value = floating(recorder, x)
    if ord is None or ord == 2:
        if len(value.shape) == 1 and not keepdims:
            square = pair(recorder, value, ("sum",), value, ("sum",), ())
        else:
            square = reduced(recorder, "reduce_sum", recorder.apply("multiply", value, value), axis, keepdims)
        return recorder.result(recorder.apply("sqrt", square))
    if ord == 0:
        count = count_nonzero(recorder, recorder.array(value), axis, keepdims=keepdims)
        return count.astype(value.dtype)
    size = recorder.array(recorder.apply("absolute", value))
    if ord == math.inf:
        return max_(recorder, size, axis, keepdims=keepdims)
    if ord == -math.inf:
        return min_(recorder, size, axis, keepdims=keepdims)
    if ord == 1:
        return sum_(recorder, size, axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    return sum_(recorder, size**ord, axis, keepdims=keepdims) ** (1.0 / ord)


def norm_of_matrices(recorder, x, ord, axes, keepdims):
    """Norms of the matrices that lie in the two axes `axes`."""
    if ord in (None, "fro", "f"):
        return norm_of_vectors(recorder, x, None, axes, keepdims)
    value = floating(recorder, x)
    row, column = (k % len(value.shape) for k in axes)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (2, -2, "nuc"):
        moved = recorder.value_of(np.moveaxis(recorder.array(value), (row, column), (-2, -1)))
        s = recorder.array(singular(recorder, moved)[1])
        found = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0] if ord == 2 else s[..., -1]
        return np.expand_dims(found, (row, column)) if keepdims else found[()]
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError("Invalid norm order for matrices.")
    inner, outer = (row, column) if abs(ord) == 1 else (column, row)
    sums = sum_(recorder, recorder.array(recorder.apply("absolute", value)), inner, keepdims=True)
    result = (max_ if ord > 0 else min_)(recorder, sums, outer, keepdims=True)
    if keepdims:
        return result
    value = recorder.value_of(result)
    return recorder.result(reshape(recorder, value, without(value.shape, axes_of((row, column), len(value.shape)))))


@implements(np.linalg.norm)
def norm(recorder, x, ord=None, axis=None, keepdims=False):
    ndim = len(recorder.value_of(x).shape)
    if axis is None and (ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1)):
        return norm_of_vectors(recorder, x, None, None, keepdims)
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        return norm_of_vectors(recorder, x, ord, axes, keepdims)
    if len(axes) == 2:
        return norm_of_matrices(recorder, x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@implements(np.linalg.vector_norm)
def vector_norm(recorder, x, /, *, axis=None, keepdims=False, ord=2):
    return norm_of_vectors(recorder, x, ord, axis, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(recorder, x, /, *, keepdims=False, ord="fro"):
    return norm_of_matrices(recorder, x, ord, (-2, -1), keepdims)
