"""Lists of lists that objects hold, and rows of which a dict says the place: data say which one is filled."""

from __future__ import annotations

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


class Rows:
    def __init__(self):
        self.lists = [[] for _ in range(60)]

    def at(self, k):
        return self.lists[k]


class Grown:
    def __init__(self):
        self.lists = []


class Groups:
    def __init__(self):
        self.index, self.lists = {}, [[] for _ in range(60)]

    def setdefault(self, k, default):
        if k not in self.index:
            self.index[k] = len(self.index)
        return self.lists[self.index[k]]

    def items(self):
        for k in self.index:
            yield k, self.lists[self.index[k]]


@rolled
def by_a_method(x):
    m = np.floor(x * 8).astype(int) + 1
    d = Rows()
    for a, c in zip(m, x):
        d.at(a).append(c)
    return sum(sum(g) ** 2 for g in d.lists)


@rolled
def in_a_variable(x):
    m = np.floor(x * 8).astype(int) + 1
    lists = [[] for _ in range(60)]
    for a, c in zip(m, x):
        lists[a].append(c)
    return sum(sum(g) ** 2 for g in lists)


@rolled
def by_an_attribute(x):
    m = np.floor(x * 8).astype(int) + 1
    d = Rows()
    for a, c in zip(m, x):
        d.lists[a].append(c)
    return sum(sum(g) ** 2 for g in d.lists)


@rolled
def appended_first(x):
    m = np.floor(x * 8).astype(int) + 1
    d = Grown()
    for _ in range(60):
        d.lists.append([])
    for a, c in zip(m, x):
        d.lists[a].append(c)
    return sum(sum(g) ** 2 for g in d.lists)


@rolled
def rows_by_a_dict(x):
    m = np.floor(x * 8).astype(int) + 1
    index = {}
    lists = []
    for a, c in zip(m, x):
        k = int(a)
        if k not in index:
            index[k] = len(lists)
            lists.append([])
        lists[index[k]].append(c)
    s = 0.0
    for k in index:
        for c in lists[index[k]]:
            s += c * c * (k + 1)
    return s


@rolled
def places_by_a_dict(x):
    m = np.floor(x * 8).astype(int) + 1
    index = {}
    lists = [[] for _ in range(60)]
    n = 0
    for a, c in zip(m, x):
        k = int(a)
        if k not in index:
            index[k] = n
            n += 1
        lists[index[k]].append(c)
    s = 0.0
    for k in index:
        for c in lists[index[k]]:
            s += c * c * (k + 1)
    return s


@rolled
def groups_of_an_object(x):
    m = np.floor(x * 8).astype(int) + 1
    d = Groups()
    for a, c in zip(m, x):
        d.setdefault(int(a), []).append((c, a))
    s = 0.0
    for k, g in d.items():
        for c, a in g:
            s += c * c * (k + 1) * a
        s += len(g)
    return s


@rolled
def places_by_default(x):
    m = np.floor(x * 8).astype(int) + 1
    index = {}
    lists = [[] for _ in range(60)]
    for a, c in zip(m, x):
        k = int(a)
        index[k] = index.get(k, len(index))
        lists[index[k]].append(c)
    s = 0.0
    for k in index:
        for c in lists[index[k]]:
            s += c * c * (k + 1)
    return s


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)
