"""Loops whose iterations are independent become array operations; others stay loops."""

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.pipeline import simplify
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.regions.affine import Ragged, loop_index
from planned_ad.regions.regions import Region, View
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.tape import Loop, Store, walk
from planned_ad.trace import trace
from tests.blocks import Program, assert_same, at, counted

N = 9


def summed():
    """s = 0; for i: s += sin(x[i]) * x[i]"""
    b = Program()
    x, s = b.argument("x", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        v = b.load(s.whole)
        u = b.load(at(x, i))
        b.store(s.whole, b.apply("add", v, b.apply("multiply", b.apply("sin", u), u)))
    return b.primal(b.load(s.whole))


def several_terms():
    """for i: s = (s + x[i]) - y[i]; s = 2 + s; m = max(x[i], m); m = max(m, y[i])"""
    b = Program()
    x, y, s, m = b.argument("x", N), b.argument("y", N), b.local("s"), b.local("m")
    b.store(s.whole, b.load(at(y, 2)))
    b.store(m.whole, b.load(at(y, 3)))
    with b.loop(0, N) as i:
        w = b.apply("subtract", b.apply("add", b.load(s.whole), b.load(at(x, i))), b.load(at(y, i)))
        b.store(s.whole, b.apply("add", b.constant(2.0), w))
        largest = b.apply("maximum", b.load(at(x, i)), b.load(m.whole))
        b.store(m.whole, b.apply("maximum", largest, b.load(at(y, i))))
    return b.primal(b.load(s.whole), b.load(m.whole))


def backwards():
    """for i from N - 2 down to 0: y[i] = x[i + 1] * i; t = x[i]; z[1] += y[i]"""
    b = Program()
    x, y, z, t = b.argument("x", N), b.argument("y", N), b.argument("z", 3), b.local("t")
    with b.loop(0, N - 1, start=N - 2, step=-1) as i:
        number = b.cast(b.index_value(i + 3), np.dtype(float))
        w = b.apply("multiply", b.load(at(x, i + 1)), number)
        b.store(at(y, i), w)
        b.store(t.whole, b.load(at(x, i)))
        b.store(at(z, 1), w, accumulate=True)
        b.store(at(z, 2), b.load(at(x, 4)), accumulate=True)
    return b.primal(b.load(t.whole))


def rows():
    """for i: a = A[i]; A[i] = a * w + a[2]; c[i] = a @ w; acc += a[::-1]; g[i] = w[k[i]]"""
    b = Program()
    A, w, c, acc = b.argument("A", N, 4), b.argument("w", 4), b.argument("c", N), b.argument("acc", 4)
    k, g = b.argument("k", N, dtype=np.dtype(np.int64)), b.argument("g", N)
    weights = b.load(w.whole)
    with b.loop(0, N) as i:
        a = b.load(at(A, i))
        one = b.apply("view", a, view=View(2, (), ()))
        b.store(at(A, i), b.apply("add", b.apply("multiply", a, weights), one))
        b.store(at(c, i), b.apply("contract", a, weights, a_labels=(0,), b_labels=(0,), out_labels=()))
        b.store(acc.whole, b.apply("view", a, view=View(3, (4,), (-1,))), accumulate=True)
        b.store(at(g, i), b.apply("gather", weights, b.load(at(k, i))))
    return b.primal()


def columns():
    """for j: A[:, j] = A[:, j] * w[j]; B[j, 2:] = A[1:, j].sum(); total += cumsum(A[:, j])"""
    b = Program()
    A, w, B, total = b.argument("A", 5, 4), b.argument("w", 4), b.argument("B", 4, 6), b.argument("total", 5)
    with b.loop(0, 4) as j:
        region = Region(A.id, View(j, (5,), (4,)))
        column = b.apply("multiply", b.load(region), b.load(at(w, j)))
        b.store(region, column)
        low = b.apply("reduce_sum", b.apply("view", column, view=View(1, (4,), (1,))), axes=(0,))
        b.store(Region(B.id, View(6 * j + 2, (4,), (1,))), low)
        running = b.apply("cumulate", column, axis=0, operation="add", reverse=False, exclusive=False)
        b.store(total.whole, running, accumulate=True)
    return b.primal()


def histogram():
    """for i: h[k[i]] += x[i]; last[k[i]] = x[i]"""
    b = Program()
    x, k = b.argument("x", N), b.argument("k", N, dtype=np.dtype(np.int64))
    h, last = b.argument("h", 3), b.argument("last", 3)
    with b.loop(0, N) as i:
        u, j = b.load(at(x, i)), b.load(at(k, i))
        b.scatter(h.whole, (j,), u, accumulate=True)
        b.scatter(last.whole, (j,), u)
    return b.primal()


def matrix_product():
    """for i: for j: s = 0; for k: s += A[i, k] * B[k, j]; C[i, j] = s"""
    b = Program()
    A, B, C, s = b.argument("A", 3, 5), b.argument("B", 5, 4), b.argument("C", 3, 4), b.local("s")
    with b.loop(0, 3) as i, b.loop(1, 4) as j:
        b.store(s.whole, b.constant(0.0))
        with b.loop(2, 5) as k:
            product = b.apply("multiply", b.load(at(A, i, k)), b.load(at(B, k, j)))
            b.store(s.whole, b.apply("add", b.load(s.whole), product))
        b.store(at(C, i, j), b.load(s.whole))
    return b.primal()


def halves():
    """for i: x[i] = x[i + 4] * 2: what is read lies beyond all that is written"""
    b = Program()
    x = b.argument("x", 8)
    with b.loop(0, 4) as i:
        b.store(at(x, i), b.apply("multiply", b.load(at(x, i + 4)), b.constant(2.0)))
    return b.primal()


def views_that_move():
    """v = exp(x); for i: y[i] = v[N - 1 - i]"""
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    v = b.apply("exp", b.load(x.whole))
    with b.loop(0, N) as i:
        b.store(at(y, i), b.apply("view", v, view=View(N - 1 - i, (), ())))
    return b.primal()


def filled_anew():
    """for i backwards: z[:] = 1; z[1:] = A[i]; z[0:2] += A[i, 2]; c[i] = z @ z; what is left: z"""
    b = Program()
    A, c, z = b.argument("A", N, 3), b.argument("c", N), b.local("z", 4)
    b.store(z.whole, b.constant(2.0))
    with b.loop(0, N, start=N - 1, step=-1) as i:
        b.store(z.whole, b.constant(1.0))
        b.store(Region(z.id, View(1, (3,), (1,))), b.load(at(A, i)))
        b.store(Region(z.id, View(0, (2,), (1,))), b.load(at(A, i, 2)), accumulate=True)
        v = b.load(z.whole)
        b.store(at(c, i), b.apply("contract", v, v, a_labels=(0,), b_labels=(0,), out_labels=()))
    return b.primal(b.load(z.whole))


def read_later():
    """for i: x[i] = x[i + 1] * 2: all that is read is read before anything is written"""
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, N - 1) as i:
        b.store(at(x, i), b.apply("multiply", b.load(at(x, i + 1)), b.constant(2.0)))
    return b.primal()


