"""One program for each way in which people write a loop."""

from __future__ import annotations

import itertools

import numpy as np

from .program import Collection

CONSTRUCTS = Collection()
program = CONSTRUCTS.add


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def with_enumerate(x, y):
    for i, v in enumerate(x):
        y[i] = y[i] * v + np.sin(v)
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def enumerate_from_one(x, y):
    total = 0.0
    for k, v in enumerate(x[:-1], start=1):
        total += v**2 * y[k] / k
    return total


@program(lambda n, d: (d.normal(n), d.normal(n + 3), d.normal(n, 2)), 8, 40)
def with_zip(x, y, pairs):
    total = 0.0
    for a, b, (c, e) in zip(x, y, pairs):
        total += a * b * c - e**2
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40, "carried")
def zip_of_neighbours(x, y):
    total = 0.0
    for i, (a, b) in enumerate(zip(x[:-1], x[1:])):  # noqa: RUF007
        total = 0.9 * total + a * b * y[i]
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def reversed_range(x):
    for i in reversed(range(len(x) - 1)):
        x[i] += 0.5 * np.tanh(x[i + 1])
    return np.sum(x**2)


@program(lambda n, d: (d.normal(n),), 9, 40)
def strided_ranges(x):
    for i in range(1, len(x), 2):
        x[i] *= x[i - 1]
    for i in range(len(x) - 1, 2, -3):
        x[i - 2] += x[i] ** 2
    return np.sum(x)


@program(lambda n, d: (d.normal(n, 4), d.normal(4)), 7, 30, "carried")
def rows_of_an_array(a, v):
    total = np.zeros_like(v)
    for row in a:
        total = np.tanh(total + row * v)
    return np.sum(total)


@program(lambda n, d: (d.normal(n, 4),), 7, 30)
def rows_written_in_place(a):
    for row in a:
        row *= 2.0
        row[1:] += row[:-1] ** 2
    return np.sum(np.sin(a))


@program(lambda n, d: (d.normal(n, 5),), 7, 30)
def columns_by_transpose(a):
    for column in a.T:
        column -= np.mean(column)
    for r, row in enumerate(a):
        row /= 1.0 + r
    return np.sum(a**3)


@program(lambda n, d: (d.normal(n, n - 1), d.normal(n - 1, n)), 6, 20)
def with_ndindex(a, b):
    for i, j in np.ndindex(*a.shape):
        a[i, j] = a[i, j] * b[j, i] + np.cos(b[j, i])
    return np.sum(a**2)


@program(lambda n, d: (d.normal(n, n),), 6, 20)
def with_product(a):
    total = 0.0
    for i, j in itertools.product(range(1, len(a)), range(len(a) - 1)):
        total += a[i, j] * a[i - 1, j + 1]
    return total


@program(lambda n, d: (d.normal(n),), 8, 30)
def comprehension_to_array(x):
    y = np.array([np.sin(x[i]) * x[i - 1] for i in range(1, len(x))])
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n, 3), d.normal(3)), 7, 30)
def comprehension_of_rows(x, w):
    scores = np.array([row @ w for row in x])
    stacked = np.stack([s * row for s, row in zip(scores, x)])
    return np.sum(np.tanh(stacked))


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def sum_of_generator(x, y):
    return sum(x[i] * y[i] ** 2 for i in range(len(x))) + sum(v**3 for v in x[1:])


@program(lambda n, d: (d.normal(n, n),), 6, 20, "triangular")
def nested_generator(a):
    return sum(a[i, j] * a[j, i] ** 2 for i in range(len(a)) for j in range(i))


@program(lambda n, d: (d.positive(n),), 8, 30)
def max_of_generator(x):
    return max(v * v for v in x) + min(np.sin(v) for v in x)


@program(lambda n, d: (d.normal(n, n), d.normal(n)), 7, 24, "triangular")
def symbolic_extents(a, x):
    total = 0.0
    for i in range(1, len(x)):
        total += np.sum(a[i, :i] * x[:i]) + np.prod(1 + 0.1 * x[i:]) * np.mean(a[i:, i])
        x[:i] += 0.1 * a[:i, i] * x[i]
    return total + np.sum(x**2)


