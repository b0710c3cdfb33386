"""Steps alike that hand something on to the next become a loop: what a recurrence was before it was written out.

>>> import numpy as np
>>> from planned_ad.passes.packing.packing import packed
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> def f(x):
...     s = x[0]
...     for k in range(300):
...         s = np.sin(s) * x[k]
...     return s
>>> tape = trace(f, (np.zeros(300),), unroll=1000).tape
>>> print("\\n".join(brief(tape).splitlines()[:7]))
v0 = x[0]
v1 = sin(v0)
v2 = multiply(v1, v0)
v3 = sin(v2)
v4 = x[1]
v5 = multiply(v3, v4)
v6 = sin(v5)
>>> print(brief(packed(tape)))
v909 = x[0]
v1 = sin(v909)
v2 = multiply(v1, v909)
v3 = sin(v2)
#1[...] = v3
for i0 in range(0, 298, 1):
    v903 = #1[...]
    v911 = x[i0 + 1]
    v905 = multiply(v903, v911)
    v906 = sin(v905)
    #1[...] = v906
v907 = #1[...]
v912 = x[299]
v899 = multiply(v907, v912)
return v899

Requires levels of a circle (see `grouping`); ensures the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...regions.affine import loop_index
from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.tape import Apply, Loop, Value
from .grouping import Group
from .members import Members, Values

FEWEST = 16  # steps
LONGEST = 32  # levels of a step
SETTLED = 8  # levels in which kinds become what they stay
WIDEST = 16  # nodes of a kind in a level: where there are more they are packed

Levels = Sequence[Sequence[Group]]


class NotSteps(Exception):
    """Steps that are not alike after all."""


@dataclass(frozen=True)
class Maker:
    """The role that makes an operand, in the same step or `lag` steps before."""

    maker: int
    lag: int


Carry = tuple[int, tuple[int, ...]]  # the role, and what steps before the first are taken to have made, last one first


@dataclass(frozen=True)
class StepsAlike:
    """The levels from `first` to `last` (exclusive) as steps alike: for each role in a step, what has it in each."""

    first: int
    last: int
    roles: list[list[Apply]]

    @property
    def count(self) -> int:
        return len(self.roles[0])


def steps_in(levels: Levels) -> StepsAlike | None:
    """The steps alike of which most of the levels are."""
    kinds = ((kind, some[0]) for level in levels for kind, some in level)
    if len(levels) < FEWEST or any(kind is None or not isinstance(node, Apply) for kind, node in kinds):
        return None
    signs = [signature(level) for level in levels]
    for period in range(1, min(LONGEST, len(levels) // FEWEST) + 1):
        for first in range(max(2 * period, SETTLED)):
            count = 1
            while first + (count + 1) * period <= len(levels) and (
                signs[first + count * period : first + (count + 1) * period] == signs[first : first + period]
            ):
                count += 1
            if count >= FEWEST and 2 * count * period >= len(levels):
                return steps_of_period(levels, first, period, count)
    return None


def signature(level: Sequence[Group]) -> frozenset[tuple[Hashable, int]]:
    return frozenset((kind, len(some)) for kind, some in level)


def steps_of_period(levels: Levels, first: int, period: int, count: int) -> StepsAlike | None:
    roles: dict[tuple[int, Hashable, int], list[Apply]] = {}
    for at in range(first, first + count * period):
        for kind, some in levels[at]:
            if len(some) >= WIDEST:
                return None
            for k, node in enumerate(some):
                assert isinstance(node, Apply)
                roles.setdefault(((at - first) % period, kind, k), []).append(node)
    in_turn = sorted(roles, key=lambda role: role[0])
    return StepsAlike(first, first + count * period, [roles[role] for role in in_turn])


class Rolling:
    """The writing of steps as a loop, of that `index`. `uses`: how often each value is used in all."""

    def __init__(self, members: Members, steps: StepsAlike, uses: Counter[int], index: int):
        self.members = members
        self.builder = members.builder
        self.steps = steps
        self.roles = steps.roles
        self.index = index
        self.places = {op.out.id: (role, k) for role, some in enumerate(self.roles) for k, op in enumerate(some)}
        inside = Counter(v.id for some in self.roles for op in some for v in op.operands if v.id in self.places)
        self.read_later = [[uses[op.out.id] > inside[op.out.id] for op in some] for some in self.roles]
        self.carries: dict[Carry, Region] = {}  # what was made as many steps before as there are values in the key
        self.arrays: dict[tuple[int, int], Value] = {}  # by role and operand: what each step takes from outside

    def write(self) -> bool:
        """Whether there is such a loop; if so it is written."""
        try:
            sources = [list(map(self.source, zip(*(op.operands for op in some)))) for some in self.roles]
        except NotSteps:
            return False
        for role, found in enumerate(sources):
            for k, source in enumerate(found):
                self.prepare(role, k, source)
        kept = [self.kept(role) for role in range(len(self.roles))]
        body = self.builder.recorded(lambda: self.step(sources, kept))
        line = self.roles[0][0].line
        self.builder.emit(Loop(index=self.index, start=0, step=1, trips=self.steps.count, body=body, line=line))
        for some, region in zip(self.roles, kept):
            if region is None:
                continue
            loaded = self.builder.load(region)
            if region.shape == some[-1].out.shape:
                self.members.names[some[-1].out.id] = loaded
                continue
            for k, op in enumerate(some):
                self.members.where[op.out.id] = loaded, k * op.out.size
        return True

    def source(self, values: Values) -> Maker | None:
        """Which role makes an operand; None of what comes from outside. Raises `NotSteps` where steps differ."""
        found = {(place[0], k - place[1]) for k, v in enumerate(values) if (place := self.places.get(v.id))}
        outside = [k for k, v in enumerate(values) if v.id not in self.places]
        if not found and self.members.can_be_packed(values):
            return None
        if len(found) != 1:
            raise NotSteps
        ((maker, lag),) = found
        if outside != list(range(lag)):
            raise NotSteps
        return Maker(maker, lag)

    def prepare(self, role: int, operand: int, source: Maker | None) -> None:
        """In front of the loop: memory for what is handed on, and arrays of what comes from outside."""
        values = [op.operands[operand] for op in self.roles[role]]
        if source is None:
            self.arrays[role, operand] = self.members.packed(values, (len(values),))
            return
        for lag in range(1, source.lag + 1):  # each step moves what it was handed on by one
            key = carry_of(source, values[source.lag - lag : source.lag])
            if key not in self.carries:
                value = values[source.lag - lag]
                memory = self.builder.new_buffer("local", "", value.dtype, contiguous(value.shape))
                self.carries[key] = memory.whole
                self.builder.store(memory.whole, self.members.alone(value))

    def kept(self, role: int) -> Region | None:
        """Memory for what a role makes, if that is read later: a place for each step, or for the last one."""
        *others, last = self.read_later[role]
        if not (last or any(others)):
            return None
        handed = [region for (maker, ids), region in self.carries.items() if maker == role and len(ids) == 1]
        if handed and not any(others):
            return handed[0]
        out = self.roles[role][0].out
        count = (self.steps.count,) if any(others) else ()
        return self.builder.new_buffer("local", "", out.dtype, contiguous((*count, *out.shape))).whole

    def place(self, value: Value) -> View:
        """The place of a step in an array of such values."""
        return View(loop_index(self.index) * value.size, value.shape, c_strides(value.shape))

    def step(self, sources: Sequence[Sequence[Maker | None]], kept: Sequence[Region | None]) -> None:
        """The body."""
        builder = self.builder
        handed = {key: builder.load(region) for key, region in self.carries.items()}
        made: list[Value] = []
        for role, some in enumerate(self.roles):
            first = some[0]
            builder.line = first.line
            operands = []
            for k, source in enumerate(sources[role]):
                if source is not None:
                    before = [op.operands[k] for op in some[: source.lag]]
                    operands.append(handed[carry_of(source, before)] if source.lag else made[source.maker])
                    continue
                array = self.arrays[role, k]
                is_same = len({op.operands[k].id for op in some}) == 1
                operands.append(array if is_same else builder.view(array, self.place(first.operands[k])))
            made.append(builder.apply(first.primitive, *operands, **first.params))
            region = kept[role]
            if region is not None and region not in self.carries.values():
                is_last = region.shape == first.out.shape
                builder.store(region if is_last else Region(region.buffer, self.place(first.out)), made[role])
        for (maker, ids), region in self.carries.items():
            builder.store(region, handed[maker, ids[:-1]] if len(ids) > 1 else made[maker])


def carry_of(source: Maker, before: Values) -> Carry:
    return source.maker, tuple(value.id for value in before[::-1])
