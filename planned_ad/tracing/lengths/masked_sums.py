"""Sums of what a mask has chosen: of the whole array, with zeros elsewhere, along its memory and in vectors.

Of what is computed of the chosen elements by cheap arithmetic, the same is computed of all. For `x[mask].sum()`:

before  v1 = nonzero(mask)   for i in range(count): sum = sum + x[v1[i]]
after   v1 = where(mask, x, 0)   v2 = reduce_sum(v1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tape.tape import Value
from ..record.recorder import Recorder
from ..values.elementwise import elementwise
from .elements import innermost

CHEAP = frozenset((np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.square, np.absolute))


@dataclass(frozen=True)
class Unmasked:
    """The array of which a mask has chosen elements, or what is computed of all of its elements."""

    mask: Value  # of one axis
    array: Any  # as it was then


def unmasked_result(
    recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Unmasked | None:
    """That of an elementwise function of what one mask has chosen, and of numbers, if it is cheap."""
    given: list[Any] = [getattr(arg, "unmasked", None) for arg in args if has_run_time_axis(arg)]
    others = [arg for arg in args if not has_run_time_axis(arg)]
    if function not in CHEAP or kwargs or None in given or len({each.mask for each in given}) != 1:
        return None
    if any(np.ndim(arg) for arg in others):
        return None
    arrays = tuple([arg.unmasked.array if has_run_time_axis(arg) else arg for arg in args])
    return Unmasked(given[0].mask, elementwise(recorder, function, arrays))


def has_run_time_axis(obj: Any) -> bool:
    return hasattr(type(obj), "unmasked")


def masked_sum(a: Any) -> Any:
    """The sum of its elements; None where it is none of what a mask has chosen, of floats, in this block."""
    recorder, unmasked = a.recorder, a.unmasked
    if unmasked is None or a.rest or a.dtype.kind != "f" or innermost(recorder) is not a.home:
        return None
    value = recorder.value_of(unmasked.array, a.dtype)
    zeros = recorder.builder.broadcast(recorder.constant(0.0, a.dtype), value.shape)
    chosen = recorder.apply("where", unmasked.mask, value, zeros)
    return recorder.result(recorder.apply("reduce_sum", chosen, axes=(0,)))
