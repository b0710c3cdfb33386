"""How each NumPy ufunc is recorded: a primitive of the same name, or a composition of primitives.

An entry is `(recorder, *values) -> value`; the values have the dtypes of NumPy's loop, and one shape or shape ().
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ...rules.elementwise import MOST_WHOLE
from ...tape.tape import Value
from ..record.promotion import BOOL, FLOAT
from ..record.recorder import Recorder

Emit = Callable[..., Any]

UFUNCS: dict[np.ufunc, Emit] = {}


def primitive(name: str) -> Emit:
    def emit(recorder: Recorder, *values: Value) -> Value:
        return recorder.builder.apply(name, *values)

    emit.__name__ = name
    return emit


OF_ORDER = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def comparison(name: str) -> Emit:
    """A primitive; of integers with signs and without, a negative one is less than all others."""

    def emit(recorder: Recorder, a: Value, b: Value) -> Value:
        if a.dtype == b.dtype:
            return recorder.builder.apply(name, a, b)
        signed = a if a.dtype.kind == "i" else b
        below = recorder.apply("less", signed, recorder.constant(0, signed.dtype))
        found = recorder.apply(name, *(recorder.builder.cast(value, np.dtype(np.uint64)) for value in (a, b)))
        if name == "not_equal" or (name != "equal" and name.startswith("less") == (signed is a)):
            return recorder.apply("logical_or", below, found)
        return recorder.apply("logical_and", recorder.apply("logical_not", below), found)

    emit.__name__ = name
    return emit


def in_parts(*names: str) -> Emit:
    """Several results, each of which is a primitive."""

    def emit(recorder: Recorder, *values: Value) -> tuple[Value, ...]:
        return tuple(recorder.builder.apply(name, *values) for name in names)

    return emit


def on_floats(name: str) -> Emit:
    """A primitive for floats that leaves integers and booleans, which are whole, as they are."""

    def emit(recorder: Recorder, a: Value) -> Value:
        return recorder.apply(name, a) if a.dtype.kind == "f" else a

    return emit


def test_of_floats(name: str) -> Emit:
    """A test that integers are put to as floats."""

    def emit(recorder: Recorder, a: Value) -> Value:
        return recorder.apply(name, a if a.dtype.kind == "f" else recorder.builder.cast(a, FLOAT))

    return emit


def of_truths(name: str) -> Emit:
    """A logical primitive: numbers count as whether they differ from 0."""

    def emit(recorder: Recorder, *values: Value) -> Value:
        return recorder.apply(name, *(recorder.builder.cast(v, BOOL) for v in values))

    return emit


def times(factor: float) -> Emit:
    def emit(recorder: Recorder, a: Value) -> Value:
        return recorder.apply("multiply", a, recorder.constant(factor, a.dtype))

    return emit


def same(recorder: Recorder, a: Value) -> Value:
    return a


def square(recorder: Recorder, a: Value) -> Value:
    return recorder.apply("multiply", a, a)


def reciprocal(recorder: Recorder, a: Value) -> Value:
    name = "divide" if a.dtype.kind == "f" else "floor_divide"
    found = recorder.apply(name, recorder.constant(1, a.dtype), a)
    if a.dtype.kind != "i":
        return found
    zero, rounds_down = recorder.constant(0, a.dtype), recorder.apply("less", a, recorder.constant(-1, a.dtype))
    return recorder.apply("where", rounds_down, zero, found)


def absolute(recorder: Recorder, a: Value) -> Value:
    return a if a.dtype.kind in "bu" else recorder.apply("absolute", a)


def fmod(recorder: Recorder, a: Value, b: Value) -> Value:
    """The remainder with the sign of `a`: exact, as C's."""
    if a.dtype.kind == "u":
        return recorder.apply("remainder", a, b)
    if a.dtype.kind == "f":
        step = recorder.apply("absolute", b)
        return by_sign(recorder, a, lambda size: recorder.apply("remainder", size, step))
    zero = recorder.constant(0, a.dtype)
    rest = recorder.apply("remainder", a, b)  # with the sign of `b`; the least integer has no absolute value
    is_other = recorder.apply("not_equal", recorder.apply("less", a, zero), recorder.apply("less", b, zero))
    is_other = recorder.apply("logical_and", is_other, recorder.apply("not_equal", rest, zero))
    return recorder.apply("where", is_other, recorder.apply("subtract", rest, b), rest)


