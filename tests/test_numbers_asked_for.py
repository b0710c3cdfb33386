"""What Python and libraries ask of traced values: text, plain arrays to write to, subclasses of arrays."""

from __future__ import annotations

import asyncio
import io
import logging
import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from scipy import linalg, ndimage, optimize, special

import planned_ad
from planned_ad.errors import BoundsError, ConversionError, UnsupportedError
from planned_ad.trace import trace

from .recorded_loops import loops_of
from .tracing_oracle import check

LOG = logging.getLogger(__name__)


@pytest.mark.parametrize(
    "spell",
    [
        lambda s, x: f"{s:.3f} {s!r:>30} {x} {x[0]:8.2e} {s}",
        lambda s, x: "%.3f %s %d %r %g" % (s, s, s, x, x[1]),  # noqa: UP031
        lambda s, x: "{:.2e} {}".format(*[s, x]),
        lambda s, x: str(x) + repr(s) + format(s, ".2f") + np.array2string(x) + np.array_str(x),
    ],
)
def test_traced_values_in_text(spell: Callable[..., str], capsys: pytest.CaptureFixture) -> None:
    def shown(x):
        print(spell(np.sum(x), x))
        return np.sum(x)

    def compared(x):
        return np.sum(x) + 0 * (spell(np.sum(x), x) == "")

    trace(shown, (np.ones(3),))
    assert "traced" in capsys.readouterr().out
    with pytest.raises(ConversionError, match="behind a traced"):
        trace(compared, (np.ones(3),))


def test_what_the_text_says(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture) -> None:
    def f(x):
        s = np.sum(x)
        print(f"{s:.3f}|%.3f|%d" % (s, s))
        LOG.warning("loss %.3f of %s", s, x)
        return s

    trace(f, (np.ones(3),))
    assert capsys.readouterr().out.split() == ["<traced", "float64", f"scalar>|nan|{np.iinfo(np.int64).min}"]
    assert caplog.messages == ["loss nan of <traced float64 array of shape (3,)>"]


def test_a_remainder_is_no_text() -> None:
    with pytest.raises(ConversionError, match=r"hash\(\)"):
        trace(lambda x: hash(x[0]) % 2, (np.ones(3),))
    check(lambda x: (7.0 % x[0]) * (np.float64(7.0) % x[1]) + np.array([5.0, 7.0, 9.0]) % x, np.array([2.0, 3.0, 4.0]))


# Arrays that functions of libraries make, and what is written into them.


def drawn(x):
    w = np.random.default_rng(3).random(3)
    w += x
    return w


def hilbert(x):
    w = linalg.hilbert(3)
    w[0] = x
    return w


def factors(x):
    w = linalg.lu(np.diag([1.0, 2.0, 3.0]))[1]
    w[1] += x
    return w


def nodes(x):
    w = special.roots_legendre(3)[0]
    w *= x
    return w


def strided(x):
    w = np.arange(6.0)
    rows = as_strided(w, (2, 3), (24, 8))
    w[1] = x[0]
    rows[1, 1] = x[1]
    return w * 2, rows * 3


def output_argument(x):
    out = np.zeros(3)
    ndimage.gaussian_filter1d(np.arange(3.0), 1.0, output=out)
    return out * x


def in_a_loop(x):
    s = 0.0
    for k in range(40):
        w = linalg.hilbert(3)
        w[0] = x * k
        s = s + np.sum(w**2)
    return s


@pytest.mark.parametrize("f", [drawn, hilbert, factors, nodes, strided, output_argument, in_a_loop])
def test_writes_to_what_libraries_make(f: Callable[..., Any]) -> None:
    check(f, np.array([1.0, 2.0, 3.0]))


def adds_to_what_an_object_made(x):
    w = optimize.LbfgsInvHessProduct(np.ones((1, 3)), np.ones((1, 3))).todense()
    w += x
    return w


def assigns_to_what_an_object_made(x):
    w = optimize.LbfgsInvHessProduct(np.ones((1, 3)), np.ones((1, 3))).todense()
    w[0] = x
    return w


@pytest.mark.parametrize("f", [adds_to_what_an_object_made, assigns_to_what_an_object_made])
def test_plain_arrays_are_refused_with_advice(f: Callable[..., Any]) -> None:
    with pytest.raises((UnsupportedError, ConversionError), match=r"w = numpy\.array\(w\)"):
        trace(f, (np.ones(3),))


# Subclasses.


