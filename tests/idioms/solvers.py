"""Small whole programs: fits, filters, games, schedulers and simulations with their state in Python."""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
import math

import numpy as np

from .program import Kind, matrix, number, numbers, vector, vectors, with_number

SOLVERS = Kind("solvers")


@SOLVERS.add(vectors(30, 2))
def kalman_filter(z, q):
    @dataclasses.dataclass
    class Estimate:
        mean: float = 0.0
        var: float = 1.0
        updates: int = 0

        def predict(self, q):
            self.var = self.var + q

        def correct(self, z, r):
            gain = self.var / (self.var + r)
            self.mean = self.mean + gain * (z - self.mean)
            self.var = (1 - gain) * self.var
            self.updates += 1

    e, loglik = Estimate(), 0.0
    for k, v in enumerate(z):
        e.predict(q[0] * 0.1)
        if k % 4 == 3:
            continue
        loglik -= (v - e.mean) ** 2 / (e.var + q[1])
        e.correct(v, q[1])
    return loglik / e.updates


@SOLVERS.add(numbers(3))
def event_driven_queue(rate, service, cost):
    events, served, now, waiting = [(0.0, "arrive", 0)], 0, 0.0, 0.0
    free_at = 0.0
    while events and served < 25:
        when, what, k = heapq.heappop(events)
        if what == "arrive":
            heapq.heappush(events, (when + 1 + (k * 7 % 5) / 5, "arrive", k + 1))
            heapq.heappush(events, (when + 0.5 * (k % 3), "depart", k))
        else:
            served += 1
            free_at = np.maximum(free_at, when * rate) + service
            waiting = waiting + (free_at - when * rate) * cost
    return waiting


@SOLVERS.add(vectors(30, 4))
def hidden_markov_forward(y, p):
    emit = [0.2, 0.5, 0.9]
    alpha = [p[0], p[1], p[2]]
    stay = 0.9 - 0.1 * p[3]
    loglik = 0.0
    for v in y:
        alpha = [
            (stay * alpha[j] + (1 - stay) / 2 * sum(a for i, a in enumerate(alpha) if i != j))
            * np.exp(-((v - emit[j]) ** 2))
            for j in range(3)
        ]
        norm = sum(alpha)
        loglik = loglik + np.log(norm)
        alpha = [a / norm for a in alpha]
    return loglik


@SOLVERS.add(vectors(24, 24))
def dynamic_time_warping_with_memo(x, y):
    memo = {}

    def cost(i, j):
        if (i, j) not in memo:
            here = (x[i] - y[j]) ** 2
            if i == 0 and j == 0:
                memo[i, j] = here
            elif i == 0:
                memo[i, j] = here + cost(0, j - 1)
            elif j == 0:
                memo[i, j] = here + cost(i - 1, 0)
            else:
                memo[i, j] = here + min(cost(i - 1, j), cost(i, j - 1), cost(i - 1, j - 1))
        return memo[i, j]

    return cost(7, 7)


@SOLVERS.add(vector(20))
def simulated_annealing_of_plain_moves(x):
    rng, order = np.random.default_rng(0), list(range(20))
    energy = 0.0
    for step in range(25):
        i, j = rng.integers(20, size=2)
        order[i], order[j] = order[j], order[i]
        energy += math.exp(-0.1 * step) * np.abs(x[order[0]] - x[order[-1]])
    return energy + sum(abs(x[a] - x[b]) for a, b in itertools.pairwise(order))


@SOLVERS.add(with_number(30))
def tank_with_hysteresis(inflow, area):
    level, pumping, switches = 1.0, False, 0
    for q in inflow:
        level = level + 0.1 * (q - (1.8 if pumping else 0.0)) / area
        if pumping and level < 0.9:
            pumping, switches = False, switches + 1
        elif not pumping and level > 1.1:
            pumping, switches = True, switches + 1
    return level**2 + switches


@SOLVERS.add(matrix(8, 2, -2.0, 2.0))
def bodies_by_pairs(q):
    masses = {k: 1.0 + 0.1 * k for k in range(8)}
    p = np.zeros((8, 2))
    for step in range(3):
        for i, j in itertools.combinations(masses, 2):
            d = q[i] - q[j]
            f = d / (np.sum(d**2) + 0.1) ** 1.5
            p[i] -= 0.02 * masses[j] * f
            p[j] += 0.02 * masses[i] * f
        for i in masses:
            q[i] += 0.05 * p[i]
    return np.sum(q**2)


