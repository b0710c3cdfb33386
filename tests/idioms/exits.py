"""Early exits, while True, for-else, exceptions, finally and with, in loops and helpers."""

from __future__ import annotations

import contextlib

import numpy as np

from .program import Kind, matrix, number, numbers, vector, vectors, with_number

EXITS = Kind("exits")


@EXITS.add(number(0.5, 3.0))
def newton_until_converged(s):
    u = 1.0
    for _ in range(50):
        new = 0.5 * (u + s / u)
        if abs(new - u) < 1e-10:
            break
        u = new
    return u


@EXITS.add(number(0.5, 3.0))
def return_in_the_loop(s):
    u = s
    for k in range(40):
        u = 0.8 * u + 0.1
        if u < 0.7:
            return u * k
    return u


@EXITS.add(number(0.2, 0.9))
def while_true_with_break(s):
    u, k = s, 0
    while True:
        u = u + 0.2 * u * (1 - u)
        k += 1
        if u > 0.95 or k >= 40:
            break
    return u * k


@EXITS.add(vector(30))
def for_else(x):
    total = 0.0
    for v in x:
        total += v
        if total > 100:
            break
    else:
        total *= 0.5
    return total


@EXITS.add(vector(30, -1.0, 1.0))
def for_else_by_data(x):
    total = 0.0
    for v in x:
        total += v
        if total > 1.5:
            break
    else:
        total = total * 0.5 + x[3]
    return total


@EXITS.add()
def while_else(x):
    i, total = 0, 0.0
    while i < 20:
        total += x[i] * i
        i += 1
        if i == 30:
            break
    else:
        total = np.sin(total)
    return total


@EXITS.add()
def continue_by_counter(x):
    total, skipped = 0.0, 0
    for i, v in enumerate(x):
        if i % 4 == skipped % 3:
            skipped += 1
            continue
        total += v * skipped
    return total


@EXITS.add(vector(30, -1.0, 1.0))
def continue_by_data(x):
    total = 1.0
    for v in x:
        if v < 0:
            continue
        total *= 1 + 0.1 * v
    return total


@EXITS.add()
def break_at_a_late_index(x):
    total = 0.0
    for i in range(1000):
        if i == 22:
            break
        total += x[i] * i
    return total


@EXITS.add()
def exception_as_an_exit(x):
    total = 0.0
    try:
        for i in range(100):
            if i >= 21:
                raise StopIteration
            total += x[i] ** 2 * i
    except StopIteration:
        total += 1.0
    return total


@EXITS.add()
def key_error_as_a_default(x):
    table, total = {3: 2.0, 7: 0.5, 20: -1.0}, 0.0
    for i, v in enumerate(x):
        try:
            w = table[i]
        except KeyError:
            w = 1.0
        total += w * v
    return total


@EXITS.add()
def index_error_ends_the_list(x):
    plain, total, i = [0.1 * k for k in range(20)], 0.0, 0
    while True:
        try:
            w = plain[i]
        except IndexError:
            break
        total += w * x[i]
        i += 1
    return total


@EXITS.add()
def finally_counts(x):
    n, total = 0, 0.0
    for v in x:
        try:
            if n % 3 == 1:
                continue
            total += v * n
        finally:
            n += 1
    return total


@EXITS.add()
def finally_in_a_helper(x):
    depth = [0]

    def step(v):
        depth[0] += 1
        try:
            return v / depth[0]
        finally:
            if depth[0] == 5:
                depth[0] = 0

    return sum([step(v) for v in x])


@EXITS.add()
def suppressed_errors(x):
    total, d = 0.0, {0: 1.0, 5: 2.0}
    for i, v in enumerate(x):
        total += v
        with contextlib.suppress(KeyError):
            total *= d[i]
    return total


@EXITS.add()
def exit_stack(x):
    order = []
    total = 0.0
    for i, v in enumerate(x):
        with contextlib.ExitStack() as stack:
            for k in range(i % 3):
                stack.callback(order.append, k)
        total += v * len(order)
    return total


@EXITS.add(matrix(20, 4))
def break_of_the_inner_loop(x):
    total = 0.0
    for i, row in enumerate(x):
        for j, v in enumerate(row):
            if j > i % 4:
                break
            total += v * (i + j)
    return total


@EXITS.add(matrix(20, 4))
def break_of_the_inner_loop_by_data(x):
    total = 0.0
    for row in x:
        partial = 0.0
        for v in row:
            partial += v
            if partial > 0.5:
                break
        total += partial**2
    return total


@EXITS.add(matrix(20, 4))
def flag_that_leaves_two_loops(x):
    total, done = 0.0, False
    for i, row in enumerate(x):
        for j, v in enumerate(row):
            total += v
            if i == 17 and j == 2:
                done = True
                break
        if done:
            break
    return total**2


@EXITS.add(numbers(2, 0.5, 2.0))
def bisection(a, b):
    lo, hi = 0.0, 4.0
    for _ in range(40):
        mid = 0.5 * (lo + hi)
        if mid**3 * a < b:
            lo = mid
        else:
            hi = mid
    root = 0.5 * (lo + hi)
    return root - (a * root**3 - b) / (3 * a * root**2)


@EXITS.add(with_number(10))
def line_search_with_backtracking(x, scale):
    def cost(v):
        return np.sum((v**2 - scale) ** 2)

    for _ in range(5):
        g = 4 * x * (x**2 - scale)
        t = 0.1
        while cost(x - t * g) > cost(x) - 1e-4 * t * np.sum(g * g):
            t *= 0.5
        x = x - t * g
    return cost(x + 0.1)


@EXITS.add(number(0.3, 1.2))
def adaptive_step_size(s):
    t, y, h = 0.0, s, 0.1
    while t < 2.0:
        full = y + h * np.cos(y)
        half = y + 0.5 * h * np.cos(y)
        half = half + 0.5 * h * np.cos(half)
        if abs(full - half) > 0.003:
            h = h * 0.5
        else:
            t = t + h
            y = half
            if abs(full - half) < 0.0002:
                h = h * 1.5
    return y + 0.1 * t


@EXITS.add(numbers(2))
def while_with_and(a, b):
    k = 0
    while a > 0.05 and k < 30:
        a = a * 0.8
        b = b + a * k
        k += 1
    return b


@EXITS.add(vectors(20, 20))
def error_raised_only_for_bad_data(x, y):
    total = 0.0
    for a, b in zip(x, y):
        if a < 0:
            raise ValueError("negative")
        total += b * np.log(a)
    return total


@EXITS.add(vector(20, 0.1, 1.0))
def log_likelihood_with_an_early_return(x):
    if np.any(x < 0):
        return -np.inf
    total = 0.0
    for k, v in enumerate(x):
        total += np.log(v) * k
    return total


@EXITS.add(vector(20, -1.0, 1.0))
def first_that_satisfies(x):
    found = next((v for v in x if v > 0.5), x[0])
    return found**2 * np.sum(x)


@EXITS.add(vector(20, -1.0, 1.0))
def retry_with_damping(x):
    u, damping = 0.0, 1.0
    for v in x:
        for _attempt in range(4):
            trial = u + damping * v
            if abs(trial) < 1.5:
                break
            damping *= 0.5
        u = trial
    return u * damping