def handed_on_further_down():
    """for i: x[i + 1] = y[i] * 2; z[i] = x[i]; x[i] = sin(z[i]): what one leaves, later ones read further down"""
    b = Program()
    x, y, z = b.argument("x", N), b.argument("y", N), b.argument("z", N)
    with b.loop(0, N - 1) as i:
        b.store(at(x, i + 1), b.apply("multiply", b.load(at(y, i)), b.constant(2.0)))
        b.store(at(z, i), b.load(at(x, i)))
        b.store(at(x, i), b.apply("sin", b.load(at(z, i))))
    return b.primal()


INDEPENDENT = [
    summed,
    several_terms,
    backwards,
    rows,
    columns,
    histogram,
    matrix_product,
    halves,
    views_that_move,
    filled_anew,
    read_later,
    handed_on_further_down,
]


@pytest.mark.parametrize("program", INDEPENDENT, ids=lambda p: p.__name__)
def test_no_loop_is_left(program):
    tape = program()
    after = vectorise(tape)
    assert counted(after, "Loop") == 0
    assert_same(tape, after)
    assert_same(tape, simplify(after))


def shifted():
    """for i: x[i + 1] = x[i] * 2"""
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, N - 1) as i:
        b.store(at(x, i + 1), b.apply("multiply", b.load(at(x, i)), b.constant(2.0)))
    return b.primal()


