"""Places that go round a buffer, rows of lists of lists, the ends of lists: loops stay loops, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import planned_ad

TRIANGLES = [[k % 7, (3 * k + 1) % 11, (5 * k + 2) % 13] for k in range(40)]


def after_use(x):
    buffer, i, total = np.zeros(7), 0, 0.0
    for v in x:
        out = buffer[i]
        total += out * out
        buffer[i] = v + 0.7 * out
        i += 1
        if i >= 7:
            i = 0
    return total


def by_remainder(x):
    rows, i, total = np.zeros((5, 2)), 0, 0.0
    for v in x:
        total += rows[i, 0] * rows[i, 1] if v > rows.mean() else v
        rows[i] = v * np.array([1.0, 0.3]) + 0.2 * rows[i]
        i = (i + 1) % 5
    return total


def downwards(x):
    buffer, i, total = [0.0] * 7, 6, 0.0
    for v in x:
        total += buffer[i] * v
        buffer[i] = v + 0.7 * buffer[i]
        i = i - 1 if i > 0 else 6
    return total


def two_delays(x):
    class Delay:
        def __init__(self, n):
            self.buffer, self.i = np.zeros(n), 0

        def tick(self, v):
            out = self.buffer[self.i]
            self.buffer[self.i] = v
            self.i += 1
            if self.i == len(self.buffer):
                self.i = 0
            return out

    first, second, total = Delay(5), Delay(11), 0.0
    for v in x:
        total += first.tick(v) * second.tick(v * v)
    return total


def elements(x):
    stiffness = np.zeros((13, 13))
    for k, nodes in enumerate(TRIANGLES):
        stiffness[np.ix_(nodes, nodes)] += x[k] * np.eye(3)
    return np.sum(stiffness**2)


def unpacked(x):
    total = 0.0
    for (a, b, c), v in zip(TRIANGLES, x):
        total += x[a] * v - x[b] * x[c]
    return total


def asked(x):
    total = 0.0
    for nodes in TRIANGLES:
        if nodes[0] in (1, 2) and nodes[:2] != [3, 10]:
            total += x[nodes[::-1]] @ np.array([1.0, 2.0, 3.0]) + len(nodes)
    return total


def last_three(x):
    points = [x[0], x[1], x[2]]
    for v in x[3:]:
        a, b, c = points[-3:]
        points.append(np.sin(a) * b + 0.3 * c * v)
    return sum(points)


@dataclass
class Account:
    balance: float
    history: list = field(default_factory=list)


def of_a_field(x):
    account = Account(3.0)
    for v in x:
        if account.balance + v > 3.2:
            account.balance += v - 0.5
            account.history.append(account.balance)
    return sum(account.history)


def passed_on(x):
    def recorded(values, kept):
        for v in values:
            if v > 0.5:
                kept.append(v * v)
        return kept

    return sum(recorded(x, [])) * sum(recorded(x[::-1], kept=[]))


def lots(x):
    stock, short = [], 0.0
    for arrived, asked in zip(x[:30], x[30:]):
        stock.append(arrived)
        while asked > 1e-9 and stock:
            taken = min(asked, stock[0])
            asked -= taken
            stock[0] -= taken
            if stock[0] <= 1e-9:
                stock.pop(0)
        short += asked * asked
    return short + sum(stock)


def wrapped_with_tests(x):
    corners, inside = x[:12].reshape(6, 2), 0.0
    for k in range(12, 40, 4):
        sign = 1.0
        for i in range(6):
            a, b = corners[i], corners[i - 1]
            above, below, left = x[k] >= a[1], x[k] < b[1], a[0] - b[0] > x[k + 1]
            if (above and below and left) or not (above or below or left):
                sign = -sign
        inside += sign * x[k]
    return inside


LOOPS = [after_use, by_remainder, downwards, two_delays, elements, unpacked, asked, last_three]
LOOPS += [of_a_field, passed_on, lots, wrapped_with_tests]


def check(plan: planned_ad.Plan, f: Callable, x: np.ndarray) -> None:
    value, gradient = plan.value_and_gradient(x, np.empty_like(x))
    assert value == pytest.approx(f(x), rel=1e-12)
    direction, step = np.cos(np.arange(x.size)), 1e-7
    slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
    assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("f", LOOPS)
def test_loops_stay_loops(f: Callable) -> None:
    plan = planned_ad.compile(f, (np.random.default_rng(0).random(60),), check=False)
    assert not plan._variants[0].trace.unrolled
    for seed in range(3):
        check(plan, f, np.random.default_rng(seed).random(60))
    assert len(plan._variants) == 1


def changed(x):
    rows, total = [list(nodes) for nodes in TRIANGLES], 0.0
    for nodes in rows:
        nodes.sort()
        total += x[nodes[0]] * x[nodes[2]] ** 2
    return total + x[rows[3][0]]


def changed_ahead(x):
    rows, total = [list(nodes) for nodes in TRIANGLES], 0.0
    for k, nodes in enumerate(rows):
        total += x[nodes[0]] * x[nodes[1]]
        if k + 1 < len(rows):
            rows[k + 1][0] = nodes[1]
    return total


def grown(x):
    rows, total = [list(nodes) for nodes in TRIANGLES], 0.0
    for nodes in rows:
        nodes.append(3)
        total += x[nodes[-1]] * x[nodes[0]]
    return total + len(rows[0]) * x[0]


def kept(x):
    rows, total = [], 0.0
    for nodes in TRIANGLES:
        rows.append(nodes)  # noqa: PERF402
    for nodes in rows:
        total += x[nodes[0]] * x[nodes[1]]
    return total + (x[0] if rows[3] is TRIANGLES[3] else x[1])


def written_after(x):
    rows, total = [[float(k)] for k in range(20)], 0.0
    for row in rows:
        total += row[0] * x[0]
    row[0] = 7.0
    return total + rows[19][0] * x[1]


def rows_written_after(x):
    rows, total = [[float(k)] for k in range(20)], 0.0
    for row, v in zip(rows, x):
        total += row[0] * v
    rows[-1][0] = 7.0
    return total + row[0] * x[1]


def kept_and_written(x):
    rows, found, total = [[float(k)] for k in range(20)], [], 0.0
    for row in rows:
        total += row[0] * x[0]
        found.append(row)
    found[3][0] = 7.0
    return total + rows[3][0] * x[1]


def asked_for(x):
    rows, total = [[float(k)] for k in range(20)], 0.0
    for row, v in zip(rows, x):
        total += row[0] * v + (row is rows[0]) * x[5]
    return total


def in_a_circle(x):
    rows, total = [[float(k), None] for k in range(20)], 0.0
    for k in range(20):
        rows[k][1] = rows[k - 1]
    for row in rows:
        total += row[0] * x[0] + row[1][0] * x[1]
    return total


def written_in_a_function(x):
    def doubled(row):
        row[0] *= 2
        return row[0]

    rows, total = [[float(k)] for k in range(20)], 0.0
    for row in rows:
        total += doubled(row) * x[0]
    return total + rows[19][0] * x[1]


OWN = [changed, changed_ahead, grown, kept, written_after, rows_written_after, kept_and_written, asked_for]


@pytest.mark.parametrize("f", [*OWN, in_a_circle, written_in_a_function])
def test_lists_that_are_changed_or_asked_for_are_the_programs_own(f: Callable) -> None:
    x = np.random.default_rng(0).random(60)
    check(planned_ad.compile(f, (x,), check=False), f, x)


def test_an_index_that_goes_too_far_is_pythons_error():
    def f(x):
        i, total = 0, 0.0
        weights = np.ones(7)
        for v in x:
            total += weights[i] * v
            i += 1  # noqa: SIM113
        return total

    with pytest.raises(IndexError):
        planned_ad.compile(f, (np.ones(60),))
