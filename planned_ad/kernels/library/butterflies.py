"""Fourier transforms of a few numbers, in registers: the butterflies of the passes in `fourier_passes`.

Numbers are scalars or vectors, real and imaginary parts apart. Products and sums may be contracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from ..llvm.types import element_constant

FAST = ("contract",)


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number, or one in each lane."""

    builder: ir.IRBuilder
    re: ir.Value
    im: ir.Value

    def _with(self, re: ir.Value, im: ir.Value) -> Complex:
        return Complex(self.builder, re, im)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fadd(a, b, flags=FAST)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fsub(a, b, flags=FAST)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.fmul(a, b, flags=FAST)

    def __add__(self, other: Complex) -> Complex:
        return self._with(self.add(self.re, other.re), self.add(self.im, other.im))

    def __sub__(self, other: Complex) -> Complex:
        return self._with(self.sub(self.re, other.re), self.sub(self.im, other.im))

    def __mul__(self, other: Complex) -> Complex:
        re = self.sub(self.mul(self.re, other.re), self.mul(self.im, other.im))
        return self._with(re, self.add(self.mul(self.re, other.im), self.mul(self.im, other.re)))

    def conjugate_times(self, other: Complex) -> Complex:
        """This number times the conjugate of the other."""
        re = self.add(self.mul(self.re, other.re), self.mul(self.im, other.im))
        return self._with(re, self.sub(self.mul(self.im, other.re), self.mul(self.re, other.im)))

    def scaled(self, factor: ir.Value) -> Complex:
        return self._with(self.mul(self.re, factor), self.mul(self.im, factor))

    def times(self, number: float) -> Complex:
        return self.scaled(element_constant(self.re.type, number))

    def conjugate(self) -> Complex:
        return self._with(self.re, self.builder.fneg(self.im))

    def swapped(self) -> Complex:
        return self._with(self.im, self.re)

    def plus_turned(self, other: Complex) -> Complex:
        """This plus `i` times the other."""
        return self._with(self.sub(self.re, other.im), self.add(self.im, other.re))

    def minus_turned(self, other: Complex) -> Complex:
        """This minus `i` times the other."""
        return self._with(self.add(self.re, other.im), self.sub(self.im, other.re))


def two(a: Sequence[Complex]) -> list[Complex]:
    return [a[0] + a[1], a[0] - a[1]]


def four(a: Sequence[Complex]) -> list[Complex]:
    even, odd = two(a[::2]), two(a[1::2])
    return [even[0] + odd[0], even[1].minus_turned(odd[1]), even[0] - odd[0], even[1].plus_turned(odd[1])]


def eight(a: Sequence[Complex]) -> list[Complex]:
    """Two of four; the odd ones times powers of `(1 - i) / sqrt(2)`."""
    even, odd = four(a[::2]), four(a[1::2])
    half = math.sqrt(0.5)
    first = odd[1].minus_turned(odd[1]).times(half)
    third = odd[3].plus_turned(odd[3]).times(half)  # minus what belongs there
    sums = [even[0] + odd[0], even[1] + first, even[2].minus_turned(odd[2]), even[3] - third]
    return sums + [even[0] - odd[0], even[1] - first, even[2].plus_turned(odd[2]), even[3] + third]


def odd(a: Sequence[Complex]) -> list[Complex]:
    """Of an odd number: `a[k]` and `a[r - k]` share their cosines, and their sines up to the sign."""
    r = len(a)
    half = (r - 1) // 2
    sums = [a[k] + a[r - k] for k in range(1, half + 1)]
    differences = [a[k] - a[r - k] for k in range(1, half + 1)]
    first = a[0]
    for each in sums:
        first = first + each
    found = [first] + [a[0]] * (r - 1)
    for j in range(1, half + 1):
        cosines, sines = a[0], None
        for k in range(1, half + 1):
            angle = 2 * math.pi * ((j * k) % r) / r
            cosines = cosines + sums[k - 1].times(math.cos(angle))
            term = differences[k - 1].times(math.sin(angle))
            sines = term if sines is None else sines + term
        assert sines is not None
        found[j], found[r - j] = cosines.minus_turned(sines), cosines.plus_turned(sines)
    return found


SPECIAL = {2: two, 4: four, 8: eight}


def butterfly(a: Sequence[Complex]) -> list[Complex]:
    """The transform of `a`, for the radices 2, 4, 8 and the least odd ones."""
    return SPECIAL.get(len(a), odd)(a)
