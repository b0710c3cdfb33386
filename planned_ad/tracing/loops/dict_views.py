"""`values()` and `items()` of dicts in memory: they show what the dict holds when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class DictView:
    """What `read` gives for each of these keys, which the dict has from the first to the last; with them, or without.

    It is read item by item, as each is asked for: a loop over it may write to the dict.
    """

    def __init__(self, keys: tuple[Any, ...], read: Callable[[Any], Any], with_keys: bool):
        self.keys, self.read, self.with_keys = keys, read, with_keys

    def _item(self, key: Any) -> Any:
        return (key, self.read(key)) if self.with_keys else self.read(key)

    def __iter__(self) -> Iterator[Any]:
        return map(self._item, self.keys)

    def __reversed__(self) -> Iterator[Any]:
        return map(self._item, reversed(self.keys))

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, item: Any) -> bool:
        return any(bool(found == item) for found in self)


def read_if_unchanged(table: Any) -> Callable[[Any], Any]:
    """What a table holds for a key when that is asked for.

    In loops and branches others stand for it where it was written to, so that nothing may be written to any until then;
    what reads it in a loop that has begun since, or is over, would not see what its iterations write.
    """
    flow, scopes = table.recorder.flow, table.recorder.scopes
    at_first = {key: table[key] for key in table.room.order}
    writes, begun, over = flow.table_writes, [*scopes.open], len(scopes.over)

    def read(key: Any) -> Any:
        if [*map(id, scopes.open)] != [*map(id, begun)]:  # which are held, so that no other one has their identity
            raise table.refuse()
        if flow.table_writes == writes:
            return at_first[key]
        if scopes.depth or len(scopes.over) != over:
            raise table.refuse()
        return table[key]

    return read


def is_any_in(items: Any) -> bool:
    """Whether there is a key in a dict of places; no code that is traced, whose test would be one of its own."""
    return bool(items.places)
