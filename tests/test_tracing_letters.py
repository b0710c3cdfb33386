"""Texts at the index of a loop, and texts that a loop runs over: which one it is, data say; the loop stays a loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planned_ad.tape.guards import Guard
from planned_ad.trace import trace

from .interpreted_plans import InterpretedPlan
from .recorded_loops import loops_of, recorded
from .sweeps import name_of, rotated

DNA, OTHER = "GATTACAGATTCCAGATACCAGGT", "CATXACGAATTXAGGATCCAAGTX"
WEIGHT, PLACE = {"A": 0.1, "C": 0.2, "G": 0.3, "T": 0.4}, {"A": 0, "C": 2, "G": 1, "T": 3}
SCORE = {a: {b: 0.1 * i + j for j, b in enumerate("ACGTX")} for i, a in enumerate("ACGT")}
OF_PAIRS = {(a, b): score for a, row in SCORE.items() for b, score in row.items()}
ROWS = [[0.1 * i + j for j in range(4)] for i in range(4)]
NAMES, NUMBERS = ["alpha", "beta", "alpha", "gamma"] * 6, {"alpha": 2, "beta": 1, "gamma": 0, "delta": 3}


def vector() -> np.ndarray:
    return np.linspace(0.3, 1.7, 24) * np.where(np.arange(24) % 3 == 1, -1, 1)


def by_a_dict(x):
    t = 0.0
    for i in range(24):
        t += x[i] * WEIGHT[DNA[i]]
    return t + WEIGHT[DNA[i]]


def equal_or_not(x):
    t = 0.0
    for i in range(24):
        if DNA[i] == OTHER[i]:
            t += x[i]
        elif OTHER[i] != DNA[i - 1] and DNA[i] not in ("A", "C"):
            t -= 2 * x[i]
    return t


def the_one_before(x):
    t, before = x[0], DNA[0]
    for i in range(1, 24):
        t = 0.9 * t + x[i] * (2 if DNA[i] == before else 1)
        before = DNA[i]
    return t * (2 if before == "T" else 3)


def nested_dicts(x):
    t = 0.0
    for i in range(24):
        t += x[i] * SCORE[DNA[i]][OTHER[i]] + SCORE["A"][OTHER[i]] + SCORE[DNA[i]]["X"]
    return t


def of_pairs(x):
    t = 0.0
    for v, a, b in zip(x, DNA, OTHER):
        t = 0.9 * t + v * OF_PAIRS[a, b] + OF_PAIRS[(a, "X")]
    return t


def by_places(x):
    t = 0.0
    for i in range(24):
        t += x[PLACE[DNA[i]]] * x[i] * ROWS[PLACE[DNA[i]]][PLACE[DNA[i - 1]]] * ROWS[0][PLACE[DNA[i]]]
    return t


def of_names(x):
    t = 0.0
    for v, name in zip(x, NAMES):
        t += v * x[NUMBERS[name]] * (2 if name == "beta" else 1)
    return t


def matched(x):
    t = 0.0
    for i in range(24):
        match DNA[i]:
            case "A":
                t += x[i]
            case "C" | "G":
                t -= x[i]
            case _:
                t *= 0.9
    return t


def from_the_end_at_first(x):
    weights, t = list(WEIGHT.values()) * 6, 0.0
    for i in range(24):
        t += x[i] * weights[i - 1] + weights[i - 12]
    for i in range(4):
        for j in range(4):
            t += ROWS[i - 1][j - 2] * x[j] * x[i]
    return t


ROLLED = [
    by_a_dict, equal_or_not, the_one_before, nested_dicts, of_pairs, by_places, of_names, matched,
    from_the_end_at_first,
]  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_the_loop_stays_a_loop(f: Callable) -> None:
    found = recorded(f, vector(), unroll=1)
    assert loops_of(found) and not found.unrolled


def distance(x):
    before = [j * x[1] for j in range(len(OTHER) + 1)]
    for i, a in enumerate(DNA):
        now = [(i + 1) * x[0]]
        for j, b in enumerate(OTHER):
            now.append(min(before[j + 1] + x[0], now[j] + x[1], before[j] + (0.0 if a == b else x[2])))
        before = now
    return before[-1]


def distance_in_an_array(x):
    d = np.zeros((len(DNA) + 1, len(OTHER) + 1))
    for i in range(1, len(DNA) + 1):
        d[i, 0] = i * x[0]
    for j in range(1, len(OTHER) + 1):
        d[0, j] = j * x[1]
    for i in range(1, len(DNA) + 1):
        for j in range(1, len(OTHER) + 1):
            changed = 0.0 if DNA[i - 1] == OTHER[j - 1] else x[2]
            d[i, j] = min(d[i - 1, j] + x[0], d[i, j - 1] + x[1], d[i - 1, j - 1] + changed)
    return d[-1, -1]


@pytest.mark.parametrize("f", [distance, distance_in_an_array], ids=lambda f: f.__name__)
def test_the_distance_of_two_texts(f: Callable) -> None:
    example, rng = np.array([1.0, 0.7, 0.4]), np.random.default_rng(0)
    plan = InterpretedPlan(f, example)
    assert loops_of(plan.traces[0]) and not plan.traces[0].unrolled
    assert len(plan.traces[0].tape.operations) < 60
    for x in (example, rng.random(3), rng.random(3) + 0.5):
        step = 1e-7 * rng.normal(size=3)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        assert plan.gradient(x) @ step == pytest.approx((f(x + step) - f(x - step)) / 2, rel=1e-5)


# What needs the text itself is unrolled.


def asked_for_more(x):
    t = 0.0
    for i in range(24):
        c = DNA[i]
        t += x[i] * ord(c) * len(f"{c}b") * (2 if c.upper() == "A" else 1) * (3 if c < "C" else 1)
    return t


def in_a_text(x):
    t = 0.0
    for i in range(24):
        t += x[i] * (2 if DNA[i] in "AC" else 1) * x["ACGT".index(DNA[i])]
    return t


def asked_for_its_identity(x):
    t = 0.0
    for i in range(24):
        t += x[i] * (2 if DNA[i] is DNA[i - 1] else 1)
    return t


def asked_for_its_class(x):
    t = 0.0
    for i in range(24):
        t += x[i] * (2 if isinstance(DNA[i], str) else 1) * (3 if type(DNA[i]) is str else 1)
    return t


def asked_after_the_loop(x):
    t = 0.0
    for i in range(24):
        c = DNA[i]
        t += x[i] * WEIGHT[c]
    return t * len("".join([c, "d"])) * (2 if c.lower() == "t" else 3)


def handled_where_it_is_no_text(x):
    def place(c):
        try:
            return "ACGT".index(c)
        except Exception:
            return 7

    t = 0.0
    for i in range(24):
        t += x[i] * place(DNA[i])
    return t


def suppressed(x):
    t = 0.0
    for i in range(24):
        k = 1.0
        with contextlib.suppress(TypeError):
            k = float(len("a" + DNA[i]))
        t += x[i] * k
    return t


def missing(x):
    t = 0.0
    for i in range(24):
        try:
            t += x[i] * WEIGHT[OTHER[i]]
        except KeyError:
            t += 0.5 * WEIGHT.get(OTHER[i], 2.0)
    return t


def kept_by_data(x):
    t, best, most = 0.0, "A", 0.0
    for v, c in zip(x, DNA):
        if v > most:
            most, best = v, c
        t += v * WEIGHT[best]
    return t


def collected(x):
    t, seen = 0.0, []
    for i in range(24):
        seen.append(DNA[i])
        t += x[i] * (2 if seen[-1] == "A" else 1)
    return t * seen.count("A") * len("".join(seen))


def changed(x):
    t, weight, (a, b) = 0.0, dict(WEIGHT), (DNA, DNA[::-1])
    for i in range(24):
        t += x[i] * weight[a[i]]
        weight["A"] = 9.0 if i == 12 else weight["A"]
        a, b = b, a
    return t


UNROLLED = [
    asked_for_more, in_a_text, asked_for_its_identity, asked_for_its_class, asked_after_the_loop,
    handled_where_it_is_no_text, suppressed, missing, kept_by_data, collected, changed,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated([*ROLLED, *UNROLLED], [0, 1, 16, 300]), ids=name_of)
def test_it_is_what_python_computes(f: Callable, unroll: int) -> None:
    recorded(f, vector(), unroll=unroll)


def counted(x):
    places, n = [], 0
    for i, c in enumerate(DNA):
        if c == "A":
            n += 1
            places.append(i)
    return np.sum(x[:n] * x[places])


def test_what_only_prepares_is_python() -> None:
    """Loops over texts in which little is recorded: the numbers that they find are known."""
    found = trace(counted, (vector(),))
    assert not loops_of(found) and not found.unrolled


def ended(x):
    status, total = "all", 0.0
    for v in x:
        total += v
        if total > 3.0:
            status = "too much"
            break
        if v < -2.0:
            status = "too little"
            break
    return total, status


def asserted(x):
    total, status = ended(x)
    assert status in ("all", "too much", "too little")
    return total * 2.0


def told(x):
    total, status = ended(x)
    message = "ended by " + status if status != "all" else "all of them"
    return total * len(message)


@pytest.mark.parametrize("f", [asserted, told], ids=name_of)
def test_what_earlier_tests_of_a_text_say(f: Callable) -> None:
    """Of three texts two are asked for; where a kernel has gone another way than NumPy, for a trace that it tells."""
    few, more, least = 0.01 * vector(), vector() ** 2, -3.0 * np.abs(vector())
    plan = InterpretedPlan(f, few)
    for x in (few, more, least):
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
    for x in (few, more, least):
        guards = [op for op in trace(f, (x,)).tape.operations if isinstance(op, Guard) and op.what == "branch"]
        assert 1 <= len(guards) <= 2
        other = [*guards[:-1], replace(guards[-1], outcome=not guards[-1].outcome)]
        found = [op.outcome for op in trace(f, (x,), known=other).tape.operations if isinstance(op, Guard)]
        assert found[: len(other)] == [op.outcome for op in other]
