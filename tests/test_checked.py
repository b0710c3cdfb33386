"""The check of a trace against the function itself."""

from __future__ import annotations

import dataclasses
import datetime
import gc
import heapq
import importlib
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.check import checked_traces as checks
from planned_ad.calls.check.checked import Comparison
from planned_ad.calls.check.checked_traces import traced_and_checked
from planned_ad.calls.check.comparison import Pair, apart, jumps_elsewhere
from planned_ad.calls.check.time_limit import within
from planned_ad.errors import PlannedADError, TraceError
from planned_ad.python.examples import copied_together
from planned_ad.tape.tape import Constant, Loop
from planned_ad.testing import check_plan
from planned_ad.trace import trace

OPTIONS = {"max_operations": 200_000, "unroll": 16, "max_steps": 1000}


def checked(f, *args, check=True):
    return traced_and_checked(f, args, {}, check, OPTIONS)


class Counter:
    n = 0


def late(x):
    """Its hidden state matters only from iteration 20 on, and no more at the end."""
    Counter.n = 0
    total = 0.0
    for _ in range(40):
        total += x[0] * (2.0 if 20 <= Counter.n < 25 else 1.0)
        Counter.n += 1
    return total


def drawn(x):
    draw = iter([1.0] * 20 + [3.0] * 5 + [1.0] * 15).__next__
    total = 0.0
    for _ in range(40):
        total += x[0] * draw()
    return total


@pytest.mark.parametrize("f", [late, drawn])
def test_state_that_changes_late(f) -> None:
    x = np.array([1.5])
    plan = planned_ad.compile(f, x)
    assert plan(x) == f(x)
    np.testing.assert_allclose(plan.gradient(x), [f(np.ones(1))], rtol=1e-12)


def with_other_constant(traced, old: float, new: float):
    """A trace that is wrong."""
    operations = tuple(
        dataclasses.replace(op, data=np.array(new)) if isinstance(op, Constant) and op.data == old else op
        for op in traced.tape.operations
    )
    assert operations != traced.tape.operations
    return dataclasses.replace(traced, tape=dataclasses.replace(traced.tape, operations=operations))


def scaled(x):
    for k in range(len(x)):
        x[k] = 3.0 * x[k]
    return x[0]


def test_a_wrong_trace_is_found() -> None:
    x = np.arange(1.0, 31.0)
    traced = trace(scaled, (x,))
    assert Comparison(scaled, (x,), {}, traced).difference(None) is None
    difference = Comparison(scaled, (x,), {}, with_other_constant(traced, 3.0, 4.0)).difference(None)
    assert difference is not None and difference.text == "the result is 3.0, and 4.0 in its trace"
    np.testing.assert_array_equal(x, np.arange(1.0, 31.0))


def test_a_wrong_write_is_found() -> None:
    def f(x):
        x[3] = 3.0 * x[3]

    x = np.ones(5)
    difference = Comparison(f, (x,), {}, with_other_constant(trace(f, (x,)), 3.0, 4.0)).difference(None)
    assert difference is not None and difference.text == "x[3] is 3.0, and 4.0 in its trace"


def test_the_loop_concerned_is_unrolled_and_the_other_is_not() -> None:
    def f(x):
        Counter.n = 0
        total = 0.0
        for k in range(len(x)):
            total += x[k] ** 2
        for _ in range(40):
            total += x[0] * (2.0 if 20 <= Counter.n < 25 else 1.0)
            Counter.n += 1
        return total

    x = np.linspace(0.1, 1.0, 50)
    traced, found = checked(f, x)
    assert any(isinstance(op, Loop) for op in traced.tape.operations)
    assert Comparison(f, (x,), {}, traced).difference(None) is None
    assert not found.left_out


@pytest.mark.parametrize("hidden", ["time", "list", "iterator", "global"])
def test_another_number_at_each_call(hidden: str) -> None:
    calls = [0]
    ticks = itertools.count()

    def f(x):
        global _calls
        if hidden == "time":
            return np.sum(x) * time.perf_counter()
        if hidden == "iterator":
            return np.sum(x) * next(ticks)
        if hidden == "global":
            _calls += 1
            return np.sum(x) * _calls
        calls[0] += 1
        return np.sum(x) * calls[0]

    with pytest.raises(TraceError, match=r"the result is .* random numbers, the time|gives other items at each call"):
        planned_ad.compile(f, np.ones(3))
    if hidden != "iterator":
        assert planned_ad.compile(f, np.ones(3), check=False).explain().checked.left_out == "check=False"


_calls = 0


def test_a_cache_outside_is_no_other_number() -> None:
    cache: dict = {}

    def f(x):
        if "w" not in cache:
            cache["w"] = 2.0
        return np.sum(x) * cache["w"]

    assert checked(f, np.ones(3))[1].compared == ("the result (to the last bit)",)


