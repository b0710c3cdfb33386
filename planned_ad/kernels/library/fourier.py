"""Fourier transforms in a kernel (see `planned_ad.rules.fourier`): calls of the routines of `fourier_routines`.

Which algorithm a line gets:

* Lines side by side, eight at a time: Stockham's passes over a buffer of eight lanes.
* A long line `n = n1 n2` by itself, in four steps (Bailey): `n2` columns of `n1` numbers, then, turned and multiplied by
  roots of unity, `n1` columns of `n2`; columns are lines side by side.
* A short line by itself: passes over scalars.
* A length with large prime factors, as a convolution (Bluestein).

All buffers lie in scratch memory, which the plan has room for.

References
----------
D. H. Bailey, "FFTs in external or hierarchical memory", J. Supercomputing 4, 1990.
C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from llvmlite import ir

from ...planning.schedule import LibraryStep, Memory
from ...regions.regions import View, c_strides
from ..llvm.places import Pointers, loop
from ..llvm.types import I64, constant, memory_type
from . import twiddles
from .fourier_routines import SIGNATURES, Kind, routine_address
from .routines import rounded
from .twiddles import LANES

SCRATCH = Memory("scratch", 0)
RADICES = (7, 5, 3, 11, 13)  # besides powers of two
SHORTEST_IN_STEPS = 64  # numbers of a line that is transformed in four steps
# Numbers of lines that are transformed side by side: where neighbours lie side by side in memory, while buffers stay in
# the second cache; where they are far apart, while that is faster than four steps (measured).
LONGEST_IN_LANES, LONGEST_GATHERED = 8192, 256

Index = ir.Value | int


# Lengths.


@functools.cache
def radices(n: int) -> tuple[int, ...] | None:
    """The factors of the passes of length `n`; None where there are others than those of `RADICES`."""
    found = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    eights, rest = divmod(twos, 3)
    if rest == 1 and eights:
        return (*found, 4, 4, *[8] * (eights - 1))
    return (*found, *[1 << rest] * (rest > 0), *[8] * eights)


@functools.cache
def steps_of(n: int) -> tuple[int, int] | None:
    """The two lengths into which a long line is cut: those that leave the fewest lanes idle, with the fewest passes."""
    if n < SHORTEST_IN_STEPS or radices(n) is None:
        return None
    cuts = [(k, n // k) for k in range(LANES, n // LANES + 1) if n % k == 0]

    def cost(cut: tuple[int, int]) -> tuple[float, int]:
        n1, n2 = cut
        blocks = [-(-k // LANES) for k in cut]
        return blocks[1] * n1 * passes(n1) + blocks[0] * n2 * passes(n2), max(cut)

    def passes(k: int) -> int:
        return 1 + len(radices(k) or ())

    return min(cuts, key=cost, default=None)


@functools.cache
def convolved(n: int) -> int:
    """The length of the convolution that a transform of length `n` is made."""
    unit = SHORTEST_IN_STEPS if 2 * n - 1 > SHORTEST_IN_STEPS else 1
    k = -(-(2 * n - 1) // unit)
    while radices(k * unit) is None:
        k += 1
    return k * unit


# Places.


@dataclass(frozen=True, slots=True)
class Line:
    """Where the numbers of a line are: the first real and imaginary part, and how far it is to the next number, and to
    the same number in the next lane. `im` is None where there are real numbers only; `pair`: how far `im` is from `re`.
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

    def swapped(self) -> Line:
        assert self.im is not None
        return replace(self, re=self.im, im=self.re, pair=-self.pair)


@dataclass(frozen=True, slots=True)
class Form:
    """What is done to the numbers besides: a factor, and real and imaginary parts exchanged before and after."""

    scale: float = 1.0
    swap_in: bool = False
    swap_out: bool = False


PLAIN, INWARDS = Form(), Form(swap_in=True)


