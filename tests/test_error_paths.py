"""What breaks at a call is said at once, by name and line, however much of the program there is."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import ArgumentError, BranchError, IndexRangeError, UnsupportedError
from planned_ad.tape.guards import guards_of
from planned_ad.trace import trace

AT_ONCE = 0.5  # seconds: to interpret these programs takes ten times as long
LONG = 30_000


def refused_at_once(error: type[Exception], match: str, call: Callable[..., Any], *arguments: Any) -> None:
    began = time.perf_counter()
    with pytest.raises(error, match=match):
        call(*arguments)
    assert time.perf_counter() - began < AT_ONCE


def gathered(x, index):
    total = 0.0
    for k in range(len(index)):
        weight = 0.5 * k
        total += weight * x[index[k]] ** 2
    return total


def test_an_index_in_a_late_iteration() -> None:
    index, x = np.arange(LONG) % 5, np.ones(5)
    plan = planned_ad.compile(gathered, (x, index))
    for call in (plan.gradient, plan.value_and_gradient, plan):
        call(x, index)  # compiled
        bad = index.copy()
        bad[-1] = 7
        refused_at_once(IndexRangeError, r"axis 0 with size 5.*`total \+= weight \* x\[index\[k\]\]", call, x, bad)
    assert plan.explain().variants == 1


def test_the_line_is_that_of_the_index_which_is_wrong() -> None:
    def f(x, first, second):
        total = 0.0
        for k in range(len(first)):
            a = x[first[k]]
            b = x[second[k]]
            total += a * b
        return total

    good, bad = np.arange(40) % 5, np.arange(40)
    plan = planned_ad.compile(f, (np.ones(5), good, good))
    with pytest.raises(IndexRangeError, match=r"`a = x\[first"):
        plan.gradient(np.ones(5), bad, good)
    with pytest.raises(IndexRangeError, match=r"`b = x\[second"):
        plan.gradient(np.ones(5), good, bad)


def squares_of_rows(x, values, columns, pointers):
    total = 0.0
    for row in range(len(pointers) - 1):
        product = 0.0
        for j in range(pointers[row], pointers[row + 1]):
            product += values[j] * x[columns[j]]
        total += product**2
    return total


@pytest.mark.parametrize("pointer", [10**9, -(10**9), 2**61, -(2**61)])
def test_a_wrong_pointer_of_a_sparse_matrix(pointer: int) -> None:
    pointers, columns, x = np.arange(101) * 3, np.arange(300) % 7, np.ones(7)
    plan = planned_ad.compile(squares_of_rows, (x, np.ones(300), columns, pointers))
    bad = pointers.copy()
    bad[50] = pointer
    refused_at_once(IndexRangeError, r"product \+= values", plan.gradient, x, np.ones(300), columns, bad)
    assert plan.gradient(x, np.ones(300), columns, pointers)[0].sum() == 2 * 3 * 300


def test_steps_of_a_loop_with_a_wrong_end() -> None:
    def f(x, n):
        total = 0.0
        for j in range(n[0]):
            total += x[2 * j + 1] * x[-1 - j]
        return total

    plan = planned_ad.compile(f, (np.ones(8), np.array([4])))
    np.testing.assert_array_equal(plan.gradient(np.ones(8), np.array([2])), [0, 1, 0, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(plan.gradient(np.ones(8), np.array([4])), [0, 1, 0, 1, 1, 2, 1, 2])
    for n in (5, 9, 10**15):
        refused_at_once(IndexRangeError, "x\\[2", plan.gradient, np.ones(8), np.array([n]))


def test_a_loop_that_needs_more_steps_after_a_long_one() -> None:
    def f(x, n):
        total = 0.0
        for _ in range(n):
            total = np.sin(total) + x
        while total > 1e-3 * x:
            total = total * 0.999
        return total if x > 1 else -total

    plan = planned_ad.compile(f, (100.0, 300))
    for x in (100.0, 0.5, 3.0):
        _, gradient = plan.value_and_gradient(x, 300)
        np.testing.assert_allclose(gradient, (f(x + 1e-7, 300) - f(x - 1e-7, 300)) / 2e-7, rtol=1e-3)


def test_a_trace_for_another_branch_runs_no_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has shown what the tests came out as, up to the one that came out otherwise."""

    def f(x):
        if x[0] > 0:
            x = 2 * x
        for _ in range(LONG):
            x = 0.5 * (x + x**2)
        if np.sum(x) > 1:
            return np.sum(x)
        return -np.sum(x)

    plan = planned_ad.compile(f, np.full(2, 1.0))
    monkeypatch.setattr("planned_ad.tracing.record.example.ExampleRun.number", None)
    np.testing.assert_allclose(plan(np.full(2, 0.1)), 0.0, atol=1e-12)
    assert plan.explain().variants == 2


