"""Programs with lists whose length is data: filled on one side of a branch, popped, cut, run over afterwards."""

# ruff: noqa: PERF401, RUF007 (programs as people write them)

from __future__ import annotations

import numpy as np

import planned_ad


def sum_of_some(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * v)
    return sum(out)


def array_of_some(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * v)
    return np.sum(out) * len(out)


def filtered_comprehension(x):
    return sum([v**3 for v in x if v > 0.1])


def array_of_comprehension(x):
    a = np.array([v**3 for v in x if v > 0.1])
    return np.sum(a * a)


def sorted_by_a_key(x):
    front = [j for j in range(len(x) - 1) if x[j] < x[j + 1]]
    c = total = 0.0
    for j in sorted(front, key=lambda j: x[j]):
        c += x[j]
        total += c * x[j + 1]
    pairs = sorted([(v, v * v) for v in x if v > 0.1], key=lambda pair: (round(pair[1]), pair[0]), reverse=True)
    return total + sum(k * a * b for k, (a, b) in enumerate(pairs)) + sorted(front, key=lambda j: -x[j])[0] * x[0]


def run_over_afterwards(x):
    out = []
    for v in x:
        if v > 0:
            out.append(np.sin(v))
    s = 0.0
    for i, w in enumerate(out):
        s += w * i
    return s


def compared_with_the_last(x):
    out = [1.0]
    for v in x:
        if v > out[-1]:
            out.append(v)
    return out[-1] + out[0] * len(out)


def monotone_stack(x):
    stack = []
    for v in x:
        while stack and stack[-1] > v:
            stack.pop()
        stack.append(v)
    return sum(stack) + len(stack)


def pairs_of_indices(x):
    out = []
    for i in range(len(x)):
        for j in range(i):
            if abs(x[i] - x[j]) < 0.5:
                out.append((i, j))
    s = 0.0
    for i, j in out:
        s += x[i] * x[j]
    return s


