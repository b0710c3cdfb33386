"""What an idiom is: a short function as users write it, how to make its arguments, and what is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MakeArguments = Callable[[np.random.Generator], tuple]


def vector(n: int = 24, low: float = 0.2, high: float = 1.5) -> MakeArguments:
    """One array of `n` numbers."""
    return lambda rng: (rng.uniform(low, high, n),)


def vectors(*lengths: int, low: float = 0.2, high: float = 1.5) -> MakeArguments:
    """Several arrays."""
    return lambda rng: tuple(rng.uniform(low, high, n) for n in lengths)


def matrix(rows: int = 24, columns: int = 3, low: float = -1.0, high: float = 1.0) -> MakeArguments:
    """One array of two dimensions."""
    return lambda rng: (rng.uniform(low, high, (rows, columns)),)


def with_number(n: int = 24, low: float = 0.2, high: float = 1.5) -> MakeArguments:
    """One array and a Python float."""
    return lambda rng: (rng.uniform(low, high, n), float(rng.uniform(low, high)))


def number(low: float = 0.2, high: float = 1.5) -> MakeArguments:
    """One Python float."""
    return lambda rng: (float(rng.uniform(low, high)),)


def numbers(count: int, low: float = 0.2, high: float = 1.5) -> MakeArguments:
    """Several Python floats."""
    return lambda rng: tuple(float(v) for v in rng.uniform(low, high, count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Idiom:
    """One program.

    Attributes
    ----------
    kind : str
        The collection that it is in.
    refused : type or None
        The error that is the only right answer; None where the program has a plan.
    """

    function: Callable[..., Any]
    arguments: MakeArguments
    kind: str
    refused: type[Exception] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    def make_arguments(self, seed: int) -> tuple:
        """New arguments; those of another seed have the same signature."""
        return self.arguments(np.random.default_rng(seed))


class Kind(dict[str, Idiom]):
    """Programs of one kind, by name; `add` decorates the functions of a module."""

    def __init__(self, name: str):
        self.kind = name

    def add(
        self, arguments: MakeArguments | None = None, *, refused: type[Exception] | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function; without `arguments` it takes one vector of 24."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            assert function.__name__ not in self, function.__name__
            self[function.__name__] = Idiom(
                function=function, arguments=arguments or vector(), kind=self.kind, refused=refused
            )
            return function

        return register
