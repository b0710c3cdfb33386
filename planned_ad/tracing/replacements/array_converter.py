"""What the Python code of NumPy and SciPy sees in place of helpers that are written in C, or that look at types."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.special
from numpy._core._multiarray_umath import _array_converter  # type: ignore[attr-defined]

from ...python.shadows import VENDORED
from ..lengths.varying import VaryingArray
from ..numpy_functions.ranks import rankdata
from ..numpy_functions.shapes import broadcast_shapes
from ..record.dispatch import CALLERS, FUNCTIONS
from ..record.traced import TracedArray
from .bottleneck_functions import of_bottleneck
from .limits_at_equality import both_sides, tested_for_equality

if TYPE_CHECKING:
    from ..record.recorder import Recorder

HOLDERS = ("", *VENDORED, "sklearn.externals.")


class ArrayConverter:
    """NumPy's `_array_converter`: what a function was given, as arrays; and its result as that was."""

    def __init__(self, recorder: Recorder, *given: Any):
        self.recorder, self.given = recorder, given
        self.arrays = tuple(recorder.call(np.asarray, (a,), {}) for a in given)
        self.arrays = tuple(recorder.concrete(a) for a in self.arrays)
        self.scalar_input = tuple(not isinstance(a, np.ndarray) and np.ndim(a) == 0 for a in given)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, key: int) -> Any:
        return self.arrays[key]

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        return self.arrays

    def result_type(self, *extra: Any, ensure_inexact: bool = False) -> np.dtype:
        dtype = self.recorder.result_type(*self.given, *extra)
        return np.result_type(dtype, 1.0) if ensure_inexact and dtype.kind in "biu" else dtype

    def wrap(self, array: Any, to_scalar: bool | None = None) -> Any:
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        return array[()] if scalar and isinstance(array, np.ndarray) and not array.ndim else array


def lazily_selected(conditions: Any, choices: Any, arrays: Any, default: Any = 0) -> Any:
    """`numpy.select` of functions, each of which SciPy calls only where it is chosen."""
    return np.select(list(conditions), [choice(*arrays) for choice in choices], default)


def applied_where(
    recorder: Recorder,
    cond: Any,
    args: Any,
    f1: Any,
    f2: Any = None,
    /,
    *,
    fill_value: Any = None,
    kwargs: Any = None,
    xp: Any = None,
) -> Any:
    """`f1(*args)` where `cond` holds, else `f2(*args)` or `fill_value`: both everywhere, of which one is taken."""
    args = args if isinstance(args, tuple) else (args,)
    named = kwargs or {}

    def first(*given: Any) -> Any:
        return f1(*given, **named)

    def second(*given: Any) -> Any:
        return fill_value if f2 is None else f2(*given, **named)

    tested = tested_for_equality(recorder, cond, args)
    sides = (first(*args), second(*args)) if tested is None else both_sides(recorder, tested, args, first, second)
    return np.where(cond, *sides)


def kernel_estimates(recorder: Recorder, log: bool) -> Any:
    """Sums of Gaussian kernels around `points`, at `xi`: what `gaussian_kde` computes in compiled code."""

    def estimate(points: Any, values: Any, xi: Any, factor: Any, dtype: Any, _: Any = None) -> Any:
        solve = FUNCTIONS[scipy.linalg.solve_triangular]
        points, xi = (solve(recorder, factor, a.T, lower=True).T for a in (points, xi))
        distance = np.sum((xi[:, None, :] - points[None, :, :]) ** 2, axis=-1)
        constant = -0.5 * points.shape[1] * np.log(2 * np.pi) - np.sum(np.log(np.diagonal(factor)))
        if not log:
            return np.exp(-0.5 * distance) @ values * np.exp(constant)
        terms = constant - 0.5 * distance[:, :, None] + np.log(values)[None, :, :]
        return FUNCTIONS[scipy.special.logsumexp](recorder, terms, axis=1)

    return estimate


def solved_equations(recorder: Recorder, x1: Any, x2: Any, /) -> Any:
    """`solve` of the array API's standard: of known numbers, or of traced ones."""
    if recorder.is_concrete(x1) and recorder.is_concrete(x2):
        return recorder.adopt(np.linalg.solve(*recorder.plain((x1, x2))))
    return recorder.call(np.linalg.solve, (x1, x2), {})


