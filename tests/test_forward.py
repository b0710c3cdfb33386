"""Forward mode on tapes: against reverse mode and differences, of programs and of their reverse sweeps.

A sample of `tests.loop_programs`; `-m long` takes all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planned_ad.calls.entries import finished
from planned_ad.differentiate.forward import forward
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.planner import plan_memory
from planned_ad.python.structure import flatten
from planned_ad.tape.interpret import array_of, interpret, memory_of
from planned_ad.tape.tape import Tape
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .loop_programs import PROGRAMS
from .nested_oracle import check_second_derivatives, near
from .tracing_oracle import perturbed_by_nothing as copied

Arrays = dict[int, np.ndarray]  # by buffer

SAMPLE = list(PROGRAMS)[::14]
some = pytest.mark.parametrize("name", SAMPLE)
others = pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in SAMPLE])


def run(tape: Tape, traced: Trace, args: tuple, given: Arrays) -> Arrays:
    """What the arguments of the tape hold afterwards; those that are not `given` start at zero."""
    verify(tape)
    start = dict(given)
    for leaf, example in zip(traced.leaves, flatten(args)[0]):
        if leaf.buffer is not None:
            start[leaf.buffer] = np.asarray(example)
    memories = {}
    for id in tape.arguments:
        buffer = tape.buffer(id)
        memories[id] = memory_of(buffer, start.get(id, np.zeros(buffer.shape, buffer.dtype)))
    with np.errstate(all="ignore"):
        interpret(tape, memories)
    return {id: array_of(tape.buffer(id), memories[id]).copy() for id in tape.arguments}


def shadows_of(tape: Tape, kind: str) -> dict[int, int]:
    """The arguments of this kind, by the buffer whose shadow they are."""
    found = {tape.buffer(id).shadow_of: id for id in tape.arguments if tape.buffer(id).kind == kind}
    return {of: id for of, id in found.items() if of is not None}


def tangents_for(traced: Trace, seed: int = 1) -> Arrays:
    rng = np.random.default_rng(seed)
    return {
        leaf.buffer: rng.normal(size=leaf.shape) for leaf in traced.leaves if leaf.active and leaf.buffer is not None
    }


def pushed(tape: Tape, traced: Trace, args: tuple, tangents: Arrays) -> tuple[Tape, Arrays, Arrays]:
    """The tape in forward mode; what its arguments hold afterwards; of these the tangents, by buffer."""
    result = forward(tape)
    places = shadows_of(result, "tangent")
    after = run(result, traced, args, {places[of]: t for of, t in tangents.items() if of in places})
    return result, after, {of: after[id] for of, id in places.items()}


def example_of(name: str) -> tuple[Trace, tuple]:
    program = PROGRAMS[name]
    args = program.make_args(program.small, np.float64, np.random.default_rng(0))
    return trace(program.function, copied(args), unroll=0), args


def check_against_reverse(name: str) -> None:
    """The tangent of the loss is the product of the gradient with the tangents; as recorded, and vectorised."""
    traced, args = example_of(name)
    tangents = tangents_for(traced)
    for tape in (traced.tape, vectorise(traced.tape)):
        backward = reverse(tape)
        after = run(backward, traced, args, {})
        gradient = {of: after[id] for of, id in shadows_of(backward, "shadow").items()}
        expected = sum(float(np.sum(gradient[of] * t)) for of, t in tangents.items())
        scale = sum(float(np.sum(np.abs(gradient[of] * t))) for of, t in tangents.items())
        result, after, _ = pushed(tape, traced, args, tangents)
        assert abs(after[result.arguments[-1]] - expected) <= 1e-10 * max(1.0, scale)
        assert not [b for b in result.buffers[len(tape.buffers) :] if b.kind == "cache"]


@some
def test_programs(name: str) -> None:
    check_against_reverse(name)


@pytest.mark.long
@others
def test_other_programs(name: str) -> None:
    check_against_reverse(name)


@some
def test_nothing_is_kept(name: str) -> None:
    """Also after all that is done to the tape: a plan of it caches nothing."""
    traced, _ = example_of(name)
    assert plan_memory(verify(finished(forward(vectorise(traced.tape))))).cached_nbytes == 0


def check_reverse_sweep(name: str) -> None:
    """Tangents of the shadows are differences of the gradient."""
    traced, args = example_of(name)
    tangents = tangents_for(traced)
    backward = reverse(vectorise(traced.tape))
    shadows = shadows_of(backward, "shadow")
    product = finished(forward(backward, keep_results=False))
    places = shadows_of(product, "tangent")
    after = run(product, traced, args, {places[of]: t for of, t in tangents.items() if of in places})

    def gradient(h: float) -> Arrays:
        leaves, structure = flatten(copied(args))
        for k, leaf in enumerate(traced.leaves):
            if leaf.active and leaf.buffer is not None:
                leaves[k] = leaves[k] + h * tangents[leaf.buffer]
        found = run(backward, traced, structure.unflatten(leaves), {})
        return {of: found[id] for of, id in shadows.items()}

    def slope(h: float) -> Arrays:
        up, down = gradient(h), gradient(-h)
        return {of: (up[of] - down[of]) / (2 * h) for of in up}

    coarse, fine = slope(2e-5), slope(1e-5)
    for of, shadow in shadows.items():
        assert near(after[places[shadow]], (4 * fine[of] - coarse[of]) / 3, 2e-5), name


@some
def test_reverse_sweeps(name: str) -> None:
    check_reverse_sweep(name)


@pytest.mark.long
@others
def test_reverse_sweeps_of_other_programs(name: str) -> None:
    check_reverse_sweep(name)


def check_orders(name: str) -> None:
    program = PROGRAMS[name]
    args = program.make_args(program.small, np.float64, np.random.default_rng(0))
    check_second_derivatives(program.function, args)


@pytest.mark.parametrize("name", list(PROGRAMS)[5::40])
def test_all_orders_of_the_modes(name: str) -> None:
    check_orders(name)


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_orders_of_the_modes_of_all_programs(name: str) -> None:
    check_orders(name)


# Memory of the caller.


def traced_of(f: Any, *args: Any) -> Trace:
    return trace(f, copied(args), unroll=0)


def test_tangents_of_arguments_are_in_out() -> None:
    """On entry of what the arguments hold, on exit of what `f` leaves there."""

    def f(x, y):
        for i in range(1, 5):
            x[i] = np.sin(x[i - 1]) * y[i]
        y[::2] += x[::2] ** 2
        x[0] = 3.0
        return np.sum(x * y)

    args = (np.linspace(0.3, 1.2, 5), np.linspace(1.0, -1.0, 5))
    traced = traced_of(f, *args)
    tangents = tangents_for(traced)
    _, _, final = pushed(traced.tape, traced, args, tangents)

    def moved(h: float) -> tuple:
        own = tuple(a + h * t for a, t in zip(args, tangents.values()))
        f(*own)
        return own

    for actual, up, down in zip(final.values(), moved(1e-6), moved(-1e-6), strict=True):
        np.testing.assert_allclose(actual, (up - down) / 2e-6, rtol=1e-8, atol=1e-8)
    assert final[traced.leaves[0].buffer][0] == 0.0


def test_arguments_come_in_order() -> None:
    """Those of the primal, their tangents, the results, the tangents of the floating results."""

    def f(x, n, s):
        return x[n] * s, n, np.sum(x)

    args = (np.array([1.0, 2.0, 3.0]), np.array([2, 0]), 2.0)
    traced = traced_of(f, *args)
    assert [traced.tape.buffer(id).label for id in traced.tape.arguments] == ["x", "n", "s"]
    for keep in (True, False):
        result = forward(traced.tape, keep_results=keep)
        kinds = [result.buffer(id).kind for id in result.arguments]
        assert kinds == ["argument"] * 3 + ["tangent"] * 2 + ["result"] * (5 if keep else 2)
    tangents = dict(zip((traced.leaves[0].buffer, traced.leaves[2].buffer), (np.array([1.0, 10.0, 100.0]), 0.5)))
    result, after, _ = pushed(traced.tape, traced, args, tangents)  # type: ignore[arg-type]
    *_, first, second = (after[id] for id in result.arguments)
    np.testing.assert_allclose(first, [201.5, 2.5])
    assert second == 111.0


def test_single_precision_stays_single() -> None:
    def f(x):
        y = np.zeros_like(x)
        for i in range(4):
            y[i] = x[i] * x[3 - i] + y[i - 1]
        return np.exp(y)

    x = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    traced = traced_of(f, x)
    result = forward(traced.tape)
    assert {b.dtype for b in result.buffers if b.dtype.kind == "f"} == {np.dtype(np.float32)}


def test_a_tape_in_forward_mode_can_be_pushed_again() -> None:
    """The tangent of the tangent, with the tangents' own tangents zero: the second derivative along the direction."""

    def f(x):
        for i in range(1, 4):
            x[i] *= np.exp(x[i - 1])
        return np.sum(x**3)

    x = np.array([0.3, -0.2, 0.5, 0.1])
    traced = traced_of(f, x)
    id, v = traced.leaves[0].buffer, tangents_for(traced)
    once = forward(traced.tape, keep_results=False)
    twice = forward(once, keep_results=False)
    places = [k for k in twice.arguments if twice.buffer(k).kind == "tangent"]
    of_x = [k for k in places if twice.buffer(k).shadow_of == id]
    after = run(twice, traced, (x,), dict.fromkeys(of_x, v[id]))

    def value(h: float) -> float:
        return float(f(x + h * v[id]))

    def second(h: float) -> float:
        return (value(h) - 2 * value(0.0) + value(-h)) / h**2

    expected = (4 * second(1e-3) - second(2e-3)) / 3
    np.testing.assert_allclose(after[twice.arguments[-1]], expected, rtol=1e-6)
