"""What variables hold: numbers, arrays and containers, taken apart, put together, and compared."""

from __future__ import annotations

import types
import weakref
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...python.attributes_held import attributes_held, named_slots
from ...python.complex_parts import complex_parts, is_complex_kind, kind_of_parts, whole_of_parts
from ..lengths.varying import VaryingArray
from ..record.promotion import KINDS, dtype_of
from ..record.storage import ShiftedStorage, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer
from .letters import CODE, Letter, Letters
from .none_or_value import PARTS, NoneOrValue, optional_item
from .object_contents import has_attributes
from .places import Place, is_dead
from .references import ROW_NUMBER, RecordInRow, RecordKind
from .state import State, held_by_callers

CONTAINERS = (list, dict)

Parts = tuple[Any, tuple[Any, ...], list[Any]]  # kind, keys and items


class Whole:
    """The kind of what is made up of arrays alone, as which it is handed on."""

    def made(self, arrays: list[Any]) -> Any:
        """It again, of other arrays."""
        raise NotImplementedError


@dataclass(frozen=True)
class ObjectKind:
    """The kind of the objects of a class of the program's, which are their attributes."""

    cls: type

    def made(self, keys: tuple[Any, ...], items: list[Any]) -> Any:
        """Another one."""
        found: Any = new_object(self.cls)
        slots = {name for cls in self.cls.__mro__ for name in named_slots(cls)}
        for key, item in zip(keys, items):
            if key in slots:
                object.__setattr__(found, key, item)
            else:
                found.__dict__[key] = item
        return found


MADE_OF_ATTRIBUTES: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def is_made_of_attributes(cls: type) -> bool:
    """Whether all that an object of a class is are its attributes."""
    found = MADE_OF_ATTRIBUTES.get(cls)
    if found is None:
        found = MADE_OF_ATTRIBUTES[cls] = has_attributes(cls) and not hasattr(cls, "__del__") and _can_be_made(cls)
    return found


def new_object(cls: type) -> object:
    """An object without attributes."""
    return types.SimpleNamespace() if cls is types.SimpleNamespace else object.__new__(cls)


def _can_be_made(cls: type) -> bool:
    try:
        new_object(cls)
    except TypeError:  # it is an array, a list, an error
        return False
    return True


def has_places(kind: Any) -> bool:
    """Whether what is of this kind stays the object that it is: each of its items is a place of its own."""
    return kind in CONTAINERS or type(kind) is ObjectKind


def is_kind_of_tuple(kind: Any) -> bool:
    """Whether what is of this kind is a tuple, or a named one."""
    return isinstance(kind, type) and issubclass(kind, tuple)


def is_made_of_arrays(kind: Any) -> bool:
    """Whether what is of this kind is one thing to the program: a complex number or array, or a list in memory."""
    return is_complex_kind(kind) or isinstance(kind, Whole)


def taken_apart(value: Any) -> Parts | None:
    """Kind, keys and items of a tuple, list, dict or object, of a complex number or array, and of a list in memory."""
    kind = type(value)
    if getattr(kind, "is_traced_list", False) and value.is_written:
        return value.in_memory()  # type: ignore[no-any-return]
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return None if getattr(value, "__dict__", None) else (kind, tuple(range(len(value))), list(value))
    if kind is dict:
        return kind, tuple(value), list(value.values())
    if kind is NoneOrValue:
        return kind, PARTS, [value.present, value.held]
    if kind is Letter:
        return value.letters, CODE, [value.code]
    if issubclass(kind, RecordInRow):
        return value.record_reference, ROW_NUMBER, [value.record_row]
    whole = kind_of_parts(value)
    if whole is not None:
        names, parts = zip(*complex_parts(value))
        return whole, names, list(parts)
    if is_made_of_attributes(kind):
        found = dict(attributes_held(value))
        return ObjectKind(kind), tuple(found), list(found.values())
    return None


def put_together(kind: Any, keys: tuple[Any, ...], items: list[Any]) -> Any:
    if kind is dict:
        return dict(zip(keys, items))
    if isinstance(kind, Whole):
        return kind.made(items)
    if isinstance(kind, ObjectKind):
        return kind.made(keys, items)
    if isinstance(kind, Letters | RecordKind):
        return kind.made(items[0])
    if is_complex_kind(kind):
        return whole_of_parts(kind, items)
    if kind is NoneOrValue:
        return optional_item(next(item.recorder for item in items if hasattr(item, "recorder")), *items)
    return tuple.__new__(kind, items) if issubclass(kind, tuple) else kind(items)


def objects_held(value: Any) -> Iterator[Any]:
    """The objects of the program's in a tuple, list or dict."""
    if is_made_of_attributes(type(value)):
        yield value
    elif isinstance(value, (tuple, *CONTAINERS)):
        for item in value.values() if type(value) is dict else value:
            yield from objects_held(item)


def is_number(value: Any) -> bool:
    """Whether `value` is a scalar, traced or not."""
    if type(value) in (ScalarTracer, int, float, bool, LoopIndex):
        return True
    return isinstance(value, np.generic) and value.dtype in KINDS


def number_type(value: Any) -> tuple[np.dtype, bool]:
    """Dtype of a scalar, and whether it is a Python number."""
    if type(value) is LoopIndex:
        return np.dtype(np.int64), True
    if type(value) is ScalarTracer:
        return value.dtype, value.is_python
    return dtype_of(value), not isinstance(value, np.generic)


def optional_parts(value: Any, filler: Any) -> list[Any] | None:
    """Of None, a number, array or tuple of numbers, or what is either: whether there is one, and that; else None."""
    if value is None:
        return [False, filler]
    if type(value) is NoneOrValue:
        return [value.present, value.held]
    return [True, value] if is_number(value) or is_plain_array(value) or is_tuple_of_numbers(value) else None


