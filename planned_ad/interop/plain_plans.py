"""What an adapter asks of a plan: arrays and numbers in, one array or number out, and its second derivative."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.arguments import same_static
from ..calls.kernel_functions import KernelFunction
from ..calls.parameters import LEAF, arguments_with_leaves, is_scalar_loss
from ..errors import ArgumentError, UnsupportedError
from ..functional.plan_derivatives import ByPosition
from ..functional.transforms import hvp
from ..kernels.entry.callspec import ArraySpec
from ..kernels.entry.native_calls import NativeParameter
from ..passes.boundary import first_write, written_arguments
from ..plan import Plan
from ..python.options import of_derivative
from ..python.signatures import bind
from ..python.structure import Const
from ..regions.regions import c_strides
from ..trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainOperand:
    """An argument, or the result.

    Attributes
    ----------
    name : str
    kind : str
        'array', 'float' or 'static'.
    shape : tuple of int
    dtype : numpy.dtype or None
        None of what is static.
    active : bool
    is_contiguous : bool
        In the order of C.
    value : object
        What is static.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype | None
    active: bool = True
    is_contiguous: bool = True
    value: Any = None


class PlainPlan:
    """A plan of arrays and numbers that returns one floating array or number, and writes to no argument in any branch.

    Attributes
    ----------
    plan : Plan
    operands : tuple of PlainOperand
    active : tuple of int
        Positions of the operands that there are derivatives by.
    result : PlainOperand
    is_loss : bool
        Whether the result is a number, of which there is a gradient.
    has_numbers : bool
        Whether an operand is a number.
    """

    def __init__(self, plan: Plan, caller: str):
        if not isinstance(plan, Plan):
            raise UnsupportedError(f"{caller} takes a plan, planned_ad.compile(f, example), not {type(plan).__name__}")
        plan._ask(caller, functools.partial(check_plain, caller, plan._options["preserve_args"]))
        trace = plan._variants[0].trace
        value = trace.tape.results[0]
        self.plan, self.caller = plan, caller
        self.operands = tuple(
            PlainOperand(
                name=name,
                kind=leaf.kind,
                shape=tuple(leaf.shape),
                dtype=leaf.dtype or (np.dtype(float) if leaf.kind == "float" else None),
                active=leaf.active,
                is_contiguous=tuple(leaf.strides) == c_strides(tuple(leaf.shape)) or leaf.kind != "array",
                value=leaf.value if leaf.kind == "static" else None,
            )
            for name, (_, (leaf,)) in zip(trace.names, arguments_with_leaves(trace))
        )
        self.active = tuple(k for k, operand in enumerate(self.operands) if operand.active)
        kind = "array" if trace.result_kinds[0] == "array" else "float"
        self.result = PlainOperand(name="value", kind=kind, shape=tuple(value.shape), dtype=value.dtype)
        self.is_loss = is_scalar_loss(trace)
        self.has_numbers = any(operand.kind == "float" for operand in self.operands)

    @property
    def variables(self) -> list[PlainOperand]:
        """The operands that are not static."""
        return [operand for operand in self.operands if operand.kind != "static"]

    def check_contiguous(self) -> None:
        """Refuse arrays in another order than C's."""
        for operand in self.operands:
            if not operand.is_contiguous:
                raise UnsupportedError(f"{self.caller}: {operand.name} was not C-contiguous when the plan was compiled")

    def without_static(self, args: Sequence[Any]) -> list[Any]:
        """Of all arguments those of `variables`; the others have to be what the plan was compiled for."""
        if len(args) != len(self.operands):
            raise ArgumentError(f"{self.caller}: {len(self.operands)} arguments, not {len(args)}")
        for operand, value in zip(self.operands, args):
            if operand.kind == "static" and not same_static(operand.value, value):
                raise ArgumentError(f"{self.caller}: {operand.name} is {value!r}, and was {operand.value!r}")
        return [value for operand, value in zip(self.operands, args) if operand.kind != "static"]

    def with_static(self, values: Sequence[Any]) -> list[Any]:
        """All arguments, from those of `variables`."""
        given = iter(values)
        return [operand.value if operand.kind == "static" else next(given) for operand in self.operands]

    def value_and_gradients(self, *args: Any) -> tuple[Any, tuple]:
        """Of a loss: the value, and new arrays with the gradient by each active argument."""
        value, found = self.plan.value_and_gradient(*args)
        return value, found if len(self.active) > 1 else (found,)

    def pullbacks(self, args: Sequence[Any], cotangent: Any) -> tuple:
        """The cotangents of the active arguments, in new arrays."""
        found = self.plan.pullback(*args, cotangent=cotangent)
        return found if len(self.active) > 1 else (found,)

    @functools.cached_property
    def curvature(self) -> Plan:
        """The derivative of the pullback, as a plan.

        Of `(*args, cotangent, *directions)`, one direction for each active argument: the cotangents of these arguments
        and of `cotangent`, for directions as cotangents of what the pullback gives. With `s(x, c) = sum(f(x) * c)` the
        pullback is `s_x`, and what follows from it is `(s_xx v, s_cx v)`: the Hessian of `s` times `(v, 0)`.
        """
        plan, trace = self.plan, self.plan._variants[0].trace
        example, _ = bind(plan._f, plan._example, plan._example_kwargs)
        like = [self.result, *(self.operands[k] for k in self.active)]
        more = (np.ones(operand.shape, operand.dtype) if operand.shape else 1.0 for operand in like)
        function = curvature_of(ByPosition(plan._f, trace), len(self.operands), self.active)
        return Plan(function, (*example, *more), of_derivative(plan._options))


