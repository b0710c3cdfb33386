"""What is made of its arguments when it is first used: a plan of a method whose object is still being copied."""

from __future__ import annotations

import copy
from typing import Any, Self


class MadeAtFirstUse:
    """`later(*given)` has `__init__(*given)` run when an attribute is asked for."""

    @classmethod
    def later(cls, *given: Any) -> Self:
        made = object.__new__(cls)
        made.__dict__["_given"] = given
        return made

    def copied_later(self, memo: dict) -> Self:
        """A deep copy that is made at first use, too; itself while it is being made."""
        given = self.__dict__.get("_given")
        return self if given is None else type(self).later(copy.deepcopy(given[0], memo), *given[1:])

    def __getattr__(self, name: str) -> Any:
        given = None if name.startswith("__") else self.__dict__.pop("_given", None)
        if given is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            self.__init__(*given)  # type: ignore[misc]
        except BaseException:
            self.__dict__["_given"] = given
            raise
        return getattr(self, name)
