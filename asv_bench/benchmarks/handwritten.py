"""What an expert writes for the gradient of `sum(sin(x) * exp(-x * x))`: one fused Numba loop, with vector maths.

Two ways: a loop over blocks of eight doubles, and a plain loop over scalar functions that LLVM vectorises itself.
The functions are those of `planned_ad.kernels.maths.vector_functions`: what is compared is the loop around them.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from planned_ad.kernels.maths import vector_functions as vecmath

LANES = 8


def compiled_loop(function: Callable) -> Callable:
    """Numba, with the licence that planned_ad has: sums may be reassociated, multiply-adds contracted, no more."""
    return numba.njit(fastmath={"contract", "reassoc"}, error_model="numpy")(function)


def scalar_function(name: str) -> Callable:
    """`name` of one double, to be called in an `njit` function."""

    @intrinsic
    def function(typing, x):
        def emit(context, builder, signature, arguments):
            return vecmath.call(builder, name, list(arguments))

        return types.float64(types.float64), emit

    return function


@intrinsic
def gradient_block(typing, x, dx, start):
    """exp(-x x) (cos x - 2 x sin x) of the eight elements from `start` on."""

    def emit(context, builder, signature, arguments):
        kind = ir.VectorType(ir.DoubleType(), LANES)

        def place(number):
            array = context.make_array(signature.args[number])(context, builder, arguments[number])
            return builder.bitcast(builder.gep(array.data, [arguments[2]]), kind.as_pointer())

        x = builder.load(place(0), align=8)
        sine, cosine = (vecmath.call(builder, name, [x]) for name in ("sin", "cos"))
        bell = vecmath.call(builder, "exp", [builder.fneg(builder.fmul(x, x))])
        slope = builder.fsub(cosine, builder.fmul(builder.fadd(x, x), sine))
        builder.store(builder.fmul(bell, slope), place(1), align=8)
        return context.get_dummy_value()

    return types.void(x, dx, start), emit


def sin_exp_gradients() -> tuple[Callable, Callable]:
    """The two loops, `gradient(x, dx)`."""
    sin, cos, exp = (scalar_function(name) for name in ("sin", "cos", "exp"))

    @numba.njit(error_model="numpy")
    def plain(x, dx):
        for i in range(x.size):
            dx[i] = exp(-x[i] * x[i]) * (cos(x[i]) - 2.0 * x[i] * sin(x[i]))

    @numba.njit(error_model="numpy")
    def blocks(x, dx):
        whole = x.size - x.size % LANES
        for i in range(0, whole, LANES):
            gradient_block(x, dx, i)
        for i in range(whole, x.size):
            dx[i] = exp(-x[i] * x[i]) * (cos(x[i]) - 2.0 * x[i] * sin(x[i]))

    return plain, blocks
