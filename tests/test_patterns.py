"""`match` of arrays: as NumPy's own, which are matched as sequences from 2.5 on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import planned_ad
from planned_ad.testing import check_plan

X, Z = np.arange(1.0, 7.0), np.array([1 + 2j, 3 - 1j, 0.5j])


def two(x):
    match x[:2]:
        case [a, b]:
            return a * b + x[2]
        case _:
            return np.sum(x) * 10


def rows_of_a_loop(x):
    total = 0.0
    for row in x.reshape(3, 2):
        match row:
            case (a, b):
                total += a * b
            case _:
                total += row[0]
    return total


def the_rest(z):
    match z:
        case [a, *rest]:
            return (a * np.conj(rest[0])).real
        case _:
            return np.sum(np.abs(z))


def of_another_length(x):
    match x:
        case [a, b]:
            return a * b
        case np.ndarray(ndim=1):
            return np.sum(x)


def numbers(x):
    match np.sum(x):
        case [a]:
            return a
        case float():
            return np.sum(x) * 3


def abstract_class(x):
    return np.sum(x) * (2.0 if isinstance(x, Sequence) else 3.0)


@pytest.mark.parametrize(
    "f, x", [(two, X), (rows_of_a_loop, X), (the_rest, Z), (of_another_length, X), (numbers, X), (abstract_class, X)]
)
def test_as_the_function_itself(f: Callable, x: np.ndarray) -> None:
    plan = planned_ad.compile(f, x, check=False)
    assert plan(x) == pytest.approx(f(x), rel=1e-14)
    check_plan(plan, x + 0.5)
