"""What a function finds outside is never stale: arrays are read at each call, what shaped the trace is looked at."""

from __future__ import annotations

import copy

import numba
import numpy as np
import pytest

import planned_ad
from planned_ad.errors import CapturedWriteError, OverlapError, TraceError, UnsupportedError
from planned_ad.tape.interpret import interpret
from planned_ad.trace import trace

from .outside_programs import X, follows

TABLE = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """The global is what it was, whatever a test makes of it."""
    monkeypatch.setitem(globals(), "TABLE", TABLE.copy())


# Floating arrays are read from their own memory.


def weighted(x):
    return np.sum(TABLE * x**2) + np.exp(TABLE[0]) * x[0]


def weighted_gradient(x):
    return 2 * TABLE * x + np.array([np.exp(TABLE[0]), 0.0, 0.0])


CALLS = {
    "gradient": lambda plan: plan.gradient(X, np.empty(3)),
    "new shadow": lambda plan: plan.gradient(X),
    "value_and_gradient": lambda plan: plan.value_and_gradient(X, np.empty(3))[1],
    "pullback": lambda plan: plan.pullback(X, np.zeros(3), 1.0),
    "kernel": lambda plan: plan.kernel.gradient(X, np.empty(3)),
    "jacobian": lambda plan: plan.jacobian(X),
    "copy": lambda plan: copy.deepcopy(plan).gradient(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_array_that_is_changed_in_place_is_read_at_each_call(name):
    plan = planned_ad.compile(weighted, X)
    for factor in (1.0, -2.0, 0.5):
        TABLE[:] *= factor
        np.testing.assert_allclose(CALLS[name](plan), weighted_gradient(X))
    assert len(plan._variants) == 1


def test_values_and_products_follow_arrays_too():
    plan, gradient, each = planned_ad.compile(weighted, X), planned_ad.grad(weighted), planned_ad.vectorize(weighted)
    for factor in (1.0, -2.0):
        TABLE[:] *= factor
        assert np.isclose(plan(X), weighted(X))
        np.testing.assert_allclose(plan.jvp(X, np.ones(3))[1], weighted_gradient(X).sum())
        np.testing.assert_allclose(plan.hvp(X, X), 2 * TABLE * X)
        np.testing.assert_allclose(plan.hessian(X, sparse=True).toarray(), np.diag(2 * TABLE))
        np.testing.assert_allclose(gradient(X), weighted_gradient(X))
        np.testing.assert_allclose(each(np.stack([X, 2 * X])), [weighted(X), weighted(2 * X)])


def test_the_second_half_goes_with_the_first():
    """Between the two, arrays from outside may be overwritten as arguments may."""
    forward, reverse = planned_ad.compile(weighted, X).split()
    tape = forward.tape()
    for factor in (1.0, -2.0):
        TABLE[:] *= factor
        expected = weighted_gradient(X)
        assert np.isclose(forward(X, tape), weighted(X))
        kept = TABLE.copy()
        TABLE[:] = np.nan
        np.testing.assert_allclose(reverse(tape), expected)
        TABLE[:] = kept


def test_sweeps_of_autodiff_follow_arrays():
    for factor in (1.0, -2.0):
        TABLE[:] *= factor
        dx = np.zeros(3)
        planned_ad.autodiff(planned_ad.Reverse, weighted, planned_ad.Active, planned_ad.Duplicated(X, dx))
        np.testing.assert_allclose(dx, weighted_gradient(X))


def test_arrays_in_loops_attributes_defaults_and_custom_rules():
    class Model:
        def __init__(self):
            self.layers = [np.ones(3), {"w": np.full(3, 2.0)}]

    model, shift = Model(), np.array([0.5])

    @planned_ad.checkpoint
    def checkpointed(x):
        return x * model.layers[0]

    def f(x, table=TABLE):
        total = 0.0
        for k in range(3):
            total += table[k] * checkpointed(x)[k] ** 2 * model.layers[1]["w"][k]
        return total + shift[0] * x[0]

    plan = planned_ad.compile(f, (X,))
    for weights in (model.layers[0], model.layers[1]["w"], TABLE, shift):
        weights *= -3.0
        follows(plan, f)
    assert len(plan._variants) == 1


@pytest.mark.parametrize("array", [np.arange(6.0)[::2], np.arange(6.0)[::-2], np.asfortranarray(np.ones((3, 3)))[1]])
def test_layouts(array):
    plan = planned_ad.compile(lambda x: np.sum(array * x), X)
    array += 1
    np.testing.assert_array_equal(plan.gradient(X), array)


def test_arrays_that_cannot_be_read_in_place_are_compared():
    base = np.ones(1)
    array = np.broadcast_to(base, 3)
    plan = planned_ad.compile(lambda x: np.sum(array * x), X)
    base[0] = 5.0
    np.testing.assert_array_equal(plan.gradient(X), np.full(3, 5.0))


def test_the_interpreter_reads_them():
    traced = trace(weighted, (X,))
    TABLE[:] *= 3
    (value,) = interpret(traced.tape, {0: X.copy()})
    assert np.isclose(value, weighted(X))


def test_a_branch_on_a_captured_array_is_a_guard():
    def f(x):
        return np.sum(x**2) if TABLE[0] > 0 else np.sum(x)

    plan = planned_ad.compile(f, X)
    for value in (2.0, -1.0, 1.0):
        TABLE[0] = value
        follows(plan, f)
    assert len(plan._variants) == 2


def test_numbers_that_the_trace_needs_are_looked_at_and_other_arrays_stay_live():
    matrix, count = np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([3.0])

    def f(x):
        y = np.linalg.inv(matrix) @ x[:2]
        return np.sum(y) + sum(x[k] for k in range(int(count[0]))) + np.sum(TABLE * x)

    plan = planned_ad.compile(f, X)
    relies = " ".join(plan.explain().assumptions)
    assert "the array TABLE from outside is read" in relies and "matrix" in relies
    TABLE[:] = 7.0
    follows(plan, f)
    assert len(plan._variants) == 1
    matrix[0, 0] = 5.0
    follows(plan, f)
    count[0] = 1.0
    follows(plan, f)


def test_calls_allocate_no_variants_and_are_fast():
    plan = planned_ad.compile(weighted, X)
    assert plan._variants[0].watch.table is not None  # the name TABLE
    own = planned_ad.compile(lambda x: np.sum(x**2), X)._variants[0].watch.table
    assert own is not None and len(own.alive) == 2  # the code and the default values of the function itself


# Memory that is shared.


def test_the_example_is_the_array_that_the_function_closes_over():
    x0 = np.array([1.0, 2.0])
    plan = planned_ad.compile(lambda x: np.sum((x - x0) ** 2), x0)
    np.testing.assert_array_equal(plan.gradient(x0), [0, 0])
    np.testing.assert_array_equal(plan.gradient(x0 + 1), [2, 2])
    x0 += 1
    np.testing.assert_array_equal(plan.gradient(x0 - 1), [-2, -2])


def test_writes_to_memory_that_is_read_from_outside_are_refused():
    x0 = np.array([1.0, 2.0])

    def f(x):
        x[0] = x0[1]
        return np.sum(x * x0)

    def writes(x):
        x0[0] = x[0]
        return np.sum(x)

    with pytest.raises(TraceError, match="writes to the argument `x`, and reads `x0`"):
        planned_ad.compile(f, x0)
    with pytest.raises(CapturedWriteError, match="x0"):
        planned_ad.compile(writes, np.ones(2))
    plan = planned_ad.compile(f, np.ones(2))
    for given in (x0,), (x0, np.empty(2)), (np.ones(2), x0):
        with pytest.raises(OverlapError, match="x0"):
            plan.gradient(*given)
    np.testing.assert_array_equal(x0, [1, 2])
    kernel = plan.kernel.gradient

    @numba.njit
    def compiled(x, dx):
        return kernel(x, dx)

    compiled(np.ones(2), np.empty(2))
    with pytest.raises(OverlapError, match="from outside"):
        compiled(np.ones(2), x0)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_numbers_of_other_floating_types_are_read_as_what_they_are(dtype):
    weights = np.array([1, 2, 3], dtype)
    x = np.array([0.5, 1.0, 2.0])
    plan = planned_ad.compile(lambda x: np.sum(x * weights.astype(float)), x)
    np.testing.assert_array_equal(plan.gradient(x), [1, 2, 3])
    weights[1] = 7
    np.testing.assert_array_equal(plan.gradient(x), [1, 7, 3])
    with pytest.raises(UnsupportedError, match=f"dtype {np.dtype(dtype)}"):
        planned_ad.compile(lambda x: np.sum(x * weights), x)


def test_contents_that_are_not_compared_are_told():
    many = np.ones(10_000, np.float16)
    plan = planned_ad.compile(lambda x: np.sum(x * many.astype(float)[:3]), np.ones(3))
    assert "the contents of the array `many`, 20000 bytes, are in the plan, and not compared" in str(plan.explain())


def test_an_array_that_gets_other_memory():
    weights, x = np.ones(3), np.array([0.5, 1.0, 2.0])
    plan = planned_ad.compile(lambda x: np.sum(x * weights), x)
    weights.resize(100_000, refcheck=False)
    weights.resize(3, refcheck=False)
    weights[:] = 4.0
    np.testing.assert_array_equal(plan.gradient(x), [4, 4, 4])
