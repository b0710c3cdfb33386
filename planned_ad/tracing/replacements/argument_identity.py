"""Whether arguments are one object, or share memory, where the traced function asks.

In a trace each place of the arguments has an array and containers of its own, which are never those of another place. A
function that asks is recorded for arguments that are apart, as a call checks; where those of the example are not, it
cannot be.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import TraceError
from ...python.complex_parts import ComplexArray
from ...python.instructions import instructions_of
from ...python.source_text import syntax_of
from ...python.structure import Const, Leaf, Repeated, Structure, parts_of, path_of
from ...tape.captured import share_memory
from ..record.recorder import Recorder


@dataclass(slots=True)
class Apart:
    """What the function has asked, so that the arguments of a call have to be `objects` that are not one, or arrays
    that share no `memory`.
    """

    objects: bool = False
    memory: bool = False

    @property
    def any(self) -> bool:
        return self.objects or self.memory


class ArgumentIdentity:
    """By the identity of what stands for it in the trace, each array and container of the arguments."""

    def __init__(self, recorder: Recorder, structure: Structure, names: Sequence[str], traced: Any, example: Any):
        self.recorder, self.apart = recorder, Apart()
        self.nodes = {
            id(node): (node, path, real)
            for (path, node), (_, real) in zip(nodes_of(structure, names, traced), nodes_of(structure, names, example))
        }
        self.before: tuple[tuple[int, int, int], int] | None = None  # the place of the last question, and its node

    def compared(self, obj: Any, place: tuple[int, int, int]) -> None:
        """One side of an `is`: of a frame, a line, and an instruction."""
        if id(obj) not in self.nodes:
            return
        before, self.before = self.before, (place, id(obj))
        if before is not None and before[0][:2] == place[:2] and before[0][2] < place[2] and before[1] != id(obj):
            self.before = None
            self.pair(before[1], id(obj))

    def pair(self, one: int, other: int) -> None:
        self.apart.objects = True
        if self.nodes[one][2] is self.nodes[other][2]:
            raise self.refused(one, other)

    def asked_alone(self, obj: Any) -> None:
        """`id(obj)`, which may be compared with any."""
        if id(obj) in self.nodes:
            self.apart.objects = True
            for other in self.nodes:
                if other != id(obj) and self.nodes[other][2] is self.nodes[id(obj)][2]:
                    raise self.refused(id(obj), other)

    def memory_compared(self, a: Any, b: Any) -> None:
        """`numpy.shares_memory` of arguments, or of views of them."""
        if all(x.storage.root.buffer is not None and x.storage.root.buffer.kind == "argument" for x in (a, b)):
            self.apart.memory = True
            name = a.storage.root.shared_with or b.storage.root.shared_with
            if name:
                raise TraceError(
                    f"{self.recorder.here()}: the traced function asks whether arguments share memory, which one does "
                    f"with `{name}`; pass a copy of it"
                )

    def found(self) -> Apart:
        """What has been asked; where functions without source ask, nobody is told."""
        codes = self.recorder.namespace.codes()
        if not self.apart.objects and any(asks_unseen(code) for code in codes):
            for _, (node, _, _) in list(self.nodes.items()):
                self.asked_alone(node)
        return self.apart

    def refused(self, one: int, other: int) -> TraceError:
        (_, path, _), (_, path_of_other, _) = self.nodes[one], self.nodes[other]
        return TraceError(
            f"{self.recorder.here()}: the traced function asks whether `{path}` and `{path_of_other}` are one object, "
            f"which they are in the example; in a trace each argument is for itself. Pass a copy of one, or tell it by "
            f"an argument of its own"
        )


@functools.lru_cache(maxsize=1024)
def asks_unseen(code: types.CodeType) -> bool:
    """Whether code of which there is no source asks with `is` whether two things are one, none of them a constant."""
    if code.co_name.startswith("__"):  # of a dataclass
        return False
    pairs = itertools.pairwise(instructions_of(code))
    return syntax_of(code) is None and any(b.opname == "IS_OP" and a.opname != "LOAD_CONST" for a, b in pairs)


def nodes_of(structure: Structure, names: Sequence[str], arguments: Any) -> Iterator[tuple[str, Any]]:
    """The arrays and containers of the arguments, by how the user would name them; empty tuples are all one."""

    def visit(structure: Structure, node: Any, path: str) -> Iterator[tuple[str, Any]]:
        node = node.value if isinstance(node, Const) else node
        kind = structure.kind
        if kind is Repeated or (kind is tuple and not structure.children):
            return
        if kind is ComplexArray or structure.children or (kind is Leaf and np.ndim(node) and hasattr(node, "dtype")):
            yield path, node
        if kind is not ComplexArray and structure.children:
            parts = dict(parts_of(node) or ())
            for key, child in zip(structure.keys, structure.children):
                yield from visit(child, parts[key], path + path_of(structure, key))

    for child, node, name in zip(structure.children, arguments, names):
        yield from visit(child, node, name)


def not_apart(structure: Structure, names: Sequence[str], arguments: Any, apart: Apart) -> tuple[str, str] | None:
    """Two places of a call's arguments that should be apart and are not."""
    seen: dict[int, str] = {}
    for path, node in nodes_of(structure, names, arguments):
        if apart.objects and id(node) in seen:
            return seen[id(node)], path
        seen[id(node)] = path
    if apart.memory:
        arrays = [(path, node) for path, node in nodes_of(structure, names, arguments) if isinstance(node, np.ndarray)]
        shared = memory_in_common([array for _, array in arrays], [path for path, _ in arrays])
        for number, path in shared.items():
            return path, arrays[number][0]
    return None


def memory_in_common(examples: list[Any], labels: list[str]) -> dict[int, str]:
    """For each array that shares memory with another argument, the name of that other."""
    arrays = [(k, a) for k, a in enumerate(examples) if isinstance(a, np.ndarray) and a.size]
    arrays.sort(key=lambda item: np.lib.array_utils.byte_bounds(item[1])[0])
    shared: dict[int, str] = {}
    for position, (k, a) in enumerate(arrays):
        end = np.lib.array_utils.byte_bounds(a)[1]
        for j, b in arrays[position + 1 :]:
            if np.lib.array_utils.byte_bounds(b)[0] >= end:
                break
            if share_memory(a, b):
                shared[k], shared[j] = labels[j], labels[k]
    return shared
