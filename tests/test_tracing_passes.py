"""State that a loop's body changes out of sight shows in what its passes record: such a loop is unrolled, and right."""

from __future__ import annotations

import collections
import contextlib
import decimal
import fractions
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import TraceError
from planned_ad.trace import trace
from planned_ad.tracing.loops.branches import Branches
from planned_ad.tracing.loops.loops import LoopTrace
from planned_ad.tracing.loops.passes import Comparison

from .recorded_loops import followed, reasons, recorded

PROGRAMS: list[Callable] = []
SEEN: list[Callable] = []


def program(f: Callable) -> Callable:
    PROGRAMS.append(f)
    return f


def seen(f: Callable) -> Callable:
    SEEN.append(f)
    return f


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with decimal.localcontext():
        yield


def start() -> None:
    """Begin to count, in C's memory that no object leads to."""
    decimal.getcontext().prec = 1


def count() -> int:
    decimal.getcontext().prec += 1
    return counted()


def counted() -> int:
    return decimal.getcontext().prec - 1


def long_vector() -> np.ndarray:
    return np.linspace(1, 2, 24)


@program
def counter_of_c(x):
    start()
    t = 0.0
    for v in x:
        count()
        t += v * counted()
    return t


@seen
def default_argument(x):
    def h(v, steps=[0]):  # noqa: B006
        steps[0] += 1
        return v * steps[0]

    t = 0.0
    for v in x:
        t += h(v)
    return t


@seen
def partial(x):
    def h(owner, v):
        owner.append(1)
        return v * len(owner)

    f, t = functools.partial(h, []), 0.0
    for v in x:
        t += f(v)
    return t


@seen
def dict_subclass(x):
    class D(dict):
        pass

    d, t = D(a=0), 0.0
    for v in x:
        d["a"] += 1
        t += v * d["a"]
    return t


@seen
def order_of_a_dict(x):
    d, t = {k: 0 for k in range(5)}, 0.0
    for v in x:
        k = next(iter(d))
        del d[k]
        d[k] = 0
        t += v * k
    return t


@seen
def bound_next(x):
    count, t = itertools.count().__next__, 0.0
    for v in x:
        t += v * count()
    return t


@seen
def chain_map(x):
    c, t = collections.ChainMap({}, {"a": 1}), 0.0
    for v in x:
        c["a"] = c["a"] + 1
        t += v * c["a"]
    return t


@seen
def module_attribute(x):
    fractions.COUNTED = 0
    t = 0.0
    for v in x:
        fractions.COUNTED += 1
        t += v * fractions.COUNTED
    return t


@program
def on_one_side_of_a_branch(x):
    start()
    t = 0.0
    for v in x:
        if v > 1.4:
            t += v
        else:
            count()
            t += v * counted()
    return t


@program
def on_a_side_within_a_side(x):
    start()
    t = 0.0
    for v in x:
        if v > 1.2:
            if v < 1.6:
                count()
                t += v * counted()
            else:
                t -= v
        else:
            t += v
    return t


@program
def in_the_inner_loop(x):
    start()
    t = 0.0
    for v in x:
        start()
        for w in x[:5]:
            count()
            t += v * w * counted()
    return t


@program
def in_a_variable_only(x):
    start()
    for v in x:
        count()
        last, w = counted(), v
    return last * w


@program
def which_array_is_read(x):
    start()
    a, b, t = np.sin(x), np.cos(x), 0.0
    for k in range(20):
        decimal.getcontext().prec = 3 - decimal.getcontext().prec
        t += (a if counted() else b)[k]
    return t


@program
def in_a_while(x):
    start()
    t = x[0]
    while t < 40.0:
        count()
        t += counted() * x[1]
    return t


@pytest.mark.parametrize("unroll", [0, 1, 16])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_unseen_state_unrolls_the_loop(f: Callable, unroll: int) -> None:
    traced = recorded(f, long_vector(), unroll=unroll)
    assert traced.unrolled or unroll or f is in_a_while


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_comparison_is_what_notices(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Comparison, "is_complete", lambda *args: True)
    with pytest.raises((AssertionError, TraceError)):
        recorded(f, long_vector())


@seen
def class_attribute(x):
    class C:
        n = 0

    t = 0.0
    for v in x:
        C.n += 1
        t += v * C.n
    return t


@seen
def class_attribute_after_the_loop(x):
    class C:
        n = 0

    t = 0.0
    for v in x:
        C.n += 1
        t += v
    return t * C.n


@seen
def callbacks_of_a_stack(x):
    t, order = 0.0, []
    for i, v in enumerate(x):
        with contextlib.ExitStack() as stack:
            for k in range(i % 3):
                stack.callback(order.append, k)
        t += v * len(order)
    return t


@pytest.mark.parametrize("unroll", [0, 1, 16])
@pytest.mark.parametrize("f", SEEN, ids=lambda f: f.__name__)
def test_state_that_is_seen(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)


@pytest.mark.parametrize("f", [default_argument, dict_subclass, class_attribute, class_attribute_after_the_loop])
def test_state_that_is_seen_leaves_the_loop_rolled(f: Callable) -> None:
    followed(f, long_vector())


def test_what_only_the_first_iterations_do() -> None:
    def f(x):
        start()
        t = 0.0
        for v in x:
            count()
            if counted() > 1:
                continue
            t += v * 3.0
        return t

    recorded(f, long_vector())


def test_the_reason_names_the_line_and_both_things() -> None:
    text = reasons(counter_of_c, long_vector())
    assert "does not do the same in each iteration" in text
    assert "`t += v * counted()` has 2.0 in one, 3.0 in another" in text


# What is drawn.


def generator(x):
    r, t = np.random.default_rng(0), 0.0
    for v in x:
        t += v * r.standard_normal()
    return t


