"""Functions of traced code as plain ones: what they close over is numbers again, which a call at run time brings.

For code that is not traced, as SciPy's solvers, to call back. A recipe makes a plain object of these numbers.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..python.made import MadeOf
from ..python.sets_in_order import SetInOrder
from ..python.shadows import ShadowClass, ShadowGlobals, ShadowModule
from ..python.structure import attributes_of, set_attribute
from ..python.written_calls import HELPERS
from ..tape.tape import Value
from ..tracing.complex.complex_scalar import ComplexScalar
from ..tracing.complex.complex_tracer import ComplexTracer
from ..tracing.lengths.run_time_arrays import RunTimeArray
from ..tracing.loops.dict_of_items import InPlaces
from ..tracing.loops.followed_dicts import as_python_makes_it
from ..tracing.loops.list_in_trace import is_traced_list
from ..tracing.record.recorder import Recorder
from ..tracing.record.traced import Traced
from ..tracing.replacements.ufunc_stand_ins import UfuncStandIn
from .callback_changes import Untold
from .solver_results import WhatIsKnown


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What recipes make objects of in one call, and the instances that they have made of it, by the recipe."""

    values: Sequence[np.ndarray]
    instances: dict[int, Any] = field(default_factory=dict)

    def __getitem__(self, place: int) -> np.ndarray:
        return self.values[place]


PlainRecipe = Callable[[Numbers], Any]


