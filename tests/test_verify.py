"""What makes a tape ill-formed, one defect at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planned_ad.python.source import Line
from planned_ad.regions.affine import loop_index
from planned_ad.regions.regions import Region, View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.tape import Apply, Guard, Load, Loop, Operation, Scatter, Store, Tape, Value
from planned_ad.tape.verify import TapeError, check_defined, verify

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
HERE = Line(file="model.py", number=12, function="step")


def value(id: int, *shape: int, dtype=FLOAT) -> Value:
    return Value(id=id, shape=shape, dtype=dtype)


def well_formed() -> Tape:
    """`y = 2 * x[1:3]; x[0:2] = y; x[k] = 2` of x with 4 elements in 2 strides, and a loop over `t`."""
    builder = TapeBuilder(line=HERE)
    x = builder.new_buffer("argument", "x", FLOAT, View(0, (4,), (2,)))
    t = builder.new_buffer("local", "t", FLOAT, contiguous((3, 2)))
    two = builder.constant(2.0)
    y = builder.apply("multiply", builder.load(Region(x.id, View(2, (2,), (2,)))), two)
    builder.store(Region(x.id, View(0, (2,), (2,))), y)
    builder.scatter(x.whole, (builder.constant(np.array([1, 0])),), two)
    builder.store(t.whole, two)
    row = Region(t.id, View(2 * loop_index(0), (2,), (1,)))
    body = (Load(out=value(50, 2), region=row), Store(region=row, value=y, accumulate=True))
    builder.emit(Loop(index=0, start=2, step=-1, trips=3, body=body, line=HERE))
    builder.guard(builder.apply("less", two, two), False, "2 < 2")
    return builder.tape((x.id,), (y,), frozenset({x.id}))


def test_a_well_formed_tape_is_returned() -> None:
    tape = well_formed()
    assert verify(tape) is tape


def add(*operations: Operation) -> Callable[[Tape], Tape]:
    return lambda tape: replace(tape, operations=(*tape.operations, *operations))


def at(*offset_shape_strides, buffer: int = 0) -> Region:
    return Region(buffer, View(*offset_shape_strides))


def in_loop(*operations: Operation, trips: int = 2) -> Loop:
    return Loop(index=1, start=0, step=1, trips=trips, body=operations, line=HERE)


TWO, PAIR, INDICES = value(0), value(2, 2), value(3, 2, dtype=INT)  # ids as `well_formed` gives them
ELEMENT = at(0, (), ())

DEFECTS = {
    "used before it is defined": add(Store(region=ELEMENT, value=value(99))),
    "is used as": add(Store(region=ELEMENT, value=value(2))),
    "defined twice": add(Load(out=TWO, region=ELEMENT)),
    "no rule for nonsense": add(Apply(out=value(99), primitive="nonsense", operands=(TWO,))),
    "exp does not take": add(Apply(out=value(99), primitive="exp", operands=(INDICES,))),
    "should be float64": add(Apply(out=value(99, 3), primitive="exp", operands=(PAIR,))),
    "v99 is int64": add(Load(out=value(99, dtype=INT), region=ELEMENT)),
    "outside of x": add(Load(out=value(99), region=at(7, (), ()))),
    "is outside": add(Load(out=value(99, 2), region=at(0, (2,), (-2,)))),
    "between the elements of x": add(Load(out=value(99), region=at(1, (), ()))),
    "no buffer 7": add(Load(out=value(99), region=at(0, (), (), buffer=7))),
    "stored to": add(Store(region=at(0, (3,), (2,)), value=PAIR)),
    "int64 stored to x, of float64": add(Store(region=at(0, (2,), (2,)), value=INDICES)),
    "indices are not int64": add(Scatter(region=at(0, (4,), (2,)), indices=(PAIR,), value=TWO)),
    "scattered to": add(Scatter(region=at(0, (2, 2), (4, 2)), indices=(INDICES,), value=PAIR)),
    "not a scalar": add(Guard(predicate=PAIR, outcome=True, what="")),
    "loop index i5 is used outside": add(Load(out=value(99), region=at(loop_index(5), (), ()))),
    "outside of t": add(in_loop(Load(out=value(99), region=at(2 * loop_index(1) + 4, (), (), buffer=1)))),
    "v50 is used before": add(Store(region=ELEMENT, value=value(50))),
    "loop index i1, 2 trips": add(in_loop(in_loop())),
    "the result v99": lambda tape: replace(tape, results=(value(99),)),
    "turn": lambda tape: replace(tape, turn=1000),
    "argument 9": lambda tape: replace(tape, arguments=(9,)),
    "active buffer": lambda tape: replace(tape, active=frozenset({1})),
    "has id 1 at position 0": lambda tape: replace(tape, buffers=tape.buffers[1:]),
}


@pytest.mark.parametrize("message", DEFECTS)
def test_a_defect_is_found(message: str) -> None:
    with pytest.raises(TapeError, match=message):
        verify(DEFECTS[message](well_formed()))


@pytest.mark.parametrize("message", ["used before it is defined", "defined twice", "v50 is used before"])
def test_what_is_not_defined_is_found_in_every_plan(message: str) -> None:
    check_defined(well_formed())
    with pytest.raises(TapeError, match=message):
        check_defined(DEFECTS[message](well_formed()))


def test_the_error_names_the_users_line() -> None:
    tape = add(Store(region=ELEMENT, value=value(99), line=HERE))(well_formed())
    with pytest.raises(TapeError, match=r"Store \(model.py:12 in step\)"):
        verify(tape)


def test_a_loop_that_never_runs_may_be_out_of_bounds() -> None:
    verify(add(in_loop(Load(out=value(99), region=at(loop_index(1) + 100, (), ())), trips=0))(well_formed()))
