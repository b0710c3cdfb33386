"""Passes inside loops and branches: the same numbers, and no operation that a block could do without."""

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.errors import NotDifferentiableError, UnsupportedError
from planned_ad.passes.dead_code import drop_dead
from planned_ad.passes.gather_form import gather_form
from planned_ad.passes.invariants import hoist_invariants
from planned_ad.passes.known_zeros import forward_zeros
from planned_ad.passes.pipeline import PASSES, simplify
from planned_ad.passes.products import lower_products
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.regions.affine import Ragged
from planned_ad.regions.regions import Region, View
from planned_ad.tape.tape import Branch, Constant, Loop, Store, walk
from tests.blocks import Program, assert_same, at, counted, names
from tests.random_tapes import RandomTape
from tests.sweeps import sweep

N = 9
ALL_PASSES = (*PASSES, lower_products, gather_form)


def loops(tape):
    return [op for op in walk(tape.operations) if isinstance(op, Loop)]


def body(tape):
    (loop,) = loops(tape)
    return names(loop.body)


# What is known.


def test_what_is_known_outside_is_known_inside():
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    whole = b.load(x.whole)
    total = b.apply("reduce_sum", b.apply("sin", whole), axes=(0,))
    with b.loop(0, N) as i:
        again = b.apply("reduce_sum", b.apply("sin", b.load(x.whole)), axes=(0,))
        b.store(at(y, i), again)
    tape = b.primal(total)
    after = drop_dead(rewrite(tape))
    assert_same(tape, after, exact=True)
    assert body(after) == ["Store"]


def test_memory_that_a_loop_writes_is_read_again():
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    first = b.load(at(x, 0))
    with b.loop(0, N) as i:
        b.store(at(y, i), b.load(at(x, 0)))
        b.store(at(x, i), b.apply("sin", b.load(at(x, i))))
    tape = b.primal(first)
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert body(after).count("Load") == 2


def test_within_an_iteration_a_load_is_what_was_stored():
    b = Program()
    x, c = b.argument("x", N), b.local("c")
    b.store(c.whole, b.constant(0.5))
    with b.loop(0, N) as i:
        b.store(c.whole, b.apply("sin", b.load(c.whole)))
        b.store(at(x, i), b.apply("multiply", b.load(at(x, i)), b.load(c.whole)))
        b.store(at(x, i), b.apply("add", b.load(at(x, i)), b.load(c.whole)))
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == ["Load", "sin", "Store", "Load", "multiply", "add", "Store"]


def test_neighbours_are_told_apart():
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, N - 1) as i:
        before = b.load(at(x, i))
        b.store(at(x, i + 1), b.apply("multiply", before, b.load(at(x, i))))
        b.store(at(x, i), b.load(at(x, i)))
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == ["Load", "multiply", "Store"]


def test_what_a_side_stores_is_not_known_after_the_branch():
    b = Program()
    x, y, c = b.argument("x", N), b.argument("y", N), b.local("c")
    with b.loop(0, N) as i:
        u = b.load(at(x, i))
        b.store(c.whole, u)
        with b.side() as then:
            b.store(c.whole, b.apply("sin", b.load(c.whole)))
        with b.side() as otherwise:
            b.store(c.whole, b.load(c.whole))
        b.branch(b.apply("greater", u, b.constant(0.0)), then, otherwise)
        b.store(at(y, i), b.load(c.whole))
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    (branch,) = (op for op in walk(after.operations) if isinstance(op, Branch))
    assert names(branch.then) == ["sin", "Store"]
    assert branch.otherwise == ()


def test_a_branch_that_is_decided_is_no_branch():
    b = Program()
    x = b.argument("x", N)
    with b.side() as then:
        b.store(at(x, 0), b.constant(1.0))
    with b.side() as otherwise:
        b.store(at(x, 0), b.constant(2.0))
    b.branch(b.apply("greater", b.constant(1.0), b.constant(0.0)), then, otherwise)
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert names(after.operations) == ["Constant", "Store"]


def test_constants_leave_blocks():
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, N) as i, b.loop(1, 3):
        b.store(at(x, i), b.apply("multiply", b.load(at(x, i)), b.constant(2.0)))
    after = simplify(b.primal())
    assert not any(isinstance(op, Constant) for loop in loops(after) for op in loop.body)


# Invariants.


def test_what_every_iteration_computes_alike_is_computed_once():
    b = Program()
    x, w, y = b.argument("x", 3, N), b.argument("w", N), b.argument("y", 3)
    with b.loop(0, 3) as i, b.loop(1, 4):
        weights = b.apply("exp", b.load(w.whole))
        total = b.apply("reduce_sum", b.apply("multiply", weights, b.load(at(x, i))), axes=(0,))
        b.store(at(y, i), total, accumulate=True)
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after)
    outer, inner = loops(after)
    assert names(after.operations) == ["Load", "exp", "Loop"]
    assert names(outer.body) == ["Load", "multiply", "reduce_sum", "Loop"]
    assert names(inner.body) == ["Store"]


