"""Peaks of signals: what `scipy.signal.find_peaks` calls of `_peak_finding_utils`.

Positions are integers, without a derivative; how many peaks there are is that of the example (a guard).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.signal import _peak_finding as _finding

from ..record.dispatch import implements
from .intervals import traced_arrays


@implements(_finding._local_maxima_1d)
def local_maxima(recorder, x):
    """Runs of equal numbers that are higher than those before and behind: their middles, and both ends."""
    (x,) = traced_arrays(recorder, x)
    changes = np.flatnonzero(x[1:] != x[:-1])
    first, last = np.append(np.zeros(1, np.intp), changes + 1), np.append(changes, x.shape[0] - 1)
    height = x[first]
    inner = np.flatnonzero((height[1:-1] > height[:-2]) & (height[1:-1] > height[2:])) + 1
    left, right = first[inner], last[inner]
    return (left + right) // 2, left, right


@implements(_finding._select_by_peak_distance)
def select_by_distance(recorder, peaks, priority, distance):
    """From the highest on, each peak that is kept removes those that are closer."""
    peaks, priority = traced_arrays(recorder, peaks, priority)
    order, least = np.argsort(priority), np.ceil(distance)
    numbers = np.arange(peaks.shape[0])
    keep: Any = np.ones(peaks.shape, bool)
    for k in reversed(range(peaks.shape[0])):
        own = order[k]
        close = (np.abs(peaks - peaks[own]) < least) & (numbers != own)
        keep = keep & ~(close & keep[own])
    return keep


def around(x: Any, peaks: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """For each peak and each place, whether that is on its left or right side, up to what is higher, within bounds."""
    places, own = np.arange(x.shape[0]), peaks[:, None]
    within = (places >= low[:, None]) & (places <= high[:, None])
    higher = within & (x > x[peaks][:, None])
    before = np.max(np.where(higher & (places < own), places, -1), axis=1)
    behind = np.min(np.where(higher & (places > own), places, x.shape[0]), axis=1)
    is_left = within & (places <= own) & (places > before[:, None])
    return places, is_left, within & (places >= own) & (places < behind[:, None])


@implements(_finding._peak_prominences)
def prominences(recorder, x, peaks, wlen):
    """How far each peak stands above the higher one of the lowest places on both sides, and where these are."""
    x, peaks = traced_arrays(recorder, x, peaks)
    reach = x.shape[0] if wlen < 2 else int(wlen) // 2
    low, high = np.maximum(peaks - reach, 0), np.minimum(peaks + reach, x.shape[0] - 1)
    places, is_left, is_right = around(x, peaks, low, high)
    left, right = (np.min(np.where(side, x, np.inf), axis=1) for side in (is_left, is_right))
    left_base = np.max(np.where(is_left & (x == left[:, None]), places, -1), axis=1)
    right_base = np.min(np.where(is_right & (x == right[:, None]), places, x.shape[0]), axis=1)
    return x[peaks] - np.maximum(left, right), left_base, right_base


@implements(_finding._peak_widths)
def widths(recorder, x, peaks, rel_height, prominences, left_bases, right_bases):
    """The width at a height between the peak and its base, and where on both sides that is reached."""
    x, peaks, prominences, left_bases, right_bases = traced_arrays(
        recorder, x, peaks, prominences, left_bases, right_bases
    )
    if rel_height < 0:
        raise ValueError("`rel_height` must be greater or equal to 0.0")
    height = x[peaks] - prominences * rel_height
    places, own = np.arange(x.shape[0]), peaks[:, None]
    reached = x <= height[:, None]
    left = np.max(np.where((places <= own) & (reached | (places <= left_bases[:, None])), places, -1), axis=1)
    right = np.min(np.where((places >= own) & (reached | (places >= right_bases[:, None])), places, x.shape[0]), axis=1)

    def between(at: Any, step: int) -> Any:
        is_below = x[at] < height
        slope = np.where(is_below, x[np.clip(at + step, 0, x.shape[0] - 1)] - x[at], 1.0)
        return np.where(is_below, (height - x[at]) / slope, 0.0)

    left_end, right_end = left + between(left, 1), right - between(right, -1)
    return right_end - left_end, height, left_end, right_end
