"""In which form a variable comes out of a branch, whichever side was taken: what each side leaves for it in memory."""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.complex_parts import ComplexArray, kind_of_parts
from ...regions.regions import contiguous
from ...tape.tape import Buffer
from ..record.aliases import Copy
from ..record.blocks import Block
from ..record.lost_variables import BEHIND
from ..values.array_tracer import ArrayTracer
from .dict_tables import DictTable
from .form import HandedOn
from .forms import Items, Nothing, Unchanged, joined
from .held import has_places, is_alone, memory_of, taken_apart
from .lengths_of_data import OfAnyLength, of_several_lengths
from .none_or_value import NoneOrValue
from .object_copies import sites_of_lists
from .places import Place
from .references import refer, site_of_record, sites_to_refer
from .state import State
from .stored_forms import Array
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder

ABSENT = object()  # the value of a variable that a side has not assigned


def choose(
    recorder: Recorder,
    apart: Block,
    place: Place,
    form: HandedOn | None,
    value: Any,
    old: Any,
    state: State,
    known: Container[int],
) -> HandedOn:
    """The form in which a changed variable comes out of the branch: `form` where that fits what a side leaves.

    Its memory belongs to the block `apart`, which is in front of the loop around. What is in lists and dicts, except
    in those that are `known` (by ids) before the branch and have places of their own, comes out with it.
    """
    if value is ABSENT:
        return Nothing()
    reason = cannot_be_chosen(recorder, value, state)
    if reason:
        return Nothing(reason, records=sites_to_refer(recorder, value, *(() if old is ABSENT else (old,))))
    if form is None:
        form = Unchanged(value if old is ABSENT else old)
    found = joined(form, Unchanged(value)) or of_several_lengths(recorder, form.opened(), Unchanged(value).opened())
    found = None if found is None else with_lists(recorder, found, value, old)
    if isinstance(found, Items) and found.kind in (list, dict) and found.shown is None:
        shown = site_of_record(recorder, value)
        found = found if shown is None else replace(found, shown=shown)

    def allocate(dtype: np.dtype, shape: tuple[int, ...]) -> Buffer:
        with recorder.scopes.beside(apart):
            return recorder.builder.new_buffer("local", place.name, dtype, contiguous(shape))

    if found is None:
        return Nothing(records=sites_to_refer(recorder, value, *(() if old is ABSENT else (old,))))
    return opened_where_traced(found, known).placed(allocate)


def with_lists(recorder: Recorder, form: HandedOn, *values: Any) -> HandedOn:
    """A form of these values which knows of each part in which lists that is."""
    if not recorder.copied or not isinstance(form, Items):
        return form
    parts = [taken_apart(value) for value in values]
    known = [part[2] for part in parts if part is not None and part[:2] == (form.kind, form.keys)]
    items = tuple(with_lists(recorder, item, *own) for item, own in zip(form.items, zip(*known)))
    items, listed = items or form.items, form.listed | sites_of_lists(recorder, *values)
    if listed == form.listed and all(map(operator.is_, items, form.items)):
        return form
    return replace(form, items=items, listed=listed)


def records_instead(recorder: Recorder, forms: Iterable[HandedOn]) -> BaseException | None:
    """What to raise where places of which one is read hold one thing or another that could be records."""
    sites = set().union(*(form.records for form in forms if isinstance(form, Nothing)))
    return recorder.scopes.restart() if refer(recorder, sites) else None


def opened_where_traced(form: HandedOn, known: Container[int]) -> HandedOn:
    """A form in which nothing traced is `Unchanged`, since each pass makes it anew."""
    if isinstance(form, Unchanged):
        parts = None if id(form.value) in known or not leads_to_traced(form.value, known) else form.opened()
        form = form if parts is None else parts
    if isinstance(form, Items):
        items = tuple(opened_where_traced(item, known) for item in form.items)
        return form if all(map(operator.is_, items, form.items)) else replace(form, items=items)
    return form


def leads_to_traced(value: Any, known: Container[int]) -> bool:
    """Whether it is traced, or a tuple, list or dict that holds something traced, at whatever depth."""
    parts = None if id(value) in known else taken_apart(value)
    if parts is None:
        return Unchanged(value).is_traced
    return any(leads_to_traced(part, known) for part in parts[2])


def taken_up(recorder: Recorder, form: HandedOn, index: int, name: str, copy: Copy, shared: bool) -> Any:
    """What a variable holds after a branch; arrays are copies, `shared` where something else may lead to them."""
    for leaf in form.leaves():
        if isinstance(leaf, Nothing):
            leaf.refuse = copy.refuse
        if isinstance(leaf, Array | OfAnyLength):
            leaf.copy, leaf.shared = copy, shared or leaf is not array_form(form)
    return form.begin(recorder, index, name)


def array_form(form: HandedOn) -> HandedOn:
    """The form of the array that a variable holds by itself, also where it holds None or one."""
    return form.items[1] if isinstance(form, Items) and form.kind is NoneOrValue else form


def is_private(array: Any, state: State) -> bool:
    """Whether nothing but the variable that holds an array, or None or one, leads to its memory."""
    if array is None:
        return True
    storage = memory_of(array.held if type(array) is NoneOrValue else array)
    if storage.chosen or storage.lent or storage.captured or storage.listed is not None:
        return False
    if storage.buffer is not None and storage.buffer.visible:
        return False
    return sum(memory_of(other) is storage for _, value in state.values.values() for other in arrays_in(value)) == 1


def arrays_in(value: Any) -> Iterator[ArrayTracer]:
    """The arrays that a variable leads to through tuples, lists and dicts."""
    if type(value) is ArrayTracer:
        yield value
    elif kind_of_parts(value) is ComplexArray:
        yield value.pairs
    elif type(value) in (TracedList, DictTable) and value.is_written:
        yield value.memory
    elif type(value) is NoneOrValue and value.is_array:
        yield value.held
    elif issubclass(type(value), tuple):  # the items of lists and dicts are places of their own
        for item in value:
            yield from arrays_in(item)


def cannot_be_chosen(recorder: Recorder, value: Any, state: State) -> str:
    """Why a copy of what a side leaves cannot stand for it; empty where it can."""
    if recorder.copies.is_behind(value):
        return BEHIND
    parts = taken_apart(value)
    if parts is None:
        return ""
    if has_places(parts[0]) and not is_alone(value, state):
        return "a list or dict that is reached elsewhere too"
    return next(filter(None, (cannot_be_chosen(recorder, part, state) for part in parts[2])), "")
