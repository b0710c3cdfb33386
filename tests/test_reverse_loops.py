"""Adjoints of loops and branches on hand-written tapes: right, and with the least memory kept for them."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.differentiate.reverse import reverse
from planned_ad.errors import UnsupportedError
from planned_ad.passes.pipeline import simplify
from planned_ad.python.source import Line
from planned_ad.regions.affine import ragged
from planned_ad.regions.regions import Region, View
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Branch, Loop, Tape
from planned_ad.tape.verify import verify

from .reverse_loop_cases import CASES, FLOAT, N, Program


def cached_bytes(tape: Tape) -> int:
    return sum(b.span * b.dtype.itemsize for b in tape.buffers if b.kind == "cache")


def value_of(tape: Tape, inputs: list[np.ndarray]) -> float:
    memories = {id: x.copy().reshape(-1) for id, x in zip(tape.arguments, inputs)}
    return float(interpret(tape, memories)[0])


def gradient_of(joint: Tape, inputs: list[np.ndarray]) -> list[np.ndarray]:
    memories = {id: x.copy().reshape(-1) for id, x in zip(joint.arguments, inputs)}
    shadows = joint.arguments[len(inputs) :]
    for id in shadows:
        memories[id] = np.full(joint.buffer(id).span, np.nan)
    interpret(joint, memories)
    return [memories[id] for id in shadows]


def differences(tape: Tape, inputs: list[np.ndarray], number: int) -> np.ndarray:
    x = inputs[number]
    found = np.zeros(x.size)
    for k in range(x.size):
        moved = []
        for h in (1e-4, -1e-4, 5e-5, -5e-5):
            own = [y.copy() for y in inputs]
            own[number].reshape(-1)[k] += h
            moved.append(value_of(tape, own))
        coarse, fine = (moved[0] - moved[1]) / 2e-4, (moved[2] - moved[3]) / 1e-4
        found[k] = (4 * fine - coarse) / 3
    return found


def check(tape: Tape, inputs: list[np.ndarray]) -> Tape:
    joint = verify(reverse(tape))
    found = gradient_of(joint, inputs)
    for number, shadow in enumerate(found):
        np.testing.assert_allclose(shadow, differences(tape, inputs, number), rtol=1e-6, atol=1e-8)
    return joint


@pytest.mark.parametrize("name", sorted(CASES))
def test_gradients_by_differences(name: str) -> None:
    made = CASES[name]()
    joint = check(made.tape, made.inputs())
    loops = sum(isinstance(op, Loop | Branch) for op in made.tape.operations)
    assert sum(isinstance(op, Loop | Branch) for op in joint.operations) <= 2 * loops


@pytest.mark.parametrize("name", sorted(CASES))
def test_bytes_kept(name: str) -> None:
    made = CASES[name]()
    labels = [b.label for b in reverse(made.tape).buffers if b.kind == "cache"]
    assert cached_bytes(reverse(made.tape)) == made.cached, labels


@pytest.mark.parametrize("name", sorted(CASES))
def test_simplified_adjoints_are_the_same(name: str) -> None:
    made = CASES[name]()
    joint = reverse(made.tape)
    expected = gradient_of(joint, made.inputs())
    for found, wanted in zip(gradient_of(verify(simplify(joint)), made.inputs()), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_strided_arguments_have_packed_shadows() -> None:
    """x[i] *= x[i-1], for x with gaps between its elements, counted from the far end."""
    p = Program()
    x = p.new_buffer("argument", "x", FLOAT, View(0, (N, 2), (-5, 2)))
    with p.loop(N - 1, 1) as i:
        row = Region(x.id, View(-5 * i, (2,), (2,)))
        above = Region(x.id, View(-5 * (i - 1), (2,), (2,)))
        p.store(row, p.times(p.apply("sin", p.load(row)), p.load(above)))
    tape = p.finished(p.sum(x))
    memory = np.full(x.span, np.nan)
    whole = np.ndarray((N, 2), FLOAT, memory, 25 * 8, (-5 * 8, 2 * 8))
    whole[...] = np.random.default_rng(0).normal(size=(N, 2))
    found = np.full(2 * N, np.nan)
    joint = verify(reverse(tape))
    start = memory.copy()
    interpret(joint, {x.id: start, joint.arguments[1]: found})
    shadow = joint.buffer(joint.arguments[1]).view
    assert shadow.offset == 0 and sorted(shadow.strides) == [1, 2]
    for row in range(N):
        moved = []
        for h in (1e-5, -1e-5):
            own = memory.copy()
            np.ndarray((N, 2), FLOAT, own, 25 * 8, (-5 * 8, 2 * 8))[row, 1] += h
            moved.append(float(interpret(tape, {x.id: own})[0]))
        np.testing.assert_allclose(
            found[row * shadow.strides[0] + shadow.strides[1]], (moved[0] - moved[1]) / 2e-5, rtol=1e-7
        )


def test_products_along_ragged_axes_are_refused() -> None:
    p = Program()
    x, y = p.argument("x", N, N), p.argument("y", N)
    with p.loop(N) as i:
        p.write(p.apply("reduce_prod", p.read(x, i, (0, ragged(N, i + 1))), axes=(0,)), y, i)
    with pytest.raises(UnsupportedError, match="reduce_prod has no derivative yet where a loop changes the extents"):
        reverse(p.finished(p.sum(y)))


def test_reasons_name_the_line_that_overwrites() -> None:
    p = Program()
    x = p.argument("x", N)
    line = Line(file=__file__, number=1, function="f")
    with p.loop(N - 1, 1) as i:
        old = p.read(x, i)
        p.line = line
        p.write(p.times(old, old), x, i)
    (cache,) = [b for b in reverse(p.finished(p.sum(x))).buffers if b.kind == "cache"]
    assert cache.label == f"needed by the derivative, and its memory is overwritten at {line}: {line.text}"


def test_a_loop_without_iterations_has_no_adjoint() -> None:
    p = Program()
    x = p.argument("x", N)
    with p.loop(0) as i:
        p.write(p.apply("sin", p.read(x, i)), x, i)
    joint = check(p.finished(p.sum(x)), [np.ones(N)])
    assert sum(isinstance(op, Loop) for op in joint.operations) == 1


def test_what_nothing_depends_on_is_not_kept() -> None:
    """A loop that writes only what the result does not depend on has no adjoint."""
    p = Program()
    x, y = p.argument("x", N), p.argument("y", N)
    with p.loop(N) as i:
        p.write(p.cast(p.apply("greater", p.read(x, i), p.constant(0.0)), FLOAT), y, i)
    joint = check(p.finished(p.sum(x)), [np.ones(N), np.ones(N)])
    assert not cached_bytes(joint)
    assert sum(isinstance(op, Loop) for op in joint.operations) == 1
