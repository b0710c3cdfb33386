"""Eigenvalues, singular values, QR: the results of one decomposition are packed, one after the other, in one row.

Matrices are in the last two axes; of the batch before them these rows only know that it is there (`kind` 'matrix').

**Where values are equal**, vectors that belong to them are defined up to a rotation, and have no derivative: it is nan,
unless nothing depends on them (their cotangents are zero), as in sums over the values. Pairs that rounding cannot tell
apart (closer than `n eps` times the largest) count as equal. The vectors that complete a basis (`full_matrices=True`,
`mode="complete"`) may be rotated at will, too; they follow the others by the least rotation, which is right for what
does not depend on the choice. Likewise vectors of a singular value that is zero have no derivative out of their space.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008 (3.1, 3.2).
J. R. Magnus, "On differentiating eigenvalues and eigenvectors", Econometric Theory 1, 1985.
J. Townsend, "Differentiating the singular value decomposition", 2016.
S. F. Walter, L. Lehmann, R. Lamour, "On evaluating higher-order derivatives of the QR decomposition of tall matrices
with full column rank in forward and reverse mode algorithmic differentiation", Optim. Methods Softw. 27, 2012.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..regions.regions import View, c_strides
from .algebra import Symbol, where
from .complex_symbols import ComplexSymbol, Matrix, of_each_part, stacked, unstacked, with_blocks
from .matrix_algebra import (
    array_at,
    columns,
    diagonal,
    from_triangle,
    into_triangle,
    masked,
    matrix_product,
    matrix_transpose,
    pack,
    rows,
    skew,
    triangle,
)
from .rows import check_kinds
from .systems import Type, of_each_item, routine, square_matrices
from .table import Rule, register

Shape = tuple[int, ...]


def unpack(y: Symbol, shapes: Sequence[Shape]) -> list[Symbol]:
    """The arrays of these shapes, side by side in each row."""
    found, start = [], 0
    for shape in shapes:
        found.append(array_at(y, start, shape))
        start += size(shape)
    return found


def packed(parts: Sequence[Symbol], batch: int) -> Symbol:
    counts = [size(p.shape[batch:]) for p in parts]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    return pack(list(zip(starts, counts, parts)), sum(counts), parts[0], batch)


def size(shape: Shape) -> int:
    return int(np.prod(shape, dtype=int))


def as_rows(a: Matrix, count: int) -> Matrix:
    """A vector of each item, as each row of a matrix."""
    return a.reshape((*a.shape[:-1], 1, a.shape[-1])).broadcast((*a.shape[:-1], count, a.shape[-1]))


def as_columns(a: Matrix, count: int) -> Matrix:
    return a.reshape((*a.shape, 1)).broadcast((*a.shape, count))


class PairsOfValues:
    """The pairs (i, j) of values: `w[j] - w[i]`, and which of them are apart as far as rounding can tell."""

    def __init__(self, w: Matrix):
        n = w.shape[-1]
        self.sums = as_rows(w, n) + as_columns(w, n)
        self.differences = as_rows(w, n) - as_columns(w, n)
        largest = magnitude(w).apply("reduce_max", axes=(len(w.shape) - 1,)).apply("stop_gradient")
        least = (largest * float(n * np.finfo(w.dtype).eps)).reshape((*w.shape[:-1], 1, 1))
        self.apart = magnitude(self.differences) > least.broadcast(self.differences.shape)

    def divide(self, numerator: Matrix, evidence: Sequence[Matrix], squares: bool = False) -> Matrix:
        """`numerator / (w[j] - w[i])`, or by the difference of squares; 0 on the diagonal.

        Of values that are equal it is 0 where the `evidence`, which is symmetric, says that nothing depends on the
        vectors, and nan where something does.
        """
        n = numerator.shape[-1]
        off = ~np.eye(n, dtype=bool)
        total = magnitude(evidence[0])
        for more in evidence[1:]:
            total = total + magnitude(more)
        known = self.apart | masked(total + matrix_transpose(total), off).equals(0)
        divisor = self.differences * self.sums if squares else self.differences
        quotient = masked(numerator, off) / one_elsewhere(divisor, self.apart)
        return apart_or_nan(quotient, known, self.apart)


@of_each_part
def one_elsewhere(divisor: Matrix, apart: Matrix) -> Matrix:
    return where(apart, divisor, 1)


@of_each_part
def apart_or_nan(quotient: Matrix, known: Matrix, apart: Matrix) -> Matrix:
    return where(known, where(apart, quotient, 0), quotient.constant(np.nan))


@of_each_part
def quotient_or_zero(numerator: Matrix, divisor: Matrix) -> Matrix:
    """0 / 0 is 0, of what nothing depends on; other numbers by zero are nan."""
    is_zero = divisor.equals(0)
    known = (numerator.equals(0)) | (divisor.differs(0))
    return where(known, numerator / where(is_zero, 1, divisor), numerator.constant(np.nan))


def magnitude(a: Matrix) -> Matrix:
    """How large numbers are; of complex ones, up to a factor of two."""
    if isinstance(a, ComplexSymbol):
        return magnitude(a.real) + magnitude(a.imag)
    return a.apply("absolute")


# Eigenvalues of symmetric matrices.


def infer_eigh(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n = square_matrices("eigh", operands)
    return (*batch, n + n * n), operands[0].dtype


def eigh(a: np.ndarray, *, lower: bool, driver: str) -> np.ndarray:
    """Ascending eigenvalues, then the vectors (as columns); nan for the first value where there is no convergence."""
    n = a.shape[-1]

    def one(a: np.ndarray) -> np.ndarray:
        w, v, *_, info = routine(f"sy{driver}", a.dtype)(a, lower=int(lower))
        if info:
            w[0] = np.nan
        return np.concatenate([w, v.reshape(-1)])

    return of_each_item(one, a.shape[:-2], (n + n * n,), a.dtype, a)


def eigh_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, lower: bool, driver: str) -> Symbol:
    """`V (diag(wbar) + F o (V^T Vbar)) V^T` (Giles, 3.1), for the triangle that is read."""
    n = a.shape[-1]
    return eigh_back(lower, *unpack(y, [(n,), (n, n)]), *unpack(ct, [(n,), (n, n)]))


def eigh_back(lower: bool, w: Matrix, v: Matrix, of_w: Matrix, of_v: Matrix) -> Matrix:
    turning = matrix_product(matrix_transpose(v), of_v)
    turns = PairsOfValues(w).divide(skew(turning) / 2, [turning])
    inner = matrix_product(v, matrix_product(turns, matrix_transpose(v)) + rows(matrix_transpose(v), of_w))
    return into_triangle(inner, lower)


def eigh_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, lower: bool, driver: str) -> Symbol:
    """`dw = diag(V^T dA V)`, `dV = V (F o (V^T dA V))`."""
    n = a.shape[-1]
    dw, dv = eigh_along(tangents[0], lower, *unpack(y, [(n,), (n, n)]))
    return packed([dw, dv], len(a.shape) - 2)


def eigh_along(da: Matrix, lower: bool, w: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    inner = matrix_product(matrix_transpose(v), matrix_product(from_triangle(da, lower), v))
    return diagonal(inner), matrix_product(v, PairsOfValues(w).divide(inner, [inner]))


register(
    Rule(
        name="eigh",
        kind="matrix",
        infer=infer_eigh,
        evaluate=eigh,
        adjoints=(eigh_adjoint,),
        needs=("y",),
        tangent=eigh_tangent,
        cost=1000,
        examples=tuple({"lower": lower, "driver": "evd"} for lower in (True, False)),
        reference="Giles (2008), 3.1; Magnus (1985)",
    )
)


# Singular values.


def svd_shapes(shape: Shape, full: bool) -> list[Shape]:
    m, n = shape
    k = min(m, n)
    return [(m, m if full else k), (k,), (n if full else k, n)]


def infer_svd(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("svd", operands, ("f",))
    *batch, m, n = operands[0].shape
    return (*batch, sum(map(size, svd_shapes((m, n), parameters["full"])))), operands[0].dtype


def svd(a: np.ndarray, *, full: bool) -> np.ndarray:
    """`U`, singular values in descending order, `V^T`; nan for the first value where there is no convergence."""
    shapes = svd_shapes(a.shape[-2:], full)
    work = int(routine("gesdd_lwork", a.dtype)(*a.shape[-2:], compute_uv=1, full_matrices=int(full))[0])

    def one(a: np.ndarray) -> np.ndarray:
        u, s, vh, info = routine("gesdd", a.dtype)(a, full_matrices=int(full), lwork=work)
        if info:
            s[0] = np.nan
        return np.concatenate([u.reshape(-1), s, vh.reshape(-1)])

    return of_each_item(one, a.shape[:-2], (sum(map(size, shapes)),), a.dtype, a)


class Singular:
    """What both derivatives of the singular value decomposition have in common."""

    def __init__(self, u: Matrix, s: Symbol, vt: Matrix):
        self.u, self.s, self.vt = u, s, vt
        self.k = s.shape[-1]
        self.u1, self.v1 = first_columns(self.u, self.k), first_columns(matrix_transpose(self.vt), self.k)
        self.pairs = PairsOfValues(self.s)

    def of_first(self, of_u: Matrix, of_vt: Matrix) -> tuple[Matrix, Matrix]:
        """The cotangents of the first vectors, as columns, which the others follow."""
        v, of_v = matrix_transpose(self.vt), matrix_transpose(of_vt)
        return completed_adjoint(self.u, of_u, self.k), completed_adjoint(v, of_v, self.k)

    def completed(self, du: Matrix, dv: Matrix) -> tuple[Matrix, Matrix]:
        """The tangents of all vectors."""
        return completed_tangent(self.u, du, self.k), completed_tangent(matrix_transpose(self.vt), dv, self.k)


def first_columns(a: Matrix, count: int) -> Matrix:
    return a if a.shape[-1] == count else sliced(a, 0, count)


def last_columns(a: Matrix, start: int) -> Matrix:
    return sliced(a, start, a.shape[-1] - start)


@of_each_part
def sliced(a: Matrix, start: int, count: int) -> Matrix:
    view = View(start, (*a.shape[:-1], count), c_strides(a.shape))
    return Symbol(a.builder, a.builder.view(a.value, view))


def completed_adjoint(q: Matrix, of_q: Matrix, k: int) -> Matrix:
    """The cotangent of the first `k` columns, which the others follow by `dQ2 = -Q1 dQ1^T Q2`."""
    if q.shape[-1] == k:
        return of_q
    q1, q2, of_q2 = sliced(q, 0, k), last_columns(q, k), last_columns(of_q, k)
    return sliced(of_q, 0, k) - matrix_product(q2, matrix_product(matrix_transpose(of_q2), q1))


def completed_tangent(q: Matrix, dq1: Matrix, k: int) -> Matrix:
    """Those of all columns, from those of the first `k`."""
    if q.shape[-1] == k:
        return dq1
    q1, q2 = sliced(q, 0, k), last_columns(q, k)
    return side_by_side(dq1, -matrix_product(q1, matrix_product(matrix_transpose(dq1), q2)))


def side_by_side(a: Matrix, b: Matrix) -> Matrix:
    """The columns of two matrices, as those of one."""
    if isinstance(a, ComplexSymbol):
        return ComplexSymbol(side_by_side(a.real, b.real), side_by_side(a.imag, b.imag))
    *batch, n, k = a.shape
    m = k + b.shape[-1]
    parts: list[tuple[int, int, Symbol | None]] = [
        (0, n * k, matrix_transpose(a)),
        (n * k, n * (m - k), matrix_transpose(b)),
    ]
    return matrix_transpose(array_at(pack(parts, n * m, a, len(batch)), 0, (m, n)))


def beyond(q: Matrix, a: Matrix) -> Matrix:
    """`(I - Q Q^T) a`."""
    return a - matrix_product(q, matrix_product(matrix_transpose(q), a))


def svd_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, full: bool) -> Symbol:
    """Townsend, 'Reverse mode', with each difference of a matrix and its transpose taken before it is divided by."""
    shapes = svd_shapes(a.shape[-2:], full)
    d = Singular(*unpack(y, shapes))
    of_u, of_s, of_vt = unpack(ct, shapes)
    return svd_back(d, *d.of_first(of_u, of_vt), of_s)


def svd_back(d: Singular, of_u: Matrix, of_v: Matrix, of_s: Matrix, of_diagonal: Matrix | None = None) -> Matrix:
    """From the cotangents of the first vectors, both as columns; `of_diagonal` is another one of `U^T dA V`."""
    m, n = d.u.shape[-2], d.vt.shape[-1]
    of_turns = [matrix_product(matrix_transpose(d.u1), of_u), matrix_product(matrix_transpose(d.v1), of_v)]
    inner = columns(skew(of_turns[0]), d.s) + rows(skew(of_turns[1]), d.s)
    inner = d.pairs.divide(inner, of_turns, squares=True)
    vt = matrix_transpose(d.v1)
    if of_diagonal is not None:
        inner = inner + of_diagonal
    found = matrix_product(d.u1, matrix_product(inner, vt) + rows(vt, of_s))
    if m > d.k:
        found = found + matrix_product(quotient_or_zero(beyond(d.u1, of_u), as_rows(d.s, m)), vt)
    if n > d.k:
        found = found + matrix_product(d.u1, matrix_transpose(quotient_or_zero(beyond(d.v1, of_v), as_rows(d.s, n))))
    return found


def svd_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, full: bool) -> Symbol:
    d = Singular(*unpack(y, svd_shapes(a.shape[-2:], full)))
    du, dv, inner = svd_along(d, tangents[0])
    du, dv = d.completed(du, dv)
    return packed([du, diagonal(inner), matrix_transpose(dv)], len(a.shape) - 2)


def svd_along(d: Singular, da: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The tangents of the first vectors, both as columns, and `U^T dA V`."""
    m, n = d.u.shape[-2], d.vt.shape[-1]
    forward, backward = matrix_product(da, d.v1), matrix_product(matrix_transpose(da), d.u1)
    inner = matrix_product(matrix_transpose(d.u1), forward)
    right, left = columns(inner, d.s), rows(inner, d.s)
    du = matrix_product(d.u1, d.pairs.divide(right + matrix_transpose(right), [inner], squares=True))
    dv = matrix_product(d.v1, d.pairs.divide(left + matrix_transpose(left), [inner], squares=True))
    if m > d.k:
        du = du + quotient_or_zero(beyond(d.u1, forward), as_rows(d.s, m))
    if n > d.k:
        dv = dv + quotient_or_zero(beyond(d.v1, backward), as_rows(d.s, n))
    return du, dv, inner


