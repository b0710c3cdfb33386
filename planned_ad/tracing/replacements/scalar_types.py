"""What traced code sees in place of `numpy.float64` and its like, which of a traced value make another one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..record.promotion import KINDS, operand
from ..record.recorder import Recorder
from .ufunc_stand_ins import without_lists

TYPES = tuple(kind.type for kind in sorted(KINDS, key=str))


def scalar_types(recorder: Recorder) -> dict[int, object]:
    """By identity, functions that become classes in place of those types; see `stand_ins`."""

    def converting(real: type[np.generic]) -> Any:
        @functools.wraps(real, ("__name__", "__doc__"), ())
        def convert(*args: Any, **options: Any) -> Any:
            obj = without_lists(recorder, args[0]) if len(args) == 1 and not options else None
            if obj is None or recorder.is_concrete(obj):
                return real(*recorder.plain(args), **options)
            recorder.mark()
            if issubclass(real, np.complexfloating):
                return recorder.call(np.asarray, (obj,), {"dtype": real})[()]
            if issubclass(real, np.integer) and recorder.is_scalar(obj) and operand(recorder, obj)[0] is int:
                must_fit(obj, real)
            return recorder.result(recorder.value_of(obj, real))

        convert.__wrapped__ = real  # type: ignore[attr-defined]
        return convert

    return {id(real): converting(real) for real in (*TYPES, np.complex128, np.complex64)}


def must_fit(number: Any, real: type[np.integer]) -> None:
    """Raise what NumPy does of a Python integer that is too large; those of NumPy wrap."""
    limits = np.iinfo(real)
    if bool(number < limits.min) or bool(number > limits.max):
        raise OverflowError(f"Python integer out of bounds for {real.__name__}")
