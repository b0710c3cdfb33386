"""In which form a variable comes out of a branch, whichever side was taken: what each side leaves for it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.regions import contiguous
from ...tape.tape import Buffer
from ..record.aliases import Copy
from ..record.blocks import Block, Made
from ..record.lost_variables import BEHIND, DIFFERS, Lost
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .carries import is_alone, is_number, memory_of, number_type, put_together, same, taken_apart
from .state import Place, State

if TYPE_CHECKING:
    from ..record.recorder import Recorder

ABSENT = object()  # the value of a variable that a side has not assigned
KINDS = "biuf"  # of dtypes, the narrower ones first


@dataclass(frozen=True, slots=True)
class Nothing:
    """Not to be had: assigned on one side only, or different kinds of things, or behind."""

    reason: str = DIFFERS


@dataclass(frozen=True, slots=True)
class First:
    """The same thing on both sides."""

    value: Any


@dataclass(frozen=True, slots=True)
class Scalar:
    buffer: Buffer
    is_python: bool


@dataclass(frozen=True, slots=True)
class Whole:
    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Several:
    kind: type
    keys: tuple[Any, ...]
    items: list[Any]


def fits(recorder: Recorder, form: Any, value: Any) -> bool:
    """Whether a value can be handed on in this form."""
    if value is ABSENT:
        return False
    if isinstance(form, First):
        return same(form.value, value)
    if isinstance(form, Several):
        parts = taken_apart(value)
        if parts is None or parts[0] is not form.kind or parts[1] != form.keys:
            return False
        return all(fits(recorder, item, part) for item, part in zip(form.items, parts[2]))
    if isinstance(form, Scalar):
        if not is_number(recorder, value):
            return False
        dtype, is_python = number_type(recorder, value)
        weak = is_python and not recorder.is_scalar(value)
        return (weak or np.result_type(dtype, form.buffer.dtype) == form.buffer.dtype) and (
            is_python or not form.is_python
        )
    if isinstance(form, Whole):
        return recorder.is_array(value) and (value.shape, value.dtype) == (form.buffer.shape, form.buffer.dtype)
    return False


def is_private(array: Any, state: State) -> bool:
    """Whether nothing but the variable that holds an array leads to its memory."""
    storage = memory_of(array)
    if storage.chosen or storage.lent or storage.captured or (storage.buffer is not None and storage.buffer.visible):
        return False
    return sum(memory_of(other) is storage for _, value in state.values.values() for other in arrays_in(value)) == 1


def arrays_in(value: Any) -> Iterator[ArrayTracer]:
    """The arrays that a variable leads to through tuples, lists and dicts."""
    if type(value) is ArrayTracer:
        yield value
    elif type(value) is tuple:  # the items of lists and dicts are places of their own
        for item in value:
            yield from arrays_in(item)


def cannot_be_chosen(recorder: Recorder, value: Any, state: State) -> str:
    """Why a copy of what a side leaves cannot stand for it; empty where it can."""
    if recorder.copies.is_behind(value):
        return BEHIND
    parts = taken_apart(value)
    if parts is None:
        return ""
    if parts[0] in (list, dict) and not is_alone(value, state):
        return "a list or dict that is reached elsewhere too"
    return next(filter(None, (cannot_be_chosen(recorder, part, state) for part in parts[2])), "")


def choose(recorder: Recorder, place: Place, form: Any, value: Any, old: Any) -> Any:
    """The form in which a changed variable comes out of the branch, whichever side was taken."""
    if isinstance(form, Nothing):
        return form
    if form is not None:
        return form if fits(recorder, form, value) else joined(recorder, place, form, value)
    if value is ABSENT or old is ABSENT:
        return Nothing() if value is ABSENT else joined(recorder, place, First(value), value)
    return joined(recorder, place, First(old), value)


def joined(recorder: Recorder, place: Place, form: Any, value: Any) -> Any:
    """The form that fits what `form` was for, and `value`."""
    if value is ABSENT:
        return Nothing()
    if isinstance(form, First):
        other = form.value
        if other is ABSENT:
            return Nothing()
        if same(other, value) and not recorder.is_scalar(value) and not recorder.is_array(value):
            return form
        parts, others = taken_apart(value), taken_apart(other)
        if parts is not None and others is not None and parts[:2] == others[:2]:
            items = [joined(recorder, place, First(a), b) for a, b in zip(others[2], parts[2])]
            return Several(parts[0], parts[1], items)
        if is_number(recorder, other) and is_number(recorder, value):
            (a, first_python), (b, second_python) = number_type(recorder, other), number_type(recorder, value)
            dtype = np.result_type(a, b)
            if first_python and not recorder.is_scalar(other) and KINDS.index(a.kind) <= KINDS.index(b.kind):
                dtype = b  # a plain number gives way
            elif second_python and not recorder.is_scalar(value) and KINDS.index(b.kind) <= KINDS.index(a.kind):
                dtype = a
            return Scalar(memory_for(recorder, place, dtype, ()), first_python and second_python)
        arrays = recorder.is_array(other) and recorder.is_array(value)
        if arrays and other.shape == value.shape and other.dtype == value.dtype:
            return Whole(memory_for(recorder, place, value.dtype, value.shape))
        return Nothing()
    if isinstance(form, Several):
        parts = taken_apart(value)
        if parts is None or parts[0] is not form.kind or parts[1] != form.keys:
            return Nothing()
        items = [f if fits(recorder, f, v) else joined(recorder, place, f, v) for f, v in zip(form.items, parts[2])]
        return Several(form.kind, form.keys, items)
    if isinstance(form, Scalar) and is_number(recorder, value):
        dtype, is_python = number_type(recorder, value)
        return Scalar(
            memory_for(recorder, place, np.result_type(dtype, form.buffer.dtype), ()), form.is_python and is_python
        )
    return Nothing()


def memory_for(recorder: Recorder, place: Place, dtype: np.dtype, shape: tuple[int, ...]) -> Buffer:
    with recorder.scopes.beside(Block(Made())):  # kept in the form
        return recorder.builder.new_buffer("local", place.name, dtype, contiguous(shape))


def is_copy(form: Any) -> bool:
    """Whether arrays are copied in this form."""
    return isinstance(form, Whole) or (isinstance(form, Several) and any(is_copy(item) for item in form.items))


def hand_on(recorder: Recorder, form: Any, value: Any) -> None:
    """Leave a value in memory at the end of a side."""
    if isinstance(form, Several):
        parts = taken_apart(value)
        assert parts is not None
        for item, part in zip(form.items, parts[2]):
            hand_on(recorder, item, part)
    elif isinstance(form, Scalar):
        recorder.builder.store(form.buffer.whole, recorder.value_of(plain_or_traced(value), form.buffer.dtype))
    elif isinstance(form, Whole):
        recorder.builder.store(form.buffer.whole, value.read())


def taken_up(recorder: Recorder, form: Any, place: Place, shared: bool, copy: Copy) -> Any:
    """What a variable holds after the branch."""
    if isinstance(form, Nothing):
        return Lost(recorder, place.name, form.reason)
    if isinstance(form, First):
        return form.value
    if isinstance(form, Several):
        return put_together(form.kind, form.keys, [taken_up(recorder, item, place, True, copy) for item in form.items])
    if isinstance(form, Scalar):
        return ScalarTracer(recorder, recorder.builder.load(form.buffer.whole), form.is_python)
    assert isinstance(form, Whole)
    found = recorder.copies.array_in(form.buffer, copy)
    found.storage.chosen |= shared
    return found