@dataclass
class Transforms:
    """The emission of transforms into `builder`'s current block."""

    builder: ir.IRBuilder
    dtype: np.dtype
    scratch: ir.Value
    used: int = 0  # bytes of the scratch memory
    most: int = 0

    # Memory.

    def buffer(self, n: int, lanes: int) -> Line:
        """Room for `n` elements."""
        self.used += rounded(2 * n * lanes * self.dtype.itemsize)
        self.most = max(self.most, self.used)
        place = self.builder.gep(self.scratch, [I64(self.used - rounded(2 * n * lanes * self.dtype.itemsize))])
        return self.line_of_buffer(self.builder.bitcast(place, memory_type(self.dtype).as_pointer()), lanes)

    def line_of_buffer(self, place: ir.Value, lanes: int) -> Line:
        return Line(place, self.at(place, lanes), 2 * lanes, 1 if lanes > 1 else 0, lanes)

    def at(self, base: ir.Value, offset: Index) -> ir.Value:
        return self.builder.gep(base, [I64(offset) if isinstance(offset, int) else offset])

    def moved(self, line: Line, index: Index, by: int) -> Line:
        offset = index * by if isinstance(index, int) else self.builder.mul(index, I64(by))
        return replace(line, re=self.at(line.re, offset), im=None if line.im is None else self.at(line.im, offset))

    def is_buffer(self, line: Line, lanes: int) -> bool:
        return line.im is not None and (line.step, line.pair) == (2 * lanes, lanes) and line.lane == (lanes > 1)

    # Routines.

    def call(self, name: str, lanes: int, variant: object, *arguments: object) -> None:
        address = routine_address(Kind(name, self.dtype, lanes, variant))
        values = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                place = I64(argument.ctypes.data)
                argument = place.inttoptr(memory_type(self.dtype).as_pointer())
            elif isinstance(argument, float):
                argument = constant(self.dtype, argument)
            elif isinstance(argument, int):
                argument = I64(argument)
            values.append(argument)
        assert len(values) == len(SIGNATURES[name])
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])  # type: ignore[attr-defined]
        self.builder.call(self.builder.inttoptr(I64(address), kind.as_pointer()), values)

    def load(self, lanes: int, source: Line, to: Line, n: int) -> None:
        im = source.re if source.im is None else source.im
        self.call("load", lanes, source.kind(lanes), source.re, im, source.step, source.lane, to.re, to.im, n)

    def store(self, lanes: int, source: Line, to: Line, n: int, scale: float) -> None:
        im = to.re if to.im is None else to.im
        self.call("store", lanes, to.kind(lanes), source.re, source.im, to.re, im, to.step, to.lane, n, scale)

    # Complex lines. The inverse exchanges real and imaginary parts of what is read, and of what is written.

    def transform(self, n: int, lanes: int, source: Line, target: Line, form: Form) -> None:
        """All numbers of a line, or of `lanes` lines side by side."""
        used = self.used
        if radices(n) is None:
            self.by_convolution(n, lanes, source, target, form)
        elif lanes == 1 and steps_of(n) is not None:
            self.in_steps(n, source, target, form)
        else:
            self.by_passes(n, lanes, source, target, form)
        self.used = used

    def by_passes(
        self, n: int, lanes: int, source: Line, target: Line, form: Form, is_scratch: bool = False
    ) -> None:
        """Passes between two buffers, one of which may be the source."""
        factors = radices(n) or ()
        straight = self.is_buffer(target, lanes) and form in (PLAIN, INWARDS) and bool(factors)
        rooms = [self.buffer(n, lanes), source if is_scratch else self.buffer(n, lanes)]
        here = source
        if form.swap_in or not self.is_buffer(source, lanes):
            here = rooms[0]
            rooms.reverse()
            self.load(lanes, source, here.swapped() if form.swap_in else here, n)
        m, s = n, 1
        for number, radix in enumerate(factors):
            m //= radix
            there = target if straight and number == len(factors) - 1 else rooms[0]
            self.call("pass", lanes, radix, here.re, there.re, m, s, twiddles.pass_table(radix, m, self.dtype))
            s *= radix
            rooms.reverse()
            here = there
        if not straight:
            self.store(lanes, here.swapped() if form.swap_out else here, target, n, form.scale)

    def in_steps(self, n: int, source: Line, target: Line, form: Form) -> None:
        cut = steps_of(n)
        assert cut is not None
        n1, n2 = cut
        width = 2 * LANES
        work = self.buffer(len(twiddles.block_starts(n2)) * n1, LANES)
        used = self.used
        with Blocks(self.builder, n2) as (b, start):
            columns = replace(self.moved(source, start, source.step), step=n2 * source.step, lane=source.step)
            place = self.moved(work, b, n1 * width)
            self.by_passes(n1, LANES, columns, place, INWARDS if form.swap_in else PLAIN)
        self.used = used
        table = twiddles.turn_table(n1, n2, self.dtype)
        turned = self.buffer(n2, LANES)
        with Blocks(self.builder, n1) as (_, start):
            offset = self.builder.mul(start, I64(width))
            factors = self.at(I64(table.ctypes.data).inttoptr(work.re.type), offset)
            self.call("turn", LANES, "", self.at(work.re, offset), factors, turned.re, n1, n2)
            columns = replace(self.moved(target, start, target.step), step=n1 * target.step, lane=target.step)
            self.by_passes(n2, LANES, turned, columns, replace(form, swap_in=False), is_scratch=True)

    def by_convolution(self, n: int, lanes: int, source: Line, target: Line, form: Form) -> None:
        m = convolved(n)
        chirp, response = twiddles.chirp_table(n, self.dtype), twiddles.filter_table(n, m, self.dtype)
        a, b = self.buffer(m, lanes), self.buffer(m, lanes)
        self.load(lanes, source, b.swapped() if form.swap_in else b, n)
        self.call("chirp_in", lanes, "", b.re, chirp, n, m, a.re)
        self.transform(m, lanes, a, b, PLAIN)
        self.call("filter", lanes, "", b.re, response, m, a.re)
        self.transform(m, lanes, a, b, PLAIN)
        self.call("chirp_out", lanes, "", b.re, chirp, n, a.re)
        self.store(lanes, a.swapped() if form.swap_out else a, target, n, form.scale)

    # Real lines.

    def real_to_complex(self, n: int, lanes: int, source: Line, target: Line, scale: float, inner: float) -> None:
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
            self.transform(m, lanes, pairs, found, Form(scale=scale))
            straight = self.is_buffer(target, lanes)
            place = target if straight else self.buffer(m + 1, lanes)
            table = twiddles.half_table(n, self.dtype)
            self.call("unpack", lanes, "", found.re, place.re, m, table, inner)
            if not straight:
                self.store(lanes, place, target, m + 1, 1.0)
        self.used = used

    def complex_to_real(self, n: int, lanes: int, source: Line, target: Line, scale: float, inner: float) -> None:
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
            self.transform(m, lanes, packed, pairs, Form(scale=scale, swap_out=True))
        self.used = used


