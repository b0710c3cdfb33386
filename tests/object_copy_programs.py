"""Objects that are replaced in loops, and lists of them, as people write them: each of an array of 24 numbers."""

# ruff: noqa: PERF401 (loops that append are what is tested)

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from .program_lists import Programs

FOUND = Programs()
LOOPS, PROGRAMS = FOUND.loops, FOUND.all
program, rolled = FOUND.program, FOUND.rolled


@dataclass
class State:
    a: float = 0.5
    b: float = 0.2

    def step(self, u):
        return State(self.a + 0.01 * self.b, self.b + math.sin(self.a) * u)


@dataclass(frozen=True)
class Fixed:
    a: float
    b: float


Pair = namedtuple("Pair", ["first", "second"])


class Plain:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def step(self, u):
        return Plain(self.b * u, math.cos(self.a))


@rolled
def replaced(x):
    state, total = State(), 0.0
    for u in x:
        state = state.step(u)
        total += state.a
    return total * state.b


@rolled
def of_a_plain_class(x):
    state = Plain(x[0], 0.5)
    for u in x:
        state = state.step(u)
    return state.a * state.b


@rolled
def replaced_and_kept(x):
    state = State(x[0], x[1])
    states = [state]
    for u in x:
        state = state.step(u)
        states.append(state)
    return sum(s.a**2 + s.b for s in states) + states[3].b


@rolled
def fixed_ones(x):
    state, seen = Fixed(x[0], 1.0), []
    for u in x:
        state = replace(state, a=state.a * u + 0.5)
        seen.append(state)
    return sum(s.a * s.b for s in seen)


@rolled
def made_of_numbers(x):
    states = [State(u, u * u) for u in x]
    total = 0.0
    for i in range(len(states) - 1):
        total += states[i].a * states[i + 1].b
    return total


@rolled
def seen_as_pairs(x):
    state, seen = State(x[0]), []
    for u in x:
        state = state.step(u)
        seen.append((state.a, state.b))
    return sum(a * b for a, b in seen)


@rolled
def list_as_a_state(x):
    state, path = list(x[:3]), []
    for u in x:
        state = [p + 0.1 * q * u for p, q in zip(state, [state[1], state[2], state[0]])]
        path.append(state)
    return np.sum(np.array(path) ** 2)


@rolled
def last_ones(x):
    past, total = [0.0, 0.0], 0.0
    for u in x:
        e = u - 0.3 * past[0] - 0.1 * past[1]
        past = [e] + past[:-1]
        total += e * e
    return total


@rolled
def last_ones_in_a_tuple(x):
    past, total = (0.0,) * 3, 0.0
    for u in x:
        e = u - 0.3 * past[0] - 0.1 * past[2]
        past = (*past[1:], e)
        total += e * e
    return total


@rolled
def named_tuples(x):
    state, total = Pair(x[0], 1.0), 0.0
    for u in x:
        state = Pair(state.first * 0.9 + 0.1 * state.second, state.second + 0.2 * u)
        total += state.first
    return total


@dataclass(eq=True)
class Link:
    v: float
    other: object = None

    def __eq__(self, other):
        return self.v == other.v


@program
def that_lead_to_one_another(x):
    a, b, seen = Link(x[0]), Link(x[1]), []
    a.other, b.other = b, a
    for u in x:
        c, d, e = Link(u * a.v), Link(u + b.v), Link(u)
        c.other, d.other, e.other = d, c, e
        seen.append(c)
        seen.append(e)
        a, b = c, d
    return sum(s.v * s.other.v for s in seen)


@program
def changed_in_the_list(x):
    states = [State(u, u * u) for u in x]
    for _ in range(5):
        for s in states:
            s.a += 0.1 * s.b
    return sum(s.a for s in states)


@program
def changed_after_it_was_put_there(x):
    state, states = State(x[0]), []
    for u in x:
        state = state.step(u)
        states.append(state)
        state.a *= 0.9
    state.b = 2.0
    return sum(s.a * s.b for s in states)


@program
def changed_by_another_name(x):
    path, state = [], [x[0], 0.5]
    for u in x:
        state = [state[0] * u, state[1] + u]
        same = state
        path.append(state)
        if u > 0.5:
            same[0] += 0.25
    path[-1][1] = 3.0
    return sum(p[0] * p[1] for p in path) + state[1]


@program
def asked_which_one(x):
    state, states, total = State(x[0]), [], 0.0
    for u in x:
        state = state.step(u)
        states.append(state)
        total += sum(1.0 for s in states if s is state) * u
    return total + (states[-1] is state)


@program
def in_a_set(x):
    first, seen, total = Plain(x[0], 0.5), [], 0.0
    for u in x:
        seen.append(Plain(u, u))
    known = {seen[0], first}
    for s in seen:
        total += s.a * (2.0 if s in known else 1.0)
    return total


@dataclass
class Camera:
    turn: np.ndarray
    focus: float

    def seen(self, point):
        return self.focus * np.sin(self.turn + point)


@rolled
def chosen_objects(x):
    cameras = [Camera(x[3 * k : 3 * k + 3], x[k]) for k in range(5)]
    e = 0.0
    for i, u in zip(np.arange(40) * 7 % 5, np.linspace(0.0, 1.0, 40)):
        d = cameras[i].seen(x[:3]) - u
        e += d @ d
    return e


