"""What traced code sees in place of NumPy's functions and of random generators."""

from __future__ import annotations

import collections
import functools
import io
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import TraceError
from ...python.opaque_methods import trace_methods
from ...python.shadows import ShadowClass
from ..lengths import functions as _lengths  # noqa: F401 (registers how it handles arrays)
from ..lengths import masks as _masks  # noqa: F401 (registers keys)
from ..lengths import run_time_creation as _run_time_creation  # noqa: F401 (registers what it implements)
from ..lengths.ragged import MAKERS
from ..loops.chosen_items import item_replacements
from ..loops.exits import exit_replacements
from ..loops.followed_dicts import dict_replacements
from ..loops.heaps import heap_replacements
from ..loops.list_functions import call_on_lists, has_list, list_replacements
from ..loops.loop_builtins import SEQUENCES
from ..loops.membership import membership_replacements
from ..loops.none_or_value import decided
from ..record.dispatch import FUNCTIONS, HANDLERS, standing_in
from ..record.recorder import Recorder
from ..record.traced import LibraryObject, Traced, TracedArray, with_plain_tuples
from ..scipy_functions import register_loaded
from ..values import creation as _creation  # noqa: F401 (registers what it implements)
from ..values.flat import FlatView
from ..values.loop_index import is_loop_index, plain_or_traced
from .array_converter import library_replacements
from .bisection import bisect_replacements
from .builtin_functions import (
    builtin_replacements,
    cmath_replacements,
    math_replacements,
    number_replacements,
)
from .distributions import distribution
from .draws import draw_replacements, draws_from_outside
from .evaluated import evaluated_replacements
from .first_items import first_item_replacements
from .floating_point_errors import error_replacements
from .library_functions import adopted, adopting, is_library_function
from .made_later import Later, MadeLater, later
from .number_methods import number_method_replacements
from .queues import queue_replacements
from .scalar_types import scalar_types
from .sorting import sorting_replacements
from .stand_ins import identity_replacements, in_place_of, kind_of, ndarray, with_classes
from .statistics_functions import statistics_replacements
from .testing_functions import testing_replacements
from .ufunc_stand_ins import ufunc_stand_in, ufuncs_of_functions

OF_LOADED_MODULES = (library_replacements, statistics_replacements, testing_replacements)
OF_NUMBERS = frozenset((np.array, np.asarray, np.ix_))  # functions of numbers, not of counts and lengths


def replacements(recorder: Recorder) -> MadeLater:
    """From `id(real)` to what traced code sees instead: NumPy's functions, `math`, built-ins."""
    register_loaded()
    made = (
        *OF_LOADED_MODULES,
        error_replacements,
        builtin_replacements,
        sorting_replacements,
        first_item_replacements,
        heap_replacements,
        bisect_replacements,
        number_replacements,
        scalar_types,
        ufuncs_of_functions,
        list_replacements,
        dict_replacements,
        item_replacements,
        membership_replacements,
        exit_replacements,
        evaluated_replacements,
        identity_replacements,
    )
    found = with_classes({key: item for group in made for key, item in group(recorder).items()})
    every = MadeLater(recorder, _made_later(len(FUNCTIONS)) | found)
    every[id(type)] = kind_of(every)
    return every


@functools.cache
def _made_later(implemented: int) -> dict[int, Later]:
    """What is the same for all traces until it is made."""
    return {
        **_numpy_functions(implemented),
        **later((np.mgrid, np.ogrid), _Grid),
        **later((np.r_, np.c_), _Joined),
        **later((np.ndarray,), lambda recorder, _: ndarray(recorder, _tracing(recorder, np.empty))),
        **math_replacements(),
        **cmath_replacements(),
        **number_method_replacements(),
        **draw_replacements(),
        **queue_replacements(),
        **later(SEQUENCES, _sequence_in_place_of),
    }


class AddLoaded:
    """Adds to what `replacements` has given that for modules which were imported since, by any thread."""

    def __init__(self, recorder: Recorder, found: dict[int, Any]) -> None:
        self.recorder, self.found = recorder, found
        self.count, self.modules = len(FUNCTIONS), len(sys.modules)

    def __call__(self) -> None:
        register_loaded()
        if len(sys.modules) != self.modules:
            self.modules = len(sys.modules)
            for group in OF_LOADED_MODULES:
                for key, item in group(self.recorder).items():
                    self.found.setdefault(key, item)
        if len(FUNCTIONS) != self.count:
            self.count = len(FUNCTIONS)
            for key, function in _numpy_functions(self.count).items():
                self.found.setdefault(key, function)


