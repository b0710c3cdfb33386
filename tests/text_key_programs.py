"""Dicts with texts as keys that data choose, as people write them: functions of an array of 24 numbers."""

# ruff: noqa: B007, RUF015

from __future__ import annotations

import numpy as np

from .program_lists import Programs

FOUND = Programs()
LOOPS, PROGRAMS = FOUND.loops, FOUND.all
program, rolled = FOUND.program, FOUND.rolled


def mode(v):
    return "on" if v > 0.66 else "off" if v < 0.33 else "dcm"


@rolled
def counters(x):
    c = {"on": 0, "off": 0, "dcm": 0}
    s = 0.0
    for v in x:
        if v > 0.5:
            m = "on"
        elif v < 0.3:
            m = "off"
        else:
            m = "dcm"
        c[m] += 1
        s += v * c[m]
    return s + c["dcm"] * x[0] + c["on"] * x[1]


@rolled
def sums_of_squares(x):
    c = {"on": 0.0, "off": 1.0, "dcm": x[3]}
    for v in x:
        m = mode(v)
        c[m] = c[m] * 0.9 + v * v
    return c["on"] * c["off"] - c["dcm"]


@rolled
def grown(x):
    c = {}
    for v in x:
        m = mode(v)
        c[m] = c.get(m, 0) + v * v
    return c["dcm"] * 2 + c.get("on", 1.0)


@program
def run_over(x):
    c = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    for v in x:
        c[mode(v)] += v * v
    s = 0.0
    for k, v in c.items():
        s += v * len(k)
    return s + sum(c.values()) ** 2 + max(c.values())


@rolled
def fractions(x):
    c = dict(on=0, off=0, dcm=0)
    for v in x:
        c[mode(v)] += 1
    n = sum(c.values())
    p = {k: v / n for k, v in c.items()}
    return p["on"] * x[0] + p["off"] * x[1]


@rolled
def members(x):
    c = {}
    for v in x:
        m = mode(v)
        if m not in c:
            c[m] = 0.0
        c[m] += v
    return c["dcm"]


@rolled
def tuples(x):
    c = {("on", 0): 0.0, ("on", 1): 0.0, ("off", 0): 0.0, ("off", 1): 0.0, ("dcm", 0): 1.0, ("dcm", 1): 2.0}
    for i, v in enumerate(x):
        c[mode(v), i % 2] += v * v
    return c["on", 0] + 2 * c["on", 1] - c["dcm", 1] + 3 * c["off", 0]


class Machine:
    def __init__(self):
        self.state = "idle"
        self.visits = {"idle": 0, "run": 0, "stop": 0}
        self.energy = {"idle": 0.0, "run": 0.0, "stop": 0.0}

    def step(self, v):
        if self.state == "idle" and v > 0:
            self.state = "run"
        elif self.state == "run" and v < 0.2:
            self.state = "stop"
        elif self.state == "stop" and v > 0.9:
            self.state = "idle"
        self.visits[self.state] += 1
        self.energy[self.state] += v**2


@rolled
def machine(x):
    m = Machine()
    for v in x:
        m.step(v)
    return m.energy["run"] * m.visits["idle"] + m.energy["stop"] - m.energy["idle"] * m.visits["stop"]


@rolled
def caught(x):
    c = {"on": 0.0, "off": 0.0}
    k = 0
    for v in x:
        try:
            c[mode(v)] += v
        except KeyError:
            k += 1
    return c["on"] * k


@rolled
def rates(x):
    r = {"on": 0.5, "off": 2.0, "dcm": 1.0}
    s = 0.0
    for v in x:
        m = mode(v)
        s += r[m] * v
        r[m] *= 0.99
    return s


@rolled
def removed(x):
    c = {"on": 1.0, "off": 2.0, "dcm": 3.0}
    s = 0.0
    for v in x:
        m = mode(v)
        if m in c and v > 0.9:
            s += c.pop(m) * v
        elif m not in c:
            c[m] = v
    return s + len(c)


@rolled
def defaulted(x):
    c = {}
    for v in x:
        c.setdefault(mode(v), 1.0)
        c[mode(v)] *= 1 + 0.1 * v
    return c["dcm"]


@program
def in_turns(x):
    a = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    b = {"dcm": 1.0, "on": 1.0, "off": 1.0}
    for v in x:
        d = a if v > 0 else b
        d[mode(v)] += v
        a, b = b, a
    return sum(a.values()) * 2 + list(b.values())[0]


@rolled
def matrix(x):
    states = ["on", "off", "dcm"]
    T = {(a, b): 0 for a in states for b in states}
    last = "on"
    for v in x:
        m = mode(v)
        T[last, m] += 1
        last = m
    return sum(T[k] * x[i] for i, k in enumerate(T))


@program
def nested(x):
    T = {"on": {"n": 0, "s": 0.0}, "off": {"n": 0, "s": 0.0}, "dcm": {"n": 0, "s": 0.0}}
    for v in x:
        m = mode(v)
        T[m]["n"] += 1
        T[m]["s"] += v * v
    return T["on"]["s"] / (1 + T["on"]["n"]) + T["dcm"]["s"]


@rolled
def lists(x):
    T = {"on": [], "off": [], "dcm": []}
    for v in x:
        T[mode(v)].append(v * v)
    return sum(T["on"]) * len(T["off"]) + sum(T["dcm"])


@rolled
def printed(x):
    c = {"on": 0, "off": 0, "dcm": 0}
    for v in x:
        c[mode(v)] += 1
    return len(str(c)) * x[0] + c["on"] * x[1]


