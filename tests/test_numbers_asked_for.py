"""What Python and libraries ask of traced values: text, plain arrays to write to, subclasses of arrays."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from scipy import linalg, ndimage, optimize, special

import planned_ad
from planned_ad.errors import ConversionError, UnsupportedError
from planned_ad.trace import trace

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
    def __new__(cls, data):
        return np.asarray(data).view(cls)

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
        (lambda x: np.ma.masked_array(x), "numpy.ma.MaskedArray"),
        (lambda x: x * np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), "numpy.ma.MaskedArray"),
        (lambda x: np.where(x > 0, np.ma.array([1.0, 2.0, 3.0]), x), "numpy.ma.MaskedArray"),
    ],
)
def test_subclasses_are_refused_by_name(f: Callable[..., Any], name: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"{name}, a subclass of numpy.ndarray, .* is not traced; pass"):
        trace(f, (np.ones(3),))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", [Labelled, np.ma.MaskedArray, np.matrix])
def test_arguments_of_subclasses_are_refused_by_name(kind: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"`x` is a .*{kind.__name__}, a subclass of numpy.ndarray"):
        planned_ad.compile(lambda x: np.sum(x), kind([1.0]))


def test_what_a_subclass_gives_as_plain_array_is_one() -> None:
    check(lambda x: np.asarray(Labelled(np.arange(3.0)).twice()) * x, np.ones(3))
    check(lambda x: np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]).filled(0.0) * x, np.ones(3))
