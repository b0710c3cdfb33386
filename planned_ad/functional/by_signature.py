"""What is compiled once for each signature of arguments: structure, shapes, dtypes, strides, static arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..python.structure import attributes_of, flatten, is_object_class
from ..tracing.values.array_tracer import ArrayTracer
from ..tracing.values.scalar_tracer import ScalarTracer

Made = TypeVar("Made")
SIMPLE = (int, bool, str, type(None))
MOST_SIGNATURES = 256  # beyond them, what was compiled first is dropped


class BySignature(Generic[Made]):
    """What is compiled for arguments by position and by keyword; threads that ask for the same wait for one.

    A copy, or what comes out of a pickle, is empty: compiled again, or found where `compile` finds plans.
    """

    def __init__(self) -> None:
        self._found: dict[Any, Made] = {}
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple:
        return BySignature, ()

    def __len__(self) -> int:
        return len(self._found)

    def known(self, args: tuple) -> Made | None:
        """What there is for these arguments, if they are plain, and it has been asked for."""
        return self._found.get(plain_key(args))

    def of(self, make: Callable[[tuple, dict[str, Any]], Made], args: tuple, kwargs: dict[str, Any]) -> Made:
        """What there is for arguments like these; made at the first time."""
        key = (plain_key(args) if not kwargs else None) or signature(args, kwargs)
        found = self._found.get(key)
        if found is None:
            with self._lock:
                found = self._found.get(key)
                if found is None:
                    found = self._found[key] = make(args, kwargs)
                    if len(self._found) > MOST_SIGNATURES:
                        del self._found[next(iter(self._found))]
        return found


class NotPlain(Exception):
    """Raised within `plain_key`."""


def plain_key(args: tuple) -> Any:
    """What plans are told apart by, as `signature` does, found in less time; None of what is not plain.

    Plain are arrays, numbers, texts and None, and tuples, lists, dicts and objects of them, each object in one place.
    """
    arrays: list[np.ndarray] = []
    seen: set[int] = set()
    try:
        parts = [key_of_part(arg, arrays, seen) for arg in args]
    except (NotPlain, RecursionError):
        return None
    return *parts, len(arrays) > 1 and share_memory(arrays)


def key_of_part(node: Any, arrays: list[np.ndarray], seen: set[int]) -> Any:
    kind: Any = type(node)
    if kind is np.ndarray:
        arrays.append(node)
        return node.dtype, node.shape, node.strides
    if kind is float or kind is np.float64:
        return kind
    if kind in SIMPLE:
        return kind, node
    if kind is dict:
        return dict, tuple(node), *[key_of_part(item, arrays, seen) for item in node.values()]
    if kind is list or kind is tuple or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return kind, *[key_of_part(item, arrays, seen) for item in node]
    if not is_object_class(kind) or id(node) in seen:
        raise NotPlain
    seen.add(id(node))
    attributes = attributes_of(node)
    return kind, tuple(attributes), *[key_of_part(item, arrays, seen) for item in attributes.values()]


def signature(args: tuple, kwargs: dict[str, Any]) -> Any:
    """What plans are told apart by."""
    leaves, structure = flatten((args, kwargs))
    return structure, structure.inactive_leaves, tuple(map(kind_of, leaves)), share_memory(leaves)


def share_memory(leaves: Sequence[Any]) -> bool:
    """Whether arrays may have memory in common, so that a write to one is seen in another."""
    arrays = [leaf for leaf in leaves if type(leaf) is np.ndarray]
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def kind_of(leaf: Any) -> Any:
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf.dtype, leaf.shape, leaf.strides
    if kind is float or isinstance(leaf, np.floating) or kind in (ArrayTracer, ScalarTracer):
        return kind
    try:
        hash(leaf)
    except Exception:  # whatever its class says
        return id(leaf)
    return kind, leaf
