"""State that a loop's body changes where nothing is put back, and whose effect comes late, at other numbers only.

Neither what the first passes record shows it, nor the check: that it changes is enough for the loop to be unrolled.
"""

from __future__ import annotations

import argparse
import array
import collections
import contextlib
import contextvars
import ctypes
import enum
import functools
import hashlib
import hmac
import io
import itertools
import mmap
import operator
import queue
import re
import tempfile
import threading
import types
import unittest.mock
import weakref
import xml.etree.ElementTree
import xml.parsers.expat
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import planned_ad
from planned_ad.trace import trace
from planned_ad.tracing.loops import hidden_state
from planned_ad.tracing.loops.hidden_state import held_by, is_iterator, may_hide
from planned_ad.tracing.loops.state import State

from .tracing_oracle import assert_same, replay

EXAMPLE, LATER = np.linspace(0.2, 1.2, 24), np.linspace(1.0, 3.0, 24)


def penalty(x: Any, tick: Callable[[], int]) -> Any:
    total = 0.0
    for v in x:
        total += v + np.maximum(v - 1.5, 0) * (1.0 if tick() < 20 else 7.0)
    return total


class Mode(enum.Enum):
    COLD = 1


class Meta(type):
    made = 0

    def __call__(cls):
        Meta.made += 1
        return super().__call__()


class Made(metaclass=Meta):
    pass


class Plain:
    pass


class Base:
    n = 0


class Derived(Base):
    pass


class Counting:
    n = 0

    def __get__(self, obj, kind=None):
        self.n += 1
        return self.n


class Three(tuple):
    pass


def attribute_of(make: Callable[[], Any]) -> Callable:
    def f(x):
        obj = make()
        obj.n = 0

        def tick():
            obj.n += 1
            return obj.n

        return penalty(x, tick)

    return f


def through(make: Callable[[Any], Callable[[], Any]]) -> Callable:
    """A counter in an object that is reached by what `make` makes of it."""

    def f(x):
        obj = Plain()
        obj.n = 0
        reach = make(obj)

        def tick():
            reach().n += 1
            return reach().n

        return penalty(x, tick)

    return f


def first_of(items: Any) -> Callable[[], Any]:
    return lambda: next(iter(items))


def metaclass(x):
    Meta.made = 0

    def tick():
        Made()
        return Meta.made

    return penalty(x, tick)


def descriptor(x):
    class A:
        k = Counting()

    a = A()
    return penalty(x, lambda: a.k)


def base_class(x):
    Base.n = 0

    def tick():
        Base.n += 1
        return Derived.n

    return penalty(x, tick)


def property_function(x):
    class A:
        @property
        def k(self):
            A.k.fget.n += 1
            return A.k.fget.n

    A.k.fget.n = 0
    a = A()
    return penalty(x, lambda: a.k)


def keywords_of_a_partial(x):
    p = functools.partial(lambda n: n, n=0)

    def tick():
        p.keywords["n"] += 1
        return p()

    return penalty(x, tick)


def variable_of_a_context(x):
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    def tick():
        variable.set(variable.get() + 1)
        return variable.get()

    return contextvars.copy_context().run(penalty, x, tick)


def in_bytes(make: Callable[[], Any]) -> Callable:
    def f(x):
        held = make()

        def tick():
            held[0] += 1
            return held[0]

        return penalty(x, tick)

    return f


def in_a_queue(x):
    waiting: queue.Queue = queue.Queue()

    def tick():
        waiting.put(1)
        return waiting.qsize()

    return penalty(x, tick)


def in_a_file(x):
    file = io.StringIO()

    def tick():
        file.write("a")
        return file.tell()

    return penalty(x, tick)


def read_from_a_file(x):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(range(1, 61)))
        file.seek(0)
        return penalty(x, lambda: file.read(1)[0])


def calls_of_a_mock(x):
    mock = unittest.mock.Mock()

    def tick():
        mock()
        return mock.call_count

    return penalty(x, tick)


def decorating_context(x):
    class Context(contextlib.ContextDecorator):
        n = 0

        def __enter__(self):
            Context.n += 1

        def __exit__(self, *error):
            pass

    @Context()
    def tick():
        return Context.n

    return penalty(x, tick)


