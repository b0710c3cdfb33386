"""In which order the keys of a dict in memory were put there, where data say that: `for k in counts`.

An array has the places of the keys, the first one first, and another one says how many there are. Where a key is taken
out those behind it move up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...tape.guards import RAISES
from ...tape.tape import Value
from ..lengths.elements import Position, RunTime, for_each, memory
from ..record.promotion import INT
from ..values.loop_index import plain_or_traced
from ..values.python_errors import is_caught
from ..values.scalar_tracer import ScalarTracer

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder


class InOrder(Protocol):
    """A dict in memory that has an order of its keys."""

    recorder: Recorder
    site: Site

    def keys_in_order(self) -> KeyOrder: ...

    def refuse(self) -> BaseException: ...

    def __contains__(self, key: Any) -> bool: ...


class KeyOrder:
    """The keys that a dict has, in their order; `places` and `count` lie in memory."""

    def __init__(self, places: Any, count: Any):
        self.places, self.count = places, count

    @classmethod
    def of_none(cls, recorder: Recorder, most: int) -> KeyOrder:
        return cls(*(recorder.call(np.zeros, (n,), {"dtype": INT}) for n in (most, 1)))

    @property
    def most(self) -> int:
        return len(self.places)  # type: ignore[no-any-return]

    def length(self, recorder: Recorder) -> RunTime:
        """How many keys there are."""
        low, high = recorder.constant(0, INT), recorder.constant(self.most, INT)
        found = recorder.apply("minimum", recorder.value_of(self.count[0], INT), high)
        return RunTime(recorder.apply("maximum", found, low), self.most)

    def note(self, recorder: Recorder, place: Any, is_there: Any) -> None:
        """A key is put there: where it is not there yet, it is the last one."""
        apply, number = recorder.apply, self.length(recorder).count
        last = apply("minimum", number, recorder.constant(self.most - 1, INT))
        recorder.builder.limits.note(last, 0, self.most - 1)
        row, known = ScalarTracer(recorder, last, is_python=True), recorder.value_of(is_there)
        found = apply("where", known, recorder.value_of(self.places[row]), recorder.value_of(place, INT))
        added = apply("where", known, recorder.constant(0, INT), recorder.constant(1, INT))
        self.places[row] = ScalarTracer(recorder, found, is_python=True)
        self.count[0] = ScalarTracer(recorder, apply("add", number, added), is_python=True)

    def drop(self, recorder: Recorder, place: Any, is_there: Value) -> None:
        """A key is taken out, where it is there: those behind it move up."""
        apply, none, one = recorder.apply, recorder.constant(-1, INT), recorder.constant(1, INT)
        wanted = apply("where", is_there, recorder.value_of(plain_or_traced(place), INT), none)
        length, kept = self.length(recorder), memory(recorder, "kept", (), INT, 0)
        self.places.storage.writable_buffer(recorder)

        def keep(position: Position) -> None:
            row = recorder.builder.load(kept.whole)
            recorder.builder.limits.note(row, 0, self.most - 1)
            own = recorder.value_of(self.places[plain_or_traced(position.index)], INT)
            self.places[ScalarTracer(recorder, row, is_python=True)] = ScalarTracer(recorder, own, is_python=True)
            more = apply("where", apply("equal", own, wanted), recorder.constant(0, INT), one)
            recorder.builder.store(kept.whole, apply("add", row, more))

        for_each(recorder, length, keep)
        self.count[0] = ScalarTracer(recorder, recorder.builder.load(kept.whole), is_python=True)

    def place_at(self, recorder: Recorder, row: Any) -> ScalarTracer:
        """The place of the key in a row that is known to be there."""
        low, high = recorder.constant(0, INT), recorder.constant(self.most - 1, INT)
        found = recorder.apply("maximum", recorder.value_of(self.places[plain_or_traced(row)], INT), low)
        found = recorder.apply("minimum", found, high)
        recorder.builder.limits.note(found, 0, self.most - 1)
        return ScalarTracer(recorder, found, is_python=True)


@dataclass(eq=False)
class OrderedView:
    """`keys()`, `values()` or `items()` of a dict whose order is data; `item` gives what it shows of a row."""

    table: InOrder
    item: Callable[[Any], Any]
    are_keys: bool = False

    @property
    def length_(self) -> RunTime:
        return self.table.keys_in_order().length(self.table.recorder)

    def length(self) -> Any:
        return self.length_.scalar(self.table.recorder)

    @property
    def holders(self) -> tuple[RunOverKeys, ...]:
        return (RunOverKeys(self.table),)

    def __len__(self) -> int:
        return self.length().__index__()  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __iter__(self) -> Iterator[Any]:
        return self.table.recorder.flow.iterate(self.length_, self.item, self.holders)

    def first(self, function: Callable[[Any], Any], error: type[Exception] = ValueError) -> Any:
        """Its first item, for a `function` that raises an error of its own where there is none."""
        recorder = self.table.recorder
        if is_caught(error) and not self:
            function(())
        recorder.scopes.require_after(recorder.value_of(self.length() > 0), RAISES)
        return self.item(0)

    def __contains__(self, value: Any) -> bool:
        if not self.are_keys:
            raise self.table.refuse()
        return value in self.table

    def _refuse(self, *others: Any) -> Any:
        raise self.table.refuse()

    __eq__ = __reversed__ = __and__ = __or__ = __sub__ = __xor__ = _refuse  # type: ignore[assignment]
    __rand__ = __ror__ = __rsub__ = __rxor__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class RunOverKeys:
    """Such a dict, where a loop runs over it."""

    is_table = has_letters = False

    def __init__(self, table: InOrder):
        self.table, self.added = table, self.now(table)

    @staticmethod
    def now(table: InOrder) -> int:
        """How often the dicts that are made there were given a key that may be new."""
        return table.recorder.flow.keys_added[table.site]  # type: ignore[no-any-return]

    def is_resized(self) -> bool:
        return self.now(self.table) != self.added

    def refuse(self) -> BaseException:
        return self.table.refuse()