register(
    Rule(
        name="svd",
        kind="matrix",
        infer=infer_svd,
        evaluate=svd,
        adjoints=(svd_adjoint,),
        needs=("y",),
        tangent=svd_tangent,
        cost=2000,
        examples=({"full": False}, {"full": True}),
        reference="Townsend, Differentiating the singular value decomposition (2016)",
    )
)


# QR of matrices that are not wide (`numpy_functions` brings the others to this form).


def qr_shapes(shape: Shape, complete: bool) -> list[Shape]:
    m, n = shape
    return [(m, m if complete else n), (n, n)]


def infer_qr(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("qr", operands, ("f",))
    *batch, m, n = operands[0].shape
    if m < n:
        raise ValueError(f"qr: wide matrices of shape {(m, n)}")
    return (*batch, sum(map(size, qr_shapes((m, n), parameters["complete"])))), operands[0].dtype


def qr(a: np.ndarray, *, complete: bool) -> np.ndarray:
    """`Q`, and the square `R`."""
    n = a.shape[-1]
    q, r = np.linalg.qr(a, "complete" if complete else "reduced")
    *batch, _, _ = a.shape
    return np.concatenate([part.reshape((*batch, -1)) for part in (q, r[..., :n, :])], axis=-1)


def qr_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, complete: bool) -> Symbol:
    """`(Qbar + Q sym(R Rbar^T - Qbar^T Q)) R^-T`, sym by the lower triangle (Walter, Lehmann and Lamour)."""
    shapes = qr_shapes(a.shape[-2:], complete)
    return qr_back(*unpack(y, shapes), *unpack(ct, shapes))


