"""Batches: one loop over the items, whatever the function of an item is."""

import numpy as np

import planned_ad


def curved(p):
    return (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2


def carried(p):
    for _ in range(30):
        p = p - 1e-3 * curved(p) * p
    return p


def descended(p):
    for _ in range(30):
        g, h = planned_ad.grad(curved)(p), planned_ad.hessian(curved)(p)
        p = p - 1e-3 * (g + 1e-3 * h[0])
    return p


def check(function):
    points = np.random.default_rng(0).normal(size=(40, 2))
    plan = planned_ad.compile(planned_ad.vectorize(function), points)
    found = plan(points)
    assert plan.explain("call").fallbacks == ()
    assert plan.explain("call").steps < 10
    single = planned_ad.compile(function, points[0])
    np.testing.assert_allclose(found, [single(p) for p in points], rtol=1e-13)
    return points, found


def test_an_array_that_a_loop_hands_on_is_an_item_of_the_result():
    points, found = check(carried)
    np.testing.assert_allclose(found, [carried(p) for p in points], rtol=1e-12)


def test_derivatives_in_loops_in_a_batch_stay_in_its_loop():
    check(descended)
