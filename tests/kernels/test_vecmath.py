"""Accuracy and special values of the vector mathematics, against mpmath and against NumPy and SciPy.

One module holds a loop for every function on scalars, `<8 x double>` and `<8 x float>`, compiled as Numba compiles.
Errors are in units in the last place of the correctly rounded result, the reference being kept as (double, rest / ulp),
so that half units are right for subnormal results too.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from llvmlite import ir
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from planned_ad.kernels.maths import vector_functions as vecmath
from planned_ad.kernels.maths.notation import F64, element_of
from planned_ad.rules import RULES
from planned_ad.rules.more_integrals import PARTS
from tests.sweeps import left_out

F32 = ir.FloatType()
KINDS = {"f64": F64, "v8f64": ir.VectorType(F64, 8), "v8f32": ir.VectorType(F32, 8)}
MAX = np.finfo(float).max
TINY = 5e-324


def write_loop(module: ir.Module, name: str, kind: ir.Type, symbol: str) -> None:
    """Add to the module a function (inputs..., output, n) that applies `name` along arrays, one vector at a time."""
    pointer, index = ir.PointerType(element_of(kind)), ir.IntType(64)
    arity = vecmath.ARITY.get(name, 1)
    signature = ir.FunctionType(ir.VoidType(), [pointer] * (arity + 1) + [index])
    function = ir.Function(module, signature, symbol)
    entry, head, body, end = (function.append_basic_block(b) for b in ("entry", "head", "body", "end"))
    ir.IRBuilder(entry).branch(head)
    builder = ir.IRBuilder(head)
    i = builder.phi(index)
    i.add_incoming(index(0), entry)
    builder.cbranch(builder.icmp_signed("<", i, function.args[-1]), body, end)
    builder = ir.IRBuilder(body)
    places = [builder.bitcast(builder.gep(a, [i]), ir.PointerType(kind)) for a in function.args[:-1]]
    align = 4 if element_of(kind) == F32 else 8
    args = [builder.load(place, align=align) for place in places[:-1]]
    builder.store(vecmath.call(builder, name, args), places[-1], align=align)
    i.add_incoming(builder.add(i, index(getattr(kind, "count", 1))), builder.block)
    builder.branch(head)
    ir.IRBuilder(end).ret_void()


@global_compiler_lock
def compiled(cases: list[tuple[str, str]], kinds: dict[str, ir.Type] = KINDS) -> dict[tuple[str, str], Callable]:
    """Functions of arrays for each (name, kind)."""
    library = cpu_target.target_context.codegen().create_library("test_vecmath")
    module = library.create_ir_module("test_vecmath")
    for name, kind in cases:
        write_loop(module, name, kinds[kind], f"loop_{name}_{kind}")
    library.add_ir_module(module)
    library.finalize()

    def wrapped(name: str, kind: str) -> Callable:
        arity = vecmath.ARITY.get(name, 1)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)
        function = prototype(library.get_pointer_to_function(f"loop_{name}_{kind}"))
        dtype = np.float32 if element_of(kinds[kind]) == F32 else np.float64

        def apply(*arrays: np.ndarray) -> np.ndarray:
            n = arrays[0].size
            padded = [np.ascontiguousarray(np.resize(a, -(-n // 16) * 16), dtype) for a in arrays]
            out = np.empty_like(padded[0])
            function(*(a.ctypes.data for a in padded), out.ctypes.data, out.size)
            return out[:n]

        apply.library = library  # the code lives as long as the library
        return apply

    return {case: wrapped(*case) for case in cases}


@pytest.fixture(scope="module")
def functions() -> dict[tuple[str, str], Callable]:
    return compiled([(name, kind) for name in sorted(vecmath.NAMES) for kind in KINDS])


# -- references -------------------------------------------------------------------------------------------------------

EXACT: dict[str, Callable] = {
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10),
    "log1p": lambda x: mp.log(1 + x),
    "expm1": lambda x: mp.exp(x) - 1,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "logit": lambda x: mp.log(x / (1 - x)),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arctan2": mp.atan2,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "power": lambda x, y: x**y,
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))) if x < 170 else mp.loggamma(x),
    "digamma": mp.digamma,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
}


def exact(name: str, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The correctly rounded values, what is missing to the exact ones in ulp, and the ulp."""
    function = EXACT.get(name) or getattr(mp, name)
    rounded = np.empty(arrays[0].size)
    rest = np.zeros_like(rounded)
    for i, args in enumerate(zip(*(a.tolist() for a in arrays))):
        # tiny arguments are lost in 1 + x unless there is room for both
        with mp.workprec(1250 if min(abs(a) for a in args) < 1e-15 else 250):
            value = function(*map(mp.mpf, args))
            rounded[i] = float(value)
            if np.isfinite(rounded[i]):
                rest[i] = float((value - mp.mpf(rounded[i])) / mp.mpf(float(np.spacing(abs(rounded[i])))))
    return rounded, rest, np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1.0)))


