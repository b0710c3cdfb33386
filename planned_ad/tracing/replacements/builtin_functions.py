"""What traced code sees in place of `math` and of those built-ins that would ask a tracer for its number."""

from __future__ import annotations

import abc
import builtins
import cmath
import collections
import functools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, get_args

import numpy as np
from scipy import special

from ... import control
from ...python.written_calls import one_or_other
from ..complex.pairs import complex_from
from ..lengths.varying import VaryingArray
from ..loops.consumers import assigns, is_generator_expression, joined
from ..loops.dict_of_items import InPlaces
from ..loops.dict_order import OrderedView
from ..loops.expressions import as_expression
from ..loops.letters import Letter
from ..loops.list_in_trace import is_traced_list
from ..loops.none_or_value import decided
from ..loops.seen_classes import class_seen
from ..loops.sequences import Range
from ..loops.side_effects import SideEffects
from ..numpy_functions.support import requires
from ..record.decisions import Site
from ..record.recorder import Recorder
from ..record.traced import Traced, TracedArray
from ..values.array_methods import lacks
from ..values.elementwise import elementwise
from ..values.loop_index import LoopIndex, plain_or_traced
from ..values.number_types import is_of, types_of
from ..values.python_errors import raise_as_math, require_integer
from ..values.scalar_tracer import ScalarTracer
from .choosing import choice_of_names, choosing, comparisons, is_axis, is_scalar
from .made_later import Later, later
from .stand_ins import StandIn

# One operand: the ufunc that computes the same (where `math` raises for a domain error, it gives nan).
UNARY = {
    math.fabs: np.absolute, math.sqrt: np.sqrt, math.cbrt: np.cbrt, math.exp: np.exp, math.exp2: np.exp2,
    math.expm1: np.expm1, math.log1p: np.log1p, math.log2: np.log2, math.log10: np.log10, math.sin: np.sin,
    math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan,
    math.sinh: np.sinh, math.cosh: np.cosh, math.tanh: np.tanh, math.asinh: np.arcsinh, math.acosh: np.arccosh,
    math.atanh: np.arctanh, math.degrees: np.degrees, math.radians: np.radians, math.erf: special.erf,
    math.erfc: special.erfc, math.gamma: special.gamma, math.isnan: np.isnan,
    math.isinf: np.isinf, math.isfinite: np.isfinite,
}  # fmt: skip
BINARY = {
    math.atan2: np.arctan2, math.copysign: np.copysign, math.fmod: np.fmod, math.nextafter: np.nextafter,
}  # fmt: skip

PLAIN_KINDS = (
    list, tuple, dict, set, str, NoneType, collections.deque, collections.defaultdict, collections.OrderedDict,
)  # fmt: skip


COMPLEX_UNARY = {
    cmath.exp: np.exp, cmath.log10: np.log10, cmath.sqrt: np.sqrt, cmath.sin: np.sin, cmath.cos: np.cos,
    cmath.tan: np.tan, cmath.sinh: np.sinh, cmath.cosh: np.cosh, cmath.tanh: np.tanh, cmath.asin: np.arcsin,
    cmath.acos: np.arccos, cmath.atan: np.arctan, cmath.asinh: np.arcsinh, cmath.acosh: np.arccosh,
    cmath.atanh: np.arctanh, cmath.isnan: np.isnan, cmath.isinf: np.isinf, cmath.isfinite: np.isfinite,
}  # fmt: skip


def _is_tracer(recorder: Recorder, obj: Any) -> bool:
    return recorder.is_scalar(obj) or recorder.is_array(obj) or type(obj) is LoopIndex


def _number(recorder: Recorder, obj: Any) -> Any:
    """An argument of `math`, which takes numbers and arrays of one element, as a traced Python float."""
    recorder.mark()
    obj = plain_or_traced(obj)
    obj = only_element(obj) if recorder.is_array(obj) else obj
    if recorder.is_scalar(obj):
        value = recorder.value_of(obj, np.float64)
        obj = type(obj)(recorder, value, is_python=True)
    return obj


def as_python_asks(obj: Any, *names: str) -> Any:
    """What an object of the program's gives by one of these methods, a traced number perhaps; others as they are."""
    kind: Any = type(obj)
    if kind is float or kind is int or issubclass(kind, Traced):
        return obj
    methods = (getattr(getattr(kind, name, None), "traced", None) for name in names)
    return next((method(obj) for method in methods if method is not None), obj)


def only_element(array: Any) -> Any:
    """The element of an array that is asked for its number, where NumPy has one for it: else NumPy's own error."""
    float(np.ones((1,) * array.ndim if array.size == 1 else (2,)))
    return array.item()