def qr_back(q: Matrix, r: Matrix, of_q: Matrix, of_r: Matrix) -> Matrix:
    n = r.shape[-1]
    of_q, q = completed_adjoint(q, of_q, n), first_columns(q, n)
    inner = matrix_product(r, matrix_transpose(triangle(of_r, False))) - matrix_product(matrix_transpose(of_q), q)
    left = of_q + matrix_product(q, from_triangle(inner, True))
    return matrix_transpose(upper_solve(r, matrix_transpose(left), False))


def upper_solve(r: Matrix, b: Matrix, transposed: bool) -> Matrix:
    """With an upper triangle, or its transpose; the diagonal of a complex one is real."""
    if isinstance(r, ComplexSymbol):
        return unstacked(upper_solve(with_blocks(r), stacked(b), transposed))
    return r.apply("triangular_solve", b, lower=False, transposed=transposed, unit=False)


def qr_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, complete: bool) -> Symbol:
    """With `X = Q^T dA R^-1` and `W` its skew part of the lower triangle: `dR = (X - W) R`, `dQ = Q W + ...`."""
    dq, dr = qr_along(tangents[0], *unpack(y, qr_shapes(a.shape[-2:], complete)))
    return packed([dq, dr], len(a.shape) - 2)


def qr_along(da: Matrix, q: Matrix, r: Matrix) -> tuple[Matrix, Matrix]:
    n = r.shape[-1]
    q1 = first_columns(q, n)
    right = matrix_transpose(upper_solve(r, matrix_transpose(da), True))
    inner = matrix_product(matrix_transpose(q1), right)
    turns = skew(triangle(inner, True, 1))
    if isinstance(inner, ComplexSymbol):  # so that the diagonal of R stays real
        turns = turns + ComplexSymbol(inner.real.zeros_like(), masked(inner.imag, np.eye(n, dtype=bool)))
    dq = matrix_product(q1, turns) + beyond(q1, right)
    return completed_tangent(q, dq, n), matrix_product(inner - turns, r)


register(
    Rule(
        name="qr",
        kind="matrix",
        infer=infer_qr,
        evaluate=qr,
        adjoints=(qr_adjoint,),
        needs=("y",),
        tangent=qr_tangent,
        cost=200,
        examples=({"complete": False}, {"complete": True}),
        reference="Walter, Lehmann and Lamour (2012)",
    )
)
