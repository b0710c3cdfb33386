"""Forms of calls of derivatives, of arrays that are not aligned, and what calls allocate."""

from __future__ import annotations

import gc
import sys
import threading
import types
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse.linalg

import planned_ad
from planned_ad import Active, BatchDuplicated, Const, Duplicated, Forward, Reverse, ReverseWithPrimal
from planned_ad.errors import OverlapError, PlannedADError

from .call_programs import KEYS, SQUARES, x
from .malloc import count_in_subprocess

# Derivatives that are plans; Enzyme's interface.


def test_derivatives_that_are_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned_ad.compile(lambda x: np.sum(x**3), x())
    calls = [
        lambda: plan.hvp(x(), np.ones(3)),
        lambda: plan.jvp(x(), np.ones(3))[1],
        lambda: plan.jacobian(x()),
        lambda: plan.hessian(x()),
    ]
    expected = [np.array(call()) for call in calls]
    monkeypatch.setattr("planned_ad.plan.replay", None)
    for call, known in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(call(), known)
    np.testing.assert_allclose(expected[3], np.diag(6 * x()))


def test_arrays_that_other_branches_return_in_other_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return x**3 if x[0] > 0 else x[:2] ** 2

    def scalar(x):
        return np.sum(x**3) if x[0] > 0 else np.sum(x**2)

    plan, other, given = planned_ad.compile(f, x()), planned_ad.compile(scalar, x()), (x(), -x())
    calls = [
        call
        for y in given
        for call in (
            lambda y=y: plan(y),
            lambda y=y: plan.jvp(y, np.ones(3))[1],
            lambda y=y: plan.jacobian(y),
            lambda y=y: other.hvp(y, np.ones(3)),
            lambda y=y: other.hessian(y),
        )
    ]
    expected = [np.array(call()) for call in calls]
    assert [np.shape(found) for found in expected] == [
        (3,),
        (3,),
        (3, 3),
        (3,),
        (3, 3),
        (2,),
        (2,),
        (2, 3),
        (3,),
        (3, 3),
    ]
    monkeypatch.setattr("planned_ad.plan.replay", None)
    for call, known in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(call(), known)


def test_autodiff(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x, k):
        return np.sum(x * x) * k

    def calls() -> list[Any]:
        dx, copies = np.zeros(3), (np.zeros(3), np.zeros(3))
        return [
            planned_ad.autodiff(Reverse, f, Duplicated(x(), dx), Active(2.0)),
            dx,
            planned_ad.autodiff(ReverseWithPrimal, f, Active, Active(x()), Const(2.0)),
            planned_ad.autodiff(Reverse, f, BatchDuplicated(x(), copies), Const(2.0)),
            *copies,
            planned_ad.autodiff(Forward, f, Duplicated(x(), x()), Const(2.0)),
        ]

    expected = calls()
    for name in ("plan_of", "swept"):
        monkeypatch.setattr(f"planned_ad.functional.enzyme.autodiff.{name}", None)
    for found, known in zip(calls(), expected, strict=True):
        assert repr(found) == repr(known)
    np.testing.assert_array_equal(expected[1], 4 * x())
    assert expected[0] == ((None, 14.0),) and expected[-1] == (56.0,)


def test_autodiff_of_calls_that_are_not_like_the_one_before() -> None:
    def f(x):
        return np.sum(x * x)

    for shape in ((3,), (4,), (3,)):
        dx = np.zeros(shape)
        planned_ad.autodiff(Reverse, f, Duplicated(np.ones(shape), dx))
        np.testing.assert_array_equal(dx, 2.0)
    with pytest.raises(PlannedADError, match="shape"):
        planned_ad.autodiff(Reverse, f, Duplicated(np.ones(3), np.zeros(4)))
    with pytest.raises(PlannedADError):
        planned_ad.autodiff(Reverse, f, Active, Active(np.ones(3)), Active(np.ones(3)))


def test_without_headers_that_are_known_every_call_is_slow_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planned_ad.kernels.entry.headers.supported", lambda: False)
    plan = planned_ad.compile(lambda x, k: np.sum(x * x) * k, (x(), 2.0))
    dx = np.empty(3)
    assert plan.gradient(x(), 2.0, dx)[0] is dx and plan(x(), 2.0) == 28.0
    np.testing.assert_array_equal(dx, 4 * x())
    assert "object headers are not laid out" in str(plan.explain().fallbacks)
    planned_ad.autodiff(Reverse, lambda x: np.sum(x * x), Duplicated(x(), dx))
    np.testing.assert_array_equal(dx, 6 * x())


# Arrays that are not aligned.


def unaligned(array: np.ndarray) -> np.ndarray:
    found = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    assert not found.flags.aligned
    return found


def test_arrays_that_are_not_aligned_are_copied() -> None:
    def f(x):
        x *= 2.0
        return np.sum(x * x)

    plan = planned_ad.compile(f, x())
    assert not plan.explain().fallbacks
    given, dx = unaligned(x()), unaligned(x())
    assert plan.gradient(given, dx) is dx
    np.testing.assert_array_equal(given, 2 * x())
    np.testing.assert_array_equal(dx, 8 * x())
    assert len(plan.explain().fallbacks) == 2 and "x has been passed not aligned" in plan.explain().fallbacks[1]
    elementwise = planned_ad.compile(lambda x: x * 2, unaligned(x()))
    out = unaligned(x())
    assert elementwise(x(), out) is out
    np.testing.assert_array_equal(out, 2 * x())
    with pytest.raises(OverlapError):
        plan.gradient(given, given)


