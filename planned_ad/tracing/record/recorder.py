"""The recorder: what one trace knows, and the ways in which tracers and NumPy functions add to its tape."""

from __future__ import annotations

import collections
import math
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import ConversionError, TraceError, UnrollLimitError, UnsupportedError
from ...python.complex_parts import is_complex_array
from ...python.frames import user_frames
from ...python.progress import LOGGER
from ...python.source import Line, current_line
from ...python.subscripts import is_written_in
from ...regions.affine import Ragged
from ...regions.regions import View, c_strides, is_injective
from ...tape.captured import view_of
from ...tape.found_outside import Outside
from ...tape.tape import Buffer, Value, walk
from .aliases import Copies
from .builder import RecordingBuilder
from .decisions import Decisions, Restart, Site
from .dispatch import FUNCTIONS, MADE_HERE, WRITING, handler_of, standing_in
from .example import ExampleRun
from .known_guards import KnownGuards
from .left_behind import LeftBehind
from .number_sources import require_numbers
from .promotion import KINDS, dtype_of, operand
from .recording import Flow
from .refusals import MISTAKES, is_mistake, no_rule, subclass_instead
from .scopes import Scopes, ShortLoop
from .statement_watch import Watch
from .storage import Storage
from .traced import TRACERS, NotAnOperand, Traced, owning, traced_indices

WARNS_AT, MANY_OF_A_LINE = 20_000, 1000  # operations: a second
NUMBERS = int | float | np.number | np.bool_


