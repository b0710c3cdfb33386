"""All of itertools over traced arrays, lists and plain things."""

from __future__ import annotations

import itertools
import operator

import numpy as np

from .program import Kind, matrix, number, vectors, with_number

TOOLS = Kind("itertools")
WEIGHTS = [0.1 * (k * 7 % 11) for k in range(24)]


@TOOLS.add()
def pairwise_of_an_array(x):
    total = 0.0
    for a, b in itertools.pairwise(x):
        total += (b - a) ** 2
    return total


@TOOLS.add()
def pairwise_of_plain_knots(x):
    total = 0.0
    for lo, hi in itertools.pairwise([0, 3, 5, 10, 16, 24]):
        total += np.prod(x[lo:hi])
    return total


@TOOLS.add()
def islice_of_an_array(x):
    total = 0.0
    for v in itertools.islice(x, 2, 22):
        total = np.sin(total) + v
    return total


@TOOLS.add()
def islice_with_a_step(x):
    return sum(k * v for k, v in enumerate(itertools.islice(x, 1, None, 2)))


@TOOLS.add()
def compress_by_flags(x):
    total = 0.0
    for v in itertools.compress(x, [1, 0, 1] * 8):
        total += v * v
    return total


@TOOLS.add()
def chain_of_array_and_list(x):
    total = 0.0
    for v in itertools.chain(x, WEIGHTS):
        total = 0.9 * total + v
    return total


@TOOLS.add(vectors(20, 24))
def chain_of_two_arrays(x, y):
    total = 0.0
    for k, v in enumerate(itertools.chain(x, y)):
        total += v * np.cos(k)
    return total


@TOOLS.add(matrix(20, 3))
def chain_from_rows(x):
    return sum(k * v for k, v in enumerate(itertools.chain.from_iterable(x)))


@TOOLS.add()
def cycle_of_plain_gains(x):
    total = 0.0
    for v, g in zip(x, itertools.cycle([1.0, -2.0, 0.5])):
        total += g * v
    return total


@TOOLS.add()
def cycle_held_in_a_variable(x):
    gains, total = itertools.cycle((0.3, 0.9, 0.1)), 0.0
    for v in x:
        total += next(gains) * v
    return total


@TOOLS.add()
def cycle_of_functions(x):
    fs, total = itertools.cycle([np.sin, np.cos]), 0.0
    for v in x:
        total += next(fs)(v)
    return total


@TOOLS.add()
def count_beside_an_array(x):
    total = 0.0
    for k, v in zip(itertools.count(2, 3), x):
        total += v / k
    return total


@TOOLS.add()
def count_as_ids(x):
    ids, total = itertools.count(1), 0.0
    for v in x:
        k = next(ids)
        total += v / k + x[k - 1]
    return total


@TOOLS.add()
def repeat_beside_an_array(x):
    return sum(map(pow, x, itertools.repeat(2)))


@TOOLS.add()
def accumulate_of_an_array(x):
    total = 0.0
    for k, s in enumerate(itertools.accumulate(x)):
        total += s / (k + 1)
    return total


@TOOLS.add()
def accumulate_with_a_function(x):
    path = list(itertools.accumulate(x, lambda u, v: 0.8 * u + np.sin(v), initial=0.5))
    return path[-1] * path[10]


@TOOLS.add()
def accumulate_of_plain_steps(x):
    total = 0.0
    for t, v in zip(itertools.accumulate([0.1] * 24, operator.add), x):
        total += t * v
    return total


@TOOLS.add()
def takewhile_on_plain(x):
    total = 0.0
    for i in itertools.takewhile(lambda i: i * i < 400, itertools.count()):
        total += x[i] * i
    return total


@TOOLS.add()
def takewhile_on_traced(x):
    total = 0.0
    for v in itertools.takewhile(lambda v: v < 1.3, x):
        total += v * v
    return total + x[0]


@TOOLS.add()
def dropwhile_on_an_index(x):
    total = 0.0
    for i, v in itertools.dropwhile(lambda p: p[0] < 4, enumerate(x)):
        total += i * v
    return total


@TOOLS.add()
def filterfalse_on_plain(x):
    return sum(x[i] * i for i in itertools.filterfalse(lambda i: i % 4, range(24)))


@TOOLS.add()
def groupby_plain_labels(x):
    total = 0.0
    for label, members in itertools.groupby(zip("aabbbcddddaacccbbbaaaddd", x), key=lambda p: p[0]):
        total += np.prod(np.array([v for _, v in members])) * ord(label)
    return total


@TOOLS.add()
def tee_of_an_array(x):
    a, b = itertools.tee(x)
    next(b)
    return sum(u * v for u, v in zip(a, b))


@TOOLS.add()
def starmap_of_a_zip(x):
    return sum(itertools.starmap(lambda v, w: np.cos(v * w), zip(x, WEIGHTS)))


@TOOLS.add()
def zip_longest_with_a_fill(x):
    total = 0.0
    for v, w in itertools.zip_longest(x, WEIGHTS[:20], fillvalue=3.0):
        total += v * w
    return total


@TOOLS.add()
def product_of_plain_and_indices(x):
    total = 0.0
    for i, w in itertools.product(range(24), (0.5, -1.0)):
        total = 0.95 * total + w * x[i]
    return total


@TOOLS.add()
def product_of_arrays(x):
    total = 0.0
    for a, b in itertools.product(x[:6], x[6:11]):
        total += np.sin(a * b)
    return total


@TOOLS.add()
def combinations_of_bodies(x):
    energy = 0.0
    for (i, a), (j, b) in itertools.combinations(enumerate(x[:8]), 2):
        energy += 1 / (0.1 + (a - b) ** 2) * (i + j)
    return energy


@TOOLS.add()
def permutations_as_a_determinant(x):
    det = 0.0
    for p in itertools.permutations(range(4)):
        sign = 1
        for i, j in itertools.combinations(range(4), 2):
            if p[i] > p[j]:
                sign = -sign
        det += sign * x[p[0]] * x[4 + p[1]] * x[8 + p[2]] * x[12 + p[3]]
    return det


@TOOLS.add()
def combinations_with_replacement(x):
    return sum(a * b for a, b in itertools.combinations_with_replacement(x[:7], 2))


@TOOLS.add(with_number())
def windows_by_tee(x, s):
    its = itertools.tee(x, 3)
    for k, it in enumerate(its):
        for _ in range(k):
            next(it)
    for a, b, c in zip(*its):
        s = 0.9 * s + (a - 2 * b + c) ** 2
    return s


@TOOLS.add(number())
def islice_of_a_generator(s):
    def newton():
        u = 1.0
        while True:
            u = 0.5 * (u + s / u)
            yield u

    return sum(itertools.islice(newton(), 20))


@TOOLS.add()
def chain_that_repeats_the_first(x):
    total = 0.0
    for a, b in itertools.pairwise(itertools.chain(x, x[:1])):
        total += a * b
    return total


@TOOLS.add()
def count_in_a_default_argument(x):
    def tag(v, ids=itertools.count(1)):
        return v / (1 + next(ids) % 3)

    return sum([tag(v) for v in x])
