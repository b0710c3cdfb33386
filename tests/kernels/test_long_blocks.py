"""Long bodies of loops and sides of branches, in functions of their own: LLVM's work grows faster than a function."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.kernels import emit

from .. import test_dict_tables, test_graphs, test_lists_of_states, test_loops_over_lists, test_membership
from ..program_lists import Programs

SIZE = 24
PROGRAMS = Programs()
program = PROGRAMS.program
MODULES = (test_dict_tables, test_graphs, test_lists_of_states, test_loops_over_lists, test_membership)
OTHERS = [pytest.param(f, marks=pytest.mark.long) for module in MODULES for f in module.PROGRAMS.loops]


@program
def scalars(x):
    a, b = x[0], x[1]
    for k in range(20):
        a = np.sin(a * b) + x[k]
        b = b * 0.5 + np.cos(a) * x[k + 1]
        a, b = b * np.exp(-a * a), a / (1.0 + b * b)
        a = a + np.tanh(b) * x[2]
    return a * b


@program
def branches_in_nested_loops(x):
    total, rows = 0.0, np.zeros((4, 6))
    for i in range(4):
        for j in range(6):
            u = x[i * 6 + j] * (i + 1) - 0.1 * j
            if u > 0.5:
                v = np.sin(u) * np.cos(u) + u * u * x[i]
                w = v * v - u * np.exp(-v)
                rows[i, j] = w + v * np.log1p(w * w) * x[int(w * w) % 24]  # which no lane has
                total += np.sqrt(1.0 + w * w) * u
            else:
                v = u * u * u - x[j]
                rows[i, j] = v * np.tanh(v) + u
                total += v * u * 0.5
        total += rows[i].sum() * rows[i - 1, 2]
    return total


@program
def arrays_and_products(x):
    a, v = x[:9].reshape(3, 3) * 0.5, x[9:12] * 1.0
    for k in range(18):
        u = np.sin(v) * x[k] + v**2 * 0.1
        w = a @ u + np.cos(u) * v
        v = w / (1.0 + np.sum(w * w)) + np.cumsum(u) * 0.1
        v = v * np.exp(-np.abs(v)) + np.linalg.solve(a + 3 * np.eye(3), u)
    return v.sum()


@program
def left_early(x):
    a, b, steps = x[0], 1.0, 0
    while abs(a - b) > 1e-6 and steps < 60:
        c = 0.5 * (a + b)
        d = np.sqrt(np.abs(a * b) + 1e-3)
        a, b = c + 0.01 * np.sin(d) * x[1], d + 0.01 * np.cos(c) * x[2]
        steps += 1
        if a * b > 40.0:
            break
    return a * b + steps


@pytest.fixture
def short_functions(monkeypatch) -> None:
    monkeypatch.setattr(emit, "FUNCTION_ITEMS", 5)
    monkeypatch.setattr(emit, "LONG_BLOCK", 8)


@pytest.mark.parametrize("f", [*PROGRAMS.all, *OTHERS])
def test_value_and_slope(f, short_functions):
    rng = np.random.default_rng(0)
    x, direction = rng.random((2, SIZE))
    plan = planned_ad.compile(f, (x,), unroll=0, check=False)
    if f in PROGRAMS.all:
        plan.gradient(x, np.zeros(SIZE))
        assert "@block" in plan.llvm("gradient")
    for x in rng.random((3, SIZE)):
        value, gradient = plan.value_and_gradient(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        slopes = [(f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (1e-7, 2e-7)]
        if slopes[0] == pytest.approx(slopes[1], rel=1e-5, abs=1e-5):  # no kink
            assert gradient @ direction == pytest.approx(slopes[0], rel=1e-4, abs=1e-4)


def test_second_derivatives(short_functions):
    x, v = np.random.default_rng(1).random((2, SIZE))
    plan = planned_ad.compile(scalars, (x,), unroll=0, check=False)
    steps = [plan.gradient(x + s * 1e-5 * v).copy() for s in (1, -1)]
    np.testing.assert_allclose(plan.hvp(x, v), (steps[0] - steps[1]) / 2e-5, rtol=1e-5, atol=1e-6)
