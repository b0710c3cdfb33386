"""Lists of records that loops fill: with texts that data choose, None beside numbers, dicts; of any length."""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import planned_ad
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of

Event = namedtuple("Event", "time label value")
FORCE = np.sin(1.3 * np.arange(60))


def steps(x, count=40):
    t = 0.0
    for k in range(count):
        t = 0.9 * t + x[k % 3] * FORCE[k]
        yield k, t


# Recorded as loops.


def labels(x):
    found = []
    for _, t in steps(x):
        found.append("up" if t > 0.1 else "down")
    return x[0] * found.count("up") + x[1] ** 2 * found.count("down")


def labelled(x):
    found = []
    for k, t in steps(x):
        found.append((k, t, "up" if t > 0.1 else "down"))
    return sum(t for _, t, label in found if label == "up") + found[-1][1]


def at_times(x):
    found = [("start", 0.0)]
    for _, t in steps(x):
        label = "up" if t > 0.2 else "flat" if t > -0.2 else "down"
        if found[-1][0] != label:
            found.append((label, t))
    return sum(t for _, t in found) + 3 * found[-1][1] + 0.1 * len(found)


def perhaps_none(x):
    found = []
    for _, t in steps(x):
        found.append(t if t > 0.1 else None)
    return sum(t for t in found if t is not None)


def arrays_or_none(x):
    found = []
    for _, t in steps(x):
        found.append(("large", t * x) if t > 0.2 else ("small", None))
    return sum(np.sum(v * v) for _, v in found if v is not None)


def events(x):
    found = []
    for k, t in steps(x):
        found.append(Event(k, "high", t) if t > 0.1 else Event(k, "low", None))
    return sum(e.value * e.time for e in found if e.label == "high")


def dicts(x):
    found = []
    for k, t in steps(x):
        found.append({"time": k, "value": t, "label": "up" if t > 0.1 else "down"})
    values = np.array([row["value"] for row in found])
    return sum(row["value"] * row["time"] for row in found if row["label"] == "up") + values @ values


def dicts_at_times(x):
    found = []
    for k, t in steps(x):
        if t > 0.1:
            found.append({"time": k, "value": t})
    return sum(row["value"] * row["time"] for row in found) + found[-1]["value"]


def popped(x):
    stack, total = [("a", x[0])], 0.0
    for k, t in steps(x):
        if t > 0.1:
            stack.append(("b" if FORCE[k] > 0.5 else "c", t))
        elif len(stack) > 1:
            label, value = stack.pop()
            total = 0.9 * total + (value if label == "b" else -value)
    return total + len(stack)


def the_last_one(x):
    found = []
    for _, t in steps(x):
        found.append([t, 2 * t, 0.0])
    for record in found:  # noqa: B007 (what it leaves)
        pass
    return record[0] * record[1]


def the_last_of_pairs(x):
    found = []
    for k, t in steps(x):
        found.append((k, [t, 1.0]))
    for k, pair in found:  # noqa: B007
        pass
    return k * pair[0] + sum(pair)


class Cell:
    def __init__(self, value, parts):
        self.value, self.parts, self.rest = value, parts, None


def the_last_of_objects(x):
    found = []
    for _, t in steps(x):
        found.append(Cell(t, [t, 0.5]))
    for cell in found:  # noqa: B007
        pass
    return cell.value * cell.parts[0] + sum(cell.parts)


def the_last_row(x):
    rows = []
    for _, t in steps(x):
        rows.append([t * FORCE[j] for j in range(18)])
    for k, row in enumerate(rows):  # noqa: B007
        last = row
    return sum(last) * k + last[2]


FOLLOWED = [
    labels, labelled, at_times, perhaps_none, arrays_or_none, events, dicts, dicts_at_times, popped, the_last_one,
    the_last_of_pairs, the_last_of_objects, the_last_row,
]  # fmt: skip

# As Python does it.


def written_to(x):
    found = []
    for k, t in steps(x):
        found.append({"time": k, "value": t})
    found[3]["value"] = 5.0 * x[0]
    first = found[0]
    first["value"] = x[1]
    return sum(row["value"] for row in found) + found[0]["value"]


