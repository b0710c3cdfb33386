"""NumPy's functions of arrays with an extent that is no known integer: one table, whatever the extent is instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..numpy_functions.distributions import Method
from ..numpy_functions.shapes import shape_as_known
from ..record.dispatch import HANDLERS
from ..record.promotion import INT
from ..record.recorder import Recorder
from ..scipy_functions import when_loaded
from ..values.indexing import KEYS, Keys
from . import (
    ragged,
    ragged_extremes,
    ragged_joined,
    ragged_keys,
    ragged_padded,
    run_time_choices,
    run_time_curves,
    run_time_elementwise,
    run_time_fits,
    run_time_keys,
    run_time_order,
    run_time_reductions,
    run_time_statistics,
)
from .elements import RunTime, common_length
from .moving_keys import has_loop_index
from .ragged import RaggedArray
from .run_time_arrays import RunTimeArray
from .run_time_slices import has_run_time_part, is_run_time_array
from .varying import DATA, MOVED, VaryingArray, refused
from .windows import windowed

METHODS: dict[Any, Any] = {
    (np.add, "reduce"): np.sum, (np.multiply, "reduce"): np.prod, (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min, (np.add, "accumulate"): np.cumsum, (np.multiply, "accumulate"): np.cumprod,
    (np.maximum, "accumulate"): np.maximum.accumulate, (np.minimum, "accumulate"): np.minimum.accumulate,
}  # fmt: skip
SIZES: dict[Any, Any] = {1: np.sum, np.inf: np.max, -np.inf: np.min}  # by which norm, what is made of absolute values
ELEMENTWISE = (np.where, np.clip, np.round, np.nan_to_num, np.real, np.isclose)  # as ufuncs are


class VaryingCalls:
    """How what meets such arrays is recorded; `get` and `put` are their items."""

    def __init__(self, get: Callable[[Any, Any], Any], put: Callable[[Any, Any, Any], None]):
        self.get, self.put = get, put

    def call(self, recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(function, "__name__", str(function))
        of = DATA if any(map(is_run_time_array, varying_in((args, *kwargs.values())))) else MOVED
        if of is DATA:
            args, kwargs = ragged_padded.as_data(recorder, args), ragged_padded.as_data(recorder, kwargs)
        is_elementwise = function in ELEMENTWISE and (function is not np.where or len(args) + len(kwargs) > 1)
        is_elementwise = is_elementwise or (type(function) is Method and of is DATA)
        if is_elementwise and not has_varying(kwargs.values()):
            mapped = run_time_elementwise.mapped if of is DATA else ragged_padded.mapped_filled
            if of is DATA or function is not np.where:
                return mapped(recorder, function, args, kwargs)
        implementation = (OF_DATA_ONLY.get(function) if of is DATA else None) or FUNCTIONS.get(function)
        if implementation is None and function in OF_DATA_ONLY:
            args, kwargs = ragged_padded.as_data(recorder, args), ragged_padded.as_data(recorder, kwargs)
            implementation = OF_DATA_ONLY[function]
        if implementation is None:
            try:
                return recorder.call_python(function, args, kwargs)
            except (UnsupportedError, TypeError, ValueError) as error:
                raise refused(recorder, f"calls numpy.{name} with", of) from error
        if function not in JOINING:  # to NumPy lists of arrays are arrays
            args = tuple(_stacked(recorder, item) for item in args)
        try:
            return implementation(recorder, *args, **kwargs)
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise refused(recorder, f"calls numpy.{name} in another way than usual with", of) from None

    def ufunc(self, recorder: Recorder, ufunc: np.ufunc, method: str, operands: tuple[Any, ...], options: Any) -> Any:
        if method == "at":
            return run_time_keys.update_at(recorder, ufunc, *operands)
        if ufunc.__name__ == "vecdot" and method == "__call__":
            return _vecdot(recorder, *operands, **options)
        if method != "__call__" or ufunc is np.matmul:
            return recorder.call(METHODS.get((ufunc, method), ufunc), operands, options)
        if any(map(is_run_time_array, operands)):
            return run_time_keys.elementwise(recorder, ufunc, ragged_padded.as_data(recorder, operands), options)
        return ragged.elementwise(recorder, ufunc, operands, options)


def _stacked(recorder: Recorder, item: Any) -> Any:
    is_list = type(item) in (list, tuple) and has_varying(item)
    return recorder.call(np.stack, (list(item),), {}) if is_list else item


def varying_in(items: Any) -> Iterator[Any]:
    """The arrays of such extents among arguments."""
    for item in items:
        if type(item) in (list, tuple):
            yield from varying_in(item)
        elif issubclass(type(item), VaryingArray):
            yield item


def has_varying(items: Any) -> bool:
    """Whether there are any."""
    return next(varying_in(items), None) is not None


@dataclass(frozen=True)
class Basis:
    """What the table below is made of, for one kind of extents."""

    reduced: Callable[..., Any]
    product: Callable[..., Any]
    outer: Callable[..., Any]
    like: Callable[..., Any]


OF_MOVED = Basis(ragged.reduced, ragged.ragged_product, ragged.ragged_outer, ragged.ragged_like)
OF_DATA = Basis(
    run_time_reductions.reduced,
    run_time_reductions.run_time_product,
    run_time_reductions.run_time_outer,
    run_time_reductions.run_time_like,
)


def basis_of(*arrays: Any) -> Basis:
    return OF_DATA if any(type(a) is RunTimeArray for a in arrays) else OF_MOVED


def _reduction(function: Any) -> Callable[..., Any]:
    def called(
        recorder: Recorder, a: VaryingArray, axis: Any = None, dtype: Any = None, *, keepdims: Any = False
    ) -> Any:
        if dtype is not None and np.dtype(dtype) != a.dtype:
            a = a.astype(dtype)
        if type(a) is RaggedArray and function is np.prod:
            found = ragged_padded.product_along(a, axis)
        else:
            found = basis_of(a).reduced(a, function, axis)
        if not keepdims:
            return found
        if axis is None or a.ndim == 1:
            return recorder.array(recorder.value_of(found)).reshape((1,) * a.ndim)
        return found[tuple(None if k == int(axis) % a.ndim else slice(None) for k in range(a.ndim))]

    return called


def _mean(recorder: Recorder, a: VaryingArray, axis: Any = None, *, keepdims: Any = False) -> Any:
    total = _reduction(np.sum)(recorder, a, axis, keepdims=keepdims)
    return total / a.count(range(a.ndim) if axis is None else (int(axis) % a.ndim,))


def _variance(recorder: Recorder, a: VaryingArray, axis: Any = None, ddof: Any = 0, *, keepdims: Any = False) -> Any:
    gap = a - _mean(recorder, a, axis, keepdims=True)
    count = a.count(range(a.ndim) if axis is None else (int(axis) % a.ndim,))
    return recorder.call(np.sum, (gap * gap, axis), {"keepdims": keepdims}) / np.maximum(count - ddof, 0)


def _deviation(recorder: Recorder, a: VaryingArray, axis: Any = None, ddof: Any = 0, *, keepdims: Any = False) -> Any:
    variance = _variance(recorder, a, axis, ddof, keepdims=keepdims)
    if not ddof < 1 or a.ndim > 1:
        return np.sqrt(variance)
    single = a.shape[0] == 1  # of which there is none, with derivative zero
    return np.where(single, (a - _mean(recorder, a)).sum(), np.sqrt(np.where(single, 1.0, variance)))


def _norm(recorder: Recorder, a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    options = {"axis": axis, "keepdims": keepdims}
    if ord in SIZES and (a.ndim == 1 or isinstance(axis, int | np.integer)):
        return recorder.call(SIZES[ord], (abs(a),), options)
    if ord is not None and not (ord == 2 and (a.ndim == 1 or axis is not None)):
        raise a.refused("takes another norm than Euclid's of")
    return np.sqrt(recorder.call(np.sum, (a * a,), options))


def _inner(recorder: Recorder, a: Any, b: Any) -> Any:
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise next(varying_in((a, b))).refused("multiplies, with this number of axes,")
    return basis_of(a, b).product(recorder, a, b)


def _difference(recorder: Recorder, a: Any, n: int = 1, axis: Any = -1) -> Any:
    for _ in range(n):
        around = (slice(None),) * (int(axis) % a.ndim)
        a = a[(*around, slice(1, None))] - a[(*around, slice(None, -1))]
    return a


def _flip(recorder: Recorder, a: VaryingArray, axis: Any = None) -> Any:
    if type(a) is RaggedArray:
        return ragged.flip(a, axis)
    if a.ndim != 1:
        raise a.refused("turns round the rows of")
    return a[::-1]


def _like(number: float) -> Callable[..., Any]:
    return lambda recorder, a, dtype=None: basis_of(a).like(a, number, np.dtype(a.dtype if dtype is None else dtype))


def _each(of_moved: Callable[..., Any], of_data: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function that each kind of extents has in its way, or only those that loops move."""

    def called(recorder: Recorder, a: VaryingArray, *args: Any, **kwargs: Any) -> Any:
        if type(a) is RaggedArray:
            return of_moved(a, *args, **kwargs)
        if of_data is None:
            raise a.refused("puts in order, or sums up, or takes an index of,")
        return of_data(a, *args, **kwargs)

    return called


