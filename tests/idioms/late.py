"""State that changes rarely or late, flags toggled now and then, counters modulo k, plain tables, tests of the index."""

from __future__ import annotations

import math

import numpy as np

from .program import Kind, matrix, number, numbers, vector, vectors, with_number

LATE = Kind("late")
RATES = {"warm": 0.1, "main": 0.5, "cool": 0.05}


@LATE.add(vector(40))
def flag_set_at_twenty(x):
    seen, total = False, 0.0
    for i, v in enumerate(x):
        if i == 20:
            seen = True
        total += v if not seen else v**2
    return total


@LATE.add(vector(40))
def only_the_last_iteration(x):
    total = 0.0
    for i in range(len(x)):
        if i == len(x) - 1:
            total *= 2
        total += x[i]
    return total


@LATE.add(vector(40))
def list_changed_at_twenty(x):
    w, total = [1.0, 2.0], 0.0
    for i in range(40):
        if i == 20:
            w[1] = 5.0
        total += w[i % 2] * x[i]
    return total


@LATE.add(vector(40))
def toggle_every_seven(x):
    up, total = True, 0.0
    for i, v in enumerate(x):
        if i % 7 == 6:
            up = not up
        total = total + v if up else total * 0.9
    return total


@LATE.add(vector(40))
def counter_modulo_three(x):
    phase, total = 0, 0.0
    for v in x:
        total += v * (1.0, -0.5, 0.25)[phase]
        phase = (phase + 1) % 3
    return total


@LATE.add(vector(40))
def learning_rate_by_milestones(x):
    rate, w = 0.5, 0.0
    for i, v in enumerate(x):
        if i in (10, 20, 35):
            rate *= 0.1
        w -= rate * (w - v)
    return w


@LATE.add(vector(40))
def phase_by_a_dict(x):
    w = 0.0
    for i, v in enumerate(x):
        phase = "warm" if i < 5 else "main" if i < 33 else "cool"
        w -= RATES[phase] * (w - v)
    return w


@LATE.add(vector(30))
def doubling_until_it_wraps(x):
    k, total = 1, 0.0
    for v in x:
        total += v * k
        k = k * 2 if k < 100 else 1
    return total


@LATE.add(vector(30))
def collatz_weights(x):
    n, total = 27, 0.0
    for v in x:
        total += v / n
        n = 3 * n + 1 if n % 2 else n // 2
    return total


@LATE.add(vector(40))
def running_best_of_plain_scores(x):
    scores, best, total = [(k * 13) % 37 for k in range(40)], -1, 0.0
    for s, v in zip(scores, x):
        if s > best:
            best = s
            total += v
    return total * best


@LATE.add(number())
def plain_float_state(s):
    t, y = 0.0, s
    for _ in range(40):
        y += 0.1 * math.sin(t) * y
        t += 0.1
    return y


@LATE.add(number())
def plain_time_that_saturates(s):
    t, y = 0.0, s
    for _ in range(40):
        y += 0.1 * math.cos(t) * y
        t = min(t + 0.1, 3.0)
    return y


@LATE.add(number())
def plain_float_threshold(s):
    temperature, y = 1.0, s
    for k in range(40):
        temperature *= 0.9
        if temperature < 0.05:
            y = y * 0.99
        else:
            y = y + temperature * 0.1
    return y


@LATE.add(numbers(2))
def runge_kutta_tableau(y, rate):
    nodes = (0.0, 0.5, 0.5, 1.0)
    weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    for step in range(20):
        k, total = 0.0, 0.0
        for c, w in zip(nodes, weights):
            k = -rate * (y + 0.1 * c * k) + math.sin(0.1 * (step + c))
            total = total + w * k
        y = y + 0.1 * total
    return y


@LATE.add(vector(40))
def adams_bashforth_history(x):
    fs, y = [], 0.0
    for i, v in enumerate(x):
        fs.append(v - y)
        if len(fs) == 1:
            y += 0.1 * fs[0]
        elif len(fs) == 2:
            y += 0.1 * (1.5 * fs[-1] - 0.5 * fs[-2])
        else:
            y += 0.1 * (23 * fs[-1] - 16 * fs[-2] + 5 * fs[-3]) / 12
            fs.pop(0)
    return y


