"""`planned_ad.function`: a plan for each signature, and few plans for sums over any number of rows."""

import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, NotDifferentiableError
from planned_ad.functional.by_signature import BySignature
from planned_ad.functional.row_sums import RowArguments, parts
from planned_ad.functional.sum_check import check_few_rows, check_value

X = np.array([1.0, 2.0, 3.0])
random = np.random.default_rng(0)
ROWS, TARGETS, THETA = random.normal(size=(30, 3)), random.normal(size=30), np.array([0.5, -1.0, 2.0])


def powers(x: Any, n: int = 2) -> Any:
    return np.sum(x**n)


def test_a_plan_for_each_signature() -> None:
    g = planned_ad.function(powers)
    for x in (X, X + 1, X[:2], X.astype(np.float32), [1.0, 2.0]):
        value, gradient = g.value_and_gradient(np.asarray(x))
        assert value == g(np.asarray(x)) == np.sum(np.asarray(x) ** 2)
        np.testing.assert_array_equal(gradient, 2 * np.asarray(x))
    assert repr(g) == "<planned_ad.function(powers): plans of 3 signatures>" and g.__name__ == "powers"
    np.testing.assert_array_equal(g.gradient(X, 3), 3 * X**2)
    np.testing.assert_array_equal(g.gradient(X, n=3), 3 * X**2)
    assert g.gradient(2.0) == 4.0 and g.plan(X) is g.plan(X + 1) is planned_ad.compile(powers, X)


def test_shadows_are_passed_as_out() -> None:
    g = planned_ad.function(lambda x, y, t: np.sum(x * y) * t)
    dx, dy = np.empty(3), np.empty(3)
    found = g.gradient(X, X + 1, 2.0, out=(dx, dy))
    assert found[0] is dx and found[1] is dy and found[2] == 20.0
    assert planned_ad.function(powers).gradient(X, out=dx) is dx
    np.testing.assert_array_equal(dx, 2 * X)


def test_what_is_constant_is_part_of_the_signature() -> None:
    g = planned_ad.function(lambda x, y: np.sum(x * y))
    np.testing.assert_array_equal(g.gradient(X, planned_ad.Const(X)), X)
    assert len(g.gradient(X, X.copy())) == 2
    np.testing.assert_array_equal(g.gradient(planned_ad.Const(X + 1), X), X + 1)


def test_in_traced_functions_it_is_the_function() -> None:
    g = planned_ad.function(powers)
    plan = planned_ad.compile(lambda x: g(x * x), (X,), check=False)  # which runs it, as a function with a plan
    np.testing.assert_array_equal(plan.gradient(X), 4 * X**3)
    assert len(g._plans) == 0
    with pytest.raises(ArgumentError, match=r"use planned_ad.grad\(powers\)"):
        planned_ad.grad(lambda x: np.sum(g.gradient(x)))(X)


def test_options_of_compile() -> None:
    g = planned_ad.function(powers, on_branch="raise", convert=True)
    assert g.plan(X)._options["on_branch"] == "raise"
    with pytest.raises(ArgumentError, match="'on_branches' is no option"):
        planned_ad.function(powers, on_branches="raise")
    with pytest.raises(ArgumentError, match="takes a function"):
        planned_ad.function(3)
    with pytest.raises(ArgumentError, match="'z' is none"):
        planned_ad.function(powers, sums_over="z")
    with pytest.raises(NotDifferentiableError):
        planned_ad.function(powers)(np.array([1, 2]))


def test_pickles() -> None:
    g = pickle.loads(pickle.dumps(planned_ad.function(powers, sums_over="x", largest=20)))
    assert (g.function, g.sums_over, g._largest) == (powers, ("x",), 16)


def test_nothing_holds_it() -> None:
    g = planned_ad.function(squares, sums_over=("rows", "targets"), largest=16)
    g.plan(THETA, ROWS, TARGETS)
    gone = weakref.ref(g)
    del g
    assert gone() is None


def test_threads_wait_for_one_plan() -> None:
    made, begun = [], threading.Event()

    def make(args: tuple, kwargs: dict[str, Any]) -> object:
        begun.set()
        made.append(args)
        return object()

    kept = BySignature[object]()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(kept.of(make, (X,), {}))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, found))) == 1


def test_what_was_compiled_first_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planned_ad.functional.by_signature.MOST_SIGNATURES", 2)
    kept = BySignature[tuple]()
    arrays = [np.zeros(n) for n in (1, 2, 3)]
    for array in arrays:
        kept.of(lambda args, kwargs: args, (array,), {})
    assert len(kept) == 2 and [kept.known((array,)) for array in arrays] == [None, *((array,) for array in arrays[1:])]


# Sums over rows.


def squares(theta: Any, rows: Any, targets: Any) -> Any:
    return np.sum((rows @ theta - targets) ** 2)


