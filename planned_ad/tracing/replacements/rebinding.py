"""What a traced function puts in the place of the attributes of its arguments, such as `self.t += dt` does.

A call of the plan does the same: the object gets the new number, or a new array, and the old array stays as it was.
On the tape it is a last write to the attribute's buffer, which for an array is a copy made for the call; so the shadow
of the attribute goes from the adjoint of what it holds in the end to that of what it held on entry.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ...errors import TraceError
from ...python.complex_parts import is_complex_kind
from ...python.namespace import Namespace
from ...python.shadows import real_class
from ...python.structure import (
    Const,
    Leaf,
    Repeated,
    Structure,
    flatten,
    is_object_class,
    kind_of_node,
    parts_of,
    path_of,
)
from ...tape.tape import Value, walk
from ..record.leaves import ArgumentLeaf
from ..record.lost_variables import Lost, read_lost
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.scalar_tracer import ScalarTracer


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A container or leaf of the arguments, and what it held before the function ran."""

    node: Any
    structure: Structure
    path: str
    children: tuple[Snapshot, ...]


def snapshots(structure: Structure, arguments: Sequence[Any], names: Sequence[str]) -> list[Snapshot]:
    """Of each argument, what is in it now."""

    def snapshot(node: Any, structure: Structure, path: str) -> Snapshot:
        children = []
        if structure.children:
            values = dict(parts_of(node) or ())
            for key, child in zip(structure.keys, structure.children):
                children.append(snapshot(values[key], child, path + path_of(structure, key)))
        return Snapshot(node=node, structure=structure, path=path, children=tuple(children))

    return [snapshot(node, part, name) for node, part, name in zip(arguments, structure.children, names)]


def paths_changed(before: Sequence[Snapshot]) -> Iterator[str]:
    """The paths of what holds other objects now, or more or fewer of them."""
    for old in before:
        yield from _changed(old, old.node)


def _changed(old: Snapshot, new: Any) -> Iterator[str]:
    kind = old.structure.kind
    if new is not old.node:
        yield old.path
    elif kind not in (Leaf, Repeated) and not is_complex_kind(kind):  # complex ones are leaves to a program
        parts = dict(parts_of(new) or ())
        if tuple(parts) != old.structure.keys:
            yield old.path
        else:
            for key, child in zip(old.structure.keys, old.children):
                yield from _changed(child, parts[key])


def rebound(before: Sequence[Snapshot]) -> dict[int, Any]:
    """Numbers of the leaves that are attributes of objects and are other values now, with these.

    A tuple, list or dict in an attribute may be another one, like it. All other changes of containers are refused.
    """
    found: dict[int, Any] = {}
    count = 0

    def visit(old: Snapshot, new: Any, may_differ: bool) -> None:
        nonlocal count
        kind = old.structure.kind
        is_tuple = isinstance(kind, type) and issubclass(kind, tuple) and real_class(type(new)) is kind
        if new is not old.node and not may_differ and not is_tuple:  # of an equal tuple, only the items count
            refuse_item(old.path)
        if kind is Leaf:
            if new is not old.node:
                found[count] = new
            count += 1
            return
        parts = dict(parts_of(new) or ())
        if new is not old.node and (
            kind in (Repeated, type(None)) or is_object_class(kind) or kind_of_node(new) is not kind
        ):
            refuse_attribute(old.path, "another object")
        if kind is Repeated:
            return
        if is_object_class(kind):
            for name in parts.keys() ^ set(old.structure.keys):
                what = "a new attribute" if name in parts else "deletes it"
                refuse_attribute(old.path + path_of(old.structure, name), what)
        elif tuple(parts) != old.structure.keys:
            refuse_attribute(old.path, "one with other items") if new is not old.node else refuse_item(old.path)
        inside = is_object_class(kind) or (may_differ and new is not old.node)
        for key, child in zip(old.structure.keys, old.children):
            visit(child, parts[key], inside)

    for argument in before:
        visit(argument, argument.node, False)
    return found


