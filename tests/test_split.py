"""Split plans: the primal fills a tape, the reverse sweep reads it later."""

from __future__ import annotations

import copy
import random
import threading

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.entries import differentiated, finished
from planned_ad.calls.kinds import SPLIT
from planned_ad.differentiate.keep.split import split
from planned_ad.errors import ArgumentError, BranchError, PlannedADError, ShapeError
from planned_ad.kernels import emit
from planned_ad.python.examples import copied
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import interpret, memory_of, uninitialised
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .malloc import count_in_subprocess
from .random_loop_programs import arguments, function_of, write_program
from .sweeps import sweep

X = np.linspace(0.5, 1.5, 12)


def numbers(tree: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in flatten(tree)[0] if isinstance(leaf, np.ndarray | float)]


def assert_near(actual: object, expected: object) -> None:
    for a, e in zip(numbers(actual), numbers(expected), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-10, atol=1e-12)


def spoil(tree: object) -> None:
    for array in numbers(tree):
        array[...] = np.nan if array.dtype.kind == "f" else 0


def mutating(x, tree):
    x[0] = x[1] * x[2]
    tree["a"][:] = tree["a"] * x[:3]
    return np.sum(x) * tree["b"], tree["a"] * 2


def stepping(x):
    y = np.zeros(12)
    for i in range(1, 30):
        y[1:] += np.sin(x[:-1] * i) * y[:-1] + x[1:]
    return y


def in_place(a, x):
    for _ in range(100):
        x[:] = np.tanh(a @ x)
    return np.sum(x)


def summing(items):
    total = 0.0
    for item in items:
        total = total + item**2
    return total


def at_indices(x, n):
    y = np.zeros(12)
    np.add.at(y, n, x[n] ** 2)
    y[n] *= 2
    return np.sum(y**2)


A = np.linspace(0, 1, 144).reshape(12, 12) / 6
PROGRAMS = {
    "mutating": (mutating, (X, {"a": X[:3].copy(), "b": 2.0, "n": 3}), (1.5, np.ones(3)), {}),
    "preserving": (mutating, (X, {"a": X[:3].copy(), "b": 2.0, "n": 3}), (1.5, np.ones(3)), {"preserve_args": True}),
    "stepping": (stepping, (X,), (X[::-1].copy(),), {}),
    "run again": (in_place, (A, X), (1.0,), {"memory_limit": 4000}),
    "numbers": (lambda a, b: a * b + a**2, (2.0, 3.0), (1.0,), {}),
    "list": (summing, ([1.0, 2.0, 3.0],), (1.0,), {}),
    "indices": (at_indices, (X, np.array([0, 3, 3])), (1.0,), {}),
    "strided": (lambda x: np.sum(np.sin(x[::2]) * x[1::2]), (np.ones((4, 6)).cumsum(1)[::-1, 1:],), (1.0,), {}),
    "single": (
        lambda x, t, c: np.sum(x * c) * t,
        (X.astype(np.float32), np.float32(3), planned_ad.Const(X)),
        (1.0,),
        {},
    ),
}


@pytest.mark.parametrize("name", sweep(PROGRAMS, slice(0, None, 2)))
def test_both_halves_together_are_the_pullback(name: str) -> None:
    f, args, cotangents, options = PROGRAMS[name]
    plan = planned_ad.compile(f, args, **options)
    args = tuple(a.value if isinstance(a, planned_ad.Const) else a for a in copied(args))
    forward, reverse = plan.split()
    tape = forward.tape()
    assert tape.nbytes == forward.tape_nbytes == plan.explain("forward").cached_bytes
    assert tape.nbytes <= options.get("memory_limit", tape.nbytes)  # below which only the limit brings it
    own, same, before = copied(args), copied(args), copied(args)
    assert_near(forward(*own, tape), plan(*same))
    assert_near(own, same)
    spoil(own)
    named = {f"cotangent{k}" if len(cotangents) > 1 else "cotangent": c for k, c in enumerate(cotangents)}
    expected = plan.pullback(*before, **named)
    for _ in range(2):
        found = reverse(tape, **named)
        rtol = 1e-5 if name == "single" else 1e-10
        for a, e in zip(numbers(found), numbers(expected), strict=True):
            np.testing.assert_allclose(a, e, rtol=rtol)


