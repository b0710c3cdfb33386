"""Products of vectors and matrices, and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...rules.reductions import without
from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .contraction import Labels, pair, single
from .counts import count_nonzero
from .decompositions import singular
from .einsum import chain
from .reductions import max_, min_, reduced, sum_
from .support import axes_of, axis_of, deliver, floating, promoted, refuse, reshape


def _labels(prefix: str, count: int) -> Labels:
    return tuple(f"{prefix}{k}" for k in range(count))


def _require(fits: bool, a: Value, b: Value, name: str) -> None:
    if not fits:
        raise ValueError(f"{name}: shapes {a.shape} and {b.shape} not aligned")


def _last_with(recorder: Recorder, name: str, a: Value, b: Value, axis: int) -> Value:
    """Sum over the last axis of `a` and `axis` of `b`; the other axes of `a`, then those of `b`, remain."""
    if a.shape == () or b.shape == ():
        return pair(
            recorder,
            a,
            _labels("a", len(a.shape)),
            b,
            _labels("b", len(b.shape)),
            _labels("a", len(a.shape)) + _labels("b", len(b.shape)),
        )
    axis = axis if len(b.shape) > 1 else -1
    _require(a.shape[-1] == b.shape[axis], a, b, name)
    a_labels, b_labels = list(_labels("a", len(a.shape))), list(_labels("b", len(b.shape)))
    a_labels[-1] = b_labels[axis] = "sum"
    kept = tuple(k for k in (*a_labels, *b_labels) if k != "sum")
    return pair(recorder, a, tuple(a_labels), b, tuple(b_labels), kept)


@implements(np.dot)
def dot(recorder, a, b, out=None):
    x, y = promoted(recorder, a, b)
    value = _by_diagonal(recorder, a, x, b, y)
    value = _last_with(recorder, "dot", x, y, -2) if value is None else value
    if out is not None and (out.dtype != value.dtype or out.shape != value.shape or not out.flags.c_contiguous):
        raise ValueError(f"dot: out must be a C-ordered array of shape {value.shape} and dtype {value.dtype}")
    return deliver(recorder, value, out)


@implements(np.inner)
def inner(recorder, a, b, /):
    a, b = promoted(recorder, a, b)
    return recorder.result(_last_with(recorder, "inner", a, b, -1))


@implements(np.vdot)
def vdot(recorder, a, b, /):
    a, b = promoted(recorder, a, b)
    _require(a.size == b.size, a, b, "vdot")
    a, b = (reshape(recorder, v, (v.size,)) for v in (a, b))
    return recorder.result(pair(recorder, a, ("sum",), b, ("sum",), ()))


@implements(np.linalg.outer)
@implements(np.outer)
def outer(recorder, a, b, out=None):
    a, b = promoted(recorder, a, b)
    a, b = (reshape(recorder, v, (v.size,)) for v in (a, b))
    return deliver(recorder, pair(recorder, a, ("a",), b, ("b",), ("a", "b")), out)


@implements(np.linalg.tensordot)
@implements(np.tensordot)
def tensordot(recorder, a, b, axes=2):
    a, b = promoted(recorder, a, b)
    if np.ndim(axes) == 0:
        over_a, over_b = tuple(range(-int(axes), 0)), tuple(range(int(axes)))
    else:
        over_a, over_b = (tuple(np.atleast_1d(k).tolist()) for k in axes)
    if len(over_a) != len(over_b):
        raise ValueError("shape-mismatch for sum")
    over_a, over_b = normalize_axis_tuple(over_a, len(a.shape)), normalize_axis_tuple(over_b, len(b.shape))
    _require(all(a.shape[i] == b.shape[j] for i, j in zip(over_a, over_b)), a, b, "tensordot")
    a_labels, b_labels = list(_labels("a", len(a.shape))), list(_labels("b", len(b.shape)))
    for i, j in zip(over_a, over_b):
        b_labels[j] = a_labels[i]
    kept = [k for i, k in enumerate(a_labels) if i not in over_a] + [
        k for j, k in enumerate(b_labels) if j not in over_b
    ]
    return recorder.array(pair(recorder, a, tuple(a_labels), b, tuple(b_labels), tuple(kept)))


# Products over the last axes, with the leading ones broadcast.


def _batched(recorder: Recorder, name: str, a: Value, a_core: str, b: Value, b_core: str, core: str) -> Value:
    """A product of the last axes `a_core` and `b_core`; axes before them are a batch, broadcast as NumPy does."""
    if len(a.shape) < len(a_core) or len(b.shape) < len(b_core):
        raise ValueError(f"{name}: an operand does not have enough dimensions (shapes {a.shape} and {b.shape})")
    lengths: dict[str, int] = {}
    for n, k in (
        *zip(a.shape[len(a.shape) - len(a_core) :], a_core),
        *zip(b.shape[len(b.shape) - len(b_core) :], b_core),
    ):
        _require(lengths.setdefault(k, n) == n, a, b, name)
    a_batch, b_batch = len(a.shape) - len(a_core), len(b.shape) - len(b_core)
    np.broadcast_shapes(a.shape[:a_batch], b.shape[:b_batch])
    batch = tuple(range(max(a_batch, b_batch)))[::-1]
    a_labels = (*batch[len(batch) - a_batch :], *a_core)
    b_labels = (*batch[len(batch) - b_batch :], *b_core)
    return pair(recorder, a, a_labels, b, b_labels, (*batch, *core))


@implements(np.linalg.matmul)
@implements(np.matmul)
def matmul(recorder, x1, x2, /, out=None, **options):
    refuse("matmul", **options)
    a, b = promoted(recorder, x1, x2)
    if a.shape == () or b.shape == ():
        raise ValueError("matmul: an operand is a scalar; use * instead")
    value = _by_diagonal(recorder, x1, a, x2, b)
    if value is None:
        row, column = "i" * (len(a.shape) > 1), "j" * (len(b.shape) > 1)
        value = _batched(recorder, "matmul", a, row + "k", b, "k" + column, row + column)
    return deliver(recorder, value, out)


def _by_diagonal(recorder: Recorder, x1: Any, a: Value, x2: Any, b: Value) -> Value | None:
    """The product where one operand is `numpy.diag(d)`: rows or columns times numbers; None where neither is."""
    if not 1 <= len(a.shape) <= 2 or not 1 <= len(b.shape) <= 2 or a.shape[-1] != b.shape[0]:
        return None
    rows, columns = _diagonal_of(recorder, x1, a), _diagonal_of(recorder, x2, b)
    if rows is not None:
        return pair(recorder, rows, ("i",), b, tuple("ij"[: len(b.shape)]), tuple("ij"[: len(b.shape)]))
    if columns is not None:
        return pair(recorder, a, tuple("ij"[-len(a.shape) :]), columns, ("j",), tuple("ij"[-len(a.shape) :]))
    return None


def _diagonal_of(recorder: Recorder, array: Any, value: Value) -> Value | None:
    """What is on the diagonal of a matrix that has zeros elsewhere, in the dtype of `value`."""
    if not recorder.is_array(array) or len(value.shape) != 2 or array.storage.diagonal is None:
        return None
    storage, (diagonal, version) = array.storage, array.storage.diagonal
    is_as_made = version == storage.version and array.layout == storage.view_of(storage.base)
    return recorder.builder.cast(diagonal, value.dtype) if is_as_made and recorder.scopes.sees(diagonal) else None


def _last_axis_product(function: Any, a_core: str, b_core: str, core: str) -> None:
    @implements(function)
    def product(recorder, x1, x2, /, out=None, axis=-1, **options):
        refuse(function.__name__, axis=None if axis == -1 else axis, **options)
        a, b = promoted(recorder, x1, x2)
        return deliver(recorder, _batched(recorder, function.__name__, a, a_core, b, b_core, core), out)


for _function, _cores in {"vecdot": ("k", "k", ""), "matvec": ("ik", "k", "i"), "vecmat": ("k", "kj", "j")}.items():
    if hasattr(np, _function):  # matvec and vecmat: from NumPy 2.2 on
        _last_axis_product(getattr(np, _function), *_cores)


@implements(np.linalg.vecdot)
def vecdot(recorder, x1, x2, /, *, axis=-1):
    a, b = promoted(recorder, x1, x2)
    a, b = (_to_last(recorder, v, axis) for v in (a, b))
    return recorder.result(_batched(recorder, "vecdot", a, "k", b, "k", ""))


def _to_last(recorder: Recorder, value: Value, axis: int) -> Value:
    axis = axis_of(axis, len(value.shape))
    labels = _labels("a", len(value.shape))
    return single(recorder, value, labels, tuple(k for k in labels if k != labels[axis]) + (labels[axis],))


@implements(np.linalg.multi_dot)
def multi_dot(recorder, arrays, *, out=None):
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    values = promoted(recorder, *arrays)
    labels: list[Labels] = [(k, k + 1) for k in range(len(values))]
    if len(values[0].shape) == 1:
        labels[0] = (1,)
    if len(values[-1].shape) == 1:
        labels[-1] = (len(values) - 1,)
    ends = (labels[0][:-1] or ()) + (labels[-1][1:] or ())
    return deliver(recorder, chain(recorder, values, labels, ends), out)


@implements(np.linalg.matrix_power)
def matrix_power(recorder, a, n):
    value = recorder.value_of(a)
    if len(value.shape) < 2 or value.shape[-1] != value.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    result: Value | None = None
    if n < 0:
        value, n = recorder.value_of(np.linalg.inv(recorder.array(value))), -n
    square = value
    while n:
        if n & 1:
            result = square if result is None else _batched(recorder, "matrix_power", result, "ik", square, "kj", "ij")
        n >>= 1
        if n:
            square = _batched(recorder, "matrix_power", square, "ik", square, "kj", "ij")
    if result is None:
        result = recorder.value_of(np.broadcast_to(np.eye(value.shape[-1], dtype=value.dtype), value.shape))
    return recorder.result(result)


# Norms of vectors and matrices.


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
