"""Known traps, each as a test: what docs/limits.md lists under "What else people trip over"."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, LayoutError, ShapeError, StaticArgumentError, TraceError, UnrollLimitError

TABLE = np.array([1.0, 2.0])


def test_what_is_found_outside_is_looked_at_in_each_call() -> None:
    """Arrays from globals and closures are read from their own memory; another number or flag traces again."""
    weights, power = np.array([1.0, 2.0]), 1
    plan = planned_ad.compile(lambda x: np.sum(weights * x**power), np.ones(2))
    weights[0] = 100.0
    np.testing.assert_array_equal(plan.gradient(np.ones(2)), [100, 2])
    power = 3
    np.testing.assert_array_equal(plan.gradient(np.ones(2)), [300, 6])


def test_large_index_arrays_are_not_compared() -> None:
    """They are in the code of the plan, and dear to compare: `explain().frozen` lists them. Pass them as arguments."""
    places = np.arange(3000) % 2
    plan = planned_ad.compile(lambda x: np.sum(x[places]), np.ones(2))
    assert "`places`" in plan.explain().frozen[0]


def test_a_python_int_is_static() -> None:
    plan = planned_ad.compile(lambda x, n: np.sum(x) * n, (np.ones(2), 3))
    with pytest.raises(StaticArgumentError):
        plan.gradient(np.ones(2), 4)


def test_a_float_argument_is_not_static() -> None:
    plan = planned_ad.compile(lambda x, t: np.sum(x) * t, (np.ones(2), 3.0))
    dx, dt = plan.gradient(np.ones(2), 4.0)
    assert dt == 2.0
    np.testing.assert_array_equal(dx, [4, 4])


def test_shapes_and_layouts_are_part_of_the_plan() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), np.ones((3, 2)))
    with pytest.raises(ShapeError):
        plan.gradient(np.ones((2, 3)))
    with pytest.raises(LayoutError):
        plan.gradient(np.ones((2, 3)).T)


def test_the_gradient_overwrites_and_the_pullback_accumulates() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**2), np.ones(2))
    dx = np.full(2, 5.0)
    np.testing.assert_array_equal(plan.gradient(np.ones(2), dx), [2, 2])
    plan.pullback(np.ones(2), dx, 1.0)
    np.testing.assert_array_equal(dx, [4, 4])


def test_each_transformed_function_has_plans_of_its_own(capsys) -> None:
    """Keep what `grad` returns: each has to trace and compile."""

    def f(x):
        print("traced")
        return np.sum(x**2)

    gradient = planned_ad.grad(f)
    for x in np.ones(2), np.zeros(2):
        gradient(x)
        assert bool(capsys.readouterr().out) == (x[0] == 1)
    planned_ad.grad(f)(np.ones(2))
    assert capsys.readouterr().out


def test_the_caller_keeps_the_shadow_that_it_passed() -> None:
    """`dx` is returned itself: a caller that keeps gradients of several calls passes several shadows, or none."""
    plan = planned_ad.compile(lambda x: np.sum(x**2), np.ones(2))
    dx = np.empty(2)
    first, second = plan.gradient(np.ones(2), dx), plan.gradient(2 * np.ones(2), dx)
    assert first is second is dx
    first, second = plan.gradient(np.ones(2)), plan.gradient(2 * np.ones(2))
    np.testing.assert_array_equal(first, [2, 2])
    np.testing.assert_array_equal(second, [4, 4])


def test_the_gradient_runs_the_function_and_its_writes() -> None:
    def f(x):
        x *= 2
        return np.sum(x)

    plan = planned_ad.compile(f, np.ones(2))
    x = np.ones(2)
    np.testing.assert_array_equal(plan.gradient(x), [2, 2])
    np.testing.assert_array_equal(x, [2, 2])
    preserving = planned_ad.compile(f, np.ones(2), preserve_args=True)
    preserving.gradient(x)
    np.testing.assert_array_equal(x, [2, 2])


def test_compile_leaves_its_example_alone() -> None:
    def f(x):
        x[:] = 0
        return np.sum(x)

    x = np.ones(2)
    planned_ad.compile(f, x)
    np.testing.assert_array_equal(x, [1, 1])


def test_a_tuple_of_examples_is_the_arguments() -> None:
    """A list is one argument, a tuple is several."""
    assert planned_ad.compile(lambda x, y: x[0] * y[0], (np.ones(1), np.ones(1))).gradient(np.ones(1), np.ones(1))
    (dx,) = planned_ad.compile(lambda pair: pair[0][0] * 3, [np.ones(1)]).gradient([np.ones(1)])
    np.testing.assert_array_equal(dx, [3])
    one_tuple = planned_ad.compile(lambda pair: pair[0][0] * pair[1][0], ((np.ones(1), np.ones(1)),))
    assert len(one_tuple.gradient((np.ones(1), np.ones(1)))) == 2


def test_side_effects_happen_while_tracing_only(capsys) -> None:
    def f(x):
        print("traced")
        return np.sum(x)

    plan = planned_ad.compile(f, np.ones(2), check=False)
    plan.gradient(np.ones(2))
    assert capsys.readouterr().out == "traced\n"
    planned_ad.compile(f, np.arange(2.0)).gradient(np.ones(2))  # and once more, for the check
    assert capsys.readouterr().out == "traced\ntraced\n"


def test_ties_of_maximum_share_the_derivative() -> None:
    plan = planned_ad.compile(lambda x: np.maximum(x[0], x[1]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(plan.gradient(np.array([1.0, 1.0])), [0.5, 0.5])


def test_the_kink_of_the_absolute_value() -> None:
    plan = planned_ad.compile(lambda x: np.sum(np.abs(x)), np.zeros(1))
    np.testing.assert_array_equal(plan.gradient(np.zeros(1)), [0])


def test_where_evaluates_both_sides() -> None:
    """Roots and divisions on the side not taken leave the zero that it gets; what overflows there does not."""
    rooted = planned_ad.compile(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), np.ones(2))
    np.testing.assert_array_equal(rooted.gradient(np.array([4.0, 0.0])), [0.25, 0])
    naive = planned_ad.compile(lambda x: np.sum(np.where(x < 9, np.exp(x), 0.0)), np.ones(2))
    assert np.isnan(naive.gradient(np.array([0.0, 1000.0]))[1])
    safe = planned_ad.compile(lambda x: np.sum(np.where(x < 9, np.exp(np.minimum(x, 9)), 0.0)), np.ones(2))
    np.testing.assert_array_equal(safe.gradient(np.array([0.0, 1000.0])), [1, 0])


def test_a_loop_whose_body_changes_a_list_otherwise_than_by_append_is_unrolled() -> None:
    def f(x):
        totals = [0.0]
        for _ in range(100_000):
            totals[:0] = [totals[0] + x[0]]
        return totals[0]

    with pytest.raises(UnrollLimitError, match="max_operations"):
        planned_ad.compile(f, np.ones(1), max_operations=1_000)


def test_an_integer_array_has_no_derivative() -> None:
    plan = planned_ad.compile(lambda x, n: np.sum(x * n), (np.ones(3), np.arange(3)))
    np.testing.assert_array_equal(plan.gradient(np.ones(3), np.array([5, 6, 7])), [5, 6, 7])


def test_const_makes_an_argument_inactive() -> None:
    plan = planned_ad.compile(lambda x, y: x @ y, (np.ones(3), planned_ad.Const(np.ones(3))))
    dx = plan.gradient(np.ones(3), np.arange(3.0))
    assert isinstance(dx, np.ndarray)
    np.testing.assert_array_equal(dx, [0, 1, 2])


def test_overlapping_arguments_that_the_function_writes_are_refused() -> None:
    def f(out, a):
        out[:] = a * 2
        return np.sum(out)

    plan = planned_ad.compile(f, (np.zeros(2), np.ones(2)))
    memory = np.ones(3)
    with pytest.raises(ArgumentError):
        plan.gradient(memory[:2], memory[1:])
    np.testing.assert_array_equal(memory, 1)


def test_an_argument_twice_is_refused_where_it_is_written() -> None:
    def f(a, b):
        a += b
        return np.sum(a)

    plan = planned_ad.compile(f, (np.ones(2), np.ones(2)))
    x = np.ones(2)
    with pytest.raises(ArgumentError):
        plan.gradient(x, x)


def test_replacing_an_item_of_a_container_is_refused() -> None:
    def f(tree):
        tree["w"] = tree["w"] * 2
        return np.sum(tree["w"])

    with pytest.raises(TraceError, match="tree"):
        planned_ad.compile(f, ({"w": np.ones(2)},))


def test_rebinding_a_name_is_no_write() -> None:
    def f(x):
        x = x * 2
        x += 1
        return np.sum(x)

    x = np.ones(2)
    np.testing.assert_array_equal(planned_ad.compile(f, x).gradient(x), [2, 2])
    np.testing.assert_array_equal(x, [1, 1])


def test_a_row_of_an_array_is_a_view() -> None:
    def f(a):
        row = a[0]
        row *= 2
        return np.sum(a)

    a = np.ones((2, 2))
    np.testing.assert_array_equal(planned_ad.compile(f, a).gradient(a), [[2, 2], [1, 1]])
    np.testing.assert_array_equal(a, [[2, 2], [1, 1]])


def test_an_index_array_makes_a_copy() -> None:
    def f(a):
        row = a[[0, 1]]
        row *= 2
        return np.sum(a)

    a = np.ones(3)
    np.testing.assert_array_equal(planned_ad.compile(f, a).gradient(a), [1, 1, 1])


def test_nan_and_infinity_pass_through() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x * x), np.ones(3))
    np.testing.assert_array_equal(plan.gradient(np.array([np.nan, np.inf, 1.0])), [np.nan, np.inf, 2])


def test_negative_zero_survives_zeroed_memory() -> None:
    def f(x):
        y = np.full(3, -0.0)
        return np.sum(np.copysign(x, y))

    plan = planned_ad.compile(f, np.ones(3))
    np.testing.assert_array_equal(plan.gradient(np.ones(3)), [-1, -1, -1])


def test_a_test_for_equality_has_the_derivative_of_its_side() -> None:
    """The division is that of the function everywhere else, and left out at one number."""

    def f(a, b):
        return b / a if a != 1.0 else b

    assert planned_ad.compile(f, (1.0, 3.0)).gradient(1.0, 3.0) == (0.0, 1.0)
    assert planned_ad.compile(lambda a, b: b / a, (1.0, 3.0)).gradient(1.0, 3.0) == (-3.0, 1.0)


def test_arrays_of_traced_numbers() -> None:
    plan = planned_ad.compile(lambda x: np.sum(np.array([x[0], x[1] * 2, 3.0]) ** 2), np.ones(2))
    np.testing.assert_array_equal(plan.gradient(np.ones(2)), [2, 8])


def test_results_that_are_arguments_are_copies() -> None:
    """The plan's value is a fresh array, also where the function returns a view of its argument."""
    plan = planned_ad.compile(lambda x: x, np.ones(2))
    x = np.ones(2)
    assert plan(x) is not x
    np.testing.assert_array_equal(plan(x), x)


def test_floats_of_shadows_are_written_back_into_lists_and_dicts() -> None:
    """Tuples cannot be changed: there the returned shadow holds the new floats."""
    plan = planned_ad.compile(
        lambda tree: tree["a"][0] * tree["b"] * np.sum(tree["w"]), ({"a": [2.0], "b": 3.0, "w": np.ones(2)},)
    )
    shadow = {"a": [0.0], "b": 0.0, "w": np.zeros(2)}
    inner = shadow["a"]
    assert plan.gradient({"a": [2.0], "b": 3.0, "w": np.ones(2)}, shadow) is shadow
    assert shadow["a"] is inner and inner == [6.0] and shadow["b"] == 4.0
    np.testing.assert_array_equal(shadow["w"], [6, 6])
    pair = planned_ad.compile(lambda pair: pair[0] * np.sum(pair[1]), ((2.0, np.ones(2)),))
    dx = np.zeros(2)
    returned = pair.gradient((2.0, np.ones(2)), (0.0, dx))
    assert returned[0] == 2.0 and returned[1] is dx