def refuse_item(path: str) -> NoReturn:
    raise TraceError(
        f"the traced function puts another object in the place of `{path}`, or adds to it, in a list or dict that it "
        f"was passed. A call of the plan would not: write into the array instead (`a[...] = new`), or return what is "
        f"new."
    )


def refuse_attribute(path: str, what: str) -> NoReturn:
    raise TraceError(
        f"the traced function sets the attribute `{path}` ({what}), which a call of the plan could not do. "
        f"An attribute of an argument may become another number, or a new array of the same shape and dtype. Else "
        f"write into the array that is there (`a[...] = new`), or return what is new."
    )


def store_rebound(
    recorder: Recorder, found: dict[int, Any], leaves: Sequence[ArgumentLeaf], arguments: Sequence[Any]
) -> list[ArgumentLeaf]:
    """Record what the attributes hold in the end as last writes to their buffers; the leaves, marked."""
    marked = list(leaves)
    if not found:
        return marked
    check_owners(found, arguments, leaves)
    stores: list[tuple[int, Value]] = []
    arrays = {number: new for number, new in found.items() if leaves[number].kind == "array"}
    for number, new in found.items():
        leaf = leaves[number]
        if issubclass(type(new), Lost):
            read_lost(new)
        if leaf.kind == "float":
            assert leaf.buffer is not None
            kind = kind_of_number(leaf, new)
            stores.append((leaf.buffer, recorder.value_of(float(new) if kind is int else new, leaf.dtype)))
            marked[number] = dataclasses.replace(leaf, rebound=kind)
        elif leaf.kind == "static" and (type(new) is not type(leaf.value) or not is_plain(new) or new != leaf.value):
            what = f"it was {leaf.value!r}, which is part of the plan; begin with a float or an array"
            refuse_attribute(leaf.path, what)
    written = {region.buffer for op in walk(tuple(recorder.builder.operations)) for region in op.writes}
    for number, source in memory_of_arrays(arrays, leaves, arguments).items():
        leaf, memory = marked[number], marked[source]
        marked[number] = dataclasses.replace(leaf, rebound=np.ndarray, holds=source)
        if source_of(arrays[number], leaves) is None:
            assert memory.buffer is not None
            if memory.buffer in written:
                refuse_attribute(memory.path, "after it has written into the array that was there")
            stores.append((memory.buffer, recorder.value_of(arrays[number], leaf.dtype)))
            marked[source] = dataclasses.replace(marked[source], is_fresh=True)
    for buffer, value in stores:  # after all have been read
        recorder.builder.store(recorder.builder.buffers[buffer].whole, value)
    return marked


def memory_of_arrays(
    arrays: dict[int, Any], leaves: Sequence[ArgumentLeaf], arguments: Sequence[Any]
) -> dict[int, int]:
    """For each array attribute that is set, the leaf whose memory it shows in the end.

    Arrays that change places, as in `self.u, self.v = self.v, self.u`, go on being what they are. A new array takes the
    place, in the tape's memory, of the one that is dropped: of `self.old, self.u = self.u, new`, that of `self.old`.
    """
    argument_of = [k for k, argument in enumerate(arguments) for _ in flatten(argument)[0]]
    moved: dict[int, int] = {}  # from the leaf that an array was to the one that it is
    taken: list[Storage] = []
    for number, new in arrays.items():
        leaf, source = leaves[number], source_of(new, leaves)
        if type(new) not in (ArrayTracer, np.ndarray) or (new.shape, new.dtype) != (leaf.shape, leaf.dtype):
            refuse_attribute(leaf.path, f"it was an array of shape {leaf.shape} and dtype {leaf.dtype}")
        if source is not None:
            old = leaves[source]
            if source in moved or source not in arrays or argument_of[source] != argument_of[number]:
                refuse_attribute(leaf.path, f"to `{old.path}`, which is reached elsewhere too; make a copy")
            if (old.strides, old.active) != (leaf.strides, leaf.active):
                refuse_attribute(leaf.path, f"to `{old.path}`, which has another layout or activity; make a copy")
            moved[source] = number
        elif type(new) is ArrayTracer:
            storage = new.storage.root
            is_argument = storage.buffer is not None and storage.buffer.kind == "argument"
            if storage.captured or storage.chosen or is_argument or any(storage is other for other in taken):
                refuse_attribute(leaf.path, "an array that is reached elsewhere too, or a view of one; make a copy")
            taken.append(storage)
    holds = {number: source for source, number in moved.items()}
    for number in arrays.keys() - holds.keys():
        dropped = number
        while dropped in moved:
            dropped = moved[dropped]
        holds[number] = dropped
    return dict(sorted(holds.items()))


