"""What stands for the values of a program while it is traced: what all of it answers, and who makes it."""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ConversionError
from ...python.by_class import kept_by_class
from ...python.shadows import is_user_frame
from ...regions.regions import View
from ...tape.tape import Value
from .storage import Storage

READING = ("__iter__", "__getitem__", "__len__")  # methods by which NumPy reads a sequence
BEFORE = (  # what it asks for before that
    "__array__", "__array_ufunc__", "__array_function__", "__array_priority__", "__array_interface__",
    "__array_struct__", "__buffer__",
)  # fmt: skip


class NotAnOperand(Exception):
    """An object that no arithmetic is defined for here: an operator returns NotImplemented."""


class Traced:
    """Something whose numbers may be known only when the plan runs. Each kind of it is a file with a subclass.

    Where NumPy's functions of it are recorded in a way of their own, it is registered in `dispatch.HANDLERS`.
    """

    __slots__ = ()
    recorder: Any

    @property
    def is_known(self) -> bool:
        """Whether its numbers are known while tracing."""
        return False

    def read(self) -> Value:
        """What it holds now."""
        raise NotImplementedError

    def read_as(self, dtype: np.dtype) -> Value:
        """That in a dtype: of one of Python's numbers, as NumPy has it."""
        found: Value = self.recorder.builder.cast(self.read(), dtype)
        return found

    def traced(self) -> Any:
        """As an array or a scalar."""
        return self

    def plain(self) -> Any:
        """Its numbers, which must not be written to, where they are known."""
        return self

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        """Type and shape in arithmetic, and whether its numbers are known; see `promotion`."""
        raise NotAnOperand

    def storages(self) -> Iterator[Storage]:
        """The memories to which it leads."""
        return iter(())

    def sources(self) -> Iterator[Value | int]:
        """The values, and ids of the buffers, that it comes from."""
        return iter(())


class LibraryObject(Traced):
    """What stands for an object of a library that holds arrays, such as a sparse matrix."""

    __slots__ = ()

    def operand(self) -> Any:
        raise NotAnOperand  # it knows what arithmetic with it is


class TracedArray(Traced):
    """An array in traced memory.

    `geometry` is a NumPy array that lies in the memory of `storage.base` as this array lies in the program's memory.
    All view operations are NumPy's own, done on it; its elements mean something only where `storage.is_concrete`.
    """

    __slots__ = ("__weakref__", "_view", "geometry", "recorder", "storage")

    def __init__(self, recorder: Any, storage: Storage, geometry: np.ndarray):
        self.recorder = recorder
        self.storage = storage
        self.geometry = geometry
        self._view: View | None = None

    @property
    def layout(self) -> View:
        """Where this array lies in its memory, in elements."""
        view = self._view
        if view is None:
            self._view = view = self.storage.view_of(self.geometry)
        return view

    @property
    def is_known(self) -> bool:
        return self.storage.is_concrete

    def read(self) -> Value:
        return self.storage.read(self.recorder, self.layout, self.geometry)

    def plain(self) -> Any:
        if not self.storage.is_concrete:  # its memory holds the example's numbers, or any
            raise ConversionError(
                f"{self.recorder.here()}: the numbers of a traced array are asked for, and there are none while tracing"
            )
        self.recorder.assume(self.storage)
        return self.geometry

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return self.geometry.dtype, self.geometry.shape, self.storage.is_concrete

    def storages(self) -> Iterator[Storage]:
        yield self.storage

    def sources(self) -> Iterator[Value | int]:
        return self.storage.sources()

    def write(self, value: Value) -> None:
        """Overwrite the array with a value of its shape, or a scalar, or one that broadcasts; cast to its dtype."""
        recorder, geometry = self.recorder, self.geometry
        self.storage.check_writeable(geometry, recorder.builder.line)
        value = recorder.builder.cast(value, geometry.dtype)
        if value.shape != geometry.shape and value.shape != ():
            value = recorder.builder.broadcast(value, geometry.shape)
        self.storage.write(recorder, self.layout, value)

    # Shape.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.geometry.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.geometry = np.reshape(self.geometry, shape, copy=False)
        self._view = None
        if self.storage.owner is not None and self.storage.owner() is self:
            self.storage.owner = None  # whose memory is laid out in another way

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """As NumPy's: whether the array may be written to by this name."""
        geometry = self.geometry.view()
        geometry.setflags(write=write, align=align, uic=uic)
        self.geometry = geometry
        self._view = None

    @property
    def dtype(self) -> np.dtype:
        if self.storage.types and is_user_frame(sys._getframe(1)):
            raise self.recorder.flow.told_apart(self.storage.types)
        return self.geometry.dtype

    @property
    def types(self) -> frozenset[Any]:
        return self.storage.types

    @types.setter
    def types(self, types: frozenset[Any]) -> None:
        """Its numbers may be of several types; they are NumPy's."""
        found = frozenset((dtype, False) for dtype, _ in types)
        self.storage.types = found if len(found) > 1 else frozenset()

    @property
    def ndim(self) -> int:
        return self.geometry.ndim

    @property
    def size(self) -> int:
        return self.geometry.size

    @property
    def strides(self) -> tuple[int, ...]:
        return self.geometry.strides

    @property
    def itemsize(self) -> int:
        return self.geometry.itemsize

    @property
    def nbytes(self) -> int:
        return self.geometry.nbytes


