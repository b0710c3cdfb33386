"""Dicts, `defaultdict` and `Counter` whose keys are any integers that data say, or that are asked for their order."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs
from .random_ordered_dicts import function

SIZE = 40
LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in range(16, 600)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


class Totals:
    def __init__(self):
        self.h, self.n = defaultdict(float), {}

    def add(self, k, v):
        self.h[k] += v
        self.n[k] = self.n.get(k, 0) + 1

    def mean(self):
        return {k: self.h[k] / self.n[k] for k in self.h}


@rolled
def with_known_keys(x):
    h = {}
    for i in range(len(x)):
        k = int(x[i] * 7) % 10
        h[k] = h.get(k, 0.0) + x[i]
    s = 0.0
    for k, v in h.items():
        s = 0.5 * s + k * v * v
    return s


@rolled
def looked_up_first(x):
    h = {}
    for v in x:
        k = int(v * 7) % 10
        if k in h:
            h[k] += v
        else:
            h[k] = v * 2
    return sum(v * v for v in h.values()) + len(h)


@rolled
def put_at_first(x):
    h = {}
    for v in x:
        k = int(v * 70)
        if k not in h:
            h[k] = 0.0
        h[k] += v * v
    s = 0.0
    for k in h:
        s = 0.9 * s + (k + 1) * h[k]
    return s


@rolled
def normalised(x):
    h = {}
    for v in x:
        k = int(v * 9)
        h[k] = h.get(k, 0.0) + v
    t = sum(h.values())
    for k in h:
        h[k] /= t
    e = 0.0
    for k, p in h.items():
        e -= p * np.log(p) * (1 + 0.1 * k)
    return e


@rolled
def items_replaced(x):
    h = {}
    for v in x:
        k = int(v * 9)
        h[k] = h.get(k, 0.0) + v
    for k, v in h.items():
        h[k] = v / (1 + k)
    return sum(h.values()) * max(h.values()) + min(h) + len(h)


@rolled
def sorted_keys(x):
    h = {}
    for v in x:
        k = int(np.floor(v * 5))
        h[k] = h.get(k, 0.0) + v
    s = 0.0
    for k in sorted(h):
        s = s * 0.5 + k * h[k] ** 2
    return s


@rolled
def sorted_pairs(x):
    h = {}
    for v in x:
        k = int(np.floor(v * 5))
        h[k] = h.get(k, 0.0) + v
    s = 0.0
    for k, v in sorted(h.items()):
        s = s * 0.5 + k * v**2
    return s


@rolled
def key_of_the_largest(x):
    h = {}
    for v in x:
        k = int(np.floor(v * 5))
        h[k] = h.get(k, 0.0) + v
    b = max(h, key=h.get)
    return b + h[b] ** 2


@rolled
def as_lists(x):
    h = {}
    for v in x:
        k = int(np.floor(v * 5)) - 2
        h[k] = h.get(k, 0.0) + v
    a = list(h.values())
    ks = list(h.keys())
    return np.sum(np.array(a) ** 2) * a[0] + ks[0] * ks[-1]


@rolled
def transitions(x):
    h = {}
    for i in range(len(x) - 1):
        k = (int(x[i] * 4), int(x[i + 1] * 4))
        h[k] = h.get(k, 0.0) + x[i] * x[i + 1]
    s = 0.0
    for (a, b), v in h.items():
        s = 0.7 * s + (a - b) * v * v
    return s


@rolled
def inverse_counts(x):
    h = {}
    for v in x:
        k = int(v * 6)
        h[k] = h.get(k, 0) + 1
    w = {k: 1.0 / c for k, c in h.items()}
    return sum(v * w[int(v * 6)] for v in x)


@rolled
def with_a_default(x):
    h = defaultdict(float)
    for v in x:
        h[int(v * 7)] += v * v
    return sum(v * v for v in h.values())


@rolled
def of_texts(x):
    h = {}
    for v in x:
        w = "a" if v > 0.7 else "bc" if v > 0.3 else "d"
        h[w] = h.get(w, 0.0) + v
    s = 0.0
    for w, v in h.items():
        s = 0.6 * s + len(w) * v**2
    return s


@program
def counted_by_expression(x):
    c = Counter(int(v * 5) for v in x)
    return sum(v * c[int(v * 5)] for v in x)


@rolled
def counted_one_by_one(x):
    c = Counter()
    for v in x:
        c[int(v * 5)] += 1
    return sum(v * c[int(v * 5)] for v in x)


@rolled
def most_common(x):
    c = Counter()
    for v in x:
        c[int(v * 5)] += 1
    s = 0.0
    for k, n in c.most_common(3):
        s = s * 0.5 + x[k] * n
    return s


@rolled
def counted_array(x):
    lab = np.floor(x * 6).astype(int)
    c = Counter(lab)
    s = 0.0
    for i in range(len(x)):
        s += x[i] / c[lab[i]]
    return s + len(c)


@rolled
def with_a_default_of_ones(x):
    h = defaultdict(lambda: 1.0)
    for v in x:
        h[int(v * 7)] *= v
    s = 0.0
    for k in h:
        s += k * h[k]
    return s


@rolled
def counts_by_default(x):
    h = defaultdict(int)
    for v in x:
        h[int(v * 7)] += 1
    return sum(v / h[int(v * 7)] for v in x)


@rolled
def labels_of_an_array(x):
    lab = np.floor(x * 6).astype(np.int32)
    h = defaultdict(float)
    for v, k in zip(x, lab):
        h[k] += v
    s = 0.0
    for k, v in h.items():
        s += v * v * np.sqrt(k + 1)
    return s


@rolled
def filtered(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    g = {k: v for k, v in h.items() if v > 1.5}
    top = [v for k, v in h.items() if k > 3]
    return sum(g.values()) + sum(top) * len(g)


@rolled
def largest_three(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    r = sorted(h.items(), key=lambda kv: -kv[1])[:3]
    s = 0.0
    for k, v in r:
        s = 0.3 * s + v * (k + 1)
    b = sorted(h, key=h.get)
    return s + b[0] * x[0]


@rolled
def beside_others(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    return (
        sum(a * b for a, b in zip(h.values(), x))
        + sum(i * v for i, v in enumerate(h.values()))
        + np.sum(np.fromiter(h.values(), float) ** 2)
        + any(v > 2 for v in h.values())
    )


@rolled
def made_in_a_loop(x):
    s = 0.0
    for r in range(4):
        h = {}
        for i in range(10):
            k = int(x[r * 10 + i] * 5)
            h[k] = h.get(k, 0.0) + x[r * 10 + i]
        for k, v in h.items():
            s = s * 0.9 + v * v * k
    return s


@rolled
def means(x):
    a, b = {}, {}
    for v in x:
        k = int(v * 6)
        a[k] = a.get(k, 0.0) + v
        b[k] = b.get(k, 0) + 1
    mean = {k: a[k] / b[k] for k in a}
    return sum((v - mean[int(v * 6)]) ** 2 for v in x) + max(mean.values())


@rolled
def in_functions(x):
    def add(d, k, v):
        d[k] = d.get(k, 0.0) + v

    h = {}
    for v in x:
        add(h, int(v * 8), v)

    def tot(d):
        return sum(w * w for w in d.values())

    return tot(h)


@rolled
def in_an_object(x):
    a = Totals()
    for v in x:
        a.add(int(v * 8), v * v)
    m = a.mean()
    s = 0.0
    for k, v in m.items():
        s += v * (k + 1)
    return s


@rolled
def neighbouring_cells(x):
    cells = {}
    for i in range(len(x) // 2):
        k = (int(x[2 * i] * 4) - 2, int(x[2 * i + 1] * 4) - 2)
        cells[k] = cells.get(k, 0.0) + x[2 * i] * x[2 * i + 1]
    e = 0.0
    for (a, b), v in cells.items():
        for da in (-1, 0, 1):
            for db in (-1, 0, 1):
                e += v * cells.get((a + da, b + db), 0.0)
    return e


@rolled
def of_two_one(x):
    a, b = {}, {}
    for v in x:
        h = a if v > 0.5 else b
        k = int(v * 9)
        h[k] = h.get(k, 0.0) + v
    return sum(a.values()) ** 2 + sum(v * k for k, v in b.items())


@rolled
def first_key(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    k = next(iter(h))
    return h[k] * k + h[min(h)]


@program
def some_deleted_again(x):
    h = {}
    for v in x:
        k = int(v * 8)
        h[k] = h.get(k, 0.0) + v
        if h[k] > 2:
            del h[k]
    return sum(h.values())


@program
def popped(x):
    h = {}
    for v in x:
        k = int(v * 8)
        h[k] = h.pop(k, 0.0) + v
    s = 0.0
    for v in h.values():
        s = 0.5 * s + v
    return s


@program
def lists_by_default(x):
    h = defaultdict(list)
    for v in x:
        h[int(v * 5)].append(v)
    return sum((sum(g) / len(g)) ** 2 for g in h.values())


@program
def grown_by_its_keys(x):
    h = {0: x[0], 1: x[1]}
    for k in list(h):
        h[int(x[k] * 5) + 2] = x[k + 2] * h[k]
    return sum(h.values())


@program
def unpacked(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    a, *b = h.values()
    m = {k: i for i, k in enumerate(h)}
    return a + sum(b) * len(set(h)) + sum(i * h[k] for k, i in m.items())


@program
def copied_and_merged(x):
    h = {}
    for v in x:
        h[int(v * 8)] = h.get(int(v * 8), 0.0) + v
    g = dict(h)
    g2 = h.copy()
    g3 = {**h, 100: x[0]}
    for k in g:
        g[k] *= 2
    return sum(h.values()) + sum(g.values()) * sum(g2.values()) + len(g3)


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


@pytest.mark.parametrize("f", [normalised, means, most_common])
def test_compiled(f):
    assert_right(f, SIZE, 0, 16, compiled=True)


@pytest.mark.parametrize("seed", [*range(16), *LONG])
def test_random_programs(seed):
    assert_right(function(seed), SIZE, seed, 16 * (seed % 2))


def weighted(x, labels):
    d, total = {}, 0.0
    for v, k in zip(x, labels):
        d[k] = d.get(k, 0.0) + v
    for k, v in d.items():
        total = 0.5 * total + v * float(k)
    return total


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_keys_of_each_type_of_integer(dtype):
    """From one end to the other: nothing overflows, and what is beyond the room is traced again."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    rng = np.random.default_rng(0)
    labels, x = rng.integers(low, high, (3, 20), dtype=dtype, endpoint=True), rng.random((3, 20))
    labels[:, :4], labels[:, 4] = [low, high, low, high], labels[:, 9]
    plan = planned_ad.compile(weighted, (x[0], planned_ad.Const(labels[0])), unroll=0, calls=())
    for v, k in zip(x, labels):
        assert plan(v, k) == pytest.approx(weighted(v, k), rel=1e-12)


