"""The class that the program sees of what stands for one of several texts, lists, dicts or objects, or None."""

from __future__ import annotations

from types import NoneType
from typing import Any

from .dict_of_items import InPlaces
from .letters import Letter
from .references import RecordInRow


def class_seen(obj: Any) -> type | None:
    """That of a text that data choose, a record or a dict of items; else None. Whether it is None is a test of data."""
    if type(obj) is Letter:
        if None in obj.letters.texts and obj.is_none():
            return NoneType
        kinds = {type(text) for text in obj.letters.texts if text is not None}
        return kinds.pop() if len(kinds) == 1 else type(obj.known("for its class"))
    if issubclass(type(obj), InPlaces):
        return obj.kind  # type: ignore[no-any-return]
    if not issubclass(type(obj), RecordInRow):
        return None
    kind: type = NoneType if RecordInRow.is_none(obj) else obj.record_memory.record_kind
    return kind
