"""Where small things are that were packed, and arrays of such: views, elements by their positions, or runs joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...regions.regions import Region, View, c_strides, contiguous
from ...tape.builder import TapeBuilder
from ...tape.tape import Value
from .patterns import Pattern, common_pattern, strides_at

MOST_RUNS = 8  # that are joined, beside one for every two members
MOST_SPLITS = 4  # arrays in place of one

Values = Sequence[Value]


@dataclass(frozen=True)
class Split:
    """Members of a group, and the axes of the arrays that they are on."""

    members: range
    shape: tuple[int, ...]


@dataclass
class Run:
    """Members at regular places of a list, from regular positions of an array; or one that is in none."""

    source: Value
    at: list[int]
    positions: list[int]

    def goes_on(self, at: int, position: int) -> bool:
        if len(self.at) < 2:
            return True
        step, move = self.at[1] - self.at[0], self.positions[1] - self.positions[0]
        return (at - self.at[-1], position - self.positions[-1]) == (step, move)


@dataclass
class Members:
    """The numbers and small arrays of one block: members of arrays, in which each lies in order of memory."""

    builder: TapeBuilder
    names: dict[int, Value]  # what stands for a value, by its id
    constants: dict[int, np.ndarray]
    where: dict[int, tuple[Value, int]] = field(default_factory=dict)  # array, and position of the first number

    def alone(self, value: Value) -> Value:
        """A value that may have been packed, by itself."""
        if value.id in self.where and value.id not in self.names:
            array, position = self.where[value.id]
            self.names[value.id] = self.builder.view(array, View(position, value.shape, c_strides(value.shape)))
        return self.names.get(value.id, value)

    def show(self, value: Value, of: Value, offset: int) -> None:
        """`value` is what lies there in another one."""
        array, position = self.where.get(of.id, (of, 0))
        self.where[value.id] = self.names.get(array.id, array), position + offset

    def positions(self, values: Values) -> np.ndarray | None:
        """The positions of what is all in one array."""
        found = [self.where.get(value.id) for value in values]
        if None in found or len({array.id for array, _ in found}) > 1:  # type: ignore[misc]
            return None
        return np.array([position for _, position in found])  # type: ignore[misc]

    def runs(self, values: Values, most: int) -> list[Run] | None:
        """What has to be joined to have these, in order, in one array; None where there are more."""
        found: list[Run] = []
        latest: dict[int, Run] = {}  # by the array
        for at, value in enumerate(values):
            source, position = self.where.get(value.id, (value, None))
            if position is None:
                found.append(Run(source, [at], []))
                continue
            run = latest.get(source.id)
            if run is None or not run.goes_on(at, position):
                found.append(run := Run(source, [], []))
                latest[source.id] = run
            run.at.append(at)
            run.positions.append(position)
        return found if len(found) <= most else None

    def runs_of(self, values: Values) -> tuple[list[Value], list[Run] | None]:
        """Each of the values once, in the order in which they were made, and their runs."""
        each = sorted({value.id: value for value in values}.values(), key=lambda value: value.id)
        return each, self.runs(each, MOST_RUNS + len(values) // 2)

    def is_plain(self, values: Values) -> bool:
        """Whether nothing has to be put beside another: the same each time, known, or all in one array."""
        if len({value.id for value in values}) <= 1 or all(value.id in self.constants for value in values):
            return True
        return self.positions(values) is not None

    def is_even(self, values: Values) -> bool:
        """Whether there are no constants, one, or many."""
        return values[0].id not in self.constants or not 1 < len({value.id for value in values}) <= MOST_SPLITS

    def can_be_packed(self, values: Values) -> bool:
        return self.is_plain(values) or self.runs_of(values)[1] is not None

    # How many arrays.

    def pattern(self, operands: Sequence[Values], rows: int = 1, mixed: bool = False) -> Pattern | None:
        """The axes along which each operand is a view of an array; None where there are none.

        mixed : even where an operand takes a few constants in turn, which may be one each elsewhere.
        """
        if not all(map(self.is_plain, operands)) or not (mixed or all(map(self.is_even, operands))):
            return None
        moving = (values for values in operands if len({v.id for v in values}) > 1)
        known = [positions for values in moving if (positions := self.positions(values)) is not None]
        return common_pattern(known, len(operands[0]), rows)

    def splits(self, operands: Sequence[Values], rows: int = 1, most: int = MOST_SPLITS) -> list[Split] | None:
        """The splits in which operations are on arrays; all in one where that costs the least, or nothing else does.

        What is not in one array is joined to one where that helps; None where that is too much.
        """
        count = len(operands[0])
        if any(len({(value.shape, value.dtype) for value in values}) > 1 for values in operands):
            return None
        found = self.as_they_are(operands, rows, most)
        if found is None and all(map(self.can_be_packed, operands)):
            for values in operands:
                self.join(values)
            found = self.as_they_are(operands, rows, most)
            found = found or [Split(range(count), (count,) if rows == 1 else (rows, count // rows))]
        return found

    def as_they_are(self, operands: Sequence[Values], rows: int, most: int) -> list[Split] | None:
        count = len(operands[0])
        whole = self.pattern(operands, rows)
        if whole is not None and (len(whole.shape) == 1 or rows > 1 or whole.shape[-1] > most):
            return [Split(range(count), whole.shape)]
        for every in range(2, most + 1) if rows == 1 else ():
            found = self.regular([range(k, count, every) for k in range(every)], operands)
            if found is not None:
                return found
        cuts = self.cuts(operands) if rows == 1 else []
        if 0 < len(cuts) < most:
            found = self.regular(list(map(range, [0, *cuts], [*cuts, count])), operands)
            if found is not None:
                return found
        whole = self.pattern(operands, rows, mixed=True)
        return None if whole is None else [Split(range(count), whole.shape)]

    def regular(self, members: Sequence[range], operands: Sequence[Values]) -> list[Split] | None:
        """These splits, if each is on views of arrays."""
        found = []
        for some in members:
            own = slice(some.start, some.stop, some.step)
            pattern = self.pattern([values[own] for values in operands]) if some else None
            if pattern is None:
                return None
            found.append(Split(some, pattern.shape))
        return found

    def cuts(self, operands: Sequence[Values]) -> list[int]:
        """Where an operand goes on in another way."""
        found: set[int] = set()
        for values in operands:
            if self.is_plain(values) and self.positions(values) is None:
                continue
            places = [self.where.get(value.id, (value, 0)) for value in values]
            step: int | None = None
            for k, ((array, position), (other, last)) in enumerate(zip(places[1:], places), start=1):
                if array.id != other.id or step not in (None, position - last):
                    found.add(k)
                    step = None
                else:
                    step = position - last
        return sorted(found)

    # Arrays.

    def packed(self, values: Values, shape: tuple[int, ...]) -> Value:
        """An array of these, with axes of that `shape` in front; one value where they are all the same."""
        builder, inner = self.builder, values[0].shape
        if len({value.id for value in values}) == 1:
            return self.alone(values[0])
        if all(value.id in self.constants for value in values):
            numbers = np.array([self.constants[v.id] for v in values])
            return builder.constant(numbers.reshape(*shape, *inner), values[0].dtype)
        self.join(values)
        positions = self.positions(values)
        assert positions is not None
        strides = strides_at(positions, shape)
        array, _ = self.where[values[0].id]
        if strides is not None:
            return builder.view(array, View(int(positions[0]), (*shape, *inner), (*strides, *c_strides(inner))))
        indices = positions[:, None] + np.arange(values[0].size)
        flat = builder.reshape(array, (array.size,))
        return builder.apply("gather", flat, builder.constant(indices.reshape(*shape, *inner)))

    def repeated(self, values: Values, shape: tuple[int, ...], inner: tuple[int, ...]) -> Value:
        """As `packed`, of members of the shape `inner`, or numbers that stand for each of theirs."""
        array = self.packed(values, shape)
        is_same, own = len({value.id for value in values}) == 1, values[0].shape
        if is_same and not own:
            return array
        strides = (*((0,) * len(shape) if is_same else c_strides(array.shape)[: len(shape)]),)
        behind = c_strides(own) if own else (0,) * len(inner)
        return self.builder.view(array, View(0, (*shape, *inner), (*strides, *behind)))

    def join(self, values: Values) -> None:
        """Put them into one array, unless they are in one, known, or the same."""
        if self.is_plain(values):
            return
        each, runs = self.runs_of(values)
        assert runs is not None
        builder, inner, size = self.builder, values[0].shape, values[0].size
        behind = c_strides(inner)
        whole = builder.new_buffer("local", "", values[0].dtype, contiguous((len(each), *inner)))
        for run in runs:
            first = run.at[0]
            if not run.positions:
                builder.store(Region(whole.id, View(first * size, inner, behind)), self.alone(each[first]))
                continue
            count = len(run.at)
            step, move = (run.at[1] - first, run.positions[1] - run.positions[0]) if count > 1 else (1, size)
            value = builder.view(run.source, View(run.positions[0], (count, *inner), (move, *behind)))
            builder.store(Region(whole.id, View(first * size, (count, *inner), (step * size, *behind))), value)
        array = builder.load(Region(whole.id, contiguous((len(each), *inner))))
        for k, value in enumerate(each):
            if value.id not in self.where:
                self.names.setdefault(value.id, value)  # as it was made, for what reads it alone
            self.where[value.id] = array, k * size
