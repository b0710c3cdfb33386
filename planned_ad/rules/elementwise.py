"""Elementwise primitives: arithmetic and elementary functions.

Each row: the NumPy function, an adjoint per operand (`y` is the result, `a, b, c` the operands, `ct` the
cotangent of `y`), and what each adjoint needs. Where the result serves as well as the operand
(`exp`, `sqrt`, division) the adjoint is written in the result: it is still there when the operand
has been overwritten. Derivatives: Abramowitz & Stegun, chapters 4, 6 and 7.

Every adjoint is linear in `ct`, so that forward mode applies the same functions to tangents (the
Jacobian of an elementwise row is diagonal); only `cast` has a tangent of its own. A guard replaces an
operand of a singular factor, never a finished product, so that the guarded formula can be differentiated again.

At kinks: 0 for `absolute` and `hypot` at 0; the side that its sign bit says for `copysign` at 0; half to each
operand for `minimum` and `maximum` at a tie; elsewhere what the formula gives (`sqrt` at 0: inf).
"""

from __future__ import annotations

import math

import numpy as np

from .algebra import Symbol, copysign, cos, cosh, floor_divide, log, power, sign, sin, sinh, sqrt, where
from .rows import row, same_dtype

LN2, LN10 = math.log(2), math.log(10)

NUMBERS = ("f", "i")
ANY = ("f", "i", "b")

# Arithmetic.
row("add", np.add, (lambda ct, y, a, b: ct, lambda ct, y, a, b: ct), ("", ""), kinds=ANY)
row("subtract", np.subtract, (lambda ct, y, a, b: ct, lambda ct, y, a, b: -ct), ("", ""), kinds=NUMBERS)
row("multiply", np.multiply, (lambda ct, y, a, b: ct * b, lambda ct, y, a, b: ct * a), ("b", "a"), kinds=ANY)
row(
    "divide",
    np.divide,
    (lambda ct, y, a, b: ct / b, lambda ct, y, a, b: -(ct / b) * y),
    ("b", "yb"),
    cost=4,
    samples=((-2, 2), (0.5, 2)),
    poles="b",
)
row("negative", np.negative, (lambda ct, y, a: -ct,), ("",), kinds=NUMBERS)
row("floor_divide", np.floor_divide, (None, None), ("", ""), cost=8, kinds=NUMBERS, samples=((-9, 9), (0.5, 4)))
row(
    "remainder",
    np.remainder,
    (lambda ct, y, a, b: ct, lambda ct, y, a, b: -(ct * floor_divide(a, b))),
    ("", "ab"),
    cost=8,
    kinds=NUMBERS,
    samples=((-9, 9), (2.6, 4)),
    poles="b",
)
row("absolute", np.absolute, (lambda ct, y, a: ct * sign(a),), ("a",), kinds=NUMBERS)
row("sign", np.sign, (None,), ("",), kinds=NUMBERS)
row(
    "copysign",
    np.copysign,
    (lambda ct, y, a, b: ct * copysign(a.constant(1), a) * copysign(b.constant(1), b), None),
    ("ab", ""),
)
row("nextafter", np.nextafter, (lambda ct, y, a, b: ct, None), ("", ""))
row("floor", np.floor, (None,), ("",))
row("ceil", np.ceil, (None,), ("",))
row("trunc", np.trunc, (None,), ("",))
row("rint", np.rint, (None,), ("",))