def worst_error(result: np.ndarray, reference: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, int]:
    """The largest error in ulp and where it occurs; results beyond the range must overflow."""
    rounded, rest, ulp = reference
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(rounded), np.abs((result - rounded) / ulp - rest), 0.0)
    error = np.where(
        (np.isfinite(result) == np.isfinite(rounded)) & (np.isnan(result) == np.isnan(rounded)), error, np.inf
    )
    return float(error.max()), int(error.argmax())


# -- points -----------------------------------------------------------------------------------------------------------


def near(*centres: float) -> np.ndarray:
    """The centres and a few neighbours on both sides."""
    points = np.array(centres)
    around = [points]
    up = down = points
    for _ in range(3):
        with np.errstate(all="ignore"):
            up, down = np.nextafter(up, np.inf), np.nextafter(down, -np.inf)
        around += [up, down]
    return np.concatenate(around)


def powers(rng: np.random.Generator, low: float, high: float, n: int) -> np.ndarray:
    """Both signs, exponents uniform."""
    return rng.choice([-1.0, 1.0], n) * 2.0 ** rng.uniform(low, high, n)


LN2 = float(np.log(2))
SPREAD = {  # name: (interval of interest, further points)
    "exp": ((-746, 710), near(-745.1332191019412, -708.3964185322641, 709.782712893384, LN2 / 2, -LN2 / 2, 1.5 * LN2)),
    "exp2": ((-1076, 1025), near(-1075.0, -1074.0, -1022.0, 1024.0, 0.5, -0.5, 1.5)),
    "expm1": ((-45, 710), near(709.782712893384, LN2 / 2, -LN2 / 2, -37.4, 1.5 * LN2)),
    "expit": ((-746, 60), near(-745.13, -708.4, 36.7, LN2 / 2)),
    "sinh": ((-711, 711), near(710.4758600739439, LN2 / 2, 1.5 * LN2)),
    "cosh": ((-711, 711), near(710.4758600739439, LN2 / 2, 1.5 * LN2)),
    "tanh": ((-20, 20), near(18.7149738751185, 19.06, LN2 / 4)),
    "log": ((0, 3), near(1.0, 0.7071067811865476, 1.4142135623730951, MAX, 2.0**-1022, 1e-320)),
    "log2": ((0, 3), near(1.0, 0.7071067811865476, 1.4142135623730951, 8.0, 2.0**-1022, 1e-320)),
    "log10": ((0, 3), near(1.0, 0.7071067811865476, 1.4142135623730951, 1000.0, 2.0**-1022, 1e-320)),
    "log1p": ((-1, 3), near(-0.9999, -0.2928932188134524, 0.41421356237309515, 1.0)),
    "arcsinh": ((-5, 5), near(2.0**28, 2.0**-27)),
    "arccosh": ((1, 5), near(1.0 + 2.0**-50, 2.0**28, 1.5)),
    "arctanh": ((-1, 1), near(0.5, 1.0 - 2.0**-50, 2.0**-27)),
    "logit": ((0, 1), near(0.5, 1e-310, 1.0 - 2.0**-50)),
    "arctan": ((-10, 10), near(1.0, 0.41421356237309503, 2.414213562373095, 2.0**100)),
    "arcsin": ((-1, 1), near(0.5, -0.5, 1.0 - 2.0**-50)),
    "arccos": ((-1, 1), near(0.5, -0.5, 1.0 - 2.0**-50)),
    "cbrt": ((-3, 3), near(1.0, 8.0, 27.0, 0.7071067811865476)),
    **{
        name: (
            (-20, 20),
            np.concatenate(
                [
                    near(*(np.arange(1, 40) * (np.pi / 2)), 2.0**30, 6381956970095103.0 * 2.0**797, 1e15, 1e300),
                    # multiples of pi/2 among doubles below 2**30, as close as rounding lets them be
                    np.floor(2.0 ** np.linspace(1, 29, 200)) * (np.pi / 2),
                ]
            ),
        )
        for name in ("sin", "cos", "tan")
    },
    "sqrt": ((0, 3), near(1.0, 4.0)),
    "erf": ((-6, 6), near(1.0)),
    "erfc": ((-6, 28), near(1.0, 26.5, 27.2)),
    "gammaln": ((0.01, 170), near(1.5, 3.0)),
    "digamma": ((2, 1e4), near(3.0)),
}
DOMAIN = {
    **dict.fromkeys(["log", "log2", "log10", "sqrt"], (TINY, MAX)),
    "log1p": (np.nextafter(-1.0, 0.0), MAX),
    "arccosh": (1.0, MAX),
    "logit": (TINY, np.nextafter(1.0, 0.0)),
    **dict.fromkeys(["arcsin", "arccos"], (-1.0, 1.0)),
    "arctanh": (np.nextafter(-1.0, 0.0), np.nextafter(1.0, 0.0)),
    "erfc": (-1e3, 1e3),
    "gammaln": (0.01, 1e300),
    "digamma": (2.0, 1e300),
}
LIMIT = {"erf": 4.0, "erfc": 4.0, "gammaln": 4.0, "digamma": 4.0}


