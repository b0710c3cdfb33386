"""Systems with the same matrix in all iterations of a loop are solved together, the right sides side by side."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Apply, Loop, walk
from planned_ad.trace import trace

from .oracle import check_gradient
from .sweeps import left_out

N, COUNT = 4, 24


def density(s, d):
    total = 0.0
    for v in d:
        total += v @ np.linalg.solve(s, v)
    return total + np.linalg.slogdet(s)[1]


def by_factor(s, d):
    factor, total = np.linalg.cholesky(s), 0.0
    for v in d:
        z = scipy.linalg.solve_triangular(factor, v, lower=True)
        total += z @ z + np.sum(scipy.linalg.solve_triangular(factor, v * v, lower=True, trans=1))
    return total


def by_columns(s, d):
    out = np.zeros((COUNT, N, 2))
    for k in range(COUNT):
        out[k] = np.linalg.solve(s.T, np.stack([d[k], np.sin(d[k])], axis=1))
    return np.sum(out**3)


def banded(s, d):
    diagonals, total = np.stack([np.diag(s) - 1, np.diag(s) + 3, np.diag(s)]), 0.0
    for v in d:
        total += np.prod(scipy.linalg.solve_banded((1, 1), diagonals, v))
    return total


def other_matrices(s, d):
    total = 0.0
    for k in range(COUNT):
        total += np.sum(np.linalg.solve(s + k * np.eye(N), d[k]) ** 2)
    return total


PROGRAMS = {density: (N, COUNT), by_factor: (N, COUNT), by_columns: (N, 2 * COUNT), banded: (N, COUNT)}


@pytest.mark.parametrize("f", [density, *map(left_out, (by_factor, by_columns, banded, other_matrices))])
def test_systems_in_loops(f) -> None:
    rng = np.random.default_rng(5)
    a, d = rng.normal(size=(N, N)), rng.normal(size=(COUNT, N))
    s = a @ a.T + np.eye(N)
    check_gradient(f, s, d, every_call=False)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_right_sides_are_side_by_side(f) -> None:
    s, d = np.eye(N) + 0.1, np.ones((COUNT, N))
    tape = vectorise(trace(f, (s, d)).tape)
    assert not any(isinstance(op, Loop) for op in walk(tape.operations))
    solves = [op for op in walk(tape.operations) if isinstance(op, Apply) and op.primitive.endswith("_solve")]
    assert solves and all(op.out.shape == PROGRAMS[f] for op in solves)
