"""Arrays that get longer in loops: what is behind is stored, and what is there is not copied."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.passes.appended_parts import appended_parts
from planned_ad.passes.dead_code import drop_dead
from planned_ad.tape.tape import Store, walk
from planned_ad.trace import trace

from .blocks import assert_same
from .oracle import compiled

SIZE = 30


def by_rows(x):
    table = x[:3].reshape(1, 3)
    for k in range(20):
        table = np.vstack((table, x[k : k + 3] * table[-1]))
    return table


def by_columns_of_two_parts(x):
    table = np.zeros((2, 1))
    for k in range(20):
        table = np.hstack((table, x[k : k + 2].reshape(2, 1), x[k + 2 : k + 6].reshape(2, 2)))
    return table


def looked_at(x):
    path, total = x[:2], 0.0
    for k in range(20):
        path = np.append(path, x[k] * path[k])
        total += np.sum(path * path) * x[k]
    return total + path[-1]


def of_three_axes(x):
    cube = x[:4].reshape(2, 1, 2)
    for k in range(12):
        cube = np.concatenate((cube, x[k : k + 4].reshape(2, 1, 2) * cube[:, -1:]), axis=1)
    return cube[:, ::3]


GROWS = [by_rows, by_columns_of_two_parts, looked_at, of_three_axes]


def changed_before(x):
    """What is there is another thing by then."""
    path = x[:2].copy()
    for k in range(20):
        path = np.append(path * 1.0625, x[k])
    return path


def put_in_front(x):
    path = x[:2]
    for k in range(20):
        path = np.append(x[k], path)
    return path


def twice(x):
    path = x[:1]
    for k in range(5):
        path = np.concatenate((path, path[:1], path[-1:] * x[k]))
        path[0] = path[0] * 0.5
    return path


def of_another_one(x):
    path, other = x[:2].copy(), x[2:4].copy()
    for k in range(20):
        path, other = np.append(other, x[k]), np.append(path, x[k + 1])
    return path * 2 + other


@pytest.mark.parametrize("f", [*GROWS, changed_before, put_in_front, twice, of_another_one])
def test_the_same_numbers(f):
    x = np.random.default_rng(0).random(SIZE)
    tape = trace(f, (x,), unroll=4).tape
    assert_same(tape, drop_dead(appended_parts(tape)))


@pytest.mark.parametrize("f", GROWS)
def test_only_what_is_behind_is_stored(f):
    tape = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=4).tape
    found = drop_dead(appended_parts(tape))
    assert stored_in_all(found) < stored_in_all(tape) if f is not looked_at else found is not tape


def stored_in_all(tape):
    return sum(op.value.size for op in walk(tape.operations) if isinstance(op, Store))


@pytest.mark.parametrize("f", [changed_before, put_in_front, of_another_one])
def test_what_is_another_thing_is_stored_as_it_was(f):
    tape = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=4).tape
    assert appended_parts(tape) is tape


@pytest.mark.parametrize("f", GROWS)
def test_compiled(f):
    def loss(x):
        return np.sum(f(x) ** 2)

    rng = np.random.default_rng(1)
    x, direction = rng.random(SIZE), rng.normal(size=SIZE)
    plan = compiled(loss, x, unroll=4)
    slope = (loss(x + 1e-6 * direction) - loss(x - 1e-6 * direction)) / 2e-6
    assert plan(x) == pytest.approx(loss(x), rel=1e-13)
    assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-6)
