"""The programs of `tests.loop_programs`: gradients, effects on arguments, and what they keep and allocate.

All loops are recorded as loops (`unroll=0`), however short, and compared with the unrolled programs. Small sizes are
compared with finite differences along random directions, in both precisions, on the arguments that the plan was
compiled for and on others, with which branches go elsewhere. Two thirds of the programs are compiled, in one precision
or the other; the interpreter stands in for the others, which `-m long` compiles. It also does all at medium sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.plan import Plan
from planned_ad.python.structure import flatten
from planned_ad.tape.tape import Constant, walk
from planned_ad.trace import Trace, trace

from .loop_programs import PROGRAMS, Program
from .malloc import count_in_subprocess
from .oracle import (
    Shadows,
    assert_differences,
    assert_same_arguments,
    assert_shadows,
    interpreted,
    lazily_compiled,
    shadow_leaves,
)
from .sweeps import sweep
from .tolerances import DIFFERENCES, SAME
from .tracing_oracle import assert_same as assert_same_result
from .tracing_oracle import perturbed_by_nothing as copied
from .tracing_oracle import replay

SINGLE_ROUNDING = 20 * SAME[np.dtype(np.float32)]  # of a long computation
GROUP = 16  # programs whose allocations are counted in one process

MORE_TRIPS = 12  # a multiple of the periods of exchanges, so that no rest is left over or another one

# What cannot pass yet: the reason, and the programs.
PENDING: dict[str, list[str]] = {}
READY = [name for name in PROGRAMS if not any(name in names for names in PENDING.values())]
UNROLLED = {
    "a loop over a loop that is left early": ["break_else"],
}  # fmt: skip


def marked(names: Iterable[str], *pending: dict[str, list[str]], later: Sequence[str] = ()) -> list[Any]:
    """Parameters of a test, with the marks of those that cannot pass yet, and of those left to `-m long`."""
    reasons = {name: reason for table in pending for reason, names in table.items() for name in names}

    def marks(name: str) -> list[pytest.MarkDecorator]:
        failing = [pytest.mark.xfail(strict=True, reason=reasons[name])] if name in reasons else []
        return [*failing, *([pytest.mark.long] if name in later else [])]

    return [pytest.param(name, marks=marks(name)) for name in names]


def grouped(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


def arguments_of(program: Program, size: int, dtype: type, seed: int = 0) -> tuple:
    return program.make_args(size, dtype, np.random.default_rng(seed))


def in_double(arguments: tuple) -> tuple:
    """The same numbers in double precision."""
    leaves, structure = flatten(arguments)
    return structure.unflatten(
        leaf.astype(float) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" else leaf for leaf in leaves
    )


@functools.cache
def plan_of(name: str) -> Plan:
    """The plan at the small size in double precision; its kernels are compiled where they are called."""
    program = PROGRAMS[name]
    return lazily_compiled(program.function, *arguments_of(program, program.small, np.float64), unroll=0)


def check_gradient_at(plan: Plan, program: Program, arguments: tuple, rtol: float) -> None:
    """The gradient against differences of the function in double precision, twice, with the function's own writes."""
    own, after = copied(arguments), copied(arguments)
    program.function(*after)
    first = plan.gradient(*own)
    assert_same_arguments(own, after)
    for a, b in zip(flatten(first)[0], flatten(plan.gradient(*copied(arguments)))[0]):
        np.testing.assert_array_equal(a, b, "the second call differs")
    traced = plan._variants[0].trace
    check_slopes(program, traced, arguments, shadow_leaves(traced, first), rtol)


def check_slopes(program: Program, traced: Trace, arguments: tuple, shadows: Shadows, rtol: float) -> None:
    """A gradient against differences of the function in double precision."""
    assert_differences(program.function, traced, in_double(arguments), shadows, program.step, rtol)


def check_value(plan: Plan, program: Program, arguments: tuple, compiled: bool) -> None:
    """What a call of the plan, or of its trace by the interpreter, returns and does to its arguments."""
    own, after = copied(arguments), copied(arguments)
    value = program.function(*after)
    if compiled:
        actual = plan(*own)
    else:
        traced = plan._variants[0].trace
        actual, own = replay(traced, *own)
        after = [a for a, leaf in zip(flatten(after)[0], traced.leaves, strict=True) if leaf.buffer is not None]
    # The fast path returns Python's float where the function returns a scalar of NumPy's subclass of it.
    assert_same_result(type(value)(actual) if type(actual) is float else actual, value)
    assert_same_arguments(own, after)


def check_interpreted(plan: Plan, program: Program, arguments: tuple) -> None:
    """The gradient against the interpreter's."""
    traced = plan._variants[0].trace
    shadows = shadow_leaves(traced, plan.gradient(*copied(arguments)))
    assert_shadows(shadows, interpreted(traced, "gradient", arguments), "interpreter")


# Of six programs the quick suite compiles two in double precision and one in single precision, and interprets three.
IN_SINGLE, INTERPRETED = READY[1::6], READY[3::6] + READY[4::6] + READY[5::6]


