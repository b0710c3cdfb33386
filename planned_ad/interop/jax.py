"""A plan as a function of JAX's arrays, which `jax.jit`, `grad` and `vmap` take."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..calls.kernel_functions import KernelFunction
from ..errors import DtypeError, ShapeError
from ..plan import Plan
from ..python.options import one_of
from .plain_plans import PlainOperand, PlainPlan
from .xla_handler import XLAHandler

HANDLERS: list[XLAHandler] = []  # XLA never forgets one
PLATFORM = "cpu"  # where XLA calls plans itself


def jax_function(plan: Plan, mode: str = "reverse") -> Callable[..., jax.Array]:
    """The function of a plan, of JAX's arrays.

    On the CPU XLA calls the plan's machine code, without Python. `vmap` runs it once for each item. From another device
    the host is called, by `jax.pure_callback`: arrays go there and back.

    Parameters
    ----------
    plan : Plan
        As for `pytensor_function`: what compiled code can call.
    mode : {'reverse', 'forward'}
        Which derivatives JAX finds: two for `grad`, `vjp`, `jacrev`, or one for `jvp` and `jacfwd`. What is beyond the
        value and gradient compiles a plan at first use.

    Notes
    -----
    A function of JAX's has a rule for one of the modes. From one for `jvp` JAX would get reverse mode by transposing,
    which it cannot do to foreign code; its `linear_call`, which is told the transpose, knows neither `vmap` nor a
    second derivative (JAX 0.10).

    A plan that was given to JAX stays in memory. What its function found in globals and closures is compared at each
    call, for which XLA's threads take the GIL: whoever waits for JAX in compiled code of his own must not hold it.
    """
    one_of("mode", mode, ("reverse", "forward"))
    calls = Calls(plan)
    function = with_pushforward(calls) if mode == "forward" else with_pullback(calls)
    return lambda *args: function(*calls.plain.without_static(args))


def with_pushforward(calls: Calls) -> Callable[..., Any]:
    """The value, with a rule for forward mode."""

    @jax.custom_jvp
    def function(*args: Any) -> Any:
        return calls.value(*args)[0]

    @function.defjvp
    def rule(args: tuple, tangents: tuple) -> tuple:
        _, tangent = calls.pushforward(*args, *(tangents[k] for k in calls.places))
        return calls.value(*args)[0], tangent  # a value that `vmap` over tangents leaves as it is, as `jacfwd` needs

    return function


def with_pullback(calls: Calls) -> Callable[..., Any]:
    """The value, with rules for reverse mode."""

    @jax.custom_vjp
    def pullback(args: tuple, cotangent: Any) -> list:
        return calls.pullback(*args, cotangent)

    def pullback_backward(saved: tuple, directions: Any) -> tuple:
        *found, of_cotangent = calls.curvature(*saved[0], saved[1], *directions)
        return calls.among_all(found), of_cotangent

    @jax.custom_vjp
    def value_and_gradients(args: tuple) -> list:
        return calls.value_and_gradient(*args)

    def gradients_forward(args: tuple) -> tuple:
        found = value_and_gradients(args)
        return found, (args, found[:-1])

    def gradients_backward(saved: tuple, directions: Any) -> tuple:
        *found, _ = calls.curvature(*saved[0], jnp.ones((), calls.plain.result.dtype), *directions[:-1])
        return (calls.among_all([directions[-1] * g + more for g, more in zip(saved[1], found)]),)

    @jax.custom_vjp
    def function(*args: Any) -> Any:
        return calls.value(*args)[0]

    def forward(*args: Any) -> tuple:
        if not calls.plain.is_loss:
            return function(*args), args
        *gradients, value = value_and_gradients(args)
        return value, gradients

    def backward(saved: Any, cotangent: Any) -> tuple:
        found = [cotangent * g for g in saved] if calls.plain.is_loss else pullback(saved, cotangent)
        return calls.among_all(found)

    pullback.defvjp(lambda args, cotangent: (pullback(args, cotangent), (args, cotangent)), pullback_backward)
    value_and_gradients.defvjp(gradients_forward, gradients_backward)
    function.defvjp(forward, backward)
    return function


class Calls:
    """The calls of a plan as operations of XLA, made at first use."""

    def __init__(self, plan: Plan):
        self.plain = plain = PlainPlan(plan, "jax_function")
        plain.check_contiguous()
        self.operands = plain.variables
        self.places = [k for k, operand in enumerate(self.operands) if operand.active]
        self.active = [self.operands[k] for k in self.places]

    def among_all(self, found: Sequence[Any]) -> tuple:
        """What there is of active arguments, and None for each of the others."""
        gradients = dict(zip(self.places, found))
        return tuple(gradients.get(k) for k in range(len(self.operands)))

    @functools.cached_property
    def value(self) -> Callable[..., list]:
        plan, plain = self.plain.plan, self.plain
        return foreign(plan.kernel.value, self.operands, [plain.result], lambda *x: plan(*plain.with_static(x)))

    @functools.cached_property
    def value_and_gradient(self) -> Callable[..., list]:
        plain = self.plain
        kernel, outputs = plain.plan.kernel.value_and_gradient, [*self.active, plain.result]

        def found(*x: Any) -> list:
            value, gradients = plain.value_and_gradients(*plain.with_static(x))
            return [*gradients, value]

        return foreign(kernel, self.operands, outputs, found)

    @functools.cached_property
    def pushforward(self) -> Callable[..., list]:
        """The value and its tangent, of the arguments and the tangents of the active ones."""
        plain, count, pushed = self.plain, len(self.operands), self.plain.plan._derived("jvp")
        inputs, outputs = [*self.operands, *self.active], [plain.result, plain.result]
        return foreign(
            pushed.kernel.value, inputs, outputs, lambda *x: pushed(*plain.with_static(x[:count]), *x[count:])
        )

    @functools.cached_property
    def pullback(self) -> Callable[..., list]:
        plain, inputs = self.plain, [*self.operands, self.plain.result]
        kernel = plain.plan.kernel.pullback
        return foreign(kernel, inputs, self.active, lambda *x: plain.pullbacks(plain.with_static(x[:-1]), x[-1]))

    @functools.cached_property
    def curvature(self) -> Callable[..., list]:
        plain, count = self.plain, len(self.operands)
        inputs, outputs = [*self.operands, plain.result, *self.active], [*self.active, plain.result]
        second = plain.curvature
        return foreign(
            second.kernel.value, inputs, outputs, lambda *x: second(*plain.with_static(x[:count]), *x[count:])
        )


def foreign(
    kernel: KernelFunction, inputs: Sequence[PlainOperand], outputs: Sequence[PlainOperand], learn: Callable[..., Any]
) -> Callable[..., list]:
    """A kernel as an operation of XLA, whose outputs are a list; elsewhere than on the CPU `learn`, by the host."""
    handler = XLAHandler(kernel, inputs, outputs, learn)
    results = [jax.ShapeDtypeStruct(operand.shape, operand.dtype) for operand in outputs]
    HANDLERS.append(handler)
    jax.ffi.register_ffi_target(handler.symbol, jax.ffi.pycapsule(ctypes.c_void_p(handler.address)), platform="cpu")

    def compiled(*args: Any) -> list:
        return list(jax.ffi.ffi_call(handler.symbol, results, vmap_method="broadcast_all")(*args))

    def in_python(*args: Any) -> list:
        given = (float(v) if operand.kind == "float" else np.array(v) for operand, v in zip(inputs, args))
        found = learn(*given)
        found = found if isinstance(found, tuple | list) else [found]
        return [np.asarray(part, operand.dtype) for part, operand in zip(found, outputs)]

    def by_host(*args: Any) -> list:
        return list(jax.pure_callback(in_python, results, *args, vmap_method="sequential"))

    def call(*args: Any) -> list:
        args = tuple(map(jnp.asarray, args))
        for operand, value in zip(inputs, args):
            check(operand, value)
        if jax.default_backend() == PLATFORM:
            return compiled(*args)
        return list(jax.lax.platform_dependent(*args, **{PLATFORM: compiled}, default=by_host))

    return call


def check(operand: PlainOperand, value: jax.Array) -> None:
    if value.dtype != operand.dtype:
        advice = "; jax.config.update('jax_enable_x64', True) has JAX keep it" * (operand.dtype == jnp.float64)
        raise DtypeError(f"jax_function: {operand.name} is {value.dtype}, and the plan's {operand.dtype}{advice}")
    if value.shape != operand.shape:
        raise ShapeError(f"jax_function: {operand.name} has shape {value.shape}, and the plan's {operand.shape}")
