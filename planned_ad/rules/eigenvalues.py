"""Eigenvalues and eigenvectors of any square matrix, by LAPACK's `geev`: a row of pairs, values first.

With `A V = V diag(w)` and `P = V^-1 dA V`, values move by the diagonal of `P`, and vectors by `V C` where
`C[i, j] = P[i, j] / (w[j] - w[i])` (Giles, 3.1; Boeddeker et al., 4.77). What `C` has on its diagonal is how long
vectors are, and of which phase: LAPACK's are of length one, and the largest number of each is real. With that
they have derivatives, which are those of what is computed.

**Where values are equal**, vectors have no derivative, nor have values by themselves; it is as in
`rules.decompositions`. A matrix that has no basis of eigenvectors has no derivative at all: what comes out is not
finite, or as large as rounding lets it be. Of a real matrix the derivative is real.

References
----------
M. B. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008 (3.1).
C. Boeddeker, P. Hanebrink, L. Drude, J. Heymann, R. Haeb-Umbach, "On the computation of complex-valued gradients with
application to statistically optimum beamforming", arXiv:1701.00392, 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .algebra import Symbol, where
from .complex_decompositions import (
    COMPLEX,
    before_turning,
    complex_matrices,
    down_columns,
    order_of_pairs,
    row_of,
    turning,
    turns_of,
)
from .complex_symbols import ComplexSymbol, interleaved, parts_of_pairs, stacked, unstacked, with_blocks
from .decompositions import PairsOfValues, packed, unpack
from .matrix_algebra import columns, diagonal, matrix_product, matrix_transpose, rows
from .systems import Type, of_each_item, routine, square_matrices
from .table import Rule, register

BOEDDEKER = "Boeddeker et al., On the computation of complex-valued gradients (2017), 4.77"


def eig_width(n: int) -> int:
    return 2 * n + 2 * n * n


def infer_eig(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n = square_matrices("eig", operands)
    return (*batch, eig_width(n)), operands[0].dtype


def infer_complex_eig(operands: Sequence, parameters: Mapping[str, Any]) -> Type:
    batch, n, m = order_of_pairs("complex_eig", operands)
    if n != m:
        raise ValueError(f"complex_eig: matrices of shape {(n, m)}")
    return (*batch, eig_width(n)), operands[0].dtype


def eig(a: np.ndarray) -> np.ndarray:
    """Values and vectors (as columns); nan for the first value where there is no convergence."""
    n = a.shape[-1]

    def one(a: np.ndarray) -> np.ndarray:
        real, imag, _, v, info = routine("geev", a.dtype)(a, compute_vl=0)
        w = real.astype(COMPLEX[a.dtype.char])
        w.imag = imag
        return row_of(marked(w, info), whole_vectors(imag, v))

    return of_each_item(one, a.shape[:-2], (eig_width(n),), a.dtype, a)


def whole_vectors(imag: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of values that are conjugates LAPACK gives one vector: its real part as a column, its imaginary part as next."""
    found = v.astype(COMPLEX[v.dtype.char])
    (first,) = np.nonzero(imag > 0)
    found.imag[:, first] = v[:, first + 1]
    found[:, first + 1] = found[:, first].conj()
    return found


def complex_eig(a: np.ndarray) -> np.ndarray:
    a = complex_matrices(a)

    def one(a: np.ndarray) -> np.ndarray:
        w, _, v, info = routine("geev", a.dtype)(a, compute_vl=0)
        return row_of(marked(w, info), v)

    return of_each_item(one, a.shape[:-2], (eig_width(a.shape[-1]),), a.real.dtype, a)


def marked(w: np.ndarray, info: int) -> np.ndarray:
    if info:
        w[0] = np.nan
    return w


# Derivatives: of real matrices `a` is a symbol, of complex ones a pair of them.


def eigen_parts(y: Symbol, n: int) -> list[ComplexSymbol]:
    return [parts_of_pairs(part) for part in unpack(y, [(n, 2), (n, n, 2)])]


