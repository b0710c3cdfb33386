"""Dicts of lists, tuples or objects whose keys loops or data say: `groups.setdefault(k, []).append(x)`.

Such a dict is a dict of places, which lies in memory (see `dict_tables`), and a list of what is at each place. It is
ordinary Python, and is traced as a class of the program's is. What else can be done with a dict makes the trace start
again with the dict as Python makes it: `given_up`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any


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


class DictOfItems:
    """A dict of any items, by their `places` in a list.

    Parameters
    ----------
    kind : type
        Of the dict that it is in the program.
    places : dict
        For each key the place of its item in `held`, in the order of the keys.
    held : list
        The items.
    """

    def __init__(self, kind: type, places: dict[Any, int], held: list[Any]):
        self.kind, self.places, self.held = kind, places, held

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

    def __len__(self) -> int:
        return len(self.places)

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

    __hash__ = None  # type: ignore[assignment]


class ValuesView:
    """What `values()` of such a dict gives."""

    def __init__(self, of: DictOfItems):
        self.of = of

    def __len__(self) -> int:
        return len(self.of.places)

    def __iter__(self) -> Iterator[Any]:
        for key in self.of.places:
            yield self.of.held[self.of.places[key]]


class ItemsView(ValuesView):
    """What `items()` of such a dict gives."""

    def __iter__(self) -> Iterator[Any]:
        for key in self.of.places:
            yield key, self.of.held[self.of.places[key]]


class DictOfLists(DictOfItems):
    """A `defaultdict(list)`."""

    default_factory = list

    def __getitem__(self, key: Any) -> Any:
        if key not in self.places:
            self.places[key] = len(self.held)
            self.held.append([])
        return item_read(self, key, self.held[self.places[key]])


class DefaultDictOfItems(DictOfItems):
    """A `defaultdict` of what another function makes."""

    def __init__(self, kind: type, places: dict[Any, int], held: list[Any], default_factory: Callable[[], Any]):
        super().__init__(kind, places, held)
        self.default_factory = default_factory

    def __getitem__(self, key: Any) -> Any:
        if key not in self.places:
            self.places[key] = len(self.held)
            self.held.append(self.default_factory())
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


_VIEWS: tuple[type, ...] = (type({}.values()), type({}.items()))
for _cls, _kinds in ((DictOfItems, (dict, collections.OrderedDict, collections.defaultdict)), (ValuesView, _VIEWS)):
    for _name in set().union(*map(vars, _kinds)) - vars(_cls).keys():  # type: ignore[arg-type]
        if not _is_of_objects(_name):
            setattr(_cls, _name, _giving_up(_name))
