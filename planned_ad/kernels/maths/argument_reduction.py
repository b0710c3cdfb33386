"""Reduction of huge arguments by multiples of pi, exactly, in wide integers; called for single lanes, rarely.

M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983. With
x = M 2**e, M of 53 bits, only a window of the bits of 1/pi matters for x / pi mod 2: those above it contribute even
multiples of pi, those below it too little. The window has 192 bits, so that the product is known to 2**-138, while
x / pi stays 2**-62 away from half-integers. (glibc 2.36 keeps fewer bits: 8 ulp for the cosine of
6381956970095103 * 2**797, the double closest to a multiple of pi/2.)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from llvmlite import ir

from ..llvm.builder import TerseBuilder
from .notation import F64, I64, Lanes, declare, fast_two_sum
from .shared_functions import FUNCTIONS, SharedFunction, shared

TWICE, WIDE = ir.IntType(128), ir.IntType(192)
RESULT = ir.LiteralStructType([F64, F64, I64])
TABLE = "planned_ad.inverse_pi"
REDUCE = "reduce"
LEADING = 64
"""Zero bits before the binary point of 1/pi in the table: they serve exponents e >= -62."""


@functools.cache
def inverse_pi_words() -> list[int]:
    """floor(2**1280 / pi) after a word of zeros, as signed words, most significant first; pi by Machin's formula."""
    bits, guard = 1280, 64
    one = 1 << (bits + guard)

    def arccot(m: int) -> int:
        total, term, k = 0, one // m, 1
        while term:
            total += term // k
            term, k = term // (-m * m), k + 2
        return total

    pi = 4 * (4 * arccot(5) - arccot(239))
    inverse = (1 << (2 * bits + guard)) // pi
    words = [(inverse >> (bits - 64 * (i + 1))) & (2**64 - 1) for i in range(bits // 64)]
    return [w - 2**64 if w >= 2**63 else w for w in [0] * (LEADING // 64) + words]


def table(module: ir.Module) -> ir.GlobalVariable:
    """The bits of 1/pi in the module."""
    found = module.globals.get(TABLE)
    if found is not None:
        return found
    words = inverse_pi_words()
    kind = ir.ArrayType(I64, len(words))
    variable = ir.GlobalVariable(module, kind, TABLE)
    variable.linkage, variable.global_constant = "internal", True
    variable.initializer = ir.Constant(kind, words)
    return variable


def aggregate(builder: ir.IRBuilder, kind: ir.Type, members: Sequence[ir.Value]) -> ir.Value:
    """The structure of these members."""
    result: ir.Value = ir.Constant(kind, ir.Undefined)
    for i, member in enumerate(members):
        result = builder.insert_value(result, member, i)
    return result


def write_reduction(function: ir.Function) -> None:
    """The function (x, doublings, offset) -> (F, F_low, n): x 2**doublings / pi + offset / 2**63 = n + F + F_low mod 2.

    Requires a finite x >= 2**-8; |F| <= 1/2, n is 0 or 1.
    """
    module = function.module
    builder = TerseBuilder(function.append_basic_block("entry"))
    x, doublings, offset = function.args

    bits = builder.bitcast(x, I64)
    mantissa = builder.or_(builder.and_(bits, I64(2**52 - 1)), I64(2**52))
    exponent = builder.add(builder.sub(builder.lshr(bits, I64(52)), I64(1075)), doublings)
    # the window begins with the bit of weight 1, after multiplication by 2**exponent; only shifts of words are by
    # variable amounts, because LLVM is slow to expand those of wide integers
    start = builder.add(exponent, I64(LEADING - 1))
    first, within = builder.lshr(start, I64(6)), builder.and_(start, I64(63))
    places = [builder.gep(table(module), [I64(0), builder.add(first, I64(i))], inbounds=True) for i in range(4)]
    words = [builder.load(place) for place in places]
    funnel = declare(module, "llvm.fshl.i64", I64, [I64, I64, I64])
    product: ir.Value = builder.shl(builder.zext(offset, WIDE), WIDE(128))
    for i in range(3):
        word = builder.zext(builder.call(funnel, [words[i], words[i + 1], within]), TWICE)
        partial = builder.mul(word, builder.zext(mantissa, TWICE))
        product = builder.add(product, builder.shl(builder.zext(partial, WIDE), WIDE(64 * (2 - i))))

    # one bit before the binary point, 191 behind it: round, then sum the remainder from four pieces of 48 bits
    n = builder.trunc(builder.lshr(builder.add(product, WIDE(1 << 190)), WIDE(191)), I64)
    fraction = builder.shl(product, WIDE(1))
    negative = builder.icmp_signed("<", fraction, WIDE(0))
    magnitude = builder.select(negative, builder.neg(fraction), fraction)
    pieces = []
    for i in range(4):
        piece = builder.and_(builder.trunc(builder.lshr(magnitude, WIDE(48 * (3 - i))), I64), I64(2**48 - 1))
        pieces.append(Lanes(builder, builder.sitofp(piece, F64)) * 2.0 ** (-48 * (i + 1)))
    total, error = fast_two_sum(pieces[0], pieces[1])
    high, low = fast_two_sum(total, error + (pieces[2] + pieces[3]))
    pair = [builder.select(negative, (-v).value, v.value) for v in (high, low)]
    builder.ret(aggregate(builder, RESULT, [*pair, n]))


def write_reduction_of_lanes(function: ir.Function) -> None:
    """`write_reduction` for every lane of a vector, in a loop: unrolled it would cost much more to compile."""
    kind, structure = function.args[0].type, function.ftype.return_type
    entry, body, done = (function.append_basic_block(label) for label in ("entry", "lane", "done"))
    TerseBuilder(entry).branch(body)
    builder = TerseBuilder(body)
    index = ir.IntType(32)
    lane = builder.phi(index)
    before = [builder.phi(shape) for shape in structure.elements]
    x = builder.extract_element(function.args[0], lane)
    parts = builder.call(shared(function.module, REDUCE, F64), [x, *function.args[1:]])
    after = [builder.insert_element(v, builder.extract_value(parts, i), lane) for i, v in enumerate(before)]
    following = builder.add(lane, index(1))
    lane.add_incoming(index(0), entry)
    lane.add_incoming(following, body)
    for phi, value in zip(before, after):
        phi.add_incoming(ir.Constant(phi.type, ir.Undefined), entry)
        phi.add_incoming(value, body)
    builder.cbranch(builder.icmp_signed("<", following, index(kind.count)), body, done)
    builder.position_at_end(done)
    builder.ret(aggregate(builder, structure, after))


def reduction_type(kind: ir.Type) -> ir.FunctionType:
    if not isinstance(kind, ir.VectorType):
        return ir.FunctionType(RESULT, [kind, I64, I64])
    shapes = [ir.VectorType(element, kind.count) for element in RESULT.elements]
    return ir.FunctionType(ir.LiteralStructType(shapes), [kind, I64, I64])


def write_either(function: ir.Function) -> None:
    is_vector = isinstance(function.args[0].type, ir.VectorType)
    (write_reduction_of_lanes if is_vector else write_reduction)(function)


FUNCTIONS[REDUCE] = SharedFunction(reduction_type, write_either)


def reduce_lanes(x: Lanes, doublings: int, offset: int) -> list[Lanes]:
    """F, F_low and n of every lane of x."""
    builder = x.builder
    function = shared(builder.module, REDUCE, x.value.type)
    parts = builder.call(function, [x.value, I64(doublings), I64(offset)])
    return [Lanes(builder, builder.extract_value(parts, i)) for i in range(3)]
