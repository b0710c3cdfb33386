"""Lists of numbers to whose items a loop writes, `c[i] = c[i - 1] + x[i]`: they lie in memory, as an array does.

Where a loop begins, each list that was made where such a list is made gets memory of its own; so do lists of lists of
one length, whose rows are then parts of one memory. What only an ordinary list can do makes the trace start again with
an ordinary list, whose loops are unrolled. Measured, up to the first gradient: a soft dynamic time warping of 60 by 60
numbers in a list of lists 0.14 s, item by item 54 s.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.statements import may_ask_identity
from ...regions.affine import Extent
from ..record.promotion import INT
from ..record.storage import LIVE, Storage
from ..record.traced import TracedArray
from .columns import element_form, merged, row_count, stored
from .forms import Rows, innermost_form, put_parts
from .held import is_number, taken_apart
from .laying_down import to_replace_rows
from .list_growth import lists_in
from .list_in_trace import is_traced_list
from .none_or_value import NoneOrValue
from .object_copies import is_whole, lend_to_list, note_copy
from .references import RecordKind, site_of_record, unite
from .stored_forms import Array, Number
from .traced_list import Segment, TracedList
from .written_forms import Row, Written, WrittenArrays, common_number, follow_displays, numbers_in_rows

if TYPE_CHECKING:
    from ..record.recorder import Recorder


def lay_down(recorder: Recorder) -> None:
    """Give the lists made in this block their memory, before a loop or branch begins that may write to them."""
    here = recorder.scopes.innermost
    made = [found for reference in recorder.written_lists if (found := reference()) is not None]
    recorder.written_lists = [weakref.ref(found) for found in made]
    for found in sorted(made, key=lambda made: -depth_of(made)):  # lists of lists first
        is_filled_first = found.is_plain and recorder.scopes.decisions.filled_first.get(found.site)
        is_laid = found.is_written or found.is_element or found.has_pending or is_filled_first
        if found.scope is here and found.kind is list and not is_laid:
            lay_down_list(recorder, found)


def depth_of(obj: Any) -> int:
    """How many lists are in one another."""
    return 1 + (depth_of(obj.parts[0]) if obj.parts else 0) if type(obj) is TracedList else 0


def lay_down_list(recorder: Recorder, target: TracedList) -> None:
    """One such list; it stays as it is where its items are not numbers, or lists of one length."""
    follow_rows(recorder, target)
    reference = common_reference(target)
    if reference is not None:
        put_references(recorder, target, reference)
        return
    if target.site in recorder.scopes.decisions.replaced and (form := form_of_arrays(recorder, target)) is not None:
        put_arrays(recorder, target, form)
        return
    if fits_in_rows(recorder, target):
        put_in_rows(recorder, target)
        return
    rows: list[Row] = []
    shape = shape_of_list(target, (), rows)
    if shape is None or len({id(row) for row, _ in rows}) < len(rows):
        return
    decided = [recorder.scopes.decisions.written.get(row.site) for row, _ in rows]
    number = common_number([form for form in decided if form is not None] + list(numbers_in_rows(rows)))
    if number is None:
        return
    recorder.records.within[target.site] = {row.site for row, where in rows if where}
    memory = recorder.call(np.array, (target.traced(),), {"dtype": number.dtype})
    memory.storage.line = target.line
    given = [weakref.ref(row) for row, where in rows if where]
    for row, where in rows:
        part = memory[where] if where else memory
        column = Written(number, part, given=given, site=target.site)
        row.parts, row.is_written = [Segment(column, part.shape[0])], True


def common_reference(target: TracedList) -> RecordKind | None:
    """As what its items are handed on, where all are records; these lie in one memory from now on."""
    kinds = [kind_of_items(part) for part in target.parts]
    if not kinds or not all(isinstance(kind, RecordKind) for kind in kinds):
        return None
    for kind in kinds:
        unite(kind, kinds[0])
    return kinds[0]  # type: ignore[no-any-return]


def kind_of_items(part: Any) -> Any:
    """As what an item, or those of a segment, are handed on."""
    if type(part) is Segment:
        return part.column.reference if isinstance(part.column, Written) else getattr(part.column, "kind", None)
    found = taken_apart(part)
    return None if found is None else found[0]


def rows_of_records(part: Any) -> Any:
    """The numbers of the rows of a record, or of a segment of them."""
    if type(part) is not Segment:
        return part.record_row
    column = part.column
    return Segment(replace(column, reference=None) if isinstance(column, Written) else column.items[0], part.length)


def put_references(recorder: Recorder, target: TracedList, reference: RecordKind) -> None:
    """A list of records, of which others may take the place: it is the numbers of their rows."""
    rows = TracedList(recorder, target.site, list(map(rows_of_records, target.parts)))
    memory = recorder.call(np.array, (rows.traced(),), {"dtype": INT})
    memory.storage.line = target.line
    found = Written(Number(INT, is_python=True), memory, reference)
    target.parts, target.is_written = [Segment(found, memory.shape[0])], True


def fits_in_rows(recorder: Recorder, target: TracedList) -> bool:
    """Whether the items, one by one, are arrays of one shape, or tuples or objects of like ones."""
    if not target.is_plain or not target.parts or all(map(is_number, target.parts)):
        return False
    form = merged([element_form(recorder, part, -1) for part in target.parts])
    return form is not None and not isinstance(form, Rows) and stored(form) is not None


def put_in_rows(recorder: Recorder, target: TracedList) -> None:
    """Items that a loop reads by an index that data decide are rows of memory, to which nobody writes."""
    form = stored(merged([element_form(recorder, part, -1) for part in target.parts]))
    assert form is not None
    sites = {site_of_record(recorder, part) for part in target.parts}
    if None not in sites:
        recorder.records.within[target.site] = sites  # type: ignore[assignment]
    for part in target.parts:
        lend_to_list(target, part)
        note_copy(recorder, target.site, part)
        for inner in lists_in(part):
            if type(inner) is TracedList:
                inner.is_element = True  # a loop that has begun before may yet write to it
    column = form.in_rows(len(target.parts), target, -1, target.depth)
    put_parts(column, 0, target.parts)
    target.parts = [Segment(column, len(target.parts))]


def form_of_arrays(recorder: Recorder, target: TracedList) -> Array | None:
    """That of the items, which are arrays of one shape."""
    parts = target.parts
    if not all(isinstance(row_count([part]), int) for part in parts):
        return None
    forms = [part.column if type(part) is Segment else element_form(recorder, part, -1) for part in parts]
    found = stored(merged(forms)) if forms else None
    return Array(found.dtype, found.shape) if isinstance(found, Array) else None


def put_arrays(recorder: Recorder, target: TracedList, form: Array) -> None:
    """Arrays to which a loop writes, or in whose place it puts others."""
    in_place = recorder.scopes.decisions.in_place.get(target.site, False)
    is_alone = has_own_arrays(target)
    if in_place and not is_alone:
        raise to_replace_rows(target)
    for part in target.parts:
        if type(part) is not Segment:
            lend_to_list(target, part)
    memory = recorder.call(np.array, (target.traced(),), {"dtype": form.dtype})
    memory.storage.line = target.line
    column = WrittenArrays(form, memory, in_place=in_place, is_alone=is_alone)
    own = set() if target.is_plain else set(target.storages())  # of which no row is anywhere else
    part = None
    target.parts, target.is_written = [Segment(column, memory.shape[0])], True
    if in_place and any(storage.listed is target for storage in LIVE.storages if storage not in own):
        raise to_replace_rows(target)


def has_own_arrays(target: TracedList) -> bool:
    """Whether its arrays lie apart in memory, each in one of its own."""
    if target.is_shared:
        return False
    if not target.is_plain:
        return len(target.parts) == 1 and isinstance(target.parts[0].column, Array) and target.is_of_own
    storages = {id(part.storage) for part in target.parts}
    return len(storages) == len(target.parts) and all(map(is_whole, target.parts))


def follow_rows(recorder: Recorder, target: TracedList) -> None:
    """Its rows have to be such lists too: the trace starts again, unless that was tried."""
    follow_displays(recorder, target.parts)


def shape_of_list(obj: Any, where: tuple[int, ...], rows: list[Row]) -> tuple[int, ...] | None:
    """Its lengths, and in `rows` each list in it and where that stands; None for what is no list of like items."""
    if type(obj) is not TracedList or obj.has_pending or obj.kind is not list or not obj.parts:
        return None
    if where and obj.is_written:  # its memory may be that of other lists too
        return None
    rows.append((obj, where))
    if obj.is_plain:
        if all(map(is_number, obj.parts)):
            return (len(obj.parts),)
        shape, *others = [shape_of_list(part, (*where, k), rows) for k, part in enumerate(obj.parts)]
        length: Extent = len(obj.parts)
    else:
        segments = [part for part in obj.parts if type(part) is Segment]
        if len(segments) < len(obj.parts):
            return None
        if where and (obj.is_element or any(isinstance(part.column, Written) for part in segments)):
            return None  # lists that were copied to rows, or whose memory may be that of others
        columns = [innermost_form(part.column) for part in segments]
        if not all(isinstance(column, Number | Written) for column, _ in columns):
            return None
        if obj.is_shared and any(lengths for _, lengths in columns):
            return None
        shapes: list[tuple[int, ...] | None] = [(*lengths, *column.memory.shape[1:]) for column, lengths in columns]
        shape, *others = shapes
        length = obj.extent()
    if shape is None or not isinstance(length, int) or any(other != shape for other in others):
        return None
    return (length, *shape)


def refuse_identity(recorder: Recorder) -> None:
    """Rows are other objects each time that they are asked for, so they stay lists where code may ask which it has."""
    decisions, functions = recorder.scopes.decisions, recorder.namespace.functions()
    sites = recorder.rows_given - decisions.plain
    if sites and any(may_ask_identity(f.__code__, f.__globals__) for f in functions):
        decisions.plain |= sites
        raise recorder.scopes.restart()


def storage_of(value: Any) -> Storage | None:
    """The memory of an array, also of one that may be None, or of a list to which loops write."""
    if is_traced_list(value) and value.is_written:
        value = value.memory
    elif type(value) is NoneOrValue:
        value = value.held
    return value.storage if issubclass(type(value), TracedArray) else None
