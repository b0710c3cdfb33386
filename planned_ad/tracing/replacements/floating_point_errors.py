"""NumPy's errors of division, overflow and invalid numbers, where the program has them raised and catches them.

A plan computes on, as NumPy does by default. Where the function would end with such an error that is what it may do
too; where an `except` of the function's own goes another way, what is recorded is asked (`NumpyErrors`). Settings
that are made around the plan, and underflow, are refused.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.frames import user_frames
from ...python.liveness import catches_anywhere
from ...python.namespace import Namespace
from ...python.outside_changes import codes_met
from ..record.recorder import Recorder
from ..values.numpy_errors import NumpyErrors

RAISING = ("raise", "call")
INSTEAD = "Test the number before: if x > 0, or numpy.where(x > 0, x, 1.0)"


def check_settings(recorder: Recorder, namespace: Namespace) -> None:
    """Refuse functions that catch the errors which settings of NumPy's, or of warnings, around the plan have raised."""
    raised: list[tuple[type[Exception], str]] = []
    if any(value in RAISING for value in np.geterr().values()):
        raised.append((FloatingPointError, "NumPy's settings (numpy.seterr, numpy.errstate) have its errors"))
    asks = recorder.outside.raises  # the function itself has them raised, and what is recorded is asked
    if not asks and any(f[0] == "error" and issubclass(RuntimeWarning, f[2]) for f in warnings.filters):
        raised.append((RuntimeWarning, "filters of warnings have NumPy's"))
    for error, by in raised:
        for code in codes_met(namespace):
            if error.__name__ in code.co_names and catches_anywhere(code, error):
                raise UnsupportedError(
                    f"{by} raised, and {code.co_qualname} ({code.co_filename}:{code.co_firstlineno}) catches them, "
                    f"where a plan goes on with nan or infinity. {INSTEAD}"
                )


def error_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what has NumPy's errors raised."""

    def ask() -> None:
        recorder.errors = recorder.errors or NumpyErrors(recorder)
        recorder.outside.raises = True

    def refuse(name: str, error: type[Exception]) -> None:
        """SciPy's own code catches such errors to go a way that is as good."""
        users = (frame for frame in user_frames(sys._getframe(1)) if getattr(frame.f_globals, "is_users", True))
        if any(catches_anywhere(frame.f_code, error) for frame in users):
            raise UnsupportedError(
                f"{recorder.here()}: {name} has NumPy's {error.__name__} raised, which is caught here, and a plan goes "
                f"on with nan or infinity. {INSTEAD}"
            )

    def of_numpy(function: Any) -> Any:
        @functools.wraps(function, ("__name__", "__doc__"), ())
        def called(*args: Any, **options: Any) -> Any:
            given = inspect.signature(np.seterr).bind_partial(*args, **options).arguments
            if given.get("all", given.get("under")) in RAISING or "call" in given.values():
                refuse(f"numpy.{function.__name__}", FloatingPointError)
            if "raise" in given.values():
                ask()
            return function(*args, **options)

        return called

    def of_warnings(function: Any) -> Any:
        signature = inspect.signature(function)

        @functools.wraps(function, ("__name__", "__doc__"), ())
        def called(*args: Any, **options: Any) -> Any:
            given = signature.bind(*args, **options).arguments
            if given["action"] == "error" and issubclass(RuntimeWarning, given.get("category", Warning)):
                ask()
            return function(*args, **options)

        return called

    filters = warnings.simplefilter, warnings.filterwarnings
    return {id(f): of_numpy(f) for f in (np.errstate, np.seterr)} | {id(f): of_warnings(f) for f in filters}
