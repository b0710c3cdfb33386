"""Arrays of the user's own classes: what `numpy.ndarray` is to the shadow of a class that derives from it.

An instance holds a traced array, as which it is recorded, and the attributes that the class gives it; methods and
operators that the class defines run as other traced code does. What NumPy makes of an instance is of the class again
where NumPy says so: it is asked, with an array of a class that does nothing. `__array_finalize__` is called as NumPy
calls it. Classes that take NumPy's protocols into their own hands are not traced (`traced_base`).
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.opaque_methods import restore_methods
from ...tape.tape import Value
from ..record.dispatch import HANDLERS
from ..record.recorder import Recorder
from ..record.refusals import ARRAY_PROTOCOLS
from ..record.storage import Storage
from ..record.traced import TRACERS, Traced
from .elementwise import array_ufunc, elementwise
from .operators import Operators, in_place

HELD = "_traced_array"  # the attribute of an instance that is not the user's


class ClassArray(Operators):
    """An instance of a class of the user's that derives from `numpy.ndarray`."""

    recorder: Recorder
    _traced_array: Any

    def __init_subclass__(cls, **options: Any) -> None:
        HANDLERS[cls] = CALLS  # type: ignore[assignment]

    def __new__(
        cls, shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None, order: Any = None
    ) -> Any:
        if buffer is None:
            return cls._showing(cls.recorder.empty(shape, dtype, order or "C"), None)
        buffer = unwrapped(buffer)
        array = cls.recorder.concrete(buffer) if type(buffer) is np.ndarray else buffer
        plain = not offset and strides is None and order in (None, "C")
        if not is_traced_array(array) or not plain or array.dtype != dtype or not array.flags.c_contiguous:
            raise UnsupportedError(
                f"{cls.recorder.here()}: numpy.ndarray of a buffer that is no row-major array of this dtype, or with "
                f"offset and strides, is not supported for traced values; use numpy.asarray(x).view({cls.__name__})"
            )
        size = int(np.prod(shape, dtype=int))
        return cls._showing(array.reshape(-1)[:size].reshape(shape), None)

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __array_finalize__(self, obj: Any) -> None:
        pass

    @classmethod
    def _showing(cls, array: Any, source: Any) -> Any:
        """An instance with the memory of a traced array, which NumPy would make of `source`."""
        made = object.__new__(cls)
        made.__dict__[HELD] = array
        made.__array_finalize__(source)
        return made

    def _own(self, found: Any, probe: Any = None) -> Any:
        """A result as of this class, where `probe` is; without a probe, wherever it is an array."""
        if isinstance(probe, tuple | list) and type(found) is type(probe) and len(found) == len(probe):
            parts = [self._own(a, b) for a, b in zip(found, probe)]
            return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
        if not is_traced_array(found) or not (probe is None or type(probe) is Probe):
            return found
        return self if found is self._traced_array else self._showing(found, self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return vars(type(self)).get("__real_class__", np.ndarray)  # type: ignore[no-any-return]

    # What it is recorded as.

    @property
    def is_known(self) -> bool:
        return bool(self._traced_array.is_known)

    def read(self) -> Value:
        return self._traced_array.read()  # type: ignore[no-any-return]

    def plain(self) -> Any:
        return self._traced_array.plain()

    def operand(self) -> tuple[Any, tuple[int, ...], bool]:
        return self._traced_array.operand()  # type: ignore[no-any-return]

    def storages(self) -> Iterator[Storage]:
        return self._traced_array.storages()  # type: ignore[no-any-return]

    def sources(self) -> Iterator[Value | int]:
        return self._traced_array.sources()  # type: ignore[no-any-return]

    # As an array.

    def __getattr__(self, name: str) -> Any:
        if name == HELD or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        found = getattr(self._traced_array, name)
        return self._method(name) if callable(found) and not issubclass(type(found), Traced) else self._own(found)

    def _method(self, name: str) -> Callable[..., Any]:
        """The method of `numpy.ndarray`."""

        def method(*args: Any, **options: Any) -> Any:
            found = getattr(self._traced_array, name)(*unwrapped(args), **unwrapped(options))
            return self._own(found, probed(of_array, (self, *args), options))

        def of_array(array: Any, *args: Any, **options: Any) -> Any:
            return getattr(array, name)(*args, **options)

        return method

    def base_method(self, name: str) -> Callable[..., Any]:
        """What `super` finds above the user's classes."""
        own = getattr(ClassArray, name, None)
        return self._method(name) if own is None else own.__get__(self)  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OURS:
            raise UnsupportedError(
                f"{self.recorder.here()}: the attribute {name} of an array of a class has a meaning of its own while "
                f"tracing; give it another name"
            )
        is_numpys = isinstance(getattr(np.ndarray, name, None), types.GetSetDescriptorType)
        if is_numpys and not hasattr(type(self), name):  # such as `shape`
            setattr(self._traced_array, name, unwrapped(value))
        else:
            object.__setattr__(self, name, value)

    @property
    def base(self) -> Any:
        raise UnsupportedError(
            f"{self.recorder.here()}: .base of an array of a class of yours is not supported while tracing; use "
            f"numpy.shares_memory, or keep the array itself"
        )

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if dtype is None and type is None:
            return self._showing(self._traced_array.view(), self)
        return viewed(self._traced_array, dtype, type, self)

    def __getitem__(self, key: Any) -> Any:
        return self._own(self._traced_array[unwrapped(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._traced_array[unwrapped(key)] = unwrapped(value)

    def __len__(self) -> int:
        return len(self._traced_array)

    def __iter__(self) -> Iterator[Any]:
        if not self._traced_array.ndim:
            raise TypeError("iteration over a 0-d array")
        return self.recorder.flow.iterate(len(self), self.__getitem__)

    def __contains__(self, value: Any) -> bool:
        return value in self._traced_array

    def __bool__(self) -> bool:
        return bool(self._traced_array)

    def __index__(self) -> int:
        return self._traced_array.__index__()  # type: ignore[no-any-return]

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy("K")

    def __repr__(self) -> str:
        return repr(self._traced_array)


def _update(array: ClassArray, ufunc: np.ufunc, other: Any) -> Any:
    held = array._traced_array
    elementwise(array.recorder, ufunc, (held, unwrapped(other)), out=held)
    return array


in_place(ClassArray, _update)
OURS = {name for name in dir(ClassArray) if not hasattr(np.ndarray, name) and not name.startswith("__")} - {HELD}


class Probe(np.ndarray):
    """A class that does nothing, to see of which class NumPy's results are."""


def probed(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What `function` gives for arrays of the same shapes and of `Probe`; None where it fails."""
    rng = np.random.default_rng(0)

    def probe(item: Any) -> Any:
        kind = type(item)
        if kind is list or kind is tuple:
            return kind(map(probe, item))
        if issubclass(kind, ClassArray):
            return probe(item._traced_array).view(Probe)
        if is_traced_array(item):
            return rng.uniform(0.5, 1.5, item.shape).astype(item.dtype)
        return 1.0 if issubclass(kind, Traced) else item

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*probe(args), **{name: probe(value) for name, value in options.items()})
    except Exception:
        return None


def is_traced_array(obj: Any) -> bool:
    return type(obj) is TRACERS.array or type(obj) is TRACERS.complex_array


def unwrapped(items: Any) -> Any:
    """`items` with the traced arrays of instances in their place."""
    kind = type(items)
    if kind is list or kind is tuple:
        return kind(map(unwrapped, items))
    if kind is dict:
        return {key: unwrapped(value) for key, value in items.items()}
    return items._traced_array if issubclass(kind, ClassArray) else items


def first_in(items: Any) -> ClassArray | None:
    """The first instance among what a function is given: its class is that of results."""
    for item in items:
        found = first_in(item) if type(item) is list or type(item) is tuple else item
        if issubclass(type(found), ClassArray):
            return found  # type: ignore[no-any-return]
    return None


class ClassCalls:
    """How what meets instances is recorded: as of their arrays, with results of their class."""

    def call(self, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        source, out = first_in((*args, *kwargs.values())), kwargs.get("out")
        assert source is not None
        found = recorder.call(function, unwrapped(args), unwrapped(kwargs))
        return out if out is not None else source._own(found, probed(function, args, kwargs))

    def ufunc(self, recorder: Recorder, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: Any) -> Any:
        given = {name: value for name, value in options.items() if value is not None}
        if method == "__call__":
            found = elementwise(recorder, ufunc, unwrapped(operands), **unwrapped(given))
        else:
            found = array_ufunc(recorder, ufunc, method, unwrapped(operands), unwrapped(given))
        if given.get("out") is not None:
            return given["out"]
        source = first_in(operands)
        assert source is not None
        return tuple(map(source._own, found)) if type(found) is tuple else source._own(found)

    def get(self, array: ClassArray, key: Any) -> Any:
        return array[key]

    def put(self, array: ClassArray, key: Any, value: Any) -> None:
        array[key] = value


CALLS = ClassCalls()


def traced_base(recorder: Recorder) -> Callable[[type], type | None]:
    """What tells the base of the shadow of a class of arrays, in place of `numpy.ndarray`; None if it is not traced."""
    base = type("ndarray", (ClassArray,), {"recorder": recorder, "__module__": ClassArray.__module__})

    def base_for(cls: type) -> type | None:
        bodies = [vars(kind) for kind in cls.__mro__[: cls.__mro__.index(np.ndarray)]]
        taken = any(name in body for body in bodies for name in (*ARRAY_PROTOCOLS, *OURS))
        return None if taken else base

    return base_for


def forget(recorder: Recorder) -> None:
    """The classes of a trace that is over, and the methods that it has traced."""
    restore_methods(recorder.namespace)
    for cls in [kind for kind in list(HANDLERS) if getattr(kind, "recorder", None) is recorder]:
        del HANDLERS[cls]


def viewed(array: Any, dtype: Any, kind: Any, source: Any = None) -> Any:
    """`array.view(dtype, kind)`, of which one is a class of arrays."""
    of_class = dtype if isinstance(dtype, type) and issubclass(dtype, ClassArray) else kind
    if of_class is None or not issubclass(of_class, ClassArray):
        return array.view(dtype, kind)
    return of_class._showing(array.view(None if dtype is of_class else dtype), array if source is None else source)


TRACERS.of_class, TRACERS.viewed = ClassArray, viewed