def by_sign(recorder: Recorder, a: Value, function: Callable[[Value], Value]) -> Value:
    """An odd function by what it is of positive numbers: with the sign of `a`, and the slope, at zeros too."""
    is_negative = recorder.apply("signbit", a)
    found = function(recorder.apply("where", is_negative, recorder.apply("negative", a), a))
    return recorder.apply("where", is_negative, recorder.apply("negative", found), found)


def divmod_(recorder: Recorder, a: Value, b: Value) -> tuple[Value, Value]:
    return recorder.apply("floor_divide", a, b), recorder.apply("remainder", a, b)


def modf(recorder: Recorder, a: Value) -> tuple[Value, Value]:
    def fraction(size: Value) -> Value:
        part = recorder.apply("subtract", size, recorder.apply("trunc", size))
        return recorder.apply("where", recorder.apply("isinf", size), recorder.constant(0, a.dtype), part)

    return by_sign(recorder, a, fraction), recorder.apply("trunc", a)


def spacing(recorder: Recorder, a: Value) -> Value:
    """From a number to the one beside it, away from zero."""
    infinite = recorder.constant(math.inf, a.dtype)
    is_zero = recorder.apply("equal", a, recorder.constant(0.0, a.dtype))
    outwards = recorder.apply("where", is_zero, infinite, recorder.apply("copysign", infinite, a))
    return recorder.apply("subtract", recorder.apply("nextafter", a, outwards), a)


def times_power(recorder: Recorder, m: Value, e: Value, factors: int) -> Value:
    """`m 2**e` by as many powers of two, each of which is in range; larger ones last, so that it is rounded once."""
    most, powers = 1000.0 if m.dtype.itemsize == 8 else 100.0, []
    for _ in range(factors - 1):
        part = clip(recorder, e, recorder.constant(-most, m.dtype), recorder.constant(most, m.dtype))
        powers.append(part)
        e = recorder.apply("subtract", e, part)
    for power in (e, *powers[::-1]):
        m = recorder.apply("multiply", m, recorder.apply("exp2", power))
    return m


def frexp(recorder: Recorder, a: Value) -> tuple[Value, Value]:
    """A number as `m 2**e` with `0.5 <= |m| < 1`; the exponent of 0 and of what is not finite is 0."""

    def number(x: float) -> Value:
        return recorder.constant(x, a.dtype)

    def exponent_of(size: Value) -> Value:
        return recorder.apply("add", recorder.apply("floor", recorder.apply("log2", size)), number(1.0))

    plain = recorder.apply("logical_and", recorder.apply("isfinite", a), recorder.apply("not_equal", a, number(0.0)))
    size = recorder.apply("where", plain, recorder.apply("absolute", a), number(0.5))
    exponent = recorder.apply("where", plain, exponent_of(size), number(0.0))
    mantissa = times_power(recorder, a, recorder.apply("negative", exponent), 2)
    off = recorder.apply("absolute", mantissa)  # the logarithm is rounded
    above = recorder.apply("logical_and", plain, recorder.apply("greater_equal", off, number(1.0)))
    below = recorder.apply("logical_and", plain, recorder.apply("less", off, number(0.5)))
    step = recorder.apply("where", above, number(1.0), recorder.apply("where", below, number(-1.0), number(0.0)))
    mantissa = times_power(recorder, mantissa, recorder.apply("negative", step), 1)
    return mantissa, recorder.apply("add", exponent, step)


def heaviside(recorder: Recorder, a: Value, at_zero: Value) -> Value:
    zero, one = recorder.constant(0, a.dtype), recorder.constant(1, a.dtype)
    step = recorder.apply("where", recorder.apply("greater", a, zero), one, zero)
    step = recorder.apply("where", recorder.apply("equal", a, zero), at_zero, step)
    return recorder.apply("where", recorder.apply("isnan", a), a, step)


