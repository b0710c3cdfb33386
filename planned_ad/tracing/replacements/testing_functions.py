"""What traced code sees in place of the checks of `numpy.testing`: tests of numbers, which raise where a call fails.

What they say of shapes and of numbers that are known, they say while tracing, as they are.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numpy_functions.support import raise_where
from ..record.recorder import Recorder
from ..record.traced import Traced


def close(actual: Any, desired: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True, **told: Any) -> Any:
    return np.isclose(actual, desired, rtol, atol, equal_nan)


def same(actual: Any, desired: Any, **told: Any) -> Any:
    return (actual == desired) | ((actual != actual) & (desired != desired))


def less(x: Any, y: Any, **told: Any) -> Any:
    return np.less(x, y)


def almost(actual: Any, desired: Any, decimal: int = 6, *told: Any, **others: Any) -> Any:
    is_near = np.abs(desired - actual) < np.float64(1.5 * 10.0 ** (-decimal))
    return is_near | same(actual, desired)


CHECKS: dict[str, Callable[..., Any]] = {
    "assert_allclose": close, "assert_array_equal": same, "assert_array_less": less,
    "assert_array_almost_equal": almost,
}  # fmt: skip


def is_tracer(obj: Any) -> bool:
    return issubclass(type(obj), Traced)


def testing_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, the checks of `numpy.testing` that accept tracers."""

    def replacing(check: Callable[..., Any], holds: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check, ("__name__", "__doc__"), ())
        def replaced(x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
            arrays = [
                item if issubclass(type(item), Traced) else recorder.call(np.asarray, (item,), {}) for item in (x, y)
            ]
            if not any(issubclass(type(item), Traced) for item in arrays):
                check(*recorder.plain((x, y)), *args, **kwargs)
                return
            if all(map(np.ndim, arrays)) and np.shape(arrays[0]) != np.shape(arrays[1]):
                raise AssertionError(f"(shapes {np.shape(arrays[0])}, {np.shape(arrays[1])} mismatch)")
            fails = np.any(np.logical_not(holds(*arrays, *args, **kwargs)))
            raise_where(recorder, fails, AssertionError(f"Arrays are not as {check.__name__} demands"))

        return replaced

    module = sys.modules.get("numpy.testing")  # which is imported by those who use it
    if module is None:
        return {}
    return {id(f): replacing(f, holds) for name, holds in CHECKS.items() if (f := getattr(module, name, None))}
