"""What one iteration of a loop hands to the next: numbers and arrays in memory, integers as expressions."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Extent, affine, substitute
from ...regions.regions import View, contiguous
from ...tape.tape import Buffer, Value
from ..lengths.ragged import seen
from ..lengths.run_time_arrays import RunTimeArray
from ..record.aliases import NONE, Refusal, Standing, copy_of
from ..record.lost_variables import DIFFERS, Lost
from ..record.promotion import KINDS, dtype_of
from ..record.storage import ShiftedStorage, Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of, index_of, plain_or_traced
from ..values.scalar_tracer import ScalarTracer
from .state import State, held_by_callers
from .traced_list import is_traced_list

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MUTABLE = (list, dict)  # which stay the objects that they are: each of their items is a place of its own


class NotCarried(Exception):
    """What a variable holds before and after an iteration has no common form; the message says so to the user."""


@dataclass
class Whole:
    """Something that is the same in all iterations."""

    value: Any

    def begin(self, recorder: Recorder, index: int) -> Any:
        return self.value

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        if not same(self.value, value):
            raise NotCarried
        return []


@dataclass
class Count:
    """An integer that grows by the same amount in each iteration."""

    start: Extent
    step: Extent

    def begin(self, recorder: Recorder, index: int) -> Any:
        return index_of(recorder, self.start + _times(index, self.step))

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        expression = expression_of(value)
        following = substitute(self.start + _times(index, self.step), index, affine(1, {index: 1}))
        if expression is None or expression - following != 0:
            raise NotCarried
        return []


def _times(index: int, step: Extent) -> Extent:
    assert isinstance(step, int)
    return affine(0, {index: step})


@dataclass
class Number:
    """A scalar that is handed on in memory."""

    buffer: Buffer
    is_python: bool
    changed: bool = False  # whether it turned out to be a NumPy scalar after all

    def begin(self, recorder: Recorder, index: int) -> Any:
        return ScalarTracer(recorder, recorder.builder.load(self.buffer.whole), self.is_python)

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        if not is_number(recorder, value):
            raise NotCarried
        value = plain_or_traced(value)
        dtype, is_python = number_type(recorder, value)
        if dtype != self.buffer.dtype and type(value) is ScalarTracer:
            raise NotCarried
        if self.is_python and not is_python:
            self.is_python, self.changed = False, True
        return [(self.buffer, recorder.value_of(value, self.buffer.dtype))]


@dataclass
class Array:
    """An array that is handed on in memory of its own.

    Where it is `shared`, the program's array is one that something else may lead to: a write to it would have to be
    seen there, and is refused.
    """

    buffer: Buffer
    base: np.ndarray
    depth: int
    shared: bool
    lent: bool  # whether something else led to the memory that it had before the loop
    standing: Standing
    refuse: Refusal
    storage: Storage | None = None
    is_replaced: bool = False  # whether the last iteration recorded leaves another array than it was handed

    def begin(self, recorder: Recorder, index: int) -> Any:
        self.storage = Storage(self.base, self.buffer.line, buffer=self.buffer, depth=self.depth)
        self.storage.chosen, self.storage.lent, self.storage.carried = self.shared, self.lent, True
        self.storage.name = (recorder.scopes.indices, "copy", self.buffer.id)
        over = index not in recorder.scopes.indices
        recorder.copies.made(self.storage, copy_of(self.standing, self.refuse, over=over))
        if not over:
            self.standing.left = NONE
        return self.array(recorder)

    def array(self, recorder: Recorder) -> ArrayTracer:
        """The array in this memory."""
        assert self.storage is not None
        return ArrayTracer(recorder, self.storage, self.base)

    def fits(self, array: ArrayTracer) -> bool:
        return bool(array.shape == self.base.shape and array.dtype == self.base.dtype)

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        if not recorder.is_array(value) or not self.fits(value):
            raise NotCarried
        self.standing.left |= recorder.copies.names(value.storage)
        if value.storage is self.storage and value.layout == self.storage.view_of(self.base):
            return []
        self.is_replaced = True
        if value.storage.listed is not None and not self.shared:
            raise NotCarried("hands on an array that is in a list")
        return [(self.buffer, value.read())]


@dataclass
class Moving:
    """A view that moves on by the same distance in each iteration; `view` is where an iteration leaves it."""

    array: ArrayTracer
    view: View

    def begin(self, recorder: Recorder, index: int) -> Any:
        return seen(self.array, moved(self.view, index, affine(-1, {index: 1})))

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        if not recorder.is_array(value) or memory_of(value) is not memory_of(self.array) or value.layout != self.view:
            raise NotCarried
        return []


def memory_of(array: ArrayTracer) -> Storage:
    storage = array.storage
    return storage.memory if isinstance(storage, ShiftedStorage) else storage


def moved(view: View, index: int, by: Extent) -> View:
    """`view` where the loop's index is what `by` says."""
    return View(substitute(view.offset, index, by), view.shape, view.strides)


