"""Which array is which: what NumPy says of `is`, `base`, `numpy.shares_memory` and `hasattr` is said too, or refused.

NumPy's functions reach a program's own classes as the functions that it has by their names.
"""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import PlannedADError, UnsupportedError
from planned_ad.trace import trace

from .tracing_oracle import replay

# What is made of an array `x`: views, copies, the array itself.
MADE = """
x[:] ; x[1:] ; x[...] ; x[()] ; x[None] ; x[1:][1:] ; x[1:][1:].base ; x[x > 0] ; x[[0, 1]] ; x.T ; x.T.base ; x.mT
x.reshape(x.shape) ; x.reshape(-1) ; x.reshape(x.shape, copy=True) ; x.ravel() ; x.ravel("F") ; x.ravel("K") ; x.view()
x.flatten() ; x.squeeze() ; x.transpose() ; x.swapaxes(0, -1) ; x.diagonal() ; x.copy() ; x.real ; x.imag ; x.conj()
x.astype(float) ; x.astype(float, copy=False) ; x.astype(np.float32, copy=False) ; x.round() ; x.clip(0, 1) ; x * 2
np.atleast_1d(x) ; np.atleast_2d(x) ; np.atleast_3d(x) ; np.squeeze(x) ; np.asarray(x) ; np.asarray(x, dtype=float)
np.asarray(x, copy=True) ; np.asanyarray(x) ; np.ascontiguousarray(x) ; np.asfortranarray(x) ; np.asarray_chkfinite(x)
np.require(x) ; np.require(x, requirements=["C", "A"]) ; np.require(x, requirements="O") ; np.array(x)
np.require(x[1:], requirements="O") ; np.array(x, copy=False) ; np.array(x, copy=None) ; np.array(x, copy=None, ndmin=3)
np.broadcast_to(x, x.shape) ; np.broadcast_arrays(x, x)[0] ; np.broadcast_arrays(x, 1.0)[0] ; np.nan_to_num(x)
np.nan_to_num(x, copy=False) ; np.real(x) ; np.imag(x) ; np.conj(x) ; np.copy(x) ; np.ravel(x) ; np.reshape(x, -1)
np.transpose(x) ; np.moveaxis(x, 0, -1) ; np.rollaxis(x, 0) ; np.swapaxes(x, 0, 0) ; np.expand_dims(x, 0) ; np.flip(x)
np.split(x, 1)[0] ; np.array_split(x, 2)[0] ; np.concatenate([x]) ; np.stack([x]) ; np.vstack([x]) ; np.hstack([x])
np.tile(x, 2) ; np.repeat(x, 2) ; np.roll(x, 1) ; np.diag(x) ; np.outer(x, x) ; np.kron(x, x) ; np.einsum("...->...", x)
np.meshgrid(x, copy=False)[0] ; np.where(x > 0, x, 0) ; np.clip(x, 0, 1) ; np.round(x) ; np.sum(x, axis=()) ; np.sin(x)
np.add(x, 1, out=x) ; np.zeros_like(x) ; np.full_like(x, 1.0) ; np.zeros(3) ; np.linspace(0, 1, 3) ; np.sort(x)
np.lib.stride_tricks.sliding_window_view(x, 2, 0) ; np.lib.stride_tricks.as_strided(x) ; (x + 1j).real ; (x + 1j).conj()
np.vectorize(lambda v: v)(x) ; np.frompyfunc(lambda v: v, 1, 1)(x) ; np.fft.fft(x).real ; np.apply_along_axis(abs, 0, x)
"""
ARRAYS = {"argument": "p", "own": "p * 2", "columns": "(p * 2).reshape(2, 2)", "view": "(p * 2)[1:]"}
ANSWERS = ("r is x", "r.base is x", "r.base is None", "np.shares_memory(r, x)", "r.flags.owndata")
KNOWN = {("own", "x[1:]", "r.base is x"), ("own", "x[1:][1:]", "r.base is x")}


@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_are_told_apart_as_numpy_does(array: str) -> None:
    for made in (line.strip() for line in MADE.replace("\n", ";").split(";") if line.strip()):
        if not as_numpy_answers(array, made, *ANSWERS):  # NumPy or a trace has no answer to one of them
            for answer in ANSWERS:
                as_numpy_answers(array, made, answer)