@SOLVERS.add(vectors(6, 6))
def tridiagonal_with_scratch_lists(d, b):
    c, g = [0.0] * 6, [0.0] * 6
    c[0], g[0] = -1 / (2 + d[0]), b[0] / (2 + d[0])
    for i in range(1, 6):
        m = 2 + d[i] + c[i - 1]
        c[i] = -1 / m
        g[i] = (b[i] + g[i - 1]) / m
    u = [g[5]]
    for i in range(4, -1, -1):
        u.insert(0, g[i] - c[i] * u[0])
    return sum(v * k for k, v in enumerate(u))


@SOLVERS.add(vector(30))
def exponential_smoothing_with_seasons(y):
    seasons = collections.deque([1.0, 0.8, 1.2, 1.0], maxlen=4)
    level, error = 1.0, 0.0
    for v in y:
        s = seasons[0]
        error += (v - level * s) ** 2
        level = 0.7 * level + 0.3 * v / s
        seasons.append(0.9 * s + 0.1 * v / level)
    return error


@SOLVERS.add(with_number(12))
def conjugate_gradients_with_restart(b, shift):
    def apply(v):
        out = (2 + shift) * v
        out[1:] -= v[:-1]
        out[:-1] -= v[1:]
        return out

    u = np.zeros(12)
    r = b - apply(u)
    p, rs, since = r.copy(), np.sum(r * r), 0
    for _ in range(10):
        ap = apply(p)
        alpha = rs / np.sum(p * ap)
        u = u + alpha * p
        r = r - alpha * ap
        new = np.sum(r * r)
        since += 1
        if since == 4:
            p, since = r.copy(), 0
        else:
            p = r + new / rs * p
        rs = new
    return np.sum(u * np.arange(12))


@SOLVERS.add(number(0.6, 1.4))
def population_with_generations(r):
    class Species:
        def __init__(self, size, growth):
            self.size, self.growth, self.age = size, growth, 0

        def season(self, food):
            self.age += 1
            self.size = self.size * (1 + 0.1 * self.growth * (food - self.size)) / (1 + 0.001 * self.age)

    species = [Species(0.1 * k, g * r) for k, g in enumerate((1.0, 0.5, 0.8), 1)]
    for year in range(30):
        total = sum(s.size for s in species)
        for s in species:
            s.season(2 - total)
        if year == 20:
            species.pop(0)
    return sum(s.size * s.age for s in species)


@SOLVERS.add(vectors(5, 30))
def recurrent_network_with_skips(w, x):
    state, skipped = [0.0, 0.0], collections.deque([0.0] * 3)
    loss = 0.0
    for t, v in enumerate(x):
        h = np.tanh(w[0] * state[0] + w[1] * v + w[2] * skipped[0])
        c = np.tanh(w[3] * state[1] + w[4] * h)
        state = [h, c] if t % 5 else [h, state[1]]
        skipped.append(h)
        skipped.popleft()
        loss += (c - v) ** 2
    return loss


@SOLVERS.add(vectors(24, 3))
def spline_by_segments(x, p):
    knots = [0, 5, 11, 18, 24]
    coefficients = dict(zip(zip(knots, knots[1:]), [(1.0, 0.1), (0.5, -0.2), (0.2, 0.3), (1.5, 0.0)]))
    total = 0.0
    for (lo, hi), (a, b) in coefficients.items():
        for i in range(lo, hi):
            total += (x[i] - p[0] * a - p[1] * b * (i - lo) - p[2]) ** 2
    return total


@SOLVERS.add(vectors(15, 15))
def topological_order_of_a_graph(x, w):
    edges = {k: [j for j in (k + 1, k + 4, 2 * k + 1) if j < 15] for k in range(15)}
    incoming = collections.Counter(j for js in edges.values() for j in js)
    ready, value = collections.deque(k for k in range(15) if not incoming[k]), {}
    total = {k: x[k] for k in range(15)}
    while ready:
        k = ready.popleft()
        value[k] = np.tanh(total[k])
        for j in edges[k]:
            total[j] = total[j] + w[k] * value[k]
            incoming[j] -= 1
            if not incoming[j]:
                ready.append(j)
    return sum(value.values())


@SOLVERS.add(vector(30, -1.0, 1.0))
def drawdown_of_a_portfolio(returns):
    wealth, peak, worst, days_under = 1.0, 1.0, 0.0, 0
    for r in returns:
        wealth = wealth * (1 + 0.05 * r)
        if wealth > peak:
            peak = wealth
            days_under = 0
        else:
            days_under += 1
        worst = max(worst, 1 - wealth / peak)
    return worst + 0.01 * days_under * wealth
