"""The shape and the flags of an array that are set in place, in loops and on sides of branches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import planned_ad

from .sweeps import name_of, rotated


def read_before_and_after(x):
    a = x.copy()
    total = a[0] * 1.0
    a.shape = (2, 2)
    return total + a[0].sum() + 3 * a[-1].sum()


def on_one_side(x):
    a = x.copy()
    if x[0] > 0.5:
        a.shape = (2, 2)
    return a[0].sum() + 3 * a[-1].sum()


def in_a_loop(x):
    a, total = x.copy(), 0.0
    for v in x:
        if v > 0.5:
            a.shape = (2, 2)
        total += a[0].sum()
    return total


def flags(x):
    a, total = x * 1.0, 0.0
    for v in x:
        if v > 0.5:
            a.flags.writeable = False
        if a.flags.writeable:
            a[0] += v
        total += a[0] * v
    return total


@pytest.mark.parametrize(
    ("f", "options"),
    rotated([read_before_and_after, on_one_side, in_a_loop, flags], [{}, {"unroll": 0}, {"on_branch": "record"}]),
    ids=name_of,
)
def test_in_place(f: Callable, options: dict) -> None:
    rng = np.random.default_rng(0)
    plan = planned_ad.compile(f, (rng.random(4),), check=False, **options)
    for x in rng.random((12, 4)):
        assert plan(x) == pytest.approx(f(x), rel=1e-13)