class Blocks:
    """`with Blocks(builder, n) as (b, start):` emits a loop over blocks of lanes that cover `n` columns."""

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


# Steps of a plan.


@dataclass(frozen=True, slots=True)
class Dimension:
    """An axis of the batch: how many lines, and how far apart they are in the operand and in the result."""

    extent: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Batch:
    """How the lines of a step are gone through: loops, and an axis along which lanes lie, if there is one."""

    n: int
    source: tuple[int, int | None]  # steps along the line, and from real to imaginary parts, where there are any
    target: tuple[int, int | None]
    loops: tuple[Dimension, ...]
    lanes: Dimension | None


def batch_of(step: LibraryStep) -> Batch:
    op = step.operation
    ((_, view, _),) = step.operands
    behind: int = op.params["behind"]  # type: ignore[assignment]
    real_in, real_out = op.primitive == "real_fourier", op.primitive == "fourier_real"
    n, source, dims = line_and_batch(view, behind, not real_in)
    out = View(0, op.out.shape, c_strides(op.out.shape))
    n_out, target, dims_out = line_and_batch(out, behind, not real_out)
    n = n_out if real_out else n
    pairs_of_reals = (real_in or real_out) and n % 2 == 0
    axes = merged([Dimension(n, a, b) for (n, a), (_, b) in zip(dims, dims_out) if n != 1])
    wide = [d for d in axes if d.extent >= LANES]
    lanes = min(wide, key=lambda d: (abs(d.source) + abs(d.target), -d.extent), default=None)
    longest = LONGEST_GATHERED if lanes is not None and abs(lanes.source) > 2 else LONGEST_IN_LANES
    if (n if pairs_of_reals else 2 * n) >= 2 * longest:
        lanes = None
    return Batch(n, source, target, tuple(d for d in axes if d is not lanes), lanes)


def line_and_batch(view: View, behind: int, pairs: bool) -> tuple[int, tuple[int, int | None], list[tuple[int, int]]]:
    """Of a view: the extent of the line, its steps, and extents and strides of the other axes."""
    axes = list(zip(view.shape, view.strides))
    pair = axes.pop()[1] if pairs else None
    n, step = axes.pop(len(axes) - 1 - behind)
    return n, (step, pair), axes


