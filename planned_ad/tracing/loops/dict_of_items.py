"""Dicts of lists, tuples or objects whose keys loops or data say: `groups.setdefault(k, []).append(x)`.

Such a dict is a dict of places, which lies in memory (see `dict_tables`), and a list of what is at each place. It is
ordinary Python, and is traced as a class of the program's is. What else can be done with a dict makes the trace start
again with the dict as Python makes it: `given_up`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .dict_views import is_any_in


def given_up(items: Any) -> Any:
    """What is done where such a dict cannot serve; the tracer has its own."""
    raise NotImplementedError


def is_key(key: Any, places: dict[Any, int]) -> Any:
    """Whether there is such a key; in a trace a truth of which nobody has asked yet."""
    return key in places


def item_read(items: Any, key: Any, item: Any) -> Any:
    """An item that was read by a key; the tracer has its own, and remembers it."""
    return item


def is_read_last(items: Any, key: Any, item: Any) -> bool:
    """Whether this is what was read last, by this key, as in `groups[k] += [x]`; the tracer has its own."""
    return False


def times_replaced(items: Any) -> int:
    """How often something took the place of another item; the tracer has its own."""
    return 0


def gets_more(items: Any) -> None:
    """A set gets another element, where it has been run over in the order of its first ones: the tracer says so."""


def first_elements(items: Any) -> list[Any]:
    """The elements that a set has begun with, in its order, which those that are left keep; the tracer has its own."""
    return list(items)


class InPlaces:
    """What leads to a dict of places: for each key the place of its item, in the order of the keys."""

    kind: type  # what it is in the program

    def __init__(self, places: Any):
        self.places = places

    def length(self) -> int:
        return len(self.places)

    def __len__(self) -> int:
        return len(self.places)

    __bool__ = is_any_in  # a test of the statement that asks for it: `while todo`
    __hash__ = None  # type: ignore[assignment]


class DictOfItems(InPlaces):
    """A dict of any items, by their `places` in a list.

    Parameters
    ----------
    held : list
        The items.
    """

    kind: type = dict

    def __init__(self, places: dict[Any, int], held: list[Any]):
        super().__init__(places)
        self.held = held

    def __getitem__(self, key: Any) -> Any:
        return item_read(self, key, self.held[self.places[key]])

    def __setitem__(self, key: Any, item: Any) -> None:
        if is_read_last(self, key, item):
            return
        if key in self.places:
            self.held[self.places[key]] = item
        else:
            self.places[key] = len(self.held)
            self.held.append(item)

    def __contains__(self, key: Any) -> bool:
        return is_key(key, self.places)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.places)

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self.places:
            return self.held[self.places[key]]
        return default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self.places:
            self.places[key] = len(self.held)
            self.held.append(default)
        return self.held[self.places[key]]

    def keys(self) -> Any:
        return self.places.keys()

    def values(self) -> ValuesView:
        return ValuesView(self)

    def items(self) -> ItemsView:
        return ItemsView(self)


class ValuesView(InPlaces):
    """What `values()` of such a dict gives."""

    kind: type = type({}.values())

    def __init__(self, of: DictOfItems):
        super().__init__(of.places)
        self.of = of

    def __iter__(self) -> Iterator[Any]:
        for key in self.of.places:
            yield self.of.held[self.of.places[key]]


class ItemsView(ValuesView):
    """What `items()` of such a dict gives."""

    kind: type = type({}.items())

    def __iter__(self) -> Iterator[Any]:
        for key in self.of.places:
            yield key, self.of.held[self.of.places[key]]

    def in_order(self, key: Callable[[Any], Any] | None, reverse: bool) -> SortedItems:
        """What `sorted` makes of them: no two have the same key of the dict."""
        of = self.of
        if key is None:
            return SortedItems(of, sorted(of.places, reverse=reverse), times_replaced(of))
        by = key
        keys = sorted(of.places, key=lambda k: by((k, of.held[of.places[k]])), reverse=reverse)
        return SortedItems(of, keys, times_replaced(of))


class SortedItems(InPlaces):
    """A list of keys and items of such a dict; its `places` are the keys."""

    kind = list

    def __init__(self, of: DictOfItems, keys: list[Any], version: int):
        super().__init__(keys)
        self.of, self.version = of, version

    def _item(self, key: Any) -> tuple[Any, Any]:
        if times_replaced(self.of) != self.version:  # the list would have the one that was there
            given_up(self)
        return key, self.of.held[self.of.places[key]]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for key in self.places:
            yield self._item(key)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return SortedItems(self.of, self.places[index], self.version)
        return self._item(self.places[index])


class SetOfKeys(InPlaces):
    """A set: its elements are the keys of `places`. It has an order for as long as it only gets smaller."""

    kind = set

    def add(self, key: Any) -> None:
        gets_more(self)
        self.places[key] = 1

    def update(self, *others: Any) -> None:
        gets_more(self)
        for keys in others:
            for key in keys:
                self.places[key] = 1

    def discard(self, key: Any) -> None:
        if key in self.places:
            del self.places[key]

    def remove(self, key: Any) -> None:
        del self.places[key]

    def __contains__(self, key: Any) -> bool:
        return is_key(key, self.places)  # type: ignore[no-any-return]

    def in_order(self, key: Callable[[Any], Any] | None, reverse: bool) -> list[Any]:
        """What `sorted` makes of it; of elements that compare equal by `key`, the order is the set's."""
        if key is None:
            return sorted(self.places, reverse=reverse)
        return sorted([element for element in self], key=key, reverse=reverse)

    def __iter__(self) -> Iterator[Any]:
        elements = first_elements(self)
        for element in elements:
            if element in self.places:
                yield element


class OrderedDictOfItems(DictOfItems):
    """An `OrderedDict`."""

    kind = collections.OrderedDict


class DictOfLists(DictOfItems):
    """A `defaultdict(list)`."""

    kind = collections.defaultdict
    default_factory = property(lambda self: list, lambda self, other: given_up(self))

    def __getitem__(self, key: Any) -> Any:
        if key not in self.places:
            self.places[key] = len(self.held)
            self.held.append([])
        return item_read(self, key, self.held[self.places[key]])


class DefaultDictOfItems(DictOfItems):
    """A `defaultdict` of what another function makes."""

    kind = collections.defaultdict

    def __init__(self, places: dict[Any, int], held: list[Any], default_factory: Callable[[], Any]):
        super().__init__(places, held)
        self.makes = default_factory

    default_factory = property(lambda self: self.makes, lambda self, other: given_up(self))

    def __getitem__(self, key: Any) -> Any:
        if key not in self.places:
            item = self.makes()
            self.places[key] = len(self.held)
            self.held.append(item)
        return item_read(self, key, self.held[self.places[key]])


def _giving_up(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return given_up(self)

    method.__name__ = name
    return method


def _is_of_objects(name: str) -> bool:
    """Whether all objects have it, and these need no other."""
    compares = name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__")
    return (hasattr(object, name) and not compares) or name in ("default_factory", "__missing__")


Mapping.register(DictOfItems)  # for `match`
Sequence.register(SortedItems)
_VIEWS: tuple[type, ...] = (type({}.values()), type({}.items()))
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
for _cls, _kinds in ((DictOfItems, _DICTS), (ValuesView, _VIEWS), (SortedItems, (list,)), (SetOfKeys, (set,))):
    for _name in set().union(*map(vars, _kinds)) - vars(_cls).keys() - vars(InPlaces).keys():  # type: ignore[arg-type]
        if not _is_of_objects(_name):
            setattr(_cls, _name, _giving_up(_name))
