"""Programs with lists whose length is data in other lists: neighbours, cells, groups, graphs."""

# ruff: noqa: PERF401 (programs as people write them)

from __future__ import annotations

import numpy as np


def adjacency(x):
    n = len(x)
    near = [[] for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if abs(x[i] - x[j]) < 0.4:
                near[i].append(j)
                near[j].append(i)
    s = 0.0
    for i in range(n):
        for j in near[i]:
            s += (x[i] - x[j]) ** 2 / len(near[i])
    return s + x[0]


def neighbours_by_comprehension(x):
    n = len(x)
    near = [[j for j in range(n) if j != i and abs(x[i] - x[j]) < 0.4] for i in range(n)]
    s = 0.0
    for i in range(n):
        for j in near[i]:
            s += (x[i] - x[j]) ** 2
    return s + x[0]


def neighbours_appended(x):
    near = []
    for i in range(len(x)):
        near.append([j for j in range(len(x)) if j != i and x[j] < x[i]])
    s = 0.0
    for i, lower in enumerate(near):
        if lower:
            s += x[i] * x[lower[0]] + x[lower[-1]]
    return s + x[0]


def filled_after_it_is_appended(x):
    runs = []
    for i in range(len(x)):
        run = []
        runs.append(run)
        for j in range(i):
            if x[j] > x[i]:
                run.append(x[j] * 0.5)
    return sum(sum(run) * len(run) for run in runs) + x[0]


def neighbours_in_each_step(x):
    n, v, x = len(x), np.zeros(len(x)), x.copy()
    for _ in range(20):
        near = [[] for _ in range(n)]
        for i in range(n):
            for j in range(i + 1, n):
                if abs(x[i] - x[j]) < 0.4:
                    near[i].append(j)
                    near[j].append(i)
        force = np.zeros(n)
        for i in range(n):
            for j in near[i]:
                force[i] += x[j] - x[i]
        v = v + 0.02 * force
        x = x + 0.02 * v
    return np.sum(x * np.arange(n))


def cells(x):
    found = [[] for _ in range(6)]
    for i in range(len(x)):
        found[min(max(int(2 * x[i] + 3), 0), 5)].append(i)
    s = 0.0
    for c in range(6):
        for i in found[c]:
            for j in found[c]:
                if i < j:
                    s += (x[i] - x[j]) ** 2
    return s + x[0]


def means_of_groups(x):
    c0, c1 = -0.5, 0.5
    for _ in range(20):
        groups = [[], []]
        for v in x:
            groups[0 if abs(v - c0) < abs(v - c1) else 1].append(v)
        if groups[0]:
            c0 = sum(groups[0]) / len(groups[0])
        if groups[1]:
            c1 = sum(groups[1]) / len(groups[1])
    return c0 * c1 + x[0]


def written_in_rows(x):
    tops = [[] for _ in range(4)]
    for i, v in enumerate(x):
        row = tops[i % 4]
        if not row:
            row.append(v * v)
        elif v > row[-1]:
            row[-1] *= v
            row.append(0.5 * v)
        else:
            row[0] += v
    return sum(k * sum(row) for k, row in enumerate(tops)) + x[0]


def stacks(x):
    piles = [[] for _ in range(3)]
    s = 0.0
    for i, v in enumerate(x):
        pile = piles[(2 * i) % 3]
        while pile and pile[-1] < v:
            s += pile.pop() * v
        pile.append(v)
    return s + sum(len(pile) for pile in piles) + x[0]


def put_in_anew(x):
    last = [[] for _ in range(3)]
    s = 0.0
    for i, v in enumerate(x):
        found = [u * 0.5 for u in last[i % 3] if u > 0.1]
        if v > 0:
            found.append(v)
        last[i % 3] = found
        s += sum(found)
    return s + sum(map(len, last)) + x[0]


def an_old_list_is_kept(x):
    groups = [[x[0]], []]
    first = groups[0]
    s = 0.0
    for i in range(1, len(x)):
        if x[i] > 0:
            first.append(x[i])
        s += sum(first) * 0.1 + len(groups[i % 2])
        groups[0] = [x[i]]
    return s + sum(groups[0])


def one_list_twice(x):
    one = []
    groups = [one, one, []]
    for i, v in enumerate(x):
        if v > 0:
            groups[i % 3].append(v)
    return sum(sum(g) * (k + 1) for k, g in enumerate(groups)) + x[0]


def runs(x):
    found, current = [], []
    for v in x:
        if v > 0:
            current.append(v)
        elif current:
            found.append(current)
            current = []
    return sum(sum(run) ** 2 for run in found) + sum(current) + x[0]


def changed_after_it_is_appended(x):
    found, current = [], [x[0]]
    for v in x:
        if v > 0:
            found.append(current)
        current.append(v)
    return sum(sum(run) ** 2 for run in found) + sum(current)


def longest(x):
    groups = [[] for _ in range(3)]
    for i, v in enumerate(x):
        if v > 0.2:
            groups[i % 3].append(v)
    return sum(max(groups, key=len)) + sum(sorted(groups, key=len)[0]) + x[0]


def levels(x):
    known = [[0]]
    s = x[0]
    for k in range(1, len(x)):
        following = [j for j in range(k) if x[j] > x[k]]
        if following:
            known.append(following)
        s += 0.1 * sum(x[j] for j in known[-1])
    return s


def kept_by_data(x):
    groups = [[], []]
    last = groups[0]
    for v in x:
        last = groups[1 if v > 0 else 0]
        last.append(v)
    last.append(3.0)
    return sum(groups[0]) * 2 + sum(groups[1]) * len(groups[1])


def kept_by_the_index(x):
    groups = [[], [], []]
    for i, v in enumerate(x):
        last = groups[i % 3]
        if v > 0:
            last.append(v)
    last.append(1.0)
    groups[0].append(2.0)
    return sum(sum(g) * (k + 1) for k, g in enumerate(groups)) + x[0]


def the_longest_is_kept(x):
    groups = [[], [], []]
    best = groups[0]
    for i, v in enumerate(x):
        if v > 0:
            groups[i % 3].append(v)
        if len(groups[i % 3]) > len(best):
            best = groups[i % 3]
    best.append(5.0)
    return sum(sum(g) * (k + 1) for k, g in enumerate(groups)) + x[0]


def two_names_for_one_row(x):
    groups = [[], []]
    for i, v in enumerate(x):
        a, b = groups[i % 2], groups[(i + 2) % 2]
        if v > 0:
            a.append(v)
        if b:
            b[0] = b[0] * 0.9
    return sum(groups[0]) + 2 * sum(groups[1]) + x[0]


def cut_and_put_back(x):
    groups, s = [[] for _ in range(3)], x[0]
    for i, v in enumerate(x):
        row = groups[i % 3]
        if v > 0:
            row.append(v)
        elif row:
            row.pop()
        if len(row) > 2:
            groups[i % 3] = row[1:]
        s += sum(row)
    return s + sum(map(sum, groups))


LOOPS = [
    adjacency, neighbours_by_comprehension, neighbours_appended, filled_after_it_is_appended, neighbours_in_each_step,
    cells, means_of_groups, written_in_rows, stacks, put_in_anew, two_names_for_one_row,
]  # fmt: skip
OTHERS = [
    an_old_list_is_kept, one_list_twice, runs, changed_after_it_is_appended, longest, levels, kept_by_data,
    kept_by_the_index, the_longest_is_kept, cut_and_put_back,
]  # fmt: skip
