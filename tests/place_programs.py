"""Loops whose names, items and attributes are bound to one of several places."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable

import numpy as np

PROGRAMS: list[Callable] = []


def program(f: Callable) -> Callable:
    """One of the programs `f(x, y, s)` that are compared with themselves."""
    PROGRAMS.append(f)
    return f


def pick(a, b):
    if a[0] > b[0]:
        return a
    return b


@program
def view_of_what_an_iteration_was_handed(x, y, s):
    v = x[:6] * 1
    for _i in range(20):
        w = v[1:]
        v = v * 0.5 + s
    return w.sum() + v.sum()


@program
def view_of_a_carried_array_kept_on_one_side(x, y, s):
    v = x[:6] * 1
    for _i in range(20):
        w = v[1:]
        v = v * 0.5 + s
        if v[0] > s:
            w = v[:5]
    v[2] = 7
    return w.sum() + v.sum()


@program
def one_of_two_lists_is_written(x, y, s):
    a, b = x[:3], x[3:6]
    L1 = [a, b]
    L2 = [b, a]
    for i in range(20):
        p = L1 if x[i % 12] > s else L2
        p[0] = y[:3]
        x *= 0.9
    return L1[0].sum() + 2 * L2[0].sum() + L1[1][0]


@program
def one_of_two_lists_of_numbers_is_written(x, y, s):
    L1 = [1.0, s]
    L2 = [s, 2.0]
    for i in range(20):
        p = L1 if x[i % 12] > s else L2
        p[0] += 0.5
    return L1[0] + 2 * L2[0]


@program
def one_of_two_dicts_is_written(x, y, s):
    d1 = {"a": s}
    d2 = {"a": 2.0}
    d = d1
    for i in range(20):
        if x[i % 12] > s:
            d = d2
        d["a"] += 0.5
    return d1["a"] + 2 * d2["a"]


@program
def identity_of_what_was_chosen(x, y, s):
    u, w = x[:3], x[3:6]
    best = u
    n = 0.0
    for i in range(20):
        if x[i % 12] > s:
            best = w
        if best is w:
            n += 1.0
    return n + s


@program
def items_of_a_list_change_places(x, y, s):
    rows = [x[0:3], x[3:6], x[6:9]]
    for _i in range(20):
        if rows[0][0] > s:
            rows[0], rows[1] = rows[1], rows[0]
        x *= 0.9
        s += 0.1 * rows[0][1]
    return s + rows[1][0]


@program
def sorted_by_key(x, y, s):
    for _i in range(20):
        r = sorted([x[0:3], x[3:6], y[:3]], key=lambda r: r[0])[1]
        x *= 0.9
        s += 0.1 * r[1]
    return s


@program
def reduce_to_one(x, y, s):
    for _i in range(20):
        r = functools.reduce(pick, [x[0:3], x[3:6], y[:3]])
        r *= 0.9
        s += 0.1 * x[0]
    return s


@program
def attributes_change_places(x, y, s):
    class Pair:
        pass

    o = Pair()
    o.u, o.w = x[:3], x[3:6]
    for _i in range(20):
        if o.u[0] > o.w[0]:
            o.u, o.w = o.w, o.u
        x *= 0.9
        x[0] += 0.3 * s
        s += 0.1 * o.u[1]
    return s


@program
def helper_returns_what_is_written(x, y, s):
    for _i in range(20):
        w = pick(x[:3], x[3:6])
        w *= 0.5
        s += 0.1 * x[0]
    return s


@program
def memory_in_common(x, y, s):
    v = x[:3]
    n = 0.0
    for _i in range(20):
        v = v if x[0] > s else y[:3]
        if np.shares_memory(v, x):
            n += 1.0
        x *= 0.9
    return n + s


@program
def greatest_of_a_list_of_views(x, y, s):
    rows = [x[k : k + 3] for k in range(0, 12, 3)]
    for i in range(20):
        r = rows[i % 4]
        best = max(rows, key=lambda r: r[1])
        r *= 0.9
        s += best[0] * 0.1
    return s


@program
def written_in_an_inner_loop(x, y, s):
    v = x[:3]
    for _i in range(20):
        if x[4] > s:
            v = y[:3]
        for j in range(18):
            x[j % 12] *= 0.99
            y[0] += 0.01
        s += 0.1 * v[0]
    return s


@program
def read_in_an_inner_loop(x, y, s):
    v = x[:3]
    for _i in range(20):
        if x[4] > s:
            v = y[:3]
        for j in range(18):
            s += 0.01 * v[j % 3]
        y[0] += 0.01
        x *= 0.9
    return s


@program
def while_on_a_number(x, y, s):
    u, w = x[:3], x[3:6]
    while s < 2.0:
        if u[0] > w[0]:
            u, w = w, u
        x *= 0.95
        s += 0.1 + 0.01 * u[0]
    return s + u[1]


@program
def closures_change_places(x, y, s):
    def g():
        return x[:3]

    def h():
        return y[:3]

    for i in range(20):
        if x[i % 12] > s:
            g, h = h, g
        s += 0.1 * g()[0]
        x *= 0.9
    return s


@program
def row_of_a_matrix_kept(x, y, s):
    A = x.reshape(4, 3) * 1
    best = A[0]
    for i in range(4):
        if A[i, 0] > s:
            best = A[i]
        A *= 0.9
        s += 0.1 * best[1]
    return s


@program
def row_of_the_iteration_before(x, y, s):
    A = x.reshape(4, 3)
    last = A[0]
    for i in range(4):
        A *= 0.9
        s += 0.1 * last[1]
        last = A[i]
    return s + last[0]


@program
def list_of_rows(x, y, s):
    A = x.reshape(4, 3)
    rows = []
    for i in range(4):
        rows.append(A[i])
        A *= 0.9
    return s + sum(r[0] * k for k, r in enumerate(rows))


@program
def list_of_what_was_chosen(x, y, s):
    hist = []
    for i in range(20):
        hist.append(x[:3] if y[i % 12] > s else x[3:6])
        x *= 0.9
    return s + sum(r[0] * k for k, r in enumerate(hist))


@program
def list_of_tuples(x, y, s):
    hist = []
    for i in range(20):
        w = x[:3] if y[i % 12] > s else x[3:6]
        hist.append((i, w))
        s += 0.01 * hist[i // 2][1][0]
        x *= 0.9
    return s + sum(r[1][0] * k for k, r in enumerate(hist))


@program
def list_of_lists(x, y, s):
    hist = []
    u = x[:3].copy()
    for _i in range(20):
        hist.append([u, y[:3]])
        u = u * 0.9
        u[0] += s
        y *= 0.95
    return s + sum(r[0][0] * k + r[1][1] for k, r in enumerate(hist))


@program
def array_in_a_list_written_through_another_name(x, y, s):
    hist = []
    u = x[:3].copy()
    prev = u
    for _i in range(20):
        hist.append(u)
        prev[1] = s
        prev = u
        u = u * 0.9
    return s + sum(r[0] * k + r[1] for k, r in enumerate(hist))


@program
def one_array_or_a_new_one(x, y, s):
    u = np.zeros(3)
    w = u
    for i in range(20):
        w[i % 3] += s
        if x[i % 12] > s:
            u = u * 0.5
        else:
            w = u
    return s + u.sum() + 2 * w.sum()


@program
def views_of_what_was_chosen(x, y, s):
    a = np.zeros(3)
    b = a[:2]
    for i in range(20):
        if x[i % 12] > s:
            a = np.ones(3) * s
            b = a[1:]
        a[1] += 0.3
        s += 0.1 * b[0] + 0.05 * b[1]
    return s + b.sum()


@program
def tuple_of_views(x, y, s):
    out = []
    for _i in range(20):
        t = (x[:3], x[3:6]) if x[0] > s else (x[3:6], x[:3])
        x *= 0.9
        s += t[0][0] * 0.1
        (p, q) = t
        out.append(p[0] - q[0])
    return s + sum(out)


@program
def slice_with_chosen_bounds(x, y, s):
    v = x[:3]
    for _i in range(20):
        k = 1 if x[0] > s else 2
        v = x[k : k + 3]
        x *= 0.9
        s += v[0] * 0.1
    return s


@program
def variable_of_a_closure(x, y, s):
    def step(v):
        nonlocal s
        w = v if s > 0.1 else y[:3]
        x[0] = 0.5 * s
        s += 0.1 * w[0]
        return w

    v = x[:3]
    for _i in range(20):
        v = step(v)
        x[1] *= 0.9
    return s + v[1]


@program
def item_of_a_dict(x, y, s):
    acc = {}
    for _i in range(20):
        acc["m"] = x[:3] if x[0] > s else y[:3]
        x *= 0.9
        y *= 0.8
    return s + acc["m"][0]


@program
def new_array_that_is_written(x, y, s):
    a = x.copy()
    b = y.copy()
    for _i in range(20):
        new = 0.5 * (a + b)
        a, b = b, new
        if new[0] > s:
            a[1] = 0.3
    return a.sum() + 2 * b.sum()


@program
def branch_in_try(x, y, s):
    v = x[:3]
    for _i in range(20):
        try:
            if x[3] > s:
                v = y[:3]
        finally:
            x *= 0.9
        s += 0.1 * v[0]
    return s


@program
def list_that_turns(x, y, s):
    cols = [x[0:3], x[3:6], x[6:9]]
    for i in range(20):
        if x[i % 12] > s:
            cols = cols[1:] + cols[:1]
        cols[0][1] *= 0.9
        s += 0.1 * cols[-1][0]
    return s


@program
def deque_that_turns(x, y, s):
    q = deque([x[:3], y[:3]])
    for i in range(20):
        if x[i % 12] > s:
            q.rotate(1)
        x *= 0.9
        s += 0.1 * q[0][0]
    return s


@program
def reversed_view(x, y, s):
    u = x[:3]
    for i in range(20):
        u = u[::-1]
        if x[i % 12] > s:
            u = u[::-1]
        x[0] += 0.1
        s += 0.1 * u[0]
    return s


@program
def view_bound_by_a_branch(x, y, s):
    v = x[6:12]
    for i in range(20):
        if x[i % 4 + 6] < s:
            v = x[0:6]
        x[0:6] = i * s
    return np.sum(v**2)


@program
def kept_while_all_is_written(x, y, s):
    u, w = x[:6], x[6:]
    best = u
    for _i in range(20):
        if x[8] > s:
            best = w
        x *= 0.9
    return best[0] + best[3]


@program
def conditional_expression(x, y, s):
    for _i in range(20):
        v = x[0:6] if x[8] > s else x[6:12]
        x *= 0.9
        s += 0.01 * v[0]
    return s


@program
def helper_returns_a_view(x, y, s):
    for _i in range(20):
        w = pick(x[:6], x[6:])
        x *= 0.95
        x[0] += 0.1 * s
        x[6] += w[0] * 0.2
    return np.sum(x**2)


@program
def greatest_by_key(x, y, s):
    for _i in range(20):
        w = max(x[:3], x[3:6], key=lambda r: r[0])
        x *= 0.95
        x[0] += w[1] * s
    return x.sum()


@program
def list_begun_with_a_copy(x, y, s):
    u = x.copy()
    hist = [u.copy()]
    for _i in range(20):
        u *= 0.9
        hist.append(u)
    return sum(h[0] * k for k, h in enumerate(hist))


@program
def list_begun_with_a_new_array(x, y, s):
    hist = [x[:3] * 2]
    for _i in range(20):
        hist.append(x[3:6])
        x *= 0.9
    return hist[1][0] + hist[4][1]


def first_of_either(items, x, s):
    for i in range(20):
        if x[i % 12] > 5:
            items = [x[0:3], x[3:6]]
        s += 0.1 * items[0][0]
    return items


@program
def list_of_the_caller(x, y, s):
    items = [y[:3], y[3:6]]
    chosen = first_of_either(items, x, s)
    chosen[0] = y[6:9]
    return items[0].sum() + 2 * chosen[1].sum() + s


@program
def handed_after_the_loop(x, y, s):
    new = x[:3].copy()
    for _ in range(20):
        old = new
        new = 0.5 * old + s
    return new.sum() + old[0]


@program
def old_array_turned_on_one_side(x, y, s):
    new = x[:3].copy()
    for _ in range(20):
        old = new
        if x[11] > -0.6:
            new = old[::-1]
    return new[0] + 2 * old[0]


@program
def rows_solved_one_after_the_other(x, y, s):
    rows = x[:6].copy().reshape(3, 2)
    for d, weight in enumerate([1, 0.5, (2, 3)]):  # of several kinds, hence unrolled
        row = rows[d]
        for _ in range(20):
            last = row
            row = 0.5 * np.tanh(last) + s * np.sum(weight)
            if np.max(abs(row - last)) < 0.05:
                break
        rows[d] = row
    return rows.sum() + row[0]


@program
def difference_left_by_the_row_before(x, y, s):
    rows, last, total = x[:6].copy().reshape(3, 2), y[:2], 0.0
    for d, weight in enumerate([1, 0.5, (2, 3)]):
        row = rows[d]
        for k in range(20):
            if k > 3:
                total += last[0]  # of the row before, in none of the iterations
            last = row
            row = 0.5 * np.tanh(last) + s * np.sum(weight)
        rows[d] = row
    return rows.sum() + total


@program
def what_the_row_before_has_left_is_read_first(x, y, s):
    rows, total = x[:6].copy().reshape(3, 2), 0.0
    last = rows[2]
    for d, weight in enumerate([1, 0.5, (2, 3)]):
        row = rows[d]
        for _ in range(20):
            total += last[0]
            last = row
            row = 0.5 * np.tanh(last) + s * np.sum(weight)
            last = last if row[0] > s else rows[1]
        rows[d] = row
    return rows.sum() + total
