"""What a program of the family is: a function as users write it, and how to make its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Draw:
    """Random arguments of one dtype."""

    dtype: np.dtype
    rng: np.random.Generator

    def normal(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.normal(size=shape)).astype(self.dtype)

    def positive(self, *shape: int) -> np.ndarray:
        """Uniform in [0.5, 1.5]."""
        return np.asarray(self.rng.uniform(0.5, 1.5, size=shape)).astype(self.dtype)

    def definite(self, n: int) -> np.ndarray:
        """A symmetric, positive definite and well conditioned matrix."""
        square = self.rng.normal(size=(n, n))
        return (square @ square.T / n + 2 * np.eye(n)).astype(self.dtype)

    def dominant(self, n: int) -> np.ndarray:
        """A matrix with a strong diagonal."""
        return (self.rng.normal(size=(n, n)) / n + 2 * np.eye(n)).astype(self.dtype)

    def triangular(self, n: int) -> np.ndarray:
        """A lower triangular matrix with a strong diagonal."""
        return np.tril(self.dominant(n))

    def probabilities(self, *shape: int) -> np.ndarray:
        """Positive numbers that add to one along the last axis."""
        raw = self.rng.uniform(0.2, 1.0, size=shape)
        return (raw / raw.sum(axis=-1, keepdims=True)).astype(self.dtype)

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        return self.rng.integers(low, high, size=shape)

    def number(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))


MakeArguments = Callable[[int, Draw], tuple]
Count = Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program, and what is expected of its plan.

    Attributes
    ----------
    small, medium : int
        Sizes: loops run 5 to 12 times and some 20 to 60 times.
    tags : frozenset of str
        What the program needs of the tracer: 'branch' (on traced values), 'while' (likewise), 'csr' (loop bounds that
        are run-time integers), 'triangular' (bounds or extents affine in an outer index), 'gather' (elements at
        run-time integers), 'unrolled' (the body needs a concrete index), 'linear', 'carried'.
    cached : callable, optional
        Bytes, as a function of n, that a person would keep for the gradient in float64: a plan keeps no more.
    peer : str
        What a user of another tool has to write.
    step : float
        Of the finite differences.
    """

    function: Callable[..., Any]
    arguments: MakeArguments
    small: int
    medium: int
    tags: frozenset[str]
    cached: Count | None
    peer: str
    step: float

    @property
    def name(self) -> str:
        return self.function.__name__

    def make_args(self, n: int, dtype: type | np.dtype, rng: np.random.Generator) -> tuple:
        """New arguments of size `n`."""
        return self.arguments(n, Draw(np.dtype(dtype), rng))


class Collection(dict[str, Program]):
    """Programs by name; `add` decorates the functions of a module."""

    def add(
        self,
        arguments: MakeArguments,
        small: int,
        medium: int,
        tags: str = "",
        *,
        cached: Count | None = None,
        peer: str = "",
        step: float = 1e-4,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function; `tags` are separated by spaces."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            assert function.__name__ not in self, function.__name__
            self[function.__name__] = Program(
                function=function,
                arguments=arguments,
                small=small,
                medium=medium,
                tags=frozenset(tags.split()),
                cached=cached,
                peer=peer,
                step=step,
            )
            return function

        return register
