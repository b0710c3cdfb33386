"""Lloyd's algorithm with lists of members: which one is nearest says into which list a point goes, or its number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .interpreted_plans import InterpretedPlan
from .sweeps import name_of

POINTS, CLUSTERS = 6, 2


def by_numbers(x):
    points = x.reshape(POINTS, 2)
    centres = np.array([points[0], points[3]])
    for _ in range(30):
        members = [[] for _ in range(CLUSTERS)]
        for k, point in enumerate(points):
            members[np.argmin([np.sqrt(np.sum((point - c) ** 2)) for c in centres])].append(k)
        before, centres = centres, np.zeros((CLUSTERS, 2))
        for k, found in enumerate(members):
            centres[k] = np.mean(points[found], axis=0)
        if np.sum((before - centres) ** 2) == 0:
            break
    return np.sum(centres**2)


def by_points(x):
    points = x.reshape(POINTS, 2)
    centres = np.array([points[0], points[3]])
    for _ in range(5):
        members = [[] for _ in range(CLUSTERS)]
        for point in points:
            distances = [np.linalg.norm(point - c) for c in centres]
            members[distances.index(min(distances))].append(point)
        for k in range(CLUSTERS):
            if members[k]:
                centres[k] = np.mean(members[k], axis=0)
    return np.sum(centres**2)


def clouds(seed: int) -> np.ndarray:
    middles = np.repeat(np.array([[0.0, 0.0], [3.0, 1.0]]), POINTS // CLUSTERS, axis=0)
    return (middles + 0.9 * np.random.default_rng(seed).normal(size=(POINTS, 2))).ravel()


@pytest.mark.parametrize("f", [by_numbers, by_points], ids=name_of)
def test_one_trace_for_all_inputs(f: Callable[[np.ndarray], float]) -> None:
    plan = InterpretedPlan(f, clouds(0), unroll=0)
    for seed in range(4):
        x = clouds(seed)
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-12)
        slopes = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(x.size)]
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-5, atol=1e-7)
