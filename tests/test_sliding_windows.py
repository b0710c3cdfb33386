"""Windows that overlap: the cotangents of all the places at which an element was shown are added to it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import planned_ad
from planned_ad.differentiate.reverse import reverse
from planned_ad.tape.tape import Loop, Scatter, walk
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan


def weights(windows, axes):
    return np.cos(np.arange(np.prod([windows.shape[k] for k in axes]))).reshape([windows.shape[k] for k in axes])


def weighted(windows, x):
    """Sums of products: windows times what depends on where they are, and on where in them an element is."""
    axes = range(windows.ndim // 2, windows.ndim)
    return np.sum(np.sum(windows * weights(windows, axes), axis=tuple(axes)) ** 2)


def contracted(windows, x):
    """The same by a product of matrices, of the axes the other way round."""
    half = windows.ndim // 2
    turned = windows.transpose(*range(half, windows.ndim), *range(half))
    return np.sum(np.tensordot(weights(turned, range(half)), turned, half) ** 3)


def averaged(windows, x):
    return np.sum(windows) * np.sum(windows.mean(axis=-1) ** 2) * x[(0,) * x.ndim]


def curved(windows, x):
    """No sum of products."""
    return np.sum(np.sin(windows * x[(-1,) * x.ndim]) ** 3)


def largest(windows, x):
    return np.sum(windows.reshape(windows.shape[0], -1).max(axis=1) ** 2)


WINDOWS = {
    "20 of 50": ((50,), lambda x: sliding_window_view(x, 20)),
    "5 of 50": ((50,), lambda x: sliding_window_view(x, 5)),
    "backwards": ((50,), lambda x: sliding_window_view(x, 20)[:, ::-1]),
    "every second": ((50,), lambda x: sliding_window_view(x, 20)[::2]),
    "by two, of every second": ((50,), lambda x: sliding_window_view(x, 19)[::2, ::2]),
    "longer than their number": ((30,), lambda x: sliding_window_view(x, 26)),
    "two axes": ((9, 8), lambda x: sliding_window_view(x, (5, 4))),
    "two axes, by two": ((9, 8), lambda x: sliding_window_view(x, (5, 4))[::2, ::2]),
    "two axes, a part": ((12, 9), lambda x: sliding_window_view(x[1:-2, ::2], (5, 4))),
    "rows": ((3, 30), lambda x: sliding_window_view(x, 18, axis=1)[:, :, None, :]),
    "windows of windows": ((24,), lambda x: sliding_window_view(sliding_window_view(x, 6), (10, 2))[:, :, :, ::-1]),
}


@pytest.mark.parametrize("of_windows", [weighted, contracted, averaged, curved, largest])
@pytest.mark.parametrize("name", WINDOWS)
def test_gradients_of_windows(name, of_windows):
    """Without an index for each element that is shown."""
    shape, windows_of = WINDOWS[name]
    x = np.random.default_rng(3).permutation(np.linspace(-1.0, 1.0, int(np.prod(shape)))).reshape(shape)

    def f(x):
        return of_windows(windows_of(x), x)

    def slope(place):
        change = np.zeros(shape)
        change[place] = 1e-6
        return (f(x + change) - f(x - change)) / 2e-6

    expected = np.array([slope(place) for place in np.ndindex(shape)]).reshape(shape)
    np.testing.assert_allclose(InterpretedPlan(f, x).gradient(x), expected, rtol=1e-6, atol=1e-6)
    tape = reverse(trace(f, (x,)).tape)
    assert not any(isinstance(op, Scatter) for op in walk(tape.operations))


@pytest.mark.parametrize("of_windows", [contracted, curved])
@pytest.mark.parametrize("name", ["20 of 50", "two axes", "two axes, by two"])
def test_second_derivatives(name, of_windows):
    shape, windows_of = WINDOWS[name]
    rng = np.random.default_rng(3)
    x, v = rng.uniform(-1.0, 1.0, (2, *shape))
    plan = planned_ad.compile(lambda x: of_windows(windows_of(x), x), (x,))
    expected = (plan.gradient(x + 1e-6 * v) - plan.gradient(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(plan.hvp(x, v), expected, rtol=1e-5, atol=1e-6)


def test_in_a_loop():
    """Windows of what a recorded loop changes, at places that it moves; loops over taps have indices of their own."""

    def f(x):
        u, total = x.copy(), 0.0
        for t in range(6):
            u[t : t + 40] = np.tanh(u[t : t + 40] + 0.1 * u[t])
            total = total + np.sum(np.sin(sliding_window_view(u[t : t + 40], 20)) ** 2 * x[t])
        return total

    x = np.random.default_rng(1).uniform(-1.0, 1.0, 46)
    tape = reverse(trace(f, (x,), unroll=0).tape)
    indices = [op.index for op in walk(tape.operations) if isinstance(op, Loop)]
    assert len(indices) == 3 and len(set(indices)) == 2  # the loop, the other way round, and that over taps
    plan = planned_ad.compile(f, (x,), unroll=0)
    v = np.cos(np.arange(46.0))
    expected = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    assert plan.gradient(x) @ v == pytest.approx(expected, rel=1e-7)


def test_memory():
    """As much as the array takes, a few times; not as much as the windows."""
    x, w = np.ones(5000), np.ones(100)
    plan = planned_ad.compile(lambda x, w: np.sum((sliding_window_view(x, 100) @ w) ** 2), (x, w))
    plan.gradient(x, w)
    assert plan.explain().workspace_bytes < 5 * x.nbytes