def interpreted(tape: Tape, memory: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Memory after `tape`: shadows that begin as 0.5, cotangents of 1.5."""
    memory = dict(memory)
    for id in tape.arguments:
        buffer = tape.buffers[id]
        if buffer.kind in ("shadow", "cotangent"):
            memory[id] = memory_of(buffer, np.full(buffer.shape, 0.5 if buffer.kind == "shadow" else 1.5))
        elif id not in memory:
            memory[id] = uninitialised(buffer)
    interpret(tape, memory)
    return memory


def arguments_in(traced: Trace, args: tuple) -> dict[int, np.ndarray]:
    leaves = zip(traced.leaves, flatten(copied(args))[0])
    return {
        leaf.buffer: memory_of(traced.tape.buffers[leaf.buffer], v) for leaf, v in leaves if leaf.buffer is not None
    }


@pytest.mark.parametrize("seed", [0, 3])
def test_random_programs(seed: int) -> None:
    args = arguments(seed)
    traced = trace(function_of(write_program(random.Random(seed).randint)), copied(args))
    whole = finished(differentiated(traced, SPLIT, False))
    halves = split(whole)
    verify(halves.forward)
    verify(halves.reverse)
    expected = interpreted(whole, arguments_in(traced, args))
    after = interpreted(halves.forward, arguments_in(traced, args))
    kept = {id: m for id, m in after.items() if halves.forward.buffers[id].kind == "tape"}
    for id in whole.arguments:
        if whole.buffers[id].kind in ("argument", "result"):
            np.testing.assert_allclose(after[id], expected[id], rtol=1e-9, atol=1e-9)
    for _ in range(2):
        found = interpreted(halves.reverse, kept)
        for id in halves.reverse.arguments:
            if halves.reverse.buffers[id].kind == "shadow":
                np.testing.assert_allclose(found[id], expected[id], rtol=1e-9, atol=1e-9)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def exponential(x):
    return np.sum(np.exp(x) * (x + 1))


def in_memory(x):
    y = np.zeros((50, 100))
    for i in range(1, 50):
        y[i] = np.sin(y[i - 1]) * x
    return np.sum(y**2)


@pytest.mark.parametrize(
    "f, size, arrays",
    [
        (rosenbrock, 1000, 1),  # x; its differences are computed again
        (exponential, 1000, 2),  # x and its exponential
        (np.sum, 1000, 0),
        (in_memory, 100, 50 + 50 + 1 + 49),  # no more than y, and the sine and cosine of each row
    ],
)
def test_what_is_kept_is_small(f, size: int, arrays: int) -> None:
    forward, _ = planned_ad.compile(lambda x: f(x), np.ones(size)).split()
    assert forward.tape_nbytes <= arrays * size * 8 + 64


def test_explain_tells_every_byte() -> None:
    plan = planned_ad.compile(exponential, X)
    assert str(plan.explain("forward")).startswith("forward of exponential")
    kept = plan.explain("forward").cached
    assert sorted(c.nbytes for c in kept) == [96, 96]
    assert all(c.source == "return np.sum(np.exp(x) * (x + 1))" for c in kept)
    assert any("computing exp again costs more" in c.reason for c in kept)
    again = planned_ad.compile(rosenbrock, X).explain("reverse").recomputed
    assert {s.what for s in again} == {"multiply", "subtract"}


def swapped(a):
    for i in range(4):
        for j in range(i + 1, 4):
            a[i, j], a[j, i] = a[j, i], a[i, j]
    return np.sum(a * np.arange(4))


def test_what_comes_from_constants_alone_is_not_kept() -> None:
    """The weights of the sum are repeated in the sweep: there is nothing that they could be lost with."""
    tape = finished(differentiated(trace(swapped, (np.ones((4, 4)),)), SPLIT, False))
    assert split(tape).nbytes == 0


def branching(x):
    if x[0] > 0:
        return np.sum(np.exp(x) * x)
    return np.sum(np.sin(x) * np.cos(x) * np.exp(x) * x)


def test_tapes_of_several_branches_in_flight() -> None:
    plan = planned_ad.compile(branching, X)
    forward, reverse = plan.split()
    tapes = [forward.tape() for _ in range(6)]
    points = [X * (-1) ** k * (1 + k / 10) for k in range(6)]
    for x, tape in zip(points, tapes):
        forward(x, tape)
    for x, tape in zip(points, tapes):
        assert_near(reverse(tape), plan.gradient(x))
    assert [tape.nbytes > forward.tape_nbytes for tape in tapes] == [False, True] * 3
    for x, tape in zip(points, reversed(tapes)):  # now along other branches
        forward(x, tape)
        assert_near(reverse(tape, np.zeros(12), 2.0), 2 * plan.gradient(x))


def test_shadows_accumulate() -> None:
    plan = planned_ad.compile(exponential, X)
    forward, reverse = plan.split()
    tape, dx = forward.tape(), np.zeros(12)
    assert forward(x=X, tape=tape) == pytest.approx(exponential(X))
    assert reverse(tape, dx) is dx
    reverse(tape, dx, 2.0)
    reverse(tape=tape, dx=dx)
    assert_near(dx, 4 * plan.gradient(X))
    assert_near(reverse(tape, 3.0), 3 * plan.gradient(X))


def test_results_where_the_caller_wants_them() -> None:
    plan = planned_ad.compile(lambda x, n: (np.sin(x) * n, x[:2] * 2), (X, 2.0))
    forward, reverse = plan.split()
    tape, first, second = forward.tape(), np.empty(12), np.empty(2)
    for found in (forward(X, 2.0, tape, first, second), forward(X, 2.0, tape, out0=first, out1=second)):
        assert found[0] is first and found[1] is second
    seeds = (None, np.ones(12), np.ones(2))
    assert_near(reverse(tape, *seeds), plan.pullback(X, 2.0, *seeds))


def test_tapes_that_hold_no_run_are_refused() -> None:
    plan, other = (planned_ad.compile(branching, X, on_branch="raise", max_variants=n) for n in (3, 4))
    forward, reverse = plan.split()
    tape = forward.tape()
    with pytest.raises(ArgumentError, match="no complete run of branching"):
        reverse(tape)
    forward(X, tape)
    with pytest.raises(ArgumentError, match="filled by another plan, of branching"):
        other.split()[1](tape)
    with pytest.raises(ShapeError):
        forward(X[1:], tape)
    reverse(tape)  # refused before anything was written
    with pytest.raises(BranchError):
        forward(-X, tape)
    with pytest.raises(ArgumentError, match="no complete run of branching"):
        reverse(tape)


def test_wrong_calls() -> None:
    forward, reverse = planned_ad.compile(exponential, X).split()
    tape = forward.tape()
    for call in (lambda: forward(X), lambda: forward(X, X), lambda: forward(tape, X)):
        with pytest.raises(ArgumentError, match=r"a tape follows the arguments \(x\)"):
            call()
    with pytest.raises(ArgumentError, match="the tape comes first, not ndarray"):
        reverse(X)
    forward(X, tape)
    with pytest.raises(ArgumentError, match="takes tape, dx, cotangent; 4 arguments were given"):
        reverse(tape, np.zeros(12), 1.0, 2.0)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        copy.copy(tape)


def test_a_run_that_a_callback_ends() -> None:
    def refuse(x):
        if x[0] < 0:
            raise ValueError("negative")
        return x * 2

    doubled = planned_ad.opaque(result=lambda x: x)(refuse)
    doubled.vjp(needs="")(lambda cotangent: (cotangent * 2,))
    forward, reverse = planned_ad.compile(lambda x: np.sum(doubled(x) ** 2), X).split()
    tape = forward.tape()
    for _ in range(2):
        forward(X, tape)
    with pytest.raises(ValueError, match="negative"):
        forward(-X, tape)
    with pytest.raises(ArgumentError, match="no complete run"):
        reverse(tape)
    forward(X, tape)
    assert_near(reverse(tape), 8 * X)


def test_a_tape_outlives_the_trace_that_filled_it() -> None:
    def climbing(x):
        total = x[0]
        while total < 50000.0:
            total = np.maximum(total, -1.0) + x[1]  # whose derivative needs something of each iteration
        return total * x[1]

    plan = planned_ad.compile(climbing, np.array([0.0, 1000.0]))
    forward, reverse = plan.split()
    short, long = forward.tape(), forward.tape()
    forward(np.array([0.0, 1000.0]), short)
    assert forward(np.array([0.0, 40.0]), long) == 2e6  # more iterations than there was memory for
    assert long.nbytes > short.nbytes
    assert_near(reverse(long), np.array([40.0, 100000.0]))
    assert_near(reverse(short), np.array([1000.0, 100000.0]))


def test_threads_with_tapes_of_their_own() -> None:
    x = np.linspace(0, 1, 20_000)
    plan = planned_ad.compile(lambda x: np.sum(np.sin(x) * np.exp(x * x)), x)
    forward, reverse = plan.split()
    wrong: list[int] = []

    def work(number: int) -> None:
        tape, own = forward.tape(), x * number / 4
        expected = plan.gradient(own)
        for _ in range(20):
            forward(own, tape)
            if not np.allclose(reverse(tape), expected, rtol=1e-12):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_allocated() -> None:
    code = """
import numpy as np, planned_ad
def f(x, n):
    y = np.zeros(20)
    for i in range(1, 20):
        y[i] = np.sin(y[i - 1]) * x[i] + n
    return np.sum(y**2)
x, dx = np.linspace(0, 1, 20), np.zeros(20)
forward, reverse = planned_ad.compile(f, (x, 2.0)).split()
tapes = [forward.tape(), forward.tape()]
def call():
    for tape in tapes:
        forward(x, 2.0, tape)
    for tape in tapes:
        reverse(tape, dx)
"""
    assert count_in_subprocess(code) == {"malloc": 0, "blocks": 0}


def test_vjp_runs_the_primal_once() -> None:
    runs = []

    def noted(x):
        runs.append(1)
        return x * 2

    doubled = planned_ad.opaque(result=lambda x: x)(noted)
    doubled.vjp(needs="")(lambda cotangent: (cotangent * 2,))
    x = np.array([1.0, 2.0])
    square = planned_ad.vjp(lambda x: doubled(x) ** 2)
    square(x)  # which traces it, and compares
    runs.clear()
    value, pullback = square(x)
    assert len(runs) == 1
    x[:] = 9.0
    assert_near(pullback(np.array([1.0, 0.0])), np.array([8.0, 0.0]))
    assert_near(pullback(np.array([0.0, 1.0])), np.array([0.0, 16.0]))
    assert len(runs) == 1
    assert_near(value, np.array([4.0, 16.0]))


def test_vjp_of_trees() -> None:
    x = np.array([1.0, 2.0])
    value, pullback = planned_ad.vjp(lambda a, b: {"u": a * b, "w": (np.sum(a), b, 3)}, argnums=(0, 1))(x, 2.0)
    assert value["w"] == (3.0, 2.0, 3)
    assert_near(pullback({"u": np.ones(2), "w": (1.0, 2.0, 0)}), (np.array([3.0, 3.0]), 5.0))
    _, pullback, aux = planned_ad.vjp(lambda a, k: (a * k, np.sum(a)), has_aux=True)(x, 3)
    assert aux == 3.0
    assert_near(pullback(x), 3 * x)
    tree = {"a": x, "k": 2, "t": np.float32(3)}
    found = planned_ad.vjp(lambda d: np.sum(d["a"]) * d["k"] * d["t"])(tree)[1](1.0)
    assert_near(found["a"], np.array([6.0, 6.0]))
    assert found["k"] == 2 and type(found["t"]) is np.float32 and found["t"] == 6
    for branch in (x, -x):
        _, pullback = planned_ad.vjp(lambda v: v * v if v[0] > 0 else np.sum(v))(branch)
        assert_near(pullback(x if branch is x else 1.0), 2 * x * x if branch is x else np.ones(2))
    with pytest.raises(PlannedADError, match=r"the cotangent has shape \(3,\), and must have \(2,\)"):
        planned_ad.vjp(lambda v: v * v)(x)[1](np.ones(3))


def test_functions_of_a_long_half_are_passed_what_they_use(monkeypatch) -> None:
    """LLVM looks at each argument of each function: thousands of a tape, in each of many, took most of the time."""
    passed = []

    def noted(emitter, module, name, number, memories):
        passed.append(len(memories))
        return chunk_function(emitter, module, name, number, memories)

    chunk_function = emit.KernelEmitter.chunk_function
    monkeypatch.setattr(emit.KernelEmitter, "chunk_function", noted)
    monkeypatch.setattr(emit, "FUNCTION_ITEMS", 12)
    x = np.linspace(0.1, 0.9, 4)

    def f(x):
        a = x * 1.0
        for _ in range(24):
            a = np.sin(a) * x + a[::-1]
        return np.sum(a)

    plan = planned_ad.compile(f, x, unroll=100)
    passed.clear()
    forward, reverse = plan.split()
    assert len(passed) > 20 and sum(passed) < 5 * len(passed)  # of 24 arrays on the tape
    tape = forward.tape()
    value = forward(x, tape)
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    np.testing.assert_allclose(reverse(tape), plan.gradient(x), rtol=1e-14)
