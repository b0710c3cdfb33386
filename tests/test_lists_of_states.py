"""Lists of dicts and objects that hold arrays, which loops fill: each write has to be seen wherever the array is."""

# ruff: noqa: PERF401

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan, assert_right
from .program_lists import Programs

N, SIZE = 20, 24
PROGRAMS = Programs()
program, rolled = PROGRAMS.program, PROGRAMS.rolled


@dataclass
class State:
    t: float
    m: np.ndarray


class Filter:
    def __init__(self, x):
        self.m, self.p, self.log = x[:2] * 1.0, np.eye(2), []

    def step(self, k, x):
        self.m = self.m * 0.9 + x[k]
        self.p = self.p * 0.8 + x[k] * np.eye(2)
        self.log.append({"t": k, "m": self.m, "p": self.p})


def added_up(log):
    return sum((k + 1) * s["m"][0] + s["m"][1] for k, s in enumerate(log))


@rolled
def states_of_a_filter(x):
    found = Filter(x)
    for k in range(N):
        found.step(k, x)
    total = found.log[-1]["m"].sum()
    for before, after in zip(found.log[-2::-1], found.log[:0:-1]):
        total = total * 0.9 + before["p"][0, 0] * after["m"][1]
    return total


@program
def objects(x):
    log, m = [], x[:2] * 1.0
    for k in range(N):
        m = m * 0.9 + x[k]
        log.append(State(0.1 * k, m))
    return sum(s.t * s.m[0] for s in log) + log[3].m[1] + log[-1].t


@program
def written_to_by_the_next_iteration(x):
    log = []
    best = q = {"t": 0, "m": x[:2]}
    for i in range(N):
        q["t"] += 3
        q = {"t": i, "m": x[i : i + 2] * 0.5}
        log.append(q)
    pairs = []
    best = q = {"t": 0, "v": x[0]}
    for i in range(N):
        q["t"] = 3
        q = {"t": i, "v": x[i] * 0.5}
        pairs.append((i, q))
    return added_up(log) + sum(s["t"] for s in log) * x[0] + sum(q["t"] * q["v"] for _, q in pairs) + best["v"]


@program
def last_one_written_to_behind_the_loop(x):
    log, q = [], {"t": 0, "v": x[1]}
    for i in range(N):
        q = {"t": i, "v": x[i]}
        log.append(q)
    q["t"] = 7
    q["v"] *= 2.0
    pairs, held = [], {"now": {"t": 0, "v": x[1]}}
    for i in range(N):
        held["now"] = {"t": i, "v": x[i]}
        if x[i] > 0.5:
            held["now"] = {**held["now"], "t": 1}
        pairs.append((i, held["now"]))
    held["now"]["t"] = 5
    return sum(s["t"] * s["v"] for s in log) + sum(i * s["t"] * s["v"] for i, s in pairs)


@program
def array_of_all_written_to_in_the_end(x):
    log, m = [], x[:2] * 1.0
    s = State(0, x[3:5] * 2)
    for k in range(N):
        s = State(k, m)
        log.append(s)
    for k in range(1, N):
        m[0] += x[k]
    return sum((k + 1) * s.m[0] + s.m[1] * s.t for k, s in enumerate(log))


@program
def array_written_to_after_it_is_in(x):
    log, m = [], x[:2] * 1.0
    for k in range(N):
        log.append({"t": k, "m": m})
        m[0] += x[k]
    return added_up(log)


@program
def array_written_to_in_the_end(x):
    log, m = [], x[:2] * 1.0
    for k in range(N):
        m = m * 0.9 + x[k]
        log.append({"t": k, "m": m})
    m[0] = 7.0
    return added_up(log)


@program
def one_dict_again_and_again(x):
    log, d = [], {"t": 0, "m": x[:2] * 1.0}
    for k in range(N):
        d["m"] = d["m"] * 0.9 + x[k]
        log.append(d)
    return added_up(log)