def of_squares(theta: Any, rows: Any, targets: Any) -> Any:
    return 2 * rows.T @ (rows @ theta - targets)


@pytest.fixture(scope="module")
def loss() -> Any:
    return planned_ad.function(squares, sums_over=("rows", "targets"), largest=16)


@pytest.mark.parametrize("count", [1, 4, 5, 16, 27, 30])
def test_any_number_of_rows(loss: Any, count: int) -> None:
    given = THETA, ROWS[:count], TARGETS[:count]
    value, gradient = loss.value_and_gradient(*given)
    np.testing.assert_allclose([value, loss(*given)], squares(*given), rtol=1e-14)
    np.testing.assert_allclose(gradient, of_squares(*given), rtol=1e-12)
    assert len(loss._plans) <= 3  # of 1, 4 and 16 rows


def test_layouts_of_rows(loss: Any) -> None:
    before = len(loss._plans)
    table = np.column_stack([ROWS, TARGETS])
    for rows in (np.asfortranarray(ROWS), ROWS[::-1][::-1], np.repeat(ROWS, 2, 1)[:, ::2]):
        np.testing.assert_allclose(loss.gradient(THETA, rows, TARGETS), of_squares(THETA, ROWS, TARGETS), rtol=1e-12)
    assert len(loss._plans) == before
    found = loss.gradient(THETA, targets=table[:, -1], rows=table[:, :-1])
    np.testing.assert_allclose(found, of_squares(THETA, ROWS, TARGETS), rtol=1e-12)


def test_the_gradient_is_summed_in_the_shadow(loss: Any) -> None:
    dx = np.full(3, np.nan)
    assert loss.gradient(THETA, ROWS, TARGETS, out=dx) is dx
    np.testing.assert_allclose(dx, of_squares(THETA, ROWS, TARGETS), rtol=1e-12)


def nested(p: Any, scale: float, data: Any) -> Any:
    return scale * np.sum((data["x"] @ p["w"] + p["b"][0] - data["y"]) ** 2) * p["s"]


def test_containers_of_rows_and_gradients() -> None:
    g = planned_ad.function(nested, sums_over="data", largest=4)
    p = {"w": THETA, "b": (np.array([0.5]),), "s": 1.5}
    data = {"x": ROWS[:8], "y": TARGETS[:8]}
    expected = planned_ad.compile(nested, (p, 2.0, planned_ad.Const(data))).value_and_gradient(p, 2.0, data)
    value, (dp, dscale) = g.value_and_gradient(p, 2.0, data)
    np.testing.assert_allclose([value, dscale, dp["s"]], [expected[0], expected[1][1], expected[1][0]["s"]], rtol=1e-12)
    np.testing.assert_allclose(dp["w"], expected[1][0]["w"], rtol=1e-12)
    np.testing.assert_allclose(dp["b"][0], expected[1][0]["b"][0], rtol=1e-12)


def penalised(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) + 1e-3 * np.sum(theta**2)


def mean(theta: Any, rows: Any) -> Any:
    return np.mean((rows @ theta - 1) ** 2)


def centred(theta: Any, rows: Any) -> Any:
    return np.sum(((rows - rows.mean(axis=0)) @ theta - 1) ** 2)


def neighbours(theta: Any, rows: Any) -> Any:
    return np.sum(((rows[1:] - rows[:-1]) @ theta) ** 2)


def first_rows(theta: Any, rows: Any) -> Any:
    return np.sum((rows[:20] @ theta - 1) ** 2)


def squared_sum(theta: Any, rows: Any) -> Any:
    return np.sum(rows @ theta) ** 2


@pytest.mark.parametrize("f", [penalised, mean, centred, neighbours, first_rows, squared_sum])
@pytest.mark.parametrize("theta", [np.zeros(3), THETA], ids=["zero", "elsewhere"])
def test_what_is_no_sum_is_refused(f: Any, theta: np.ndarray) -> None:
    rows = RowArguments(f.__name__, ["rows"], [1], ((theta, ROWS), {}))
    parts_of = [f(theta, ROWS[a:b]) for a, b in ((0, 16), (16, 20), (20, 24), (24, 28), (28, 29), (29, 30))]
    with pytest.raises(ArgumentError, match=f"{f.__name__} must be a sum over the rows of rows: .* it is"):
        check_value(rows, f, 30, sum(parts_of))
        check_few_rows(rows, f)


def test_it_is_refused_at_each_call() -> None:
    g = planned_ad.function(penalised, sums_over="rows", largest=16)
    for call in (g, g.gradient):
        with pytest.raises(ArgumentError, match="of 5 rows it is"):
            call(np.zeros(3), ROWS[:16])