def written_to_in_a_loop(x):
    found = []
    for k, t in steps(x):
        if t > 0.1:
            found.append({"time": k, "value": t})
    for row in found:
        row["value"] *= 3
    return sum(row["value"] * row["time"] for row in found)


def written_to_after_it_is_put_there(x):
    found = []
    for k, t in steps(x):
        row = {"time": k, "value": t}
        found.append(row)
        row["value"] += 1.0
    return sum(row["value"] * row["time"] for row in found)


def one_dict(x):
    found, row = [], {"time": 0, "value": 0.0}
    for k, t in steps(x):
        row["time"], row["value"] = k, t
        found.append(row)
    return sum(row["value"] * row["time"] for row in found)


def other_keys(x):
    found = []
    for k, t in steps(x):
        row = {"time": k}
        if t > 0.1:
            row["value"] = t
        found.append(row)
    return sum(row.get("value", 0.0) for row in found)


def in_order(x):
    found = []
    for k, t in steps(x):
        if t > 0.1:
            found.append(("z" if FORCE[k] > 0 else "a", t))
    return sum(i * t for i, (_, t) in enumerate(sorted(found)))


def joined(x):
    found = []
    for _, t in steps(x):
        found.append("u" if t > 0 else "d")
    return x[0] ** 2 if "".join(found).startswith("ud") else x[0] ** 3


def written_while_the_list_is_run_over(x):
    found = [[x[k % 3], 0] for k in range(20)]
    for record in found:
        if record[0] > 0.8:
            record[1] = 1
    return sum(x[record[1]] * (k + 1) for k, record in enumerate(found))


def written_in_loops(x):
    found = [[x[k % 3] * FORCE[k], 0] for k in range(20)]
    for t in range(3):
        for record in found:
            if record[0] > 0.3 * t:
                record[1] += 1
    return sum(a * b for a, b in found) + x[0]


def exchanged_with_the_next(x):
    found = [[x[k % 3] * FORCE[k], 0] for k in range(20)]
    for a, b in itertools.pairwise(found):
        if a[0] > b[0]:
            a[1], b[1] = b[1] + 1, a[1]
    return sum(a * b for a, b in found) + x[0]


def lists_in_tuples(x):
    found = [(x[k % 3] * FORCE[k], [0, 1]) for k in range(20)]
    for value, counts in found:
        if value > 0:
            counts[1] += 2
    return sum(value * counts[1] for value, counts in found) + x[0]


def chosen_by_data(x):
    found, k = [[0.0, 1], [0.0, 2]], 0
    for j in range(20):
        record = found[k]
        if x[j % 3] * FORCE[j] > 0.2:
            record[0] += 1.0
        if x[j % 3] * FORCE[j] < 0.1:
            k = 1 - k
    return found[0][0] * x[1] + found[1][0] * x[2]


OTHERS = [
    chosen_by_data,
    written_while_the_list_is_run_over, written_in_loops, exchanged_with_the_next, lists_in_tuples, written_to,
    written_to_in_a_loop, written_to_after_it_is_put_there, one_dict, other_keys, in_order, joined,
]  # fmt: skip


@pytest.mark.parametrize("f", [*FOLLOWED, *OTHERS], ids=name_of)
def test_value_and_slope(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan, direction = InterpretedPlan(f, rng.uniform(0.3, 1.5, 3), unroll=0), rng.normal(size=3)
    for _ in range(4):
        x, step = rng.uniform(0.3, 1.5, 3), 1e-7
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        slope = (f(x + step * direction) - f(x - step * direction)) / (2 * step)
        assert plan.gradient(x) @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("f", OTHERS[:4], ids=name_of)
def test_all_ways_in_one_trace(f: Callable) -> None:
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.normal(size=3),), on_branch="record", check=False)
    for x in rng.normal(size=(4, 3)):
        assert plan(x) == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("f", FOLLOWED, ids=name_of)
def test_loops_stay_loops(f: Callable) -> None:
    found = trace(f, (np.array([0.5, 1.1, 0.8]),), unroll=0)
    assert found.rolled and not found.unrolled
