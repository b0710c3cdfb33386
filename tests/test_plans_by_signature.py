"""`grad(f)` and `function(f)` keep a plan for each signature: arguments that differ in one have another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import planned_ad
from planned_ad.functional.by_signature import plain_key, signature
from planned_ad.python.structure import Const


@dataclass
class Record:
    a: Any
    b: Any


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Pair(NamedTuple):
    a: Any
    b: Any


x, record = np.arange(3.0), Record(1.0, 2.0)
DIFFERENT: tuple[tuple, ...] = (
    (x,),
    (x.astype(np.float32),),
    (np.arange(6.0)[::2],),
    (np.arange(4.0),),
    (1.0,),
    (np.float64(1.0),),
    (1,),
    (2,),
    (True,),
    ("1",),
    (None,),
    (x, x),
    (x, x.copy()),
    ((x,),),
    ([x],),
    ([x, x],),
    ([x, x.copy()],),
    ({"a": 1.0, "b": x},),
    ({"b": x, "a": 1.0},),
    ({"a": 1.0},),
    ({"a": (1.0,)},),
    (Pair(1.0, x),),
    (Record(1.0, x),),
    (Record(x, 1.0),),
    (Slotted(1.0, x),),
    ([record, record],),
    ([Record(1.0, 2.0), Record(1.0, 2.0)],),
    (Const(x),),
    ({"a": Const(1.0), "b": x},),
    (1 + 2j,),
)


def test_signatures() -> None:
    """Plain keys tell apart what signatures tell apart, and no more."""
    keys = [plain_key(args) or signature(args, {}) for args in DIFFERENT]
    for k, key in enumerate(keys):
        assert [other == key for other in keys] == [k == j for j in range(len(keys))], DIFFERENT[k]
    assert plain_key((Record(3.0, x + 1),)) == plain_key((Record(1.0, x),))
    assert plain_key(({"a": 7.0, "b": x[::-1][::-1] * 2},)) == plain_key(({"a": 1.0, "b": x},))


def test_what_is_not_plain() -> None:
    endless: list = []
    endless.append(endless)
    for args in ((endless,), (Const(1.0),), ([record, record],), (1j,), ({1.0, 2.0},)):
        assert plain_key(args) is None


@pytest.mark.parametrize("made", (planned_ad.grad, lambda f: planned_ad.function(f).gradient))
def test_calls_of_containers(made: Callable) -> None:
    """Each call by the plan of its signature; the static parts of arguments decide as arrays do."""

    def f(p, n):
        return np.sum(p["w"] ** n) + p["o"].a * p["o"].b

    gradient = made(f)
    for n in (2, 3, 2):
        for size in (3, 4, 3):
            p = {"w": np.arange(size) + 1.0, "o": Record(2.0, 5.0)}
            found = gradient(p, n)
            np.testing.assert_allclose(found["w"], n * p["w"] ** (n - 1), rtol=1e-15)
            assert (found["o"].a, found["o"].b) == (5.0, 2.0)


def test_what_is_marked_constant_is_handed_through() -> None:
    gradient = planned_ad.function(lambda p: p["o"].a * p["o"].b * np.sum(p["w"])).gradient
    for b, expected in ((5.0, 6.0), (Const(5.0), 5.0), (5.0, 6.0)):
        assert gradient({"w": np.ones(3), "o": Record(2.0, b)})["o"].b == expected


def test_an_object_in_two_places() -> None:
    """It is one object, whose number has one derivative."""
    gradient = planned_ad.grad(lambda pair: pair[0].a * pair[1].a)
    one, other = Record(3.0, 0.0), Record(2.0, 0.0)
    found = gradient([one, other])
    assert (found[0].a, found[1].a) == (2.0, 3.0)
    found = gradient([one, one])
    assert found[0] is found[1] and found[0].a == 6.0
