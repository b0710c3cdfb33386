"""Random programs that write Python (`tests.random_python`): each is right, or refused with an error of ours.

Some dozen by the interpreter and a few through machine code; `-m long` judges more of both. What fails is
printed as a small program; `python -m tests.random_python` shows tables.
"""

from __future__ import annotations

import pytest

from .random_python.generate import arguments, random_program
from .random_python.judge import case, is_valid, shrunk
from .random_python.loops import COMPUTED, HEADERS
from .random_python.states import STATES
from .random_python.tree import Block, Lines, Program
from .verdicts import value_of

LEAST_RIGHT = 0.8
GROUP = 20


def assert_right_or_refused(seeds: range, compiled: bool, may_be_slow: bool = False) -> None:
    """None is wrong; a share may be refused, and with `may_be_slow` take longer than its limit."""
    refused = []
    for seed in seeds:
        found = case(seed, compiled)
        if found.verdict.kind in ("wrong", "crashed") or (found.verdict.kind == "slow" and not may_be_slow):
            small = shrunk(found, compiled, seconds=15).source
            pytest.fail(f"seed {seed} at unroll={found.unroll} is {found.verdict}; part of it:\n{small}")
        if found.verdict.kind in ("refused", "slow"):
            refused.append(f"seed {seed}: {found.verdict.why}")
    assert len(refused) <= (1 - LEAST_RIGHT) * len(seeds), "\n".join(refused)


def groups(first: int, last: int) -> list[range]:
    return [range(start, start + GROUP) for start in range(first, last, GROUP)]


def test_a_seed_always_makes_the_same_program() -> None:
    assert random_program(3).source == random_program(3).source != random_program(4).source


def test_programs_have_something_to_compare_with() -> None:
    assert sum(is_valid(random_program(seed)) for seed in range(100)) > 90


def test_everything_is_drawn() -> None:
    kinds = frozenset().union(*(random_program(seed).kinds for seed in range(600)))
    assert {f"state: {name}" for name in STATES} | {f"loop: {name}" for name in [*HEADERS, *COMPUTED]} | {
        "replaced"
    } <= kinds


def test_a_program_shrinks_by_one_part_at_a_time() -> None:
    lines = tuple(Lines(f"t = {k}") for k in range(3))
    program = Program((), (Block((("if x:", lines[:2]),)), Lines("return t")), frozenset(), (3, 3))
    bodies = [smaller.body[0] for smaller in program.smaller()]
    assert bodies == [
        Lines("return t"),
        lines[0],
        Block((("if x:", (lines[1],)),)),
        Block((("if x:", (lines[0],)),)),
    ]


def test_a_program_with_an_error_in_it_is_not_valid() -> None:
    program = Program((), (Lines("return unknown"),), frozenset(), (3, 3))
    with pytest.raises(NameError):
        value_of(program.function(), arguments(program, 0))
    assert not is_valid(program)


@pytest.mark.parametrize("seeds", [range(6)], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_interpreted(seeds: range) -> None:
    assert_right_or_refused(seeds, compiled=False)


def test_compiled() -> None:
    assert_right_or_refused(range(1000, 1003), compiled=True)


@pytest.mark.long
@pytest.mark.parametrize(
    "seeds", [range(6, 20)] + groups(20, 200) + groups(2000, 4000), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_many_interpreted(seeds: range) -> None:
    assert_right_or_refused(seeds, compiled=False, may_be_slow=True)


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(1003, 1020)] + groups(4000, 4400), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_many_compiled(seeds: range) -> None:
    assert_right_or_refused(seeds, compiled=True, may_be_slow=True)
