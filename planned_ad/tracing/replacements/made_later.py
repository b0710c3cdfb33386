"""What replaces things of libraries, made when it is first asked for: of hundreds, a trace sees a few."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from ...python.made import STANDS_FOR
from ..record.recorder import Recorder


class Later:
    """What is not made yet in place of `__wrapped__`: ``make(recorder, __wrapped__)``, for whatever trace."""

    __slots__ = ("__wrapped__", "make")

    def __init__(self, wrapped: Any, make: Callable[[Recorder, Any], object]) -> None:
        self.__wrapped__, self.make = wrapped, make


def later(things: Iterable[Any], make: Callable[[Recorder, Any], object]) -> dict[int, Later]:
    """By identity, things that are replaced by what `make` makes."""
    return {id(thing): Later(thing, make) for thing in things}


class MadeLater(dict[int, Any]):
    """By identity, for one trace; a `Later` becomes its value, which stays the same one."""

    def __init__(self, recorder: Recorder, found: dict[int, Any]) -> None:
        super().__init__(found)
        self.recorder = recorder

    def __getitem__(self, key: int) -> Any:
        value = super().__getitem__(key)
        if type(value) is Later:
            real, value = value.__wrapped__, value.make(self.recorder, value.__wrapped__)
            if type(value) is types.FunctionType:
                vars(value).setdefault(STANDS_FOR, real)
            self[key] = value
        return value

    def get(self, key: int, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default
