"""Gradients of sums over data by the processes, or threads, of a `concurrent.futures` executor."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from ..functional.function import Function
from .sums import OnDisk, SumOverParts, Total, of_part, of_shipped, tree


class ExecutorSum(SumOverParts):
    """A sum over parts of data, each by a task of an executor. Made by `executor_sum`."""

    def __init__(self, function: Function, parts: Sequence[Any], executor: Executor):
        super().__init__(function, parts)
        self._executor = executor
        self._in_threads = isinstance(executor, ThreadPoolExecutor)
        self._files = OnDisk()
        self._parts = list(parts) if self._in_threads else [self._files.part(part) for part in parts]

    def _total(self, parameters: tuple, with_gradient: bool) -> Total:
        run: Any = of_part if self._in_threads else of_shipped
        loss = self.function if self._in_threads else self._shipped
        tasks = [self._executor.submit(run, loss, parameters, part, with_gradient) for part in self._parts]
        try:
            return tree([task.result() for task in tasks])
        finally:
            for task in tasks:
                task.cancel()


def executor_sum(function: Function, parts: Sequence[Any], executor: Executor) -> ExecutorSum:
    """The sum of a loss over parts of data, by the processes or threads of an executor.

    Parameters
    ----------
    function : Function
        `planned_ad.function(f, sums_over=...)`.
    parts : sequence
        Of tuples of arrays, one for each argument that has rows (or of single arrays, where one has), or of functions
        without arguments that return such tuples, which each task calls. To processes, arrays go by files that are
        mapped into memory, written once.
    executor : concurrent.futures.Executor

    Returns
    -------
    ExecutorSum
        `total(*parameters)`, `total.gradient(*parameters)`, `total.value_and_gradient(*parameters)`.

    Notes
    -----
    Each process compiles the plans that it needs once, or finds them on disk. A process that dies breaks its executor:
    the call raises `BrokenProcessPool`, and nothing has been summed.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from planned_ad.interop import executor_sum
    >>> loss = planned_ad.function(lambda m, x: np.sum((x - m) ** 2), sums_over="x")
    >>> with ThreadPoolExecutor(2) as executor:
    ...     executor_sum(loss, [np.ones(4), np.zeros(4)], executor).value_and_gradient(1.0)
    (4.0, 8.0)
    """
    return ExecutorSum(function, parts, executor)
