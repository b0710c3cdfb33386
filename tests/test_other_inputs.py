"""State that nobody has thought of, set in a branch of a loop: other inputs than the example show that it counts.

Each function sets something once an item is large, and reads it in every iteration. No enumeration of what Python can
hide knows all of it; in what the loop's body records it shows no more once it is set.
"""

from __future__ import annotations

import array
import ctypes
import decimal
import io
import logging
import threading
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.check import checked
from planned_ad.calls.check.checked_traces import traced_and_checked
from planned_ad.calls.check.other_inputs import may_vary, other_inputs, telling_numbers
from planned_ad.errors import PlannedADError, TraceError
from planned_ad.tape.interpret import interpret, memory_of
from planned_ad.tape.loop_code import TapeInterpreter
from planned_ad.trace import trace

OPTIONS = {"max_operations": 200_000, "unroll": 0, "max_steps": 1000}
LOW = np.full(24, -0.4) + 0.01 * np.arange(24)


def with_large(*places):
    x = LOW.copy()
    x[list(places)] = 1.5
    return x


class Slow:
    def of(self, v):
        return v


class Fast:
    def of(self, v):
        return v * v


def class_of_an_object():
    o = Slow()
    return lambda: setattr(o, "__class__", Fast), o.of, lambda: None


def event():
    e = threading.Event()
    return e.set, lambda v: v * (2.0 if e.is_set() else 1.0), lambda: None


def code_of_a_function():
    def f(v):
        return v

    def g(v):
        return v * v

    return lambda: setattr(f, "__code__", g.__code__), f, lambda: None


def c_number():
    n = ctypes.c_double(1.0)
    return lambda: setattr(n, "value", 3.0), lambda v: v * n.value, lambda: None


def text_in_memory():
    text = io.StringIO()
    return lambda: text.write("a") if not text.tell() else None, lambda v: v * (1 + text.tell()), lambda: None


def compact_array():
    a = array.array("d", [1.0])
    return lambda: a.__setitem__(0, 2.0), lambda v: v * a[0], lambda: None


def level_of_a_logger():
    log = logging.getLogger("planned_ad_tests")
    log.setLevel(10)
    return lambda: log.setLevel(20), lambda v: v * log.level, lambda: log.setLevel(10)


def attribute_of_a_function():
    def f(v):
        return v * len(f.__doc__ or "")

    return lambda: setattr(f, "__doc__", "ab"), lambda v: v + f(v), lambda: None


def precision_of_decimals():
    context = decimal.getcontext
    return lambda: setattr(context(), "prec", 5), lambda v: v * context().prec, lambda: setattr(context(), "prec", 4)


KINDS = [
    class_of_an_object, event, code_of_a_function, c_number, text_in_memory, compact_array, level_of_a_logger,
    attribute_of_a_function, precision_of_decimals,
]  # fmt: skip


def program(make):
    def f(x):
        change, read, reset = make()
        reset()
        total = 0.0
        for v in x:
            if v > 0.5:
                change()
            total += read(v)
        reset()
        return total

    return f


def taped(traced, x):
    """What the tape gives; None where it does not hold for these numbers, which another trace is for."""
    try:
        return interpret(traced.tape, {traced.leaves[0].buffer: memory_of(traced.tape.buffers[0], x)})[0]
    except Exception:
        return None


def wrong_numbers(make, example):
    f = program(make)
    try:
        traced = traced_and_checked(f, (example,), {}, True, OPTIONS)[0]
    except PlannedADError:  # right or refused
        return []
    inputs = [with_large(*places) for places in ((), (0,), (5,), (23,), (0, 1), (3, 20))]
    return [x for x in inputs if (found := taped(traced, x)) is not None and abs(found - f(x)) > 1e-9]


@pytest.mark.parametrize("example", [LOW, with_large(0)], ids=["never", "from the first"])
@pytest.mark.parametrize("make", KINDS)
def test_state_out_of_sight(make, example) -> None:
    assert wrong_numbers(make, example) == []