def awaiting(x):
    class Wait:
        def __init__(self, n):
            self.n = n

        def __await__(self):
            yield self.n

    async def counting():
        n = 0
        while True:
            n += 1
            await Wait(n)

    coroutine = counting()
    try:
        return penalty(x, lambda: coroutine.send(None))
    finally:
        coroutine.close()


def stepping(make: Callable[[], Any]) -> Callable:
    def f(x):
        items = make()
        return penalty(x, lambda: next(items))

    return f


def children(x):
    element = xml.etree.ElementTree.Element("a")

    def tick():
        element.set("n", str(int(element.get("n", "0")) + 1))
        return int(element.get("n"))

    return penalty(x, tick)


def children_of_a_seed(x):
    seed = np.random.SeedSequence(1)

    def tick():
        seed.spawn(1)
        return seed.n_children_spawned

    return penalty(x, tick)


def in_a_class_in_c(make: Callable[[], Any], move_on: Callable[[Any], int]) -> Callable:
    def f(x):
        found = make()
        return penalty(x, lambda: move_on(found))

    return f


def hashed(found: Any) -> int:
    found.update(b"a")
    return 30 * (found.digest()[0] > 245)


def opened_parser() -> Any:
    parser = xml.parsers.expat.ParserCreate()
    parser.Parse("<a>")
    return parser


def written_to(memory: mmap.mmap) -> int:
    memory[0] += 1
    return memory[0]


def parsed(parser: Any) -> int:
    parser.Parse("<a/>")
    return parser.CurrentByteIndex // 4


def when_gone(notice: Callable[[list], Callable[[], Any]]) -> Callable:
    """A counter of objects that are gone, each when the next one takes its name."""

    def f(x):
        gone = [0]
        make = notice(gone)
        total = 0.0
        for v in x:
            held = make()  # noqa: F841
            total += v + np.maximum(v - 1.5, 0) * (1.0 if gone[0] < 20 else 7.0)
        return total

    return f


def finaliser(gone: list) -> Callable[[], Any]:
    class Gone:
        def __del__(self):
            gone[0] += 1

    return Gone


def callback(gone: list) -> Callable[[], Any]:
    class Gone:
        pass

    references = []

    def notice(reference):
        gone[0] += 1

    def make():
        obj = Gone()
        references.append(weakref.ref(obj, notice))
        return obj

    return make


def items_left(x):
    items = reversed(list(range(40)))
    total = 0.0
    for v in x:
        if v > 0.7:
            total += v * next(items)
        total += v * operator.length_hint(items)
    return total


PROGRAMS: dict[str, Callable] = {
    "member of an enum": attribute_of(lambda: Mode.COLD),
    "namespace": attribute_of(argparse.Namespace),
    "exception": attribute_of(ValueError),
    "module": attribute_of(lambda: types.ModuleType("m")),
    "thread": attribute_of(threading.local),
    "tuple": attribute_of(lambda: Three((1, 2))),
    "bounds": attribute_of(lambda: scipy.optimize.Bounds([0.0], [1.0])),
    "key": through(lambda obj: first_of({obj: 1})),
    "frozenset": through(lambda obj: first_of(frozenset([obj]))),
    "object array": through(lambda obj: first_of(np.array([obj], object))),
    "weak reference": through(weakref.ref),
    "slice": through(lambda obj: lambda s=slice([obj], None): s.start[0]),
    "proxy": through(lambda obj: first_of(types.MappingProxyType({"a": obj}).values())),
    "bytearray": in_bytes(lambda: bytearray(1)),
    "array": in_bytes(lambda: array.array("i", [0])),
    "ctypes": in_bytes(lambda: (ctypes.c_int * 2)()),
    "permutations": stepping(lambda: map(lambda p: 20 * (p[0] == 3), itertools.permutations(range(4)))),
    "dropwhile": stepping(lambda: itertools.dropwhile(lambda k: k < 3, range(60))),
    "accumulate": stepping(lambda: itertools.accumulate([1] * 60)),
    "callable": stepping(lambda: iter(list(range(60, 0, -1)).pop, 0)),
    "matches": stepping(lambda: map(lambda m: m.end(), re.finditer("a", "a" * 60))),
    "finaliser": when_gone(finaliser),
    "callback": when_gone(callback),
    "hash": in_a_class_in_c(hashlib.sha256, hashed),
    "keyed hash": in_a_class_in_c(lambda: hmac.new(b"a", digestmod="md5"), hashed),
    "memory": in_a_class_in_c(lambda: mmap.mmap(-1, 8), written_to),
    "scanner": in_a_class_in_c(lambda: re.compile("a").scanner("a" * 60), lambda scanner: scanner.match().end()),
    "parser": in_a_class_in_c(opened_parser, parsed),
    "deque": stepping(lambda: iter(collections.deque(range(60)))),
} | {
    f.__name__: f
    for f in (
        metaclass, descriptor, base_class, property_function, keywords_of_a_partial, variable_of_a_context, in_a_queue,
        in_a_file, read_from_a_file, calls_of_a_mock, decorating_context, awaiting, children, children_of_a_seed,
    )
}  # fmt: skip
ROLLED = ("key", "frozenset", "slice", "base_class", "property_function", "keywords_of_a_partial", "decorating_context")


