"""Programs with variables that hold None until data say otherwise, or again when data say so."""

from __future__ import annotations

import functools
import statistics

import numpy as np

import planned_ad


def least_of_some(x):
    best = None
    for v in x:
        if v > 0.5 and (best is None or v < best):
            best = v
    return 0.0 if best is None else best**2


def least_of_some_by_nested_tests(x):
    best = None
    for v in x:
        if v > 0.5:  # noqa: SIM102
            if best is None or v < best:
                best = v
    if best is not None:
        return best * x[0]
    return x[1]


def where_it_is(x):
    best, place = -np.inf, None
    for i, v in enumerate(x):
        if v > best:
            best, place = v, i
    return x[place] * x[place - 1]


def forgotten(x):
    previous, total = None, 0.0
    for v in x:
        if v < 0.3:
            previous = None
            continue
        if previous is not None:
            total += (v - previous) ** 2
        previous = v
    return total


def runs(x):
    start, total = None, 0.0
    for i, v in enumerate(x):
        if v > 0.5 and start is None:
            start = i
        elif v <= 0.5 and start is not None:
            total += (i - start) * v
            start = None
    if start is not None:
        total += (len(x) - start) * x[-1]
    return total


def in_a_helper(x):
    def larger(v, most):
        if most is None:
            return v
        return v if v > most else most

    most, total = None, 0.0
    for v in x:
        if v < 0.8:
            most = larger(v, most)
        total += v * (0.5 if most is None else most)
    return total


def by_a_default(x):
    def step(v, last=None):
        return v * v if last is None else v * last

    last, total = None, 0.0
    for v in x:
        total += step(v, last)
        last = v if v > 0.4 else None
    return total


def used_without_asking(x):
    last, total = None, 0.0
    for k in range(len(x)):
        if k == 0 or x[k] > 0.6:
            last = x[k] * 2.0
        total += last * x[k]
    return total


def nearest(x):
    centres, total = np.array([0.1, 0.4, 0.75]), 0.0
    for v in x:
        best, which = None, None
        for k in range(3):
            distance = (v - centres[k]) ** 2
            if best is None or distance < best:
                best, which = distance, k
        total += best * (1.0 + centres[which])
    return total


def truth_of_it(x):
    last, total = None, 0.0
    for v in x:
        total += last or 0.5
        if last == None or v > last:  # noqa: E711
            last = v if v > 0.2 else None
    return total


def texts_and_classes(x):
    last, total = None, 0.0
    for v in x:
        total += 1.0 if isinstance(last, float) else v
        total += v * (2.0 if type(last) is type(None) else 3.0)
        last = float(v) if v > 0.4 else None
    return total


def in_an_object(x):
    class Tracker:
        def __init__(self):
            self.last, self.seen = None, {"most": None}

        def add(self, v):
            gain = 0.0 if self.last is None else v - self.last
            if self.seen["most"] is None or v > self.seen["most"]:
                self.seen["most"] = v
            self.last = v if v > 0.3 else None
            return gain

    tracker, total = Tracker(), 0.0
    for v in x:
        total += tracker.add(v) ** 2 if v > 0.1 else 0.0
    return total + (0.0 if tracker.seen["most"] is None else tracker.seen["most"])


def two_at_once(x):
    low, high = None, None
    for v in x:
        if v < 0.5:
            low = v if low is None else max(low, v)
        else:
            high = v if high is None else min(high, v)
    if low is None or high is None:
        return x[0]
    return high - low


def a_flag_is_kept(x):
    last, total = None, 0.0
    for v in x:
        is_first = last is None
        if v > 0.35:
            last = v
        total += v if is_first else v * v
    return total


def returned(x):
    def first_above(limit):
        for v in x:
            if v > limit:
                return v
        return None

    total = 0.0
    for limit in (0.2, 0.9, 0.99):
        found = first_above(limit)
        total += 1.0 if found is None else found * limit
    return total


def by_a_pattern(x):
    last, total = None, 0.0
    for v in x:
        match last:
            case None:
                total += v
            case _:
                total += v * last
        last = v if v > 0.4 else None
    return total


