"""Plain numbers that a loop runs over, as tables: what differs from iteration to iteration is read from an array.

`zip(x, [0.5, 1.5, ...])` in a loop that is recorded once has `weights[k]` for its second item, as `np.array` would
give it. Lists, tuples and dict views of numbers are tables, and those of tuples of numbers, item by item. So is what
the program reads by an integer or a text of which it is known between which ones it is, or which ones it may be; and
several lists of such, of which an integer says over which one a loop runs: `for v in near[u]`.
"""

from __future__ import annotations

import collections
import collections.abc
import functools
import itertools
import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.attributes_held import attributes_held, with_attributes
from ...python.frames import user_frame
from ...python.instructions import is_run_over
from ...python.rows_read import only_reads_rows
from ...python.source import current_line
from ...python.written_calls import chosen_row, item_count, item_of, items_of_loop
from ...tape.guards import RAISES
from ..lengths.elements import RunTime
from ..record.aliases import NONE, Copy
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.identity import is_asked
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.number_types import ALWAYS_ONE, types_in
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn
from .forms import Items, Unchanged, joined
from .held import is_made_of_attributes, is_number, number_type
from .iteration import Sequence
from .letters import CODE, PLAIN, Letter, has_letters, is_text_or_member, letters_of
from .short_runs import place_asked_for, short_run
from .stored_forms import Array, Number, OneOfArrays
from .table_items import MOST_LISTS, Table, is_same, lists_among
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
HOLDERS = (list, tuple, str, collections.deque, *VIEWS)
SIZED = (list, tuple, dict, str, set, frozenset)
OURS = "planned_ad"
NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_}
MOST_ITEMS = 1 << 20  # of a table that is read by several keys
MOST_KEYS = 1 << 18  # that one may be
MOST_CHOSEN = 16  # numbers of which data choose one by comparisons
ARRAYS = 7  # beside the offset of an instruction, which is even: reading one of several arrays
MOST_TESTED = 4  # other items, each for a branch
MOST = 1 << 62  # of an integer in a table


def table_of(recorder: Recorder, holder: Any, least: int | None = None) -> Table | None:
    """The table of what is in a list, a tuple or the like; None where that is no numbers, or none at all.

    Of a list that is longer than `least`, the limit of unrolling, traced numbers, and arrays to which nobody may write,
    are laid down in memory.
    """
    if type(holder) not in HOLDERS or not holder:
        return None
    is_resized = current_line() in recorder.scopes.decisions.resized
    if type(holder) not in (tuple, str) and is_resized:
        return None
    items = tuple(holder)
    is_long = len(items) > (recorder.unroll if least is None else least)
    with_lists = is_long and not is_resized and next(lists_among(items), None) is not None
    if with_lists:
        frame = user_frame(sys._getframe(1))
        with_lists = frame is not None and only_reads_rows(frame.f_code, frame.f_lineno)
    column = column_of(recorder, items, laid_down=is_long, with_lists=MOST_LISTS if with_lists else 0)
    return None if column is None else Table(recorder, holder, items, column)


@dataclass(frozen=True, slots=True)
class Choices:
    """What a key may be, in order, and which of these it is: an integer of the loops around, or a traced one."""

    keys: collections.abc.Sequence[Any]
    place: Any