@pytest.mark.parametrize("name", PROGRAMS)
def test_late_effects_of_hidden_state(name: str) -> None:
    f = PROGRAMS[name]
    traced = trace(f, (EXAMPLE,), unroll=0)
    for x in EXAMPLE, LATER:
        assert_same(replay(traced, x)[0], f(x))
    assert traced.unrolled or name in (*ROLLED, "object array", "proxy", "descriptor")


@pytest.mark.parametrize("name", ["namespace", "bytearray"])
def test_it_takes_the_look_to_see_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(State, "changed_contents", lambda *args: "")
    f = PROGRAMS[name]
    with pytest.raises(AssertionError):
        assert_same(replay(trace(f, (EXAMPLE,), unroll=0), LATER)[0], f(LATER))


def test_what_cannot_be_looked_into_is_tried_with_other_inputs() -> None:
    def f(x):
        with tempfile.TemporaryFile("wb") as file:
            return penalty(x, lambda: file.write(b"a") * file.tell())

    plan = planned_ad.compile(f, EXAMPLE, unroll=0)
    assert plan(LATER) == pytest.approx(f(LATER))
    assert "gives something else than the function" in plan.explain().fallbacks[0]


def test_what_moves_on_on_one_side_of_a_branch_unrolls() -> None:
    def f(x):
        scanner = re.compile(".").scanner("aaaaaaaaaabaaaab" * 10)
        total = 0.0
        for k in range(len(x) - 1):
            if x[k] * x[k + 1] < -0.3:
                total += x[k] if scanner.match().group() == "a" else -3 * x[k]
            else:
                total *= 0.9
        return total

    plan = planned_ad.compile(f, (EXAMPLE,), unroll=0, check=False, max_variants=100)
    for x in np.random.default_rng(0).normal(size=(6, 24)):
        assert plan(x) == pytest.approx(f(x))


def test_how_many_items_are_left() -> None:
    assert_same(replay(trace(items_left, (EXAMPLE,), unroll=0), EXAMPLE)[0], items_left(EXAMPLE))


def test_the_reason_names_the_object() -> None:
    (reason,) = trace(PROGRAMS["namespace"], (EXAMPLE,), unroll=0).unrolled
    assert "changes a `Namespace`, which is not put back between its iterations" in reason.reason


@pytest.mark.parametrize("obj", [1, 2.0, "a", None, np.float64(1), np.dtype(float), np.sin, len, range, re, object()])
def test_what_has_no_state(obj: object) -> None:
    assert not may_hide(obj) and not is_iterator(type(obj))


def test_what_is_looked_at_is_bounded() -> None:
    chain: Any = None
    for _ in range(10_000):
        chain = argparse.Namespace(next=chain)
    assert len(held_by(chain).parts) == hidden_state.MOST


def test_what_libraries_keep_in_caches_is_no_state() -> None:
    table = argparse.Namespace(rate=2.0, _item_cache=None)

    def f(x):
        total = 0.0
        for v in x:
            if table._item_cache is None:
                table._item_cache = {"rate": 2.0}
            total += v * table.rate
        return total

    assert not trace(f, (EXAMPLE,), unroll=0).unrolled


def test_objects_beside_a_loop_leave_it_rolled() -> None:
    held = argparse.Namespace(rate=2.0, lock=threading.Lock(), names=["a"], pattern=re.compile("a"))

    def f(x):
        total = 0.0
        for v in x:
            if held.pattern.match("a"):
                total += v * held.rate
        return total

    traced = trace(f, (EXAMPLE,), unroll=0)
    assert not traced.unrolled
    assert_same(replay(traced, LATER)[0], f(LATER))