@rolled
def chosen_arrays(x):
    rows = [np.outer(x[:3], x[k : k + 2]) for k in range(4)]
    e = 0.0
    for u in x:
        e += np.sum(rows[int(u * 3.99)] * u)
    return e


@rolled
def chosen_pairs(x):
    pairs = [(x[k : k + 3] * 0.5, x[k]) for k in range(4)]
    e = 0.0
    for u in x:
        w, v = pairs[int(u * 3.99)]
        e += w @ x[:3] * v
    return e


@program
def chosen_and_written(x):
    rows = [x[:3] * u for u in x[:4]]
    first, e = rows[1], 0.0
    for u in x:
        k = int(u * 3.99)
        e += np.sum(rows[k]) * u
        first[0] = 0.9 * first[0] + 0.1
    rows[2][1] = 7.0
    for u in x:
        e += rows[int(u * 3.99)][1] * u
    return e


@program
def chosen_and_replaced(x):
    rows, e = [(x[:3] * u, u) for u in x[:4]], 0.0
    for u in x:
        k = int(u * 3.99)
        e += np.sum(rows[k][0]) * rows[k][1]
        rows[k] = x[1:4] * e * 0.01, u
    return e


def found(items, level):
    for item in items:
        if item.a > level:
            return item
    return items[0]


@program
def found_and_changed(x):
    states = [State(u, u * u) for u in x]
    first = found(states, 0.5)
    first.a += 10.0
    return sum(s.a * s.a for s in states)


@program
def largest_and_changed(x):
    states = [State(u, u * u) for u in x]
    best = max(states, key=lambda s: s.a)
    best.b += 1.0
    least = sorted(states, key=lambda s: s.a)[0]
    least.a -= 1.0
    return best.a * x[0] + sum(s.a**2 + s.b for s in states)


# In lists whose length is data.


@dataclass(slots=True)
class Slotted:
    at: float
    amount: float

    def worth(self, rate):
        return self.amount * math.exp(-rate * self.at)


def kept_at_times(made):
    def f(x):
        found = []
        for k, u in enumerate(x):
            if u > 0.3:
                found.append(made(0.1 * k, u * u))
        return sum(each.b * math.cos(each.a * x[0]) for each in found) + len(found)

    f.__name__ = f"kept_at_times_{made.__name__.lower()}"
    return f


Fields = namedtuple("Fields", ["a", "b"])
for made in (State, Fixed, Plain, Fields):
    rolled(kept_at_times(made))


class Weighed(NamedTuple):
    a: float
    b: float

    def worth(self, rate):
        return self.b * np.exp(-rate * self.a) * WEIGHTS.sum()


WEIGHTS = np.array([1.0, 2.0, 0.5])


@rolled
def of_named_tuples_with_methods(x):
    found = []
    for k, u in enumerate(x):
        if u > 0.3:
            found.append((Weighed(0.1 * k, u * u), SimpleNamespace(k=k, u=u)))
    return sum(each.worth(x[0]) * names.u + names.k for each, names in found)


@rolled
def until_a_time(x):
    found, t, k = [], 0.0, 0
    while t < 2.0:
        t += 0.05 + x[k % 24]
        k += 1
        found.append(Slotted(t, x[k % 24]))
    return sum(each.worth(x[1]) for each in found)


@rolled
def on_a_stack(x):
    stack, total = [Plain(x[0], 1.0)], 0.0
    for k, u in enumerate(x):
        if u > 0.5:
            stack.append(Plain(u, k * x[1]))
        elif len(stack) > 1:
            last = stack.pop()
            total += last.step(u).a
    return total + stack[-1].b + stack[0].a


@rolled
def of_the_loop_before(x):
    found = []
    for u in x:
        if u > 0.4:
            found.append(State(u, x[2]))
    last, total = State(0.0, 0.0), 0.0
    for each in found:
        last = State(0.5 * last.a + each.a, each.b)
        total += last.a * each.step(x[3]).b
    return total + last.b


@program
def looked_for_by_identity(x):
    found, last = [], Plain(x[0], x[1])
    for u in x:
        if u > 0.4:
            found.append(last)
        if u > 0.6:
            last = Plain(u, 2.0)
        if last in found:
            x = x * 1.1
    return np.sum(x) + len({each for each in found}) + (found[0] == last) + found.count(found[-1])


@program
def keys_of_a_dict(x):
    found, names = [], {}
    for u in x:
        if u > 0.4:
            found.append(Plain(u, 0.5))
            if u > 0.7:
                found.append(found[-1])
    for k, each in enumerate(found):
        names[each] = names.get(each, 0.0) + each.a * (k + 1)
    return sum(v * v for v in names.values())


@program
def changed_after_a_loop(x):
    found = []
    for u in x:
        if u > 0.4:
            found.append(Slotted(u, 2.0 * u))
    for each in found:
        each.amount *= x[0]
    return sum(each.worth(x[1]) for each in found)


class Empty:
    pass


@program
def assigned_to_in_a_loop_that_may_not_run(x):
    holder, found = Empty(), []
    for u in x:
        if u > 0.97:
            found.append(u)
    for u in found:
        holder.last = u * x[1]
    return getattr(holder, "last", 0.5) * x[0] + len(found)
