"""Linear systems: LU factorisations, by LAPACK.

All take matrices in the last two axes; the axes before them are a batch, the same for all operands. Routines are
LAPACK's, so that numbers and what counts as singular are NumPy's. Rows whose `kind` is 'matrix' know nothing of the
batch but that it is there.

**A factorisation stands for its matrix.** The result of `lu` is opaque: only the rows below read it. Its tangent and
its cotangent are those of the *matrix*, in the places of the n * n numbers of the factors. So the rule of each row is
that of the function of the matrix, of every order, and each factorisation is used again in all derivatives: the adjoint
of `A x = b` is `A^T w = xbar, bbar = w, Abar = -w x^T`.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008 (2.2, 2.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .algebra import Symbol, where
from .matrix_algebra import (
    array_at,
    either,
    matrix_product,
    matrix_transpose,
    pack,
    triangle,
)
from .rows import check_kinds, same_dtype
from .table import Rule, register

Type = tuple[tuple[int, ...], np.dtype]
GILES = "Giles, Collected matrix derivative results for forward and reverse mode AD (2008)"


def routine(name: str, dtype: np.dtype, library: Any = lapack) -> Any:
    """SciPy's wrapper of a LAPACK or BLAS routine for numbers of this kind."""
    return getattr(library, PREFIX[np.dtype(dtype).char] + name)


PREFIX = {"f": "s", "d": "d", "F": "c", "D": "z"}  # of the names of routines


def square_matrices(name: str, operands: Sequence) -> tuple[tuple[int, ...], int]:
    """The batch and the order of the first operand."""
    check_kinds(name, operands, ("f",))
    same_dtype(operands, {})
    *batch, n, m = operands[0].shape
    if n != m:
        raise ValueError(f"{name}: matrices of shape {(n, m)}")
    return tuple(batch), n


SMALL = 8  # factors of matrices up to this order lie row by row, others column by column


def lu_width(n: int) -> int:
    """Numbers of a factorisation: both factors, the interchanges, and the first zero pivot (from 1; 0: none)."""
    return n * n + n + 1


def order_of_factors(width: int) -> int:
    return int((width - 1) ** 0.5)


def of_each_item(
    function: Any, batch: tuple[int, ...], shape: tuple[int, ...], dtype: Any, *arrays: np.ndarray
) -> np.ndarray:
    """`function` of each item of the batch, as one array."""
    out = np.empty((*batch, *shape), dtype)
    for place in np.ndindex(*batch):
        out[place] = function(*(a[place] for a in arrays))
    return out


# LU.