# Memory.


FORMS = """
import numpy as np, planned_ad
x, out = np.ones({n}), np.empty({n})
plan = planned_ad.compile(lambda x: np.sum(x * x), x)
double = planned_ad.compile(lambda x: x * 2.0, x)
tree = {{"a": x, "b": x.copy()}}
shadows = {{"a": x.copy(), "b": x.copy()}}
keys = planned_ad.compile(lambda p: np.sum(p["a"] * p["b"]), (tree,))
forward, reverse = plan.split()
tape = forward.tape()
call = lambda: {call}
"""


@pytest.mark.parametrize(
    ("call", "results"),
    [
        ("plan.gradient(x=x, dx=out)", 0),
        ("keys.gradient(tree, shadows)", 0),
        ("double(x, out=out)", 0),
        ("(forward(x, tape), reverse(tape, out))", 0),
        ("plan.gradient(x)", 1),
        ("plan.value_and_gradient(x)", 1),
        ("plan.pullback(x, cotangent=1.0)", 1),
        ("double(x)", 1),
    ],
)
def test_nothing_but_results_is_allocated(call: str, results: int) -> None:
    """Arrays of 16,000 bytes, which NumPy does not keep for the next one."""
    counted = count_in_subprocess(FORMS.format(n=2000, call=call), 200)
    assert counted == {"malloc": 200 * results, "blocks": 0}


def test_references() -> None:
    """Nothing is left over by any form, also where it fails."""
    broken = planned_ad.compile(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(x), x(), on_branch="raise")
    given, tree = x(), {"a": x(), "b": x()}

    def calls() -> None:
        SQUARES.gradient(given)
        SQUARES.gradient(x=given)
        KEYS.gradient(tree)
        for plan, arguments in ((SQUARES, (given[:2],)), (KEYS, ({"a": given},)), (broken, (-given,))):
            with pytest.raises(PlannedADError):
                plan.gradient(*arguments)

    def count() -> tuple[int, ...]:
        for _ in range(3):  # what finalisers let go of, too
            gc.collect()
        return len(gc.get_objects()), sys.getrefcount(None), sys.getrefcount(given), sys.getrefcount(np.dtype(float))

    for _ in range(3):
        calls()
    before = count()
    for _ in range(20):
        calls()
    after = count()
    assert abs(after[0] - before[0]) < 15 and abs(after[1] - before[1]) < 15, (before, after)
    assert after[2:] == before[2:]


def test_threads() -> None:
    """Calls without the GIL, with arrays in a dict that another thread changes."""
    n = 200_000
    tree = {"a": np.ones(n), "b": np.ones(n)}
    plan = planned_ad.compile(lambda p: np.sum(np.sin(p["a"]) * np.exp(p["b"])), (tree,))
    expected = plan.gradient(tree)["a"][0]
    assert plan._variants[0].entry("gradient").spec.release_gil
    done = threading.Event()

    def disturb() -> None:
        while not done.is_set():
            tree["a"], tree["b"] = np.ones(n), np.ones(n)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(30):
            found = plan.gradient(tree)
            assert found["a"][0] == found["a"][-1] == expected
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("empty", [None, (), [], {}, types.SimpleNamespace()])
def test_arguments_without_numbers(empty: Any) -> None:
    def f(x, s):
        return np.sum(x) * (2.0 if not s else 3.0)

    x = np.array([1.0, 2.0])
    plan = planned_ad.compile(f, (x, empty))
    assert plan(x, empty) == f(x, empty)
    np.testing.assert_array_equal(plan.gradient(x, empty), np.full(2, f(np.array([1.0, 0.0]), empty)))


def test_directions_of_integers() -> None:
    """SciPy finds out the dtype of an operator by such a direction."""
    x = np.array([1.0, 2.0, 0.5])
    plan = planned_ad.compile(lambda x: np.sum(x**3), x)
    operator = scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: plan.hvp(x, v))
    np.testing.assert_allclose(operator @ np.array([1, 0, 2]), [6.0, 0.0, 6.0])
    assert plan.jvp(x, np.array([1, 0, 0], np.int8)) == (pytest.approx(np.sum(x**3)), pytest.approx(3.0))
    found = scipy.optimize.minimize(
        lambda x: np.sum((x - 1) ** 4), x, jac=lambda x: 4 * (x - 1) ** 3, method="trust-constr",
        hessp=planned_ad.compile(lambda x: np.sum((x - 1) ** 4), x).hvp,
    )  # fmt: skip
    np.testing.assert_allclose(found.x, 1.0, atol=0.02)


def test_arguments_named_as_directions_are():
    def f(x, vx, dx):
        return np.sum(x**2 * vx**3) * dx

    x, v = np.arange(1.0, 4.0), np.arange(2.0, 5.0)
    found = planned_ad.compile(f, (x, v, 2.0)).hvp(x, v, 2.0, v, x, 1.0)
    first = 4 * v**4 + 12 * x**2 * v**2 + 2 * x * v**3
    np.testing.assert_allclose(found[0], first, rtol=1e-13)
