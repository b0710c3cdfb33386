"""Riemann's and Hurwitz's zeta functions of any order, by the formula of Euler and Maclaurin.

`zeta(s, q)` is the sum of the first terms `(q + k)**-s`, the integral over the rest, and corrections of which twelve
leave nothing that rounding shows (F. Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and
its derivatives", Numer. Algorithms 69, 2015, 2.1). These are elementary, and have derivatives by both arguments. For
`s < -1` it is the reflection that Riemann found.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from ..record.dispatch import implements
from ..record.promotion import operand, resolved
from ..record.recorder import Recorder
from .special import known_order
from .support import FLOAT, asarray, floating, unsupported
from .systems import require_everywhere

TERMS = 10
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""Bernoulli's numbers of even order, from the second on."""


def by_euler_maclaurin(s: Any, q: Any, first: int = 0) -> Any:
    """The sum of `(q + k)**-s` from `k = first` on, for `s >= -1` other than 1 and positive `q`."""
    end = q + TERMS
    last = end**-s
    total: Any = end * last / (s - 1) + 0.5 * last + sum((q + k) ** -s for k in range(first, TERMS))
    factor = s * last / end
    for k, number in enumerate(BERNOULLI, 1):
        total = total + number / math.factorial(2 * k) * factor
        factor = factor * ((s + (2 * k - 1)) * (s + 2 * k)) / (end * end)
    return total


def riemann(s: Any, first: int) -> Any:
    """`zeta(s)`, or of `first == 1` what it has above one."""
    low, at_pole = s < -1, s == 1
    right = by_euler_maclaurin(np.where(low | at_pole, 2.0, s), 1.0, first)
    t = np.where(low, 1 - s, 2.0)  # zeta(s) = 2 (2 pi)**(s - 1) sin(pi s / 2) gamma(1 - s) zeta(1 - s)
    size = 2 * np.exp(scipy.special.gammaln(t) - t * math.log(2 * math.pi))
    angle = 0.5 * math.pi * np.remainder(np.where(low, s, 0.0), 4.0)
    left = size * np.sin(angle) * by_euler_maclaurin(t, 1.0) - first
    return np.where(low, left, np.where(at_pole, np.inf, right))


def as_given(recorder: Recorder, found: Any, *operands: Any) -> Any:
    """What was computed in double precision, in single precision where the operands are."""
    kinds = [operand(recorder, obj)[0] for obj in operands]
    dtype = np.result_type(resolved(np.true_divide, (kinds[0], kinds[-1]), None)[-1], np.float32)
    return found.astype(dtype)[()]


def as_doubles(recorder: Recorder, x: Any) -> Any:
    return asarray(recorder, x).astype(np.result_type(FLOAT))


@implements(scipy.special.zeta)
def zeta(recorder, x, q=None, out=None):
    """Of a whole `s` it is `(-1)**s polygamma(s - 1, q) / (s - 1)!`, Abramowitz & Stegun 6.4.10, also for `q < 0`."""
    if out is not None:
        raise unsupported("scipy.special.zeta with out=", "assign to it")
    if q is None:
        return as_given(recorder, riemann(as_doubles(recorder, x), 0), x)
    if is_whole_number(recorder, x):
        order = known_order(recorder, "scipy.special.zeta", x, 2)
        value = recorder.apply("polygamma", floating(recorder, q), n=order - 1)
        factor = recorder.constant((-1.0) ** order / math.factorial(order - 1), value.dtype)
        return recorder.result(recorder.apply("multiply", value, factor))
    s, shift = np.broadcast_arrays(as_doubles(recorder, x), as_doubles(recorder, q))
    positive = recorder.value_of(shift > 0)
    require_everywhere(recorder, positive, "scipy.special.zeta(s, q) of traced s with q that is not positive")
    found = by_euler_maclaurin(np.where(s > 1, s, 2.0), shift)
    return as_given(recorder, np.where(s > 1, found, np.where(s == 1, np.inf, np.nan)), x, q)


def is_whole_number(recorder: Recorder, x: Any) -> bool:
    """Whether it is one that is known while tracing, at least 2 and not so large that its factorial is none."""
    if not recorder.is_concrete(x):
        return False
    number = recorder.number_of(x)
    return number.ndim == 0 and number == np.floor(number) and 2 <= number <= 170


@implements(scipy.special.zetac)
def zetac(recorder, x, out=None, **options):
    if out is not None or options:
        raise unsupported("scipy.special.zetac with out= or where=", "assign to it")
    return as_given(recorder, riemann(as_doubles(recorder, x), 1), x)