class Labelled(np.ndarray):
    """Takes what NumPy does with its instances into its own hands."""

    def __new__(cls, data):
        return np.asarray(data).view(cls)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return super().__array_wrap__(array, context, return_scalar)

    def twice(self):
        return self * 2


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    "f, name",
    [
        (lambda x: Labelled(x), "Labelled"),
        (lambda x: x.view(Labelled), "Labelled"),
        (lambda x: Labelled(np.arange(3.0)) + x, "Labelled"),
        (lambda x: np.concatenate([x, Labelled(np.arange(3.0))]), "Labelled"),
        (lambda x: np.matrix(x), "numpy.matrix"),
        (lambda x: x * np.asmatrix(np.eye(3)), "numpy.matrix"),
        (lambda x: x @ np.asmatrix(np.eye(3)), "numpy.matrix"),
    ],
)
def test_subclasses_are_refused_by_name(f: Callable[..., Any], name: str) -> None:
    message = rf"{name}, a subclass of numpy.ndarray, .* is not traced( \(it has \w+\))?; pass"
    with pytest.raises(UnsupportedError, match=message):
        trace(f, (np.ones(3),))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", [Labelled, np.ma.MaskedArray, np.matrix])
def test_arguments_of_subclasses_are_refused_by_name(kind: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"`x` is a .*{kind.__name__}, a subclass of numpy.ndarray"):
        planned_ad.compile(lambda x: np.sum(x), kind([1.0]))


def test_what_a_subclass_gives_as_plain_array_is_one() -> None:
    check(lambda x: np.asarray(Labelled(np.arange(3.0)).twice()) * x, np.ones(3))
    check(lambda x: np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]).filled(0.0) * x, np.ones(3))


# Integers and truths whose number is asked for: the tape holds for that one, and a plan for others traces again.


def largest(x):
    return int(np.argmax(x))


KEYS = {
    "get": lambda x: {0: 2.0, 2: 5.0}.get(largest(x), 1.0) * x[0],
    "member": lambda x: x[0] * (2.0 if largest(x) in {0, 11} else 3.0),
    "truth": lambda x: {True: x[0], False: x[1]}[x[2] > 0.5],
    "tuple": lambda x: {(0, 1): 2.0, (1, 1): 3.0}.get((largest(x), 1), 5.0) * x[0],
    "text": lambda x: {"a0": 1.0, "a1": 2.0, "a2": 3.0}[f"a{largest(x)}"] * x[0],
    "bits": lambda x: largest(x).bit_length() * x[0],
    "counted": lambda x: sum(k * n for k, n in Counter(int(v * 3) for v in x).items()) * x[0],
    "generator": lambda x: np.random.default_rng(largest(x)).random() * x[0],
    "linspace": lambda x: np.sum(np.linspace(0, 1, largest(x) + 2) ** 2) * x[0],
    "arange": lambda x: np.sum(np.sin(np.arange(x[0], 3.0, x[1] * 0.5 + 0.03))) * x[2],
    "arange down": lambda x: np.arange(2, -x[2], -x[0] - 0.011) @ np.arange(2, -x[2], -x[0] - 0.011),
    "arange of one": lambda x: np.interp(np.arange(x[0] * 2.5), np.arange(9.0), np.arange(9.0) ** 2 * x[1]).sum(),
    "arange of none": lambda x: np.arange(x[0] * 0.05, x[1] - 0.5).sum() + x[2] * np.arange(largest(x) + 3).sum(),
    "tile": lambda x: np.sum(np.tile(x, largest(x) + 1)),
    "repeat": lambda x: np.sum(np.repeat(x, largest(x) + 1)),
    "unravel_index": lambda x: np.outer(x, x)[np.unravel_index(np.argmax(np.outer(x, x)), (3, 3))],
    "split at a place": lambda x: np.sum(np.split(x, [int(np.argmax(x)), 4])[0] ** 2) + x[-1],
    "split": lambda x: sum(np.sum(p) * k for k, p in enumerate(np.split(x, np.flatnonzero(x > 0.3)))),
    "comb": lambda x: math.comb(5, largest(x)) * x[0],
    "text of %d": lambda x: {"0": x[0], "1": x[1] * 2}.get("%d" % largest(x), 7.0) * len("%.3f" % (largest(x) + 9)),  # noqa: UP031
    "item of a range": lambda x: range(2, largest(x) + 5, 2)[-1] * x[0] + range(largest(x) + 3).index(2) * x[1],
}
EXAMPLES = np.array([0.9, 0.1, 0.2]), np.array([0.1, 0.7, 0.2]), np.array([0.1, 0.2, 0.8])


@pytest.mark.parametrize("name", KEYS)
def test_integers_that_are_keys(name: str) -> None:
    for x in EXAMPLES:
        check(KEYS[name], x)