def test_views_loads_and_repetitions_stay():
    b = Program()
    w, y = b.argument("w", N), b.argument("y", 4, 3, N)
    with b.loop(0, 4) as i:
        row = b.load(w.whole)
        b.store(at(y, i), b.apply("view", row, view=View(0, (3, N), (0, 1))))
    tape = b.primal()
    after = hoist_invariants(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == ["Load", "view", "Store"]


def test_what_may_fail_stays_where_no_iteration_may_run():
    b = Program()
    x, k, s = b.argument("x", N), b.argument("k", 1, dtype=np.dtype(np.int64)), b.argument("s", N)
    index = b.load(at(k, 0))
    with b.loop(0, N) as i, b.loop(1, Ragged(N, i)) as j:
        u = b.apply("gather", b.load(x.whole), index)
        b.store(at(s, i), b.apply("add", u, b.load(at(x, i - 1))), accumulate=True)
        b.store(at(s, j), u)
    tape = b.primal()
    after = hoist_invariants(tape)
    assert_same(tape, after, exact=True)
    _, inner = loops(after)
    assert "gather" in names(inner.body)
    assert names(inner.body).count("Load") == 2


# Dead code.


def test_memory_that_nothing_reads_is_not_written():
    b = Program()
    x, kept, unread = b.argument("x", N), b.local("kept", N), b.local("unread", N, N)
    with b.loop(0, N) as i:
        u = b.apply("sin", b.load(at(x, i)))
        b.store(at(kept, i), u)
        with b.loop(1, Ragged(N, i)) as j:
            b.store(at(unread, i, j), b.apply("cos", u))
    tape = b.primal(b.apply("reduce_sum", b.load(kept.whole), axes=(0,)))
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == ["Load", "sin", "Store"]


def test_a_cycle_that_only_feeds_itself_is_dead():
    b = Program()
    x, c, d = b.argument("x", N), b.local("c"), b.local("d")
    b.store(c.whole, b.constant(0.0))
    b.store(d.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        moved = b.load(c.whole)
        b.store(c.whole, b.constant(0.0))
        b.store(d.whole, moved, accumulate=True)
        b.store(c.whole, b.apply("add", b.load(d.whole), b.load(at(x, i))), accumulate=True)
    tape = b.primal()
    assert drop_dead(tape).operations == ()


def test_what_the_next_iteration_reads_is_kept():
    b = Program()
    x, c = b.argument("x", N), b.local("c")
    b.store(c.whole, b.constant(0.25))
    with b.loop(0, N) as i:
        b.store(at(x, i), b.load(c.whole), accumulate=True)
        b.store(c.whole, b.load(at(x, i)))
    tape = b.primal()
    after = drop_dead(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == names(loops(tape)[0].body)


def test_a_store_overwritten_in_the_same_iteration_goes():
    b = Program()
    x, y = b.argument("x", N), b.argument("y", N)
    with b.loop(0, N - 1) as i:
        u = b.load(at(x, i))
        b.store(at(y, i), u)
        b.store(at(y, i), u, accumulate=True)
        b.store(at(y, i + 1), u)
        b.store(at(x, i + 1), b.load(at(y, i + 1)))
        b.store(at(y, i + 1), b.constant(1.0))
        b.store(at(y, i), b.apply("sin", u))
    tape = b.primal()
    after = drop_dead(tape)
    assert_same(tape, after, exact=True)
    assert body(after).count("Store") == 4  # the one to y[i + 1] that is read, two that overwrite, and that to x


def test_loops_without_iterations_or_effect_are_gone():
    b = Program()
    x = b.argument("x", N)
    with b.loop(0, 0) as i:
        b.store(at(x, i), b.constant(1.0))
    with b.loop(1, 3) as i, b.loop(2, 3):
        b.load(at(x, i))
    assert simplify(b.primal()).operations == ()


# Zeros.


def test_adding_to_what_was_zeroed_in_this_iteration_is_storing():
    b = Program()
    x, dx = b.argument("x", N), b.argument("dx", N)
    with b.loop(0, N) as i:
        moved = b.load(at(dx, i))
        b.store(at(dx, i), b.constant(0.0))
        b.store(at(dx, i), b.apply("multiply", moved, b.load(at(x, i))), accumulate=True)
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    stores = [op for op in loops(after)[0].body if isinstance(op, Store)]
    assert [op.accumulate for op in stores] == [False]


def test_zero_at_both_ends_of_an_iteration_is_zero_in_each():
    """The shadow of an array that every iteration fills and uses up."""
    b = Program()
    x, row = b.argument("x", N, 5), b.local("row", 5)
    b.store(row.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        b.store(row.whole, b.load(at(x, i)), accumulate=True)
        b.store(at(x, i), b.apply("sin", b.load(row.whole)))
        b.store(row.whole, b.constant(0.0))
    tape = b.primal()
    after = simplify(tape)
    assert_same(tape, after, exact=True)
    assert body(after) == ["Load", "sin", "Store"]


def test_zero_before_the_loop_only_is_not_zero_inside():
    b = Program()
    x, s = b.argument("x", N), b.local("s")
    b.store(s.whole, b.constant(0.0))
    with b.loop(0, N) as i:
        b.store(s.whole, b.load(at(x, i)), accumulate=True)
    tape = b.primal(b.load(s.whole))
    after = forward_zeros(tape)
    assert_same(tape, after, exact=True)
    assert all(op.accumulate for op in loops(after)[0].body if isinstance(op, Store))


# Products and gather form.


def test_small_products_inside_loops_are_lowered():
    b = Program()
    A, x = b.argument("A", 40, 40), b.argument("x", 40)
    with b.loop(0, 5):
        u = b.apply("contract", b.load(A.whole), b.load(x.whole), a_labels=(0, 1), b_labels=(1,), out_labels=(0,))
        b.store(x.whole, b.apply("tanh", u))
    tape = b.primal(b.apply("reduce_sum", b.load(x.whole), axes=(0,)))
    after = lower_products(tape)
    assert_same(tape, after)
    assert body(after) == ["Load", "Load", "view", "multiply", "reduce_sum", "tanh", "Store"]
    joint = reverse(tape)
    assert_same(joint, lower_products(simplify(joint)))
    assert counted(lower_products(simplify(joint)), "contract") == 0


def test_products_over_ragged_axes_are_lowered():
    b = Program()
    A, B, C = b.argument("A", 30, 20), b.argument("B", 20, 30), b.argument("C", 30, 30)
    with b.loop(0, 20) as i:
        n = Ragged(20, i)
        left, right = b.load(Region(A.id, View(0, (30, n), (20, 1)))), b.load(Region(B.id, View(0, (n, 30), (30, 1))))
        product = b.apply("contract", left, right, a_labels=(0, 1), b_labels=(1, 2), out_labels=(0, 2))
        b.store(C.whole, product, accumulate=True)
    tape = b.primal()
    after = lower_products(tape)
    assert_same(tape, after)
    assert counted(after, "contract") == 0


def diffusion():
    """for t: u[1:-1] = u[2:] * u[1:-1] + u[:-2]"""
    b = Program()
    u = b.argument("u", 200)
    part = {shift: Region(u.id, View(1 + shift, (198,), (1,))) for shift in (-1, 0, 1)}
    with b.loop(0, 3):
        right = b.apply("multiply", b.load(part[1]), b.load(part[0]))
        b.store(part[0], b.apply("add", right, b.load(part[-1])))
    return b.primal(b.apply("reduce_sum", b.load(u.whole), axes=(0,)))


def diffusion_by_rows():
    """for i: A[i + 1, 1:-1] = sin(A[i, 2:]) + A[i, :-2]"""
    b = Program()
    A = b.argument("A", 6, 200)
    with b.loop(0, 5) as i:
        left = b.load(Region(A.id, View(200 * i, (198,), (1,))))
        right = b.load(Region(A.id, View(200 * i + 2, (198,), (1,))))
        b.store(Region(A.id, View(200 * i + 201, (198,), (1,))), b.apply("add", b.apply("sin", right), left))
    return b.primal(b.apply("reduce_sum", b.load(A.whole), axes=(0, 1)))


@pytest.mark.parametrize("program", [diffusion, diffusion_by_rows], ids=lambda p: p.__name__)
def test_reverse_loops_are_in_gather_form(program):
    before = simplify(reverse(program()))
    after = gather_form(before)
    assert_same(before, after)
    assert_same(before, simplify(after))
    stores = [op for op in loops(simplify(after))[-1].body if isinstance(op, Store)]
    main = [op for op in stores if op.region.view.size > 150 and not is_zero(after, op)]
    assert len(main) == 1


def is_zero(tape, store):
    constants = {op.out.id: op.data for op in walk(tape.operations) if isinstance(op, Constant)}
    return not constants.get(store.value.id, np.ones(())).any()


# All passes, on random tapes.


@pytest.mark.parametrize("seed", sweep(range(40), slice(0, None, 3)))
def test_random_tapes_keep_their_meaning(seed):
    tape = RandomTape(seed).tape()
    for passed in (*PASSES, vectorise):
        after = passed(tape)
        assert_same(tape, after)
        tape = after


@pytest.mark.parametrize("seed", sweep(range(100, 125), slice(0, None, 3)))
def test_reversed_random_tapes_keep_their_meaning(seed):
    try:
        tape = reverse(RandomTape(seed).tape())
    except (NotDifferentiableError, UnsupportedError) as error:
        pytest.skip(str(error))
    for passed in ALL_PASSES:
        after = passed(tape)
        assert_same(tape, after)
        tape = after
