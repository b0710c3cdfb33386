"""What is found outside: how it is told in messages, and compared; numbers and texts by type and bits."""

from __future__ import annotations

import fractions
import os
import struct
import types
from dataclasses import dataclass
from typing import Any

import numpy as np

IN_PYTHON = "is compared in Python at each call"
PLAIN = (int, bool, str, bytes, type(None), type(...), slice, range, fractions.Fraction)


class Same:
    """An object that is equal to itself only."""

    __slots__ = ("object",)

    def __init__(self, object: object):
        self.object = object

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.object is self.object

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is found somewhere: `key` is compared, `shown` is for messages.

    `place`: of an item of a dict whose key does not occur in code, the identity of the dict, and the key.
    """

    path: str
    key: tuple
    shown: str
    is_checked: bool = True
    place: tuple[int, str] | None = None


def last_name(path: str) -> str:
    return path.rpartition(".")[2]


def where(f: types.FunctionType) -> str:
    return f"the function of {os.path.basename(f.__code__.co_filename)}:{f.__code__.co_firstlineno}"


def is_plain(value: object) -> bool:
    """Whether this is a number or text, or has only these in it."""
    kind = type(value)
    if kind is slice:
        return all(map(is_plain, (value.start, value.stop, value.step)))  # type: ignore[attr-defined]
    return kind in (float, complex, *PLAIN) or issubclass(kind, np.generic)


def number_key(value: Any) -> tuple:
    """A number or text by value, its type and its bits."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    return kind, value


def shown_object(obj: Any) -> str:
    """What a module, a class or a library's object calls itself; its own code may fail at that."""
    try:
        return repr(obj)
    except Exception:
        return f"<{type(obj).__name__} {getattr(obj, '__name__', '')}>"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