@pytest.mark.parametrize("name", marked(PROGRAMS, PENDING, later=IN_SINGLE + INTERPRETED))
def test_double_precision(name: str) -> None:
    program = PROGRAMS[name]
    plan, arguments = plan_of(name), arguments_of(program, program.small, np.float64)
    check_value(plan, program, arguments, compiled=False)
    check_interpreted(plan, program, arguments)
    check_gradient_at(plan, program, arguments, DIFFERENCES)
    check_gradient_at(plan, program, arguments_of(program, program.small, np.float64, seed=1), DIFFERENCES)


@pytest.mark.parametrize("name", sweep([n for n in READY if "csr" not in PROGRAMS[n].tags], slice(0, None, 5)))
def test_iterations_one_by_one(name: str) -> None:
    program = PROGRAMS[name]
    arguments = arguments_of(program, program.small, np.float64)
    shadows = interpreted(plan_of(name)._variants[0].trace, "gradient", arguments)
    unrolled = trace(program.function, copied(arguments), unroll=1 << 30)
    assert_shadows(shadows, interpreted(unrolled, "gradient", arguments), "unrolled")


@pytest.mark.parametrize("name", sweep(READY, slice(0, None, 10)))
def test_values(name: str) -> None:
    program = PROGRAMS[name]
    check_value(plan_of(name), program, arguments_of(program, program.small, np.float64), compiled=True)


@pytest.mark.parametrize("name", marked(READY, later=sorted(set(READY) - set(IN_SINGLE))))
def test_single_precision(name: str) -> None:
    program = PROGRAMS[name]
    arguments = arguments_of(program, program.small, np.float32)
    plan = planned_ad.compile(program.function, copied(arguments), unroll=0)
    check_gradient_at(plan, program, arguments, SINGLE_ROUNDING)


@pytest.mark.parametrize("name", marked(READY, later=sorted(set(READY) - set(INTERPRETED))))
def test_single_precision_by_the_interpreter(name: str) -> None:
    program = PROGRAMS[name]
    arguments = arguments_of(program, program.small, np.float32)
    traced = trace(program.function, copied(arguments), unroll=0)
    check_slopes(program, traced, arguments, interpreted(traced, "gradient", arguments), SINGLE_ROUNDING)


WITH_A_MINIMUM = [name for name, program in PROGRAMS.items() if program.cached is not None]


@pytest.mark.parametrize("name", marked(WITH_A_MINIMUM, PENDING))
def test_no_more_is_cached_than_a_person_would(name: str) -> None:
    program = PROGRAMS[name]
    assert program.cached is not None
    explanation = plan_of(name).explain()
    assert explanation.cached_bytes <= program.cached(program.small), str(explanation)


# Arguments are preserved, so that each call does the same. Shadows are passed, as whoever counts allocations does.
ALLOCATIONS = """
import numpy as np, planned_ad
from planned_ad.python.structure import flatten
from tests.loop_programs import PROGRAMS

def zeros(tree):
    leaves, structure = flatten(tree)
    return structure.unflatten([np.zeros_like(leaf) for leaf in leaves])

def active(argument):
    return all(isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" for leaf in flatten(argument)[0])

calls = []
for name in {names}:
    program = PROGRAMS[name]
    arguments = program.make_args(program.small, float, np.random.default_rng(0))
    plan = planned_ad.compile(program.function, arguments, preserve_args=True, unroll=0)
    calls.append((plan.gradient, (*arguments, *(zeros(a) for a in arguments if active(a)))))

def call():
    for gradient, arguments in calls:
        gradient(*arguments)
"""


def allocates(names: list[str]) -> bool:
    return count_in_subprocess(ALLOCATIONS.format(names=names), calls=100) != {"malloc": 0, "blocks": 0}


@pytest.mark.parametrize("names", sweep(grouped(READY, GROUP), slice(0, None, 9)), ids=lambda n: f"{n[0]}...{n[-1]}")
def test_nothing_is_allocated(names: list[str]) -> None:
    if allocates(names):
        pytest.fail(f"these allocate: {[name for name in names if allocates([name])]}")


@pytest.mark.long
@pytest.mark.parametrize("name", marked(PROGRAMS, PENDING))
def test_medium_sizes(name: str) -> None:
    program = PROGRAMS[name]
    arguments = arguments_of(program, program.medium, np.float64)
    plan = planned_ad.compile(program.function, copied(arguments))
    for seed in (0, 1):
        check_gradient_at(plan, program, arguments_of(program, program.medium, np.float64, seed), DIFFERENCES)


STAY_LOOPS = [name for name, program in PROGRAMS.items() if "unrolled" not in program.tags]


def tape_length(traced: Trace) -> int:
    """In operations; equal constants are one, and those of clamped indices may be equal by chance."""
    return sum(not isinstance(op, Constant) for op in walk(traced.tape.operations))


@pytest.mark.parametrize("name", marked(STAY_LOOPS, PENDING, UNROLLED, later=STAY_LOOPS[1::2]))
def test_loops_stay_loops(name: str) -> None:
    """The tape is as long for more trips."""
    program = PROGRAMS[name]
    more = trace(program.function, arguments_of(program, program.small + MORE_TRIPS, np.float64), unroll=0)
    assert tape_length(plan_of(name)._variants[0].trace) == tape_length(more)
