"""Loops, branches and ragged regions on hand-written tapes: interpreted, planned, scheduled and compiled alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from planned_ad.planning.schedule import LoopStep, Nest, walk_steps
from planned_ad.regions.affine import Affine, Extent, affine, loop_index, ragged
from planned_ad.regions.regions import Region, View, c_strides, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.tape import Branch, Buffer, IndexValue, Loop, Operation, Value

from .compiled_tape import CompiledTape

N = 13
FLOAT, INT, BOOL = np.dtype(float), np.dtype(np.int64), np.dtype(bool)


@dataclass
class Program(TapeBuilder):
    """A tape under construction, with loops and branches as `with` statements."""

    arguments: list[int] = field(default_factory=list)

    def argument(self, name: str, *shape: int, dtype: np.dtype = FLOAT, kind: str = "argument") -> Buffer:
        buffer = self.new_buffer(kind, name, dtype, contiguous(shape))
        if kind != "local":
            self.arguments.append(buffer.id)
        return buffer

    def local(self, *shape: int, dtype: np.dtype = FLOAT) -> Buffer:
        return self.argument("t", *shape, dtype=dtype, kind="local")

    def block(self) -> Block:
        return Block(self)

    def at(self, buffer: Buffer, *index: Extent | tuple[Extent, int]) -> Region:
        """`buffer[index]`, where a pair is a slice: its start and its extent."""
        offset: Extent = 0
        shape, strides = [], []
        for part, stride in zip(index, c_strides(buffer.shape)):
            start = part[0] if isinstance(part, tuple) else part
            offset += start * stride
            if isinstance(part, tuple):
                shape.append(part[1])
                strides.append(stride)
        return Region(buffer.id, View(offset, tuple(shape), tuple(strides)))

    def position(self, expression: Extent) -> Value:
        assert isinstance(expression, Affine)
        out = self.new_value((), INT)
        self.emit(IndexValue(out=out, expression=expression))
        return out

    def compiled(self) -> CompiledTape:
        return CompiledTape(self.tape(tuple(self.arguments), (), frozenset()))


class Block:
    """`with program.block() as operations:` collects what is emitted inside."""

    def __init__(self, program: Program):
        self.program = program

    def __enter__(self) -> list[Operation]:
        self.outer, self.program.operations = self.program.operations, []
        return self.program.operations

    def __exit__(self, kind, error, trace) -> None:
        self.program.operations = self.outer


def loop(program: Program, index: int, trips: int, body: list[Operation], start: Extent = 0, step: int = 1, count=None):
    program.emit(Loop(index=index, start=start, step=step, trips=trips, body=tuple(body), count=count))


def upto(capacity: int, expression: Extent) -> int:
    return ragged(capacity, expression)


# Each program: what fills the arguments, and what NumPy makes of them.


def cholesky() -> tuple[Program, list, object]:
    """The lower factor in place, row by row, with dot products of ragged rows and of ragged columns."""
    p, i, j = Program(), loop_index(0), loop_index(1)
    a = p.argument("a", N, N)
    with p.block() as rows:
        with p.block() as columns:
            known = (0, upto(N, j))
            product = p.apply("multiply", p.load(p.at(a, i, known)), p.load(p.at(a, j, known)))
            rest = p.apply("subtract", p.load(p.at(a, i, j)), p.apply("reduce_sum", product, axes=(0,)))
            p.store(p.at(a, i, j), p.apply("divide", rest, p.load(p.at(a, j, j))))
        loop(p, 1, upto(N, i), columns)
        own = p.load(p.at(a, i, (0, upto(N, i))))
        square = p.apply("reduce_sum", p.apply("multiply", own, own), axes=(0,))
        p.store(p.at(a, i, i), p.apply("sqrt", p.apply("subtract", p.load(p.at(a, i, i)), square)))
        above = p.at(a, i, (i + 1, upto(N, N - 1 - i)))
        p.store(above, p.constant(0.0))
    loop(p, 0, N, rows)
    rng = np.random.default_rng(0)
    m = rng.normal(size=(N, N))
    return p, [m @ m.T + N * np.eye(N)], lambda a: [np.linalg.cholesky(a)]


def elimination() -> tuple[Program, list, object]:
    """LU in place: rows of the triangle below, `a[i, k + 1:] -= a[i, k] * a[k, k + 1:]`."""
    p, k, i = Program(), loop_index(0), loop_index(1)
    a = p.argument("a", N, N)
    with p.block() as steps:
        with p.block() as rows:
            factor = p.apply("divide", p.load(p.at(a, i, k)), p.load(p.at(a, k, k)))
            p.store(p.at(a, i, k), factor)
            rest = (k + 1, upto(N - 1, N - 1 - k))
            change = p.apply("multiply", p.load(p.at(a, k, rest)), factor)
            p.store(p.at(a, i, rest), p.apply("subtract", p.load(p.at(a, i, rest)), change))
        loop(p, 1, upto(N - 1, N - 1 - k), rows, start=k + 1)
    loop(p, 0, N, steps)

    def numpy(a):
        a = a.copy()
        for k in range(N):
            for i in range(k + 1, N):
                a[i, k] /= a[k, k]
                a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
        return [a]

    return p, [np.random.default_rng(1).normal(size=(N, N)) + N * np.eye(N)], numpy


def columns() -> tuple[Program, list, object]:
    """Ragged axes that do not lie side by side: columns read, written and summed, forwards and backwards."""
    p, i = Program(), loop_index(0)
    a, sums, ends = p.argument("a", N, N), p.argument("sums", N), p.argument("ends", N)
    with p.block() as body:
        column = p.load(p.at(a, (0, upto(N, i)), i))
        p.store(p.at(sums, i), p.apply("reduce_sum", column, axes=(0,)))
        below = p.at(a, (i + 1, upto(N - 1, N - 1 - i)), i)
        p.store(below, p.apply("multiply", p.load(below), p.load(p.at(a, i, i))))
        flipped = Region(a.id, View(N * i + i, (upto(N, i + 1),), (-1,)))
        p.store(flipped, p.apply("exp", p.load(p.at(a, i, (0, upto(N, i + 1))))))
        p.store(p.at(ends, i), p.apply("reduce_max", p.load(p.at(a, i, (0, upto(N, i + 1)))), axes=(0,)))
    loop(p, 0, N, body)

    def numpy(a, sums, ends):
        a, sums, ends = a.copy(), sums.copy(), ends.copy()
        for i in range(N):
            sums[i] = a[:i, i].sum()
            a[i + 1 :, i] *= a[i, i]
            a[i, : i + 1] = np.exp(a[i, : i + 1])[::-1].copy()
            ends[i] = a[i, : i + 1].max()
        return [a, sums, ends]

    rng = np.random.default_rng(2)
    return p, [rng.normal(size=(N, N)) * 0.5, np.zeros(N), np.zeros(N)], numpy


def rectangles() -> tuple[Program, list, object]:
    """Ragged blocks of a matrix: reduced along either axis, views of ragged values, a value with both axes ragged."""
    p, i = Program(), loop_index(0)
    a, v, y, z, t = (
        p.argument(n, *s) for n, s in (("a", (N, N)), ("v", (N,)), ("y", (N,)), ("z", (N,)), ("t", (N, N)))
    )
    rows = (0, upto(N, i))
    with p.block() as body:
        block = p.load(p.at(a, rows, (0, N)))
        along = p.apply("view", p.load(p.at(v, (0, N))), view=View(0, (rows[1], N), (0, 1)))
        product = p.apply("reduce_sum", p.apply("multiply", block, along), axes=(1,))
        p.store(p.at(y, rows), product, accumulate=True)
        part = p.load(p.at(v, rows))
        spread = p.apply("view", part, view=View(0, (rows[1], N), (1, 0)))
        p.store(p.at(z, (0, N)), p.apply("reduce_sum", p.apply("multiply", block, spread), axes=(0,)))
        corner = p.apply("sin", p.load(p.at(a, rows, (0, rows[1]))))
        turned = p.apply("view", corner, view=View(0, (rows[1], rows[1]), (1, N)))
        p.store(p.at(t, rows, rows), turned)
    loop(p, 0, N, body)

    def numpy(a, v, y, z, t):
        y, z, t = y.copy(), z.copy(), t.copy()
        for i in range(N):
            y[:i] += a[:i] @ v
            z[:] = v[:i] @ a[:i]
            t[:i, :i] = np.sin(a[:i, :i]).T
        return [a, v, y, z, t]

    rng = np.random.default_rng(3)
    return p, [rng.normal(size=s) for s in ((N, N), (N,), (N,), (N,), (N, N))], numpy


def branches() -> tuple[Program, list, object]:
    """Sides that leave numbers and arrays in memory; nested, in a loop, after one another; an index as a number."""
    p, i = Program(), loop_index(0)
    x, y = p.argument("x", N), p.argument("y", N)
    total, row = p.local(), p.local(5)
    p.store(total.whole, p.constant(0.0))
    scale = p.apply("exp", p.load(p.at(x, 0)))
    with p.block() as body:
        number = p.load(p.at(x, i))
        index = p.apply("cast", p.position(2 * i + 1), dtype=FLOAT)
        with p.block() as then:
            deep = p.apply("sqrt", number)
            with p.block() as large:
                p.store(total.whole, p.apply("multiply", deep, index), accumulate=True)
            with p.block() as small:
                p.store(p.at(y, i), p.apply("add", deep, p.load(total.whole)))
            p.emit(
                Branch(predicate=p.apply("greater", deep, p.constant(0.8)), then=tuple(large), otherwise=tuple(small))
            )
            p.store(row.whole, p.apply("multiply", p.load(p.at(x, (0, 5))), number))
        with p.block() as otherwise:
            p.store(row.whole, scale)
        p.emit(
            Branch(predicate=p.apply("greater", number, p.constant(0.0)), then=tuple(then), otherwise=tuple(otherwise))
        )
        p.store(p.at(y, i), p.apply("reduce_sum", p.load(row.whole), axes=(0,)), accumulate=True)
    loop(p, 0, N, body)
    p.store(p.at(y, 0), p.load(total.whole), accumulate=True)

    def numpy(x, y):
        y, total = y.copy(), 0.0
        for i in range(N):
            if x[i] > 0:
                if np.sqrt(x[i]) > 0.8:
                    total += np.sqrt(x[i]) * (2 * i + 1)
                else:
                    y[i] = np.sqrt(x[i]) + total
                row = x[:5] * x[i]
            else:
                row = np.full(5, np.exp(x[0]))
            y[i] += row.sum()
        y[0] += total
        return [x, y]

    rng = np.random.default_rng(4)
    return p, [rng.normal(size=N), rng.normal(size=N)], numpy


def counted() -> tuple[Program, list, object]:
    """As many iterations as a number in memory says; backwards, in a loop, none at all."""
    p, i, j = Program(), loop_index(0), loop_index(1)
    counts, x = p.argument("counts", 4, dtype=INT), p.argument("x", 4, 9)
    with p.block() as outer:
        count = p.apply("add", p.load(p.at(counts, i)), p.constant(1))
        with p.block() as inner:
            old = p.load(p.at(x, i, j))
            p.store(p.at(x, i, j), p.apply("add", old, p.load(p.at(x, i, j + 1))))
        loop(p, 1, 8, inner, start=7, step=-1, count=count)
    loop(p, 0, 4, outer)

    def numpy(counts, x):
        x = x.copy()
        for i in range(4):
            for j in list(range(7, -1, -1))[8 - counts[i] - 1 :]:
                x[i, j] += x[i, j + 1]
        return [counts, x]

    return p, [np.array([3, -1, 7, 0]), np.random.default_rng(5).normal(size=(4, 9))], numpy


def carried() -> tuple[Program, list, object]:
    """Scalars carried from iteration to iteration, also by an inner loop whose bounds move."""
    p, i, j = Program(), loop_index(0), loop_index(1)
    x, y = p.argument("x", N), p.argument("y", 1)
    a, b, inner = p.local(), p.local(), p.local()
    p.store(a.whole, p.constant(1.0))
    p.store(b.whole, p.constant(0.5))
    with p.block() as outer:
        old, other = p.load(a.whole), p.load(b.whole)
        p.store(inner.whole, other)
        with p.block() as body:
            s = p.load(inner.whole)
            p.store(inner.whole, p.apply("add", p.apply("multiply", s, p.load(p.at(x, j))), old))
        loop(p, 1, upto(3, affine(2, {0: -1})), body, start=i)
        p.store(b.whole, p.load(inner.whole))
        p.store(a.whole, p.apply("multiply", p.apply("sin", other), p.load(p.at(x, i))))
    loop(p, 0, N, outer)
    p.store(p.at(y, 0), p.apply("add", p.load(a.whole), p.load(b.whole)))

    def numpy(x, y):
        a, b = 1.0, 0.5
        for i in range(N):
            s = b
            for j in range(i, i + max(2 - i, 0)):
                s = s * x[j] + a
            a, b = np.sin(b) * x[i], s
        return [x, np.array([a + b])]

    return p, [np.random.default_rng(6).normal(size=N), np.zeros(1)], numpy


def gathers() -> tuple[Program, list, object]:
    """Reads and additions at computed places along a ragged axis, and at the loop's own index."""
    p, i = Program(), loop_index(0)
    x, k, y = p.argument("x", N), p.argument("k", N, dtype=INT), p.argument("y", N)
    part = (0, upto(N, i))
    with p.block() as body:
        places = p.load(p.at(k, part))
        found = p.apply("gather", p.load(x.whole), places)
        p.scatter(y.whole, (places,), p.apply("multiply", found, p.load(p.at(x, part))), accumulate=True)
        here = p.apply("gather", p.load(y.whole), p.position(i))
        p.store(p.at(y, i), p.apply("add", here, p.constant(1.0)))
        p.scatter(y.whole, (p.load(p.at(k, i)),), p.apply("negative", p.load(p.at(x, i))), accumulate=True)
    loop(p, 0, N, body)

    def numpy(x, k, y):
        y = y.copy()
        for i in range(N):
            np.add.at(y, k[:i], x[k[:i]] * x[:i])
            y[i] += 1.0
            y[k[i]] -= x[i]
        return [x, k, y]

    rng = np.random.default_rng(7)
    return p, [rng.normal(size=N), rng.integers(0, N, N), rng.normal(size=N)], numpy


