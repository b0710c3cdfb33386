"""Diagonals, triangles, and products that build matrices."""

from __future__ import annotations

import numpy as np

from ...python.versions import NUMPY
from ..record.dispatch import implements
from . import shapes
from .reductions import sum_
from .support import asarray, refuse


@implements(np.trace)
def trace(recorder, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return sum_(recorder, shapes.view(recorder, a, np.diagonal, offset, axis1, axis2), -1, dtype, out)


@implements(np.linalg.trace)
def matrix_trace(recorder, x, /, *, offset=0, dtype=None):
    return trace(recorder, x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(recorder, v, k=0):
    v = asarray(recorder, v)
    if v.ndim == 2:
        return shapes.view(recorder, v, np.diagonal, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.shape[0] + abs(k)
    out = recorder.empty((n, n), v.dtype)
    out[...] = 0
    start = k if k >= 0 else -k * n
    if v.shape[0]:
        out.reshape(-1)[start : start + (v.shape[0] - 1) * (n + 1) + 1 : n + 1] = v
    if not k:
        out.storage.diagonal = recorder.value_of(v), out.storage.version
    return out


@implements(np.diagflat)
def diagflat(recorder, v, k=0):
    return diag(recorder, asarray(recorder, v).ravel(), k)


@implements(np.fill_diagonal)
def fill_diagonal(recorder, a, val, wrap=False):
    refuse("fill_diagonal", wrap=wrap or None)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) != 1):
        raise ValueError("array must be at least 2-d, and all dimensions equal where there are more than two")
    n = min(a.shape)
    inner = a.geometry[(slice(0, n),) * a.ndim]
    along = recorder.seen(a, np.einsum(inner, [0] * a.ndim, [0]))
    if np.ndim(val):
        val = asarray(recorder, val).ravel()[np.arange(n) % np.size(val)]
    along[...] = val


def _triangle(recorder, m, keep):
    m = asarray(recorder, m)
    return np.where(keep(m.shape[-2:]), m, np.zeros((), m.dtype))


@implements(np.tril)
def tril(recorder, m, k=0):
    return _triangle(
        recorder, np.broadcast_to(m, _square(m)), lambda shape: np.tri(shape[0], shape[1], k=k, dtype=np.bool)
    )


@implements(np.triu)
def triu(recorder, m, k=0):
    return _triangle(
        recorder, np.broadcast_to(m, _square(m)), lambda shape: ~np.tri(shape[0], shape[1], k=k - 1, dtype=np.bool)
    )


def _square(m):
    """A vector is taken as each row of a square matrix."""
    return m.shape * 2 if m.ndim == 1 else m.shape


@implements(np.kron)
def kron(recorder, a, b):
    a, b = asarray(recorder, a), asarray(recorder, b)
    if a.ndim == 0 or b.ndim == 0:
        return recorder.array(recorder.value_of(a * b))
    ndim = max(a.ndim, b.ndim)
    a, b = a[(None,) * (ndim - a.ndim)], b[(None,) * (ndim - b.ndim)]
    product = a[(slice(None), None) * ndim] * b[(None, slice(None)) * ndim]
    return product.reshape(tuple(n * m for n, m in zip(a.shape, b.shape)))


@implements(np.linalg.cross)
def cross_in_space(recorder, a, b, axis=-1):
    """Of vectors with three components."""
    if np.shape(a)[axis] != 3 or np.shape(b)[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross(recorder, a, b, axis=axis)


@implements(np.cross)
def cross(recorder, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Of vectors with two or three components; where both have two, the third component."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a = shapes.view(recorder, a, np.moveaxis, axisa, -1)
    b = shapes.view(recorder, b, np.moveaxis, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not {*sizes} <= ({2, 3} if NUMPY < (2, 5) else {3}):
        raise ValueError(
            "incompatible dimensions for cross product\n(dimension must be 2 or 3)"
            if NUMPY < (2, 5)
            else "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{sizes[0]} and {sizes[1]} dimensional instead."
        )
    third = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if a.shape[-1] == b.shape[-1] == 2:
        return third
    out = recorder.empty((*third.shape, 3), np.result_type(a.dtype, b.dtype))
    if a.shape[-1] == 2:
        out[..., 0], out[..., 1] = a[..., 1] * b[..., 2], -(a[..., 0] * b[..., 2])
    elif b.shape[-1] == 2:
        out[..., 0], out[..., 1] = -(a[..., 2] * b[..., 1]), a[..., 2] * b[..., 0]
    else:
        out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
        out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = third
    return shapes.view(recorder, out, np.moveaxis, -1, axisc)


@implements(np.vander)
def vander(recorder, x, N=None, increasing=False):
    x = asarray(recorder, x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = len(x) if N is None else N
    x = x.astype(np.promote_types(x.dtype, int))
    out = recorder.empty((len(x), count), x.dtype)
    for k in range(count):
        out[:, k if increasing else count - 1 - k] = x**k
    return out
