"""The routines that Fourier transforms are made of: each is compiled once in a process, and all plans call it.

They work on buffers. Element `e` of a buffer is a complex number in each of `lanes` lanes: the real parts, then the
imaginary ones. Lanes are lines that are transformed side by side, so that all arithmetic is on whole vectors; with one
lane a buffer is an array of pairs. `load` and `store` go between buffers and memory of any strides.

The inverse transform exchanges real and imaginary parts before and after: whoever calls passes their addresses so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.codelibrary import Optimization, lasting_address
from ..llvm.places import loop
from ..llvm.types import I32, I64, STACK_ALIGNMENT, element_constant, memory_type, splat
from .butterflies import Complex, butterfly

VOID = ir.VoidType()
# What is in vectors already runs no faster for LLVM's work on it, which would take three times as long as the rest; of
# what streams over a single line it makes vectors.
ARITHMETIC, STREAMING = Optimization(level=0, loop_vectorize=False, loop_unroll=False), Optimization(loop_unroll=False)

Emit = Callable[["Routine"], None]


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

    def __init__(self, module: ir.Module, symbol: str, kind: Kind):
        self.kind, self.lanes = kind, kind.lanes
        self.number = memory_type(kind.dtype)
        signature = ir.FunctionType(VOID, [self.type_of(letter) for letter in SIGNATURES[kind.name]])
        function = ir.Function(module, signature, symbol)
        function.attributes.alignstack = STACK_ALIGNMENT
        self.arguments = function.args
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

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


# Passes.


def emit_pass(routine: Routine) -> None:
    """A pass of Stockham's algorithm, decimation in frequency (Van Loan, 1.7): `m` groups of `s` butterflies."""
    source, target, m, s, table = routine.arguments
    radix: int = routine.kind.variant
    stride = routine.times(s, m)

    def group(p: ir.Value, factors: list[Complex]) -> None:
        first = routine.times(s, p)
        into = routine.times(first, radix)
        with routine.loop(0, s) as q:
            at = routine.plus(first, q)
            numbers = []
            for _ in range(radix):
                numbers.append(routine.read(source, at))
                at = routine.plus(at, stride)
            found = butterfly(numbers)
            if factors:
                found[1:] = [number * factor for number, factor in zip(found[1:], factors)]
            at = routine.plus(into, q)
            for number in found:
                routine.write(number, target, at)
                at = routine.plus(at, s)

    group(I64(0), [])
    with routine.loop(1, m) as p:
        start = routine.times(routine.plus(p, -1), radix - 1)
        group(p, [routine.factor(table, routine.plus(start, j)) for j in range(radix - 1)])


def emit_turn(routine: Routine) -> None:
    """Between the steps of a long line: columns that lay side by side become elements.

    `source` holds blocks of lanes (`twiddles.block_starts` of `n2`) of `n1` elements; elements `k` to `k + lanes` of
    all blocks are multiplied by the table and become the lanes of `n2` elements.
    """
    source, table, target, n1, n2 = routine.arguments
    lanes, width = routine.lanes, 2 * routine.lanes
    blocks = routine.builder.udiv(routine.plus(n2, lanes - 1), I64(lanes))
    last = routine.plus(n2, -lanes)
    with routine.loop(0, blocks) as b:
        first = routine.times(b, lanes)
        beyond = routine.builder.icmp_signed(">", first, last)
        first = routine.builder.select(beyond, last, first)
        at = routine.times(b, n1)
        numbers = []
        for _ in range(lanes):
            numbers.append(routine.read(source, at) * routine.read(table, at))
            at = routine.plus(at, 1)
        place = routine.at(target, routine.times(first, width))
        re, im = (turned_square(routine, [getattr(c, part) for c in numbers]) for part in ("re", "im"))
        for k in range(lanes):
            routine.write(routine.complex(re[k], im[k]), place, k)


def turned_square(routine: Routine, rows: list[ir.Value]) -> list[ir.Value]:
    """A square of numbers, by the exchange of blocks."""
    n = len(rows)
    distance = 1
    while distance < n:
        for i in range(n):
            if i & distance:
                continue
            a, b = rows[i], rows[i + distance]
            upper = [n + k - distance if k & distance else k for k in range(n)]
            lower = [n + k if k & distance else k + distance for k in range(n)]
            rows[i], rows[i + distance] = routine.shuffled(a, b, upper), routine.shuffled(a, b, lower)
        distance *= 2
    return rows


# Between buffers and other memory. The variants of `load` and `store` say how lanes lie:
#   'pairs' side by side as pairs; 'planes' side by side, real and imaginary parts apart; 'lines' as pairs far apart;
#   'any' as it comes; 'real' likewise without imaginary parts, 'reals' side by side without them.


