"""What a traced function returns, leaf by leaf."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.structure import Structure, flatten
from ...tape.guards import decides
from ...tape.tape import Value
from ..lengths.run_time_arrays import RunTimeArray
from ..loops.list_in_trace import is_traced_list
from ..record.promotion import KINDS
from ..record.recorder import Recorder
from ..record.traced import LibraryObject
from ..values.array_classes import ClassArray, unwrapped
from .returned import plain_result, refuse_unless_known


@dataclass
class Results:
    """What the function returns, leaf by leaf; see `Trace`."""

    structure: Structure
    leaves: list[tuple[str, object]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, kind: str, leaf: tuple[str, object]) -> None:
        self.kinds.append(kind)
        self.leaves.append(leaf)


def results_of(recorder: Recorder, result: Any) -> Results:
    """The leaves of what the traced function has returned."""
    leaves, structure = flatten(result, read=plain_result(recorder))
    found = Results(structure)
    if len(leaves) == 1 and is_one_of_several(recorder, leaves[0]):
        leaves = [recorder.result(recorder.constant(float(leaves[0])))]
        leaves[0].is_python = True
    for leaf in leaves:
        kind = kind_of_result(recorder, leaf)
        if kind == "static":
            refuse_unless_known(leaf)
            is_code = isinstance(leaf, types.FunctionType | types.MethodType | type)
            found.add(kind, (kind, recorder.namespace.unshadowed(leaf) if is_code else leaf))
        else:
            found.add(kind, ("value", len(found.values)))
            found.values.append(recorder.value_of(leaf))
            recorder.builder.use(found.values[-1])
    return found


def kind_of_result(recorder: Recorder, leaf: Any) -> str:
    """What a call makes of a leaf."""
    if is_traced_list(leaf):
        raise leaf.refuse()
    if recorder.is_array(leaf) or (type(leaf) is np.ndarray and leaf.dtype in KINDS):
        return "array"
    if recorder.is_scalar(leaf):
        return "float" if leaf.is_python else "scalar"
    if issubclass(type(leaf), LibraryObject):
        kind = leaf.__class__.__name__
        raise UnsupportedError(
            f"the traced function returns a {kind}, which a plan does not: return the arrays that it is made of"
        )
    if type(leaf) is RunTimeArray:
        raise UnsupportedError(
            f"the traced function returns an array whose length is known at run time only, made at {leaf.line}: "
            f"`{leaf.line.text}`. Return a number computed from it, or write it into an array of a known length."
        )
    return "static"


def is_one_of_several(recorder: Recorder, result: Any) -> bool:
    """Whether a result is a known number since a test came out so: as a value it has a derivative, which is zero."""
    is_number = not recorder.is_scalar(result) and (isinstance(result, float | np.floating) or type(result) is int)
    return is_number and any(map(decides, recorder.builder.operations))


def with_plain_lists(result: Any) -> Any:
    """A result with the elements of lists that loops have filled one by one, and arrays of classes as plain ones."""
    kind = type(result)
    if issubclass(kind, ClassArray):
        return unwrapped(result)
    if is_traced_list(result):
        return with_plain_lists(result.elements())
    if kind is list or kind is tuple:
        return kind(with_plain_lists(item) for item in result)
    return {key: with_plain_lists(item) for key, item in result.items()} if kind is dict else result
