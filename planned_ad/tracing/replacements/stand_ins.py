"""Classes in place of `range`, `zip`, `numpy.ndarray` and the like: called they are ours, asked they are the real ones.

So `range(n)` in traced code makes our range, and `isinstance(v, range)`, `range | list`, `case range():` and what has
been registered for the class do what they do elsewhere.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.shadows import ShadowClass, real_class
from ...python.written_calls import SAME, are_one, is_none, is_truth_itself, itself
from ..loops.letters import Letter, may_be_text
from ..loops.none_or_value import NoneOrValue, decided
from ..loops.references import RecordInRow
from ..loops.seen_classes import class_seen
from ..record.recorder import Recorder
from ..values.array_classes import ClassArray
from ..values.number_types import is_of, told_apart
from ..values.scalar_tracer import ScalarTracer
from .made_later import Later, MadeLater

TRACERS = "planned_ad.tracing."


class StandIn(type):
    """The metaclass: a stand-in for the class `__wrapped__`, whose instances `make` makes."""

    __wrapped__: type
    make: Callable[..., Any]

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(mcs, name, bases, body)
        real = tuple(base.__wrapped__ if isinstance(base, StandIn) else base for base in bases)
        return type(real[0])(name, real, body)  # a class of the user's, made while tracing

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.make(*args, **kwargs)
        is_ours = type(made).__module__.startswith(TRACERS)
        if is_ours and not isinstance(made, (cls.__wrapped__, np.ndarray)):
            made.made_by = cls.__wrapped__
        return made

    def __instancecheck__(cls, instance: object) -> bool:
        if type(instance) is NoneOrValue:
            return isinstance(instance.decided(), cls)
        if type(instance) is ScalarTracer and instance.types:
            return is_of(instance.recorder, instance.types, lambda kind: issubclass(kind, cls.__wrapped__))
        return isinstance(instance, cls.__wrapped__) or getattr(instance, "made_by", None) is cls.__wrapped__

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(getattr(subclass, "__wrapped__", subclass), cls.__wrapped__)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls.__wrapped__ is other or NotImplemented  # which asks a dtype

    def __hash__(cls) -> int:
        return hash(cls.__wrapped__)

    def __getattr__(cls, name: str) -> Any:
        found = getattr(cls.__wrapped__, name)
        if isinstance(found, types.MethodDescriptorType | types.WrapperDescriptorType):
            return lambda instance, *args, **kwargs: method_of(instance, name)(*args, **kwargs)  # may be one of ours
        return found

    def __repr__(cls) -> str:
        return repr(cls.__wrapped__)


def method_of(instance: Any, name: str) -> Callable[..., Any]:
    """The method that `numpy.ndarray` or another class itself defines, whatever the class of the instance does."""
    return instance.base_method(name) if issubclass(type(instance), ClassArray) else getattr(instance, name)  # type: ignore[no-any-return]


def stand_in(real: type, make: Callable[..., Any]) -> type:
    """A class that is `real` but for its call."""
    names = {"__wrapped__": real, "make": staticmethod(make), "__doc__": real.__doc__, "__module__": real.__module__}
    if real in (float, int, complex) or issubclass(real, np.generic):
        names["dtype"] = np.dtype(real)  # as which NumPy takes the class
        names["__match_args__"] = ("real",)  # so that `case float(x)` gives the number itself
    if real is np.ndarray:
        names["__new__"] = staticmethod(lambda cls, *args, **options: ClassArray.__new__(cls, *args, **options))
    elif real.__new__ is not object.__new__:
        names["__new__"] = staticmethod(real.__new__)  # which classes of the user's call
    return StandIn(real.__name__, (), names)


def in_place_of(real: Any, made: Callable[..., Any]) -> Any:
    """What traced code sees in place of a function or class: `made`, or a class that makes what it makes."""
    return stand_in(real, made) if isinstance(real, type) else made


def with_classes(found: dict[int, Any]) -> dict[int, Any]:
    """Replacements by identity, with classes in place of the functions that replace classes."""
    for key, item in found.items():
        cls = getattr(item, "__wrapped__", None)
        if isinstance(cls, type):
            found[key] = Later(cls, functools.partial(_class_for, item))
    return found


def real_behind(obj: Any) -> Any:
    """What a class that traced code sees stands for, by which `is` and `id` know it; anything else is itself."""
    obj = decided(obj)
    if type(obj) is StandIn:
        return obj.__wrapped__
    if obj is StandIn:
        return type
    if issubclass(type(obj), ShadowClass):
        return real_class(obj)
    is_metaclass = issubclass(type(obj), type) and issubclass(obj, ShadowClass)
    return obj.__bases__[-1] if is_metaclass else obj


def identity_replacements(recorder: Recorder) -> dict[int, object]:
    """What asks for identity."""

    asked: list[tuple[int, int, int, Any]] = []  # frame, line and place that asked last, and the number

    def of_one(obj: Any, frame: types.FrameType | None = None, side: int = 0) -> Any:
        """One side of an `is`: whether two numbers are one object is not known where loops or branches leave them."""
        found, frame = real_behind(obj), frame or sys._getframe(1)
        if type(found) is Letter:
            return found.known("to be compared with `is`")
        if recorder.is_scalar(found) and found.dtype.kind == "b" and not found.types:  # of which there are two objects
            return bool(found) if found.is_python else np.bool_(bool(found))
        if recorder.is_scalar(found) and found.value in recorder.chosen:
            recorder.scopes.decisions.chosen = True
            raise recorder.scopes.restart()
        place, before = (id(frame), frame.f_lineno, 2 * frame.f_lasti + side), asked.pop() if asked else None
        if recorder.identity is not None:
            recorder.identity.compared(found, place)
        if recorder.scopes.depth and recorder.is_scalar(found):
            if before is None or before[:2] != place[:2] or before[2] >= place[2]:
                asked.append((*place, found))
            elif before[3] is not found:
                reason = "asks with `is` whether two numbers are one"
                raise recorder.scopes.unroll_innermost(reason, recorder.builder.line)
        return found

    def identity_of(obj: Any, /) -> int:
        found = of_one(obj) if type(obj) is Letter or recorder.is_scalar(obj) else real_behind(obj)
        if recorder.identity is not None:
            recorder.identity.asked_alone(found)
        return id(found)

    def is_this_truth(obj: Any, truth: bool) -> Any:
        """Of a truth of Python a test of data; one of NumPy's is neither."""
        obj = decided(obj)
        if type(obj) is ScalarTracer and any(dtype.kind == "b" for dtype, _ in obj.types):
            raise told_apart(recorder, obj.types)
        if type(obj) is not ScalarTracer or obj.dtype.kind != "b":
            return obj is truth
        return obj.is_python and (obj if truth else obj == truth)

    def is_(a: Any, b: Any, /, frame: types.FrameType | None = None) -> bool:
        """Of members of enumerations which is which is a test of data, as for texts it is which are equal."""
        letters = next((obj for obj in (a, b) if type(obj) is Letter), None)
        if letters is not None and letters.are_members and all(map(may_be_text, (a, b))):
            return bool(a == b)
        frame = frame or sys._getframe(1)
        if recorder.is_array(a) and recorder.is_array(b) and a is not b:
            recorder.copies.compared(a.storage, b.storage)
        return of_one(a, frame) is of_one(b, frame, side=1)  # type: ignore[no-any-return]

    return {
        id(itself): of_one,
        id(are_one): lambda a, b: SAME if is_(a, b, sys._getframe(1)) else None,
        id(is_truth_itself): is_this_truth,
        id(is_none): lambda obj: (
            obj.is_none() if type(obj) is Letter or issubclass(type(obj), RecordInRow) else decided(obj) is None
        ),
        id(id): identity_of,
        id(operator.is_): is_,
        id(operator.is_not): lambda a, b, /: not is_(a, b),
    }


