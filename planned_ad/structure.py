"""Nested containers of arguments and results: taken apart into leaves, and put together again.

Containers are tuples, lists, dicts, namedtuples, dataclasses and None; everything else is a leaf. Dicts keep their
insertion order, and two dicts with the same keys in another order have different structures: a program may depend on
the order in which it iterates. A container that is reached twice comes back as two containers.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .shadows import real_class


class Const:
    """Makes an argument inactive: no derivative with respect to it (or to anything in it) is computed.

    Examples
    --------
    >>> import numpy as np
    >>> leaves, structure = flatten((np.zeros(2), Const(np.ones(2))))
    >>> structure
    (array, Const(array))
    >>> sorted(structure.inactive_leaves)
    [1]
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Leaf:
    """The kind of a structure that is a leaf."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Structure:
    """How leaves nest. Equal structures have the same containers, keys and order; leaf types and activity do not count.

    Attributes
    ----------
    kind : type
        The container's class, `NoneType` for None, or `Leaf`.
    keys : tuple
        Keys of a dict; names of the fields of a namedtuple or dataclass; indices of a tuple or list.
    children : tuple of Structure
        One for each key.
    label : str
        What a leaf was, for messages: `array`, or the name of its class.
    is_active : bool
        False for a leaf inside a `Const`.
    """

    kind: type
    keys: tuple = ()
    children: tuple["Structure", ...] = ()
    label: str = field(default="", compare=False)
    is_active: bool = field(default=True, compare=False)

    @property
    def leaf_count(self) -> int:
        """How many leaves there are."""
        return sum(1 for _ in _walk(self, ""))

    @property
    def inactive_leaves(self) -> frozenset[int]:
        """Numbers of the leaves that are inside a `Const`."""
        return frozenset(number for number, (_, leaf) in enumerate(_walk(self, "")) if not leaf.is_active)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put leaves together. A `Const` gives its value; a dataclass is restored without running its `__init__`.

        Raises
        ------
        ValueError
            For more or fewer leaves than the structure has.
        """
        leaves = list(leaves)
        if len(leaves) != self.leaf_count:
            raise ValueError(f"{self} has {self.leaf_count} leaves, and {len(leaves)} were given")
        return _build(self, iter(leaves))

    def __repr__(self) -> str:
        parts = [repr(child) for child in self.children]
        if self.kind is Leaf:
            return self.label if self.is_active else f"Const({self.label})"
        if self.kind is type(None):
            return "None"
        if self.kind is tuple:
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if self.kind is list:
            return f"[{', '.join(parts)}]"
        if issubclass(self.kind, dict):
            return f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(self.keys, parts))}}}"
        return f"{self.kind.__name__}({', '.join(f'{key}={part}' for key, part in zip(self.keys, parts))})"


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Take nested containers apart.

    Parameters
    ----------
    tree : object
        A leaf, or tuples, lists, dicts, namedtuples, dataclasses and None around leaves. Subclasses of list and dict
        (other than OrderedDict) are leaves, since they may hold more than their items. `Const` is transparent.
    is_leaf : callable, optional
        Where it is true of a container, that container is a leaf.

    Returns
    -------
    leaves : list
        In the order of `paths`.
    structure : Structure
        `structure.unflatten(leaves)` equals `tree`, without its `Const` marks.

    Raises
    ------
    ValueError
        If a container contains itself, or nests too deeply for Python's stack.

    Examples
    --------
    >>> flatten((1.0, [2, {"w": None}]))
    ([1.0, 2], (float, [int, {'w': None}]))
    """
    leaves: list[Any] = []

    def visit(node: Any, is_active: bool) -> Structure:
        if isinstance(node, Const):
            return visit(node.value, False)
        parts = None if is_leaf is not None and is_leaf(node) else _parts(node)
        if parts is None:
            leaves.append(node)
            label = "array" if isinstance(node, np.ndarray) else type(node).__name__
            return Structure(kind=Leaf, label=label, is_active=is_active)
        children = tuple(visit(value, is_active) for _, value in parts)
        return Structure(kind=real_class(type(node)), keys=tuple(key for key, _ in parts), children=children)

    try:
        return leaves, visit(tree, True)
    except RecursionError:
        raise ValueError("a container contains itself, or nests too deeply to be taken apart") from None


def paths(structure: Structure) -> list[str]:
    """For each leaf, the Python expression that reaches it from the whole, such as `[0]['w']` or `.weights[2]`."""
    return [path for path, _ in _walk(structure, "")]


def _parts(node: Any) -> list[tuple[Any, Any]] | None:
    """Keys and values of a container; None for a leaf."""
    kind = type(node)
    if node is None:
        return []
    if kind is tuple or kind is list:
        return list(enumerate(node))
    if kind is dict or kind is collections.OrderedDict:
        return list(node.items())
    if _is_namedtuple(kind):
        return list(zip(kind._fields, node))
    if dataclasses.is_dataclass(kind) and not issubclass(kind, tuple | list | dict | np.ndarray):
        # Attributes that `__post_init__` adds are as much part of the object as its fields.
        names = [f.name for f in dataclasses.fields(kind) if hasattr(node, f.name)]
        names = list(dict.fromkeys([*names, *getattr(node, "__dict__", ())]))
        return [(name, getattr(node, name)) for name in names]
    return None


def _is_namedtuple(kind: Any) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _build(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind: Any = structure.kind
    if kind is Leaf:
        return next(leaves)
    if kind is type(None):
        return None
    values = [_build(child, leaves) for child in structure.children]
    if kind is tuple or kind is list:
        return kind(values)
    if issubclass(kind, dict):
        return kind(zip(structure.keys, values))
    if _is_namedtuple(kind):
        return tuple.__new__(kind, values)
    instance = object.__new__(kind)
    for name, value in zip(structure.keys, values):
        object.__setattr__(instance, name, value)
    return instance


def _walk(structure: Structure, path: str) -> Iterator[tuple[str, Structure]]:
    """Each leaf with its path, in order."""
    if structure.kind is Leaf:
        yield path, structure
        return
    is_indexed = structure.kind in (tuple, list) or issubclass(structure.kind, dict)
    for key, child in zip(structure.keys, structure.children):
        yield from _walk(child, f"{path}[{key!r}]" if is_indexed else f"{path}.{key}")
