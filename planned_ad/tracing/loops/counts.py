"""Integers that grow from iteration to iteration by known numbers: what they are follows from the index.

place = 0                      # Count: an expression of the indices
for i in range(n):
    k = place                  # Growing: `place` grows by 0, 1, 2, ...
    for j in range(i):
        a[k] = b[i, j]         # Growing: `k` grows by 1, from a number that is data
        k += 1
    place += i
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...regions.affine import Affine, Extent, affine, coefficient, substitute
from ..record.limits import Triangle
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex, expression_of, index_of
from ..values.scalar_tracer import ScalarTracer
from .form import HandedOn, NotCarried, Stores, scaled_index
from .stored_forms import Number

if TYPE_CHECKING:
    from ..record.recorder import Recorder
    from .traced_list import TracedList

INT = np.dtype(np.int64)


@dataclass
class Count(HandedOn):
    """An integer that grows by `step` from iteration to iteration, or from row to row."""

    start: Extent
    step: Extent = 0

    def opened(self) -> HandedOn | None:
        return Number(np.dtype(np.int64), True)

    def at_iteration(self, recorder: Recorder, k: Any) -> Any:
        """What it is after `k` iterations, a known or traced number of them."""
        return k * index_of(recorder, self.step) + index_of(recorder, self.start)

    def at(self, index: int) -> Extent:
        return self.start + scaled_index(affine(0, {index: 1}), self.step)

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        return index_of(recorder, self.at(index))

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        expression = expression_of(value)
        following = substitute(self.at(index), index, affine(1, {index: 1}))
        if expression is None or expression - following != 0:
            raise NotCarried
        return []

    def in_rows(self, rows: int, owner: TracedList, index: int, depth: int) -> HandedOn:
        start = substitute(self.start, index, 0)
        return Count(start, substitute(self.start, index, 1) - start)

    def item(self, owner: TracedList | None, row: Any) -> Any:
        assert owner is not None
        expression = expression_of(row)
        if expression is None:
            return row * self.step + index_of(owner.recorder, self.start)
        return index_of(owner.recorder, self.start + scaled_index(expression, self.step))

    def part(self, owner: TracedList, rows: slice) -> HandedOn:
        return Count(self.start + scaled_index(expression_of(rows.start), self.step), self.step * (rows.step or 1))

    def array(self, owner: TracedList, length: int) -> ArrayTracer:
        assert isinstance(self.step, int)
        numbers = np.arange(length) * self.step
        if isinstance(self.start, int):
            return owner.recorder.concrete(numbers + self.start)
        return owner.recorder.concrete(numbers) + index_of(owner.recorder, self.start)


@dataclass
class Growing(HandedOn):
    """An integer that grows by `step + growth * k` in iteration k, from a `start` that may be data."""

    start: Any
    step: Extent
    growth: int = 0
    begun: Extent | None = field(default=None, compare=False)  # what it is in this iteration, as a sum

    def opened(self) -> HandedOn | None:
        return Number(INT, True)

    def at_iteration(self, recorder: Recorder, k: Any) -> Any:
        """What it is after `k` iterations, a known or traced number of them."""
        with recorder.builder.between_statements():
            found = self.start + k * index_of(recorder, self.step)
            if self.growth:
                triangle = k * (k - 1) // 2
                index = expression_of(k)
                if isinstance(index, Affine) and not index.constant and [factor for _, factor in index.terms] == [1]:
                    recorder.builder.limits.note_triangle(triangle.value, Triangle(index.terms[0][0], 1))
                found = found + triangle * self.growth
        return found

    def begin(self, recorder: Recorder, index: int, name: str) -> Any:
        found = self.at_iteration(recorder, index_of(recorder, affine(0, {index: 1})))
        self.begun = sum_of(recorder, found)
        return found

    def leave(self, recorder: Recorder, value: Any, index: int) -> Stores:
        after, grown = sum_of(recorder, value), self.step + affine(0, {index: self.growth})
        if after is None or self.begun is None or after - self.begun - grown != 0:
            raise NotCarried
        return []


def sum_of(recorder: Recorder, value: Any) -> Extent | None:
    """A Python integer as a sum of a known number, multiples of indices, and what is opaque; None of anything else."""
    if type(value) is ScalarTracer and value.is_python and value.dtype == INT and not value.types:
        return recorder.builder.limits.sum_of(value.value)
    return expression_of(value) if type(value) in (int, LoopIndex) else None


def growing_from(recorder: Recorder, index: int, old: Any, new: Any) -> Growing | None:
    """For a variable that is `old` before the loop with this index, and `new` after an iteration of it."""
    first, then = sum_of(recorder, old), sum_of(recorder, new)
    if first is None or then is None:
        return None
    grown = then - first
    if not isinstance(grown, Affine):
        return Growing(old, grown)
    step, growth = substitute(grown, index, 0), coefficient(grown, index)
    is_known = all(part >= 0 for part, _ in grown.terms)
    return Growing(old, step, growth) if is_known else None
