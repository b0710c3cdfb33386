"""The same program written in other natural ways: what becomes of each, and that its numbers stay."""

import functools

import numpy as np
import pytest

import planned_ad
from planned_ad.differentiate.reverse import reverse
from planned_ad.passes.pipeline import simplify
from planned_ad.passes.reciprocals import multiply_by_reciprocals
from planned_ad.passes.rewrite import rewrite
from planned_ad.passes.upwards import run_upwards
from planned_ad.passes.vectorise.vectorise import vectorise
from planned_ad.tape.interpret import interpret
from planned_ad.tape.tape import Apply, Branch, Loop, walk
from planned_ad.trace import trace

X = np.random.default_rng(3).uniform(0.2, 1.0, 60)


def loops_of(tape):
    return [op for op in walk(tape.operations) if isinstance(op, Loop)]


def check(f, x=X):
    """The value, and the gradient in one direction, by differences."""
    plan = planned_ad.compile(f, (x.copy(),))
    direction = np.random.default_rng(4).normal(size=x.shape)
    np.testing.assert_allclose(plan(x.copy()), f(x.copy()), rtol=1e-13)
    expected = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(plan.gradient(x.copy()) * direction), expected, rtol=1e-6)


def rows_downwards(x):
    y = x.reshape(6, 10)
    for i in range(5, -1, -1):
        y[i] = y[i] * y[i] + x[3]
    return np.sum(y) * x[7]


def chunks(x):
    s = 0.0
    for k in range(0, 60, 10):
        x[k : k + 10] *= x[k : k + 10]
        s -= np.sum(np.sin(x[50 - k : 60 - k]))
    for k in range(0, 60, 10):
        s += np.sum(x[k : k + 10] * 2.0)
    return s


def last_and_sum(x):
    last, s = 0.0, 0.0
    for i in range(59, -1, -1):
        last = x[i] * s
        s += x[i] * x[59 - i]
    return last + s


def backwards(x):
    y = x[::-1]
    z = y.reshape(6, 10)[:, ::-1] ** 2 + np.arange(60.0).reshape(6, 10)
    y *= np.sin(y)
    x[::-1] = y + z.ravel()
    return np.sum(x[::-1] * x) + np.prod(z[::-1] * 0.1, axis=0)[::-1] @ x[:10]


def before(x):
    s, a, b = 0.0, x[0], x[1]
    for c in x[2:]:
        s += (c - b) ** 2 * a
        a, b = b, c
    return s


def sides(x):
    s = 0.0
    for i in range(60):
        for j in range(60):
            if i != j:
                d = x[i] - np.array([x[j], 0.5])
                s += 1 / np.sqrt(d @ d)
    return s


@pytest.mark.parametrize("f", [rows_downwards, chunks, last_and_sum, backwards, before, sides])
def test_numbers(f):
    check(f)


def test_a_loop_that_passes_over_memory_once_is_one_operation_however_long():
    def f(x):
        for i in range(999, -1, -1):
            x[i] = x[i] * np.sin(x[i])

    assert not loops_of(vectorise(trace(f, (np.zeros((1000, 400)),)).tape))


def test_a_loop_that_comes_back_to_its_rows_stays():
    def f(x, y):
        for i in range(1000):
            y[i, 1:] = x[i, :-1]
            y[i] = y[i] * x[i]
            y[i, ::-1] = y[i, ::-1] + np.exp(y[i])

    x = np.zeros((1000, 400))
    assert len(loops_of(vectorise(trace(f, (x, x.copy())).tape))) == 1


@pytest.mark.parametrize("f", [before])
def test_what_is_handed_on_is_loaded(f):
    assert not loops_of(vectorise(trace(f, (X,)).tape))


def test_what_was_there_before_the_loop_is_something_else():
    def f(x):
        s, a = 0.0, x[5]
        for b in x[1:]:
            s += a * b
            a = b
        return s

    check(f)


def test_memory_that_is_handed_on_and_changes():
    def f(x):
        s, a = 0.0, x[0]
        x[0] = 2.0
        for b in x[1:]:
            s += a * b
            a = b
        return s

    check(f)


def test_numbers_of_a_long_loops_index():
    def f(x):
        return sum((-1) ** i * x[0] / (i + 1.0) for i in range(100000))

    tape = vectorise(trace(f, (np.array([0.5]),)).tape)
    assert not loops_of(tape)
    plan = planned_ad.compile(f, (np.array([0.5]),))
    np.testing.assert_allclose(plan(np.array([0.5])), 0.5 * np.log(2.0), rtol=1e-4)
    assert "100000] by [1]}" in plan.listing()


@pytest.mark.parametrize("first, step", [(0.0, 1.0), (7.0, -2.0), (-3.0, 1.0)])
def test_arrays_that_count(first, step):
    counts = first + step * np.arange(5000)

    def f(x):
        return np.sum((counts[::-1] + x[0]) * counts) + counts[17:2000:3] @ np.ones(661) * x[0]

    plan = planned_ad.compile(f, (np.array([0.5]),))
    np.testing.assert_allclose(plan(np.array([0.5])), f(np.array([0.5])), rtol=1e-13)


