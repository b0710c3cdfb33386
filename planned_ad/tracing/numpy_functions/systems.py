"""Linear systems and determinants: `solve`, `inv`, `det`, `slogdet`, `cholesky` and their like.

Compositions of the primitives of `rules.systems` and `rules.triangular`. What NumPy raises because of numbers (a matrix
is singular) is a guard here: a call of a plan raises `SingularMatrixError`, which is a `numpy.linalg.LinAlgError`. In a
`try` that catches such an error it is a test, as if the function asked whether the matrix is singular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import SlogdetResult

from ...regions.regions import View, c_strides
from ...rules.systems import SMALL
from ...tape.tape import Apply, Operation, Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from ..values.python_errors import is_caught
from .support import FLOAT, asarray, broadcast, cast, constant, made_in_block, reshape

SINGULAR = "Singular matrix"


# What these functions share.


def matrices(recorder: Recorder, *objects: object) -> list[Value]:
    """Floating arrays of one dtype, of what NumPy takes as matrices."""
    values = [recorder.value_of(obj) for obj in objects]
    dtype = np.result_type(*(v.dtype if v.dtype.kind == "f" else FLOAT for v in values))
    for value in values[:1]:
        if len(value.shape) < 2:
            raise LinAlgError(f"{len(value.shape)}-dimensional array given. Array must be at least two-dimensional")
    return [cast(recorder, v, dtype) for v in values]


def checked_square(value: Value) -> Value:
    if value.shape[-1] != value.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return value


def transposed_matrices(recorder: Recorder, value: Value) -> Value:
    """The transpose of each matrix."""
    shape, strides = list(value.shape), list(c_strides(value.shape))
    for axes in (shape, strides):
        axes[-2:] = axes[:-3:-1]
    return recorder.builder.view(value, View(0, tuple(shape), tuple(strides)))


def require_everywhere(recorder: Recorder, holds: Value, message: str) -> None:
    """A call of the plan raises LinAlgError unless `holds` is true everywhere; what catches that asks first."""
    if holds.size == 0:
        return
    if holds.shape:
        holds = recorder.apply("reduce_all", holds, axes=tuple(range(len(holds.shape))))
    if is_caught(LinAlgError) and not bool(recorder.result(holds)):
        raise LinAlgError(message)
    recorder.scopes.require_after(holds, "linear algebra", message)


def last(recorder: Recorder, value: Value, position: int) -> Value:
    """One number of each row."""
    *batch, _ = value.shape
    return recorder.builder.view(value, View(position, tuple(batch), c_strides(value.shape)[:-1]))


def factored(recorder: Recorder, value: Value, *, required: bool = True) -> Value:
    """The factorisation of square matrices, which are not singular where that is required."""
    found = recorder.apply("lu", value)
    if required:
        pivot = last(recorder, found, found.shape[-1] - 1)
        require_everywhere(recorder, recorder.apply("equal", pivot, constant(recorder, 0, pivot.dtype)), SINGULAR)
    return found


def solved(recorder: Recorder, a: Value, right: Value, transposed: bool = False) -> Value:
    """Solutions for right sides that are matrices, with both batches broadcast; a Cholesky factor is not factored."""
    factor, is_transposed = cholesky_factor_in(recorder, a)
    if factor is not None:
        return triangular(recorder, factor, right, lower=True, transposed=is_transposed != transposed)
    factors = factored(recorder, a)
    batch = np.broadcast_shapes(factors.shape[:-1], right.shape[:-2])
    if right.size == 0 or 0 in batch:
        return broadcast(recorder, right, (*batch, *right.shape[-2:]))
    factors = broadcast(recorder, factors, (*batch, factors.shape[-1]))
    right = broadcast(recorder, right, (*batch, *right.shape[-2:]))
    return recorder.apply("lu_solve", factors, right, transposed=transposed)


def cholesky_factor_in(recorder: Recorder, a: Value) -> tuple[Value | None, bool]:
    """The lower factor that a matrix is, or whose transpose, which a decomposition has given.

    None of another one; and of a small one, with which LU is as fast.
    """
    if a.shape[-1] <= SMALL:
        return None, False
    made: Operation | None = made_in_block(recorder, a)
    if isinstance(made, Apply) and made.primitive == "cholesky":
        return a, False
    if not isinstance(made, Apply) or made.primitive != "view" or len(a.shape) < 2:
        return None, False
    (factor,), strides = made.operands, list(c_strides(a.shape))
    strides[-2:] = strides[:-3:-1]
    is_transposed = factor.shape == a.shape and made.params["view"] == View(0, a.shape, tuple(strides))
    made = made_in_block(recorder, factor) if is_transposed else None
    return (factor, True) if isinstance(made, Apply) and made.primitive == "cholesky" else (None, False)


def triangular(
    recorder: Recorder, t: Value, b: Value, *, lower: bool, transposed: bool, unit: bool = False, check: bool = False
) -> Value:
    """Solutions of triangular systems, with both batches broadcast."""
    batch = np.broadcast_shapes(t.shape[:-2], b.shape[:-2])
    b = broadcast(recorder, b, (*batch, *b.shape[-2:]))
    if b.size == 0:
        return b
    if check and not unit:
        diagonal = recorder.value_of(np.diagonal(recorder.array(t), axis1=-2, axis2=-1))
        nonzero = recorder.apply("not_equal", diagonal, constant(recorder, 0, diagonal.dtype))
        require_everywhere(recorder, nonzero, "singular matrix: resolution failed at the diagonal")
    t = broadcast(recorder, t, (*batch, *t.shape[-2:]))
    return recorder.apply("triangular_solve", t, b, lower=lower, transposed=transposed, unit=unit)


# Functions of NumPy.


@implements(np.linalg.solve)
def solve(recorder, a, b):
    a, b = matrices(recorder, a, b)
    checked_square(a)
    is_vector = len(b.shape) == 1
    if is_vector:
        b = reshape(recorder, b, (*b.shape, 1))
    if b.shape[-2] != a.shape[-1]:
        raise ValueError(
            f"solve: Input operand 1 has a mismatch in its core dimension 0 (size {b.shape[-2]} is different from "
            f"{a.shape[-1]})"
        )
    if a.size == 0 or b.size == 0:
        found = broadcast(recorder, b, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]))
    else:
        found = solved(recorder, a, b)
    return recorder.array(reshape(recorder, found, found.shape[:-1]) if is_vector else found)


@implements(np.linalg.inv)
def inv(recorder, a):
    (a,) = matrices(recorder, a)
    checked_square(a)
    return recorder.array(inverse_matrices(recorder, a))


def inverse_matrices(recorder: Recorder, a: Value) -> Value:
    if a.size == 0:
        return a
    if cholesky_factor_in(recorder, a)[0] is not None:
        return solved(recorder, a, recorder.constant(np.eye(a.shape[-1]), a.dtype))
    return recorder.apply("lu_inverse", factored(recorder, a))


def explicit_det(recorder: Recorder, a: Value) -> Value:
    """The determinant of matrices of up to three rows, by its definition: its derivative is one of any matrix."""
    m = recorder.array(a)
    n = a.shape[-1]
    if n == 1:
        return recorder.value_of(m[..., 0, 0])
    if n == 2:
        return recorder.value_of(m[..., 0, 0] * m[..., 1, 1] - m[..., 0, 1] * m[..., 1, 0])
    total: Any = 0
    for j in range(3):
        k, q = (j + 1) % 3, (j + 2) % 3
        total = total + m[..., 0, j] * (m[..., 1, k] * m[..., 2, q] - m[..., 1, q] * m[..., 2, k])
    return recorder.value_of(total)


@implements(np.linalg.det)
def det(recorder, a):
    (a,) = matrices(recorder, a)
    checked_square(a)
    if a.size == 0:
        return recorder.result(broadcast(recorder, constant(recorder, 1, a.dtype), a.shape[:-2]))
    found = recorder.apply("lu_det", factored(recorder, a, required=False))
    if a.shape[-1] <= 3:
        # The value is NumPy's, to rounding also where a matrix is singular; the derivative is that of the polynomial.
        explicit = explicit_det(recorder, a)
        rest = recorder.apply("stop_gradient", recorder.apply("subtract", found, explicit))
        found = recorder.apply("add", explicit, rest)
    return recorder.result(found)


@implements(np.linalg.slogdet)
def slogdet(recorder, a):
    (a,) = matrices(recorder, a)
    checked_square(a)
    if a.size == 0:
        found = [broadcast(recorder, constant(recorder, k, a.dtype), a.shape[:-2]) for k in (1, 0)]
    else:
        both = recorder.apply("lu_slogdet", factored(recorder, a, required=False))
        found = [last(recorder, both, k) for k in (0, 1)]
    return SlogdetResult(*map(recorder.result, found))


NOT_POSITIVE_DEFINITE = "Matrix is not positive definite"


def cholesky_factor(recorder: Recorder, a: Value) -> Value:
    """The lower factor, of the lower triangle."""
    if a.size == 0:
        return a
    found = recorder.apply("cholesky", a)
    first = recorder.builder.view(found, View(0, found.shape[:-2], c_strides(found.shape)[:-2]))
    holds = recorder.apply("less", first, constant(recorder, 0, first.dtype))
    require_everywhere(recorder, recorder.apply("logical_not", holds), NOT_POSITIVE_DEFINITE)
    return found


@implements(np.linalg.cholesky)
def cholesky(recorder, a, /, *, upper=False):
    (a,) = matrices(recorder, a)
    checked_square(a)
    if not upper:
        return recorder.array(cholesky_factor(recorder, a))
    return recorder.array(transposed_matrices(recorder, cholesky_factor(recorder, transposed_matrices(recorder, a))))


@implements(np.linalg.tensorsolve)
def tensorsolve(recorder, a, b, axes=None):
    a, b = asarray(recorder, a), asarray(recorder, b)
    ndim = a.ndim
    if axes is not None:
        order = list(range(ndim))
        for k in axes:
            order.remove(k)
            order.insert(ndim, k)
        a = a.transpose(order)
    shape = a.shape[-(ndim - b.ndim) :]
    count = int(np.prod(shape, dtype=int))
    if a.size != count**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(recorder, a.reshape(count, count), b.ravel()).reshape(shape)


@implements(np.linalg.tensorinv)
def tensorinv(recorder, a, ind=2):
    a = asarray(recorder, a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    count = int(np.prod(a.shape[ind:], dtype=int))
    return inv(recorder, a.reshape(count, -1)).reshape(a.shape[ind:] + a.shape[:ind])
