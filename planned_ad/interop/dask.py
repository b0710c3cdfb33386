"""Gradients of sums over data on a cluster of Dask: each part where it lies, results reduced as a tree.

Everything is a task whose inputs are tasks or numbers, so that Dask can repeat whatever a lost worker held: the
function and the parts, too. The sum is a tree of pure functions, in which each part has its place: what is repeated
takes the place of what was lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..functional.function import Function
from ..python.structure import flatten
from .sums import FAN_IN, Shipped, SumOverParts, Total, combined, in_groups, of_part, tree

if TYPE_CHECKING:
    from distributed import Client, Future

MOST_SENT = 1 << 20  # bytes of parameters that go with the tasks, through the scheduler: a step less to wait for


class DaskSum(SumOverParts):
    """A sum over parts of data on a cluster. Made by `dask_sum`."""

    def __init__(self, function: Function, parts: Any, client: Client | None, fan_in: int):
        from distributed import get_client

        self._client = get_client() if client is None else client
        self._parts = list(chunks(parts)) if is_chunked(parts) else list(parts)
        super().__init__(function, self._parts)
        if self._client.asynchronous:
            raise ArgumentError("dask_sum: the client is asynchronous; make one that is not")
        self._fan_in = fan_in
        self._held = [self._on_workers(part) for part in self._parts]
        self._functions: dict[str, Future] = {}

    def _function(self) -> Future:
        shipped = self._shipped
        if shipped.name not in self._functions:
            (future,) = self._map("function", unshipped, [shipped])
            self._functions = {shipped.name: future}
        return self._functions[shipped.name]

    def _on_workers(self, part: Any) -> Future:
        from distributed import Future

        if isinstance(part, Future):
            return part
        if hasattr(part, "__dask_graph__"):
            return self._client.compute(part)
        return self._map("part", loaded_here if callable(part) else handed, [part])[0]

    def _total(self, parameters: tuple, with_gradient: bool) -> Total:
        here, nbytes = [parameters], nbytes_of(parameters)
        if nbytes * self._count > MOST_SENT:  # one task, whose result workers get from one another
            here = self._map("parameters", handed, here)
        functions, parameters_of, wanted = ([given] * self._count for given in (self._function(), *here, with_gradient))
        totals = self._map("partial", of_part, functions, parameters_of, self._held, wanted)
        while len(totals) > (1 if nbytes * self._fan_in > MOST_SENT else self._fan_in):
            totals = self._map("combined", combined, in_groups(totals, self._fan_in))
        return tree(self._client.gather(totals), self._fan_in)  # the last few are put together here

    def _map(self, what: str, run: Any, *given: list) -> list[Future]:
        """A task for each item of the lists, in one message to the scheduler."""
        keys = [f"planned_ad-{what}-{uuid.uuid4().hex}" for _ in given[0]]
        return self._client.map(run, *given, key=keys)


def nbytes_of(parameters: tuple) -> int:
    return sum(leaf.nbytes for leaf in flatten(parameters)[0] if isinstance(leaf, np.ndarray))


def handed(item: Any) -> Any:
    """What is sent to a worker."""
    return item


def loaded_here(load: Callable[[], Any]) -> Any:
    return load()


def unshipped(shipped: Shipped) -> Function:
    return shipped.get()


def is_chunked(parts: Any) -> bool:
    """Whether it is a tuple of Dask's arrays, or one."""
    arrays = parts if type(parts) is tuple else (parts,)
    return bool(arrays) and all(hasattr(array, "to_delayed") and hasattr(array, "chunks") for array in arrays)


def chunks(parts: Any) -> Iterator[Any]:
    """The chunks of Dask's arrays along the rows, those of the same rows together."""
    import dask

    arrays = parts if type(parts) is tuple else (parts,)
    if len({array.chunks[0] for array in arrays}) > 1:
        raise ArgumentError("dask_sum: arrays have their rows in different chunks; x.rechunk({0: y.chunks[0]})")
    if any(len(sizes) > 1 for array in arrays for sizes in array.chunks[1:]):
        raise ArgumentError("dask_sum: an array is in chunks along another axis than its rows; x.rechunk({1: -1})")
    for blocks in zip(*(array.to_delayed().ravel() for array in arrays)):
        yield dask.delayed(tuple)(list(blocks))


def dask_sum(function: Function, parts: Any, client: Client | None = None, fan_in: int = FAN_IN) -> DaskSum:
    """The sum of a loss over parts of data, on a cluster of Dask.

    Parameters
    ----------
    function : Function
        `planned_ad.function(f, sums_over=...)`.
    parts : sequence, or tuple of dask.array.Array
        Of futures or `dask.delayed` objects of tuples of arrays, one for each argument that has rows; of functions
        without arguments that return such tuples, each of which runs once, on a worker; or of such tuples, which go
        through the scheduler and stay there. Or Dask's arrays with the same chunks of rows.
    client : distributed.Client, optional
        By default the current one.
    fan_in : int
        How many results a task puts together.

    Returns
    -------
    DaskSum
        `total(*parameters)`, `total.gradient(*parameters)`, `total.value_and_gradient(*parameters)`.

    Notes
    -----
    Parts stay on the workers as long as the sum is there. Each worker makes the function once, and compiles the plans
    that it needs, or finds them on disk. What a worker held that is lost, Dask computes again on others, up to
    `distributed.scheduler.allowed-failures` times; futures of data that were scattered cannot be computed again.
    """
    return DaskSum(function, parts, client, fan_in)
