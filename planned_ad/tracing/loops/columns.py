"""What the elements of a list that a loop fills have in common: the form in which they are its rows.

Tuples and lists of one length are rows too, which few programs need, but these much. Measured, up to the first
gradient: a list of 1,000 pairs 0.2 s, made element by element 8 to 16 s; a list of 100 lists of 100 elements, read
element by element, 0.2 s against 38 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...python.complex_parts import kind_of_parts
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of
from ..values.number_types import types_in
from .counts import Count
from .form import HandedOn
from .forms import Items, Rows, Unchanged, as_letters, as_optional, elements_of, joined
from .held import is_made_of_attributes, is_number, number_type, taken_apart
from .letters import Letter, Letters, is_text_or_member, may_be_chosen
from .none_or_value import NoneOrValue
from .object_copies import may_be_copied
from .references import RecordInRow
from .stored_forms import Array, Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MOST_NESTED = 4
TAKEN_APART = (dict, Letter, NoneOrValue)  # these are an integer, and a truth and a number


def element_form(recorder: Recorder, element: Any, depth: int, objects: int = MOST_NESTED) -> HandedOn | None:
    """The form of an element, for a loop at `depth`; None for what cannot be kept in a column.

    So many `objects` may be in one another: they may lead back to themselves.
    """
    kind = type(element)
    if kind is Segment:  # its loop is over
        return element.column.stored()
    if kind is LoopIndex or kind is int:
        return Count(expression_of(element))  # type: ignore[arg-type]
    if is_number(element):
        return Number(*number_type(element), types=types_in(element), is_data=recorder.is_scalar(element))
    if kind is ArrayTracer:
        storage = element.storage
        is_outside = type(storage) is Storage and storage.depth <= depth and not storage.carried
        if not is_outside and not element.shape:  # in memory it would be a number, to which nobody writes in place
            return None
        return Unchanged(element) if is_outside else Array(element.dtype, element.shape)
    if element is None or is_text_or_member(element):
        return Unchanged(element)
    if kind is TracedList or kind is list:
        return form_of_list(recorder, elements_of(element), depth, objects)
    is_object = is_made_of_attributes(kind)
    is_in_parts = isinstance(element, tuple) or kind in TAKEN_APART or kind_of_parts(element) is not None
    is_in_parts = is_in_parts or (is_object and objects > 0) or issubclass(kind, RecordInRow)
    parts = taken_apart(element) if is_in_parts else None
    if parts is None or (is_object and not may_be_copied(parts[0])):
        return None
    forms = [element_form(recorder, item, depth, objects - is_object) for item in parts[2]]
    return Items(parts[0], parts[1], ()).of(forms)


def form_of_list(recorder: Recorder, parts: list[Any], depth: int, objects: int) -> HandedOn | None:
    """The form of a list: `Rows`, or `Items` where there are integers in it that are known."""
    forms = [element_form(recorder, part, depth, objects) for part in parts]
    if any(isinstance(form, Count) for form in forms):
        return Items(list, tuple(range(len(forms))), ()).of(forms)
    each, length = merged(forms), row_count(parts)
    return Rows(length, each) if each is not None and length is not None else None


def row_count(parts: list[Any]) -> int | None:
    """How many elements there are; None where that differs between the iterations of the loops around."""
    lengths = [part.length if type(part) is Segment else 1 for part in parts]
    return sum(lengths) if all(type(n) is int for n in lengths) else None  # type: ignore[return-value]


def merged(forms: list[HandedOn | None]) -> HandedOn | None:
    """The form of elements that are in the same column."""
    if not forms or None in forms:
        return None
    found = forms[0]
    for other in forms[1:]:
        if has_counts(found) or has_counts(other):  # one more in each row, and not in each iteration
            found = stored(found)
        found = in_one_column(found, other)
    return found


def has_counts(form: HandedOn | None) -> bool:
    """Whether there are integers in elements of this form that follow from the indices of the loops around."""
    return form is not None and (isinstance(form, Count) or any(map(has_counts, form.parts())))


def in_one_column(a: HandedOn | None, b: HandedOn | None) -> HandedOn | None:
    """The form of elements of either; of texts, and of None and a number, in which data choose."""
    found = joined(a, b, exact=True)
    if found is not None or a is None or b is None:
        return found
    if isinstance(a, Items) and isinstance(b, Items) and (a.kind, a.keys) == (b.kind, b.keys):
        return a.of([in_one_column(one, other) for one, other in zip(a.items, b.items)])
    one, other = as_letters(*as_optional(a, b))
    return None if one is a and other is b else joined(stored(one), stored(other), exact=True)


def stored(form: HandedOn | None) -> HandedOn | None:
    """In memory."""
    return None if form is None else form.stored()


def types_of_leaves(form: HandedOn | None) -> list[object]:
    """Of which types the numbers in elements of this form may be, where those are several."""
    return [] if form is None else [leaf.types for leaf in form.leaves() if isinstance(leaf, Number)]


def may_be_kept(recorder: Recorder, form: HandedOn) -> bool:
    """Whether data may choose between the texts in elements of this form."""
    kind = form.kind if isinstance(form, Items) else None
    if isinstance(kind, Letters) and not may_be_chosen(recorder, kind.texts):
        return False
    return all(may_be_kept(recorder, part) for part in form.parts())


def is_chosen_in(form: HandedOn) -> bool:
    """Whether data choose between texts, or whether there is something, in elements of this form."""
    is_chosen = isinstance(form, Items) and (form.kind is NoneOrValue or isinstance(form.kind, Letters))
    return is_chosen or any(map(is_chosen_in, form.parts()))