def rint_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The integer nearest to `a b` itself, not to the product as it is rounded (Dekker 1971): even at a tie."""
    p = a * b
    (high, low), (other_high, other_low) = map(_split, (a, b))
    error = ((high * other_high - p) + high * other_low + low * other_high) + low * other_low
    below, nearest = np.floor(p), np.rint(p)
    beside = np.where(error > 0, -(-below - 1), np.where(error < 0, below, nearest))
    return np.where(p - below == 0.5, beside, nearest)


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers of half the digits each, the sum of which is `x`."""
    digits = np.finfo(x.dtype).nmant + 1
    high = x * x.dtype.type(2 ** (digits - digits // 2) + 1)
    high = high - (high - x)
    return high, x - high


row("rint_product", rint_product, (None, None), ("", ""), cost=3)


# Powers.
MOST_WHOLE = 16  # a whole exponent, up to which a few products are as accurate
MOST_HALVES = 5  # of an exponent, up to which a root and a few products are as accurate as a whole power of that size


def power_in_base(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`b a**(b - 1)`; 0 at `a == b == 0`, where the factors are 0 and inf."""
    exponent = where(a.equals(0) & b.equals(0), 1, b - 1)
    return ct * (b * power(a, exponent))


def power_in_exponent(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`y log a`; 0 at `a == 0`, `b >= 0`. A negative base has no derivative in the exponent: nan."""
    return ct * (y * log(where(a.equals(0), 1, a)))


def integer_power(ct: Symbol, y: Symbol, a: Symbol, *, n: int) -> Symbol:
    """`n a**(n - 1)`."""
    return ct * (n * (a if n == 2 else a.apply("integer_power", n=n - 1)))


def same_dtype_power(operands, parameters):
    n = parameters["n"]
    if not isinstance(n, int) or n in (0, 1) or (n < 0 and operands[0].dtype.kind != "f"):
        raise ValueError(f"integer_power: exponent {n!r} of {operands[0].dtype}")
    return same_dtype(operands, parameters)


def half_power(ct: Symbol, y: Symbol, a: Symbol, *, n: int) -> Symbol:
    """`n / 2 a**(n / 2 - 1)`."""
    below = a.apply("half_power", n=n - 2) if n - 2 >= -MOST_HALVES else power(a, a.constant(n / 2 - 1))
    return ct * (n / 2 * below)


def floating_half_power(operands, parameters):
    n = parameters["n"]
    if not isinstance(n, int) or not n % 2 or abs(n) > MOST_HALVES or operands[0].dtype.kind != "f":
        raise ValueError(f"half_power: {n!r} halves of {operands[0].dtype}")
    return same_dtype(operands, parameters)


row(
    "power",
    np.power,
    (power_in_base, power_in_exponent),
    ("ab", "ya"),
    cost=20,
    samples=((0.2, 3), (-3, 3)),
    poles="a",
    cusps="a",
)
row(
    "integer_power",
    lambda a, *, n: np.power(a, n),
    (integer_power,),
    ("a",),
    cost=3,
    kinds=NUMBERS,
    result=same_dtype_power,
    samples=((0.5, 2),),
    examples=({"n": 2}, {"n": 3}, {"n": 7}, {"n": -1}, {"n": -2}),
    poles="a",  # of negative exponents
)
row(
    "half_power",
    lambda a, *, n: np.power(a, n / 2),
    (half_power,),
    ("a",),
    cost=12,
    result=floating_half_power,
    samples=((0.5, 2),),
    examples=({"n": 3}, {"n": 5}, {"n": -1}, {"n": -3}, {"n": -5}),
    poles="a",
    cusps="a",
)
row("sqrt", np.sqrt, (lambda ct, y, a: 0.5 * ct / y,), ("y",), cost=4, samples=((0.1, 3),), poles="a", cusps="a")
row("cbrt", np.cbrt, (lambda ct, y, a: ct / (3 * (y * y)),), ("y",), cost=20, samples=((0.1, 3),), poles="a", cusps="a")


def hypot_in_first(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`a / y`; 0 at the origin."""
    return ct * (a / where(y.equals(0), 1, y))


row(
    "hypot",
    np.hypot,
    (hypot_in_first, lambda ct, y, a, b: hypot_in_first(ct, y, b, a)),
    ("ya", "yb"),
    cost=8,
)

# Exponentials and logarithms.
row("exp", np.exp, (lambda ct, y, a: ct * y,), ("y",), cost=12)
row("exp2", np.exp2, (lambda ct, y, a: ct * (LN2 * y),), ("y",), cost=12)
row("expm1", np.expm1, (lambda ct, y, a: ct * (y + 1),), ("y",), cost=14)
row("log", np.log, (lambda ct, y, a: ct / a,), ("a",), cost=12, samples=((0.1, 3),), poles="a")
row("log2", np.log2, (lambda ct, y, a: ct / (LN2 * a),), ("a",), cost=12, samples=((0.1, 3),), poles="a")
row("log10", np.log10, (lambda ct, y, a: ct / (LN10 * a),), ("a",), cost=12, samples=((0.1, 3),), poles="a")
row("log1p", np.log1p, (lambda ct, y, a: ct / (1 + a),), ("a",), cost=14, samples=((-0.8, 3),), poles="a")


def logaddexp_in_first(ct: Symbol, y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`1 / (1 + exp(b - a))`; 0 where `a` is -inf, as `b` may be too (impossible events in log space)."""
    return ct * where(a.equals(-math.inf), -math.inf, a - b).apply("expit")


row(
    "logaddexp",
    np.logaddexp,
    (logaddexp_in_first, lambda ct, y, a, b: logaddexp_in_first(ct, y, b, a)),
    ("ab", "ab"),
    cost=24,
)

# Circular functions.
row("sin", np.sin, (lambda ct, y, a: ct * cos(a),), ("a",), cost=14)
row("cos", np.cos, (lambda ct, y, a: -(ct * sin(a)),), ("a",), cost=14)
row("tan", np.tan, (lambda ct, y, a: ct * (1 + y * y),), ("y",), cost=20, samples=((-1.3, 1.3),))
row(
    "arcsin",
    np.arcsin,
    (lambda ct, y, a: ct / sqrt((1 - a) * (1 + a)),),
    ("a",),
    cost=20,
    samples=((-0.9, 0.9),),
    poles="y",
    cusps="y",
)
row(
    "arccos",
    np.arccos,
    (lambda ct, y, a: -(ct / sqrt((1 - a) * (1 + a))),),
    ("a",),
    cost=20,
    samples=((-0.9, 0.9),),
    poles="y",
    cusps="y",
)
row("arctan", np.arctan, (lambda ct, y, a: ct / (1 + a * a),), ("a",), cost=20)
row(
    "arctan2",
    np.arctan2,
    (lambda ct, y, a, b: ct * (b / (a * a + b * b)), lambda ct, y, a, b: -(ct * (a / (a * a + b * b)))),
    ("ab", "ab"),
    cost=24,
    samples=((0.2, 2), (-2, 2)),
    cusps="y",
)

# Hyperbolic functions.
row("sinh", np.sinh, (lambda ct, y, a: ct * cosh(a),), ("a",), cost=20)
row("cosh", np.cosh, (lambda ct, y, a: ct * sinh(a),), ("a",), cost=20)
row("tanh", np.tanh, (lambda ct, y, a: ct * (1 - y * y),), ("y",), cost=20)
row("arcsinh", np.arcsinh, (lambda ct, y, a: ct / sqrt(a * a + 1),), ("a",), cost=20)
row(
    "arccosh",
    np.arccosh,
    (lambda ct, y, a: ct / sqrt((a - 1) * (a + 1)),),
    ("a",),
    cost=20,
    samples=((1.2, 3),),
    poles="y",
    cusps="y",
)
row(
    "arctanh",
    np.arctanh,
    (lambda ct, y, a: ct / ((1 - a) * (1 + a)),),
    ("a",),
    cost=20,
    samples=((-0.9, 0.9),),
    poles="y",
)


# Products in which zero counts for more than infinity and nan: an adjoint that nothing depends on stays zero.
def zero_over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(np.equal(a, 0), np.zeros((), np.asarray(a).dtype), np.divide(a, b))


def zero_times(a: np.ndarray, b: np.ndarray, *, both: bool) -> np.ndarray:
    zero = np.equal(a, 0) | np.equal(b, 0) if both else np.equal(a, 0)
    return np.where(zero, np.zeros((), np.asarray(a).dtype), np.multiply(a, b))


# `both`: a zero of the second operand counts as well, where the first may be infinite.
row(
    "strong_multiply",
    zero_times,
    (lambda ct, y, a, b, *, both: ct * b, lambda ct, y, a, b, *, both: ct * a),
    ("b", "a"),
    examples=({"both": False}, {"both": True}),
)
row(
    "strong_divide",
    zero_over,
    (lambda ct, y, a, b: ct / b, lambda ct, y, a, b: -(ct / b) * y),
    ("b", "yb"),
    cost=4,
    samples=((-2, 2), (0.5, 2)),
    poles="b",
    cusps="b",
)


NEAR_ONE, LARGE = 2.0**100, 2.0**800  # divisors, up to their reciprocals, and quotients that are refined


def refined_quotient(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a / b` by a number near `1 / b`: one step of Newton's method, which is exact for the nearest one there is."""
    with np.errstate(all="ignore"):
        first = a * c
        is_exact = (c == 1 / b) & (np.abs(b) < NEAR_ONE) & (np.abs(b) > 1 / NEAR_ONE)
        is_refined = (np.abs(first) < LARGE) & ~is_exact
        return np.where(is_refined, np.copysign(first + (a - first * b) * c, first), a / b)


row(
    "refined_quotient",
    refined_quotient,
    (
        lambda ct, y, a, b, c: ct * c * (2 - b * c),
        lambda ct, y, a, b, c: -(ct * a) * c * c,
        lambda ct, y, a, b, c: 2 * ct * a * (1 - b * c),
    ),
    ("bc", "ac", "abc"),
    cost=2,
    samples=((-2, 2), (0.5, 1), (1, 1.5)),
)


# Choice.
def larger(ct: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`ct` where `a > b`, half of it at a tie (and where one is nan: the result is nan whatever the share)."""
    return where(a > b, ct, where(a < b, 0, 0.5 * ct))


def not_larger(ct: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """What `larger` leaves of `ct`: the share of `b`, by the same comparisons."""
    return where(a > b, 0, where(a < b, ct, 0.5 * ct))


def larger_number(ct: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`ct` where `a > b` or `b` is nan, half of it at a tie."""
    return where((a > b) | b.differs(b), ct, where(a.equals(b), 0.5 * ct, 0))


def smaller_number(ct: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """`ct` where `a < b` or `b` is nan, half of it at a tie."""
    return where((a < b) | b.differs(b), ct, where(a.equals(b), 0.5 * ct, 0))


row(
    "maximum",
    np.maximum,
    (lambda ct, y, a, b: larger(ct, a, b), lambda ct, y, a, b: not_larger(ct, a, b)),
    ("ab", "ab"),
    kinds=ANY,
)
row(
    "minimum",
    np.minimum,
    (lambda ct, y, a, b: not_larger(ct, a, b), lambda ct, y, a, b: larger(ct, a, b)),
    ("ab", "ab"),
    kinds=ANY,
)
row(
    "fmax",
    np.fmax,
    (lambda ct, y, a, b: larger_number(ct, a, b), lambda ct, y, a, b: larger_number(ct, b, a)),
    ("ab", "ab"),
    kinds=NUMBERS,
)
row(
    "fmin",
    np.fmin,
    (lambda ct, y, a, b: smaller_number(ct, a, b), lambda ct, y, a, b: smaller_number(ct, b, a)),
    ("ab", "ab"),
    kinds=NUMBERS,
)
row(
    "where",
    np.where,
    (None, lambda ct, y, a, b, c: where(a, ct, 0), lambda ct, y, a, b, c: where(a, 0, ct)),
    ("", "a", "a"),
    kinds=("bff", "bii", "bbb"),
    result=lambda operands, parameters: same_dtype(operands[1:], parameters),
)

# The same number.
row(
    "cast",
    lambda a, *, dtype: a.astype(dtype),
    (lambda ct, y, a, *, dtype: ct.cast(a.dtype),),
    ("",),
    tangent=lambda tangents, y, a, *, dtype: tangents[0].cast(dtype),
    kinds=ANY,
    result=lambda operands, parameters: np.dtype(parameters["dtype"]),
    examples=tuple({"dtype": np.dtype(name)} for name in ("float64", "float32", "int64", "bool")),
)
row("copy", lambda a: a, (lambda ct, y, a: ct,), ("",), kinds=ANY)
row("cut", lambda a: a, (lambda ct, y, a: ct,), ("",), kinds=ANY)  # where a derivative begins; gone once it is written
# The same number again, as what no other computation is found to be equal to: for computing things a second time.
row("again", lambda a: a, (lambda ct, y, a: ct,), ("",), kinds=ANY)
row("stop_gradient", lambda a: a, (None,), ("",), kinds=ANY)
DROPPED = (
    "zeros at an end are dropped, whatever their derivatives; evaluate and multiply polynomials with np.polyval or "
    "numpy.polynomial.polynomial.polyval and np.convolve, or make the zeros constants (planned_ad.Const)"
)
row("trim_zeros", lambda a: a, (None,), ("",), kinds=ANY, refused=DROPPED)  # of what is dropped, as a sum with the rest
