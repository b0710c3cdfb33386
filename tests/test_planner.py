"""The planner: what a memory plan promises, checked on hand-written and on random programs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from planned_ad.calls import kinds
from planned_ad.calls.entries import entry_tape
from planned_ad.planner import plan_memory
from planned_ad.planning.layout import ALIGNMENT, Arena, Uses, lay_out, may_reuse
from planned_ad.planning.schedule import (
    GatherRead,
    LibraryStep,
    LoopStep,
    Memory,
    MemoryPlan,
    Nest,
    Read,
    Reduce,
    Write,
    walk_steps,
)
from planned_ad.tape.tape import Tape
from planned_ad.trace import trace

from .random_programs import function_of, programs
from .sweeps import drawn, rotated
from .test_programs import PROGRAMS

KINDS = ("gradient", "pullback", "call")


def check_layout(plan: MemoryPlan) -> None:
    """Offsets are aligned, inside the workspace, and nothing alive overlaps but by declared in-place reuse."""
    assert plan.offsets.keys() == plan.sizes.keys() == plan.lifetimes.keys()
    assert plan.workspace_nbytes >= plan.lower_bound_nbytes >= max(plan.sizes.values(), default=0)
    assert plan.workspace_nbytes % ALIGNMENT == 0
    for memory, offset in plan.offsets.items():
        nbytes = plan.sizes[memory]
        assert 0 <= offset <= offset + nbytes <= plan.workspace_nbytes
        assert offset % (ALIGNMENT if nbytes >= ALIGNMENT else 8) == 0
    for a, b in itertools.combinations(plan.offsets, 2):
        apart = plan.offsets[a] + plan.sizes[a] <= plan.offsets[b] or plan.offsets[b] + plan.sizes[b] <= plan.offsets[a]
        (first_a, last_a), (first_b, last_b) = plan.lifetimes[a], plan.lifetimes[b]
        if apart or last_a < first_b or last_b < first_a:
            continue
        old, new = (a, b) if first_a < first_b else (b, a)
        step = plan.lifetimes[old][1]
        assert step == plan.lifetimes[new][0], f"{old} and {new} overlap"
        assert old.kind == new.kind == "slot" and plan.sizes[old] == plan.sizes[new] >= ALIGNMENT
        assert may_reuse(Uses(list(walk_steps(plan.steps))[step]), old, new)


def accesses(plan: MemoryPlan) -> Iterator[tuple[int, Memory, bool]]:
    """(step, memory, whether it is written) of every access, in order."""
    for number, step in enumerate(walk_steps(plan.steps)):
        if isinstance(step, Nest):
            for k, item in enumerate(step.items):
                if isinstance(item, Read | GatherRead):
                    yield number, item.memory, False
                elif isinstance(item, Write | Reduce):
                    yield number, item.memory, True
                if k in step.spills:
                    yield number, step.spills[k].memory, True
        elif isinstance(step, LibraryStep):
            for memory, _, _ in step.operands:
                yield number, memory, False
            yield number, step.result, True
        elif isinstance(step, LoopStep):
            if step.count is not None:
                yield number, step.count[0], False
        else:
            yield number, step.memory, False


def check_uses(plan: MemoryPlan) -> None:
    """Every slot is written before it is read, and all within its lifetime; reads only know memory that exists."""
    written: set[Memory] = set()
    for step, memory, writes in accesses(plan):
        if memory.kind == "slot":
            assert writes or memory in written, f"{memory} is read in step {step} before it is written"
            if writes:
                assert memory not in written, f"{memory} is written twice"
                written.add(memory)
        if memory in plan.lifetimes:
            first, last = plan.lifetimes[memory]
            assert first <= step <= last
        elif memory.kind == "constant":
            assert memory.id in plan.constants and not writes
        else:
            assert memory.kind == "buffer" and plan.tape.buffers[memory.id].visible


def check_registers(plan: MemoryPlan) -> None:
    """Registers are numbered in order: an item reads only what stands before it."""
    for step in walk_steps(plan.steps):
        if isinstance(step, Nest):
            assert len(step.items) == len(step.lines)
            for number, item in enumerate(step.items):
                operands = [*getattr(item, "operands", ()), *getattr(item, "indices", ())]
                operands += [item.source] if isinstance(item, Write | Reduce) else []
                assert all(0 <= k < number for k in operands)
                if isinstance(item, Read | GatherRead | Write | Reduce):
                    assert item.view.shape == step.domain


def check(tape: Tape) -> MemoryPlan:
    plan = plan_memory(tape)
    check_layout(plan)
    check_uses(plan)
    check_registers(plan)
    return plan


@pytest.mark.parametrize(("name", "kind"), rotated(PROGRAMS, [*KINDS, "gradient that preserves"]))
def test_invariants_of_programs(name: str, kind: str) -> None:
    f, args, _ = PROGRAMS[name]
    check(entry_tape(trace(f, args), kinds.KINDS[kind.split()[0]], "preserves" in kind))


@drawn(programs(statements=9), few=20, many=200)
def test_invariants_of_random_programs(source: str) -> None:
    x, a = np.linspace(-1, 1, 6), np.linspace(-1, 2, 12).reshape(4, 3)
    try:
        traced = trace(function_of(source), (x, a, 0.4, np.array([2, 0, 2])))
    except (ValueError, IndexError):  # of the program itself
        return
    for kind in KINDS:
        check(entry_tape(traced, kinds.KINDS[kind], False))


def planned(f, *args, kind: str = "gradient") -> MemoryPlan:
    return check(entry_tape(trace(f, args), kinds.KINDS[kind], False))


def test_a_sum_of_elementwise_work_is_one_nest_without_workspace() -> None:
    """Reverse work that needs only intact arguments joins the primal's nest."""
    plan = planned(lambda x: np.sum(np.sin(x) * np.exp(-x * x)), np.ones(100))
    assert len([s for s in plan.steps if isinstance(s, Nest)]) == 1
    assert plan.cached == () and plan.workspace_nbytes == 0


