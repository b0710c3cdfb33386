"""Memory of the program's own that lies as loops go through it, or stays as it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.calls.entries import entry_tape
from planned_ad.calls.kinds import KINDS
from planned_ad.passes.stored_along import stored_along
from planned_ad.tape.tape import Tape
from planned_ad.trace import trace

from .oracle import check_gradient


def heat(x):
    u = np.zeros((20, 31))
    u[:, 0] = x
    for t in range(30):
        u[1:-1, t + 1] = u[1:-1, t] + 0.2 * (u[2:, t] - 2 * u[1:-1, t] + u[:-2, t]) * np.cos(u[1:-1, t])
    return np.sum(u[:, -1] ** 2)


def from_the_end(x):
    u = np.zeros((20, 31))
    u[:, -1] = x
    for t in range(29, -1, -1):
        u[::-1, t] = np.sin(u[:, t + 1]) + 0.1 * u[:, -1]
    return np.sum(u[:, 0] ** 2)


def three_axes(x):
    u = np.zeros((20, 6, 7))
    for i in range(6):
        for j in range(7):
            u[:, i, j] = np.sin(x * (i + 1)) + (u[:, i - 1, j] if i else 0.0) * x
    return np.sum(u[:, -1, 3] ** 2)


def triangle(x):
    u = np.zeros((20, 21))
    for i in range(20):
        u[i:, i] = x[i:] * np.cos(x[i]) + (u[i:, i - 1] if i else 0.0)
    return np.sum(u[:, -1]) + np.sum(u[3:, 2] ** 2)


def by_rows(x):
    u = np.zeros((30, 20))
    for t in range(1, 30):
        u[t] = np.sin(u[t - 1]) + x
    return np.sum(u[:, 0]) + np.sum(u[-1] ** 2)


def mostly_whole(x):
    u = np.outer(x, x)
    for _ in range(20):
        u[1:-1, 1:-1] = 0.25 * np.sin(u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
    return np.sum(u**2)


def seen_flat(x):
    u = np.zeros((20, 31))
    for t in range(30):
        u[:, t + 1] = np.sin(u[:, t]) + x
    return np.sum(u.reshape(-1)[3:400:7] ** 2)


TURNED = (heat, from_the_end, three_axes, triangle)
PROGRAMS = (*TURNED, by_rows, mostly_whole, seen_flat)


def shapes(tape: Tape) -> dict[str, tuple[int, ...]]:
    return {f"{buffer.label} {buffer.id}": buffer.shape for buffer in tape.buffers if not buffer.visible}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Callable) -> None:
    check_gradient(f, np.random.default_rng(2).random(20), every_call=f in (heat, triangle))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_which_are_turned(f: Callable) -> None:
    tape = trace(f, (np.ones(20),), unroll=1).tape
    assert (shapes(stored_along(tape)) != shapes(tape)) == (f in TURNED)


def test_shadows_are_turned_too() -> None:
    found = shapes(entry_tape(trace(heat, (np.ones(20),)), KINDS["gradient"], False))
    assert (31, 20) in found.values() and (20, 31) not in found.values()
