"""What is made of its arguments when it is first used: a plan of a method whose object is still being copied."""

from __future__ import annotations

import copy
import functools
from typing import Any, Self


class MadeAtFirstUse:
    """`later(*given)` has `__init__(*given)` run when an attribute is asked for that is not there yet."""

    @classmethod
    def later(cls, *given: Any) -> Self:
        kind: Any = cls
        made: Any = object.__new__(waiting(kind))
        made.__dict__["_given"] = given
        return made  # type: ignore[no-any-return]

    def copied_later(self, memo: dict) -> Self:
        """A deep copy that is made at first use, too; itself while it is being made."""
        given = self.__dict__.get("_given")
        if given is None:
            return self
        kind: Any = getattr(type(self), "__waits_for__", type(self))
        made: Self = kind.later(copy.deepcopy(given[0], memo), *given[1:])
        return made


@functools.cache
def waiting(cls: type) -> type:
    """The class of what is not made yet: its own, when it is."""

    def make(self: Any, name: str) -> Any:
        given = None if name.startswith("__") else self.__dict__.pop("_given", None)
        if given is None:
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        self.__class__ = cls
        try:
            self.__init__(*given)
        except BaseException:
            self.__class__ = waiting(cls)
            self.__dict__.clear()
            self.__dict__["_given"] = given
            raise
        return getattr(self, name)

    return type(cls.__name__, (cls,), {"__getattr__": make, "__module__": cls.__module__, "__waits_for__": cls})
