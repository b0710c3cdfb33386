"""What a stand-in does not notice, identity and Python's own errors, is right all the same, or refused."""

from __future__ import annotations

import contextlib
import enum
import math
import struct
import types
import warnings

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import BoundsError, TraceError, UnsupportedError
from planned_ad.python.liveness import reads_of
from planned_ad.trace import trace

from .sweeps import name_of, rotated

State = enum.Enum("State", "WAIT DONE")
LOW, HIGH = np.linspace(-0.9, 0.2, 7), np.linspace(-0.7, 0.9, 7)


def an_enum(x):
    state = State.WAIT
    for v in x:
        if v > 0.3:
            state = State.DONE
    return np.sum(x) * (2 if state is State.DONE else 1)


def in_an_attribute(x):
    held = types.SimpleNamespace(state=State.WAIT)
    for v in x:
        if v > 0.3:
            held.state = State.DONE
    return np.sum(x) * (2 if held.state is State.DONE else 1)


def in_a_dict(x):
    held = {"state": State.WAIT}
    for v in x:
        if v > 0.3:
            held["state"] = State.DONE
    return np.sum(x) * (2 if held["state"] is State.DONE else 1)


def of_an_enclosing_function(x):
    state = State.WAIT

    def see(v):
        nonlocal state
        if v > 0.3:
            state = State.DONE
        return v

    total = 0.0
    for v in x:
        total = np.sin(total) + see(v)
    return total * (2 if state is State.DONE else 1)


def returned(x):
    def find():
        found = None
        for v in x:
            if v > 0.3:
                found = "hit"
        return found

    return np.sum(x) * (1 if find() is None else 2)


def inside_of_the_loop(x):
    state, total = State.WAIT, 0.0
    for v in x:
        if state is State.DONE:
            total = total * 0.5
        total = np.sin(total) + v
        if v > 0.3:
            state = State.DONE
    return total


def by_isinstance(x):
    found = None
    for v in x:
        if v > 0.3:
            found = "hit"
    return np.sum(x) * (2 if isinstance(found, str) else 1)


def by_match(x):
    found = None
    for v in x:
        if v > 0.3:
            found = (v, 2.0)
    match found:
        case None:
            return np.sum(x)
        case (v, factor):
            return v * factor


def a_function(x):
    apply = np.sin
    for v in x:
        if v > 0.3:
            apply = np.cos
    return np.sum(x) * (2 if apply is np.cos else 1)


def a_truth(x):
    done = False
    for v in x:
        if v > 0.3:
            done = True
    return np.sum(x) * (2 if done is True else 1)


def never_read(x):
    total, last = 0.0, None
    for v in x:
        if v > 0.3:
            last = "hit"
        total = np.sin(total) + v
        last = "over"
    return total if last == "over" else x[0]


IDENTITY = [
    an_enum, in_an_attribute, in_a_dict, of_an_enclosing_function, returned, inside_of_the_loop, by_isinstance,
    by_match, a_function, a_truth, never_read,
]  # fmt: skip


@pytest.mark.parametrize(("f", "unroll"), rotated(IDENTITY, [0, 300]), ids=name_of)
def test_identity(f, unroll):
    for first, second in ((LOW, HIGH), (HIGH, LOW)):
        plan = planned_ad.compile(f, first, unroll=unroll)
        for x in (first, second):
            np.testing.assert_allclose(plan(x), f(x), err_msg=str(x))


def test_what_is_not_read_leaves_the_loop_rolled():
    assert not planned_ad.compile(never_read, LOW, unroll=0).explain().fallbacks


def inverse(s):
    try:
        return 1 / s
    except ZeroDivisionError:
        return 7.0 * s - 2.0


def inverse_count(x):
    n = 0
    for v in x:
        if v > 0.3:
            n += 1
    try:
        return np.sum(x) * (1 / n)
    except ZeroDivisionError:
        return x[1] * 5


