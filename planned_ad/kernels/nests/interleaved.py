"""Columns of a narrow array, side by side: `x[:, 0]`, `x[:, 1]` and `x[:, 2]` in one nest.

Each column by itself lies a stride apart and is addressed number by number. Together they are neighbours: they are
loaded, added to and stored as whole vectors, and told apart in registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ...planning.schedule import Memory, Nest, Read, Write, memories_of
from ..llvm.places import Place
from ..llvm.types import I32, memory_type
from .access import address
from .axes import Axis
from .lanes import add

WIDEST = 4  # columns: beyond, most of the work is telling them apart


@dataclass(frozen=True, slots=True)
class Columns:
    """Items of a nest whose accesses, in this order, are neighbours in memory; each moves by their number."""

    items: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.items[0]


def column_reads(nest: Nest, axes: Sequence[Axis]) -> dict[int, Columns]:
    """Reads that can be made together, by item: of memory that the nest does not write to."""
    written = {
        i.memory for i in (*nest.items, *nest.spills.values()) if not isinstance(i, Read) and hasattr(i, "memory")
    }
    reads = {k: i for k, i in enumerate(nest.items) if isinstance(i, Read) and i.memory not in written}
    return grouped(reads, {k: i.dtype for k, i in reads.items()}, axes)


def column_writes(nest: Nest, axes: Sequence[Axis]) -> dict[int, Columns]:
    """Writes that can wait for one another, by item: to memory that nothing else in the nest touches."""
    uses: dict[Memory, int] = defaultdict(int)
    for memory in memories_of(nest):
        uses[memory] += 1
    writes = {k: i for k, i in enumerate(nest.items) if isinstance(i, Write) and not i.indices}
    dtypes = {k: nest.items[i.source].dtype for k, i in writes.items()}  # type: ignore[union-attr]
    found = {}
    for columns in set(grouped(writes, dtypes, axes).values()):
        alone = uses[writes[columns.first].memory] == len(columns.items)
        if alone and len({writes[k].accumulate for k in columns.items}) == 1:
            found.update(dict.fromkeys(columns.items, columns))
    return found


def grouped(
    items: Mapping[int, Read] | Mapping[int, Write], dtypes: Mapping[int, np.dtype], axes: Sequence[Axis]
) -> dict[int, Columns]:
    """The complete sets of columns among `items`, by item."""
    alike: dict[object, list[int]] = defaultdict(list)
    for number, item in items.items():
        strides = tuple(axis.strides[number] for axis in axes)
        if strides and 2 <= strides[-1] <= WIDEST and dtypes[number].kind == "f":
            alike[item.memory, dtypes[number], strides].append(number)
    found = {}
    for numbers in alike.values():
        for columns in complete({k: items[k].view.offset for k in numbers}, axes[-1].strides[numbers[0]]):
            found.update(dict.fromkeys(columns.items, columns))
    return found


def complete(offsets: Mapping[int, object], count: int) -> Iterable[Columns]:
    """Sets of `count` items at offsets one apart, no item twice."""
    at = {offset: number for number, offset in offsets.items()}
    left = dict(offsets)
    for number, offset in offsets.items():
        items = tuple(at.get(offset + k, -1) for k in range(count))  # type: ignore[operator]
        if number in left and all(k in left for k in items):
            for k in items:
                del left[k]
            yield Columns(items)


def load_columns(
    builder: ir.IRBuilder, place: Place, offset: ir.Value, dtype: np.dtype, lanes: int, count: int
) -> list[ir.Value]:
    """`count` columns of `lanes` numbers, of which the first lies at `offset`."""
    wide = load_wide(builder, place, offset, dtype, lanes * count)
    nothing = ir.Constant(wide.type, ir.Undefined)
    return [
        builder.shuffle_vector(wide, nothing, numbers(range(column, lanes * count, count))) for column in range(count)
    ]


def store_columns(
    builder: ir.IRBuilder,
    place: Place,
    offset: ir.Value,
    dtype: np.dtype,
    columns: Sequence[ir.Value],
    accumulate: bool,
) -> None:
    """Put columns side by side, or add them to what is there."""
    count, lanes = len(columns), columns[0].type.count
    joined = side_by_side(builder, columns)
    order = numbers(column * lanes + row for row in range(lanes) for column in range(count))
    rows = builder.shuffle_vector(joined, ir.Constant(joined.type, ir.Undefined), order)
    if accumulate:
        rows = add(builder, load_wide(builder, place, offset, dtype, lanes * count), rows, dtype)
    where = address(builder, place, offset, rows.type, memory_type(dtype))
    place.marked(builder.store(rows, where, align=dtype.itemsize))


def side_by_side(builder: ir.IRBuilder, columns: Sequence[ir.Value]) -> ir.Value:
    """The columns one after the other in one vector."""
    joined = columns[0]
    for column in columns[1:]:
        size, lanes = joined.type.count, column.type.count
        filled = numbers(min(k, lanes - 1) for k in range(size))  # (both operands of a shuffle have one type)
        column = builder.shuffle_vector(column, ir.Constant(column.type, ir.Undefined), filled)
        joined = builder.shuffle_vector(joined, column, numbers(range(size + lanes)))
    return joined


def load_wide(builder: ir.IRBuilder, place: Place, offset: ir.Value, dtype: np.dtype, width: int) -> ir.Value:
    where = address(builder, place, offset, memory_type(dtype, width), memory_type(dtype))
    return place.marked(builder.load(where, align=dtype.itemsize))


def numbers(values: Iterable[int]) -> ir.Constant:
    found = list(values)
    return ir.Constant(ir.VectorType(I32, len(found)), found)