def test_branches_with_raise_name_the_line() -> None:
    def f(x, y):
        total = 0.0
        for k in range(2000):
            total += np.sin(x * k)
        if y > 0:
            return total
        return x

    plan = planned_ad.compile(f, (1.0, 1.0), on_branch="raise")
    refused_at_once(BranchError, r"`if y > 0:`.*not True", plan.gradient, 1.0, -1.0)


# The example itself breaks a guard.


def test_an_example_whose_index_is_out_of_range() -> None:
    def f(x, index, s):
        for k in range(30):
            s = s + x[index[k]]
        return s if s > 0 else -s

    with pytest.raises(IndexRangeError, match=r"axis 0 with size 5: `s = s \+ x\[index\[k\]\]`"):
        planned_ad.compile(f, (np.ones(5), np.arange(30), 1.0))


def test_an_example_that_needs_many_steps_before_a_branch() -> None:
    def f(x):
        while x < 100.0:
            x = x * 1.001
        return x if x > 100.05 else 2 * x

    plan = planned_ad.compile(f, 1.0)
    np.testing.assert_allclose(plan(1.0), f(1.0))
    with pytest.raises(BranchError, match="iterations"):
        planned_ad.compile(lambda x: endless(x), 1.0)


def endless(x):
    while x > 0:
        x = x * 1.0
    return x if x > -1 else 2 * x


# A constant that one branch returns.


@pytest.mark.parametrize("constant", [-np.inf, float("inf"), 0.0, 1, np.float64(-3.0)])
@pytest.mark.parametrize("example", [(1.0, 2.0), (-1.0, 2.0)])
def test_a_constant_of_one_branch(constant: Any, example: tuple[float, float]) -> None:
    def loss(x):
        if np.any(x < 0):
            return constant
        return np.sum(np.log(x))

    plan, v = planned_ad.compile(loss, np.array(example)), np.ones(2)
    for x in (np.array([1.0, 4.0]), np.array([-1.0, 4.0])):
        value, gradient = (loss(x), 1 / x) if x[0] > 0 else (constant, np.zeros(2))
        np.testing.assert_array_equal(plan.gradient(x), gradient)
        for found in (plan.value_and_gradient(x), planned_ad.value_and_grad(loss)(x)):
            np.testing.assert_allclose(found[0], value)
            np.testing.assert_array_equal(found[1], gradient)
        np.testing.assert_array_equal(planned_ad.grad(loss)(x), gradient)
        np.testing.assert_array_equal(plan.pullback(x, np.ones(2), 2.0), 1 + 2 * gradient)
        np.testing.assert_allclose(plan.jvp(x, v), (value, gradient.sum()))
        np.testing.assert_allclose(plan.hvp(x, v), -(gradient**2))


def test_a_constant_without_a_branch_is_refused() -> None:
    with pytest.raises(planned_ad.errors.NotDifferentiableError):
        planned_ad.compile(lambda x: 3.0, np.ones(2))


# A cotangent that is forgotten.