def source_of(new: Any, leaves: Sequence[ArgumentLeaf]) -> int | None:
    """The array argument that `new` is, as a whole."""
    if type(new) is not ArrayTracer or type(new.storage) is not Storage:
        return None
    buffer = new.storage.buffer
    if buffer is None or buffer.kind != "argument" or new.storage.view_of(new.geometry) != buffer.view:
        return None
    return next(number for number, leaf in enumerate(leaves) if leaf.buffer == buffer.id)


def kind_of_number(leaf: ArgumentLeaf, new: Any) -> type:
    """The type of number that takes the place of a float."""
    assert leaf.dtype is not None
    if type(new) is ScalarTracer and new.dtype == leaf.dtype:
        return float if new.is_python else leaf.dtype.type
    if type(new) is int or (issubclass(type(new), float | np.floating) and np.asarray(new).dtype == leaf.dtype):
        return type(new)
    refuse_attribute(leaf.path, f"it was a {leaf.dtype} number")


def is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str | bytes | complex)


def check_owners(found: dict[int, Any], arguments: Sequence[Any], leaves: Sequence[ArgumentLeaf]) -> None:
    """Refuse changed attributes of an object that two arguments lead to: each would have its own."""
    path = shared_owner(arguments, set(found), [leaf.path for leaf in leaves])
    if path:
        refuse_attribute(path, "of an object that two arguments lead to; pass it once")


def check_captured(namespace: Namespace, arguments: Sequence[Any], names: Sequence[str]) -> None:
    """Refuse an object that is an argument and is reached from outside as well, where its numbers are constants."""
    for argument, name in zip(arguments, names):
        seen: set[int] = set()
        for _ in owners_of_leaves(argument, 0, seen):
            pass
        found = namespace.real_of(seen)
        if found is not None:
            raise TraceError(
                f"the traced function reaches an object of the argument `{name}`, a {type(found).__name__}, from "
                f"outside too: a global, a closure, or a function in an attribute. There, its numbers would be "
                f"constants. Use the argument instead, or a method in place of a function that closes over it."
            )


def shared_owner(arguments: Sequence[Any], numbers: set[int], labels: Sequence[str]) -> str:
    """The path of a leaf, among these, in an object that another argument leads to as well; else empty."""
    reached: list[set[int]] = []
    owned: list[list[tuple[int, int]]] = []
    count = 0
    for argument in arguments:
        seen: set[int] = set()
        owners: list[tuple[int, int]] = []
        for owner in owners_of_leaves(argument, 0, seen):
            if count in numbers:
                owners.append((owner, count))
            count += 1
        reached.append(seen)
        owned.append(owners)
    for k, owners in enumerate(owned):
        for owner, number in owners:
            if any(owner in seen for j, seen in enumerate(reached) if j != k):
                return labels[number]
    return ""


def owners_of_leaves(node: Any, owner: int = 0, seen: set[int] | None = None) -> Iterator[int]:
    """For each leaf, the identity of the innermost object around it, or 0; `seen` gets those of all objects."""
    seen = set() if seen is None else seen
    if isinstance(node, Const):
        yield from owners_of_leaves(node.value, owner, seen)
        return
    parts = parts_of(node)
    if parts is None or type(node) is types.MethodType:
        yield owner
        return
    if is_object_class(real_class(type(node))):
        if id(node) in seen:
            return
        seen.add(id(node))
        owner = id(node)
    for _, part in parts:
        yield from owners_of_leaves(part, owner, seen)
