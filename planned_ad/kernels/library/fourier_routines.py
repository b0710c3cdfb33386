"""The routines that Fourier transforms are made of: each is compiled once in a process, and all plans call it.

They work on buffers. Element `e` of a buffer is a complex number in each of `lanes` lanes: the real parts, then the
imaginary ones. Lanes are lines that are transformed side by side, so that all arithmetic is on whole vectors; with one
lane a buffer is an array of pairs. `load` and `store` go between buffers and memory of any strides.

The inverse transform exchanges real and imaginary parts before and after: whoever calls passes their addresses so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from ..llvm.codelibrary import Optimization, lasting_address
from ..llvm.types import I32, I64, element_constant
from .butterflies import Complex, butterfly
from .fourier_notation import Kind, Routine

# What is in vectors already runs no faster for LLVM's work on it, which would take three times as long as the rest; of
# what streams over a single line it makes vectors.
ARITHMETIC, STREAMING = Optimization(level=0, loop_vectorize=False, loop_unroll=False), Optimization(loop_unroll=False)

Emit = Callable[["Routine"], None]


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


def emit_odd_pass(routine: Routine) -> None:
    """A pass of any odd radix: what `butterflies.odd` writes out, as loops."""
    source, target, m, s, table, radix, room = routine.arguments
    stride, half = routine.times(s, m), routine.builder.lshr(radix, I64(1))
    beyond = routine.plus(half, 1)

    def cell() -> ir.Value:
        with routine.builder.goto_entry_block():
            return routine.builder.alloca(routine.zero().re.type)

    cells = [routine.complex(cell(), cell()) for _ in range(2)]

    def put(number: Complex, into: Complex) -> None:
        routine.builder.store(number.re, into.re)
        routine.builder.store(number.im, into.im)

    def get(found: Complex) -> Complex:
        return routine.complex(routine.builder.load(found.re), routine.builder.load(found.im))

    total, sines = cells
    with routine.loop(0, m) as p, routine.loop(0, s) as q:
        at = routine.plus(routine.times(s, p), q)
        first = routine.read(source, at)
        put(first, total)
        with routine.loop(1, beyond) as k:
            other = routine.builder.sub(radix, k)
            a, b = (routine.read(source, routine.plus(at, routine.times(stride, i))) for i in (k, other))
            put(get(total) + (a + b), total)
            routine.write(a + b, room, k)
            routine.write(a - b, room, other)
        into = routine.plus(routine.times(routine.times(s, p), radix), q)
        routine.write(get(total), target, into)
        factors = routine.plus(routine.times(routine.plus(radix, -1), p), routine.plus(radix, -1))
        with routine.loop(1, beyond) as j:
            put(first, total)
            put(routine.zero(), sines)
            with routine.loop(1, beyond) as k:
                root = routine.factor(table, routine.builder.urem(routine.times(j, k), radix))
                put(get(total) + routine.read(room, k).scaled(root.re), total)
                put(get(sines) + routine.read(room, routine.builder.sub(radix, k)).scaled(root.im), sines)
            opposite = routine.builder.sub(radix, j)
            for i, number in ((j, get(total).minus_turned(get(sines))), (opposite, get(total).plus_turned(get(sines)))):
                number = number * routine.factor(table, routine.plus(factors, i))
                routine.write(number, target, routine.plus(into, routine.times(s, i)))


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
    "pass": "ppiip", "odd_pass": "ppiipip", "turn": "pppii", "load": "ppiippi", "store": "ppppiiif",
    "unpack": "ppipf", "pack": "pppipf", "extend": "pppif", "chirp_in": "ppiip", "filter": "ppip", "chirp_out": "ppip",
}  # fmt: skip
EMIT: dict[str, Emit] = {
    "pass": emit_pass, "odd_pass": emit_odd_pass, "turn": emit_turn, "load": emit_load, "store": emit_store,
    "unpack": emit_unpack, "pack": emit_pack, "extend": emit_extend, "chirp_in": emit_chirp_in, "filter": emit_filter,
    "chirp_out": emit_chirp_out,
}  # fmt: skip
# Of each routine the arguments that it writes to; two of them may be parts of the same memory.
WRITTEN = {
    "pass": (1,), "odd_pass": (1, 6), "turn": (2,), "load": (4, 5), "store": (2, 3), "unpack": (1,), "pack": (1, 2),
    "extend": (1, 2), "chirp_in": (4,), "filter": (3,), "chirp_out": (3,),
}  # fmt: skip


def routine_address(kind: Kind) -> int:
    """The address of a routine, which is compiled at its first use."""
    symbol = kind.symbol

    def emit(module: ir.Module) -> None:
        routine = Routine(module, symbol, kind, SIGNATURES[kind.name])
        for k, argument in enumerate(routine.arguments):
            written = WRITTEN[kind.name]
            if isinstance(argument.type, ir.PointerType) and (k not in written or len(written) == 1):
                argument.add_attribute("noalias")
        EMIT[kind.name](routine)
        routine.builder.ret_void()

    wants_work = kind.name == "odd_pass" or (kind.lanes == 1 and kind.name != "pass")
    return lasting_address(symbol, emit, STREAMING if wants_work else ARITHMETIC)
