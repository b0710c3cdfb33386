"""Pseudo-inverses. They have a rule of their own, since it holds where singular values are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .algebra import Symbol, where
from .decompositions import Singular, as_columns, as_rows, svd, svd_shapes, unpack
from .matrix_algebra import matrix_product, matrix_transpose
from .rows import check_kinds
from .systems import Type, of_each_item
from .table import Rule, register

LEAST_CUT = 1e-12  # by `rcond`: below, what is cut off counts as zero, and has no derivative


def infer_pinv(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    check_kinds("pinv", operands, ("f",))
    *batch, m, n = operands[0].shape
    return (*batch, n, m), operands[0].dtype


def pinv(a: np.ndarray, *, rcond: float) -> np.ndarray:
    """Singular values up to `rcond` times the largest count as zero."""
    m, n = a.shape[-2:]
    k = min(m, n)

    def one(a: np.ndarray) -> np.ndarray:
        u, s, vh = (p.reshape(shape) for p, shape in zip(np.split(svd(a, full=False), [m * k, m * k + k]), shapes))
        counts = ~(s <= s[0] * a.dtype.type(rcond))
        return (vh.T * np.where(counts, 1 / s, 0)) @ u.T

    shapes = svd_shapes((m, n), False)
    return of_each_item(one, a.shape[:-2], (n, m), a.dtype, a)


def pinv_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, rcond: float) -> Symbol:
    """The transpose of `pinv_tangent`."""
    turned_y, turned_ct = matrix_transpose(y), matrix_transpose(ct)
    outside_range = outside_projector(turned_ct, a, y)
    outside_rows = matrix_transpose(outside_projector(ct, y, a))
    found = matrix_product(matrix_product(outside_range, y), turned_y) + matrix_product(
        turned_y, matrix_product(y, outside_rows)
    )
    found = found - matrix_product(turned_y, matrix_product(ct, turned_y))
    return found if rcond < LEAST_CUT else found + across_the_cut(turned_ct, a, rcond)


def across_the_cut(e: Symbol, a: Symbol, rcond: float) -> Symbol:
    """What of a tangent of `a` the pseudo-inverse has beside those terms, transposed; its own transpose.

    It is not that of a matrix of constant rank where singular values are cut off that are not zero: with those the
    spaces of the others turn. Of `U^T e V` it takes, at both places of each pair of a value s that is kept and a value
    t that is cut off, `t (t e + s e^T) / (s^2 (s^2 - t^2))`.
    """
    d = Singular(*unpack(a.apply("svd", full=False), svd_shapes(a.shape[-2:], False)))
    largest = d.s.apply("reduce_max", axes=(len(d.s.shape) - 1,)).apply("stop_gradient")

    def above(part: float) -> Symbol:
        return d.s > (largest * part).reshape((*d.s.shape[:-1], 1)).broadcast(d.s.shape)

    kept = above(rcond)
    cut = above(d.k * float(np.finfo(a.dtype).eps)) & kept.apply("logical_not")
    s, t = as_columns(d.s, d.k), as_rows(d.s, d.k)
    pairs = as_columns(kept, d.k) & as_rows(cut, d.k)
    divisor = where(pairs, s * s * (s - t) * (s + t), 1)
    own, other = (where(pairs, factor * t / divisor, 0) for factor in (t, s))
    # Vectors of values that are equal have no derivative: those of no pair are left out.
    is_cut = cut.cast(a.dtype).apply("reduce_max", axes=(len(d.s.shape) - 1,)) > 0
    in_pairs = cut | (kept & is_cut.reshape((*d.s.shape[:-1], 1)).broadcast(d.s.shape))
    u, v = (where(as_rows(in_pairs, q.shape[-2]), q, 0) for q in (d.u1, d.v1))
    inner = matrix_product(matrix_transpose(u), matrix_product(e, v))
    found = (own + matrix_transpose(own)) * inner + (other + matrix_transpose(other)) * matrix_transpose(inner)
    return matrix_product(u, matrix_product(found, matrix_transpose(v)))


def outside_projector(a: Symbol, left: Symbol, right: Symbol) -> Symbol:
    """`(I - left right) a`."""
    return a - matrix_product(left, matrix_product(right, a))


def pinv_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, rcond: float) -> Symbol:
    """`-P dA P + P P^T dA^T (I - A P) + (I - P A) dA^T P^T P`, of constant rank (Golub and Pereyra, 4.12).

    And what `across_the_cut` adds, where more may be cut off than rounding leaves of zeros.
    """
    da, turned_y = tangents[0], matrix_transpose(y)
    turned_da = matrix_transpose(da)
    first = matrix_product(y, matrix_product(turned_y, turned_da - matrix_product(matrix_product(turned_da, a), y)))
    second = matrix_product(matrix_product(outside_projector(turned_da, y, a), turned_y), y)
    found = first + second - matrix_product(y, matrix_product(da, y))
    return found if rcond < LEAST_CUT else found + matrix_transpose(across_the_cut(da, a, rcond))


register(
    Rule(
        name="pinv",
        kind="matrix",
        infer=infer_pinv,
        evaluate=pinv,
        adjoints=(pinv_adjoint,),
        needs=("ya",),
        tangent=pinv_tangent,
        cost=2000,
        examples=({"rcond": 1e-15}, {"rcond": 0.5}),
        reference="Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares (1973)",
    )
)