class Recorder:
    """Records one run of a function.

    Parameters
    ----------
    max_operations : int
        More recorded operations than this end in an UnrollLimitError.
    unroll : int
        Loops of at most so many iterations are recorded one by one.
    max_steps : int
        Loops whose end is decided by traced values run at most so often.
    decisions : Decisions
        What earlier runs of this trace have found out about its loops.
    outside : Outside
        Is told what the traced function has found outside.
    flow : callable
        Makes of the recorder what the stage of loops does for it.
    """

    def __init__(
        self,
        max_operations: int,
        unroll: int,
        max_steps: int,
        decisions: Decisions,
        outside: Outside,
        flow: Callable[[Any], Flow],
    ):
        self.outside = outside
        self.builder = RecordingBuilder()
        self.namespace: Any = None  # what the traced code sees
        self.max_operations = max_operations
        self._look_at = min(WARNS_AT, max_operations)  # operations, of the loop or branch being recorded
        self.unroll = unroll
        self.max_steps = max_steps
        self.whiles, self.scopes = list[Any](), Scopes(self.builder, decisions)  # the `while` loops being recorded
        self.unrolling: dict[int, ShortLoop] = {}  # those that are under way, by their iterators
        self.records: Any = None  # what the program has by reference, or may; see `loops.references`
        self.flow, self.watch, self.copies = flow(self), Watch(self), Copies(self)
        self.example = ExampleRun(self.builder, self.scopes, max_steps)
        self.extents: dict[int, tuple[Value, int]] = {}  # by identity, index values known to be from 0 to below this
        self.captured_arrays: dict[int, tuple[str, np.ndarray]] = {}  # by identity, with their names
        self.constants: dict[int, np.ndarray] = {}  # of these, those whose numbers were used, by identity
        self.wrapped: dict[tuple[int, int], Value] = {}  # an index value within an extent, as one that is not negative
        self.consumers: dict[types.FrameType, Any] = {}  # who adds up the items of a generator expression, by its frame
        self.generators, self.seeded = set[types.FrameType](), dict[bool, Any]()  # that loops run in; that draw
        self.taken_directly: collections.deque[tuple[Any, ...]] = collections.deque(maxlen=64)  # generators, by whom
        self.filled, self.rows_given = set[Site](), set[Site]()  # lists that loops fill; and with rows that are seen
        self.appended, self.rooms_known = dict[Site, Any](), -1  # by lists whose length is data; see `list_room`
        self.counted: dict[int, Any] = {}  # the same for the list that has as many elements, by the number of a value
        # Loops of which several passes have been compared, and the tests in them, by the calls that were running.
        self.verified, self.verified_tests = set[Site](), set[tuple[Site, ...]]()
        self.assigns_nothing_new: set[Site] = set()  # of these loops, those in which tests decide on no new variables
        self.tabled: dict[Site, Line] = {}  # loops whose items are made of plain numbers
        self.written_out: collections.Counter[Site] = collections.Counter()  # operations of short loops
        self.displays: dict[int, tuple[Any, Site]] = {}  # lists, queues that were made, and where, by identity
        self.copied_lists: set[int] = set()  # of these, what `list` has made of other things
        self.written_lists: list[weakref.ref[Any]] = []  # to which loops write
        self.gives_several, self.chosen = False, set[Value]()  # types that data decide; what `max`, `min` have given
        self.copied: dict[int, Any] = {}  # objects in lists, and copies of them, by identity
        self.gives_truths = self.gives_nones = self.gives_letters = False  # what only a plan knows: truths, None, texts
        self.stretches: dict[tuple[object, ...], Any] = {}  # slices with run-time bounds, by their bounds
        self.meets_opaque = False  # whether there are objects around loops whose state is not seen
        self.errors: Any = None  # what asks for errors of NumPy's, where the program has them raised
        self.refusal: Exception | None = None  # the error that library code has got for asking a traced value's number
        self.caught: Any = None  # what remembers refusals that the function may catch
        self.left_behind = LeftBehind()
        self.identity: Any = None  # whether arguments are one object, where that is asked
        self.held: dict[int, Any] = {}  # what objects around loops held when they were last looked at, by identity
        self.unchecked = ""  # why the function cannot run by itself, to be compared with its trace
        self._numbers, self._outcomes = dict[tuple[object, ...], Value](), dict[int, object]()
        self._known = KnownGuards(self.scopes.decisions.known)

    def mark(self) -> None:
        """Give the user's present line to what is recorded next. Once for each operation of the user's."""
        builder = self.builder
        builder.line = current_line()
        if self.scopes.pending:
            raise Restart
        if self.flow.sites:
            self.flow.notice(sys._getframe(1))
        if len(builder.operations) > self._look_at:
            self._look()

    def progress(self) -> str:
        """How far it is."""
        return f"{len(self.builder.operations):,} operations at {self.builder.line}"

    def _look(self) -> None:
        """At what a trace is made of that has become long: a warning first, then the limit."""
        line, count = Counter(op.line for op in walk(tuple(self.builder.operations))).most_common(1)[0]
        if len(self.builder.operations) > self.max_operations:
            self._stop(line, count)
        self._look_at = self.max_operations
        decisions = self.scopes.decisions
        if count > MANY_OF_A_LINE and not decisions.warned:
            decisions.warned = True
            reasons = [f" The loop at {loop.line} {loop.reason}." for loop in decisions.reported()]
            LOGGER.warning(
                "the trace has %s operations so far, %s of them from %s: `%s`, in a loop that is being unrolled.%s "
                "Tracing and compiling may take long; it ends in an error at max_operations=%s.",
                f"{WARNS_AT:,}", f"{count:,}", line, line.text, "".join(reasons[:1]), f"{self.max_operations:,}",
            )  # fmt: skip

    def _stop(self, line: Line, count: int) -> None:
        reasons = [f" The loop at {loop.line} {loop.reason}." for loop in self.scopes.decisions.reported()]
        raise UnrollLimitError(
            f"the trace has more than {self.max_operations:,} operations; {count:,} of them come from {line}: "
            f"`{line.text}`, in a loop that had to be unrolled.{reasons[0] if reasons else ''} Write the body of the "
            f"loop on whole arrays instead of elements, or raise the limit with max_operations=."
        )

    # What an object is.

    def is_array(self, obj: object) -> bool:
        """Whether `obj` is a traced array (also one whose numbers are known)."""
        return type(obj) is TRACERS.array

    def is_scalar(self, obj: object) -> bool:
        """Whether `obj` is a traced scalar."""
        return type(obj) is TRACERS.scalar

    def is_concrete(self, obj: object) -> bool:
        """Whether the numbers of `obj` are known while tracing."""
        kind = type(obj)
        if issubclass(kind, Traced):
            return obj.is_known  # type: ignore[attr-defined]
        if kind is list or kind is tuple:
            return all(self.is_concrete(item) for item in obj)  # type: ignore[attr-defined]
        return True

    def number_of(self, obj: object) -> Any:
        """The known numbers of `obj`, as an array that must not be written to."""
        return np.asarray(self.plain(obj))

    def plain(self, obj: Any) -> Any:
        """`obj` with each known traced array in it replaced by a NumPy array, which must not be written to."""
        kind = type(obj)
        if issubclass(kind, Traced):
            return obj.plain()
        if kind is list or kind is tuple:
            return kind(self.plain(item) for item in obj)
        if kind is dict:
            return {key: self.plain(value) for key, value in obj.items()}
        return obj

    def assume(self, storage: Storage) -> None:
        """Note that the trace holds only for the present numbers of an array from outside."""
        self.copies.read(storage)
        if storage.captured and not self.outside.is_frozen(storage.captured):
            array = storage.outside()
            self.constants[id(array)] = array

    # From objects to values and back.

    def value_of(self, obj: Any, dtype: Any = None) -> Value:
        """What `obj` (traced, an array, a number, or nested lists of them) holds now; cast to `dtype` if given."""
        kind = type(obj)
        if issubclass(kind, Traced):
            if obj.recorder is not self:
                raise UnsupportedError(f"{self.here()}: uses a value of another trace; pass it as an argument")
            return obj.read() if dtype is None else obj.read_as(np.dtype(dtype))
        if (kind is list or kind is tuple) and not self.is_concrete(obj):
            value = self.stacked(obj)
        elif hasattr(kind, "__real_class__") and hasattr(kind, "__array__"):  # of the program's, which are traced
            return self.value_of(obj.__array__(), dtype)
        else:
            return self.constant(self.plain(obj), dtype)
        return value if dtype is None else self.builder.cast(value, np.dtype(dtype))

    def constant(self, number: Any, dtype: Any = None) -> Value:
        """A known number or array as a value. Scalars are recorded once."""
        kind = type(number)
        if kind is float or kind is int or kind is bool or isinstance(number, np.generic):
            dtype = np.dtype(dtype) if dtype is not None else dtype_of(number)
            key = (dtype, kind, number, math.copysign(1.0, number) if number == 0 else 0)
            value = self._numbers.get(key)
            if value is None:
                self._numbers[key] = value = self._constant(number, dtype)
            return value
        return self._constant(number, dtype)

    def _constant(self, number: Any, dtype: Any) -> Value:
        if isinstance(number, np.generic) and dtype is not None:
            data = number.astype(dtype)
        else:
            if isinstance(number, np.ndarray) and type(number) is not np.ndarray:
                raise UnsupportedError(f"{self.here()}: an operand is a {subclass_instead(type(number))}")
            data = np.asarray(number)
            if dtype is not None and data.dtype != dtype:
                data = np.asarray(number, dtype) if not isinstance(number, np.ndarray) else number.astype(dtype)
        if data.dtype not in KINDS:
            raise self.unsupported_dtype(data.dtype)
        return self.builder.constant(data)

    def unsupported_dtype(self, dtype: object) -> UnsupportedError:
        return UnsupportedError(
            f"{self.here()}: an array of dtype {dtype} takes part in a traced computation. float64, float32, integers "
            f"and booleans are supported; convert it first, for example with .astype(np.float64)."
        )

    def here(self) -> str:
        """The user's present line, with its text, to begin a message with."""
        line = current_line()
        return f"{line}, `{line.text}`" if line.text else str(line)

    def result(self, value: Value, like: Any = None) -> Any:
        """A value as NumPy returns it: a scalar for shape (), else a fresh array (in the memory order of `like`)."""
        return TRACERS.scalar(self, value) if value.shape == () else self.array(value, like)

    def array(self, value: Value, like: Any = None) -> Any:
        """A fresh array, which may have shape (); in row-major order, or that of `like`, an array of that shape."""
        if any([isinstance(n, Ragged) for n in value.shape]):
            return TRACERS.in_parts(self, value)
        if like is None:
            base = np.empty(value.shape, value.dtype)
        else:
            base = np.empty_like(like.geometry if self.is_array(like) else like, value.dtype, subok=False)
        return self.fresh(base, value)

    def fresh(self, base: np.ndarray, value: Value) -> Any:
        """A fresh array that lies in memory as `base` does."""
        storage = Storage(base, self.builder.line, value=value, depth=self.scopes.depth)
        storage.born(self)
        return TRACERS.array(self, storage, base)

    def array_at(self, storage: Storage, base: np.ndarray) -> Any:
        """The array that lies in this memory as `base` does."""
        return TRACERS.array(self, storage, base)

    def concrete(self, number: Any, captured: str = "") -> Any:
        """A known array as a traced one (of which it becomes the memory); scalars stay what they are."""
        if type(number) is not np.ndarray:
            return number
        depth = 0 if captured else self.scopes.depth
        if is_complex_array(number):
            return TRACERS.complex_known(self, number, captured, depth)
        if number.dtype not in KINDS:
            return number
        storage = Storage(number, self.builder.line, captured=captured, depth=depth)
        if not captured:
            storage.born(self)
        return TRACERS.array(self, storage, number)

    def captured(self, array: np.ndarray, name: str) -> Any:
        """An array from outside: read from its own memory, unless the trace needs its numbers (or it cannot be)."""
        self.captured_arrays[id(array)] = name, array
        known = id(array) in self.scopes.decisions.constants or self.outside.is_frozen(name)
        view = None if known or is_complex_array(array) else view_of(array)
        if view is None:
            return owning(self.concrete(array, captured=name), array)
        buffer = self.builder.captured(name, array, view)
        self.example.provide(buffer, array)
        return owning(self.array_at(Storage(array, self.builder.line, buffer=buffer, captured=name), array), array)

    def take_captured_as_constants(self) -> bool:
        """Have the next run of the trace know the numbers of captured arrays; whether this one did not."""
        found = {id(b.array): b.array for b in self.builder.buffers if b.array is not None}
        self.scopes.decisions.constants |= found
        return bool(found)

    def empty(self, shape: Any, dtype: Any = np.float64, order: Any = "C") -> Any:
        """A fresh array to be written to; zero until then."""
        return self.concrete(np.zeros(shape, dtype, order))

    def stacked(self, items: Any, dtype: Any = None) -> Value:
        """Nested lists with traced items, as the value of the array that `numpy.array` makes of them."""
        return FUNCTIONS[np.array](self, traced_indices(items), dtype).read()

    def apply(self, primitive: str, *values: Value, **parameters: object) -> Value:
        return self.builder.apply(primitive, *values, **parameters)

    def integer(self, scalar: Any) -> Any:
        """A scalar as a Python integer, what lies behind the point left out."""
        return TRACERS.scalar(self, self.builder.cast(self.value_of(scalar), np.dtype(np.int64)), is_python=True)

    def transposed(self, value: Value) -> Value:
        """`value` with its axes in reverse order."""
        strides = c_strides(value.shape)
        return self.builder.view(value, View(0, value.shape[::-1], strides[::-1]))

    def result_type(self, *objects: object) -> np.dtype:
        """`numpy.result_type`, where Python numbers are weak."""
        types = [np.dtype(obj) if isinstance(obj, type | str | np.dtype) else operand(self, obj)[0] for obj in objects]
        return np.result_type(*(kind(0) if isinstance(kind, type) else kind for kind in types))

    # Views.

    def seen(self, array: Any, geometry: np.ndarray) -> Any:
        """An array that lies in the memory of `array` as `geometry` does; where that is its own, the array itself."""
        kind = TRACERS.complex_array if geometry.dtype.kind == "c" else TRACERS.array
        return array if geometry is array.geometry else kind(self, array.storage, geometry)

    # Calls.

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What `function(*args, **kwargs)` gives for arguments of which some are traced.

        A function that needs the numbers behind traced integers gets them: the tape holds for these only.
        """
        try:
            return self._called(function, args, kwargs)
        except (UnsupportedError, ConversionError, *MISTAKES) as error:
            numbers = [self.known_integer(a) for a in args], {k: self.known_integer(a) for k, a in kwargs.items()}
            if all(a is b for a, b in zip((*args, *kwargs.values()), (*numbers[0], *numbers[1].values()))):
                if is_mistake(error):
                    raise self.unsupported(function) from error
                raise
        return self._called(function, tuple(numbers[0]), numbers[1])

    def known_integer(self, item: Any) -> Any:
        """An argument, a traced integer by its number (a guard)."""
        if type(item) is tuple:
            found = tuple(map(self.known_integer, item))
            return found if any(a is not b for a, b in zip(found, item)) else item
        is_integer = self.is_scalar(item) and not item.is_known and item.dtype.kind in "iu"
        return item.number_for("a function that needs it") if is_integer else item

    def _called(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        self.mark()
        args, kwargs = traced_indices(args), traced_indices(dict(kwargs))
        items = (*args, *kwargs.values())
        handler = handler_of(items)
        if handler is not None:
            return handler.call(self, function, args, dict(kwargs))
        known = all(self.is_concrete(item) for item in items)
        if known and function not in WRITING and kwargs.get("out") is None:
            return self.adopt(function(*self.plain(args), **self.plain(dict(kwargs))), items)
        implementation = FUNCTIONS.get(function)
        if implementation is None:
            require_numbers(self, items)
            return self.call_python(function, args, kwargs)
        try:
            found = implementation(self, *args, **kwargs)
            if self.gives_several:
                self.flow.pass_types_on(function, args, kwargs, found)
            return found if self.errors is None else self.errors.of_function(function, items, found)
        except NotAnOperand:
            raise self.unsupported(function) from None
        except UnsupportedError as error:
            require_numbers(self, items)
            if self.here() in str(error):
                raise
            raise UnsupportedError(f"{self.here()}: {error}") from None

    def call_python(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a function of NumPy without a rule gives that is written in Python: its code is traced."""
        code = getattr(function, "_implementation", function)
        if type(code) is not types.FunctionType:
            raise self.unsupported(function)
        try:
            return self.namespace.library_function(code)(*args, **kwargs)
        except (UnsupportedError, ConversionError) as error:
            raise self.unsupported(function) from error

    def unsupported(self, function: Any) -> UnsupportedError:
        """The error for a function that has no rule, or what it is called."""
        return no_rule(self, function)

    def adopt(self, result: Any, sources: Iterable[Any] = ()) -> Any:
        """NumPy's results as traced arrays; those that show the memory of a source go on showing it."""
        kind = type(result)
        if kind is np.ndarray:
            for source in self._arrays_in(sources):
                if np.may_share_memory(source.storage.base, result):
                    return self.seen(source, result)
            return owning(self.concrete(result), result)
        if kind is list or kind is tuple:
            return kind(self.adopt(item, sources) for item in result)
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return kind(*(self.adopt(item, sources) for item in result))
        made = standing_in(self, result, MADE_HERE)
        return result if made is None else made

    def _arrays_in(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if self.is_array(item) or type(item) is TRACERS.complex_array:
                yield item
            elif type(item) is list or type(item) is tuple:
                yield from self._arrays_in(item)

    def follow_lists(self, lists: Iterable[Any]) -> None:
        """These lists have to be followed: the trace starts again with each a `TracedList`, unless that was tried."""
        decisions = self.scopes.decisions
        sites = {self.displays[id(found)][1] for found in lists if type(found) is list and id(found) in self.displays}
        if not sites <= decisions.growing | decisions.plain:
            decisions.growing |= sites - decisions.plain
            raise self.scopes.restart()

    def lay_down_lists(self) -> None:
        """An index is asked for its number: lists are to be followed or memory, unless that was tried for all."""
        decisions = self.scopes.decisions
        known = decisions.written.keys() | decisions.plain | decisions.filled
        waiting = [(items, site) for items, site in self.displays.values() if site not in known]
        found = {site for items, site in waiting if self.is_better_in_memory(items)}
        filled = {site for items, site in waiting if self.flow.could_be_filled(items)} - decisions.growing
        if found or filled:
            decisions.written |= dict.fromkeys(found)
            decisions.growing |= found | filled
            raise self.scopes.restart()

    def is_better_in_memory(self, items: Any) -> bool:
        """Whether a list of numbers is written to, or has others than integers, of which none shapes the trace."""
        if not self.holds_numbers(items):
            return False
        is_table = id(items) in self.copied_lists or self.holds_integers(items)
        return not is_table or any(is_written_in(f, items) for f in user_frames(sys._getframe(1)))

    def holds_numbers(self, items: Any) -> bool:
        """Whether a list has numbers as items, traced or not, or such lists."""
        found = getattr(items, "parts", None) if getattr(type(items), "is_traced_list", False) else items
        if type(found) is not list:
            return self.is_scalar(items) or isinstance(items, NUMBERS)
        return all(map(self.holds_numbers, found))

    def holds_integers(self, items: Any) -> bool:
        """Whether all numbers in a list, or in the lists in it, are known integers."""
        found = getattr(items, "parts", None) if getattr(type(items), "is_traced_list", False) else items
        return all(map(self.holds_integers, found)) if type(found) is list else type(items) in (int, bool)

    # Run-time choices.

    def outcome(self, predicate: Value, what: str, detail: str = "") -> Any:
        """The scalar that `predicate` is for the example arguments; the tape holds only while it is that."""
        if self.scopes.depth:
            raise self.scopes.unroll_innermost("tests a traced value", self.builder.line)
        known = self._outcomes.get(predicate.id)
        if known is None:
            known = self._known.outcome(what, self.builder.line)
            if known is None:
                self.flow.before_run()
                known = self.example.number(predicate).item()
            self._outcomes[predicate.id] = known
            if what in ("branch", "count"):
                self.scopes.test_in_short_loops({short.site for short in self.unrolling.values()})
            self.builder.guard(predicate, known, what, detail)
        return known

    def argument(self, label: str, array: np.ndarray, active: bool) -> Buffer:
        """A new argument buffer laid out as the example `array`."""
        size = array.itemsize
        if any(s % size for s in array.strides):
            raise TraceError(
                f"the strides of the argument `{label}` are no whole number of elements; pass a copy of it"
            )
        strides = tuple(s // size for s in array.strides) if array.size else c_strides(array.shape)
        view = View(0, array.shape, strides)
        if not is_injective(view):
            raise TraceError(
                f"elements of the argument `{label}` overlap in memory (it is broadcast); pass a copy of it"
            )
        buffer = self.builder.new_buffer("argument", label, array.dtype, view)
        self.example.provide(buffer, array)
        return buffer
