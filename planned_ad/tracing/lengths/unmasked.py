"""What a mask has chosen as what all elements are, in vectors: sums of it, and assignments to what the mask shows.

Of what is computed of the chosen elements, the same is computed of all, with ones in the place of those that are not
chosen, which may be no numbers. For `y[mask] = np.log(x[mask])`:

before  v1 = nonzero(mask)   for i in range(count): y[v1[i]] = log(x[v1[i]])
after   v1 = where(mask, x, 1)   v2 = log(v1)   y[...] = where(mask, v2, y)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...tape.tape import Value
from ..record.recorder import Recorder
from ..values.elementwise import elementwise
from .elements import innermost


@dataclass(eq=False)
class Unmasked:
    """The array of which `mask`, of one axis, has chosen elements, or what is computed of all of its elements.

    `compute(guarded)` records it, with ones instead of what is not chosen where it is `guarded`, as it has to be where
    it `is_computed`. What has been recorded in a block is `known`.
    """

    mask: Value
    compute: Callable[[bool], Any]
    is_computed: bool = False
    known: dict[bool, tuple[Any, Any]] = field(default_factory=dict)

    def array(self, recorder: Recorder, guarded: bool) -> Any:
        home = innermost(recorder)
        if guarded not in self.known or self.known[guarded][0] is not home:
            self.known[guarded] = home, self.compute(guarded)
        return self.known[guarded][1]


def unmasked_array(recorder: Recorder, mask: Value, array: Any) -> Unmasked:
    """That of elements of an array, which nobody writes to."""
    return Unmasked(mask, lambda guarded: chosen_or_one(recorder, mask, array) if guarded else array)


def chosen_or_one(recorder: Recorder, mask: Value, item: Any) -> Any:
    return recorder.call(np.where, (recorder.result(mask), item, item.dtype.type(1)), {})


def unmasked_result(
    recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Unmasked | None:
    """That of an elementwise function of what one mask has chosen, and of numbers."""
    given: list[Any] = [getattr(arg, "unmasked", None) for arg in args if has_run_time_axis(arg)]
    others = [arg for arg in args if not has_run_time_axis(arg)]
    if not isinstance(function, np.ufunc) or kwargs or None in given or len({each.mask.id for each in given}) != 1:
        return None
    if any(np.ndim(arg) for arg in others):
        return None
    mask = given[0].mask

    def compute(guarded: bool) -> Any:
        left = iter(given)
        items = [next(left).array(recorder, guarded) if has_run_time_axis(arg) else arg for arg in args]
        if guarded:  # what adds to the derivative by a number comes from what is chosen only
            items = [chosen_or_one(recorder, mask, item) if recorder.is_scalar(item) else item for item in items]
        return elementwise(recorder, function, tuple(items))

    return Unmasked(mask, compute, is_computed=True)


def has_run_time_axis(obj: Any) -> bool:
    return hasattr(type(obj), "unmasked")


def unmasked_elements(recorder: Recorder, a: Any) -> tuple[Value, Any] | None:
    """The mask and all elements of an array of which it has chosen some; None of another one, or in another block."""
    unmasked = a.unmasked
    if unmasked is None or a.rest or innermost(recorder) is not a.home:
        return None
    return unmasked.mask, unmasked.array(recorder, unmasked.is_computed)


def masked_reduction(recorder: Recorder, a: Any, primitive: str, identity: Any, dtype: Any) -> Any:
    """A reduction of all elements to a `dtype`; None where it is none of what a mask has chosen, in this block."""
    found = unmasked_elements(recorder, a)
    if found is None:
        return None
    value = recorder.value_of(found[1], dtype)
    neutral = recorder.builder.broadcast(recorder.constant(identity, value.dtype), value.shape)
    chosen = recorder.apply("where", found[0], value, neutral)
    return recorder.result(recorder.apply(primitive, chosen, axes=(0,)))


def masked_put(recorder: Recorder, array: Any, mask: Value, value: Any) -> bool:
    """`array[mask] = value` for what the same mask has chosen: whether that could be recorded as a choice."""
    found = unmasked_elements(recorder, value) if array.ndim == 1 else None
    if found is None or found[0].id != mask.id or found[1].dtype != array.dtype:
        return False
    array[...] = recorder.call(np.where, (recorder.result(mask), found[1], array), {})
    return True