class PlainFunctions:
    """Collects the traced values that objects lead to."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.values: list[Value] = []
        # Of functions and instances that are looked at, against circles.
        self.recipes: dict[int, tuple[Any, list[PlainRecipe]]] = {}

    def whole(self, obj: Any) -> Callable[[Sequence[np.ndarray]], Any]:
        """How `obj` is made of the numbers of `values`, with all that it leads to."""
        make = self.recipe(obj)
        return lambda numbers: make(Numbers(numbers))

    def recipe(self, obj: Any) -> PlainRecipe:
        """How `obj` is made as a part of more."""
        kind, recorder = type(obj), self.recorder
        if issubclass(kind, InPlaces):
            raise as_python_makes_it(recorder, obj)
        if issubclass(kind, Traced):
            if recorder.is_concrete(obj):
                known = recorder.plain(obj)
                return lambda numbers: np.array(known) if isinstance(known, np.ndarray) else known
            if kind is ComplexTracer or kind is ComplexScalar:
                real, imag = self.number(obj.real), self.number(obj.imag)
                return lambda numbers: real(numbers) + 1j * imag(numbers)
            if kind is RunTimeArray:
                return self.array_of_run_time_length(obj)
            found = self.number(obj.traced())
            if is_traced_list(obj):
                return lambda numbers: as_list(found(numbers))
            return found
        if kind is Untold:
            return self.recipe(obj._value)
        if kind in (list, tuple, set, SetInOrder):
            items = [self.recipe(item) for item in obj]
            return lambda numbers: kind(make(numbers) for make in items)
        if kind is dict:
            pairs = [(key, self.recipe(item)) for key, item in obj.items()]
            return lambda numbers: {key: make(numbers) for key, make in pairs}
        if kind is functools.partial:
            parts = self.recipe((obj.func, obj.args, obj.keywords))

            def rebuilt(numbers: Numbers) -> Any:
                function, args, keywords = parts(numbers)
                return functools.partial(function, *args, **keywords)

            return rebuilt
        if kind is types.FunctionType and type(obj.__globals__) is ShadowGlobals:
            return self.function(obj)
        if kind is types.MethodType:
            owner, function = self.recipe(obj.__self__), self.recipe(obj.__func__)
            return lambda numbers: types.MethodType(function(numbers), owner(numbers))
        if isinstance(obj, WhatIsKnown):
            from scipy.optimize import OptimizeResult  # which others of SciPy's results are like

            told = self.recipe(obj.known())
            return lambda numbers: OptimizeResult(told(numbers))
        if isinstance(kind, ShadowClass):
            return self.instance(obj)
        if kind is ShadowModule:
            real = obj.__dict__["__planned_ad_shadow__"][1]
            return lambda numbers: real
        if isinstance(obj, MadeOf):
            function = self.recipe(obj.__wrapped__)
            return lambda numbers: obj.made_of(function(numbers))
        plain = obj._real if kind is UfuncStandIn else recorder.namespace.unshadowed(obj)
        if plain is obj and kind.__module__.startswith("planned_ad."):
            plain = getattr(obj, "__wrapped__", obj)
        return lambda numbers: plain

    def number(self, obj: Any) -> PlainRecipe:
        place = len(self.values)
        self.values.append(self.recorder.value_of(obj))
        is_python = self.recorder.is_scalar(obj) and obj.is_python
        is_array = self.recorder.is_array(obj)
        if is_array:
            return lambda numbers: np.array(numbers[place])
        return lambda numbers: numbers[place].item() if is_python else numbers[place][()]

    def array_of_run_time_length(self, obj: RunTimeArray) -> PlainRecipe:
        front, length = self.number(obj.stored().front), self.number(obj.length.scalar(self.recorder))
        return lambda numbers: np.moveaxis(front(numbers)[: int(length(numbers))], 0, obj.axis)

    def function(self, f: types.FunctionType) -> PlainRecipe:
        found = self.recipes.get(id(f))
        if found is not None:
            return lambda numbers: found[1][0](numbers)
        made: list[Any] = []
        self.recipes[id(f)] = (f, made)
        real = self.recorder.namespace.unshadowed(f)
        self.recorder.outside.plain.append((over_real_names(f), f.__name__))
        if real is not f and not getattr(real, "__closure__", None):
            made.append(lambda numbers: real)
            return made[0]  # type: ignore[no-any-return]
        cells = [self.recipe(cell.cell_contents) if is_filled(cell) else None for cell in f.__closure__ or ()]
        defaults, keywords = self.recipe(f.__defaults__), self.recipe(f.__kwdefaults__)
        names = {
            **f.__globals__.real,  # type: ignore[attr-defined]
            "__builtins__": {**vars(builtins), **HELPERS},
        }

        def make(numbers: Numbers) -> Any:
            closure = tuple(types.CellType() if c is None else types.CellType(c(numbers)) for c in cells)
            copy = types.FunctionType(f.__code__, names, f.__name__, defaults(numbers), closure)
            copy.__kwdefaults__ = keywords(numbers)
            return copy

        made.append(make)
        return make

    def instance(self, obj: Any) -> PlainRecipe:
        """An object of the user's class, one for all that lead to it."""
        found = self.recipes.get(id(obj))
        if found is not None:
            return found[1][0]
        cls = self.recorder.namespace.unshadowed(type(obj))
        parts: list[PlainRecipe] = []

        def make(numbers: Numbers) -> Any:
            new = numbers.instances.get(id(obj))
            if new is None:
                numbers.instances[id(obj)] = new = cls.__new__(cls)  # type: ignore[attr-defined]
                attributes, items = (part(numbers) for part in parts)
                for name, value in attributes.items():
                    set_attribute(new, name, value)
                if isinstance(new, dict):
                    dict.update(new, items)
                elif isinstance(new, list):
                    list.extend(new, items)
            return new

        self.recipes[id(obj)] = (obj, [make])
        items = dict(dict.items(obj)) if issubclass(cls, dict) else list(obj) if issubclass(cls, list) else None
        parts += [self.recipe(attributes_of(obj)), self.recipe(items)]
        return make


def as_list(array: np.ndarray) -> list:
    """The list of which traced code has an array."""
    return array.tolist() if array.ndim == 1 else list(array)


def over_real_names(f: types.FunctionType) -> types.FunctionType:
    """What a function reads of globals when it runs by itself; what it closes over is known to the trace."""
    empty = tuple(types.CellType() for _ in f.__code__.co_freevars)
    return types.FunctionType(f.__code__, f.__globals__.real, f.__name__, None, empty)  # type: ignore[attr-defined]


def is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
