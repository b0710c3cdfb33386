"""Fourier transforms of one line, or of as many as there are lanes: calls of the routines of `fourier_routines`.

Which algorithm a line gets:

* Lines side by side, eight at a time: Stockham's passes over a buffer of eight lanes.
* A long line `n = n1 n2` by itself, in four steps (Bailey): `n2` columns of `n1` numbers, then, multiplied by roots of
  unity and turned, `n1` columns of `n2`; columns are lines side by side.
* A short line by itself: passes over scalars.
* A length with prime factors beyond 61, as a convolution (Bluestein).

All buffers lie in scratch memory, which the plan has room for.

References
----------
D. H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4, 1990.
C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from llvmlite import ir

from ..llvm.addresses import pointer_at
from ..llvm.places import loop
from ..llvm.types import I64, constant, memory_type
from . import twiddles
from .fourier_lengths import WRITTEN_OUT, convolved, radices, steps_of
from .fourier_notation import Kind
from .fourier_routines import SIGNATURES, routine_address
from .routines import rounded
from .twiddles import LANES

Index = Any  # an integer, or one of LLVM's


@dataclass(frozen=True, slots=True)
class Strided:
    """Where the numbers of a line are: the first real and imaginary part, and how far it is to the next ones.

    `step` goes to the next number of the line, `lane` to the same number of the next line, `pair` from the real to the
    imaginary part. `im` is None where there are real numbers only.
    """

    re: ir.Value
    im: ir.Value | None
    step: int
    lane: int
    pair: int

    def kind(self, lanes: int) -> str:
        """How `load` and `store` see it."""
        if lanes == 1:
            return "any" if self.im is not None else "real"
        if self.lane == 1:
            return "planes" if self.im is not None else "reals"
        if self.im is None or self.pair != 1:
            return "any" if self.im is not None else "real"
        return "pairs" if self.lane == 2 else "lines"

    def swapped(self) -> Strided:
        assert self.im is not None
        return replace(self, re=self.im, im=self.re, pair=-self.pair)


@dataclass(frozen=True, slots=True)
class Treatment:
    """What is done to the numbers besides: a factor, and real and imaginary parts exchanged before and after."""

    scale: float = 1.0
    swap_in: bool = False
    swap_out: bool = False


PLAIN, INWARDS = Treatment(), Treatment(swap_in=True)


@dataclass
class Transforms:
    """The emission of transforms into `builder`'s current block."""

    builder: ir.IRBuilder
    dtype: np.dtype
    scratch: ir.Value
    used: int = 0  # bytes of the scratch memory
    most: int = 0

    # Memory.

    def buffer(self, n: int, lanes: int) -> Strided:
        """Room for `n` elements."""
        self.used += rounded(2 * n * lanes * self.dtype.itemsize)
        self.most = max(self.most, self.used)
        place = self.builder.gep(self.scratch, [I64(self.used - rounded(2 * n * lanes * self.dtype.itemsize))])
        return self.line_of_buffer(self.builder.bitcast(place, memory_type(self.dtype).as_pointer()), lanes)

    def line_of_buffer(self, place: ir.Value, lanes: int) -> Strided:
        return Strided(place, self.at(place, lanes), 2 * lanes, 1 if lanes > 1 else 0, lanes)

    def at(self, base: ir.Value, offset: Index) -> ir.Value:
        return self.builder.gep(base, [I64(offset) if isinstance(offset, int) else offset])

    def moved(self, line: Strided, index: Index, by: int) -> Strided:
        offset = index * by if isinstance(index, int) else self.builder.mul(index, I64(by))
        return replace(line, re=self.at(line.re, offset), im=None if line.im is None else self.at(line.im, offset))

    def is_buffer(self, line: Strided, lanes: int) -> bool:
        return line.im is not None and (line.step, line.pair) == (2 * lanes, lanes) and line.lane == (lanes > 1)

    # Routines.

    def call(self, name: str, lanes: int, variant: object, *arguments: object) -> None:
        address = routine_address(Kind(name, self.dtype, lanes, variant))
        values = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument = self.table(argument)
            elif isinstance(argument, float):
                argument = constant(self.dtype, argument)
            elif isinstance(argument, int):
                argument = I64(argument)
            values.append(argument)
        assert len(values) == len(SIGNATURES[name])
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])  # type: ignore[attr-defined]
        self.builder.call(pointer_at(self.builder, "address", address, kind), values)

    def table(self, numbers: np.ndarray) -> ir.Value:
        return pointer_at(self.builder, "array", numbers, memory_type(self.dtype))

    def load(self, lanes: int, source: Strided, to: Strided, n: int) -> None:
        im = source.re if source.im is None else source.im
        self.call("load", lanes, source.kind(lanes), source.re, im, source.step, source.lane, to.re, to.im, n)

    def store(self, lanes: int, source: Strided, to: Strided, n: int, scale: float) -> None:
        im = to.re if to.im is None else to.im
        self.call("store", lanes, to.kind(lanes), source.re, source.im, to.re, im, to.step, to.lane, n, scale)

    # Complex lines. The inverse exchanges real and imaginary parts of what is read, and of what is written.

    def transform(self, n: int, lanes: int, source: Strided, target: Strided, treatment: Treatment) -> None:
        """All numbers of a line, or of `lanes` lines side by side."""
        used = self.used
        if radices(n) is None:
            self.by_convolution(n, lanes, source, target, treatment)
        elif lanes == 1 and steps_of(n) is not None:
            self.in_steps(n, source, target, treatment)
        else:
            self.by_passes(n, lanes, source, target, treatment)
        self.used = used

    def by_passes(
        self, n: int, lanes: int, source: Strided, target: Strided, treatment: Treatment, is_scratch: bool = False
    ) -> None:
        """Passes between two buffers, one of which may be the source."""
        factors = radices(n) or ()
        straight = self.is_buffer(target, lanes) and treatment in (PLAIN, INWARDS) and bool(factors)
        rooms = [self.buffer(n, lanes), source if is_scratch else self.buffer(n, lanes)]
        here = source
        if treatment.swap_in or not self.is_buffer(source, lanes):
            here = rooms[0]
            rooms.reverse()
            self.load(lanes, source, here.swapped() if treatment.swap_in else here, n)
        m, s = n, 1
        for number, radix in enumerate(factors):
            m //= radix
            there = target if straight and number == len(factors) - 1 else rooms[0]
            self.one_pass(lanes, radix, here, there, m, s)
            s *= radix
            rooms.reverse()
            here = there
        if not straight:
            self.store(lanes, here.swapped() if treatment.swap_out else here, target, n, treatment.scale)

    def one_pass(self, lanes: int, radix: int, here: Strided, there: Strided, m: int, s: int) -> None:
        if radix in WRITTEN_OUT:
            self.call("pass", lanes, radix, here.re, there.re, m, s, twiddles.pass_table(radix, m, self.dtype))
            return
        room, table = self.buffer(radix, lanes), twiddles.odd_table(radix, m, self.dtype)
        self.call("odd_pass", lanes, "", here.re, there.re, m, s, table, radix, room.re)

    def in_steps(self, n: int, source: Strided, target: Strided, treatment: Treatment) -> None:
        cut = steps_of(n)
        assert cut is not None
        n1, n2 = cut
        width = 2 * LANES
        work = self.buffer(len(twiddles.block_starts(n2)) * n1, LANES)
        used = self.used
        with LaneBlocks(self.builder, n2) as (b, start):
            columns = replace(self.moved(source, start, source.step), step=n2 * source.step, lane=source.step)
            place = self.moved(work, b, n1 * width)
            self.by_passes(n1, LANES, columns, place, INWARDS if treatment.swap_in else PLAIN)
        self.used = used
        table = twiddles.turn_table(n1, n2, self.dtype)
        turned = self.buffer(n2, LANES)
        with LaneBlocks(self.builder, n1) as (_, start):
            offset = self.builder.mul(start, I64(width))
            factors = self.at(self.table(table), offset)
            self.call("turn", LANES, "", self.at(work.re, offset), factors, turned.re, n1, n2)
            columns = replace(self.moved(target, start, target.step), step=n1 * target.step, lane=target.step)
            self.by_passes(n2, LANES, turned, columns, replace(treatment, swap_in=False), is_scratch=True)

    def by_convolution(self, n: int, lanes: int, source: Strided, target: Strided, treatment: Treatment) -> None:
        m = convolved(n)
        chirp, response = twiddles.chirp_table(n, self.dtype), twiddles.filter_table(n, m, self.dtype)
        a, b = self.buffer(m, lanes), self.buffer(m, lanes)
        self.load(lanes, source, b.swapped() if treatment.swap_in else b, n)
        self.call("chirp_in", lanes, "", b.re, chirp, n, m, a.re)
        self.transform(m, lanes, a, b, PLAIN)
        self.call("filter", lanes, "", b.re, response, m, a.re)
        self.transform(m, lanes, a, b, PLAIN)
        self.call("chirp_out", lanes, "", b.re, chirp, n, a.re)
        self.store(lanes, a.swapped() if treatment.swap_out else a, target, n, treatment.scale)

    # Real lines.

    def real_to_complex(self, n: int, lanes: int, source: Strided, target: Strided, scale: float, inner: float) -> None:
        used = self.used
        if n % 2:
            whole = self.buffer(n, lanes)
            self.transform(n, lanes, source, whole, PLAIN)
            self.store(lanes, whole, target, 1, scale)
            if n > 1:
                rest = self.moved(whole, 1, whole.step)
                self.store(lanes, rest, self.moved(target, 1, target.step), n // 2, scale * inner)
        else:
            m = n // 2
            pairs = replace(source, im=self.at(source.re, source.step), step=2 * source.step, pair=source.step)
            found = self.buffer(m, lanes)
            self.transform(m, lanes, pairs, found, Treatment(scale=scale))
            straight = self.is_buffer(target, lanes)
            place = target if straight else self.buffer(m + 1, lanes)
            table = twiddles.half_table(n, self.dtype)
            self.call("unpack", lanes, "", found.re, place.re, m, table, inner)
            if not straight:
                self.store(lanes, place, target, m + 1, 1.0)
        self.used = used

    def complex_to_real(self, n: int, lanes: int, source: Strided, target: Strided, scale: float, inner: float) -> None:
        used = self.used
        place = source
        if not self.is_buffer(source, lanes):
            place = self.buffer(n // 2 + 1, lanes)
            self.load(lanes, source, place, n // 2 + 1)
        if n % 2:
            whole = self.buffer(n, lanes)
            self.call("extend", lanes, "", place.re, whole.im, whole.re, n, inner / 2)
            found = self.buffer(n, lanes)
            self.transform(n, lanes, whole, found, PLAIN)
            self.store(lanes, found.swapped(), target, n, scale)
        else:
            m = n // 2
            packed = self.buffer(m, lanes)
            table = twiddles.half_table(n, self.dtype)
            self.call("pack", lanes, "", place.re, packed.im, packed.re, m, table, inner)
            pairs = replace(target, im=self.at(target.re, target.step), step=2 * target.step, pair=target.step)
            self.transform(m, lanes, packed, pairs, Treatment(scale=scale, swap_out=True))
        self.used = used


class LaneBlocks:
    """`with LaneBlocks(builder, n) as (b, start):` emits a loop over blocks of lanes that cover `n` columns."""

    def __init__(self, builder: ir.IRBuilder, n: int):
        self.builder, self.last = builder, n - LANES
        self.around = loop(builder, 0, -(-n // LANES), 1)

    def __enter__(self) -> tuple[ir.Value, ir.Value]:
        b = self.around.__enter__()
        start = self.builder.mul(b, I64(LANES))
        if self.last % LANES:
            beyond = self.builder.icmp_signed(">", start, I64(self.last))
            start = self.builder.select(beyond, I64(self.last), start)
        return b, start

    def __exit__(self, *error) -> None:
        self.around.__exit__(*error)
