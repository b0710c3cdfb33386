"""Variables and attributes that loops are the first to give a value, and read behind them or in later iterations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .sweeps import name_of

INPUTS = [np.array(x) for x in ([0.52, -0.31, 1.23], [1.74, 0.23, 0.43], [0.23, 0.12, 0.34], [-0.71, 2.21, 1.12])]


def cost(x):
    return np.sum(x**2) + np.sum(np.sin(x))


def line_search(x):
    J = cost(x)
    for _ in range(3):
        g = 2 * x + np.cos(x)
        alpha = 1.5
        while alpha > 1e-3:
            xn = x - alpha * g
            Jn = cost(xn)
            if Jn < J:
                break
            alpha *= 0.5
        x, J = xn, Jn
    return J + x[0]


def line_search_with_else(x):
    J = cost(x)
    for _ in range(40):
        alpha = 1.0
        for _ in range(10):
            xn = x - alpha * x * 0.3
            Jn = cost(xn)
            if Jn < J * x[2]:
                break
            alpha *= 0.5
        else:
            break
        gain = J - Jn
        x, J = xn, Jn
        if gain < 1e-2:
            break
    return J + x[1]


def written_to(x):
    y = x * 1.0
    for _ in range(20):
        k = 0
        while k < 5:
            z = y * 0.9
            if z[0] > x[1]:
                break
            k += 1
        y = z
        y[0] += 0.1
        z[1] *= 1.01
    return np.sum(y) + z[1]


def appended(x):
    out = []
    y = x * 1.0
    for i in range(20):
        for k in range(25):
            z = y * 0.9 + 0.01 * k
            if z[0] > x[1] + i * 0.01:
                break
        out.append(z)
        y = z * 1.1
    out[3][0] = 5.0
    return sum(np.sum(o) * (i + 1) for i, o in enumerate(out))


def perhaps_none(x):
    for k in range(20):
        if x[k % 3] > 1.0:
            z = x * k
            break
    return np.sum(z)


def perhaps_no_view(x):
    for k in range(20):
        if x[k % 3] > 1.0:
            z, w = x[1:], x[k % 3]
            break
    return np.sum(z) + w


def looked_at_where_there_is_one(x):
    found = False
    for k in range(20):
        if x[k % 3] > 1.0:
            z = x * (k + 1)
            found = True
            break
    if found:
        return np.sum(z)
    return x[0] * 3


def of_the_last_iteration(x):
    s = 0.0
    for i in range(30):
        if i > 0:
            s += before[0] * before[1]  # noqa: F821
        before = x * i  # noqa: F841
        x = x + 0.1 * np.sin(x)
    return s


def of_the_last_one_of_some(x):
    s, have = 0.0, False
    for i in range(30):
        if have:
            s += last[0] * last[1]  # noqa: F821
        if x[i % 3] > 0.5:
            last = x * i  # noqa: F841
            have = True
        x = x + 0.1 * np.sin(x)
    return s


class Model:
    def __init__(self):
        self.mu = 1.0

    def expect(self, x):
        self.g = x * self.mu
        return np.sum(self.g**2)

    def maximise(self):
        self.mu = 0.5 + 0.1 * np.sum(self.g)


def attribute(x):
    model, before = Model(), np.inf
    for _ in range(50):
        value = model.expect(x)
        model.maximise()
        if abs(value - before) < 1e-9:
            break
        before = value
    return value + model.g[0]


def attribute_that_is_written_to(x):
    model = Model()
    for i in range(40):
        model.expect(x)
        h = model.g
        h[0] += 0.01 * i
        model.maximise()
        model.g[1] *= 1.1
    return np.sum(h * model.g)


def three_loops(x):
    s = 0.0
    for a in range(6):
        for b in range(18):
            for c in range(19):
                v = x * (a + b + c + 1)
                if v[0] > 2.0:
                    break
            w = v + b
            if w[1] > 9.0:
                break
        s = s + np.sum(v * w)
        x = x * 0.99
    return s


def for_so_many(x):
    for k in range(int(x[2] * 10)):
        z = x * k
    return np.sum(z)


def in_no_iteration(x):
    y = x * 2
    for _ in range(20):
        alpha = x[0]
        while alpha > 0.4:
            y = y * 0.97
            q = y + alpha
            alpha *= 0.7
        y = q * 0.5
    return np.sum(y)


def exchanged(x):
    for _ in range(25):
        for k in range(18):
            a = x * (k + 1)
            b = a + x
            if a[0] > 2:
                break
        a, b = b, a
        a[0] += 1.0
        x = (a + b) / 20
    return np.sum(a * b)


class Estimator:
    def fit(self, x):
        self.w = 1.0
        for self.n_iter in range(100):
            before = self.w
            self.w = 0.5 * (self.w + (3 + np.sum(x)) / self.w)
            if abs(before - self.w) < 1e-12:
                break
        return self


def into_an_attribute(x):
    model = Estimator().fit(x)
    return model.w * model.n_iter


def into_items(x):
    s, place, each = 0.0, {}, [0.0, 0.0]
    for place["k"] in range(20):
        s += x[place["k"] % 3] * place["k"]
    for k, (each[0], place["v"]) in enumerate(zip(x, x[::-1])):
        s += k * each[0] * place["v"]
    return s * each[0] + place["k"] * place["v"]


def shown(x):
    y = 3.0 + x[0]
    for k in range(100):
        before = y
        y = 0.5 * (y + (3.0 + x[0]) / y)
        if k % 10 == 0:
            print(f"{k:4d}", y)
        if abs(y - before) < 1e-12:
            print("converged after %d iterations" % k, k)  # noqa: UP031
            break
    return y * x[1]


def perhaps_no_constant(x):
    for k in range(20):
        if x[k % 3] > 1.0:
            z = 0.5
    return max(x[0], z)


ONCE = [
    line_search, line_search_with_else, written_to, perhaps_none, perhaps_no_view, of_the_last_iteration,
    of_the_last_one_of_some, attribute, attribute_that_is_written_to, three_loops, for_so_many, in_no_iteration,
    exchanged, into_an_attribute, shown, perhaps_no_constant,
]  # fmt: skip
OTHERS = [appended, looked_at_where_there_is_one, into_items]  # which have several traces, or loops that are unrolled


def outcome(f: Callable[..., Any], x: np.ndarray) -> Any:
    try:
        return f(x)
    except UnboundLocalError:
        return None


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", [*ONCE, *OTHERS], ids=name_of)
def test_value_and_slope(f: Callable[..., Any], unroll: int) -> None:
    example = next(x for x in INPUTS if outcome(f, x.copy()) is not None)
    plan = planned_ad.compile(f, (example,), unroll=unroll, check=False)
    for x in INPUTS:
        expected = outcome(f, x.copy())
        if expected is None:
            with pytest.raises((UnboundLocalError, planned_ad.errors.BranchError)):
                plan(x)
            continue
        np.testing.assert_allclose(plan(x), expected, rtol=1e-11)
        slopes = [(f(x + step) - f(x - step)) / 2e-7 for step in 1e-7 * np.eye(3)]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-4, atol=1e-5)
    assert f in OTHERS or (len(plan._variants) == 1 and plan.explain().fallbacks == ())


def test_what_is_shown_of_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    trace(shown, (INPUTS[0],), unroll=0)
    assert "<traced index> <traced float64" in capsys.readouterr().out


def test_what_reads_a_text_has_the_number() -> None:
    def f(x: Any) -> Any:
        names = [f"{k:02d}" for k in range(20)]
        return sum(x[int(name) % 3] * int("%d" % k) for k, name in enumerate(names))  # noqa: UP031

    x = INPUTS[0]
    np.testing.assert_allclose(planned_ad.compile(f, (x,), unroll=0, check=False)(x), f(x))


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, text: str) -> None:
        self.lines.append(text)


def test_what_shows_a_text_is_no_function_of_the_programs() -> None:
    def by_a_method(x: Any) -> Any:
        told = Log()
        for k in range(20):
            told.info(f"{k}")
        return x[0] * sum(map(int, told.lines))

    def by_a_function(x: Any) -> Any:
        lines: list[str] = []

        def log(text: str) -> None:
            lines.append(text)

        for k in range(20):
            log("%d" % k)  # noqa: UP031
        return x[0] * len("".join(lines))

    def by_what_is_handled(x: Any) -> Any:
        total = 0
        for k in range(20):
            try:
                if x[k % 3] > 0.5:
                    raise ValueError(f"{k}")
            except ValueError:
                total += len(str(sys.exc_info()[1]))
        return total * x[0]

    x = INPUTS[0]
    for f in (by_a_method, by_a_function, by_what_is_handled):
        np.testing.assert_allclose(planned_ad.compile(f, (x,), unroll=0, check=False)(x), f(x))