@rolled
def copied(x):
    c = {"on": 0, "off": 0, "dcm": 0}
    best = dict(c)
    s = 0.0
    for v in x:
        c[mode(v)] += 1
        if c["on"] > best["on"]:
            best = dict(c)
        s += v * best["on"]
    return s + best["dcm"] * x[2]


@rolled
def equal(x):
    c = {"on": 0, "off": 0}
    for v in x:
        c["on" if v > 0 else "off"] += 1
    return x[0] if c == {"on": 12, "off": 12} else x[1]


@rolled
def most(x):
    c = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    for v in x:
        c[mode(v)] += v * v
    k = max(c, key=c.get)
    return c[k] * {"on": 1.0, "off": 2.0, "dcm": 3.0}[k]


@rolled
def later(x):
    c = {"on": 0.0}
    c["off"] = 1.0
    c["dcm"] = 2.0
    for v in x:
        c[mode(v)] += v * v
    c["end"] = x[0]
    return sum(v * (i + 1) for i, v in enumerate(c.values()))


@program
def iterated_and_grown(x):
    c = {"on": 0.0}
    s = 0.0
    for v in x:
        for k in c:
            s += c[k] * 0.1
        m = mode(v)
        c[m] = c.get(m, 0.0) + v * v
    return s


@rolled
def vectors(x):
    c = {"on": np.zeros(2), "off": np.zeros(2), "dcm": np.zeros(2)}
    for i, v in enumerate(x):
        c[mode(v)] = c[mode(v)] + np.array([v, v * v])
    return c["on"] @ c["dcm"] + c["off"].sum()


@rolled
def vectors_in_place(x):
    c = {"on": np.zeros(2), "off": np.zeros(2), "dcm": np.zeros(2)}
    for i, v in enumerate(x):
        c[mode(v)] += np.array([v, v * v])
    return c["on"] @ c["dcm"] + c["off"].sum()


@rolled
def update(x):
    c = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    for v in x:
        c.update({mode(v): c[mode(v)] + v})
    return c["on"] - c["off"]


@program
def clear(x):
    c = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    s = 0.0
    for v in x:
        c[mode(v)] += v
        if c["on"] > 3:
            s += sum(c.values())
            c = {k: 0.0 for k in c}
    return s + c["dcm"]


@rolled
def letters(x):
    w = "abracadabra" * 4
    c = {}
    for ch, v in zip(w, x):
        c[ch] = c.get(ch, 0.0) + v
    return c["a"] * c["b"] + len(c)


@program
def words(x):
    c = {}
    for k, wd in enumerate(("the cat the dog a cat ran " * 4).split()[:24]):
        c[wd] = c.get(wd, 0.0) + x[k]
    return sum(v**2 for v in c.values())


@program
def looked_at_later(x):
    """A view shows what the dict holds when it is looked at."""
    c = {"on": 0.0, "off": 0.0, "dcm": 0.0}
    s, shown = 0.0, c.items()
    for v in x:
        now = c.values()
        c[mode(v)] += v * v
        s += sum(now) * v
    for k in c:
        c[k] /= 1.0 + s
    return s + sum(v * len(k) for k, v in shown)


@program
def records_looked_at_later(x):
    cells, s = [{"u": 0.0, "n": 0.0} for _ in range(3)], 0.0
    for v in x:
        c = cells[int(v * 2.99)]
        now = c.values()
        c["u"] += v
        for k, z in c.items():
            c["n"] += v * 0.5
            s += z * len(k)
        s += sum(now)
    return s


@program
def written_while_run_over(x):
    c = {"on": 0.5, "off": 0.25, "dcm": 0.125}
    for v in x:
        c[mode(v)] += v
        for k, w in c.items():
            c["dcm"] += 0.1 * w * len(k)
    return c["dcm"] - c["on"]


@program
def array_under_another_name(x):
    c = {"on": np.zeros(2), "off": np.zeros(2), "dcm": np.zeros(2)}
    for i in range(20):
        a = np.array([x[i], 1.0])
        c[mode(x[i])] = a
        a += x[i + 1]
    return c["on"].sum() * 2 + c["dcm"] @ c["off"]


@program
def one_array_for_all(x):
    z = np.zeros(2)
    c = {"on": z, "off": z, "dcm": z}
    for i in range(20):
        c[mode(x[i])] += x[i : i + 2]
    return c["on"].sum() * 3 + z[1]


@program
def views_of_an_argument(x):
    c = {"on": x[:2], "off": x[2:4] * 1, "dcm": x[4:6] * 1}
    for i in range(20):
        c[mode(x[i])][0] += x[i] * 0.1
    return x.sum() + c["off"] @ c["dcm"]


@program
def arrays_in_a_log(x):
    c = {"on": np.zeros(2), "off": np.zeros(2), "dcm": np.zeros(2)}
    log = []
    for i in range(20):
        c[mode(x[i])] = c[mode(x[i])] * 0.5 + x[i : i + 2]
        log.append(c["dcm"])
    return sum(v.sum() * k for k, v in enumerate(log))


@program
def last_array_of_a_dict(x):
    c = {"on": np.zeros(2), "off": np.zeros(2), "dcm": np.zeros(2)}
    last = c["on"]
    for i in range(20):
        d = c[mode(x[i])]
        d += x[i]
        last = d
    last *= 2
    return c["on"].sum() + 2 * c["off"].sum() + 3 * c["dcm"].sum()
