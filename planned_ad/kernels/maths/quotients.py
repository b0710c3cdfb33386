"""Products and quotients in which zero counts for more than infinity, and quotients by a known reciprocal."""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from ...rules.elementwise import LARGE
from ..llvm.types import constant, value_unless
from .notation import F64, Lanes, element_of, fma, lanes_of, like, with_slow_lanes

CONTRACT = ("contract",)


def _divide(builder, operands, dtype, source, parameters):
    return builder.fdiv(*operands)


def _strong_multiply(builder, operands, dtype, source, parameters):
    """Zero where the first operand is; `both`: or the second."""
    a, b = operands
    zero = constant(dtype, 0, lanes_of(a))
    if not parameters["both"]:
        return strongly(builder, "fmul", a, b, constant(dtype, math.inf), zero)
    product = builder.fmul(a, b)
    neither = builder.and_(builder.fcmp_unordered("!=", a, zero), builder.fcmp_unordered("!=", b, zero))
    return builder.select(neither, product, zero)


def _strong_divide(builder, operands, dtype, source, parameters):
    a, b = operands
    return strongly(builder, "fdiv", a, b, constant(dtype, 0), constant(dtype, 1, lanes_of(a)))


def strongly(
    builder: ir.IRBuilder, operation: str, a: ir.Value, b: ir.Value, pole: ir.Value, instead: ir.Value
) -> ir.Value:
    """`a * b` or `a / b`; zero where `a` is, also where `b` is nan or, but for its sign, `pole`.

    Of vectors the result is masked, which costs a comparison. A single number may be what the next iteration of a loop
    waits for: there `b` is looked at, beside the way, and in a branch that is foreseen put `instead` where `a` is zero.
    """
    n = lanes_of(a)
    zero = ir.Constant(a.type, [0.0] * n if n > 1 else 0.0)
    if n > 1:
        plain = getattr(builder, operation)(a, b)
        return builder.select(builder.fcmp_unordered("!=", a, zero), plain, zero)
    is_pole = builder.fcmp_unordered("==", Lanes(builder, b).intrinsic("fabs").value, pole)
    factor = value_unless(
        builder, is_pole, b, lambda: builder.select(builder.fcmp_unordered("!=", a, zero), b, instead), likely=False
    )
    return getattr(builder, operation)(a, factor, flags=CONTRACT if operation == "fmul" else ())


def _refined_quotient(builder, operands, dtype, source, parameters):
    """`a / b`, by `c = 1 / b`: to the last bit, if that is the nearest number; see `passes.reciprocals`.

    What is below 1e-240 may be off by one unit in the last place, since the remainder is not exact there.
    """
    kind = operands[0].type
    if element_of(kind) != F64:
        wide = [builder.fpext(operand, like(F64, kind)) for operand in operands]
        return builder.fptrunc(_refined_quotient(builder, wide, dtype, source, parameters), kind)
    a, b, c = (Lanes(builder, operand) for operand in operands)
    first = a * c
    found = fma(fma(-first, b, a), c, first).copysign(first)
    size, large = first.intrinsic("fabs"), first.splat(LARGE)
    is_beyond = Lanes(builder, builder.fcmp_unordered(">=", size.value, large.value))  # or nan
    return with_slow_lanes(is_beyond, [found], lambda: [a / b])[0].value


TABLE: dict[str, Callable[..., ir.Value]] = {
    "divide": _divide,
    "strong_divide": _strong_divide,
    "strong_multiply": _strong_multiply,
    "refined_quotient": _refined_quotient,
}