@functools.cache
def _numpy_functions(implemented: int) -> dict[int, Later]:
    """NumPy's public functions that may make or take arrays, and those of other libraries that we implement."""
    found: dict[int, Any] = {}
    for module in (np, np.linalg, np.fft):
        for name in dir(module):
            if name.startswith("_") or name in np.__former_attrs__ or name in np.__expired_attributes__:
                continue
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type | np.ufunc | types.ModuleType):
                found[id(value)] = value
    for function in FUNCTIONS:
        if not isinstance(function, np.ufunc):
            found[id(function)] = function
    return {key: Later(function, _traced_in_place_of) for key, function in found.items()}


def _traced_in_place_of(recorder: Recorder, function: Any) -> object:
    return in_place_of(function, _tracing(recorder, function))


def _sequence_in_place_of(recorder: Recorder, real: Any) -> object:
    made = functools.partial(SEQUENCES[real], recorder)
    return in_place_of(real, functools.wraps(real, ("__name__", "__doc__"), ())(made))


def _tracing(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, recorded where an argument is traced; its arrays as traced arrays whose numbers are known."""

    asks = hasattr(function, "_implementation")  # its arguments for `__array_function__`, where `np.asarray` does not
    is_python = function not in FUNCTIONS and isinstance(getattr(function, "_implementation", None), types.FunctionType)

    def traced(*args, **kwargs):
        if is_python and any(_is_like_array(arg) and not _dispatches((arg,)) for arg in args):
            recorder.mark()
            return recorder.call_python(function, args, kwargs)  # which asks what it is: a `poly1d`, say
        args = tuple(_given(arg, asks) for arg in args)
        kwargs = {name: decided(arg) for name, arg in kwargs.items()}
        if has_list((*args, *kwargs.values())):
            recorder.mark()
            return call_on_lists(recorder, function, args, kwargs)
        if _dispatches((*args, *kwargs.values())):
            return function(*args, **kwargs)  # which asks them, and traced values: `__array_function__`
        if function not in FUNCTIONS and not recorder.scopes.depth:
            args, kwargs = _counted(recorder, args), _counted(recorder, kwargs)  # such as `numpy.zeros(n)`
        if _has_tracer(recorder, (*args, *kwargs.values())):
            return recorder.call(function, args, kwargs)
        if function in OF_NUMBERS and any(map(_has_index, args)):
            recorder.mark()
            return recorder.call(function, tuple(map(_with_numbers, args)), kwargs)
        if function in MAKERS and any(map(_has_index, args)):
            recorder.mark()
            return MAKERS[function](recorder, *args, **kwargs)
        result = function(*args, **kwargs)
        recorder.mark()
        if function is np.empty:
            result[...] = 0  # a trace must not depend on what the memory held
        return recorder.adopt(result) if type(result) is not np.ndarray else adopted(recorder, result)

    return functools.update_wrapper(traced, function, ("__name__", "__qualname__", "__doc__", "__module__"), ())


def _given(arg: Any, asks: bool) -> Any:
    """An argument as NumPy takes it; `asks`: if it is of a class that takes this function into its own hands."""
    if type(arg) is collections.deque:
        return list(arg)
    arg = with_plain_tuples(arg)
    return arg.__array__() if _is_like_array(arg) and not (asks and _dispatches((arg,))) else decided(arg)


def _is_like_array(obj: Any) -> bool:
    """Whether `obj` is of a class which says what array it stands for: of one whose code is traced, or `x.flat`."""
    kind = type(obj)
    is_shadow = isinstance(kind, ShadowClass) and not issubclass(kind, Traced)
    return kind is FlatView or (is_shadow and hasattr(obj, "__array__"))


def _dispatches(items: Any) -> bool:
    """Whether an item is of a class of the user's that takes NumPy's functions into its own hands."""
    for item in items:
        kind = type(item)
        if kind is list or kind is tuple:
            if _dispatches(item):
                return True
        elif not issubclass(kind, Traced | np.ndarray) and hasattr(kind, "__array_function__"):
            return True
    return False


def _counted(recorder: Recorder, items: Any) -> Any:
    """`items` with the numbers of traced integers that are known for this trace alone (guards)."""
    if recorder.is_scalar(items) and items.dtype.kind in "iu":
        return items.__index__()
    if type(items) in (list, tuple):
        return type(items)(_counted(recorder, item) for item in items)
    return {key: _counted(recorder, item) for key, item in items.items()} if type(items) is dict else items


def _has_tracer(recorder: Recorder, items: Any) -> bool:
    for item in items:
        kind = type(item)
        if recorder.is_array(item) or recorder.is_scalar(item) or kind in HANDLERS or issubclass(kind, LibraryObject):
            return True
        if (type(item) is list or type(item) is tuple) and _has_tracer(recorder, item):
            return True
    return False


def _has_index(shape: Any) -> bool:
    return is_loop_index(shape) or (type(shape) in (tuple, list) and any(map(is_loop_index, shape)))


def _with_numbers(items: Any) -> Any:
    """With the indices of loops as numbers that the tape has: `d = np.array([i, i + 1])`."""
    return type(items)(map(plain_or_traced, items)) if type(items) in (list, tuple) else plain_or_traced(items)


class _Grid:
    """`numpy.mgrid` and `ogrid`, giving traced arrays."""

    def __init__(self, recorder: Recorder, grid: Any):
        self.recorder, self.grid = recorder, grid

    def __getitem__(self, key: Any) -> Any:
        return self.recorder.adopt(self.grid[key])


class _Joined:
    """`numpy.r_` and `numpy.c_` without their directives in strings."""

    def __init__(self, recorder: Recorder, joined: Any):
        self.recorder, self.columns = recorder, joined is np.c_

    def __getitem__(self, key: Any) -> Any:
        parts = []
        for part in key if type(key) is tuple else (key,):
            if isinstance(part, str):
                raise self.recorder.unsupported("numpy.r_ with a directive in a string")
            part = self._steps(part) if isinstance(part, slice) else part
            if not issubclass(type(part), TracedArray):
                known = self.recorder.is_concrete(part)
                part = np.asarray(part) if known else self.recorder.call(np.asarray, (part,), {})
            part = part.reshape(-1) if not part.ndim else part
            parts.append(part[:, None] if self.columns and part.ndim == 1 else part)
        return self.recorder.call(np.concatenate, (parts,), {"axis": -1 if self.columns else 0})

    def _steps(self, part: slice) -> Any:
        """The numbers of `start:stop:step`; so many of them where the step is imaginary."""
        bounds = (0 if part.start is None else part.start, part.stop, 1 if part.step is None else part.step)
        if all(map(self.recorder.is_concrete, bounds)):
            return np.r_[part]
        if isinstance(part.step, complex):
            return self.recorder.call(np.linspace, (*bounds[:2], int(abs(part.step))), {})
        return _tracing(self.recorder, np.arange)(*bounds)


def outsiders(recorder: Recorder) -> Callable[[Any, str], object]:
    """What stands for objects from outside: for random generators and iterators, what raises when it is used.

    For distributions of SciPy, one that records.
    """

    def outsider(obj: Any, name: str) -> object:
        found = draws_from_outside(recorder, obj, name)
        if found is not None:
            return found
        made = ufunc_stand_in(recorder, obj)
        if made is not None:
            return made
        known = distribution(recorder, obj, name, _tracing)
        if known is not None:
            return known
        known = standing_in(recorder, obj, name)
        if known is not None:
            return known
        if isinstance(obj, Iterator) and not is_written_only(obj):
            return Iterating(recorder, name)
        if not is_library_function(obj):
            trace_methods(obj if isinstance(obj, type) else type(obj), recorder.namespace)
            return obj
        names = getattr(obj, "__globals__", None)
        ours = isinstance(names, dict) and names.get("__name__", "").startswith("planned_ad.")  # stands for one already
        return obj if ours else adopting(recorder, obj)

    return outsider


def is_written_only(obj: object) -> bool:
    """Whether this is a file that gives no lines, such as `sys.stderr`."""
    return isinstance(obj, io.IOBase) and (obj in (sys.stdout, sys.stderr) or obj.closed or not obj.readable())


class Iterating:
    """What traced code sees in place of an iterator that it finds outside: an open generator, `itertools.count()`."""

    def __init__(self, recorder: Recorder, name: str):
        self.recorder, self.name = recorder, name

    def __next__(self) -> Any:
        raise TraceError(
            f"{self.recorder.here()}: `{self.name}`, an iterator from outside of the traced function, gives other "
            f"items at each call, which a plan cannot. Take them outside and pass them as an argument, or make the "
            f"iterator in the function."
        )

    __iter__ = __next__

    def __getattr__(self, attribute: str) -> Any:  # such as `send`
        return self.__next__()
