"""Random programs, differentiated twice in all orders of the modes: against one another, and differences of gradients.

The orders agree also at kinks, where differences say nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

from planned_ad.errors import UnsupportedError

from . import random_loop_programs
from .nested_oracle import ORDERS, check_second_derivatives
from .random_programs import function_of, programs
from .sweeps import drawn, sweep
from .test_random_loops import NO_BOUND, is_finite, program_of, run, trace_of
from .test_random_programs import arguments

COMMON = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def check_program(source: str, layout: int = 0, **options) -> None:
    note(source)
    f, args = function_of(source), arguments(layout)
    try:
        value, after = run(f, args)
    except (ValueError, IndexError):
        assume(False)
    assume(np.isfinite(value) and is_finite(value, [a for a in after if isinstance(a, np.ndarray)]))
    check_second_derivatives(f, args, unroll=None, **options)


def check_loops(seed: int, lines: int, **options) -> None:
    source = program_of(seed, lines=lines)
    f, args = random_loop_programs.function_of(source), random_loop_programs.arguments()
    try:
        value, after = run(f, args)
    except (ValueError, IndexError):  # which the program itself raises: it was drawn so
        return
    if not is_finite(value, after) or trace_of(source) is None:
        return
    try:
        check_second_derivatives(f, args, **options)
    except UnsupportedError as error:
        assert NO_BOUND in str(error)
    except Exception as error:
        error.add_note(f"seed {seed}\n{source}")
        raise


@drawn(programs(), few=4, many=40)
def test_short_programs(source: str) -> None:
    check_program(source)


@pytest.mark.parametrize("seed", sweep(range(4), slice(2)))
def test_random_loops(seed: int) -> None:
    check_loops(seed, 14, orders=ORDERS[seed % 2 : 4 : 2] if seed % 3 else ORDERS)


@settings(COMMON, max_examples=2)
@given(programs(statements=4))
def test_compiled_programs(source: str) -> None:
    check_program(source, orders=ORDERS[:2], compile_too=True)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
@settings(COMMON, max_examples=50, derandomize=False)
@given(source=programs(statements=12))
def test_long_programs(part: int, source: str) -> None:
    check_program(source)
    check_program(source, layout=2, orders=ORDERS[:1], compile_too=True)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 1000, 50))
def test_seeds(start: int) -> None:
    for seed in range(start, start + 50):
        check_loops(seed, 22, compile_too=seed % 10 == 0)
