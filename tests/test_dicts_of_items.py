"""Dicts of lists, tuples and objects whose keys data say: `groups[k].append(x)`."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs
from .random_dicts_of_items import function

SIZE = 24
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 400)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


class Tally:
    def __init__(self):
        self.n, self.t = 0, 0.0

    def add(self, v):
        self.n += 1
        self.t += v


class Listed(Tally):
    def __init__(self):
        super().__init__()
        self.xs = []


class Bounds:
    def __init__(self, v):
        self.lo = self.hi = v


def labelled(x):
    return np.floor(x * 8).astype(int) + 1


def grouped_by_label(x, m):
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    return d


@rolled
def grouped(x):
    m = labelled(x)
    d = defaultdict(list)
    for c, a in zip(x, m):
        d[int(a)].append(c)
    return sum(sum(g) ** 2 for g in d.values())


@rolled
def by_sorted_keys(x):
    m = labelled(x)
    d = defaultdict(list)
    for c, a in zip(x, m):
        d[a].append(c)
    s = 0.0
    for k in sorted(d.keys()):
        s += k * sum(d[k]) / len(d[k])
    return s


@rolled
def indices_in_groups(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(i)
    s = 0.0
    for k, ids in d.items():
        mu = np.mean(x[ids])
        s += k * np.sum((x[ids] - mu) ** 2)
    return s


@program
def means_over_groups(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    return sum(np.mean(g) ** 2 for g in d.values()) / len(d)


@rolled
def pairs_in_order(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append((i, x[i]))
    s = 0.0
    for g in d.values():
        for (i, u), (j, v) in zip(g, g[1:]):  # noqa: RUF007 (as people write it)
            s += (v - u) ** 2 * (j - i)
    return s


@rolled
def neighbours(x):
    m = labelled(x)
    adj = defaultdict(list)
    n = len(x)
    for i in range(n - 1):
        adj[i].append(m[i])
        adj[m[i]].append(i)
    s = 0.0
    for i in range(n - 1):
        for j in adj[i]:
            s += (x[i] - x[j]) ** 2
    return s


@rolled
def deviations_from_means(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    means = {k: sum(g) / len(g) for k, g in d.items()}
    return sum((x[i] - means[m[i]]) ** 2 for i in range(len(x)))


@rolled
def keys_of_two_parts(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[(m[i], i % 2)].append(x[i])
    return sum(np.sum(np.array(g)) ** 2 for (a, b), g in d.items())


@program
def written_by_key(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    out = np.zeros(10)
    for k in d:
        out[k] = np.sum(np.array(d[k]) ** 2)
    return np.sum(out**2)


@rolled
def the_last_of_each(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        if m[i] in d:
            d[m[i]].append(x[i] * d[m[i]][-1])
        else:
            d.setdefault(m[i], [x[i]])
    return sum(d[k][-1] for k in d)


@rolled
def two_texts(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d["ab"[m[i] % 2]].append(x[i])
    return np.var(d["a"]) + np.mean(d["b"])


@rolled
def put_by_default(x):
    m = labelled(x)
    d = {}
    for c, a in zip(x, m):
        d.setdefault(int(a), []).append(c)
    return sum(sum(g) ** 2 for g in d.values())


@rolled
def put_where_missing(x):
    m = labelled(x)
    d = {}
    for c, a in zip(x, m):
        if a not in d:
            d[a] = []
        d[a].append(c)
    return sum(k * np.var(g) for k, g in d.items())


@program
def made_with_all_keys(x):
    m = labelled(x)
    d = {k: [] for k in range(10)}
    for c, a in zip(x, m):
        d[a].append(c)
    return sum(sum(g) ** 2 for g in d.values() if g)


@rolled
def texts_with_lists(x):
    m = labelled(x)
    d = {"lo": [], "hi": []}
    for c, a in zip(x, m):
        d["lo" if a < 4 else "hi"].append(c)
    return sum(d["lo"]) * len(d["hi"]) + np.prod(d["hi"])


@program
def longer_by_a_list(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        if m[i] in d:
            d[m[i]] += [x[i]]
        else:
            d[m[i]] = [x[i]]
    return sum(len(d[k]) * d[k][0] for k in sorted(d))


@rolled
def bounds_as_tuples(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        lo, hi = d.get(m[i], (2.0, -2.0))
        d[m[i]] = (min(lo, x[i]), max(hi, x[i]))
    return sum(hi - lo for lo, hi in d.values())


@rolled
def replaced_tuples(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        d[m[i]] = (x[i], i)
    return sum(v * i for v, i in d.values())


@rolled
def made_by_a_function(x):
    m = labelled(x)
    d = defaultdict(lambda: [0, 0.0])
    for i in range(len(x)):
        e = d[m[i]]
        e[0] += 1
        e[1] += x[i]
    return sum((t / c) ** 2 for c, t in d.values())


@program
def the_longest_group(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(i)
    best = max(d, key=lambda k: len(d[k]))
    return np.sum(x[d[best]]) * best


@rolled
def looked_at_twice(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    vals = d.values()
    n = sum(len(v) for v in vals)
    return sum(sum(v) ** 2 for v in vals) / n


@rolled
def begun_with_one(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        if m[i] in d:
            d[m[i]].append(x[i])
        else:
            d[m[i]] = [x[i]]
    return sum(len(g) * g[0] for g in d.values())


@rolled
def begun_with_another(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        d.setdefault(m[i], [0.5]).append(x[i])
    return sum(len(g) * g[-1] * g[0] for g in d.values())


@rolled
def added_in_place(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]] += [x[i]]
    return sum(len(g) * g[0] for g in d.values())


@rolled
def added_anew(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]] = d[m[i]] + [x[i]]
    return sum(len(g) * g[0] for g in d.values())


@rolled
def objects_by_key(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        k = m[i]
        if k not in d:
            d[k] = Bounds(x[i])
        else:
            d[k].lo = min(d[k].lo, x[i])
            d[k].hi = max(d[k].hi, x[i])
    return sum(a.hi - a.lo for a in d.values())


@rolled
def records_by_key(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        k = m[i]
        if k not in d:
            d[k] = [0, 0.0]
        d[k][0] += 1
        d[k][1] += x[i]
    return sum(t / n for n, t in d.values())


@rolled
def tuples_that_count(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        k = m[i]
        if k in d:
            n, t = d[k]
            d[k] = (n + 1, t + x[i])
        else:
            d[k] = (1, x[i])
    return sum(t / n for n, t in d.values())


@rolled
def objects_that_are_made(x):
    m = labelled(x)
    d = defaultdict(Tally)
    for i in range(len(x)):
        d[m[i]].add(x[i])
    return sum((a.t / a.n) ** 2 for a in d.values())


@rolled
def asked_for_with_defaults(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        d.setdefault(m[i], []).append(x[i])
    return sum(d.get(77, [x[2]])) + sum(d.get(m[1])) ** 2 + (d.get(78) is None)


@rolled
def another_name_for_a_group(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    row = d[m[0]]
    row.append(9.0)
    return sum(sum(v) ** 2 for v in d.values())


@program
def beside_a_range(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    s = 0.0
    for (k, g), c in zip(d.items(), range(5)):
        s += k * sum(g) ** 2 * c
    return s


@rolled
def given_to_a_function(x):
    m = labelled(x)
    d = grouped_by_label(x, m)

    def g(dd):
        return sum(sum(v) ** 2 for v in dd.values())

    return g(d) + g(d)


@rolled
def reduced_by_numpy(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return np.sum([np.mean(v) for v in d.values()]) + np.max([len(v) for v in d.values()])


@rolled
def its_keys(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    keys = d.keys()
    return sum(sum(d[k]) ** 2 for k in keys) + (m[0] in keys) + len(keys)


@program
def looked_for_outside(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    if 3 in d:
        return sum(d[3]) ** 2
    return x[0]


@rolled
def cut_short(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
        if len(d[m[i]]) > 3:
            d[m[i]] = d[m[i]][-2:]
    return sum(sum(v) ** 2 for v in d.values())


@rolled
def popped_in_between(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
        if len(d[m[i]]) > 3:
            d[m[i]].pop(0)
    return sum(sum(v) ** 2 for v in d.values())


@rolled
def moving_keys(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        for j in range(3):
            d[(m[i] + j) % 7].append(x[i] * (j + 1))
    return sum(np.prod(v) for v in d.values())


@rolled
def a_list_of_sums(x):
    m = labelled(x)
    return [sum(v) for v in grouped_by_label(x, m).values()][0]  # noqa: RUF015 (as people write it)


@rolled
def its_type(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return float(isinstance(d, dict)) + float(type(d) is defaultdict) * 2 + sum(map(sum, d.values())) ** 2


@program
def the_largest_groups(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    big = sorted(d.items(), key=lambda kv: len(kv[1]), reverse=True)
    return sum(np.sum(np.array(v)) * k for k, v in big[:3])


@program
def one_of_the_sums(x):
    m = labelled(x)
    d = defaultdict(list)
    for i in range(len(x)):
        d[m[i]].append(x[i])
    return {k: sum(v) for k, v in d.items()}[m[0]]


@program
def objects_with_lists(x):
    m = labelled(x)
    d = defaultdict(Listed)
    for i in range(len(x)):
        d[m[i]].add(x[i])
    return sum((a.t / a.n) ** 2 for a in d.values())


@rolled
def dicts_by_key(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        k = m[i]
        if k not in d:
            d[k] = {"n": 0, "s": 0.0}
        d[k]["n"] += 1
        d[k]["s"] += x[i]
    return sum(v["s"] / v["n"] for v in d.values())


@program
def nested_dicts(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        d.setdefault(m[i] % 3, {}).setdefault(m[i], []).append(x[i])
    return sum(sum(sum(g) ** 2 for g in e.values()) for e in d.values())


@program
def as_a_dict(x):
    m = labelled(x)
    d = dict(grouped_by_label(x, m))
    return sum(sum(v) ** 2 for v in d.values())


@program
def copied(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    e = d.copy()
    e[100] = [1.0]
    return sum(sum(v) ** 2 for v in d.values()) + len(e)


@program
def copied_with_its_lists(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    e = copy.deepcopy(d)
    e[m[0]].append(3.0)
    return sum(sum(v) ** 2 for v in d.values()) * len(e[m[0]])


@program
def a_key_less(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    del d[m[0]]
    return sum(sum(v) ** 2 for v in d.values())


@program
def a_group_taken_out(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    v = d.pop(m[0])
    return sum(sum(v) ** 2 for v in d.values()) + v[0]


@program
def a_key_that_is_made(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    try:
        return sum(d[77]) + x[0]
    except KeyError:
        return x[1] * 5


@program
def a_key_that_is_not_there(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        d.setdefault(m[i], []).append(x[i])
    try:
        return sum(d[77]) + x[0]
    except KeyError:
        return x[1] * 5 + sum(sum(v) for v in d.values())


@program
def compared(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    e = grouped_by_label(x * 2, m)
    return float(d == e) + float(d == d) * 3 + x[0]


@program
def updated(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    d.update({m[0]: [5.0]})
    return sum(sum(v) ** 2 for v in d.values())


@program
def one_list_for_all(x):
    m = labelled(x)
    d = {}
    row = [0.0]
    for i in range(len(x)):
        d[m[i]] = row
    d[m[0]].append(x[0])
    return len(row) * x[1] + sum(len(v) for v in d.values())


@program
def a_list_that_goes_on(x):
    m = labelled(x)
    d = {}
    for i in range(len(x)):
        r = [x[i]]
        d[m[i]] = r
        r.append(2.0 * x[i])
    return sum(sum(v) ** 2 for v in d.values())


@program
def by_a_list_of_keys(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    n = 0.0
    for k in list(d):
        if k % 2:
            n += sum(d[k]) ** 2
    return n


@program
def sorted_items(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    s = 0.0
    for j, (k, g) in enumerate(sorted(d.items())):
        s += j * k * sum(g) ** 2
    return s


@program
def unpacked(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    a, *b = d.values()
    return sum(a) ** 2 + len(b)


@program
def the_first_one(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return sum(next(iter(d.values()))) ** 2 * next(iter(d))


@program
def with_a_gradient(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return planned_ad.grad(lambda y: sum(sum(v) ** 2 for v in grouped_by_label(y, m).values()))(x).sum() * len(d)


@program
def arrays_of_them(x):
    m = labelled(x)
    out = {}
    for k, v in grouped_by_label(x, m).items():
        out[k] = np.array(v)
    return sum(np.sum(np.sin(v)) for v in out.values())


@program
def a_list_of_groups(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    vs = list(d.values())
    vs[0].append(1.0)
    return sum(sum(v) ** 2 for v in d.values())


@program
def some_that_are_long(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return sum(len(v) for v in d.values() if len(v) > 2) * x[0] + any(len(v) > 9 for v in d.values())


@program
def put_last(x):
    m = labelled(x)
    d = OrderedDict()
    for i in range(len(x)):
        if m[i] not in d:
            d[m[i]] = []
        d[m[i]].append(x[i])
    d.move_to_end(m[0])
    return sum(k * sum(v) for k, (_, v) in enumerate(d.items()))


@program
def reversed_values(x):
    m = labelled(x)
    d = grouped_by_label(x, m)
    return sum(sum(v) for v in reversed(list(d.values()))) ** 2 + min(d) + max(d) + sum(d)


@program
def made_no_longer(x):
    d = grouped_by_label(x, labelled(x))
    d.default_factory = None
    try:
        return sum(d[77]) + x[0]
    except KeyError:
        return x[1] * 7 + sum(d[labelled(x)[0]])


@program
def matched(x):
    d = grouped_by_label(x, labelled(x))
    match d:
        case {99: _}:
            return x[0]
        case {}:
            return x[1] * len(d) * 3
    return x[2]


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE, 0)


@pytest.mark.parametrize("seed", [*range(10), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))


@pytest.mark.parametrize("f", [grouped, records_by_key, tuples_that_count, pairs_in_order])
def test_second_derivatives(f):
    x, direction = np.random.default_rng(0).random((2, SIZE))
    plan = planned_ad.compile(lambda x: np.sin(f(x)), (x,), calls=())
    step = 1e-6 * direction
    expected = (plan.gradient(x + step) - plan.gradient(x - step)) / 2e-6
    assert plan.hvp(x, direction) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_dict_is_returned_as_it_is():
    def f(x):
        return {k: np.sum(v) for k, v in grouped_by_label(x, labelled(x)).items()}, grouped_by_label(x, labelled(x))

    x = np.random.default_rng(0).random(SIZE)
    with pytest.raises(planned_ad.errors.UnsupportedError, match="returns a defaultdict"):
        planned_ad.compile(f, (x,))

    def g(x):
        d = {}
        for i in range(len(x)):
            d.setdefault(int(x[i] * 4), []).append(x[i])
        return d, {labels: x[0] for labels in labelled(x[:3])}

    plan = planned_ad.compile(g, (x,), calls=())
    for x in np.random.default_rng(1).random((3, SIZE)):
        for found, expected in zip(plan(x), g(x)):
            assert type(found) is dict and [*map(repr, found)] == [*map(repr, expected)]
            assert found == expected


def test_a_group_that_is_not_there_is_an_error_of_the_program():
    def f(x):
        d = {}
        for i in range(len(x)):
            d.setdefault(int(x[i] * 9), []).append(x[i])
        s = 0.0
        for k in range(9):
            s += d[k][0]
        return s

    x = np.linspace(0.0, 0.99, 40)
    plan = planned_ad.compile(f, (x,), calls=())
    assert plan(x) == pytest.approx(f(x))
    with pytest.raises(KeyError):
        plan(x * 0.5)
