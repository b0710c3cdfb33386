"""`scipy.special` functions that SciPy writes in Python.

Sums of exponentials are shifted by the largest exponent against overflow: Blanchard, Higham & Higham, "Accurately
computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41(4), 2021. The result does not depend on
the shift, so the shift is given no derivative; what is left is the derivative's own formula, exactly.
Near a result of 0 the error of `logsumexp` is absolute, about a rounding unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .reductions import reduced
from .support import FLOAT, broadcast, cast, constant, elementwise, floating, geometry, reshape, unsupported


def _shift(recorder: Recorder, value: Value, axis: object) -> Value:
    """The largest element, without derivative; 0 where it is not finite, so that inf - inf does not occur."""
    highest = recorder.apply("stop_gradient", reduced(recorder, "reduce_max", value, axis, True))
    finite = recorder.apply("isfinite", highest)
    return recorder.apply("where", finite, highest, constant(recorder, 0, value.dtype))


def _shifted(recorder: Recorder, value: Value, shift: Value) -> Value:
    return recorder.apply("subtract", value, broadcast(recorder, shift, value.shape))


@implements(scipy.special.logsumexp)
def logsumexp(recorder, a, axis=None, b=None, keepdims=False, return_sign=False):
    """`log(sum(b * exp(a)))` along `axis`; terms with `b == 0` do not count, whatever their `a`."""
    if return_sign:
        raise unsupported("logsumexp with return_sign=True", "leave it out where the sum is positive")
    value = floating(recorder, a)
    if b is not None:
        dtype = recorder.result_type(a, b)
        dtype = dtype if dtype.kind == "f" else FLOAT
        value, weight = cast(recorder, value, dtype), recorder.value_of(b, dtype)
        shape = np.broadcast_shapes(value.shape, weight.shape)
        value, weight = broadcast(recorder, value, shape), broadcast(recorder, weight, shape)
        absent = recorder.apply("equal", weight, constant(recorder, 0, dtype))
        value = recorder.apply("where", absent, constant(recorder, -np.inf, dtype), value)
    shift = _shift(recorder, value, axis)
    terms = recorder.apply("exp", _shifted(recorder, value, shift))
    if b is not None:
        terms = recorder.apply("multiply", weight, terms)
    total = reduced(recorder, "reduce_sum", terms, axis, keepdims)
    return recorder.result(recorder.apply("add", recorder.apply("log", total), reshape(recorder, shift, total.shape)))


@implements(scipy.special.softmax)
def softmax(recorder, x, axis=None):
    """`exp(x) / sum(exp(x))` along `axis`."""
    value = floating(recorder, x)
    terms = recorder.apply("exp", _shifted(recorder, value, _shift(recorder, value, axis)))
    total = reduced(recorder, "reduce_sum", terms, axis, True)
    return recorder.result(elementwise(recorder, "divide", terms, total), geometry(recorder, x))


@implements(scipy.special.log_softmax)
def log_softmax(recorder, x, axis=None):
    """`x - logsumexp(x)` along `axis`."""
    value = floating(recorder, x)
    shifted = _shifted(recorder, value, _shift(recorder, value, axis))
    total = reduced(recorder, "reduce_sum", recorder.apply("exp", shifted), axis, True)
    return recorder.result(
        elementwise(recorder, "subtract", shifted, recorder.apply("log", total)), geometry(recorder, x)
    )


# Functions without NumPy's dispatch, which traced code must see replaced: `implementation(recorder, *args, **kwargs)`.
REPLACEMENTS: dict[Callable[..., Any], Callable[..., Any]] = {
    scipy.special.logsumexp: logsumexp,
    scipy.special.softmax: softmax,
    scipy.special.log_softmax: log_softmax,
}