def remainder_count(x):
    n = 0
    for v in x:
        if v > 0.3:
            n += 1
    with contextlib.suppress(ZeroDivisionError):
        return np.sum(x) * (20 // n) + 20 % n
    return x[1] * 5


def logarithm(s):
    try:
        return math.log(s)
    except ValueError:
        return 7.0 * s


def root_in_a_loop(x):
    total = 0.0
    for v in x:
        try:
            total += math.sqrt(v)
        except ValueError:
            total -= v
    return total


def exponential(s):
    try:
        return math.exp(s)
    except OverflowError:
        return 7.0 * s


def power(s):
    try:
        return s**-300
    except ZeroDivisionError:
        return s + 3.0
    except OverflowError:
        return s + 5.0


PYTHON_ERRORS = {
    "inverse": (inverse, 2.0, 0.0),
    "count": (inverse_count, HIGH, LOW),
    "remainder": (remainder_count, HIGH, LOW),
    "logarithm": (logarithm, 2.0, -1.0),
    "root": (root_in_a_loop, HIGH + 1.0, HIGH),
    "exponential": (exponential, 2.0, 1000.0),
    "power": (power, 2.0, 0.0),
    "overflow": (power, 2.0, 1e-3),
}


@pytest.mark.parametrize("name", PYTHON_ERRORS)
def test_errors_of_python_that_are_caught(name):
    f, *inputs = PYTHON_ERRORS[name]
    for first, second in (inputs, inputs[::-1]):
        plan = planned_ad.compile(f, (first,), unroll=0)
        for x in (first, second):
            np.testing.assert_allclose(plan(x), f(x))


def around_a_loop(x, s):
    total = 0.0
    with np.errstate(all="ignore"):
        try:
            for v in x:
                total += v / s
        except ValueError:
            return -1.0
        finally:
            total += 1.0
    return total


def test_what_catches_other_errors_leaves_loops_rolled():
    plan = planned_ad.compile(around_a_loop, (HIGH, 2.0), unroll=0)
    assert not plan.explain().fallbacks
    np.testing.assert_allclose(plan(LOW, 3.0), around_a_loop(LOW, 3.0))


def refused_in_a_branch(x):
    total = 0.0
    for k in range(6):
        if x[k] > 0.3:
            try:
                total += x[k] * len(x.tobytes())
            except Exception:
                total *= 0.5
    return total


def suppressed(x):
    total = 0.0
    for k in range(6):
        with contextlib.suppress(Exception):
            total += x[k] * len(x.tobytes())
    return total


@pytest.mark.parametrize("f", [refused_in_a_branch, suppressed])
def test_a_refusal_is_not_swallowed(f):
    with pytest.raises(TraceError, match="has caught this"):
        planned_ad.compile(f, LOW, unroll=0)


def test_liveness():
    def f(items, other):
        found = None
        for item in items:
            found = other if item else found
        total = found + 1
        found = 2
        return total, found

    def names(code, name):
        return {code.co_code[2 * k] for k in reads_of(code, name)}

    assert reads_of(f.__code__, "found") and names(f.__code__, "found")
    assert not reads_of((lambda x: (x + 1) * x).__code__, "x")  # calculated with
    assert reads_of((lambda x: x is None).__code__, "x")
    assert reads_of((lambda x: [x]).__code__, "x")
    assert reads_of((lambda x, f: f(x)).__code__, "x")
    assert not reads_of((lambda x: x.real).__code__, "x")


def truths_add_up(x):
    found = np.zeros(5, bool)
    for k in range(20):
        found = found + (x[:5] > 0.05 * k)
    return np.sum(x[:5] * found) + found.sum()


def large_integers(x):
    number = 1
    for v in x:
        if v > 0.0:
            number *= 3
    return x[0] * (number % 1009)


def shifted_by_a_count(x):
    n = 0
    for v in x:
        if v > 0.0:
            n += 1
    return x[0] * ((1 << n) % 1009)


def test_sums_of_truths():
    plan = planned_ad.compile(truths_add_up, HIGH + 1.0, unroll=0)
    np.testing.assert_allclose(plan(HIGH), truths_add_up(HIGH))


@pytest.mark.parametrize("f", [large_integers, shifted_by_a_count])
def test_integers_that_python_alone_has_are_traced_by_themselves(f):
    few, many = np.linspace(-1.0, 0.5, 90), np.ones(90)
    plan = planned_ad.compile(f, few, unroll=0)
    for x in (few, many, np.linspace(-0.1, 1.0, 90)):
        np.testing.assert_allclose(plan(x), f(x))
    fixed = planned_ad.compile(f, few, unroll=0, on_branch="raise")
    with pytest.raises(BoundsError, match="64 bits"):
        fixed(many)


def test_powers_that_are_complex_in_python_are_refused():
    plan = planned_ad.compile(lambda s: abs(s**0.5), 4.0)
    assert plan(9.0) == 3.0
    with pytest.raises(BoundsError, match="complex"):
        plan(-4.0)


def test_reversed_lists_of_objects_and_truths_as_indices():
    held = [types.SimpleNamespace(weight=float(k)) for k in range(18)]

    def f(s):
        total = 0.0
        for one in reversed(held):
            total = total * 0.5 + one.weight * s
        return [total, 2 * total][s > 0.5]

    plan = planned_ad.compile(f, 1.0)
    assert plan(0.25) == f(0.25) and plan(0.75) == f(0.75)


def matched(s):
    match s + 1:
        case float(w):
            return w * 2
        case _:
            return s


def test_class_patterns_of_numbers():
    assert planned_ad.compile(matched, 1.0)(2.0) == matched(2.0)


def test_names_of_local_variables():
    def f(x):
        for v in x:
            if v > 0.3:
                hit = v
        return np.sum(x) * (2 if "hit" in locals() else 1)

    plan = planned_ad.compile(f, HIGH, unroll=0)
    for x in (HIGH, LOW):
        np.testing.assert_allclose(plan(x), f(x))


def test_errors_of_compiled_functions_that_know_no_traced_numbers():
    with pytest.raises(UnsupportedError, match="is not traced"):
        planned_ad.compile(lambda x: np.sum(x) + struct.unpack("d", struct.pack("d", x[0]))[0], LOW)


# Numbers of which a branch decides of what class they are.


def summed(x):
    s = 0
    for v in x:
        if v > 0.3:
            s = s + v
    return np.sum(x) * (2.0 if isinstance(s, float) else 1.0)


def chosen(x):
    r = 1
    for v in x:
        if v > 0.3:
            r = 2.5
    return np.sum(x) * (3.0 if type(r) is int else 1.0)


def mean_or_sum(x):
    s, n = 0.0, 0
    for v in x:
        if v > 0.3:
            s += v
            n += 1
    try:
        return s / n
    except ZeroDivisionError:
        return np.sum(x)


@pytest.mark.parametrize("f", [summed, chosen, mean_or_sum])
def test_numbers_of_another_class(f):
    for example in (LOW, HIGH):
        plan = planned_ad.compile(f, example, unroll=0)
        for x in (LOW, HIGH, LOW + 0.6):
            np.testing.assert_allclose(plan(x), f(x))


def test_a_class_that_nobody_asks_for_unrolls_nothing():
    def f(x):
        s = 0
        for v in x:
            if v > 0.3 and isinstance(v, float):
                s += v
        return s

    assert trace(f, (LOW,), unroll=0).rolled


def caught_nan(x):
    try:
        k = int(x[0])
    except ValueError:
        return x[1] * 2.5
    return k * x[1]


def caught_shift(x):
    n = int(np.sum(x > 0))
    try:
        return x[0] * (1 << (n - 1))
    except ValueError:
        return x[0] * 7


@pytest.mark.parametrize("f", [caught_nan, caught_shift])
def test_integers_that_python_refuses(f):
    plan = planned_ad.compile(f, np.array([1.5, 2.0]))
    for x in (np.array([1.5, 2.0]), np.array([np.nan, 2.0]), np.array([-1.0, -3.0])):
        np.testing.assert_allclose(plan(x), f(x))


def test_integers_of_nan_and_powers_are_refused():
    plan = planned_ad.compile(lambda x: int(x[0]) * x[1], np.array([1.5, 2.0]))
    with pytest.raises(BoundsError, match="becomes an integer"):
        plan(np.array([np.nan, 1.0]))
    plan = planned_ad.compile(lambda s, p: abs(s**p), (4.0, 0.5))
    assert plan(-4.0, 3.0) == 64.0
    with pytest.raises(BoundsError, match="complex"):
        plan(-4.0, 0.5)


def divided(x):
    with np.errstate(divide="raise"):
        try:
            return np.sum(1 / x)
        except FloatingPointError:
            return np.sum(x)


def logged(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x)


def of_another_warning(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x)


def silent(x):
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.sum(np.log(x))
        except ArithmeticError:
            return np.sum(x)


def test_errors_of_numpy_that_are_caught():
    def of_underflow(x):
        with np.errstate(all="raise"):
            try:
                return np.sum(np.exp(x))
            except FloatingPointError:
                return np.sum(x)

    def of_complex(x):
        with np.errstate(divide="raise"):
            try:
                return np.sum((1 / (x + 1j)).real)
            except FloatingPointError:
                return np.sum(x)

    with pytest.raises(UnsupportedError, match="which is caught here"):
        trace(of_underflow, (np.ones(3),))
    with pytest.raises(UnsupportedError, match="complex or masked"):
        trace(of_complex, (np.ones(3),))
    for f in (divided, logged):
        trace(f, (np.ones(3),))
    trace(silent, (np.ones(3),))
    trace(of_another_warning, (np.ones(3),))


def test_a_generator_is_closed_when_its_loop_is_left():
    closed = []

    def items(x):
        try:
            yield from x
        finally:
            closed.append(1)

    def f(x):
        closed.clear()
        total = 0.0
        for v in items(x):
            if v > 0.3:
                break
            total += v
        return total + len(closed)

    for example in (LOW, HIGH):
        plan = planned_ad.compile(f, example, unroll=0)
        for x in (LOW, HIGH, LOW + 0.6):
            np.testing.assert_allclose(plan(x), f(x))