def test_keys_beyond_the_room_are_traced_again():
    labels = np.arange(20)
    x = np.random.default_rng(0).random(20)
    plan = planned_ad.compile(weighted, (x, planned_ad.Const(labels)), max_steps=50, calls=())
    assert len(plan._variants) == 1
    for far in (49, 5000):
        labels[7] = far
        assert plan(x, labels) == pytest.approx(weighted(x, labels), rel=1e-12)
    assert plan._options["max_steps"] > 50


def test_a_key_that_one_side_of_a_test_has_read_may_not_be_there():
    def f(x):
        d = {}
        for i in range(20):
            k = int(x[i] * 7) % 10
            if x[i] > 0.5:
                d[k] = d.get(k, 0.0) + 1.0
                y = d[k]
            else:
                y = 0.0
            d[k] = y + x[i]
        total = 0.0
        for k, v in d.items():
            total = 0.7 * total + v * (1 + k)
        return total

    assert_right(f, SIZE, 0, 16)
    assert_right(f, SIZE, 1, 0)


def test_a_dict_that_grows_while_it_is_run_over_is_an_error():
    def f(x):
        d = {}
        for i in range(20):
            d[int(x[i] * 30)] = x[i]
        for k in d:
            d[k + 100] = 1.0
        return sum(d.values())

    with pytest.raises(RuntimeError, match="changed size during iteration"):
        planned_ad.compile(f, (np.random.default_rng(0).random(20),))


def test_what_only_counters_have():
    def f(x):
        d = {}
        for i in range(20):
            d[int(x[i] * 5)] = x[i]
        return d.total()

    with pytest.raises(AttributeError, match="'dict' object has no attribute 'total'"):
        planned_ad.compile(f, (np.random.default_rng(0).random(20),))
