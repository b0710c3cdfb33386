"""A plan that is dropped gives its machine code back, and not before nothing can run it any more."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.kernels.entry.forms import arranger
from planned_ad.kernels.entry.native_calls import nowhere
from planned_ad.kernels.entry.watchtable import walker
from planned_ad.kernels.llvm import codelibrary


@pytest.fixture
def libraries(monkeypatch) -> Callable[[], int]:
    """How many libraries are left of those made in the test; entries that are kept for other plans are let go."""
    gc.collect()
    gc.freeze()  # what other tests have made need not be looked through each time
    walker(), nowhere(), arranger()  # what stays for ever is there from here on
    made, make = [], codelibrary._empty_engine

    def empty_engine():
        made.append(make())
        return made[-1]

    codelibrary.shared_library.cache_clear()

    def count() -> int:
        codelibrary.shared_library.cache_clear()
        for _ in range(3):  # Numba lets go of what it knows of a function in a finaliser of that
            gc.collect()
        return sum(not engine.closed for engine in made)

    monkeypatch.setattr(codelibrary, "_empty_engine", empty_engine)
    return count


def square(x):
    return np.sum(x * x)


def branching(x):
    return np.sum(x) if x[0] > 0 else np.sum(x * x)


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def compile_and_drop(times: int) -> None:
    x, dx = np.array([1.0, 2.0]), np.empty(2)
    for k in range(times):  # each other options, so that none is found again
        assert planned_ad.compile(square, x, max_operations=1000 + k).gradient(x, dx)[1] == 4.0
    gc.collect()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_plans_that_are_dropped(libraries):
    compile_and_drop(20)
    before = resident()
    compile_and_drop(60)
    assert libraries() == 0
    assert resident() - before < 6 << 20  # 3 MB; and 9 MB where LLVM is left to itself


def test_entries_of_one_kind_are_in_memory_once(libraries):
    plans = [planned_ad.compile(square, np.ones(n)) for n in range(2, 7)]
    for n, plan in enumerate(plans, start=2):
        np.testing.assert_array_equal(plan.gradient(np.full(n, 3.0)), np.full(n, 6.0))
    entries = {id(plan._variants[0].entry("gradient").call.libraries[1]) for plan in plans}
    assert len(entries) == 1
    assert libraries() == len(plans) + 1


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_two_thousand_plans():
    compile_and_drop(50)
    before = resident()
    compile_and_drop(2000)
    assert resident() - before < 30 << 20


def test_everything_of_a_plan_goes(libraries):
    x = np.array([1.0, 2.0])
    plan = planned_ad.compile(branching, x)
    plan.gradient(x)
    plan.gradient(-x)  # another variant
    plan.hvp(x, x)
    plan.split()
    plan.kernel.gradient(x, np.empty(2))
    assert libraries() > 5
    gone = [weakref.ref(plan), *map(weakref.ref, plan._variants), weakref.ref(plan.kernel.gradient)]
    del plan
    assert libraries() == 0
    assert [found() for found in gone] == [None] * len(gone)


def test_a_variant_that_is_replaced_goes(libraries):
    def settle(x):
        while x > 1.0:
            x = x * 0.5
        return x

    plan = planned_ad.compile(settle, 3.0, max_steps=4)
    assert plan.gradient(3.0) == 0.25
    narrow, before = weakref.ref(plan._variants[0]), libraries()
    assert plan.gradient(100.0) == 0.5**7
    assert libraries() == before
    assert narrow() is None


def test_calls_outlive_their_plan(libraries):
    x = np.array([1.0, 2.0])
    call = planned_ad.compile(square, x).gradient
    bound = planned_ad.compile(square, x).bind(x, np.empty(2))
    _, pullback = planned_ad.vjp(square)(x)
    assert libraries() > 2
    assert call(x)[1] == bound()[1] == pullback(1.0)[1] == 4.0
    del call, bound, pullback
    assert libraries() == 0


def test_compiled_code_outlives_the_plan_it_calls(libraries):
    x, dx = np.array([1.0, 2.0]), np.empty(2)

    def caller():
        gradient = planned_ad.compile(square, x).kernel.gradient

        @numba.njit
        def twice(x, dx):
            gradient(x, dx)
            return 2 * dx[1]

        return twice

    twice = caller()
    assert twice(x, dx) == 8.0
    assert libraries() > 1
    assert twice(x, dx) == 8.0
    del twice
    assert libraries() == 0


def test_the_address_of_a_kernel_is_kept_by_the_kernel(libraries):
    x, dx = np.array([1.0, 2.0]), np.empty(2)
    gradient = planned_ad.compile(square, x).kernel.gradient
    assert libraries() > 1
    pointer = ctypes.c_void_p
    assert ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer)(gradient.address)(x.ctypes.data, dx.ctypes.data) == 0
    assert dx[1] == 4.0
    del gradient
    assert libraries() == 0


def test_a_finaliser_may_call_a_plan_of_its_own_circle(libraries):
    found = []

    class Owner:
        def __init__(self):
            self.plan, self.itself = planned_ad.compile(square, np.ones(2)), self

        def __del__(self):
            found.append(self.plan.gradient(np.array([3.0, 4.0]), np.empty(2))[1])

    for _ in range(3):
        Owner()
    assert libraries() == 0
    assert found == [8.0] * 3


def test_a_plan_may_be_dropped_while_threads_run_it(libraries):
    """The last references are those of the threads' own calls, which run without the GIL."""
    x = np.linspace(0.0, 1.0, 20_000)
    wrong: list[int] = []

    def work(call, started):
        started.wait()
        wrong.extend(turn for turn in range(30) if not np.allclose(call(x), 2 * x + 2.0))

    def run() -> list[threading.Thread]:
        plan = planned_ad.compile(lambda x: np.sum(np.exp(np.log(x + 1.0)) ** 2), x)
        started = threading.Barrier(3)
        threads = [threading.Thread(target=work, args=(plan.gradient, started)) for _ in range(2)]
        for thread in threads:
            thread.start()
        started.wait()
        return threads

    for thread in run():
        gc.collect()
        thread.join()
    del thread
    assert not wrong
    assert libraries() == 0


class Net:
    def __init__(self) -> None:
        self.scale, self.weights = 2.0, np.ones(3)

    def loss(self, x):
        return self.scale * np.sum(self.weights * x**2)

    def __call__(self, x):
        return self.loss(x)


class Slotted:
    __slots__ = ("__weakref__", "scale")

    def __init__(self) -> None:
        self.scale = 2.0

    def loss(self, x):
        return self.scale * np.sum(x**2)


@pytest.mark.parametrize("of", [lambda o: o.loss, lambda o: o, lambda o: lambda x: o.loss(x)])
@pytest.mark.parametrize("kind", [Net, Slotted])
def test_objects_are_freed_with_the_plans_of_their_methods(kind, of):
    def made():
        owner = kind()
        f = of(owner) if callable(of(owner)) else owner.loss
        planned_ad.compile(f, np.ones(3)).gradient(np.ones(3))
        return weakref.ref(owner)

    references = [made() for _ in range(3)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
