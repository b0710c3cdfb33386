"""The recorder and the stage of loops, as far as those look at them who come before them."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sized
from typing import Any, Protocol

import numpy as np

from ...regions.affine import Affine
from ...tape.tape import Value
from .builder import RecordingBuilder
from .left_behind import LeftBehind
from .scopes import Scopes


class Accounts(Protocol):
    """Is told which memories the program reads and writes; see `aliases`."""

    def read(self, storage: Any) -> None: ...

    def written(self, storage: Any) -> None: ...

    def refused(self, storage: Any, reason: str) -> BaseException: ...


class Flow(Protocol):
    """What the stage of loops does: it runs over arrays, and says what tests of traced values give."""

    @property
    def sites(self) -> Sized:
        """The `while` statements that are to be noticed when something is recorded."""

    @property
    def dicts(self) -> dict[int, tuple[Any, Any]]:
        """Those and the sets that were made, and where, by identity."""

    @property
    def short_runs(self) -> dict[int, Any]:
        """Loops over short lists that are under way, which run as Python's do, by their iterators."""

    @property
    def lists_given(self) -> dict[int, Any]:
        """Tables of lists, of which the iterations of loops have been given some, by identity."""

    @property
    def sets(self) -> dict[int, Any]:
        """What is known of the order of those in memory, by the identity of their places."""

    @property
    def keys_added(self) -> Counter[Any]:
        """How often those of a site that lie in memory were given a key that may be new."""

    def notice(self, frame: types.FrameType) -> None:
        """Something is recorded for code that `frame` runs."""

    def iterate(self, length: Any, item: Callable[[Any], Any], holders: tuple[Any, ...] = ()) -> Iterator[Any]:
        """An iterator over `item(0)` to `item(length - 1)`, for which a loop may be recorded once; of these lists."""

    def class_made(self, body: types.CodeType, cls: type) -> None:
        """The program has defined a class."""

    def learn_class(self, site: Any, obj: Any) -> bool:
        """Whether objects of a class can be records, as one of them is."""

    def could_be_filled(self, items: Any) -> bool:
        """Whether a list has been made with its length, and others take the place of what is in it."""

    def fits_in_rows(self, items: Any) -> bool:
        """Whether a list of like items that data choose from can lie in memory."""

    def lay_down(self, items: Any) -> None:
        """Give a list of numbers memory, where that can be done."""

    def uneven(self, items: Any) -> BaseException:
        """What to raise where a list does not grow by the same number of elements each time."""

    def sides_around(self) -> Any:
        """The sides of tests that are running."""

    def next_item(self, frame: types.FrameType, begun: Any) -> None:
        """A generator expression, of which the tracer takes the items, asks for its next one.

        `begun`: the sides that were around when it began to run over them.
        """

    def follow_grown(self, grown: list[Any]) -> None:
        """Have the length of those of `deque` be data, and dicts with texts as keys be tables."""

    def follow_dicts(self, frame: types.FrameType, texts: Collection[Any] = (), key: Any = None) -> None:
        """A number that is not known is a key, or one of these texts: have dicts be tables that may have it."""

    def before_run(self) -> None:
        """What is recorded so far is about to run for the example."""

    def finish(self) -> None:
        """The function has returned."""

    def test(self, predicate: Value) -> bool:
        """What Python is told that asks for a truth."""

    def compared(self, difference: Affine, relation: Callable[..., bool]) -> bool | None:
        """What a comparison of an integer with zero gives, where it is in a test that may end a loop."""

    def told_apart(self, types: Any) -> BaseException:
        """What to raise where the program does what depends on the type that a number has."""

    def pass_types_on(self, function: Any, args: Any, kwargs: Any, found: Any) -> None:
        """Of which types `found` may be, that a function of NumPy has given for numbers of several."""

    def undecided(self) -> None:
        """The bounds of the loops around do not decide a comparison."""

    def event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        """A statement of a frame that is watched begins, or it returns."""

    def resumed(self, frame: types.FrameType) -> None:
        """A generator goes on that a loop runs in which is recorded."""

    @property
    def is_watching(self) -> bool:
        """Whether events are waited for."""

    def forget(self) -> None:
        """Nothing is watched any more."""


class Recording(Protocol):
    """The recorder of a trace."""

    builder: RecordingBuilder
    scopes: Scopes
    flow: Flow
    refusal: Exception | None
    generators: set[types.FrameType]
    left_behind: LeftBehind

    @property
    def copies(self) -> Accounts: ...

    def mark(self) -> None: ...

    def here(self) -> str: ...

    def apply(self, primitive: str, *values: Value, **parameters: object) -> Value: ...

    def constant(self, number: Any, dtype: Any = None) -> Value: ...

    def assume(self, storage: Any) -> None: ...

    def plain(self, obj: Any) -> Any: ...

    def is_concrete(self, obj: object) -> bool: ...

    def stacked(self, items: Any, dtype: Any = None) -> Value: ...

    def unsupported_dtype(self, dtype: object) -> BaseException: ...

    def array_at(self, storage: Any, base: np.ndarray) -> Any: ...
