"""Gradients of sums over data by the workers of joblib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..functional.function import Function
from .sums import OnDisk, SumOverParts, Total, of_shipped, tree

if TYPE_CHECKING:
    import joblib


class JoblibSum(SumOverParts):
    """A sum over parts of data, each by a task of joblib. Made by `joblib_sum`."""

    def __init__(self, function: Function, parts: Sequence[Any], parallel: joblib.Parallel):
        super().__init__(function, parts)
        self._parallel = parallel
        self._files = OnDisk()
        self._parts = [self._files.part(part) for part in parts]

    def _total(self, parameters: tuple, with_gradient: bool) -> Total:
        from joblib import delayed

        run = delayed(of_shipped)
        return tree(self._parallel(run(self._shipped, parameters, part, with_gradient) for part in self._parts))


def joblib_sum(function: Function, parts: Sequence[Any], parallel: joblib.Parallel) -> JoblibSum:
    """The sum of a loss over parts of data, by joblib; all else as for `executor_sum`.

    Parameters
    ----------
    parallel : joblib.Parallel
        With the number of workers and the backend, as `Parallel(n_jobs=4)`. In `with Parallel(n_jobs=4) as parallel:`
        the workers stay from one call to the next.
    """
    return JoblibSum(function, parts, parallel)
