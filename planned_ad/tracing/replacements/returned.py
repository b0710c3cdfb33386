"""What traced code returns as the program has it: lists, objects and None in place of what stands for them in a trace.

What holds computed numbers and is no container that a plan gives back is refused, by name.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.shadows import real_class
from ...python.structure import set_attribute
from ..loops.dict_of_items import InPlaces
from ..loops.followed_dicts import as_python_makes_it
from ..loops.letters import Letter
from ..loops.list_in_trace import is_traced_list
from ..loops.none_or_value import NoneOrValue
from ..loops.object_records import ObjectRecord
from ..loops.references import RecordInRow
from ..loops.sequences import Range
from ..record.recorder import Recorder
from ..record.traced import LibraryObject, Traced
from ..values.array_classes import ClassArray, unwrapped
from ..values.scalar_tracer import ScalarTracer

MOST_HELD = 10_000  # things that a result may lead to, of which is looked whether one is traced
OURS = "planned_ad."  # what makes traces, and leads to all that is in one
PLAIN = (str, bytes, int, float, complex, np.generic, np.dtype, type, types.ModuleType, type(None), types.CodeType)


def plain_result(recorder: Recorder) -> Callable[[Any], Any]:
    """Of each container or leaf of a result what the program has there."""
    records: dict[tuple[int, object], Any] = {}  # those that are plain by now, by memory and row

    def plain(node: Any) -> Any:
        kind = type(node)
        if issubclass(kind, ClassArray):
            return unwrapped(node)
        if is_traced_list(node):
            return node.elements()
        if issubclass(kind, InPlaces):
            raise as_python_makes_it(recorder, node)
        if kind is NoneOrValue:  # the trace is for inputs with the same one of the two
            return node.held if node.present else None
        if kind is Letter:
            return node.known("that is returned")
        if kind is Range:
            return node.concrete()
        if kind is dict and any(map(recorder.is_scalar, node)):
            return {_plain_key(key): item for key, item in node.items()}
        return _plain_record(node, records) if issubclass(kind, RecordInRow) else node

    return plain


def _plain_key(key: Any) -> Any:
    """A key as the program has it, whose number the trace is for."""
    if type(key) is not ScalarTracer:
        return key
    number = key.dtype.type(key.number_for("a key"))
    return number.item() if key.is_python else number


def _plain_record(node: Any, records: dict[tuple[int, object], Any]) -> Any:
    """A record as a list, dict or object, with what is in its row."""
    if node.is_none():
        return None
    row = node.record_row if type(node.record_row) is int else node.record_row.value.id
    found = records.get((id(node.record_memory), row))
    if found is not None:
        return found
    if len(records) > node.record_memory.most:  # they lead to one another in a circle that data close
        raise node.record_memory.refuse()
    if not issubclass(type(node), ObjectRecord):
        found = records[id(node.record_memory), row] = list(node) if node.__class__ is list else node.copy()
        return found
    found = records[id(node.record_memory), row] = object.__new__(real_class(node.record_memory.record_kind))
    for name in node.record_memory.keys:
        if name not in node.record_unset:
            set_attribute(found, name, getattr(node, name))
    return found


def read_in_trace(recorder: Recorder, node: Any) -> Any:
    """Of each container or leaf that a function inside takes or gives, what it is: None or not is a test of data."""
    if type(node) is NoneOrValue:
        return node.decided()
    if issubclass(type(node), RecordInRow):
        raise node.record_memory.refuse()
    if issubclass(type(node), InPlaces):
        raise as_python_makes_it(recorder, node)
    return node


def refuse_unless_known(leaf: Any) -> None:
    """Refuse a leaf that is the same in all calls, and yet leads to something computed."""
    if holds_traced(leaf):
        raise UnsupportedError(
            f"the traced function returns a {type(leaf).__name__} that holds computed numbers, which a plan does not "
            f"give back: return arrays, numbers, and tuples, lists, dicts, namedtuples and objects of these"
        )


def holds_traced(leaf: Any) -> bool:
    """Whether something traced can be reached, not looking into classes, modules and globals."""
    waiting, seen = [leaf], dict[int, Any]()
    while waiting and len(seen) < MOST_HELD:
        node = waiting.pop()
        kind = type(node)
        if issubclass(kind, Traced):
            return not issubclass(kind, LibraryObject)
        if id(node) in seen or issubclass(kind, PLAIN) or kind.__module__.startswith(OURS):
            continue
        seen[id(node)] = node
        if kind is types.FunctionType:
            waiting += [*(node.__defaults__ or ()), *(node.__kwdefaults__ or {}).values(), *(node.__closure__ or ())]
        elif not issubclass(kind, np.ndarray) or node.dtype == object:
            waiting += node.ravel().tolist() if issubclass(kind, np.ndarray) else gc.get_referents(node)
    return False