def test_a_plan_holds_for_its_keys() -> None:
    plan = planned_ad.compile(KEYS["get"], EXAMPLES[0])
    assert [plan(x) for x in EXAMPLES] == [KEYS["get"](x) for x in EXAMPLES]
    assert [plan.gradient(x)[0] for x in EXAMPLES] == [2.0, 1.0, 5.0]


PYTHONS = {
    "modf": lambda x: math.modf(x[0] * -7)[0] * x[1] + math.modf(x[0] * 7)[1],
    "remainder": lambda x: math.remainder(x[0] * 7, 0.8) + math.remainder(-2.0 * x[0], x[0] * 0.8),
    "ldexp": lambda x: math.ldexp(x[0], 3) + math.ldexp(x[1], -2),
    "ldexp, any": lambda x: (
        math.ldexp(x[0] * 1e-300, 1040) + math.ldexp(x[1] * 1e300, -1000) + math.ldexp(x[2], largest(x))
    ),
    "frexp": lambda x: math.frexp(-9 * x[0])[0] * 3 + math.frexp(x[1] * 50)[1] * x[2] + math.ldexp(*math.frexp(x[2])),
    "next": lambda x: math.nextafter(x[0], 2.0) ** 2 + math.ulp(-x[1]) * 1e15 * x[2] + 1 / math.ulp(math.inf * x[0]),
    "len of a range": lambda x: len(range(largest(x) + 2)) * x[0] + len(range(9, largest(x), -2)) * x[1],
    "roll": lambda x: (
        np.sum(np.roll(x, largest(x)) * np.arange(3.0)) + np.roll(np.outer(x, x), largest(x), axis=1)[0, 1]
    ),
    "means": lambda x: statistics.fmean(x) + statistics.mean(list(x)) + statistics.median(x),
    "spread": lambda x: statistics.stdev(x) + statistics.pvariance(list(x)) + statistics.pstdev(x),
    "power": lambda x: x[0] * 2 ** largest(x) + (-3) ** largest(x) + 0 ** largest(x),
    "below one": lambda x: x[0] * 2 ** -(largest(x)) + 10 ** (largest(x) - 1),
    "flat": lambda x: np.outer(x, x + 1).T.flat[1] + np.sum(np.outer(x, x).T.flat[2:7:2]) + sum(np.outer(x, x).T.flat),
}


@pytest.mark.parametrize("name", PYTHONS)
def test_numbers_as_python_has_them(name: str) -> None:
    for x in EXAMPLES:
        check(PYTHONS[name], x)


REMAINDERS = {
    "remainder": lambda x: math.remainder(x, 360.0),
    "fmod": lambda x: math.fmod(x, 360.0),
    "NumPy's fmod": lambda x: np.fmod(x, -360.0),
    "modf": lambda x: math.modf(x)[0],
    "NumPy's modf": lambda x: np.modf(x)[0],
}


@pytest.mark.parametrize("name", REMAINDERS)
def test_remainders_at_zero(name: str) -> None:
    """Where they are zero, as their argument is or one of whole periods, they have its sign and the slope of one."""
    f = REMAINDERS[name]
    plan = planned_ad.compile(f, (3.3,))
    for x in (3.3, -3.3, 1e-300, 720.0, -720.0, 0.0, -0.0):
        assert plan.gradient(x) == 1.0, x
        assert (plan(x), math.copysign(1.0, plan(x))) == (f(x), math.copysign(1.0, f(x)))


def test_arange_of_another_type_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="dtype"):
        planned_ad.compile(lambda x: np.arange(x, 3.0, dtype=np.float32).sum(), (0.5,))


def test_ranges_that_are_measured_leave_loops_rolled() -> None:
    def f(x):
        total = 0.0
        for i in range(40):
            for k in range(largest(x), 3):
                total = total + x[k] * len(range(5, i)) + len(range(1, i + 3, 2)) * len(range(i, 50))
        return total

    for x in EXAMPLES:
        check(f, x)
    assert loops_of(trace(f, EXAMPLES[:1]))[0].trips == 40


def test_powers_of_two_of_any_exponent() -> None:
    numbers = np.array([1.5, -0.7e-300, 3e-310, 5e-324, 1e308, 0.0, np.inf, np.nan, 1.75 * 2.0**-20])
    exponents = np.arange(-2300, 2300, 7)
    plan = planned_ad.compile(lambda x, k: np.ldexp(x[:, None], k), (numbers, exponents))
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(plan(numbers, exponents), np.ldexp(numbers[:, None], exponents))


