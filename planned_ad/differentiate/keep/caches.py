"""Caches: memory of the primal with a place for each iteration of the loops around, so that nothing overwrites it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import UnsupportedError
from ...regions.affine import Extent, loop_index
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder
from ...tape.tape import Loop

MOST_PLACES = 1 << 36  # elements of one cache: more is no plan


class NoBound(UnsupportedError):
    """The derivative needs what each iteration of a loop computes that may run any number of times."""


def new_cache(
    builder: TapeBuilder,
    loops: Sequence[Loop],
    shape: Sequence[int],
    dtype: np.dtype,
    reason: str,
    extra: int = 0,
    room: tuple[int, ...] = (),
) -> Region:
    """The place of the current iteration of `loops` in a new cache, with `extra` places more for the innermost loop.

    `room`: first axes of the region, where there are so many such places.
    """
    trips = [int(loop.trips) for loop in loops]
    if extra:
        trips[-1] += extra
    whole = (*room, *trips, *map(int, shape))
    if math.prod(whole) > MOST_PLACES:
        line = builder.line
        raise NoBound(
            f"{line}: `{line.text}` is needed by the derivative in each iteration of a loop whose length is known "
            f"only at run time, without a bound, so there is no telling how much to keep. Give the loop a bound "
            f"that is known when tracing, or write it so that its derivative needs only what stays in memory."
        )
    strides = c_strides(whole)
    buffer = builder.new_buffer("cache", reason, dtype, contiguous(whole))
    front, inner = len(room), len(room) + len(loops)
    offset = iteration(loops, strides[front:])
    return Region(buffer.id, View(offset, (*room, *shape), (*strides[:front], *strides[inner:])))


def iteration(loops: Sequence[Loop], strides: Sequence[int]) -> Extent:
    """Where the places of this iteration begin; each loop counts from its first iteration."""
    offset: Extent = 0
    for loop, stride in zip(loops, strides):
        offset += (loop_index(loop.index) - loop.start) * (stride * loop.step)
    return offset