def emit_load(routine: Routine) -> None:
    re, im, line, lane, to_re, to_im, n = routine.arguments
    with routine.loop(0, n) as e:
        offset = routine.times(e, line)
        number = gathered(routine, routine.at(re, offset), routine.at(im, offset), lane)
        routine.write(number, to_re, e, to_im)


def gathered(routine: Routine, re: ir.Value, im: ir.Value, lane: ir.Value) -> Complex:
    lanes, variant = routine.lanes, routine.kind.variant
    if variant == "pairs":
        return routine.apart(routine.load(re, 2 * lanes))
    if variant == "planes":
        return routine.complex(routine.load(re, lanes), routine.load(im, lanes))
    if variant == "reals":
        return routine.complex(routine.load(re, lanes), routine.zero().im)
    if variant == "lines":
        pairs = [routine.load(routine.at(re, routine.times(lane, k)), 2) for k in range(lanes)]
        return routine.apart(routine.joined(pairs))
    parts = []
    for base in (re,) if variant == "real" else (re, im):
        numbers = [routine.load(routine.at(base, routine.times(lane, k))) for k in range(lanes)]
        parts.append(vector_of(routine, numbers))
    return routine.complex(parts[0], parts[1] if len(parts) > 1 else routine.zero().im)


def vector_of(routine: Routine, numbers: list[ir.Value]) -> ir.Value:
    if len(numbers) == 1:
        return numbers[0]
    vector: ir.Value = ir.Constant(ir.VectorType(routine.number, len(numbers)), ir.Undefined)
    for k, number in enumerate(numbers):
        vector = routine.builder.insert_element(vector, number, I32(k))
    return vector


def emit_store(routine: Routine) -> None:
    from_re, from_im, re, im, line, lane, n, scale = routine.arguments
    factor = routine.in_each_lane(scale)
    with routine.loop(0, n) as e:
        offset = routine.times(e, line)
        parts = [routine.load(routine.element(base, e), routine.lanes) for base in (from_re, from_im)]
        number = routine.complex(*parts).scaled(factor)
        scatter(routine, number, routine.at(re, offset), routine.at(im, offset), lane)


def scatter(routine: Routine, number: Complex, re: ir.Value, im: ir.Value, lane: ir.Value) -> None:
    lanes, variant = routine.lanes, routine.kind.variant
    if variant == "pairs":
        routine.store(routine.interleaved(number), re)
    elif variant in ("planes", "reals"):
        routine.store(number.re, re)
        if variant == "planes":
            routine.store(number.im, im)
    elif variant == "lines":
        pairs = routine.interleaved(number)
        for k in range(lanes):
            pair = routine.shuffled(pairs, pairs, [2 * k, 2 * k + 1])
            routine.store(pair, routine.at(re, routine.times(lane, k)))
    else:
        for base, part in zip((re, im), (number.re,) if variant == "real" else (number.re, number.im)):
            for k in range(lanes):
                one = routine.builder.extract_element(part, I32(k)) if lanes > 1 else part
                routine.store(one, routine.at(base, routine.times(lane, k)))


# Of real lines. Of an even length n they are transformed as n / 2 complex numbers, the even ones and the odd ones as
# real and imaginary parts (Van Loan, 4.3). With the transforms E and O of both, `a[k] = E + w O` and
# `a[m - k] = conj(E - w O)`, where `E = (z[k] + conj z[m - k]) / 2`, `O = (z[k] - conj z[m - k]) / 2i`, `m = n / 2`.


def emit_unpack(routine: Routine) -> None:
    """From `m` complex numbers to `m + 1` frequencies, all but those at the ends times `inner`."""
    source, target, m, table, inner = routine.arguments
    number = routine.read(source, 0)
    none = routine.zero().im
    routine.write(routine.complex(number.add(number.re, number.im), none), target, 0)
    routine.write(routine.complex(number.sub(number.re, number.im), none), target, m)
    with even_and_odd(routine, source, m, table, inner) as (k, other, even, odd):
        sums = even + odd * routine.factor(table, k)
        routine.write((even - odd * routine.factor(table, k)).conjugate(), target, other)
        routine.write(sums, target, k)


