"""The interpreter: what each operation of the IR means."""

from __future__ import annotations

import numpy as np
import pytest

from planned_ad.regions.affine import loop_index
from planned_ad.regions.regions import Region, View, contiguous
from planned_ad.tape.builder import TapeBuilder
from planned_ad.tape.interpret import GuardBroken, Interpreter, array_of, interpret, memory_of, uninitialised
from planned_ad.tape.tape import Buffer, Loop, Operation, Tape

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)


def run(builder: TapeBuilder, *arrays: np.ndarray, results=()) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The argument arrays after the program, and its results."""
    arguments = [b for b in builder.buffers if b.kind == "argument"]
    tape = builder.tape(tuple(b.id for b in arguments), tuple(results), frozenset())
    memories = {b.id: memory_of(b, a) for b, a in zip(arguments, arrays)}
    returned = interpret(tape, memories)
    return [array_of(b, memories[b.id]) for b in arguments], returned


def argument(builder: TapeBuilder, *shape: int, dtype=FLOAT, label: str = "x") -> Buffer:
    return builder.new_buffer("argument", label, dtype, contiguous(shape))


def loop(builder: TapeBuilder, index: int, start: int, step: int, trips: int, body) -> None:
    """Record a loop: `body` writes its operations to `builder`."""
    outside, builder.operations = builder.operations, []
    body()
    inside, builder.operations = builder.operations, outside
    builder.emit(Loop(index=index, start=start, step=step, trips=trips, body=tuple(inside)))


@pytest.mark.parametrize(
    "view", [View(0, (2, 3), (3, 1)), View(0, (2, 3), (1, 2)), View(0, (3,), (-2,)), View(0, (0,), (1,))]
)
def test_memory_of_keeps_the_array(view: View) -> None:
    buffer = TapeBuilder().new_buffer("argument", "x", FLOAT, view)
    array = np.arange(float(view.size)).reshape(view.shape)
    memory = memory_of(buffer, array)
    assert memory.shape == (buffer.span,)
    np.testing.assert_array_equal(array_of(buffer, memory), array)
    assert np.isnan(memory).sum() == buffer.span - view.size


def test_uninitialised_memory_is_noticed() -> None:
    make = TapeBuilder().new_buffer
    assert np.isnan(uninitialised(make("local", "t", FLOAT, contiguous((2,))))).all()
    assert (uninitialised(make("local", "t", INT, contiguous((2,)))) > 10**17).all()
    assert uninitialised(make("local", "t", np.dtype(bool), contiguous((2,)))).all()


def test_a_load_is_a_copy() -> None:
    builder = TapeBuilder()
    x = argument(builder, 3)
    before = builder.load(x.whole)
    builder.store(x.whole, builder.constant(0.0))
    (after,), (value,) = run(builder, np.arange(3.0), results=[before])
    np.testing.assert_array_equal(value, [0, 1, 2])
    np.testing.assert_array_equal(after, [0, 0, 0])


def test_overlapping_store_acts_as_if_the_right_side_were_copied_first() -> None:
    builder = TapeBuilder()
    argument(builder, 4)
    builder.store(Region(0, View(1, (3,), (1,))), builder.load(Region(0, View(0, (3,), (1,)))))
    (x,), _ = run(builder, np.arange(4.0))
    np.testing.assert_array_equal(x, [0, 0, 1, 2])


def test_accumulate_adds_each_term_where_an_element_is_shown_twice() -> None:
    builder = TapeBuilder()
    argument(builder, 3)
    builder.store(Region(0, View(0, (2, 2), (1, 1))), builder.constant(np.ones((2, 2))), accumulate=True)
    builder.store(Region(0, View(0, (3,), (1,))), builder.constant(10.0), accumulate=True)
    (x,), _ = run(builder, np.zeros(3))
    np.testing.assert_array_equal(x, [11, 12, 11])


def test_negative_strides_are_addressed_below_the_data_pointer() -> None:
    builder = TapeBuilder()
    builder.new_buffer("argument", "x", FLOAT, View(0, (3,), (-1,)))
    value = builder.load(Region(0, View(-2, (2,), (1,))))
    _, (loaded,) = run(builder, np.array([10.0, 11, 12]), results=[value])
    np.testing.assert_array_equal(loaded, [12, 11])


def test_scatter_keeps_the_last_of_equal_indices() -> None:
    builder = TapeBuilder()
    x = argument(builder, 3, 2)
    rows = builder.constant(np.array([2, 0, 2, 2]))
    builder.scatter(x.whole, (rows,), builder.constant(np.arange(8.0).reshape(4, 2)))
    (x_after,), _ = run(builder, np.full((3, 2), -1.0))
    np.testing.assert_array_equal(x_after, [[2, 3], [-1, -1], [6, 7]])


def test_scatter_accumulates_all_of_equal_indices() -> None:
    builder = TapeBuilder()
    x = argument(builder, 3, 2)
    rows, columns = (builder.constant(np.array(i)) for i in ([[2, 0], [2, 2]], [[1, 1], [1, 0]]))
    builder.scatter(x.whole, (rows, columns), builder.constant(1.0), accumulate=True)
    (x_after,), _ = run(builder, np.zeros((3, 2)))
    np.testing.assert_array_equal(x_after, [[0, 1], [0, 0], [1, 2]])


def test_scatter_out_of_range_is_an_error() -> None:
    builder = TapeBuilder()
    x = argument(builder, 3)
    builder.scatter(x.whole, (builder.constant(np.array([3])),), builder.constant(1.0))
    with pytest.raises(ValueError, match="invalid entry"):
        run(builder, np.zeros(3))


def guarded() -> TapeBuilder:
    builder = TapeBuilder()
    x = argument(builder)
    builder.guard(builder.apply("greater", builder.load(x.whole), builder.constant(0.0)), True, "x > 0")
    return builder


def test_a_guard_that_holds_is_silent() -> None:
    run(guarded(), np.array(1.0))


def test_a_broken_guard_is_raised_with_its_outcome() -> None:
    with pytest.raises(GuardBroken, match="x > 0: False instead of True") as raised:
        run(guarded(), np.array(-1.0))
    assert raised.value.guard.what == "x > 0"


def test_on_guard_may_go_on() -> None:
    builder, seen = guarded(), []
    tape = builder.tape((0,), (), frozenset())
    memories = {0: memory_of(builder.buffers[0], np.array(-1.0))}
    interpret(tape, memories, on_guard=lambda guard, actual: seen.append(actual))
    assert seen == [False]


def test_a_loop_hands_on_through_buffers() -> None:
    """`for i in range(1, 4): x[i] += x[i - 1]`."""
    builder = TapeBuilder()
    argument(builder, 4)
    i = loop_index(0)

    def body() -> None:
        builder.store(Region(0, View(i, (), ())), builder.load(Region(0, View(i - 1, (), ()))), accumulate=True)

    loop(builder, 0, 1, 1, 3, body)
    (x,), _ = run(builder, np.arange(1.0, 5.0))
    np.testing.assert_array_equal(x, np.cumsum(np.arange(1.0, 5.0)))


def test_nested_loops_and_views_of_values_that_move() -> None:
    """`for i in range(2, -1, -1): for j in range(2): y[j, i] = a[i, j]`, with `a` a value."""
    builder = TapeBuilder()
    x = argument(builder, 3, 2)
    argument(builder, 2, 3, label="y")
    a = builder.load(x.whole)
    i, j = loop_index(0), loop_index(1)

    def inner() -> None:
        element = builder.apply("view", a, view=View(2 * i + j, (), ()))
        builder.store(Region(1, View(3 * j + i, (), ())), element)

    loop(builder, 0, 2, -1, 3, lambda: loop(builder, 1, 0, 1, 2, inner))
    array = np.arange(6.0).reshape(3, 2)
    (_, y), _ = run(builder, array, np.zeros((2, 3)))
    np.testing.assert_array_equal(y, array.T)


def test_values_of_a_loop_are_not_seen_after_it() -> None:
    builder = TapeBuilder()
    inside = []
    loop(builder, 0, 0, 1, 1, lambda: inside.append(builder.constant(1.0)))
    with pytest.raises(KeyError):
        run(builder, results=inside)


def test_operations_can_be_run_as_they_are_recorded() -> None:
    builder = TapeBuilder()
    interpreter = Interpreter(builder.buffers)
    a = builder.constant(2.0)
    interpreter.run(builder.operations)
    done = len(builder.operations)
    scratch = builder.new_buffer("local", "t", FLOAT, contiguous((2,)))
    builder.store(scratch.whole, builder.apply("multiply", a, a))
    b = builder.load(scratch.whole)
    interpreter.run(builder.operations[done:])
    np.testing.assert_array_equal(interpreter.value(b), [4, 4])


def test_floating_point_warnings_stay_silent() -> None:
    builder = TapeBuilder()
    infinite = builder.apply("log", builder.constant(0.0))
    _, (value,) = run(builder, results=[infinite])
    assert value == -np.inf


def test_results_are_independent_of_the_memory() -> None:
    builder = TapeBuilder()
    data = builder.constant(np.arange(3.0))
    _, (value,) = run(builder, results=[data])
    value[:] = 0


def test_unknown_operations_are_refused() -> None:
    tape = Tape(buffers=(), arguments=(), operations=(Operation(),))
    with pytest.raises(TypeError, match="Operation"):
        interpret(tape, {})


def test_every_argument_needs_a_memory() -> None:
    builder = TapeBuilder()
    argument(builder, 3)
    with pytest.raises(KeyError, match="argument x"):
        interpret(builder.tape((0,), (), frozenset()), {})
