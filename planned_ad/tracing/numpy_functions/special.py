"""Functions of `scipy.special` that SciPy writes in Python, by its ufuncs: polygamma, multigammaln, comb."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from ...python.versions import SCIPY
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .support import FLOAT, asarray, cast, floating, unsupported


def known_order(recorder: Recorder, function: str, order: Any, least: int) -> int:
    """An order as an int: one whole number that is known while tracing."""
    if recorder.is_concrete(order):
        number = recorder.number_of(order)
        if number.ndim == 0 and number == np.floor(number) and number >= least:
            return int(number)
    raise unsupported(
        f"{function} of an order that is not one whole number, at least {least}, known while tracing",
        "call it for each order, with a constant",
    )


@implements(scipy.special.polygamma)
def polygamma(recorder, n, x):
    """Always an array of float64, as SciPy's is."""
    n = known_order(recorder, "scipy.special.polygamma", n, 0)
    value = floating(recorder, x)
    if n == 0:
        return recorder.array(cast(recorder, recorder.apply("digamma", value), FLOAT))
    value = cast(recorder, value, FLOAT)
    return recorder.array(recorder.apply("polygamma", value, n=n))


@implements(scipy.special.multigammaln)
def multigammaln(recorder, a, d):
    """`log(pi) d (d - 1) / 4 + sum_j gammaln(a - j / 2)`; where SciPy raises for `a <= (d - 1) / 2`, nan."""
    d = known_order(recorder, "scipy.special.multigammaln", d, 1)
    a = asarray(recorder, a)
    total = d * (d - 1) * 0.25 * np.log(np.pi) + sum(scipy.special.gammaln(a - j / 2) for j in range(d))
    return np.where(a > 0.5 * (d - 1), total, np.nan)[()]


@implements(scipy.special.comb)
def comb(recorder, N, k, *, exact=False, repetition=False):
    """Real numbers of combinations, 0 outside of `0 <= k <= N`."""
    if exact:
        raise unsupported("scipy.special.comb with exact=True", "leave it out")
    N, k = (asarray(recorder, v) for v in (N, k))
    if repetition and SCIPY < (1, 17):
        N = N + k - 1
    elif repetition:
        return np.where((k == 0) & (N >= 0), 1.0, scipy.special.binom(N + k - 1, k))[()]
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, scipy.special.binom(np.where(inside, N, 1), np.where(inside, k, 0)), 0.0)[()]
