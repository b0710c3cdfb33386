"""What traced code sees in place of ufuncs, NumPy's, SciPy's and Numba's.

NumPy asks an operand that is traced what a ufunc gives (`__array_ufunc__`), but not the items of a list: a list with
traced items becomes an array before the ufunc sees it. Ufuncs that are made of Python functions call these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib import _function_base_impl  # type: ignore[attr-defined]

from ..numpy_functions.python_functions import Elementwise, Generalized, of_elements
from ..record.recorder import Recorder
from ..record.traced import Traced, with_plain_tuples

METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


class UfuncStandIn:
    """A ufunc, also of lists with traced items."""

    def __init__(self, recorder: Recorder, real: np.ufunc):
        self._recorder, self._real = recorder, real
        self.__name__, self.__doc__ = real.__name__, real.__doc__

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for `isinstance`
        return type(self._real)

    @property
    def __wrapped__(self) -> np.ufunc:
        return self._real

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(self._real, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name == "at":  # whose second argument is a key
            return lambda array, key, *args: self._called(functools.partial(found, array, key), args, {})
        return (lambda *args, **kwargs: self._called(found, args, kwargs)) if name in METHODS else found

    def __eq__(self, other: object) -> bool:
        return self is other or self._real is other

    def __hash__(self) -> int:
        return hash(self._real)

    def __repr__(self) -> str:
        return repr(self._real)

    def _called(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = self._recorder
        result = function(*(without_lists(recorder, a) for a in args), **kwargs)
        return recorder.adopt(result) if type(result) is np.ndarray and result.base is None else result


def without_lists(recorder: Recorder, obj: Any) -> Any:
    """A list or tuple with traced items as an array; anything else as it is."""
    obj = with_plain_tuples(obj)
    if (type(obj) is list or type(obj) is tuple) and has_traced(obj):
        recorder.mark()
        return recorder.array(recorder.value_of(obj))
    return obj


def has_traced(items: Any) -> bool:
    for item in items:
        kind = type(item)
        if issubclass(kind, Traced) or ((kind is list or kind is tuple) and has_traced(item)):
            return True
    return False


def ufunc_stand_in(recorder: Recorder, obj: object) -> object | None:
    """What stands for a ufunc; None for anything else, and where there is nothing to be seen of its code."""
    if type(obj) is np.ufunc:
        return UfuncStandIn(recorder, obj)
    if str(type(obj).__module__).startswith("numba.np.ufunc"):
        function = numba_function(obj)
        if function is not None and hasattr(obj, "gufunc_builder"):
            return Generalized(recorder, obj, function)
        if function is not None:
            return Elementwise(recorder, function, obj.nout, types=obj.types)  # type: ignore[attr-defined]
    return None


def numba_function(obj: Any) -> Callable[..., Any] | None:
    """The Python code of what `numba.vectorize` or `numba.guvectorize` has made."""
    maker = getattr(obj, "gufunc_builder", None) or getattr(obj, "_dispatcher", None)
    return getattr(maker, "py_func", None)


def ufuncs_of_functions(recorder: Recorder) -> dict[int, object]:
    """By identity, what makes ufuncs of Python functions: `numpy.frompyfunc`, and `numpy.vectorize` by it."""

    def frompyfunc(function: Callable[..., Any], /, nin: int, nout: int, **options: Any) -> Any:
        return Elementwise(recorder, function, nout, real=np.frompyfunc(function, nin, nout, **options))

    def vectorized(self: Any, func: Callable[..., Any], args: Any) -> Any:
        if self.signature is not None:
            return self._vectorize_call_with_signature(func, args)
        return of_elements(recorder, func, args, self.otypes) if len(args) else func()

    call = _function_base_impl.vectorize._vectorize_call  # type: ignore[attr-defined]
    return {id(np.frompyfunc): frompyfunc, id(call): vectorized}
