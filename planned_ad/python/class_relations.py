"""What classes say of those above and below them, where a class that stands in for another one is among them."""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Iterable

from . import identity_methods

ACTUAL_MRO, ACTUAL_BASES, ACTUAL_BASE = (type.__dict__[name].__get__ for name in ("__mro__", "__bases__", "__base__"))
WORD = ctypes.sizeof(ctypes.c_void_p)


def asks_for_mro(frame: types.FrameType) -> types.FrameType | None:
    """The frame that asks a class for its resolution order: what `inspect.getmro` asks for is for who called it."""
    return frame.f_back if frame.f_code is inspect.getmro.__code__ else frame


def as_program_sees(order: Iterable[type]) -> tuple[type, ...]:
    """A resolution order up to `object`, without what we put there; behind are the classes that are stood in for."""
    above = itertools.takewhile(lambda cls: cls is not object, order)
    return (*(cls for cls in above if cls.__module__ != identity_methods.__name__), object)


def hide_from_bases(cls: type) -> None:
    """Have its bases not give it among their `__subclasses__()`, which a program may run over."""
    place = place_of_subclasses()
    if place is None:
        return
    for base in ACTUAL_BASES(cls):
        address = ctypes.c_void_p.from_address(id(base) + place).value
        if address and base.__flags__ & _IS_HEAP_TYPE:
            ctypes.cast(address, ctypes.py_object).value.pop(id(cls), None)


_IS_HEAP_TYPE = 1 << 9


@functools.cache
def place_of_subclasses() -> int | None:
    """Where a class keeps those derived from it, by their addresses; None where that is not as we know it."""

    class Above:
        pass

    class Below(Above):
        pass

    if sys.implementation.name != "cpython":
        return None
    words = object.__getattribute__(type, "__basicsize__") // WORD
    order = id(ACTUAL_MRO(Above))
    at = [k for k in range(words) if ctypes.c_void_p.from_address(id(Above) + WORD * k).value == order]
    place = WORD * (at[0] + 2)  # behind `tp_mro` and `tp_cache`
    address = ctypes.c_void_p.from_address(id(Above) + place).value
    if not address or ctypes.c_void_p.from_address(address + WORD).value != id(dict):
        return None
    return place if id(Below) in ctypes.cast(address, ctypes.py_object).value else None
