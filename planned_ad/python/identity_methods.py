"""What stands for the methods of `object` that ask which object it is, so that the question is noticed.

Rows of a list are other objects each time that they are read. Classes that say when two objects are equal do not mind;
of the others `a == b`, `a in group` and `names[a]` ask which object it is, as `a is b` does. So does a method of the
program's that goes on to `super().__hash__()` or `object.__eq__(self, other)`, and `==` of two objects whose own
`__eq__` gives `NotImplemented`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

IDENTITY_METHODS = frozenset({"__eq__", "__hash__"})


def identity_base(namespace: Any) -> type:
    """A class that stands before `object` among the bases of shadows, with these methods."""

    class Asked:
        __slots__ = ()

    for name in IDENTITY_METHODS:
        setattr(Asked, name, _asking(Asked, name, namespace))
    return Asked


def _asking(base: type, name: str, namespace: Any) -> Callable[..., Any]:
    of_object = getattr(object, name)

    def method(self: object, *args: object) -> Any:
        note_asked(namespace.recorder, self, *args)
        return getattr(super(base, self), name)(*args) if isinstance(self, base) else of_object(self, *args)

    method.__name__ = name
    return method


def as_equality(see: Any, method: types.FunctionType) -> types.FunctionType:
    """An `__eq__` of the program's, as `see` of a namespace shows it.

    Where neither of two objects knows whether they are equal, Python asks whether they are one.
    """

    def called(self: Any, other: Any) -> Any:
        found = method(self, other)
        return see(object.__eq__)(self, other) if found is NotImplemented else found

    called.__name__, called.__qualname__, called.__doc__ = method.__name__, method.__qualname__, method.__doc__
    called.traced = method  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def note_asked(recorder: Any, *objects: object) -> None:
    """The trace starts again where one of these is in a list as a row."""
    for obj in objects:
        found = recorder.copied.get(id(obj))
        if found is not None:
            found.refuse_compared(recorder)