def extremes(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    if len(out) == 0:
        return 0.0 * x[0]
    return max(out) - min(out)


def one_for_each_iteration(x):
    t = 0.0
    for i in range(len(x)):
        near = []
        for j in range(len(x)):
            if abs(x[i] - x[j]) < 0.6:
                near.append(x[j])
        t += sum(near) / len(near)
    return t


def moments(x):
    out = [v for v in x if v > 0]
    return np.mean(out) + np.std(out)


def tuples(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append((i, v, v * 2.0))
    s = 0.0
    for i, a, b in out:
        s += i * a * b
    if out:
        s += out[-1][1]
    return s


def rows(x):
    out = []
    for r in x.reshape(-1, 3):
        if r[0] > 0:
            out.append(r * 2.0)
    s = 0.0
    for r in out:
        s += np.sum(r * r)
    return s


def views(x):
    out = []
    for r in x.reshape(-1, 3):
        if r[0] > 0:
            out.append(r)
    s = 0.0
    for r in out:
        s += np.sum(r * r)
    return s


def texts(x):
    out = []
    for v in x:
        if v > 0:
            out.append("up")
    return len(out) * x[0]


def two_lists(x):
    a, b = [], []
    for v in x:
        if v > 0:
            a.append(v)
        else:
            b.append(v)
    return np.sum(a) * len(b) + np.sum(b) * len(a)


def upper_hull(x):
    hull = []
    for i in range(len(x)):
        while (
            len(hull) >= 2
            and (hull[-1][0] - hull[-2][0]) * (x[i] - hull[-2][1]) - (hull[-1][1] - hull[-2][1]) * (i - hull[-2][0])
            >= 0
        ):
            hull.pop()
        hull.append((float(i), x[i]))
    area = 0.0
    for k in range(1, len(hull)):
        area += (hull[k][0] - hull[k - 1][0]) * (hull[k][1] + hull[k - 1][1]) / 2
    return area


def neighbours(x):
    out = [v for v in x if v > -0.5]
    s = 0.0
    for a, b in zip(out, out[1:]):
        s += (b - a) ** 2
    return s


def differences(x):
    out = np.array([v for v in x if v > -0.5])
    return np.sum(np.diff(out) ** 2) + np.linalg.norm(out)


def indices(x):
    ks = [k for k in range(len(x)) if x[k] > 0]
    s = 0.0
    for k in ks:
        s += x[k] * k
    return s


def different_numbers(x):
    out = []
    for v in x:
        if v > 0:
            if v > 1:
                out.append(v)
            else:
                out.append(v * 0.5)
                out.append(v * v)
    return sum(out)


def left_early(x):
    out = []
    for v in x:
        if v > 1.5:
            break
        out.append(v)
    return sum(out) * len(out)


def extended(x):
    out = []
    for v in x:
        if v > 0:
            out.extend([v, v * v])
        if v > 1:
            out += [v]
    return sum(out)


def last_is_changed(x):
    out = [0.0]
    for v in x:
        if v > 0:
            out.append(v)
        else:
            out[-1] += v
    return sum(w * w for w in out)


def runs(x):
    out, current = [], 0.0
    for v in x:
        if v > 0:
            current += v
        else:
            if current > 0:
                out.append(current)
            current = 0.0
    out.append(current)
    return sum(o * o for o in out)


class Kept:
    def __init__(self):
        self.items = []

    def add(self, v):
        if v > 0:
            self.items.append(v)


def of_an_object(x):
    kept = Kept()
    for v in x:
        kept.add(v)
    return sum(kept.items) / max(len(kept.items), 1)


def in_a_dict(x):
    groups = {"up": [], "down": []}
    for v in x:
        groups["up" if v > 0 else "down"].append(v)
    return sum(groups["up"]) * len(groups["down"])


def some_of(values):
    out = []
    for v in values:
        if v > 0:
            out.append(v)
    return out


def from_a_helper(x):
    return sum(some_of(x)) * sum(some_of(-x))


def emptied(x):
    current, total = [], 0.0
    for v in x:
        if v > 0:
            current.append(v)
        else:
            total = total + sum(current) * v
            current.clear()
    return total + sum(current)


def read_while_it_grows(x):
    out, s = [], 0.0
    for v in x:
        if v > 0:
            out.append(v)
        s += np.sum(out) * v
    return s


def parts(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return sum(out[-3:]) + sum(out[:2]) + sum(out[1::2]) + len(out[:-1])


def copies(x):
    out = [v for v in x if v > 0]
    other, third = out.copy(), list(out)
    other.append(x[0])
    third[0] = x[1]
    return sum(out) + 2.0 * sum(other) + 3.0 * sum(third)


def backwards(x):
    out = [v for v in x if v > 0]
    s = 0.0
    for i, v in enumerate(reversed(out)):
        s += v / (i + 1)
    return s


def functions_of_arrays(x):
    o = np.asarray([v for v in x if v > 0])
    return np.sum(np.exp(-o)) + np.prod(o) + o.mean() + o.max() - o.min() + np.dot(o, o) + np.cumsum(o)[-1]


def crossings(x):
    t, s = [], 0.0
    for i in range(1, len(x)):
        if x[i - 1] * x[i] < 0:
            t.append(i - 1 + x[i - 1] / (x[i - 1] - x[i]))
    for a, b in zip(t[:-1], t[1:]):
        s += b - a
    return s / len(t) if t else 0.0


def written_afterwards(x):
    rows = []
    y = x.reshape(-1, 3) * 1.0
    for r in y:
        if r[0] > 0:
            rows.append(r)
    y[0] = 0.0
    s = 0.0
    for r in rows:
        s += np.sum(r * r)
    return s


def taken_out_and_put_back(x):
    stack, total = [np.ones(3)], 0.0
    for r in x.reshape(-1, 3):
        top = stack.pop()
        if r[0] > 0:
            stack.append(r)
        stack.append(top * 0.5)
        total += np.sum(top * r)
    return total + np.sum(stack[-1]) + len(stack)


def missing_is_handled(x):
    out = []
    for v in x:
        if v > 0.8:
            out.append(v)
    try:
        return out[2] * 2.0
    except IndexError:
        return x[0]


def gradient_in_it(x):
    def inner(y):
        out = []
        for v in y:
            if v > 0:
                out.append(v**3)
        return sum(out)

    return np.sum(planned_ad.grad(inner)(x) ** 2)


def clipped(x):
    """A polygon cut by three lines, one after the other (Sutherland and Hodgman, 1974)."""
    points = [(x[k], x[k - 1]) for k in range(len(x))]
    for a, b, c in ((1.0, 0.0, 0.9), (0.3, 1.0, 0.8), (-1.0, 0.5, 0.7)):
        kept = []
        for k in range(len(points)):
            p, q = points[k - 1], points[k]
            before, now = c - a * p[0] - b * p[1], c - a * q[0] - b * q[1]
            if (before >= 0) != (now >= 0):
                t = before / (before - now)
                kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
            if now >= 0:
                kept.append(q)
        points = kept
    return 0.5 * sum(p[0] * q[1] - q[0] * p[1] for p, q in zip(points, points[1:])) + len(points)


def next_that_is_free(x):
    free, total = [0.0, 0.1], 0.0
    for v in x:
        start = min(free)
        free.remove(start)
        free.append(start + v * v)
        total += start * start
    return total + max(free)


def least_that_is_free(x):
    free, taken = [0.0, 0.1, 0.2], []
    for v in x:
        k = free.index(min(free))
        free[k] += v * v
        taken.append(k)
    return sum(v * (k + 1) for v, k in zip(x, taken)) + max(free)


def fitted_to_some(x):
    cash = np.maximum(x, 0.0)
    some = [i for i in range(len(x)) if x[i] < 0.8]
    if len(some) >= 2:
        rows, y = np.array([[1.0, x[i]] for i in some]), np.array([cash[i] ** 2 for i in some])
        line = np.linalg.solve(rows.T @ rows + np.eye(2), rows.T @ y)
        for k, i in enumerate(some):
            if x[i] ** 2 > rows[k] @ line:
                cash[i] = x[i] ** 2
    return sum(cash[i] for i in range(len(x)))


def merged(x):
    half = len(x) // 2
    p, q, i, j, out = np.sort(x[:half]), np.sort(x[half:]), 0, 0, []
    while i < len(p) and j < len(q):
        if p[i] <= q[j]:
            out.append(p[i])
            i += 1
        else:
            out.append(q[j])
            j += 1
    out.extend(p[i:])
    out.extend(q[j:])
    return sum(v * k for k, v in enumerate(out))


def turn(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def chain(points):
    found = []
    for p in points:
        while len(found) >= 2 and turn(found[-2], found[-1], p) <= 0:
            found.pop()
        found.append(p)
    return found


def around_all(x):
    points = sorted((x[i], x[i + 1]) for i in range(len(x) - 1))
    around = chain(points)[:-1] + chain(points[::-1])[:-1]
    area = 0.0
    for (a, b), (c, d) in zip(around, around[1:] + around[:1]):
        area += a * d - b * c
    return area


def joined_with_known_ones(x):
    high, low = [], []
    for v in x:
        if v > 0:
            high.append(v)
        else:
            low.append(-v)
    both = [x[0], 0.5] + high + low + [x[1]]
    high.extend(v * v for v in x if v > 0.5)
    high.extend(x[:3])
    total = 0.0
    for k, v in enumerate(both + high):
        total += k * v
    return total + len(high)


LOOPS = [
    merged, around_all, joined_with_known_ones,
    least_that_is_free, next_that_is_free, clipped, sorted_by_a_key,
    sum_of_some, array_of_some, filtered_comprehension, array_of_comprehension, run_over_afterwards,
    compared_with_the_last, monotone_stack, pairs_of_indices, extremes, one_for_each_iteration, moments, tuples, rows,
    views, texts, two_lists, upper_hull, neighbours, differences, indices, different_numbers, left_early, extended,
    last_is_changed, runs, of_an_object, in_a_dict, from_a_helper, emptied, read_while_it_grows, parts, copies,
    backwards, functions_of_arrays, crossings,
]  # fmt: skip
PROGRAMS = [*LOOPS, written_afterwards, taken_out_and_put_back, missing_is_handled, gradient_in_it, fitted_to_some]