def logaddexp2(recorder: Recorder, a: Value, b: Value) -> Value:
    ln2 = recorder.constant(math.log(2), a.dtype)
    a, b = (recorder.apply("multiply", v, ln2) for v in (a, b))
    return recorder.apply("divide", recorder.apply("logaddexp", a, b), ln2)


def ndtr(recorder: Recorder, a: Value) -> Value:
    """The normal distribution function: `erfc(-a / sqrt(2)) / 2`."""
    scaled = recorder.apply("multiply", a, recorder.constant(-math.sqrt(0.5), a.dtype))
    return recorder.apply("multiply", recorder.apply("erfc", scaled), recorder.constant(0.5, a.dtype))


def log_expit(recorder: Recorder, a: Value) -> Value:
    """`-log(1 + exp(-a))`."""
    zero = recorder.constant(0, a.dtype)
    return recorder.apply("negative", recorder.apply("logaddexp", zero, recorder.apply("negative", a)))


def entr(recorder: Recorder, a: Value) -> Value:
    """`-a log a`, 0 at 0, -inf below."""
    value = recorder.apply("negative", recorder.apply("xlogy", a, a))
    below = recorder.apply("less", a, recorder.constant(0, a.dtype))
    return recorder.apply("where", below, recorder.constant(-math.inf, a.dtype), value)


def rel_entr(recorder: Recorder, a: Value, b: Value) -> Value:
    """`a log(a / b)`, 0 at `a == 0 <= b`, inf outside the domain."""
    zero = recorder.constant(0, a.dtype)
    value = recorder.apply("xlogy", a, recorder.apply("divide", a, b))
    at_zero = recorder.apply("equal", a, zero)
    inside = recorder.apply("logical_and", recorder.apply("greater", a, zero), recorder.apply("greater", b, zero))
    edge = recorder.apply("logical_and", at_zero, recorder.apply("greater_equal", b, zero))
    infinite = recorder.constant(math.inf, a.dtype)
    value = recorder.apply("where", inside, value, recorder.apply("where", edge, zero, infinite))
    missing = recorder.apply("logical_or", recorder.apply("isnan", a), recorder.apply("isnan", b))
    return recorder.apply("where", missing, recorder.apply("add", a, b), value)


def xlog1py(recorder: Recorder, a: Value, b: Value) -> Value:
    """`a log1p(b)`, 0 at `a == 0` unless `b` is nan."""
    zero, least = recorder.constant(0, a.dtype), recorder.constant(-1, a.dtype)
    below, above = (
        recorder.apply("less_equal", b, least),
        recorder.apply("equal", b, recorder.constant(math.inf, a.dtype)),
    )
    still = recorder.apply("logical_and", recorder.apply("equal", a, zero), recorder.apply("logical_or", below, above))
    safe = recorder.apply("where", still, zero, b)
    return recorder.apply("multiply", a, recorder.apply("log1p", safe))


def kl_div(recorder: Recorder, a: Value, b: Value) -> Value:
    """`a log(a / b) - a + b`; the order of the sum keeps infinity as it is."""
    return recorder.apply("add", recorder.apply("subtract", rel_entr(recorder, a, b), a), b)


def boxcox(recorder: Recorder, a: Value, power: Value, is_of_one_more: bool = False) -> Value:
    """`(a**power - 1) / power`, as `log a * exprel(power log a)`, which has no singularity at `power == 0`."""
    apply, number = recorder.apply, recorder.constant
    one, zero = number(1, a.dtype), number(0, a.dtype)
    base = apply("add", a, one) if is_of_one_more else a
    at_zero = apply("logical_and", apply("equal", base, zero), apply("greater", power, zero))
    inside = apply("where", at_zero, one, a)
    logarithm = apply("log1p" if is_of_one_more else "log", inside)
    found = apply("multiply", logarithm, apply("exprel", apply("multiply", power, logarithm)))
    least = apply("subtract", apply("power", apply("where", at_zero, base, one), power), one)
    return apply("where", at_zero, apply("divide", least, apply("where", at_zero, power, one)), found)


def boxcox1p(recorder: Recorder, a: Value, power: Value) -> Value:
    return boxcox(recorder, a, power, True)


