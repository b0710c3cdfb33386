"""What stands in shadow classes for `object.__eq__` and `object.__hash__`: which object it is, is asked noticeably.

Rows of a list are other objects each time that they are read. Classes that say when two objects are equal do not mind;
of the others `a == b`, `a in group` and `names[a]` ask which object it is, as `a is b` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def identity_methods(cls: type, recording: Callable[[], Any]) -> dict[str, Any]:
    """For the shadow of a class that is compared by identity; none for others."""
    if cls.__eq__ is not object.__eq__ or cls.__hash__ is not object.__hash__:
        return {}

    def __eq__(self: object, other: object) -> Any:
        note_asked(recording(), self, other)
        return True if self is other else NotImplemented

    def __hash__(self: object) -> int:
        note_asked(recording(), self)
        return object.__hash__(self)

    return {"__eq__": __eq__, "__hash__": __hash__}


def note_asked(recorder: Any, *objects: object) -> None:
    """The trace starts again where one of these is in a list as a row."""
    for obj in objects:
        found = recorder.copied.get(id(obj))
        if found is not None:
            found.refuse_compared(recorder)
