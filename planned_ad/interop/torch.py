"""A plan as a function of PyTorch's tensors, with its derivatives for `torch.autograd`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..errors import ArgumentError, UnsupportedError
from ..plan import Plan
from .plain_plans import PlainOperand, PlainPlan


def torch_function(plan: Plan) -> Callable[..., torch.Tensor]:
    """The function of a plan, of tensors on the CPU, whose shapes and dtypes are those that it was compiled for.

    Of a loss, `backward` scales the gradient that was computed beside the value; of another function, it runs the
    plan's pullback. Backward of backward gives products with the Hessian, by a plan that is compiled at first use. A
    third derivative is refused.

    Parameters
    ----------
    plan : Plan
        Of arrays and numbers, that returns one array or number. It writes to no argument, or is compiled with
        `preserve_args=True`.
    """
    plain = PlainPlan(plan, "torch_function")
    constant = [k for k in range(len(plain.operands)) if k not in plain.active]

    def call(*args: Any) -> torch.Tensor:
        if not torch.is_grad_enabled():
            return tensor(plain.result, plan(*to_arrays(plain, args)))
        for k in constant:
            if k < len(args) and getattr(args[k], "requires_grad", False):
                raise ArgumentError(f"torch_function: {plain.operands[k].name} is constant, but requires a gradient")
        return PlanFunction.apply(plain, *args)

    return call


class PlanFunction(torch.autograd.Function):
    """The value of a plan."""

    @staticmethod
    def forward(ctx: Any, plain: PlainPlan, *args: Any) -> torch.Tensor:
        ctx.plain = plain
        save(ctx, args)
        if plain.is_loss and True in ctx.needs_input_grad:
            value, ctx.gradients = plain.plan.value_and_gradient(*to_arrays(plain, args))
        else:
            value = plain.plan(*to_arrays(plain, args))
        return tensor(plain.result, value)

    @staticmethod
    def backward(ctx: Any, cotangent: torch.Tensor) -> tuple:
        plain = ctx.plain
        if torch.is_grad_enabled():  # the graph of this sweep is wanted
            found = PullbackFunction.apply(plain, cotangent, *saved(ctx))
        elif plain.is_loss:
            found = times_cotangent(plain, taken_gradients(ctx), cotangent.item())
        else:
            found = PullbackFunction.forward(None, plain, cotangent, *saved(ctx))
        return None, *among_all(plain, found)


def taken_gradients(ctx: Any) -> Any:
    """New arrays for each sweep, since PyTorch may write to what it is given.

    Those that came with the value are gone after the first one; another one through the same graph computes them again.
    """
    gradients = vars(ctx).pop("gradients", None)
    return ctx.plain.plan.value_and_gradient(*to_arrays(ctx.plain, saved(ctx)))[1] if gradients is None else gradients


def times_cotangent(plain: PlainPlan, gradients: Any, scale: float) -> list[torch.Tensor]:
    gradients = gradients if len(plain.active) > 1 else (gradients,)
    if scale != 1.0:
        gradients = [gradient * scale for gradient in gradients]
    return [tensor(plain.operands[k], gradient) for k, gradient in zip(plain.active, gradients)]


class PullbackFunction(torch.autograd.Function):
    """The pullback of a plan, as a function that has a derivative itself."""

    @staticmethod
    def forward(ctx: Any, plain: PlainPlan, cotangent: torch.Tensor, *args: Any) -> tuple[torch.Tensor, ...]:
        if ctx is not None:
            ctx.plain = plain
            save(ctx, (cotangent, *args))
        found = plain.pullbacks(to_arrays(plain, args), to_array(plain.result, cotangent.contiguous()))
        return tuple(tensor(plain.operands[k], g) for k, g in zip(plain.active, found))

    @staticmethod
    def backward(ctx: Any, *directions: torch.Tensor) -> tuple:
        cotangent, *args = saved(ctx)
        of_cotangent, *found = CurvatureFunction.apply(ctx.plain, len(args), cotangent, *args, *directions)
        return None, of_cotangent, *among_all(ctx.plain, found)


class CurvatureFunction(torch.autograd.Function):
    """The derivative of the pullback, by the cotangent and the active arguments; it has none."""

    @staticmethod
    def forward(ctx: Any, plain: PlainPlan, count: int, cotangent: torch.Tensor, *given: Any) -> tuple:
        of_result = to_array(plain.result, cotangent.contiguous())
        directions = [to_array(plain.operands[k], d.contiguous()) for k, d in zip(plain.active, given[count:])]
        *found, of_cotangent = plain.curvature(*to_arrays(plain, given[:count]), of_result, *directions)
        of_active = (tensor(plain.operands[k], g) for k, g in zip(plain.active, found))
        return tensor(plain.result, of_cotangent), *of_active

    @staticmethod
    def backward(ctx: Any, *directions: torch.Tensor) -> tuple:
        raise UnsupportedError("torch_function: there is no third derivative; planned_ad.grad and its like nest")


def to_array(operand: PlainOperand, value: Any) -> Any:
    """A tensor as what a plan takes, in the same memory; all else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    if operand.kind == "float" and value.shape:
        raise ArgumentError(f"torch_function: {operand.name} is a number, not a tensor of shape {tuple(value.shape)}")
    return value.item() if operand.kind == "float" else value.detach().numpy()


def to_arrays(plain: PlainPlan, args: Sequence[Any]) -> list[Any]:
    if not plain.has_numbers:  # the same, in half the time
        return [arg.detach().numpy() if isinstance(arg, torch.Tensor) else arg for arg in args]
    return [*map(to_array, plain.operands, args), *args[len(plain.operands) :]]


def tensor(operand: PlainOperand, value: Any) -> torch.Tensor:
    is_array = type(value) is np.ndarray and value.dtype == operand.dtype
    return torch.from_numpy(value if is_array else np.array(value, operand.dtype))


def among_all(plain: PlainPlan, found: Sequence[Any]) -> Sequence[Any]:
    """What there is of active arguments, and None for each of the others."""
    if len(found) == len(plain.operands):
        return found
    gradients = dict(zip(plain.active, found))
    return [gradients.get(k) for k in range(len(plain.operands))]


def save(ctx: Any, args: Sequence[Any]) -> None:
    """Tensors as PyTorch keeps them, which notices writes to them."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    ctx.save_for_backward(*tensors)
    if len(tensors) < len(args):
        ctx.others = [None if isinstance(a, torch.Tensor) else (a,) for a in args]


def saved(ctx: Any) -> Sequence[Any]:
    others, tensors = getattr(ctx, "others", None), ctx.saved_tensors
    if others is None:
        return tensors
    remaining = iter(tensors)
    return [next(remaining) if other is None else other[0] for other in others]
