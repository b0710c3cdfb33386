"""Lists, texts, flags and variables that data decide."""

from __future__ import annotations

import itertools
import operator

import numpy as np

from .program import matrix, program, two_numbers, vector


@program(matrix)
def tour_zip(D):
    n = len(D)
    tour = [0]
    cur = 0
    L = 0.0
    for k in range(n - 1):
        nxt = int(np.argmin(D[cur]))
        tour.append(nxt)
        cur = nxt
    for a, b in zip(tour, tour[1:]):
        L += D[a, b]
    return L


@program(matrix)
def tour_loop(D):
    n = len(D)
    tour = [0]
    L = 0.0
    for k in range(n - 1):
        nxt = int(np.argmin(D[tour[-1]]))
        tour.append(nxt)
        for j in tour:
            L += D[j, nxt]
    return L


@program(matrix)
def min_key(D):
    s = 0.0
    n = len(D)
    for k in range(n):
        j = min(range(n), key=lambda j: D[k, j])
        i = max(range(k, n), key=lambda i: abs(D[i, k]))
        s += D[k, j] * (k + 1) + D[i, k]
    return s


@program(matrix)
def lists_of_lists2(A):
    M = A.tolist() if False else [list(r) for r in A]
    n = len(M)
    det = 1.0
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(M[r][c]) > abs(M[p][c]):
                p = r
        if p != c:
            for j in range(n):
                M[c][j], M[p][j] = M[p][j], M[c][j]
            det = -det
        det *= M[c][c]
        for r in range(c + 1, n):
            f = M[r][c] / M[c][c]
            for j in range(c, n):
                M[r][j] -= f * M[c][j]
    return det


@program(two_numbers)
def bisect_mid(a, b):
    lo, hi = 0.0, b
    while hi - lo > 1e-3:
        mid = 0.5 * (lo + hi)
        if mid * mid * mid > a:
            hi = mid
        else:
            lo = mid
    return mid * a


@program(two_numbers)
def not_done(a, b):
    x = b
    done = False
    while not done:
        dx = (x * x - a) / (2 * x)
        x = x - dx
        if abs(dx) < 1e-10:
            done = True
    return x + dx


@program(two_numbers)
def accept_status(a, b):
    t = 0.0
    y = a
    h = 0.3
    status = "running"
    while status == "running":
        hh = min(h, 2.0 - t)
        k1 = -b * y
        k2 = -b * (y + hh * k1)
        err = abs(hh * (k2 - k1)) / 1e-2
        if err < 1:
            y = y + 0.5 * hh * (k1 + k2)
            t = t + hh
        h = h * min(2.0, max(0.3, 0.9 / (err + 1e-9) ** 0.5))
        if h < 1e-9:
            status = "failed"
        elif t >= 2.0:
            status = "finished"
    return y if status == "finished" else 0.0


@program(two_numbers)
def message(a, b):
    x = b
    message = None
    for k in range(30):
        dx = (x * x - a) / (2 * x)
        x = x - dx
        if abs(dx) < 1e-10:
            message = "converged"
            break
        if x < 0:
            message = "negative"
            break
    if message is None:
        return x * 2
    return x


@program(two_numbers)
def ok_message(a, b):
    def step(x):
        if x < 0.1:
            return False, "small"
        return True, None

    x = b
    s = 0.0
    for k in range(12):
        ok, msg = step(x)
        if not ok:
            s += 1.0
            break
        x = x * 0.7
        s += x * a
    return s


@program(two_numbers)
def secant_last(a, b):
    x0, x1 = 0.5, b
    for it in range(40):
        f0, f1 = x0**3 - a, x1**3 - a
        if abs(f1) < 1e-10:
            break
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        x0, x1 = x1, x2
    return x2 + it * 0.0


@program(two_numbers)
def enum_state(a, b):
    state = "up"
    x = 0.0
    s = 0.0
    for k in range(15):
        if state == "up":
            x += a * 0.3
            if x > b:
                state = "down"
        else:
            x -= a * 0.2
            if x < 0.5:
                state = "up"
        s += x * x
    return s


@program(two_numbers)
def mode_attr(a, b):
    class Machine:
        def __init__(self):
            self.mode = "heat"
            self.T = 0.0
            self.cost = 0.0

        def step(self):
            if self.mode == "heat":
                self.T += 0.3 * a
                if self.T > 1.5:
                    self.mode = "cool"
            elif self.mode == "cool":
                self.T *= 0.8
                if self.T < 0.7:
                    self.mode = "heat"
            self.cost += self.T * b

    m = Machine()
    for _ in range(14):
        m.step()
    return m.cost


@program(matrix)
def nearest_of_the_rest(D):
    n = len(D)
    rest = list(range(1, n))
    at = 0
    total = 0.0
    while rest:
        best = min(rest, key=lambda j: D[at, j])
        total += D[at, best]
        rest.remove(best)
        at = best
    return total


@program(matrix)
def taken_out(D):
    n = len(D)
    rest = list(range(1, n))
    at = 0
    total = 0.0
    while rest:
        k = int(np.argmin([D[at, j] for j in rest]))
        found = rest.pop(k)
        total += D[at, found] * (k + 1)
        at = found
    return total


@program(matrix)
def place_of_the_greatest(D):
    total = 0.0
    for k in range(len(D)):
        column = [abs(D[i, k]) for i in range(k, len(D))]
        total += D[k + column.index(max(column)), k] * (k + 1)
    return total


@program(vector)
def running_totals(x):
    total = 0.0
    for k, t in enumerate(itertools.accumulate(x)):
        total += t * t * k
    for t, v in zip(itertools.accumulate(x, operator.mul), x):
        if t > 0:
            total += t * v
    return total


@program(vector)
def functions_of_variables_measured_in_the_loop(c):
    x = np.zeros(len(c))
    for _ in range(30):
        step = c - x * np.eye(len(c)).sum()
        if step @ step < 1e-10:
            break
        phi = lambda z: c @ z + 0.1 * z @ z  # noqa: E731
        x = x + 0.1 * step * np.tanh(phi(x))
    return c @ x


@program(vector)
def functions_of_variables_that_change(c):
    d, total, kept = c, 0.0, None
    for _ in range(30):
        total = total + len(d) * 0.01
        f = lambda z: d[0] * z  # noqa: E731
        total = total * 0.5 + f(c[1]) + (0.0 if kept is None else kept(c[2]))
        d = d * 0.9
        kept = f
    return total


@program(matrix)
def sweeps_by_turns(A):
    u, v, n = A.copy(), A.copy(), len(A)
    for _ in range(20):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                c = u[i, j]
                v[i, j] = c + 0.1 * (u[i + 1, j] - c)
        u, v = v, u
    return np.sum(u**2) + c
