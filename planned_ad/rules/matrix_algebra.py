"""Formulas on matrices in the last two axes of symbols; the axes before them are a batch, the same for all operands.

Most take complex matrices, too: their transposes are conjugate transposes, and what is symmetric is Hermitian.
"""

from __future__ import annotations

import math

import numpy as np

from ..regions.regions import Region, View, c_strides, contiguous
from .algebra import Symbol, where
from .complex_symbols import ComplexSymbol, Matrix, of_each_part, product_of_parts


def matrix_transpose(a: Matrix) -> Matrix:
    """The transpose of each matrix; of complex ones, the conjugate transpose."""
    k = len(a.shape)
    turned = a.transpose((*range(k - 2), k - 1, k - 2))
    return turned.conjugate() if isinstance(turned, ComplexSymbol) else turned


def matrix_product(a: Matrix, b: Matrix) -> Matrix:
    """The matrix product."""
    if isinstance(a, ComplexSymbol) or isinstance(b, ComplexSymbol):
        return product_of_parts(matrix_product, a, b)
    k = len(a.shape) - 2
    batch = tuple(range(k))
    return a.apply(
        "contract", b, a_labels=(*batch, k, k + 1), b_labels=(*batch, k + 1, k + 2), out_labels=(*batch, k, k + 2)
    )


def columns(a: Matrix, factors: Matrix) -> Matrix:
    """`a` with its columns scaled: `a diag(factors)`."""
    return a * factors.reshape((*factors.shape[:-1], 1, factors.shape[-1])).broadcast(a.shape)


def rows(a: Matrix, factors: Matrix) -> Matrix:
    """`a` with its rows scaled: `diag(factors) a`."""
    return a * factors.reshape((*factors.shape, 1)).broadcast(a.shape)


@of_each_part
def masked(a: Matrix, mask: np.ndarray) -> Matrix:
    """`a` where the constant matrix `mask` is true, 0 elsewhere."""
    return where(a.constant(mask, np.dtype(bool)).broadcast(a.shape), a, 0)


def triangle(a: Matrix, lower: bool = True, k: int = 0) -> Matrix:
    """One triangle with the diagonal; without it, and without |k| - 1 diagonals beside it, for k > 0."""
    n, m = a.shape[-2:]
    return masked(a, np.tri(n, m, k=-k, dtype=bool) if lower else np.tri(m, n, k=-k, dtype=bool).T)


def hermitian_triangle(a: Matrix, lower: bool) -> Matrix:
    """One triangle, with the real part of the diagonal."""
    if isinstance(a, ComplexSymbol):
        return ComplexSymbol(triangle(a.real, lower), triangle(a.imag, lower, 1))
    return triangle(a, lower)


@of_each_part
def diagonal(a: Matrix) -> Matrix:
    """The diagonals, as vectors."""
    *batch, n, m = a.shape
    strides = c_strides(a.shape)
    view = View(0, (*batch, min(n, m)), (*strides[:-2], m + 1))
    return Symbol(a.builder, a.builder.view(a.value, view))


def from_triangle(a: Matrix, lower: bool) -> Matrix:
    """The symmetric matrix that one triangle of `a` stands for."""
    return hermitian_triangle(a, lower) + matrix_transpose(triangle(a, lower, 1))


def into_triangle(s: Matrix, lower: bool) -> Matrix:
    """The cotangent of `a` from that of `from_triangle(a)`: each element off the diagonal stands for two."""
    return hermitian_triangle(s, lower) + triangle(matrix_transpose(s), lower, 1)


def skew(a: Matrix) -> Matrix:
    """`a` minus its transpose."""
    return a - matrix_transpose(a)


def array_at(packed: Symbol, start: int, shape: tuple[int, ...]) -> Symbol:
    """The array of this shape that begins at `start` along the last axis, in row-major order."""
    *batch, width = packed.shape
    inner = contiguous(shape, start)
    strides = tuple(s * width for s in c_strides(tuple(batch)))
    view = View(start, (*batch, *shape), (*strides, *inner.strides))
    return Symbol(packed.builder, packed.builder.view(packed.value, view))


def pack(parts: list[tuple[int, int, Symbol | None]], width: int, like: Symbol, batch: int) -> Symbol:
    """Parts side by side along one axis behind the batch: `(start, count, what)`, of which None is zero.

    It is written straight to memory, so that what makes the parts need not be copied.
    """
    builder, shape = like.builder, like.shape[:batch]
    buffer = builder.new_buffer("local", "packed", like.dtype, contiguous((*shape, width)))
    rows_of = tuple(s * width for s in c_strides(shape))
    for start, count, found in parts:
        if not count:
            continue
        if found is None:
            own: tuple[int, ...] = (count,)
            value = like.constant(0).value
        else:
            own, value = found.shape[batch:], found.value
        assert math.prod(own) == count, (own, count)
        view = View(start, (*shape, *own), (*rows_of, *c_strides(own)))
        builder.store(Region(buffer.id, view), value)
    return Symbol(builder, builder.load(buffer.whole))


def either(a: Symbol | None, b: Symbol | None) -> Symbol | None:
    """The sum of what is not zero."""
    return b if a is None else a if b is None else a + b
