"""Loops on the tape: interpreted, reversed, planned and compiled alike."""

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.kernels.emit import KernelEmitter, cut_plan
from planned_ad.kernels.entry.callspec import ArraySpec, CallSpec
from planned_ad.passes.boundary import store_results
from planned_ad.passes.pipeline import simplify
from planned_ad.planner import plan_memory
from planned_ad.regions.affine import loop_index
from planned_ad.regions.regions import Region, View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Loop, Tape
from planned_ad.tape.verify import verify

from .compiled_tape import make_builtin

N = 7


def element(buffer, offset):
    return Region(buffer.id, View(offset, (), ()))


class Body(TapeBuilder):
    """The body of a loop under construction; `close` puts the loop on the outer tape."""

    def __init__(self, outer: TapeBuilder):
        super().__init__(buffers=outer.buffers, next_value=outer.next_value)
        self.outer = outer

    def close(self, index: int, trips: int) -> None:
        self.outer.next_value = self.next_value
        self.outer.emit(Loop(index=index, start=0, step=1, trips=trips, body=tuple(self.operations)))


def recurrence() -> Tape:
    """for i in range(N - 1): x[i+1] = exp(x[0]) * (sin(x[i+1]) * x[i]); return sum(x)"""
    b = TapeBuilder()
    x = b.new_buffer("argument", "x", np.dtype(float), contiguous((N,)))
    factor = b.apply("exp", b.load(element(x, 0)))
    body, i = Body(b), loop_index(0)
    product = body.apply("multiply", body.apply("sin", body.load(element(x, i + 1))), body.load(element(x, i)))
    body.store(element(x, i + 1), body.apply("multiply", factor, product))
    body.close(0, N - 1)
    return b.tape((0,), (b.apply("reduce_sum", b.load(x.whole), axes=(0,)),), frozenset([0]))


def recurrence_in_numpy(x):
    x, factor = x.copy(), np.exp(x[0])
    for i in range(N - 1):
        x[i + 1] = factor * (np.sin(x[i + 1]) * x[i])
    return x.sum()


def rows() -> Tape:
    """Two nested loops with a row operation: for t in range(3): for i in range(1, 3): x[i] += 0.1 x[i-1]^2 x[i]"""
    b = TapeBuilder()
    x = b.new_buffer("argument", "x", np.dtype(float), contiguous((3, N)))
    outer = Body(b)
    inner, i = Body(outer), loop_index(1)
    here = Region(x.id, View((i + 1) * N, (N,), (1,)))
    above = inner.load(Region(x.id, View(i * N, (N,), (1,))))
    old = inner.load(here)
    change = inner.apply("multiply", inner.apply("multiply", above, above), old)
    inner.store(here, inner.apply("add", old, inner.apply("multiply", inner.constant(0.1), change)))
    inner.close(1, 2)
    outer.close(0, 3)
    return b.tape((0,), (b.apply("reduce_sum", b.load(x.whole), axes=(0, 1)),), frozenset([0]))


def rows_in_numpy(x):
    x = x.reshape(3, N).copy()
    for _ in range(3):
        for i in range(1, 3):
            x[i] += 0.1 * (x[i - 1] * x[i - 1] * x[i])
    return x.sum()


PROGRAMS = {"recurrence": (recurrence, recurrence_in_numpy, (N,)), "rows": (rows, rows_in_numpy, (3, N))}


@pytest.fixture(params=sorted(PROGRAMS))
def program(request):
    make, function, shape = PROGRAMS[request.param]
    x = np.random.default_rng(0).normal(size=shape)
    directions = np.eye(x.size).reshape(-1, *shape)
    expected = np.array([(function(x + 1e-6 * d) - function(x - 1e-6 * d)) / 2e-6 for d in directions]).reshape(shape)
    return make(), function, x, expected


def run(tape, x):
    memories = {0: x.copy().reshape(-1), 1: np.full(x.size, np.nan)}
    interpret(tape, memories)
    return memories[1].reshape(x.shape)


def test_the_reverse_of_a_loop_is_a_loop(program):
    tape, _, x, expected = program
    joint = reverse(tape)
    verify(joint)
    assert sum(isinstance(op, Loop) for op in joint.operations) == 2
    np.testing.assert_allclose(run(joint, x), expected, rtol=1e-7, atol=1e-8)


def test_simplification_keeps_loops_right(program):
    tape, _, x, expected = program
    joint = simplify(reverse(tape))
    verify(joint)
    np.testing.assert_allclose(run(joint, x), expected, rtol=1e-7, atol=1e-8)


def test_compiled_loops_equal_interpreted_ones(program):
    tape, _, x, _ = program
    joint = simplify(reverse(tape))
    plan = plan_memory(joint)
    array = ArraySpec(dtype=x.dtype, shape=x.shape, strides=x.strides, writeable=True)
    spec = CallSpec(arguments=(array, array), disjoint=((0, 1),), workspace_nbytes=plan.workspace_nbytes)
    emitter = KernelEmitter(plan, cut_plan(plan), joint.arguments, plan.workspace_nbytes)
    call = make_builtin(
        "gradient",
        "",
        "(x, dx, /)",
        spec,
        lambda b, _, leaves, memory: emitter.emit(b, leaves, memory),
        lambda *_: 1 / 0,
    )
    dx = np.full(x.shape, np.nan)
    call.function(x.copy(), dx)
    np.testing.assert_allclose(dx, run(joint, x), rtol=1e-13, atol=1e-13)


def test_code_size_does_not_grow_with_trips():
    tape = recurrence()
    assert len(simplify(reverse(tape)).operations) < 15


def test_results_of_a_tape_with_loops_are_stored(program):
    tape, function, x, _ = program
    builder = TapeBuilder(buffers=list(tape.buffers), operations=list(tape.operations), next_value=100)
    (result,) = store_results(builder, tape.results)
    memories = {0: x.copy().reshape(-1), result: np.zeros(1)}
    interpret(builder.tape((0, result), (), tape.active), memories)
    np.testing.assert_allclose(memories[result][0], function(x), rtol=1e-13)
