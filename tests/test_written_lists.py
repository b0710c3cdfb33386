"""Lists of numbers to which loops write lie in memory, where that is all the program can tell; see `list_programs`."""

from __future__ import annotations

import io
import pprint
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BoundsError
from planned_ad.tape.interpret import GuardBroken
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .list_programs import PROGRAMS
from .lists_in_lists import SHARED
from .oracle import assert_shadows, interpreted
from .tracing_oracle import replay

# In which what an ordinary list does besides decides: rows that are in two places, other things than numbers, classes,
# single precision beside numbers of Python.
UNROLLED = {
    "shared_rows",
    "popped",
    "class_asked",
    "shallow",
    "f32",
}
FILLED = "fills a list of lists to whose items are written"  # row by row, so that each is the list that it is
POINTS = [np.random.default_rng(seed).uniform(0.05, 0.95, 24) for seed in range(4)]


def traced(f: Callable, unroll: int = 0) -> Trace:
    found = trace(f, (POINTS[0].copy(),), unroll=unroll)
    verify(found.tape)
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_are_what_python_makes_of_them(f: Callable) -> None:
    """Also elsewhere than at the example, and at all settings; recorded as loops where nothing else decides."""
    once, one_by_one = traced(f), traced(f, 1 << 30)
    for x in POINTS:
        expected = f(x.copy())
        for found in (once, traced(f, 16) if x is POINTS[0] else once):
            try:
                value, _ = replay(found, x.copy())
            except GuardBroken:
                continue
            np.testing.assert_allclose(value, expected, rtol=1e-12)
    x = POINTS[0]
    assert_shadows(*(interpreted(t, "gradient", (x.copy(),)) for t in (once, one_by_one)), f.__name__)
    reasons = [found.reason for found in once.unrolled if found.reason != FILLED]
    assert bool(reasons) == (f.__name__ in UNROLLED), reasons


def test_the_length_of_a_table_does_not_matter() -> None:
    warped = next(f for f in PROGRAMS if f.__name__ == "dtw")
    sizes = {n: len(trace(warped, (np.linspace(0, 1, n),)).tape.operations) for n in (20, 60)}
    assert sizes[20] == sizes[60]


@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("unroll", [0, 16])
def test_a_list_in_two_places_is_one_list(f: Callable, unroll: int) -> None:
    found = traced(f, unroll)
    for x in POINTS:
        np.testing.assert_allclose(replay(found, x.copy())[0], f(x.copy()), rtol=1e-12)


def test_integers_that_grow_beyond_64_bits_are_refused() -> None:
    def f(x):
        c = [0] * 100
        c[1] = 1
        for i in range(2, 100):
            c[i] = c[i - 1] + c[i - 2]
        return x[0] * (c[99] % 1000)

    with pytest.raises(BoundsError, match="64 bits"):
        planned_ad.compile(f, POINTS[0], check=False)(POINTS[0])


def test_an_index_out_of_range_is_the_error_of_lists() -> None:
    def f(x):
        c = [0.0] * 20
        for i in range(20):
            c[i] = x[i]
        return c[20]

    with pytest.raises(IndexError, match="list index out of range"):
        trace(f, (np.ones(24),))


def test_integers_that_shape_the_trace_stay_numbers() -> None:
    def f(x):
        lengths, s = [3, 5, 2], 0.0
        for k in range(3):
            for i in range(lengths[k]):
                s = s + x[i]
        return s

    assert replay(trace(f, (POINTS[0],), unroll=0), POINTS[1])[0] == pytest.approx(f(POINTS[1]))


def text_of_a_list(is_full):
    def f(x):
        flags, s = [0] * 6, 0.0
        for i in range(1, len(x)):
            flags[i % 6] = 1 if x[i] * x[i - 1] > 0.5 else 0
            s += x[i] ** 2 if is_full(flags) else x[i]
        return s

    return f


def printed(value):
    with io.StringIO() as file:
        print(value, file=file, end="")
        return file.getvalue()


TEXTS = (
    text_of_a_list(lambda flags: str(flags) == "[1, 1, 1, 1, 1, 1]"),
    text_of_a_list(lambda flags: f"{flags}".count("1") == 6),
    text_of_a_list(lambda flags: "".join(map(str, flags)) == "111111"),
    text_of_a_list(lambda flags: pprint.pformat(flags) == "[1, 1, 1, 1, 1, 1]"),
    text_of_a_list(lambda flags: printed(flags) == "[1, 1, 1, 1, 1, 1]"),
)


def keys_by_text(x):
    taken, seen, s = [False] * 3, set(), x[0]
    for j in range(3):
        for k in range(3):
            taken[k] = not taken[k]
            if x[k] < 0:
                break
            s = s + x[k] * x[j]
            seen.add(repr(taken))
    return s * len(seen)


def keys_that_are_tuples(x):
    taken, memo = [False] * 3, {}

    def search(depth):
        key = tuple(taken)
        if key in memo:
            return memo[key]
        if depth == 0:
            return 0.0
        best = -1e9
        for m in range(3):
            if taken[m]:
                continue
            taken[m] = True
            best = max(best, x[m] * depth + search(depth - 1))
            taken[m] = False
        memo[key] = best
        return best

    return search(2)


@pytest.mark.parametrize(("f", "size"), [*((f, 40) for f in TEXTS), (keys_by_text, 3), (keys_that_are_tuples, 3)])
def test_what_needs_all_items_of_a_list_has_them(f, size) -> None:
    rng = np.random.default_rng(size)
    plan = planned_ad.compile(f, (rng.normal(size=size),))
    for x in (rng.normal(size=size), 1.0 + rng.random(size), -1.0 - rng.random(size)):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-13)
