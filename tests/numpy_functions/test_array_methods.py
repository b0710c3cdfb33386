"""The methods of arrays, with the arguments by position and by name that NumPy's have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad

A = np.random.default_rng(0).normal(size=(3, 4))
MASK, ROWS = np.array([True, False, True]), np.array([2, 0])
WITHOUT = {  # which are no numbers of a traced array, or change it, with tests of their own
    "byteswap", "ctypes", "data", "dump", "dumps", "getfield", "itemset", "newbyteorder", "resize", "setfield",
    "setflags", "tobytes", "tofile", "tostring", "to_device", "view", "tolist", "fill", "sort", "partition", "put",
    "argpartition", "flat", "searchsorted", "choose", "conj", "conjugate", "nonzero", "item", "astype",
}  # fmt: skip

METHODS: dict[str, Callable[[Any], Any]] = {
    "compress": lambda a: a.compress(MASK, 0),
    "compress of all": lambda a: a.compress([0, 1, 1, 0, 0, 1]),
    "compress by name": lambda a: a.compress(axis=1, condition=[True, False, True, True]),
    "compress by data": lambda a: a.compress(a[:, 0] > -0.1, axis=0),
    "take": lambda a: a.take(ROWS, 0),
    "take of all": lambda a: a.take([5, 1, 1]),
    "take by name": lambda a: a.take(axis=1, indices=ROWS),
    "repeat": lambda a: a.repeat(2, 1),
    "repeat of all": lambda a: a.repeat([2] * 12),
    "sum": lambda a: a.sum(0, None, None, True),
    "prod": lambda a: a.prod(1),
    "mean": lambda a: a.mean(0, np.float64),
    "var": lambda a: a.var(1, None, None, 1),
    "std": lambda a: a.std(0, None, None, 1, True),
    "max": lambda a: a.max(0, None, True),
    "min": lambda a: a.min(1),
    "any": lambda a: (a > 2.0).any(0) + a[0],
    "all": lambda a: (a > -2.0).all(0) + a[0],
    "cumsum": lambda a: a.cumsum(1),
    "cumprod": lambda a: a.cumprod(0),
    "round": lambda a: a.round(1) + a,
    "dot": lambda a: a.dot(a.T),
    "trace": lambda a: a.trace(1, 0, 1),
    "diagonal": lambda a: a.diagonal(-1, 0, 1),
    "argmax": lambda a: a.argmax(1) * a[:, 0],
    "argmin": lambda a: a.argmin(0) * a[0],
    "argsort": lambda a: a.argsort(0) * a,
    "clip": lambda a: a.clip(-0.5, 0.5),
    "ptp": lambda a: np.ptp(a, 0) + a[0],
    "swapaxes": lambda a: a.swapaxes(0, 1) * 2,
    "transpose": lambda a: a.transpose(1, 0) * 2,
    "reshape": lambda a: a.reshape(2, 6) * 2,
    "ravel": lambda a: a.ravel("F") * 2,
    "flatten": lambda a: a.flatten("F") * 2,
    "squeeze": lambda a: a[None].squeeze(0) * 2,
    "copy": lambda a: a.copy("F") * 2,
}


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    def loss(a):
        found = METHODS[name](a)
        return np.sum(found * np.cos(np.arange(found.size)).reshape(found.shape))

    def swapped(a):  # on a way that nothing is compared with
        return loss(a) if a[0, 0] > 5.0 else np.sum(a)

    direction = np.random.default_rng(1).normal(size=A.shape)
    plan, other = planned_ad.compile(loss, (A,)), planned_ad.compile(swapped, (A,))
    B = A.copy()
    B[0, 0] = 6.0
    slope = (loss(A + 1e-7 * direction) - loss(A - 1e-7 * direction)) / 2e-7
    assert plan(A) == pytest.approx(loss(A), rel=1e-13)
    assert np.sum(plan.gradient(A) * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)
    assert other(B) == pytest.approx(loss(B), rel=1e-13)


def test_all_methods_are_tried():
    methods = {name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))}
    assert methods - {name.split()[0] for name in METHODS} <= WITHOUT


@pytest.mark.parametrize("f", [lambda z: z.compress(MASK, 0), lambda z: z.take(ROWS, 0), lambda z: z.repeat(2, 1)])
def test_of_complex_arrays(f):
    def loss(a):
        found = f(a * (1 + 2j) + 1j)
        return np.sum(np.abs(found * np.arange(found.size).reshape(found.shape)) ** 2)

    assert planned_ad.compile(loss, (A,))(A) == pytest.approx(loss(A), rel=1e-13)
