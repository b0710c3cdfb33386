"""Functions of libraries that are not traced: what they make of known numbers is memory of the trace.

So that `w = scipy.linalg.hilbert(n); w[0] = x` is seen. Where they are given traced values they refuse them themselves.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PlannedADError
from ...python.complex_parts import is_complex_array
from ..record.dispatch import MADE_HERE, standing_in
from ..record.promotion import KINDS
from ..record.recorder import Recorder
from ..record.traced import TracedArray, owning

NOT_NUMERICAL = frozenset({"planned_ad", "numba", "llvmlite"})
COMPILED = ("builtin_function_or_method", "cython_function_or_method", "fused_cython_function")


def is_library_function(obj: object) -> bool:
    """Whether `obj` is a function of a library outside of the standard one, in Python or compiled."""
    if type(obj) is not types.FunctionType and type(obj).__name__ not in COMPILED:
        return False
    top = (getattr(obj, "__module__", None) or "builtins").partition(".")[0]
    return top not in NOT_NUMERICAL and top not in sys.stdlib_module_names


def adopting(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose arrays are traced ones with known numbers where those that it is given are."""
    is_numpys = (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"

    def called(*args: Any, **kwargs: Any) -> Any:
        if not all(map(recorder.is_concrete, (*args, *kwargs.values()))):
            return given_traced(recorder, function, args, kwargs)
        if is_numpys:  # which gives views, as `as_strided` does
            result = function(*recorder.plain(args), **recorder.plain(kwargs))
            return recorder.adopt(result, args) if type(result) is np.ndarray else result
        return lend(recorder, function, args, kwargs)

    functools.update_wrapper(called, function)
    return Fused(recorder, function, called) if hasattr(function, "__signatures__") else called


class Fused:
    """A function of Cython that has a form for each type: `function["double"]`."""

    def __init__(self, recorder: Recorder, function: Any, called: Callable[..., Any]):
        self._recorder, self._function, self.called = recorder, function, called
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.called(*args, **kwargs)

    def __getitem__(self, kind: Any) -> Callable[..., Any]:
        return adopting(self._recorder, self._function[kind])


def given_traced(recorder: Recorder, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What `function` makes of traced values: Python code may only pass them on, compiled code refuses their types."""
    try:
        return function(*args, **kwargs)
    except PlannedADError:
        raise
    except TypeError as error:
        arrays_only = all(recorder.is_array(a) or recorder.is_scalar(a) or recorder.is_concrete(a) for a in args)
        if type(function) is types.FunctionType and arrays_only:
            raise
        raise recorder.unsupported(function) from error


def lend(recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` gives for plain copies of the known arrays among its arguments, to which it may write."""
    lent = {id(a): (a, np.array(a.plain())) for a in (*args, *kwargs.values()) if _is_known(recorder, a)}
    plain = [lent[id(a)][1] if id(a) in lent else recorder.plain(a) for a in args]
    named = {key: lent[id(a)][1] if id(a) in lent else recorder.plain(a) for key, a in kwargs.items()}
    result = function(*plain, **named)
    for array, copy in lent.values():
        if copy.tobytes() != array.geometry.tobytes():
            array[...] = copy
        if result is copy:
            return array
    return adopted(recorder, result)


def _is_known(recorder: Recorder, obj: Any) -> bool:
    return issubclass(type(obj), TracedArray) and obj.is_known


def adopted(recorder: Recorder, result: Any) -> Any:
    """Arrays among what a function returns as traced ones; they have memory of their own."""
    if type(result) is tuple or type(result) is list:
        return type(result)(adopted(recorder, item) for item in result)
    if type(result) is not np.ndarray or (result.dtype not in KINDS and not is_complex_array(result)):
        made = standing_in(recorder, result, MADE_HERE)
        return result if made is None else made
    recorder.mark()
    given = result
    if not result.flags.owndata and result.base is not None:
        result = result.copy(order="K")
    return owning(recorder.concrete(result), given)
