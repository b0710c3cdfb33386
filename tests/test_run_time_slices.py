"""Slices whose bounds are integers known at run time: NumPy's rules, what is written through them, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import IndexRangeError, LengthError
from planned_ad.plan import Plan

POINTERS = np.array([0, 3, 3, 4, 9])


def vector(seed: int = 0, size: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


def compiled(f: Callable[..., Any], *arguments: np.ndarray) -> Plan:
    return planned_ad.compile(f, tuple(a.copy() for a in arguments), unroll=0)


def check(plan: Plan, f: Callable[..., Any], *arguments: np.ndarray) -> None:
    """Value and effects are those of `f`, and the gradient by `x`, the last argument, that of differences."""
    own, after = [a.copy() for a in arguments], [a.copy() for a in arguments]
    np.testing.assert_allclose(plan(*own), f(*after), rtol=1e-12)
    for a, b in zip(own, after):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    *others, x = arguments
    gradient = plan.gradient(*(a.copy() for a in arguments))
    last = gradient[-1] if isinstance(gradient, tuple) else gradient
    direction, h = vector(5, x.size).reshape(x.shape), 1e-6
    high, low = (f(*(a.copy() for a in others), x + s * direction) for s in (h, -h))
    np.testing.assert_allclose(np.sum(last * direction), (high - low) / (2 * h), rtol=1e-6, atol=1e-6)


BOUNDS = [(2, 7), (7, 2), (-4, -1), (-50, 3), (4, 50), (9, 9), (0, -9), (12, 20)]


def test_bounds_are_cut_off_as_numpy_does() -> None:
    def f(bounds, x):
        a, b = bounds[0], bounds[1]
        y = np.sin(x)
        y[a:b] += x[a:b] ** 2
        y[a:b:2] *= 1.5
        y[b:a:-1] -= 0.5 * x[b:a:-1]
        return np.sum(y**2) + np.sum(x[:a]) + x[b:] @ y[b:] + np.sum(x[-3:b] ** 3) + np.sum(x[2:7][a:5][1:])

    plan = compiled(f, np.array(BOUNDS[0]), vector())
    for bounds in BOUNDS:
        check(plan, f, np.array(bounds), vector(1))


def test_memory_is_read_as_it_was() -> None:
    """What has been computed of a slice stays what it is when the memory of the slice is written to."""

    def f(p, v, x):
        total = 0.0
        for i in range(len(p) - 1):
            w = 2 * x[p[i] : p[i + 1]]
            x[p[i] : p[i + 1]] = v[p[i] : p[i + 1]] * x[p[i] : p[i + 1]][::-1]
            total += np.sum(w * w) + np.sum(x[p[i] : p[i + 1]] ** 3)
        w = np.sin(x[p[1] : p[4]])
        for i in range(len(x)):
            total += np.sum(w * w) * (i + 1)
            x[i] = x[i] * v[i]
        return total + np.sum(x**2)

    plan = compiled(f, POINTERS, vector(1), vector())
    check(plan, f, POINTERS, vector(1), vector())
    check(plan, f, np.array([0, 0, 5, 9, 9]), vector(1), vector())


def test_all_that_show_an_array_see_what_is_written_to_it() -> None:
    """Also where a loop or branch is the first to write to what is computed before it."""

    def f(p, v, x):
        total = 0.0
        w = x[p[0] : p[3]] * v[p[0] : p[3]]
        same, turned = w, w[::-1]
        for i in range(5):
            if x[i] > 0:
                w += x[p[0] : p[3]]
            else:
                w[:1] = 0.7
            total += np.sum(same * w) + np.sum(turned * x[p[0] : p[3]]) * w[-1]
        return total

    plan = compiled(f, POINTERS, vector(1), vector())
    check(plan, f, POINTERS, vector(1), vector())
    check(plan, f, np.array([1, 1, 1, 6, 9]), vector(1), vector(3))


def test_equal_indices_that_are_written_to() -> None:
    """The last one wins, and each is read before any is written."""

    def f(p, index, v, x):
        for i in range(len(p) - 1):
            x[index[p[i] : p[i + 1]]] += v[p[i] : p[i + 1]] * x[i]
        return np.sum(x**2)

    index = np.array([0, 0, 2, -1, 4, 4, 4, 5, 0])
    check(compiled(f, POINTERS, index, vector(1), vector()), f, POINTERS, index, vector(1), vector())


def test_matrices() -> None:
    def f(p, w, x):
        total = 0.0
        for i in range(len(p) - 1):
            rows = x[p[i] : p[i + 1]]
            total += np.sum((rows @ w) ** 2) + np.sum(np.sin(rows).sum(axis=1)) + np.sum(rows.mean() * w)
            total += np.sum((rows.T @ rows[:, :2]) ** 2) + np.sum(w[p[i] : p[i + 1]] @ x[:3, :2][p[i] : p[i + 1]])
            x[p[i] : p[i + 1], 1] += 0.5
        return total

    pointers = np.array([0, 2, 3])
    check(compiled(f, pointers, vector(1, 3), vector(0, 27).reshape(9, 3)), f, pointers, vector(1, 3),
          vector(2, 27).reshape(9, 3))  # fmt: skip


def test_extreme_elements_and_statistics() -> None:
    def f(p, v, x):
        total = 0.0
        for i in range(len(p) - 1):
            part = x[p[i] : p[i + 1]] * v[p[i] : p[i + 1]]
            total += np.max(part) ** 2 - part.min() * (1 + np.argmax(part)) + np.var(part) + np.linalg.norm(part)
            total += np.sum(np.cumsum(part) ** 2) + part[-1] * np.prod(part)
        return total

    pointers = np.array([0, 2, 3, 7])
    plan = compiled(f, pointers, vector(1), vector())
    check(plan, f, pointers, vector(1), vector())
    with pytest.raises(LengthError, match="are empty"):
        plan(np.array([0, 2, 2, 7]), vector(1), vector())


def test_lengths_have_to_be_equal() -> None:
    def f(p, x):
        total = 0.0
        for i in range(1):
            total += np.sum(x[p[i] : p[i + 1]] * x[p[i + 2] : p[i + 3]])
        return total

    plan = compiled(f, np.array([0, 3, 3, 6]), vector())
    check(plan, f, np.array([0, 3, 6, 20]), vector())
    for bounds in ([0, 2, 3, 6], [0, 0, 3, 6], [0, 3, 3, 5]):
        with pytest.raises(LengthError, match=r"test_run_time_slices\.py"):
            plan(np.array(bounds), vector())


def product(p, x):
    return np.sum(x[p[0] : p[1]] * np.sin(x[p[2] : p[3]]) + x[p[2] : p[3]])


def assignment(p, x):
    y = np.zeros((5, 3))
    y[p[0] : p[1]] = (x[p[2] : p[3]] ** 2)[:, None]
    y[1:4] += x[p[2] : p[2] + 1][:, None] * y[1:4]
    return np.sum(np.cos(y))


def in_a_loop(p, x):
    total = 0.0
    for i in range(20):
        total += np.sum(x[p[i % 2] : p[i % 2 + 1]] * x[p[2] : p[3]])
    return total


@pytest.mark.parametrize("f", [product, assignment, in_a_loop])
def test_one_element_is_repeated(f: Any) -> None:
    """Also where the example has no such lengths: the first call that has traces again."""
    one, several, other = np.array([2, 3, 3, 4]), np.array([0, 3, 2, 5]), np.array([1, 4, 4, 5])
    for example in (one, several, other) if f is not in_a_loop else (other,):  # which is wrong for the first two
        plan = compiled(f, example, vector())
        for bounds in (other, several, one, other):
            if f is in_a_loop and bounds is not other:
                continue
            check(plan, f, bounds, vector())
    plan = compiled(f, several, vector()) if f is not in_a_loop else compiled(f, other, vector())
    check(plan, f, other, vector())
    for bounds in ([0, 3, 1, 3], [0, 2, 1, 4]):
        with pytest.raises(LengthError):
            plan(np.array(bounds), vector())


def test_lengths_of_one_before_a_branch() -> None:
    def f(p, x):
        x[2:5] *= x[p[0] : p[0] + 1]
        return np.sum(x) if x[3] > 0 else np.sum(x**2)

    plan = compiled(f, np.array([1]), vector())
    check(plan, f, np.array([1]), vector())
    check(plan, f, np.array([6]), -vector())


def test_an_index_is_tested_against_the_length() -> None:
    def f(p, x):
        return x[p[0] : p[1]][2] * x[p[1] :][-1]

    plan = compiled(f, np.array([1, 5]), vector())
    check(plan, f, np.array([2, 5]), vector())
    for bounds in ([0, 2], [0, 9], [5, 3]):
        with pytest.raises(IndexRangeError):
            plan(np.array(bounds), vector())


def test_nothing_is_kept_for_elements_that_need_not_be_there() -> None:
    """Of many slices each of which could be the whole array."""

    def f(p, x):
        total = 0.0
        for i in range(len(p) - 1):
            e = np.exp(x[p[i] : p[i + 1]])
            total += np.log(1.0 + np.sum(e * e))
        return total

    pointers = np.arange(0, 3001, 3)
    plan = compiled(f, pointers, vector(0, 3000))
    assert plan.explain().cached_bytes <= 2 * 8 * 1000
    check(plan, f, pointers, 0.1 * vector(0, 3000))


def test_what_has_no_rule_is_traced_for_each_length() -> None:
    def returned(p, x):
        return x[: p[0]]

    def two_axes(p, x):
        return np.sum(np.outer(x, x)[: p[0], p[0] :])

    def masked(p, x):
        part = x[: p[0]]
        return np.sum(part[part > 0])

    for f in (returned, two_axes, masked):
        plan = compiled(f, np.array([3]), vector())
        for length in (3, 2):
            np.testing.assert_allclose(plan(np.array([length]), vector()), f(np.array([length]), vector()))


def test_backwards_over_a_length_that_is_data() -> None:
    def f(k: Any, x: Any) -> Any:
        total = 0.0
        for item in reversed(x[: k[0]]):
            total = 0.5 * total + item
        for i in reversed(range(k[1])):
            total = 0.5 * total + x[i] ** 2
        return total

    x = vector()
    plan = compiled(f, np.array([4, 7]), x)
    for k in ([4, 7], [9, 0], [1, 9]):
        check(plan, f, np.array(k), x)