def loggamma(recorder: Recorder, a: Value) -> Value:
    """The real logarithm of the gamma function: nan below zero."""
    below = recorder.apply("less", a, recorder.constant(0, a.dtype))
    return recorder.apply("where", below, recorder.constant(math.nan, a.dtype), recorder.apply("gammaln", a))


def of_whole_order(name: str) -> Emit:
    """A function of a whole order, by that of any order; of another order SciPy leaves out what is behind the point."""

    def emit(recorder: Recorder, order: Value, a: Value) -> Value:
        whole = recorder.apply("trunc", order) if order.dtype.kind == "f" else order
        return recorder.apply(name, recorder.builder.cast(whole, a.dtype), a)

    return emit


def chi_square(name: str) -> Emit:
    """The distribution of chi square, as of gamma: half of both operands."""

    def emit(recorder: Recorder, freedom: Value, a: Value) -> Value:
        half = recorder.constant(0.5, a.dtype)
        return recorder.apply(name, *(recorder.apply("multiply", v, half) for v in (freedom, a)))

    return emit


def clip(recorder: Recorder, a: Value, low: Value, high: Value) -> Value:
    return recorder.apply("minimum", recorder.apply("maximum", a, low), high)


def ldexp(recorder: Recorder, a: Value, exponent: Value) -> Value:
    """Whatever the exponent: of more than that, all numbers but 0 overflow or vanish."""
    most = recorder.constant(3000 if a.dtype.itemsize == 8 else 300, exponent.dtype)
    exponent = clip(recorder, exponent, recorder.apply("negative", most), most)
    return times_power(recorder, a, recorder.builder.cast(exponent, a.dtype), 3)


def power(recorder: Recorder, a: Value, b: Value) -> Value:
    """A power with an exponent that is not known while tracing, or not a small whole number."""
    return recorder.apply("power", a, b) if a.dtype.kind == "f" else power_of_integers(recorder, a, b)


def power_of_integers(recorder: Recorder, a: Value, b: Value) -> Value:
    """Of integers, by the lowest six bits of the exponent: no power of others than -1, 0 and 1 has more, and fits."""
    apply, number = recorder.apply, recorder.constant
    size = apply("power", *(recorder.builder.cast(v, FLOAT) for v in (absolute(recorder, a), b)))
    limit = number(2.0 ** (8 * a.dtype.itemsize - (a.dtype.kind == "i")), FLOAT)
    holds = apply("logical_and", apply("greater_equal", b, number(0, b.dtype)), apply("less", size, limit))
    what = f"a power of integers that is no integer of {8 * a.dtype.itemsize} bits; write the base as a float"
    holds = recorder.value_of(np.all(recorder.result(holds)))
    recorder.scopes.require_after(holds, "integers", what)
    parity = apply("bitwise_and", b, number(1, b.dtype))
    many = apply("greater", b, number(62, b.dtype))
    b = apply("where", many, apply("add", parity, number(62, b.dtype)), b)
    result, factor = number(1, a.dtype), a
    for bit in range(6):
        is_set = apply("not_equal", apply("bitwise_and", b, number(1 << bit, b.dtype)), number(0, b.dtype))
        result = apply("where", is_set, apply("multiply", result, factor), result)
        factor = apply("multiply", factor, factor)
    return result


def known_power(recorder: Recorder, a: Value, n: float) -> Value:
    """`a ** n` for a known number `n`."""
    if n == 0.5:
        return recorder.apply("sqrt", a)
    if n != int(n) or (abs(n) > MOST_WHOLE and a.dtype.kind == "f"):
        return recorder.apply("power", a, recorder.constant(n, a.dtype))
    n = int(n)
    if n == 0:
        return recorder.builder.broadcast(recorder.constant(1, a.dtype), a.shape)
    if n == 1:
        return a
    if n == 2:
        return recorder.apply("multiply", a, a)
    if n == -1:
        return recorder.apply("divide", recorder.constant(1, a.dtype), a)
    return recorder.apply("integer_power", a, n=n)


