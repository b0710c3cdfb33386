"""Test points for Fourier transforms: each algorithm, along each axis."""

from __future__ import annotations

import numpy as np

from planned_ad.rules.fourier import with_extent

# Few numbers by passes, a large prime factor, four steps with whole blocks and without, lines side by side.
SHAPES = [
    ((1,), 0),
    ((6,), 0),
    ((17,), 0),
    ((90,), 0),
    ((9, 5), 0),
    ((6, 9), 1),
    ((2, 3, 10), 1),
]


def numbers(*shape: int) -> np.ndarray:
    """Small, so that absolute tolerances are those of their sums, which may be close to zero."""
    return np.random.default_rng(8).normal(size=shape) / 100


def half(shape: tuple[int, ...], behind: int) -> tuple[tuple[int, ...], int]:
    n = shape[len(shape) - 1 - behind]
    return (*with_extent(shape, behind, n // 2 + 1), 2), n


FOURIER_CASES = {
    "fourier": [
        ((numbers(*shape, 2),), {"behind": behind, "inverse": inverse, "scale": 0.5 if inverse else 1.0})
        for shape, behind in SHAPES
        for inverse in (False, True)
    ],
    "real_fourier": [((numbers(*shape),), {"behind": behind, "inner": 1.5, "scale": 0.5}) for shape, behind in SHAPES],
    "fourier_real": [
        (
            (numbers(*half(shape, behind)[0]),),
            {"behind": behind, "n": half(shape, behind)[1], "inner": 2.0, "scale": 3.0},
        )
        for shape, behind in SHAPES
    ],
}
