"""Lists that one side of a test changes and the other makes anew, and lists of arrays in an order that data say."""

import copy

import numpy as np
import pytest

from .one_trace import traces_of


def banana(p):
    return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2


def arrays(x):
    rows = [x[1:3], x[3:5], x[5:7]]
    for _ in range(20):
        y = rows[0] + rows[1] - rows[2]
        if y[0] < rows[1][0]:
            rows[2] = y
        else:
            rows = [rows[0] + 0.5 * (t - rows[0]) for t in rows]
    return rows[0][1] + rows[2][0]


def lists_of_lists(x):
    rows = [[x[1], x[2]], [x[3], x[4]], [x[5], x[6]]]
    for _ in range(20):
        y = 0.9 * (rows[0][0] + rows[1][0] - rows[2][0])
        if y < rows[1][0]:
            rows[2] = [y, 0.5 * y]
        else:
            rows = [[rows[0][0] + 0.5 * (t[0] - rows[0][0]), t[1] * 0.9] for t in rows]
    return rows[0][1] + rows[2][0]


def changed_before_it_is_left(x):
    rows, total = [x[1], x[2], x[3]], 0.0
    for k in range(20):
        rows[2] = 0.5 * rows[2] + x[k]
        total += rows[0] * rows[2]
        if total > 1:
            total *= 0.5
            rows = [rows[1], rows[2], rows[0]]
    return total + rows[0]


def in_order(x):
    rows = [[x[1:3], x[1]], [x[3:5], x[3]], [x[5:7], x[5]]]
    for _ in range(20):
        rows.sort(key=lambda r: r[1])
        y = rows[0][0] + rows[1][0] - rows[2][0]
        f = np.sum(y**2)
        if f < rows[1][1]:
            del rows[-1]
            rows.append([y, f])
            continue
        found = []
        for t in rows:
            z = rows[0][0] + 0.5 * (t[0] - rows[0][0])
            found.append([z, np.sum(z**2)])
        rows = found
    return rows[0][1] + rows[2][0][1]


def arrays_in_order(x):
    points = [x[:2] * 1.0, x[2:4] * 2.0, x[4:6] * 3.0]
    for _ in range(12):
        points.sort(key=lambda p: np.sum(p**2))
        centre = (points[0] + points[1]) / 2
        mirrored = 2 * centre - points[2]
        if np.sum(mirrored**2) < np.sum(points[1] ** 2):
            points[2] = mirrored
        else:
            points[2] = 0.5 * (centre + points[2])
    return np.sum(points[0] ** 2) + np.sum(points[2])


def nelder_and_mead(x):
    rows = [[x[:2], banana(x[:2])]]
    for i in range(2):
        p = x[:2].copy()
        p[i] += 0.5
        rows.append([p, banana(p)])
    steps = 0
    while True:
        rows.sort(key=lambda row: row[1])
        steps += 1
        if steps > 12:
            return rows[0][1]
        centre = [0.0] * 2
        for row in rows[:-1]:
            for i, c in enumerate(row[0]):
                centre[i] += c / (len(rows) - 1)
        centre = np.array(centre)
        mirrored = centre + (centre - rows[-1][0])
        score = banana(mirrored)
        if rows[0][1] <= score < rows[-2][1]:
            del rows[-1]
            rows.append([mirrored, score])
            continue
        if score < rows[0][1]:
            further = centre + 2.0 * (centre - rows[-1][0])
            if banana(further) < score:
                mirrored, score = further, banana(further)
            del rows[-1]
            rows.append([mirrored, score])
            continue
        nearer = centre - 0.5 * (centre - rows[-1][0])
        if banana(nearer) < rows[-1][1]:
            del rows[-1]
            rows.append([nearer, banana(nearer)])
            continue
        best, found = rows[0][0], []
        for row in rows:
            p = best + 0.5 * (row[0] - best)
            found.append([p, banana(p)])
        rows = found


def endless(x):
    rows, step = [x[1], x[2], x[3]], 0
    while True:
        rows.sort()
        step += 1
        if step > 20:
            return rows[0]
        y = rows[0] + rows[1] - rows[2]
        if y < rows[1]:
            del rows[-1]
            rows.append(y * 0.9)
            continue
        rows = [0.5 * (v + rows[0]) for v in rows]


def array_that_is_nearest(x):
    points, total = [x[:3] * 1, x[3:6] * 1, x[6:9] * 1], 0.0
    for k in range(15):
        j = int(np.argmin([np.sum((p - x[9 + k]) ** 2) for p in points]))
        nearest = points[j]
        points[j] = nearest * 0.9 + 0.1 * x[9 + k]
        total += nearest[1] * x[k]
    return total + sum(p.sum() for p in points)


