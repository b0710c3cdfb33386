"""Index arrays that count are slices; memory made of parts, and parts of what is computed, without the rest."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.dead_code import drop_dead
from planned_ad.passes.held_once import without_held_once
from planned_ad.passes.narrow import narrow
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.sums_by_parts import sums_by_parts
from planned_ad.planner import plan_memory
from planned_ad.tape.tape import Apply, Loop, Scatter, walk
from planned_ad.trace import trace
from planned_ad.tracing.values.index_boxes import index_boxes

from .oracle import check_gradient
from .tracing_oracle import check

K = np.arange(12)
U = np.random.default_rng(2).random((20, 20))
COUNTED = {
    "clamped up": np.minimum(K + 1, 11),
    "clamped down": np.maximum(K - 1, 0),
    "margins": np.pad(K, 1, mode="edge"),
    "mirrored": np.pad(K, 3, mode="reflect"),
    "wrapped": np.pad(K, 2, mode="wrap"),
    "turned": np.roll(K, 5),
    "backwards": K[::-1],
    "steps": K[1::3],
    "one": np.full(9, 7),
    "negative": K - 12,
    "columns": np.minimum(K[:, None] + 1, 11) + np.zeros((1, 12), int),
}
OTHERS = {
    "shuffled": np.random.default_rng(0).permutation(12),
    "few": np.array([2, 7]),
    "zigzag": np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3]),
    "products": np.multiply.outer(np.arange(3), np.arange(4)),
}


def x32():
    return np.random.default_rng(1).random((12, 12, 2))


@pytest.mark.parametrize("name", [*COUNTED, *OTHERS])
def test_reading_and_writing(name):
    index = {**COUNTED, **OTHERS}[name]

    def f(x):
        y = np.sin(x[index]), x[:, index] * 2.0, x[index, index, 1:]
        x[:, index, 0] = np.cos(x[:, index, 1])
        x[index, index] += 1.0
        x[index] -= 3.0
        return y, x

    check(f, x32())


@pytest.mark.parametrize("name", [*COUNTED, *OTHERS])
def test_what_is_looked_up(name):
    index = {**COUNTED, **OTHERS}[name]
    tape = trace(lambda x: x[index], (x32(),)).tape
    gathers = [op for op in tape.operations if isinstance(op, Apply) and op.primitive == "gather"]
    assert bool(gathers) == (name in OTHERS)


@pytest.mark.parametrize("name", [*COUNTED, *OTHERS])
def test_boxes_select_what_the_indices_do(name):
    index = {**COUNTED, **OTHERS}[name] % 12
    numbers, found = np.arange(100, 112), np.zeros(index.shape, int)
    boxes = index_boxes([index], least=1)
    for box in boxes:
        found[box.place] = box.shown(numbers)
        assert not box.is_injective or len(set(index[box.place].flat)) == index[box.place].size
    assert not boxes or (found == numbers[index]).all()


def laplacian(u):
    p = np.pad(u, 1, mode="edge")
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u


def by_indices(u):
    up, down = np.minimum(np.arange(len(u)) + 1, len(u) - 1), np.maximum(np.arange(len(u)) - 1, 0)
    return u[up] + u[down] + u[:, up] + u[:, down] - 4 * u


def joined(u):
    above, below = np.concatenate([u[1:], u[-1:]]), np.concatenate([u[:1], u[:-1]])
    beside = np.concatenate([u[:, 1:], u[:, -1:]], axis=1) + np.concatenate([u[:, :1], u[:, :-1]], axis=1)
    return above + below + beside - 4 * u


def stepped(f):
    def steps(u):
        for _ in range(20):
            u = u + 0.1 * np.tanh(f(u))
        return np.sum(u * u)

    return steps


@pytest.mark.parametrize("f", [laplacian, by_indices, joined])
def test_no_adjoint_of_a_stencil_is_scattered(f):
    tape = entry_tape(trace(stepped(f), (U,)), KINDS["gradient"], preserve_args=False)
    assert not any(isinstance(op, Scatter) for op in walk(tape.operations))
    (backwards,) = (op for op in tape.operations[tape.turn :] if isinstance(op, Loop))
    shadows = {r.buffer for op in backwards.body for r in op.writes if tape.buffers[r.buffer].view.size >= U.size}
    assert len(shadows) <= 2  # that of `u`, and of the array with margins


def test_stencils_have_the_same_gradient():
    gradients = [planned_ad.compile(stepped(f), (U,)).gradient(U) for f in (laplacian, by_indices, joined)]
    direction, h = np.random.default_rng(4).random(U.shape), 1e-6
    slope = (stepped(joined)(U + h * direction) - stepped(joined)(U - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(gradients[0] * direction), slope, rtol=1e-7)
    for gradient in gradients[1:]:
        np.testing.assert_allclose(gradient, gradients[0], rtol=1e-12, atol=1e-12)


def with_margin(x):
    y = np.pad(x, (0, 1))
    return np.sum((100 * (y[1:] - x**2) ** 2 + (1 - x) ** 2)[:-1])


def turned(x):
    return np.sum((100 * (np.roll(x, -1) - x**2) ** 2 + (1 - x) ** 2)[:-1])


def filled(x):
    y = np.zeros(len(x) + 9)
    y[3 : len(x) + 3] = x * x
    return np.sum(y[4 : len(x) + 2] * x[1:-1])


@pytest.mark.parametrize("f", [with_margin, turned, filled])
def test_parts_that_are_not_needed(f):
    x = np.random.default_rng(3).random(500)
    tape = entry_tape(trace(f, (x,)), KINDS["gradient"], preserve_args=False)
    assert plan_memory(tape).workspace_nbytes <= 64
    check_gradient(f, x)


def test_what_several_look_at_stays_whole():
    def f(x):
        e = np.exp(x)
        return e[1:] - e[:-1]

    tape = rewrite(trace(f, (np.zeros(9),)).tape)
    assert narrow(tape) is tape


def test_a_loop_does_not_compute_again_what_it_looks_at():
    def f(x):
        e, s = np.exp(x), 0.0
        for _ in range(30):
            for i in range(20, 40):
                s = np.sin(s + e[i])
        return s

    tape = rewrite(trace(f, (np.zeros(100),)).tape)
    assert narrow(tape) is tape


def test_memory_that_a_load_sees_from_two_stores_stays():
    def f(x):
        y = np.empty(10)
        y[:5], y[5:] = np.sin(x), np.cos(x)
        return y[1:] * y[:-1]

    tape = rewrite(trace(f, (np.zeros(5),)).tape)
    assert without_held_once(tape) is tape


def residuals(x):
    r = np.empty(2 * len(x) - 2)
    r[0::2], r[1::2] = 10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]
    return r


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(residuals(x) ** 2),
        lambda x: residuals(x) @ residuals(x),
        lambda x: np.sum(np.linspace(1.0, 2.0, 998) * residuals(x)) / (1.0 + np.sum(residuals(x) ** 4)),
        lambda x: np.sum(np.stack([x[:250], x[250:]]) ** 2 * 3.0),
    ],
)
def test_sums_over_joined_parts(f):
    x = np.random.default_rng(6).random(500) + 0.1
    tape = entry_tape(trace(f, (x,)), KINDS["gradient"], preserve_args=False)
    assert not [b for b in tape.buffers if b.kind == "local" and b.nbytes > 4000 and is_used(tape, b.id)]
    check_gradient(f, x)


def is_used(tape, id):
    return any(region.buffer == id for op in walk(tape.operations) for region in (*op.reads, *op.writes))


@pytest.mark.parametrize(
    "f",
    [
        lambda r: np.sum(r**2) + r[3],  # one element is looked at
        lambda r: np.sum(r[::-1] * r),  # parts meet
        lambda r: np.einsum("ij,ji", r.reshape(10, 10), r.reshape(10, 10)),
        lambda r: np.sum(np.sort(r)),
    ],
)
def test_joined_parts_that_are_needed_together(f):
    def g(x):
        return f(np.concatenate([np.sin(x), np.cos(x)]))

    tape = drop_dead(rewrite(trace(g, (np.ones(50),)).tape))
    assert sums_by_parts(tape) is tape


def parts_of_new_arrays(x, c):
    w = np.sin(c)
    for _ in range(20):
        if x[0] > 0.2:
            x = np.concatenate([(x * w)[:3], x[3:] * 0.9])
        else:
            x = np.concatenate([(x + w)[:3], x[3:] * 0.8])
    return np.sum(x**2)


def parts_in_place(x, c):
    for _ in range(20):
        if x[0] > 0.2:
            x[1:4] = (x * c)[:3]
        else:
            x[1:4] = (x + c)[:3]
        x[0] = 0.7 * x[0] + 0.1 * x[3]
    return np.sum(x**2)


@pytest.mark.parametrize("f", [parts_of_new_arrays, parts_in_place], ids=lambda f: f.__name__)
def test_a_side_has_its_own_parts_of_what_is_made_before(f):
    """Of what comes before a branch each side looks at the same part."""
    x, c, step = 0.5 + 0.3 * np.sin(np.arange(6.0)), np.linspace(0.5, 1, 6), 1e-6
    plan = planned_ad.compile(f, (x, c))
    slopes = [(f(x.copy(), c + d) - f(x.copy(), c - d)) / (2 * step) for d in step * np.eye(6)]
    np.testing.assert_allclose(plan(x.copy(), c), f(x.copy(), c), rtol=1e-12)
    np.testing.assert_allclose(plan.gradient(x.copy(), c)[1], slopes, rtol=1e-6, atol=1e-8)
