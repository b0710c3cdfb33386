"""Fourier transforms beyond values and gradients: second derivatives, errors, loops, programs, compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal

import planned_ad
from planned_ad.trace import trace
from tests.malloc import count_in_subprocess
from tests.nested_oracle import check_second_derivatives
from tests.oracle import check_gradient
from tests.tracing_oracle import check

from .cases import Case
from .test_gradients import test_against_differences as check_against_differences

N = 16
X = np.random.default_rng(4).normal(size=N)
IMAGE = np.random.default_rng(5).normal(size=(6, 5))
KERNEL = np.outer([1.0, 2, 1], [1.0, 3, 1]) / 20


def burgers(u):
    """Pseudo-spectral steps, in a loop that stays one."""
    k = 1j * np.fft.rfftfreq(len(u), 1 / len(u))
    for _ in range(20):
        spectrum = np.fft.rfft(u)
        slope, curvature = np.fft.irfft(k * spectrum), np.fft.irfft(k**2 * spectrum)
        u = u + 1e-3 * (0.1 * curvature - u * slope)
    return u @ u


def schroedinger(u):
    """Split steps."""
    k, x = 2 * np.pi * np.fft.fftfreq(len(u), 0.3), 0.3 * (np.arange(len(u)) - len(u) / 2)
    psi = u + 0j
    for _ in range(3):
        psi = np.fft.ifft(np.exp(-0.005j * k**2) * np.fft.fft(np.exp(-0.005j * x**2) * psi))
    return np.sum(np.abs(psi) ** 2 * x**2)


def wiener(image):
    response = np.fft.fft2(KERNEL, image.shape)
    restored = np.fft.ifft2(np.conj(response) / (np.abs(response) ** 2 + 0.1) * np.fft.fft2(image))
    return np.sum(restored.real**4)


def poisson(source):
    n, m = source.shape
    eigenvalues = np.add.outer(2 - 2 * np.cos(np.pi * np.arange(n) / n), 2 - 2 * np.cos(np.pi * np.arange(m) / m))
    eigenvalues[0, 0] = 1
    return np.sum(scipy.fft.idctn(scipy.fft.dctn(source) / eigenvalues) ** 2 * source)


def autocorrelation(x):
    spectrum = np.fft.rfft(x - x.mean(), 2 * len(x))
    found = np.fft.irfft(np.abs(spectrum) ** 2)[: len(x)]
    return np.sum((found / found[0]) ** 2)


def envelope(x):
    analytic = scipy.signal.hilbert(x)
    return np.sum(np.abs(analytic) * np.unwrap(np.angle(analytic)))


PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "burgers": (burgers, X / 4),
    "schroedinger": (schroedinger, X),
    "wiener": (wiener, IMAGE),
    "poisson": (poisson, IMAGE),
    "autocorrelation": (autocorrelation, X),
    "envelope": (envelope, X),
    "circulant": (lambda c: np.sum(scipy.linalg.solve_circulant(c, np.arange(N)) ** 2), X + 9 * np.eye(N)[0]),
    "toeplitz": (lambda c: np.sum(scipy.linalg.matmul_toeplitz((c, 2 * c), c) ** 2), X),
    "power": (lambda x: np.sum(np.log(np.abs(np.fft.rfft(x * np.hanning(N))) ** 2 + 0.1)), X),
    "convolution": (lambda y: np.sum(scipy.signal.fftconvolve(y, KERNEL, mode="valid") ** 3), IMAGE),
    "correlation": (lambda x: np.sum(scipy.signal.correlate(x, x, method="fft")[:9] ** 2), X),
    "overlapping": (lambda x: np.sum(scipy.signal.oaconvolve(x, x[:3]) ** 2), X),
    "welch": (lambda x: np.sum(np.log(scipy.signal.welch(x, nperseg=8)[1] + 0.1)), X),
    "stft": (lambda x: np.sum(np.abs(scipy.signal.stft(x, nperseg=8)[2]) ** 3), X),
    "resampled": (lambda x: np.sum(scipy.signal.resample(x, 11) ** 3), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    f, x = PROGRAMS[name]
    check(f, x)
    check_against_differences(Case(name, f, (x,)))


@pytest.mark.parametrize("name", ("burgers", "autocorrelation"))
def test_plans(name: str) -> None:
    f, x = PROGRAMS[name]
    check_gradient(f, x.copy())


@pytest.mark.parametrize("name", ("schroedinger", "wiener", "poisson", "autocorrelation"))
def test_second_derivatives_in_all_modes(name: str) -> None:
    f, x = PROGRAMS[name]
    check_second_derivatives(f, (x,), unroll=None)


@pytest.mark.parametrize("module", (np.fft, scipy.fft))
@pytest.mark.parametrize("name", ("fft", "rfft", "irfft"))
def test_errors_are_the_libraries(module: Any, name: str) -> None:
    function = getattr(module, name)
    for options in ({"n": -1}, {"norm": "none"}, {"axis": 3}):
        with pytest.raises((ValueError, IndexError)) as expected:
            function(X, **options)
        with pytest.raises(type(expected.value)):
            trace(lambda x, o=options: function(x, **o), (X,))


def test_of_nothing() -> None:
    with pytest.raises(ValueError, match="data points"):
        trace(lambda x: np.fft.fft(x), (np.zeros(0),))
    check(lambda x: np.fft.rfft(x).real, np.zeros((0, 4)))


def test_compiled() -> None:
    """Values, and both modes, of a plan."""
    rng = np.random.default_rng(6)
    z, w = rng.normal(size=300) + 1j * rng.normal(size=300), rng.normal(size=300)
    plan = planned_ad.compile(lambda z, w: np.sum(w * np.abs(np.fft.fft(z)) ** 2), (z, w))
    dz, dw = plan.gradient(z, w)
    power = np.abs(np.fft.fft(z)) ** 2
    np.testing.assert_allclose(dw, power, rtol=1e-12)
    # The convention of gradients of complex arguments: `real + 1j * imaginary` part's derivative.
    np.testing.assert_allclose(dz, 2 * 300 * np.fft.ifft(w * np.fft.fft(z)), rtol=1e-10)
    direction = rng.normal(size=300)
    assert plan.jvp(z, w, 0 * z, direction)[1] == pytest.approx(direction @ power)


def test_sparse_derivatives_see_lines() -> None:
    """Each number depends on its own line only, along the last axis and along the first."""
    x = np.random.default_rng(7).normal(size=(4, 6))
    for function, count in (
        (lambda x: np.fft.rfft(x).real, 4 * 4 * 6),
        (lambda x: np.fft.fft(x * 1j, axis=0).imag, 4 * 6 * 4),
        (lambda x: np.fft.irfft(x[:, :4] + 0j), 4 * 6 * 4),
    ):
        found = planned_ad.sparse_jacobian(function)(x)
        assert found.nnz == count
        np.testing.assert_allclose(found.toarray(), planned_ad.jacobian(function)(x).reshape(found.shape), atol=1e-12)


ALLOCATIONS = """
import numpy as np, scipy.fft, planned_ad
def f(x, y):
    total = np.sum(np.abs(np.fft.fft(x + 1j * x[::-1])) ** 2) + np.sum(np.fft.irfft(np.fft.rfft(x) ** 2) ** 2)
    return total + np.sum(scipy.fft.dctn(y, norm="ortho") ** 3) + np.sum(np.abs(np.fft.fft2(y, (101, 67))) ** 3)
x, y = np.linspace(0, 1, 2048), np.ones((20, 30))
bound = planned_ad.compile(f, (x, y)).gradient
dx, dy = np.zeros_like(x), np.zeros_like(y)
def call():
    bound(x, y, dx, dy)
"""


def test_nothing_is_allocated() -> None:
    assert count_in_subprocess(ALLOCATIONS, 100) == {"malloc": 0, "blocks": 0}
