"""What lists have in common that traced code makes: `TracedList`, and those of `run_time_lists`."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import control
from ...python.frames import user_frame
from ...python.shown_text import is_only_shown
from ..lengths.varying import VaryingArray
from ..record.storage import ASSIGNMENT, Storage
from ..record.texts import is_for_a_message
from ..record.traced import Traced

if TYPE_CHECKING:
    from ...tape.tape import Value
    from ..record.decisions import Site
    from ..record.recorder import Recorder

BINARY_OP, NB_INPLACE_ADD = dis.opmap["BINARY_OP"], 13  # as an operand of the instruction


class ListInTrace(Traced):
    """What lists (or tuples) have in common that traced code makes, and loops fill.

    What only a list with all its elements can do makes the trace start again, with the list made as Python makes it.

    Attributes
    ----------
    site : (code, int)
        The instruction that made it, or the list that it comes from.
    depth : int
        How many loops and branches were around its making.
    """

    is_traced_list = True
    is_shared = False  # some of its items, which are no numbers, may be elsewhere too
    is_of_own = False  # its items are arrays that the iterations of a loop have made, each of its own
    place: Any = None  # of one that is in a list in memory, there
    is_written = False  # whether it lies in memory, to which loops write; see `written_lists`

    def __init__(self, recorder: Recorder, site: Site, kind: type = list):
        self.recorder, self.site, self.kind = recorder, site, kind
        self.depth, self.scope = recorder.scopes.depth, recorder.scopes.innermost
        self.line = recorder.builder.line

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.kind

    @property
    def label(self) -> str:
        match = ASSIGNMENT.match(self.line.text)
        return match.group(1) if match else "list"

    def refuse(self) -> BaseException:
        """What to raise for something that it cannot do."""
        scopes = self.recorder.scopes
        if self.site in scopes.decisions.plain:  # what gives it makes no other ones
            return scopes.unroll_innermost("has a list that it cannot follow", self.recorder.builder.line)
        scopes.decisions.plain.add(self.site)
        return scopes.restart()

    def before_write(self, storage: Storage) -> None:
        """An array is about to be written to that is in it, or a copy of one that is."""
        raise self.refuse()

    def in_memory(self) -> tuple[Any, tuple[str, ...], list[Any]]:
        """Where it `is_written`: its kind, and the arrays in which it lies, with their names."""
        raise NotImplementedError

    def held(self) -> Iterator[tuple[str | None, Any]]:
        """What it is made of, as far as loops and branches change it by name; and without one, what it leads to."""
        raise NotImplementedError

    def storages(self) -> Iterator[Storage]:
        """The memories to which it leads."""
        raise NotImplementedError

    def length(self) -> Any:
        """How many elements there are; a traced integer where that is data."""
        raise NotImplementedError

    def traced(self) -> Any:
        """As the array that `numpy.array` makes of it."""
        raise NotImplementedError

    def elements(self) -> Any:
        """As an ordinary list or tuple."""
        raise NotImplementedError

    def given(self) -> list[Any]:
        """What it is made of, for another list."""
        raise NotImplementedError

    def given_to(self, other: Any) -> list[Any]:
        """For this list."""
        return self.given()

    def read(self) -> Value:
        return self.recorder.value_of(self.traced())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.traced().__array__(dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        inputs = tuple(item.traced() if issubclass(type(item), ListInTrace) else item for item in inputs)
        return getattr(ufunc, method)(*inputs, **kwargs)

    def __repr__(self) -> str:
        """For messages; what else the program does with the text needs all elements."""
        frame = sys._getframe(1)
        if not (is_for_a_message(frame) or is_only_shown(frame)):
            raise self.refuse()
        return f"<traced {self.kind.__name__}>"

    def __hash__(self) -> int:
        if self.kind is tuple:
            raise self.refuse()
        raise TypeError(f"unhashable type: '{self.kind.__name__}'")

    def __eq__(self, other: Any) -> Any:
        raise self.refuse()

    def __getattr__(self, name: str) -> Any:
        """The other methods of a list: those that change it, count or search."""
        if name == "count":
            return functools.partial(self.recorder.namespace.function(control._count), self)
        if name.startswith("__") or not hasattr(self.kind, name):
            raise AttributeError(f"'{self.kind.__name__}' object has no attribute '{name}'")
        raise self.refuse()


def adds_in_place() -> bool:
    """Whether the user's code is at `items += ours`, of which Python asks ours first: it is still those items."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return False
    operation, operand = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
    return operation == BINARY_OP and operand >= NB_INPLACE_ADD


def is_traced_list(obj: object) -> bool:
    return issubclass(type(obj), ListInTrace)


def is_of_run_time_length(items: object) -> bool:
    """Whether it is an array or a list whose length is data."""
    return issubclass(type(items), VaryingArray) or getattr(type(items), "has_run_time_length", False)


def _refusing(name: str) -> None:
    def method(self: ListInTrace, *args: Any) -> Any:
        raise self.refuse()

    method.__name__ = name
    setattr(ListInTrace, name, method)


for _name in ("__contains__", "__lt__", "__le__", "__gt__", "__ge__", "__imul__"):
    _refusing(_name)
_refusing("__reversed__")
_refusing("__deepcopy__")
_refusing("__reduce_ex__")
Sequence.register(ListInTrace)  # for `match`