def test_a_chaotic_program_is_accepted() -> None:
    def logistic(x):
        y = x[0]
        for _ in range(2000):
            y = 3.9 * y * (1.0 - y) + 0.01 * np.sin(y) ** 3
        return y

    (result,) = checked(logistic, np.array([0.3]))[1].compared
    assert result in ("the result (to the last bit)", "the result (as far as the roundings of its arguments let it be)")


def counted(x):
    return len(list(itertools.permutations(range(4), int(x[0])))) * x[1]


def of_days(x):
    return datetime.timedelta(days=int(x[0])).days * x[1]


@pytest.mark.parametrize("call", [counted, of_days])
def test_a_jump_is_no_excuse_for_other_values(call: Callable[[Any], Any]) -> None:
    """Code in C refuses what stands for a number, which the function takes for an error of its own."""

    def f(x):
        try:
            return call(x)
        except Exception:
            return 7 * x[0]

    with pytest.raises(TraceError):
        planned_ad.compile(f, (np.array([2.0, 1.5, 3.0, 4.0]),))


def test_either_side_of_a_jump_will_do() -> None:
    pair = Pair(name="", expected=np.array([18.0, 18.0, 18.0]), actual=np.array([14.0, 6.0, 17.0]))
    others = np.array([6.0, 6.0, 3.0]), np.array([6.0, 18.0, 11.0])
    np.testing.assert_array_equal(jumps_elsewhere(pair, others), [True, False, False])


def test_rounding_that_the_function_amplifies_is_no_difference() -> None:
    def f(x):
        return np.sin(x[0])

    x = np.array([1e10])
    comparison = Comparison(f, (x,), {}, trace(f, (x,)))
    assert comparison.difference(None) is None
    moved = comparison.sensitivity()
    assert 1e-9 < moved[0] < 1e-3  # so much is one rounding of 1e10
    assert apart(Pair(name="", expected=0.0, actual=1e-6)).any()
    assert not apart(Pair(name="", expected=0.0, actual=1e-6), moved[0]).any()


def test_numbers_of_single_precision_inside_round_as_such() -> None:
    def f(x):
        a = x.astype(np.float32)
        return np.sin(1e3 * a[0]) * 1.0 + x[1] * 2.0

    x = np.array([1.0, 2.0])
    comparison = Comparison(f, (x,), {}, trace(f, (x,)))
    assert comparison.difference(None) is None
    assert comparison.sensitivity()[0] > 1e-5  # a rounding of double precision would move it by nothing
    comparison = Comparison(np.sum, (x,), {}, trace(np.sum, (x,)))
    assert comparison.difference(None) is None
    assert comparison.sensitivity()[0] < 1e-14


def test_elements_are_compared_one_by_one() -> None:
    a = np.array([1e6, 1.0, np.nan])
    assert not apart(Pair(name="", expected=a, actual=a * (1 + 1e-12))).any()
    np.testing.assert_array_equal(apart(Pair(name="", expected=a, actual=a + [0.0, 1e-6, 0.0])), [False, True, False])


def test_long_loops_are_left_out_and_said_so() -> None:
    def f(x):
        y = x[0]
        for _ in range(10**7):
            y = np.cos(y)
        return y

    start = time.perf_counter()
    found = checked(f, np.array([0.3]))[1]
    assert time.perf_counter() - start < 1.0
    assert not found.compared and "would take about" in found.left_out


def is_traced(x: object) -> bool:
    try:
        return object.__getattribute__(x, "recorder") is not None
    except AttributeError:
        return False


def test_a_function_that_takes_longer_than_its_trace_is_left() -> None:
    def f(x):
        n = 0
        while not is_traced(x) and n < 10**9:
            n += 1
        return np.sum(x)

    start = time.process_time()
    assert checked(f, np.ones(3))[1].left_out.startswith("the function takes longer")
    assert time.process_time() - start < 5.0


def test_within_a_limit_of_time() -> None:
    def endless():
        while True:
            pass

    assert within(0.01, endless) == (False, None)
    assert within(10.0, lambda: 3) == (True, 3)
    with pytest.raises(KeyError):
        within(10.0, lambda: {}[0])


IS_LEFT = "assert not within(0.01, lambda: [None for _ in iter(int, 1)])[0]\n"
BUSY = "import time\nend = time.thread_time() + 0.1\nwhile time.thread_time() < end:\n    pass\nis_done = True\n"


