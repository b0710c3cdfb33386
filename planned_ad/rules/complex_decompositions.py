"""Eigenvalues of Hermitian matrices, singular values and QR of complex matrices, as in `rules.decompositions`.

An operand is an array of pairs; in a row of results, arrays that are complex are pairs.

**Phases.** Each eigenvector may be multiplied by any number of size one, and so may each pair of singular vectors.
LAPACK's routines reduce a matrix to a real one by reflections that leave one row (or column) alone, so that in
their vectors one number is real: the first of each eigenvector where the lower triangle is read, the last where the
upper one is; the first of each right singular vector, or of the left ones of a wide matrix. With that the vectors have
derivatives, which are those of what is computed. Where that number is zero (below `sqrt(eps)`), the phase jumps;
vectors keep theirs, which is right for what does not depend on it. The diagonal of `R` is real.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008.
Z.-Q. Wan, S.-X. Zhang, "Automatic differentiation for complex valued SVD", arXiv:1909.02659, 2019.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .algebra import Symbol, where
from .complex_symbols import ComplexSymbol, interleaved, parts_of_pairs
from .decompositions import (
    Shape,
    Singular,
    eigh_along,
    eigh_back,
    magnitude,
    packed,
    qr_along,
    qr_back,
    qr_shapes,
    quotient_or_zero,
    size,
    svd_along,
    svd_back,
    svd_shapes,
    unpack,
)
from .matrix_algebra import columns, diagonal, matrix_transpose
from .rows import check_kinds
from .systems import Type, of_each_item, routine
from .table import Rule, register

COMPLEX: dict[str, Any] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}  # of which these are the parts

# Arrays and pairs.


def pair_shapes(shapes: Sequence[Shape]) -> list[Shape]:
    """Those of the arrays of a row; what are matrices is complex."""
    return [(*shape, 2) if len(shape) == 2 else shape for shape in shapes]


def unpack_parts(y: Symbol, shapes: Sequence[Shape]) -> list[Any]:
    return [
        parts_of_pairs(part) if len(part.shape) - len(y.shape) == 2 else part for part in unpack(y, pair_shapes(shapes))
    ]


def packed_parts(parts: Sequence[Any], batch: int) -> Symbol:
    return packed([interleaved(part) if isinstance(part, ComplexSymbol) else part for part in parts], batch)


def complex_matrices(pairs: np.ndarray) -> np.ndarray:
    return pairs[..., 0] + COMPLEX[pairs.dtype.char].type(1j) * pairs[..., 1]


def row_of(*parts: np.ndarray) -> np.ndarray:
    """Numbers of all arrays, one after the other."""
    return np.concatenate([part.reshape(-1).view(part.real.dtype) for part in map(np.ascontiguousarray, parts)])


def order_of_pairs(name: str, operands: Sequence) -> tuple[tuple[int, ...], int, int]:
    check_kinds(name, operands, ("f",))
    *batch, m, n, two = operands[0].shape
    if two != 2:
        raise ValueError(f"{name}: an array of shape {operands[0].shape} has no pairs")
    return tuple(batch), m, n


def width(shapes: Sequence[Shape]) -> int:
    return sum(map(size, pair_shapes(shapes)))


# Phases.


def down_columns(a: Symbol) -> Symbol:
    return a.apply("reduce_sum", axes=(len(a.shape) - 2,))


def sizes_at(x: Symbol, mask: Symbol) -> Symbol:
    """The numbers of each column that a mask shows."""
    return down_columns(x * mask)


def reference(v: ComplexSymbol, row: int) -> Symbol:
    """The mask of one row."""
    n = v.shape[-2]
    return v.constant((np.arange(n)[:, None] == row).astype(v.dtype)).broadcast(v.shape)


def turns_of(x: ComplexSymbol, v: ComplexSymbol, mask: Symbol) -> Symbol:
    """By what angle columns `v` that move along `x` turn, so that their number at the mask stays real."""
    number = sizes_at(v.real, mask)
    there = magnitude(number) > least(v)
    return where(there, -sizes_at(x.imag, mask) / where(there, number, 1), 0)


def least(v: ComplexSymbol) -> float:
    """A number at the mask that is smaller counts as zero."""
    return float(np.finfo(v.dtype).eps) ** 0.5


def turning(x: ComplexSymbol, v: ComplexSymbol, angles: Symbol) -> ComplexSymbol:
    return x + columns(v, angles).turned()


def of_turns(of_v: ComplexSymbol, v: ComplexSymbol) -> Symbol:
    """The cotangent of the angles, from that of the vectors that turn."""
    return down_columns(of_v.imag * v.real - of_v.real * v.imag)


def before_turning(
    of_v: ComplexSymbol, v: ComplexSymbol, mask: Symbol, also: tuple[ComplexSymbol, ComplexSymbol] | None = None
) -> ComplexSymbol:
    """The cotangent of `x` of `turns_of`; `also` are other vectors that turn likewise, after their cotangent.

    Of what does not depend on the phase, that of the angle is zero but for rounding, which a small number would make
    a large one of.
    """
    of_angles, scale = of_turns(of_v, v), down_columns(magnitude(of_v) * magnitude(v))
    if also is not None:
        of_angles, scale = of_angles + of_turns(*also), scale + down_columns(magnitude(also[0]) * magnitude(also[1]))
    number = sizes_at(v.real, mask)
    eps = float(np.finfo(v.dtype).eps)
    depends = magnitude(of_angles) > scale * (64 * v.shape[-2] * eps)
    there = (magnitude(number) > eps**0.25) | (depends & (magnitude(number) > least(v)))
    found = where(there, of_angles / where(there, number, 1), 0)
    return ComplexSymbol(of_v.real, of_v.imag - columns(mask, found))


# Eigenvalues of Hermitian matrices.


def eigh_shapes(n: int) -> list[Shape]:
    return [(n,), (n, n)]


def infer_complex_eigh(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n, m = order_of_pairs("complex_eigh", operands)
    if n != m:
        raise ValueError(f"complex_eigh: matrices of shape {(n, m)}")
    return (*batch, width(eigh_shapes(n))), operands[0].dtype


def complex_eigh(a: np.ndarray, *, lower: bool, driver: str) -> np.ndarray:
    a = complex_matrices(a)

    def one(a: np.ndarray) -> np.ndarray:
        w, v, *_, info = routine(f"he{driver}", a.dtype)(a, lower=int(lower))
        if info:
            w[0] = np.nan
        return row_of(w, v)

    return of_each_item(one, a.shape[:-2], (width(eigh_shapes(a.shape[-1])),), a.real.dtype, a)


def fixed_row(n: int, lower: bool) -> int:
    return 0 if lower else n - 1


def complex_eigh_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, lower: bool, driver: str) -> Symbol:
    n = a.shape[-2]
    (w, v), (of_w, of_v) = unpack_parts(y, eigh_shapes(n)), unpack_parts(ct, eigh_shapes(n))
    of_v = before_turning(of_v, v, reference(v, fixed_row(n, lower)))
    return interleaved(eigh_back(lower, w, v, of_w, of_v))


def complex_eigh_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, lower: bool, driver: str) -> Symbol:
    n = a.shape[-2]
    w, v = unpack_parts(y, eigh_shapes(n))
    dw, dv = eigh_along(parts_of_pairs(tangents[0]), lower, w, v)
    dv = turning(dv, v, turns_of(dv, v, reference(v, fixed_row(n, lower))))
    return packed_parts([dw.real, dv], len(a.shape) - 3)


register(
    Rule(
        name="complex_eigh",
        kind="matrix",
        infer=infer_complex_eigh,
        evaluate=complex_eigh,
        adjoints=(complex_eigh_adjoint,),
        needs=("y",),
        tangent=complex_eigh_tangent,
        cost=4000,
        examples=tuple({"lower": lower, "driver": "evd"} for lower in (True, False)),
        reference="Giles (2008), 3.1, with the phases of LAPACK",
    )
)


# Singular values.


def infer_complex_svd(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, m, n = order_of_pairs("complex_svd", operands)
    return (*batch, width(svd_shapes((m, n), parameters["full"]))), operands[0].dtype


def complex_svd(a: np.ndarray, *, full: bool) -> np.ndarray:
    a = complex_matrices(a)
    shapes = svd_shapes(a.shape[-2:], full)
    work = int(routine("gesdd_lwork", a.dtype)(*a.shape[-2:], compute_uv=1, full_matrices=int(full))[0].real)

    def one(a: np.ndarray) -> np.ndarray:
        u, s, vh, info = routine("gesdd", a.dtype)(a, full_matrices=int(full), lwork=work)
        if info:
            s[0] = np.nan
        return row_of(u, s, vh)

    return of_each_item(one, a.shape[:-2], (width(shapes),), a.real.dtype, a)


def fixed_vectors(d: Singular) -> tuple[bool, ComplexSymbol]:
    """Whether the left vectors have the real number, and those that have."""
    is_left = d.u.shape[-2] < d.vt.shape[-1]
    return is_left, d.u1 if is_left else d.v1


def complex_svd_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, full: bool) -> Symbol:
    """That of real matrices; and a turn of both vectors, after one of the left ones by `Im(U^H dA V) / s`."""
    shapes = svd_shapes(a.shape[-3:-1], full)
    d = Singular(*unpack_parts(y, shapes))
    of_u, of_s, of_vt = unpack_parts(ct, shapes)
    of_u, of_v = d.of_first(of_u, of_vt)
    is_left, fixed = fixed_vectors(d)
    mask = reference(fixed, 0)
    if is_left:
        of_u = before_turning(of_u, fixed, mask, also=(of_v, d.v1))
    else:
        of_v = before_turning(of_v, fixed, mask, also=(of_u, d.u1))
    of_phases = quotient_or_zero(of_turns(of_u, d.u1), d.s)
    one = d.u1.constant(np.eye(d.k)).broadcast((*a.shape[:-3], d.k, d.k))
    of_diagonal = ComplexSymbol(one.zeros_like(), columns(one, of_phases))
    return interleaved(svd_back(d, of_u, of_v, of_s, of_diagonal))


def complex_svd_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, full: bool) -> Symbol:
    d = Singular(*unpack_parts(y, svd_shapes(a.shape[-3:-1], full)))
    du, dv, inner = svd_along(d, parts_of_pairs(tangents[0]))
    du = turning(du, d.u1, quotient_or_zero(diagonal(inner.imag), d.s))
    is_left, fixed = fixed_vectors(d)
    angles = turns_of(du if is_left else dv, fixed, reference(fixed, 0))
    du, dv = d.completed(turning(du, d.u1, angles), turning(dv, d.v1, angles))
    return packed_parts([du, diagonal(inner.real), matrix_transpose(dv)], len(a.shape) - 3)


register(
    Rule(
        name="complex_svd",
        kind="matrix",
        infer=infer_complex_svd,
        evaluate=complex_svd,
        adjoints=(complex_svd_adjoint,),
        needs=("y",),
        tangent=complex_svd_tangent,
        cost=8000,
        examples=({"full": False}, {"full": True}),
        reference="Wan and Zhang, Automatic differentiation for complex valued SVD (2019), with the phases of LAPACK",
    )
)


# QR of matrices that are not wide.


def infer_complex_qr(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, m, n = order_of_pairs("complex_qr", operands)
    if m < n:
        raise ValueError(f"complex_qr: wide matrices of shape {(m, n)}")
    return (*batch, width(qr_shapes((m, n), parameters["complete"]))), operands[0].dtype


def complex_qr(a: np.ndarray, *, complete: bool) -> np.ndarray:
    a = complex_matrices(a)
    n = a.shape[-1]

    def one(a: np.ndarray) -> np.ndarray:
        q, r = np.linalg.qr(a, "complete" if complete else "reduced")
        return row_of(q, r[:n])

    return of_each_item(one, a.shape[:-2], (width(qr_shapes(a.shape[-2:], complete)),), a.real.dtype, a)


def complex_qr_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, complete: bool) -> Symbol:
    shapes = qr_shapes(a.shape[-3:-1], complete)
    return interleaved(qr_back(*unpack_parts(y, shapes), *unpack_parts(ct, shapes)))


def complex_qr_tangent(tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, complete: bool) -> Symbol:
    parts = unpack_parts(y, qr_shapes(a.shape[-3:-1], complete))
    return packed_parts(qr_along(parts_of_pairs(tangents[0]), *parts), len(a.shape) - 3)


register(
    Rule(
        name="complex_qr",
        kind="matrix",
        infer=infer_complex_qr,
        evaluate=complex_qr,
        adjoints=(complex_qr_adjoint,),
        needs=("y",),
        tangent=complex_qr_tangent,
        cost=800,
        examples=({"complete": False}, {"complete": True}),
        reference="Walter, Lehmann and Lamour (2012)",
    )
)
