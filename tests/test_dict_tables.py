"""Dicts whose keys are integers that loops or data say: they lie in memory, and the loops over them stay loops."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs
from .random_dicts import SIZE, function

LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 600)]
N = 18
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def warped(x):
    """Dynamic time warping."""
    d = {(-1, -1): 0.0}
    for i in range(N):
        d[i, -1] = np.inf
    for j in range(N):
        d[-1, j] = np.inf
    for i in range(N):
        for j in range(N):
            d[i, j] = (x[i] - x[j + 6]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[N - 1, N - 1] + d[3, 4]


@rolled
def with_defaults(x):
    d = {}
    for i in range(N):
        for j in range(N):
            d[(i, j)] = x[i] * x[j] + 0.5 * d.get((i - 1, j), 0.0) + 0.25 * d.get((i, j - 1), 1.0)
    return d[(N - 1, N - 1)]


@rolled
def with_a_side_for_each_edge(x):
    best = {}
    for i in range(N):
        for j in range(N):
            if i == 0 and j == 0:
                before = 0.0
            elif i == 0:
                before = best[i, j - 1]
            elif j == 0:
                before = best[i - 1, j]
            else:
                before = min(best[i - 1, j], best[i, j - 1])
            best[i, j] = x[i] * x[j] + before
    return best[N - 1, N - 1]


@rolled
def products(x):
    a = {(i, j): x[i] + x[j] ** 2 for i in range(N) for j in range(N)}
    c = {}
    for i in range(N):
        for j in range(N):
            c[i, j] = 0.0
            for k in range(N):
                c[i, j] += a[i, k] * a[k, j]
    return sum(c[i, N - 1 - i] for i in range(N)) + len(c)


@rolled
def values_of_states(x):
    """Each iteration makes the next dict."""
    value = {s: 0.0 for s in range(N)}
    for _ in range(20):
        new = {}
        for s in range(N):
            new[s] = max(x[s] + 0.9 * value[(s + 1) % N], x[s] ** 2 + 0.9 * value[(s + 5) % N])
        value = new
    return value[0]


@rolled
def values_by_comprehension(x):
    value = {s: 0 for s in range(N)}
    for _ in range(20):
        value = {s: max(x[s] + 0.9 * value[(s + 1) % N], x[s] ** 2 + 0.9 * value[(s + 5) % N]) for s in range(N)}
    return value[0]


@rolled
def exchanged(x):
    now, before = {s: x[s] for s in range(N)}, {s: 1 for s in range(N)}
    for _ in range(20):
        for s in range(N):
            before[s] = now[s] * 0.5 + 0.1 * before[s]
        now, before = before, now
    return now[0] * before[3]


@rolled
def arrays(x):
    a, b = np.outer(x[:4], x[4:8]) + 0.1, x[:20].reshape(5, 4)
    forward = {0: x[:4]}
    for t in range(1, 60):
        forward[t] = (forward[t - 1] @ a) * b[t % 5]
        forward[t] /= forward[t].sum()
    backward = {59: np.ones(4)}
    for t in range(58, -1, -1):
        backward[t] = a @ (backward[t + 1] * b[t % 5])
        backward[t] = backward[t] / backward[t].sum()
    return sum((forward[t] * backward[t]).sum() for t in range(60))


@rolled
def some_deleted(x):
    d = {}
    for i in range(N):
        d[i] = x[i]
    for i in range(N):
        if i % 2:
            del d[i]
    return sum(d[i] for i in range(N) if i in d) + len(d)


@rolled
def some_put_by_data(x):
    d, total = {}, 0.0
    for i in range(N):
        if x[i] > 0.5:
            d[i] = x[i]
    for i in range(N):
        total += d.get(i, 0.1 * i)
        if i in d:
            total += d[i] ** 2
    return total + len(d)


@rolled
def window(x):
    d, total = {}, 0.0
    for i in range(N):
        d[i] = x[i]
        if i >= 3:
            total += d.pop(i - 3)
    return total + len(d)


@rolled
def counted(x):
    d = {}
    for i in range(N):
        d.setdefault(i % 5, 0.0)
        d[i % 5] += x[i]
    return sum(d[k] ** 2 for k in range(5))


@rolled
def integers_that_index(x):
    places = {}
    for i in range(N):
        places[i] = (i * 2) % N
    return sum(x[places[i]] * i for i in range(N))


@rolled
def of_an_object(x):
    class Model:
        def __init__(self):
            self.known = {}

    model = Model()
    for i in range(N):
        model.known[i] = x[i] + 0.5 * (model.known[i - 1] if i > 0 else 1.0)
    return model.known[N - 1]


# What has its dict as Python makes it.


@program
def array_under_two_names(x):
    d = {}
    for i in range(N):
        v = d[i] = x[i : i + 3] * 2
        v += 1.0
    return sum(d[i].sum() for i in range(N))


@program
def array_with_a_name(x):
    d = {}
    for i in range(N):
        d[i] = x[i : i + 3] * 2
    row = d[3]
    for i in range(N):
        d[i] += x[i]
    return row.sum() + d[4].sum()


@program
def part_of_the_argument(x):
    d = {0: x[:3]}
    for i in range(1, N):
        d[i] = d[i - 1] * 0.9
        d[i] += x[i]
    x[0] = 7.0
    return sum(d[i].sum() for i in range(N))


@program
def two_names(x):
    d = {i: 0.0 for i in range(N)}
    same = d
    for i in range(N):
        d[i] += x[i]
        same[(i + 1) % N] *= 2.0
    return sum(same[i] for i in range(N))


@program
def in_order(x):
    d, total = {}, 0.0
    for i in range(N):
        d[N - i] = x[i]
    for k, v in d.items():
        total += k * v
    return total + next(iter(d)) + sum(d.values())


@program
def copied(x):
    d = {}
    for i in range(N):
        d[i] = x[i]
    first, second, third = dict(d), d.copy(), {**d}
    for i in range(N):
        d[i] *= 2
    return sum(first.values()) + sum(second.values()) + sum(third[i] for i in range(N))


@program
def keys_of_other_kinds(x):
    d = {True: x[0]}
    for i in range(N):
        d[i] = x[i]
        d[i, "a"] = x[i]
        d[float(i) + 0.5] = x[i]
    return d[1] + d[3, "a"] + len(d)


@program
def handled(x):
    d, total = {}, 0.0
    for i in range(N):
        if x[i] > 0.5:
            d[i] = x[i]
    for i in range(N):
        try:
            total += d[i]
        except KeyError:
            total -= 1.0
    return total


@program
def lists_and_dicts_in_it(x):
    d, e = {}, {}
    for i in range(N):
        d[i] = [x[i], x[i] * 2]
        e[i] = {}
        for j in range(4):
            e[i][j] = x[i] * j
    return sum(d[i][1] + e[i][2] for i in range(N))


@program
def ended_by_an_iterator(x):
    numbers = iter(x[:5])
    try:
        d = {i: next(numbers) for i in range(N)}
    except StopIteration:
        d = {0: x[7]}
    return d[0]


@program
def array_before_the_loop_or_another(x):
    d = {k: x[3 * k + 3 : 3 * k + 6] * 1.0 for k in range(-1, 5)}
    row = d[1]
    for i in range(N):
        if x[i] > 0.8:
            row = np.zeros(3)
        row[i % 3] = 0.7
    return sum(d[k][0] * (k + 1) for k in range(5)) + 2.0 * row[1]


@program
def array_that_a_branch_chose(x):
    d = {i: x[i : i + 3] * 1.0 for i in range(5)}
    for t in range(N):
        row = d[t % 5] if x[t] > 0.5 else np.zeros(3)
        row[0] += 1.0
        d[(t + 1) % 5] = row * 1.0
    return sum((k + 1) * d[k][0] for k in range(5))


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    x = np.random.default_rng(0).random(SIZE)
    assert not [found.reason for found in InterpretedPlan(f, x).traces[0].unrolled]


@pytest.mark.parametrize("f", [warped, arrays, values_of_states])
def test_compiled(f):
    assert_right(f, SIZE, 0, 16, compiled=True)


def test_a_missing_key_is_an_error():
    def f(x):
        d = {}
        for i in range(N):
            if x[i] > 0.5:
                d[i] = x[i]
        return sum(d[i] for i in range(N))

    x = np.full(SIZE, 0.75)
    plan = planned_ad.compile(f, (x,), check=False)
    assert plan(x) == pytest.approx(0.75 * N)
    x[3] = 0.25
    with pytest.raises(KeyError, match="3"):
        plan(x)


def test_a_dict_as_a_result():
    def f(x):
        d = {}
        for i in range(N):
            d[i] = x[i] * 2
        return d

    x = np.random.default_rng(0).random(SIZE)
    assert planned_ad.compile(f, (x,), calls=())(x) == pytest.approx(f(x))


@pytest.mark.parametrize("seed", [*range(20), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))


def test_a_key_from_data_that_is_not_there_is_not_taken_for_another():
    def f(x):
        d, total = {}, 0.0
        for i in range(N):
            d[i] = x[i]
        for i in range(N):
            total += d.pop(int(x[i] * 10), 0.0)
        return total + len(d)

    plan = planned_ad.compile(f, (np.full(SIZE, 0.55),), check=False)
    for number in (0.55, 30.0, -2.0):
        x = np.full(SIZE, number)
        assert plan(x) == pytest.approx(f(x), rel=1e-14)


def test_patterns_and_abstract_classes():
    def f(x):
        d = {}
        for i in range(N):
            d[i] = x[i]
        match d:
            case [*_]:
                return x[0]
            case {3: a, 4: b}:
                return a * b * (1 + isinstance(d, Mapping) + 10 * isinstance(d, Sequence))
        return x[1]

    x = np.random.default_rng(0).random(SIZE)
    assert planned_ad.compile(f, (x,), check=False)(x) == f(x) == x[3] * x[4] * 2


def test_an_argument_of_a_function_with_its_own_derivative():
    def f(x):
        d = {}
        for i in range(N):
            d[i] = x[i]

        def part(known, y):
            return sum(known[i] * y for i in range(N))

        return planned_ad.checkpoint(part)(d, x[0])

    assert_right(f, SIZE, 0, 16)


def test_it_is_a_dict():
    def f(x):
        d = {}
        for i in range(N):
            d[i] = x[i]
        kinds = [dict, (list, dict), list | dict, Mapping, Sequence, Hashable, typing.Dict, typing.List]  # noqa: UP006
        found = [isinstance(d, kind) for kind in kinds]
        found += [type(d) is dict, type(d) in (list, dict), issubclass(type(d), dict), type(d).__name__ == "dict"]
        return x[0] * sum(2.0**k for k, one in enumerate(found) if one) + {dict: x[1]}.get(type(d), x[2])

    x = np.random.default_rng(0).random(SIZE)
    assert planned_ad.compile(f, (x,), check=False)(x) == f(x)


def test_keys_from_arrays_of_integers():
    def f(x, labels):
        d = {}
        for k in range(4):
            d[k] = 0.0
        for i in range(N):
            d[labels[i]] += x[i]
        return sum(d[k] ** 2 for k in range(4)) + d[np.argmax(x[:4])]

    rng = np.random.default_rng(0)
    x, labels = rng.random(SIZE), rng.integers(0, 4, SIZE)
    plan = planned_ad.compile(f, (x, labels), check=False)
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 4, SIZE)
        assert plan(x, labels) == pytest.approx(f(x, labels), rel=1e-14)
