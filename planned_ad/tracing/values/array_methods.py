"""Methods of `numpy.ndarray` that a traced array has whatever its elements are: views, copies, items."""

from __future__ import annotations

import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ... import control
from ...errors import UnsupportedError
from ...python.shadows import is_frame_of_library, is_user_frame
from ..record.traced import TracedArray, owning
from .operators import Operators


def lacks(array: Any, name: str) -> UnsupportedError:
    """The error for an attribute that NumPy's arrays have, and traced ones have not."""
    return UnsupportedError(
        f"{array.recorder.here()}: .{name} of a traced array asks for its memory or bits, which there are none of "
        f"while tracing; use NumPy's functions, or do it outside of the traced function"
    )


def _root_of(array: np.ndarray) -> np.ndarray:
    """The array of which this one is a view, or a view of views."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


class Flags:
    """`flags` of a traced array: those of its geometry, but for whether it owns its memory, as `base` knows it."""

    def __init__(self, array: ArrayMethods):
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        array = self._array
        return array.base is None if name == "owndata" else getattr(array.geometry.flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._array.geometry.flags, name, value)

    def __getitem__(self, name: str) -> Any:
        return self.owndata if name in ("O", "OWNDATA") else self._array.geometry.flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._array.geometry.flags[name] = value


class ArrayMethods(TracedArray, Operators):
    """Shapes, strides and orders are those of `geometry`, and NumPy's own."""

    __slots__ = ()
    array_class = np.ndarray  # as NumPy tells it

    def __getattr__(self, name: str) -> Any:
        """What traced code asks for is refused where NumPy's arrays have it; libraries ask what an object can do."""
        if name == "tobytes" and self.is_known:
            return self.plain().tobytes
        is_special = name.startswith("__")
        frame = sys._getframe(1)
        is_written = is_user_frame(frame) and name in frame.f_code.co_names
        if not hasattr(np.ndarray, name) or (is_special and not is_written):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise lacks(self, name)

    @property
    def flags(self) -> Flags:
        return Flags(self)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        np.empty(0).__array_namespace__(api_version=api_version)  # NumPy's error
        return self.recorder.namespace.shadow(np, "numpy")

    @property
    def base(self) -> Any:
        """The array that owns the memory of this one; None for that array itself.

        Whether an argument owns its memory may differ from call to call. Nor is it told of what NumPy makes by views
        of its own, and of what loops and branches hand on; libraries are told that somebody else does.
        """
        storage = self.storage.root
        owner = storage.owner and storage.owner()
        is_known = storage.owner is not None and _root_of(self.geometry) is _root_of(storage.base)
        if not is_known or (owner is None and storage.base.dtype != self.dtype):
            if is_frame_of_library(sys._getframe(1)):  # which asks whether it may keep the array: it copies that then
                return self.recorder.array_at(storage, storage.base)
            raise UnsupportedError(
                f"{self.recorder.here()}: .base asks which array owns this memory, which is not known while tracing; "
                f"use numpy.shares_memory, or keep the array itself"
            )
        if owner is None:  # which nobody else has
            owner = owning(self.recorder.array_at(storage, storage.base))
        return None if owner is self else owner

    def _seen(self, geometry: np.ndarray) -> Self:
        """A view of the same memory; the array itself where NumPy gives that."""
        return self if geometry is self.geometry else type(self)(self.recorder, self.storage, geometry)

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
        order = "C" if order is None else order if type(order) is str else str(order)  # one that data choose
        flags, found, wanted = self.geometry.flags, self, order
        if order == "K":
            found, wanted = self.transpose(sorted(range(self.ndim), key=lambda k: -abs(self.strides[k]))), "C"
        elif order == "A":
            wanted = "F" if flags.fnc else "C"
        is_view = found.geometry.flags[wanted]  # of others NumPy makes copies, even where a view would do
        return found.reshape(-1, order=wanted, copy=None if is_view else True)

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
        if self.ndim in (1, 2):  # as the program could write it, so that loops over it stay loops
            listed = control._listed if self.ndim == 1 else control._listed_rows
            return self.recorder.namespace.function(listed)(self)
        return [part.tolist() for part in self] if self.ndim else self.item()

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = self.recorder.call(np.sort, (self, axis, kind, order), {})

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self.sort(axis, None, order)

    def fill(self, value: Any) -> None:
        self[...] = value

    def __imatmul__(self, other: Any) -> Self:
        self[...] = self @ other
        return self


SEQUENCE = 1 << 5  # the flag of a class that `case [a, b]` takes; of what is registered with the one here
MATCHED_AS_SEQUENCE: Any = ABCMeta("MATCHED_AS_SEQUENCE", (), {"__abc_tpflags__": SEQUENCE})

if np.ndarray.__flags__ & SEQUENCE:  # from NumPy 2.5 on
    MATCHED_AS_SEQUENCE.register(ArrayMethods)
