"""What planned_ad raises: each class with a failing example and its mend."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.linalg import LinAlgError


class PlannedADError(Exception):
    """The base of all errors that planned_ad raises on purpose."""


class TraceError(PlannedADError):
    """`f` does something that cannot be recorded.

    The message names the line, says why, and what to write instead.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        _tell_traces(self)


def _tell_traces(error: TraceError) -> None:
    """Tell the traces in whose code it is made, in whatever thread that runs: an error may never arrive."""
    frame: types.FrameType | None = sys._getframe(2)
    told: set[int] = set()
    while frame is not None:
        recorder = getattr(getattr(frame.f_globals, "namespace", None), "recorder", None)
        if recorder is not None and recorder.caught is not None and id(recorder) not in told:
            told.add(id(recorder))
            recorder.caught.told(error)
        frame = frame.f_back


class ConversionError(TraceError, TypeError):
    """A traced value was asked for its number.

    >>> import numpy as np, planned_ad
    >>> planned_ad.compile(lambda x: {x[0]: 1.0}[x[0]], np.ones(2))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    planned_ad.errors.ConversionError: ...

    Mend: keep the value traced, or pass it as a separate Python int or str, which is static.
    """


class CapturedWriteError(TraceError, ValueError):
    """`f` writes to an array that it found in its globals or closure.

    Mend: pass the array as an argument, or copy it first: `work = table.copy()`.
    """


class UnsupportedError(TraceError, NotImplementedError):
    """A NumPy or SciPy function, or a use of one, that has no rule yet."""


class UnrollLimitError(TraceError):
    """A Python loop recorded more operations than the limit.

    Mend: write the loop body on whole arrays, or raise `compile(..., max_operations=)`.
    """


class NotDifferentiableError(TraceError, TypeError):
    """There is nothing to differentiate: no active argument, or a result that depends on none.

    Mend: pass floating arrays or Python floats, and return a value computed from them.
    """


class ArgumentError(PlannedADError, TypeError):
    """A call with arguments that the plan was not compiled for; nothing has been written."""


class ShapeError(ArgumentError, ValueError):
    """An argument or shadow of another shape than the example's. Mend: compile a plan for this shape."""


class DtypeError(ArgumentError):
    """An argument or shadow of another dtype. Mend: convert it once, `x.astype(np.float64)`, or compile for it."""


class LayoutError(ArgumentError, ValueError):
    """An argument or shadow with other strides than the example's. Mend: `np.ascontiguousarray(x)`."""


class OverlapError(ArgumentError, ValueError):
    """Memory that the call writes overlaps another argument. Mend: pass a copy."""


class ReadOnlyError(ArgumentError, ValueError):
    """A read-only array where the call writes. Mend: pass a writeable array."""


class StaticArgumentError(ArgumentError, ValueError):
    """A static argument (int, bool, str, ...) differs from the example's. Mend: compile a plan for this value."""


class BranchError(PlannedADError):
    """With `on_branch="raise"`: the data take another branch than the one recorded."""


class IndexRangeError(PlannedADError, IndexError):
    """A run-time index is out of range for the axis it addresses."""


class LengthError(PlannedADError, ValueError):
    """Arrays whose lengths are known at run time differ in length where they must not, or are empty."""


class SingularMatrixError(PlannedADError, LinAlgError):
    """A matrix for which NumPy raises `LinAlgError`: singular, not positive definite, or without convergence.

    >>> import numpy as np, planned_ad
    >>> plan = planned_ad.compile(lambda a: np.sum(np.linalg.inv(a)), np.eye(2))
    >>> plan.gradient(np.ones((2, 2)))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    planned_ad.errors.SingularMatrixError: Singular matrix (...)

    The call that raises it has written nothing. Around the call, `except np.linalg.LinAlgError` catches it.
    """


class BoundsError(PlannedADError, ValueError):
    """A number, in one of many iterations, that is beyond the ends of a table which refuses that.

    >>> import numpy as np, planned_ad, scipy.interpolate
    >>> table = scipy.interpolate.interp1d([0.0, 1.0], [2.0, 3.0])
    >>> def f(x):
    ...     total = 0.0
    ...     for i in range(20):
    ...         total += table(0.04 * i * x)
    ...     return total
    >>> plan = planned_ad.compile(f, (1.0,))
    >>> plan(2.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    planned_ad.errors.BoundsError: ...

    Mend: `fill_value="extrapolate"`, or np.clip.
    """


class MemoryLimitError(PlannedADError, ValueError):
    """`compile(..., memory_limit=)` is below what the reverse sweep needs even when it runs loops again.

    The message names the least that is possible. Mend: a limit of so many bytes. Or a call needs more memory than the
    machine gives; the message names how much. Mend: `max_steps=`, `memory_limit=`.
    """


@contextmanager
def missing_where_refused() -> Iterator[None]:
    """What is raised in here is an AttributeError too: why an object does not have what it was asked for.

    >>> import numpy as np, planned_ad
    >>> plan = planned_ad.compile(lambda x: 2.0 * x, np.ones(2))
    >>> hasattr(plan, "gradient"), hasattr(plan, "pullback")
    (False, True)
    """
    try:
        yield
    except PlannedADError as error:
        found = _class_of_missing(type(error))(*error.args)
        found.__dict__.update(error.__dict__)
        raise found.with_traceback(error.__traceback__) from error.__cause__


MISSING: dict[type[PlannedADError], type[PlannedADError]] = {}


def _class_of_missing(kind: type[PlannedADError]) -> type[PlannedADError]:
    """A class of errors that are of `kind`, and AttributeErrors."""

    def reduced(self: PlannedADError) -> tuple[Any, ...]:  # in other processes, without what nobody asks for there
        return kind, self.args, self.__dict__

    if kind not in MISSING:
        named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
        MISSING[kind] = type(kind.__name__, (kind, AttributeError), named | {"__reduce__": reduced})
    return MISSING[kind]
