"""What Python does with the index of a loop and with tests: identity, types, arithmetic, text, keys, ranges."""

from __future__ import annotations

import math
import operator

import numpy as np

from .program import Kind, matrix, number, numbers, vector, with_number

INDICES = Kind("indices")


@INDICES.add()
def flag_compared_by_identity(x):
    total = 0.0
    for i, v in enumerate(x):
        late = i > 19
        total += v if late is False else v**2
    return total


@INDICES.add(numbers(2))
def float_test_compared_by_identity(a, b):
    for _ in range(20):
        a = 0.9 * a + 0.05
        hot = a > 0.7
        b = b * 0.95 if hot is True else b * 1.02
    return b


@INDICES.add()
def flag_as_a_number(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * (i > 11) - v * (i % 3 == 0)
    return total


@INDICES.add()
def flag_as_an_index(x):
    gains, total = (0.5, 2.0), 0.0
    for i, v in enumerate(x):
        total += v * gains[i >= 20]
    return total


@INDICES.add()
def index_as_a_truth_value(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v if i else 10 * v
        total += 0.1 * v if not i % 5 else 0.0
        total *= (i % 4 and 1.01) or 0.9
    return total


@INDICES.add()
def kinds_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        if isinstance(i, int) and type(i) is int and not isinstance(i, float):
            total += v * i
        if isinstance(v, float):
            total += v
    return total


@INDICES.add()
def divmod_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        block, place = divmod(i, 5)
        total += v * block - place * v**2
    return total


@INDICES.add()
def bits_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * (i & 5) + (i | 1) - (i ^ 3) * v * 0.1 + (i << 1) * v - (i >> 2)
    return total


@INDICES.add()
def index_as_text(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * len(str(i)) + v * int(f"{i:03d}"[1])
    return total


@INDICES.add()
def index_as_a_key(x):
    table = {i * i: 0.1 * i for i in range(24)}
    total = 0.0
    for i, v in enumerate(x):
        total += v * table[i * i] + v * table.get(i, 0.5)
    return total


@INDICES.add()
def index_in_a_set(x):
    special = {2, 3, 5, 7, 11, 13, 17, 19, 23}
    total = 0.0
    for i, v in enumerate(x):
        total += v if i in special else -0.5 * v
        total += 0.1 * v if i in range(3, 20, 4) else 0.0
    return total


@INDICES.add()
def square_root_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * math.sqrt(i + 1) / (1 + math.isqrt(i)) + math.floor(i / 3) * v
    return total


@INDICES.add()
def rounded_and_converted(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * round(i * 0.37) + v * float(i) - v * int(i / 2) + abs(i - 12) * v
    return total


@INDICES.add()
def min_and_max_of_the_index(x):
    total = 0.0
    for i in range(24):
        total += x[max(i - 3, 0)] * x[min(i + 3, 23)]
    return total


@INDICES.add()
def clipped_window(x):
    total = 0.0
    for i in range(24):
        lo, hi = max(0, i - 2), min(24, i + 3)
        total += np.mean(x[lo:hi]) * i
    return total


@INDICES.add()
def wrapped_neighbours(x):
    total = 0.0
    for i in range(24):
        total += x[i - 1] * x[(i + 1) % 24] - x[-i]
    return total


@INDICES.add()
def index_stored_for_later(x):
    best, total = 0, 0.0
    for i, v in enumerate(x):
        if i % 7 == 3:
            best = i
        total += v * x[best]
    return total


@INDICES.add(vector(24, -1.0, 1.0))
def index_of_the_largest_so_far(x):
    best = 0
    for i in range(1, 24):
        if x[i] > x[best]:
            best = i
    return x[best] * best


@INDICES.add()
def loop_variable_after_the_loop(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * i
    return total * i + v


@INDICES.add()
def loop_variable_of_a_helper(x):
    def last(n):
        for k in range(n):
            pass
        return k

    return sum(x[last(i)] * i for i in range(1, 24))


@INDICES.add()
def nested_triangle_with_a_counter(x):
    k, total = 0, 0.0
    for i in range(7):
        for j in range(i):
            total += x[k % 24] * (i - j)
            k += 1
    return total + k * x[0]


@INDICES.add(number())
def power_by_repeated_squaring(s):
    result, base, n = 1.0, s, 0b1011011
    while n:
        if n & 1:
            result = result * base
        base, n = base * base * 0.9, n >> 1
    return result


@INDICES.add(matrix(20, 4))
def index_tuples(a):
    total = 0.0
    for k in range(80):
        place = divmod(k, 4)
        total += a[place] * operator.sub(*place)
    return total


@INDICES.add(with_number(24))
def slices_as_objects(x, s):
    total = 0.0
    for i in range(20):
        window = slice(i, i + 4, 1 + i % 2)
        total += s * np.prod(x[window]) * (window.stop - window.start)
    return total


@INDICES.add()
def negative_and_reversed_ranges(x):
    total = 0.0
    for i in range(-1, -24, -1):
        total = 0.9 * total + x[i] * i
    return total


@INDICES.add()
def plain_mean_of_the_indices(x):
    seen, total = [], 0.0
    for i, v in enumerate(x):
        seen.append(i)
        total += v * (sum(seen) / len(seen))
    return total


@INDICES.add()
def index_shifted_by_a_list(x):
    offsets, total = [0, 3, 1, 4, 1, 5], 0.0
    for i in range(18):
        total += x[i + offsets[i % 6]] * offsets[-1 - i % 6]
    return total


@INDICES.add()
def same_object_test(x):
    first, total = None, 0.0
    for v in x:
        if first is None:
            first = v
        total += v * first
    return total


@INDICES.add()
def previous_is_none(x):
    last, total = None, 0.0
    for v in x:
        if last is not None and v is not last:
            total += (v - last) ** 2
        last = v
    return total
