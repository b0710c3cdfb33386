"""`vectorize`: a function of one item as a function of a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import control
from ..errors import ArgumentError
from ..python.options import numbers_of
from ..python.structure import Structure, flatten
from ..tracing.record.recorder import Recorder
from ..tracing.values.array_tracer import ArrayTracer
from .transformed import Transformed

Axes = int | None | Sequence[int | None]


class Vectorized(Transformed):
    """A loop over the items of a batch, recorded as loops in traced functions are."""

    name = "vectorize"

    def __init__(self, function: Callable[..., Any], in_axes: Axes = 0):
        super().__init__(function, (), False)
        several = in_axes if isinstance(in_axes, tuple | list) else [in_axes]
        what = "an integer, None, or a sequence of these"
        found = [None if axis is None else numbers_of("in_axes", axis, what)[0] for axis in several]
        self.in_axes = found if isinstance(in_axes, tuple | list) else found[0]

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        leaves, structure = flatten(args)
        axes = self.axes_of(structure, leaves)
        count = self.count(recorder, leaves, axes)
        function = recorder.namespace.function(self.function)
        found: list[Structure] = []

        def item(k: Any) -> Any:
            own = [leaf if axis is None else leaf[(slice(None),) * axis + (k,)] for leaf, axis in zip(leaves, axes)]
            results, of_result = flatten(function(*recorder.namespace.shadow(structure.unflatten(own)), **kwargs))
            found[:] = [of_result]
            # Only their numbers count: no array is in the list of results, which could be written to later.
            results = [leaf.copy() if type(leaf) is ArrayTracer else leaf for leaf in results]
            return results[0] if len(results) == 1 else tuple(results)

        stacked = recorder.namespace.function(control._rows)(item, count)
        return recorder.namespace.shadow(found[0].unflatten(stacked if type(stacked) is tuple else [stacked]))

    def calls(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
        leaves, structure = flatten(args)
        axes = self.axes_of(structure, leaves)
        for k in range(next(leaf.shape[axis] for leaf, axis in zip(leaves, axes) if axis is not None)):
            own = [leaf if axis is None else np.take(leaf, k, axis) for leaf, axis in zip(leaves, axes)]
            yield tuple(structure.unflatten(own)), kwargs

    def axes_of(self, structure: Structure, leaves: Sequence[Any]) -> list[int | None]:
        """For each leaf of the arguments the axis that counts the items; None for what all items share."""
        count = len(structure.children)
        own = self.in_axes
        chosen = [own] * count if own is None or isinstance(own, int) else list(own)
        if len(chosen) != count:
            raise ArgumentError(f"{self.__name__}: in_axes={own!r}, and {count} arguments were given")
        axes = [axis for child, axis in zip(structure.children, chosen) for _ in range(child.leaf_count)]
        return [self.axis_of(leaf, axis) for leaf, axis in zip(leaves, axes)]

    def axis_of(self, leaf: Any, axis: int | None) -> int | None:
        if axis is None or type(leaf) not in (ArrayTracer, np.ndarray):
            return None
        found = axis + leaf.ndim if axis < 0 else axis
        if not 0 <= found < leaf.ndim:
            raise ArgumentError(f"{self.__name__}: an argument of shape {leaf.shape} has no axis {axis}")
        return found

    def count(self, recorder: Recorder, leaves: Sequence[Any], axes: Sequence[int | None]) -> int:
        """How many items there are."""
        counts = {leaf.shape[axis] for leaf, axis in zip(leaves, axes) if axis is not None}
        if len(counts) != 1 or counts == {0}:
            what = f"axes of different lengths, {sorted(counts)}" if len(counts) > 1 else "no items"
            raise ArgumentError(f"{recorder.here()}: {self.__name__} gets {what}; in_axes= says which axes count them")
        return counts.pop()


def vectorize(function: Callable[..., Any], in_axes: Axes = 0) -> Transformed[..., Any]:
    """A function of a batch: `function` of each item, the results stacked along a new first axis.

    Parameters
    ----------
    function : callable
        Of one item. Any code: loops, branches on values, writes to memory of its own.
    in_axes : int, None, or a sequence of these
        For each argument the axis that counts the items; None for what all items share, as numbers always are.

    Returns
    -------
    callable
        One kernel: a loop over the items, which becomes array operations (with SIMD across the batch) where the
        function is straight-line code on numbers. It can be differentiated, and called in traced functions.

    Raises
    ------
    planned_ad.errors.ArgumentError
        At the call: no items, or axes of different lengths.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> dot = planned_ad.vectorize(lambda a, b: a @ b, in_axes=(0, None))
    >>> dot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))
    array([12., 34.])
    >>> planned_ad.vectorize(planned_ad.grad(lambda x: x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    return Vectorized(function, in_axes)