@dataclass
class Fresh:
    """A variable that each iteration assigns anew before it is read."""

    name: str
    reason: str = DIFFERS

    def begin(self, recorder: Recorder, index: int) -> Any:
        return Lost(recorder, self.name, self.reason)

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        return []


@dataclass
class Items:
    """A tuple, list or dict made anew in each iteration, item by item."""

    kind: type
    keys: tuple[Any, ...]
    items: list[Any] = field(default_factory=list)

    def begin(self, recorder: Recorder, index: int) -> Any:
        return put_together(self.kind, self.keys, [item.begin(recorder, index) for item in self.items])

    def leave(self, recorder: Recorder, value: Any, index: int) -> list[tuple[Buffer, Value]]:
        parts = taken_apart(value)
        if parts is None or parts[0] is not self.kind or parts[1] != self.keys:
            raise NotCarried
        return [store for item, part in zip(self.items, parts[2]) for store in item.leave(recorder, part, index)]


def in_memory(carries: Iterable[Carry]) -> Iterator[Any]:
    """Of these, the arrays (and lists of arrays) that are handed on in memory of their own."""
    for carry in carries:
        if isinstance(carry, Items):
            yield from in_memory(carry.items)
        elif getattr(carry, "standing", None) is not None:
            yield carry


def is_alone(obj: Any, state: State) -> bool:
    """Whether one place at most holds an object: what is done to it is seen there only."""
    held = [value for _, value in state.values.values()]
    while any(type(value) is tuple for value in held):
        held = [item for value in held for item in (value if type(value) is tuple else (value,))]
    return sum(value is obj for value in held) <= 1 and not held_by_callers(obj, state.frame)


Carry = Any  # one of the above, or a `Listed` list