def read_after_it_is_written():
    """for i: y[i] = x[i] * 2; x[i + 1] = y[i]: an iteration reads further up what one before it has left"""
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    with b.loop(0, N - 1) as i:
        b.store(at(y, i), b.apply("multiply", b.load(at(x, i)), b.constant(2.0)))
        b.store(at(x, i + 1), b.load(at(y, i)))
    return b.primal()


def carried_product():
    """for i: s = s * x[i]"""
    b = Program()
    x, s = b.argument("x", N), b.local("s")
    b.store(s.whole, b.constant(1.0))
    with b.loop(0, N) as i:
        w = b.apply("multiply", b.load(s.whole), b.load(at(x, i)))
        b.store(s.whole, w)
    return b.primal(b.load(s.whole))


def running_sum():
    """for i: s = s + x[i]; y[i] = s"""
    b = Program()
    x, y, s = b.argument("x", N), b.argument("y", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        w = b.apply("add", b.load(s.whole), b.load(at(x, i)))
        b.store(s.whole, w)
        b.store(at(y, i), w)
    return b.primal()


def doubled_sum():
    """for i: s = s + s * x[i], and s = x[i] - s"""
    b = Program()
    x, s, t = b.argument("x", N), b.local("s"), b.local("t")
    b.store(s.whole, b.constant(1.0))
    b.store(t.whole, b.constant(1.0))
    with b.loop(0, N) as i:
        v = b.load(s.whole)
        b.store(s.whole, b.apply("add", v, b.apply("multiply", v, b.load(at(x, i)))))
        b.store(t.whole, b.apply("subtract", b.load(at(x, i)), b.load(t.whole)))
    return b.primal(b.load(s.whole), b.load(t.whole))


def mixed_carry():
    """for i: s = max(s + x[i], 0)"""
    b = Program()
    x, s = b.argument("x", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        moved = b.apply("add", b.load(s.whole), b.load(at(x, i)))
        b.store(s.whole, b.apply("maximum", moved, b.constant(0.0)))
    return b.primal(b.load(s.whole))


def two_carries():
    """for i: a, c = c, a + x[i]"""
    b = Program()
    x, a, c = b.argument("x", N), b.local("a"), b.local("c")
    b.store(a.whole, b.constant(1.0))
    b.store(c.whole, b.constant(2.0))
    with b.loop(0, N) as i:
        first, second = b.load(a.whole), b.load(c.whole)
        b.store(a.whole, second)
        b.store(c.whole, b.apply("add", first, b.load(at(x, i))))
    return b.primal(b.load(a.whole), b.load(c.whole))


def overlapping_rows():
    """for i: x[i:i + 3] = y[i:i + 3] * i; the later iteration wins"""
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    with b.loop(0, N - 2) as i:
        u = b.load(Region(y.id, View(i, (3,), (1,))))
        b.store(
            Region(x.id, View(i, (3,), (1,))), b.apply("multiply", u, b.cast(b.index_value(i + 0), np.dtype(float)))
        )
    return b.primal()


def sum_read_in_between():
    """for i: z[0] += x[i]; y[i] = z[0]"""
    b = Program()
    x, y, z = b.argument("x", N), b.argument("y", N), b.argument("z", 1)
    with b.loop(0, N) as i:
        b.store(at(z, 0), b.load(at(x, i)), accumulate=True)
        b.store(at(y, i), b.load(at(z, 0)))
    return b.primal()


def mirrored():
    """for i: x[i] = x[N - 1 - i]"""
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, N) as i:
        b.store(at(x, i), b.load(at(x, N - 1 - i)))
    return b.primal()


def counted_at_run_time():
    """for i in range(k[0]): s += x[i]"""
    b = Program()
    x, k, s = b.argument("x", N), b.argument("k", 1, dtype=np.dtype(np.int64)), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N, count=b.load(at(k, 0))) as i:
        b.store(s.whole, b.apply("add", b.load(s.whole), b.load(at(x, i))))
    return b.primal(b.load(s.whole))


