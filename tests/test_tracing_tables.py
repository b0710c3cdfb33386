"""Plain numbers beside traced arrays are tables: the loop stays a loop, as with an array of them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable

import numpy as np
import pytest

from planned_ad.trace import trace

from .recorded_loops import followed, loops_of, recorded

W = [0.5 * k for k in range(24)]
PAIRS = [(k, 0.1 * k) for k in range(24)]
NAMED = {f"w{k}": 0.5 + k for k in range(24)}


def long_vector() -> np.ndarray:
    return np.linspace(1, 2, 24)


def total(items):
    t = 0.0
    for v, w in items:
        t += v * w
    return t


def of_a_list(x):
    return total(zip(x, W))


def of_a_tuple(x):
    return total(zip(x, tuple(W)))


def of_a_range(x):
    return total(zip(x, range(3, 51, 2)))


def of_a_dict_view(x):
    return total(zip(x, NAMED.values()))


def of_a_deque(x):
    return total(zip(x, collections.deque(W)))


def of_integers_and_floats(x):
    return total(zip(x, [1, 0.5] * 12))


def of_truths(x):
    return total(zip(x, [True, False, True] * 8))


def of_tuples(x):
    t = 0.0
    for v, (k, w) in zip(x, PAIRS):
        t += v * w + x[k]
    return t


def of_enumerated_coefficients(x):
    t = x[0]
    for k, c in enumerate(W):
        t = t * 0.9 + c * x[k]
    return t


def of_a_reversed_list(x):
    return total(zip(x, reversed(W)))


def of_the_shorter(x):
    return total(zip(x, W[:20]))


def of_equal_objects(x):
    return total(zip(x, [x[3]] * 24))


def as_indices(x):
    t = 0.0
    for v, k in zip(x, [3, 1, 2] * 8):
        t += v * x[k]
    return t


def as_a_test(x):
    t = 0.0
    for v, w in zip(x, W):
        if w > 4.0:
            t += v
        else:
            t -= v * w
    return t


ROLLED = [
    of_a_list, of_a_tuple, of_a_range, of_a_dict_view, of_a_deque, of_integers_and_floats, of_truths, of_tuples,
    of_enumerated_coefficients, of_a_reversed_list, of_the_shorter, of_equal_objects, as_indices, as_a_test,
]  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_the_loop_stays_a_loop(f: Callable) -> None:
    followed(f, long_vector())
    assert loops_of(recorded(f, long_vector(), unroll=16))


def test_a_list_is_as_good_as_an_array() -> None:
    programs = (of_a_list, lambda x: total(zip(x, np.array(W))))
    of_list, of_array = (trace(f, (long_vector(),), unroll=0).tape for f in programs)
    assert [type(op) for op in of_list.operations[-1:]] == [type(op) for op in of_array.operations[-1:]]
    (a,), (b,) = ([op for op in tape.operations if op.blocks] for tape in (of_list, of_array))
    assert [type(op) for op in a.body] == [type(op) for op in b.body]


# By the index of the loop.


def weights_of_a_list(x):
    t = 0.0
    for k in range(len(x)):
        t += W[k] * x[k]
    return t


def of_a_tuple_backwards(x):
    weights, t = tuple(W), 0.0
    for k in range(1, len(x)):
        t += weights[len(x) - 1 - k] * x[k] + weights[-1] * x[k - 1]
    return t


def from_the_end(x):
    t = 0.0
    for k in range(len(x)):
        t += W[-1 - k] * x[k] + MATRIX[-k - 1][3]
    return t


def places_in_a_list(x):
    t = 0.0
    for k in range(len(x)):
        t += x[PLACES[k]] * x[k]
    return t


def of_a_dict(x):
    t = 0.0
    for k in range(3, len(x)):
        t += BY_NUMBER[k] * x[k] + BY_NUMBER[k - 2]
    return t


def of_a_matrix_of_lists(x):
    t = 0.0
    for i in range(len(x)):
        for j in range(20):
            t += MATRIX[i][j] * x[i] * x[j] + MATRIX[i][2]
    return t


def of_an_attribute(x):
    class Model:
        weights = W

        def at(self, k):
            return self.weights[k] if k > 3 else 1.0

    model, t = Model(), 0.0
    for k in range(len(x)):
        t += model.at(k) * x[k]
    return t


PLACES, MATRIX = [5, 7, 0] * 8, [[0.1 * i * j + 1 for j in range(20)] for i in range(24)]
BY_NUMBER = {k: 0.1 * k * k for k in range(24)}
BY_INDEX = [
    weights_of_a_list, of_a_tuple_backwards, from_the_end, places_in_a_list, of_a_dict, of_a_matrix_of_lists,
    of_an_attribute,
]  # fmt: skip


@pytest.mark.parametrize("f", BY_INDEX, ids=lambda f: f.__name__)
def test_plain_numbers_at_the_index_of_a_loop(f: Callable) -> None:
    found = recorded(f, long_vector(), unroll=16)
    assert loops_of(found) and not found.unrolled


def changed_at_a_place(x):
    weights, t = list(W), 0.0
    for k in range(len(x)):
        t += weights[k] * x[k]
        if k == 12:
            weights[14] = 9.0
    return t


def changed_each_time(x):
    weights, t = dict(BY_NUMBER), 0.0
    for k in range(len(x)):
        t += weights[k] * x[k]
        weights[20] = weights[20] + 1.0
    return t


def exchanged(x):
    rows, t = [list(W), [2.0 * w for w in W]], 0.0
    for k in range(len(x)):
        t += rows[0][k] * x[k]
        rows.reverse()
    return t


def of_several_lengths(x):
    rows, t = [[1.0] * (k + 1) for k in range(24)], 0.0
    for k in range(len(x)):
        t += rows[k][k] * x[k] * len(rows[k])
    return t


def some_missing(x):
    some, t = {k: 0.5 for k in range(0, 24, 2)}, 0.0
    for k in range(len(x)):
        t += x[k] * some.get(k, 2.0) + (some[k] if k in some else 0.0)  # noqa: SIM401
    return t


@pytest.mark.parametrize("unroll", [0, 16, 300])
@pytest.mark.parametrize(
    "f", [changed_at_a_place, changed_each_time, exchanged, of_several_lengths, some_missing], ids=lambda f: f.__name__
)
def test_what_changes_is_what_it_is_then(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)


def test_an_index_beyond_the_end_is_an_error() -> None:
    def f(x):
        t = 0.0
        for k in range(len(x)):
            t += W[k + 1] * x[k]
        return t

    with pytest.raises(IndexError):
        trace(f, (long_vector(),), unroll=0)


# What needs more than a table is unrolled.


def as_a_count(x):
    t = 0.0
    for v, k in zip(x, [1, 2, 3] * 8):
        t += v * len([0] * k)
    return t


def as_a_key(x):
    names, t = {1: 0.5, 2: 2.0}, 0.0
    for v, k in zip(x, [1, 2] * 12):
        t += v * names[k]
    return t


def of_names(x):
    t = 0.0
    for v, name in zip(x, NAMED):
        t += v * NAMED[name]
    return t


def of_functions(x):
    t = 0.0
    for f, v in zip([np.sin, np.cos] * 12, x):
        t += f(v)
    return t


def changed_in_the_body(x):
    weights, t = list(W), 0.0
    for k, (v, w) in enumerate(zip(x, weights)):
        t += v * w
        if k < 23:
            weights[k + 1] = 2.0 * w + 1
    return t


def grown_before(x):
    weights, t = [], 0.0
    for k in range(24):
        weights.append(0.5 * k)  # noqa: PERF401
    for v, w in zip(x, weights):
        t += v * w
    return t


@pytest.mark.parametrize("unroll", [0, 16, 300])
@pytest.mark.parametrize("f", [as_a_count, as_a_key, of_names, of_functions, changed_in_the_body, grown_before])
def test_where_a_table_does_not_do(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)


# Iterators that run over traced arrays are advanced by nobody that does not know them.


def zipped_with_a_generator(x):
    return total(zip(x, (0.5 * k for k in range(30))))


def one_iterator_twice(x):
    it, t = iter(x), 0.0
    for a, b in zip(it, it):
        t += a * b
    return t


def taken_in_the_body(x):
    it, t = iter(x), 0.0
    for v in it:
        t += v * next(it, 0.0)
    return t


def first_taken_apart(x):
    it = iter(x)
    t = next(it)
    for v in it:
        t = 0.5 * t + v
    return t


def of_a_chain(x):
    t = 0.0
    for v in itertools.chain(x, x[::-1]):
        t = 0.9 * t + v
    return t


def of_a_user_class(x):
    class Rows:
        def __iter__(self):
            return iter(x)

    t = 0.0
    for v in Rows():
        t = 0.9 * t + v
    return t


def unpacked(x):
    first, *rest = x
    return first * sum(rest) + max(*x, 0.3) + sorted(x)[3] + list(reversed(x))[2]


def reduced(x):
    from functools import reduce

    return reduce(lambda a, b: 0.5 * a + b, x, 1.0)


def mapped_and_filtered(x):
    t = 0.0
    for v in map(lambda a, w: a * w, x, W):
        t = 0.9 * t + v
    return t + sum(filter(lambda v: v > 1.5, x))


def of_pairs_and_slices(x):
    t = x[0]
    for a, b in itertools.pairwise(x):
        t += a * b
    for v in itertools.islice(x, 2, 20, 3):
        t += v
    for v in map(lambda a, w: a * w, x, W):
        t += v
    return t


def of_elements(x):
    m, t = x.reshape(4, 6), 0.0
    for (i, j), v in np.ndenumerate(m):
        t += v * (i + 2 * j)
    for v in np.nditer(m.T):
        t = 0.9 * t + v
    return t


ITERATED = [
    zipped_with_a_generator, one_iterator_twice, taken_in_the_body, first_taken_apart, of_a_chain, of_a_user_class,
    unpacked, reduced, mapped_and_filtered, of_pairs_and_slices, of_elements,
]  # fmt: skip


@pytest.mark.parametrize("unroll", [0, 1, 16, 300])
@pytest.mark.parametrize("f", ITERATED, ids=lambda f: f.__name__)
def test_iterators(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)


@pytest.mark.parametrize("f", [first_taken_apart, of_pairs_and_slices, of_elements])
def test_iterators_of_ours_stay_loops(f: Callable) -> None:
    followed(f, long_vector())


def pairs_of_what_is_written(x):
    head, t = x[:3], 0.0
    for a, b in itertools.pairwise(x):
        t = 0.9 * t + a * b
        head[1:] = 0.5 * head[:-1] + 0.1 * t
    return t


def pairs_of_rows_that_are_written(x):
    m, t = x.reshape(12, 2), 0.0
    for a, b in itertools.pairwise(m):
        t = 0.9 * t + a[0] * b[1]
        m *= 0.95
    return t


@pytest.mark.parametrize("unroll", [0, 16, 300])
@pytest.mark.parametrize("f", [pairs_of_what_is_written, pairs_of_rows_that_are_written])
def test_the_first_of_a_pair_was_read_before(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)