def infer_lu(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n = square_matrices("lu", operands)
    return (*batch, lu_width(n)), operands[0].dtype


def lu(a: np.ndarray) -> np.ndarray:
    n = a.shape[-1]
    getrf = routine("getrf", a.dtype)

    def one(a: np.ndarray) -> np.ndarray:
        if n == 0:
            return np.zeros(1, a.dtype)
        factors, interchanges, info = getrf(a)
        numbers = factors if n <= SMALL else factors.T
        return np.concatenate([numbers.reshape(-1), interchanges + 1.0, [info]])

    return of_each_item(one, a.shape[:-2], (lu_width(n),), a.dtype, a)


def lu_parts(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of one factorisation, what LAPACK calls its factors and its interchanges (from 0)."""
    n = order_of_factors(len(f))
    factors = f[: n * n].reshape(n, n)
    return factors if n <= SMALL else factors.T, f[n * n : n * n + n].astype(np.int32) - 1


def matrix_of(f: Symbol) -> Symbol:
    """A tangent or cotangent of a factorisation, as that of the matrix."""
    n = order_of_factors(f.shape[-1])
    return array_at(f, 0, (n, n))


def standing_for(a: Symbol) -> Symbol:
    """A tangent or cotangent of a matrix, as that of its factorisation."""
    n = a.shape[-1]
    return pack([(0, n * n, a), (n * n, n + 1, None)], lu_width(n), a, len(a.shape) - 2)


register(
    Rule(
        name="lu",
        kind="matrix",
        infer=infer_lu,
        evaluate=lu,
        adjoints=(lambda ct, y, a: matrix_of(ct),),
        needs=("",),
        tangent=lambda tangents, y, a: standing_for(tangents[0]),
        cost=200,
        samples=((-2, 2),),
        reference=GILES,
    )
)


def infer_lu_solve(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("lu_solve", operands, ("f",))
    f, b = operands
    if f.shape[:-1] != b.shape[:-2] or order_of_factors(f.shape[-1]) != b.shape[-2]:
        raise ValueError(f"lu_solve: shapes {f.shape} and {b.shape}")
    return b.shape, same_dtype(operands, parameters)


def lu_solve(f: np.ndarray, b: np.ndarray, *, transposed: bool) -> np.ndarray:
    getrs = routine("getrs", f.dtype)

    def one(f: np.ndarray, b: np.ndarray) -> np.ndarray:
        return getrs(*lu_parts(f), b, trans=int(transposed))[0] if b.size else b

    return of_each_item(one, b.shape[:-2], b.shape[-2:], b.dtype, f, b)


def lu_solve_in_matrix(ct: Symbol, y: Symbol, f: Symbol, b: Symbol, *, transposed: bool) -> Symbol:
    w = f.apply("lu_solve", ct, transposed=not transposed)
    return standing_for(-matrix_product(*((y, matrix_transpose(w)) if transposed else (w, matrix_transpose(y)))))


def lu_solve_tangent(
    tangents: Sequence[Symbol | None], y: Symbol, f: Symbol, b: Symbol, *, transposed: bool
) -> Symbol | None:
    """`A dx = db - dA x`."""
    in_f, right = tangents
    if in_f is not None:
        da = matrix_of(in_f)
        right = either(right, -matrix_product(matrix_transpose(da) if transposed else da, y))
    return None if right is None else f.apply("lu_solve", right, transposed=transposed)


register(
    Rule(
        name="lu_solve",
        kind="matrix",
        infer=infer_lu_solve,
        evaluate=lu_solve,
        adjoints=(
            lu_solve_in_matrix,
            lambda ct, y, f, b, *, transposed: f.apply("lu_solve", ct, transposed=not transposed),
        ),
        needs=("ya", "a"),
        tangent=lu_solve_tangent,
        cost=50,
        examples=({"transposed": False}, {"transposed": True}),
        reference=GILES + ", 2.3.1",
    )
)


def infer_lu_inverse(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("lu_inverse", operands, ("f",))
    (f,) = operands
    n = order_of_factors(f.shape[-1])
    return (*f.shape[:-1], n, n), f.dtype


def lu_inverse(f: np.ndarray) -> np.ndarray:
    n = order_of_factors(f.shape[-1])
    return lu_solve(f, np.broadcast_to(np.eye(n, dtype=f.dtype), (*f.shape[:-1], n, n)), transposed=False)


register(
    Rule(
        name="lu_inverse",
        kind="matrix",
        infer=infer_lu_inverse,
        evaluate=lu_inverse,
        adjoints=(
            lambda ct, y, f: standing_for(
                -matrix_product(matrix_transpose(y), matrix_product(ct, matrix_transpose(y)))
            ),
        ),
        needs=("y",),
        tangent=lambda tangents, y, f: -matrix_product(y, matrix_product(matrix_of(tangents[0]), y)),
        cost=100,
        reference=GILES + ", 2.2.3",
    )
)


def infer_lu_det(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("lu_det", operands, ("f",))
    return operands[0].shape[:-1], operands[0].dtype


def lu_det(f: np.ndarray) -> np.ndarray:
    def one(f: np.ndarray) -> np.ndarray:
        factors, interchanges = lu_parts(f)
        odd = np.count_nonzero(interchanges != np.arange(len(interchanges))) % 2
        return np.prod(np.diagonal(factors), dtype=f.dtype) * (-1 if odd else 1)

    return of_each_item(one, f.shape[:-1], (), f.dtype, f)


def scaled_matrices(ct: Symbol, a: Symbol) -> Symbol:
    """Each matrix times its number."""
    return a * ct.reshape((*ct.shape, 1, 1)).broadcast(a.shape)


def traces(a: Symbol, b: Symbol) -> Symbol:
    """The trace of each product."""
    k = len(a.shape)
    return (a * matrix_transpose(b)).apply("reduce_sum", axes=(k - 2, k - 1))


register(
    Rule(
        name="lu_det",
        kind="matrix",
        infer=infer_lu_det,
        evaluate=lu_det,
        adjoints=(lambda ct, y, f: standing_for(scaled_matrices(ct * y, matrix_transpose(f.apply("lu_inverse")))),),
        needs=("ya",),
        tangent=lambda tangents, y, f: y * traces(f.apply("lu_inverse"), matrix_of(tangents[0])),
        cost=2,
        reference=GILES + ", 2.2.4",
    )
)


def infer_lu_slogdet(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("lu_slogdet", operands, ("f",))
    return (*operands[0].shape[:-1], 2), operands[0].dtype


def lu_slogdet(f: np.ndarray) -> np.ndarray:
    def one(f: np.ndarray) -> tuple[Any, Any]:
        factors, interchanges = lu_parts(f)
        pivots = np.diagonal(factors)
        odd = np.count_nonzero(interchanges != np.arange(len(interchanges))) % 2
        return np.prod(np.sign(pivots)) * (-1 if odd else 1), np.sum(np.log(np.abs(pivots)), dtype=f.dtype)

    with np.errstate(divide="ignore"):
        return of_each_item(one, f.shape[:-1], (2,), f.dtype, f)


def lu_slogdet_tangent(tangents: Sequence[Symbol], y: Symbol, f: Symbol) -> Symbol:
    of_log = traces(f.apply("lu_inverse"), matrix_of(tangents[0]))
    return pack([(0, 1, None), (1, 1, of_log.reshape((*of_log.shape, 1)))], 2, of_log, len(of_log.shape))


register(
    Rule(
        name="lu_slogdet",
        kind="matrix",
        infer=infer_lu_slogdet,
        evaluate=lu_slogdet,
        adjoints=(
            lambda ct, y, f: standing_for(
                scaled_matrices(array_at(ct, 1, ()), matrix_transpose(f.apply("lu_inverse")))
            ),
        ),
        needs=("a",),
        tangent=lu_slogdet_tangent,
        cost=4,
        reference=GILES + ", 2.2.4",
    )
)


# The factors as numbers.


def infer_lu_factors(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("lu_factors", operands, ("f",))
    (f,) = operands
    n = order_of_factors(f.shape[-1])
    return (*f.shape[:-1], n, n), f.dtype


def lu_factors(f: np.ndarray) -> np.ndarray:
    """`L`, but for its unit diagonal, and `U` in one matrix."""
    n = order_of_factors(f.shape[-1])
    return of_each_item(lambda f: lu_parts(f)[0], f.shape[:-1], (n, n), f.dtype, f)


def rows_permuted(f: Symbol, a: Symbol, inverse: bool) -> Symbol:
    """The rows of `a` as the factorisation has them (`P a`), or back where they were."""
    *batch, n, _ = a.shape
    order = array_at(f, n * n, (n,)).cast(np.int64).apply("permutation", inverse=inverse)
    axes = [
        a.constant(np.arange(k), np.dtype(np.int64)).reshape((k, *[1] * (len(batch) - i))) for i, k in enumerate(batch)
    ]
    return a.apply("gather", *(axis.broadcast(order.shape) for axis in axes), order)


def with_last_pivot(y: Symbol) -> Symbol:
    """The factors with one for the last pivot, of which their derivative does not depend: that may be zero."""
    n = y.shape[-1]
    is_last = np.zeros((n, n), bool)
    is_last[-1:, -1:] = True
    return where(y.constant(is_last, np.dtype(bool)).broadcast(y.shape), y.constant(1.0, y.dtype), y)


def lu_factors_adjoint(ct: Symbol, y: Symbol, f: Symbol) -> Symbol:
    """The transpose of `lu_factors_tangent`."""
    y = with_last_pivot(y)
    lower, upper = triangle(y, True, 1), triangle(y, False)
    of_l, of_u = triangle(ct, True, 1), triangle(ct, False)
    inner = triangle(of_l + matrix_product(matrix_transpose(lower), of_l), True, 1) + triangle(
        matrix_product(of_u, matrix_transpose(upper)), False
    )
    left = y.apply("triangular_solve", inner, lower=True, transposed=True, unit=True)
    right = y.apply("triangular_solve", matrix_transpose(left), lower=False, transposed=False, unit=False)
    return standing_for(rows_permuted(f, matrix_transpose(right), True))


def lu_factors_tangent(tangents: Sequence[Symbol], y: Symbol, f: Symbol) -> Symbol:
    """With `X = L^-1 P dA U^-1`: `dL = L tril(X, -1)`, `dU = triu(X) U`."""
    y = with_last_pivot(y)
    da = rows_permuted(f, matrix_of(tangents[0]), False)
    left = y.apply("triangular_solve", da, lower=True, transposed=False, unit=True)
    inner = matrix_transpose(
        y.apply("triangular_solve", matrix_transpose(left), lower=False, transposed=True, unit=False)
    )
    below = triangle(inner, True, 1)
    dl = below + matrix_product(triangle(y, True, 1), below)
    return triangle(dl, True, 1) + triangle(matrix_product(triangle(inner, False), triangle(y, False)), False)


register(
    Rule(
        name="lu_factors",
        kind="matrix",
        infer=infer_lu_factors,
        evaluate=lu_factors,
        adjoints=(lu_factors_adjoint,),
        needs=("ya",),
        tangent=lu_factors_tangent,
        cost=2,
        reference=GILES,
    )
)


def infer_permutation(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("permutation", operands, ("i",))
    return operands[0].shape, operands[0].dtype


def permutation_of(interchanges: np.ndarray, *, inverse: bool) -> np.ndarray:
    """What `interchanges` (from 1, of each place with a later one, in order) make of 0, 1, 2, ...; or its inverse."""

    def one(interchanges: np.ndarray) -> np.ndarray:
        order = np.arange(len(interchanges))
        for k, other in enumerate(interchanges - 1):
            order[[k, other]] = order[[other, k]]
        return np.argsort(order) if inverse else order

    return of_each_item(one, interchanges.shape[:-1], interchanges.shape[-1:], interchanges.dtype, interchanges)


register(
    Rule(
        name="permutation",
        kind="matrix",
        infer=infer_permutation,
        evaluate=permutation_of,
        adjoints=(None,),
        needs=("",),
        cost=2,
        kinds=("i",),
        samples=((3, 3),),
        examples=({"inverse": False}, {"inverse": True}),
    )
)