def test_imports_and_compilations_are_not_left_halfway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(begin: Callable[[], Any]) -> None:
        begin()
        while True:
            pass

    (tmp_path / "takes_its_time.py").write_text(BUSY)
    monkeypatch.syspath_prepend(tmp_path)
    assert within(0.01, lambda: endless(lambda: importlib.import_module("takes_its_time"))) == (False, None)
    assert sys.modules.pop("takes_its_time").is_done
    compiler: dict[str, Any] = {"__name__": "numba.core.compiler"}
    assert within(0.01, lambda: endless(lambda: exec(BUSY, compiler))) == (False, None)
    assert compiler["is_done"]
    (tmp_path / "is_left.py").write_text(f"from {__name__} import within\n{IS_LEFT}")
    importlib.import_module("is_left")  # what a module calls while it is imported is left, though


def test_no_finaliser_of_garbage_is_left_halfway_by_a_limit_of_time() -> None:
    assert gc.isenabled()
    assert within(10.0, gc.isenabled) == (True, False)
    assert gc.isenabled()


def test_what_is_not_in_the_domain_is_left_out() -> None:
    assert "ZeroDivisionError" in checked(lambda t: 1.0 / t, 0.0)[1].left_out
    assert "ValueError" in checked(lambda x: math.log(x[0]), np.zeros(1))[1].left_out


def test_an_error_of_the_function_passes_through() -> None:
    def f(x):
        if not is_traced(x):
            raise LookupError("mine")
        return np.sum(x)

    with pytest.raises(LookupError, match="mine") as caught:
        checked(f, np.ones(3))
    assert "with its trace, which does not raise this" in caught.value.__notes__[0]


def test_an_index_that_is_out_of_range_is_refused() -> None:
    def f(x, index):
        return np.sum(x[index])

    with pytest.raises(PlannedADError, match="out of"):
        checked(f, np.ones(3), np.array([5]))


def test_arguments_stay_as_they_are() -> None:
    class Model:
        def __init__(self):
            self.u, self.count = np.ones(20), 0.0

        def step(self, x):
            self.count += 1.0
            self.u = self.u * x
            return np.sum(self.u)

    model = Model()
    found = checked(Model.step, model, 2.0)[1]
    np.testing.assert_array_equal(model.u, np.ones(20))
    assert model.count == 0.0
    assert found.compared[0] == "the result (to the last bit)"
    assert {text.partition(" ")[0] for text in found.compared[1:]} == {"self.u", "self.count"}


def test_copies_share_memory_as_the_originals_do() -> None:
    memory = np.arange(12.0)
    a, b, c = memory[2:8], memory[10:4:-2], np.arange(3)
    (x, y), z = copied_together(((a, b), c))
    np.testing.assert_array_equal(y, b)
    assert (x.strides, y.strides) == (a.strides, b.strides)
    y[1] = 50.0  # memory[8]
    y[2] = 60.0  # memory[6]
    np.testing.assert_array_equal(x, [2, 3, 4, 5, 60, 7])
    assert not np.shares_memory(x, memory) and not np.shares_memory(z, x)


def test_derivatives_inside_are_not_run() -> None:
    def f(x):
        return np.sum(planned_ad.grad(lambda y: np.sum(y**3))(x))

    assert "grad" in checked(f, np.ones(3))[1].left_out


def test_side_effects_happen_once_more(capsys) -> None:
    def f(x):
        print("here")
        return np.sum(x)

    checked(f, np.arange(3.0))
    assert capsys.readouterr().out == "here\n" * 2
    checked(f, np.zeros(3))  # and for other numbers than these
    assert capsys.readouterr().out == "here\n" * 3
    checked(f, np.ones(3), check=False)
    assert capsys.readouterr().out == "here\n"


def test_explain_says_what_was_compared() -> None:
    x = np.arange(1.0, 31.0)
    explanation = planned_ad.compile(scaled, x).explain()
    assert explanation.checked.compared == ("the result (to the last bit)", "x (to the last bit)")
    assert explanation.checked.seconds > 0
    assert str(explanation).endswith("\nchecked: the result (to the last bit); x (to the last bit)")


def test_check_plan() -> None:
    plan = planned_ad.compile(scaled, np.arange(1.0, 31.0))
    check_plan(plan, np.linspace(-1.0, 2.0, 30))
    x, w = np.linspace(0.1, 1.0, 20), np.linspace(1.0, 2.0, 20)
    plan = planned_ad.compile(lambda x, w: (np.sin(x) * w, np.sum(x * x)), (x, w))
    check_plan(plan, x, w=w)
    plan._f = lambda x, w: (np.sin(x) * w, np.sum(x * w))
    with pytest.raises(AssertionError, match=r"the result\[1\] is .* in its trace"):
        check_plan(plan, x, w)


