"""Whether traced code has changed what it found outside: then each call may begin from another state than the last."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .namespace import Namespace
from .shadows import ShadowClass, ShadowModule
from .structure import attributes_of

Contents = Mapping[Any, Any]


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
        read = {name: names.real[name] for name in names if name in names.real and name[:2] != "__"}
        yield read, {name: names[name] for name in read}, len(read)
    for real, shadow in namespace._memo.values():
        if shadow is real or isinstance(real, np.ndarray | types.FunctionType | ShadowModule | types.ModuleType):
            continue
        if isinstance(shadow, ShadowClass):
            written = {n: v for n, v in vars(real).items() if isinstance(v, int | float | str | list | dict | None)}
            yield written, vars(shadow), len(vars(shadow))
        elif isinstance(type(shadow), ShadowClass) or isinstance(real, types.SimpleNamespace):
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
