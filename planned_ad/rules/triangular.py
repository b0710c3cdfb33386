"""The Cholesky decomposition and triangular systems, by LAPACK; matrices in the last two axes, as in `rules.systems`.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008 (2.3).
I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527, 2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import blas

from .algebra import Symbol
from .matrix_algebra import either, from_triangle, into_triangle, matrix_product, matrix_transpose, triangle
from .systems import GILES, Type, of_each_item, routine, square_matrices
from .table import Rule, register

# In the place of the first number of the factor, which is positive where there is one; the rest is then that of the
# identity, whose derivative is finite: a program that handles the error has a cotangent of zero there.
NOT_POSITIVE = -1.0


def infer_cholesky(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    square_matrices("cholesky", operands)
    return operands[0].shape, operands[0].dtype


def cholesky(a: np.ndarray) -> np.ndarray:
    """The lower factor; of the matrix, its lower triangle is read."""
    potrf = routine("potrf", a.dtype)

    def one(a: np.ndarray) -> np.ndarray:
        factor, info = potrf(a, lower=1, clean=1)
        if info > 0:
            factor[...] = np.eye(len(a))
            factor[0, 0] = NOT_POSITIVE
        return factor

    n = a.shape[-1]
    return of_each_item(one, a.shape[:-2], (n, n), a.dtype, a) if n else np.zeros(a.shape, a.dtype)


def halved(a: Symbol) -> Symbol:
    """The lower triangle with half the diagonal."""
    n = a.shape[-1]
    factors = np.tri(n, k=-1) + np.eye(n) / 2
    return triangle(a) * a.constant(factors).broadcast(a.shape)


def cholesky_adjoint(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    """`L^-T halved(L^T ct) L^-1` (Murray, 10), for the triangle that is read."""
    inner = halved(matrix_product(matrix_transpose(y), ct))
    left = y.apply("triangular_solve", inner, lower=True, transposed=True, unit=False)
    both = y.apply("triangular_solve", matrix_transpose(left), lower=True, transposed=True, unit=False)
    return into_triangle(matrix_transpose(both), True)


def cholesky_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol) -> Symbol:
    """`L halved(L^-1 dA L^-T)` (Murray, 8)."""
    da = from_triangle(tangents[0], True)
    left = y.apply("triangular_solve", da, lower=True, transposed=False, unit=False)
    both = y.apply("triangular_solve", matrix_transpose(left), lower=True, transposed=False, unit=False)
    return matrix_product(y, halved(both))


register(
    Rule(
        name="cholesky",
        kind="matrix",
        infer=infer_cholesky,
        evaluate=cholesky,
        adjoints=(cholesky_adjoint,),
        needs=("y",),
        tangent=cholesky_tangent,
        cost=100,
        reference="Murray, Differentiation of the Cholesky decomposition (2016)",
    )
)


# Triangular systems.


def infer_triangular_solve(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n = square_matrices("triangular_solve", operands)
    t, b = operands
    if b.shape[:-1] != (*batch, n):
        raise ValueError(f"triangular_solve: shapes {t.shape} and {b.shape}")
    return b.shape, b.dtype


def triangular_solve(t: np.ndarray, b: np.ndarray, *, lower: bool, transposed: bool, unit: bool) -> np.ndarray:
    """`t x = b`, or `t^T x = b`, where of `t` one triangle is read, and no diagonal where it is `unit`."""
    trsm = routine("trsm", t.dtype, blas)

    def one(t: np.ndarray, b: np.ndarray) -> np.ndarray:
        return trsm(1.0, t, b, lower=int(lower), trans_a=int(transposed), diag=int(unit)) if b.size else b

    return of_each_item(one, b.shape[:-2], b.shape[-2:], b.dtype, t, b)


def triangular_solve_in_matrix(
    ct: Symbol, y: Symbol, t: Symbol, b: Symbol, *, lower: bool, transposed: bool, unit: bool
) -> Symbol:
    w = t.apply("triangular_solve", ct, lower=lower, transposed=not transposed, unit=unit)
    whole = matrix_product(*((y, matrix_transpose(w)) if transposed else (w, matrix_transpose(y))))
    return -triangle(whole, lower, int(unit))


def triangular_solve_tangent(
    tangents: Sequence[Symbol | None], y: Symbol, t: Symbol, b: Symbol, *, lower: bool, transposed: bool, unit: bool
) -> Symbol | None:
    in_t, right = tangents
    if in_t is not None:
        dt = triangle(in_t, lower, int(unit))
        right = either(right, -matrix_product(matrix_transpose(dt) if transposed else dt, y))
    if right is None:
        return None
    return t.apply("triangular_solve", right, lower=lower, transposed=transposed, unit=unit)


register(
    Rule(
        name="triangular_solve",
        kind="matrix",
        infer=infer_triangular_solve,
        evaluate=triangular_solve,
        adjoints=(
            triangular_solve_in_matrix,
            lambda ct, y, t, b, *, lower, transposed, unit: t.apply(
                "triangular_solve", ct, lower=lower, transposed=not transposed, unit=unit
            ),
        ),
        needs=("ya", "a"),
        tangent=triangular_solve_tangent,
        cost=50,
        examples=tuple(
            {"lower": lower, "transposed": transposed, "unit": unit}
            for lower, transposed, unit in ((True, False, False), (False, True, False), (True, True, True))
        ),
        reference=GILES + ", 2.3.1",
    )
)