def filled_in_part():
    """for i: z[1:] = A[i]; c[i] = sum(z); z[0] = c[i]"""
    b = Program()
    A, c, z = b.argument("A", N, 3), b.argument("c", N), b.local("z", 4)
    b.store(z.whole, b.constant(2.0))
    with b.loop(0, N) as i:
        b.store(Region(z.id, View(1, (3,), (1,))), b.load(at(A, i)))
        total = b.apply("reduce_sum", b.load(z.whole), axes=(0,))
        b.store(at(c, i), total)
        b.store(at(z, 0), total)
    return b.primal()


def looked_at_before():
    """for i: c[i] = z[1]; z[:] = A[i]"""
    b = Program()
    A, c, z = b.argument("A", N, 2), b.argument("c", N), b.local("z", 2)
    b.store(z.whole, b.constant(2.0))
    with b.loop(0, N) as i:
        b.store(at(c, i), b.load(at(z, 1)))
        b.store(z.whole, b.load(at(A, i)))
    return b.primal()


DEPENDENT = [
    shifted,
    read_after_it_is_written,
    carried_product,
    running_sum,
    doubled_sum,
    mixed_carry,
    two_carries,
    overlapping_rows,
    sum_read_in_between,
    mirrored,
    counted_at_run_time,
    filled_in_part,
    looked_at_before,
]


@pytest.mark.parametrize("program", DEPENDENT, ids=lambda p: p.__name__)
def test_a_loop_that_depends_on_order_stays(program):
    tape = program()
    after = vectorise(tape)
    assert counted(after, "Loop") == 1
    assert_same(tape, after)


def triangle():
    """for i: s[i] = 0; for j in range(i): s[i] += L[i, j] * x[j]; y[j] += L[i, j]"""
    b = Program()
    L, x, s, y = b.argument("L", N, N), b.argument("x", N), b.argument("s", N), b.argument("y", N)
    with b.loop(0, N) as i:
        b.store(at(s, i), b.constant(0.0))
        with b.loop(1, Ragged(N, i)) as j:
            v = b.load(at(s, i))
            b.store(at(s, i), b.apply("add", v, b.apply("multiply", b.load(at(L, i, j)), b.load(at(x, j)))))
            b.store(at(y, j), b.load(at(L, i, j)), accumulate=True)
    return b.primal()


def test_the_inner_loop_of_a_triangle_becomes_ragged_arrays():
    tape = triangle()
    after = vectorise(tape)
    assert counted(after, "Loop") == 1
    assert_same(tape, after)
    (outer,) = (op for op in after.operations if isinstance(op, Loop))
    assert any(isinstance(n, Ragged) for op in outer.body for v in op.outputs for n in v.shape)


def test_what_is_not_there_without_an_iteration_is_not_touched():
    """for i: for j in range(i): y[i - 1] += x[j]: at i = 0 there is no y[i - 1]"""
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    with b.loop(0, N) as i, b.loop(1, Ragged(N, loop_index(0))) as j:
        b.store(at(y, i - 1), b.load(at(x, j)), accumulate=True)
    tape = b.primal()
    after = vectorise(tape)
    assert counted(after, "Loop") == 2
    assert_same(tape, after)


def test_arrays_that_are_large_enough_stay_in_a_loop():
    b = Program()
    x, s = b.argument("x", 2000, 1000), b.local("s", 1000)
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, 2000) as i:
        b.store(s.whole, b.apply("add", b.load(s.whole), b.apply("sin", b.load(at(x, i)))))
    assert counted(vectorise(b.primal(b.load(s.whole))), "Loop") == 1


def test_columns_beside_one_another_go_together():
    """Rows of memory are as long as there are iterations."""

    def f(a, q):
        for k in range(100):
            for j in range(k + 1, a.shape[1]):
                a[:, j] -= q[:, k] * np.dot(q[:, k], a[:, j])

    tape = vectorise(trace(f, tuple(np.ones((2, 220, 220)))).tape)
    assert counted(tape, "Loop") == 1


def test_a_sum_becomes_one_reduction():
    after = simplify(vectorise(summed()))
    assert [type(op).__name__ for op in walk(after.operations) if isinstance(op, Store)] == []
    assert counted(after, "reduce_sum") == 1


@pytest.mark.parametrize("program", [summed, several_terms, matrix_product, filled_anew], ids=lambda p: p.__name__)
def test_gradients_stay(program):
    tape = program()
    before, after = (reverse(t, accumulate=True, loss=bool(t.results)) for t in (tape, vectorise(tape)))
    assert_same(before, after)
    assert_same(before, simplify(after))