def check_plain(caller: str, preserves: bool, trace: Trace) -> None:
    """Refuse what an adapter cannot pass on: asked of each trace, since branches differ."""
    containers = [name for name, (child, _) in zip(trace.names, arguments_with_leaves(trace)) if child != LEAF]
    if containers or any(leaf.is_pairs for leaf in trace.leaves):
        raise UnsupportedError(f"{caller}: arguments are real arrays and numbers; {trace.name} takes others")
    if trace.result_structure != LEAF or len(trace.tape.results) != 1 or trace.tape.results[0].dtype.kind != "f":
        raise UnsupportedError(f"{caller}: {trace.name} has to return one floating array or number")
    written = [] if preserves else written_arguments(trace.tape)
    if written:
        line = first_write(trace.tape, written[0])
        raise UnsupportedError(
            f"{caller}: {trace.name} writes to arguments ({line}: `{line.text}`); compile it with preserve_args=True"
        )


def curvature_of(f: Callable[..., Any], count: int, active: tuple[int, ...]) -> Callable[..., tuple]:
    """The function of `PlainPlan.curvature`, for `f` of `count` arguments."""

    def weighted(*given: Any) -> Any:
        return np.sum(f(*given[:count]) * given[count])

    hessian_vector = hvp(weighted, (*active, count))

    def curvature(*given: Any) -> Any:
        cotangent, directions = given[count], given[count + 1 :]
        return hessian_vector(*given[: count + 1], (*directions, 0.0 * cotangent))

    return curvature


def traced_for_now(plan: Plan) -> Plan:
    """The plan, traced again where what its function has found outside has changed: for callers that cannot look."""
    if not plan._variants[0].watch.is_same():
        example, _ = bind(plan._f, plan._example, plan._example_kwargs)
        plan(*(argument.value if type(argument) is Const else argument for argument in example))
    return plan


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter of a kernel's C function, and which input or output it is.

    A number is in double precision there, whatever the operand's dtype.
    """

    parameter: NativeParameter
    operand: PlainOperand
    number: int
    is_output: bool


def kernel_slots(kernel: KernelFunction, inputs: Sequence[PlainOperand], outputs: Sequence[PlainOperand]) -> list[Slot]:
    """What a kernel that writes to no argument takes: inputs in order; outputs that are arrays, then numbers.

    Of these, derivatives by arguments come before the result.
    """
    given = iter(enumerate(inputs))
    found = iter(sorted(enumerate(outputs), key=lambda output: output[1].kind != "array"))
    slots = []
    for parameter in kernel.parameters:
        is_output = parameter.is_output or parameter.spec.is_written
        number, operand = next(found if is_output else given)
        is_array = isinstance(parameter.spec, ArraySpec) and not parameter.is_output
        if is_array != (operand.kind == "array") or (is_array and parameter.dtype != operand.dtype):
            raise UnsupportedError(f"{operand.name} is not passed as {operand.dtype}: {kernel.declaration}")
        slots.append(Slot(parameter, operand, number, is_output))
    assert next(given, None) is None and next(found, None) is None
    return slots