def ranked(recorder: Recorder, real: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    if recorder.is_concrete(a):
        return recorder.adopt(real(recorder.plain(a), *args, **kwargs))
    recorder.mark()
    return rankdata(recorder, a, *args, **kwargs)


class OfEachType:
    """In place of a function of Cython that has a form for each type, and is asked for one of them."""

    def __init__(self, function: Any, real: Any):
        self.function, self.real = function, real

    def __getitem__(self, kind: str) -> Any:
        return self.function


def compiled_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, formulas in place of some compiled functions of SciPy, and of its helpers."""
    found: dict[int, object] = {}
    for package in VENDORED:
        apply_where = getattr(sys.modules.get(f"{package}array_api_extra"), "apply_where", None)
        if apply_where is not None:
            found[id(apply_where)] = functools.partial(applied_where, recorder)
    rank = getattr(sys.modules.get("scipy.stats"), "rankdata", None)
    if rank is not None:
        found[id(rank)] = functools.partial(ranked, recorder, rank)
    kernels = sys.modules.get("scipy.stats._kde")
    for name, log in (("gaussian_kernel_estimate", False), ("gaussian_kernel_estimate_log", True)):
        real = getattr(kernels, name, None)
        if real is not None:
            found[id(real)] = OfEachType(kernel_estimates(recorder, log), real)
    return found


def calling(recorder: Recorder, real: Any, name: str, implementation: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function gives that calls another; in a loop that is recorded, for each iteration by itself.

    Where the implementation does not apply, the function's Python code is traced.
    """
    applies = getattr(implementation, "applies", None)
    if applies is not None and not applies(args, kwargs):
        return recorder.namespace.library_function(real)(*args, **kwargs)
    recorder.mark()
    in_loops = getattr(implementation, "in_loops", None)
    if recorder.scopes.depth and (in_loops is None or not in_loops(args, kwargs)):
        raise recorder.scopes.unroll_innermost(f"calls scipy's {name}", recorder.builder.line)
    return implementation(recorder, name, *args, **kwargs)


def shapes_of_samples(recorder: Recorder, real: Any, shapes: Any, axis: Any = None) -> Any:
    """`_broadcast_shapes` of `scipy.stats`: of samples of one axis, whose length is ignored along it, as they are."""
    is_of_data = any(recorder.is_scalar(n) for shape in shapes for n in shape)
    if not is_of_data or any(len(shape) != 1 for shape in shapes):
        return recorder.namespace.library_function(real)(shapes, axis)
    return broadcast_shapes(recorder, *shapes) if axis is None else list(shapes)


def library_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, helpers of NumPy and SciPy that a traced array passes for an array to."""

    def is_array(x: Any) -> bool:
        return isinstance(x, np.ndarray | np.generic)

    def is_writeable(x: Any) -> bool:
        return issubclass(type(x), TracedArray | VaryingArray) or (isinstance(x, np.ndarray) and x.flags.writeable)

    found: dict[int, object] = {id(_array_converter): lambda *given: ArrayConverter(recorder, *given)}
    found |= compiled_replacements(recorder) | of_bottleneck(recorder)
    select = getattr(sys.modules.get("scipy._lib._util"), "_lazyselect", None)
    if select is not None:
        found[id(select)] = lazily_selected
    for (module, name), implementation in CALLERS.items():
        real = getattr(sys.modules.get(module), name, None)
        if real is not None:
            found[id(real)] = functools.partial(calling, recorder, real, name, implementation)
    broadcast = getattr(sys.modules.get("scipy.stats._axis_nan_policy"), "_broadcast_shapes", None)
    if broadcast is not None:
        found[id(broadcast)] = functools.partial(shapes_of_samples, recorder, broadcast)
    for package in HOLDERS:  # of copies of array_api_compat, whose `solve` looks into NumPy's own
        real = getattr(sys.modules.get(f"{package}array_api_compat.numpy.linalg"), "solve", None)
        if real is not None:
            found[id(real)] = functools.partial(solved_equations, recorder)
        helpers = sys.modules.get(f"{package}array_api_compat.common._helpers")
        answers = {"is_numpy_array": is_array, "is_writeable_array": is_writeable, "size": lambda x: x.size}
        for name, answer in answers.items():
            real = getattr(helpers, name, None)
            if real is not None:
                found[id(real)] = answer
    return found
