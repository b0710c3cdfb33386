"""What NumPy raises, warns of or calls by `numpy.errstate` and `warnings`, in code that sees it.

A plan computes on where NumPy would raise. What comes after the error counts where the function's own `except` takes
it, where it has warnings recorded and looks at them, or has a function called for them: there, what a ufunc gives is
asked first whether NumPy would say something, which is a test like those that are written in the function. What other
functions give is required to be finite, as far as what they are given is.
"""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...python.frames import user_frame
from ...python.liveness import is_in_users_try
from ...python.shadows import is_user_frame
from ..record.recorder import Recorder

WORDS = {"divide": "divide by zero", "over": "overflow", "invalid": "invalid value"}
FLAGS = {"divide": 1, "over": 2, "invalid": 8}  # that what is called for an error is given
DIVISIONS = (np.true_divide, np.floor_divide, np.remainder, np.fmod, np.divmod)
AT_POLES = (np.log, np.log2, np.log10, np.log1p, np.arctanh, np.reciprocal)  # infinite there, and nowhere else
BETWEEN = tuple(f"planned_ad.tracing.{name}" for name in (
    "values.elementwise", "values.operators", "values.numpy_errors", "values.array_methods", "record.recorder",
    "record.statement_watch",
    "replacements.ufunc_stand_ins", "replacements.replacements",
))  # fmt: skip


class NumpyErrors:
    """Asks what is recorded for a traced function that has NumPy's errors raised."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.records = 0  # how many records of warnings are open that the program looks at

    def of_ufunc(self, ufunc: np.ufunc, operands: tuple[Any, ...], result: Any) -> None:
        """Raise, warn or call as NumPy would of the result of a ufunc that the program has called."""
        if not is_called_by_program():
            return
        for kind, report in self.reports():
            for part in result if type(result) is tuple else (result,):
                test = would_raise(kind, ufunc, operands, part)
                if test is not None and bool(np.any(test)):
                    report(f"{WORDS[kind]} encountered in {ufunc.__name__}")

    def reports(self) -> Iterator[tuple[str, Callable[[str], None]]]:
        """The kinds of errors that the program sees now, and what NumPy does with them."""
        frame = sys._getframe(1)
        for kind, setting in np.geterr().items():
            if kind not in WORDS:
                continue
            if setting == "raise" and is_in_users_try(frame, FloatingPointError):
                yield kind, _raise
            elif setting == "call" and np.geterrcall() is not None:
                yield kind, functools.partial(_call, kind)
            elif setting == "warn" and self.records:
                yield kind, self.recorded
            elif setting == "warn" and self.shows():
                self.recorder.outside.raises = True
                yield kind, self.warned
            elif setting == "warn" and may_be_raised() and is_in_users_try(frame, RuntimeWarning):
                yield kind, self.warned

    def recorded(self, text: str) -> None:
        """Warn where the program reads what is recorded: no loop can leave that in memory."""
        if self.recorder.scopes.depth:
            raise self.recorder.scopes.unroll_innermost("has warnings recorded", self.recorder.builder.line)
        self.warned(text)

    def warned(self, text: str) -> None:
        """Warn as NumPy does, at the line of the program: by its filters, which may have the warning raised."""
        frame, shown = user_frame(sys._getframe(1)), warnings.showwarning
        assert frame is not None
        names = frame.f_globals
        registry = names.setdefault("__warningregistry__", {})
        warnings.showwarning = self.shows() or shown
        try:
            name = names.get("__name__") or "<unknown>"
            file, line = frame.f_code.co_filename, frame.f_lineno
            warnings.warn_explicit(text, RuntimeWarning, file, line, name, registry)
        finally:
            warnings.showwarning = shown

    def shows(self) -> Any:
        """What the program has put in the place of `warnings.showwarning`."""
        module = self.recorder.namespace.shadow(warnings)
        found = vars(module).get("showwarning", warnings.showwarning)
        return None if found is warnings.showwarning else found

    def of_function(self, function: Any, items: tuple[Any, ...], result: Any) -> Any:
        """The result of another function of NumPy, which must be one of which nothing can be raised."""
        if is_called_by_program() and any(True for _ in self.reports()):
            given = [item for item in items if self.is_float(item)]
            for part in result if isinstance(result, tuple | list) else (result,):
                if self.is_float(part) and given:
                    was_finite = [np.all(np.isfinite(item)) for item in given]
                    holds = np.all(np.isfinite(part))
                    for finite in was_finite:
                        holds = np.logical_or(holds, np.logical_not(finite))
                    what = f"{getattr(function, '__name__', 'NumPy')} gives infinity or nan, of which NumPy raises an "
                    what += "error that is caught; test the numbers before"
                    self.recorder.scopes.require_after(self.recorder.value_of(holds), "bounds", what)
        return result

    def is_float(self, item: Any) -> bool:
        return (self.recorder.is_array(item) or self.recorder.is_scalar(item)) and item.dtype.kind == "f"

    def refuse(self) -> None:
        """Of complex and masked arrays, and what else is no plain array."""
        if is_called_by_program() and any(True for _ in self.reports()):
            raise UnsupportedError(
                f"{self.recorder.here()}: NumPy has its errors raised here, which are caught, and a plan goes on with "
                f"nan or infinity where numbers are complex or masked. Test the number before"
            )


def is_called_by_program() -> bool:
    """Whether it is traced code that has called an operator or ufunc, and not what stands for another function."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in BETWEEN:
        frame = frame.f_back
    return frame is not None and is_user_frame(frame)


def _raise(text: str) -> None:
    raise FloatingPointError(text)


def _call(kind: str, text: str) -> None:
    np.geterrcall()(WORDS[kind], FLAGS[kind])  # type: ignore[misc, operator]


def may_be_raised() -> bool:
    """Whether a filter has some `RuntimeWarning` raised, as its text and place may be."""
    for action, text, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if text is None and module is None and not line:
                return False
    return False


def would_raise(kind: str, ufunc: np.ufunc, operands: tuple[Any, ...], result: Any) -> Any:
    """Where NumPy raises an error of this kind; None where it never does."""
    dtype = getattr(result, "dtype", None)
    if dtype is None or dtype.kind != "f":
        is_division = dtype is not None and dtype.kind in "iu" and ufunc in DIVISIONS and kind == "divide"
        return operands[1] == 0 if is_division else None
    found = np.isnan(result) if kind == "invalid" else np.isinf(result)
    for operand in operands:
        found = np.logical_and(found, np.logical_not(np.isnan(operand)) if kind == "invalid" else np.isfinite(operand))
    if kind == "invalid":
        return found
    if ufunc in AT_POLES:
        return found if kind == "divide" else None
    zero = operands[1] if ufunc in DIVISIONS else operands[0] if ufunc in (np.power, np.float_power) else None
    if zero is None:
        return found if kind == "over" else None
    return np.logical_and(found, zero == 0 if kind == "divide" else zero != 0)
