"""Built-in iterators over traced arrays, lists and plain things, alone and mixed."""

from __future__ import annotations

import functools
import operator

import numpy as np

from .program import Kind, matrix, number, vector, vectors, with_number

ITERATORS = Kind("iterators")
WEIGHTS = [0.1 * (k * 7 % 11) for k in range(24)]


@ITERATORS.add()
def zip_with_a_list(x):
    total = 0.0
    for v, w in zip(x, WEIGHTS):
        total += v * w
    return total


@ITERATORS.add()
def zip_with_a_list_first(x):
    total = 0.0
    for w, v in zip(WEIGHTS, x):
        total = np.sin(total + w * v)
    return total


@ITERATORS.add()
def zip_with_a_range(x):
    total = 0.0
    for k, v in zip(range(3, 1000, 7), x):
        total += v / k
    return total


@ITERATORS.add()
def zip_with_a_string(x):
    total = 0.0
    for c, v in zip("+-+--+" * 4, x):
        total = total + v if c == "+" else total - v**2
    return total


@ITERATORS.add()
def zip_with_dict_views(x):
    table = {f"k{k}": 0.3 * k for k in range(24)}
    total = 0.0
    for (name, w), v in zip(table.items(), x):
        total += w * v * len(name)
    return total


@ITERATORS.add()
def zip_of_the_shorter(x):
    total = 0.0
    for v, w in zip(x, (1.0, 2.0, 5.0)):
        total += v * w
    return total


@ITERATORS.add()
def zip_with_a_generator(x):
    total = 0.0
    for v, w in zip(x, (1 / (k + 1) for k in range(100))):
        total += v * w
    return total


@ITERATORS.add()
def zip_strict_of_three(x):
    total = 0.0
    for a, b, w in zip(x[:12], x[12:], range(12), strict=True):
        total += a * b * w
    return total


@ITERATORS.add()
def pairs_by_zip_of_one_iterator(x):
    it, total = iter(x), 0.0
    for a, b in zip(it, it):
        total += a * np.cos(b)
    return total


@ITERATORS.add()
def header_then_the_rest(x):
    it = iter(x)
    first = next(it)
    total = 0.0
    for v in it:
        total += (v - first) ** 2
    return total


@ITERATORS.add()
def two_loops_over_one_iterator(x):
    it, total = iter(x), 0.0
    for i, v in zip(range(10), it):
        total += v * i
    for v in it:
        total *= v
    return total


@ITERATORS.add()
def next_with_a_default(x):
    it, total = iter([1.0, 2.0, 3.0, 4.0, 5.0]), 0.0
    for v in x:
        total += v * next(it, 0.5)
    return total


@ITERATORS.add()
def next_of_an_array_in_a_loop(x):
    it, total = iter(x), 0.0
    for _ in range(12):
        a = next(it)
        b = next(it, 0.0)
        total = 0.5 * total + a * b
    return total


@ITERATORS.add()
def callable_with_a_sentinel(x):
    k = 0

    def read():
        nonlocal k
        k += 1
        return k if k < 20 else None

    total = 0.0
    for i in iter(read, None):
        total += x[i] / i
    return total


@ITERATORS.add()
def enumerate_of_a_plain_list(x):
    total = 0.0
    for i, w in enumerate([0.3, 0.1, 0.9, 0.4] * 6):
        total += w * x[i]
    return total


@ITERATORS.add()
def enumerate_of_a_zip(x):
    total = 0.0
    for i, (v, w) in enumerate(zip(x, reversed(WEIGHTS)), start=2):
        total += v * w / i
    return total


@ITERATORS.add()
def map_over_array_and_list(x):
    return sum(map(operator.mul, x, WEIGHTS))


@ITERATORS.add()
def map_in_a_for(x):
    total = 0.0
    for v in map(np.sin, x):
        total += 0.1 * v * total + v
    return total


@ITERATORS.add()
def map_with_state(x):
    n = [0]

    def f(v):
        n[0] += 1
        return v * n[0]

    return max(map(f, x)) + sum(map(f, x[:5]))


@ITERATORS.add()
def filter_of_plain_indices(x):
    total = 0.0
    for i in filter(lambda i: i % 3 != 1, range(24)):
        total += x[i] ** 2 * i
    return total


@ITERATORS.add()
def filter_of_traced_items(x):
    return sum(v**2 for v in filter(lambda v: v > 0.8, x))


@ITERATORS.add()
def reversed_of_a_list(x):
    acc = 0.0
    for w, v in zip(reversed(WEIGHTS), reversed(x)):
        acc = acc * 0.7 + w * v
    return acc