def points(name: str) -> np.ndarray:
    """Some hundred points over the interval of interest, the whole exponent range and the hard places."""
    rng = np.random.default_rng(20)
    (low, high), special = SPREAD[name]
    everywhere = [
        rng.uniform(low, high, 500),
        powers(rng, -1074, 1023.9, 200),
        powers(rng, -60, 12, 300),
        1.0 + powers(rng, -52, -1, 150),
        special,
    ]
    x = np.concatenate(everywhere)
    first, last = DOMAIN.get(name, (-MAX, MAX))
    return x[(x >= first) & (x <= last)]


PAIRS = ("power", "arctan2", "hypot", "logaddexp")


def pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The same for functions of two arguments."""
    rng = np.random.default_rng(21)
    n = 400
    if name == "power":
        x = np.abs(np.concatenate([powers(rng, -1074, 1023.9, n), rng.uniform(0.1, 3, n), 1 + powers(rng, -52, -1, n)]))
        x = x[x != 1.0]
        y = rng.uniform(-746, 710, x.size) / np.log(x)
        y[::5] = np.rint(y[::5])
        return x, y
    if name == "logaddexp":  # positive: where the result nearly vanishes, only the absolute error is small
        x = rng.uniform(0, 700, 3 * n)
        return x, np.abs(x + rng.uniform(-40, 40, 3 * n))
    x = np.concatenate([powers(rng, -1000, 950, n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)])
    y = np.concatenate([x[:n] * powers(rng, -60, 60, n), rng.uniform(-1, 1, n), powers(rng, -1074, 1000, n)])
    return x, y


# -- tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SPREAD))
def test_error_in_ulp(functions, name):
    x = points(name)
    result = functions[name, "v8f64"](x)
    error, where = worst_error(result, exact(name, x))
    assert error <= LIMIT.get(name, 2.0), f"{name}({x[where]!r}) = {result[where]!r} is {error:.2f} ulp off"
    np.testing.assert_array_equal(functions[name, "f64"](x), result)


@pytest.mark.parametrize("name", PAIRS)
def test_error_in_ulp_of_two_arguments(functions, name):
    x, y = pairs(name)
    result = functions[name, "v8f64"](x, y)
    error, where = worst_error(result, exact(name, x, y))
    assert error <= 2.0, f"{name}({x[where]!r}, {y[where]!r}) = {result[where]!r} is {error:.2f} ulp off"
    np.testing.assert_array_equal(functions[name, "f64"](x, y), result)


def library(name: str) -> Callable:
    function, number = PARTS.get(name, (None, None))  # where it is a result of one that has several
    found = function or getattr(np, name, None) or getattr(scipy.special, name, None) or RULES[name].evaluate

    def called(*args: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of orders that are no whole numbers
            result = found(*args)
        return result if number is None else result[number]

    return called


def assert_alike(result: np.ndarray, expected: np.ndarray, args: list[np.ndarray], ulps: float) -> None:
    """Equal NaNs, infinities, zeros and signs; otherwise a few ulp apart."""
    with np.errstate(all="ignore"):
        close = np.abs(result - expected) <= ulps * np.spacing(np.abs(expected))
    alike = (close | (result == expected)) & (np.signbit(result) == np.signbit(expected))
    alike |= np.isnan(result) & np.isnan(expected)
    wrong = np.flatnonzero(~alike)
    assert wrong.size == 0, [(*(a[i] for a in args), result[i], expected[i]) for i in wrong[:5]]


VALUES = np.array(
    [np.inf, np.nan, 0.0, 1.0, TINY, 2.0**-1022, 1e-310, MAX, 0.5, 1.5, 2.0, 3.0, 20.0, 800.0, 2.0**53, 2.0**53 - 1]
)
VALUES = np.concatenate([VALUES, -VALUES])


SLOW = {"hyperu"}  # milliseconds for a number, in SciPy, which both sides call


def arguments(name: str, values: np.ndarray, of_slow: int = 7) -> list[np.ndarray]:
    if vecmath.ARITY.get(name, 1) == 1:
        return [values]
    pair = [v.ravel()[:: of_slow if name in SLOW else 1] for v in np.meshgrid(values, values)]  # leaves no value out
    return [pair[k % 2] for k in range(vecmath.ARITY[name])]


ENDLESS = {"hyp1f1", "hyp2f1"}  # SciPy's series do not end in a reasonable time for parameters such as 1e308
ALOUD = {"expn", "hyp0f1"}  # SciPy warns of orders that are not whole, which traces refuse, and divides by zero


@pytest.mark.parametrize("kind", ["f64", "v8f64"])
@pytest.mark.parametrize("name", sorted(vecmath.NAMES - ENDLESS - ALOUD))
def test_special_values(functions, name, kind):
    args = arguments(name, VALUES)
    if name == "gammaln":  # SciPy overflows below 1e-308, where the value is above 700
        args = [a[(a == 0) | (np.abs(a) >= 2.0**-1022) | np.isnan(a)] for a in args]
    with np.errstate(all="ignore"):
        expected = library(name)(*args)
    assert_alike(functions[name, kind](*args), expected, args, 4)


@pytest.mark.parametrize(
    ("name", "of_slow"),
    [*((name, 31) for name in sorted(vecmath.NAMES - ENDLESS - ALOUD)), *(left_out((name, 7)) for name in SLOW)],
)
def test_single_precision(functions, name, of_slow):
    """Within one float ulp of the function of the same floats in double precision, special values included."""
    rng = np.random.default_rng(22)
    values = np.concatenate([VALUES, rng.uniform(-3, 3, 30), powers(rng, -149, 127, 30)])
    with np.errstate(all="ignore"):
        args = arguments(name, values.astype(np.float32), of_slow)
        expected = library(name)(*(a.astype(float) for a in args)).astype(np.float32)
    if name == "gammaln":
        args, expected = [args[0][args[0] > -1]], expected[args[0] > -1]
    assert_alike(functions[name, "v8f32"](*args), expected, args, 1)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_only_huge_lanes_take_the_slow_path(functions, name):
    x = np.array([1.0, 1e300, np.nan, 2.0, np.inf, -1e15, 0.0, 3.0])
    alone = np.concatenate([functions[name, "v8f64"](np.full(8, v))[:1] for v in x])
    np.testing.assert_array_equal(functions[name, "v8f64"](x), alone)
    error, _ = worst_error(alone[[1, 5]], exact(name, x[[1, 5]]))
    assert error <= 1.0


@pytest.mark.parametrize("count", [2, 4, 16])
def test_other_widths(functions, count):
    kinds = {"f64": ir.VectorType(F64, count), "f32": ir.VectorType(F32, count)}
    names = ["exp", "sin", "power", "digamma"]
    some = compiled([(name, kind) for name in names for kind in kinds], kinds)
    x = np.linspace(0.1, 50, 64)
    for name in names:
        args = [x] * vecmath.ARITY.get(name, 1)
        np.testing.assert_array_equal(some[name, "f64"](*args), functions[name, "v8f64"](*args))
        np.testing.assert_array_equal(some[name, "f32"](*args), functions[name, "v8f32"](*args))


@intrinsic
def digamma_plus_sine(typingctx, x):
    """digamma(x) + sin(x), as another intrinsic would use vecmath."""

    def emit(context, builder, signature, args):
        first, second = (vecmath.call(builder, name, list(args)) for name in ("digamma", "sin"))
        return builder.fadd(first, second)

    return types.float64(types.float64), emit


def test_within_a_numba_function(functions):
    function = njit("float64(float64)")(lambda x: digamma_plus_sine(x))
    x = np.array([0.3, 1e10])
    expected = functions["digamma", "f64"](x) + functions["sin", "f64"](x)
    assert [function(v) for v in x] == expected.tolist()


def test_functions_are_defined_once():
    module = ir.Module("once")
    kind = KINDS["v8f64"]
    function = ir.Function(module, ir.FunctionType(kind, [kind]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(vecmath.call(builder, "exp", [vecmath.call(builder, "exp", [function.args[0]])]))
    assert str(module).count("define internal") == 1
    assert "planned_ad.exp.v8f64" in module.globals


def test_refuses_what_it_cannot_do():
    builder = ir.IRBuilder()
    x, n = F64(1.0), ir.IntType(64)(1)
    with pytest.raises(KeyError, match="no function 'sinc'"):
        vecmath.call(builder, "sinc", [x])
    with pytest.raises(TypeError, match=r"power takes 2 argument"):
        vecmath.call(builder, "power", [x])
    with pytest.raises(TypeError, match=r"power takes 2 argument"):
        vecmath.call(builder, "power", [x, F32(1.0)])
    with pytest.raises(TypeError, match=r"not on i64"):
        vecmath.call(builder, "exp", [n])