def emit_pack(routine: Routine) -> None:
    """From `m + 1` frequencies to the `m` complex numbers whose inverse transform is that of the real line."""
    source, to_re, to_im, m, table, inner = routine.arguments
    first, last = routine.read(source, 0), routine.read(source, m)
    routine.write(routine.complex(first.add(first.re, last.re), first.sub(first.re, last.re)), to_re, 0, to_im)
    with even_and_odd(routine, source, m, table, inner) as (k, other, even, odd):
        turned = odd.conjugate_times(routine.factor(table, k))
        routine.write((even - turned).conjugate(), to_re, other, to_im)
        routine.write(even + turned, to_re, k, to_im)


@contextmanager
def even_and_odd(routine: Routine, source: ir.Value, m: ir.Value, table: ir.Value, inner: ir.Value) -> Iterator[tuple]:
    """For `k` up to `m / 2`: `k`, `m - k`, half the sum of `a[k]` and `conj a[m - k]`, and their difference."""
    half = element_constant(routine.number, 0.5)
    whole = routine.in_each_lane(inner)
    part = routine.in_each_lane(routine.builder.fmul(inner, half))
    with routine.loop(1, routine.plus(routine.builder.lshr(m, I64(1)), 1)) as k:
        other = routine.builder.sub(m, k)
        a, b = routine.read(source, k), routine.read(source, other).conjugate()
        yield k, other, (a + b).scaled(part), (a - b).scaled(whole)


def emit_extend(routine: Routine) -> None:
    """From the frequencies `k <= n / 2` of a real line of odd length to all; all but the first times `half`."""
    source, to_re, to_im, n, half = routine.arguments
    first = routine.read(source, 0)
    routine.write(routine.complex(first.re, routine.zero().im), to_re, 0, to_im)
    factor = routine.in_each_lane(half)
    with routine.loop(1, routine.plus(routine.builder.lshr(n, I64(1)), 1)) as k:
        number = routine.read(source, k).scaled(factor)
        routine.write(number, to_re, k, to_im)
        routine.write(number.conjugate(), to_re, routine.builder.sub(n, k), to_im)


# Of other lengths, as a convolution with a chirp (Bluestein; Van Loan, 4.2.3): `j k = (j^2 + k^2 - (k - j)^2) / 2`.


def emit_chirp_in(routine: Routine) -> None:
    """Numbers times the chirp, with zeros up to the length of the convolution."""
    source, table, n, m, target = routine.arguments
    with routine.loop(0, n) as e:
        routine.write(routine.read(source, e) * routine.factor(table, e), target, e)
    with routine.loop(n, m) as e:
        routine.write(routine.zero(), target, e)


def emit_filter(routine: Routine) -> None:
    """The transform times that of the response; ready to be transformed back."""
    source, table, m, target = routine.arguments
    with routine.loop(0, m) as e:
        routine.write((routine.read(source, e) * routine.factor(table, e)).swapped(), target, e)


def emit_chirp_out(routine: Routine) -> None:
    source, table, n, target = routine.arguments
    with routine.loop(0, n) as e:
        routine.write(routine.read(source, e).swapped() * routine.factor(table, e), target, e)


# Of each routine its arguments: addresses of numbers, integers, numbers.
SIGNATURES = {
    "pass": "ppiip", "turn": "pppii", "load": "ppiippi", "store": "ppppiiif", "unpack": "ppipf", "pack": "pppipf",
    "extend": "pppif", "chirp_in": "ppiip", "filter": "ppip", "chirp_out": "ppip",
}  # fmt: skip
EMIT: dict[str, Emit] = {
    "pass": emit_pass, "turn": emit_turn, "load": emit_load, "store": emit_store, "unpack": emit_unpack,
    "pack": emit_pack, "extend": emit_extend, "chirp_in": emit_chirp_in, "filter": emit_filter,
    "chirp_out": emit_chirp_out,
}  # fmt: skip
# Of each routine the arguments that are all it writes to, and that it does not read.
WRITTEN = {
    "pass": (1,), "turn": (2,), "load": (4, 5), "store": (2, 3), "unpack": (1,), "pack": (1, 2), "extend": (1, 2),
    "chirp_in": (4,), "filter": (3,), "chirp_out": (3,),
}  # fmt: skip


def routine_address(kind: Kind) -> int:
    """The address of a routine, which is compiled at its first use."""
    symbol = kind.symbol

    def emit(module: ir.Module) -> None:
        routine = Routine(module, symbol, kind)
        for k, argument in enumerate(routine.arguments):
            written = WRITTEN[kind.name]
            if isinstance(argument.type, ir.PointerType) and (k not in written or len(written) == 1):
                argument.add_attribute("noalias")
        EMIT[kind.name](routine)
        routine.builder.ret_void()

    return lasting_address(symbol, emit, STREAMING if kind.lanes == 1 and kind.name != "pass" else ARITHMETIC)
