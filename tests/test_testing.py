"""The public checks of derivatives find what is wrong, and name it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import planned_ad
from planned_ad.testing import check_grads, check_rule

X = np.array([0.3, -1.0, 2.0])


def rule(dx=lambda x, y, ct: ct * y, dy=lambda x, y, ct: ct * x, f=lambda x, y: x * y):
    function = planned_ad.custom_rule(f)
    function.vjp(needs="x, y")(lambda x, y, ct: (dx(x, y, ct), dy(x, y, ct)))
    return function


def test_what_is_right_passes():
    check_rule(rule(), (X, X + 1), order=2)
    check_grads(lambda p, n: [p["w"] @ p["b"] * n, p["s"] ** 2], ({"w": np.eye(2), "b": np.ones(2), "s": 2.0}, 3))


def test_single_precision_passes():
    check_grads(lambda x: np.sin(x) * x, X.astype(np.float32))


def test_a_wrong_cotangent_is_found_with_its_place():
    def wrong(x, y, ct):
        return ct * x * np.where(x > 1, 1.001, 1.0)

    with pytest.raises(AssertionError, match=r"derivative by `y`, in reverse mode, .* Most wrong is the element \[2\]"):
        check_rule(rule(dy=wrong), (X, X + 1))


def test_a_wrong_second_derivative_is_found():
    constant = planned_ad.custom_rule(lambda y: 1 * y)
    constant.vjp(needs="")(lambda ct: None)
    wrong = rule(dx=lambda x, y, ct: ct * constant(y))
    check_rule(wrong, (X, X + 1))
    with pytest.raises(AssertionError, match="derivative by `y`, in reverse mode"):
        check_rule(wrong, (X, X + 1), order=2)


def test_a_wrong_tangent_is_found():
    function = rule()
    function.jvp(needs="x, y")(lambda x, y, dx, dy: dx * y + 2 * dy * x)
    with pytest.raises(AssertionError, match="derivative by `y`, in forward mode"):
        check_rule(function, (X, X + 1))


def test_modes_that_differ_by_little_are_found():
    function = rule()
    function.jvp(needs="x, y")(lambda x, y, dx, dy: dx * y * (1 + 1e-8) + dy * x)
    with pytest.raises(AssertionError, match="forward and reverse mode differ in `x`"):
        check_rule(function, (X, X + 1))


def test_another_value_is_found():
    @planned_ad.opaque(result=lambda x: x)
    def drifting(x):
        return x + next(drift)

    drift = itertools.count()
    drifting.vjp(needs="")(lambda ct: ct)
    with pytest.raises(AssertionError, match="drifting: the result of a plan is"):
        check_rule(drifting, X)


def test_another_derivative_at_the_second_run_is_found():
    @planned_ad.opaque(result=lambda x: x)
    def steady(x):
        return 2 * x

    drift = itertools.count()
    steady.vjp(needs="", opaque=True)(lambda ct: ct * (2 + 1e-12 * next(drift)))
    with pytest.raises(AssertionError, match="a second run gives another derivative by `x`"):
        check_rule(steady, X)


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(TypeError, match="check_rule takes what custom_rule"):
        check_rule(np.sin, X)
    with pytest.raises(ValueError, match="no argument is a floating array"):
        check_grads(lambda n: n, 3)
    with pytest.raises(ValueError, match="modes are"):
        check_grads(np.sin, X, modes=("backward",))