def test_a_forgotten_cotangent() -> None:
    plan = planned_ad.compile(lambda x: x**2, np.ones(3))
    x, dx, seed = np.ones(3), np.zeros(3), np.arange(3.0)
    for call in (plan.pullback, lambda x, dx: halves(plan, x)(dx)):
        with pytest.raises(ArgumentError, match=r"cotangent of the result is missing.*cotangent="):
            call(x, dx)
    np.testing.assert_array_equal(dx, 0)
    for found in (plan.pullback(x, cotangent=seed), plan.pullback(x, None, seed), plan.pullback(x, dx, seed)):
        np.testing.assert_array_equal(found, 2 * seed)
    np.testing.assert_array_equal(halves(plan, x)(cotangent=seed), 2 * seed)
    np.testing.assert_array_equal(planned_ad.vjp(lambda x: x**2)(x)[1](seed), 2 * seed)


def halves(plan: planned_ad.Plan, x: np.ndarray) -> Callable[..., Any]:
    forward, reverse = plan.split()
    tape = forward.tape()
    forward(x, tape)
    return lambda *args, **kwargs: reverse(tape, *args, **kwargs)


# Classes that traced code sees in another form.


def test_stand_ins_are_classes() -> None:
    def f(x):
        numbers = range(3)
        assert isinstance(numbers, range) and isinstance(numbers, list | range) and isinstance(numbers, (list, range))
        assert not isinstance([], range) and not isinstance(zip(x, x), enumerate) and issubclass(range, range)
        assert isinstance(enumerate(x), enumerate) and isinstance(zip(x, x), zip) and isinstance(reversed(x), reversed)
        assert isinstance(zip([1], [2]), zip) and isinstance(map(abs, x), map) and isinstance(filter(None, [1]), filter)
        assert isinstance(range, type) and {builtins.range: 1}[range] == 1 and {range: 1}[numbers.__class__] == 1
        assert isinstance(x, np.ndarray) and isinstance(np.zeros(2), (float, np.ndarray))
        match numbers, zip(x, x):
            case range(start=0), zip():
                return np.ndarray.sum(x)
        return 0.0

    tape = trace(f, (np.ones(3),)).tape
    assert tape.results and not guards_of(tape)


def test_an_array_by_its_class() -> None:
    def f(x):
        y, z = np.ndarray((2, 3)), np.ndarray(3, dtype=np.float64, order="F")
        y[:], z[:] = x, 2 * x
        return np.sum(y * z)

    plan = planned_ad.compile(f, np.ones(3))
    np.testing.assert_array_equal(plan.gradient(np.arange(3.0)), 8 * np.arange(3.0))
    with pytest.raises(UnsupportedError, match="buffer, offset or strides"):
        planned_ad.compile(lambda x: np.sum(x * np.ndarray(3, buffer=np.ones(3))), np.ones(3))


@pytest.mark.parametrize("ddof", [0, 0.5])
def test_the_deviation_of_one_element(ddof: float) -> None:
    def f(x, k):
        rows = np.std(x[:, :1], axis=1, ddof=ddof)
        return np.std(x[0, :1], ddof=ddof) + np.sum(rows) + x[0, k[0] : k[1]].std(ddof=ddof) + np.var(x[0, :1])

    plan = planned_ad.compile(f, (np.ones((2, 3)), np.array([0, 2])))
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(plan.gradient(x, np.array([1, 2])), 0)
    np.testing.assert_allclose(f(x, np.array([0, 2])), plan(x, np.array([0, 2])))
    h = 1e-6
    for k in range(2):
        step = np.zeros((2, 3))
        step[0, k] = h
        difference = (f(x + step, np.array([0, 2])) - f(x - step, np.array([0, 2]))) / (2 * h)
        np.testing.assert_allclose(plan.gradient(x, np.array([0, 2]))[0, k], difference, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "error", "match"),
    [
        (lambda x: np.sum(x) * len(x.data), UnsupportedError, r"\.data of a traced array"),
        (lambda x: x.missing, AttributeError, "'numpy.ndarray' object has no attribute 'missing'"),
        (lambda x: next(iter(np.sum(x))), TypeError, "'float64' object is not iterable"),
        (lambda x: x.__delitem__(0), ValueError, "cannot delete"),
        (lambda x, y: x, ArgumentError, "missing a required argument: 'y'"),
        (3, ArgumentError, "compile takes a function, not int"),
    ],
)
def test_mistakes_in_the_function(f: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        planned_ad.compile(f, np.ones(3))


def test_an_attribute_that_is_not_there_can_be_asked_for() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x) * (1.0 if hasattr(x, "detach") else 2.0), np.ones(3))
    assert plan(np.ones(3)) == 6.0
    plan = planned_ad.compile(lambda x: np.sum(x) * (1.0 if hasattr(x, "data") else 2.0), np.ones(3))
    assert plan(np.ones(3)) == 3.0  # NumPy's have it, though traced ones do not


