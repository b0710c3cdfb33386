"""NumPy's errors of division, overflow and invalid numbers, where the program has them raised and catches them.

A plan computes on, as NumPy does by default. Where the function would end with such an error that is what it may do
too; where an `except` of the function's own goes another way, what is recorded is asked (`NumpyErrors`). Settings
that are made around the plan, and underflow, are refused.
"""

from __future__ import annotations

import collections
import functools
import inspect
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.frames import user_frames
from ...python.liveness import catches_anywhere
from ...python.namespace import Namespace
from ...python.outside_changes import codes_met
from ..record.decisions import Restart
from ..record.recorder import Recorder
from ..values.numpy_errors import NumpyErrors

RAISING = ("raise", "call")
INSTEAD = "Test the number before: if x > 0, or numpy.where(x > 0, x, 1.0)"


def check_settings(recorder: Recorder, namespace: Namespace) -> None:
    """Refuse functions that catch the errors which `numpy.seterr` or `errstate` has raised around the plan.

    Where filters of warnings have them raised there, it is recorded once more, and what is recorded is asked.
    """
    if any(value in RAISING for value in np.geterr().values()):
        for code in catching(namespace, FloatingPointError):
            raise UnsupportedError(
                f"NumPy's settings (numpy.seterr, numpy.errstate) have its errors raised, and {code.co_qualname} "
                f"({code.co_filename}:{code.co_firstlineno}) catches them, where a plan goes on with nan or infinity. "
                f"{INSTEAD}"
            )
    decisions = recorder.scopes.decisions
    if not decisions.asks_errors and any(
        f[0] == "error" and issubclass(RuntimeWarning, f[2]) for f in warnings.filters
    ):
        decisions.asks_errors = not recorder.outside.raises and any(catching(namespace, RuntimeWarning))
        if decisions.asks_errors:
            raise Restart


def catching(namespace: Namespace, error: type[Exception]) -> Iterator[types.CodeType]:
    """The code that has a handler of such errors by this name."""
    return (c for c in codes_met(namespace) if error.__name__ in c.co_names and catches_anywhere(c, error))


def ask_for_errors(recorder: Recorder) -> None:
    """From now on, what is recorded is asked whether NumPy would raise an error there."""
    recorder.errors = recorder.errors or NumpyErrors(recorder)
    recorder.outside.raises = True


def error_replacements(recorder: Recorder) -> dict[int, object]:
    """By identity, what has NumPy's errors raised."""

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
            kinds = {kind: how for kind, how in options.items() if kind != "call"}
            given = inspect.signature(np.seterr).bind_partial(*args, **kinds).arguments
            if given.get("all", given.get("under")) == "raise":
                refuse(f"numpy.{function.__name__}", FloatingPointError)
            if given.get("all", given.get("under")) == "call" or "log" in given.values():
                raise UnsupportedError(
                    f"{recorder.here()}: numpy.{function.__name__} has something called for each underflow, or written "
                    f"to, which a plan does not see. Name the kinds of errors: divide, over, invalid"
                )
            if "raise" in given.values() or "call" in given.values():
                ask_for_errors(recorder)
            return function(*args, **options)

        return called

    def of_warnings(function: Any) -> Any:
        signature = inspect.signature(function)

        @functools.wraps(function, ("__name__", "__doc__"), ())
        def called(*args: Any, **options: Any) -> Any:
            given = signature.bind(*args, **options).arguments
            if given["action"] == "error" and issubclass(RuntimeWarning, given.get("category", Warning)):
                ask_for_errors(recorder)
            return function(*args, **options)

        return called

    class Catching(warnings.catch_warnings):
        """Records of warnings that the program looks at have in them what NumPy would warn of."""

        def __enter__(self) -> Any:
            found = super().__enter__()
            recorder.errors = recorder.errors or NumpyErrors(recorder)
            self.is_seen = found is not None and recorder.scopes.decisions.records
            if self.is_seen:
                ask_for_errors(recorder)
                recorder.errors.records += 1
            return found if found is None or self.is_seen else Record(recorder, found)

        def __exit__(self, *error: Any) -> None:
            recorder.errors.records -= self.is_seen
            super().__exit__(*error)

    filters = warnings.simplefilter, warnings.filterwarnings
    replaced: dict[int, object] = {id(f): of_numpy(f) for f in (np.errstate, np.seterr)}
    return replaced | {id(f): of_warnings(f) for f in filters} | {id(warnings.catch_warnings): Catching}


class Record(collections.UserList):
    """The warnings that are recorded, as long as nobody looks at them."""

    def __init__(self, recorder: Recorder, found: list):
        self.recorder, self.found = recorder, found

    @property
    def data(self) -> list:  # type: ignore[override]
        if not self.recorder.scopes.decisions.records:
            self.recorder.scopes.decisions.records = True
            raise self.recorder.scopes.restart()
        return self.found