def item_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what reads items; see `comprehensions`."""
    columns: dict[tuple[Any, ...], tuple[Any, list[Any], HandedOn | None]] = {}

    def column(holder: Any, name: tuple[Any, ...], items: list[Any]) -> HandedOn | None:
        known = columns.get((id(holder), name))
        if known is None or len(known[1]) != len(items) or not all(map(is_same, items, known[1])):
            known = columns[id(holder), name] = (holder, items, column_of(recorder, items))
        return known[2]

    def read(holder: Any, *keys: Any, is_row: bool = False) -> Any:
        """Of plain numbers, at the index of a loop that is recorded once, or at a traced one: from a table of them."""
        row = holder if type(holder) is ChosenRow else ChosenRow(holder, (), [holder], 0, ())
        found: tuple[int, Any] | None = None
        for count, key in enumerate(keys, 1):
            choices = choices_of(recorder, row.items, key)
            if choices is None or len(row.items) * len(choices.keys) > MOST_ITEMS:
                choices = None
                break
            row = row.at(key, choices, recorder)
            table = None if type(row.place) is int else column(row.holder, row.name, row.items)
            if table is not None and recorder.scopes.decisions.letters is None and has_letters(table):
                loops = key.loops if type(key) is LoopIndex else recorder.scopes.open
                recorder.scopes.decisions.texts |= {scope.site for scope in loops if scope.site is not None}
                table = None
            found = found if table is None else (count, table.item(None, row.place))
        if found is None and is_row and type(row.place) is not int and choices is not None:
            return row
        if found is None and not is_row and type(row.place) is not int and choices is not None:
            frame = sys._getframe(1)
            over = run_over(recorder, row) if is_run_over(frame.f_code, frame.f_lasti) else None
            if over is not None:
                return over
            number = chosen_number(recorder, row.items, row.place)
            if number is not None:
                return number
            array = chosen_array(recorder, (frame.f_code, frame.f_lasti), row)
            if array is not None and count == len(keys):
                return array
            if recorder.scopes.depth and len(row.items) <= MOST_TESTED:
                recorder.lay_down_lists()  # whose items are in memory, where that serves
                recorder.follow_lists(with_attributes(frame.f_locals.values()))
                return next((item for k, item in enumerate(row.items[:-1]) if row.place == k), row.items[-1])
            if recorder.scopes.depth and len(keys) == 1:
                record_what_made(recorder, holder)
        if found is None:
            item = item_of(holder.holder, *holder.keys) if type(holder) is ChosenRow else holder
            found = (1, item[keys[0]])
        count, item = found
        if count < len(keys):
            return read(item, *keys[count:], is_row=is_row)
        frame = sys._getframe(1)
        return item if is_row or not is_run_over(frame.f_code, frame.f_lasti) else run(item)

    def length(function: Any, holder: Any, *keys: Any) -> Any:
        named = getattr(function, "__name__", ""), str(getattr(function, "__module__", "")).partition(".")[0]
        is_len = function is len or named == ("length", OURS)
        row = read(holder, *keys, is_row=is_len)
        if type(row) is not ChosenRow:
            return function(row)
        lengths = [len(items) if type(items) in SIZED else -1 for items in row.items]
        if min(lengths) < 0:
            return function(item_of(row.holder, *row.keys))
        found = column_of(recorder, lengths)
        return lengths[0] if found is None else found.item(None, row.place)

    def run(items: Any) -> Any:
        """So a loop over a long list of numbers stays a loop; one over a short list is Python's."""
        least = recorder.unroll
        if type(items) in (list, tuple) and 1 < len(items) <= least and recorder.scopes.depth:
            short = short_run(recorder, items, sys._getframe(1))
            if short is not None:
                return short
            least = 1
        table = table_of(recorder, items.keys() if type(items) is dict else items, least)
        if table is None and least == 1:
            keep_what_made(recorder, items)
        if table is None or len(table) <= least or not may_be_rows(recorder):
            return items
        return Sequence(recorder, len(table), table.item, (table,), True)

    return {
        id(items_of_loop): run,
        id(item_of): read,
        id(chosen_row): functools.partial(read, is_row=True),
        id(item_count): length,
    }


def record_what_made(recorder: Recorder, holder: Any) -> None:
    """Of objects in a list from which data choose, too many to test each: the comprehension that made it is a loop.

    Those with arrays in them are laid down as they are.
    """
    if not all(type(item) is dict or is_made_of_attributes(type(item)) for item in holder):
        return
    parts = [part for item in holder for part in (item.items() if type(item) is dict else attributes_held(item))]
    if all(is_number(value) for _, value in parts):
        keep_what_made(recorder, holder)