def limited(theta: Any, rows: Any) -> Any:
    scale = 2.0 if len(rows) > 20 else 1.0
    return scale * np.sum((rows @ theta - 1) ** 2)


def test_a_function_that_counts_rows_is_refused_when_there_are_as_many() -> None:
    g = planned_ad.function(limited, sums_over="rows", largest=16)
    g.gradient(THETA, ROWS[:15])
    with pytest.raises(ArgumentError, match="of the first 30 rows"):
        g.gradient(THETA, ROWS)


PENALTY: Any = 0.0
WEIGHT = np.array([0.0])


def may_be_penalised(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) + PENALTY * np.sum(theta**2) + np.sum(WEIGHT * theta)


def test_it_is_tried_again_when_what_is_outside_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    g = planned_ad.function(may_be_penalised, sums_over="rows", largest=16)
    for change in (
        lambda: monkeypatch.setattr(f"{__name__}.PENALTY", 1.0),
        lambda: WEIGHT.fill(1.0),
        lambda: monkeypatch.setattr(f"{__name__}.WEIGHT", np.ones(1)),
    ):
        np.testing.assert_allclose(g.gradient(THETA, ROWS[:16]), 2 * ROWS[:16].T @ (ROWS[:16] @ THETA), rtol=1e-12)
        change()
        with pytest.raises(ArgumentError, match="must be a sum"):
            g.gradient(THETA, ROWS[:16])
        monkeypatch.undo()
        WEIGHT.fill(0.0)


def test_it_is_tried_once_for_each_size() -> None:
    calls = []

    def f(theta: Any, rows: Any) -> Any:
        calls.append(len(rows))
        return np.sum((rows @ theta) ** 2)

    g = planned_ad.function(f, sums_over="rows", largest=4, frozen="calls")
    for count in (30, 30, 29, 18, 16):
        g.gradient(THETA, ROWS[:count])
    assert max(calls) == 16 and calls.count(16) == 1  # four parts of the largest size
    assert calls.count(5) == 4  # two cuts, and rows that differ or do not


def logarithms(theta: Any, rows: Any) -> Any:
    return -np.sum(np.log(rows * theta[0]) + np.log(theta[1]))


def test_where_the_function_is_not_finite_nearby() -> None:
    g = planned_ad.function(logarithms, sums_over="rows", largest=16)
    theta, rows = np.array([1e-9, 1.0]), np.abs(TARGETS[:16])  # which is not to become negative
    np.testing.assert_allclose(g.gradient(theta, rows), [-16e9, -16], rtol=1e-12)
    nowhere = RowArguments("f", ["rows"], [1], ((np.zeros(2), rows), {}))
    with pytest.raises(ArgumentError, match="cannot be tried"):
        check_few_rows(nowhere, lambda theta, rows: np.sum(np.sqrt(-np.abs(theta[0])) + rows))


def test_arguments_that_have_no_rows(loss: Any) -> None:
    with pytest.raises(ArgumentError, match="not 30 of rows, 29 of targets"):
        loss.gradient(THETA, ROWS, TARGETS[:-1])
    with pytest.raises(ArgumentError, match="there are no rows"):
        loss.gradient(THETA, ROWS[:0], TARGETS[:0])
    with pytest.raises(ArgumentError, match="rows has rows that are summed over"):
        loss.gradient(THETA, 1.0, TARGETS)
    with pytest.raises(ArgumentError, match="cannot be called"):
        loss.gradient(THETA, ROWS)


def test_rows_of_other_libraries() -> None:
    from tests.test_convert import OfAnotherLibrary

    g = planned_ad.function(squares, sums_over=("rows", "targets"), largest=16, convert=True)
    found = g.gradient(THETA, OfAnotherLibrary(ROWS), OfAnotherLibrary(TARGETS))
    np.testing.assert_allclose(found, of_squares(THETA, ROWS, TARGETS), rtol=1e-12)


def test_a_function_that_writes_or_returns_arrays_is_no_sum() -> None:
    def doubled(theta: Any, rows: Any) -> Any:
        theta *= 2
        return np.sum(rows @ theta)

    with pytest.raises(ArgumentError, match="writes to theta"):
        planned_ad.function(doubled, sums_over="rows").gradient(THETA.copy(), ROWS)
    with pytest.raises(NotDifferentiableError):
        planned_ad.function(lambda theta, rows: rows @ theta, sums_over="rows").gradient(THETA, ROWS)


def test_where_rows_are_cut() -> None:
    for count in range(1, 200):
        cuts = list(parts(count, 16))
        assert [a for a, _ in cuts] == [0, *(b for _, b in cuts[:-1])] and cuts[-1][1] == count
        assert {b - a for a, b in cuts} <= {1, 4, 16}


def hinged(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) + np.sum(np.maximum(theta - 5.0, 0.0) ** 2)


