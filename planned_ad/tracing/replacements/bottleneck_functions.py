"""Reductions of the library Bottleneck, which libraries call in place of NumPy's where it is installed: NumPy's."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from ..record.recorder import Recorder
from .library_functions import adopting

REDUCTIONS = ("nansum", "nanmean", "nanmin", "nanmax", "nanargmin", "nanargmax", "nanmedian", "median")
WITH_FREEDOM = ("nanstd", "nanvar")


def of_bottleneck(recorder: Recorder) -> dict[int, object]:
    """By identity, what stands for its compiled functions."""
    library = sys.modules.get("bottleneck")
    if library is None:
        return {}

    def called(real: Any, name: str, a: Any, axis: Any = None, **options: Any) -> Any:
        if recorder.is_concrete(a):
            return adopting(recorder, real)(a, axis=axis, **options)
        return getattr(np, name)(a, axis=axis, **options)

    def with_freedom(real: Any, name: str, a: Any, axis: Any = None, ddof: Any = 0) -> Any:
        return called(real, name, a, axis, ddof=ddof)

    found: dict[int, object] = {}
    for names, function in ((REDUCTIONS, called), (WITH_FREEDOM, with_freedom)):
        for name in names:
            real = getattr(library, name, None)
            if real is not None:
                found[id(real)] = functools.partial(function, real, name)
    return found