def keep_what_made(recorder: Recorder, holder: Any) -> None:
    """The comprehension that has made a list is a loop from now on, if it is none yet; the trace starts again then."""
    made = recorder.displays.get(id(holder))
    if made is None:
        return
    code, instruction = made[1]
    line = list(code.co_positions())[instruction // 2][0]
    inside = {site for site in recorder.written_out if site[0] in code.co_consts and site[0].co_firstlineno == line}
    recorder.scopes.keep(inside)


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """What `keys` read from `holder`, one of several `items`, of which the next key reads a number."""

    holder: Any
    keys: tuple[Any, ...]
    items: list[Any]
    place: Any
    name: tuple[Any, ...]

    def at(self, key: Any, choices: Choices, recorder: Recorder) -> ChosenRow:
        """What one more key reads; that it is there is required of each call."""
        place = self.place * len(choices.keys) + choices.place
        if type(self.items[0]) is dict and not all(k in item for item in self.items for k in choices.keys):
            there = [int(k in item) for item in self.items for k in choices.keys]
            table = column_of(recorder, there)
            assert table is not None
            recorder.scopes.require_after(recorder.value_of(table.item(None, place) != 0), RAISES)
            some = next(iter(next(filter(None, self.items)).values()))
            items = [item.get(k, some) for item in self.items for k in choices.keys]
        else:
            items = [item[k] for item in self.items for k in choices.keys]
        return ChosenRow(self.holder, (*self.keys, key), items, place, (*self.name, choices.keys))


def run_over(recorder: Recorder, row: ChosenRow) -> Sequence | None:
    """What a loop runs over that begins here: the plain items of one of several lists, `for v in near[u]`.

    They lie one after the other in a table. None where they are something else.
    """
    rows = row.items
    if not all(type(items) in (list, tuple) for items in rows):
        return None
    lengths, most = [len(items) for items in rows], max(map(len, rows))
    column = column_of(recorder, list(itertools.chain.from_iterable(rows))) if most else None
    if column is None or has_letters(column):
        return None
    length: Any = most
    start = row.place * most
    if len(set(lengths)) > 1:
        known = [column_of(recorder, numbers) for numbers in (lengths, [0, *itertools.accumulate(lengths)][:-1])]
        count, start = (plain_or_traced(numbers.item(None, row.place)) for numbers in known if numbers is not None)
        length = RunTime(recorder.value_of(count, np.dtype(np.int64)), most)
    last = sum(lengths) - 1

    def item(k: Any) -> Any:
        return column.item(None, within_table(recorder, start + k, last))

    return Sequence(recorder, length, item)


def within_table(recorder: Recorder, place: Any, last: int) -> Any:
    """A place in a table, of which it is known that it is there."""
    if type(place) is not ScalarTracer:
        return place
    value = recorder.apply("minimum", recorder.value_of(place), recorder.constant(last, np.dtype(np.int64)))
    recorder.builder.limits.note(value, 0, last)
    return ScalarTracer(recorder, value, is_python=True)


def choices_of(recorder: Recorder, holders: list[Any], key: Any) -> Choices | None:
    """What a key may be that these holders are read by; None where that is not known, or they are no tables."""
    kind = type(holders[0])
    if kind not in (list, tuple, dict, str) or any(type(holder) is not kind for holder in holders):
        return None
    place_asked_for(recorder, key)
    if kind is dict:
        found = any_of(recorder, key)
        if found is None and type(key) is ScalarTracer:
            return required(recorder, holders, key)
        return found if found is not None and may_be_missing(recorder, holders, found) else None
    if type(key) in (LoopIndex, ScalarTracer):
        return integers(recorder, holders, key)
    inside = type(key) is int and all(-len(holder) <= key < len(holder) for holder in holders)
    return Choices((key,), 0) if inside else None


def may_be_missing(recorder: Recorder, holders: list[Any], choices: Choices) -> bool:
    """Whether some of these are keys, and all are, or what the function raises where one is not is handled nowhere."""
    there = [k in holder for holder in holders for k in choices.keys]
    return all(there) or (any(there) and recorder.scopes.depth > 0 and not is_caught(KeyError))


def integer_bounds(recorder: Recorder, key: Any) -> tuple[int, int] | None:
    """Between which integers one of loops or data is; None of what is none."""
    if type(key) is LoopIndex:
        return recorder.scopes.bounds(key.expression)
    return recorder.builder.limits.of(key.value) if key.dtype.kind in "iu" and not key.types else None


def integers(recorder: Recorder, holders: list[Any], key: Any) -> Choices | None:
    """Of an integer: all that are places in a list, or those between which it is."""
    bounds = integer_bounds(recorder, key)
    if bounds is None:
        return None
    first, last = bounds
    lengths = {len(holder) for holder in holders}
    if type(key) is ScalarTracer and not -min(lengths) <= first <= last < min(lengths):
        return required(recorder, holders, key)
    if not first <= last or not -min(lengths) <= first or not last < min(lengths):
        return None
    if len(lengths) == 1 and (first >= 0 or last < 0):
        length = lengths.pop()
        return Choices(range(length), key if first >= 0 else key + length)
    return Choices(range(first, last + 1), key - first)  # from the end at times: `w[k - 1]`


def required(recorder: Recorder, holders: list[Any], key: ScalarTracer) -> Choices | None:
    """Of an integer of which it is not known what it may be, in a loop: that it is a key is required of each call.

    A call where it is none runs the function, which raises its error. Where that may be handled, None.
    """
    is_dict = type(holders[0]) is dict
    keys = set[Any]().union(*holders) if is_dict else set(range(-len(holders[0]), len(holders[0])))
    if integer_bounds(recorder, key) is None or any(
        not is_dict and len(holder) != len(holders[0]) for holder in holders
    ):
        return None
    if not recorder.scopes.depth or is_caught(KeyError if is_dict else IndexError):
        return None
    if not keys or not all(type(k) is int for k in keys):
        return None
    first, last = min(keys), max(keys)
    if last - first >= MOST_KEYS or max(-first, last) > MOST:
        return None
    wanted, apply = recorder.value_of(key, np.int64), recorder.apply
    low, high = (recorder.constant(bound, np.int64) for bound in (first, last))
    inside = apply("logical_and", apply("greater_equal", wanted, low), apply("less_equal", wanted, high))
    recorder.scopes.require_after(inside, RAISES)
    count = last - first + 1 if is_dict else len(holders[0])
    place = apply("minimum", apply("maximum", wanted, low), high)  # until the loop is over and the call is left
    place = apply("subtract", place, low) if is_dict else apply("wrap_index", place, extent=count)
    recorder.builder.limits.note(place, 0, count - 1)
    return Choices(range(first, last + 1) if is_dict else range(count), ScalarTracer(recorder, place, is_python=True))


def any_of(recorder: Recorder, key: Any) -> Choices | None:
    """All that a key may be of which loops or data say which one it is: an integer, a text, a tuple of such."""
    if type(key) is Letter:
        return Choices(key.letters.texts, key.code)
    if type(key) in (LoopIndex, ScalarTracer):
        bounds = integer_bounds(recorder, key)
        if bounds is None or not 0 <= bounds[1] - bounds[0] < MOST_KEYS:
            return None
        return Choices(range(bounds[0], bounds[1] + 1), key - bounds[0])
    if type(key) is not tuple:
        return Choices((key,), 0) if type(key) in PLAIN else None
    return tuples([any_of(recorder, part) for part in key])


def tuples(parts: list[Choices | None]) -> Choices | None:
    """All tuples of such parts."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or math.prod(len(part.keys) for part in known) > MOST_KEYS:
        return None
    place: Any = 0
    for part in known:
        place = place * len(part.keys) + part.place
    return Choices(tuple(itertools.product(*(part.keys for part in known))), place)


def column_of(
    recorder: Recorder, items: collections.abc.Sequence[Any], laid_down: bool = False, with_lists: int = 0
) -> HandedOn | None:
    """The items as the rows of a list, read at an index that is known at run time; None where that is not possible.

    `with_lists`: how many lists may be in one another, of which each row has its own.
    """
    kinds = {type(item) for item in items}
    if kinds == {tuple} or (with_lists and kinds == {list}):
        if len({len(item) for item in items}) != 1:
            return None
        inside = with_lists - (list in kinds)
        parts = [column_of(recorder, part, laid_down, inside) for part in zip(*items)]
        return Items(kinds.pop(), tuple(range(len(parts))), ()).of(parts)
    if all(item is items[0] for item in items):
        return Unchanged(items[0])
    if all(map(is_text_or_member, items)):
        letters = letters_of(recorder, items)
        return None if letters is None else Items(letters[0], CODE, ()).of([column_of(recorder, letters[1])])  # type: ignore[arg-type]
    if laid_down and any(kind is ScalarTracer or issubclass(kind, np.generic) for kind in kinds):
        return numbers_laid_down(recorder, items)
    if laid_down and kinds == {ArrayTracer}:
        return arrays_laid_down(recorder, items)
    if not kinds <= set(NUMBERS) or (bool in kinds and (len(kinds) > 1 or is_asked(recorder))):
        return None
    if int in kinds and any(type(item) is int and abs(item) > MOST for item in items):
        return None
    types = frozenset((np.dtype(NUMBERS[kind]), True) for kind in kinds)
    data: np.ndarray = np.array(items, NUMBERS[float if float in kinds else kinds.pop()])
    array = ArrayTracer(recorder, Storage(data, recorder.builder.line), data)
    return Plain(data.dtype, True, memory=array, types=types if len(types) > 1 else ALWAYS_ONE)


def numbers_laid_down(recorder: Recorder, items: collections.abc.Sequence[Any]) -> HandedOn | None:
    """Numbers of one kind of which some are traced, in an array."""
    form = number_form(recorder, items, exact=True)
    if form is None or not may_be_rows(recorder):
        return None
    memory = recorder.call(np.array, (list(items),), {})
    return replace(form, memory=memory) if memory.dtype == form.dtype else None


def number_form(recorder: Recorder, items: collections.abc.Sequence[Any], exact: bool) -> Number | None:
    """The form of any of these items, if they are numbers; `exact`: of one dtype."""
    form: HandedOn | None = None
    for item in items:
        if not is_number(item) or type(item) is LoopIndex:
            return None
        one = Number(*number_type(item), types=types_in(item), is_data=recorder.is_scalar(item))
        form = one if form is None else joined(form, one, exact=exact)
        if form is None:
            return None
    return form if isinstance(form, Number) else None


def chosen_number(recorder: Recorder, items: collections.abc.Sequence[Any], place: Any) -> Any:
    """Which one of some numbers data choose, `[a, b, c][k]`; None where they are something else, or too many."""
    form = number_form(recorder, items, exact=False) if len(items) <= MOST_CHOSEN else None
    if form is None or not any(map(recorder.is_scalar, items)) or not may_be_rows(recorder):
        return None
    if form.types and not recorder.scopes.depth:  # where a trace for each of them does what depends on its type
        return None
    *values, chosen = (recorder.value_of(item, form.dtype) for item in items)
    which = recorder.value_of(plain_or_traced(place), np.dtype(np.int64))
    for number, value in reversed(list(enumerate(values))):
        is_it = recorder.apply("equal", which, recorder.constant(number, np.dtype(np.int64)))
        chosen = recorder.apply("where", is_it, value, chosen)
    return ScalarTracer(recorder, chosen, form.is_python, form.types)


def chosen_array(recorder: Recorder, site: Site, row: ChosenRow) -> Any:
    """Which one of some arrays data choose; None where they are something else, or too many, or may be written to."""
    items, copies = row.items, (site[0], site[1] + ARRAYS)
    if type(row.place) is not ScalarTracer or len(items) > MOST_CHOSEN or {*map(type, items)} != {ArrayTracer}:
        return None
    if len({(item.shape, item.dtype) for item in items}) > 1 or not recorder.scopes.may_try(copies):
        return None
    column = arrays_laid_down(recorder, items)
    return None if column is None else column.item(None, row.place)


def may_be_rows(recorder: Recorder) -> bool:
    """Whether what is read here may be another object each time: unless code was met that asks which one it has."""
    frame = user_frame(sys._getframe(1))
    site = None if frame is None else (frame.f_code, frame.f_lasti)
    if site is None or site in recorder.scopes.decisions.plain:
        return False
    recorder.rows_given.add(site)
    return True


def arrays_laid_down(recorder: Recorder, items: collections.abc.Sequence[Any]) -> HandedOn | None:
    """Arrays of one shape in one array; to one that is taken from there nobody may write, nor to those in it."""
    shape, dtype = items[0].shape, items[0].dtype
    are_alike = shape and all((item.shape, item.dtype) == (shape, dtype) for item in items)
    if not are_alike or not may_be_rows(recorder):
        return None
    memory = recorder.call(np.array, (list(items),), {})
    if all(item.storage.captured for item in items):
        memory.storage.chosen = True
        return Array(dtype, shape, memory=memory)
    frame = user_frame(sys._getframe(1))
    if frame is None or len(items) > recorder.unroll:
        return None
    decisions, site = recorder.scopes.decisions, (frame.f_code, frame.f_lasti)

    def refuse(reason: str, is_first: bool) -> BaseException:
        decisions.plain.add(site)
        recorder.watch.off()
        return recorder.scopes.restart()

    names = NONE.union(*(recorder.copies.names(item.storage) for item in items))
    return OneOfArrays(dtype, shape, memory=memory, copy=Copy(names, NONE, refuse))


@dataclass
class Plain(Number):
    """Plain numbers: it is known between which ones they are."""

    def item(self, owner: TracedList | None, row: Any) -> Any:
        found = super().item(owner, row)
        if type(found) is ScalarTracer and self.memory is not None and self.dtype == np.int64:
            data = self.memory.storage.base
            found.recorder.builder.limits.note(found.value, int(data.min()), int(data.max()))
        return found
