"""How `for` loops become `Loop` operations: what is carried, exchanged and counted."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.tape.operations import Guard
from planned_ad.tape.tape import walk
from planned_ad.trace import trace

from .recorded_loops import N, followed, loops_of, recorded, square, vector
from .tracing_oracle import assert_same, replay

# One loop on the tape.


def test_short_loops_are_recorded_one_by_one() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += x[i]
        return total

    assert not loops_of(recorded(f, vector(), unroll=N))
    assert len(loops_of(recorded(f, vector(), unroll=N - 1))) == 1


@pytest.mark.parametrize("trips", [3, 300])
def test_the_tape_does_not_grow_with_the_trips(trips: int) -> None:
    def f(x, n):
        for _ in range(n):
            x = np.sin(x)
        return np.sum(x)

    (loop,) = followed(f, vector(), trips)
    assert loop.trips == trips
    assert len(loop.body) < 6


def test_a_loop_that_never_runs_leaves_nothing() -> None:
    def f(x):
        total = x[0]
        for i in range(2, 2):
            total = x[i] ** 2
        for i in range(5, 2):
            total = x[i] ** 2
        return total

    assert not loops_of(recorded(f, vector()))


def test_ragged_loops_may_be_empty() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(i):
                total += x[i] * x[j]
        return total

    assert len(followed(f, vector())) == 2


def test_ragged_loops_whose_length_would_be_negative_are_empty() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(i - 2):
                total += x[i] * x[j]
            for j in range(i + 3, len(x)):
                total += x[i] * x[j]
        return total

    recorded(f, vector())


def test_counters_of_loops_whose_length_would_be_negative() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            count = i
            for j in range(i - 3):
                total += x[i] * x[j]
                count += 2
            total += x[i] * count
        return total

    assert len(followed(f, vector())) == 2


@pytest.mark.parametrize("start, stop, step", [(0, 6, 1), (1, 6, 2), (5, -1, -1), (4, 0, -2), (-1, -6, -1), (-6, 0, 3)])
def test_ranges(start: int, stop: int, step: int) -> None:
    def f(x):
        total = 0.0
        for i in range(start, stop, step):
            total = 0.5 * total + x[i] * i
        return total

    (loop,) = followed(f, vector())
    assert loop.trips == len(range(start, stop, step))


def test_items_rows_enumerate_zip_and_reversed() -> None:
    def f(x, a):
        total = 0.0
        for v in x:
            total = 0.5 * total + v
        for i, row in enumerate(a, 1):
            row *= 0.5 + i
            total += row[2]
        for p, (q, r) in zip(x, zip(x[::-1], a)):
            total = total * p + q * r[0]
        for i in reversed(range(1, 5)):
            total = 0.3 * total + x[i]
        for i, j in np.ndindex(3, 2):
            total = 0.3 * total + a[i, j]
        return total

    followed(f, vector(), square())


def test_parts_of_ranges() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x))[::-1]:
            total = 0.5 * total + x[i]
        for i in range(len(x))[1::2]:
            total = 0.5 * total + x[i]
        for i in range(0, len(x), 2)[-2:]:
            total = 0.5 * total + x[i]
        return total + range(len(x))[-1] * x[range(2)[1]] + len(range(9)[2:5])

    followed(f, vector())


@pytest.mark.parametrize("part", [np.s_[::-1], np.s_[1:], np.s_[2::1], np.s_[:-1], np.s_[:-2:1]], ids=str)
def test_parts_of_ranges_between_expressions(part: slice) -> None:
    """Also of those without an item."""

    def f(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(i)[part]:
                total = 0.5 * total + x[j]
            for j in range(i, -1, -1)[part]:
                total = 0.5 * total + x[j]
            for j in range(2, i)[part][::-1]:
                total = 0.5 * total + x[i] * x[j]
        return total

    followed(f, vector())


def test_negative_and_mirrored_indices() -> None:
    def f(x):
        n = len(x)
        for i in range(1, n):
            x[-i] += 0.5 * x[n - 1 - i] + x[-i - 1]
        return np.sum(x)

    followed(f, vector())


# What an iteration hands to the next.


def test_a_carried_number_is_one_place_in_memory() -> None:
    def f(x):
        total = 0.0
        for v in x:
            total = np.tanh(total) + v
        return total

    (loop,) = followed(f, vector())
    written = {region.buffer for op in walk(loop.body) for region in op.writes}
    assert len(written) <= 2  # and what `v` holds after the loop


def test_what_the_loop_does_not_change_is_not_carried() -> None:
    def f(x, a):
        scale = np.sum(a)
        for i in range(len(x)):
            x[i] *= scale
        return x

    (loop,) = followed(f, vector(), square())
    assert {region.buffer for op in loop.body for region in op.writes} == {0}


def test_chains_of_carried_numbers() -> None:
    def f(x):
        a = b = c = 0.0
        for v in x:
            c, b, a = b, a, v
        return a + 10 * b + 100 * c

    followed(f, vector())


def test_an_integer_that_turns_into_a_float() -> None:
    def f(x):
        total = 0
        for v in x:
            total += v
        return total

    followed(f, vector())


def test_tuples_lists_dicts_and_objects_are_carried_item_by_item() -> None:
    class State:
        def __init__(self) -> None:
            self.energy = 0.0

    def f(x, s):
        pair, box, table, state = (s, 1.0), [s, 0.0], {"u": s}, State()
        for i in range(len(x)):
            pair = (pair[1], 0.5 * pair[0] + x[i])
            box[0], box[1] = box[1], box[0] * x[i]
            table["u"] = 0.5 * table["u"] + box[1]
            state.energy += table["u"] * pair[0]
        return state.energy + box[0] + pair[1]

    followed(f, vector(), 0.7)


def test_closure_variables_are_carried() -> None:
    def f(x):
        total = 0.0

        def add(v):
            nonlocal total
            total = 0.5 * total + v

        for v in x:
            add(v)
        return total

    followed(f, vector())


def test_carried_arrays() -> None:
    def f(x, y):
        u = x
        for i in range(len(x)):
            u = 0.5 * u + y[i]
        return np.sum(u * x)

    followed(f, vector(), vector(1))


def test_values_used_after_the_loop() -> None:
    def f(x):
        for i in range(len(x)):
            last = np.sin(x[i])
            row = x * last
        return last * i + row[2]

    followed(f, vector())


def test_arrays_made_in_the_body() -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            w = np.zeros(3)
            w[1:] = x[i]
            w[0] += w[2] * x[i]
            total += np.sum(w)
        return total + w[0]

    followed(f, vector())


# Exchanges.


@pytest.mark.parametrize("trips", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("written", [False, True])
def test_arrays_exchange_their_names(trips: int, written: bool) -> None:
    """Whose memory is written to depends on the number of the iteration, and after the loop on how many there were."""

    def f(x, y):
        u, v = x, y
        for _ in range(trips):
            if written:
                v[1:] = 0.5 * u[:-1] + v[1:]
            u, v = v, u
        u[0] = 5.0
        return np.sum(u * v)

    recorded(f, vector(), vector(1))


def test_two_arrays_that_exchange_names_make_two_iterations_one() -> None:
    def f(x, y):
        u, v = x, y
        for _ in range(10):
            v[1:] = 0.5 * u[:-1] + v[1:]
            u, v = v, u
        return np.sum(u)

    (loop,) = followed(f, vector(), vector(1))
    assert loop.trips == 5


@pytest.mark.parametrize("count", [3, 4, 5])
def test_longer_rotations(count: int) -> None:
    def f(x):
        arrays = [x * (k + 1) for k in range(count)]
        for _ in range(17):
            arrays[0][2] *= 1.5
            arrays[0], arrays[1], arrays[-1] = arrays[1], arrays[-1], arrays[0]
        arrays[0][1] = 3.0
        return sum([np.sum(array * k) for k, array in enumerate(arrays)])

    recorded(f, vector())


def test_exchanges_in_loops_of_another_length_each_time() -> None:
    def f(x, y):
        u = x
        for j in range(3):
            u[1] *= 0.4
            for _ in range(j + 1):
                y, u = u, y
        y[0] = 7.0
        return np.sum(u)

    recorded(f, vector(), vector(1))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_exchanges_in_loops_of_run_time_length(count: int) -> None:
    """Such a loop may end in the middle of a period."""

    def f(x, y, n):
        u, v = x * 1.0, y * 1.0
        for _ in range(n[0]):
            u, v = v, u
        return np.sum(u * u * v)

    traced = trace(f, (vector(), vector(1), np.array([3])), unroll=0)
    arguments = vector(), vector(1), np.array([count])
    result, _ = replay(traced, *arguments)
    assert_same(result, f(*arguments))


def test_a_loop_of_run_time_length_that_cannot_be_recorded_is_unrolled_as_long_as_it_is() -> None:
    """Arrays exchange their names in it, one of which is written to; how often it runs is a guard."""

    def f(y, a, ptr):
        for k, row in enumerate(a):
            v = y
            for i in range(ptr[k], ptr[k + 1]):
                row, v = v, row
                row[-k] = a[-i - 1, k]
        return np.sum(a)

    arguments = vector(), square(), np.array([0, 2, 2, 3, 6, 6, 6])
    traced = trace(f, arguments, unroll=0)
    again = vector(), square(), arguments[2]
    result, _ = replay(traced, *arguments)
    assert_same(result, f(*again))
    guards = [op for op in traced.tape.operations if isinstance(op, Guard)]
    assert [op.outcome for op in guards if op.what == "count"] == [2, 0, 1, 3, 0, 0]


def test_arrays_exchange_their_names_in_while_loops_that_end_in_the_middle_of_a_period() -> None:
    def f(x, y):
        u, v = x * 1.0, y * 1.0
        total = np.sum(x * x) + 0.01
        while total < 30.0:
            u, v = v, u
            total = total * 1.9
        return np.sum(u * u * v)

    traced = trace(f, (vector(), vector(1)), unroll=0)
    for scale in (0.4, 0.6, 0.9, 1.3):
        result, _ = replay(traced, scale * vector(), vector(1))
        assert_same(result, f(scale * vector(), vector(1)))


def test_the_first_iteration_may_differ() -> None:
    """The argument itself first, then arrays that the body makes: the first iteration is recorded by itself."""

    def f(x, y):
        for i in range(len(x) - 1):
            x[i] = 0.3
            x = x + y
        x[0] = 9.0
        return np.sum(x)

    recorded(f, vector(), vector(1))


def test_swaps_of_elements_and_numbers() -> None:
    def f(x, y):
        a, b = 0.0, 1.0
        for i in range(len(x) // 2):
            x[i], x[-i - 1] = x[-i - 1], 2 * x[i]
            x[i], y[i] = y[i], x[i]
            a, b = b, a + b * x[i]
        return a * b

    followed(f, vector(), vector(1))
