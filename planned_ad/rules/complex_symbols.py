"""Complex symbols: two symbols, of the real and of the imaginary part, with the operators of mathematics.

What a rule writes for real matrices then reads the same for complex ones, where transposes are conjugate transposes
(`rules.matrix_algebra`). On the tape there are reals only; a complex array is one of pairs, with a last axis of 2.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ..regions.regions import Region, View, c_strides, contiguous
from .algebra import Symbol


class ComplexSymbol:
    """The parts of a complex value, both of one shape."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Symbol, imag: Symbol):
        self.real, self.imag = real, imag

    @property
    def builder(self):
        return self.real.builder

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def dtype(self):
        """That of the parts."""
        return self.real.dtype

    def each(self, function: Callable[[Symbol], Symbol]) -> ComplexSymbol:
        """Both parts changed alike."""
        return ComplexSymbol(function(self.real), function(self.imag))

    def __add__(self, other):
        return ComplexSymbol(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other):
        return ComplexSymbol(self.real - other.real, self.imag - other.imag)

    def __neg__(self):
        return self.each(operator.neg)

    def __mul__(self, other):
        if isinstance(other, Symbol | ComplexSymbol):
            return product_of_parts(operator.mul, self, other)
        return self.each(lambda part: part * other)

    def __truediv__(self, other):
        if not isinstance(other, ComplexSymbol):
            return self.each(lambda part: part / other)
        return self * other.conjugate() / (other.real * other.real + other.imag * other.imag)

    def conjugate(self) -> ComplexSymbol:
        return ComplexSymbol(self.real, -self.imag)

    def turned(self) -> ComplexSymbol:
        """Times the imaginary unit."""
        return ComplexSymbol(-self.imag, self.real)

    def turned_back(self) -> ComplexSymbol:
        """Times -i."""
        return ComplexSymbol(self.imag, -self.real)

    def transpose(self, order: tuple[int, ...]) -> ComplexSymbol:
        return self.each(lambda part: part.transpose(order))

    def reshape(self, shape: tuple[int, ...]) -> ComplexSymbol:
        return self.each(lambda part: part.reshape(shape))

    def broadcast(self, shape: tuple[int, ...]) -> ComplexSymbol:
        return self.each(lambda part: part.broadcast(shape))

    def constant(self, number: object) -> Symbol:
        return self.real.constant(number)


Matrix = Any  # a symbol, or a complex one


def product_of_parts(product: Callable[[Any, Any], Any], a: Any, b: Any) -> ComplexSymbol:
    """A product of which one factor is complex."""
    if not isinstance(b, ComplexSymbol):
        return a.each(lambda part: product(part, b))
    if not isinstance(a, ComplexSymbol):
        return b.each(lambda part: product(a, part))
    real = product(a.real, b.real) - product(a.imag, b.imag)
    return ComplexSymbol(real, product(a.real, b.imag) + product(a.imag, b.real))


def of_each_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is linear in its first argument, of real ones and of complex ones."""

    @functools.wraps(function)
    def of_any(a: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(a, ComplexSymbol):
            return a.each(lambda part: function(part, *args, **kwargs))
        return function(a, *args, **kwargs)

    return of_any


# ComplexSymbol values as the tape has them.


def parts_of_pairs(pairs: Symbol) -> ComplexSymbol:
    """The parts of pairs, which are the last axis."""
    *shape, _ = pairs.shape
    strides = c_strides(pairs.shape)[:-1]
    views = (View(which, tuple(shape), strides) for which in range(2))
    return ComplexSymbol(*(Symbol(pairs.builder, pairs.builder.view(pairs.value, view)) for view in views))


def filled_through(like: Symbol, shape: tuple[int, ...], parts: list[tuple[View, Symbol]]) -> Symbol:
    """An array of which each part fills what a view shows."""
    builder = like.builder
    buffer = builder.new_buffer("local", "pairs", like.dtype, contiguous(shape))
    for view, part in parts:
        builder.store(Region(buffer.id, view), part.value)
    return Symbol(builder, builder.load(buffer.whole))


def interleaved(a: ComplexSymbol) -> Symbol:
    shape = (*a.shape, 2)
    strides = c_strides(shape)[:-1]
    return filled_through(
        a.real, shape, [(View(which, a.shape, strides), part) for which, part in enumerate((a.real, a.imag))]
    )


# Real matrices in place of complex ones: of `a + ib` it has blocks [[a, -b], [b, a]], and of triangles with a real
# diagonal it is a triangle.


def with_blocks(a: ComplexSymbol) -> Symbol:
    *batch, n, m = a.shape
    strides = c_strides((*batch, n, 2, m, 2))
    own = (*strides[: len(batch) + 1], strides[-2])
    numbers = ((0, a.real), (1, -a.imag), (2 * m, a.imag), (2 * m + 1, a.real))
    parts = [(View(start, a.shape, own), part) for start, part in numbers]
    return filled_through(a.real, (*batch, 2 * n, 2 * m), parts)


def stacked(a: ComplexSymbol) -> Symbol:
    """The columns of a matrix, on which with_blocks ones act."""
    *batch, n, m = a.shape
    strides = c_strides((*batch, n, 2, m))
    own = (*strides[: len(batch) + 1], 1)
    parts = [(View(which * m, a.shape, own), part) for which, part in enumerate((a.real, a.imag))]
    return filled_through(a.real, (*batch, 2 * n, m), parts)


def unstacked(a: Symbol) -> ComplexSymbol:
    *batch, n, m = a.shape
    shape = (*batch, n // 2, m)
    strides = c_strides((*batch, n // 2, 2, m))
    own = (*strides[: len(batch) + 1], 1)
    views = (View(which * m, shape, own) for which in range(2))
    return ComplexSymbol(*(Symbol(a.builder, a.builder.view(a.value, view)) for view in views))
