"""Copies of sets, through which programs go in the same order: that of a set follows from how it was made."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any


def plain_copy(items: set[Any], kinds: Container[object]) -> set[Any] | None:
    """A set of the same members in the same order, where they are of these kinds and come in it by themselves."""
    given = [*items]
    copy = set(given)
    return copy if all(type(item) in kinds for item in given) and [*copy] == given else None


class SetInOrder(set[Any]):
    """A set that gives its first members in the order in which it got them, then others."""

    __slots__ = ("first",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self.first = list(items)
        super().__init__(self.first)

    def filled(self, items: list[Any]) -> Callable[[], None]:
        """What fills it, later."""

        def fill() -> None:
            self.first = items
            self.update(items)

        return fill

    def __iter__(self) -> Iterator[Any]:
        first = [item for item in self.first if item in self]
        known = {id(item) for item in first}
        return iter([*first, *(item for item in super().__iter__() if id(item) not in known)])


class FrozenInOrder(frozenset[Any]):
    """A frozen set that gives its members in the order in which it got them."""

    first: list[Any]

    def __new__(cls, items: Iterable[Any] = ()) -> FrozenInOrder:
        given = list(items)
        made = super().__new__(cls, given)
        made.first = given
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(self.first)