def is_tuple_of_numbers(value: Any) -> bool:
    """Whether it is a tuple of numbers, or of such tuples."""
    is_tuple = type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields"))
    return is_tuple and all(is_number(item) or is_tuple_of_numbers(item) for item in value)


def is_plain_array(value: Any) -> bool:
    """Whether `value` is a traced array of real numbers."""
    return type(value) is ArrayTracer


def zero_like(number: Any) -> Any:
    """A known number of the same type; of a tuple, one of such."""
    if isinstance(number, tuple):
        return put_together(type(number), (), [zero_like(item) for item in number])
    dtype, is_python = number_type(number)
    return dtype.type(0).item() if is_python else dtype.type(0)


def memory_of(array: ArrayTracer) -> Storage:
    storage = array.storage
    return storage.memory if isinstance(storage, ShiftedStorage) else storage


def is_alone(obj: Any, state: State) -> bool:
    """Whether one place at most holds an object: what is done to it is seen there only.

    Second names of a list or dict that are not read any more do not count.
    """
    is_object = has_attributes(type(obj))
    if is_object and id(obj) in state.led_to:
        return False
    held = [value for place, value in state.values.values() if is_object or not is_dead(place)]
    while any(issubclass(type(value), tuple) for value in held):
        held = [item for value in held for item in (value if issubclass(type(value), tuple) else (value,))]
    return sum(value is obj for value in held) <= 1 and not held_by_callers(obj, state.frame, state.values)


def is_left_behind(place: Place, value: Any, now: State) -> bool:
    """Whether a list, dict or object that nothing leads to any more still holds what it did."""
    owner = place.owner
    if place.kind not in ("item", "attribute"):
        return False
    if getattr(type(owner), "is_traced_list", False):
        return id(owner) not in now.contents and same(getattr(owner, str(place.key)), value)
    if place.kind == "attribute":
        held = dict(attributes_held(owner)) if has_attributes(type(owner)) and id(owner) not in now.contents else {}
        return place.key in held and same(held[place.key], value)
    if id(owner) in now.sizes or type(owner) not in CONTAINERS:
        return False
    try:
        return same(owner[place.key], value)
    except LookupError:
        return False


def is_gone(place: Place, reached: Container[int], now: State) -> bool:
    """Whether it is part of a list, dict or object to which nothing leads on one side: `rows = []`, `best = Point()`.

    What the other side has put there nobody sees after the test: what held it there holds one of two things.
    """
    owner = place.owner
    if place.kind not in ("item", "attribute") or not (type(owner) in CONTAINERS or has_attributes(type(owner))):
        return False
    attributes = getattr(owner, "__dict__", None) if place.kind == "attribute" else None
    if id(owner) in reached or (attributes is not None and id(attributes) in reached):
        return False
    return not held_by_callers(owner, now.frame, now.values)


def put_back(place: Place, old: Any, now: State) -> bool:
    """Whether it is part of something to which nothing leads any more; it holds then what it did."""
    if not is_gone(place, now.owners() | now.led_to, now):
        return False
    place.write(old)
    return True


def same(a: Any, b: Any) -> bool:
    """Whether two things that a place held are one to the program."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is ArrayTracer:
        return a.storage is b.storage and a.layout == b.layout and a.geometry.flags == b.geometry.flags
    if kind is ScalarTracer:
        return a.value is b.value and a.is_python == b.is_python and a.types == b.types
    if kind is LoopIndex:
        return a.expression == b.expression
    if kind is float or kind is complex or issubclass(kind, np.generic):
        return np.array(a).tobytes() == np.array(b).tobytes() or (a != a and b != b)
    if kind in (int, bool, str, bytes):
        return bool(a == b)
    if kind is types.FunctionType:
        return a.__code__ is b.__code__ and a.__globals__ is b.__globals__ and _same_closure(a, b)
    if kind is slice:
        return same(a.start, b.start) and same(a.stop, b.stop) and same(a.step, b.step)
    if kind is types.MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    parts, others = taken_apart(a), taken_apart(b)
    if parts is None or others is None:
        return False
    if has_places(parts[0]):  # another object, in which writes would be seen or not
        return False
    if isinstance(parts[0], Letters | RecordKind) and parts[0] != others[0]:
        return False
    return parts[1] == others[1] and all(same(x, y) for x, y in zip(parts[2], others[2]))


def _same_closure(a: types.FunctionType, b: types.FunctionType) -> bool:
    cells, others = a.__closure__ or (), b.__closure__ or ()
    names = [(f.__name__, f.__qualname__, f.__module__, f.__doc__) for f in (a, b)]
    held = [(f.__defaults__ or (), f.__kwdefaults__ or {}, f.__dict__) for f in (a, b)]
    return names[0] == names[1] and all(x is y for x, y in zip(cells, others)) and all(map(_same_items, *held))


def _same_items(a: Any, b: Any) -> bool:
    """Whether two tuples, or two dicts, hold the same."""
    if type(a) is dict:
        return a.keys() == b.keys() and all(same(item, b[key]) for key, item in a.items())
    return len(a) == len(b) and all(map(same, a, b))


def described(value: Any, before: Any = None) -> str:
    """A thing that a variable holds, for a message; beside what it held before."""
    if type(value) is type(before) and type(value) in (tuple, *CONTAINERS):
        return f"a {type(value).__name__} with other keys" if type(value) is dict else f"one of length {len(value)}"
    if issubclass(type(value), VaryingArray):
        return "an array whose length is data"
    if type(value) is ArrayTracer:
        return f"an array of {value.dtype}{list(value.shape)}"
    if type(value) is ScalarTracer:
        return f"a traced {value.dtype}"
    return "None" if value is None else f"of type {type(value).__name__}"
