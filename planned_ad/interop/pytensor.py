"""A plan as an operation of PyTensor: for PyMC, in any of its modes; in Numba's, as nutpie uses it, without Python."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import numba_funcify
from pytensor.link.numba.dispatch.basic import numba_njit

from ..calls.kernel_functions import KernelFunction
from ..errors import BranchError, DtypeError, ShapeError
from ..plan import Plan
from .plain_plans import PlainOperand, PlainPlan, kernel_slots, traced_for_now

Rule = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list]  # of inputs, outputs and cotangents


def pytensor_function(plan: Plan) -> Callable[..., Any]:
    """The function of a plan, of PyTensor's variables, with two derivatives.

    Of a loss, the value and the gradient are computed by one call.

    Parameters
    ----------
    plan : Plan
        Of C-contiguous arrays and numbers, that returns one array or number. It writes to no argument, or is compiled
        with `preserve_args=True`. Static arguments have the values that it was compiled for.

    Notes
    -----
    In Numba's mode a branch that was not recorded is a BranchError: call the plan for such arguments before.
    """
    ops = Operations(plan)
    op = ops.value_and_gradient if ops.plain.is_loss else ops.value
    return lambda *args: op.make_node(*ops.plain.without_static(args)).outputs[-1]


class PlanOp(Op):
    """A call of a plan: `run` from Python, its kernel from compiled code."""

    def __init__(
        self,
        plan: Plan,
        call: str,
        inputs: Sequence[PlainOperand],
        outputs: Sequence[PlainOperand],
        run: Callable[..., Sequence[Any]],
        rule: Rule | None = None,
    ):
        self.plan, self.name_of_call = plan, call
        self.inputs, self.outputs, self.run, self.rule = inputs, outputs, run, rule

    def kernel(self) -> KernelFunction:
        found: KernelFunction = getattr(traced_for_now(self.plan).kernel, self.name_of_call)
        return found

    def make_node(self, *inputs: Any) -> Apply:
        given = [pt.as_tensor_variable(value) for value in inputs]
        for operand, value in zip(self.inputs, given):
            if value.type.dtype != operand.dtype:
                raise DtypeError(f"pytensor_function: {operand.name} is {value.type.dtype}, not {operand.dtype}")
            if value.type.ndim != len(operand.shape):
                raise ShapeError(f"pytensor_function: {operand.name} has {value.type.ndim} axes, not {operand.shape}")
        return Apply(self, given, [pt.tensor(dtype=o.dtype, shape=o.shape) for o in self.outputs])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], outputs: Sequence[list]) -> None:
        given = [i if o.kind == "array" else i.item() for o, i in zip(self.inputs, inputs)]
        for cell, operand, found in zip(outputs, self.outputs, self.run(*given)):
            cell[0] = np.asarray(found, operand.dtype)
            if cell[0].shape != operand.shape:  # of another branch
                raise ShapeError(f"pytensor_function: {operand.name} has shape {cell[0].shape}, not {operand.shape}")

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[operand.active] * len(self.outputs) for operand in self.inputs]

    def infer_shape(self, graph: Any, node: Apply, shapes: Any) -> list[tuple[int, ...]]:
        return [operand.shape for operand in self.outputs]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list:
        if self.rule is None:
            raise NotImplementedError("pytensor_function: third derivatives")
        found = iter(self.rule(inputs, outputs, cotangents))
        return [next(found) if operand.active else DisconnectedType()() for operand in self.inputs]


class Operations:
    """The calls of a plan as operations of PyTensor, with their derivatives."""

    def __init__(self, plan: Plan):
        self.plain = plain = PlainPlan(plan, "pytensor_function")
        plain.check_contiguous()
        inputs, result = plain.variables, plain.result
        active = [operand for operand in inputs if operand.active]

        def both(*given: Any) -> tuple:
            value, gradients = plain.value_and_gradients(*plain.with_static(given))
            return *gradients, value

        def of_both(given: Sequence[Any], found: Sequence[Any], cotangents: Sequence[Any]) -> list:
            *directions, scale = (c if is_there(c) else None for c in cotangents)
            totals = [0 if scale is None else scale * gradient for gradient in found[:-1]]
            if any(d is not None for d in directions):
                filled = [pt.zeros(a.shape, a.dtype) if d is None else d for a, d in zip(active, directions)]
                one = pt.constant(np.ones((), result.dtype))
                totals = [t + more for t, more in zip(totals, self.curvature(*given, one, *filled))]
            return totals

        def of_pullback(given: Sequence[Any], found: Sequence[Any], cotangents: Sequence[Any]) -> list:
            filled = [c if is_there(c) else pt.zeros(a.shape, a.dtype) for a, c in zip(active, cotangents)]
            return self.curvature(*given, *filled)

        def pulled(*given: Any) -> tuple:
            return plain.pullbacks(plain.with_static(given[:-1]), given[-1])

        def of_value(given: Sequence[Any], found: Sequence[Any], cotangents: Sequence[Any]) -> list:
            return self.pullback.make_node(*given, cotangents[0]).outputs

        self.value_and_gradient = PlanOp(plan, "value_and_gradient", inputs, [*active, result], both, of_both)
        self.pullback = PlanOp(plan, "pullback", [*inputs, result], active, pulled, of_pullback)
        self.value = PlanOp(plan, "value", inputs, [result], lambda *x: (plan(*plain.with_static(x)),), of_value)

    @functools.cached_property
    def second(self) -> PlanOp:
        plain, inputs = self.plain, self.plain.variables
        active = [operand for operand in inputs if operand.active]
        plan, own = plain.curvature, len(inputs)
        given, found = [*inputs, plain.result, *active], [*active, plain.result]
        return PlanOp(plan, "value", given, found, lambda *x: plan(*plain.with_static(x[:own]), *x[own:]))

    def curvature(self, *given: Any) -> list:
        return self.second.make_node(*given).outputs


def is_there(cotangent: Any) -> bool:
    return not isinstance(cotangent.type, DisconnectedType)


KEPT: list[PlanOp] = []  # compiled code holds addresses in their kernels


@numba_funcify.register(PlanOp)
def compiled_operation(op: PlanOp, **options: Any) -> Any:
    """The operation for Numba's mode, arrays in and new arrays out: its kernel, called as C calls it."""
    slots = kernel_slots(op.kernel(), op.inputs, op.outputs)
    types = [
        np.ctypeslib.as_ctypes_type(s.parameter.dtype) if s.parameter.is_number else ctypes.c_void_p for s in slots
    ]
    checks, results, arguments, returned = [], [], [], [f"y{k}" for k in range(len(op.outputs))]
    for slot in slots:
        operand, k = slot.operand, slot.number
        if slot.is_output:
            results.append(f"y{k} = np.zeros({operand.shape}, np.{slot.parameter.dtype})")
            if operand.dtype != slot.parameter.dtype:
                returned[k] = f"np.asarray(np.{operand.dtype}(y{k}.item()))"
            arguments.append(f"y{k}.ctypes")
        elif operand.kind == "array":
            checks += [f"x{k} = np.ascontiguousarray(x{k})"] if operand.shape else []
            checks += [f"if x{k}.shape != {operand.shape}: raise ShapeError('{operand.name} is not {operand.shape}')"]
            arguments.append(f"x{k}.ctypes")
        else:
            arguments.append(f"x{k}.item()")
    lines = [*checks, *results, f"status = kernel({', '.join(arguments)})"]
    lines += ["if status != 0: raise BranchError(message)", f"return {', '.join(returned)}"]
    source = "\n    ".join([f"def call({', '.join(f'x{k}' for k in range(len(op.inputs)))}):", *lines])
    names = {
        "np": np, "kernel": ctypes.CFUNCTYPE(ctypes.c_int32, *types)(op.kernel().address),
        "BranchError": BranchError, "ShapeError": ShapeError,
        "message": "pytensor_function: a branch that was not recorded; call the plan with such arguments before",
    }  # fmt: skip
    exec(source, names)
    KEPT.append(op)
    return numba_njit(names["call"])
