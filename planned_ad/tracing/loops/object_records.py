"""Objects of the program's classes that it has by reference: their attributes lie in a row of memory, see `records`.

Such an object is one of a class derived from the program's, in which each attribute is a property that reads and writes
the memory; its methods are the program's own.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ...python.attributes_held import attributes_held, named_slots
from .references import RecordInRow, RecordKind

OVERRIDES = (
    "__setattr__",
    "__delattr__",
    "__getattribute__",
    "__getattr__",
    "__new__",
    "__del__",
    "__dict__",
    "__init_subclass__",
)
REFUSED = (
    "__copy__",
    "__deepcopy__",
    "__reduce_ex__",
    "__reduce__",
    "__getstate__",
    "__setstate__",
    "__delattr__",
    "__hash__",
)


def can_be_record(cls: Any, names: tuple[str, ...]) -> bool:
    """Whether objects of a class are no more than what is assigned to their attributes of these names."""
    ours = [name for name in dir(ObjectRecord) if not name.startswith("__")]
    if issubclass(cls, BaseException) or any(name in names or hasattr(cls, name) for name in ours):
        return False
    own = [base for base in cls.__mro__ if base is not object]
    if any(base.__flags__ & HEAP_TYPE == 0 or any(True for _ in named_slots(base)) for base in own):
        return False
    return not any(name in vars(base) and not _is_plain(vars(base)[name]) for base in own for name in OVERRIDES)


HEAP_TYPE = 1 << 9


def _is_plain(found: Any) -> bool:
    """What each class with attributes has."""
    return isinstance(found, types.GetSetDescriptorType)


class ObjectRecord(RecordInRow):
    """An object of one of the program's classes; of those that are being made some attributes are `record_unset`."""

    __slots__ = ("record_unset",)
    record_unset: dict[str, int]  # by name, with the depth at which it was made

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.record_memory.keys:
            kind = getattr(type(self), name, None)
            if hasattr(type(kind), "__set__"):  # a property of the program's
                object.__setattr__(self, name, value)
                return
            raise self.record_memory.refuse()
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> Any:
        """Whether two are one object; in place of `object.__eq__`."""
        if other is None:
            return self.is_none()
        if issubclass(type(other), RecordInRow) and other.record_memory is self.record_memory:  # type: ignore[attr-defined]
            return self.record_row == other.record_row  # type: ignore[attr-defined]
        return NotImplemented


def _refusing(name: str) -> None:
    def method(self: ObjectRecord, *args: Any) -> Any:
        raise self.record_memory.refuse()

    method.__name__ = name
    setattr(ObjectRecord, name, method)


for _name in REFUSED:
    _refusing(_name)


def in_row(name: str, place: int) -> property:
    """The property that stands for one."""

    def get(self: ObjectRecord) -> Any:
        if name in self.record_unset:
            raise AttributeError(f"'{self.record_memory.record_kind.__name__}' object has no attribute '{name}'")
        return self.record_memory.get(self.record_place, place)

    def put(self: ObjectRecord, value: Any) -> None:
        if name in self.record_unset and self.record_memory.recorder.scopes.depth == self.record_unset[name]:
            self.record_unset.pop(name)
        self.record_memory.put(self.record_place, place, value)

    return property(get, put)


def class_of_records(records: Any, cls: type) -> Callable[[RecordKind, Any], ObjectRecord]:
    """For `records`, what makes of the number of a row the object that is in it."""
    body: dict[str, Any] = {name: in_row(name, place) for place, name in enumerate(records.keys)}
    body |= {"__module__": __name__, "__qualname__": cls.__qualname__, "__slots__": (), "__dict__": property(_refuse)}
    if not hasattr(cls, "__bool__") and not hasattr(cls, "__len__"):
        body["__bool__"] = lambda self: not self.is_none()
    derived: Any = type(cls)(cls.__name__, (cls, ObjectRecord), body)

    def at(reference: RecordKind, row: Any, unset: Any = ()) -> ObjectRecord:
        found: ObjectRecord = object.__new__(derived)
        for name, value in (("record_reference", reference), ("record_row", row), ("record_unset", unset)):
            object.__setattr__(found, name, value)
        return found

    return at


def _refuse(found: ObjectRecord) -> Any:
    raise found.record_memory.refuse()


def begin_class(records: Any, cls: type, at: Callable[..., ObjectRecord]) -> None:
    """Objects of the class are such records from now on; `__init__` follows."""

    def make(kind: type, /, *args: Any, **kwargs: Any) -> Any:
        if kind is not cls and not issubclass(kind, ObjectRecord):
            return object.__new__(kind)
        found = at(records.reference, records.next_row(), dict.fromkeys(records.keys, records.recorder.scopes.depth))
        records.made.append(found)
        return found

    type.__setattr__(cls, "__new__", staticmethod(make))


def parts_of_object(obj: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Names and values of its attributes."""
    found = dict(attributes_held(obj))
    return tuple(found), list(found.values())