def rarely_different(x):
    """Draws that are mostly the same: what few passes record does not show that they move on."""
    r, t = random.Random(1), 0.0
    for v in x:
        t += v * 2.0 if r.random() < 0.9 else v
    return t


def indices(x):
    r, t = np.random.default_rng(0), 0.0
    for _ in range(3):
        for j in r.permutation(24):
            t = 0.9 * t + x[j]
    return t


def shuffled(x):
    r = np.random.RandomState(4)
    y = x.copy()
    r.shuffle(y)
    return y @ np.arange(24.0) + np.sum(r.choice(x, 5)) + r.permutation(x)[3]


def written_draws(x):
    w = np.random.default_rng(7).random(24)
    w += x
    return w @ w


@pytest.mark.parametrize("unroll", [0, 16, 300])
@pytest.mark.parametrize("f", [generator, rarely_different, indices, shuffled, written_draws])
def test_draws_from_a_seed_are_constants_of_their_own(f: Callable, unroll: int) -> None:
    recorded(f, long_vector(), unroll=unroll)


def test_a_generator_that_an_iteration_makes_leaves_the_loop_rolled() -> None:
    def f(x):
        t = 0.0
        for v in x:
            t += v * np.random.default_rng(3).random()
        return t

    followed(f, long_vector())


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().random(),
        lambda: np.random.Generator(np.random.PCG64()).random(),
        lambda: random.Random().random(),
        lambda: np.random.RandomState().rand(),
    ],
)
def test_draws_without_a_seed_are_refused(draw: Callable[[], float]) -> None:
    with pytest.raises(TraceError, match="without a seed gives other numbers at each call"):
        trace(lambda x, draw=draw: np.sum(x) * draw(), (long_vector(),))


OUTSIDE = random.Random(2)


def seeded_in_a_loop(x: Any) -> Any:
    for _ in range(20):
        np.random.seed(3)
    return np.sum(x) * np.random.rand()


def seeded_by_the_clock(x: Any) -> Any:
    np.random.seed()
    return np.sum(x) * np.random.rand()


def test_draws_of_the_process_and_from_outside_are_refused() -> None:
    for draw in (np.random.rand, random.random):
        with pytest.raises(TraceError, match=r"gives another result at each call.*default_rng\(seed\)"):
            trace(lambda x, draw=draw: np.sum(x) * draw(), (long_vector(),))
    with pytest.raises(TraceError, match="rand gives another result"):
        trace(seeded_in_a_loop, (long_vector(),))
    with pytest.raises(TraceError, match="seed without a fixed number"):
        trace(seeded_by_the_clock, (long_vector(),))
    with pytest.raises(TraceError, match="gives other numbers at each call"):
        trace(lambda x: np.sum(x) * OUTSIDE.random(), (long_vector(),))


# What stays a loop.


def test_branches_are_compared_side_by_side_and_stay() -> None:
    def f(x):
        t = 0.0
        for v in x:
            if v > 0:
                t += v if v < 1 else v * v
            elif v < -1:
                t -= v
        return t

    followed(f, long_vector())


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_passes_do_not_multiply_with_the_depth_of_loops(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    begin = LoopTrace.begin
    monkeypatch.setattr(LoopTrace, "begin", lambda loop: begun.append(loop) or begin(loop))

    def f(x):
        t = 0.0
        for i in range(20):
            for j in range(20 if depth > 1 else 1):
                for k in range(20 if depth > 2 else 1):
                    t += x[i] * x[j] * x[k]
        return t

    trace(f, (long_vector(),), unroll=1)
    assert len(begun) <= (0, 4, 20, 64)[depth]


def test_what_a_body_makes_may_have_another_name_in_another_pass() -> None:
    def f(x):
        t = 0.0
        for i in range(6):
            for j in range(i):
                if x[i] > x[j]:
                    y = np.zeros(3)
                    y[1:] = x[j]
                    t += y.sum()
        return t

    followed(f, np.array([0.3, -0.2, 0.9, 0.1, 0.5, -0.7]))


def test_defaults_of_several_functions_are_all_seen() -> None:
    def f(x):
        def grows(v, seen={}):  # noqa: B006
            seen[len(seen) % 2] = 1
            return v * np.sin(len(seen))

        def toggles(v, box=[0]):  # noqa: B006
            box[0] += 1
            return v / (1 + box[0] % 2)

        t = 0.0
        for v in x:
            t = 0.9 * t + grows(toggles(v))
        return t

    for unroll in (0, 1, 16):
        recorded(f, long_vector(), unroll=unroll)


def test_comparing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a side of a branch that was known is not met any more."""
    monkeypatch.setattr(Branches, "unverified", lambda *path: True)

    def f(x):
        t = 0.0
        for v in x:
            t += v if v > 1.5 else -v
        return t

    followed(f, long_vector())


def test_a_long_list_of_numbers_is_compared_as_a_whole() -> None:
    weights = [0.25 * k for k in range(5000)]

    def reads(x):
        total = 0.0
        for k, w in zip(range(5000), weights):
            total = 0.5 * total + x[k % 3] * w
        return total

    def moves_on(x):
        seen, total = [1] * 5000, 0.0
        for v in x:
            seen[0] += 1
            total += v * seen[0]
        return total

    def puts(x):
        seen, total = [1] * 5000, 0.0
        for v in x:
            total += v * seen[0]
            seen[0] = v
        return total

    assert not trace(reads, (np.ones(3),)).unrolled
    x = np.linspace(1, 2, 20)
    for f in (moves_on, puts):
        traced = trace(f, (x,))
        assert "a long list" in traced.unrolled[0].reason
        assert planned_ad.compile(f, x)(x) == pytest.approx(f(x))