def as_numpy_answers(array: str, made: str, *answers: str) -> bool:
    """Whether both have answers, which then are the same."""
    answered = " + ".join(f"({2**k} if {answer} else 0)" for k, answer in enumerate(answers))
    program = f"lambda p: [p[0] * ({answered}) for x in [{ARRAYS[array]}] for r in [{made}]][0]"
    f, example = eval(program, {"np": np, "__name__": "a_users"}), np.arange(1.0, 5.0)
    try:
        expected = f(example.copy())
    except (TypeError, ValueError, IndexError, AttributeError):
        return False  # not of such an array
    try:
        found = trace(f, (example.copy(),))
    except PlannedADError:
        assert len(answers) > 1 or (array, made, *answers) not in KNOWN
        return False
    assert replay(found, example.copy())[0] == expected, (array, made, answers)
    return True


def test_the_base_of_an_argument_is_refused() -> None:
    """A call may pass a view."""
    for f in (lambda x: x.sum() if x[1:].base is x else 0.0, lambda x: x.sum() if x.flags.owndata else 0.0):
        with pytest.raises(UnsupportedError, match=r"\.base asks which array owns this memory"):
            trace(f, (np.ones(3),))


def test_what_arrays_have_is_as_with_numpy() -> None:
    names = sorted(set(dir(np.ndarray)) | {"no_such_attribute"})

    def f(x):
        return x.sum() * sum(hasattr(x, name) + 2 * hasattr(x + 1j, name) for name in names)

    x = np.ones((2, 3))
    assert replay(trace(f, (x,)), x)[0] == f(x)
    for ask in (lambda x: x.__array_interface__, lambda x: getattr(x, "__array_struct__", None)):
        with pytest.raises(UnsupportedError, match="asks for its memory or bits"):
            trace(lambda x, ask=ask: x.sum() * (ask(x) is None), (x,))
    g = lambda x: x.__array_namespace__().sum(x) * getattr(x, "no_such_attribute", 2.0)  # noqa: E731
    assert replay(trace(g, (x,)), x)[0] == g(x)


class Quantity:
    """Of a program that dispatches NumPy's functions by itself."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        values = [item.value if isinstance(item, Quantity) else item for item in inputs]
        return Quantity(getattr(ufunc, method)(*values) * (2.0 if ufunc is np.sin else UFUNCS.get(ufunc, 3.0)))

    def __array_function__(self, function, types, args, kwargs):
        if function not in FUNCTIONS or not all(issubclass(kind, Quantity | np.ndarray) for kind in types):
            return NotImplemented
        return (
            FUNCTIONS[function](*args) * (5.0 if function is np.sum else 7.0) * (11.0 if np.ndarray in types else 1.0)
        )


UFUNCS = {np.multiply: 13.0}
FUNCTIONS = {
    np.sum: lambda quantity: quantity.value.sum(),
    np.dot: lambda a, b: sum(u.value.sum() if isinstance(u, Quantity) else 2.0 * u.sum() for u in (a, b)),
}


def of_class(x):
    q = Quantity(x)
    return np.sum(np.sin(q)) + np.sum(np.cos(q)) + np.sum(np.multiply(x, q)) + np.dot(x, q) + np.dot(q, q)


def of_class_made_there(x):
    class Doubled(Quantity):
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return super().__array_ufunc__(ufunc, method, *inputs) if ufunc in {np.cos} else Doubled(x * 17.0)

    return np.sum(np.cos(Doubled(x))) + np.sum(np.sin(Doubled(x)))


@pytest.mark.parametrize("f", [of_class, of_class_made_there])
def test_functions_that_numpy_hands_over_are_those_of_the_program(f) -> None:
    x = np.arange(1.0, 4.0)
    assert replay(trace(f, (x,)), x)[0] == pytest.approx(f(x), rel=1e-15)


def test_what_is_returned_unchanged_may_be_written_to() -> None:
    def f(x):
        y = x * 1.0
        y.conj()[0] = 7.0
        np.atleast_1d(y)[1] = 5.0
        np.require(y, requirements="W")[2] = 3.0
        return y * x

    x = np.arange(1.0, 4.0)
    assert np.array_equal(replay(trace(f, (x,)), x)[0], f(x))


MISSING = object()


class Model:
    pass


def test_what_is_asked_of_classes_and_sentinels_unrolls_no_loop() -> None:
    def f(x, kind=Model, start=MISSING):
        state = np.zeros(3) if start is MISSING else start
        for v in x:
            before = state
            state = np.tanh(state * 0.5 + v) if kind is Model else state
            state = state + 0.1 * before
        return state @ state

    x = np.linspace(-1.0, 1.0, 40)
    plan = planned_ad.compile(f, (x,), calls=())
    assert not plan.explain().fallbacks
    np.testing.assert_allclose(plan(2 * x), f(2 * x), rtol=1e-13)
