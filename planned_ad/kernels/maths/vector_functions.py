"""Element-wise mathematical functions for scalars and SIMD vectors, written into an LLVM module on demand.

    call(builder, "exp", [x])      # x: double, float, <N x double> or <N x float>

The first call in a module defines an internal function such as `planned_ad.exp.v8f64`; later calls use it. A power is
two, the logarithm of the base and the rest.
The functions of `exp`, `log`, `trig`, `arc` and `power` are branch-free
polynomial approximations, within 2 ulp for every double, with the special values of NumPy, as are those of
`error_function`, within 4; those of `scalar_library`
call the C library or SciPy lane by lane. Single precision is computed in double precision and rounded at the end.
Nothing allocates, nothing touches Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from llvmlite import ir

from ..llvm.builder import TerseBuilder
from . import arc as vecmath_arc
from . import error_function as vecmath_error
from . import exp as vecmath_exp
from . import log as vecmath_log
from . import power as vecmath_power
from . import scalar_library
from . import trig as vecmath_trig
from .notation import F64, Lanes, declare, element_of, like, suffix
from .shared_functions import FUNCTIONS, SharedFunction, shared

INTRINSICS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "copysign": "copysign",
}
"""Functions that are instructions of the processor."""

VECTORISED: dict[str, Callable[..., Lanes]] = {
    **vecmath_exp.TABLE,
    **vecmath_log.TABLE,
    **vecmath_trig.TABLE,
    **vecmath_arc.TABLE,
    **vecmath_power.TABLE,
    **vecmath_error.TABLE,
}
"""Functions with a branch-free body of ours."""

OUT_OF_LINE = ("tan",)
"""Functions with more constants than there are vector registers: hoisted out of a loop of the caller, they would spill.

They are compiled once in a process. All others are left to LLVM, which inlines what is called once: 0.1 to 0.2 ns per
element faster than a call.
"""

ARITY = {"copysign": 2, "power": 2, "arctan2": 2, "hypot": 2, "logaddexp": 2} | scalar_library.ARITY
"""Number of arguments, where it is not one."""

NAMES = frozenset(INTRINSICS) | frozenset(VECTORISED) | {"power"} | scalar_library.NAMES


def is_formula(name: str) -> bool:
    """Whether it is a formula of ours, longer than an instruction or two."""
    return name in VECTORISED or name == "power"


def call(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """Emit a call of the element-wise function `name`.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where to emit; the function itself is added to `builder.module` if it is not there yet.
    name : str
        NumPy's or SciPy's name of the function, one of `NAMES`.
    args : list of llvmlite.ir.Value
        All of one type: `double`, `float`, `<N x double>` or `<N x float>`.

    Returns
    -------
    llvmlite.ir.Value
        The result, of the same type.

    Raises
    ------
    KeyError
        If there is no such function.
    TypeError
        If the number or the types of the arguments do not fit.
    """
    if name not in NAMES:
        raise KeyError(f"vecmath has no function {name!r}")
    kind = args[0].type if args else None
    if len(args) != ARITY.get(name, 1) or any(a.type != kind for a in args):
        raise TypeError(f"{name} takes {ARITY.get(name, 1)} argument(s) of one type, got {[str(a.type) for a in args]}")
    if element_of(kind) not in (F64, ir.FloatType()):
        raise TypeError(f"{name} works on doubles and floats, not on {kind}")
    if name in INTRINSICS:
        return Lanes(builder, args[0]).intrinsic(INTRINSICS[name], *(Lanes(builder, a) for a in args[1:])).value
    if name == "power" and element_of(kind) == F64:
        log = builder.call(partial_function(builder.module, vecmath_power.log_twice_precise, 1, 2, kind), args[:1])
        parts = [builder.extract_value(log, k) for k in range(2)]
        return builder.call(
            partial_function(builder.module, vecmath_power.power_of_log, 4, 1, kind), [args[0], *parts, args[1]]
        )
    return builder.call(defined(builder.module, name, kind), args)


def partial_function(module: ir.Module, formula: Callable, given: int, found: int, kind: ir.Type) -> ir.Function:
    """A function for a part of another one, of so many numbers, which finds several where `found` says so.

    LLVM calls it once for the same numbers, and before a loop for what is the same in all iterations.
    """
    result = ir.LiteralStructType([kind] * found) if found > 1 else kind
    symbol = f"planned_ad.{formula.__name__}.{suffix(kind)}"
    function = declare(module, symbol, result, [kind] * given)
    if function.is_declaration:
        function.linkage = "internal"
        function.attributes.add("nounwind")
        builder = TerseBuilder(function.append_basic_block("entry"))
        values = formula(*(Lanes(builder, a) for a in function.args))
        if found > 1:
            together: ir.Value = ir.Constant(result, ir.Undefined)
            for k, value in enumerate(values):
                together = builder.insert_value(together, value.value, k)
            builder.ret(together)
        else:
            builder.ret(values.value)
    return function


def defined(module: ir.Module, name: str, kind: ir.Type) -> ir.Function:
    """The module's function `name` on values of type `kind`, written at first use."""
    if name in OUT_OF_LINE and element_of(kind) == F64:
        return shared(module, name, kind)
    symbol = f"planned_ad.{name}.{suffix(kind)}"
    function = declare(module, symbol, kind, [kind] * ARITY.get(name, 1))
    if not function.is_declaration:
        return function
    function.linkage = "internal"
    function.attributes.add("nounwind")
    write_body(name, function)
    return function


def write_body(name: str, function: ir.Function) -> None:
    builder = TerseBuilder(function.append_basic_block("entry"))
    builder.ret(body(builder, name, list(function.args)))


for name in OUT_OF_LINE:
    FUNCTIONS[name] = SharedFunction(
        lambda kind, name=name: ir.FunctionType(kind, [kind] * ARITY.get(name, 1)),  # type: ignore[misc]
        functools.partial(write_body, name),
    )


def body(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """The formula of the function, in double precision."""
    kind = args[0].type
    if element_of(kind) != F64:
        wide = [builder.fpext(a, like(F64, kind)) for a in args]
        return builder.fptrunc(call(builder, name, wide), kind)
    if name in VECTORISED:
        return VECTORISED[name](*(Lanes(builder, a) for a in args)).value
    return scalar_library.library_function(builder, name, args)
