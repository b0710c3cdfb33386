"""Fourier transforms beside `scipy.fft`, as ratios of times in the same run.

A transform by itself is a plan's call of a function that returns it. `gradient` is that of a weighted power spectrum:
two transforms, and the arithmetic between them, beside two calls of `scipy.fft`.

`python -m benchmarks.fourier` prints all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft

import planned_ad

from .measure import ratio


@dataclass(frozen=True)
class Case:
    """A function of `arguments`, and what it is compared with: `reference` of the first, `times` times."""

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    reference: Callable[[np.ndarray], Any]
    times: int = 1


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


def complex_random(*shape: int) -> np.ndarray:
    return random(*shape) + 1j * np.random.default_rng(1).normal(size=shape)


def power(z, weights):
    return np.sum(weights * np.abs(np.fft.fft(z)) ** 2)


CASES = {
    **{f"fft_{n}": Case(scipy.fft.fft, (complex_random(n),), scipy.fft.fft) for n in (1000, 2**12, 2**16)},
    **{f"rfft_{n}": Case(scipy.fft.rfft, (random(n),), scipy.fft.rfft) for n in (1000, 2**12, 2**16)},
    "irfft_4096": Case(scipy.fft.irfft, (complex_random(2049),), scipy.fft.irfft),
    "fft_prime_1009": Case(scipy.fft.fft, (complex_random(1009),), scipy.fft.fft),
    "fft_3375": Case(scipy.fft.fft, (complex_random(3375),), scipy.fft.fft),
    "fft_64_x_256": Case(scipy.fft.fft, (complex_random(64, 256),), scipy.fft.fft),
    "fft2_256": Case(scipy.fft.fft2, (complex_random(256, 256),), scipy.fft.fft2),
    "rfft2_256": Case(scipy.fft.rfft2, (random(256, 256),), scipy.fft.rfft2),
    "dct_4096": Case(scipy.fft.dct, (random(4096),), scipy.fft.dct),
    "dctn_256": Case(scipy.fft.dctn, (random(256, 256),), scipy.fft.dctn),
}
GRADIENTS = {
    f"gradient_{n}": Case(power, (complex_random(n), random(n)), scipy.fft.fft, times=2) for n in (1000, 2**12, 2**16)
}


def measured(name: str) -> float:
    """The time of a call of the plan by that of SciPy."""
    case = CASES.get(name) or GRADIENTS[name]
    if name in GRADIENTS:
        z, weights = case.arguments
        plan = planned_ad.compile(case.function, (z, planned_ad.Const(weights)))
        ours = (plan.gradient, z, weights, np.zeros_like(z))
    else:
        plan = planned_ad.compile(lambda x: case.function(x), case.arguments)
        ours = (plan, *case.arguments)

    def reference(x: np.ndarray) -> None:
        for _ in range(case.times):
            case.reference(x)

    return ratio(ours, (reference, case.arguments[0]), repeats=25)


class Fourier:
    """Ratios to `scipy.fft`."""

    params = (*CASES, *GRADIENTS)
    param_names = ("transform",)

    def track_by_scipy(self, name):
        return measured(name)

    track_by_scipy.unit = "ratio"


if __name__ == "__main__":
    for _name in Fourier.params:
        print(f"{_name:16} {measured(_name):.2f}", flush=True)
