"""What is read by a key that loops or data say, from lists, tuples, dicts and texts: `w[k]`, `cost[i, j]`, `near[u]`.

Where it is known which keys there may be, plain numbers are read from a table of them, as are those that are traced and
lie where each may be read; so are several lists or dicts, of which a key says over which one a loop runs:
`for v, w in near[u]`, `for v, w in near[u].items()`.
"""

from __future__ import annotations

import collections
import collections.abc
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.attributes_held import attributes_held, with_attributes
from ...python.instructions import is_run_over
from ...python.shadows import is_user_frame
from ...python.written_calls import chosen_row, item_count, item_of, items_of_loop, view_of_item
from ...tape.guards import RAISES
from ..lengths.elements import RunTime
from ..record.recorder import Recorder
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn
from .held import is_made_of_attributes, is_number
from .iteration import Sequence
from .letters import PLAIN, Letter, has_letters
from .list_in_trace import ListInTrace
from .short_runs import place_asked_for, short_run
from .table_items import is_same
from .tables import MOST, MOST_CHOSEN, arrays_laid_down, chosen_number, column_of, may_be_rows, table_of

if TYPE_CHECKING:
    from ..record.decisions import Site

VIEWS: dict[str, Any] = {"keys": dict.keys, "values": dict.values, "items": dict.items}
SIZED = (list, tuple, dict, str, set, frozenset)
OURS = "planned_ad"
MOST_ITEMS = 1 << 20  # of a table that is read by several keys
MOST_KEYS = 1 << 18  # that one may be
ARRAYS, HOLDERS, RUN = 7, 9, 11  # beside the offset of an instruction, which is even: what is one of several
MOST_TESTED = 4  # other items, each for a branch


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
        row = as_chosen_row(holder)
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
            view, site = "keys" if type(row.items[0]) is dict else None, (frame.f_code, frame.f_lasti + RUN)
            over = run_over(recorder, row, site, view) if is_run_over(frame.f_code, frame.f_lasti) else None
            if over is not None:
                return over
            number = chosen_number(recorder, row.items, row.place)
            if number is not None and count == len(keys):
                return number
            numbers = column_of(recorder, row.items, laid_down=True) if all(map(is_number, row.items)) else None
            if numbers is not None and count == len(keys):
                return numbers.item(None, row.place)
            array = chosen_array(recorder, (frame.f_code, frame.f_lasti), row)
            if array is not None and count == len(keys):
                return array
            if recorder.scopes.depth:
                is_short = len(row.items) <= MOST_TESTED
                if is_short or type(row.items[0]) is list:
                    recorder.lay_down_lists()  # whose items are in memory, where that serves
                    recorder.follow_lists(with_attributes(frame.f_locals.values()))
                site = frame.f_code, frame.f_lasti + HOLDERS
                if may_be_one_of(recorder, row, site):
                    return OneOfHolders(recorder, site, row, read)
                if is_short:
                    return next((item for k, item in enumerate(row.items[:-1]) if row.place == k), row.items[-1])
                if len(keys) == 1:
                    record_what_made(recorder, holder)
        if found is None:
            if type(holder) is OneOfHolders:
                raise holder.refuse()
            item = item_of(holder.holder, *holder.keys) if type(holder) is ChosenRow else holder
            found = (1, item[keys[0]])
        count, item = found
        if count < len(keys):
            return read(item, *keys[count:], is_row=is_row)
        frame = sys._getframe(1)
        return item if is_row or not is_run_over(frame.f_code, frame.f_lasti) else run(item)

    def view(name: str, holder: Any, *keys: Any) -> Any:
        row = read(holder, *keys, is_row=True)
        if type(row) is not ChosenRow:
            return getattr(row, name)()
        frame = sys._getframe(1)
        over = run_over(recorder, row, (frame.f_code, frame.f_lasti + RUN), name)
        return getattr(item_of(row.holder, *row.keys), name)() if over is None else over

    def length(function: Any, holder: Any, *keys: Any) -> Any:
        named = getattr(function, "__name__", ""), str(getattr(function, "__module__", "")).partition(".")[0]
        is_len = function is len or named == ("length", OURS)
        row = read(holder, *keys, is_row=is_len)
        if type(row) is not ChosenRow:
            return function(row)
        count = item_count_of(recorder, row)
        return function(item_of(row.holder, *row.keys)) if count is None else count

    def run(items: Any) -> Any:
        """So a loop over a long list of numbers stays a loop; one over a short list is Python's."""
        if type(items) is OneOfHolders:
            return items.run_over()
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
        id(view_of_item): view,
    }


def as_chosen_row(holder: Any) -> ChosenRow:
    """What a key is read of, as one of several holders."""
    if type(holder) is OneOfHolders:
        return holder.row
    return holder if type(holder) is ChosenRow else ChosenRow(holder, (), [holder], 0, ())