def penalised_beyond_five(theta: Any, rows: Any) -> Any:
    total = np.sum((rows @ theta) ** 2)
    if theta[0] > 5.0:
        total = total + np.sum(theta**2)
    return total


def rounded(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) + np.sum(np.round(theta / 100) * theta)


def in_a_while_loop(theta: Any, rows: Any) -> Any:
    i, total = 0, 0.0
    while i < 3:
        if theta[i] > 5:
            total += (theta[i] - 5) ** 2
        i += 1
    return total + np.sum((rows @ theta) ** 2)


def barrier(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) + np.logaddexp(0, 10 * (theta[0] - 50.0))


def added_in_a_loop(theta: Any, rows: Any) -> Any:
    total = np.sum((rows @ theta) ** 2)
    for t in theta:
        total += 1e-14 * t**2
    return 0.5 * total


@pytest.mark.parametrize("f", [hinged, penalised_beyond_five, rounded, in_a_while_loop, barrier, added_in_a_loop])
def test_a_term_that_was_zero_where_it_was_tried(f: Any) -> None:
    """Each part of the rows would count it."""
    g = planned_ad.function(f, sums_over="rows", largest=16)
    with pytest.raises(ArgumentError, match="nothing to do with them"):
        g.gradient(np.full(3, 0.1), ROWS)
        g.gradient(np.full(3, 6.0), ROWS)


@pytest.mark.parametrize("transform", [planned_ad.grad, planned_ad.value_and_grad, planned_ad.hessian, planned_ad.jvp])
def test_a_derivative_is_a_function_of_its_own(transform: Any) -> None:
    made = transform(lambda z: np.sum(z**4))
    args = (np.array([1.0, 2.0]), *([np.ones(2)] if transform is planned_ad.jvp else []))
    own, other = planned_ad.function(made)(*args), made(*args)
    for one, another in zip(own, other, strict=True):
        np.testing.assert_array_equal(one, another)


def test_a_custom_rule_stays() -> None:
    @planned_ad.custom_rule
    def rule(z: Any) -> Any:
        return np.sum(z**2)

    @rule.vjp(needs="z")
    def _(z: Any, ct: Any) -> Any:
        return (100 * ct * z,)

    np.testing.assert_array_equal(planned_ad.function(rule).gradient(np.array([1.0, 2.0])), [100.0, 200.0])


class Model:
    scale = 2.0

    @planned_ad.function
    def loss(self, z: Any) -> Any:
        return np.sum(z**2) * self.scale

    @planned_ad.grad
    def slope(self, z: Any) -> Any:
        return np.sum(z**2) * self.scale

    @planned_ad.checkpoint
    def kept_small(self, z: Any) -> Any:
        return np.sum(z**2) * self.scale


def test_decorated_methods() -> None:
    model, z = Model(), np.array([1.0, 2.0])
    for scale in (2.0, 3.0):
        model.scale = scale
        assert model.loss(z) == model.kept_small(z) == 5.0 * scale
        np.testing.assert_array_equal(model.loss.gradient(z), 2 * scale * z)
        np.testing.assert_array_equal(model.slope(z), 2 * scale * z)
        plan = planned_ad.compile(lambda z: np.sum(model.slope(z) ** 2) + model.kept_small(z), z)
        np.testing.assert_allclose(plan.gradient(z), 8 * scale**2 * z + 2 * scale * z)


def mean_beyond_five(theta: Any, rows: Any) -> Any:
    return np.sum((rows @ theta) ** 2) if theta[0] < 5 else np.mean((rows @ theta) ** 2)


def test_each_way_through_the_function_is_tried() -> None:
    g = planned_ad.function(mean_beyond_five, sums_over="rows", largest=16)
    g.gradient(THETA, ROWS)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="must be a sum over the rows"):
            g.gradient(THETA + 10, ROWS)


def log_likelihood(theta: Any, rows: Any) -> Any:
    scale = 0.0
    for t in theta:
        scale += np.exp(t)
    return -0.5 * np.sum((rows @ theta) ** 2) / scale - 0.5 * len(rows) * np.log(2 * np.pi * scale)


def row_by_row(theta: Any, rows: Any) -> Any:
    total, constant = 0.0, np.log(2.0 + theta[1])
    for row in rows:
        total += theta[0] + (row @ theta if row[0] > theta[2] else theta[1]) - constant
    return total


@pytest.mark.parametrize("count", [4, 16, 30])
@pytest.mark.parametrize("f", [log_likelihood, row_by_row])
def test_a_term_for_each_row_is_part_of_the_sum(f: Any, count: int) -> None:
    g = planned_ad.function(f, sums_over="rows", largest=16)
    expected = planned_ad.grad(f)(THETA, ROWS[:count])
    np.testing.assert_allclose(g.gradient(THETA, ROWS[:count]), expected, rtol=1e-12)
