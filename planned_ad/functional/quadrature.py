"""SciPy's `quad` in traced functions: its value by SciPy itself, when the plan runs.

The derivative of an integral is that of a sum over the nodes of the Gauss-Kronrod rule: in one interval, where SciPy
finds it to be accurate there (R. Piessens et al., QUADPACK, 1983), and else in those that halving gives until the sum
itself is the integral, without extrapolation, as far as it gets. A singularity needs many, at a kink they are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..tracing.numpy_functions.python_functions import of_elements
from ..tracing.record.recorder import Recorder
from .solvers import by_scipy, calls, held, refuse_options

HALF = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
)  # fmt: skip
WEIGHTS_OF_HALF = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
)  # fmt: skip
NODES = np.array([*HALF, 0.0, *(-x for x in HALF[::-1])])
WEIGHTS = np.array([*WEIGHTS_OF_HALF, 0.149445554002916905664936468389821, *WEIGHTS_OF_HALF[::-1]])
"""Of the rule with 21 nodes between -1 and 1."""

MOST_INTERVALS = 256
NARROW = 2000 * np.finfo(float).eps
OPTIONS = ("epsabs", "epsrel", "limit", "points", "full_output")


class HowItWent(dict[str, Any]):
    """What `quad` tells of its intervals with `full_output`, which a plan does not know: to be left unread."""

    def _unknown(self, *arguments: Any) -> Any:
        raise UnsupportedError("what scipy.integrate.quad tells with full_output is not known to a plan: leave it out")

    __getitem__ = __iter__ = __contains__ = __len__ = get = keys = values = items = _unknown  # type: ignore[assignment]


@calls("scipy.integrate", "quad")
def quad(recorder: Recorder, name: str, func: Any, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    import scipy.integrate

    refuse_options(recorder, name, {k: v for k, v in options.items() if v not in (None, 0, False)}, OPTIONS)
    options = {k: v for k, v in options.items() if k in OPTIONS}
    is_told = options.pop("full_output", False)
    args = args if isinstance(args, tuple) else (args,)

    def solve(func: Any, a: Any, b: Any, args: Any, options: Any) -> Any:
        found = scipy.integrate.quad(func, a, b, args=args, full_output=1, **options)
        is_smooth = found[2]["last"] == 1
        intervals = np.array([[0.0], [1.0]]) if is_smooth else halved_intervals(func, a, b, args, options.get("points"))
        ends = np.full((2, MOST_INTERVALS), np.mean(intervals[:, 0]))  # behind the last there is nothing
        ends[:, : intervals.shape[1]] = intervals
        return [found[0], found[1], is_smooth, *ends.ravel()]

    found = by_scipy(recorder, name, solve, (func, a, b, args, options), 3 + 2 * MOST_INTERVALS)
    count = 1 if found[2] == 1 else MOST_INTERVALS
    low, high = found[3 : 3 + count], found[3 + MOST_INTERVALS : 3 + MOST_INTERVALS + count]
    function = recorder.namespace.function(func)
    ends = known_end(recorder, a), known_end(recorder, b)
    if any(map(np.isinf, ends)):
        total = sum_of_infinite(recorder, function, args, (a, b), ends, low, high)
    else:
        if count > 1:
            given = () if options.get("points") is None else options["points"]
            breaks = list(recorder.call(np.ravel, (given,), {})) if recorder.is_array(given) else list(given)
            low, high = (in_its_place(recorder, a, b, breaks, at) for at in (low, high))
        else:
            low, high = a, b
        nodes, weights = placed(low, high)
        total = np.sum(weights * integrand(recorder, function, args, nodes))
    value = found[0] + (total - held(recorder, total))
    return (value, found[1], HowItWent()) if is_told else (value, found[1])


def halved_intervals(func: Any, a: float, b: float, args: tuple, points: Any) -> np.ndarray:
    """Intervals in which the rule is accurate, shape (2, count): of SciPy's code that does without extrapolation."""
    import scipy.integrate

    within, ends = func, (a, b)
    if np.isinf(a) or np.isinf(b):
        ends, sign = (0.0, 1.0), -1.0 if np.isinf(a) else 1.0
        start = (0.0 if np.isinf(b) else b) if np.isinf(a) else a
        both = np.isinf(a) and np.isinf(b)

        def within(t: float, *args: Any) -> Any:
            size = (1.0 - t) / t
            total = func(start + sign * size, *args) + (func(-sign * size, *args) if both else 0.0)
            return total / (t * t)

    def finite(t: float) -> float:
        try:
            found = float(within(t, *args))
        except ArithmeticError:
            return 0.0
        return found if np.isfinite(found) else 0.0

    with np.errstate(all="ignore"):
        found = scipy.integrate.quad_vec(
            finite, *ends, epsabs=0.0, epsrel=1e-12, limit=MOST_INTERVALS - 1,
            quadrature="gk21", points=None if points is None else np.ravel(points), full_output=True,
        )  # fmt: skip
    intervals = found[2].intervals[np.argsort(-np.ptp(found[2].intervals, axis=1))][:MOST_INTERVALS]
    is_wide = np.ptp(intervals, axis=1) > NARROW * np.max(np.abs(intervals), axis=1)  # enough that no node is an end
    return intervals[is_wide].T


def known_end(recorder: Recorder, end: Any) -> float:
    """Infinity, or any other number for a limit that is traced."""
    return float(recorder.plain(end)) if recorder.is_concrete(end) else 0.0


def in_its_place(recorder: Recorder, a: Any, b: Any, breaks: list[Any], at: Any) -> Any:
    """Points that keep their places between the limits, and the breaks between these."""
    if recorder.is_concrete(breaks):
        first, last = held(recorder, a), held(recorder, b)
        return a + (b - a) * ((at - first) / (last - first))
    ends = np.sort(recorder.call(np.array, ([a, *breaks, b],), {}))
    known = held(recorder, ends)
    k = np.clip(np.searchsorted(known, at, side="right") - 1, 0, len(ends) - 2)
    return ends[k] + (ends[k + 1] - ends[k]) * ((at - known[k]) / (known[k + 1] - known[k]))


def placed(low: Any, high: Any) -> tuple[Any, Any]:
    """The nodes in some intervals, and their weights."""
    half = np.expand_dims(0.5 * (high - low), -1)
    return np.expand_dims(0.5 * (high + low), -1) + half * NODES, half * WEIGHTS


def integrand(recorder: Recorder, function: Any, args: Any, nodes: Any) -> Any:
    def call(x: Any) -> Any:
        found = function(x, *args)
        return found.reshape(())[()] if recorder.is_array(found) else found

    return of_elements(recorder, recorder.namespace.closure(call), [nodes], [np.float64])


def sum_of_infinite(recorder: Recorder, function: Any, args: Any, given: Any, ends: Any, low: Any, top: Any) -> Any:
    """As QUADPACK has it: `x = end + sign (1 - t) / t`, `t` from 0 to 1; between infinities, both halves from 0."""
    t, weights = placed(low, top)
    size, slope = (1 - t) / t, weights / (t * t)
    if all(map(np.isinf, ends)):
        parts = [integrand(recorder, function, args, s * size) for s in (1.0, -1.0)]
        return (1.0 if ends[1] > 0 else -1.0) * np.sum(slope * (parts[0] + parts[1]))
    upper = bool(np.isinf(ends[1]))
    start, sign = given[0 if upper else 1], np.sign(ends[1 if upper else 0])
    total = np.sum(slope * integrand(recorder, function, args, start + sign * size))
    return total if (sign > 0) == upper else -total
