"""Bad input is refused before anything is written, by the right class, in words that name the argument and the mend."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import (
    ArgumentError,
    CapturedWriteError,
    ConversionError,
    DtypeError,
    LayoutError,
    NotDifferentiableError,
    OverlapError,
    PlannedADError,
    ReadOnlyError,
    ShapeError,
    StaticArgumentError,
    TraceError,
    UnrollLimitError,
)


def f(x, n, flag):
    x *= 2.0
    return np.sum(x**n) if flag else np.sum(x)


def read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def x() -> np.ndarray:
    return np.arange(1.0, 5.0)


def pair() -> tuple[np.ndarray, np.ndarray]:
    memory = np.arange(1.0, 9.0)
    return memory[:4], memory[2:6]


PLAN = planned_ad.compile(f, (x(), 2, True))
READER = planned_ad.compile(lambda x, y: x @ y, (x(), x()))
TREE = planned_ad.compile(lambda tree: np.sum(tree["w"]) * tree["b"][0], {"w": x(), "b": [2.0]})

# What is called, what is raised, and what its message says.
BAD: dict[str, tuple[Callable[..., Any], tuple, type[Exception], str]] = {
    "too short": (PLAN.gradient, (np.ones(3), 2, True, np.ones(4)), ShapeError, r"x has shape \(3,\).*\(4,\)"),
    "two-dimensional": (PLAN.gradient, (np.ones((2, 2)), 2, True), ShapeError, r"x has shape \(2, 2\)"),
    "float32": (PLAN.gradient, (x().astype("f4"), 2, True), DtypeError, r"x has dtype float32.*astype\(np\.float64\)"),
    "integers": (PLAN.gradient, (np.arange(4), 2, True), DtypeError, "x has dtype int64.*convert=True"),
    "strided": (PLAN.gradient, (np.arange(8.0)[::2], 2, True), LayoutError, "x has strides.*ascontiguousarray"),
    "reversed": (PLAN.gradient, (x()[::-1], 2, True), LayoutError, "x has strides"),
    "a list": (PLAN.gradient, ([1.0, 2.0, 3.0, 4.0], 2, True), ArgumentError, "the arguments are .*compiled for"),
    "a number": (PLAN.gradient, (3.0, 2, True), ArgumentError, r"x must be an array of shape \(4,\)"),
    "one of NumPy": (PLAN.gradient, (np.float64(3.0), 2, True), ArgumentError, "float64, not a numpy.float64; use"),
    "None": (PLAN.gradient, (None, 2, True), ArgumentError, "the arguments are"),
    "read-only argument": (PLAN.gradient, (read_only(x()), 2, True), ReadOnlyError, "x is read-only"),
    "short shadow": (PLAN.gradient, (x(), 2, True, np.ones(3)), ShapeError, r"dx has shape \(3,\)"),
    "shadow of float32": (PLAN.gradient, (x(), 2, True, np.ones(4, "f4")), DtypeError, "dx has dtype float32"),
    "strided shadow": (PLAN.gradient, (x(), 2, True, np.ones(8)[::2]), LayoutError, "dx has strides"),
    "read-only shadow": (PLAN.gradient, (x(), 2, True, read_only(np.ones(4))), ReadOnlyError, "dx is read-only"),
    "a shadow that is no array": (PLAN.gradient, (x(), 2, True, [0.0] * 4), ArgumentError, "dx is"),
    "static int": (PLAN.gradient, (x(), 3, True), StaticArgumentError, "n is 3.*compiled for 2"),
    "static bool": (PLAN.gradient, (x(), 2, False), StaticArgumentError, "flag is False"),
    "an int for a bool": (PLAN.gradient, (x(), 2, 1), StaticArgumentError, "flag is 1"),
    "too few": (PLAN.gradient, (x(), 2), ArgumentError, r"takes 3 arguments \(x, n, flag\), and 2 were given"),
    "none": (PLAN.gradient, (), ArgumentError, "0 were given"),
    "too many": (PLAN.gradient, (x(), 2, True, np.ones(4), np.ones(4)), ArgumentError, "5 arguments were given"),
    "too many for a call": (PLAN, (x(), 2, True, np.ones(4)), ArgumentError, "only the arguments of f"),
    "pullback without cotangent": (PLAN.pullback, (x(), 2, True), ArgumentError, "cotangent"),
    "a cotangent that is no number": (PLAN.pullback, (x(), 2, True, np.ones(4), "one"), ArgumentError, "cotangent"),
    "one shadow of two": (READER.gradient, (x(), x(), np.ones(4)), ArgumentError, "shadow dy is missing"),
    "other keys": (TREE.gradient, ({"w": x(), "c": [2.0]},), ArgumentError, "the arguments are"),
    "another nesting": (TREE.gradient, ({"w": x(), "b": (2.0,)},), ArgumentError, "the arguments are"),
    "a string for a float": (TREE.gradient, ({"w": x(), "b": ["two"]},), ArgumentError, r"tree\['b'\]\[0\]"),
    "a wrong leaf": (TREE.gradient, ({"w": x()[:2], "b": [2.0]},), ShapeError, r"tree\['w'\]"),
    "a wrong shadow leaf": (
        TREE.gradient,
        ({"w": x(), "b": [2.0]}, {"w": np.ones(2), "b": [0.0]}),
        ShapeError,
        r"dtree\['w'\]",
    ),
}


def arrays_in(tree: Any) -> list[np.ndarray]:
    from planned_ad.python.structure import flatten

    return [leaf for leaf in flatten(tree)[0] if isinstance(leaf, np.ndarray)]


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name: str) -> None:
    call, arguments, error, message = BAD[name]
    before = [(a, a.tobytes()) for a in arrays_in(arguments)]
    with pytest.raises(error, match=message) as raised:
        call(*arguments)
    assert isinstance(raised.value, PlannedADError) and type(raised.value) is error
    for array, contents in before:
        assert array.tobytes() == contents


@pytest.mark.parametrize("kind", ["gradient", "value_and_gradient", "pullback"])
def test_overlaps(kind: str) -> None:
    a, b = pair()
    extra = (1.0,) if kind == "pullback" else ()
    with pytest.raises(OverlapError, match="dx shares memory with x"):
        getattr(PLAN, kind)(a, 2, True, b, *extra)
    np.testing.assert_array_equal(a, np.arange(1.0, 5.0))
    with pytest.raises(OverlapError, match="dx shares memory with x"):
        getattr(PLAN, kind)(a, 2, True, a, *extra)
    with pytest.raises(OverlapError, match="dy shares memory with dx"):
        getattr(READER, kind)(x(), x(), a, b, *extra)
    with pytest.raises(OverlapError, match="dy shares memory with x"):
        getattr(READER, kind)(a, x(), x(), b, *extra)


def test_arguments_that_are_only_read_may_overlap() -> None:
    a, b = pair()
    da, db = READER.gradient(a, b)
    np.testing.assert_array_equal(da, b)
    np.testing.assert_array_equal(db, a)
    da, db = READER.gradient(a, a)
    np.testing.assert_array_equal(da, a)


def test_interleaved_arrays_do_not_overlap() -> None:
    memory = np.arange(8.0)
    plan = planned_ad.compile(lambda x: np.sum(x**2), memory[::2].copy())
    dx = np.zeros(4)
    with pytest.raises(LayoutError):
        plan.gradient(memory[::2], dx)
    strided = planned_ad.compile(lambda x, y: x @ y, (memory[::2], memory[1::2]))
    dx, _ = strided.gradient(memory[::2], memory[1::2])
    np.testing.assert_array_equal(dx, memory[1::2])


def test_keyword_shadows() -> None:
    dx = np.zeros(4)
    assert PLAN.gradient(x(), 2, True, dx=dx) is dx
    np.testing.assert_array_equal(dx, 8 * x())
    with pytest.raises(ArgumentError, match="'dz'"):
        PLAN.gradient(x(), 2, True, dz=dx)


def test_a_subclass_is_refused() -> None:
    class Sub(np.ndarray):
        pass

    array = x().view(Sub)
    dx = np.zeros(4)
    try:
        PLAN.gradient(array, 2, True, dx)
    except PlannedADError:
        np.testing.assert_array_equal(dx, 0)
    else:
        np.testing.assert_array_equal(dx, 8 * x())


def test_another_namedtuple_is_refused() -> None:
    one, other = namedtuple("one", "a b"), namedtuple("other", "a b")
    plan = planned_ad.compile(lambda p: p.a @ p.b, one(x(), x()))
    with pytest.raises(ArgumentError, match="other"):
        plan.gradient(other(x(), x()))


# At compile time.


def uses_hash(x):
    return {x[0]: 1.0}[x[0]]


def uses_range(x):
    return sum(x[k] for k in range(x[0]))


def uses_asarray(x):
    return np.sum(np.frombuffer(memoryview(x)))


def test_conversions_name_the_line() -> None:
    with pytest.raises(ConversionError) as raised:
        planned_ad.compile(uses_hash, np.ones(3))
    message = str(raised.value)
    assert f"test_errors.py:{uses_hash.__code__.co_firstlineno + 1}" in message and "Instead" in message


TABLE = np.ones(3)


def writes_to_a_global(x):
    TABLE[0] = x[0]
    return np.sum(x)


def reads_a_global(x):
    return np.sum(x * TABLE)


def copies_a_global(x):
    t = TABLE.copy()
    t[0] = x[0]
    return np.sum(t * x)


def test_captured_arrays() -> None:
    with pytest.raises(CapturedWriteError, match=r"TABLE.*"):
        planned_ad.compile(writes_to_a_global, np.ones(3))
    np.testing.assert_array_equal(TABLE, 1)
    plan = planned_ad.compile(reads_a_global, np.ones(3))
    assert any("TABLE" in note for note in plan.explain().assumptions)
    np.testing.assert_array_equal(plan.gradient(np.ones(3)), TABLE)
    np.testing.assert_array_equal(planned_ad.compile(copies_a_global, np.ones(3)).gradient(np.ones(3)), [2, 1, 1])


def test_nothing_to_differentiate() -> None:
    with pytest.raises(NotDifferentiableError, match="no argument is active"):
        planned_ad.compile(lambda n: np.sum(n), np.arange(3))
    with pytest.raises(NotDifferentiableError, match="depends on no active argument"):
        planned_ad.compile(lambda x: x > 0, np.ones(3))
    with pytest.raises(NotDifferentiableError):
        planned_ad.compile(lambda x: None, np.ones(3)).gradient(np.ones(3))
    np.testing.assert_array_equal(
        planned_ad.compile(lambda x: np.sum(np.floor(x)), np.ones(3)).gradient(np.ones(3)), np.zeros(3)
    )


@pytest.mark.parametrize("g", [lambda x: x * 2, lambda x: (x[0], x[1]), lambda x: {"a": x}])
def test_the_gradient_of_what_is_no_scalar(g: Callable[..., Any]) -> None:
    plan = planned_ad.compile(g, np.ones(3))
    dx = np.full(3, 7.0)
    with pytest.raises(NotDifferentiableError):
        plan.gradient(np.ones(3), dx)
    with pytest.raises(NotDifferentiableError):
        plan.value_and_gradient(np.ones(3), dx)
    np.testing.assert_array_equal(dx, 7)


def test_a_long_loop_names_itself() -> None:
    def long(x):
        totals = [0.0]
        for i in range(10_000):
            totals[:0] = [totals[0] + x[0] * i]
        return totals[0]

    with pytest.raises(UnrollLimitError, match=r"totals\[0\] \+ x\[0\] \* i.*a list, dict or set grow"):
        planned_ad.compile(long, np.ones(1), max_operations=500)


def test_errors_of_the_function_itself_pass_through() -> None:
    def wrong(x):
        return np.sum(x + np.ones(5))

    with pytest.raises(ValueError, match="broadcast") as raised:
        planned_ad.compile(wrong, np.ones(3))
    assert any("wrong" in note or "test_errors.py" in note for note in getattr(raised.value, "__notes__", ()))


def test_overlapping_example_arguments_that_are_written() -> None:
    a, b = pair()

    def g(a, b):
        a[:] = b * 2
        return np.sum(b)

    with pytest.raises(TraceError):
        planned_ad.compile(g, (a, b))
    np.testing.assert_array_equal(a, np.arange(1.0, 5.0))


def test_broadcast_and_unsupported_example_arguments() -> None:
    with pytest.raises(TraceError, match="overlap"):
        planned_ad.compile(lambda x: np.sum(x), np.broadcast_to(np.ones(1), (3,)))
    with pytest.raises(TraceError, match="dtype"):
        planned_ad.compile(lambda x: np.sum(x), np.ones(3, np.float16))
    with pytest.raises(TraceError, match="dtype"):
        planned_ad.compile(lambda x: np.sum(x), np.ones(3, ">f8"))