def test_check_plan_finds_a_wrong_derivative() -> None:
    @planned_ad.custom_rule
    def square(x):
        return x * x

    @square.vjp(needs="x")
    def _(x, cotangent):
        return 3 * x * cotangent

    plan = planned_ad.compile(lambda x: np.sum(square(x)), np.ones(3))
    with pytest.raises(AssertionError, match="the derivative by `x` is wrong"):
        check_plan(plan, np.linspace(0.5, 2.0, 3))


def test_a_loop_that_is_the_first_to_read_a_captured_array() -> None:
    weights = np.linspace(1, 2, 30)

    def f(x):
        total = 0.0
        for k in range(30):
            total += weights[k] * x[k]
        return total

    plan = planned_ad.compile(f, np.ones(30))
    assert not plan.explain().fallbacks and "to the last bit" in str(plan.explain().checked)


def counted_in(make):
    def f(x):
        held, total = make(), 0.0
        for _ in range(200):
            held.write("a")
            total += x[0] * (2.0 if held.tell() > 150 else 1.0)
        return total

    return f


class OnDisk:
    """As a file, by one."""

    def __init__(self):
        self.held = tempfile.TemporaryFile("wb")  # noqa: SIM115 (gone with this object)

    def write(self, text):
        self.held.write(text.encode())

    def tell(self):
        return self.held.tell()


class Tape:
    """As a file, in Python."""

    def __init__(self):
        self.written = 0

    def write(self, text):
        self.written += len(text)

    def tell(self):
        return self.written


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of files that are gone with their objects
@pytest.mark.parametrize("make, is_opaque", [(OnDisk, True), (Tape, False)])
def test_objects_that_are_not_looked_into_are_worth_a_longer_check(make, is_opaque, monkeypatch) -> None:
    monkeypatch.setattr(checks, "WITH_LOOPS", 0.0)
    monkeypatch.setattr(checks, "SHARE", 0.0)
    x = np.array([1.5])
    assert trace(counted_in(make), (x,)).meets_opaque == is_opaque
    traced, found = checked(counted_in(make), x)
    assert bool(traced.unrolled) == found.unrolled == is_opaque and bool(found.left_out) != is_opaque
    del traced, found
    gc.collect()


def signs_of_a_file(x):
    """What the loop moves on shows late, and is in memory of C that nobody looks into."""
    s = 0.0
    with tempfile.TemporaryFile() as file:
        for v in x:
            file.write(b"a")
            s = s - v * v if file.tell() > 25 else s + v * v
    return s


def test_derivatives_unroll_what_their_function_has_to() -> None:
    x, v = np.random.default_rng(0).normal(size=(2, 40))
    plan = planned_ad.compile(signs_of_a_file, (x,))
    signs = plan.gradient(x) / (2 * x)
    assert set(np.round(signs)) == {-1.0, 1.0}
    expected = signs_of_a_file(x), 2 * signs * x
    assert plan(x) == pytest.approx(expected[0])
    for value, tangent in plan.jvp(x, v), planned_ad.jvp(signs_of_a_file)(x, v):
        assert value == pytest.approx(expected[0])
        assert tangent == pytest.approx(expected[1] @ v)
    np.testing.assert_allclose(planned_ad.grad(signs_of_a_file)(x), expected[1])
    np.testing.assert_allclose(plan.hvp(x, v), 2 * signs * v)
    np.testing.assert_allclose(planned_ad.hessian(signs_of_a_file)(x), np.diag(2 * signs))
    np.testing.assert_allclose(planned_ad.vectorize(planned_ad.grad(signs_of_a_file))(x[None])[0], expected[1])


def test_derivatives_of_what_cannot_be_right_are_refused() -> None:
    def f(x):
        return np.sum(x) * next(numbers)

    numbers = iter(range(1, 1000))
    for make in planned_ad.grad, planned_ad.hessian, planned_ad.value_and_grad:
        with pytest.raises(PlannedADError):
            make(f)(np.ones(3))


def test_a_derivative_says_what_was_compared() -> None:
    gradient = planned_ad.grad(lambda x: np.sum(x**2))
    (found,) = gradient.plan(np.ones(3)).explain().checked.compared
    assert "the result (to" in found


def test_what_handles_all_errors_is_compared_for_longer() -> None:
    heapify_max = getattr(heapq, "heapify_max", None) or heapq._heapify_max

    def f(x):
        total, m = 0.0, np.outer(x, x)
        for _ in range(40):
            total = total + np.sum(np.tanh(m)) * 1e-6
        try:
            heap = []
            for v in x[:6]:
                heap.append(v)
                heapify_max(heap)  # in C, for lists alone
            return total + heap[0]
        except Exception:
            return x[0] * 99

    with pytest.raises(TraceError, match="in its trace"):
        planned_ad.compile(f, (np.random.default_rng(0).standard_normal(500),))
