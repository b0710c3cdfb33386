"""The notation of the routines of Fourier transforms: numbers in buffers and elsewhere, in each of some lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.builder import TerseBuilder
from ..llvm.places import loop
from ..llvm.types import I32, I64, align_stack, element_constant, memory_type, splat
from .butterflies import Complex

VOID = ir.VoidType()


@dataclass(frozen=True, slots=True)
class Kind:
    """What a routine is compiled for: a number of lanes, and what else its code depends on."""

    name: str
    dtype: np.dtype
    lanes: int
    variant: Any = ""

    @property
    def symbol(self) -> str:
        return f"planned_ad.fourier.{self.name}.{self.variant}.{self.lanes}x{self.dtype.name}"


class Routine:
    """The emission of a routine: its arguments, and numbers in buffers and elsewhere."""

    def __init__(self, module: ir.Module, symbol: str, kind: Kind, letters: str):
        self.kind, self.lanes = kind, kind.lanes
        self.number = memory_type(kind.dtype)
        signature = ir.FunctionType(VOID, [self.type_of(letter) for letter in letters])
        function = ir.Function(module, signature, symbol)
        align_stack(function)
        self.arguments = function.args
        self.builder = TerseBuilder(function.append_basic_block("entry"))

    def type_of(self, letter: str) -> ir.Type:
        return {"p": self.number.as_pointer(), "i": I64, "f": self.number}[letter]

    # Integers.

    def times(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        return self.builder.mul(a, I64(b) if isinstance(b, int) else b)

    def plus(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        return self.builder.add(a, I64(b) if isinstance(b, int) else b)

    def loop(self, start: ir.Value | int, stop: ir.Value) -> loop:
        return loop(self.builder, I64(start) if isinstance(start, int) else start, stop, 1)

    # Numbers in memory.

    def at(self, base: ir.Value, offset: ir.Value | int) -> ir.Value:
        return self.builder.gep(base, [I64(offset) if isinstance(offset, int) else offset])

    def load(self, place: ir.Value, count: int = 1) -> ir.Value:
        if count > 1:
            place = self.builder.bitcast(place, ir.VectorType(self.number, count).as_pointer())
        return self.builder.load(place, align=self.kind.dtype.itemsize)

    def store(self, value: ir.Value, place: ir.Value) -> None:
        if isinstance(value.type, ir.VectorType):
            place = self.builder.bitcast(place, value.type.as_pointer())
        self.builder.store(value, place, align=self.kind.dtype.itemsize)

    def complex(self, re: ir.Value, im: ir.Value) -> Complex:
        return Complex(self.builder, re, im)

    def read(self, base: ir.Value, element: ir.Value | int) -> Complex:
        """An element of a buffer."""
        place = self.element(base, element)
        return self.complex(self.load(place, self.lanes), self.load(self.at(place, self.lanes), self.lanes))

    def element(self, base: ir.Value, element: ir.Value | int) -> ir.Value:
        width = 2 * self.lanes
        return self.at(base, element * width if isinstance(element, int) else self.times(element, width))

    def write(self, number: Complex, base: ir.Value, element: ir.Value | int, im: ir.Value | None = None) -> None:
        """An element of a buffer, of which the imaginary parts begin at `im`, where that is given."""
        place = self.element(base, element)
        self.store(number.re, place)
        self.store(number.im, self.at(place, self.lanes) if im is None else self.element(im, element))

    def factor(self, table: ir.Value, index: ir.Value) -> Complex:
        """A number of a table of pairs, in each lane."""
        place = self.at(table, self.times(index, 2))
        re, im = (splat(self.builder, self.load(self.at(place, k)), self.lanes) for k in (0, 1))
        return self.complex(re, im)

    def in_each_lane(self, number: ir.Value) -> ir.Value:
        return splat(self.builder, number, self.lanes)

    def zero(self) -> Complex:
        kind = self.number if self.lanes == 1 else ir.VectorType(self.number, self.lanes)
        return self.complex(element_constant(kind, 0.0), element_constant(kind, 0.0))

    # Vectors.

    def shuffled(self, a: ir.Value, b: ir.Value, lanes: list[int]) -> ir.Value:
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(lanes)), lanes))

    def joined(self, vectors: list[ir.Value]) -> ir.Value:
        """Vectors, as many as a power of two, one after the other."""
        while len(vectors) > 1:
            width = 2 * vectors[0].type.count
            vectors = [self.shuffled(a, b, list(range(width))) for a, b in zip(vectors[::2], vectors[1::2])]
        return vectors[0]

    def apart(self, pairs: ir.Value) -> Complex:
        even = list(range(0, 2 * self.lanes, 2))
        return self.complex(*(self.shuffled(pairs, pairs, [k + j for k in even]) for j in (0, 1)))

    def interleaved(self, number: Complex) -> ir.Value:
        order = [k + part * self.lanes for k in range(self.lanes) for part in (0, 1)]
        return self.shuffled(number.re, number.im, order)
