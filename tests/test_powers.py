"""Powers by arrays of whole numbers that are known: products, of which each element has one."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.passes.pipeline import simplify
from planned_ad.tape.tape import Apply, walk
from planned_ad.trace import trace

ORDERS = np.array([[0, 1, 2], [3, 0, 1]])
WEIGHTS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def by_integers(x):
    return np.sum(WEIGHTS * x**ORDERS)


def by_floats(x):
    return np.sum(WEIGHTS * np.power(x, ORDERS.astype(float)))


@pytest.mark.parametrize("f", [by_integers, by_floats])
def test_few_orders_are_products(f):
    names = {op.primitive for op in walk(simplify(trace(f, (WEIGHTS,)).tape).operations) if isinstance(op, Apply)}
    assert "integer_power" in names and "power" not in names


@pytest.mark.parametrize("f", [by_integers, by_floats])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_at_their_edges(f):
    plan = planned_ad.compile(f, (np.ones((2, 3)),))
    for row in (
        [0.0, 1.0, -2.0, np.inf, -0.0, 3.0],
        [1e200, 0.0, 1e100, 1e-200, -np.inf, 0.0],
        [2.0, 3.0, 4.0, 0.5, 0.0, 7.0],
    ):
        x = np.reshape(row, (2, 3))
        np.testing.assert_allclose(plan(x), f(x), rtol=1e-14)
        slopes = np.where(ORDERS > 0, ORDERS * np.power(x, np.maximum(ORDERS - 1.0, 0.0)), 0.0) * WEIGHTS
        np.testing.assert_allclose(plan.gradient(x), slopes, rtol=1e-14)


def test_other_orders_stay_powers():
    for orders in (np.array([0.5, 1.0, 2.0]), np.array([-1, 0, 1]), np.arange(6)):
        x = np.linspace(0.5, 2.0, len(orders))
        tape = simplify(trace(lambda x, orders=orders: np.sum(x**orders), (x,)).tape)
        assert "power" in {op.primitive for op in walk(tape.operations) if isinstance(op, Apply)}
