"""Masked arrays of NumPy in traced code: the data and the mask, both of which may be traced.

What is masked takes no part: sums are of what `numpy.where` leaves, and where a result is masked is computed beside it.
Whether a number that Python is given is masked is a fact of the trace (a guard, where the mask is traced).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..record.dispatch import FUNCTIONS, HANDLERS, STAND_INS
from ..record.recorder import Recorder
from ..record.traced import LibraryObject
from ..values.elementwise import elementwise
from ..values.operators import Operators
from .support import asarray, unsupported

ADVICE = "use methods of the masked array, or .filled(...), which is a plain array"
NOTHING = np.ma.masked
VIEWS = ("reshape", "ravel", "flatten", "transpose", "squeeze", "swapaxes")
TINY = np.finfo(float).tiny


class MaskedStandIn(LibraryObject, Operators):
    """A `numpy.ma.MaskedArray`; `mask` is True where `data` counts for nothing, None where nothing is masked."""

    def __init__(self, recorder: Recorder, data: Any, mask: Any = None, fill: Any = None):
        self.recorder, self.data, self.held, self.fill = recorder, data, mask, fill

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ma.MaskedArray

    @property
    def is_known(self) -> bool:
        return self.recorder.is_concrete(self.data) and (self.held is None or self.recorder.is_concrete(self.held))

    def plain(self) -> Any:
        mask = np.ma.nomask if self.held is None else self.recorder.plain(self.held)
        return np.ma.MaskedArray(self.recorder.plain(self.data), mask, fill_value=self.fill)

    def read(self) -> Any:
        """As which it is assigned to parts of arrays; what is masked would come as it is."""
        if self.is_masked():
            raise unsupported("a masked array in this function of NumPy", ADVICE)
        return self.data.read()

    def is_masked(self) -> bool:
        """Whether something is masked, which is a guard."""
        return self.held is not None and bool(np.any(self.held))

    def sources(self) -> Iterator[Any]:
        yield from self.data.sources()

    def storages(self) -> Iterator[Any]:
        yield from self.data.storages()

    # What it is.

    @property
    def mask(self) -> Any:
        return np.ma.nomask if self.held is None else self.held

    @property
    def masked(self) -> Any:
        """The mask as an array."""
        return np.zeros(self.data.shape, bool) if self.held is None else self.held

    @property
    def fill_value(self) -> Any:
        return np.ma.default_fill_value(self.data.dtype) if self.fill is None else self.fill

    @property
    def T(self) -> MaskedStandIn:
        return self.transpose()  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name in VIEWS:
            return lambda *args, **options: self._each(lambda a: getattr(a, name)(*args, **options))
        if name in ("shape", "ndim", "size", "dtype", "__len__"):
            return getattr(self.data, name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f".{name} of a masked array", ADVICE)

    def _each(self, function: Callable[[Any], Any]) -> MaskedStandIn:
        held = None if self.held is None else function(self.held)
        return MaskedStandIn(self.recorder, function(self.data), held, self.fill)

    def copy(self) -> MaskedStandIn:
        return self._each(lambda a: a.copy())

    def astype(self, dtype: Any) -> MaskedStandIn:
        return MaskedStandIn(self.recorder, self.data.astype(dtype), self.held, self.fill)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return iter(self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        data = self.data[key]
        if self.held is None:
            return data if np.ndim(data) == 0 else MaskedStandIn(self.recorder, data, None, self.fill)
        return one_or_masked(self.recorder, data, self.held[key], self.fill)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.held is None:
            self.held = self.recorder.concrete(np.zeros(self.data.shape, bool))
        if value is NOTHING:
            self.held[key] = True
            return
        of = masked_of(self.recorder, value)
        self.data[key], self.held[key] = of.data, of.masked

    # Plain arrays of it.

    def filled(self, fill_value: Any = None) -> Any:
        if self.held is None:
            return self.data
        return np.where(self.held, self.fill_value if fill_value is None else fill_value, self.data)

    def compressed(self) -> Any:
        return self.data.ravel() if self.held is None else self.data.ravel()[~self.held.ravel()]

    def count(self, axis: Any = None, keepdims: Any = False) -> Any:
        return np.sum(~self.masked, axis=axis, keepdims=keepdims)

    # Reductions.

    def _reduced(self, function: Any, neutral: Any, axis: Any, **options: Any) -> Any:
        """`function` of what is not masked; masked where there is none."""
        found = function(self.filled(neutral), axis=axis, **options)
        if self.held is None:
            return found if np.ndim(found) == 0 else MaskedStandIn(self.recorder, found)
        count = self.count(axis, options.get("keepdims", False))
        return one_or_masked(self.recorder, found, count < 1)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        refuse_out(out)
        return self._reduced(np.sum, 0, axis, keepdims=keepdims, dtype=dtype)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        refuse_out(out)
        return self._reduced(np.prod, 1, axis, keepdims=keepdims, dtype=dtype)

    def min(self, axis: Any = None, out: Any = None, fill_value: Any = None, keepdims: Any = False) -> Any:
        refuse_out(out)
        return self._reduced(np.min, np.ma.minimum_fill_value(np.zeros(0, self.dtype)), axis, keepdims=keepdims)

    def max(self, axis: Any = None, out: Any = None, fill_value: Any = None, keepdims: Any = False) -> Any:
        refuse_out(out)
        return self._reduced(np.max, np.ma.maximum_fill_value(np.zeros(0, self.dtype)), axis, keepdims=keepdims)

    def argmin(self, axis: Any = None) -> Any:
        return np.argmin(self.filled(np.inf), axis)

    def argmax(self, axis: Any = None) -> Any:
        return np.argmax(self.filled(-np.inf), axis)

    def any(self, axis: Any = None) -> Any:
        return self._reduced(np.any, False, axis)

    def all(self, axis: Any = None) -> Any:
        return self._reduced(np.all, True, axis)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        total = self.sum(axis, dtype, out, keepdims)
        return total if total is NOTHING else total / self.count(axis, keepdims)

    def anom(self, axis: Any = None) -> Any:
        return self - self.mean(axis, keepdims=True)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        refuse_out(out)
        free = self.count(axis, keepdims) - ddof
        squares = (self - self.mean(axis, keepdims=True)) ** 2
        total = squares.filled(0).sum(axis=axis, keepdims=keepdims)
        return one_or_masked(self.recorder, total / np.where(free <= 0, 1, free), free <= 0)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Any:
        found = self.var(axis, dtype, out, ddof, keepdims)
        return found if found is NOTHING else np.sqrt(found)


def refuse_out(out: Any) -> None:
    if out is not None:
        raise unsupported("out= of a masked array", "leave it out")


def one_or_masked(recorder: Recorder, data: Any, mask: Any, fill: Any = None) -> Any:
    """A part of a masked array: of one number, that or `numpy.ma.masked`."""
    if np.ndim(data):
        return MaskedStandIn(recorder, asarray(recorder, data), asarray(recorder, mask), fill)
    return NOTHING if bool(mask) else data


def masked_of(recorder: Recorder, obj: Any, mask: Any = None) -> MaskedStandIn:
    """`obj` as a masked array, with what `mask` says masked as well."""
    if type(obj) is not MaskedStandIn:
        obj = standing_in_for(recorder, obj) or MaskedStandIn(recorder, asarray(recorder, obj))
    if mask is None or mask is np.ma.nomask:
        return obj  # type: ignore[no-any-return]
    more = mask.filled(False) if type(mask) is MaskedStandIn else asarray(recorder, mask).astype(bool)
    more = np.broadcast_to(more, obj.data.shape).copy() if more.shape != obj.data.shape else more
    return MaskedStandIn(recorder, obj.data, more if obj.held is None else obj.held | more, obj.fill)


def standing_in_for(recorder: Recorder, obj: Any, name: str = "") -> Any:
    if not issubclass(type(obj), np.ma.MaskedArray) or obj is NOTHING:
        return None
    mask = None if obj.mask is np.ma.nomask else recorder.concrete(np.array(obj.mask))
    return MaskedStandIn(recorder, recorder.concrete(np.array(obj.data)), mask, obj._fill_value)


STAND_INS.append(standing_in_for)

# Elementwise functions, of which some mask where they are not defined: as `numpy.ma.core.ufunc_domain` says.


def undefined(ufunc: np.ufunc, operands: list[Any], found: Any) -> Any:
    """Where a function masks its result besides; None for nowhere."""
    if ufunc in (np.power, np.float_power):
        return ~np.isfinite(found)
    domain = np.ma.core.ufunc_domain.get(ufunc)  # type: ignore[attr-defined]
    kind, last = type(domain).__name__, operands[-1]
    if domain is None:
        return None
    if kind == "_DomainGreater":
        return last <= domain.critical_value
    if kind == "_DomainGreaterEqual":
        return last < domain.critical_value
    if kind == "_DomainCheckInterval":
        return (last > domain.b) | (last < domain.a)
    if kind == "_DomainTan":
        return np.abs(np.cos(last)) < domain.eps
    return np.abs(operands[0]) * TINY >= np.abs(last)


def of_masked(recorder: Recorder, ufunc: np.ufunc, operands: Any, is_operator: bool = False) -> Any:
    if any(operand is NOTHING for operand in operands):
        return NOTHING
    given = [masked_of(recorder, operand) if np.ndim(operand) else operand for operand in operands]
    data = [item.data if type(item) is MaskedStandIn else item for item in given]
    masks = [item.held for item in given if type(item) is MaskedStandIn and item.held is not None]
    if ufunc.signature is not None:
        return unmasked(recorder, ufunc, tuple(given), {})
    found = elementwise(recorder, ufunc, tuple(data), is_operator=is_operator)
    if type(found) is tuple:
        raise unsupported(f"numpy.{ufunc.__name__} of a masked array", ADVICE)
    more = undefined(ufunc, data, found)
    if more is not None:
        masks.append(more)
    shape, mask = found.shape, None
    for own in masks:
        own = asarray(recorder, own)
        own = own if own.shape == shape else np.broadcast_to(own, shape)
        mask = own if mask is None else mask | own
    fills = [item.fill for item in given if type(item) is MaskedStandIn]
    return MaskedStandIn(recorder, asarray(recorder, found), mask, fills[0] if found.dtype.kind == "f" else None)


def unmasked(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    """Any function where nothing is masked: of which class its result is, NumPy is asked with other numbers.

    Otherwise NumPy may give the result the mask of an operand, whose shape need not fit.
    """
    name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
    rng = np.random.default_rng(0)

    def plain(items: Any, of_masked: Callable[[Any], Any], of_array: Callable[[Any], Any]) -> Any:
        if type(items) in (list, tuple):
            return type(items)(plain(item, of_masked, of_array) for item in items)
        if type(items) is dict:
            return {key: plain(item, of_masked, of_array) for key, item in items.items()}
        if type(items) is MaskedStandIn:
            if items.is_masked():
                raise unsupported(f"{name} of a masked array", ADVICE)
            return of_masked(items.data)
        return of_array(items)

    def numbers(item: Any) -> Any:
        is_traced = recorder.is_array(item) or recorder.is_scalar(item)
        return rng.uniform(0.5, 1.5, item.shape).astype(item.dtype) if is_traced else item

    given = plain((args, kwargs), lambda data: data, lambda item: item)
    try:
        like = plain((args, kwargs), lambda data: np.ma.array(numbers(data)), numbers)
        real = function(*like[0], **like[1])
    except Exception:
        real = None
    if not isinstance(real, np.ndarray | np.generic):
        raise unsupported(f"{name} of a masked array", ADVICE)
    found = recorder.call(function, *given)
    return MaskedStandIn(recorder, found) if isinstance(real, np.ma.MaskedArray) else found


# Functions of NumPy and of `numpy.ma`.


def numbers_of(a: Any) -> Any:
    return a.data if type(a) is MaskedStandIn else a


METHODS = ("sum", "mean", "prod", "var", "std", "min", "max", "any", "all", "argmin", "argmax")
OF_MA = ("count", "compressed", "filled", "anom", "ptp", "ravel", "reshape", "transpose", "squeeze", "swapaxes", "copy")
FROM_NUMPY: dict[Any, Callable[..., Any]] = {
    np.shape: lambda recorder, a: a.shape,
    np.ndim: lambda recorder, a: a.ndim,
    np.size: lambda recorder, a, axis=None: a.size if axis is None else a.shape[axis],
    np.asarray: lambda recorder, a, dtype=None: a.data if dtype is None else a.data.astype(dtype),
    np.array: lambda recorder, a, dtype=None: (a.data if dtype is None else a.data.astype(dtype)).copy(),
    np.asanyarray: lambda recorder, a: a,
    np.copyto: lambda recorder, *args, **options: recorder.call(  # which looks at no mask
        np.copyto, tuple(map(numbers_of, args)), {name: numbers_of(value) for name, value in options.items()}
    ),
}


def by_method(name: str) -> Callable[..., Any]:
    return lambda recorder, a, *args, **options: getattr(masked_of(recorder, a), name)(*args, **options)


def by_ufunc(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda recorder, *operands: of_masked(recorder, ufunc, [masked_of(recorder, o) for o in operands])


for _name in METHODS:
    FROM_NUMPY[getattr(np, _name)] = by_method(_name)
    FUNCTIONS[getattr(np.ma, _name)] = by_method(_name)
for _name in OF_MA:
    if hasattr(MaskedStandIn, _name) or _name in VIEWS:
        FUNCTIONS[getattr(np.ma, _name)] = by_method(_name)
for _name in dir(np.ma):
    _ufunc = getattr(getattr(np.ma, _name), "f", None)
    if isinstance(_ufunc, np.ufunc):
        FUNCTIONS[getattr(np.ma, _name)] = by_ufunc(_ufunc)


def of_ma(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


@of_ma(np.ma.array, np.ma.MaskedArray, np.ma.asarray, np.ma.asanyarray)
def masked_array(recorder, data, mask=None, dtype=None, copy=False, *, fill_value=None, **options):
    if any(value is not None for value in options.values()):
        raise unsupported(f"numpy.ma.array with {', '.join(options)}=", "leave it out")
    found = masked_of(recorder, data, mask)
    found = found if dtype is None else found.astype(dtype)
    found = found.copy() if copy else found
    return found if fill_value is None else MaskedStandIn(recorder, found.data, found.held, fill_value)


@of_ma(np.ma.masked_where)
def masked_where(recorder, condition, a, copy=True):
    found = masked_of(recorder, a, condition)
    return found.copy() if copy else found


@of_ma(np.ma.masked_invalid)
def masked_invalid(recorder, a, copy=True):
    found = masked_of(recorder, a)
    return masked_where(recorder, ~np.isfinite(found.data), found, copy)


def masking(test: Callable[..., Any], function: Any) -> None:
    @of_ma(function)
    def where_so(recorder: Recorder, x: Any, *values: Any, copy: bool = True) -> Any:
        found = masked_of(recorder, x)
        return masked_where(recorder, test(found.data, *values), found, copy)


masking(lambda x, v: x > v, np.ma.masked_greater)
masking(lambda x, v: x >= v, np.ma.masked_greater_equal)
masking(lambda x, v: x < v, np.ma.masked_less)
masking(lambda x, v: x <= v, np.ma.masked_less_equal)
masking(lambda x, v: x == v, np.ma.masked_equal)
masking(lambda x, v: x != v, np.ma.masked_not_equal)
masking(lambda x, v, w: (x >= min(v, w)) & (x <= max(v, w)), np.ma.masked_inside)
masking(lambda x, v, w: (x < min(v, w)) | (x > max(v, w)), np.ma.masked_outside)


def for_each_array(function: Any) -> Callable[..., Any]:
    """What NumPy does with the data and with the mask, one after the other."""

    def of_each(recorder: Recorder, *arrays: Any, **options: Any) -> Any:
        found = [masked_of(recorder, a) for a in arrays]
        parts = [
            MaskedStandIn(recorder, function(a.data), None if a.held is None else function(a.held), a.fill)
            for a in found
        ]
        return parts[0] if len(parts) == 1 else tuple(parts)

    return of_each


def for_joined_arrays(function: Any) -> Callable[..., Any]:
    def of_all(recorder: Recorder, arrays: Any, *args: Any, **options: Any) -> Any:
        found = [masked_of(recorder, a) for a in arrays]
        data = recorder.call(function, ([a.data for a in found], *args), options)
        if all(a.held is None for a in found):
            return MaskedStandIn(recorder, data)
        return MaskedStandIn(recorder, data, recorder.call(function, ([a.masked for a in found], *args), options))

    return of_all


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    FUNCTIONS[getattr(np.ma, _name)] = for_each_array(getattr(np, _name))
for _name in ("concatenate", "vstack", "hstack", "column_stack", "dstack", "stack"):
    FUNCTIONS[getattr(np.ma, _name)] = for_joined_arrays(getattr(np, _name))


@of_ma(np.ma.getmaskarray)
def getmaskarray(recorder, arr):
    return asarray(recorder, masked_of(recorder, arr).masked)


@of_ma(np.ma.getmask)
def getmask(recorder, a):
    return masked_of(recorder, a).mask


@of_ma(np.ma.getdata)
def getdata(recorder, a, subok=True):
    return masked_of(recorder, a).data


@of_ma(np.ma.median)
def median(recorder, a, axis=None, out=None, overwrite_input=False, keepdims=False):
    found = masked_of(recorder, a)
    if out is not None or keepdims or (axis is not None and found.ndim > 1):
        raise unsupported("numpy.ma.median along an axis", "take it of each row")
    return np.median(found.compressed())


@of_ma(np.ma.average)
def average(recorder, a, axis=None, weights=None, returned=False, *, keepdims=False):
    found = masked_of(recorder, a)
    if weights is None:
        total, scale = found.mean(axis, keepdims=keepdims), found.count(axis, keepdims)
        return (total, scale * 1.0) if returned else total
    weights = asarray(recorder, weights)
    if weights.shape != found.shape:
        weights = np.broadcast_to(weights, (found.ndim - 1) * (1,) + weights.shape).swapaxes(-1, axis)
    weights = np.broadcast_to(weights, found.shape) * ~found.masked
    scale = weights.sum(axis=axis, keepdims=keepdims)
    total = (found * weights).sum(axis, keepdims=keepdims) / scale
    return (total, scale) if returned else total


class MaskedCalls:
    """How what meets masked arrays is recorded."""

    def call(self, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, np.ufunc):
            return self.ufunc(recorder, function, "__call__", args, kwargs)
        homes = (getattr(function, "__module__", None) or "", type(function).__module__)
        is_of_ma = any(home.startswith("numpy.ma") for home in homes)
        ours = (FUNCTIONS if is_of_ma else FROM_NUMPY).get(function)
        if ours is None:
            return unmasked(recorder, function, args, kwargs)
        return ours(recorder, *args, **kwargs)

    def ufunc(self, recorder: Recorder, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: Any) -> Any:
        given = {name: value for name, value in options.items() if value is not None and name != "casting"}
        is_operator = given.pop("is_operator", False)
        if method != "__call__" or any(value is not True for value in given.values()):
            raise UnsupportedError(f"{recorder.here()}: numpy.{ufunc.__name__} of a masked array with these options")
        return of_masked(recorder, ufunc, operands, is_operator)

    def get(self, array: MaskedStandIn, key: Any) -> Any:
        return array[key]

    def put(self, array: MaskedStandIn, key: Any, value: Any) -> None:
        array[key] = value


HANDLERS[MaskedStandIn] = MaskedCalls()  # type: ignore[assignment]