def may_be_one_of(recorder: Recorder, row: ChosenRow, site: Site) -> bool:
    """Whether all are lists, tuples or dicts of numbers, and nothing was met here that they cannot do together."""
    kinds = {type(items) for items in row.items}
    if len(kinds) > 1 or not kinds <= {list, tuple, dict} or site in recorder.scopes.decisions.plain:
        return False
    parts = itertools.chain.from_iterable(items.values() if type(items) is dict else items for items in row.items)
    are_numbers = all(is_number(part) or (type(part) is tuple and all(map(is_number, part))) for part in parts)
    return are_numbers and may_be_rows(recorder)


class OneOfHolders(ListInTrace):
    """One of several lists, tuples or dicts, as data say, of which only items are read: `near = graph[u]`."""

    is_plain, is_one_of_several = False, True

    def __init__(self, recorder: Recorder, site: Site, row: ChosenRow, read: Callable[..., Any]):
        super().__init__(recorder, site, type(row.items[0]))
        self.row, self._read = row, read

    def run_over(self, view: str | None = None) -> Sequence:
        """What a loop runs over."""
        over = run_over(self.recorder, self.row, self.site, view or ("keys" if self.kind is dict else None))
        if over is None:
            raise self.refuse()
        return over

    def __iter__(self) -> Any:
        lengths = {len(items) for items in self.row.items}
        if self.kind is dict or len(lengths) > 1:
            return iter(self.run_over())  # type: ignore[call-overload]
        return (self._read(self, k) for k in range(lengths.pop()))

    def __getitem__(self, key: Any) -> Any:
        return self._read(self, key)

    def length(self) -> Any:
        return item_count_of(self.recorder, self.row)

    def __getattr__(self, name: str) -> Any:
        if self.kind is dict and name in VIEWS:
            return functools.partial(self.run_over, name)
        if not is_user_frame(sys._getframe(1)):
            raise AttributeError(name)
        raise self.refuse()

    def elements(self) -> Any:
        lengths = {len(items) for items in self.row.items}
        if len(lengths) > 1 or self.kind is dict:
            raise self.refuse()
        return self.kind([self._read(self, k) for k in range(lengths.pop())])

    def given(self) -> list[Any]:
        return list(self.elements())

    def traced(self) -> Any:
        return self.recorder.call(np.array, (self.given(),), {})

    def held(self) -> Iterator[tuple[str | None, Any]]:
        return ((None, item) for item in self.row.items)

    def storages(self) -> Iterator[Storage]:
        return iter(())

    def _refused(self, *arguments: Any) -> Any:
        raise self.refuse()

    __len__ = __contains__ = __setitem__ = __delitem__ = __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = _refused
    __or__ = __ror__ = __ior__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = __reversed__ = (
        _refused
    )
    __hash__ = in_memory = _refused  # type: ignore[assignment]


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


def item_count_of(recorder: Recorder, row: ChosenRow) -> Any:
    """How many items the chosen one has; None where they are something else than lists or the like."""
    if not all(type(items) in SIZED for items in row.items):
        return None
    lengths = [*map(len, row.items)]
    found = column_of(recorder, lengths)
    return lengths[0] if found is None else found.item(None, row.place)


def run_over(recorder: Recorder, row: ChosenRow, site: Site, view: str | None = None) -> Sequence | None:
    """What a loop runs over that begins here: the items of one of several lists, `for v in near[u]`, or a dict's view.

    They lie one after the other in a table. None where they are no numbers, or not alike, or where the loop was met to
    change them.
    """
    kinds = (list, tuple) if view is None else (dict,)
    if site in recorder.scopes.decisions.plain or not all(type(items) in kinds for items in row.items):
        return None

    def items_there() -> list[Any]:
        read = VIEWS[view] if view is not None else list
        return list(itertools.chain.from_iterable(map(read, row.items)))

    lengths, items = [len(items) for items in row.items], items_there()
    most = max(lengths)
    column = column_of(recorder, items, laid_down=True) if most else None
    if column is None or (has_letters(column) and recorder.scopes.decisions.letters is False):
        return None
    length: Any = most
    start = row.place * most
    if len(set(lengths)) > 1:
        known = [column_of(recorder, numbers) for numbers in (lengths, [0, *itertools.accumulate(lengths)][:-1])]
        count, start = (plain_or_traced(numbers.item(None, row.place)) for numbers in known if numbers is not None)
        length = RunTime(recorder.value_of(count, np.dtype(np.int64)), most)
    last = sum(lengths) - 1

    def item(k: Any) -> Any:
        now = items_there()
        if len(now) != len(items) or not all(map(is_same, now, items)):
            recorder.scopes.decisions.plain.add(site)
            raise recorder.scopes.restart()
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


def chosen_array(recorder: Recorder, site: Site, row: ChosenRow) -> Any:
    """Which one of some arrays data choose; None where they are something else, or too many, or may be written to."""
    items, copies = row.items, (site[0], site[1] + ARRAYS)
    if type(row.place) is not ScalarTracer or len(items) > MOST_CHOSEN or {*map(type, items)} != {ArrayTracer}:
        return None
    if len({(item.shape, item.dtype) for item in items}) > 1 or not recorder.scopes.may_try(copies):
        return None
    column = arrays_laid_down(recorder, items)
    return None if column is None else column.item(None, row.place)
