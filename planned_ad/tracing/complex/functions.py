"""NumPy's functions of complex values, by what they are: linear, bilinear, views, or formulas.

A linear function is taken of the real and of the imaginary part; a bilinear one of each pair of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.complex_parts import PART
from ..record.dispatch import handler_of
from ..record.recorder import Recorder
from .complex_scalar import ComplexScalar
from .complex_tracer import ComplexTracer, complex_array
from .elementwise import complex_ufunc, into
from .formulas import angle
from .pairs import complex_of, is_complex_value, of_values, parts_of_operand
from .reals import ComplexValue, Real

Implementation = Callable[..., Any]
COMPLEX_FUNCTIONS: dict[Any, Implementation] = {}
_function: Any
METHODS_OF_UFUNCS: dict[tuple[Any, str], Implementation] = {}


def of_complex(*functions: Any) -> Callable[[Implementation], Implementation]:
    """Register what stands for functions where an argument is complex."""

    def register(implementation: Implementation) -> Implementation:
        for function in functions:
            COMPLEX_FUNCTIONS[function] = implementation
        return implementation

    return register


# Parts of arguments.


def part_of(recorder: Recorder, obj: Any, which: int) -> Any:
    """The real (0) or imaginary (1) part of an argument, and of the items of one."""
    if type(obj) in (list, tuple):
        return type(obj)(part_of(recorder, item, which) for item in obj)
    if isinstance(obj, dict):
        return {key: part_of(recorder, item, which) for key, item in obj.items()}
    if is_complex_value(obj):
        if not (type(obj) is ComplexTracer and obj.storage.buffer is None and not obj.is_known):
            return obj.imag if which else obj.real
        zero = np.zeros((), PART[obj.dtype])
        value = obj.parts()[which]
        return (
            recorder.concrete(np.broadcast_to(zero, obj.shape).copy()) if value is None else (obj.real, obj.imag)[which]
        )
    if which == 0:
        return obj
    if hasattr(obj, "dtype") and obj.shape:
        return recorder.concrete(np.zeros(obj.shape, obj.dtype))
    return obj * 0 if isinstance(obj, int | float) else np.zeros((), obj.dtype)[()]


def whole(recorder: Recorder, real: Any, imag: Any) -> Any:
    """A complex result of the parts of it; of lists of results, a list."""
    if type(real) in (list, tuple):
        return type(real)(whole(recorder, a, b) for a, b in zip(real, imag))
    first, second = (recorder.value_of(v) for v in (real, imag))
    dtype = np.result_type(first.dtype, second.dtype, np.float32)
    first, second = (recorder.builder.cast(v, dtype) for v in (first, second))
    if not recorder.is_array(real) and not isinstance(real, np.ndarray):
        return of_values(recorder, first, second, None)
    like = next(v for v in (real, imag) if hasattr(v, "shape"))
    return complex_array(recorder, first, second, like.geometry if recorder.is_array(like) else like)


def real_dtype(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a function of a part."""
    dtype = options.get("dtype")
    if dtype is None or np.dtype(dtype).kind != "c":
        return options
    return options | {"dtype": PART[np.dtype(dtype)]}


