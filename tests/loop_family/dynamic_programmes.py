"""Dynamic programmes: tables filled from neighbours, with max, min and their soft forms."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from .program import Collection

DYNAMIC_PROGRAMMES = Collection()
program = DYNAMIC_PROGRAMMES.add


@program(lambda n, d: (d.normal(4), d.normal(4, 4), d.normal(n, 4)), 6, 30, "carried")
def hmm_forward(start, transition, emission):
    alpha = start + emission[0]
    for t in range(1, len(emission)):
        new = np.empty_like(alpha)
        for j in range(len(alpha)):
            new[j] = logsumexp(alpha + transition[:, j]) + emission[t, j]
        alpha = new
    return logsumexp(alpha)


@program(lambda n, d: (d.normal(n, 4), d.normal(4, 4), d.integers(0, 4, n)), 6, 30, "carried gather")
def conditional_random_field(scores, transition, labels):
    alpha = scores[0].copy()
    gold = scores[0, labels[0]]
    for t in range(1, scores.shape[0]):
        alpha = np.log(np.exp(alpha[:, None] + transition).sum(axis=0)) + scores[t]
        gold += transition[labels[t - 1], labels[t]] + scores[t, labels[t]]
    return np.log(np.sum(np.exp(alpha))) - gold


@program(lambda n, d: (d.normal(4), d.normal(4, 4), d.normal(n, 4)), 6, 24, "branch", step=1e-5)
def viterbi(start, transition, emission):
    best = start + emission[0]
    for t in range(1, len(emission)):
        new = np.empty_like(best)
        for j in range(len(best)):
            top = best[0] + transition[0, j]
            for i in range(1, len(best)):
                top = max(top, best[i] + transition[i, j])
            new[j] = top + emission[t, j]
        best = new
    return max(best)


@program(lambda n, d: (d.normal(4), d.normal(4, 4), d.normal(n, 4)), 7, 30, "carried", step=1e-5)
def viterbi_rows(start, transition, emission):
    best = start + emission[0]
    for t in range(1, len(emission)):
        best = np.max(best[:, None] + transition, axis=0) + emission[t]
    return np.max(best)


@program(lambda n, d: (d.normal(n), d.normal(n + 1), 0.5), 5, 21)
def soft_dtw(x, y, gamma):
    def softmin(a, b, c):
        return -gamma * np.log(np.exp(-a / gamma) + np.exp(-b / gamma) + np.exp(-c / gamma))

    n, m = len(x), len(y)
    r = np.full((n + 1, m + 1), 5.0)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            r[i, j] = cost + softmin(r[i - 1, j], r[i, j - 1], r[i - 1, j - 1])
    return r[n, m]


@program(lambda n, d: (d.normal(n, 2), d.normal(n, 2), 0.8), 5, 20)
def soft_edit_distance(a, b, gap):
    n, m = len(a), len(b)
    dist = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        dist[i, 0] = gap * i
    for j in range(m + 1):
        dist[0, j] = gap * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            change = np.sum((a[i - 1] - b[j - 1]) ** 2)
            choices = np.array([dist[i - 1, j] + gap, dist[i, j - 1] + gap, dist[i - 1, j - 1] + change])
            dist[i, j] = -logsumexp(-choices)
    return dist[n, m]


@program(lambda n, d: (d.normal(n), d.normal(n)), 5, 20, "branch", step=1e-5)
def edit_distance(a, b):
    n, m = len(a), len(b)
    dist = np.zeros((n + 1, m + 1))
    dist[:, 0] = np.arange(n + 1)
    dist[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            dist[i, j] = min(dist[i - 1, j] + 0.9, dist[i, j - 1] + 0.8, dist[i - 1, j - 1] + abs(a[i - 1] - b[j - 1]))
    return dist[n, m]


@program(lambda n, d: (d.positive(n, n),), 6, 20, "branch triangular", step=1e-5)
def nussinov(score):
    n = len(score)
    table = np.zeros((n, n), score.dtype)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1], table[i + 1, j] if i + 1 < n else 0.0)
            table[i, j] = max(table[i, j], table[i + 1, j - 1] + score[i, j] * (0.5 if j > i + 1 else 0.1))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table[0, n - 1]


@program(lambda n, d: (d.positive(n),), 7, 20, "branch triangular", step=1e-5)
def matrix_chain(dims):
    n = len(dims) - 1
    cost = np.zeros((n, n))
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            best = cost[i + 1, j] + dims[i] * dims[i + 1] * dims[j + 1]
            for k in range(i + 1, j):
                best = min(best, cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1])
            cost[i, j] = best
    return cost[0, n - 1]


@program(lambda n, d: (100.0 * d.number(0.9, 1.1), 101.3, 0.2, 0.03, n), 6, 24, "triangular carried")
def binomial_tree(spot, strike, sigma, rate, steps):
    dt = 1.0 / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = np.empty(steps + 1)
    for i in range(steps + 1):
        values[i] = max(spot * up ** (2 * i - steps) - strike, 0.0)
    for t in range(steps - 1, -1, -1):
        values[: t + 1] = math.exp(-rate * dt) * (p * values[1 : t + 2] + (1 - p) * values[: t + 1])
    return values[0]