def test_what_is_overwritten_is_cached_once() -> None:
    def f(x):
        y = x * 2
        x[:] = 0
        return np.sum(y * y * y) ** 2

    plan = planned(f, np.ones(100))
    assert sum(c.nbytes for c in plan.cached if c.nbytes > 8) == 800


def test_what_is_intact_is_not_cached() -> None:
    plan = planned(lambda x, y: np.sum(x * y * x), np.ones(100), np.ones(100))
    assert plan.cached == () and plan.workspace_nbytes == 0


def test_slots_that_do_not_live_together_share_a_place() -> None:
    def f(x):
        for _ in range(6):
            x = np.cumsum(x) * 0.1
        return np.sum(x)

    plan = planned(f, np.ones(1000))
    assert plan.workspace_nbytes <= 3 * 8000 + 256


def test_place_is_given_back_and_coalesced() -> None:
    arena = Arena()
    a, b, c = arena.take(64), arena.take(128), arena.take(64)
    assert (a, b, c, arena.end) == (0, 64, 192, 256)
    arena.give(a, 64)
    arena.give(b, 128)
    assert arena.free == {0: 192}
    assert arena.take(192) == 0 and arena.free == {} and arena.end == 256


def test_listings_are_stable() -> None:
    from planned_ad.planning.schedule_listing import plan_listing

    f, args, _ = PROGRAMS["gauss_seidel"]
    texts = {plan_listing(planned(f, *args)) for _ in range(2)}
    assert len(texts) == 1 and "0x" not in texts.pop()


def test_negative_zero_in_memory_is_not_taken_for_zero() -> None:
    from planned_ad.passes.pipeline import simplify
    from planned_ad.regions.regions import contiguous
    from planned_ad.tape.builder import TapeBuilder
    from tests.compiled_tape import CompiledTape

    builder = TapeBuilder()
    memory = builder.new_buffer("local", "t", np.dtype(float), contiguous((3,)))
    result = builder.new_buffer("result", "y", np.dtype(float), contiguous((3,)))
    builder.store(memory.whole, builder.constant(-0.0))
    builder.store(result.whole, builder.load(memory.whole))
    (y,) = CompiledTape(simplify(builder.tape((result.id,), (), frozenset()))).run([])
    assert np.signbit(y).all()


def test_empty_memories_have_no_place() -> None:
    sizes = (24, 24, 0, 8, 0, 0)
    lifetimes = ((3, 3), (1, 2), (0, 3), (1, 1), (2, 4), (2, 2))
    memories = [Memory("slot", k) for k in range(len(sizes))]
    _, nbytes, bound = lay_out(dict(zip(memories, sizes)), dict(zip(memories, lifetimes)), [])
    assert (nbytes, bound) == (ALIGNMENT, 32)


def test_places_of_numbers_are_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of them die where thousands are born: none takes the place of another, and no pair is looked at."""
    asked: list[object] = []
    monkeypatch.setattr("planned_ad.planning.layout.may_reuse", lambda *pair: asked.append(pair))
    memories = [Memory("slot", k) for k in range(40)]
    lifetimes = {m: (0, 1) if m.id < 20 else (1, 2) for m in memories}
    lay_out(dict.fromkeys(memories, 8), lifetimes, [None] * 3)  # type: ignore[list-item]
    assert not asked


def test_arrays_of_whole_pages_lie_apart() -> None:
    """Equal indices of many arrays must not share the same few places of a cache."""
    memories = [Memory("slot", k) for k in range(12)]
    offsets, _, _ = lay_out(dict.fromkeys(memories, 8192), dict.fromkeys(memories, (0, 1)), [])
    assert len({offset % 4096 for offset in offsets.values()}) == 12