def linear(function: Any, *places: int | str) -> None:
    """Of a function that is linear in its arguments at these places, or with these names."""

    @of_complex(function)
    def by_parts(recorder: Recorder, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        def part(which: int) -> Any:
            positional = [part_of(recorder, v, which) if k in places else v for k, v in enumerate(args)]
            named = {name: part_of(recorder, v, which) if name in places else v for name, v in kwargs.items()}
            if handler_of((*positional, *named.values())) is not None:
                raise UnsupportedError(f"numpy.{function.__name__} takes no such complex argument here")
            return recorder.call(function, tuple(positional), real_dtype(named))

        found = whole(recorder, part(0), part(1))
        return into(recorder, np.positive, out, found, True, "same_kind")


for _function in (
    np.sum, np.mean, np.cumsum, np.diff, np.trace, np.roll, np.take, np.pad, np.tile, np.repeat, np.round,
    np.around, np.nan_to_num, np.delete, np.take_along_axis, np.tril, np.triu, np.resize, np.gradient,
    np.diag, np.diagflat, np.average,
):  # fmt: skip
    linear(_function, 0, "a", "arr", "array", "ary", "m", "v", "A", "f", "x")
for _function in (
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block,
):  # fmt: skip
    linear(_function, 0, "arrays", "tup")
linear(np.append, 0, 1, "arr", "values")
linear(np.choose, 1, "choices")
linear(np.compress, 1, "a")
linear(np.linspace, 0, 1, "start", "stop")
linear(np.where, 1, 2, "x", "y")
of_parts_of_where = COMPLEX_FUNCTIONS[np.where]


@of_complex(np.where)
def where_(recorder, condition, *choices):
    if handler_of((condition,)) is not None:
        condition = complex_of(recorder, condition) != 0
    if not choices:
        return recorder.call(np.nonzero, (condition,), {})
    if handler_of(choices) is None:
        return recorder.call(np.where, (condition, *choices), {})
    return of_parts_of_where(recorder, condition, *choices)


linear(np.select, 1, 2, "choicelist", "default")
linear(np.insert, 0, 2, "arr", "values")
linear(np.interp, 2, "fp", "left", "right")
linear(np.ediff1d, 0, 1, 2, "ary", "to_end", "to_begin")


# Views.


def view(function: Any) -> None:
    """Of a function that shows the memory of its first argument in another way; where it copies, of the parts."""

    @of_complex(function)
    def seen(recorder: Recorder, array: Any, *args: Any, **kwargs: Any) -> Any:
        array = complex_of(recorder, array)
        found = function(array.geometry, *args, **kwargs)
        pieces = found if type(found) in (list, tuple) else [found]
        if all(np.may_share_memory(piece, array.geometry) or not piece.size for piece in pieces):
            views = [array._seen(piece) for piece in pieces]
            return views[0] if found is pieces[0] else type(found)(views) if type(found) in (list, tuple) else views[0]
        parts = (recorder.call(function, (part, *args), kwargs) for part in (array.real, array.imag))
        return whole(recorder, *parts)


for _function in (
    np.transpose, np.permute_dims, np.matrix_transpose, np.reshape, np.ravel, np.squeeze, np.expand_dims, np.swapaxes,
    np.moveaxis, np.rollaxis, np.broadcast_to, np.diagonal, np.flip, np.fliplr, np.flipud, np.rot90, np.split,
    np.array_split, np.hsplit, np.vsplit, np.dsplit, np.atleast_1d, np.atleast_2d, np.atleast_3d,
):  # fmt: skip
    view(_function)


def each_argument(function: Any) -> None:
    """Of a function of any number of arguments, each of which it shows."""
    one = COMPLEX_FUNCTIONS[function]

    @of_complex(function)
    def each(recorder: Recorder, *arrays: Any) -> Any:
        found = []
        for array in arrays:
            known = recorder.concrete(np.asarray(array)) if recorder.is_concrete(array) else array
            is_complex = handler_of((known,)) is not None
            found.append(one(recorder, known) if is_complex else recorder.call(function, (known,), {}))
        return found[0] if len(found) == 1 else tuple(found)


for _function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    each_argument(_function)


@of_complex(np.broadcast_arrays)
def broadcast_arrays(recorder, *args, subok=False):
    arrays = [recorder.call(np.asarray, (a,), {}) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(np.broadcast_to(recorder.concrete(a), shape) for a in arrays)


@of_complex(np.meshgrid)
def meshgrid(recorder, *xi, **options):
    found = []
    for k, x in enumerate(xi):

        def grid(part: Any, k: int = k) -> Any:
            others = [np.zeros(np.size(other)) for other in xi]
            return np.meshgrid(*others[:k], part, *others[k + 1 :], **options)[k]

        found.append(whole(recorder, grid(x.real), grid(x.imag)) if is_complex_value(x) else grid(x))
    return tuple(found) if type(np.meshgrid(0.0)) is tuple else found


# Bilinear functions.


def products(recorder: Recorder, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """A function that is linear in each of its operands, by its values for their parts."""
    real: Any = None
    imag: Any = None
    parts = [present_parts(recorder, obj) for obj in operands]

    def visit(number: int, chosen: list[Any], count: int) -> None:
        nonlocal real, imag
        if number == len(parts):
            term = function(*chosen)
            if count % 2:
                imag = signed(imag, term, count % 4 == 3)
            else:
                real = signed(real, term, count % 4 == 2)
            return
        for which, part in enumerate(parts[number]):
            if part is not None:
                visit(number + 1, [*chosen, part], count + which)

    visit(0, [], 0)
    there = imag if real is None else real
    none = there * 0.0
    return whole(recorder, none if real is None else real, none if imag is None else imag)


def signed(total: Any, term: Any, minus: bool) -> Any:
    if total is None:
        return -term if minus else term
    return total - term if minus else total + term


def present_parts(recorder: Recorder, obj: Any) -> tuple[Any, Any]:
    """Real and imaginary part; None for one that is zero."""
    if type(obj) in (list, tuple):
        obj = (
            recorder.call(np.asarray, (obj,), {}) if not recorder.is_concrete(obj) else np.asarray(recorder.plain(obj))
        )
    if not is_complex_value(obj):
        return obj, None
    if type(obj) in (ComplexTracer, ComplexScalar) and not recorder.is_concrete(obj):
        real, imag = (None if v is None else part for v, part in zip(obj.parts(), (obj.real, obj.imag)))
        return real, imag
    array = recorder.plain(obj)
    real, imag = (recorder.concrete(np.array(part)) if part.any() else None for part in (array.real, array.imag))
    return (real, imag) if (real, imag) != (None, None) else (recorder.concrete(np.array(array.real)), None)


def bilinear(function: Any, conjugated: int | None = None) -> None:
    @of_complex(function)
    def of_pairs(recorder: Recorder, a: Any, b: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        operands = [np.conjugate(v) if k == conjugated else v for k, v in enumerate((a, b))]
        found = products(recorder, lambda x, y: recorder.call(function, (x, y, *args), kwargs), operands)
        return into(recorder, np.positive, out, found, True, "same_kind")


for _function in (np.dot, np.matmul, np.inner, np.outer, np.kron, np.convolve, np.cross, np.linalg.outer):
    bilinear(_function)
bilinear(np.vdot, 0)
bilinear(np.correlate, 1)
for _name, _conjugated in (("vecdot", 0), ("vecmat", 0), ("matvec", None)):
    if hasattr(np, _name):
        bilinear(getattr(np, _name), _conjugated)


@of_complex(np.tensordot, np.linalg.tensordot)
def tensordot(recorder, a, b, axes=2):
    found = products(recorder, lambda x, y: recorder.call(np.tensordot, (x, y, axes), {}), (a, b))
    return recorder.call(np.asarray, (found,), {})


@of_complex(np.einsum)
def einsum(recorder, *operands, out=None, **options):
    if not isinstance(operands[0], str):
        raise UnsupportedError("np.einsum of complex operands takes its subscripts as a string")
    options.pop("optimize", None)
    found = products(recorder, lambda *parts: recorder.call(np.einsum, (operands[0], *parts), options), operands[1:])
    return into(recorder, np.positive, out, found, True, "same_kind")


# Products of all elements, and of those so far.


@of_complex(np.prod)
def prod(recorder, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    if initial is not None or where is not True:
        raise UnsupportedError("np.prod of complex numbers with initial= or where= has no rule")
    a = complex_of(recorder, a)
    axes = range(a.ndim) if axis is None else [k % a.ndim for k in ([axis] if np.ndim(axis) == 0 else axis)]
    rest = [k for k in range(a.ndim) if k not in axes]
    shape = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
    items = a.transpose((*axes, *rest)).reshape(-1, *(a.shape[k] for k in rest))
    while len(items) > 1:  # two by two
        half = len(items) // 2
        paired = items[:half] * items[half : 2 * half]
        items = paired if len(items) % 2 == 0 else np.concatenate([paired, items[2 * half :]])
    found = items[0] if len(items) else recorder.concrete(np.ones([a.shape[k] for k in rest], a.dtype))
    if keepdims and keepdims is not np._NoValue:
        found = np.reshape(found, shape)
    return into(recorder, np.positive, out, found, True, "same_kind")


@of_complex(np.cumprod)
def cumprod(recorder, a, axis=None, dtype=None, out=None):
    a = complex_of(recorder, a)
    items = np.moveaxis(a.reshape(-1) if axis is None else a, 0 if axis is None else axis, 0)
    step = 1
    while step < len(items):
        items = np.concatenate([items[:step], items[step:] * items[:-step]])
        step *= 2
    found = items.copy() if items is a else np.moveaxis(items, 0, 0 if axis is None else axis)
    return into(recorder, np.positive, out, found, True, "same_kind")


# The largest and the smallest, in the order of real parts, then imaginary ones.


def _extremum(extremum: Any, worst: float) -> Implementation:
    def found(recorder, a, axis=None, out=None, keepdims=False, initial=None, where=True):
        if initial not in (None, np._NoValue) or where not in (True, None, np._NoValue):
            raise UnsupportedError(f"np.{extremum.__name__} of complex numbers with initial= or where= has no rule")
        a = complex_of(recorder, a)
        real = extremum(a.real, axis=axis, keepdims=True)
        imag = extremum(np.where(a.real == real, a.imag, worst), axis=axis, keepdims=True)
        imag = np.where(np.isnan(a).any(axis=axis, keepdims=True), np.nan, imag)  # NumPy gives the first nan
        result = real + 1j * imag
        if not keepdims or keepdims is np._NoValue:
            result = result.reshape(-1)[0] if result.size == 1 and axis is None else np.squeeze(result, axis)
        return into(recorder, np.positive, out, result, True, "same_kind")

    return found


of_complex(np.max, np.amax)(_extremum(np.max, -np.inf))
of_complex(np.min, np.amin)(_extremum(np.min, np.inf))


# Numbers of them.


@of_complex(np.var)
def var(recorder, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, **options):
    a = complex_of(recorder, a)
    gap = a - np.mean(a, axis=axis, keepdims=True)
    size = gap.real * gap.real + gap.imag * gap.imag
    count = a.size if axis is None else np.prod([a.shape[k] for k in np.atleast_1d(axis)])
    keeps: Any = bool(keepdims) and keepdims is not np._NoValue
    total = np.sum(size, axis=axis, keepdims=keeps)
    return into(recorder, np.positive, out, total / (count - ddof), True, "same_kind")


@of_complex(np.std)
def std(recorder, a, *args, **kwargs):
    return np.sqrt(recorder.call(np.var, (a, *args), kwargs))


@of_complex(np.any)
def any_(recorder, a, *args, **kwargs):
    return recorder.call(np.any, (complex_of(recorder, a) != 0, *args), kwargs)


@of_complex(np.all)
def all_(recorder, a, *args, **kwargs):
    return recorder.call(np.all, (complex_of(recorder, a) != 0, *args), kwargs)


@of_complex(np.nonzero)
def nonzero(recorder, a):
    return recorder.call(np.nonzero, (complex_of(recorder, a) != 0,), {})


@of_complex(np.count_nonzero)
def count_nonzero(recorder, a, *args, **kwargs):
    return recorder.call(np.count_nonzero, (complex_of(recorder, a) != 0, *args), kwargs)


# Parts, and questions.


@of_complex(np.real)
def real(recorder, val):
    return val.real


@of_complex(np.imag)
def imag(recorder, val):
    return val.imag


@of_complex(np.angle)
def angle_(recorder, z, deg=False):
    parts = (None if v is None else Real(recorder, v) for v in parts_of_operand(recorder, z))
    value = angle(ComplexValue(*parts)).value
    found = recorder.result(recorder.builder.broadcast(value, np.shape(z)))
    return found * (180 / np.pi) if deg else found


@of_complex(np.iscomplexobj)
def iscomplexobj(recorder, x):
    return True


@of_complex(np.isrealobj)
def isrealobj(recorder, x):
    return False


@of_complex(np.iscomplex)
def iscomplex(recorder, x):
    return x.imag != 0


@of_complex(np.isreal)
def isreal(recorder, x):
    return x.imag == 0


@of_complex(np.shape)
def shape(recorder, a):
    return a.shape if hasattr(a, "shape") else recorder.call(np.asarray, (a,), {}).shape


@of_complex(np.ndim)
def ndim(recorder, a):
    return len(shape(recorder, a))


@of_complex(np.size)
def size(recorder, a, axis=None):
    found = shape(recorder, a)
    return int(np.prod(found)) if axis is None else found[axis]


@of_complex(np.isscalar)
def isscalar(recorder, element):
    return type(element) is ComplexScalar or (type(element) is not ComplexTracer and np.isscalar(element))


@of_complex(np.result_type)
def result_type(recorder, *arrays_and_dtypes):
    def kind(obj: Any) -> Any:
        if getattr(obj, "is_python", False):
            return obj.dtype.type(0).item()
        return obj.dtype if hasattr(obj, "recorder") else obj

    return np.result_type(*map(kind, arrays_and_dtypes))


# Methods of ufuncs.


def by_function(function: Any) -> Implementation:
    def implementation(recorder: Recorder, ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, **options: Any):
        return recorder.call(function, (a,), {"axis": axis} | options)

    return implementation


def outer_of(recorder: Recorder, ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    a, b = (v if hasattr(v, "ndim") and v.ndim else np.asarray(v) for v in (a, b))
    a, b = (recorder.concrete(v) if type(v) is np.ndarray else v for v in (a, b))
    return complex_ufunc(recorder, ufunc, (a[(..., *(None,) * b.ndim)], b), **options)


def at_places(recorder: Recorder, ufunc: np.ufunc, array: Any, index: Any, values: Any) -> None:
    if ufunc not in (np.add, np.subtract):
        raise UnsupportedError(f"numpy.{ufunc.__name__}.at has no rule for complex numbers; add.at and subtract.at do")
    if type(array) is not ComplexTracer:
        raise TypeError("Cannot cast ufunc 'add' output from complex128 to float64 with casting rule 'same_kind'")
    ufunc.at(array.real, index, part_of(recorder, values, 0))
    ufunc.at(array.imag, index, part_of(recorder, values, 1))


METHODS_OF_UFUNCS |= {
    (np.add, "reduce"): by_function(np.sum), (np.multiply, "reduce"): by_function(np.prod),
    (np.add, "accumulate"): by_function(np.cumsum), (np.multiply, "accumulate"): by_function(np.cumprod),
    (None, "outer"): outer_of, (None, "at"): at_places,
}  # fmt: skip
