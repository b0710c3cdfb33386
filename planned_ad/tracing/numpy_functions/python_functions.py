"""Python functions of numbers as functions of arrays: what `numpy.vectorize`, `numpy.frompyfunc` and Numba's do.

The function is called in a loop over the elements, which is recorded as the user's loops are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import control
from ..record.recorder import Recorder
from ..record.traced import Traced
from .support import asarray, unsupported


def of_elements(
    recorder: Recorder,
    function: Callable[..., Any],
    args: Sequence[Any],
    dtypes: Any,
    *,
    items: bool = True,
    asks_first: bool = True,
) -> Any:
    """What `numpy.vectorize` makes of `function`: its results for each element, of these dtypes.

    Without `dtypes` they have that of what the first element gives, for which it is called once more, as NumPy has it
    (unless told not to: then they have their own). With `items` the function gets Python's numbers, else NumPy's.
    """
    recorder.mark()
    arrays = [asarray(recorder, a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    count = int(np.prod(shape))
    if not count:
        raise unsupported("a function of numbers, of an array without elements", "test for it before the call")
    columns = [np.broadcast_to(a, shape).reshape(-1) if a.shape != shape else a.reshape(-1) for a in arrays]

    def at(k: Any) -> Any:
        found = function(*(c[k].item() if items else c[k] for c in columns))
        return tuple(found) if isinstance(found, list) else found

    if dtypes is None and asks_first:
        first = at(0)
        dtypes = [dtype_of_result(recorder, part) for part in (first if isinstance(first, tuple) else (first,))]
    rows = recorder.namespace.function(control._rows)(at, count)
    results = list(rows) if isinstance(rows, tuple) else [rows]
    dtypes = [row.dtype for row in results] if dtypes is None else dtypes
    results = [row.reshape(shape).astype(dtype) for row, dtype in zip(results, dtypes)]
    results = results if shape else [array[()] for array in results]
    return tuple(results) if isinstance(rows, tuple) else results[0]


def dtype_of_result(recorder: Recorder, item: Any) -> np.dtype:
    return item.dtype if issubclass(type(item), Traced) else np.asarray(item).dtype


class Elementwise:
    """A ufunc that is made of a Python function."""

    def __init__(
        self,
        recorder: Recorder,
        function: Callable[..., Any],
        nout: int,
        *,
        real: Any = None,
        types: Sequence[str] = (),
    ):
        self.recorder, self.function, self.nout, self.real = recorder, function, nout, real
        self.__name__ = getattr(function, "__name__", "function")
        self.dtypes = types[0].partition("->")[2] if len(types) == 1 else None

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        recorder = self.recorder
        if self.real is not None and all(map(recorder.is_concrete, args)):
            return self.real(*recorder.plain(args), out=out, **options)
        if out is not None and out is not ...:
            raise unsupported(f"out= of {self.__name__}, a function of numbers", "assign its result: out[...] = ...")
        function = recorder.namespace.function(self.function)
        is_pythons = self.real is not None
        return of_elements(recorder, function, args, self.dtypes, items=is_pythons, asks_first=not is_pythons)


class Generalized:
    """What `numba.guvectorize` has made: a function of the last axes, which writes to its last arguments."""

    def __init__(self, recorder: Recorder, real: Any, function: Callable[..., Any]):
        self.recorder, self.real, self.function, self.__name__ = recorder, real, function, function.__name__
        sides = [side.strip()[1:-1].split("),(") for side in real.signature.replace(" ", "").split("->")]
        self.inputs, self.outputs = ([[n for n in core.split(",") if n] for core in side] for side in sides)

    def __call__(self, *args: Any) -> Any:
        recorder = self.recorder
        recorder.mark()
        given = [asarray(recorder, a) for a in args[: len(self.inputs)]]
        sizes: dict[str, int] = {}
        for array, core in zip(given, self.inputs):
            sizes |= dict(zip(core, array.shape[array.ndim - len(core) :]))
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(core)] for a, core in zip(given, self.inputs)))
        given = [
            np.broadcast_to(a, batch + a.shape[a.ndim - len(c) :]).reshape(-1, *a.shape[a.ndim - len(c) :])
            for a, c in zip(given, self.inputs)
        ]
        if any(name not in sizes for core in self.outputs for name in core):
            raise unsupported(f"{self.__name__}, whose result has a length of its own", "write it with numba.njit")
        count = int(np.prod(batch))
        made = [
            recorder.empty((count, *(sizes[n] for n in core)), dtype)
            for core, dtype in zip(self.outputs, self._dtypes(given))
        ]
        function = recorder.namespace.function(self.function)

        def at(k: Any) -> Any:
            function(*(self._item(n, a, k) for n, a in enumerate(given)), *(self._written(a, k) for a in made))
            return 0

        recorder.namespace.function(control._rows)(at, count)
        results = [a.reshape(batch + a.shape[1:])[()] for a in made]
        for out, result in zip(args[len(self.inputs) :], results):
            out[...] = result
        results = [*args[len(self.inputs) :], *results[len(args) - len(self.inputs) :]]
        return tuple(results) if len(results) > 1 else results[0]

    def _written(self, array: Any, k: Any) -> Any:
        return array[k] if array.ndim > 1 else array[k : k + 1]

    def _item(self, number: int, array: Any, k: Any) -> Any:
        """An argument: where the signature has no axes, as a number, or an array of one, as the types have it."""
        types = self.real.gufunc_builder._sigs
        is_array = types and getattr(
            types[0].args[number] if hasattr(types[0], "args") else types[0][number], "ndim", 0
        )
        return array[k : k + 1] if not self.inputs[number] and is_array else array[k]

    def _dtypes(self, given: Sequence[Any]) -> list[Any]:
        types = self.real.types
        if len(types) == 1:
            return list(types[0].partition("->")[2])
        return [np.result_type(*given)] * len(self.outputs)