def test_writing_through_flat() -> None:
    def f(x):
        m = np.zeros((3, 2))
        for k in range(6):
            m.T.flat[k] = x[k % 3] * k
        m.T.flat[[0, 5]] += x[:2]
        m.T.flat[largest(x)] -= 1.0
        m.flat[[1, 2, 3, 4]], m.T.flat[::2] = x + 1.0, np.outer(x, x)  # fewer than places, and more
        other = np.zeros((2, 4))
        other.flat = x * 2.0
        m[1] += other[0, 3] * other[1, 2]
        return m * np.arange(6.0).reshape(3, 2)

    for x in EXAMPLES:
        check(f, x)


def test_powers_of_integers_in_a_loop() -> None:
    def f(x):
        total, k = 0.0, 0
        for v in x:
            if v > 0.3:
                k += 1
            total += v * 2**k * (-1) ** k
        return total

    rising = np.arange(20) / 16  # whose sums are exact in any order
    plan = planned_ad.compile(f, np.full(20, 0.125), unroll=0)
    for x in (np.full(20, 0.125), rising, rising[::-1].copy()):
        assert plan(x) == f(x)
    many = planned_ad.compile(f, np.full(70, 0.1), unroll=0)
    for x in (np.full(70, 0.5), np.linspace(0, 1, 70)):  # more than 64 bits: that is traced by itself
        assert many(x) == pytest.approx(f(x), rel=1e-12)
    fixed = planned_ad.compile(f, np.full(70, 0.1), unroll=0, on_branch="raise")
    with pytest.raises(BoundsError, match="64 bits"):
        fixed(np.full(70, 0.5))


def test_classes_of_traced_numbers() -> None:
    def f(x):
        v, n = x[0], largest(x)
        kinds = [
            isinstance(v, Iterable), isinstance(v, Hashable), isinstance(x, Iterable), v.__class__ is np.float64,
            isinstance(v, float | str), isinstance(v, (int, complex)), x.__class__ is np.ndarray, isinstance(n, int),
        ]  # fmt: skip
        return v * sum(2.0**k * kind for k, kind in enumerate(kinds))

    check(f, EXAMPLES[0])
    check(lambda x: x[0] * (2.0 if hasattr(x[0], "hex") else 1.0), EXAMPLES[0])
    check(lambda x: x[0] * (2.0 if hasattr(float(x[0]), "dtype") else 1.0), EXAMPLES[0])


class Rejected(Exception):
    pass


def reads_the_message(x):
    try:
        if x[0] > 0.5:
            raise Rejected(f"{x[0]:.1f}")
    except Rejected as error:
        return np.sum(x) * (2.0 if str(error) == "0.9" else 3.0)
    return np.sum(x)


def shows_the_message(x):
    try:
        if x[0] > 0.5:
            raise Rejected(f"{x[0]:.1f}")
    except Rejected as error:
        LOG.info("rejected: %s", error)
        return np.sum(x) * 3.0
    return np.sum(x)


def test_what_is_written_into_memory_may_be_read_there() -> None:
    def report(out, v):
        out.write(f"{v:.3f};")

    def f(x):
        out = io.StringIO()
        for v in x:
            report(out, v)
        return len(out.getvalue()) * x[0]

    with pytest.raises(ConversionError, match="its text"):
        trace(f, (np.ones(3),))


def test_fields_of_structured_arrays() -> None:
    def f(x):
        points = np.zeros(3, dtype=[("position", "f8"), ("number", "i4")])
        points["position"] = x
        return points["position"].sum()

    with pytest.raises(ConversionError, match="use an array for each field"):
        trace(f, (np.ones(3),))


def test_messages_of_errors_that_are_caught() -> None:
    with pytest.raises(ConversionError, match="its text"):
        trace(reads_the_message, (EXAMPLES[0],))
    check(reads_the_message, EXAMPLES[1])
    check(shows_the_message, EXAMPLES[0])


def test_an_event_loop_asks_for_names_of_tasks():
    """In the result of which there are traced numbers: it makes a text of the task where the signals are looked at."""

    def f(x):
        async def main():
            total = 0.0
            for i in range(20):
                await asyncio.sleep(0)
                total = 0.9 * total + x[i]
            return total

        return asyncio.run(main())

    def descent(x):
        y = x.copy()
        for _ in range(3):
            y = y - 0.01 * planned_ad.grad(f)(y)
        return np.sum(y * y)

    x = np.linspace(0.0, 1.0, 20)
    for g in (f, descent, f):
        assert np.isclose(planned_ad.compile(g, x, unroll=0)(x), g(x))
