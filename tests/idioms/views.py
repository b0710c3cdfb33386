"""Names bound to views, swapped and chosen by branches, and memory that is written later."""

from __future__ import annotations

import numpy as np

from .program import Kind, matrix, vector, vectors, with_number

VIEWS = Kind("views")
SIGNED = vector(12, -1.0, 1.0)


@VIEWS.add(with_number(12, -1.0, 1.0))
def view_rebound_in_a_branch(a, s):
    v = a[6:]
    for i in range(20):
        if a[6 + i % 4] < s:
            v = a[:6]
        a[:6] = i * 0.1 * s
    return np.sum(v**2)


@VIEWS.add(with_number(12, -1.0, 1.0))
def conditional_expression_of_views(a, s):
    for _ in range(20):
        v = a[:6] if a[8] > s else a[6:]
        a *= 0.9
        s += 0.01 * v[0]
    return s


@VIEWS.add(SIGNED)
def helper_that_returns_a_view(x):
    def larger(a, b):
        return a if a[0] > b[0] else b

    for _ in range(20):
        w = larger(x[:6], x[6:])
        x *= 0.95
        x[0] += 0.1
        x[6] += w[0] * 0.2
    return np.sum(x**2)


@VIEWS.add(SIGNED)
def max_of_views_by_key(x):
    for _ in range(20):
        w = max(x[:3], x[3:6], key=lambda r: r[0])
        x *= 0.95
        x[0] += w[1] * 0.3
    return x.sum()


@VIEWS.add(vector(20))
def double_buffer_swapped(x):
    old, new = np.zeros(20), np.zeros(20)
    old[:] = x
    for _ in range(21):
        new[1:-1] = 0.5 * (old[:-2] + old[2:])
        new[0], new[-1] = old[0], old[-1]
        old, new = new, old
    return np.sum(old * np.arange(20))


@VIEWS.add(vector(20))
def double_buffer_in_a_list(x):
    buffers = [x.copy(), np.zeros(20)]
    for k in range(21):
        src, dst = buffers[k % 2], buffers[(k + 1) % 2]
        dst[1:] = 0.9 * src[:-1] + 0.1 * src[1:]
        dst[0] = src[0]
    return np.sum(buffers[1] ** 2)


@VIEWS.add(vectors(6, 6, 6))
def three_arrays_rotated(a, b, c):
    for k in range(20):
        a[:] = 0.5 * b + 0.3 * c + 0.01 * k
        a, b, c = b, c, a
    return np.sum(a) + 2 * np.sum(b) + 3 * np.sum(c)


@VIEWS.add(vectors(6, 6, low=-1.0))
def swap_where_data_say_so(a, b):
    for k in range(20):
        if a[k % 6] > b[k % 6]:
            a, b = b, a
        a += 0.1
        b *= 0.9
    return np.sum(a**2) - np.sum(b)


@VIEWS.add(vector(24))
def list_holds_an_array_written_later(x):
    u, history = x.copy(), []
    for _ in range(20):
        history.append(u)
        u *= 0.9
    return history[0][0] + history[10][1] * history[-1][2]


@VIEWS.add(vector(24))
def list_of_snapshots(x):
    u, history = x.copy(), [x.copy()]
    for _ in range(20):
        u *= 0.9
        history.append(u.copy())
    return history[0][0] + history[10][1] * history[-1][2]


@VIEWS.add(vector(24))
def list_begun_with_a_copy(x):
    u = x.copy()
    history = [u.copy()]
    for _ in range(20):
        u *= 0.9
        history.append(u)
    return sum(h[0] * k for k, h in enumerate(history))


@VIEWS.add(vector(24))
def slices_appended_then_written(x):
    parts = []
    for i in range(20):
        parts.append(x[i : i + 3])
        x[i] = 0.5 * x[i] + 0.1
    return sum(p[0] * p[2] for p in parts)


@VIEWS.add(matrix(20, 4))
def best_row_kept(x):
    best = x[0]
    for row in x:
        if row.sum() > best.sum():
            best = row
        row *= 0.5
    return np.sum(best**2)


@VIEWS.add(matrix(20, 4))
def previous_row_by_name(x):
    last = x[0]
    for row in x[1:]:
        row += 0.3 * last
        last = row
    return np.sum(x[-1] ** 2)


@VIEWS.add(vector(24))
def alias_of_the_argument(x):
    y = x
    for i in range(1, 24):
        y[i] += 0.5 * x[i - 1]
    return np.sum(x * y)


@VIEWS.add(vector(24))
def overlapping_shift_in_place(x):
    for _ in range(20):
        x[1:] = 0.5 * x[1:] + 0.5 * x[:-1]
    return np.sum(x**3)


@VIEWS.add(vector(24))
def reversed_view_written(x):
    r = x[::-1]
    for i in range(20):
        r[i] += 0.1 * x[i]
    return np.sum(x * np.arange(24))


@VIEWS.add(matrix(5, 5))
def transpose_view_written(a):
    t = a.T
    for k in range(20):
        t[k % 5] += 0.1 * a[k % 5]
    return np.sum(a * np.arange(25).reshape(5, 5))


@VIEWS.add(vector(24))
def reshape_view_written(x):
    m = x.reshape(4, 6)
    for k in range(20):
        m[k % 4] *= 0.9
        x[k] += m[1, k % 6]
    return np.sum(x**2)


@VIEWS.add(vectors(8, 8))
def dict_of_arrays_rebound(a, b):
    state = {"q": a, "p": b}
    for k in range(20):
        state["p"] = state["p"] - 0.1 * state["q"]
        if k % 3 == 0:
            state["q"] += 0.1 * state["p"]
    return np.sum(state["q"] * state["p"]) + np.sum(a)


@VIEWS.add(vectors(8, 8))
def tuple_of_views_unpacked(a, b):
    pair = (a[:4], b[4:])
    for k in range(20):
        u, v = pair
        u += 0.1 * v
        pair = (v, u)
    return np.sum(a) * np.sum(b)


@VIEWS.add(vector(24, -1.0, 1.0))
def view_by_running_argument(x):
    here = x[:4]
    for i in range(20):
        candidate = x[i : i + 4]
        if candidate[0] > here[0]:
            here = candidate
        x[i] *= 0.5
    return here[1] * here[2] + here[0]


@VIEWS.add(vector(12, -1.0, 1.0))
def guard_clause_returns_a_view(x):
    def active(k):
        if x[k] > 0:
            return x[:4]
        if x[k + 1] > 0:
            return x[4:8]
        return x[8:]

    for k in range(20):
        part = active(k % 10)
        part *= 0.9
        part[0] += 0.05
    return np.sum(x**2)


@VIEWS.add(vectors(10, 10))
def out_argument_chosen(a, b):
    for k in range(20):
        target = a if k % 3 else b
        np.multiply(a, 0.95, out=target)
        b += 0.01 * k
    return np.sum(a * b)


@VIEWS.add(vector(24))
def attribute_that_is_a_view(x):
    class Window:
        def __init__(self, a):
            self.a, self.at = a, 0

        def advance(self):
            self.at += 1
            self.part = self.a[self.at : self.at + 3]

    w = Window(x)
    for _ in range(20):
        w.advance()
        w.part[0] += 0.2 * w.part[2]
    return np.sum(x**2)


@VIEWS.add(with_number(12, -1.0, 1.0))
def view_only_in_late_iterations(a, s):
    v = a[:4]
    for k in range(40):
        if k == 37:
            v = a[8:]
        v *= 0.97
        a[8] += 0.01 * s
    return np.sum(a**2)
