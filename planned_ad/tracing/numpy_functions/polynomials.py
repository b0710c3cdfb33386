"""Polynomials by their coefficients: what NumPy drops of them, their values and roots."""

from __future__ import annotations

import numpy as np

from ... import control
from ..record.constant_elements import is_constant
from ..record.dispatch import implements
from . import shapes
from .support import asarray, unsupported, without_derivative

NEWTON_STEPS = 2  # derivatives up to the third


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
    if not recorder.is_array(array) or array.dtype.kind != "f" or len(kept) in (0, len(array)):
        return kept
    return kept + _dropped(recorder, array, (*range(first), *range(last, len(array))))


def _dropped(recorder, array, places):
    """Zero, with the zeros in these places, whose derivatives are refused; but for those that are constants.

    In a loop, where a side of a branch drops what may be zero in some iteration, they are nan where that side is taken.
    """
    total = np.zeros((), array.dtype)
    for number in (array[k] for k in places if array.dtype.kind == "f"):
        if recorder.scopes.depth:
            total = total + _without_any(recorder, number)
        elif not is_constant(recorder, recorder.value_of(number)):
            total = total + recorder.array(recorder.apply("trim_zeros", recorder.value_of(number)))
    return total


def _without_any(recorder, number):
    """Zero, of which the derivative by a number is nan."""
    gap = number - without_derivative(recorder, number)
    return np.sqrt(gap) - np.sqrt(2.0 * gap)


@implements(np.roots)
def roots(recorder, p):
    """As NumPy: the eigenvalues of the companion matrix, and zeros; derivatives are those of Newton's method at them.

    That knows of the coefficients at the ends too, which are zero and dropped.
    """
    p = shapes.atleast_1d(recorder, asarray(recorder, p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    p = p.astype(np.float64) if p.dtype.kind in "iub" else p
    first, last = _ends(p)
    known = without_derivative(recorder, p)
    kept, found = known[first:last], np.array([])
    if last - first > 1:
        companion = np.diag(np.ones(last - first - 2, p.dtype), -1) + np.zeros((last - first - 1,) * 2, p.dtype)
        companion = np.concatenate([(-kept[1:] / kept[0])[None], companion[1:]])
        found = np.linalg.eigvals(companion)
        if found.dtype.kind == "c" and p.dtype.kind == "f" and np.all(found.imag == 0):  # as NumPy from 2.5 on
            found = found.real
    zeros = len(p) - last if last > first else 0
    if zeros == 1:
        found = np.concatenate([found, np.zeros(1, found.dtype)])
    found = _moving(recorder, found, p) if len(found) else found
    if zeros > 1:  # a root several times, which has a derivative where they are constants
        found = np.concatenate([found, np.zeros(zeros, found.dtype) + _dropped(recorder, p, range(last, len(p)))])
    return found


def _moving(recorder, found, p):
    """Roots with their derivatives: of one that is there several times nan, and the root itself as it is."""
    x, values = found, []
    for _ in range(NEWTON_STEPS):
        value, slope = p[0] + 0 * x, 0 * x
        for coefficient in p[1:]:
            value, slope = value * x + coefficient, slope * x + value
        x = x - value / slope
        values.append(value)
    moved = x - without_derivative(recorder, x)
    return found + np.where(np.isfinite(moved), moved, _without_any(recorder, values[0].real))