def taken_apart(value: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Kind, keys and items of a tuple, list or dict."""
    kind = type(value)
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return kind, tuple(range(len(value))), list(value)
    if kind is dict:
        return kind, tuple(value), list(value.values())
    return None


def put_together(kind: type, keys: tuple[Any, ...], items: list[Any]) -> Any:
    if kind is dict:
        return dict(zip(keys, items))
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def is_number(recorder: Recorder, value: Any) -> bool:
    """Whether `value` is a scalar, traced or not."""
    if recorder.is_scalar(value) or type(value) in (int, float, bool, LoopIndex):
        return True
    return isinstance(value, np.generic) and value.dtype in KINDS


def number_type(recorder: Recorder, value: Any) -> tuple[np.dtype, bool]:
    """Dtype of a scalar, and whether it is a Python number."""
    if type(value) is LoopIndex:
        return np.dtype(np.int64), True
    if recorder.is_scalar(value):
        return value.dtype, value.is_python
    return dtype_of(value), not isinstance(value, np.generic)


def same(a: Any, b: Any) -> bool:
    """Whether two things that a place held are one to the program."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is ArrayTracer:
        return a.storage is b.storage and a.layout == b.layout and a.geometry.flags == b.geometry.flags
    if kind is ScalarTracer:
        return a.value is b.value and a.is_python == b.is_python
    if kind is LoopIndex:
        return a.expression == b.expression
    if kind in (int, float, bool, str, bytes, complex) or isinstance(a, np.generic):
        return bool(a == b) or (a != a and b != b)
    if kind is types.FunctionType:
        return a.__code__ is b.__code__ and a.__globals__ is b.__globals__ and _same_closure(a, b)
    if kind is slice:
        return same(a.start, b.start) and same(a.stop, b.stop) and same(a.step, b.step)
    if kind is types.MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    parts, others = taken_apart(a), taken_apart(b)
    if parts is None or others is None:
        return False
    if kind in (list, dict):  # another object, in which writes would be seen or not
        return False
    return parts[1] == others[1] and all(same(x, y) for x, y in zip(parts[2], others[2]))


def _same_closure(a: types.FunctionType, b: types.FunctionType) -> bool:
    cells, others = a.__closure__ or (), b.__closure__ or ()
    return all(x is y for x, y in zip(cells, others)) and (a.__defaults__ or ()) == (b.__defaults__ or ())


class Joiner:
    """Finds the form in which a variable goes from one iteration to the next; makes the memory for it."""

    def __init__(self, recorder: Recorder, depth: int, index: int, refuse: Refusal):
        self.recorder, self.depth, self.index, self.refuse = recorder, depth, index, refuse
        self.initial: list[tuple[Buffer, Any]] = []  # what memory holds before the first iteration
        self.arrays: list[tuple[Storage, Storage, View]] = []  # memory after and before, and where the array lies in it
        self.then, self.now = State(), State()  # before the loop, and after the iteration
        self.counts_evenly = True  # whether the number of iterations before this one is its index
        self.no_counts: set[str] = set()  # integers that do not grow evenly

    def join(self, name: str, old: Any, new: Any) -> Carry:
        """For a place that holds `old` before the loop and `new` after an iteration."""
        recorder = self.recorder
        if same(old, new):
            return Whole(old)
        if is_traced_list(old) or is_traced_list(new):
            from .list_carries import join_lists

            return join_lists(self, name, old, new)
        parts, others = taken_apart(old), taken_apart(new)
        if parts is not None and others is not None and parts[:2] == others[:2]:
            if parts[0] in (list, dict) and not (is_alone(old, self.then) and is_alone(new, self.now)):
                return Fresh(name)
            items = [self.join(name, a, b) for a, b in zip(parts[2], others[2])]
            return Items(parts[0], parts[1], items)
        if is_number(recorder, old) and is_number(recorder, new):
            return self.join_numbers(name, old, new)
        if recorder.is_array(old) and recorder.is_array(new):
            alone = sum(v.storage is new.storage for v in self.now.arrays()) == 1 and type(new.storage) is Storage
            if memory_of(old) is memory_of(new) and old.layout == moved(new.layout, self.index, -1):
                return Moving(new, new.layout)
            if new.shape != old.shape or new.dtype != old.dtype or not (new.storage.depth > self.depth or alone):
                return Fresh(name)
            return self.join_arrays(name, old, new)
        if type(old) is type(new) is RunTimeArray:
            return Fresh(name)
        raise NotCarried(f"`{name}` is {described(recorder, old)} first and {described(recorder, new)} then")

    def join_numbers(self, name: str, old: Any, new: Any) -> Carry:
        recorder = self.recorder
        first, then = expression_of(old), expression_of(new)
        if (
            self.counts_evenly
            and name not in self.no_counts
            and first is not None
            and then is not None
            and bool not in (type(old), type(new))
        ):
            step = substitute(then, self.index, 0) - first
            if isinstance(step, int):
                return Count(first, step)
        given, old, new = old, plain_or_traced(old), plain_or_traced(new)
        (dtype, is_python), (old_dtype, was_python) = number_type(recorder, new), number_type(recorder, old)
        known = not recorder.is_scalar(old)
        weak = known and was_python and "biuf".index(old_dtype.kind) <= "biuf".index(dtype.kind)
        if dtype != old_dtype and not (weak and dtype.type(old) == old) and not (weak and dtype.kind == "f"):
            raise NotCarried(f"`{name}` is of type {old_dtype} first and {dtype} then")
        return self.number(name, given, dtype, is_python)

    def number(self, name: str, initial: Any, dtype: np.dtype, is_python: bool) -> Number:
        buffer = self.recorder.builder.new_buffer("local", name, dtype, contiguous(()))
        self.initial.append((buffer, initial))
        return Number(buffer, is_python)

    def join_arrays(self, name: str, old: Any, new: Any) -> Carry:
        for other, storage, layout in self.arrays:
            if other is new.storage and (storage, layout) != (old.storage, new.layout):
                raise NotCarried(f"`{name}` shares memory with another array that changes in each iteration")
        base = np.empty_like(new.geometry, subok=False)
        line = self.recorder.builder.line
        buffer = self.recorder.builder.new_buffer("local", name, base.dtype, Storage(base, line).view_of(base))
        self.initial.append((buffer, old))
        self.arrays.append((new.storage, old.storage, new.layout))
        memory = memory_of(old)
        visible = memory.buffer is not None and memory.buffer.visible
        lent = visible or bool(memory.captured) or memory.chosen or memory.lent
        lent = lent or sum(memory_of(other) is memory for other in self.then.arrays()) > 1
        shared = new.storage.depth <= self.depth or new.storage.chosen
        copies = self.recorder.copies
        standing = Standing(buffer.id, copies.names(old.storage), left=copies.names(new.storage))
        return Array(buffer, base, self.depth, shared, lent, standing, self.refuse)


def period_of_exchange(failed: dict[Any, tuple[Any, Any, Any]]) -> int:
    """After how many iterations variables hold the arrays again that they exchange; 1 where they exchange none."""
    pairs = [(o, n) for _, o, n in failed.values() if type(o) is ArrayTracer]
    following = {}
    for k, (_, n) in enumerate(pairs):
        source = next((j for j, (o, _) in enumerate(pairs) if type(n) is ArrayTracer and same(o, n)), None)
        if source is not None:
            following[k] = source
    if not following or set(following) != set(following.values()):
        return 1
    period, state = 1, dict(following)
    while any(k != v for k, v in state.items()):
        state = {k: following[v] for k, v in state.items()}
        period += 1
    return period


def described(recorder: Recorder, value: Any) -> str:
    """A thing that a variable holds, for a message."""
    if recorder.is_array(value):
        return f"an array of {value.dtype}{list(value.shape)}"
    if recorder.is_scalar(value):
        return f"a traced {value.dtype}"
    return "None" if value is None else f"of type {type(value).__name__}"
