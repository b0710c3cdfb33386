"""SciPy's `quad` in traced functions: its value by SciPy itself, when the plan runs.

The derivative of an integral is that of a sum over the nodes of the Gauss-Kronrod rule, in the intervals in which SciPy
has found it to be accurate (R. Piessens et al., QUADPACK, 1983).
"""

from __future__ import annotations

from typing import Any

import numpy as np

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

OPTIONS = ("epsabs", "epsrel", "limit", "points")


@calls("scipy.integrate", "quad")
def quad(recorder: Recorder, name: str, func: Any, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    import scipy.integrate

    refuse_options(recorder, name, {k: v for k, v in options.items() if v not in (None, 0, False)}, OPTIONS)
    options = {k: v for k, v in options.items() if k in OPTIONS}
    args = args if isinstance(args, tuple) else (args,)
    limit = options.get("limit", 50)

    def solve(func: Any, a: Any, b: Any, args: Any) -> Any:
        found = scipy.integrate.quad(func, a, b, args=args, full_output=1, **options)
        info = found[2]
        return np.concatenate([[found[0], found[1], info["last"]], info["alist"][:limit], info["blist"][:limit]])

    found = by_scipy(recorder, name, solve, (func, a, b, args), 3 + 2 * limit)
    count = recorder.integer(found[2]).__index__()
    low, high = found[3 : 3 + count], found[3 + limit : 3 + limit + count]
    function = recorder.namespace.function(func)
    ends = known_end(recorder, a), known_end(recorder, b)
    if any(map(np.isinf, ends)):
        total = sum_of_infinite(recorder, function, args, (a, b), ends, low, high)
    else:
        low, high = (a, b) if count == 1 else (in_its_place(recorder, a, b, low), in_its_place(recorder, a, b, high))
        nodes, weights = placed(low, high)
        total = np.sum(weights * integrand(recorder, function, args, nodes))
    return found[0] + (total - held(recorder, total)), found[1]


def known_end(recorder: Recorder, end: Any) -> float:
    """Infinity, or any other number for a limit that is traced."""
    return float(recorder.plain(end)) if recorder.is_concrete(end) else 0.0


def in_its_place(recorder: Recorder, a: Any, b: Any, at: Any) -> Any:
    """A point that keeps its place between the limits."""
    first, last = held(recorder, a), held(recorder, b)
    return a + (b - a) * ((at - first) / (last - first))


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
