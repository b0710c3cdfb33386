"""The arguments of a function as one sequence: those by position first, then those by keyword, each with its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Which arguments a function was traced with.

    Attributes
    ----------
    function : str
    names : tuple of str
        Of each argument, as the function calls it; those passed by keyword come last.
    keywords : tuple of str
        The last of them, which the function takes by keyword only.
    by_name : frozenset of str
        Those before them that may be passed by keyword too.
    gathered : str
        The parameter that gathers arguments by position, as `args` in `*args`; empty without one.
    ordered : tuple of str
        The keywords that `**kwargs` gathers: the function may depend on their order.
    parameters : tuple of str
        Names of all its parameters.
    """

    function: str
    names: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    by_name: frozenset[str] = frozenset()
    gathered: str = ""
    ordered: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position and by keyword, as the function takes them."""
        count = len(self.names) - len(self.keywords)
        return tuple(values[:count]), dict(zip(self.keywords, values[count:]))

    def gather(
        self, arguments: Sequence[Any], keywords: Mapping[str, Any], complete: int, call: str
    ) -> tuple[list[Any], list[Any], dict[str, Any]]:
        """The function's own arguments in a call, in order; and what the call has besides, by position and by keyword.

        What the function takes by keyword only may be passed by position, after the others, where a call passes all of
        its `complete` arguments so.
        """
        own = {name: value for name, value in keywords.items() if name in self.by_name or name in self.keywords}
        rest = {name: value for name, value in keywords.items() if name not in own}
        if tuple(name for name in own if name in self.ordered) not in ((), self.ordered):
            raise ArgumentError(
                f"{call}: pass {', '.join(self.ordered)} in this order, on which the function may depend; or compile a "
                f"plan for another"
            )
        names = list(self.names)
        if not own and len(arguments) >= complete:
            return list(arguments[: len(names)]), list(arguments[len(names) :]), rest
        positional = names[: len(names) - len(self.keywords)]
        count = next((k for k, name in enumerate(positional) if name in own), len(positional))
        values = dict(zip(positional[:count], arguments)) | own
        if len(values) < len(names):
            missing = next(name for name in names if name not in values)
            how = " by keyword" if missing in self.keywords else ""
            raise ArgumentError(
                f"{call}: {self.function} takes {len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)}), "
                f"and {len(values)} were given: {missing} is missing{how}"
            )
        return [values[name] for name in names], list(arguments[count:]), rest


def bind(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], Signature]:
    """Arguments in the order in which a signature names them."""
    function = getattr(f, "__name__", type(f).__name__)
    try:
        signature = inspect.signature(getattr(f, "py_func", f))
    except (TypeError, ValueError):
        names = [f"args[{k}]" for k in range(len(args))]
        return [*args, *kwargs.values()], Signature(function=function, names=(*names, *kwargs), keywords=tuple(kwargs))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{function}{signature} cannot be called with these arguments: {error}") from None
    positional, keywords = bound.args, bound.kwargs
    names, by_name, gathered, declared = [], set(), "", set()
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            gathered = parameter.name
            names += [f"{gathered}[{k}]" for k in range(len(positional) - len(names))]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            declared.add(parameter.name)
        elif parameter.kind is not parameter.VAR_KEYWORD:
            declared.add(parameter.name)
            if len(names) < len(positional):
                names.append(parameter.name)
                if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                    by_name.add(parameter.name)
    return [*positional, *keywords.values()], Signature(
        function=function,
        names=(*names, *keywords),
        keywords=tuple(keywords),
        by_name=frozenset(by_name),
        gathered=gathered,
        ordered=tuple(name for name in keywords if name not in declared),
        parameters=tuple(signature.parameters),
    )