def from_outside() -> tuple[Program, list, object]:
    """What a body reads of what was made before it: numbers, arrays, memory that stays, memory that does not."""
    p, i = Program(), loop_index(0)
    x, y = p.argument("x", 5, N), p.argument("y", 5, N)
    stays, changes = p.load(p.at(x, 0, (0, N))), p.load(p.at(y, 1, (0, N)))
    made = p.apply("exp", stays)
    with p.block() as body:
        total = p.apply("add", p.apply("add", stays, changes), made)
        p.store(p.at(y, i, (0, N)), p.apply("multiply", total, p.load(p.at(x, i, (0, N)))))
    loop(p, 0, 5, body)
    p.store(p.at(x, 0, (0, N)), p.constant(0.0))

    def numpy(x, y):
        x, y = x.copy(), y.copy()
        total = x[0] + y[1] + np.exp(x[0])
        for i in range(5):
            y[i] = total * x[i]
        x[0] = 0
        return [x, y]

    rng = np.random.default_rng(8)
    return p, [rng.normal(size=(5, N)), rng.normal(size=(5, N))], numpy


MAKERS = (cholesky, elimination, columns, rectangles, branches, counted, carried, gathers, from_outside)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_all_ways_to_run_it_agree_with_numpy(make) -> None:
    program, arrays, numpy = make()
    tape = program.compiled()
    expected = numpy(*(a.copy() for a in arrays))
    for found in (tape.interpreted(arrays), tape.scheduled(arrays), tape.scheduled(arrays, 2, True), tape.run(arrays)):
        for number, reference in zip(found, expected):
            np.testing.assert_allclose(number, reference, rtol=1e-12, atol=1e-12)
    assert str(tape.tape) and "0x" not in str(tape.tape)


