"""Loops with products of small matrices: written out number by number."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.passes.invariants import hoist_invariants
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.small_matrices import small_matrices_in_numbers
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.tape import Apply, Loop, Tape, walk
from planned_ad.trace import trace

from .blocks import assert_same
from .interpreted_plans import assert_right
from .program_lists import Programs, function_of

STEPS, SIZE = 20, 64
PROGRAMS = Programs()


@PROGRAMS.rolled
def kalman(x):
    f, q, h = np.array([[1.0, x[0]], [0.0, x[1]]]), x[2] * np.eye(2), np.array([[1.0, 0.0]])
    r, m, p, total = np.array([[0.1 + x[3]]]), np.zeros(2), np.eye(2), 0.0
    for t in range(STEPS):
        m, p = f @ m, f @ p @ f.T + q
        e = x[10 + t] - h @ m
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        m, p = m + gain @ e, (np.eye(2) - gain @ h) @ p
        total -= 0.5 * (np.log(np.linalg.det(s)) + e @ np.linalg.solve(s, e))
    return total


@PROGRAMS.rolled
def two_observations(x):
    """An inverse stays a call of its own, among numbers."""
    a, p, total = x[:4].reshape(2, 2) + np.eye(2), np.eye(2), 0.0
    for t in range(STEPS):
        s = a @ p @ a.T + np.eye(2) * (1.0 + x[t])
        p = 0.5 * np.linalg.inv(s) + x[t] * np.diag(p).sum()
        total += np.trace(p) + np.linalg.slogdet(s)[1]
    return total


@PROGRAMS.rolled
def rotations(x):
    r = np.eye(3)
    for k in range(STEPS):
        a, b, c = x[3 * k : 3 * k + 3] * 0.2
        skew = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
        r = r @ (np.eye(3) + skew + 0.5 * skew @ skew)
    return np.sum((r @ x[:3]) ** 2)


@PROGRAMS.rolled
def choices(x):
    a, v, total = x[:4].reshape(2, 2), x[4:6].copy(), 0.0
    for t in range(STEPS):
        w = a @ v
        if w[0] > 0.8 * w[1]:
            v = np.where(w > x[t], 0.5 * w, w - 0.1)
        else:
            v = np.maximum(w[::-1], a[0] * 0.3)
        total += np.prod(v) + v.max()
    return total


@PROGRAMS.rolled
def kept_by_time(x):
    a, path = x[:9].reshape(3, 3) * 0.4, np.zeros((STEPS + 1, 3))
    path[0] = x[9:12]
    for t in range(STEPS):
        path[t + 1] = np.tanh(a @ path[t]) + x[20 + t]
        path[t + 1, 1] *= 0.5
    return np.sum(path**2)


@PROGRAMS.rolled
def loops_in_loops(x):
    a, m = x[:4].reshape(2, 2) * 0.5, np.eye(2)
    for t in range(STEPS):
        for _ in range(18):
            m = 0.5 * (m + a @ m.T) / (1.0 + np.sum(m * m))
        m[0, 1] += x[t]
    return np.sum(m[:, 0] * m[1])


@PROGRAMS.rolled
def several_axes(x):
    a, b, total = x[:8].reshape(2, 2, 2), x[8:12].reshape(2, 2), 0.0
    for t in range(STEPS):
        c = np.einsum("ijk,kl->lji", a, b)
        a = 0.3 * c + x[t]
        b = 0.5 * a.sum(axis=1) - a[:, 0] @ b.T * 0.1
        total += np.sum(a.sum(axis=(0, 2)) * b[:, 1])
    return total


@PROGRAMS.program
def larger_matrices(x):
    a, v = x[:16].reshape(4, 4) * 0.3, x[16:20]
    for _ in range(STEPS):
        v = np.tanh(a @ v)
    return np.sum(v)


@PROGRAMS.program
def no_products(x):
    v = x[:3]
    for t in range(STEPS):
        v = np.sin(v) * x[t]
    return np.sum(v)


def prepared(f: Callable, unroll: int = 0) -> Tape:
    tape = trace(f, (np.random.default_rng(0).random(SIZE),), unroll=unroll).tape
    return rewrite(hoist_invariants(vectorise(tape), loads=True))


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_tapes_mean_the_same(f: Callable) -> None:
    tape = prepared(f)
    changed = small_matrices_in_numbers(tape)
    assert_same(tape, changed)
    inside = [op for op in walk(changed.operations) if isinstance(op, Loop)]
    products = [op for op in walk(inside[0].body) if isinstance(op, Apply) and op.primitive == "contract"]
    assert bool(products) == (f is larger_matrices)
    assert (changed is tape) == (f not in PROGRAMS.loops)


@pytest.mark.parametrize("f", PROGRAMS.loops)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_values_and_slopes(f: Callable, compiled: bool) -> None:
    assert_right(f, SIZE, 2, 0, compiled)


MATRICES = (
    "a @ b", "b.T", "a * x[t]", "np.outer(v, v)", "np.outer(a[0], v)", "np.eye(n)", "b - a.T @ b", "v[:, None] * b",
    "np.where(a > b, a, v)", "np.maximum(a, 0.2)", "a[::-1]", "np.sin(b)", "np.array([v] * n)", "a @ b @ a.T",
)  # fmt: skip
VECTORS = (
    "a @ v", "v @ b", "a[1]", "b[:, 0]", "np.diag(a)", "a.sum(axis=0)", "b.prod(axis=1)", "v * x[t]", "x[t : t + n]",
    "np.where((a > 0.3).all(axis=0), v, 0.5)", "v / (1.0 + v @ v)", "np.tanh(v)", "v[::-1]", "b @ a @ v",
)  # fmt: skip


def random_small_matrices(seed: int) -> Callable:
    """Products, sums, parts and choices of two matrices and a vector of two or three numbers, in a loop."""
    pick = random.Random(seed)
    n = pick.choice([2, 2, 3])
    body = ["v = np.tanh(a @ v)"]
    for _ in range(pick.randint(3, 7)):
        kind, vector, other = pick.random(), pick.choice(VECTORS), pick.choice(VECTORS)
        if kind < 0.4:
            body.append(f"{pick.choice('ab')} = 0.4 * ({pick.choice(MATRICES)} + {pick.choice(MATRICES)})")
        elif kind < 0.7:
            body.append(f"v = 0.5 * ({vector} - {other})")
        elif kind < 0.8:
            body += [f"if v[0] > {pick.choice(['x[t]', 'b[0, 1]', '0.1'])}:", f"    v = {vector}"]
            body += ["else:", f"    s += np.sum({other})"]
        elif kind < 0.9:
            body += [f"kept[t] += {vector}", f"b[0, 1] = {pick.choice(['s', 'v[1]', 'x[t]'])} * 0.1"]
        else:
            body += ["for k in range(17):", f"    v = 0.3 * ({vector})"]
        body.append(f"s = 0.5 * s + np.tanh(np.sum({pick.choice([*MATRICES, *VECTORS])}))")
    lines = [
        f"n, s, v = {n}, 0.0, x[:{n}].copy()", f"a, b = x[: {n * n}].reshape({n}, {n}), np.eye({n})",
        f"kept = np.zeros(({STEPS}, {n}))", f"for t in range({STEPS}):", *(f"    {line}" for line in body),
        "return s + np.sum(a) + np.sum(np.tanh(b)) + np.sum(v) + np.sum(kept)",
    ]  # fmt: skip
    return function_of("\n    ".join(["def f(x):", *lines, ""]), f"<small {seed}>", np=np)


def check_random(seed: int) -> bool:
    tape = prepared(random_small_matrices(seed))
    changed = small_matrices_in_numbers(tape)
    assert_same(tape, changed)
    return changed is not tape


def test_random_programs() -> None:
    assert sum(map(check_random, range(20))) > 8


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 600, 50))
def test_more_random_programs(first: int) -> None:
    assert sum(map(check_random, range(first, first + 50))) > 15