def test_what_both_sides_compute_is_computed_before():
    def f(x):
        s = 0.0
        for i in range(60):
            if x[i] > 0.5:
                s += np.exp(x[i]) ** 2.5
            else:
                s -= np.exp(x[i]) ** 2.5 * x[i]
        return s

    tape = rewrite(trace(f, (X,)).tape)
    (branch,) = (op for op in walk(tape.operations) if isinstance(op, Branch))
    assert not any(isinstance(op, Apply) and op.primitive == "exp" for op in walk((*branch.then, *branch.otherwise)))
    check(f)


@pytest.mark.parametrize("halves", (-5, -3, -1, 3, 5))
def test_powers_of_halves(halves):
    x = np.array([0.0, -0.0, 1.0, 2.5, 1e-300, 1e300, 5e-324, np.inf, -np.inf, np.nan, -1.0, -1e-310])
    with np.errstate(all="ignore"):
        expected = x ** (halves / 2)

    def f(x):
        return x ** (halves / 2)

    assert any(op.primitive == "half_power" for op in rewrite(trace(f, (x,)).tape).operations if isinstance(op, Apply))
    found = planned_ad.compile(f, (x,), check=False)(x)
    np.testing.assert_allclose(found, expected, rtol=4e-16)
    np.testing.assert_array_equal(np.signbit(found)[:9], np.signbit(expected)[:9])


@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_reciprocals_of_numbers_known_at_run_time(dtype):
    """As divisions, also where the reciprocal is no normal number."""
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    tape = trace(lambda x, d: x / d, (np.ones(16, dtype), dtype(2.0))).tape
    tape = multiply_by_reciprocals(simplify(reverse(tape, accumulate=False, loss=False)))
    names = [op.primitive for op in tape.operations[tape.turn :] if isinstance(op, Apply)]
    assert names.count("divide") <= 2, "one is the reciprocal; the other may be the divisor's own derivative"
    cotangent = np.array([1.0, -3.0, 0.0, -0.0, tiny, huge, np.inf, np.nan, *np.linspace(0.1, 7, 8)], dtype)
    plan = planned_ad.compile(lambda x, d: x / d, (np.ones(16, dtype), planned_ad.Const(dtype(2.0))))
    for divisor in (0.3, -7.0, tiny, tiny / 64, -tiny * 2, huge, huge / 3, 0.0, -0.0, np.inf, np.nan):
        dx = np.zeros(16, dtype)
        with np.errstate(all="ignore"):
            plan.pullback(np.ones(16, dtype), dtype(divisor), dx, cotangent.copy())
            expected = np.where(cotangent == 0, 0, cotangent / dtype(divisor))  # of no cotangent there is no derivative
        np.testing.assert_allclose(dx, expected + dtype(0), rtol=4 * np.finfo(dtype).eps, err_msg=str(divisor))


def test_what_runs_both_ways_is_left():
    tape = trace(lambda x: x[::-1] * x, (X,)).tape
    assert run_upwards(tape) is tape


def test_turning_over_keeps_numbers():
    tape = trace(backwards, (X,)).tape
    turned = run_upwards(tape)
    assert turned is not tape
    found = [interpret(t, {0: X.copy()}) for t in (tape, turned)]
    np.testing.assert_allclose(*found, rtol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.logaddexp.reduce(x),
        lambda x: np.logaddexp.reduce(x.reshape(300, 10), axis=1, keepdims=True).sum(),
        lambda x: np.hypot.reduce(x),
        lambda x: np.fmax.reduce(x * x),
        lambda x: np.logaddexp.accumulate(x)[-1],
        lambda x: np.logaddexp.accumulate(x.reshape(10, 300), axis=1).sum(),
        lambda x: np.polyval(x, 0.9) + np.polyval([3.0] * 999, x[0]),
        lambda x: functools.reduce(lambda s, v: s + v * v, x),
        lambda x: functools.reduce(lambda s, i: s * 0.5 + x[i], range(3000), 1.0),
        lambda x: functools.reduce(lambda s, v: s + v, (v * v for v in x), 0.5),
        lambda x: max(x) * min(x),
    ],
)
def test_what_goes_element_by_element_is_a_loop(f):
    """Not one operation for each."""
    x = np.random.default_rng(5).uniform(0.2, 1.0, 3000)
    tape = trace(f, (x,), max_operations=400).tape
    np.testing.assert_allclose(interpret(tape, {0: x})[0], f(x), rtol=1e-12)


def test_reduce_of_nothing():
    with pytest.raises(TypeError, match="empty"):
        trace(lambda x: functools.reduce(lambda a, b: a + b, []) + x, (1.0,))
    assert trace(lambda x: functools.reduce(lambda a, b: a + b, [], x), (1.0,)).tape.results