@ITERATORS.add()
def horner_over_plain_coefficients(x):
    def poly(v):
        acc = 0.0
        for c in reversed(
            [1.0, -0.5, 0.25, 0.3, -0.1, 0.05, 0.2, 0.01, 0.3, 0.2, -0.2, 0.1, 0.3, 0.7, 0.1, 0.4, -0.1, 0.2]
        ):
            acc = acc * v + c
        return acc

    return sum(poly(0.5 * v) for v in x)


@ITERATORS.add()
def sorted_plain_order(x):
    order = sorted(range(24), key=lambda i: i * 7 % 24)
    total = 0.0
    for rank, i in enumerate(order):
        total += rank * x[i]
    return total


@ITERATORS.add()
def sorted_traced_values(x):
    total = 0.0
    for k, v in enumerate(sorted(x)):
        total += k * v
    return total


@ITERATORS.add()
def sorted_by_a_key(x):
    pairs = sorted(((v, k) for k, v in enumerate(x)), key=lambda p: -p[0])
    return sum(v * k for v, k in pairs[:5])


@ITERATORS.add()
def star_unpacking(x):
    first, second, *middle, last = x
    total = first * last
    for i, v in enumerate(middle):
        total += v * second / (i + 1)
    return total


@ITERATORS.add()
def star_arguments(x):
    def mean(*vs):
        return sum(vs) / len(vs)

    return mean(*x) * mean(*x[:3], *x[5:7])


@ITERATORS.add()
def list_of_traced_and_plain(x):
    items = [*x, *WEIGHTS]
    total = 0.0
    for i, v in enumerate(items):
        total += v * np.cos(i)
    return total


@ITERATORS.add()
def nested_comprehension(x):
    grid = [[x[i] * w for w in WEIGHTS[:4]] for i in range(24)]
    return sum(row[k % 4] for k, row in enumerate(grid))


@ITERATORS.add()
def comprehension_with_plain_condition(x):
    return np.sum(np.array([v * i for i, v in enumerate(x) if i % 3]))


@ITERATORS.add()
def dict_comprehension(x):
    d = {i: v * w for i, (v, w) in enumerate(zip(x, WEIGHTS))}
    return sum(d[k] * k for k in sorted(d, reverse=True))


@ITERATORS.add(matrix(24, 3))
def rows_beside_names(x):
    total = 0.0
    for name, row in zip(["up", "down", "stay"] * 8, x):
        a, b, c = row
        total += {"up": a, "down": b * c, "stay": a - c}[name]
    return total


@ITERATORS.add(matrix(20, 4))
def transpose_by_zip(x):
    columns = list(zip(*x))
    return sum(max(c) * (k + 1) for k, c in enumerate(columns))


@ITERATORS.add(vectors(24, 24, 24))
def parallel_arrays_and_flags(x, y, z):
    flags = [k % 5 < 2 for k in range(24)]
    total = 0.0
    for a, b, c, flag in zip(x, y, z, flags):
        total += a * b if flag else c
    return total


@ITERATORS.add()
def any_and_all_of_plain(x):
    done, total = [False] * 24, 0.0
    for i, v in enumerate(x):
        if not all(done[:i]):
            break
        done[i] = i != 19
        total += v * (1 + any(done[5:]))
    return total


@ITERATORS.add()
def min_and_max_with_keys(x):
    total = 0.0
    for k in range(20):
        best = max(range(k + 1), key=lambda i: (i * 5) % 7)
        total += x[best] * x[k]
    return total


@ITERATORS.add()
def sum_with_a_start(x):
    return sum((w * v for w, v in zip(WEIGHTS, x)), start=x[0] ** 2)


@ITERATORS.add()
def generator_into_tuple_into_loop(x):
    items = tuple(v * w for v, w in zip(x, range(24)))
    total = 0.0
    for v in items:
        total = np.sin(total + v)
    return total


@ITERATORS.add()
def slices_of_a_plain_list(x):
    total = 0.0
    for i in range(4, 24):
        for w, v in zip(WEIGHTS[i - 4 : i], x[i - 4 : i]):
            total += w * v
    return total


@ITERATORS.add(with_number())
def iterator_carried_in_a_tuple(x, s):
    state = (s, iter(WEIGHTS))
    for v in x:
        u, it = state
        state = (0.9 * u + v * next(it), it)
    return state[0]


@ITERATORS.add(number())
def range_in_a_variable(s):
    steps = range(40, 0, -2)
    y = s
    for k in steps:
        y += np.sin(y) / k
    return y * len(steps) + steps[3]


@ITERATORS.add(vector(30))
def chunks_by_zip_star(x):
    it = iter(x)
    return sum(a * b - c for a, b, c in zip(*[it] * 3))


@ITERATORS.add()
def reduce_over_a_zip(x):
    return functools.reduce(lambda acc, vw: acc + vw[0] * vw[1], zip(x, WEIGHTS), 0.0)
