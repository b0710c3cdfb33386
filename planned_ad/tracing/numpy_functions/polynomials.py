"""Polynomials by their coefficients: what NumPy drops of them, their values and roots."""

from __future__ import annotations

import numpy as np

from ... import control
from ..record.constant_elements import is_constant
from ..record.dispatch import implements
from . import shapes
from .support import asarray, unsupported


@implements(np.polyval)
def polyval(recorder, p, x):
    """Horner's rule; `p` has the highest power first."""
    p, x = asarray(recorder, p), asarray(recorder, x)
    return recorder.namespace.function(control._joined_in_order)(lambda y, a: y * x + a, np.zeros_like(x), p)


@implements(np.trim_zeros)
def trim_zeros(recorder, filt, trim="fb", axis=None):
    """How many zeros there are is that of the example (guards on the elements up to the first that is not zero)."""
    filt = asarray(recorder, filt)
    if filt.ndim != 1:
        raise unsupported("np.trim_zeros of several axes", "slice the array")
    return _without_zeros(recorder, filt, *_ends(filt, trim.lower()))


def _ends(array, trim="fb"):
    """Where the elements begin and end that are left."""
    first, last = 0, array.shape[0]
    while "f" in trim and first < last and array[first] == 0:
        first += 1
    while "b" in trim and last > first and array[last - 1] == 0:
        last -= 1
    return first, last


@implements(np.polynomial.polyutils.trimseq)
def trimseq(recorder, seq):
    """As `trim_zeros` at the end; one is left."""
    last = len(seq)
    while last > 1 and seq[last - 1] == 0:
        last -= 1
    return _without_zeros(recorder, seq, 0, last)


def _without_zeros(recorder, array, first, last):
    """A part of an array, the rest of which is zero and known to be dropped."""
    kept = array[first:last]
    if not recorder.is_array(array) or array.dtype.kind != "f" or not len(kept):
        return kept
    for k in (*range(first), *range(last, len(array))):
        dropped = recorder.value_of(array[k])
        if not is_constant(recorder, dropped):
            kept = kept + recorder.array(recorder.apply("trim_zeros", dropped))
    return kept


@implements(np.roots)
def roots(recorder, p):
    """The eigenvalues of the companion matrix; zeros at the ends are dropped, and those at the last one are roots."""
    p = shapes.atleast_1d(recorder, asarray(recorder, p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    p = p.astype(np.float64) if p.dtype.kind in "iub" else p
    first, last = _ends(p)
    kept = _without_zeros(recorder, p, first, last)
    if not len(kept):
        return np.array([])
    count, found = last - first, np.array([])
    if count > 1:
        companion = np.diag(np.ones(count - 2, p.dtype), -1) + np.zeros((count - 1, count - 1), p.dtype)
        companion = np.concatenate([(-kept[1:] / kept[0])[None], companion[1:]])
        found = np.linalg.eigvals(companion)
    return np.concatenate([found, np.zeros(len(p) - last, found.dtype)])