SAME_NAME = [
    "add", "subtract", "multiply", "divide", "negative", "nextafter",
    "floor_divide", "remainder", "exp", "exp2", "expm1", "log",
    "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot", "logaddexp", "minimum", "maximum", "fmin", "fmax",
    "copysign", "sign", "rint", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
]  # fmt: skip
for _name in SAME_NAME:
    UFUNCS[getattr(np, _name)] = primitive(_name)
for _name in OF_ORDER:
    UFUNCS[getattr(np, _name)] = comparison(_name)
for _name in ("floor", "ceil", "trunc"):
    UFUNCS[getattr(np, _name)] = on_floats(_name)
for _name in ("isnan", "isinf", "isfinite", "signbit"):
    UFUNCS[getattr(np, _name)] = test_of_floats(_name)
for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    UFUNCS[getattr(np, _name)] = of_truths(_name)
for _name, _function in {
    "expit": "expit", "logit": "logit", "erf": "erf", "erfc": "erfc", "gammaln": "gammaln", "psi": "digamma",
    "xlogy": "xlogy", "exp2": "exp2", "expm1": "expm1", "log1p": "log1p", "cbrt": "cbrt",
}.items():  # fmt: skip
    UFUNCS[getattr(special, _name)] = primitive(_function)
for _name in [
    "gamma", "rgamma", "gammasgn", "beta", "betaln", "binom", "gammainc", "gammaincc", "gammaincinv", "gammainccinv",
    "betainc", "betaincc", "betaincinv", "betainccinv", "stdtr", "stdtrit", "erfi", "erfinv", "erfcinv", "erfcx",
    "ndtri", "ndtri_exp", "log_ndtr", "j0", "j1", "jv", "y0", "y1", "yv", "i0", "i0e", "i1", "i1e", "iv", "ive", "k0",
    "k0e", "k1", "k1e", "kv", "kve", "hyp1f1", "hyp2f1", "ellipk", "ellipe", "exprel", "expi", "exp1", "dawsn",
    "spence", "poch", "ellipkinc", "ellipeinc", "struve", "modstruve", "hyp0f1", "hyperu", "owens_t",
    "wrightomega",
]:  # fmt: skip
    UFUNCS[getattr(special, _name)] = primitive(_name)
for _function, _parts in {
    special.fresnel: ("fresnel_s", "fresnel_c"),
    special.sici: ("sici_s", "sici_c"),
    special.shichi: ("shichi_s", "shichi_c"),
    special.airy: ("airy_ai", "airy_aip", "airy_bi", "airy_bip"),
    special.ellipj: ("ellipj_sn", "ellipj_cn", "ellipj_dn", "ellipj_ph"),
}.items():
    UFUNCS[_function] = in_parts(*_parts)
UFUNCS |= {
    special.jve: primitive("jv"),
    special.yve: primitive("yv"),
    np.positive: same,
    np.conjugate: same,
    np.power: power,
    np.float_power: power,
    np.absolute: absolute,
    np.fabs: absolute,
    np.square: square,
    np.reciprocal: reciprocal,
    np.fmod: fmod,
    np.divmod: divmod_,
    np.modf: modf,
    np.frexp: frexp,
    np.spacing: spacing,
    np.heaviside: heaviside,
    np.logaddexp2: logaddexp2,
    np.ldexp: ldexp,
    np.invert: primitive("bitwise_invert"),
    np.deg2rad: times(math.pi / 180),
    np.radians: times(math.pi / 180),
    np.rad2deg: times(180 / math.pi),
    np.degrees: times(180 / math.pi),
    special.ndtr: ndtr,
    special.log_expit: log_expit,
    special.entr: entr,
    special.rel_entr: rel_entr,
    special.xlog1py: xlog1py,
    special.kl_div: kl_div,
    special.boxcox: boxcox,
    special.boxcox1p: boxcox1p,
    special.loggamma: loggamma,
    special.yn: of_whole_order("yv"),
    special.kn: of_whole_order("kv"),
    special.expn: of_whole_order("expn"),
    special.chdtr: chi_square("gammainc"),
    special.chdtrc: chi_square("gammaincc"),
    np._core.umath.clip: clip,  # type: ignore[attr-defined]
}
