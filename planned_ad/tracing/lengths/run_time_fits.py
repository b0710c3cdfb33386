"""Least squares, covariances and convolutions of arrays whose length is known when the plan runs.

Rows of zeros change nothing of least squares: behind those that there are, up to as many as there may be, they are.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...tape.guards import RAISES
from ..record.promotion import FLOAT
from ..record.recorder import Recorder
from .elements import common_length
from .run_time_arrays import RunTimeArray
from .run_time_choices import beside_each_other
from .run_time_curves import filled_behind, is_line
from .run_time_elementwise import frozen_array
from .run_time_reductions import itemwise
from .sources import Memory
from .varying import refused

NOT_FULL = "least squares in a loop with a matrix that has not full rank, or no more rows than columns"
LONGEST_KERNEL = 32  # elements of one that is moved along an array, copy by copy


def run_time_vander(recorder: Recorder, x: Any, N: Any = None, increasing: Any = False) -> RunTimeArray:
    """`numpy.vander`."""
    if not is_line(x) or type(N) is not int or N < 1:
        raise refused(recorder, "takes, in this number, powers of")
    powers = np.arange(N) if increasing else np.arange(N)[::-1]
    x = x.astype(np.promote_types(x.dtype, int))
    return itemwise(recorder, x, lambda item: item**powers, np.ones(N, x.dtype))


def run_time_lstsq(recorder: Recorder, a: Any, b: Any, rcond: Any = None) -> Any:
    """`numpy.linalg.lstsq`, of a run-time number of rows."""
    parts = [part if type(part) is RunTimeArray else frozen_array(recorder, part) for part in (a, b)]
    is_along = all(type(part) is not RunTimeArray or part.axis == 0 for part in parts)
    if not is_along or parts[0].ndim != 2 or parts[1].ndim > 2 or any(part.dtype.kind != "f" for part in parts):
        raise refused(recorder, "solves, in this way, least squares of")
    length = common_length(recorder, [p.length if type(p) is RunTimeArray else p.shape[0] for p in parts])
    count, columns = length.scalar(recorder), parts[0].shape[1]
    if not columns or not is_so(recorder, count >= columns, "least squares of fewer rows than columns"):
        raise refused(recorder, "solves, with fewer rows than columns, least squares of")
    left, right = (filled_behind(p, 0)[: length.most] if type(p) is RunTimeArray else p for p in parts)
    x, _, rank, s = recorder.call(np.linalg.lstsq, (left, right), {"rcond": None})
    eps = float(np.finfo(a.dtype).eps)
    smallest = eps if rcond is not None and not recorder.is_scalar(rcond) and rcond < 0 else rcond
    if smallest is None:
        smallest = eps * np.maximum(count, columns)
    is_same = recorder.call(np.sum, (s > smallest * s[0],), {}) == rank
    if not is_so(recorder, is_same, "fewer singular values than rows of zeros leave"):
        raise refused(recorder, "solves, near the next lower rank, least squares of")
    residuals = recorder.empty((0,), a.dtype)
    if is_so(
        recorder,
        (rank == columns) & (count > columns),
        NOT_FULL,
    ):
        residuals = np.atleast_1d(np.sum((right - left @ x) ** 2, axis=0))
    return x, residuals, rank, s


def is_so(recorder: Recorder, truth: Any, what: str) -> bool:
    """What a trace is for; in loops what has to hold, or else there is an error that says `what` it is."""
    value = recorder.value_of(truth)
    if recorder.scopes.depth:
        recorder.scopes.require_after(value, RAISES, what)
        return True
    return bool(recorder.outcome(value, "rank"))


def run_time_covariance(
    recorder: Recorder, m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """`numpy.cov`, without weights."""
    if fweights is not None or aweights is not None or dtype is not None:
        raise refused(recorder, "weights, for a covariance,")
    variables = [variables_of(recorder, part, rowvar) for part in (m, y) if part is not None]
    x = variables[0] if len(variables) == 1 else beside_each_other(recorder, variables, 0)
    freedom = int(not bias) if ddof is None else ddof
    x = x.astype(np.promote_types(x.dtype, FLOAT))
    if x.ndim == 1:
        gap = x - x.mean()
        return recorder.array(recorder.value_of((gap * gap).sum() / np.maximum(x.shape[0] - freedom, 0)))
    x = x - x.mean(axis=1)[:, None]
    return np.dot(x, x.T) / np.maximum(x.shape[1] - freedom, 0)


def variables_of(recorder: Recorder, part: Any, rowvar: Any) -> Any:
    """A variable in each row, as far as an array has several."""
    if type(part) is not RunTimeArray:
        raise refused(recorder, "asks for a covariance, beside others, of")
    found = part.T if part.ndim == 2 and not rowvar else part
    if found.ndim > 2 or found.axis != found.ndim - 1:
        raise refused(recorder, "asks for a covariance, of as many variables, of")
    return found[0] if found.ndim == 2 and found.rest == (1,) else found


def run_time_correlation(recorder: Recorder, x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """`numpy.corrcoef`."""
    c = run_time_covariance(recorder, x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(recorder.call(np.diagonal, (c,), {}))
    return np.clip(c / deviation[:, None] / deviation[None, :], -1, 1)


def run_time_convolve(recorder: Recorder, a: Any, v: Any, mode: Any = "full") -> Any:
    """`numpy.convolve` with a short array of known length."""
    if type(a) is not RunTimeArray:
        a, v = v, a
    if not is_line(a) or type(v) is RunTimeArray or np.ndim(v) != 1 or not 0 < len(v) <= LONGEST_KERNEL:
        raise refused(recorder, "moves, along another one,")
    v = recorder.call(np.asarray, (v,), {}) if recorder.is_array(v) else np.asarray(v)
    width = len(v)
    n = a.shape[0]
    if not is_so(recorder, n >= width, "a convolution of fewer elements than the other array has"):
        raise refused(recorder, "moves, along a longer one,")
    if mode != "valid":
        edge = np.zeros(width - 1, a.dtype)
        a = recorder.call(np.concatenate, ((edge, a, edge),), {})
    moved = (a[width - 1 - k : a.shape[0] - k] * v[k] for k in range(width))
    full = functools.reduce(np.add, moved)
    return full[(width - 1) // 2 : (width - 1) // 2 + n] if mode == "same" else full


def run_time_correlate(recorder: Recorder, a: Any, v: Any, mode: Any = "valid") -> Any:
    """`numpy.correlate` with a short array of known length."""
    if type(a) is not RunTimeArray:
        raise refused(recorder, "moves, along another one,")
    v = v if recorder.is_array(v) or type(v) is RunTimeArray else np.asarray(v)
    return run_time_convolve(recorder, a, v[::-1], mode)


def run_time_singular_values(
    recorder: Recorder, a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False
) -> Any:
    """`numpy.linalg.svd` without its vectors, whose signs would be those of more rows."""
    left = rows_behind(recorder, a)
    if compute_uv or hermitian:
        raise refused(recorder, "asks for singular vectors of")
    return recorder.call(np.linalg.svd, (left,), {"compute_uv": False})


def run_time_pseudo_inverse(recorder: Recorder, a: Any, rcond: Any = None) -> Any:
    """`numpy.linalg.pinv`."""
    if rcond is not None:
        raise refused(recorder, "inverts, with another tolerance,")
    found = recorder.call(np.linalg.pinv, (rows_behind(recorder, a),), {})
    return RunTimeArray(recorder, Memory(found.T, 0, 1), a.length, 1, a.rest, a.dtype)


def run_time_qr(recorder: Recorder, a: Any, mode: Any = "reduced") -> Any:
    """`numpy.linalg.qr`: reflections of columns that end with zeros are those of the columns without them."""
    if mode not in ("reduced", "r"):
        raise refused(recorder, "factorises, in this way,")
    found = recorder.call(np.linalg.qr, (rows_behind(recorder, a),), {"mode": mode})
    if mode == "r":
        return found
    q = RunTimeArray(recorder, Memory(found[0], 0, 1), a.length, 0, a.rest, a.dtype)
    return type(found)(q, found[1])


def rows_behind(recorder: Recorder, a: Any) -> Any:
    """A matrix that has as many rows as columns at least, with zeros behind its rows."""
    if type(a) is not RunTimeArray or a.ndim != 2 or a.axis or a.dtype.kind != "f" or not a.rest[0]:
        raise refused(recorder, "factorises")
    if not is_so(recorder, a.length.scalar(recorder) >= a.rest[0], "a factorisation of fewer rows than columns"):
        raise refused(recorder, "factorises, with fewer rows than columns,")
    return filled_behind(a, 0)
