"""Slices of a known length at a place known at run time: views of a known shape, wherever they lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_right
from .program_lists import Programs

N = 30
W = np.array([0.3, -0.2, 0.5, 0.1])
PICKS = np.array([0, 3, 5])
PROGRAMS = Programs()


@PROGRAMS.rolled
def two_of_them(x):
    total = 0.0
    for k in range(N):
        i = int(28 * x[k])
        a, b = x[i : i + 2]
        total += a * b * x[k]
    return total


@PROGRAMS.rolled
def as_arguments(x):
    def cubic(a, b, c, d, u):
        return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d))

    total = 0.0
    for k in range(N):
        i = 1 + int(26 * x[k])
        total += cubic(*x[i - 1 : i + 3], x[k]) ** 2
    return total


@PROGRAMS.rolled
def blocks(x):
    """As a stiffness matrix is put together of elements."""
    whole = np.zeros((12, 12))
    for k in range(N - 1):
        i, j = int(6 * x[k]), int(6 * x[k + 1])
        block = x[k] * np.outer(x[i : i + 2], x[j : j + 2])
        whole[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] += block
        whole[2 * i : 2 * (i + 1), 2 * j : 2 * j + 2] -= block.T
        first = slice(j * 2, j * 2 + 2)
        whole[first, first] *= 0.9
    return np.sum(whole**2)


@PROGRAMS.rolled
def backwards(x):
    total = 0.0
    for k in range(N):
        i = 2 + int(26 * x[k])
        total += (x[i + 1 : i - 2 : -1] @ W[:3]) * (x[i : i - 2 : -2] @ W[:1])
    return total


@PROGRAMS.rolled
def with_a_step(x):
    total = 0.0
    for k in range(N):
        i = int(24 * x[k])
        total += np.sum(x[i : i + 5 : 2] * W[1:]) ** 2 + np.prod(x[i : i + 6 : 3])
    return total


@PROGRAMS.rolled
def up_to_the_end(x):
    total = 0.0
    for k in range(N):
        i = 30 - int(3 * x[k]) * 1  # 28 to 30
        total += np.sum(x[i - 3 : i] * W[:3])
    return total


@PROGRAMS.rolled
def written_to(x):
    out = np.zeros(N)
    for k in range(N):
        i = 1 + int(26 * x[k])
        out[i - 1 : i + 3] += W * x[k]
    return np.sum(out * out)


@PROGRAMS.rolled
def a_view_that_is_written_to(x):
    out = x.copy()
    for k in range(N):
        i = 1 + int(26 * x[k])
        part = out[i - 1 : i + 3]
        part *= 0.9
        part[1] += x[k]
        out[i : i + 2] = part[:2] + part[2:]
    return np.sum(out * out)


@PROGRAMS.rolled
def of_two_axes(x):
    image, total = x.reshape(6, 5), 0.0
    for k in range(N - 1):
        r, c = int(5 * x[k]), int(4 * x[k + 1])
        a, b = x[k], x[k + 1]
        total += (np.array([1 - a, a]) @ image[r : r + 2, c : c + 2] @ np.array([1 - b, b])) ** 2
    return total


@PROGRAMS.rolled
def among_other_parts(x):
    cube, total = x.reshape(5, 6), 0.0
    for k in range(5):
        r = int(4 * x[k])
        total += np.sum(cube[r : r + 2, PICKS] ** 3) + np.sum(cube[None, r : r + 2, ..., 3] ** 2)
        total += np.sum(cube[r : r + 2, k : k + 2]) * np.sum(cube[r, 1:] * cube[r : r + 1, :-1])
    return total


@PROGRAMS.rolled
def moved_by_another_loop(x):
    total = 0.0
    for k in range(N):
        i = int(20 * x[k])
        for j in range(7):
            total += np.linalg.norm(x[i + j : i + j + 3]) * W[j % 4]
    return total


@PROGRAMS.program
def out_of_loops(x):
    i = int(20 * x[3])
    a, b, c = x[i : i + 3]
    return a * b + c * x[3]


@PROGRAMS.program
def sometimes_cut_off(x):
    total = 0.0
    for k in range(N):
        i = int(31 * x[k])
        total += np.sum(x[i - 1 : i + 2] ** 2) * x[k]
    return total


@PROGRAMS.program
def from_the_end_when_it_is_negative(x):
    total = 0.0
    for k in range(N):
        i = 2 - int(6 * x[k])
        total += np.sum(x[i : i + 2] ** 2) * x[k] + np.sum(x[i + 1 : i - 1 : -1])
    return total


@PROGRAMS.program
def longer_than_the_axis(x):
    total = 0.0
    for k in range(N):
        i = int(2 * x[k])
        total += np.sum(x[:3][i : i + 5]) * x[k]
    return total


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_values_and_gradients(f: Callable, unroll: int) -> None:
    assert_right(f, N, 5, unroll)


@pytest.mark.parametrize("f", [out_of_loops, sometimes_cut_off, from_the_end_when_it_is_negative, longer_than_the_axis])
def test_what_may_be_cut_off(f: Callable) -> None:
    assert_right(f, N, 5, 16, compiled=True)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f: Callable) -> None:
    x = np.random.default_rng(5).random(N)
    assert planned_ad.compile(f, (x,), check=False).explain().fallbacks == ()


def test_a_call_whose_window_is_cut_off_gets_a_trace_of_its_own() -> None:
    x = np.linspace(0.1, 0.8, N)
    plan = planned_ad.compile(sometimes_cut_off, (x,))
    for y in (x, x[::-1].copy(), np.linspace(0, 1, N), x):
        assert plan(y) == pytest.approx(sometimes_cut_off(y), rel=1e-12)
    assert plan.explain().variants == 1


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64])
def test_places_of_other_integer_types(dtype: type) -> None:
    def f(x, places):
        total = 0.0
        for k in range(len(places)):
            i = places[k]
            total += np.sum(x[i : i + 2] * x[i + 3 : i + 5]) * x[k]
        return total

    x = np.random.default_rng(1).random(200)
    plan = planned_ad.compile(f, (x, np.array([3, 7, 120], dtype)))
    for places in ([3, 7, 120], [0, 125, 100], [2, 9, 9]):
        given = np.array(places, dtype)
        with np.errstate(over="ignore"):
            assert plan(x, given) == pytest.approx(f(x, given), rel=1e-12)