# Branches.


def guarded_root():
    """for i: if x[i] > 0: s += sqrt(x[i]) * y[i]"""
    b = Program()
    x, y, s = b.argument("x", N), b.argument("y", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        u, v = b.load(at(x, i)), b.load(s.whole)
        with b.side() as then:
            term = b.apply("multiply", b.apply("sqrt", u), b.load(at(y, i)))
            b.store(s.whole, b.apply("add", v, term))
        b.branch(b.apply("greater", u, b.constant(0.0)), then, [])
    return b.primal(b.load(s.whole))


def three_ways():
    """for i: t = 2 x[i] if x[i] > 1 else (log(1.5 - x[i]) if y[i] > 0 else 1 / y[i]); z[i] = t; s -= t"""
    b = Program()
    x, y, z = b.argument("x", N), b.argument("y", N), b.argument("z", N)
    s, t, inner = b.local("s"), b.local("t"), b.local("inner")
    b.store(s.whole, b.load(at(x, 0)))
    with b.loop(0, N) as i:
        u, w = b.load(at(x, i)), b.load(at(y, i))
        with b.side() as large:
            b.store(t.whole, b.apply("multiply", b.constant(2.0), u))
        with b.side() as small:
            with b.side() as first:
                b.store(inner.whole, b.apply("log", b.apply("subtract", b.constant(1.5), u)))
            with b.side() as second:
                b.store(inner.whole, b.apply("divide", b.constant(1.0), w))
            b.branch(b.apply("greater", w, b.constant(0.0)), first, second)
            b.store(t.whole, b.load(inner.whole))
        b.branch(b.apply("greater", u, b.constant(1.0)), large, small)
        b.store(at(z, i), b.load(t.whole))
        b.store(s.whole, b.apply("subtract", b.load(s.whole), b.load(t.whole)))
    return b.primal(b.load(s.whole))


def one_side_stores():
    """for i: if x[i] > 0: y[i] = x[i]; z[1] += x[i]; else: w[i] += x[i]"""
    b = Program()
    x, y, z, w = b.argument("x", N), b.argument("y", N), b.argument("z", 2), b.argument("w", N)
    with b.loop(0, N) as i:
        u = b.load(at(x, i))
        with b.side() as then:
            b.store(at(y, i), u)
            b.store(at(z, 1), u, accumulate=True)
        with b.side() as otherwise:
            b.store(at(w, i), u, accumulate=True)
        b.branch(b.apply("greater", u, b.constant(0.0)), then, otherwise)
    return b.primal()


def one_number_in_each_element():
    """for i: c[:] = x * x[i]; if x[i] > 0: c[:] = x[i]; s += sum(c) * x[i]"""
    b = Program()
    x, c, s = b.argument("x", N), b.local("c", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        u, v = b.load(at(x, i)), b.load(s.whole)
        b.store(c.whole, b.apply("multiply", b.load(x.whole), u))
        with b.side() as then:
            b.store(c.whole, u)
            total = b.apply("reduce_sum", b.load(c.whole), axes=(0,))
            b.store(s.whole, b.apply("add", v, b.apply("multiply", total, u)))
        b.branch(b.apply("greater", u, b.constant(0.0)), then, [])
    return b.primal(b.load(s.whole))


CHOICES = [guarded_root, three_ways, one_side_stores, one_number_in_each_element]


@pytest.mark.parametrize("program", CHOICES, ids=lambda p: p.__name__)
def test_cheap_branches_become_choices(program):
    tape = program()
    after = vectorise(tape)
    assert counted(after, "Loop") == counted(after, "Branch") == 0
    assert_same(tape, after)
    before, after = (reverse(t, accumulate=True, loss=bool(t.results)) for t in (tape, after))
    assert_same(before, after)
    assert_same(before, simplify(after))


@pytest.mark.parametrize("program", [guarded_root, three_ways], ids=lambda p: p.__name__)
def test_the_side_not_taken_adds_nothing_to_derivatives(program):
    """Slopes of sqrt, log and 1 / y that are infinite, or not numbers, where the other side is taken."""
    edges = {"x": [0.0, -1.0, np.inf, 1.5, 2.0, -np.inf, 0.0, 0.5, 1.0], "y": [0.0, np.inf, 1, 0, 2, 1, 1, -1, -2]}
    gradients = []
    for tape in (program(), vectorise(program())):
        joint = simplify(reverse(tape))
        memories = {
            id: memory_of(joint.buffers[id], np.array(edges.get(joint.buffers[id].label, np.zeros(N)), float))
            for id in joint.arguments
        }
        interpret(joint, memories)
        gradients.append({joint.buffers[id].label: memories[id] for id in joint.arguments})
    for label in ("dx", "dy"):
        np.testing.assert_array_equal(np.isnan(gradients[1][label]), np.isnan(gradients[0][label]))
        np.testing.assert_allclose(gradients[1][label], gradients[0][label], rtol=1e-13)


def gathers_in_a_side():
    """for i: if k[i] < N: s += x[k[i]]: the index is in range in one side only"""
    b = Program()
    x, k, s = b.argument("x", N), b.argument("k", N, dtype=np.dtype(np.int64)), b.argument("s", 1)
    with b.loop(0, N) as i:
        j = b.load(at(k, i))
        with b.side() as then:
            b.store(at(s, 0), b.apply("gather", b.load(x.whole), j), accumulate=True)
        b.branch(b.apply("less", j, b.constant(2)), then, [])
    return b.primal()


def comes_back_to_memory():
    """for i: if x[i] > 0: y[i] = x[i]; y[1:] += ...: what a side reads depends on what it wrote"""
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    with b.loop(0, N) as i:
        u = b.load(at(x, i))
        with b.side() as then:
            b.store(at(y, i), u)
            b.store(at(x, i), b.apply("reduce_sum", b.load(y.whole), axes=(0,)))
        b.branch(b.apply("greater", u, b.constant(0.0)), then, [])
    return b.primal()


@pytest.mark.parametrize("program", [gathers_in_a_side, comes_back_to_memory], ids=lambda p: p.__name__)
def test_other_branches_stay(program):
    tape = program()
    after = vectorise(tape)
    assert counted(after, "Loop") == counted(after, "Branch") == 1
    assert_same(tape, after)


@pytest.mark.parametrize("primitive, width", [("reduce_sum", 40), ("reduce_max", 3)])
def test_windows_that_overlap_stay_in_their_loop(primitive, width):
    """for i: y[i] = sum(x[i:i + width]): as arrays, the adjoint would scatter single elements"""
    b = Program()
    x, y = b.argument("x", N + width - 1), b.argument("y", N)
    with b.loop(0, N) as i:
        b.store(at(y, i), b.apply(primitive, b.load(Region(x.id, View(i, (width,), (1,)))), axes=(0,)))
    assert counted(vectorise(b.primal()), "Loop") == 1


def four_likelihoods(x):
    mu, code, total = np.sin(x) @ np.eye(len(x)), np.floor(np.abs(x) * 8) % 4, 0.0
    for i in range(len(x)):
        if code[i] == 0:
            total += np.log(np.exp(-((x[i] ** 2 / np.exp(mu[i])) ** 1.5)))
        elif code[i] == 1:
            total += np.log(1.1 - np.exp(-((x[i] ** 2 / np.exp(mu[i])) ** 1.5)))
        elif code[i] == 2:
            total += mu[i]
        else:
            total += np.log(np.exp(-x[i] * mu[i]) - np.exp(-2.0 * x[i] * mu[i]) + 9.0)
    return total


def test_ways_of_functions_of_what_was_computed_become_choices():
    """Of numbers that the loop reads from an array that was computed before it."""
    tape = simplify(trace(four_likelihoods, (np.linspace(0.1, 2.0, 70),), unroll=0).tape)
    assert counted(tape, "Branch") == 3
    after = vectorise(tape)
    assert counted(after, "Loop") == counted(after, "Branch") == 0
    assert_same(tape, after)


def sums_of_one_array(x):
    total = 0.0
    for a in [x.copy()]:
        total += a.sum()
    return total


def test_what_one_iteration_sums_up_is_computed():
    tape = trace(sums_of_one_array, (np.ones(6),), unroll=0).tape
    assert counted(tape, "Loop") == 1
    after = vectorise(tape)
    assert counted(after, "Loop") == 0
    assert_same(tape, after)