@pytest.mark.parametrize("primitive", ("negative", "sin"))
@pytest.mark.parametrize("extent", (1, 2, 7, 8, 9, 31, 40, 100, 203))
def test_ragged_sums_of_any_length(extent: int, primitive: str) -> None:
    """Main loop of several sums, single vectors, and single numbers or a masked block meet without gap or overlap."""
    p, i = Program(), loop_index(0)
    x, y, z = p.argument("x", extent), p.argument("y", extent + 1), p.argument("z", extent + 1, extent)
    with p.block() as body:
        part = p.apply(primitive, p.load(p.at(x, (0, upto(extent, i)))))
        p.store(p.at(y, i), p.apply("reduce_sum", p.apply("multiply", part, part), axes=(0,)))
        p.store(p.at(z, i, (0, upto(extent, i))), part, accumulate=True)
    loop(p, 0, extent + 1, body)
    tape = p.compiled()
    numbers = np.arange(1.0, extent + 1)
    _, y_found, z_found = tape.run([numbers, np.zeros(extent + 1), np.zeros((extent + 1, extent))])
    values = getattr(np, primitive)(numbers)
    np.testing.assert_allclose(y_found, [np.sum(values[:k] ** 2) for k in range(extent + 1)], rtol=1e-13)
    np.testing.assert_allclose(z_found, np.tri(extent + 1, extent, -1) * values, rtol=1e-13)


