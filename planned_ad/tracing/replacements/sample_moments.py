"""What traced code sees in place of functions of `statistics`: of traced numbers, those of NumPy."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..numpy_functions.support import unsupported
from ..record.recorder import Recorder
from ..record.traced import Traced

# By name: NumPy's function and its options, and how many numbers it takes at least.
ROWS: dict[str, tuple[Callable[..., Any], dict[str, Any], int]] = {
    "mean": (np.mean, {}, 1),
    "fmean": (np.mean, {}, 1),
    "stdev": (np.std, {"ddof": 1}, 2),
    "variance": (np.var, {"ddof": 1}, 2),
    "pstdev": (np.std, {}, 1),
    "pvariance": (np.var, {}, 1),
}


def sample_moments(recorder: Recorder) -> dict[int, object]:
    """By identity; nothing where the program has not imported that module."""
    module: Any = sys.modules.get("statistics")

    def replacement(real: Callable[..., Any], function: Callable[..., Any], options: dict[str, Any], least: int) -> Any:
        def called(data: Any, *args: Any, **named: Any) -> Any:
            data = list(data)
            if not any(issubclass(type(item), Traced) for item in data):
                return real(data, *args, **named)
            if any(value is not None for value in (*args, *named.values())):
                raise unsupported(
                    f"statistics.{real.__name__} with more than the data", f"use numpy.{function.__name__}"
                )
            if len(data) < least:
                raise module.StatisticsError(f"{real.__name__} requires at least {least} data points")
            return recorder.call(function, (recorder.array(recorder.stacked(data)),), options).item()

        return functools.update_wrapper(called, real)

    rows = ROWS.items() if module is not None else ()
    return {id(getattr(module, name)): replacement(getattr(module, name), *row) for name, row in rows}