def by_min(x):
    found = min((v for v in x if v > 0.6), default=2.0)
    try:
        most = max(v for v in x if v < 0.2)
    except ValueError:
        most = x[0] ** 2
    return found * x[1] + most


def chained(x):
    a, b, total = None, None, 0.0
    for v in x:
        a, b = b, (v if v > 0.4 else None)
        if a is not None and b is not None:
            total += a * b
        elif a is None is not b:
            total += v
    return total


def as_an_argument(x):
    high, total = None, 0.0
    for v in x:
        total += np.sum(np.clip(x, 0.2, high)) + statistics.variance(list(x), high) * v
        high = 0.5 + 0.1 * v if v > 0.5 else None
    return total


def by_its_error(x):
    last, total = None, 0.0
    for v in x:
        try:
            total += v * last
        except TypeError:
            total += v
        last = v if v > 0.3 else None
    return total


def longest_run(x):
    start, best = None, (0, None)
    for i, v in enumerate(x):
        if v > 0.4:
            if start is None:
                start = i
            if i - start + 1 > best[0]:
                best = (i - start + 1, start)
        else:
            start = None
    length, first = best
    return 0.0 if first is None else x[first] * length


def reduced(x):
    found = functools.reduce(lambda best, v: v if (best is None or v < best) and v > 0.3 else best, x, None)
    return -1.0 if found is None else found**2


def asked_for_attributes(x):
    last, total = None, 0.0
    for v in x:
        total += v if hasattr(last, "real") else v * v
        total += v * (getattr(last, "real", None) or 2.0)
        total += v if callable(getattr(last, "conjugate", None)) else 3.0 * v
        try:
            total += last.real * v
        except AttributeError:
            total += v
        last = v if v > 0.3 else None
    return total


def compared_as_objects(x):
    last, total = None, 0.0
    for v in x:
        before = last
        if v > 0.6:
            last = v
        elif v < 0.2:
            last = None
        total += v * v if before is not last else v
    return total


def in_the_test_of_a_while(x):
    high, total = None, 0.0
    for v in x:
        z = v
        while high is not None and z < high:
            z += 0.3
        total += z
        high = 1.1 * v if v > 0.5 else None
    return total


def place_that_is_returned(x):
    def find(v):
        for k in range(3):
            if v < 0.25 * (k + 1):
                return k
        return None

    total = 0.0
    for v in x:
        k = find(v)
        total += v * v if k is None else v * (k + 1)
    return total


def as_a_bound(x):
    start, total = None, 0.0
    for i, v in enumerate(x):
        total += v * np.sum(x[start:])
        if v > 0.7 and start is None:
            start = i
        elif v < 0.3:
            start = None
    return total + np.sum(x[start:] ** 2)


def differentiated(x):
    last, total = None, 0.0
    for k in range(0, len(x), 4):
        if k == 0 or x[k] > 0.5:
            last = x[k]
        total += planned_ad.grad(lambda z: z**3)(last)
        total += planned_ad.grad(lambda z, last=last: z * z * (0.0 if last is None else last))(x[k])
    return total


LOOPS = (
    least_of_some, least_of_some_by_nested_tests, where_it_is, forgotten, runs, in_a_helper, by_a_default,
    used_without_asking, truth_of_it, texts_and_classes, in_an_object, two_at_once, a_flag_is_kept,
    chained, as_an_argument, by_its_error, longest_run, reduced, differentiated, place_that_is_returned,
)  # fmt: skip


def two_of_them_compared(x):
    best, last, total = None, None, 0.0
    for v in x:
        if v > 0.5 and (best is None or v > best):
            best = v
        elif v < 0.2:
            last = v
        total += 1.0 if best == last else v
        total += 2.0 * v if last != best else 0.0
    return total


PROGRAMS = (
    two_of_them_compared,
    *LOOPS,
    asked_for_attributes,
    compared_as_objects,
    in_the_test_of_a_while,
    as_a_bound,
    by_min,
    nearest,
    returned,
    by_a_pattern,
)
