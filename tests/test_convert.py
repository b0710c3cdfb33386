"""`compile(..., convert=True)`: arguments that are not quite what the plan takes, converted or refused, and counted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import planned_ad
from planned_ad.calls.conversions import is_foreign
from planned_ad.errors import ArgumentError, DtypeError, ReadOnlyError, ShapeError

X = np.array([1.0, 2.0, 3.0])


def cubes(x: np.ndarray) -> float:
    return np.sum(x**3)


class OfAnotherLibrary:
    """An array that is handed out by DLPack, and has no other interface."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)


@pytest.fixture(scope="module")
def plan() -> planned_ad.Plan:
    return planned_ad.compile(cubes, X, convert=True)


GIVEN = {
    "as list": [1, 2.0, np.float32(3)],
    "as tuple": (1.0, 2.0, 3.0),
    "as int64": np.array([1, 2, 3]),
    "as float32": X.astype(np.float32),
    "with strides (16,)": np.repeat(X, 2)[::2],
    "with strides (-8,)": X[::-1].copy()[::-1],
}


@pytest.mark.parametrize("what", GIVEN)
def test_what_holds_the_same_numbers_is_copied_and_counted(plan: planned_ad.Plan, what: str) -> None:
    for _ in range(2):
        value, gradient = plan.value_and_gradient(GIVEN[what])
        assert value == 36.0
        np.testing.assert_array_equal(gradient, 3 * X**2)
    note = f"x has been passed {what}, and copied, in 2 calls"
    assert note in plan.explain("value_and_gradient").fallbacks


def test_arrays_of_other_libraries_are_read_where_they_lie(plan: planned_ad.Plan) -> None:
    dx = np.empty(3)
    assert plan.gradient(OfAnotherLibrary(X), dx) is dx
    np.testing.assert_array_equal(dx, 3 * X**2)
    assert plan.explain().fallbacks[-1].endswith("OfAnotherLibrary, and read where it lies, in 1 call")
    np.testing.assert_array_equal(plan.gradient(OfAnotherLibrary(X.astype(np.float32))), 3 * X**2)
    assert plan.explain().fallbacks[-1].endswith("OfAnotherLibrary, and copied, in 1 call")


def test_other_libraries_in_the_example() -> None:
    plan = planned_ad.compile(lambda x, c: np.sum(x * c), (OfAnotherLibrary(X), planned_ad.Const(X)), convert=True)
    np.testing.assert_array_equal(plan.gradient(X, X), X)
    with pytest.raises(TypeError):
        planned_ad.compile(cubes, OfAnotherLibrary(X))


REFUSED = {
    "another shape": ([1.0, 2.0], ShapeError),
    "not broadcast": (1.0, ShapeError),
    "ragged": ([1.0, [2.0], 3.0], ArgumentError),
    "complex": (X + 1j, ArgumentError),
    "longdouble": (X.astype(np.longdouble), DtypeError),
    "masked": (np.ma.masked_array(X, [True, False, False]), ArgumentError),
    "masks in a list": ([np.ma.masked_array(X)], ArgumentError),
    "objects": (X.astype(object), DtypeError),
    "integers that are no floats": (np.array([1, 2, 2**53 + 1]), DtypeError),
    "the largest integers": (np.array([1, 2, 2**64 - 1], np.uint64), DtypeError),
    "text": (["1", "2", "3"], ArgumentError),
}


@pytest.mark.parametrize("given, error", REFUSED.values(), ids=REFUSED)
def test_what_would_lose_something_is_refused(plan: planned_ad.Plan, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"plan.gradient: (x|the arguments are)"):
        plan.gradient(given)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_strict_is_the_default(given: Any) -> None:
    with pytest.raises(ArgumentError):
        planned_ad.compile(cubes, X).gradient(given)


def test_what_cannot_be_read_says_what_its_library_says(plan: planned_ad.Plan) -> None:
    class Elsewhere(OfAnotherLibrary):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it lies on a GPU")

    with pytest.raises(ArgumentError, match=r"plan.gradient: x is a .*Elsewhere .* it lies on a GPU"):
        plan.gradient(Elsewhere(X))


def test_numbers_of_less_precision() -> None:
    plan = planned_ad.compile(cubes, X.astype(np.float32), convert=True)
    with pytest.raises(DtypeError):  # digits of the user's own
        plan.gradient(X)
    assert plan.gradient([1.0, 2.0, 3.0]).dtype == np.float32  # those of Python's have no precision
    with pytest.raises(DtypeError):
        plan.gradient([1e300, 2.0, 3.0])


def test_integers_stay_integers() -> None:
    plan = planned_ad.compile(lambda x, k: np.sum(x[k]), (X, np.array([0, 1], np.int32)), convert=True)
    np.testing.assert_array_equal(plan.gradient(X, [0, 2]), [1, 0, 1])
    np.testing.assert_array_equal(plan.gradient(X, np.array([1, 1], np.uint8)), [0, 2, 0])
    for given in ([0.0, 2.0], [0, 1 << 40], np.array([0, 1])):
        with pytest.raises(DtypeError):
            plan.gradient(X, given)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_])