@LATE.add(vector(40))
def binary_digits_of_the_index(x):
    total = 0.0
    for i, v in enumerate(x):
        total += v * bin(i).count("1") * (-1) ** i
    return total


@LATE.add(vector(40))
def powers_and_factorials(x):
    total = 0.0
    for k in range(20):
        total += x[k] ** (k % 4 + 1) / math.factorial(k)
    return total


@LATE.add(vector(40))
def gray_code_order(x):
    total = 0.0
    for k in range(32):
        total = 0.9 * total + x[k ^ (k >> 1)]
    return total


@LATE.add(vectors(24, 24))
def weights_in_a_tuple_of_tuples(x, y):
    table = tuple((0.1 * k, k % 3) for k in range(24))
    total = 0.0
    for i in range(24):
        w, kind = table[i]
        total += w * (x[i] if kind == 0 else y[i] if kind == 1 else x[i] * y[i])
    return total


@LATE.add(vector(24))
def numpy_table_of_integers(x):
    index = np.array([(5 * k) % 24 for k in range(24)])
    sign = np.array([1, -1, 1, 1, -1, 1] * 4)
    total = 0.0
    for k in range(24):
        total += sign[k] * x[index[k]] * k
    return total


@LATE.add(vector(24))
def adjacency_lists(x):
    neighbours = {k: [(k * 2) % 24, (k * 3 + 1) % 24][: 1 + k % 2] for k in range(24)}
    new = np.zeros(24)
    for k in neighbours:
        for j in neighbours[k]:
            new[k] += 0.5 * x[j]
    return np.sum(new**2 * np.arange(24))


@LATE.add(vector(24))
def ragged_groups(x):
    groups = [[0, 1], [2], [3, 4, 5], [6], [], [7, 8, 9, 10]] + [[k] for k in range(11, 24)] + [[0, 23]]
    total = 0.0
    for g in groups:
        part = 1.0
        for i in g:
            part *= x[i]
        total += part
    return total


@LATE.add(matrix(24, 3))
def time_varying_matrices(x):
    mats = [np.array([[np.cos(0.1 * k), -np.sin(0.1 * k)], [np.sin(0.1 * k), np.cos(0.1 * k)]]) for k in range(24)]
    u = np.array([1.0, 0.5])
    for a, row in zip(mats, x):
        u = a @ u + 0.1 * row[:2]
    return np.sum(u**2)


@LATE.add(with_number(20))
def previous_plain_and_previous_traced(x, s):
    last_k, last = 1, s
    for k, v in enumerate(x, 1):
        last, last_k = s + v * last / last_k, k if k % 6 else 1
    return last


@LATE.add(vector(60))
def state_that_changes_in_iteration_fifty(x):
    mode = ["explore"]
    total = 0.0
    for i, v in enumerate(x):
        if mode[0] == "explore":
            total += v
        else:
            total -= 0.5 * v
        if i == 50:
            mode[0] = "exploit"
    return total


@LATE.add(vector(30))
def sign_by_parity_of_a_closure_count(x):
    calls = {"n": 0}

    def kick(v):
        calls["n"] += 1
        return -v if calls["n"] % 11 == 0 else v

    return sum(kick(v) * (i + 1) for i, v in enumerate(x))


@LATE.add(vector(30))
def warm_up_then_every_fifth(x):
    kept = []
    for i, v in enumerate(x):
        if i >= 7 and (i - 7) % 5 == 0:
            kept.append(v)
    return sum(k * v for k, v in enumerate(kept))


@LATE.add(number())
def plain_sequences_that_settle(s):
    a, b, y = 1.0, 0.5, s
    for _ in range(30):
        a, b = (a + b) / 2, math.sqrt(a * b)
        y = 0.9 * y + (a - b) * y + 0.01 * a
    return y


@LATE.add(vector(30))
def triangular_numbers(x):
    k, step, total = 0, 1, 0.0
    while k < 30:
        total += x[k] * step
        k += step
        step += 1
    return total
