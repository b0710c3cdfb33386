"""What one iteration of a loop hands to the next: which form that has, and the memory for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Extent, affine, substitute
from ...regions.regions import View, contiguous
from ...tape.tape import Buffer
from ..lengths.run_time_arrays import RunTimeArray
from ..record.aliases import NONE, Refusal, Standing
from ..record.lost_variables import Lost
from ..record.promotion import INT
from ..record.storage import Storage
from ..record.traced import TracedArray
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import expression_of, plain_or_traced
from ..values.number_types import ALWAYS_ONE, Types, can_be_one, is_lost_in, types_in
from ..values.scalar_tracer import ScalarTracer
from .columns import element_form, stored
from .counts import Count, Growing, growing_from
from .dict_tables import DictTable
from .followed_dicts import follow_both
from .form import HandedOn, NotCarried, Stores
from .forms import Items, Moving, Nothing, Rows, Unchanged, innermost_form, joined, moved
from .handed import Handed
from .held import (
    described,
    has_places,
    is_alone,
    is_kind_of_tuple,
    is_made_of_arrays,
    is_number,
    is_plain_array,
    memory_of,
    number_type,
    optional_parts,
    same,
    taken_apart,
    zero_like,
)
from .lengths_of_data import NextRunTime, is_along_first_axis, may_be_of_any_length
from .letters import CODE, Letters, all_texts, may_be_text
from .list_in_trace import is_traced_list
from .moving_lengths import NextLength, NextListLength
from .none_or_value import PARTS, NoneOrValue
from .object_copies import is_of_numbers, may_be_copied, sites_of_lists
from .places import Place, is_dead
from .references import ROW_NUMBER, common_reference_of, refer, sites_to_refer
from .state import State
from .stored_forms import KINDS, Array, Number
from .traced_list import Segment, TracedList
from .written_forms import written_alike

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder


@dataclass
class NextNumber(Number):
    """A scalar that is handed on: of the same type in all iterations."""

    changed: bool = field(default=False, compare=False, kw_only=True)  # it turned out to be of NumPy after all

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not is_number(value):
            raise NotCarried
        dtype, is_python = number_type(value)
        if dtype != self.dtype and type(plain_or_traced(value)) is ScalarTracer:
            raise NotCarried
        if self.is_python and not is_python:
            self.is_python, self.changed = False, True
        return super().leave(recorder, value, index)


@dataclass(kw_only=True)
class NextArray(Array, Handed):
    """An array that is handed on. Where it is `shared`, a write would have to be seen elsewhere: it is refused."""

    base: np.ndarray = field(compare=False)
    lent: bool  # whether something else led to the memory that it had before the loop
    types: Types = field(default=ALWAYS_ONE, compare=False)  # of its numbers, where data decide between several
    is_replaced: bool = False  # whether the last iteration recorded leaves another array than it was handed

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        assert self.buffer is not None
        storage = self.memory_for(recorder, index, self.base, self.buffer)
        storage.chosen, storage.lent, storage.carried = self.shared, self.lent, True
        storage.types = self.types
        if index in recorder.scopes.indices:
            self.standing.left = NONE
        return self.in_place(recorder)

    @property
    def buffer_id(self) -> int:
        assert self.buffer is not None
        return self.buffer.id

    def in_place(self, recorder: Recorder) -> ArrayTracer:
        """The array in this memory."""
        assert self.storage is not None
        return ArrayTracer(recorder, self.storage, self.base)

    def fits(self, value: Any) -> bool:
        return type(value) is ArrayTracer and (value.shape, value.dtype) == (self.base.shape, self.base.dtype)

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not self.fits(value):
            raise NotCarried
        self.standing.left |= recorder.copies.names(value.storage)
        if value.storage is self.storage and value.layout == self.storage.view_of(self.base):
            return []
        self.is_replaced = True
        if value.storage.listed is not None and not self.shared:
            raise NotCarried("hands on an array that is in a list")
        return super().leave(recorder, value, index)

    def leave_nothing(self, recorder: Recorder) -> Stores:
        return []  # the iteration before has left something


@dataclass(kw_only=True)
class NextRows(Rows, Handed):
    """A list that each iteration makes anew, of numbers or arrays, or lists of them: its elements are handed on."""

    buffer: Buffer = field(compare=False)
    like: TracedList = field(compare=False)
    is_replaced = True

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        found = TracedList(recorder, self.like.site, [], self.like.kind)
        base = np.empty(self.buffer.shape, self.buffer.dtype)
        storage = self.memory_for(recorder, index, base, self.buffer)
        storage.listed = found
        rows = ArrayTracer(recorder, storage, base.reshape(-1, *innermost_form(self)[0].shape))
        found.parts.append(Segment(lying_in(rows, self.each), self.length))
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        if not isinstance(value, self.like.kind) or not is_list_of(recorder, self, value):
            raise NotCarried
        self.standing.left = recorder.copies.names_in(value)
        return [(self.buffer, recorder.value_of(value, self.buffer.dtype))]


def lying_in(memory: ArrayTracer, form: HandedOn) -> HandedOn:
    """With these rows for what is in the innermost lists."""
    if isinstance(form, Rows):
        return replace(form, each=lying_in(memory, form.each))
    return replace(form, memory=memory)  # type: ignore[type-var]


def is_list_of(recorder: Recorder, form: Rows, value: Any, *, first: bool = False) -> bool:
    """Whether a list can be handed on in this form: its numbers, and arrays to which nothing writes.

    In the `first` iteration, where it is from before the loop, narrower numbers give way.
    """
    (leaf, lengths), (other, others) = innermost_form(form), innermost_form(stored(element_form(recorder, value, -1)))
    if lengths != others or type(leaf) is not type(other):
        return False
    if isinstance(leaf, Number) and first:
        return np.result_type(other.dtype, leaf.dtype) == leaf.dtype
    in_lists = type(value) is TracedList and all(type(part) is Segment for part in value.parts)
    return joined(leaf, other, exact=True) == leaf and (isinstance(leaf, Number) or in_lists)


def in_memory(forms: Iterable[HandedOn]) -> Iterator[Any]:
    """Of these, the arrays and lists that are handed on in memory of their own."""
    for form in forms:
        if isinstance(form, Handed):
            yield form
        else:
            yield from in_memory(form.parts())


def wraps_early(number: Any) -> bool:
    """Whether a known integer does not grow as one of 64 bits does."""
    return type(number) is bool or (isinstance(number, np.integer) and number.dtype != np.int64)


class Joiner:
    """Finds the form in which a variable goes from one iteration to the next; makes the memory for it."""

    def __init__(self, recorder: Recorder, depth: int, index: int, refuse: Refusal, trips: Callable[[], Extent | None]):
        """`trips`: how many iterations there are, so far as that is known by now."""
        self.recorder, self.depth, self.index, self.refuse, self.trips = recorder, depth, index, refuse, trips
        self.initial: list[tuple[Buffer, Any]] = []  # what memory holds before the first iteration
        self.arrays: list[tuple[Storage, Storage, View]] = []  # memory after and before, and where the array lies in it
        self.then, self.now = State(), State()  # before the loop, and after the iteration
        self.counts_evenly = True  # whether the number of iterations before this one is its index
        self.is_whole = True  # whether what is joined is all that the place holds, and not a part of that
        self.has_form = False  # whether the iteration was begun with a form of the place, and not with what it holds
        self.no_counts: set[str] = set()  # integers that do not grow evenly
        self.no_lengths: set[str] = set()  # arrays and lists that do not, or that are assigned before they are read

    def join(self, name: str, old: Any, new: Any) -> HandedOn:
        """For a place that holds `old` before the loop and `new` after an iteration."""
        recorder = self.recorder
        if same(old, new):
            return Unchanged(old)
        if TracedList in (type(old), type(new)) and not written_alike(recorder, old, new):
            return self.join_lists(name, old, new)
        if DictTable in (type(old), type(new)):
            follow_both(recorder, old, new)
        if NoneOrValue in (type(old), type(new)):
            return self.join_optional(name, old, new)
        if may_be_text(old) and may_be_text(new) and recorder.scopes.decisions.letters is not False:
            letters = Letters(all_texts(old, new), is_chosen=True)
            return Items(letters, CODE, (self.number(name, letters.code_of(old), INT, True),))
        reference = common_reference_of(old, new)
        if reference is not None:
            self.is_whole = False
            return Items(reference, ROW_NUMBER, (self.join(name, reference.row_of(old), reference.row_of(new)),))
        parts, others = taken_apart(old), taken_apart(new)
        if others is not None and others[0] is complex and is_number(old):  # it becomes complex in the first iteration
            parts = complex, others[1], [old, old * 0.0]
        if parts is not None and others is not None and parts[:2] == others[:2]:
            if has_places(parts[0]) and not (is_alone(old, self.then) and is_alone(new, self.now)):
                return Nothing(records=sites_to_refer(recorder, old, new))
            self.is_whole = False
            listed = sites_of_lists(recorder, old, new)
            items = tuple(self.join(name, a, b) for a, b in zip(parts[2], others[2]))
            if is_made_of_arrays(parts[0]) and any(isinstance(item, Nothing) for item in items):
                return Nothing()  # which is one thing to the program
            return Items(parts[0], parts[1], items, listed)
        if is_number(old) and is_number(new):
            return self.join_numbers(name, old, new)
        if recorder.is_array(old) and recorder.is_array(new):
            alone = (
                sum(v.storage is new.storage for v in self.now.arrays(live=True)) == 1 and type(new.storage) is Storage
            )
            if memory_of(old) is memory_of(new) and old.layout == moved(new.layout, self.index, -1):
                return Moving(new, new.layout)
            if new.dtype != old.dtype or not (new.storage.depth > self.depth or alone):
                return Nothing()
            if new.shape != old.shape:
                return self.join_lengths(name, old, new) or Nothing()
            return self.join_arrays(name, old, new)
        if type(new) is RunTimeArray:
            found = self.join_run_time(name, old, new)
            if found is not None or type(old) is RunTimeArray:
                return found or Nothing()
        if refer(recorder, set(sites_to_refer(recorder, old, new))):
            raise recorder.scopes.restart()
        raise NotCarried(f"has `{name}`, which is {described(old)} first and {described(new, old)} then")

    def join_listed(self, name: str, old: Any, new: Any, site: Site) -> HandedOn:
        """As `join`, where the iteration has put what the place holds into a list that was made there."""
        parts, others = taken_apart(old), taken_apart(new)
        if parts is None or others is None or parts[:2] != others[:2] or not may_be_copied(parts[0]):
            return Nothing()
        if site in self.recorder.scopes.decisions.written:  # a copy would not be seen to change with it
            return Nothing()
        self.is_whole = False
        found = Items(*parts[:2], tuple(self.join(name, a, b) for a, b in zip(parts[2], others[2])), frozenset([site]))
        return (
            found
            if is_of_numbers(found) and not any(isinstance(leaf, Nothing) for leaf in found.leaves())
            else Nothing()
        )

    def join_optional(self, name: str, old: Any, new: Any) -> HandedOn:
        """Of None or something else, in one of them, or of None and then a number."""
        held = next((value.held for value in (new, old) if type(value) is NoneOrValue), new)
        if type(held) is Lost:
            return Nothing()
        filler = self.recorder.concrete(np.zeros(held.shape, held.dtype)) if is_plain_array(held) else zero_like(held)
        parts, others = (optional_parts(value, filler) for value in (old, new))
        if parts is None or others is None:
            return Nothing()
        self.is_whole = False
        found = Items(NoneOrValue, PARTS, tuple(self.join(name, a, b) for a, b in zip(parts, others)))
        self.initial = [(buffer, 0 if value is filler else value) for buffer, value in self.initial]
        return found

    def join_numbers(self, name: str, old: Any, new: Any) -> HandedOn:
        first, then = expression_of(old), expression_of(new)
        if (
            self.counts_evenly
            and name not in self.no_counts
            and first is not None
            and then is not None
            and not any(wraps_early(number) for number in (old, new))
        ):
            step = substitute(then, self.index, 0) - first
            if isinstance(step, int):
                grown = affine(0, {self.index: step}) if self.has_form else 0
                if then - first - step in (0, grown):
                    return Count(first, step)
        if self.counts_evenly and self.is_whole and name not in self.no_counts:
            found = growing_from(self.recorder, self.index, old, new)
            if found is not None:
                return found
        given, old, new = old, plain_or_traced(old), plain_or_traced(new)
        (dtype, is_python), (old_dtype, was_python) = number_type(new), number_type(old)
        known = type(old) is not ScalarTracer
        weak = known and was_python and KINDS.index(old_dtype.kind) <= KINDS.index(dtype.kind)
        is_near = weak and not is_lost_in(old, dtype) and (dtype.kind == "f" or dtype.type(old) == old)
        if dtype != old_dtype and not is_near:
            raise NotCarried(f"has `{name}`, which is of type {old_dtype} first and {dtype} then")
        types = frozenset([(dtype, is_python), (old_dtype, was_python)]) | types_in(new)
        if not can_be_one(types):
            raise NotCarried(f"has `{name}`, which is a number of another class first")
        return self.number(name, given, dtype, is_python, types if len(types) > 1 else ALWAYS_ONE)

    def number(self, name: str, initial: Any, dtype: np.dtype, is_python: bool, types: Types = ALWAYS_ONE) -> HandedOn:
        buffer = self.recorder.builder.new_buffer("local", name, dtype, contiguous(()))
        self.initial.append((buffer, initial))
        return NextNumber(dtype, is_python, buffer=buffer, types=types)

    def join_arrays(self, name: str, old: Any, new: Any) -> HandedOn:
        for other, storage, layout in self.arrays:
            if other is new.storage and (storage, layout) != (old.storage, new.layout):
                raise NotCarried(f"has `{name}`, which shares memory with another array that changes in each iteration")
        base = np.empty_like(new.geometry, subok=False)
        line = self.recorder.builder.line
        buffer = self.recorder.builder.new_buffer("local", name, base.dtype, Storage(base, line).view_of(base))
        self.initial.append((buffer, old))
        self.arrays.append((new.storage, old.storage, new.layout))
        memory = memory_of(old)
        visible = memory.buffer is not None and memory.buffer.visible
        lent = visible or bool(memory.captured) or memory.chosen or memory.lent or memory.listed is not None
        lent = lent or sum(memory_of(other) is memory for other in self.then.arrays()) > 1
        shared = new.storage.depth <= self.depth or new.storage.chosen
        copies = self.recorder.copies
        standing = Standing(buffer.id, copies.names(old.storage), left=copies.names(new.storage))
        return NextArray(
            base.dtype, base.shape, buffer=buffer, base=base, depth=self.depth, shared=shared, lent=lent,
            standing=standing, refuse=self.refuse, types=new.storage.types | old.storage.types,
        )  # fmt: skip

    def note_what_failed(self, place: Place, carry: HandedOn | None) -> None:
        """The form that the place had does not serve."""
        self.has_form, self.is_whole = carry is not None, True
        if isinstance(carry, Count | Growing):
            self.no_counts.add(place.name)
        if isinstance(carry, NextLength | NextRunTime) or is_dead(place):
            self.no_lengths.add(place.name)

    def join_lengths(self, name: str, old: Any, new: Any) -> HandedOn | None:
        """Of arrays that get shorter or longer."""
        if name in self.no_lengths or old.ndim != new.ndim:
            return None
        axis = next((k for k in range(1, old.ndim) if old.shape[k] != new.shape[k]), 0)
        if any(old.shape[k] != new.shape[k] for k in range(old.ndim) if k != axis):
            return None
        start, rest = old.shape[axis], (*old.shape[:axis], *old.shape[axis + 1 :])
        return self.of_length(NextLength, name, old, new, start, new.shape[axis] - start, rest, old.dtype, axis=axis)

    def of_length(
        self, kind: Any, name: str, old: Any, new: Any, start: int, step: int, rest: tuple[int, ...], dtype: np.dtype,
        axis: int = 0, **more: Any
    ) -> HandedOn | None:  # fmt: skip
        """The form of what gets longer by `step` along an axis each time; None where who knows how often."""
        recorder, copies = self.recorder, self.recorder.copies
        trips = self.trips()
        if trips is None or recorder.scopes.bounds_around(trips, self.index)[0] < 0:
            return None
        most = recorder.scopes.bounds(start + trips * step)[1]
        base = np.empty((*rest[:axis], max(start, most), *rest[axis:]), dtype)
        buffer = recorder.builder.new_buffer("local", name, base.dtype, contiguous(base.shape))
        self.initial.append((buffer, old))
        standing = Standing(buffer.id, copies.names_in(old), left=copies.names_in(new))
        return kind(
            buffer=buffer, base=base, start=start, step=step, trips=self.trips, depth=self.depth, standing=standing,
            refuse=self.refuse, axis=axis, **more,
        )  # fmt: skip

    def join_run_time(self, name: str, old: Any, new: RunTimeArray) -> HandedOn | None:
        """Of an array whose length is data after an iteration, and perhaps before; None where there is none."""
        recorder, copies = self.recorder, self.recorder.copies
        is_alike = is_along_first_axis(old) or (recorder.is_array(old) and old.ndim == new.ndim)
        if not is_alike or not is_along_first_axis(new) or old.dtype != new.dtype or name in self.no_lengths:
            return None
        most, rest = (old.length.most, old.rest) if type(old) is RunTimeArray else (old.shape[0], old.shape[1:])
        if rest != new.rest or (new.length.most > most and not may_be_of_any_length(recorder)):
            return None
        base = np.empty((max(most, new.length.most), *rest), new.dtype)
        buffer = recorder.builder.new_buffer("local", name, base.dtype, contiguous(base.shape))
        count = recorder.builder.new_buffer("local", f"len({name})", INT, contiguous(()))
        number = old.length.scalar(recorder) if type(old) is RunTimeArray else most
        self.initial += [(buffer, old), (count, number)]
        standing = Standing(buffer.id, copies.names_in(old), left=copies.names_in(new))
        return NextRunTime(
            buffer=buffer, count=count, base=base, depth=self.depth, standing=standing, refuse=self.refuse
        )

    def has_another_length(self, old: Any, new: Any) -> bool:
        """Whether two are lists of like numbers, of another length each, and the loop runs a known number of times."""
        if type(new) is not TracedList or not isinstance(old, new.kind) or self.trips() is None:
            return False
        form, before = (stored(element_form(self.recorder, items, -1)) for items in (new, old))
        if not (isinstance(form, Rows) and isinstance(before, Rows) and isinstance(form.each, Number)):
            return False
        is_like = is_list_of(self.recorder, replace(form, length=before.length), old, first=True)
        return is_like and before.length != form.length and not new.is_plain

    def join_list_lengths(self, name: str, old: Any, new: TracedList) -> HandedOn | None:
        """Of lists of numbers that get shorter or longer."""
        form, before = (stored(element_form(self.recorder, items, -1)) for items in (new, old))
        assert isinstance(form, Rows) and isinstance(before, Rows) and isinstance(form.each, Number)
        leaf, step = replace(form.each, memory=None), form.length - before.length
        more: dict[str, Any] = {"like": new, "leaf": leaf}
        return self.of_length(NextListLength, name, old, new, before.length, step, (), leaf.dtype, **more)

    def join_lists(self, name: str, old: Any, new: Any) -> HandedOn:
        """Of a list that a loop has filled, before or after the iteration."""
        recorder = self.recorder
        alike = any(isinstance(old, kind) and isinstance(new, kind) for kind in (list, tuple))
        form = stored(element_form(recorder, new, -1)) if alike else None
        leaf, lengths = innermost_form(form)
        if not isinstance(form, Rows) or not isinstance(leaf, Number | Array):
            return Nothing()
        if name not in self.no_lengths and self.has_another_length(old, new):
            return self.join_list_lengths(name, old, new) or Nothing()
        if not (is_list_of(recorder, form, new) and is_list_of(recorder, form, old, first=True)):
            return Nothing()
        buffer = recorder.builder.new_buffer("local", name, leaf.dtype, contiguous((*lengths, *leaf.shape)))
        self.initial.append((buffer, old))
        standing = Standing(buffer.id, recorder.copies.names_in(old), left=recorder.copies.names_in(new))
        like = next(value for value in (new, old) if type(value) is TracedList)
        return NextRows(
            form.length, form.each, buffer=buffer, like=like, depth=self.depth, standing=standing, refuse=self.refuse
        )


def begun_with(recorder: Recorder, carries: dict, places: dict, index: int) -> dict:
    """What the places hold at the beginning of an iteration that have a form; it is recorded for no statement."""
    with recorder.builder.between_statements():
        return {
            key: (place, carries[key].begin(recorder, index, place.name))
            for key, (place, _) in places.items()
            if key in carries
        }


def is_exchanged(value: Any) -> bool:
    return issubclass(type(value), TracedArray) or (is_traced_list(value) and value.is_written)


def period_of_exchange(failed: dict[Any, tuple[Any, Any, Any]]) -> int:
    """After how many iterations variables hold the arrays again that they exchange; 1 where they exchange none."""
    pairs = [(o, n) for _, o, n in failed.values() if is_exchanged(o)]
    following = {}
    for k, (_, n) in enumerate(pairs):
        source = next((j for j, (o, _) in enumerate(pairs) if is_exchanged(n) and same(o, n)), None)
        if source is not None:
            following[k] = source
    if not following or set(following) != set(following.values()):
        return 1
    period, state = 1, dict(following)
    while any(k != v for k, v in state.items()):
        state = {k: following[v] for k, v in state.items()}
        period += 1
    return period


def may_be_widened(carry: HandedOn) -> bool:
    """Whether what an iteration is handed may turn out to be more than it seemed: the same each time, or counted."""
    if isinstance(carry, Items) and (has_places(carry.kind) or is_kind_of_tuple(carry.kind)):
        return any(map(may_be_widened, carry.items))
    return isinstance(carry, Unchanged | Count | Growing | NextLength)
