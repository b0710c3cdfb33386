"""Arrays and lists that get shorter or longer in a loop, because each iteration makes another one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .interpreted_plans import assert_right
from .program_lists import Programs

N = 20
PROGRAMS = Programs()


@PROGRAMS.rolled
def a_binomial_tree(x):
    v = np.maximum(x - 0.3, 0.0)
    for _ in range(N - 1):
        v = 0.98 * (0.55 * v[1:] + 0.45 * v[:-1])
    return v[0]


@PROGRAMS.rolled
def an_american_option(x):
    s = x * 1.1
    v = np.maximum(s - 0.5, 0.0)
    while len(v) > 1:
        s = s[:-1] * 1.01
        v = np.maximum(0.98 * (0.55 * v[1:] + 0.45 * v[:-1]), s - 0.5)
    return v[0] * v[0] + s[0]


@PROGRAMS.rolled
def an_american_option_with_one_row_of_prices(x):
    n, s = 9, 0.5 * x[0] * 1.1 ** np.arange(-9, 10) + x[:19]
    v = np.maximum(1.0 - s[::2], 0.0)
    for i in range(n - 1, -1, -1):
        v = np.maximum(0.98 * (0.55 * v[1:] + 0.45 * v[:-1]), 1.0 - s[n - i : n + i + 1 : 2])
    return v[0]


@PROGRAMS.rolled
def an_american_option_number_by_number(x):
    n, u, v = 9, 1.0 + 0.1 * x[1], np.zeros(10)
    for j in range(n + 1):
        v[j] = max(1.0 - x[0] * u**j * x[2] ** (n - j), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            v[j] = max(0.98 * (0.55 * v[j + 1] + 0.45 * v[j]), 1.0 - x[0] * u**j * x[2] ** (i - j))
    return v[0]


@PROGRAMS.rolled
def slices_in_steps_downwards(x):
    y = x.copy()
    for i in range(1, 5):
        y[9 + 2 * i : 9 - 2 * i : -2] *= 1.1 + y[: 4 * i : 2] * x[i]
        y[3 * i :: 3] += x[: 20 - 3 * i : 3]
    return np.sum(y**2)


@PROGRAMS.rolled
def differences(x):
    total, d = 0.0, x.copy()
    for k in range(N - 2):
        d = np.diff(d)
        total += d[0] * 0.5 + np.sum(d) * 0.1**k + d.shape[0]
    return total + np.sum(d**2)


@PROGRAMS.rolled
def two_at_a_time(x):
    d = np.sin(x)
    for k in range(6):
        d = d[1:-1] * x[k] + d[2:] - d[:-2]
    return np.sum(d) + len(d)


@PROGRAMS.rolled
def rows_of_a_matrix(x):
    a = np.outer(x, x[:3])
    for _ in range(N - 2):
        a = 0.6 * a[1:] + 0.3 * a[:-1] ** 2
    return np.sum(a)


@PROGRAMS.rolled
def an_array_that_is_appended_to(x):
    v = x[:2] * 2.0
    for k in range(2, N):
        v = np.append(v, np.sin(v[-1]) * x[k] + np.sum(v) * 0.1)
    return np.sum(v * v)


@PROGRAMS.rolled
def a_list_by_index(x):
    v = [u * u for u in x]
    for _ in range(N - 1):
        v = [0.5 * v[j + 1] + 0.4 * np.sin(v[j]) for j in range(len(v) - 1)]
    return v[0]


@PROGRAMS.rolled
def a_list_in_pairs(x):
    v = [u * u for u in x]
    while len(v) > 1:
        v = [0.5 * a + 0.4 * np.sin(b) for a, b in zip(v[1:], v[:-1])]
    return v[0] + len(v)


@PROGRAMS.rolled
def a_list_that_is_left_over(x):
    v, total = [u + 1.0 for u in x], 0.0
    for k in range(15):
        v = [u * x[k] + v[0] for u in v[1:]]
        total += v[-1] + sum(v) / len(v)
    return total + sum(v)


@PROGRAMS.rolled
def in_a_loop_around(x):
    total = 0.0
    for k in range(18):
        v = np.tanh(x * x[k])
        for _ in range(17):
            v = 0.5 * v[1:] + 0.4 * v[:-1]
        total += np.sum(v)
    return total


@PROGRAMS.rolled
def assigned_before_it_is_read(x):
    row, total = x[:5] * 1.0, 0.0
    for i in range(N - 3):
        row = x[i : i + 3] * 2.0
        total += np.sum(row * row)
    return total + row[0]


@PROGRAMS.rolled
def a_list_assigned_before_it_is_read(x):
    row, total = [u * 1.0 for u in x], 0.0
    for i in range(N):
        row = [u * x[i] for u in x[:18]]
        total += sum(row)
    return total + row[0]


@PROGRAMS.program
def another_length_at_first(x):
    v, total = x[:6] * 1.0, 0.0
    for i in range(N - 3):
        total = 0.5 * total + v[0]
        v = x[i : i + 3] * total
    return total + np.sum(v)


@PROGRAMS.program
def the_one_before_is_kept(x):
    v, before = x * 1.0, x * 0.5
    for _ in range(17):
        before, v = v, 0.5 * v[1:] + 0.4 * v[:-1]
    return np.sum(v) + np.sum(before**2)


@PROGRAMS.program
def written_to(x):
    v = x * 1.0
    for k in range(17):
        v[0] = x[k]
        v = v[1:] + 0.4 * v[:-1]
        v *= 0.5
        v[-1] += 0.1
    return np.sum(v**2)


@PROGRAMS.program
def a_view_of_itself(x):
    v, total = x * 1.0, 0.0
    for k in range(17):
        v = v[1:]
        total += v[0] * x[k]
    return total + np.sum(v)


@PROGRAMS.program
def two_names(x):
    v = x * 1.0
    w = v
    for _ in range(17):
        v = w[1:] * 0.5 + 0.4 * v[:-1]
        w = v
    return np.sum(v * w)


@PROGRAMS.program
def halves(x):
    v = x[:16] * 1.0
    while len(v) > 1:
        v = v[::2] * v[1::2] + 0.1
    return v[0]


@PROGRAMS.program
def by_data(x):
    v = x * 1.0
    for k in range(12):
        v = v[1:] + 0.1 if x[k] > 0.5 else v * 0.9
    return np.sum(v)


@PROGRAMS.program
def lists_that_halve(x):
    v = [u * 1.0 for u in x[:16]]
    while len(v) > 1:
        v = [v[2 * k] * v[2 * k + 1] + 0.1 for k in range(len(v) // 2)]
    return v[0]


@PROGRAMS.program
def lists_kept_and_written(x):
    v, kept = [u * 1.0 for u in x], []
    for k in range(17):
        kept.append(v)
        v = [0.5 * (v[j] + v[j + 1]) for j in range(len(v) - 1)]
        v[0] = v[0] * x[k]
    return sum(sum(w) for w in kept) + v[-1]


@PROGRAMS.program
def lists_of_two_names(x):
    v = [u * 1.0 for u in x]
    w = v
    for _ in range(17):
        v, w = [a * b for a, b in zip(v[1:], w)], v
    return sum(v) * sum(w)


@PROGRAMS.program
def left_early(x):
    v = x * 1.0
    for k in range(17):
        v = 0.5 * v[1:] + 0.4 * v[:-1]
        if v[0] > 0.3 + 0.5 * x[k]:
            break
    return np.sum(v)


@pytest.mark.parametrize("f", PROGRAMS.all)
@pytest.mark.parametrize("unroll", [0, 16])
def test_values_and_slopes(f: Callable, unroll: int) -> None:
    compiled = f in (by_data, left_early)  # which need a trace for each way
    assert_right(f, N, 4, unroll, compiled)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f: Callable) -> None:
    x = np.random.default_rng(4).random(N)
    assert planned_ad.compile(f, (x,), check=False).explain().fallbacks == ()