def test_floats_are_never_cut(dtype: type) -> None:
    plan = planned_ad.compile(lambda x, k: np.sum(x * k), (X, np.ones(3, dtype)), convert=True)
    np.testing.assert_array_equal(plan.gradient(X, [1, 0, 1]), [1, 0, 1])
    for given in ([1.5, 0.0, 1.0], [1, 0, 300]):
        with pytest.raises(DtypeError):
            plan.gradient(X, given)


def test_numbers_in_the_place_of_floats() -> None:
    plan = planned_ad.compile(lambda t: t**3, 1.0, convert=True)
    assert plan.gradient(OfAnotherLibrary(np.array(2.0))) == plan.gradient(np.array(2, np.int8)) == 12.0
    with pytest.raises(ArgumentError):
        plan.gradient(np.array([2.0]))


def test_containers() -> None:
    plan = planned_ad.compile(
        lambda p: np.sum(p["w"] * p["b"][0]) * p["s"], {"w": X, "b": (X,), "s": 1.0}, convert=True
    )
    given = {"w": [1, 2, 3], "b": (X.astype(np.float32),), "s": 2}
    found = plan.gradient(given)
    np.testing.assert_array_equal(found["w"], 2 * X)
    assert found["s"] == 14.0 and given["w"] == [1, 2, 3]
    with pytest.raises(ArgumentError, match="structure"):
        plan.gradient({"w": [1, 2, 3], "b": [X], "s": 2.0})


def test_complex_arrays() -> None:
    z = X + 1j
    plan = planned_ad.compile(lambda z: np.sum(abs(z) ** 2), z, convert=True)
    np.testing.assert_array_equal(plan.gradient([1, 2, 3j]), plan.gradient(np.array([1, 2, 3j])))
    np.testing.assert_array_equal(plan.gradient(X), plan.gradient(X + 0j))
    np.testing.assert_array_equal(plan.gradient(np.repeat(z, 2)[::2]), plan.gradient(z))


def test_cotangents() -> None:
    plan = planned_ad.compile(lambda x: x**3, X, convert=True)
    np.testing.assert_array_equal(plan.pullback(X, cotangent=[1, 0, 2]), [3, 0, 54])
    assert "has been passed as list" in plan.explain("pullback").fallbacks[0]
    np.testing.assert_array_equal(plan.jvp([1, 2, 3], [1, 1, 0])[1], [3, 12, 0])


def test_shadows_are_not_converted(plan: planned_ad.Plan) -> None:
    with pytest.raises(DtypeError):
        plan.gradient(X, np.zeros(3, np.float32))


def scaled(x: np.ndarray) -> float:
    x *= 2.0
    return np.sum(x**3)


def test_copies_are_refused_where_the_function_writes() -> None:
    plan = planned_ad.compile(scaled, X.copy(), convert=True)
    for given in ([1, 2, 3], X.astype(np.float32), np.repeat(X, 2)[::2]):
        with pytest.raises(ArgumentError, match=r"scaled writes to x, .* preserve_args=True"):
            plan.gradient(given)
    own = X.copy()
    np.testing.assert_array_equal(plan.gradient(OfAnotherLibrary(own)), 24 * X**2)
    np.testing.assert_array_equal(own, 2 * X)  # it is that very memory
    own.flags.writeable = False
    with pytest.raises((ReadOnlyError, ArgumentError)):
        plan.gradient(OfAnotherLibrary(own))
    kept = planned_ad.compile(scaled, X.copy(), convert=True, preserve_args=True)
    np.testing.assert_array_equal(kept.gradient([1, 2, 3]), 24 * X**2)


def test_layouts_are_restored() -> None:
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    plan = planned_ad.compile(lambda a: np.sum(a @ a.T), a, convert=True)
    expected = plan.gradient(a)
    np.testing.assert_array_equal(plan.gradient(np.ascontiguousarray(a)), expected)
    np.testing.assert_array_equal(plan.gradient(a.tolist()), expected)


def test_a_branch_that_is_traced_again_has_converted_arguments() -> None:
    plan = planned_ad.compile(lambda x: np.sum(x) if x[0] > 0 else np.sum(x**2), X, convert=True)
    np.testing.assert_array_equal(plan.gradient([-1, 2, 3]), [-2, 4, 6])


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_tensors(plan: planned_ad.Plan, library: str) -> None:
    numpy = pytest.importorskip(f"{library}.numpy" if library == "jax" else library)
    make: Callable[..., Any] = numpy.asarray
    for dtype in ("float32", "int32"):
        given = make([1, 2, 3], dtype=getattr(numpy, dtype))
        assert is_foreign(given)
        np.testing.assert_array_equal(plan.gradient(given), 3 * X**2)
    if library == "torch":
        given = make(X)
        np.testing.assert_array_equal(plan.gradient(given), 3 * X**2)
        with pytest.raises(ArgumentError, match="gradient"):
            plan.gradient(given.requires_grad_())
