"""Arrays with an extent that is no known integer: what those have in common that loops move and those that are data.

An extent is an integer, an affine expression of the loops around (`ragged`), or a number that is known when the plan
runs (`run_time_arrays`). NumPy's functions of such arrays are in one table, `functions`.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..record.conversions import NoNumbers
from ..record.dispatch import HANDLERS
from ..record.recorder import Recorder
from ..values.operators import Operators, by_functions, in_place

MOVED = "an array whose length differs from one iteration to the next"
DATA = "an array whose length is known at run time only"


class VaryingArray(NoNumbers, Operators):
    """An array some of whose extents are no integers; `of` is what it is called in messages."""

    __slots__ = ()
    of = MOVED
    dtype: np.dtype
    ndim: int

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    @property
    def shape(self) -> tuple[Any, ...]:
        raise NotImplementedError

    device = "cpu"

    @property
    def size(self) -> Any:
        return self.count(range(self.ndim))

    def count(self, axes: Any) -> Any:
        """How many elements there are along these axes together."""
        shape = self.shape
        return functools.reduce(operator.mul, [shape[axis] for axis in axes])

    def copy(self, order: Any = "C") -> VaryingArray:
        raise NotImplementedError

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        if np.dtype(dtype) == self.dtype:
            return self.copy() if copy else self
        if np.dtype(dtype).kind != "f":
            raise self.refused("changes the type of")
        return self * np.dtype(dtype).type(1)

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        return self.recorder.call(np.reshape, (self, shape[0] if len(shape) == 1 else shape, order), {})

    def flatten(self) -> Any:
        return self.reshape(-1).copy()

    def __copy__(self) -> VaryingArray:
        return self.copy()

    def fill(self, value: Any) -> None:
        self[...] = value

    def __getitem__(self, key: Any) -> Any:
        self.recorder.mark()
        return HANDLERS[type(self)].get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recorder.mark()
        HANDLERS[type(self)].put(self, key, value)

    def __len__(self) -> int:
        return self.shape[0].__index__()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return super().__getattr__(name)

    def refused(self, what: str) -> BaseException:
        """What to raise for a use of it that there is no way for."""
        return refused(self.recorder, what, self.of)

    _refused = refused

    def __repr__(self) -> str:
        return f"<traced {self.dtype} array of a length that is no number>"


by_functions(
    VaryingArray,
    "sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "dot", "cumsum", "clip", "argmax", "argmin",
    "ravel", "argsort", "take", "nonzero", "searchsorted",
)  # fmt: skip
in_place(VaryingArray)


def refused(recorder: Recorder, what: str, of: str = DATA) -> BaseException:
    """What to raise for a use of such an array that there is no way for."""
    recorder.mark()
    scopes = recorder.scopes
    if of is MOVED or any(scope.site is not None for scope in scopes.open):  # its bounds may be numbers that are known
        return scopes.unroll_innermost(f"{what} {of}", recorder.builder.line)
    return UnsupportedError(
        f"{recorder.here()}: {what} {of}, for which there is no rule. Use arithmetic, slices, sums, products and "
        f"assignments of it, write a loop over its elements, or give the slice bounds that are Python ints."
    )