@pytest.mark.parametrize("f", [lambda a: a * a, lambda a: a.sum()])
def test_a_list_in_place_of_a_number(f: Any) -> None:
    for call in (planned_ad.grad(f), planned_ad.value_and_grad(f), lambda a: planned_ad.compile(f, (a,))):
        with pytest.raises(ArgumentError, match=r"a is a list, \[float, float\].*numpy.asarray\(a\)"):
            call([1.0, 2.0])


OPTIONS: dict[str, list[Any]] = {
    "unroll": [None, "x", 1.5, -1, np.ones(2)],
    "max_operations": [None, "x", 0, [3]],
    "max_steps": [None, 0, 2.0],
    "max_variants": ["x", 0],
    "memory_limit": ["x", -1, 2.5],
    "on_branch": [None, "ignore", np.ones(2), ["raise"]],
    "example_kwargs": [[1], "x", 3],
    "calls": ["x", "_call", ("gradient", "x"), (3,)],
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option: str) -> None:
    for value in OPTIONS[option]:
        with pytest.raises(ArgumentError, match=option):
            planned_ad.compile(lambda x: np.sum(x), np.ones(2), **{option: value})


def test_options_of_transforms_and_plans() -> None:
    def f(x):
        return np.sum(x**2)

    plan, x = planned_ad.compile(f, np.ones(2)), np.ones(2)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: planned_ad.grad(f, argnums=None), "argnums"),  # type: ignore[arg-type]
        (lambda: planned_ad.grad(f, argnums="x"), "argnums"),  # type: ignore[arg-type]
        (lambda: planned_ad.grad(f, has_aux=x), "has_aux"),  # type: ignore[arg-type]
        (lambda: planned_ad.vectorize(f, in_axes="x"), "in_axes"),  # type: ignore[arg-type]
        (lambda: plan.jacobian(x, mode=["forward"]), "mode"),  # type: ignore[arg-type]
        (lambda: plan.explain([]), "kind"),  # type: ignore[arg-type]
        (lambda: plan.explain(np.dtype(float)), "kind"),  # type: ignore[arg-type]
        (lambda: plan.explain("gradient", 7), "variant"),
        (lambda: planned_ad.hvp(f)(x, "v"), "tangent"),
        (lambda: planned_ad.vjp(lambda x: x)(x)[1](np.array(["a", "b"])), "cotangent"),
        (lambda: planned_ad.grad(f)(memoryview(x)), "floating"),
    ]
    for call, match in wrong:
        with pytest.raises(planned_ad.errors.PlannedADError, match=match):
            call()


def test_errors_of_traced_values_stay_refusals_where_the_trace_starts_again() -> None:
    """After loops that the trace knew better than to record (`numpy.vectorize`), too."""

    def f(x):
        squares = np.vectorize(lambda v: v**2 if v > 0 else -v)(x)
        return squares.sum() + np.frompyfunc(lambda a, b: a * b + 1, 2, 1).reduce(x)

    with pytest.raises(UnsupportedError, match=r"raises AttributeError .* for traced values, and not for the numbers"):
        trace(f, (np.sin(np.arange(24.0)),))


def test_several_cotangents_are_named() -> None:
    plan = planned_ad.compile(lambda x: {"s": 2 * x, "t": (x[0], x @ x)}, np.ones(3))
    with pytest.raises(ArgumentError, match="cotangent0=, cotangent1=, cotangent2="):
        plan.pullback(np.ones(3), cotangent={"s": np.ones(3), "t": (1.0, 1.0)})
