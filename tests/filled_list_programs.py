"""Lists made with their length whose items loops assign one after the other; each is a function of 24 numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

LOOPS: list[Callable] = []  # whose loops stay loops
LISTS: list[Callable] = []  # in which a list has to be what Python makes it


def loop(f: Callable) -> Callable:
    LOOPS.append(f)
    return f


def plain_list(f: Callable) -> Callable:
    LISTS.append(f)
    return f


@loop
def forwards(x):
    n = len(x)
    c = [None] * n
    v = 0.3
    for i in range(n):
        v = np.sin(v) + x[i]
        c[i] = v
    s = 0.0
    for i in range(n):
        s = s * 0.5 + c[i] * x[i]
    return s


@loop
def backwards(x):
    n = len(x)
    gains, offsets = [None] * n, [None] * n
    v = x[:2] * 2.0
    for t in reversed(range(n)):
        gains[t] = np.outer(v, v) / (1.0 + v @ v)
        offsets[t] = np.tanh(v) * x[t]
        v = gains[t] @ v + offsets[t]
    u = x[2:4]
    s = 0.0
    for t in range(n):
        u = gains[t] @ u * 0.5 + offsets[t]
        s = s + u @ u
    return s


@loop
def from_the_last_one(x):
    n = len(x)
    v = [None] * (n + 1)
    v[n] = x[0] ** 2
    for t in range(n - 1, -1, -1):
        v[t] = 0.9 * v[t + 1] + np.cos(x[t])
    return v[0] + sum(a * b for a, b in zip(v, x))


@loop
def from_the_first_one(x):
    n = len(x)
    states = [x[:3]] + [None] * (n - 1)
    for t in range(n - 1):
        states[t + 1] = states[t] * 0.5 + np.array([x[t], x[t + 1], x[t] * x[t + 1]])
    return np.sum(np.array(states) ** 2)


@loop
def the_same_array_in_all_places(x):
    n = len(x)
    start = np.zeros(2)
    states = [start] * n
    for t in range(1, n):
        states[t] = np.sin(states[t - 1]) + x[t]
    return np.sum(np.stack(states) ** 3)


@loop
def numbers_in_place_of_arrays(x):
    n = len(x)
    p = [0] * n
    p[0] = np.diag(x[:2] + 1.0)
    for k in range(1, n):
        p[k] = p[k - 1] - np.outer(p[k - 1][0], p[k - 1][0]) / (1.0 + p[k - 1][0, 0]) + x[k] * np.eye(2)
    return sum(np.trace(a) for a in p)


@loop
def on_both_sides(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        if x[i] > 0.5:
            c[i] = x[i] ** 2
        else:
            c[i] = x[i] * 0.1
    return sum(c) + c[3] * c[-1]


@loop
def in_a_loop(x):
    n = len(x)
    s = 0.0
    for _ in range(3 * n):
        row = [None] * n
        v = s * 0.01
        for i in range(n):
            row[i] = x[i] * np.exp(-v)
            v = v * 0.5 + row[i] * 0.1
        s = s + sum(row) / n
    return s


@loop
def pairs(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        c[i] = (x[i] * 2.0, np.sin(x[i]))
    s = 0.0
    for a, b in c:
        s = s * 0.5 + a * b
    return s


class Plant:
    def __init__(self, n):
        self.states = [None] * n
        self.costs = [None for _ in range(n)]

    def run(self, x):
        state = x[:2] * 1.0
        for t in range(len(self.states)):
            state = self.step(state, x[t])
            self.states[t] = state
            self.costs[t] = state @ state
        return self

    def step(self, state, u):
        return np.array([state[0] + 0.1 * state[1], state[1] - 0.1 * np.sin(state[0]) + 0.1 * u])


@loop
def attributes_of_an_object(x):
    plant = Plant(len(x)).run(x)
    return np.sum(np.array(plant.costs) * x) + np.sum(plant.states[-1]) + plant.states[5][1]


@loop
def a_part_of_the_list(x):
    n = len(x)
    c = [None] * n
    c[0] = x[0]
    c[1] = x[1]
    for i in range(2, n):
        c[i] = c[i - 1] * 0.5 + c[i - 2] * x[i]
    return sum(c[2:]) + len(c)


@loop
def read_as_a_list(x):
    n = len(x)
    c = [None] * n
    for i in range(n - 1, -1, -1):
        c[i] = x[i] ** 2
    return np.sum(np.array(c[::-1]) * x) + sum(v * w for v, w in zip(reversed(c), c)) + max(c)


@loop
def filled_in_an_inner_loop(x):
    m = 17
    c = [None] * (m * 24)
    for k in range(m):
        for i in range(24):
            c[k * 24 + i] = x[i] * (k + 1.0)
    return np.sum(np.sin(np.array(c)))


@loop
def sums_of_what_is_there(x):
    n = len(x)
    c = [None] * n
    for t in range(n):
        s = x[t]
        for j in range(t):
            s = s + c[j] * x[t - j] * 0.1
        c[t] = s
    return c[-1] + sum(c)


@loop
def of_two_others(x):
    n = len(x)
    up, down = [None] * n, [None] * n
    up[0], down[-1] = x[0], x[-1] * np.ones(2)
    for t in range(1, n):
        up[t] = up[t - 1] * x[t] + 1.0
    for t in range(n - 2, -1, -1):
        down[t] = down[t + 1] * 0.5 + up[t]
    return sum(np.sum(down[t] * up[t + 1]) for t in range(n - 1))


@loop
def in_a_function(x):
    def table(y):
        out = [None] * len(y)
        for k in range(len(y)):
            out[k] = np.exp(-y[k])
        return out

    first = table(x)
    second = table(np.array(first))
    return sum(a * b for a, b in zip(first, second))


@loop
def gains_of_each_sweep(x):
    n, u = len(x), x * 0.1
    for _ in range(20):
        gains = [None] * n
        p = 1.0
        for t in reversed(range(n)):
            gains[t] = p / (1.0 + p)
            p = 0.5 + p / (1.0 + p) + x[t] ** 2
        z, new = 1.0, np.zeros(n)
        for t in range(n):
            new[t] = u[t] - gains[t] * z
            z = z * 0.9 + new[t]
        if new @ new < 4.0 * (u @ u):
            u = new
        else:
            u = u * 0.5
    return u @ u


@plain_list
def a_table_of_what_was_computed(x):
    known = [None] * 30

    def number(k):
        if known[k] is None:
            known[k] = x[k % 24] if k < 2 else number(k - 1) * 0.5 + number(k - 2) * x[k % 24]
        return known[k]

    return sum(number(k) for k in range(30))


@plain_list
def every_other_item(x):
    n = len(x)
    c = [None] * n
    for i in range(0, n, 2):
        c[i] = x[i] ** 2
    s = 0.0
    for i in range(n):
        s = s + (x[i] if c[i] is None else c[i])
    return s


@plain_list
def some_items(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        if x[i] > 0.5:
            c[i] = x[i] ** 2
    return sum(x[i] if c[i] is None else c[i] for i in range(n))


@plain_list
def from_either_end(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        if x[0] > 0.4:
            c[i] = x[i] ** 2
        else:
            c[n - 1 - i] = x[i] * 0.1
    return sum(v * w for v, w in zip(c, x))


@plain_list
def in_another_order(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        c[(7 * i) % n] = x[i] ** 2
    return sum(v * w for v, w in zip(c, x))


@plain_list
def twice(x):
    n = len(x)
    c = [None] * n
    for k in range(20):
        for i in range(n):
            c[i] = x[i] * k if c[i] is None else c[i] * 0.9 + x[i]
    return sum(v * w for v, w in zip(c, x))


@plain_list
def changed_behind_its_back(x):
    n = len(x)
    c = [None] * n
    v = np.zeros(2)
    for i in range(n):
        c[i] = v
        v += x[i]
    return np.sum(c[0] * c[3]) + np.sum(np.array(c))


@plain_list
def rows_written_to(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        c[i] = np.zeros(2)
        c[i][0] = x[i]
    c[3][1] = x[0] * 5
    return np.sum(np.array(c) ** 2)


@plain_list
def longer_afterwards(x):
    n = len(x)
    c = [None] * n
    for i in range(n - 3):
        c[i] = x[i]
    c.append(x[0] * 3)
    return sum(v for v in c if v is not None) + len(c)


@plain_list
def none_is_left(x):
    n = len(x)
    c = [None] * (n + 2)
    for i in range(n):
        c[i] = x[i] * (2.0 if c[i + 1] is None else 3.0)
    return sum(c[:n]) + (1.0 if c[n] is None else 0.0) + c.count(None)


@plain_list
def of_several_kinds(x):
    n = len(x)
    c = [None] * n
    for i in range(n):
        c[i] = x[i] if i % 2 else x[i] * np.ones(2)
    return sum(np.sum(v) for v in c)


@plain_list
def given_to_another_name(x):
    n = len(x)
    c = [None] * n
    d = c
    for i in range(n):
        d[i] = x[i] * 2
    s = 0.0
    for i in range(n):
        s = s + c[i] * x[i]
    c[0] = 5.0
    return s + d[0]
