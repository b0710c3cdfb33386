"""Computed places that are neighbours: indices that grow evenly from lane to lane, like `base + arange(n)`.

for i in [n]:
    r0 = base{+0 [n] by [0]}       # alike in all lanes: grows by 0
    r1 = count{+0 [n] by [1]}      # 0, 1, 2, ...: grows by 1
    r2 = add(r0, r1)               # grows by 1
    r3 = table[r2]                 # one vector
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from ...planning.schedule import Compute, Counted, GatherRead, Immediate, Item, Nest, Write
from .axes import Axis

INT = np.dtype(np.int64)


def growth_of_items(items: Sequence[Item], level: Sequence[int], axes: Sequence[Axis]) -> list[int | None]:
    """Of each register, by how much it grows from a lane to the next; None where it may grow by anything.

    `level`: how many of the loops over the `axes` each is in.
    """
    depth = len(axes)
    found: list[int | None] = []
    for number, item in enumerate(items):
        if level[number] < depth:
            found.append(0)
        elif isinstance(item, Counted) and item.dtype == INT:
            found.append(item.step * (axes[-1].strides[number] if axes else 0))
        elif isinstance(item, Compute) and item.dtype == INT:
            found.append(_computed(item, items, found))
        else:
            found.append(None)
    return found


def _computed(item: Compute, items: Sequence[Item], growth: Sequence[int | None]) -> int | None:
    own = [growth[k] for k in item.operands]
    known = [k for k in own if k is not None]
    if len(known) < len(own) or any(items[k].dtype != INT for k in item.operands):  # type: ignore[union-attr]
        return None
    rule = RULES.get(item.primitive)
    if rule is not None:
        return rule(*known)
    if item.primitive == "multiply":
        for factor, grows in zip(item.operands, reversed(known)):
            one = items[factor]
            if isinstance(one, Immediate):
                return grows * int(one.number)  # type: ignore[call-overload, no-any-return]
    return None if any(known) else 0


RULES: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "negative": lambda a: -a,
    "cast": lambda a: a,
}


def place_growth(item: GatherRead | Write, stride: int, growth: Sequence[int | None]) -> int | None:
    """By how much the place of an access grows from a lane to the next; `stride`: without its indices."""
    total = stride
    for index, factor in zip(item.indices, item.strides):
        own = growth[index]
        if own is None:
            return None
        total += own * factor
    return total


def inner_accesses(
    nest: Nest, axes: Sequence[Axis], level: Sequence[int], growth: Sequence[int | None], without: Container[int]
) -> tuple[int, int]:
    """Of the innermost loop: accesses to numbers that are apart, each by an instruction of its own, and to neighbours.

    `without`: items that are not counted.
    """
    apart = neighbours = 0
    for number, stride in axes[-1].strides.items():
        item = nest.items[number] if number >= 0 else nest.spills[-1 - number]
        in_loop = level[number if number >= 0 else -1 - number] == len(axes)
        if in_loop and number not in without and not isinstance(item, Counted):
            moves = place_growth(item, stride, growth) if isinstance(item, GatherRead | Write) else stride
            apart += moves is None or abs(moves) > 1
            neighbours += moves is not None and abs(moves) == 1
    return apart, neighbours
