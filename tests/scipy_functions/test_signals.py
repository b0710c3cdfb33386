"""`scipy.signal`: filters, convolutions and waveforms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal as sg

import planned_ad
from tests.tracing_oracle import check

from .orders import check_orders, mostly_long

rng = np.random.default_rng(0)
V, U, M = rng.normal(size=24), rng.normal(size=5), rng.normal(size=(3, 24))
IMAGE, K, WIDE = rng.normal(size=(7, 8)), rng.normal(size=(3, 4)), rng.normal(size=(7, 7))
B, A = sg.butter(3, 0.3)
SOS = sg.butter(4, 0.3, output="sos")
NUM, DEN = np.array([0.4, 0.2, -0.1]), np.array([2.0, -0.5, 0.3, 0.1])


@pytest.mark.parametrize("mode", mostly_long(["full", "same", "valid"], "same"))
def test_convolutions(mode: str) -> None:
    check(lambda x, k: sg.convolve(x, k, mode) + sg.correlate(x, k, mode), V, U)
    check(lambda x, k: sg.correlate(k, x, mode) + np.correlate(k, x, mode)[::-1].sum(), V, U)
    check(lambda x, k: sg.convolve(x, k, mode) + sg.correlate(x, k, mode), IMAGE, K)
    check_orders(lambda x, k: sg.correlate(x, k, mode), IMAGE, WIDE)
    for boundary in ("fill", "wrap", "symm"):
        how = (mode, boundary, 0.3)
        check(lambda x, k, how=how: sg.convolve2d(x, k, *how) + sg.correlate2d(x, k, *how), IMAGE, K)


CASES = {
    "lfilter": (lambda b, a, x: sg.lfilter(b, a, x), NUM, DEN, V),
    "first order": (lambda x: sg.lfilter([1.0, 0.3], [1.0, -0.5], x), V),
    "along an axis": (lambda x: sg.lfilter(B, A, x, axis=0), M.T.copy()),
    "state": (lambda x, z: sg.lfilter(B, A, x, zi=z), V, U[:3]),
    "short": (lambda x, z: sg.lfilter(B, A, x, zi=z), V[:2], U[:3]),
    "FIR": (lambda b, x: sg.lfilter(b, 1.0, x), NUM, V),
    "lfilter_zi": (lambda b, a: sg.lfilter_zi(b, a), NUM, DEN),
    "lfiltic": (lambda y: sg.lfiltic(NUM, DEN, y), U[:3]),
    "filtfilt": (lambda x: sg.filtfilt(B, A, x), V),
    "sosfilt": (lambda x, z: sg.sosfilt(SOS, x, zi=z), V, rng.normal(size=(2, 2))),
    "sosfiltfilt": (lambda x: sg.sosfiltfilt(SOS, x, padlen=5), V),
    "savgol_filter": (lambda x: sg.savgol_filter(x, 7, 2) + sg.savgol_filter(x, 5, 3, deriv=1, mode="wrap"), V),
    "detrend": (lambda x: sg.detrend(x, bp=[10]) + sg.detrend(x, type="constant"), V),
    "waveforms": (
        lambda t: sg.sawtooth(t, 0.3) + sg.square(t) * t + sg.gausspulse(t, fc=2.0) + sg.chirp(t, 1, 3, 5),
        V,
    ),
    "window": (lambda s: sg.windows.gaussian(9, s[0]), np.array([2.3])),
    "upfirdn": (lambda x, h: sg.upfirdn(h, x, 2, 3), V, U),
    "resample_poly": (lambda x: sg.resample_poly(x, 3, 2), V),
    "medfilt": (lambda x: sg.medfilt(x, 3) + sg.wiener(x, 3), V),
    "medfilt2d": (lambda x: sg.medfilt2d(x, 3), IMAGE),
    "peaks": (lambda x: x[sg.find_peaks(x)[0]] ** 2, V),
    "high peaks, apart": (lambda x: x[sg.find_peaks(x, height=0.1, distance=3)[0]] ** 2, V),
    "steep peaks": (lambda x: sg.find_peaks(x, threshold=0.1)[1]["left_thresholds"], V),
    "wide peaks": (lambda x: described(*sg.find_peaks(x, prominence=0.3, width=0.5)), V),
    "prominences in a window": (lambda x: sg.peak_prominences(x, sg.find_peaks(x)[0], wlen=7)[0], V),
    "design": (lambda w: np.concatenate(sg.butter(3, w[0])), np.array([0.3])),
    "design of sections": (lambda w: sg.butter(2, w, "band", output="sos"), np.array([0.2, 0.5])),
    "design of Chebyshev's": (lambda w: np.concatenate(sg.cheby1(3, 1.0, w[0])), np.array([0.3])),
}


def described(peaks, found):
    return np.concatenate([found["prominences"], found["widths"], found["left_ips"], found["right_bases"]])


PLATEAUS = np.array([0.0, 1, 1, 1, 0, 2, 2, 1, 3, 3, 3])


def test_peaks_with_flat_tops() -> None:
    check(lambda x: sg.find_peaks(x, plateau_size=1)[1]["plateau_sizes"] * x[sg.find_peaks(x)[0]], PLATEAUS)


@pytest.mark.parametrize(
    "name",
    mostly_long(CASES, "lfilter", "state", "lfilter_zi", "upfirdn", "waveforms", "wide peaks", "design of sections"),
)
def test_derivatives(name: str) -> None:
    check_orders(*CASES[name], order=2 if name in ("lfilter", "filtfilt") else 1)


def test_a_filter_is_a_loop() -> None:
    x = rng.normal(size=500)

    def loss(a):
        return np.sum(sg.lfilter(NUM, a, x) ** 2)

    plan = planned_ad.compile(loss, (DEN,))
    assert plan.explain().fallbacks == ()
    expected = [(loss(DEN + h) - loss(DEN - h)) / 2e-6 for h in np.eye(4) * 1e-6]
    np.testing.assert_allclose(plan.gradient(DEN), expected, rtol=1e-6)
