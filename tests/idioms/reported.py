"""Programs that once came out wrong without a word: C iterators, and names that are places."""

from __future__ import annotations

import itertools

import numpy as np

from .program import Kind, with_number

REPORTED = Kind("reported")
SIGNED = with_number(12, -1.0, 1.0)


W = [0.5 * k for k in range(24)]


@REPORTED.add()
def reported_weighted(x):
    t = 0.0
    for v, w in zip(x, W):
        t += v * w
    return t


@REPORTED.add()
def reported_few(x):
    t = 0.0
    for v, w in zip(x, [1.0, 2.0, 3.0]):
        t += v * w
    return t


@REPORTED.add()
def reported_gen(x):
    return sum((v * w for v, w in zip(x, W)))


@REPORTED.add()
def reported_pairs(x):
    t = x[0]
    for a, b in itertools.pairwise(x):
        t += a * b
    return t


@REPORTED.add()
def reported_some(x):
    t = x[0]
    for v in itertools.islice(x, 2, 20):
        t += v * v
    return t


@REPORTED.add()
def reported_masked(x):
    t = x[0]
    for v in itertools.compress(x, [1, 0] * 12):
        t += v * v
    return t


@REPORTED.add(SIGNED)
def reported_view_rebound_before_a_write(a, s):
    v = a[6:12]
    for i in range(20):
        if a[i % 4 + 6] < s:
            v = a[0:6]
        a[0:6] = i * s
    return np.sum(v**2)


@REPORTED.add(SIGNED)
def reported_view_kept_of_a_scaled_array(a, s):
    u, w = (a[:6], a[6:])
    best = u
    for i in range(20):
        if a[8] > s:
            best = w
        a *= 0.9
    return best[0] + best[3]


@REPORTED.add(SIGNED)
def reported_view_of_each_iteration(a, s):
    for i in range(20):
        v = a[0:6] if a[8] > s else a[6:12]
        a *= 0.9
        s += 0.01 * v[0]
    return s


@REPORTED.add(SIGNED)
def reported_view_rebound_and_read(a, s):
    v = a[6:12]
    for i in range(20):
        if a[8] > s:
            v = a[0:6]
        a[:] = a * 0.9
        s += 0.01 * v[0]
    return s


def pick(a, b):
    if a[0] > b[0]:
        return a
    return b


@REPORTED.add(SIGNED)
def reported_helper_returns_a_view(x, s):
    for i in range(20):
        w = pick(x[:6], x[6:])
        x *= 0.95
        x[0] += 0.1 * s
        x[6] += w[0] * 0.2
    return np.sum(x**2)


@REPORTED.add(SIGNED)
def reported_max_by_key(x, s):
    for i in range(20):
        w = max(x[:3], x[3:6], key=lambda r: r[0])
        x *= 0.95
        x[0] += w[1] * s
    return x.sum()


@REPORTED.add()
def reported_list_begun_with_a_copy_of_what_grows(x):
    u = x.copy()
    hist = [u.copy()]
    for i in range(20):
        u *= 0.9
        hist.append(u)
    return sum((h[0] * k for k, h in enumerate(hist)))


@REPORTED.add()
def reported_list_of_views_begun_with_a_value(x):
    hist = [x[:3] * 2]
    for i in range(20):
        hist.append(x[3:6])
        x *= 0.9
    return hist[1][0] + hist[4][1]
