"""The derivatives that a plan offers as calls: each is a plan of its own, of the derivative as a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..calls.entries import check_loss
from ..calls.parameters import arguments_with_leaves
from ..plan import DERIVATIVES, Plan
from ..python.made import MadeOf
from ..python.options import Mode
from ..trace import Trace
from .derivatives import Gradient, HessianVector, Jacobian, Pushforward
from .transformed import Transformed, recorder_of


class ByPosition(MadeOf):
    """The function of a plan, with all of its arguments by position, in the order of its trace."""

    def __init__(self, function: Callable[..., Any], trace: Trace):
        self.function, self.trace = function, trace
        self.__name__, self.__wrapped__ = trace.name, function
        self.__signature__ = signature(trace.names)

    def told(self) -> dict[str, Any]:
        signature = self.trace.signature
        return {"signature": repr((sorted(signature.by_name), replace(signature, by_name=frozenset())))}

    def calls(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
        yield self.trace.signature.split(args)

    def __call__(self, *arguments: Any) -> Any:
        recorder = recorder_of(arguments, sys._getframe(1))
        assert recorder is not None
        args, kwargs = self.trace.signature.split(arguments)
        return recorder.namespace.function(self.function)(*args, **kwargs)


class Directional(MadeOf):
    """A derivative along directions: one for each active argument follows the arguments."""

    def __init__(self, transformed: Transformed, trace: Trace, prefix: str, chosen: Sequence[int]):
        self.transformed, self.count = transformed, len(trace.names)
        self.__name__, self.__wrapped__ = transformed.__name__, transformed
        self.__signature__ = signature([*trace.names, *(prefix + trace.names[k] for k in chosen)])

    def told(self) -> dict[str, Any]:
        return {"count": self.count, "signature": str(self.__signature__)}

    def calls(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
        own, directions = args[: self.count], args[self.count :]
        yield (*own, directions), kwargs

    def __call__(self, *arguments: Any) -> Any:
        own, directions = arguments[: self.count], arguments[self.count :]
        single = isinstance(self.transformed.argnums, int)
        return self.transformed(*own, directions[0] if single else directions)


def signature(names: Sequence[str]) -> inspect.Signature:
    """That of a function of arguments by position."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    found: dict[str, None] = {}
    for name in map(identifier, names):  # a function of `x` and `vx` has directions of these names
        while name in found:
            name += "_"
        found[name] = None
    return inspect.Signature([inspect.Parameter(name, kind) for name in found])


def identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).rstrip("_")


def active_arguments(trace: Trace) -> list[int]:
    """Positions of the arguments in which something is active."""
    return [
        number for number, (_, leaves) in enumerate(arguments_with_leaves(trace)) if any(leaf.active for leaf in leaves)
    ]


def transformed_of(plan: Plan, made: type[Transformed], *options: Any) -> tuple[Transformed, Trace, list[int]]:
    """The function of a plan, transformed; its trace, and the active arguments."""
    trace = plan._variants[0].trace
    chosen = active_arguments(trace)
    argnums = chosen[0] if len(chosen) == 1 else tuple(chosen)
    inactive = trace.structure.inactive_leaves
    found = made(ByPosition(plan._f, trace), argnums, False, *options)
    found.inactive = inactive
    return found, trace, chosen


def directional(made: type[Transformed], prefix: str, of_loss: bool) -> Callable[[Plan], Plan]:
    def derived(plan: Plan) -> Plan:
        if of_loss:
            check_loss(plan._variants[0].trace)
        transformed, trace, chosen = transformed_of(plan, made)
        return plan._plan_of(Directional(transformed, trace, prefix, chosen), chosen)

    return derived


def jacobian(plan: Plan, mode: Mode | None = None) -> Plan:
    return plan._plan_of(transformed_of(plan, Jacobian, mode)[0], ())


def hessian(plan: Plan) -> Plan:
    check_loss(plan._variants[0].trace)
    gradient, _, _ = transformed_of(plan, Gradient)
    found = Jacobian(gradient, gradient.argnums, False, "forward")
    found.inactive = gradient.inactive
    return plan._plan_of(found, ())


DERIVATIVES.update(
    jvp=directional(Pushforward, "t", of_loss=False),
    hvp=directional(HessianVector, "v", of_loss=True),
    jacobian=jacobian,
    hessian=hessian,
)
