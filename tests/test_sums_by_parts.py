"""Sums over memory that several stores fill: over what each has left there, which need not be put together."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.boxes import Box, cut_boxes, merged_boxes
from planned_ad.passes.dead_code import drop_dead
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.sums_by_parts import sums_by_parts
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Store, walk
from planned_ad.trace import trace

from .oracle import assert_close, memories_for

X = np.random.default_rng(0).uniform(0.2, 1.0, (12, 10))


def interior(x):
    y = x.copy()
    y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return np.sum(y**2)


def one_axis(x):
    y = x[0].copy()
    y[1:-1] += 0.25 * np.diff(x[0], 2)
    return np.sum(np.sin(y) * x[1]) + np.sum(y)


def again_and_again(x):
    y = np.sin(x)
    y[2:9] = np.cos(x[2:9])
    y[4:, 3:5] = x[4:, 3:5] ** 2
    return np.sum(y * y * x)


def with_edges(x):
    y = x * x
    y[0, :] = x[1, :]
    y[:, -1] = np.exp(x[:, 0])
    return np.sum(y**3)


def alternating(x):
    y = np.empty(20)
    y[::2], y[1::2] = x[0], np.sin(x[1])
    return np.sum(y * y)


def joined(x):
    return np.sum(np.concatenate([np.sin(x[:, 0]), x[0], x[3] * x[4]]) ** 2)


def with_margins(x):
    y = np.zeros((12, 10))
    y[1:-1] = x[1:-1]
    return np.sum(np.cos(y))


def one_column(x):
    y = x[:, :1].copy()
    y[3:5, 0] = np.exp(x[3:5, 2])
    return np.sum(y**2)


@pytest.mark.parametrize(
    "f", [interior, one_axis, again_and_again, with_edges, alternating, joined, one_column, with_margins]
)
def test_memory_that_is_only_summed_goes(f) -> None:
    traced = trace(f, (X,))
    tape = drop_dead(rewrite(sums_by_parts(drop_dead(rewrite(traced.tape)))))
    assert not any(isinstance(op, Store) for op in walk(tape.operations))
    (found,) = interpret(tape, memories_for(tape, traced, (X,), {}, []))
    assert_close(found, np.asarray(f(X)))
    direction = np.random.default_rng(1).normal(size=X.shape)
    expected = (f(X + 1e-6 * direction) - f(X - 1e-6 * direction)) / 2e-6
    gradient = planned_ad.compile(f, (X,)).gradient(X)
    np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=1e-6)


def many_parts(x):
    y = x.copy()
    for k in range(10):
        y[k, k] = np.sin(x[k, 0])
    return np.sum(y**2)


def added_to(x):
    y = x.copy()
    y[1:-1] += x[2:]
    y[1:-1] *= y[:-2]
    return np.sum(y**2)


@pytest.mark.parametrize("f", [many_parts, added_to])
def test_what_stays_has_the_same_numbers(f) -> None:
    plan = planned_ad.compile(f, (X,))
    np.testing.assert_allclose(plan(X), f(X), rtol=1e-13)
    direction = np.random.default_rng(1).normal(size=X.shape)
    expected = (f(X + 1e-6 * direction) - f(X - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(plan.gradient(X) * direction), expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_merged_boxes_are_the_same_elements(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 7, (4, 2, 2))
    boxes = [Box(tuple(map(int, c.min(axis=0))), tuple(map(int, c.max(axis=0) + 1))) for c in corners]

    def cells(found):
        count = np.zeros((8, 8), int)
        for box in found:
            count[box.starts[0] : box.stops[0], box.starts[1] : box.stops[1]] += 1
        return count

    pieces = cut_boxes(boxes)
    assert len(merged_boxes(pieces)) <= len(pieces)
    np.testing.assert_array_equal(cells(merged_boxes(pieces)), cells(pieces))
    assert cells(pieces).max() == 1