def _recorded(recorder: Recorder, function: Callable[..., Any], record: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or `record(recorder, *numbers)` where an argument is traced and not known."""

    @functools.wraps(function, ("__name__", "__doc__"), ())
    def replaced(*args, **kwargs):
        args = tuple(as_python_asks(arg, "__float__", "__index__") for arg in args)
        if any(_is_tracer(recorder, a) and not recorder.is_concrete(a) for a in args):
            recorder.mark()
            return recorder.watch.aside(record, recorder, *(_number(recorder, a) for a in args), **kwargs)
        return function(*args, **kwargs)

    return replaced


def _by_ufunc(recorder: Recorder, ufunc: np.ufunc, *numbers: Any) -> Any:
    raise_as_math(ufunc, numbers)
    return elementwise(recorder, ufunc, numbers, is_operator=True)


def _log(recorder: Recorder, a: Any, base: Any = None) -> Any:
    if base is None:
        return _by_ufunc(recorder, np.log, a)
    log = _recorded(recorder, math.log, _log)
    return log(a) / log(base)


def _pow(recorder: Recorder, a: Any, b: Any) -> Any:
    raise_as_math(np.power, (a, b))
    return elementwise(recorder, np.power, (a, b)).item()


def _hypot(recorder: Recorder, *coordinates: Any) -> Any:
    return functools.reduce(functools.partial(_by_ufunc, recorder, np.hypot), coordinates, 0.0)


def _isclose(recorder: Recorder, a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    greater = functools.partial(_by_ufunc, recorder, np.maximum)
    size = greater(abs(a), abs(b))
    near = np.logical_and(abs(a - b) <= greater(rel_tol * size, abs_tol), size < math.inf)
    return np.logical_or(a == b, near).item()


def _rounded(recorder: Recorder, ufunc: np.ufunc, number: Any) -> Any:
    require_integer(recorder, number)
    return recorder.integer(_by_ufunc(recorder, ufunc, number))


def _modf(recorder: Recorder, number: Any) -> Any:
    return elementwise(recorder, np.modf, (number,), is_operator=True)


def _remainder(recorder: Recorder, x: Any, y: Any) -> Any:
    """IEEE 754's, of the nearest multiple: exact, as `fmod` is."""
    raise_as_math(np.fmod, (x, y))
    size, step = abs(x), abs(y)
    rest = _by_ufunc(recorder, np.fmod, size, step)
    to_next = step - rest
    tied = rest - 2.0 * _by_ufunc(recorder, np.fmod, 0.5 * (size - rest), step)
    found = np.where(rest < to_next, rest, np.where(rest > to_next, -to_next, tied))[()]
    found = _by_ufunc(recorder, np.copysign, 1.0, x) * found.item()
    return np.where(np.logical_and(x == 0, y == y), x, found)[()].item()


def _lgamma(recorder: Recorder, number: Any) -> Any:
    return np.where(number == -math.inf, math.inf, _by_ufunc(recorder, special.gammaln, number))[()].item()


def _ldexp(recorder: Recorder, number: Any, exponent: Any) -> Any:
    exponent = recorder.integer(exponent) if recorder.is_scalar(exponent) else exponent
    return _by_ufunc(recorder, np.ldexp, number, exponent)


def _frexp(recorder: Recorder, number: Any) -> Any:
    mantissa, exponent = elementwise(recorder, np.frexp, (number,), is_operator=True)
    return mantissa, recorder.integer(exponent)


def _ulp(recorder: Recorder, number: Any) -> Any:
    size = abs(number)
    return np.where(np.isinf(size), size, elementwise(recorder, np.spacing, (size,)))[()].item()


def _fsum(recorder: Recorder, items: Any) -> Any:
    """The sum with what its additions have lost, added at the end (Neumaier, 1974); the derivative is that of a sum."""

    def added(so_far: tuple[Any, Any, Any], item: Any) -> tuple[Any, Any, Any]:
        plain, high, lost = so_far
        number = _constant(recorder, item)
        following = high + number
        is_larger = np.greater_equal(abs(high), abs(number))
        lost = lost + np.where(is_larger, (high - following) + number, (number - following) + high)[()]
        return plain + item, following, lost

    items = as_expression(recorder, items)
    if not is_generator_expression(items):
        if not (recorder.is_array(items) or (is_traced_list(items) and not items.is_plain)):
            items = list(items)
            if not any(_is_tracer(recorder, item) for item in items):
                return math.fsum(items)
        items = (item for item in items)
    recorder.mark()
    plain, high, lost = joined(recorder, items, (0.0, 0.0, 0.0), added)
    rest = (high - _constant(recorder, plain)) + lost
    return plain + np.where(np.isfinite(plain), rest, 0.0).item()


def _constant(recorder: Recorder, number: Any) -> Any:
    """A number without a derivative."""
    if not _is_tracer(recorder, number):
        return number
    return recorder.result(recorder.apply("stop_gradient", recorder.value_of(number))).item()


def _prod(recorder: Recorder, items: Any, *, start: Any = 1) -> Any:
    items = as_expression(recorder, items)
    if is_generator_expression(items):
        return joined(recorder, items, start, operator.mul)
    for item in items:
        start = start * item
    return start


def _dist(recorder: Recorder, p: Any, q: Any) -> Any:
    return _hypot(recorder, *(a - b for a, b in zip(list(p), list(q), strict=True)))


def _with(record: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda recorder, *numbers: record(recorder, ufunc, *numbers)


# Of `math`: what is recorded where an argument is a traced number; then what takes iterables of them.
OF_NUMBERS: dict[Callable[..., Any], Callable[..., Any]] = {
    **{function: _with(_by_ufunc, ufunc) for function, ufunc in (UNARY | BINARY).items()},
    math.floor: _with(_rounded, np.floor), math.ceil: _with(_rounded, np.ceil), math.trunc: _with(_rounded, np.trunc),
    math.log: _log, math.pow: _pow, math.hypot: _hypot, math.isclose: _isclose, math.modf: _modf, math.ldexp: _ldexp,
    math.remainder: _remainder, math.lgamma: _lgamma, math.frexp: _frexp, math.ulp: _ulp,
}  # fmt: skip
OF_ITEMS: dict[Callable[..., Any], Callable[..., Any]] = {math.fsum: _fsum, math.prod: _prod, math.dist: _dist}


def math_replacements() -> dict[int, Later]:
    """By identity, the functions of `math` that accept tracers."""

    def of_numbers(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
        return _recorded(recorder, function, OF_NUMBERS[function])

    def of_items(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
        return functools.partial(OF_ITEMS[function], recorder)

    return later(OF_NUMBERS, of_numbers) | later(OF_ITEMS, of_items)


def number_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, `float` and `int`, which of a traced number make another one."""

    def is_traced(args: tuple[Any, ...]) -> bool:
        return len(args) == 1 and _is_tracer(recorder, args[0]) and not recorder.is_concrete(args[0])

    @functools.wraps(float, ("__name__", "__doc__"), ())
    def to_float(*args: Any) -> Any:
        args = tuple(as_python_asks(arg, "__float__", "__index__") for arg in args)
        return _number(recorder, args[0]) if is_traced(args) else float(*args)

    @functools.wraps(int, ("__name__", "__doc__"), ())
    def to_int(*args: Any, **options: Any) -> Any:
        args = tuple(as_python_asks(arg, "__int__", "__index__") for arg in args)
        if not is_traced(args):
            return int(*args, **options)
        number = only_element(args[0]) if recorder.is_array(args[0]) else args[0]
        if type(number) is LoopIndex:
            return number
        recorder.mark()
        require_integer(recorder, number)
        return recorder.integer(number)

    @functools.wraps(complex, ("__name__", "__doc__"), ())
    def to_complex(*args: Any, **named: Any) -> Any:
        parts = [*args, *(named[name] for name in ("real", "imag") if name in named)]
        if all(not issubclass(type(part), Traced) or part.is_known for part in parts):
            return complex(*args, **named)
        recorder.mark()
        return complex_from(recorder, *parts)

    return {id(float): to_float, id(int): to_int, id(complex): to_complex}


def _complex_by_ufunc(recorder: Recorder, ufunc: np.ufunc, z: Any) -> Any:
    return elementwise(recorder, ufunc, (complex_from(recorder, z),), is_operator=True)


def _phase(recorder: Recorder, z: Any) -> Any:
    return recorder.call(np.angle, (complex_from(recorder, z),), {}).item()


def _polar(recorder: Recorder, z: Any) -> Any:
    return abs(z), _phase(recorder, z)


def _complex_log(recorder: Recorder, z: Any, base: Any = None) -> Any:
    result = _complex_by_ufunc(recorder, np.log, z)
    return result if base is None else result / _complex_by_ufunc(recorder, np.log, base)


def _rect(recorder: Recorder, r: Any, phi: Any) -> Any:
    cosine, sine = (elementwise(recorder, f, (phi,), is_operator=True) for f in (np.cos, np.sin))
    return complex_from(recorder, r * cosine, r * sine)


OF_COMPLEX: dict[Callable[..., Any], Callable[..., Any]] = {
    **{function: _with(_complex_by_ufunc, ufunc) for function, ufunc in COMPLEX_UNARY.items()},
    cmath.phase: _phase, cmath.polar: _polar, cmath.rect: _rect, cmath.log: _complex_log,
}  # fmt: skip


def cmath_replacements() -> dict[int, Later]:
    """By identity, the functions of `cmath` that accept tracers."""

    def replacing(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, ("__name__", "__doc__"), ())
        def replaced(*args: Any) -> Any:
            args = tuple(map(plain_or_traced, args))
            if any(issubclass(type(a), Traced) and not a.is_known for a in args):
                recorder.mark()
                return OF_COMPLEX[function](recorder, *args)
            return function(*args)

        return replaced

    return later(OF_COMPLEX, replacing)


def builtin_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the built-ins that choose between numbers, which a trace does without fixing the choice."""

    @functools.wraps(functools.reduce, ("__name__", "__doc__"), ())
    def reduce(function: Any, items: Any, /, *initial: Any) -> Any:
        """A loop over the items, recorded as one that is written out is."""
        items = as_expression(recorder, items)
        if is_generator_expression(items) and initial:
            return joined(recorder, items, initial[0], function)
        if not initial:
            items = items if is_axis(items) or isinstance(items, Sequence) else list(items)
            if not len(items):
                return functools.reduce(function, ())
            initial, items = (items[0],), items[1:]
        return recorder.namespace.function(control._joined_in_order)(function, *initial, items)

    def total(items: Any, /, start: Any = 0) -> Any:
        frame = sys._getframe(1)
        items = as_expression(recorder, items)
        if is_generator_expression(items):
            return sum_in_loop((frame.f_code, frame.f_lasti), items, start)
        is_array = issubclass(type(items), TracedArray) and not items.is_known and items.ndim
        if (is_array or issubclass(type(items), VaryingArray)) and type(start) in (int, float) and start == 0:
            is_narrow = items.dtype.kind in "iu" and items.dtype.itemsize < 8  # NumPy adds them in 64 bits
            return builtins.sum(items, start) if is_narrow else items.sum(axis=0)
        if is_traced_list(items) and not items.is_plain:
            recorder.mark()
            return sum_in_loop((frame.f_code, frame.f_lasti), (item for item in items), start)
        return builtins.sum(items, start)

    def sum_in_loop(site: Site, items: Any, start: Any) -> Any:
        """Of arrays beginning with 0, the first one and the others, where a loop gives them: that there is one."""
        sums, depth = recorder.scopes.decisions.sums, recorder.scopes.depth
        shape, dtype = sums.get(site) or (None, None)
        if type(start) is not int or start or sums.get(site, True) is None:
            return joined(recorder, items, start, operator.add)

        def added(so_far: Any, item: Any) -> Any:
            is_array = recorder.is_array(item) and item.ndim and item.dtype.kind != "b"  # truths are added as integers
            if type(so_far) is int and is_array and recorder.scopes.depth > depth:
                sums[site] = item.shape, item.dtype
                raise recorder.scopes.restart()
            return so_far + item

        def added_array(so_far: tuple[Any, Any], item: Any) -> tuple[Any, Any]:
            if not recorder.is_array(item) or (item.shape, item.dtype) != (shape, dtype):
                sums[site] = None
                raise recorder.scopes.restart()
            return True, so_far[1] + item

        if shape is None:
            return joined(recorder, items, start, added)
        none = False, recorder.call(np.zeros, (shape,), {"dtype": dtype})
        is_there, found = joined(recorder, items, none, added_array)
        if is_there is True or (
            recorder.is_scalar(is_there) and requires(recorder, lambda: is_there, "a sum of at least one array")
        ):
            return found
        sums[site] = None
        raise recorder.scopes.restart()

    @functools.wraps(isinstance, ("__name__", "__doc__"), ())
    def is_instance(obj: Any, kinds: Any, /) -> bool:
        obj = decided(obj)
        seen = obj.kind if is_traced_list(obj) else class_seen(obj)
        if seen in PLAIN_KINDS or type(obj) is Letter:
            return issubclass(seen, kinds)  # type: ignore[arg-type]
        if not issubclass(type(obj), Traced):
            return isinstance(obj, kinds)
        if type(obj) is ScalarTracer and obj.types:
            return is_of(recorder, obj.types, lambda cls: issubclass(cls, kinds))
        every = kinds if type(kinds) is tuple else get_args(kinds) if type(kinds) is UnionType else (kinds,)
        return any(
            of_class(obj, kind) if issubclass(type(kind), abc.ABCMeta) else isinstance(obj, kind) for kind in every
        )

    @functools.wraps(hasattr, ("__name__", "__doc__"), ())
    def has_attribute(obj: Any, name: str, /) -> bool:
        """Of a number or array, by the class that it has in the program."""
        obj = decided(obj)
        if issubclass(type(obj), TracedArray):
            return hasattr(obj.geometry, name)
        if type(obj) is not ScalarTracer:
            return obj.has_attribute(name) if type(obj) is Letter else hasattr(obj, name)
        return is_of(recorder, types_of(obj), lambda cls: hasattr(cls, name))

    @functools.wraps(getattr, ("__name__", "__doc__"), ())
    def attribute(obj: Any, name: str, /, *default: Any) -> Any:
        obj = decided(obj)
        if type(obj) is ScalarTracer and not has_attribute(obj, name):
            return getattr(0.0, name, *default)
        if issubclass(type(obj), TracedArray) and has_attribute(obj, name) and not hasattr(obj, name):
            raise lacks(obj, name)
        return getattr(obj, name, *default)

    @functools.wraps(callable, ("__name__", "__doc__"), ())
    def is_callable(obj: Any, /) -> bool:
        return class_seen(obj) not in PLAIN_KINDS and callable(decided(obj))

    def of_class(obj: Any, kind: Any) -> bool:
        """By the class that a traced thing stands for alone: not by the methods of what stands for it."""
        try:
            return issubclass(obj.__class__, kind)
        except TypeError:  # a protocol with attributes
            return isinstance(obj, kind)

    @functools.wraps(issubclass, ("__name__", "__doc__"), ())
    def is_subclass(cls: Any, kinds: Any, /) -> bool:
        return issubclass(cls.__wrapped__ if type(cls) is StandIn else cls, kinds)

    def length(obj: Any, /) -> Any:
        if issubclass(type(obj), VaryingArray):
            return obj.shape[0]
        return obj.length() if is_traced_list(obj) or issubclass(type(obj), HAVE_LENGTHS) else builtins.len(obj)

    def deciding(function: Callable[..., Any], combine: np.ufunc, decided: bool) -> Callable[..., Any]:
        """`any` and `all`: of traced truths the combination, all of them looked at, where that changes nothing else."""

        def both(so_far: Any, item: Any) -> Any:
            if not is_scalar(recorder, item) and not recorder.is_scalar(so_far):
                return decided if so_far is decided else bool(item)
            found = elementwise(recorder, combine, (so_far, _truth(recorder, item)))
            return found.item() if recorder.is_scalar(found) else bool(found)

        @functools.wraps(function, ("__name__", "__doc__"), ())
        def decide(items: Any, /) -> Any:
            frame, stepped = sys._getframe(1), recorder.scopes.decisions.stepped
            site = (frame.f_code, frame.f_lasti)
            if site in stepped and recorder.scopes.depth:
                reason = f"has an `{function.__name__}` of which it can be seen where it ends"
                raise recorder.scopes.unroll_innermost(reason, recorder.builder.line)
            if not is_generator_expression(items) or assigns(items.gi_code) or site in stepped:
                return function(items)  # which ends with the item that decides
            recorder.mark()
            effects = SideEffects(recorder, items)
            found = joined(recorder, items, not decided, both, decided)
            if effects.show():
                stepped.add(site)
                raise recorder.scopes.restart()
            return found if recorder.scopes.depth else bool(found)

        return decide

    def power(base: Any, exp: Any, mod: Any = None) -> Any:
        """With a modulus, of integers that are known by a guard."""
        numbers = (base, exp) if mod is None else (base, exp, mod)
        return pow(*numbers) if mod is None else pow(*map(recorder.known_integer, map(plain_or_traced, numbers)))

    return {
        id(max): choosing(recorder, max, np.greater), id(min): choosing(recorder, min, np.less),
        id(one_or_other): choice_of_names(recorder), id(pow): power, id(sum): total, id(len): length,
        id(isinstance): is_instance, id(issubclass): is_subclass,
        id(hasattr): has_attribute, id(getattr): attribute, id(functools.reduce): reduce,
        id(callable): is_callable,
        id(any): deciding(any, np.logical_or, True), id(all): deciding(all, np.logical_and, False),
    } | comparisons(recorder)  # fmt: skip


HAVE_LENGTHS = (Range, OrderedView, Letter, InPlaces)


def _truth(recorder: Recorder, item: Any) -> Any:
    """A number's truth, as Python tests it."""
    is_truth = item.dtype.kind == "b" if hasattr(item, "dtype") else type(item) is bool
    return item if is_truth else item != 0
