"""Whether equations and inequalities over integers can hold together: beside what isl says, and all points tried."""

from __future__ import annotations

import itertools
import random

import pytest

from planned_ad.regions.affine import Extent, affine, at
from planned_ad.regions.integer_sets import impossible

UNKNOWNS = 4
System = tuple[list[Extent], list[Extent]]


def random_expression(chosen: random.Random, largest: int) -> Extent:
    terms = {k: chosen.randint(-largest, largest) for k in range(UNKNOWNS) if chosen.random() < 0.6}
    return affine(chosen.randint(-12, 12), terms)


def random_system(seed: int) -> System:
    """As dependence analysis has them: some coefficients are strides, most are one."""
    chosen = random.Random(seed)
    largest = chosen.choice((1, 1, 3, 8))
    equations = [random_expression(chosen, largest) for _ in range(chosen.randint(0, 2))]
    inequalities = [random_expression(chosen, largest) for _ in range(chosen.randint(1, 6))]
    return equations, inequalities


def in_a_box(system: System, low: int, high: int) -> System:
    equations, inequalities = system
    bounds = [affine(-low, {k: 1}) for k in range(UNKNOWNS)] + [affine(high, {k: -1}) for k in range(UNKNOWNS)]
    return equations, [*inequalities, *bounds]


def test_no_point_is_missed():
    """Of systems in a box, each point is tried."""
    points = [dict(enumerate(p)) for p in itertools.product(range(-2, 4), repeat=UNKNOWNS)]
    proven = 0
    for seed in range(60):
        equations, inequalities = in_a_box(random_system(seed), -2, 3)
        holds = any(all(at(e, p) == 0 for e in equations) and all(at(i, p) >= 0 for i in inequalities) for p in points)
        claimed = impossible(equations, inequalities)
        assert not (claimed and holds), seed
        proven += claimed
    assert proven > 10


def constraint_text(expression: Extent, relation: str) -> str:
    constant, terms = (expression, ()) if isinstance(expression, int) else (expression.constant, expression.terms)
    return " + ".join([f"{c}*i{k}" for k, c in terms] + [str(constant)]) + relation


def test_isl_agrees():
    """What is called impossible is empty for isl too; and of what isl calls empty, most is found here."""
    islpy = pytest.importorskip("islpy")
    names = ", ".join(f"i{k}" for k in range(UNKNOWNS))
    empty = found = 0
    for seed in range(1500):
        equations, inequalities = random_system(seed)
        texts = [constraint_text(e, " = 0") for e in equations] + [constraint_text(i, " >= 0") for i in inequalities]
        is_empty = islpy.Set(f"{{ [{names}] : {' and '.join(texts)} }}").is_empty()
        claimed = impossible(equations, inequalities)
        assert is_empty or not claimed, (seed, texts)
        empty += is_empty
        found += claimed
    assert empty > 100 and found >= 0.95 * empty
