"""A list that each iteration makes anew from the one before: its elements are handed on in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.regions import contiguous
from ...tape.tape import Buffer, Value
from ..record.aliases import Refusal, Standing, copy_of
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from .carries import Fresh, NotCarried
from .columns import Array, Column, Nested, Number, Rows, Spec, Stored, joined, spec_of, stored
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from .carries import Joiner


@dataclass
class Listed:
    """A list of numbers or arrays, or of lists of them, that is handed on in memory."""

    buffer: Buffer
    spec: Rows
    site: Any
    kind: type
    depth: int
    standing: Standing
    refuse: Refusal
    storage: Storage | None = None
    is_replaced = True

    def begin(self, recorder: Recorder, index: int) -> Any:
        found = TracedList(recorder, self.site, [], self.kind)
        base = np.empty(self.buffer.shape, self.buffer.dtype)
        storage = Storage(base, self.buffer.line, buffer=self.buffer, depth=self.depth)
        storage.listed = found
        storage.name = (recorder.scopes.indices, "copy", self.buffer.id)
        over = index not in recorder.scopes.indices
        recorder.copies.made(storage, copy_of(self.standing, self.refuse, over=over))
        self.storage = storage
        found.parts.append(Segment(_column(recorder, self.spec.part, storage, base, found, 1), self.spec.length))
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        if not isinstance(value, self.kind) or not is_carried(recorder, self.spec, value):
            raise NotCarried
        self.standing.left = recorder.copies.names_in(value)
        return [(self.buffer, recorder.value_of(value, self.buffer.dtype))]


def _column(recorder: Recorder, spec: Spec, storage: Storage, base: np.ndarray, owner: TracedList, axes: int) -> Column:
    """The elements, of which those of nested lists lie along the first `axes` axes."""
    if isinstance(spec, Rows):
        flat = _column(recorder, spec.part, storage, base, owner, axes + 1)
        return Nested(recorder, spec, spec.length, flat, owner)
    return Stored(recorder, spec, ArrayTracer(recorder, storage, base.reshape(-1, *base.shape[axes:])))


def is_carried(recorder: Recorder, spec: Rows, value: Any) -> bool:
    """Whether the elements of `value` can be handed on as `spec` says."""
    found = stored(spec_of(recorder, value, -1))
    if found is None:
        return False
    return joined(spec, found) == spec and (isinstance(_leaf(spec)[0], Number) or _is_in_memory(value))


def _is_in_memory(value: Any) -> bool:
    """Whether its arrays are those of lists that loops have filled: nothing writes to them."""
    return type(value) is TracedList and all(type(part) is Segment for part in value.parts)


def _leaf(spec: Spec) -> tuple[Any, tuple[int, ...]]:
    """What is in the innermost lists, and the lengths of the lists."""
    lengths = []
    while isinstance(spec, Rows):
        lengths.append(spec.length)
        spec = spec.part
    return spec, tuple(lengths)


def join_lists(joiner: Joiner, name: str, old: Any, new: Any) -> Listed | Fresh:
    """How a variable is handed on that holds a list which a loop has filled, before or after an iteration."""
    recorder = joiner.recorder
    lists = [value for value in (new, old) if type(value) is TracedList]
    if not (isinstance(old, list | tuple) and isinstance(new, list | tuple)) or isinstance(old, list) != isinstance(
        new, list
    ):
        return Fresh(name)
    spec = stored(spec_of(recorder, new, -1))
    if not isinstance(spec, Rows):
        return Fresh(name)
    leaf, lengths = _leaf(spec)
    if not isinstance(leaf, Number | Array) or not is_carried(recorder, spec, new) or not _begins(recorder, spec, old):
        return Fresh(name)
    shape = (*lengths, *(leaf.shape if isinstance(leaf, Array) else ()))
    buffer = recorder.builder.new_buffer("local", name, leaf.dtype, contiguous(shape))
    joiner.initial.append((buffer, old))
    standing = Standing(buffer.id, recorder.copies.names_in(old), left=recorder.copies.names_in(new))
    return Listed(buffer, spec, lists[0].site, lists[0].kind, joiner.depth, standing, joiner.refuse)


def _begins(recorder: Recorder, spec: Rows, old: Any) -> bool:
    """Whether a list from before the loop can be what the first iteration is handed; plain numbers give way."""
    found = stored(spec_of(recorder, old, -1))
    if found is None:
        return False
    (leaf, lengths), (other, others) = _leaf(spec), _leaf(found)
    if lengths != others:
        return False
    if isinstance(leaf, Number) and isinstance(other, Number):
        return np.result_type(other.dtype, leaf.dtype) == leaf.dtype
    return bool(leaf == other) and _is_in_memory(old)
