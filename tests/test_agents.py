"""Objects that look at each other in lists: neighbours by `is not`, by distance, by state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import planned_ad

from .sweeps import name_of


class Body:
    def __init__(self, p, v):
        self.p, self.v, self.near = p, v, []


@dataclass
class Agent:
    p: Any
    v: Any
    state: str = "well"


def counted(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    total = 0.0
    for _ in range(2):
        for b in bodies:
            near = [c for c in bodies if c is not b and c.p < 1.0]
            total = total + len(near)
            if b.v > 0.3:
                b.p += 0.2
    return total + sum(b.p for b in bodies)


def moved_together(P, V):
    def moved(b):
        near = [c for c in bodies if c is not b and abs(c.p - b.p) < 1.0]
        v = b.v + 0.1 * len(near)
        if v > 0.3:
            v = v * 0.5
        return b.p + 0.1 * v, v

    bodies = [Body(p, v) for p, v in zip(P, V)]
    for _ in range(2):
        new = [moved(b) for b in bodies]
        for b, (p, v) in zip(bodies, new):
            b.p, b.v = p, v
    return sum(b.p**2 for b in bodies)


def drawn_to_the_middle(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    for _ in range(2):
        for b in bodies:
            near = [c for c in bodies if c is not b and abs(c.p - b.p) < 1.0]
            if near:
                b.v = b.v + 0.1 * (sum(c.p for c in near) / len(near) - b.p)
        for b in bodies:
            b.p = b.p + 0.1 * b.v
    return sum(b.p**2 for b in bodies)


def of_dataclasses(P, V):
    agents = [Agent(p, v) for p, v in zip(P, V)]
    for _ in range(2):
        others = [[c for c in agents if c != a and c.p < 1.0] for a in agents]
        for a, known in zip(agents, others):
            a.p = a.p + 0.1 * a.v * len(known)
    return sum(a.p**2 for a in agents)


def filtered_later(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    for _ in range(2):
        for b in bodies:
            others = [c for c in bodies if c is not b]
            near = [c for c in others if c.p < b.p]
            b.v = b.v * (1.0 + 0.1 * len(near))
            if b.v > 0.2:
                b.p = b.p + 0.1
    return sum(b.p * b.v for b in bodies)


def that_are_kept(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    for _ in range(2):
        for b in bodies:
            b.near = [c for c in bodies if c is not b and abs(c.p - b.p) < 0.8]
        for b in bodies:
            b.p = b.p + 0.1 * sum(c.v for c in b.near)
    return sum(b.p**2 + len(b.near) * b.v for b in bodies)


def infected(P, V):
    agents = [Agent(p, v) for p, v in zip(P, V)]
    agents[0].state = "ill"
    for _ in range(2):
        for a in agents:
            ill = [c for c in agents if c is not a and c.state == "ill" and abs(c.p - a.p) < 1.0]
            if a.state == "well" and len(ill) > 0:
                a.state = "ill"
        for a in agents:
            a.p = a.p + 0.1 * a.v * (2.0 if a.state == "ill" else 1.0)
    return sum(a.p**2 for a in agents)


def in_a_set(P, V):
    total = 0.0
    for step in range(20):
        below = {k for k in range(len(P)) if P[k] < 0.1 * step}
        total = total + len(below) * V[step % len(V)]
    return total * P[0]


PROGRAMS = [
    counted, moved_together, drawn_to_the_middle, of_dataclasses, filtered_later, that_are_kept, infected, in_a_set,
]  # fmt: skip


def inputs(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 2, count), 0.5 * rng.normal(size=count)


@pytest.mark.parametrize(("count", "unroll"), [(2, 16), (3, 0)])
@pytest.mark.parametrize("f", PROGRAMS, ids=name_of)
def test_value_and_slope(f: Callable[..., Any], count: int, unroll: int) -> None:
    plan = planned_ad.compile(f, inputs(0, count), unroll=unroll, check=False)
    for seed in range(4):
        P, V = inputs(seed, count)
        np.testing.assert_allclose(plan(P, V), f(P, V), rtol=1e-11)
        found, _ = plan.gradient(P, V)
        slopes = [(f(P + step, V) - f(P - step, V)) / 2e-7 for step in 1e-7 * np.eye(count)]
        np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-6)


def nearer(a, b):
    return a if a.p < b.p else b


def by_a_call(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    total = 0.0
    for step in range(20):
        a, b = bodies[step % len(bodies)], bodies[0]
        if nearer(a, b) is a:
            total += a.v * step
        if max(a, b, key=lambda c: c.p) is not b:
            total += 2.0 * b.p
        if (a if step % 3 else b) is b:
            total += 0.1
    return total


def by_a_name_of_a_builtin(P, V):
    bodies = [Body(p, v) for p, v in zip(P, V)]
    total, input = 0.0, bodies[0]
    for step in range(20):
        next = bodies[step % len(bodies)]
        if next is input:
            total += next.v * step + next.p
    return total


@pytest.mark.parametrize("unroll", [0, 16])
@pytest.mark.parametrize("f", [by_a_call, by_a_name_of_a_builtin], ids=name_of)
def test_identity_of_what_an_expression_gives(f: Callable[..., Any], unroll: int) -> None:
    plan = planned_ad.compile(f, inputs(0, 4), unroll=unroll, check=False)
    for seed in range(4):
        np.testing.assert_allclose(plan(*inputs(seed, 4)), f(*inputs(seed, 4)), rtol=1e-11)