@program
def last_one_written_to(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
        log[-1]["m"][0] += x[0]
        if x[k] > 0.5:
            log[-1]["m"][1] = 3.0
    return added_up(log)


@program
def one_before_written_to(x):
    log, before = [], None
    for k in range(N):
        if before is not None:
            before["m"] += x[k]
        before = {"t": k, "m": x[k : k + 2] * 2.0}
        log.append(before)
    return added_up(log)


@program
def attribute_of_one_that_is_in(x):
    log, s = [], State(0.0, x[:2] * 1.0)
    for k in range(N):
        s = State(0.1 * k, s.m * 0.9)
        log.append(s)
        s.m += x[k]
        s.t += x[k]
    return sum(s.t * s.m[0] + s.m[1] for s in log)


@program
def attribute_set_after_it_is_in(x):
    log, m = [], x[:2] * 1.0
    for t in range(N):
        s = State(t, m)
        log.append(s)
        m = m * 0.9 + x[t]
        s.m = m
    m += 1.0
    return sum(s.m.sum() * s.t for s in log)


@program
def attribute_set_on_one_side_after_it_is_in(x):
    log, m = [], x[:2] * 1.0
    for t in range(N):
        s = State(t, m)
        log.append(s)
        m = m * 0.9 + x[t]
        if t % 2:
            s.m = m
    m[0] += 1.0
    return sum(s.m.sum() * s.t for s in log)


@program
def arrays_written_to_in_another_loop(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
    for d in log:
        d["m"] *= x[0]
    for k in range(1, N):
        log[k]["m"][0] += log[k - 1]["m"][1]
    return added_up(log)


@program
def arrays_replaced_in_another_loop(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
    for d in log:
        d["m"] = d["m"] * x[0]
    log[2]["m"] = np.ones(2)
    return added_up(log)


@program
def another_list_of_the_same(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
    others = log[::-1]
    others[0]["m"][0] = 5.0
    others[1]["m"] = np.zeros(2)
    return added_up(log) + added_up(list(log)) * added_up(others)


@program
def views_of_what_is_written_to(x):
    log, m, rows = [], x[:2] * 1.0, np.zeros((N, 2))
    for k in range(N):
        rows[k] = m
        log.append({"t": k, "m": rows[k]})
        m = m * 0.9 + x[k]
    rows[3] = 1.0
    rows *= x[1]
    return added_up(log)


@program
def one_array_in_two(x):
    log, m = [], x[:2] * 1.0
    for k in range(N):
        if k % 3 == 0:
            m = m * 0.9 + x[k]
        log.append({"t": k, "m": m})
    log[4]["m"][0] += 2.0
    return added_up(log) + (log[3]["m"] is log[4]["m"]) * x[0]


@program
def lists_in_two_lists(x):
    log, best = [], []
    for k in range(N):
        s = {"t": k, "m": x[k : k + 2] * 2.0}
        log.append(s)
        best.append(s)
        s["m"][0] += 1.0
    best[3]["m"][1] = 0.0
    return added_up(log) - 2 * added_up(best)


@program
def items_replaced_and_popped(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
    last = log.pop()
    log[0] = last
    last["m"][0] = 9.0
    log.append({"t": 0, "m": np.ones(2) * x[3]})
    return added_up(log)


@program
def chosen_by_data(x):
    log = []
    for k in range(N):
        log.append({"t": k, "m": x[k : k + 2] * 2.0})
    best = log[0]
    for d in log:
        if d["m"][0] > best["m"][0]:
            best = d
    total = best["m"].sum()
    log[int(x[0] * N)]["m"][1] += 1.0
    return total + added_up(log)


@program
def nested(x):
    @dataclass
    class Run:
        name: str
        states: list = field(default_factory=list)

    runs = []
    for i in range(3):
        run, m = Run("a"), x[i : i + 2] * 1.0
        for k in range(N):
            m = m * 0.9 + x[k]
            run.states.append({"t": k, "m": m, "pair": (m, m * 2.0)})
        runs.append(run)
    runs[1].states[2]["m"][0] += x[5]
    return sum(s["m"][0] + s["pair"][0][0] + s["pair"][1][1] for run in runs for s in run.states)


@program
def put_back_into_a_variable(x):
    log, m = [], x[:2] * 1.0
    for k in range(N):
        log.append({"t": k, "m": m * (1.0 + x[k])})
        m = log[-1]["m"]
        if x[k] > 0.7:
            m = m * 0.5
    m[0] += 1.0
    return added_up(log) + m.sum()


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f, unroll):
    assert_right(f, SIZE, 0, unroll)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    plan = InterpretedPlan(f, np.random.default_rng(0).random(SIZE))
    assert not [found.reason for found in plan.traces[0].unrolled]
