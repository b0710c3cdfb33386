"""The elements of lists in memory to which loops write: numbers, lists of them, or arrays; see `written_lists`."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record.storage import LIVE, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import expression_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn
from .forms import Unchanged, innermost_form, joined
from .held import Whole, is_number
from .laying_down import to_replace_rows
from .object_copies import is_whole, lend_to_list
from .references import RecordInRow, RecordKind, refer_beside, refer_items, unite
from .stored_forms import Array, Number
from .traced_list import Segment, TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder

Row = tuple[TracedList, tuple[int, ...]]  # and where in a list of lists it stands
EXACT = (np.dtype(bool), np.dtype(np.int64), np.dtype(float))  # in which numbers of several classes keep their values


@dataclass(frozen=True)
class WrittenKind(Whole):
    """Lists in memory of such numbers. What changes hands is the memory: the lists of one are one list."""

    dtype: np.dtype
    is_python: bool
    like: TracedList = field(compare=False)
    shape: tuple[int, ...] = ()  # of arrays
    in_place: bool = False

    def made(self, arrays: list[Any]) -> TracedList:
        [memory] = arrays
        return self.like.row(Segment(self.like.parts[0].column.handed_on(memory), memory.shape[0]))


@dataclass(frozen=True)
class Doubled:
    """Two lists in a list change places: the first is in both, and the other is to come to the `place` of the first."""

    owner: TracedList
    place: Any
    other: TracedList
    scope: Any


@dataclass(frozen=True)
class CopyOfRow:
    """A copy of an array in a list, made in the block `scope`."""

    storage: weakref.ref[Storage]
    place: Any
    scope: Any


def is_same_place(a: Any, b: Any) -> bool:
    """Whether two indices are known to be the same."""
    if type(a) is ScalarTracer and type(b) is ScalarTracer:
        return a.value is b.value
    first, second = expression_of(a), expression_of(b)
    return first is not None and second is not None and first == second


@dataclass(eq=False)
class Written(HandedOn):
    """The elements of a list in memory: numbers, or lists of them; `memory` has an axis for each.

    Of records that the program has by `reference` the numbers are those of their rows.
    """

    number: Number
    memory: ArrayTracer
    reference: RecordKind | None = None
    given: list[weakref.ref[TracedList]] = field(default_factory=list)  # the lists that lie in this memory, or in parts
    around: Written | None = None  # that of which this is a part
    site: Site | None = None  # where the list was made of whose memory this is a part
    doubled: Doubled | None = None

    def kind(self, owner: TracedList) -> WrittenKind:
        return WrittenKind(self.number.dtype, self.number.is_python, owner)

    def handed_on(self, memory: ArrayTracer) -> Written:
        """The same of another memory."""
        return replace(self, memory=memory)

    def stored(self) -> HandedOn | None:
        return None  # a copy would not see what is written later

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        self.refuse_doubled(owner)
        found = self.memory[row]
        if self.memory.ndim > 1:
            return self.row_at(owner, row)
        if self.reference is not None:
            return self.reference.made(found)
        if type(found) is ScalarTracer:
            return ScalarTracer(found.recorder, found.value, self.number.is_python, self.number.types)
        return found.item() if self.number.is_python and isinstance(found, np.generic) else found

    def write(self, owner: TracedList, row: Any, value: Any) -> None:
        if self.reference is not None:
            if issubclass(type(value), RecordInRow):
                unite(self.reference, value.record_reference)
            refer_beside(owner.recorder, self.reference, value)
            found = self.reference.row_of(value)
            if found is None:
                raise owner.refuse()
            self.memory[row] = plain_or_traced(found)
            return
        if self.memory.ndim > 1:
            self.replace_row(owner, row, value)
            return
        self.refuse_doubled(owner)
        if not is_number(value):
            raise to_be_filled(owner)
        number = common_number([self.number, Unchanged(value)])
        if number is None or number != self.number or number.types != self.number.types:
            raise again(owner, number, self.site)
        self.memory[row] = plain_or_traced(value)

    # Rows, of lists of lists.

    def row_at(self, owner: TracedList, place: Any) -> TracedList:
        """The list in a row."""
        memory = self.memory[place]
        found = owner.row(Segment(replace(self, memory=memory, around=self), memory.shape[0]))
        found.place = place
        return found

    def rows_alive(self) -> list[TracedList]:
        """The lists in its rows that the program may have: those made in a block that is over are others by now."""
        self.given[:] = [reference for reference in self.given if reference() is not None]
        found = [made for reference in self.given if (made := reference()) is not None]
        root, ndim = self.memory.storage.root, self.memory.ndim
        blocks = {id(scope) for scope in (None, *self.memory.recorder.scopes.open)}
        found = [made for made in found if id(made.scope) in blocks and made.memory.ndim < ndim]
        return [made for made in found if made.memory.storage.root is root]

    def refuse_doubled(self, owner: TracedList) -> None:
        """Refuse what may change a list that is in two places, or show it."""
        column: Written | None = self
        while column is not None:
            if column.doubled is not None:
                raise refer_items(column.doubled.owner)
            column = column.around

    def replace_row(self, owner: TracedList, place: Any, value: Any) -> None:
        """Another list takes the place of one: its numbers do. Who has the one that was there keeps a copy.

        Two lists change places in two steps. In between the first is there twice; nothing may be written to it.
        """
        follow_displays(owner.recorder, [value])
        here, others = owner.recorder.scopes.innermost, [row for row in self.rows_alive() if row is not value]
        is_list = type(value) is TracedList and value.scope is here
        if self.reference is not None or self.memory.ndim > 2 or not is_list:
            raise refer_items(owner)
        if self.doubled is not None:
            is_second = value is self.doubled.other and is_same_place(place, self.doubled.place)
            if not is_second or self.doubled.scope is not here or len(others) > 1:
                raise refer_items(owner)
            self.doubled = None
            self.put_row(owner, place, value)
        elif any(row is value for row in self.rows_alive()):
            if is_same_place(place, value.place):
                return
            if len(others) != 1 or not is_same_place(place, others[0].place) or others[0].scope is not here:
                raise refer_items(owner)
            [other], source = others, value.place
            self.part_from([other])
            self.put_row(owner, place, value)
            self.doubled = Doubled(owner, source, other, here)
        elif value.is_written or value.is_element or value.kind is not list:
            raise refer_items(owner)
        else:
            if not all(row.scope is here and is_same_place(place, row.place) for row in others):
                raise refer_items(owner)
            self.part_from(others)
            self.put_row(owner, place, value)

    def part_from(self, rows: list[TracedList]) -> None:
        """The list that was in a row, and is here under each of these, lies apart from now on."""
        for row in rows[:1]:
            kept = replace(self, memory=row.memory.copy(), given=[], around=None)
        for row in rows:
            row.parts, row.place = [Segment(kept, kept.memory.shape[0])], None

    def put_row(self, owner: TracedList, place: Any, value: TracedList) -> None:
        """A list comes to lie in a row, with its numbers."""
        forms = list(numbers_in_rows([(value, ())]))
        if value.extent() != self.memory.shape[1] or len(forms) < (len(value.parts) or 1):
            raise refer_items(owner)
        number = common_number([self.number, *forms])
        if number is None or number != self.number or number.types != self.number.types:
            raise again(owner, number, self.site)
        self.memory[(place, ...)] = value.traced()
        found = self.row_at(owner, place)
        value.parts, value.place, value.is_written, value.is_element = found.parts, place, True, True
        self.given.append(weakref.ref(value))

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        self.refuse_doubled(owner)
        if self.memory.ndim > 1:  # whose rows are in both lists
            raise owner.refuse()
        return replace(self, memory=self.memory[rows].copy())

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        self.refuse_doubled(owner)
        if self.reference is not None:
            raise owner.refuse()
        return owner.recorder.array(self.memory.read())

    def is_put_back(self, owner: TracedList, storage: Storage) -> bool:
        return False

    def storages(self) -> Iterator[Storage]:
        yield self.memory.storage

    own_storages = storages


@dataclass(eq=False)
class WrittenArrays(Written):
    """Elements that are arrays, of a list or dict. Those in whose place others are put are copies to the program.

    Such a copy may be written to where it is put back then: `rows[i] += v`. Those that loops write to otherwise,
    `in_place`, are rows of the memory. No others take their place, and nobody but the list has had them.
    """

    number: Array  # type: ignore[assignment]
    in_place: bool = False
    copies: list[CopyOfRow] = field(default_factory=list)
    lent: list[tuple[weakref.ref[Storage], tuple[int, int]]] = field(default_factory=list)  # what was put there, where
    changed: CopyOfRow | None = None  # which is to be put back
    is_alone: bool = True  # whether none of the arrays is there twice, or in another list

    def kind(self, owner: TracedList) -> WrittenKind:
        return WrittenKind(self.number.dtype, False, owner, self.number.shape, self.in_place)

    def handed_on(self, memory: ArrayTracer) -> Written:
        return replace(self, memory=memory, copies=[], lent=[], changed=None, is_alone=False)

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        found = self.memory[(row, ...)]
        if self.in_place:
            return found
        self.refuse_doubled(owner)
        found = found.copy()
        found.storage.listed = owner
        self.copies[:] = [known for known in self.copies if known.storage() is not None]
        self.copies.append(CopyOfRow(weakref.ref(found.storage), row, owner.recorder.scopes.innermost))
        return found

    def refuse_doubled(self, owner: TracedList) -> None:
        if self.changed is not None:  # a copy that has not been put back
            raise owner.refuse()

    def is_put_back(self, owner: TracedList, storage: Storage) -> bool:
        """Whether a copy may be written to, since it will be put back: of an array that nothing else has."""
        if self.changed is not None:
            return self.changed.storage() is storage
        known = next((known for known in self.copies if known.storage() is storage), None)
        if not self.is_alone or owner.is_shared:
            return False
        if known is None or known.scope is not owner.recorder.scopes.innermost:
            return False
        others = [other for other in LIVE.storages if other.listed is owner and other is not storage]
        if not all(self.lies_elsewhere(other, known.place) for other in others):
            return False
        self.changed = known
        return True

    def lies_elsewhere(self, storage: Storage, place: Any) -> bool:
        """Whether an array that the program still has was put in other places than this one."""
        own, places = self.places(place), [places for known, places in self.lent if known() is storage]
        return bool(places) and all(own[0] > last or own[1] < first for first, last in places)

    def places(self, place: Any) -> tuple[int, int]:
        """The first and the last place that an index may mean, in all iterations."""
        expression = expression_of(place)
        low, high = (-1, -1) if expression is None else self.memory.recorder.scopes.bounds(expression)
        return (low, high) if low >= 0 else (0, self.memory.shape[0])

    def write(self, owner: TracedList, row: Any, value: Any) -> None:
        recorder = owner.recorder
        if not recorder.is_array(value) or (value.dtype, value.shape) != (self.number.dtype, self.number.shape):
            raise owner.refuse()
        if self.in_place:
            own = self.memory[(row, ...)]
            if not value.storage.is_same(own.storage) or value.layout != own.layout:
                raise to_replace_rows(owner)
            return
        if self.changed is not None:
            known, here = self.changed, recorder.scopes.innermost
            is_it = value.storage is known.storage() and is_whole(value) and is_same_place(row, known.place)
            if not is_it or known.scope is not here:
                raise owner.refuse()
            self.changed = None
        else:
            self.is_alone = self.is_alone and value.storage.root.listed is not owner
            lend_to_list(owner, value)
            self.lent[:] = [known for known in self.lent if known[0]() is not None]
            self.lent.append((weakref.ref(value.storage.root), self.places(row)))
        self.copies.clear()  # which may be of what was there before
        self.memory[(row, ...)] = value

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        self.refuse_doubled(owner)
        if self.in_place:  # which would be in both lists
            raise owner.refuse()
        self.is_alone = False
        return replace(self, memory=self.memory[rows].copy(), copies=[])


def again(owner: TracedList, number: Number | None, site: Site | None = None) -> BaseException:
    """What to raise where the numbers of a list, or of the one in which it is, are not as they were thought to be."""
    scopes = owner.recorder.scopes
    if number is None:
        return owner.refuse()
    scopes.decisions.written[site or owner.site] = number
    return scopes.restart()


def to_be_filled(owner: TracedList) -> BaseException:
    """What to raise where something else takes the place of a number: they may all be there in place of such things."""
    decisions = owner.recorder.scopes.decisions
    decisions.written.pop(owner.site, None)
    decisions.filled.add(owner.site)
    return owner.recorder.scopes.restart()


def written_alike(recorder: Recorder, a: Any, b: Any) -> bool:
    """Whether lists that take turns are in memory; where only one is, or of other numbers, the trace starts again."""
    lists = [found for found in (a, b) if type(found) is TracedList]
    if not any(found.is_written for found in lists):
        return False
    decisions = recorder.scopes.decisions
    for found in lists:
        if not found.is_written and found.site not in (decisions.written.keys() | decisions.plain):
            raise found.lay_down()
    if not all(type(found) is TracedList and found.is_written for found in (a, b)):
        return False
    first, second = (found.parts[0].column.number for found in lists)
    if isinstance(first, Array) or isinstance(second, Array):
        return first == second
    if (first.dtype, first.is_python) != (second.dtype, second.is_python):
        number = common_number([first, second])
        is_tried = all(decisions.written.get(found.site) == number for found in lists)
        for found in lists:
            error = found.refuse() if is_tried else again(found, number)
        raise error
    return True


def common_number(forms: Iterable[HandedOn]) -> Number | None:
    """What serves for all these numbers; None where what the program computes with them could be seen to differ."""
    found: HandedOn | None = None
    exact = True
    for form in forms:
        kind = form.opened()
        if not isinstance(kind, Number):
            return None
        exact = exact and kind.dtype in EXACT and (not isinstance(form, Unchanged) or is_exact(form.value))
        found = kind if found is None else joined(found, kind)
    if not isinstance(found, Number):
        return None
    of_truths = any(dtype.kind == "b" for dtype, _ in found.types)  # beside numbers: which it is may be asked
    return None if found.types and (of_truths or not exact) else Number(found.dtype, found.is_python, types=found.types)


def is_exact(value: Any) -> bool:
    """Whether a number is the same as a float."""
    return type(value) is not int or abs(value) < 2**53


def numbers_in_rows(rows: list[Row]) -> Iterable[HandedOn]:
    """The forms of the numbers in lists."""
    for row, _ in rows:
        for part in row.parts:
            if type(part) is Segment:
                form, _ = innermost_form(part.column)
                form = form.number if isinstance(form, Written) else form
                yield Number(form.dtype, form.is_python, types=form.types)
            elif is_number(part):
                yield Unchanged(part)


def follow_displays(recorder: Recorder, items: Iterable[Any]) -> None:
    """Have the ordinary lists among these be such as loops write to: the trace starts again, unless that was tried."""
    decisions, displays = recorder.scopes.decisions, recorder.displays
    sites = {displays[id(item)][1] for item in items if type(item) is list and id(item) in displays}
    sites -= decisions.written.keys() | decisions.plain
    if sites:
        decisions.written |= dict.fromkeys(sites)
        decisions.growing |= sites
        raise recorder.scopes.restart()
