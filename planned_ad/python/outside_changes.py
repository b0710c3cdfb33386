"""What traced code has read outside, and whether it has changed it: then each call may begin from another state."""

from __future__ import annotations

import collections
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .liveness import catches_anywhere
from .namespace import Namespace
from .shadows import ShadowClass, ShadowModule, is_library
from .structure import attributes_of
from .world import of_the_world
from .written_calls import HELPERS

Contents = Mapping[Any, Any]
OF_SHADOWS = frozenset(  # what shadows of globals and of modules have from the start
    {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__path__",
     "__planned_ad_shadow__"}
)  # fmt: skip
MAY_CHANGE = (list, dict, set, bytearray, np.ndarray)  # of what modules of libraries have


def codes_met(namespace: Namespace) -> list[types.CodeType]:
    """Of the functions that traced code has met."""
    return [real.__code__ for real, _ in namespace._memo.values() if type(real) is types.FunctionType]


def handles_any_error(namespace: Namespace) -> bool:
    """Whether a function that traced code has met handles errors of kinds that anything may raise."""
    met = codes_met(namespace)
    return any(catches_anywhere(code, error) for code in met for error in (TypeError, AttributeError))


def names_read(namespace: Namespace) -> list[tuple[dict[str, Any], list[str]]]:
    """The names that traced code has read of globals and of modules, with the dicts that have them.

    With those of built-in functions, which the globals do not have, and may get, and those that code has asked for.
    """
    found: list[tuple[dict[str, Any], list[str]]] = [(sys.modules, [*namespace.modules.asked])]  # type: ignore[list-item]
    for seen in namespace._globals.values():
        if seen.is_users:
            names = [name for name in dict.keys(seen) if name in seen.real]
            found.append((seen.real, [*names, *(seen.builtins_read - HELPERS.keys()), *seen.asked]))
    for shadow in {id(s): s for _, s in namespace._memo.values() if type(s) is ShadowModule}.values():
        _, real, asked = shadow.__dict__["__planned_ad_shadow__"]
        names = [*asked, *(name for name in vars(shadow) if name in vars(real))]
        if is_library(real.__name__, getattr(real, "__file__", None)):
            names = [n for n in names if type(vars(real)[n]) in MAY_CHANGE or id(vars(real)[n]) in of_the_world()]
        found.append((vars(real), names))
    return [(names, [n for n in read if n not in OF_SHADOWS]) for names, read in found if read]


def has_changes(namespace: Namespace) -> bool:
    """Whether variables, attributes or items that traced code has met are other ones in its copies."""
    known = namespace._memo

    def is_copy(real: object, shadow: object) -> bool:
        return shadow is real or (id(real) in known and known[id(real)][1] is shadow) or id(real) in replaced

    replaced = namespace._replacements
    return any(
        any(key not in shadow or not is_copy(value, shadow[key]) for key, value in real.items()) or len(shadow) > most
        for real, shadow, most in copies(namespace)
    )


def copies(namespace: Namespace) -> Iterator[tuple[Contents, Contents, int]]:
    """What each thing holds, what its copy holds, and how much that may be."""
    for cell, copy in namespace._cells.values():
        yield contents_of(cell), contents_of(copy), 1
    for names in namespace._globals.values():
        read = {name: names.real[name] for name in dict.keys(names) if name in names.real and name not in OF_SHADOWS}
        yield read, {name: names[name] for name in read}, len(read)
    for real, shadow in namespace._memo.values():
        if shadow is real or isinstance(real, np.ndarray | ShadowModule | types.ModuleType):
            continue
        if isinstance(real, types.FunctionType):
            yield vars(real), vars(shadow), len(vars(real))  # type: ignore[arg-type]
            continue
        if isinstance(shadow, ShadowClass):
            written = {n: v for n, v in vars(real).items() if isinstance(v, int | float | str | list | dict | None)}
            yield written, vars(shadow), len(vars(shadow))
        elif isinstance(type(shadow), ShadowClass) or isinstance(real, types.SimpleNamespace | threading.local):
            found = attributes_of(real)
            yield found, attributes_of(shadow), len(found)
        if isinstance(real, dict):
            yield dict(real), dict(shadow), len(real)  # type: ignore[call-overload]
        elif isinstance(real, list | collections.deque):
            yield dict(enumerate(real)), dict(enumerate(shadow)), len(real)  # type: ignore[arg-type]
        elif isinstance(real, set):
            yield {}, dict.fromkeys(shadow), len(real)  # type: ignore[call-overload]


def contents_of(cell: types.CellType) -> Contents:
    try:
        return {0: cell.cell_contents}
    except ValueError:  # the variable has no value yet
        return {}
