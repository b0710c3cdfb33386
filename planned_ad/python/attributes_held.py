"""The attributes that an object holds itself, read past any code of its class."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any


def named_slots(cls: type) -> tuple[str, ...]:
    """The slots that a class names itself, as its objects have them."""
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    private = f"_{cls.__name__.lstrip('_')}"
    names = tuple(private + n if n.startswith("__") and not n.endswith("__") else n for n in names)
    return tuple(n for n in names if isinstance(vars(cls).get(n), types.MemberDescriptorType))


def attributes_held(obj: Any) -> Iterator[tuple[str, Any]]:
    """Its attributes, past a `__getattr__` of the user's, which an object half made may not bear."""
    kind = type(obj)
    if kind.__dictoffset__:
        yield from object.__getattribute__(obj, "__dict__").items()
    for cls in kind.__mro__:
        for key in named_slots(cls):
            try:
                yield key, vars(cls)[key].__get__(obj)
            except AttributeError:  # not assigned yet
                continue


def with_attributes(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and what those of them that are objects hold."""
    for value in values:
        yield value
        if not isinstance(value, type | types.ModuleType | types.FunctionType):
            yield from (held for _, held in attributes_held(value))