def _as_data(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of elements in order, which takes any length as data."""
    function = run_time_statistics.by_columns(function)
    return _each(lambda a, *args, **kwargs: function(ragged_padded.as_run_time(a), *args, **kwargs), function)


def _unique(recorder: Recorder, a: VaryingArray, *args: Any, **kwargs: Any) -> Any:
    return run_time_order.run_time_unique(recorder, ragged_padded.as_data(recorder, a), *args, **kwargs)


def _array(
    recorder: Recorder, a: VaryingArray, dtype: Any = None, *, copy: Any = True, order: Any = None, subok: bool = False,
    ndmin: int = 0,
) -> Any:  # fmt: skip
    return a.copy() if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


def _as_array(recorder: Recorder, a: VaryingArray, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    return a if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


def _moved_axis(recorder: Recorder, a: VaryingArray, source: Any, destination: Any) -> Any:
    source, destination = (k[0] if type(k) is tuple and len(k) == 1 else k for k in (source, destination))
    if a.ndim > 2 or type(source) is tuple or type(destination) is tuple:
        raise a.refused("moves an axis of")
    return a if a.ndim == 1 or (int(source) - int(destination)) % 2 == 0 else a.T


def _reshape(recorder: Recorder, a: VaryingArray, shape: Any, order: Any = "C") -> Any:
    """With axes of one element around its own, which is told by its length or by -1."""
    if isinstance(a, RunTimeArray) and a.ndim > 1 and set(a.rest) == {1}:
        a = a[tuple(slice(None) if k == a.axis else 0 for k in range(a.ndim))]
    parts = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    own = [k for k, n in enumerate(parts) if recorder.is_scalar(n) and n.dtype.kind in "iu"]
    own = own or [k for k, n in enumerate(parts) if type(n) is int and n == -1]
    if (
        a.ndim != 1
        or len(own) != 1
        or any(type(n) is not int or n not in (1, -1) for n in parts if n is not parts[own[0]])
    ):
        raise a.refused("changes the shape of")
    if recorder.is_scalar(parts[own[0]]) and type(a) is RunTimeArray:
        common_length(recorder, [a.length, RunTime(recorder.value_of(parts[own[0]], INT), a.length.most)])
    return a if len(parts) == 1 else a[tuple(slice(None) if k in own else None for k in range(len(parts)))]


def _broadcast(recorder: Recorder, *arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    """Of arrays that have a shape together as they are."""
    shapes = {shape_as_known(recorder, a.shape) for a in arrays if type(a) is RunTimeArray}
    if len(shapes) > 1 or any(type(a) is not RunTimeArray for a in arrays):
        raise refused(recorder, "broadcasts, beside others,")
    return arrays


def _vecdot(recorder: Recorder, x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    return recorder.call(np.sum, (x1 * x2, axis), {})


def _broadcast_to(recorder: Recorder, a: VaryingArray, shape: Any, subok: bool = False) -> Any:
    if type(a) is not RunTimeArray or len({shape_as_known(recorder, s) for s in (a.shape, shape)}) > 1:
        raise a.refused("broadcasts, to another shape,")
    return a


def _transposed(recorder: Recorder, a: VaryingArray, axes: Any = None) -> Any:
    if axes is None or tuple(axes) == tuple(range(a.ndim))[::-1]:
        return a.T
    if tuple(axes) != tuple(range(a.ndim)):
        raise a.refused("changes the order of the axes of")
    return a


def _result_type(recorder: Recorder, *items: Any) -> np.dtype:
    return recorder.result_type(*(np.empty((), i.dtype) if issubclass(type(i), VaryingArray) else i for i in items))


JOINING: dict[Any, Callable[..., Any]] = {
    np.concatenate: ragged_joined.ragged_concatenate,
    np.hstack: ragged_joined.ragged_hstack,
    np.append: ragged_joined.ragged_append,
    np.stack: ragged_joined.ragged_stack,
    np.vstack: ragged_joined.ragged_rows,
    np.column_stack: ragged_joined.ragged_columns,
}
JOINING_DATA: dict[Any, Callable[..., Any]] = {
    np.vstack: run_time_choices.run_time_rows, np.column_stack: run_time_choices.run_time_columns,
    np.stack: run_time_choices.run_time_stack, np.concatenate: run_time_choices.run_time_concatenate,
    np.hstack: run_time_choices.run_time_hstack, np.append: run_time_choices.run_time_append,
}  # fmt: skip
OF_DATA_ONLY: dict[Any, Callable[..., Any]] = JOINING_DATA | {
    np.trapezoid: run_time_curves.run_time_trapezoid, np.interp: run_time_curves.run_time_interp,
    np.searchsorted: run_time_curves.run_time_searchsorted, np.gradient: run_time_curves.run_time_gradient,
    np.argsort: run_time_order.run_time_argsort, np.bincount: run_time_order.run_time_bincount,
    np.histogram: run_time_statistics.run_time_histogram, np.tile: run_time_statistics.run_time_tile,
    np.einsum: run_time_statistics.run_time_einsum,
    np.take: run_time_choices.run_time_take, np.vander: run_time_fits.run_time_vander,
    np.linalg.svd: run_time_fits.run_time_singular_values, np.linalg.qr: run_time_fits.run_time_qr,
    np.linalg.pinv: run_time_fits.run_time_pseudo_inverse,
    np.linalg.lstsq: run_time_fits.run_time_lstsq, np.cov: run_time_fits.run_time_covariance,
    np.corrcoef: run_time_fits.run_time_correlation, np.convolve: run_time_fits.run_time_convolve,
    np.correlate: run_time_fits.run_time_correlate,
    np.maximum.accumulate: run_time_reductions.largest_so_far,
    np.minimum.accumulate: run_time_reductions.smallest_so_far,
    np.nonzero: run_time_choices.run_time_nonzero, np.where: run_time_choices.run_time_nonzero,
    np.flatnonzero: lambda recorder, a: run_time_choices.run_time_nonzero(recorder, a)[0],
} | {
    getattr(np, f"nan{function.__name__}"): run_time_statistics.of_numbers_alone(function)
    for function in (np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.median)
}  # fmt: skip
FUNCTIONS: dict[Any, Callable[..., Any]] = JOINING | {
    function: _reduction(function) for function in (np.sum, np.prod, np.any, np.all, np.max, np.min)
} | {
    np.amax: _reduction(np.max), np.amin: _reduction(np.min),
    np.argmax: _each(ragged_extremes.argmax, run_time_reductions.argmax),
    np.argmin: _each(ragged_extremes.argmin, run_time_reductions.argmin),
    np.cumsum: _each(ragged_padded.cumsum, run_time_reductions.cumulated),
    np.cumulative_sum: lambda recorder, a, axis=None: recorder.call(np.cumsum, (a, axis), {}),
    np.cumprod: _each(ragged_padded.cumprod, run_time_reductions.cumulated_product),
    np.argsort: _each(ragged_padded.argsort, None),
    np.count_nonzero: lambda recorder, a, axis=None: (a != 0).sum(axis=axis),
    np.ptp: lambda recorder, a, axis=None: a.max(axis=axis) - a.min(axis=axis),
    np.mean: _mean, np.var: _variance, np.std: _deviation, np.linalg.norm: _norm, np.inner: _inner, np.vdot: _inner,
    np.dot: lambda recorder, a, b: basis_of(a, b).product(recorder, a, b),
    np.matmul: lambda recorder, a, b: basis_of(a, b).product(recorder, a, b),
    np.outer: lambda recorder, a, b: basis_of(a, b).outer(recorder, a, b),
    np.unique: _unique, np.diff: _difference, np.flip: _flip, np.where: ragged.where,
    np.sort: _each(ragged_padded.sort, run_time_statistics.by_columns(run_time_order.run_time_sort)),
    np.median: _as_data(run_time_order.run_time_median),
    np.quantile: _as_data(run_time_order.run_time_quantile),
    np.percentile: _as_data(run_time_order.run_time_percentile),
    np.array: _array, np.asarray: _as_array, np.asanyarray: _as_array, np.ascontiguousarray: _as_array,
    np.reshape: _reshape, np.ravel: lambda recorder, a, order="C": _reshape(recorder, a, -1),
    np.result_type: _result_type, np.moveaxis: _moved_axis, np.iterable: lambda recorder, a: True,
    np.astype: lambda recorder, a, dtype, copy=True: a.astype(dtype),
    np.copy: lambda recorder, a: a.copy(), np.transpose: _transposed,
    np.broadcast_arrays: _broadcast, np.linalg.vecdot: _vecdot, np.vecdot: _vecdot,
    np.broadcast_to: _broadcast_to,
    np.shape: lambda recorder, a: a.shape, np.size: lambda recorder, a: a.size, np.ndim: lambda recorder, a: a.ndim,
    np.zeros_like: _like(0.0), np.ones_like: _like(1.0), np.empty_like: _like(0.0),
}  # fmt: skip


def _of_scipy() -> None:
    OF_DATA_ONLY[sys.modules["scipy.integrate"].trapezoid] = run_time_curves.run_time_trapezoid


def _log_sum_exp(recorder: Recorder, a: VaryingArray, axis: Any = None) -> Any:
    if axis is not None and a.ndim > 1:
        raise a.refused("takes, along an axis, the logarithm of a sum of exponentials of")
    top = a.max()
    return np.log(np.exp(a - top).sum()) + top


def _of_special() -> None:
    FUNCTIONS[sys.modules["scipy.special"].logsumexp] = _log_sum_exp


when_loaded("scipy.integrate", _of_scipy)
when_loaded("scipy.special", _of_special)


def _get(array: Any, key: Any) -> Any:
    """`array[key]` where the key is of a run-time place or length."""
    found = windowed(array, key)
    return run_time_keys.run_time_slice(array, key) if found is None else found[0][found[1]]


def _put(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` where the key, or only the value, is of a run-time place or length."""
    found = windowed(array, key)
    if found is not None:
        view, rest = found
        view[rest] = value
        return
    put = run_time_keys.put_slice if has_run_time_part(array.recorder, key) else run_time_keys.put_whole
    put(array, key, value)


HANDLERS[RaggedArray] = VaryingCalls(ragged_keys.shown, ragged_keys.put)
HANDLERS[RunTimeArray] = VaryingCalls(run_time_choices.get, run_time_choices.put)
KEYS.append(
    Keys(
        takes=lambda recorder, key, value: has_run_time_part(recorder, key) or is_run_time_array(value),
        get=_get,
        put=_put,
    )
)
KEYS.append(
    Keys(
        takes=lambda recorder, key, value: has_loop_index(key) or ragged_keys.has_ragged_index(key),
        get=ragged_keys.shown,
        put=ragged_keys.put,
    )
)
