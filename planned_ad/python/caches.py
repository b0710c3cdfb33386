"""What the functions of `functools.cache` and `lru_cache` keep, read without calling them."""

from __future__ import annotations

import functools
import gc
import types
from dataclasses import dataclass
from typing import Any, Protocol

PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})


class Copying(Protocol):
    """What makes the copies of one trace: see `namespace`."""

    kept: dict[tuple[int, Any], tuple[Any, Any, str]]

    def shadow(self, obj: Any, name: str = "") -> Any: ...

    def _see(self, obj: Any, name: str) -> Any: ...

    def unshadowed(self, shadow: object) -> object: ...


def copy_of_cached(namespace: Copying, cached: Any, name: str) -> Any:
    """A function with a cache: what that has is found there, for the rest traced code calls the function itself.

    A cache that outlives the trace must not fill with tracers.
    """
    function = namespace._see(cached.__wrapped__, name)
    known, is_cleared = entries_of(cached), False
    if known is None or not known.items:
        namespace.kept[id(cached), None] = (cached, None, name)
        if type(function) is types.FunctionType:
            vars(function).setdefault("cache_clear", lambda: None)
        return function

    def clear() -> None:
        nonlocal is_cleared
        is_cleared = True

    def found(*args: Any, **kwargs: Any) -> Any:
        key, known = cache_key(namespace, cached, args, kwargs), entries_of(cached)
        if key is None or known is None or is_cleared:
            return function(*args, **kwargs)
        namespace.kept[id(cached), key] = (cached, key, name)
        is_there, result = known.result_of(key)
        return namespace.shadow(result, f"{name}()") if is_there else function(*args, **kwargs)

    functools.update_wrapper(found, function)
    found.cache_clear = clear  # type: ignore[attr-defined]
    return found


@dataclass(frozen=True, slots=True)
class Entries:
    """`items`: the dict of a cache; `results`: by the keys of that dict."""

    items: dict[Any, Any]
    results: dict[Any, Any]

    def key_of(self, key: Any) -> Any:
        """The very object that is the key."""
        return next(known for known in self.items if known == key)

    def result_of(self, key: Any) -> tuple[bool, Any]:
        return key in self.results, self.results.get(key)


def entries_of(cached: Any) -> Entries | None:
    """What a cache has now; None where that cannot be seen."""
    parts = gc.get_referents(cached)
    items = next((part for part in parts if type(part) is dict and part is not vars(cached)), None)
    if items is None:
        return None
    if not items or not all(type(value).__name__ == "_lru_list_elem" for value in items.values()):
        return Entries(items, dict(items))
    # A bounded cache is a list too: its links lead to key, result and the class of a link, one after the other.
    kind = type(next(iter(items.values())))
    places = [number for number, part in enumerate(parts) if part is kind and number >= 2]
    results = {parts[k - 2]: parts[k - 1] for k in places[: len(items)]}
    return Entries(items, results) if results.keys() == items.keys() else None


def cache_key(namespace: Copying, cached: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The key of a call, with the objects that traced code sees copies of; None where it has another form."""
    if kwargs or cached.cache_parameters()["typed"] or any(map(stands_for_number, args)):
        return None
    args = tuple(arg if type(arg) in PLAIN else namespace.unshadowed(arg) for arg in args)
    try:
        hash(args)
    except TypeError:
        return None
    return args[0] if len(args) == 1 and type(args[0]) in (int, str) else args


def stands_for_number(obj: Any) -> bool:
    """Whether it is one of this package's, in the place of a number or array."""
    return type(obj).__module__.startswith(f"{__name__.partition('.')[0]}.tracing.")


def copy_of_cached_property(
    namespace: Copying, prop: functools.cached_property, name: str
) -> functools.cached_property:
    """One that calls what traced code sees of the function."""
    copy = functools.cached_property(namespace._see(prop.func, name))
    copy.attrname = prop.attrname
    return copy
