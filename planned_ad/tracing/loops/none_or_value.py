"""Variables that hold None on some ways and something else on others: `best = None`, until an iteration finds one.

In memory that is a truth, whether there is a number or array, and that. Where the program asks `best is None`, which
`python.comprehensions` has written so that it comes here, that is a test of data, and on its sides the variables hold
None, or the thing itself. What else is done with it needs that: calls in which there is none raise what the function
does.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.asked_for import asks_for_none
from ...python.frames import user_frame, user_frames
from ...python.liveness import is_in_users_try
from ...python.shadows import is_user_frame
from ...python.statements import while_part
from ...tape.guards import RAISES
from ..record.lost_variables import Lost
from ..record.promotion import operand
from ..record.storage import Storage
from ..record.traced import Traced, TracedArray
from ..values.array_tracer import ArrayTracer
from ..values.indexing import KEYS, Keys
from ..values.operators import BINARY, COMPARISONS, Arithmetic
from ..values.scalar_tracer import ScalarTracer
from .places import Key, Place, write_state
from .state import capture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..record.recorder import Recorder

PARTS = ("present", "held")
MISSING = "None is used as a number or an array"
UNASSIGNED = "a variable is read to which nothing has been assigned"


class NoneOrValue(Arithmetic):
    """None, or a number, an array of real numbers or a tuple of numbers."""

    __slots__ = ("held", "present", "recorder")
    may_be_none = True

    def __init__(self, recorder: Recorder, present: Any, held: Any):
        self.recorder, self.present, self.held = recorder, present, held

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.decided().__class__ if is_user_frame(sys._getframe(1)) else type(self)

    def decided(self) -> Any:
        """None, or what there is instead: a test of data, after which all variables hold what it is."""
        frame, scopes = user_frame(sys._getframe(1)), self.recorder.scopes
        part = None if frame is None else while_part(frame)
        if scopes.depth and frame is not None and part is not None:
            lines, file = part[0], frame.f_code.co_filename
            if (file, lines.first) not in scopes.decisions.followed:
                scopes.decisions.follow(file, [lines.first])  # it becomes a test in the body
                raise scopes.restart()
        found = self.held if self.is_present() else None
        self.put_in_place(found)
        return found

    def is_present(self) -> bool:
        loop = self.recorder.scopes.loop if self.recorder.scopes.depth else None
        for active in loop.branches.active if loop is not None else ():
            if active.predicate is self.present.value:
                return bool(active.outcome)
        return bool(self.present)

    def needed(self, error: type[Exception] = TypeError) -> Any:
        """The number or array, which there has to be: with None the program would meet this `error`."""
        scopes = self.recorder.scopes
        if not scopes.depth or is_in_users_try(sys._getframe(1), error):
            found = self.decided()
            if found is None:
                raise error("unsupported for 'NoneType'")
            return found
        scopes.require_after(self.recorder.value_of(self.present), RAISES, MISSING)
        self.put_in_place(self.held)
        return self.held

    def assigned(self) -> Any:
        """The number or array, of a variable to which nothing may have been assigned.

        Where it is used there has to be one; else that is an error in the function. None for an array that lies in
        another's memory.
        """
        recorder, held = self.recorder, self.held
        present = recorder.value_of(self.present)
        if type(held) is ScalarTracer:
            value = held.value
        elif type(held) is ArrayTracer and type(held.storage) is Storage and held.geometry is held.storage.base:
            value = held.read()
            storage = held.storage
            storage.value, storage.buffer, storage.depth = value, None, recorder.scopes.depth  # what reads it uses this
        elif self.is_array or self.is_tuple:
            return None
        else:  # a number that is known, of which there is a value of its own here
            known = recorder.value_of(held)
            value = recorder.apply("where", present, known, known)
            held = ScalarTracer(recorder, value, is_python=not isinstance(held, np.generic))
        recorder.builder.doubtful[id(value)] = (
            value,
            lambda: recorder.scopes.require_after(present, RAISES, UNASSIGNED),
        )
        return held

    def put_in_place(self, found: Any) -> None:
        """Let all variables that hold this hold what it was found to be."""
        recorder, places = self.recorder, dict[Key, tuple[Place, Any]]()
        last = recorder.scopes.loop.frame if recorder.scopes.depth else None
        for frame in user_frames(sys._getframe(1)):
            state = capture(frame, recorder.consumers.get(frame))
            places |= {key: (place, found) for key, (place, value) in state.values.items() if value is self}
            if frame is last:
                break
        write_state(places)

    # As of what it is where it is not None.

    def traced(self) -> Any:
        found = self.needed()
        return found.traced() if issubclass(type(found), Arithmetic) else found

    def read(self) -> Any:
        return self.recorder.value_of(self.needed())

    def operand(self) -> Any:
        return operand(self.recorder, self.traced())

    def sources(self) -> Iterator[Any]:
        waiting = [self.present, self.held]
        for part in waiting:
            if issubclass(type(part), Traced):
                yield from part.sources()
            waiting += part if isinstance(part, tuple) else ()

    def storages(self) -> Iterator[Storage]:
        if self.is_array:
            yield from self.held.storages()

    @property
    def is_array(self) -> bool:
        return issubclass(type(self.held), TracedArray)

    @property
    def is_tuple(self) -> bool:
        return isinstance(self.held, tuple)

    def __getattr__(self, name: str) -> Any:
        if not is_user_frame(sys._getframe(1)):  # only what the program asks for is a test
            raise AttributeError(name)
        return getattr(self.decided() if hasattr(None, name) else self.needed(AttributeError), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in NoneOrValue.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self.needed(AttributeError), name, value)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.recorder.call(function, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.needed()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.needed()[key] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.needed())

    def __len__(self) -> int:
        return len(self.needed())

    def __contains__(self, item: object) -> bool:
        return item in self.needed()

    def __bool__(self) -> bool:
        return bool(self.decided())

    def __eq__(self, other: object) -> Any:
        return self.decided() == decided(other)

    def __ne__(self, other: object) -> Any:
        return self.decided() != decided(other)

    def __hash__(self) -> int:
        return hash(self.decided())

    def __index__(self) -> int:
        return self.needed().__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self.needed())

    def __int__(self) -> int:
        return int(self.needed())

    def __format__(self, specification: str) -> str:
        return format(self.decided(), specification)

    def __str__(self) -> str:
        return str(self.decided())

    __repr__ = __str__


def _on_what_it_is(operation: Callable[..., Any]) -> Callable[..., Any]:
    def method(self, other):
        return operation(self.needed(), other)

    return method


for _name in (*(f"i{name}" for name in BINARY if name != "divmod"), "ipow", "matmul", "imatmul"):
    setattr(NoneOrValue, f"__{_name}__", _on_what_it_is(getattr(operator, _name)))
NoneOrValue.__rmatmul__ = lambda self, other: operator.matmul(other, self.needed())  # type: ignore[attr-defined]


def _unless_tuple(name: str, inherited: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: NoneOrValue, *others: Any) -> Any:
        if not self.is_tuple:
            return inherited(self, *others)
        return getattr(self.needed(), name, lambda *_: NotImplemented)(*others)

    return method


for _name in (*BINARY, *(f"r{name}" for name in BINARY), "pow", "rpow", *COMPARISONS):
    _own = f"__{_name}__"
    if _own not in vars(NoneOrValue) and hasattr(NoneOrValue, _own):
        setattr(NoneOrValue, _own, _unless_tuple(_own, getattr(NoneOrValue, _own)))


def decided(obj: Any) -> Any:
    """Anything, but None or what there is where it may be either."""
    return obj.decided() if type(obj) is NoneOrValue else obj


def has_either(recorder: Recorder, key: Any, value: Any) -> bool:
    """Whether a key has None or a number in it, as one of its parts or as a bound of a slice."""
    for part in key if type(key) is tuple else (key,):
        bounds = (part.start, part.stop, part.step) if type(part) is slice else (part,)
        if NoneOrValue in map(type, bounds):
            return True
    return False


def key_with_numbers(key: Any) -> Any:
    """A key with the numbers, and None where that is a bound of a slice."""
    if type(key) is tuple:
        return tuple(map(key_with_numbers, key))
    if type(key) is slice:
        return slice(decided(key.start), decided(key.stop), decided(key.step))
    return key.needed() if type(key) is NoneOrValue else key


def put_at(array: Any, key: Any, value: Any) -> None:
    array[key_with_numbers(key)] = value


KEYS.append(Keys(has_either, lambda array, key: array[key_with_numbers(key)], put_at))


def optional(recorder: Recorder, name: str, present: Any, held: Any) -> Any:
    """What the variable `name` holds. From the first one on, all functions are written so that they ask for None."""
    found = optional_item(recorder, present, held, name)
    return found if recorder.scopes.depth or type(found) is Lost else found.decided()


def optional_item(recorder: Recorder, present: Any, held: Any, name: str = "an element") -> Any:
    """As `optional`, of what is in a list or object: outside of loops, too, it is asked for later which it is."""
    decisions = recorder.scopes.decisions
    if decisions.nones is None:
        decisions.nones = True
        recorder.watch.off()
        raise recorder.scopes.restart()
    if not decisions.nones or type(held) is Lost:
        return Lost(recorder, name)
    recorder.gives_nones = True
    return NoneOrValue(recorder, present, held)


def refuse_nones(recorder: Recorder) -> None:
    """At the end: functions were met that ask for None in a way that was not seen."""
    decisions = recorder.scopes.decisions
    if recorder.gives_nones and any(map(asks_for_none, recorder.namespace.codes())):
        decisions.nones = False
        raise recorder.scopes.restart()
