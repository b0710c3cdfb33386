"""Masked arrays that a traced function makes: as NumPy's, whether or not the mask depends on what is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planned_ad.errors import UnsupportedError
from planned_ad.trace import trace
from tests.verdicts import examine

X = np.random.default_rng(3).normal(size=7)
MASK = [0, 1, 0, 0, 1, 0, 0]
KNOWN = np.ma.array(np.arange(7.0), mask=MASK)


def masked(x):
    return np.ma.array(x, mask=MASK)


def rows(x):
    return np.ma.array(np.outer(x, x), mask=[MASK] * 7)


def assigned(x):
    m = masked(x.copy())
    m[1], m[2], m[4:6] = x[0], np.ma.masked, 2 * x[:2]
    return m.sum() + np.sum(m) + np.mean(m) + m.count()


def copied_to(x):
    m, found = masked(x * 2), x * 0
    np.copyto(found, m, where=x > 0)
    np.copyto(m, x[0], where=np.arange(7) % 2 == 1)
    return found + m.filled(9.0) + m.data


def unmasked(m):
    a = np.diag(np.arange(1.0, 8))
    e = np.zeros((2, 7))
    e[1] = m**2
    return np.dot(a, m).sum() + (a @ m).mean() + np.linalg.solve(a, m).sum() + np.dot(m, m) + np.sum(e) + a.dot(m)[0]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "reductions": lambda x: (lambda m: m.mean() + m.sum() + m.std() + m.var(ddof=1) + m.min() * m.max())(masked(x)),
    "more reductions": lambda x: masked(x).prod() + x[masked(x).argmax()] + masked(x > 0).any() + masked(x > 9).all(),
    "of functions": lambda x: np.mean(masked(x)) + np.ma.std(masked(x)) + np.max(masked(x)) + np.ma.count(masked(x)),
    "known mask": lambda x: np.ma.masked_where(np.arange(7) > 3, x).sum(),
    "traced mask": lambda x: np.ma.masked_where(x > 0.3, x).mean() + np.ma.masked_inside(x, -0.5, 0.1).sum(),
    "invalid": lambda x: np.ma.masked_invalid(np.log(x)).mean(),
    "not defined": lambda x: np.ma.log(x).sum() + np.ma.sqrt(x * x).sum() + (1 / np.ma.array(x * (x > 0))).sum(),
    "average": lambda x: np.ma.average(masked(x), weights=np.arange(7.0) + 1) + np.ma.average(x),
    "average of columns": lambda x: np.ma.average(rows(x), axis=1, weights=x * x).filled(0.0),
    "arithmetic": lambda x: ((masked(x) * 2 + x) / x**2 - np.ma.masked_less(x, 0)).filled(1.5),
    "along an axis": lambda x: rows(x).mean(axis=0).filled(-1) + rows(x).max(axis=1).data,
    "differences": lambda x: masked(x).anom().filled(0.0),
    "ufuncs": lambda x: np.sqrt(masked(x * x)).sum() + np.exp(masked(x)).mean() + np.sin(KNOWN * x).sum(),
    "plain": lambda x: np.ma.masked_greater(x, 0.2).compressed().sum() + np.ma.filled(masked(x), 0.5),
    "items": lambda x: masked(x)[2] + masked(x)[1:4].sum() * (masked(x)[1] is np.ma.masked),
    "shapes": lambda x: rows(x).T.reshape(-1)[::3].sum() + rows(x).shape[0] + len(masked(x)) + np.size(rows(x)),
    "assigned": assigned,
    "copied to": copied_to,
    "known": lambda x: (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]) * x[:3]).sum() + (KNOWN * x).sum(),
    "median": lambda x: np.ma.median(np.ma.masked_outside(x, -1, 1)),
    "nothing masked": lambda x: np.ma.array(x).sum() + np.ma.masked_array(x).mean() + np.ma.asarray(x).std(),
    "masks": lambda x: x * np.ma.getmaskarray(masked(x)) + masked(x).mask * np.ma.getdata(masked(x)),
    "joined": lambda x: (
        np.ma.vstack([masked(x), 2 * x]).sum()
        + np.ma.concatenate([x, masked(x)]).mean()
        + np.ma.atleast_2d(x).sum()
        + sum(part.sum() for part in np.ma.atleast_2d(masked(x), x))
    ),
    "linear algebra of nothing masked": lambda x: unmasked(np.ma.array(x)),
    "class": lambda x: isinstance(np.ma.array(x), np.ma.MaskedArray) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name: str) -> None:
    found = examine(FUNCTIONS[name], [(X,), (-X,)], unroll=16)
    assert found.kind == "right", found


@pytest.mark.parametrize(
    "f", [lambda x: np.where(x > 0, masked(x), x), lambda x: np.sort(masked(x)), lambda x: masked(x).dot(x)]
)
def test_what_has_no_rule_is_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="of a masked array"):
        trace(f, (X,))


def test_results_are_plain() -> None:
    with pytest.raises(UnsupportedError, match="returns a MaskedArray"):
        trace(masked, (X,))