@pytest.mark.parametrize("kind", ("float32", "int64", "bool"))
def test_ragged_reads_and_writes_of_every_type(kind: str) -> None:
    p, i = Program(), loop_index(0)
    x, y = p.argument("x", N, dtype=np.dtype(kind)), p.argument("y", N + 1, N, dtype=np.dtype(kind))
    back = p.argument("back", N + 1, N, dtype=np.dtype(kind))
    wave = p.argument("wave", N + 1, N)
    with p.block() as body:
        part = p.load(p.at(x, (0, upto(N, i))))
        p.store(p.at(y, i, (0, upto(N, i))), part)
        p.store(Region(back.id, View(N * i + i - 1, (upto(N, i),), (-1,))), part)
        p.store(p.at(wave, i, (0, upto(N, i))), p.apply("exp", p.cast(part, FLOAT)))  # under a mask
    loop(p, 0, N + 1, body)
    numbers = (np.arange(N) % 3 - 1).astype(kind)
    arrays = [numbers, *(np.zeros((N + 1, N), kind) for _ in range(2)), np.zeros((N + 1, N))]
    _, forwards, backwards, waves = p.compiled().run(arrays)
    for k in range(N + 1):
        np.testing.assert_array_equal(forwards[k], np.append(numbers[:k], np.zeros(N - k, kind)))
        np.testing.assert_array_equal(backwards[k], np.append(numbers[:k][::-1], np.zeros(N - k, kind)))
        np.testing.assert_allclose(waves[k, :k], np.exp(numbers[:k].astype(float)), rtol=1e-14)


