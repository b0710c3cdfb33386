"""`keepdims=True` of arrays whose length is data or moves with a loop: softmax as a function of its own."""

from __future__ import annotations

import numpy as np
import pytest

from .interpreted_plans import assert_loops_stay, assert_right
from .program_lists import Programs

SIZE = 60
PROGRAMS = Programs()
rolled = PROGRAMS.rolled


def softmax(z, axis=-1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@rolled
def causal(x):
    total = 0.0
    for t in range(1, 40):
        total += softmax(x[:t] * x[t]) @ x[:t]
    return total


@rolled
def of_data(x):
    m, total = np.floor(x * 8).astype(int), 0.0
    for i in range(40):
        a = softmax(x[: m[i] + 1])
        total += a[0] * i + np.sum(a * a)
    return total


@rolled
def of_groups(x):
    m, total = np.floor(x * 4), 0.0
    for i in range(40):
        z = x[m == m[i]]
        total += np.sum((z - np.mean(z, keepdims=True)) ** 2) * (i + 1) + np.sum(z.max(keepdims=True))
    return total


@rolled
def of_rows(x):
    m, rows, total = np.floor(x * 8).astype(int), x.reshape(-1, 3), 0.0
    for i in range(18):
        part = rows[: m[i] + 1]
        total += np.sum(softmax(part) * softmax(part, axis=0)) + np.sum(np.sum(part, keepdims=True)[0])
    return total


@rolled
def keys_and_values(x):
    keys, total = [], 0.0
    for t in range(30):
        keys.append(x[t] * np.array([1.0, 2.0, 3.0]))
        query = np.array([x[t], 1.0, x[t] ** 2])
        weights = softmax(np.array([key @ query for key in keys]))
        total += np.sum((weights @ np.array(keys)) ** 2)
    return total


@pytest.mark.parametrize("f", PROGRAMS.all)
def test_value_and_slope(f):
    assert_right(f, SIZE, 0, 16)


@pytest.mark.parametrize("f", PROGRAMS.loops)
def test_loops_stay_loops(f):
    assert_loops_stay(f, SIZE)
