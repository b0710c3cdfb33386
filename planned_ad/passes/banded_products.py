"""Products with known matrices that have few diagonals, as finite differences do: sums over these.

>>> import numpy as np
>>> from planned_ad.tape.listing import brief
>>> from planned_ad.trace import trace
>>> tape = trace(lambda u: (np.eye(12, k=1) - np.eye(12)) @ u, (np.zeros(12),)).tape
>>> print(brief(tape))
v0: float64[12, 12] = [-1.0, ..., -1.0]
v1: float64[12] = u[...]
v2: float64[12] = contract(v0, v1, a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
return v2
>>> print(brief(banded_products(tape)))
v0: float64[12, 12] = [-1.0, ..., -1.0]
v1: float64[12] = u[...]
v3 = 0.0
v4: float64[12] = multiply(v1, v3)
v5 = reduce_sum(v4, axes=(0,))
v6: bool = equal(v5, v3)
if v6:
    v7: float64[11] = view(v1, view={+0 [11] by [1]})
    v8 = -1.0
    v9: float64[11] = view(v8, view={+0 [11] by [0]})
    v10: float64[11] = multiply(v9, v7)
    v11: float64[11] = view(v1, view={+1 [11] by [1]})
    v12: float64[11] = add(v10, v11)
    product#1[0:11] = v12
    v13: float64[1] = view(v1, view={+11 [1] by [1]})
    v14 = -1.0
    v15: float64[1] = view(v14, view={+0 [1] by [0]})
    v16: float64[1] = multiply(v15, v13)
    product#1[11:12] = v16
else:
    v17: float64[12] = contract(v0, v1, a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
    product#1[...] = v17
v2: float64[12] = product#1[...]
return v2

Requires a verified tape; ensures the same numbers, but for the order of sums. The rows of a matrix fall into stretches
that have the same diagonals: of three, the first row, the last one, and all between. Each is stored to its part of the
result. Zero times what is infinite is nan: where the program itself has such numbers, the product is what it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..regions.regions import Region, View, c_strides, contiguous, is_ragged
from ..tape.builder import TapeBuilder, rebuilt, written_anew
from ..tape.tape import Apply, Branch, Buffer, Constant, Load, Operation, Tape, Value, walk

MOST_DIAGONALS, MOST_STRETCHES = 7, 5
LEAST_GAIN = 2  # times as many multiplications as are left


@dataclass(frozen=True)
class Banded:
    """A known matrix by its diagonals: of each stretch of rows, those that are not zero there."""

    data: np.ndarray
    stretches: tuple[tuple[range, tuple[int, ...]], ...]


def banded_products(tape: Tape) -> Tape:
    """Products with a known matrix of few diagonals as sums over these. The same tape when there are none."""
    known = {op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant)}
    turned = {op.out.id: op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive == "view"}
    products = {
        op.out.id: found
        for op in walk(tape.operations)
        if isinstance(op, Apply) and op.primitive == "contract"
        for found in [banded_operand(op, known, turned)]
        if found is not None
    }
    if not products:
        return tape
    builder = rebuilt(tape)
    primal = {op.out.id for op in walk(tape.operations[: tape.turn]) if isinstance(op, Apply)}

    def write(op: Operation) -> None:
        if isinstance(op, Apply) and op.out.id in products:
            write_by_diagonals(builder, op, *products[op.out.id], is_primal=op.out.id in primal)
        else:
            builder.emit(builder.with_written_blocks(op, write))

    return written_anew(tape, builder, write)


def banded_operand(
    op: Apply, known: dict[int, np.ndarray], turned: dict[int, Apply]
) -> tuple[Banded, int, tuple[int, int]] | None:
    """The matrix as one of few diagonals, whose number among the operands, and the labels of its rows and columns."""
    labels, out_labels = (op.params["a_labels"], op.params["b_labels"]), op.params["out_labels"]
    for number in (0, 1):
        own, other = labels[number], labels[1 - number]
        data = known_matrix(op.operands[number], known, turned)
        if data is None or len(set(own)) < 2 or is_ragged(op.operands[1 - number].shape):
            continue
        rows = [label for label in own if label in out_labels and label not in other]
        columns = [label for label in own if label in other and label not in out_labels]
        is_plain = len(rows) == len(columns) == 1 and len(set(other)) == len(other)
        if not is_plain or set(out_labels) != {*rows, *other} - {*columns}:
            continue
        found = by_diagonals(data if own[0] == rows[0] else data.T)
        if found is not None:
            return found, number, (rows[0], columns[0])
    return None


def known_matrix(value: Value, known: dict[int, np.ndarray], turned: dict[int, Apply]) -> np.ndarray | None:
    """What a value is known to hold, itself or as a view of something else; None of anything but a matrix."""
    if len(value.shape) != 2 or value.dtype != np.float64 or is_ragged(value.shape):
        return None
    if value.id in known:
        return known[value.id]
    view = turned.get(value.id)
    if view is None or view.operands[0].id not in known:
        return None
    flat, shown = known[view.operands[0].id].reshape(-1), view.params["view"]
    if not isinstance(shown.offset, int):
        return None
    at = shown.offset + sum(
        np.arange(n).reshape([-1 if k == axis else 1 for k in range(2)]) * stride
        for axis, (n, stride) in enumerate(zip(shown.shape, shown.strides))
    )
    return flat[at]  # type: ignore[no-any-return]


def by_diagonals(matrix: np.ndarray) -> Banded | None:
    """A matrix by its diagonals, where they and the stretches of rows are few."""
    rows, columns = np.nonzero(matrix)
    offsets = np.unique(columns - rows)
    work = len(offsets) * max(matrix.shape)
    if not 0 < len(offsets) <= MOST_DIAGONALS or LEAST_GAIN * work > matrix.size or not np.all(np.isfinite(matrix)):
        return None
    present = np.zeros((matrix.shape[0], len(offsets)), bool)
    present[rows, np.searchsorted(offsets, columns - rows)] = True
    ends = [0, *(np.flatnonzero(np.any(present[1:] != present[:-1], axis=1)) + 1), len(matrix)]
    if len(ends) - 1 > MOST_STRETCHES:
        return None
    stretches = tuple((range(a, b), tuple(map(int, offsets[present[a]]))) for a, b in itertools.pairwise(ends))
    return Banded(matrix, stretches)


def write_by_diagonals(
    builder: TapeBuilder, op: Apply, matrix: Banded, number: int, labels: tuple[int, int], *, is_primal: bool
) -> None:
    """The product in memory that is read as a whole; of infinite numbers the product itself."""
    builder.line, other = op.line, op.operands[1 - number]
    memory = builder.new_buffer("local", "product", op.out.dtype, contiguous(op.out.shape))

    def by_stretches() -> None:
        write_stretches(builder, op, matrix, number, labels, memory)

    def as_it_is() -> None:
        params = op.params
        builder.store(memory.whole, builder.apply("contract", *op.operands, **params))

    if is_primal:
        zero = builder.constant(0.0, other.dtype)
        nothing = builder.apply("multiply", other, zero)
        total = builder.apply("reduce_sum", nothing, axes=tuple(range(len(other.shape))))
        is_finite = builder.apply("equal", total, zero)
        then, otherwise = builder.recorded(by_stretches), builder.recorded(as_it_is)
        builder.emit(Branch(predicate=is_finite, then=then, otherwise=otherwise, line=op.line))
    else:
        by_stretches()
    builder.emit(Load(out=op.out, region=memory.whole, line=op.line))


def write_stretches(
    builder: TapeBuilder, op: Apply, matrix: Banded, number: int, labels: tuple[int, int], memory: Buffer
) -> None:
    """For each stretch of rows the sum over its diagonals."""
    other, own = op.operands[1 - number], op.params["b_labels" if number == 0 else "a_labels"]
    out_labels, whole = op.params["out_labels"], memory.view
    row, column = labels
    axis, strides = out_labels.index(row), dict(zip(own, c_strides(other.shape)))
    step = strides[column]
    for rows, offsets in matrix.stretches:
        shape = (*whole.shape[:axis], len(rows), *whole.shape[axis + 1 :])
        total: Value | None = None
        for offset in offsets:
            first = (rows.start + offset) * step
            shown = View(first, shape, tuple(step if label == row else strides[label] for label in out_labels))
            term = builder.view(other, shown)
            for factor in factors(builder, matrix.data, rows, offset, axis, shape):
                term = builder.apply("multiply", factor, term)
            total = term if total is None else builder.apply("add", total, term)
        if total is None:
            total = builder.broadcast(builder.constant(0.0, op.out.dtype), shape)
        place = View(whole.offset + rows.start * whole.strides[axis], shape, whole.strides)
        builder.store(Region(memory.id, place), total)


def factors(
    builder: TapeBuilder, matrix: np.ndarray, rows: range, offset: int, axis: int, shape: tuple[int, ...]
) -> Iterator[Value]:
    """By what the numbers at a distance from the diagonal are multiplied; nothing where that is one."""
    numbers = matrix[rows, np.arange(rows.start, rows.stop) + offset]
    if np.all(numbers == numbers[0]):
        if numbers[0] != 1.0:
            yield builder.broadcast(builder.constant(numbers[0]), shape)
        return
    along = View(0, shape, tuple(int(k == axis) for k in range(len(shape))))
    yield builder.view(builder.constant(np.ascontiguousarray(numbers)), along)