def test_scalar_work_of_a_body_is_one_block() -> None:
    program, _, _ = carried()
    (outer,) = (s for s in program.compiled().memory.steps if isinstance(s, LoopStep))
    assert [type(s) for s in outer.steps] == [Nest, LoopStep, Nest]
    (inner,) = (s for s in outer.steps if isinstance(s, LoopStep))
    assert len(inner.steps) == 1


def test_an_outer_array_that_stays_is_not_copied() -> None:
    program, _, _ = from_outside()
    plan = program.compiled().memory
    assert sum(plan.sizes.values()) == 2 * N * 8  # the exponentials, and what is overwritten
    assert any(isinstance(s, LoopStep) for s in walk_steps(plan.steps))


def test_slots_of_a_body_share_places() -> None:
    """In a chain of scans each result is dead after the next: two places do, whatever the number of iterations."""
    p, i = Program(), loop_index(0)
    x = p.argument("x", 50, 100)
    with p.block() as body:
        value = p.load(p.at(x, i, (0, 100)))
        for _ in range(6):
            value = p.apply("cumulate", value, axis=0, operation="add", reverse=False, exclusive=False)
        p.store(p.at(x, i, (0, 100)), value)
    loop(p, 0, 50, body)
    assert p.compiled().memory.workspace_nbytes <= 2 * 832


def test_a_carried_scalar_needs_no_memory() -> None:
    """Nothing is loaded or stored in the loop of `c = r * c * (1 - c)`."""
    p = Program()
    x, carry = p.argument("x", 2), p.local()
    p.store(carry.whole, p.load(p.at(x, 0)))
    with p.block() as body:
        old = p.load(carry.whole)
        rest = p.apply("subtract", p.constant(1.0), old)
        p.store(carry.whole, p.apply("multiply", p.apply("multiply", p.load(p.at(x, 1)), old), rest))
    loop(p, 0, 1000, body)
    p.store(p.at(x, 0), p.load(carry.whole))
    tape = p.compiled()
    (kernel,) = re.findall(r"^define .*?\.kernel\(.*?^}", tape.call.llvm(), re.DOTALL | re.MULTILINE)
    blocks = [block for block in kernel.split("\n\n") if " phi double " in block]
    assert blocks and not any(" load " in block or " store " in block for block in blocks)