def merged(axes: list[Dimension]) -> list[Dimension]:
    """Axes of which one continues the next are one."""
    found: list[Dimension] = []
    for d in axes:
        last = found[-1] if found else None
        if last and last.source == d.source * d.extent and last.target == d.target * d.extent:
            found[-1] = Dimension(last.extent * d.extent, d.source, d.target)
        else:
            found.append(d)
    return found


def emit_fourier(builder: ir.IRBuilder, step: LibraryStep, pointers: Pointers) -> None:
    """The transforms of all lines."""
    op = step.operation
    if op.out.size == 0:
        return
    ((memory, view, dtype),) = step.operands
    batch = batch_of(step)
    number = memory_type(dtype).as_pointer()
    source = builder.gep(builder.bitcast(pointers.of(memory), number), [pointers.offset(builder, view.offset)])
    target = builder.bitcast(pointers.of(step.result), number)
    transforms = Transforms(builder, dtype, pointers.of(SCRATCH))
    emit_line = LINES[op.primitive]

    def inside(loops: tuple[Dimension, ...], source: ir.Value, target: ir.Value) -> None:
        if loops:
            with loop(builder, 0, loops[0].extent, 1) as index:
                moved = (builder.mul(index, I64(k)) for k in (loops[0].source, loops[0].target))
                inside(loops[1:], *(transforms.at(p, k) for p, k in zip((source, target), moved)))
        elif batch.lanes is None:
            lines(1, source, target, Dimension(1, 0, 0))
        else:
            d = batch.lanes
            with Blocks(builder, d.extent) as (_, start):
                moved = (builder.mul(start, I64(k)) for k in (d.source, d.target))
                lines(LANES, *(transforms.at(p, k) for p, k in zip((source, target), moved)), d)

    def lines(lanes: int, source: ir.Value, target: ir.Value, across: Dimension) -> None:
        ends = []
        for place, (along, pair), lane in (
            (source, batch.source, across.source),
            (target, batch.target, across.target),
        ):
            im = None if pair is None else transforms.at(place, pair)
            ends.append(Line(place, im, along, lane, pair or 0))
        emit_line(transforms, batch.n, lanes, *ends, op.params)

    inside(batch.loops, source, target)


def _fourier(transforms: Transforms, n: int, lanes: int, source: Line, target: Line, params: dict) -> None:
    inverse = params["inverse"]
    transforms.transform(n, lanes, source, target, Form(params["scale"], inverse, inverse))


def _real_fourier(transforms: Transforms, n: int, lanes: int, source: Line, target: Line, params: dict) -> None:
    transforms.real_to_complex(n, lanes, source, target, params["scale"], params["inner"])


def _fourier_real(transforms: Transforms, n: int, lanes: int, source: Line, target: Line, params: dict) -> None:
    transforms.complex_to_real(n, lanes, source, target, params["scale"], params["inner"])


LINES: dict[str, Callable[[Transforms, int, int, Line, Line, dict], None]] = {
    "fourier": _fourier,
    "real_fourier": _real_fourier,
    "fourier_real": _fourier_real,
}


def fourier_scratch(step: LibraryStep) -> int:
    """Bytes of the buffers."""
    batch = batch_of(step)
    lanes = 1 if batch.lanes is None else LANES
    return scratch_of_lines(step.operation.primitive, batch.n, lanes, step.operation.out.dtype)


class Measured(Transforms):
    """An emission into nowhere, which shows how much scratch memory there has to be."""

    def call(self, name: str, lanes: int, variant: object, *arguments: object) -> None:
        pass


@functools.cache
def scratch_of_lines(primitive: str, n: int, lanes: int, dtype: np.dtype) -> int:
    number = memory_type(dtype).as_pointer()
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [number, number]), "nowhere")
    builder = ir.IRBuilder(function.append_basic_block())
    place, scratch = function.args
    transforms = Measured(builder, dtype, builder.bitcast(scratch, ir.IntType(8).as_pointer()))
    line = Line(place, place, 3, 3, 1)  # of no buffer
    LINES[primitive](transforms, n, lanes, line, line, {"scale": 2.0, "inner": 1.0, "inverse": True})
    return transforms.most
