"""Loops and branches written as tapes, with the bytes that their adjoints keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from planned_ad.regions.affine import Extent, loop_index, ragged
from planned_ad.regions.regions import Region, View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.tape import Branch, Buffer, Loop, Operation, Tape, Value
from planned_ad.tape.verify import verify

N = 6
FLOAT = np.dtype(float)


class Program(TapeBuilder):
    """A tape under construction, with loops and branches as `with` blocks, and memory in the notation of NumPy."""

    indices: int = 0

    def argument(self, name: str, *shape: int) -> Buffer:
        return self.new_buffer("argument", name, FLOAT, contiguous(shape))

    def local(self, *shape: int, dtype: np.dtype = FLOAT) -> Buffer:
        return self.new_buffer("local", "local", dtype, contiguous(shape))

    @contextmanager
    def block(self) -> Iterator[list[Operation]]:
        outer, self.operations = self.operations, []
        yield self.operations
        self.operations = outer

    @contextmanager
    def loop(self, trips: int, start: Extent = 0, step: int = 1, count: Value | None = None) -> Iterator:
        index, self.indices = self.indices, self.indices + 1
        with self.block() as body:
            yield loop_index(index)
        self.emit(Loop(index=index, start=start, step=step, trips=trips, body=tuple(body), count=count))

    def branch(self, predicate: Value, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None):
        with self.block() as first:
            then()
        with self.block() as second:
            otherwise()
        self.emit(Branch(predicate=predicate, then=tuple(first), otherwise=tuple(second)))

    def at(self, buffer: Buffer, *places) -> Region:
        """An element, or a row: a pair (start, extent) is a slice."""
        offset: Extent = 0
        shape, strides = [], []
        for place, stride in zip(places, buffer.view.strides):
            start = place[0] if isinstance(place, tuple) else place
            offset += start * stride
            if isinstance(place, tuple):
                shape.append(place[1])
                strides.append(stride)
        return Region(buffer.id, View(offset, tuple(shape), tuple(strides)))

    def read(self, buffer: Buffer, *places) -> Value:
        return self.load(self.at(buffer, *places))

    def write(self, value: Value, buffer: Buffer, *places, accumulate: bool = False) -> None:
        self.store(self.at(buffer, *places), value, accumulate)

    def times(self, a: Value, b: Value) -> Value:
        return self.apply("multiply", a, b)

    def sum(self, buffer: Buffer) -> Value:
        return self.apply("reduce_sum", self.load(buffer.whole), axes=tuple(range(len(buffer.shape))))

    def finished(self, result: Value, arguments: int = 1) -> Tape:
        ids = tuple(b.id for b in self.buffers if b.kind == "argument")
        return verify(self.tape(ids, (result,), frozenset(ids[:arguments])))


@dataclass
class Case:
    tape: Tape
    shapes: list[tuple[int, ...]]
    cached: int  # bytes
    positive: bool = False

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(3)
        return [rng.uniform(0.3, 0.9, s) if self.positive else rng.normal(size=s) for s in self.shapes]


CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def logistic_map() -> Case:
    """for t: x = r x (1 - x), with x carried in memory."""
    p = Program()
    start, s = p.argument("x", 1), p.local(1)
    r = p.constant(3.7)
    p.write(p.read(start, 0), s, 0)
    with p.loop(N):
        x = p.read(s, 0)
        p.write(p.times(p.times(r, x), p.apply("subtract", p.constant(1.0), x)), s, 0)
    return Case(p.finished(p.read(s, 0)), [(1,)], N * 8, positive=True)


@case
def logistic_map_in_r() -> Case:
    """As above, with r active and read from an argument outside the loop."""
    p = Program()
    start, factor, s = p.argument("x", 1), p.argument("r", 1), p.local(1)
    r = p.read(factor, 0)
    p.write(p.read(start, 0), s, 0)
    with p.loop(N):
        x = p.read(s, 0)
        p.write(p.times(p.times(r, x), p.apply("subtract", p.constant(1.0), x)), s, 0)
    return Case(p.finished(p.read(s, 0), 2), [(1,), (1,)], N * 8, positive=True)


@case
def jacobi() -> Case:
    """for t: u[1:-1] = 0.5 (u[:-2] + u[2:])"""
    p = Program()
    u = p.argument("u", N)
    with p.loop(4):
        total = p.apply("add", p.read(u, (0, N - 2)), p.read(u, (2, N - 2)))
        p.write(p.times(total, p.constant(0.5)), u, (1, N - 2))
    return Case(p.finished(p.apply("reduce_sum", squares(p, u), axes=(0,))), [(N,)], 0)


def squares(p: Program, buffer: Buffer) -> Value:
    value = p.load(buffer.whole)
    return p.times(value, value)


@case
def burgers() -> Case:
    """for t: u[1:-1] = u[1:-1] * u[:-2] * u[1:-1]: both factors are lost; in a copy of u they are kept once."""
    p = Program()
    u = p.argument("u", N)
    with p.loop(4):
        first = p.times(p.read(u, (1, N - 2)), p.read(u, (0, N - 2)))
        p.write(p.times(first, p.read(u, (1, N - 2))), u, (1, N - 2))
    return Case(p.finished(p.sum(u)), [(N,)], 4 * N * 8, positive=True)


@case
def triangular_product() -> Case:
    """for i: for j: b[i, j] += sum(a[i, i+1:] * b[j, i+1:]); b *= b: the rows are those from before the loops."""
    p = Program()
    a, b = p.argument("a", N, N), p.argument("b", N, N)
    with p.loop(N) as i, p.loop(N) as j:
        rest = (i + 1, ragged(N, N - 1 - i))
        products = p.times(p.read(a, i, rest), p.read(b, j, rest))
        p.write(p.apply("reduce_sum", products, axes=(0,)), b, j, i, accumulate=True)
    p.store(b.whole, p.times(p.load(b.whole), p.load(b.whole)))
    return Case(p.finished(p.sum(b), 2), [(N, N), (N, N)], N * N * 8)


@case
def nonlinear_scalars() -> Case:
    """for t: for i: v[i] = u[i-1] u[i] u[i+1]; u[...] = v: u is kept once for each t, not three times."""
    p = Program()
    u, v = p.argument("u", N), p.local(N)
    with p.loop(3):
        p.store(v.whole, p.constant(0.5))
        with p.loop(N - 2, 1) as i:
            p.write(p.times(p.times(p.read(u, i - 1), p.read(u, i)), p.read(u, i + 1)), v, i)
        p.store(u.whole, p.load(v.whole))
    return Case(p.finished(p.sum(u)), [(N,)], 3 * N * 8, positive=True)


@case
def gauss_seidel() -> Case:
    """for t: for i: for j: a[i, j] += 0.3 a[i, j-1] + 0.2 a[i-1, j]"""
    p = Program()
    a = p.argument("a", N, N)
    with p.loop(3), p.loop(N - 1, 1) as i, p.loop(N - 1, 1) as j:
        total = p.apply(
            "add", p.times(p.constant(0.3), p.read(a, i, j - 1)), p.times(p.constant(0.2), p.read(a, i - 1, j))
        )
        p.write(p.apply("add", p.read(a, i, j), total), a, i, j)
    whole = squares(p, a)
    return Case(p.finished(p.apply("reduce_sum", whole, axes=(0, 1))), [(N, N)], 0)


@case
def sine_chain() -> Case:
    """x[i] = sin(x[i-1])"""
    p = Program()
    x = p.argument("x", N)
    with p.loop(N - 1, 1) as i:
        p.write(p.apply("sin", p.read(x, i - 1)), x, i)
    return Case(p.finished(p.sum(x)), [(N,)], 0)


@case
def exponential_chain() -> Case:
    """x[i] = exp(x[i] * x[i-1]): the result is in x[i]; x[i] itself is lost."""
    p = Program()
    x = p.argument("x", N)
    with p.loop(N - 1, 1) as i:
        p.write(p.apply("exp", p.times(p.read(x, i), p.read(x, i - 1))), x, i)
    return Case(p.finished(p.sum(x)), [(N,)], 8 * (N - 1))


@case
def backward_chain() -> Case:
    """for i in range(N - 2, -1, -1): x[i] = x[i] + x[i+1]**2 (a step of minus one)"""
    p = Program()
    x = p.argument("x", N)
    with p.loop(N - 1, N - 2, -1) as i:
        above = p.read(x, i + 1)
        p.write(p.apply("add", p.read(x, i), p.times(above, above)), x, i)
    return Case(p.finished(p.sum(x)), [(N,)], 0)


def cholesky_inner(p: Program, a: Buffer, i, j) -> None:
    with p.loop(ragged(N, j)) as k:
        product = p.times(p.read(a, i, k), p.read(a, j, k))
        p.write(p.apply("subtract", p.read(a, i, j), product), a, i, j)


@case
def cholesky() -> Case:
    """In place: for j: A[j,j] -= ...; A[j,j] = sqrt; for i > j: A[i,j] -= A[i,k] A[j,k]; A[i,j] /= A[j,j]"""
    p = Program()
    x, a = p.argument("x", N, N), p.local(N, N)
    p.store(a.whole, p.load(x.whole))
    with p.loop(N) as d:
        p.write(p.apply("add", p.read(a, d, d), p.constant(8.0)), a, d, d)
    with p.loop(N) as j:
        cholesky_inner(p, a, j, j)
        p.write(p.apply("sqrt", p.read(a, j, j)), a, j, j)
        with p.loop(ragged(N, N - 1 - j), j + 1) as i:
            cholesky_inner(p, a, i, j)
            p.write(p.apply("divide", p.read(a, i, j), p.read(a, j, j)), a, i, j)
    with p.loop(N) as t:
        p.write(p.constant(0.5), a, t, (t + 1, ragged(N, N - 1 - t)))
    return Case(p.finished(p.apply("reduce_sum", squares(p, a), axes=(0, 1))), [(N, N)], 0)


@case
def lower_upper() -> Case:
    """for k: for i > k: A[i,k] /= A[k,k]; for i > k: A[i,k+1:] -= A[i,k] A[k,k+1:] (ragged rows)"""
    p = Program()
    x, a = p.argument("x", N, N), p.local(N, N)
    p.store(a.whole, p.load(x.whole))
    with p.loop(N) as d:
        p.write(p.apply("add", p.read(a, d, d), p.constant(8.0)), a, d, d)
    with p.loop(N - 1) as k:
        rest = ragged(N, N - 1 - k)
        with p.loop(rest, k + 1) as i:
            p.write(p.apply("divide", p.read(a, i, k), p.read(a, k, k)), a, i, k)
        with p.loop(rest, k + 1) as i:
            row = p.times(p.read(a, i, k), p.read(a, k, (k + 1, rest)))
            p.write(p.apply("subtract", p.read(a, i, (k + 1, rest)), row), a, i, (k + 1, rest))
    return Case(p.finished(p.apply("reduce_sum", squares(p, a), axes=(0, 1))), [(N, N)], 0)


@case
def triangular_solve() -> Case:
    """x[i] = (b[i] - sum(L[i,:i] * x[:i])) / L[i,i]"""
    p = Program()
    matrix, b, x = p.argument("L", N, N), p.argument("b", N), p.local(N)
    with p.loop(N) as i:
        products = p.times(p.read(matrix, i, (0, ragged(N, i))), p.read(x, (0, ragged(N, i))))
        left = p.apply("subtract", p.read(b, i), p.apply("reduce_sum", products, axes=(0,)))
        p.write(p.apply("divide", left, p.read(matrix, i, i)), x, i)
    return Case(p.finished(p.apply("reduce_sum", squares(p, x), axes=(0,)), 2), [(N, N), (N,)], 0, positive=True)


@case
def thomas() -> Case:
    """Forward elimination and back substitution of a tridiagonal system, in place."""
    p = Program()
    a, b, c, d = (p.argument(name, N) for name in "abcd")
    with p.loop(N) as k:
        p.write(p.apply("add", p.read(b, k), p.constant(4.0)), b, k)
    with p.loop(N - 1, 1) as i:
        w = p.apply("divide", p.read(a, i), p.read(b, i - 1))
        p.write(p.apply("subtract", p.read(b, i), p.times(w, p.read(c, i - 1))), b, i)
        p.write(p.apply("subtract", p.read(d, i), p.times(w, p.read(d, i - 1))), d, i)
    p.write(p.apply("divide", p.read(d, N - 1), p.read(b, N - 1)), d, N - 1)
    with p.loop(N - 1, N - 2, -1) as i:
        rest = p.apply("subtract", p.read(d, i), p.times(p.read(c, i), p.read(d, i + 1)))
        p.write(p.apply("divide", rest, p.read(b, i)), d, i)
    # d[i-1] is lost in the back substitution: one number for each step.
    return Case(p.finished(p.sum(d), 4), [(N,)] * 4, 8 * (N - 1))


@case
def branch_at_top() -> Case:
    """if x[0] > 0: x[1] = exp(x[1] x[2]) * x[1] else: x[1] = sin(x[1])"""
    p = Program()
    x = p.argument("x", N)

    def then() -> None:
        old = p.read(x, 1)
        p.write(p.times(p.apply("exp", p.times(old, p.read(x, 2))), old), x, 1)

    p.branch(p.apply("greater", p.read(x, 0), p.constant(0.0)), then, lambda: p.write(sine_of(p, x, 1), x, 1))
    return Case(p.finished(p.sum(x)), [(N,)], 24)


def sine_of(p: Program, x: Buffer, place) -> Value:
    return p.apply("sin", p.read(x, place))


@case
def branches_in_loops() -> Case:
    """for t: for i: s = y[i] * f; if s > x[i] and ...: x[i] = x[i] s else: nested branch with a loop"""
    p = Program()
    x, y, s = p.argument("x", N), p.argument("y", N), p.local(1)
    factor = p.apply("exp", p.read(y, 0))
    p.write(p.constant(0.3), s, 0)
    with p.loop(3), p.loop(N) as i:
        carried = p.read(s, 0)
        number = p.times(p.read(y, i), factor)
        test = p.apply("greater", p.times(p.read(x, i), number), p.constant(0.1))

        def then(i=i, number=number, carried=carried) -> None:
            p.write(p.times(p.apply("sin", p.times(p.read(x, i), number)), carried), x, i)
            p.write(p.times(carried, p.constant(0.9)), s, 0)

        def otherwise(i=i, number=number, carried=carried) -> None:
            with p.loop(2):
                old = p.read(s, 0)
                p.write(p.apply("tanh", p.apply("add", p.times(old, number), p.read(x, i))), s, 0)

            def inner() -> None:
                p.write(p.times(carried, carried), x, i, accumulate=True)

            p.branch(p.apply("less", p.read(y, i), p.constant(0.0)), inner)

        p.branch(test, then, otherwise)
    result = p.apply("add", p.read(s, 0), p.sum(x))
    # In each of 18 iterations: s, x[i], its sine, what is branched by; s before and after each of two inner ones.
    return Case(p.finished(result, 2), [(N,), (N,)], 18 * (3 * 8 + 1 + 3 * 8))


@case
def counted() -> Case:
    """for t in range(n), n = number of positive y: s = s * s * y[t]"""
    p = Program()
    x, s = p.argument("x", 1), p.local(1)
    y = p.argument("y", N)
    p.write(p.read(x, 0), s, 0)
    positive = p.cast(p.apply("greater", p.load(y.whole), p.constant(0.0)), np.dtype(np.int64))
    count = p.apply("reduce_sum", positive, axes=(0,))
    with p.loop(N, count=count) as t:
        old = p.read(s, 0)
        p.write(p.times(p.apply("cos", old), p.read(y, t)), s, 0)
    # cos of the last is an operand of the product, and its argument one of the sine.
    return Case(p.finished(p.read(s, 0), 2), [(1,), (N,)], 2 * N * 8)


@case
def counted_in_a_loop() -> Case:
    """As above, inside a loop that makes the count."""
    p = Program()
    x, s = p.argument("x", N), p.local(1)
    p.write(p.constant(0.7), s, 0)
    with p.loop(3, 2) as t:
        positive = p.cast(p.apply("greater", p.read(x, (t, N - 4)), p.constant(0.0)), np.dtype(np.int64))
        count = p.apply("reduce_sum", positive, axes=(0,))
        with p.loop(N, count=count) as i:
            old = p.read(s, 0)
            p.write(p.apply("add", p.times(old, old), p.read(x, i)), s, 0)
    return Case(p.finished(p.read(s, 0)), [(N,)], 3 * N * 8 + 3 * 8)


@case
def recurrent_network() -> Case:
    """for t: h = tanh(W h + x[t]): the states, each once, and the first one."""
    p = Program()
    x, w, h = p.argument("x", 4, N), p.argument("w", N, N), p.local(N)
    p.store(h.whole, p.constant(0.1))
    with p.loop(4) as t:
        products = p.times(p.load(w.whole), p.view(p.load(h.whole), View(0, (N, N), (0, 1))))
        total = p.apply("add", p.apply("reduce_sum", products, axes=(1,)), p.read(x, t, (0, N)))
        p.store(h.whole, p.apply("tanh", total))
    return Case(p.finished(p.sum(h), 2), [(4, N), (N, N)], 5 * N * 8)


@case
def two_carried() -> Case:
    """for t: a, b = b, sin(a b); the sine is computed before a is read again"""
    p = Program()
    x, a, b = p.argument("x", 2), p.local(1), p.local(1)
    p.write(p.read(x, 0), a, 0)
    p.write(p.read(x, 1), b, 0)
    with p.loop(N):
        second = p.read(b, 0)
        new = p.apply("sin", p.times(p.read(a, 0), second))
        p.write(second, a, 0)
        p.write(new, b, 0)
        p.write(p.times(p.read(b, 0), p.read(a, 0)), x, 0, accumulate=True)
    return Case(p.finished(p.apply("add", p.read(b, 0), p.sum(x))), [(2,)], 8 * (N + 1) + 8 * N)


@case
def ragged_rows() -> Case:
    """Values of a ragged extent, used in an inner loop, with views of them, and sums."""
    p = Program()
    x, y = p.argument("x", N, N), p.argument("y", N)
    with p.loop(N) as i:
        n = ragged(N, i + 1)
        row = p.apply("sin", p.read(x, i, (0, n)))
        total = p.apply("reduce_sum", row, axes=(0,))
        with p.loop(n) as j:
            part = p.view(row, View(j, (), ()))
            p.write(p.times(p.times(part, total), p.read(y, j)), y, j)
        both = p.view(row, View(0, (2, n), (0, 1)))
        squared = p.times(both, both)
        p.write(p.apply("reduce_sum", squared, axes=(0, 1)), y, i, accumulate=True)
        p.write(p.view(row, View(i, (n,), (-1,))), y, (0, n), accumulate=True)
    # The sines, and y[j] of the inner loop.
    return Case(p.finished(p.sum(y), 2), [(N, N), (N,)], 8 * (N * N + N * N))


@case
def index_values() -> Case:
    """for i: x[i] = x[i] * i * x[i]"""
    p = Program()
    x = p.argument("x", N)
    with p.loop(N) as i:
        number = p.cast(p.index_value(2 * i + 1), FLOAT)
        old = p.read(x, i)
        p.write(p.times(p.times(old, number), old), x, i)
    return Case(p.finished(p.sum(x)), [(N,)], 8 * N)


@case
def rows_through_outer_values() -> Case:
    """An outer value that only a doubly nested loop uses: its cotangent is added up once, where it was made."""
    p = Program()
    x, y = p.argument("x", N), p.local(N, N)
    p.store(y.whole, p.constant(0.0))
    with p.loop(N) as i:
        number = p.apply("exp", p.read(x, i))
        with p.loop(N) as j, p.loop(2):
            p.write(p.times(number, p.read(x, j)), y, i, j, accumulate=True)
    return Case(p.finished(p.sum(y)), [(N,)], 8 * N)


@case
def gathers() -> Case:
    """for i: k = some permutation [i]; x[k] = x[k]**2 y[k]: indices are integers from memory."""
    p = Program()
    x, y = p.argument("x", N), p.argument("y", N)
    order = p.constant(np.array([3, 1, 4, 0, 5, 2]))
    with p.loop(N) as i:
        k = p.view(order, View(i, (), ()))
        old = p.apply("gather", p.load(x.whole), k)
        p.scatter(x.whole, (k,), p.times(p.times(old, old), p.apply("gather", p.load(y.whole), k)))
    return Case(p.finished(p.sum(x), 2), [(N,), (N,)], 8 * N)


@case
def temporary_in_a_loop() -> Case:
    """for i: t = zeros(3); t[0] = x[i]; t[1] = t[0] * x[i]; x[i] += sum(t * t)"""
    p = Program()
    x, t = p.argument("x", N), p.local(3)
    with p.loop(N) as i:
        p.store(t.whole, p.constant(0.0))
        p.write(p.read(x, i), t, 0)
        p.write(p.times(p.read(t, 0), p.read(x, i)), t, 1)
        p.write(p.apply("reduce_sum", squares(p, t), axes=(0,)), x, i, accumulate=True)
    # x[i] from before, from which the rest is computed again: but the squares need the array, of three.
    return Case(p.finished(p.sum(x)), [(N,)], 8 * 4 * N)
