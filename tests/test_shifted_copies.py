"""Shifted and joined copies of arrays: windows of one copy with margins, or no memory at all."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.tape.tape import Loop, Store, walk
from planned_ad.trace import trace

from .oracle import check_gradient
from .sweeps import left_out


def periodic(u):
    for _ in range(20):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = u + 0.1 * u * (around - 4.0 * u)
    return np.sum(u**2)


def by_index_arrays(u):
    n = len(u)
    after, before = (np.arange(n) + 1) % n, np.arange(n) - 1
    for _ in range(20):
        u = u + 0.1 * np.sin(u[after] - u[before]) * u
    return np.sum(u**2)


def joined(u):
    for _ in range(20):
        left, right = np.concatenate([u[:1], u[:-1]]), np.concatenate([u[1:], u[-1:]])
        u = u + 0.1 * (left - 2.0 * u + right)
    return np.sum(u**2)


def at_different_edges(u):
    """Both show the same array, and have other numbers in the same place beside it."""
    left = np.concatenate([u[-1:], u[:-1]])
    right = np.concatenate([u[1:], 0.5 * u[:1]])
    far = np.concatenate([u[-2:-1], u[:-1]])
    return np.sum(left * right * far)


def changed_in_between(u):
    u = u.copy()
    left = np.roll(u, 1)
    u[3] = 0.5
    right = np.roll(u, -1)
    u[5] = left[2] * right[7]
    return np.sum(left * right * u)


def in_one_piece(u):
    for _ in range(20):
        u = u + 0.1 * np.roll(u, 1)
    return np.sum(u**2)


# How many numbers are copied: of the primal, and as shares of an array.
COPIED = {periodic: 1.15, by_index_arrays: 1.002, joined: 1.002}


@pytest.mark.parametrize("f", COPIED, ids=lambda f: f.__name__)
def test_there_is_one_copy_with_margins(f) -> None:
    u = np.ones((32, 40) if f is periodic else 2000)
    tape = entry_tape(trace(f, (u,)), KINDS["gradient"], preserve_args=False)
    labels = {buffer.id for buffer in tape.buffers if buffer.label == "margins"}
    assert len(labels) == 1
    copied = [
        op.region.view.size for op in walk(tape.operations) if isinstance(op, Store) and op.region.buffer in labels
    ]
    assert sum(copied) <= COPIED[f] * u.size


ALL = [periodic, by_index_arrays, joined, at_different_edges, changed_in_between, in_one_piece]


@pytest.mark.parametrize("f", [periodic, at_different_edges, *map(left_out, (f for f in ALL if f not in ALL[:4:3]))])
def test_gradients(f) -> None:
    shape = (32, 33) if f is periodic else (1030,)
    check_gradient(f, np.random.default_rng(1).normal(size=shape) / 2, every_call=False)


def test_a_part_is_computed_where_it_lies() -> None:
    tape = entry_tape(trace(in_one_piece, (np.ones(500),)), KINDS["gradient"], preserve_args=False)
    (loop, _) = (op for op in tape.operations if isinstance(op, Loop))
    stores = [op for op in loop.body if isinstance(op, Store)]
    assert sorted(op.region.view.size for op in stores) == [1, 499]
