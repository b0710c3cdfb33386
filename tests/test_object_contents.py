"""What objects held when a loop last looked at them is used again only as long as they hold the same."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.tracing.loops.object_contents import exchangeable_parts, look_at, what_it_leads_to


class Pair:
    kept = 1.0

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def total(self, scale: float = 2.0, *, shift: float = 0.5) -> Any:
        return scale * (self.a + self.b) + shift


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b


class Other(Pair):
    pass


def closure() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    held: Any = 1.0

    def read() -> Any:
        return held

    def write(value: Any) -> None:
        nonlocal held
        held = value

    return read, write


def fresh_class() -> Any:
    return types.new_class("Fresh", (), {}, lambda body: body.update(vars_of=[1.0], f=lambda self: 1.0))


def function() -> Any:
    def f(a: Any = 1.0, *, b: Any = 2.0) -> Any:
        return a + b

    return f


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an item of a list": (lambda: [1.0, 2.0], lambda x: x.__setitem__(0, 3.0)),
    "an item that is equal, and another object": (lambda: [1.0, 2.0], lambda x: x.__setitem__(0, float("1.0"))),
    "a list grows": (lambda: [1.0, 2.0], lambda x: x.append(3.0)),
    "a list shrinks": (lambda: [1.0, 2.0], lambda x: x.pop()),
    "an order": (lambda: [1.0, 2.0], lambda x: x.reverse()),
    "a deque turns": (lambda: collections.deque([1.0, 2.0]), lambda x: x.rotate(1)),
    "a value of a dict": (lambda: {"a": 1.0}, lambda x: x.update(a=2.0)),
    "a key of a dict": (lambda: {"a": 1.0}, lambda x: x.update(b=x.pop("a"))),
    "a default of a dict": (lambda: collections.defaultdict(float), lambda x: x["a"]),
    "the order of a dict": (lambda: collections.OrderedDict(a=1.0, b=2.0), lambda x: x.move_to_end("a")),
    "a set": (lambda: {1, 2}, lambda x: x.add(3)),
    "an attribute": (lambda: Pair(1.0, 2.0), lambda x: setattr(x, "a", 3.0)),
    "a new attribute": (lambda: Pair(1.0, 2.0), lambda x: setattr(x, "c", 3.0)),
    "an attribute that is gone": (lambda: Pair(1.0, 2.0), lambda x: delattr(x, "a")),
    "a slot": (lambda: Slotted(1.0, 2.0), lambda x: setattr(x, "a", 3.0)),
    "a slot that is empty": (lambda: Slotted(1.0, 2.0), lambda x: delattr(x, "a")),
    "another class": (lambda: Pair(1.0, 2.0), lambda x: setattr(x, "__class__", Other)),
    "an attribute of a class": (fresh_class, lambda x: setattr(x, "kept", 2.0)),
    "a method of a class": (fresh_class, lambda x: setattr(x, "f", lambda self: 2.0)),
    "a default of a function": (function, lambda x: setattr(x, "__defaults__", (2.0,))),
    "a default by name": (function, lambda x: x.__kwdefaults__.update(b=3.0)),
    "an attribute of a function": (function, lambda x: setattr(x, "calls", 1)),
    "the code of a function": (function, lambda x: setattr(x, "__code__", (lambda a, b: a).__code__)),
    "a variable of a closure": (lambda: closure()[0], lambda x: setattr(x.__closure__[0], "cell_contents", 2.0)),
    "what a namespace holds": (lambda: types.SimpleNamespace(a=1.0), lambda x: setattr(x, "a", 2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name: str) -> None:
    make, change = CHANGES[name]
    obj = make()
    holding = look_at(obj)
    assert holding.is_up_to_date()
    assert look_at(obj).is_up_to_date(), "looking changes nothing"
    change(obj)
    assert not holding.is_up_to_date()


@pytest.mark.parametrize(
    "obj",
    [
        np.arange(3.0),
        np.array([None]),
        bytearray(b"a"),
        functools.partial(max, 1),
        type("Items", (list,), {})(),
        iter([1]),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_what_changes_in_other_ways_is_looked_at_each_time(obj: Any) -> None:
    assert exchangeable_parts(obj) is None


@pytest.mark.parametrize("make", [make for make, _ in CHANGES.values()], ids=CHANGES.keys())
def test_all_that_is_found_is_told_by_the_parts(make: Callable[[], Any]) -> None:
    obj = make()
    parts = exchangeable_parts(obj)
    assert parts is not None
    made_anew = (type(None), dict, types.GetSetDescriptorType)
    for place, value in what_it_leads_to(obj):
        fixed = isinstance(value, type | types.FunctionType) or type(value) in made_anew
        assert fixed or any(value is part or (type(part) is tuple and value in part) for part in parts), place


def test_methods_and_classes_that_a_loop_changes() -> None:
    """Each change is made in an iteration in which much else around the loop is as it was."""

    def f(x: Any) -> Any:
        pair, scale = Pair(x[0], x[1]), [1.0, 2.0]
        total = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                pair.a = pair.a * x[i]
                scale[0] = scale[0] + x[i]
            else:
                pair.b = pair.b + scale[0]
            total = total + pair.total() * scale[0]
        return total

    x = np.array([0.3, 0.8, 0.6, 0.2, 0.9, 0.4])
    plan = planned_ad.compile(f, x)
    for other in (x, x[::-1].copy(), x + 0.25):
        dx = np.zeros_like(x)
        value = plan.value_and_gradient(other, dx)[0]
        assert value == pytest.approx(f(other), rel=1e-14)
        step = 1e-6
        slopes = [(f(other + step * e) - f(other - step * e)) / (2 * step) for e in np.eye(len(x))]
        np.testing.assert_allclose(dx, slopes, rtol=1e-7)