# What Python's lists have as one thing: each is right, in whatever number of traces.


def written_to_after_the_choice(x):
    points, total = [x[:3] * 1, x[3:6] * 1, x[6:9] * 1], 0.0
    for k in range(15):
        nearest = points[int(np.argmin([abs(p[0] - x[k]) for p in points]))]
        points[0][1] += 0.5
        total += nearest[1] * x[k]
    return total


def chosen_is_written_to(x):
    points = [x[:3] * 1, x[3:6] * 1, x[6:9] * 1]
    for k in range(15):
        points[int(np.argmin([np.sum((p - x[9 + k]) ** 2) for p in points]))] += 0.1 * x[k]
    return sum((p**2).sum() for p in points)


def ordered_and_written_to(x):
    a, b, c = x[:3] * 1, x[3:6] * 1, x[6:9] * 1
    ordered = sorted([a, b, c], key=lambda p: p.sum())
    ordered[0][1] = 3.0
    b *= 2
    return a @ b + c.sum() * ordered[2][0] + ordered[1] @ ordered[0]


def seen_by_a_caller(x):
    def step(rows, k):
        for j in range(3):
            if rows[0] * x[j + k] > 0.2:
                rows[1] = rows[1] + x[j]
            else:
                rows = [rows[1], rows[0] * 0.5]
        return rows[0]

    rows, total = [x[0], x[1]], 0.0
    for k in range(15):
        total += step(rows, k)
        rows[0] = 0.9 * rows[0] + 0.01 * rows[1]
    return total + rows[0] + rows[1]


def kept_under_another_name(x):
    first = [x[0], x[1], x[2]]
    rows, total = first, 0.0
    for k in range(15):
        if rows[0] * x[k] > 0.1:
            rows[1] = rows[1] + x[k]
        else:
            rows = [0.5 * rows[1], rows[0], x[k]]
        total += rows[0] * rows[1]
    return total + first[1]


def many_arrays_in_order(x):
    rows = [x[i % 22 : i % 22 + 2] * 1.0 for i in range(20)]
    ordered = sorted(rows, key=lambda row: row[0])
    rows.sort(key=lambda row: row[1], reverse=True)
    return ordered[0][1] + ordered[5][0] * 2 + rows[0][0] * rows[7][1]


OUTSIDE = [np.array([float(i), 7.0 * i % 20]) for i in range(20)]


def arrays_from_outside_in_order(x):
    ordered = sorted(OUTSIDE, key=lambda row: row[1] * x[0] + 0.1 * row[0])
    return ordered[0][0] * x[1] + ordered[5][1] * x[2]


def one_list_twice(x):
    row = [1.0, 2.0]
    copied = copy.deepcopy([row, row])
    for v in x[:6]:
        copied[0][0] += v
    return copied[0][0] * copied[1][0]


class Point:
    def __init__(self, a):
        self.a, self.b = a, 0.0


def attributes_under_another_name(x):
    best, total = Point(0.0), 0.0
    held = best.__dict__
    for v in x:
        if v > 0:
            best.b += v
            best = Point(v)
        total += best.a
    return total + held["b"]


def array_of_no_axes(x):
    sums = [np.zeros(()), np.ones(())]
    for v in x[:12]:
        chosen = sums[int(v > 0)]
        chosen += v
    return sums[0] * sums[1]


ONE_TRACE = [
    arrays, lists_of_lists, changed_before_it_is_left, in_order, arrays_in_order, nelder_and_mead, endless,
    array_that_is_nearest,
]  # fmt: skip
SEVERAL = [
    written_to_after_the_choice, chosen_is_written_to, ordered_and_written_to, seen_by_a_caller,
    kept_under_another_name, many_arrays_in_order, one_list_twice, attributes_under_another_name,
    array_of_no_axes, arrays_from_outside_in_order,
]  # fmt: skip


@pytest.mark.parametrize("function", ONE_TRACE, ids=lambda f: f.__name__)
def test_one_trace_serves_for_every_way(function):
    assert traces_of(function, 8) == 1


@pytest.mark.parametrize("function", SEVERAL, ids=lambda f: f.__name__)
def test_lists_that_several_names_have(function):
    assert traces_of(function, 8) >= 1


def test_none_is_no_index():
    def win(rows, k):
        for i in range(2):
            if rows[0][i] - rows[1][i] + k > 0:
                return 0
            else:
                return 1

    def f(x):
        rows = [list(x[:2]), list(x[2:4])]
        for j in range(2):
            k = win(rows, j); rows[k][0] = rows[k][0] * 0.5  # noqa: E702  # fmt: skip
        return rows[0][0] + rows[1][0]

    assert traces_of(f, 8) >= 1