@program(lambda n, d: (d.normal(n, n), d.normal(n, n)), 6, 21, "triangular")
def symbolic_products(a, b):
    for i in range(1, len(a)):
        for j in range(len(a)):
            b[i, j] += a[i, :i] @ b[:i, j] / len(a)
    return np.sum(b * b)


@program(lambda n, d: (d.normal(n, n), d.normal(n)), 7, 22, "triangular")
def symbolic_matrix_vector(a, x):
    for i in range(1, len(x)):
        x[i:] += a[i:, :i] @ x[:i]
        x /= 2.0
    return x @ x


@program(lambda n, d: (d.normal(n, n),), 7, 22, "triangular")
def symbolic_maximum(a):
    total = 0.0
    for i in range(1, len(a)):
        total += np.max(a[i, : i + 1]) - np.min(a[i:, i]) + np.sqrt(np.sum(a[:i, :i] ** 2))
    return total


@program(lambda n, d: (d.normal(n),), 8, 30, "triangular")
def local_arrays_of_symbolic_size(x):
    total = 0.0
    for i in range(1, len(x)):
        work = np.zeros(i)
        for j in range(i):
            work[j] = x[j] * x[i]
        total += np.sum(np.sin(work)) / i
    return total


@program(lambda n, d: (d.normal(n),), 8, 30, "triangular")
def shrinking_window(x):
    n = len(x)
    for i in range(n // 2):
        x[i : n - i] *= 0.9
        x[i] += np.sum(x[i + 1 : n - i - 1] ** 2)
    return np.sum(x)


@program(lambda n, d: (d.normal(n),), 9, 30, "unrolled")
def halved_indices(x):
    for i in range(1, len(x)):
        x[i] += np.sin(x[i // 2]) * x[(i - 1) // 2]
    return np.sum(x)


@program(lambda n, d: (d.normal(n), n - 3), 9, 40)
def static_break(x, stop):
    total = 0.0
    for i in range(len(x)):
        if i >= stop:
            break
        total += x[i] ** 2 * i
    else:
        total = 0.0
    return total


@program(lambda n, d: (d.normal(n),), 9, 40)
def static_continue(x):
    total = 0.0
    for i in range(len(x)):
        if i < 3:
            continue
        total += x[i] * x[i - 3]
    return total


@program(lambda n, d: (d.normal(n),), 9, 40)
def loop_with_else(x):
    total = 0.0
    for i in range(1, len(x)):
        total += x[i] * x[i - 1]
    else:
        total *= 2.0
    return total


@program(lambda n, d: (d.normal(n),), 9, 40)
def while_on_integers(x):
    i, total = 0, 0.0
    while i < len(x):
        total += x[i] ** 2
        i += 1
    j = len(x) - 1
    while j > 0:
        x[j] *= x[j - 1]
        j -= 2
    return total + np.sum(x)


@program(lambda n, d: (d.normal(2 ** (n // 2)),), 6, 10, "unrolled")
def haar_transform(x):
    length = len(x)
    while length > 1:
        half = length // 2
        work = x[:length].copy()
        for i in range(half):
            x[i] = (work[2 * i] + work[2 * i + 1]) / np.sqrt(2.0)
            x[half + i] = (work[2 * i] - work[2 * i + 1]) / np.sqrt(2.0)
        length = half
    return np.sum(np.sin(x))


@program(lambda n, d: (d.normal(2 ** (n // 2)),), 6, 10, "unrolled")
def hadamard_butterflies(x):
    h = 1
    while h < len(x):
        for i in range(0, len(x), 2 * h):
            for j in range(i, i + h):
                a, b = x[j], x[j + h]
                x[j] = a + b
                x[j + h] = a - b
        x *= 0.7
        h *= 2
    return np.sum(np.cos(x))


@program(lambda n, d: (d.normal(n),), 8, 40)
def first_iteration_differs(x):
    total = None
    for v in x:
        total = v * v if total is None else 0.5 * total + v * v
    return total


@program(lambda n, d: (d.normal(n),), 8, 40)
def if_first(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        if i == 0:
            y[i] = x[i]
        else:
            y[i] = np.sin(y[i - 1]) + x[i]
    return np.sum(y)


@program(lambda n, d: (d.normal(n),), 8, 40)
def if_first_or_last(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < n - 1 else x[0]
        y[i] = left * right - x[i] ** 2
    return np.sum(y**2)


@program(lambda n, d: (d.normal(n),), 9, 30, "unrolled")
def odd_and_even(x):
    total = 0.0
    for i in range(len(x)):
        if i % 2:
            total += x[i] ** 2
        else:
            total -= np.sin(x[i]) * total
    return total


@program(lambda n, d: (d.normal(n), 3), 9, 30, "unrolled")
def every_few_steps(x, every):
    record = 0.0
    for t in range(len(x)):
        x[t] = 0.9 * x[t] + 0.1 * x[t - 1] ** 2
        if t % every == 0:
            record += np.sum(x**2)
    return record


@program(lambda n, d: (d.normal(n),), 8, 30)
def list_by_append(x):
    values = []
    for i in range(len(x)):
        values.append(x[i] * x[i - 1])  # noqa: PERF401
    total = 0.0
    for k, v in enumerate(values):
        total += v * (k + 1)
    return total


@program(lambda n, d: (d.normal(n), d.normal(3)), 7, 24)
def states_by_append(noise, state):
    states = [state]
    for i in range(len(noise)):
        states.append(0.5 * states[-1] + np.sin(states[i]) * noise[i])
    return np.sum(np.array(states) ** 2)


@program(lambda n, d: (d.normal(n),), 8, 24, "unrolled")
def dict_by_index(x):
    memo = {0: x[0], 1: x[1]}
    for i in range(2, len(x)):
        memo[i] = memo[i - 1] * memo[i - 2] + x[i]
    return memo[len(x) - 1]


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 24, "unrolled")
def list_of_work(x, y):
    work = [0.0] * len(x)
    for i in range(len(x)):
        work[i] = x[i] * y[-1 - i]
    for i in range(1, len(x)):
        work[i] += 0.5 * work[i - 1]
    return work[-1] ** 2 + sum(work)


@program(lambda n, d: (tuple(d.normal(3) for _ in range(n)), tuple(d.normal(3) for _ in range(n))), 5, 8, "unrolled")
def tuples_of_arrays(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total += np.sum(x * np.sin(y))
        x *= 0.5
    return total + np.sum(xs[0])


@program(lambda n, d: (tuple((d.normal(2), (d.normal(3), d.positive(1))) for _ in range(n)),), 5, 8, "unrolled")
def tuples_of_tuples(tree):
    total = 0.0
    for a, (b, scale) in tree:
        for part in (a, b):
            total += scale[0] * np.sum(part**2)
    return total


def concat(*x):
    """Recursive concatenation of nested tuples."""
    if len(x) == 1:
        return np.atleast_1d(x[0]) if not isinstance(x[0], tuple) else concat(*x[0])
    return np.concatenate([concat(part) for part in x])


@program(lambda n, d: tuple(d.normal(k % 3 + 1) for k in range(n)), 5, 8, "unrolled")
def splatted_arguments(*x):
    joined = concat(*x)
    return np.sum(joined**2 * np.arange(len(joined)))


@program(lambda n, d: ((d.normal(2), (d.normal(3), (d.normal(1), d.normal(n)))), d.normal(2)), 5, 20, "unrolled")
def concatenated_nested_tuples(tree, y):
    joined = concat(*tree)
    head, *rest = tree
    total = np.sum(joined * np.cos(joined)) + head @ y
    for part in rest:
        total += np.sum(concat(*part)) ** 2
    return total


@program(lambda n, d: (d.normal(n), d.normal(n)), 8, 40)
def empty_and_single_loops(x, y):
    n = len(x)
    total = 0.0
    for i in range(n, n):
        total += x[i]
    for i in range(n - 1, n):
        total += x[i] * y[i]
    for i in range(3, 1):
        total *= y[i]
    for i in range(n):
        for j in range(i, min(i + 1, n)):
            total += x[j] ** 2
    return total
