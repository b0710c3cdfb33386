"""Kernels write to their own memory only, whatever the data: guards are tested where loops are over."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import heapq
import mmap
import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import planned_ad

from . import random_joined_lists, random_lists_of_lists, random_nested_growth, random_queues
from .guarded_workspaces import GuardedWorkspaces
from .program_lists import with_short_loops
from .sweeps import name_of, rotated

ERRORS = IndexError, ValueError, KeyError, planned_ad.errors.PlannedADError  # the program's own, and refusals
MODULES = [random_joined_lists, random_lists_of_lists, random_nested_growth, random_queues]
CASES = [
    (101, random_lists_of_lists),
    *(pytest.param(seed, module, marks=pytest.mark.long) for seed in range(20) for module in MODULES),
]


def at(v):
    """An integer, within range for numbers close to 0.505 only."""
    return int(v * 1000) - 500


def chosen(x):
    return [v for v in x if v > 0.3]


def popped(x):
    q, s = chosen(x), 0.0
    for v in x[:3]:
        s += q.pop(at(v))
    return s + sum(q)


def inserted_and_deleted(x):
    q = chosen(x)
    q.insert(at(x[0]), 2.0)
    del q[at(x[1])]
    q[at(x[2])] = 1.0
    return sum(q)


def lists_in_a_list(x):
    q = [[v, v, v, v, v, v] for v in chosen(x)]
    for k in range(3):
        q[at(x[k])].append(x[0])
        q[at(x[k])][at(x[k + 1])] = 3.0
    return sum(sum(row) for row in q)


def tuples_in_a_list(x):
    q = [(v, v * 2) for v in chosen(x)]
    for k in range(3):
        q[at(x[k])] = (1.0, x[0])
        q.pop(at(x[k + 1]))
    return sum(a * b for a, b in q)


def dicts_in_a_list(x):
    q = [{"a": v} for v in chosen(x)]
    for k in range(3):
        q[at(x[k])]["a"] = 1.0
    return sum(one["a"] for one in q)


def queue(x):
    q = collections.deque(chosen(x))
    for k in range(3):
        q[at(x[k])] = 1.0
        q.popleft()
    return sum(q)


def heap(x):
    q = []
    for v in x:
        if v > 0.3:
            heapq.heappush(q, v)
    return sum(heapq.heappop(q) for _ in range(20))


def created(x):
    w = np.zeros(int(x[0] * 40))
    w[at(x[1])] = x[2]
    w[at(x[2]) : at(x[3])] += 1.0
    for k in range(20):
        w[at(x[k])] += x[k]
    return w.sum()


def views(x):
    y = x * 1.0
    for k in range(20):
        y[at(x[k])] += x[k]
        y[at(x[k]) :][:3] = 0.0
    return y.sum()


def dict_of_integers(x):
    found = {0: 0.0, 5: 0.0, 6: 1.0}
    for k in range(20):
        found[at(x[k])] += x[k]
    return sum(found.values())


def rows_of_lists(x):
    rows = [[0.0] * 8 for _ in range(9)]
    for k in range(20):
        rows[at(x[k])][at(x[k + 1])] += x[k]
    return sum(map(sum, rows))


def put_where_there_is_none(x):
    g = [[v] for v in chosen(x)]
    for j in range(20):
        w = [v for v in x if v > 0.1 * j]
        w.append(x[j])
        g[j] = w
    return sum(sum(q) for q in g)


PROGRAMS = [
    popped, inserted_and_deleted, lists_in_a_list, tuples_in_a_list, dicts_in_a_list, queue, heap, created, views,
    dict_of_integers, rows_of_lists, put_where_there_is_none,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated(PROGRAMS, [0, 16]), ids=name_of)
def test_indices_out_of_range(f: Callable, unroll: int, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded, rng = GuardedWorkspaces(monkeypatch), np.random.default_rng(0)
    plan = planned_ad.compile(f, (np.linspace(0.505, 0.507, 24),), check=False, unroll=unroll)
    for x in (*rng.random((2, 24)), *(4 * rng.random((2, 24)) - 2), np.linspace(0.505, 0.507, 24)):
        try:
            expected = f(x.copy())
        except (IndexError, ValueError, KeyError) as error:
            for call in (plan, plan.gradient):
                with pytest.raises(type(error)):
                    call(x.copy())
        else:
            assert plan(x.copy()) == pytest.approx(expected, rel=1e-12)
            plan.gradient(x.copy())
        assert guarded.are_intact()
    assert guarded.made


@pytest.mark.parametrize(("seed", "module"), CASES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_random_programs(seed: int, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded, f = GuardedWorkspaces(monkeypatch), with_short_loops(module.function(seed))
    inputs = np.random.default_rng(seed).random((4, getattr(module, "SIZE", 24)))
    try:
        plan = planned_ad.compile(f, (inputs[0].copy(),), check=False, on_branch="record", calls=())
    except (IndexError, ValueError, planned_ad.errors.PlannedADError):
        pytest.skip("an error of the program, with loops so short")
    for x in (*inputs, inputs[0] * 5 - 3):
        for call in (plan, plan.gradient):
            with contextlib.suppress(*ERRORS):
                call(x.copy())
            assert guarded.are_intact()


@pytest.mark.skipif(sys.platform != "linux", reason="protects a page of memory")
def test_a_loop_without_iterations_reads_nothing_beside_its_array():
    def f(rows, w):
        for i in range(len(rows)):
            for _ in range(i):
                rows[i - 1] = np.tanh(rows[i - 1] * w)
        return np.sum(rows)

    length, page = 6, mmap.PAGESIZE // 8
    memory = np.frombuffer(mmap.mmap(-1, (length + 1) * mmap.PAGESIZE), float)
    rows, w = memory[page:].reshape(length, page), np.full(page, 0.9)
    plan = planned_ad.compile(f, (np.ones((length, page)), w), calls=("gradient",))
    found = []
    for protection in (mmap.PROT_READ | mmap.PROT_WRITE, 0):  # of the page before the rows
        rows[:] = 1.0
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(memory.ctypes.data), mmap.PAGESIZE, protection) == 0
        found.append(plan.gradient(rows, w)[1])
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(memory.ctypes.data), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
    assert np.array_equal(*found) and np.all(found[0] > 0.1)
