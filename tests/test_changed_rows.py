"""Lists of lists, and of arrays, in whose places loops put others, and to whose elements they write."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs
from .random_changed_rows import SIZE, function

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 600)]
N = 18
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


def matrix(x):
    return [[x[i] * x[j] + (3.0 * N if i == j else 0.0) for j in range(N)] for i in range(N)]


@rolled
def factored(x):
    a = matrix(x)
    for k in range(N):
        for i in range(k + 1, N):
            a[i][k] = a[i][k] / a[k][k]
            for j in range(k + 1, N):
                a[i][j] -= a[i][k] * a[k][j]
    return sum(np.log(a[k][k]) for k in range(N))


@rolled
def rows_by_append(x):
    a = []
    for i in range(N):
        row = []
        for j in range(N):
            row.append(x[i] + 2.0 * x[j])  # noqa: PERF401
        a.append(row)
    for i in range(1, N):
        for j in range(N):
            a[i][j] = a[i - 1][j] * a[i][j] * 0.1
    return sum(sum(row) for row in a)


@rolled
def pivoted(x):
    a = matrix(x)
    for k in range(N):
        p = max(range(k, N), key=lambda i: abs(a[i][k]))
        a[k], a[p] = a[p], a[k]
        for i in range(k + 1, N):
            f = a[i][k] / a[k][k]
            for j in range(k, N):
                a[i][j] -= f * a[k][j]
    return sum(np.log(abs(a[k][k])) for k in range(N))


@rolled
def exchanged_by_a_name(x):
    a = matrix(x)
    for k in range(N):
        p = k
        for i in range(k + 1, N):
            if a[i][k] > a[p][k]:
                p = i
        if p != k:
            kept = a[k]
            a[k] = a[p]
            a[p] = kept
            kept[0] += 1.0
        a[k][0] *= x[k]
    return sum((i + 1) * row[0] for i, row in enumerate(a))


@rolled
def exchanged_in_a_function(x):
    rows = [[x[i], 1.0] for i in range(N)]

    def exchange(a, i, j):
        a[i], a[j] = a[j], a[i]

    for _ in range(3):
        for i in range(N - 1):
            if rows[i][0] > rows[i + 1][0]:
                exchange(rows, i, i + 1)
            rows[i][1] += x[i]
    return sum((i + 1) * u * v for i, (u, v) in enumerate(rows))


@rolled
def rows_replaced(x):
    a = matrix(x)
    for k in range(N):
        for i in range(k + 1, N):
            f = a[i][k] / a[k][k]
            a[i] = [u - f * v for u, v in zip(a[i], a[k])]
    return sum(np.log(a[k][k]) for k in range(N))


@rolled
def new_row_has_a_name(x):
    rows = [[x[i], 1.0] for i in range(N)]
    for i in range(N):
        row = [rows[i][0] * 2, x[i]]
        rows[i] = row
        row[0] += 1.0
    return sum(r[0] for r in rows) + row[0]


@rolled
def bodies(x):
    place = [x[i : i + 3].copy() for i in range(N)]
    speed = [np.zeros(3) for _ in range(N)]
    for _ in range(4):
        for i in range(N):
            pull = np.zeros(3)
            for j in range(N):
                if i != j:
                    d = place[j] - place[i]
                    pull += d / (d @ d + 0.1) ** 1.5
            speed[i] = speed[i] + 0.01 * pull
        for i in range(N):
            place[i] = place[i] + 0.01 * speed[i]
    return sum(p @ p for p in place)


@rolled
def bodies_in_place(x):
    place = [x[i : i + 3].copy() for i in range(N)]
    speed = [np.zeros(3) for _ in range(N)]
    for _ in range(4):
        for i in range(N):
            for j in range(N):
                if i != j:
                    d = place[j] - place[i]
                    speed[i] += 0.01 * d / (d @ d + 0.1) ** 1.5
        for i in range(N):
            place[i] += 0.01 * speed[i]
    return sum(p @ p for p in place)


@rolled
def arrays_by_another_name(x):
    rows = [np.zeros(3) for _ in range(N)]
    for i in range(N):
        row = rows[i]
        row += x[i]
        row[0] *= 2.0
    return sum(row @ row for row in rows)


@rolled
def arrays_on_one_side(x):
    rows = [np.zeros(3) for _ in range(N)]
    for i in range(N):
        if x[i] > 0.5:
            rows[i] += x[i]
        else:
            rows[i][0] = 1.0
    return sum(row @ row for row in rows)


@rolled
def two_names_of_one_list(x):
    rows = [np.zeros(3) for _ in range(N)]
    same = rows
    for i in range(N):
        rows[i] = x[i : i + 3] * 2.0
    for i in range(N):
        same[i] = same[i] * rows[i]
    return sum(row @ row for row in rows)


@rolled
def old_list_has_a_name(x):
    rows, total = matrix(x), 0.0
    for i in range(N):
        old = rows[i]
        same = rows[i]
        rows[i] = [v * x[i] for v in old]
        total += old[0]
        old[1] = 5.0
        total += same[1]
        total += rows[i][1] * old[1]
    return total


# Where something else leads to a row, too.


@program
def row_that_is_handed_on(x):
    row, rows = x[:3].copy(), []
    for _ in range(N):
        row = row * 0.9
        rows.append(row)
    for i in range(N):
        rows[i] += x[i]
    return row.sum() + rows[3][1]


@program
def last_row_has_a_name(x):
    rows = []
    for i in range(N):
        row = x[i : i + 3] * 0.9
        rows.append(row)
    for i in range(N):
        rows[i] += x[i]
    return row.sum() + rows[3][1]


@program
def rows_of_two_lists(x):
    rows, same = [], []
    for i in range(N):
        row = x[i : i + 3] * 0.9
        rows.append(row)
        same.append(row)
    for i in range(N):
        rows[i] += x[i]
    return sum(row.sum() for row in same)


@program
def rows_of_objects(x):
    class Body:
        def __init__(self, place):
            self.place = place

    rows, owners = [], []
    for i in range(N):
        row = x[i : i + 3] * 0.9
        rows.append(row)
        owners.append(Body(row))
    for i in range(N):
        rows[i] += x[i]
    return sum(owner.place.sum() for owner in owners)


@program
def rows_of_an_array(x):
    memory = np.outer(x[:N], x[:3])
    rows = list(memory)
    for i in range(N):
        rows[i] += x[i]
    return memory.sum()


@program
def rows_of_the_argument(x):
    rows = [x[i : i + 3] for i in range(N)]
    for i in range(N):
        rows[i] *= 0.9
    return rows[2].sum() + 3.0 * x[0] + x[2]


@program
def one_row_many_times(x):
    row = x[:3] * 2.0
    rows = [row] * N
    for i in range(N):
        rows[i] += x[i]
    return rows[2].sum() + row[0]


@program
def copy_of_the_list(x):
    rows = [np.zeros(3) for _ in range(N)]
    same = list(rows)
    for i in range(N):
        rows[i] += x[i]
    return sum(row.sum() for row in same)


@program
def part_of_the_list(x):
    rows = [np.zeros(3) for _ in range(N)]
    for i in range(N):
        rows[i] += x[i]
    some = rows[2:5]
    for i in range(3):
        some[i] *= x[i]
    return sum(row.sum() for row in rows)


@program
def old_row_has_a_name(x):
    rows, total = [np.zeros(3) for _ in range(N)], 0.0
    for i in range(N):
        old = rows[i]
        rows[i] = x[i : i + 3]
        total += (rows[i] - old).sum()
        rows[(i + 1) % N] = rows[i] * 0.5
        x[i] = x[i] * 0.5
    return total + sum(row.sum() for row in rows)


@program
def row_that_a_branch_chose(x):
    rows = [x[i : i + 3] * 1.0 for i in range(5)]
    for t in range(N):
        row = rows[t % 5] if x[t] > 0.5 else np.zeros(3)
        row += 1.0
        rows[(t + 1) % 5] = row
    return sum((k + 1) * row[0] for k, row in enumerate(rows))


@program
def array_of_a_list_of_data_length(x):
    rows = []
    for i in range(N):
        if x[i] > 0.2:
            rows.append(x[i : i + 3] * 1.0)  # noqa: PERF401
    for t in range(N):
        row = rows[t % 3] if x[t] > 0.6 else np.zeros(3)
        row += 1.0
    return sum(row.sum() for row in rows)


@program
def row_before_the_loop_or_another(x):
    rows = [np.zeros(3) + x[k] for k in range(5)]
    row = rows[1]
    for i in range(N):
        if x[i] > 0.8:
            row = np.ones(3)
        row[0] += x[i]
        rows[i % 5] = rows[i % 5] * 0.9
    return sum(r[0] * (k + 1) for k, r in enumerate(rows)) + row[0]


@program
def row_before_the_loop_handed_on(x):
    rows = [np.zeros(3) + x[k] for k in range(5)]
    row = rows[1]
    for i in range(N):
        row[0] += x[i]
        if x[i] > 0.8:
            row = row * 0.5
        rows[2] = rows[2] * 0.9
        rows[3 + i % 2] = rows[i % 2] * 0.5
    return sum(r[0] * (k + 1) for k, r in enumerate(rows)) + row[0]


@program
def row_that_a_loop_chose(x):
    rows, best = [x[i : i + 3] * 1.0 for i in range(N)], None
    for i in range(N):
        rows[i] = rows[i] * x[i]
        if best is None or rows[i].sum() > best.sum():
            best = rows[i]
    for i in range(N):
        rows[i] += 0.5
    return best.sum()


@program
def last_row_is_written_to(x):
    rows = [np.zeros(3) for _ in range(N)]
    for i in range(N):
        rows[i] = x[i : i + 3] * 2
    for i in range(N):
        row = rows[i]
        if row[0] > 1.0:
            break
    row *= 0.5
    return sum(row.sum() for row in rows)


@program
def lists_that_are_handed_on(x):
    row, rows = [x[0], 0.5], []
    for i in range(N):
        row = [row[0] * x[i], row[1] + x[i]]
        rows.append(row)
    for i in range(N):
        rows[i][0] += 1.0
    return row[0] + rows[2][1]


@program
def lists_of_two_lists(x):
    rows, same = [], []
    for i in range(N):
        row = [x[i], x[i] * 2]
        rows.append(row)
        same.append(row)
    for i in range(N):
        rows[i][0] *= x[i]
    return sum(row[0] for row in same)


@program
def first_list_has_a_name(x):
    rows = [[x[i], 1.0] for i in range(N)]
    first = rows[0]
    for i in range(N):
        rows[i] = [v + x[i] for v in rows[i]]
    return first[0] + rows[0][0]


@program
def one_list_twice(x):
    rows = [[x[i], 0.0] for i in range(N)]
    for i in range(N - 1):
        rows[i] = rows[i + 1]
    for i in range(N):
        rows[i][0] *= 1.5
    return sum(row[0] for row in rows)


@program
def new_list_twice(x):
    rows = [[x[i], 1.0] for i in range(N)]
    for i in range(N):
        row = [rows[i][0] * 2, x[i]]
        rows[i] = row
        rows[(i + 3) % N] = row
        rows[i][0] += 1.0
    return sum(row[0] for row in rows) + row[0]


@program
def rows_of_another_list(x):
    rows, same = [[x[i], 1.0] for i in range(N)], [[0.0, 0.0] for _ in range(N)]
    for i in range(N):
        same[i] = rows[i]
    for i in range(N):
        rows[i][0] *= 3.0
    return sum(row[0] for row in same)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    x = np.random.default_rng(0).random(SIZE)
    assert not InterpretedPlan(f, x).traces[0].unrolled


@pytest.mark.parametrize("f", [pivoted, bodies, bodies_in_place])
def test_compiled(f):
    assert_right(f, SIZE, 0, 16, compiled=True)


def test_a_row_of_another_length_is_refused_or_right():
    def f(x):
        rows = [[x[i], 1.0] for i in range(N)]
        for i in range(N):
            rows[i] = [x[i], 2.0, x[i]]
        return sum(sum(row) for row in rows)

    x = np.random.default_rng(0).random(SIZE)
    assert planned_ad.compile(f, (x,), check=False)(x) == pytest.approx(f(x))


@pytest.mark.parametrize("seed", [*range(20), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))
