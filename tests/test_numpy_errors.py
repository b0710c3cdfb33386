"""Errors of NumPy that the program has raised and catches: a plan goes the way of the `except`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BoundsError, UnsupportedError
from planned_ad.trace import trace

from .recorded_loops import loops_of
from .verdicts import examine


def by_kind(x):
    with np.errstate(divide="raise", over="raise"):
        try:
            return np.sum(1.0 / x) + np.exp(x[0])
        except FloatingPointError:
            return np.sum(x * x)


def of_warnings(x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("error")
        try:
            return np.sum(np.sqrt(x) * np.log(x))
        except (ArithmeticError, RuntimeWarning):
            return np.sum(x * x)


def of_some_kinds(x):
    """Invalid numbers are not raised."""
    with np.errstate(divide="raise"):
        try:
            y = np.sqrt(x)
            return np.nansum(y) + np.sum(1 / (x + 2.0))
        except ArithmeticError:
            return np.sum(x * x)


def in_a_function(x):
    def inverse(v):
        return v**-1.0 + v % 0.7

    old = np.seterr(divide="raise")
    try:
        found = inverse(x[0]) * x
    except FloatingPointError:
        found = x * 2.0
    finally:
        np.seterr(**old)
    return np.sum(found * found)


def in_a_loop(x):
    total = 0.0
    with np.errstate(divide="raise"):
        for i in range(24):
            try:
                total = total + 1.0 / x[i % 3]
            except FloatingPointError:
                total = total + 7.0 * x[0] + i
    return total


def of_warnings_in_a_loop(x):
    total = 0.0
    for v in np.concatenate([x, 2 * x, x + 1.0, 3 * x, x - 1.0, x * x]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                total = total + np.sqrt(v)
            except RuntimeWarning:
                total = total + 7.0 * v
    return total


def not_raised(x):
    """Python's own numbers raise their own errors."""
    with np.errstate(divide="raise"):
        try:
            return x[0].item() / (x[1].item() + 1.0) + np.sum(x)
        except FloatingPointError:
            return np.sum(x)


def of_some_warnings(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "invalid value")
        warnings.filterwarnings("ignore", "divide")
        try:
            return np.sum(np.sqrt(x)) + np.sum(1.0 / (x * x + 1.0))
        except RuntimeWarning:
            return np.sum(x * x)


def by_module(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module=r".*test_numpy_errors")
        try:
            return np.sum(np.sqrt(x))
        except RuntimeWarning:
            return np.sum(x * x)


def recorded(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = np.sum(np.sqrt(x)) + np.sum(1.0 / x)
    invalid = sum("invalid" in str(each.message) for each in caught)
    return y if not caught else len(caught) * x[0] + invalid * x[1]


def recorded_in_a_loop(x):
    y = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(20):
            y = y + np.sqrt(x[k % 3] + 0.1 * k)
    return y if not caught else len(caught) * x[0]


def shown(x):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest, **options: found.append(message)
        y = np.sum(np.sqrt(x))
    return y if not found else np.sum(x)


def called(x):
    found = []
    with np.errstate(divide="call", invalid="call", call=lambda kind, flag: found.append((kind, flag))):
        y = np.sum(np.sqrt(x + 0.25)) + np.sum(np.log(x + 1.75))
    return y if not found else len(found) * x[0] + sum(flag for _, flag in found)


def called_in_a_loop(x):
    flags = 0

    def note(kind, flag):
        nonlocal flags
        flags = flags + flag

    old, before = np.seterr(invalid="call"), np.seterrcall(note)
    for k in range(30):
        np.sqrt(x[k % 3] + 0.01 * k)
    np.seterr(**old)
    np.seterrcall(before)
    return np.sum(x) * (flags + 1)


DATA = [np.array(x) for x in ([0.5, 1.5, 2.5], [0.0, 1.0, 2.0], [800.0, 1.0, 2.0], [-0.5, 1.5, -2.0], [-2.0, 1.0, 0.0])]
PROGRAMS = (
    by_kind, of_warnings, of_some_kinds, in_a_function, in_a_loop, of_warnings_in_a_loop, not_raised, of_some_warnings,
    by_module, recorded, recorded_in_a_loop, shown, called, called_in_a_loop,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_way_of_the_except(f: Callable[..., Any]) -> None:
    for k in range(len(DATA)):
        verdict = examine(f, [(x,) for x in DATA[k:] + DATA[:k]], unroll=0)
        assert verdict.kind == "right", verdict


@pytest.mark.parametrize("f", [in_a_loop, of_warnings_in_a_loop])
def test_loops_stay_loops(f: Callable[..., Any]) -> None:
    assert loops_of(trace(f, (DATA[0],)))


@pytest.mark.parametrize("prod", [np.prod, np.multiply.reduce, lambda x: x.prod(), lambda x: x[:1] @ x[1:2]])
def test_functions_that_are_no_ufuncs(prod: Callable[..., Any]) -> None:
    def product(x):
        with np.errstate(over="raise"):
            try:
                return prod(x)
            except FloatingPointError:
                return np.sum(x)

    plan = planned_ad.compile(product, DATA[0])
    assert plan(DATA[1]) == 0.0 and np.isinf(plan(np.array([np.inf, 1.0, 2.0])))
    with pytest.raises(BoundsError, match="gives infinity"):
        plan(np.array([1e300, 1e300, 1.0]))


def test_a_filter_around_the_plan_that_has_warnings_raised() -> None:
    def f(x):
        try:
            return np.sum(np.sqrt(x))
        except RuntimeWarning:
            return np.sum(x**2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = planned_ad.compile(f, np.ones(3))
        for x in (np.array([1.0, 4.0, 9.0]), np.array([1.0, -4.0, 9.0])):
            assert plan(x) == f(x)


def test_underflow_is_refused() -> None:
    def f(x):
        with np.errstate(all="call", call=lambda kind, flag: None):
            return np.sum(np.exp(x))

    with pytest.raises(UnsupportedError, match="each underflow"):
        planned_ad.compile(f, DATA[0])


def test_a_record_that_nobody_looks_at_asks_nothing() -> None:
    def f(x):
        with warnings.catch_warnings(record=True):
            return np.sum(np.sqrt(x))

    assert "guards" not in str(planned_ad.compile(f, DATA[0]).explain())
