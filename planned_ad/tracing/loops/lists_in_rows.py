"""Lists whose length is data that are elements of another one: neighbours, groups, cells, `rows = [[] for _ in x]`.

They lie in the memory of the list around them, each in as many rows as one of them may need, with an integer for each
that says how many there are. What the program gets of it is that part of the memory, to which it appends and writes:
two that are one list to the program are one here. A list that is put into another one becomes such a part where nothing
but the block that has made it can know it; else it is copied, and may not be looked at any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..lengths.elements import Position, RunTime
from ..lengths.sources import Memory, Start
from ..record.promotion import INT
from ..values.loop_index import expression_of, plain_or_traced
from .form import HandedOn, scaled_index
from .forms import Rows
from .list_in_trace import is_traced_list
from .list_room import (
    MOST_ROWS,
    Appended,
    ListRoom,
    ListsOfSite,
    is_alike,
    of_this_trace,
    passes_around,
    serving,
)
from .references import refuse_in_list
from .stored_forms import Number
from .traced_list import TracedList

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder
    from .list_in_trace import ListInTrace

ROWS = 1 << 40  # from the site of a list to that of the lists in it


@dataclass
class Lists(HandedOn):
    """A list of at most `most` elements of the form `each` (None: there are none yet): a row of a list around it."""

    site: Site  # that of the lists
    filled: Number | None = field(default=None, compare=False)
    each: HandedOn | None = field(default=None, compare=False)
    most: int = field(default=0, compare=False)
    appended: Appended | None = field(default=None, compare=False)  # to some row
    of_row: dict[int, Appended] = field(default_factory=dict, compare=False)  # to one of which the number is known

    def parts(self) -> Iterable[HandedOn]:
        return [part for part in (self.filled, self.each) if part is not None]

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        recorder = owner.recorder
        # An attempt that was given up may have left the lists around with this form, and nothing of these.
        room: ListRoom = recorder.scopes.decisions.lengths.setdefault(self.site, ListRoom())
        if rows * room.most > MOST_ROWS:
            raise owner.refuse()
        form = of_this_trace(recorder, room.form)
        appended = Appended()
        recorder.appended.setdefault(self.site, ListsOfSite()).add(appended, passes_around(recorder))
        filled = Number(INT, is_python=True).in_rows(rows, owner, index, depth)
        assert isinstance(filled, Number)
        return replace(
            self,
            filled=filled,
            each=None if form is None else form.in_rows(rows * room.most, owner, index, depth),
            most=room.most,
            appended=appended,
            of_row={},
        )

    def appended_to(self, recorder: Recorder, position: Position) -> Appended:
        """What is appended to the list there, which what is appended to any of them may be, too."""
        assert self.appended is not None
        row = expression_of(position.index)
        if not isinstance(row, int):
            return self.appended
        if row not in self.of_row:
            self.of_row[row] = found = Appended(number=self.appended.number)
            found.hold(self.appended, 1)
            recorder.appended[self.site].append(found)
        return self.of_row[row]


@dataclass(eq=False)
class RowOfLists:
    """Where a list is that is an element of another one, its `owner`."""

    owner: ListInTrace
    column: Lists
    position: Position
    is_gone: bool = False  # whether there is another list now
    read_by: tuple[Any, Any] = (None, None)  # the index by which it was read, and the version of its owner's length

    def __post_init__(self) -> None:
        self.around = loops_around(self.owner.recorder)

    def end(self) -> None:
        """Another list is put there. What an iteration does with the old one comes, in the next one, after that."""
        if self.is_gone:
            return
        self.is_gone = True
        for scope in self.owner.recorder.scopes.open:
            if scope.loop is not None and not any(scope.loop is loop for loop in self.around):
                scope.promotes = True  # its body is recorded once more

    @property
    def number(self) -> Memory:
        assert self.column.filled is not None and self.column.filled.memory is not None
        return Memory(self.column.filled.memory, 0, 1)

    @property
    def filled(self) -> Any:
        """How many elements it has."""
        self.check()
        return RunTime(self.number.element(self.position).read(), self.column.most).scalar(self.owner.recorder)

    def fill(self, number: Any) -> None:
        self.check()
        self.number.element(self.position).write(self.owner.recorder.value_of(plain_or_traced(number), INT))

    def check(self) -> None:
        if self.is_gone:
            raise self.owner.refuse()

    @property
    def start(self) -> Start:
        """The row of the memory of all lists in which its elements begin."""
        recorder, index, most = self.owner.recorder, self.position.index, self.column.most
        expression = expression_of(index)
        if expression is not None:
            return scaled_index(expression, most)
        return recorder.apply("multiply", recorder.value_of(index, INT), recorder.constant(most, INT))

    def version(self) -> object:
        """What changes where a list in the rows gets longer or shorter."""
        memory = self.number.front.storage
        return memory.root, memory.root.version


def room_in_rows(recorder: Recorder, site: Site, form: HandedOn | None, value: Any) -> HandedOn:
    """The form of a list's elements, which have one so far, where this list is another one.

    The trace starts again where those in its rows have no room for what is in this one, or another form.
    """
    lengths = recorder.scopes.decisions.lengths
    if form is None or isinstance(form, Rows):  # of one length, as far as was known
        most = value.most if form is None else max(form.length, value.most)
        form = Lists((site[0], site[1] + ROWS))
        lengths.setdefault(form.site, ListRoom(value.form, most))
    if not isinstance(form, Lists):
        raise refuse_in_list(recorder, value)
    room = lengths[form.site]
    if room.form is None or value.form is None or room.is_guessed:
        each = value.form or room.form
    else:
        each = serving(room.form, value.form)
        if each is None:
            raise refuse_in_list(recorder, value)
    is_known = each is room.form or (each is not None and room.form is not None and is_alike(each, room.form))
    if not is_known or room.most < value.most:
        is_guessed = room.is_guessed and value.form is None
        most = max(room.most, value.most)
        recorder.scopes.decisions.know(form.site, form=each, most=most, is_guessed=is_guessed)
        raise recorder.scopes.restart()
    return form


def loops_around(recorder: Recorder) -> list[Any]:
    """The loops that are being recorded."""
    return [scope.loop for scope in recorder.scopes.open if scope.loop is not None]


def holds_lists(recorder: Recorder, items: TracedList) -> bool:
    """Whether all elements, of which none is a loop's, are lists that have not as many elements as one another."""
    decisions = recorder.scopes.decisions
    if not items.parts or items.kind is not list or items.is_element or items.site in decisions.plain:
        return False
    if items.site in decisions.lengths or not all(type(part) is list or is_traced_list(part) for part in items.parts):
        return False
    lengths = {len(part) if type(part) is list else part.length() for part in items.parts if not is_data_long(part)}
    return any(map(is_data_long, items.parts)) or len(lengths) > 1 or lengths == {0}


def is_data_long(part: Any) -> bool:
    """Whether it is a list whose length is data."""
    return is_traced_list(part) and type(part) is not TracedList


def of_lists(recorder: Recorder, items: TracedList) -> BaseException:
    """What to raise for a list of them that is asked for one by an index: the trace starts again, with them in rows."""
    decisions = recorder.scopes.decisions
    if decisions.attempt is not None:
        return recorder.scopes.give_up(decisions.attempt, for_good=True)
    decisions.lengths[items.site] = ListRoom(most=len(items.parts))
    decisions.follow_comprehensions()
    return recorder.scopes.restart()
