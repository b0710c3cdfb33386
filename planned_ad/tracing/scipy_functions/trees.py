"""Nearest neighbours by `scipy.spatial.KDTree` and `cKDTree`: all distances, of which the least are taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import KDTree, cKDTree

from ..numpy_functions.support import unsupported
from ..record.dispatch import STAND_INS, implements
from ..record.recorder import Recorder
from ..record.traced import LibraryObject
from .intervals import traced_arrays

MOST = 1 << 24  # distances
ADVICE = "use query, or the distances of scipy.spatial.distance.cdist"


class TreeStandIn(LibraryObject):
    """A tree of points, which are the rows of `data`."""

    def __init__(self, recorder: Recorder, data: Any, real: type):
        (self.data,) = traced_arrays(recorder, data)
        self.recorder, self.real = recorder, real
        self.n, self.m = self.data.shape

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.real

    @property
    def is_known(self) -> bool:
        return self.recorder.is_concrete(self.data)

    def plain(self) -> Any:
        return self.real(self.recorder.plain(self.data))

    def read(self) -> Any:
        raise unsupported("a tree of points in a function of NumPy", ADVICE)

    def sources(self) -> Iterator[Any]:
        yield from self.data.sources()

    def storages(self) -> Iterator[Any]:
        yield from self.data.storages()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f".{name} of a tree of traced points", ADVICE)

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0,
        p: float = 2,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:
        (x,) = traced_arrays(self.recorder, x)
        points = x.reshape(-1, self.m)
        if points.shape[0] * self.n > MOST or type(k) is not int or not 1 <= k <= self.n:
            raise unsupported("query of so many points, or of a list of neighbours", "ask for one number of neighbours")
        gaps = np.abs(points[:, None, :] - self.data[None, :, :])
        far = np.max(gaps, -1) if p == np.inf else np.sum(gaps**p, -1) if p != 2 else np.sum(gaps * gaps, -1)
        nearest = np.argmin(far, axis=-1)[:, None] if k == 1 else np.argsort(far, axis=-1, kind="stable")[:, :k]
        least = np.take_along_axis(far, nearest, -1)
        least = least if p == np.inf else np.sqrt(least) if p == 2 else least ** (1 / p)
        if np.isfinite(distance_upper_bound):
            beyond = least >= distance_upper_bound
            least, nearest = np.where(beyond, np.inf, least), np.where(beyond, self.n, nearest)
        shape = x.shape[:-1] if k == 1 else (*x.shape[:-1], k)
        return least.reshape(shape)[()], nearest.reshape(shape)[()]


def tree_from_outside(recorder: Recorder, obj: Any, name: str) -> object | None:
    kind = type(obj)
    return TreeStandIn(recorder, recorder.concrete(np.array(obj.data)), kind) if kind in (KDTree, cKDTree) else None


STAND_INS.append(tree_from_outside)


def _made(real: type) -> None:
    @implements(real)
    def tree(recorder: Recorder, data: Any, leafsize: int = 16, **options: Any) -> TreeStandIn:
        if options.get("boxsize") is not None:
            raise unsupported(f"scipy.spatial.{real.__name__} with boxsize=", "leave it out")
        return TreeStandIn(recorder, data, real)


for _real in (KDTree, cKDTree):
    _made(_real)
