"""Banded systems and Sylvester's equation.

A factorised band stands for its matrix, in the form in which SciPy has bands: diagonals as rows (see `rules.systems`).

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008.
R. H. Bartels, G. W. Stewart, "Algorithm 432: Solution of the matrix equation AX + XB = C", Comm. ACM 15, 1972.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_sylvester

from ..regions.regions import Region, View, c_strides, contiguous
from .algebra import Symbol
from .matrix_algebra import array_at, either, matrix_product, matrix_transpose, pack
from .rows import check_kinds, same_dtype
from .systems import GILES, Type, of_each_item, routine
from .table import Rule, register

# Bands: `lower` diagonals below and `upper` above the main one; the factors take `lower` more.


def band_width(lower: int, upper: int, n: int) -> int:
    """Numbers of a factorisation: the factors, the interchanges, and the first zero pivot (0: none)."""
    return (2 * lower + upper + 1) * n + n + 1


def infer_band_lu(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("band_lu", operands, ("f",))
    lower, upper = parameters["lower"], parameters["upper"]
    *batch, rows, n = operands[0].shape
    if rows != lower + upper + 1:
        raise ValueError(f"band_lu: {rows} diagonals, not {lower + upper + 1}")
    return (*batch, band_width(lower, upper, n)), operands[0].dtype


def is_tridiagonal(lower: int, upper: int, n: int) -> bool:
    """Whether LAPACK has routines of its own: the factors are then its four vectors, each of which has `n` places."""
    return lower == upper == 1 and n > 2


def band_lu(a: np.ndarray, *, lower: int, upper: int) -> np.ndarray:
    gbtrf, gttrf = routine("gbtrf", a.dtype), routine("gttrf", a.dtype)
    n = a.shape[-1]

    def one(a: np.ndarray) -> np.ndarray:
        if is_tridiagonal(lower, upper, n):
            *vectors, interchanges, info = gttrf(a[2, :-1], a[1], a[0, 1:])
            factors = [np.append(vector, np.zeros(n - len(vector), a.dtype)) for vector in vectors]
            return np.concatenate([*factors, interchanges, [info]])
        factors, interchanges, info = gbtrf(np.concatenate([np.zeros((lower, n), a.dtype), a]), lower, upper)
        return np.concatenate([factors.T.reshape(-1), interchanges + 1.0, [info]])

    return of_each_item(one, a.shape[:-2], (band_width(lower, upper, n),), a.dtype, a)


def band_of(f: Symbol, lower: int, upper: int) -> Symbol:
    """A tangent or cotangent of a factorisation, as that of the diagonals."""
    rows = lower + upper + 1
    n = (f.shape[-1] - 1) // (rows + lower + 1)
    return array_at(f, 0, (rows, n))


def standing_for_band(a: Symbol, lower: int, upper: int) -> Symbol:
    *batch, rows, n = a.shape
    width = band_width(lower, upper, n)
    return pack([(0, rows * n, a), (rows * n, width - rows * n, None)], width, a, len(batch))


register(
    Rule(
        name="band_lu",
        kind="matrix",
        infer=infer_band_lu,
        evaluate=band_lu,
        adjoints=(lambda ct, y, a, *, lower, upper: band_of(ct, lower, upper),),
        needs=("",),
        tangent=lambda tangents, y, a, *, lower, upper: standing_for_band(tangents[0], lower, upper),
        cost=20,
    )
)


def infer_band_solve(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("band_solve", operands, ("f",))
    f, b = operands
    if f.shape != (*b.shape[:-2], band_width(parameters["lower"], parameters["upper"], b.shape[-2])):
        raise ValueError(f"band_solve: shapes {f.shape} and {b.shape}")
    return b.shape, same_dtype(operands, parameters)


def band_solve(f: np.ndarray, b: np.ndarray, *, lower: int, upper: int, transposed: bool) -> np.ndarray:
    gbtrs, gttrs = routine("gbtrs", f.dtype), routine("gttrs", f.dtype)
    n, rows = b.shape[-2], 2 * lower + upper + 1

    def one(f: np.ndarray, b: np.ndarray) -> np.ndarray:
        if is_tridiagonal(lower, upper, n):
            dl, d, du, du2 = f[: 4 * n].reshape(4, n)
            interchanges = f[4 * n : 5 * n].astype(np.int32)
            return gttrs(dl[:-1], d, du[:-1], du2[:-2], interchanges, b, trans="T" if transposed else "N")[0]
        factors, interchanges = f[: rows * n].reshape(n, rows).T, f[rows * n : rows * n + n].astype(np.int32) - 1
        return gbtrs(factors, lower, upper, b, interchanges, trans=int(transposed))[0]

    return of_each_item(one, b.shape[:-2], b.shape[-2:], b.dtype, f, b)


def stretch(a: Symbol, start: int, count: int) -> Symbol:
    """Rows of each matrix."""
    *batch, _, m = a.shape
    view = View(start * m, (*batch, count, m), c_strides(a.shape))
    return Symbol(a.builder, a.builder.view(a.value, view))


def diagonals_of_product(w: Symbol, x: Symbol, lower: int, upper: int) -> Symbol:
    """The diagonals of `w x^T`, as SciPy has them: element (i, j) in row `upper + i - j` and column j."""
    builder = w.builder
    *batch, n, _ = w.shape
    rows = lower + upper + 1
    buffer = builder.new_buffer("local", "diagonals", w.dtype, contiguous((*batch, rows, n)))
    builder.store(buffer.whole, w.constant(0).value)
    strides = c_strides((*batch, rows, n))
    for row in range(rows):
        below = row - upper  # i - j
        count = n - abs(below)
        if count <= 0:
            continue
        i, j = max(below, 0), max(-below, 0)
        terms = stretch(w, i, count) * stretch(x, j, count)
        total = terms.apply("reduce_sum", axes=(len(terms.shape) - 1,))
        view = View(row * n + j, (*batch, count), (*strides[:-2], 1))
        builder.store(Region(buffer.id, view), total.value)
    return Symbol(builder, builder.load(buffer.whole))


def band_solve_in_matrix(
    ct: Symbol, y: Symbol, f: Symbol, b: Symbol, *, lower: int, upper: int, transposed: bool
) -> Symbol:
    w = f.apply("band_solve", ct, lower=lower, upper=upper, transposed=not transposed)
    pair = (y, w) if transposed else (w, y)
    return standing_for_band(-diagonals_of_product(*pair, lower, upper), lower, upper)


def band_product(a: Symbol, x: Symbol, lower: int, upper: int, transposed: bool) -> Symbol:
    """The banded matrix with these diagonals times `x`."""
    builder = x.builder
    *batch, n, m = x.shape
    buffer = builder.new_buffer("local", "product", x.dtype, contiguous(x.shape))
    builder.store(buffer.whole, x.constant(0).value)
    strides = c_strides(x.shape)
    for row in range(lower + upper + 1):
        below = row - upper
        count = n - abs(below)
        if count <= 0:
            continue
        i, j = max(below, 0), max(-below, 0)
        own = View(row * n + j, (*batch, count, m), (*c_strides(a.shape)[:-2], 1, 0))
        numbers = Symbol(builder, builder.view(a.value, own))
        to, start = (j, i) if transposed else (i, j)
        terms = numbers * stretch(x, start, count)
        target = View(to * m, (*batch, count, m), strides)
        builder.store(Region(buffer.id, target), terms.value, accumulate=True)
    return Symbol(builder, builder.load(buffer.whole))


def band_solve_tangent(
    tangents: Sequence[Symbol | None], y: Symbol, f: Symbol, b: Symbol, *, lower: int, upper: int, transposed: bool
) -> Symbol | None:
    in_f, right = tangents
    if in_f is not None:
        right = either(right, -band_product(band_of(in_f, lower, upper), y, lower, upper, transposed))
    if right is None:
        return None
    return f.apply("band_solve", right, lower=lower, upper=upper, transposed=transposed)


register(
    Rule(
        name="band_solve",
        kind="matrix",
        infer=infer_band_solve,
        evaluate=band_solve,
        adjoints=(
            band_solve_in_matrix,
            lambda ct, y, f, b, *, lower, upper, transposed: f.apply(
                "band_solve", ct, lower=lower, upper=upper, transposed=not transposed
            ),
        ),
        needs=("ya", "a"),
        tangent=band_solve_tangent,
        cost=20,
        reference=GILES + ", 2.3.1",
    )
)


# A X + X B = Q.


def infer_sylvester(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("sylvester", operands, ("f",))
    a, b, q = operands
    *batch, m, n = q.shape
    if a.shape != (*batch, m, m) or b.shape != (*batch, n, n):
        raise ValueError(f"sylvester: shapes {a.shape}, {b.shape} and {q.shape}")
    return q.shape, same_dtype(operands, parameters)


def sylvester(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    return of_each_item(solve_sylvester, q.shape[:-2], q.shape[-2:], q.dtype, a, b, q)


def sylvester_back(a: Symbol, b: Symbol, ct: Symbol) -> Symbol:
    """The cotangent `W` of the right side: `A^T W + W B^T = Xbar`; then `Abar = -W X^T`, `Bbar = -X^T W`."""
    return matrix_transpose(a).apply("sylvester", matrix_transpose(b), ct)


def sylvester_tangent(tangents: Sequence[Symbol | None], y: Symbol, a: Symbol, b: Symbol, q: Symbol) -> Symbol | None:
    da, db, right = tangents
    if da is not None:
        right = either(right, -matrix_product(da, y))
    if db is not None:
        right = either(right, -matrix_product(y, db))
    return None if right is None else a.apply("sylvester", b, right)


register(
    Rule(
        name="sylvester",
        kind="matrix",
        infer=infer_sylvester,
        evaluate=sylvester,
        adjoints=(
            lambda ct, y, a, b, q: -matrix_product(sylvester_back(a, b, ct), matrix_transpose(y)),
            lambda ct, y, a, b, q: -matrix_product(matrix_transpose(y), sylvester_back(a, b, ct)),
            lambda ct, y, a, b, q: sylvester_back(a, b, ct),
        ),
        needs=("yab", "yab", "ab"),
        tangent=sylvester_tangent,
        cost=2000,
        reference="Bartels and Stewart (1972); " + GILES,
    )
)