def test_it_takes_other_inputs_to_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked.Comparison, "elsewhere", lambda *_: (None, None))
    assert all(wrong_numbers(make, with_large(0)) for make in (precision_of_decimals, level_of_a_logger))


class Latch:
    __slots__ = ("__k",)

    def __init__(self):
        self.__k = 1.0

    def close(self):
        self.__k = 3.0

    def k(self):
        return self.__k


def test_what_is_seen_stays_a_loop() -> None:
    def f(x):
        o, seen, total, latch = SimpleNamespace(k=1.0), deque([0.0]), 0.0, Latch()
        for v in x:
            if v > 0.5:
                o.k = 3.0
                latch.close()
            elif v < -0.3:
                total = total * 0.5
            total += v * o.k * latch.k() + seen[0]
        return total

    traced, found = traced_and_checked(f, (LOW,), {}, True, OPTIONS)
    assert traced.rolled and not traced.unrolled and not found.unrolled


def test_the_ways_through_a_branch() -> None:
    def f(x):
        total = 0.0
        for v in x:
            if v > 0.5:
                total += v
        return total

    traced = trace(f, (LOW,), unroll=0)
    (id,) = traced.tape.arguments
    runs = TapeInterpreter(traced.tape, {id: memory_of(traced.tape.buffers[id], LOW)})
    known = []
    for places in ((), (23,), (0,), (0, 1), (3,)):
        if known:
            runs.restart({id: with_large(*places)})
        total = runs.results()[0]
        assert total == f(with_large(*places))
        known.append(runs.known_ways())
    # Never; at last; at first, and then not; twice; all that is met here has been met before.
    assert known == [2, 3, 5, 6, 6]


def test_which_numbers_are_tried() -> None:
    def f(x, scale):
        total = 0.0
        for v in x:
            if v * scale > 40.0:
                total += v
        return total

    traced = trace(f, (LOW, 2.0), unroll=0)
    assert any(30 < n < 40 for n in telling_numbers(traced.tape)) and any(
        40 < n < 50 for n in telling_numbers(traced.tape)
    )
    leaves = [LOW, 2.0]
    varied = may_vary(leaves, traced.leaves)
    assert varied == [0, 1]
    tried = list(other_inputs(traced.tape, leaves, varied))
    assert all(x.shape == LOW.shape and type(scale) is float for x, scale in tried)
    assert may_vary([LOW, LOW[2:]], [traced.leaves[0]] * 2) == []


def by_class(x):
    one = 1
    return np.sum(x) * (1.0 if one.__class__ is int else 2.0)


@pytest.mark.parametrize("example", [np.zeros(24), np.zeros(1)], ids=["many", "one"])
def test_an_example_of_zeros_is_no_check(example: np.ndarray) -> None:
    """For zeros each factor gives the same: the check looks at other numbers too."""
    x = example + 0.3
    try:
        plan = planned_ad.compile(by_class, (example,))
    except TraceError:
        return
    np.testing.assert_allclose(plan(x), by_class(x), rtol=1e-12)


def test_without_branches_there_is_one_other_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """No input takes another way then: the tape need not be run to find one that does."""
    runs, results = [], TapeInterpreter.results
    monkeypatch.setattr(TapeInterpreter, "results", lambda self: runs.append(self) or results(self))
    found = traced_and_checked(lambda x: np.sum(2.0 * x), (np.zeros(4),), {}, True, OPTIONS)[1]
    assert found.others == 1 and len(runs) == 2


def test_a_search_needs_an_array_that_is_in_order() -> None:
    """Of other numbers, which need not be, NumPy gives what its way of searching happens to find."""

    def f(knots, y):
        s = 0.0
        for q in np.linspace(1.0, 4.0, 25):
            j = min(max(np.searchsorted(knots, q) - 1, 0), len(knots) - 2)
            s += y[j] + (y[j + 1] - y[j]) / (knots[j + 1] - knots[j]) * (q - knots[j])
        return s

    rng = np.random.default_rng(0)
    knots, y = np.cumsum(rng.uniform(0.2, 1, 12)), rng.normal(size=12)
    assert planned_ad.compile(f, (knots, y))(knots, y) == pytest.approx(f(knots, y))