def _class_for(make: Callable[..., Any], recorder: Recorder, real: type) -> type:
    return stand_in(real, make)


def kind_of(found: MadeLater) -> type:
    """`type`, which of a traced thing is the class that it stands for, as traced code sees that."""

    def make(obj: Any, *definition: Any) -> Any:
        if definition:
            return type(obj, *definition)
        obj = decided(obj)
        kind = type(real_behind(obj))
        seen = class_seen(obj)
        if seen is not None:
            return found.get(id(seen), seen)
        if kind.__module__.startswith(TRACERS):
            if kind is ScalarTracer and obj.types:
                raise told_apart(obj.recorder, obj.types)
            kind = getattr(obj, "made_by", None) or obj.__class__
        return found.get(id(kind), kind)

    return stand_in(type, make)


def ndarray(recorder: Recorder, empty: Callable[..., Any]) -> type:
    """`numpy.ndarray`, which makes uninitialised arrays, by the tracing version of `numpy.empty`."""

    def make(
        shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None, order: Any = None
    ) -> Any:
        if buffer is not None or offset or strides is not None:
            raise UnsupportedError(
                f"{recorder.here()}: numpy.ndarray with buffer, offset or strides shows memory in a way of its own, "
                f"which a trace does not follow; write it with slices, reshape and transpose of the array itself"
            )
        return empty(shape, dtype, "C" if order is None else order)

    return stand_in(np.ndarray, make)
