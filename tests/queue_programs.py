"""Programs with queues, lists that get elements at any place, and `bisect`; the number of elements is data."""

from __future__ import annotations

import bisect
import copy
from collections import deque

import numpy as np


def largest_in_a_window(x):
    q = deque()
    s = 0.0
    for i in range(len(x)):
        while q and x[q[-1]] <= x[i]:
            q.pop()
        q.append(i)
        if q[0] <= i - 5:
            q.popleft()
        s += x[q[0]]
    return s


def first_in_first_out(x):
    q = deque()
    s = 0.0
    for v in x:
        if v > 0:
            q.append(v)
        elif q:
            s += q.popleft() * v
    return s + sum(q)


def the_last_few(x):
    q = deque(maxlen=4)
    s = 0.0
    for v in x:
        if v > 0:
            q.append(v)
        s += sum(q) / max(len(q), 1)
    return s


def from_both_ends(x):
    q = deque([x[0]], maxlen=3)
    s = 0.0
    for v in x:
        if v > 0.3:
            q.appendleft(v)
        elif v < -0.3:
            q.append(v * v)
        else:
            s += q.pop() * v
            q.extend([v, 1.0])
        s += q[0] - 0.5 * q[-1] + len(q)
    return s


def breadth_first(x):
    n = 8
    near = [[j for j in range(n) if j != i and x[i] * x[j] > 0.1] for i in range(n)]
    far = [-1] * n
    far[0] = 0
    q = deque([0])
    while q:
        u = q.popleft()
        for v in near[u]:
            if far[v] < 0:
                far[v] = far[u] + 1
                q.append(v)
    return sum(x[i] * far[i] for i in range(n)) + x[0]


def halved_intervals(x):
    q = deque([(0.0, 1.0, 0)])
    s = 0.0
    while q:
        a, b, depth = q.pop()
        m = 0.5 * (a + b)
        e = abs(np.sin(5 * m * x[0]) - 0.5 * (np.sin(5 * a * x[0]) + np.sin(5 * b * x[0])))
        if e > 1e-2 and depth < 6:
            q.append((a, m, depth + 1))
            q.append((m, b, depth + 1))
        else:
            s += (b - a) * np.sin(5 * m * x[0])
    return s


def inserted_in_order(x):
    a = []
    s = 0.0
    for v in x:
        k = 0
        while k < len(a) and a[k] < v:
            k += 1
        a.insert(k, v)
        s += a[len(a) // 2]
    return s


def running_median(x):
    a = []
    s = 0.0
    for v in x:
        if v > -0.5:
            bisect.insort(a, v)
        s += a[len(a) // 2] if a else 0.0
    return s


def median_of_the_last(x):
    window = sorted(x[:5])
    s = window[2]
    for i in range(5, len(x)):
        window.pop(bisect.bisect_left(window, x[i - 5]))
        bisect.insort(window, x[i])
        s += window[2] * x[i]
    return s


def median_by_deleting(x):
    window = sorted(x[:5])
    s = window[2]
    for i in range(5, len(x)):
        del window[bisect.bisect_left(window, x[i - 5])]
        bisect.insort(window, x[i])
        s += window[2] * x[i]
    return s


def heap_sorted(x):
    items = list(x)

    def sift(items, start, end):
        root = start
        while True:
            child = root * 2 + 1
            if child > end:
                break
            if child + 1 <= end and items[child] < items[child + 1]:
                child += 1
            if items[root] < items[child]:
                items[root], items[child] = items[child], items[root]
                root = child
            else:
                break

    for start in range((len(items) - 2) // 2, -1, -1):
        sift(items, start, len(items) - 1)
    for end in range(len(items) - 1, 0, -1):
        items[end], items[0] = items[0], items[end]
        sift(items, 0, end - 1)
    return sum((k + 1) ** 0.5 * v for k, v in enumerate(items))


def inserted_in_front(x):
    a = []
    s = 0.0
    for v in x:
        if v > 0:
            a.insert(0, v)
        if len(a) > 3:
            a.insert(-1, a.pop() * 0.5)
        s += sum(u * (k + 1) for k, u in enumerate(a))
    return s


def longest_rising(x):
    ends = []
    for v in x:
        k = bisect.bisect_left(ends, v)
        if k == len(ends):
            ends.append(v)
        else:
            ends[k] = v
    return sum(ends) + len(ends)


def extended_by_a_part(x):
    q = []
    s = 0.0
    for v in x:
        new = [u * v for u in q if u > 0]
        q.extend(new[:2])
        q.append(v)
        if len(q) > 6:
            q = q[-6:]
        s += sum(q)
    return s


def filtered_and_more(x):
    alive = []
    s = 0.0
    for v in x:
        alive = [u * 0.9 for u in alive if u > 0.1]
        alive.append(v)
        s += sum(alive)
    return s


def replaced_by_those_below(x):
    q = []
    s = 0.0
    for v in x:
        q = [u for u in q if u > v] + [v]
        s += sum(q) * len(q)
    return s


def copies_of_the_last_few(x):
    q, s = deque([0.5, -0.5], maxlen=4), 0.1
    for v in x:
        p, r = q.copy(), copy.copy(q)
        p.append(v)
        r.extend([v, s])
        s += p[0] + 0.5 * r[0] + len(p) - len(r)
        if v > 0:
            q.append(0.1 * s)
    return s


LOOPS = [
    largest_in_a_window, first_in_first_out, the_last_few, from_both_ends, breadth_first, halved_intervals,
    inserted_in_order, running_median, inserted_in_front, longest_rising, extended_by_a_part, filtered_and_more,
    replaced_by_those_below, copies_of_the_last_few, median_of_the_last, median_by_deleting,
]  # fmt: skip