def largest_real(v: ComplexSymbol) -> Symbol:
    """The mask of the number in each column that LAPACK has made real, the largest_real of those that are."""
    *_, n, m = v.shape
    size = where(v.imag.equals(0), v.real.apply("absolute"), -1)
    greatest = size.apply("reduce_max", axes=(len(v.shape) - 2,))
    places = v.constant(np.repeat(np.arange(n)[:, None], m, 1).astype(v.dtype)).broadcast(v.shape)
    found = where(size.equals(over(greatest, v)), places, n)
    first = found.apply("reduce_min", axes=(len(v.shape) - 2,))
    return where(places.equals(over(first, v)), v.constant(1).broadcast(v.shape), 0).apply("stop_gradient")


def over(numbers: Symbol, v: ComplexSymbol) -> Symbol:
    """A number of each column, beside all of its numbers."""
    return numbers.reshape((*numbers.shape[:-1], 1, numbers.shape[-1])).broadcast(v.shape)


def along_vectors(a: ComplexSymbol, v: ComplexSymbol) -> Symbol:
    """The real part of the scalar product of columns."""
    return down_columns(a.real * v.real + a.imag * v.imag)


def basis_solve(v: ComplexSymbol, b: ComplexSymbol, conjugated: bool = False) -> ComplexSymbol:
    """`V^-1 b`, or `V^-H b`."""
    factors = with_blocks(v).apply("lu")
    return unstacked(factors.apply("lu_solve", stacked(b), transposed=conjugated))


def eig_back(w: ComplexSymbol, v: ComplexSymbol, of_w: ComplexSymbol, of_v: ComplexSymbol) -> ComplexSymbol:
    """`V^-H (diag(wbar) + (V^H Vbar) / conj(w[j] - w[i])) V^H`."""
    of_v = of_v - columns(v, along_vectors(of_v, v))
    of_v = before_turning(of_v, v, largest_real(v))
    turned = matrix_transpose(v)
    inner = matrix_product(turned, of_v)
    inner = PairsOfValues(w).divide(inner.conjugate(), [inner]).conjugate()
    return basis_solve(v, matrix_product(inner, turned) + rows(turned, of_w), conjugated=True)


def eig_along(da: Any, w: ComplexSymbol, v: ComplexSymbol) -> Symbol:
    inner = basis_solve(v, matrix_product(da, v))
    dv = matrix_product(v, PairsOfValues(w).divide(inner, [inner]))
    dv = turning(dv, v, turns_of(dv, v, largest_real(v)))
    dv = dv - columns(v, along_vectors(dv, v))
    return packed([interleaved(diagonal(inner)), interleaved(dv)], len(v.shape) - 2)


def eig_adjoint(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    n = a.shape[-1]
    return eig_back(*eigen_parts(y, n), *eigen_parts(ct, n)).real


def complex_eig_adjoint(ct: Symbol, y: Symbol, a: Symbol) -> Symbol:
    n = a.shape[-2]
    return interleaved(eig_back(*eigen_parts(y, n), *eigen_parts(ct, n)))


register(
    Rule(
        name="eig",
        kind="matrix",
        infer=infer_eig,
        evaluate=eig,
        adjoints=(eig_adjoint,),
        needs=("y",),
        tangent=lambda tangents, y, a: eig_along(tangents[0], *eigen_parts(y, a.shape[-1])),
        cost=4000,
        reference=BOEDDEKER,
    )
)
register(
    Rule(
        name="complex_eig",
        kind="matrix",
        infer=infer_complex_eig,
        evaluate=complex_eig,
        adjoints=(complex_eig_adjoint,),
        needs=("y",),
        tangent=lambda tangents, y, a: eig_along(parts_of_pairs(tangents[0]), *eigen_parts(y, a.shape[-2])),
        cost=8000,
        reference=BOEDDEKER,
    )
)
