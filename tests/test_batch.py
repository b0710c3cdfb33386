"""Several shadows in one sweep: what as many runs of one give, on one primal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planned_ad.differentiate import batch
from planned_ad.differentiate.batch import SEEDS, batched
from planned_ad.differentiate.forward import forward
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.pipeline import simplify
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.python.structure import flatten_arguments
from planned_ad.regions.regions import contiguous
from planned_ad.tape.interpret import array_of, interpret, memory_of
from planned_ad.tape.tape import Apply, Loop, Tape, walk
from planned_ad.tape.verify import verify
from planned_ad.trace import Trace, trace

from .compiled_tape import CompiledTape
from .loop_programs import PROGRAMS
from .random_tapes import RandomTape
from .test_reverse_loops import Program

WIDTH = 3
SAMPLE = (
    "jacobi_2d", "thomas", "cholesky", "lstm", "iterated_map", "soft_dtw", "bubble_sort", "newton_square_root",
    "histogram", "gather_and_scatter_in_place", "states_by_append", "while_true_and_break", "csr_product_by_slices",
)  # fmt: skip


Contents = dict[int, np.ndarray]  # by argument


def numbers(tape: Tape, seed: int, fixed: Contents, kinds: frozenset[str] = SEEDS) -> Contents:
    """`fixed`, and random contents for the other arguments; only those of `kinds` depend on the seed."""
    found = dict(fixed)
    for id in tape.arguments:
        buffer = tape.buffers[id]
        draw = np.random.default_rng([id, seed if buffer.kind in kinds else 0])
        found.setdefault(id, draw.uniform(0.3, 0.9, buffer.shape).astype(buffer.dtype))
    return found


def interpreted(tape: Tape, contents: Contents) -> Contents:
    memories = {id: memory_of(tape.buffers[id], contents[id]) for id in tape.arguments}
    interpret(tape, memories)
    return {id: array_of(tape.buffers[id], memories[id]) for id in tape.arguments}


def check(tape: Tape, fixed: Contents | None = None, kinds: frozenset[str] = SEEDS) -> Tape:
    """The batch of `tape`, after a comparison with separate runs."""
    several = verify(batched(tape, WIDTH, kinds))
    runs = [numbers(tape, seed, fixed or {}, kinds) for seed in range(WIDTH)]
    copies = copies_of(tape, several)
    assert any(len(found) == WIDTH for found in copies.values())
    together = interpreted(several, {copy: runs[k][id] for id in copies for k, copy in enumerate(copies[id])})
    for seed, given in enumerate(runs):
        alone = interpreted(tape, given)
        for id, found in copies.items():
            number = together[found[seed if len(found) > 1 else 0]]
            np.testing.assert_array_equal(number, alone[id], err_msg=tape.buffers[id].label)
    return several


def copies_of(tape: Tape, several: Tape) -> dict[int, list[int]]:
    """Of each argument of `tape` its copies in `several`, by the order that is promised."""
    found: dict[int, list[int]] = {id: [] for id in tape.arguments}
    order = iter(several.arguments)
    for id in tape.arguments:
        found[id].append(next(order))
        if several.buffers[id].label == f"{tape.buffers[id].label}[0]":
            found[id] += [next(order) for _ in range(WIDTH - 1)]
    assert next(order, None) is None
    return found


def traced(name: str) -> tuple[Trace, Contents]:
    """A program of the collection, and the contents of its arguments."""
    program = PROGRAMS[name]
    arguments = program.make_args(program.small, np.float64, np.random.default_rng(0))
    found = trace(program.function, arguments, {}, unroll=0)
    leaves = zip(found.leaves, flatten_arguments(arguments)[0])
    return found, {leaf.buffer: np.asarray(value) for leaf, value in leaves if leaf.buffer is not None}


@pytest.fixture(params=["side by side", "in a loop"])
def form(request, monkeypatch):
    """Whether the copies of a sweep stand side by side, however many, or in a loop wherever they may."""
    monkeypatch.setattr(batch, "MOST_OPERATIONS", 10**9 if request.param == "side by side" else 0)
    monkeypatch.setattr(batch, "MOST_NBYTES", 10**9)
    return request.param


@pytest.mark.parametrize("name", SAMPLE)
def test_programs(name, form):
    found, contents = traced(name)
    primal = vectorise(found.tape)
    check(simplify(reverse(primal, accumulate=True, loss=False)), contents)
    if form == "side by side":
        check(simplify(forward(primal)), contents)


@pytest.mark.parametrize("seed", range(12))
def test_random_tapes(seed, form):
    tape = RandomTape(seed).tape()
    check(simplify(reverse(tape, accumulate=True, loss=False)))
    if form == "side by side":
        check(simplify(forward(tape)))


def rolled() -> Tape:
    """A loop over rows of a matrix that it writes to, and a sum of it."""
    p = Program()
    x, w = p.argument("x", 5, 4), p.argument("w", 4)
    with p.loop(4) as i:
        row = p.times(p.read(x, i, (0, 4)), p.load(w.whole))
        p.write(p.apply("sin", row), x, i + 1, (0, 4))
    return p.finished(p.sum(x), 2)


def test_the_primal_is_there_once(form):
    tape = simplify(reverse(rolled(), accumulate=True, loss=False))
    several = check(tape)

    def sines(tape: Tape) -> int:
        return sum(isinstance(op, Apply) and op.primitive in ("sin", "cos") for op in walk(tape.operations))

    assert sines(several) == sines(tape) > 0
    loops = [sum(isinstance(op, Loop) for op in walk(t.operations)) for t in (tape, several)]
    assert loops[1] == loops[0] + (form == "in a loop")


def test_one_is_the_tape_itself():
    tape = reverse(rolled(), accumulate=True, loss=False)
    assert batched(tape, 1) is tape


def test_arguments_are_followed_by_their_copies():
    several = batched(reverse(rolled(), accumulate=True, loss=False, keep_results=True), 2)
    assert [several.buffers[id].label for id in several.arguments] == [
        "x", "w", "dx[0]", "dx[1]", "dw[0]", "dw[1]", "cotangent[0]", "cotangent[1]", "result",
    ]  # fmt: skip


def test_tangents_of_one_gradient():
    """Second derivatives along several directions: the gradient itself is there once."""
    gradient = simplify(reverse(rolled(), accumulate=False))
    second = simplify(forward(gradient))
    several = check(second, kinds=frozenset({"tangent"}))
    labels = [several.buffers[id].label for id in several.arguments]
    assert labels[:4] == ["x", "w", "dx", "dw"]
    assert labels[4:7] == ["dx[0]", "dx[1]", "dx[2]"]
    tangent_of_shadow = several.buffers[several.arguments[labels.index("ddx[1]")]]
    assert tangent_of_shadow.shadow_of == several.arguments[2]


def test_a_branch_on_a_shadow_is_copied_as_a_whole():
    """No sweep of ours branches so; a rule written by a user may."""
    p = Program()
    x, dx = p.argument("x", 3), p.new_buffer("shadow", "dx", np.dtype(float), contiguous((3,)), shadow_of=0)
    seen = p.local(2)
    p.store(seen.whole, p.constant(0.5))
    negative = p.apply("greater", p.constant(0.6), p.read(dx, 0))

    def then():
        with p.loop(2) as i:
            p.write(p.read(x, i), seen, i)

    p.branch(negative, then, lambda: p.write(p.constant(2.0), seen, 1))
    with p.loop(2) as i:
        p.write(p.read(seen, i), dx, i, accumulate=True)
    tape = verify(p.tape((x.id, dx.id), (), frozenset({x.id})))
    check(replace(tape, turn=0))
    assert {bool(numbers(tape, seed, {})[dx.id][0] < 0.6) for seed in range(WIDTH)} == {True, False}


def test_a_sweep_that_changes_the_primals_memory_runs_once(monkeypatch):
    """Run again in a loop over the batch it would find other contents."""
    monkeypatch.setattr(batch, "MOST_OPERATIONS", 0)
    p = Program()
    x, dx = p.argument("x", 3), p.new_buffer("shadow", "dx", np.dtype(float), contiguous((3,)), shadow_of=0)
    state = p.local(3)
    p.store(state.whole, p.load(x.whole))
    turn = len(p.operations)
    p.store(dx.whole, p.times(p.load(dx.whole), p.load(state.whole)))
    p.store(state.whole, p.times(p.load(state.whole), p.load(state.whole)))
    p.store(dx.whole, p.load(state.whole), accumulate=True)
    check(replace(verify(p.tape((x.id, dx.id), (), frozenset({x.id}))), turn=turn))


def test_compiled(form):
    tape = simplify(reverse(rolled(), accumulate=True, loss=False))
    compiled = CompiledTape(batched(tape, WIDTH))
    draw = np.random.default_rng(1)
    arrays = [draw.uniform(0.3, 0.9, compiled.tape.buffers[id].shape) for id in compiled.tape.arguments]
    for found, expected in zip(compiled.run(arrays), compiled.interpreted(arrays)):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
