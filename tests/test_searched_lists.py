"""Numbers in lists that are searched in loops, and lists that are run over from where data say."""

from __future__ import annotations

import bisect
import math

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PLACES = [0.5 * k for k in range(30)]
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@rolled
def nearest_of_a_list(x):
    at, total = x[0], 0.0
    for k in range(40):
        distances = [math.sqrt((at - place) ** 2 + 0.1) for place in PLACES]
        least = min(distances)
        i = distances.index(least)
        total += least * PLACES[i] * x[k]
        at = at + 0.3 * x[k]
    return total


@rolled
def nearest_from_the_last_one(x):
    at, last, total = 0.1, 0, 0.0
    for k in range(40):
        distances = [abs(at - place) for place in PLACES[last:]]
        last = last + distances.index(min(distances))
        total += PLACES[last] * at * x[k]
        at += 0.4 * x[k]
    return total


@rolled
def without_the_ends(x):
    total = 0.0
    for k in range(30):
        scores = [math.sin(3 * x[j] * (k + 1)) for j in range(20)]
        scores.remove(max(scores))
        scores.remove(min(scores))
        total += sum(scores) / len(scores) * x[k]
    return total


@rolled
def place_of_the_next_one(x):
    total = 0.0
    for k in range(30):
        scores = [x[j] * math.sin(j + k) for j in range(20)]
        j = scores.index(max(scores))
        highest = scores[j]
        scores.remove(highest)
        total += highest * j + max(scores) * scores.index(max(scores))
    return total


@rolled
def taken_out_where_it_was_found(x):
    total = 0.0
    for k in range(30):
        scores = [x[j] * math.sin(j + k) for j in range(20)]
        j = scores.index(max(scores))
        total += scores.pop(j) * j + sum(scores) * x[k]
    return total


@program
def of_what_is_there_twice(x):
    total = 0.0
    for k in range(30):
        steps = [math.floor(4 * x[j]) * 0.5 for j in range(20)]
        total += steps.index(steps[k % 20]) * x[k]
        steps.remove(steps[19])
        total += sum(v * w for v, w in zip(steps, x))
    return total


@rolled
def slices_at_what_data_say(x):
    total, first = 0.0, 0
    for k in range(40):
        for place in PLACES[first:]:
            total += place * x[k]
        for place in PLACES[:first]:
            total -= place * x[k] ** 2
        first = int(x[k] * 80) - 40
    return total


@rolled
def slices_between(x):
    total = 0.0
    for k in range(40):
        i, j = int(x[k] * 40) - 5, int(x[k + 1] * 50) - 9
        total += sum(place * x[k] for place in PLACES[i:j]) + sum(w for w in PLACES[-i : j + 3])
    return total


@rolled
def written_then_searched(x):
    found = [0.0] * 25
    for k in range(25):
        found[k] = x[k] * x[k + 1]
    total = 0.0
    for k in range(20):
        j = found.index(max(found))
        total += found[j] * (j + k)
        found[j] = found[j] * 0.5
    return total


@program
def interpolated(x):
    total = 0.0
    for k in range(40):
        at = 9 * x[k]
        i = bisect.bisect(PLACES, at) - 1
        total += math.sin(PLACES[i]) * (at - PLACES[i])
    return total


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)


def of_another_number(x):
    squares, total = [v * v for v in x], 0.0
    for k in range(40):
        total += squares.index(x[k] * x[k + 1]) * x[k]
    return total


def removed_which_is_not_there(x):
    total = 0.0
    for k in range(40):
        squares = [v * v for v in x[:20]]
        squares.remove(x[k] * x[k + 1])
        total += sum(squares)
    return total


@pytest.mark.parametrize("f", [of_another_number, removed_which_is_not_there])
def test_what_is_not_there_is_an_error(f):
    with pytest.raises(ValueError, match="not in list"):
        f(np.random.default_rng(0).random(SIZE))
    with pytest.raises(ValueError, match="not in"):
        planned_ad.compile(f, (np.random.default_rng(0).random(SIZE),))


@pytest.mark.parametrize("f", [of_another_number, removed_which_is_not_there])
def test_what_is_not_there_at_another_input_is_an_error(f):
    plan = planned_ad.compile(f, (np.ones(SIZE),))
    assert plan(np.ones(SIZE)) == f(np.ones(SIZE))
    with pytest.raises(ValueError, match="not in"):
        plan(np.random.default_rng(0).random(SIZE))


def numbers_of_two_kinds(x):
    """Python compares 2 and 2.0, but keeps which of them it has."""
    total = 0.0
    for k in range(20):
        held = [2, x[k], 2.0, 3]
        held.remove(2.0 if x[k] < 0.5 else 3)
        total += sum(len(str(v)) if type(v) is int else v for v in held) * x[k]
    return total


def caught(x):
    held, total = [v * v for v in x[:20]], 0.0
    for k in range(40):
        try:
            total += held.index(x[k] * x[k]) * x[k]
        except ValueError:
            total -= x[k]
    return total


@pytest.mark.parametrize("f", [numbers_of_two_kinds, caught])
def test_where_python_decides(f):
    assert_right(f, SIZE, 0, 16)
