"""Sums of shifted contributions: one store for each element, the same numbers."""

import numpy as np
import pytest

from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.boxes import Box, cut_boxes
from planned_ad.passes.gather_form import gather_form
from planned_ad.passes.pipeline import simplify
from planned_ad.passes.short_loops import write_out_short_loops
from planned_ad.tape.interpret import array_of, interpret, memory_of
from planned_ad.tape.tape import Store, walk
from planned_ad.trace import trace
from tests.oracle import check_gradient

RNG = np.random.default_rng(0)


def laplacian(u):
    return np.sum((u[2:] - 2 * u[1:-1] + u[:-2]) ** 2)


def five_points(u):
    return np.sum((u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) ** 2)


def in_place(u):
    for _ in range(2):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u * u)


def seven_points(u):
    inner = u[1:-1, 1:-1, 1:-1]
    near = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
    return np.sum((near + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * inner) * inner)


def all_around(u):
    total = np.zeros((10, 11, 12))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                total += u[i : i + 10, j : j + 11, k : k + 12]
    return np.sum(np.sin(total - 26 * u[1:-1, 1:-1, 1:-1]))


def wide(u):
    """Fourth order along both axes, and steps of time in an array."""
    for t in range(3):
        v, inner = u[t], u[t, 2:-2, 2:-2]
        along = 16 * (v[3:-1, 2:-2] + v[1:-3, 2:-2]) - v[4:, 2:-2] - v[:-4, 2:-2]
        across = 16 * (v[2:-2, 3:-1] + v[2:-2, 1:-3]) - v[2:-2, 4:] - v[2:-2, :-4]
        u[t + 1, 2:-2, 2:-2] += 0.01 * (along + across - 60 * inner) * inner
    return np.sum(u[3] ** 2)


def both_ways(u):
    """Two arrays in turn: what is stored before it is added to."""
    v = u.copy()
    for _ in range(3):
        for a, b in ((u, v), (v, u)):
            near = a[2:, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1] + a[1:-1, 2:, 1:-1] + a[1:-1, :-2, 1:-1]
            b[1:-1, 1:-1, 1:-1] = 0.1 * (near + a[1:-1, 1:-1, 2:] + a[1:-1, 1:-1, :-2]) + 0.4 * a[1:-1, 1:-1, 1:-1]
    return np.sum(u * v)


PROGRAMS = {
    "seven points": (seven_points, RNG.normal(size=(12, 13, 14))),
    "all around": (all_around, RNG.normal(size=(12, 13, 14))),
    "wide": (wide, RNG.normal(size=(4, 24, 25))),
    "both ways": (both_ways, RNG.normal(size=(11, 12, 13))),
    "laplacian": (laplacian, RNG.normal(size=200)),
    "five points": (five_points, RNG.normal(size=(20, 23))),
    "in place": (in_place, RNG.normal(size=120)),
}


def shadow_after(tape, x):
    memories = {id: memory_of(tape.buffers[id], x if id == 0 else np.zeros(x.shape)) for id in tape.arguments}
    interpret(tape, memories)
    shadow = next(b for b in tape.buffers if b.kind == "shadow")
    return array_of(shadow, memories[shadow.id])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_stay(name):
    f, x = PROGRAMS[name]
    before = simplify(reverse(trace(f, (x,)).tape))
    after = gather_form(before)
    assert after is not before
    np.testing.assert_allclose(shadow_after(after, x), shadow_after(before, x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name):
    f, x = PROGRAMS[name]
    check_gradient(f, x, every_call=name in ("laplacian", "in place"))


@pytest.mark.parametrize("name", ["laplacian", "five points"])
def test_each_element_of_the_shadow_is_stored_once(name):
    f, x = PROGRAMS[name]
    tape = entry_tape(trace(f, (x,)), KINDS["gradient"], False)
    shadow = next(b for b in tape.buffers if b.kind == "shadow")
    stores = [op for op in tape.operations if isinstance(op, Store) and op.region.buffer == shadow.id]
    assert not any(op.accumulate for op in stores)
    assert sum(op.region.view.size for op in stores) == x.size


def test_what_does_not_overlap_is_left_alone():
    tape = simplify(reverse(trace(lambda u: np.sum(u[:100] ** 2) + np.sum(u[100:] ** 3), (np.ones(200),)).tape))
    assert gather_form(tape) is tape


def test_boxes_are_cut_at_one_anothers_boundaries():
    pieces = cut_boxes([Box((0,), (9,)), Box((1,), (10,))])
    assert [(p.starts, p.stops) for p in pieces] == [((0,), (1,)), ((1,), (9,)), ((9,), (10,))]


@pytest.mark.parametrize("name", ["seven points", "all around", "wide", "both ways"])
def test_many_boxes_are_copies_with_rims(name):
    """As many passes over the shadow as there are groups, however many shifts; one memory for copies of one form."""
    f, x = PROGRAMS[name]
    before = simplify(reverse(write_out_short_loops(trace(f, (x,)).tape)))
    after = gather_form(before)
    rims = [b for b in after.buffers if b.label.startswith("rim_")]
    passes = [sum(isinstance(op, Store) and op.accumulate for op in walk(t.operations)) for t in (before, after)]
    assert 1 <= len(rims) <= 2 and 2 * passes[1] < passes[0]


def test_what_is_overwritten_without_being_read():
    """Its shadow is cleared between two groups of contributions, which stay apart."""

    def near(u):
        total = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        return np.sum((total + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]) ** 2)

    def f(u):
        before = near(u)
        u[1:-1, 1:-1, 1:-1] = 0.5
        return before + near(u)

    x = RNG.normal(size=(8, 9, 10))
    before = simplify(reverse(trace(f, (x,)).tape))
    np.testing.assert_allclose(shadow_after(gather_form(before), x), shadow_after(before, x), rtol=1e-13, atol=1e-13)
    check_gradient(f, x)
