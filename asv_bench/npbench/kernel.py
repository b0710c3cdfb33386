"""A kernel: its function, its arrays, its sizes; and the sum that is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("tiny", "S", "M")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A function of arrays and plain parameters, which returns the arrays that are its results.

    `arguments(r, *size)` makes the arrays, and after them, if there are any, a dict of parameters; `r(n, m)` is an
    array of random numbers between 0 and 1. `writes` are the positions of the arrays that the function changes.
    `told(*arrays, **parameters)`: what its port must know beforehand, as more parameters.
    """

    function: Callable
    arguments: Callable
    tiny: tuple[int, ...]
    S: tuple[int, ...]
    M: tuple[int, ...]
    writes: tuple[int, ...] = ()
    told: Callable[..., dict[str, Any]] | None = None

    def inputs(self, size: str) -> tuple[tuple, dict[str, Any]]:
        """The arrays and the parameters, the same at each call."""
        rng = np.random.default_rng(7)
        *arrays, last = self.arguments(lambda *shape: rng.random(shape), *getattr(self, size))
        return (tuple(arrays), last) if isinstance(last, dict) else ((*arrays, last), {})

    def weights(self, size: str) -> tuple[np.ndarray, ...]:
        """Of each result, what the sum multiplies it by."""
        arrays, parameters = self.inputs(size)
        rng = np.random.default_rng(8)
        return tuple(rng.random(np.shape(result)) for result in several(self.function(*arrays, **parameters)))

    def loss(self, parameters: dict[str, Any]) -> Callable:
        """The weighted sum of the results: of `(weights, *arrays)`, which it leaves as they are."""

        def weighted(weights, *arrays):
            arrays = [a.copy() if k in self.writes else a for k, a in enumerate(arrays)]
            return total(weights, self.function(*arrays, **parameters))

        return weighted


def several(results: Any) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def total(weights: tuple, results: Any) -> Any:
    return sum((w * result).sum() for w, result in zip(weights, several(results)))
