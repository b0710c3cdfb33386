"""Methods of `numpy.ndarray` that a traced array has whatever its elements are: views, copies, items."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ..record.traced import TracedArray
from .operators import Operators


class ArrayMethods(TracedArray, Operators):
    """Shapes, strides and orders are those of `geometry`, and NumPy's own."""

    __slots__ = ()

    @abstractmethod
    def _seen(self, geometry: np.ndarray) -> Self:
        """A view of the same memory."""

    @abstractmethod
    def _copied(self, shape: Any, order: Any) -> Self:
        """A reshaped copy, its memory in `order`."""

    # Views.

    @property
    def T(self) -> Self:
        return self._seen(self.geometry.T)

    @property
    def mT(self) -> Self:
        return self._seen(self.geometry.mT)

    def transpose(self, *axes: Any) -> Self:
        return self._seen(self.geometry.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        return self._seen(self.geometry.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> Self:
        return self._seen(self.geometry.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        return self._seen(self.geometry.diagonal(offset, axis1, axis2))

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Self:
        wanted = shape[0] if len(shape) == 1 else shape
        if not copy:
            try:
                return self._seen(np.reshape(self.geometry, wanted, order=order, copy=False))
            except ValueError as error:
                if copy is False or "copy" not in str(error):
                    raise
        return self._copied(wanted, order)

    def ravel(self, order: Any = "C") -> Self:
        if order == "K":
            return self.transpose(sorted(range(self.ndim), key=lambda k: -abs(self.strides[k]))).reshape(-1)
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> Self:
        return self.ravel("K").copy() if order == "K" else self.reshape(-1, order=order, copy=True)

    # Copies.

    def copy(self, order: Any = "C") -> Self:
        return self.astype(self.dtype, order)

    def __copy__(self) -> Self:
        return self.copy("K")

    def __deepcopy__(self, memo: dict) -> Self:
        return self.copy("K")

    @abstractmethod
    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any: ...

    # Items.

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    @abstractmethod
    def __setitem__(self, key: Any, value: Any) -> None: ...

    @abstractmethod
    def item(self, *args: Any) -> Any:
        """The element as a Python number."""

    def __len__(self) -> int:
        return len(self.geometry)

    def __iter__(self) -> Iterator[Any]:
        if not self.geometry.ndim:
            raise TypeError("iteration over a 0-d array")
        return self.recorder.flow.iterate(len(self.geometry), self.__getitem__)

    def tolist(self) -> Any:
        return [part.tolist() for part in self] if self.ndim else self.item()

    def fill(self, value: Any) -> None:
        self[...] = value

    def __imatmul__(self, other: Any) -> Self:
        self[...] = self @ other
        return self