def owning(array: Any, like: np.ndarray | None = None) -> Any:
    """A traced array, noted as the owner of its memory; where `like` is one, if that is given."""
    if issubclass(type(array), TracedArray) and (like is None or like.flags.owndata):
        array.storage.owner = weakref.ref(array)
    return array


class Tracers:
    """What makes arrays and scalars for the recorder; the stages that define them say so."""

    array: Callable[[Any, Storage, np.ndarray], Any]
    scalar: Callable[..., Any]
    of_class: type  # of an array of the user's own class
    viewed: Callable[[Any, Any, Any], Any]  # a traced array as one of these, as `view` of a dtype and a class
    complex_array: type  # of a traced complex array
    complex_known: Callable[[Any, np.ndarray, str, int], Any]  # of a known complex array, its name and depth
    complex_number: Callable[[Any, Any, Any], Any]  # of its parts
    complex_of_pairs: Callable[[Any], Any]  # of a traced real array
    complex_of: Callable[[Any], Any]  # an array of a traced complex number
    in_parts: Callable[[Any, Value], Any]  # of values some of whose extents differ between iterations


TRACERS = Tracers()


@kept_by_class
def is_like_tuple(kind: Any) -> bool:
    """Whether NumPy reads objects of this class, which is not `tuple`, as tuples: named ones are."""
    if kind is tuple or not issubclass(kind, tuple) or any(hasattr(kind, name) for name in BEFORE):
        return False
    return all(getattr(kind, name) is getattr(tuple, name) for name in READING)


def with_plain_tuples(arg: Any) -> Any:
    """An argument with tuples in place of named ones, on their own or in lists and tuples."""
    kind: Any = type(arg)
    if is_like_tuple(kind):
        arg, kind = tuple.__getitem__(arg, slice(None)), tuple
    if kind is not list and kind is not tuple:
        return arg
    items = [*map(with_plain_tuples, arg)]
    return arg if all(map(operator.is_, items, arg)) else kind(items)


def traced_indices(items: Any) -> Any:
    """Arguments with the indices of loops among them as traced integers, and lists that loops have filled as arrays."""
    kind = type(items)
    if issubclass(kind, Traced):
        return items.traced()
    if kind is tuple or kind is list:
        return kind(traced_indices(item) for item in items)
    if kind is dict:
        return {key: traced_indices(item) for key, item in items.items()}
    return items
