"""Whether arguments are one object: where the function asks, that is as it was recorded, or an error."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import OverlapError, TraceError

X = np.array([0.0, 0.5, 1.3])


def gram(a, b):
    k = np.exp(-((a[:, None] - b[None, :]) ** 2))
    if a is b:
        k = k + 0.1 * np.eye(len(a))
    return np.linalg.slogdet(k + 0.01 * np.eye(3))[1]


def of_attributes(o):
    return np.sum(o.a * o.b) * (5.0 if o.a is not o.b else 1.0)


def of_items(items):
    return sum(np.sum(item) for item in items) * len({id(item) for item in items})


def of_objects(p, q):
    return np.sum(p.a * q.a) * (5.0 if p is q else 1.0)


def of_dicts(a, b):
    return np.sum(a["w"] * b["w"]) * (5.0 if a is b else 1.0)


def of_lists(pair):
    return np.sum(pair[0][0] * pair[1][0]) * (5.0 if pair[0] is pair[1] else 1.0)


def among_others(a, b):
    return np.sum(a * b) * (5.0 if any(a is c for c in [b]) else 1.0)


def of_memory(a, b):
    return np.sum(a * b) * (5.0 if np.shares_memory(a, b[1:]) else 1.0)


def without_source():
    names: dict[str, Any] = {"np": np}
    exec("def f(a, b):\n    return np.sum(a * b) * (5.0 if a is b else 1.0)", names)
    return names["f"]


def both(make: Callable) -> tuple[tuple, tuple]:
    return make(X, X), make(X, X.copy())


def twice(make: Callable) -> tuple[tuple, tuple]:
    one = make(X)
    return (one, one), (one, make(X.copy()))


PROGRAMS: dict[str, tuple[Callable, tuple[tuple, tuple]]] = {
    "arrays": (gram, both(lambda a, b: (a, b))),
    "attributes": (of_attributes, both(lambda a, b: (SimpleNamespace(a=a, b=b),))),
    "ids of items": (of_items, both(lambda a, b: ([a, b],))),
    "objects": (of_objects, twice(lambda a: SimpleNamespace(a=a))),
    "dicts": (of_dicts, twice(lambda a: {"w": a})),
    "lists in a list": (of_lists, tuple([([*pair],) for pair in twice(lambda a: [a])])),  # type: ignore[dict-item]
    "among others": (among_others, both(lambda a, b: (a, b))),
    "memory": (of_memory, both(lambda a, b: (a, b))),
    "without source": (without_source(), both(lambda a, b: (a, b))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("check", (True, False))
def test_arguments_that_are_one(name: str, check: bool) -> None:
    f, (same, apart) = PROGRAMS[name]
    with pytest.raises(TraceError, match=r"which (they are in the example|one does with)"):
        planned_ad.compile(f, same, check=check)
    plan = planned_ad.compile(f, apart, check=check)
    for _ in range(2):
        assert plan(*apart) == pytest.approx(f(*apart), rel=1e-12)
        with pytest.raises(OverlapError, match="pass a copy of one"):
            plan(*same)
        with pytest.raises(OverlapError, match="pass a copy of one"):
            plan.gradient(*same)


@pytest.mark.parametrize("check", (True, False))
def test_what_does_not_ask(check: bool) -> None:
    """One array may be passed twice."""

    def f(a, b=None, mode="x"):
        total = np.sum(a * (a if b is None else b))
        return total * 2.0 if mode is not None and b is not None else total

    plan = planned_ad.compile(f, (X, X), check=check)
    for b in (X, X.copy(), 2 * X):
        assert plan(X, b) == pytest.approx(f(X, b))
    da, db = plan.gradient(X, X)
    np.testing.assert_allclose(da, 2 * X)
    np.testing.assert_allclose(db, 2 * X)


def test_one_object_within_an_argument() -> None:
    """Which objects of an argument are one is part of what a plan is for."""

    def f(items):
        return sum(np.sum(item.a) for item in items) * (2.0 if items[0] is items[1] else 1.0)

    one, other = SimpleNamespace(a=X), SimpleNamespace(a=X + 1)
    assert planned_ad.compile(f, ([one, one],))([one, one]) == f([one, one])
    plan = planned_ad.compile(f, ([one, other],))
    assert plan([one, other]) == f([one, other])
    with pytest.raises(planned_ad.errors.PlannedADError):
        plan([one, one])
