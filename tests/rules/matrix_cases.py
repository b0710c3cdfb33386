"""Test points for the rows on matrices: well conditioned, with eigenvalues and singular values apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from planned_ad.rules import RULES

Operands = tuple[tuple[np.ndarray, ...], dict[str, Any]]


def matrix(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    *batch, m, n = shape
    k = min(m, n)
    u, v = (np.linalg.qr(rng.normal(size=(*batch, r, k)))[0] for r in (m, n))
    return (u * np.linspace(1, 2.2, k)) @ np.swapaxes(v, -1, -2)


def symmetric(*shape: int) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(6).normal(size=shape))[0]
    return (q * np.linspace(1, 2.5, shape[-1])) @ np.swapaxes(q, -1, -2)


def right(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape)


def pairs(a: np.ndarray) -> np.ndarray:
    return np.stack([a.real, a.imag], -1)


def complex_matrix(*shape: int) -> np.ndarray:
    """With singular values apart, and eigenvalues around a spiral."""
    rng = np.random.default_rng(8)
    *batch, m, n = shape
    k = min(m, n)
    u, v = (np.linalg.qr(rng.normal(size=(*batch, r, k)) + 1j * rng.normal(size=(*batch, r, k)))[0] for r in (m, n))
    return pairs((u * np.linspace(1, 2.2, k)) @ np.swapaxes(v, -1, -2).conj())


# Small changes and rounding could turn the signs of vectors over; of these they do not.


def general(*shape: int) -> np.ndarray:
    """Some have real eigenvalues, some have not."""
    return np.diag([1.0, 2.0, 4.0]) + np.random.default_rng(39).normal(size=shape)


def hermitian(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    q = np.linalg.qr(rng.normal(size=shape) + 1j * rng.normal(size=shape))[0]
    return pairs((q * np.linspace(1, 2.5, shape[-1])) @ np.swapaxes(q, -1, -2).conj())


SQUARE = [matrix(3, 3), matrix(2, 3, 3), matrix(10, 10)]
BAND = right(4, 5) + np.array([0.0, 0, 4, 0])[:, None]
BAND_FORM = {"lower": 1, "upper": 2}
BANDS = [(BAND, BAND_FORM), (BAND[1:] + 1.0, {"lower": 1, "upper": 1})]


def factored(a: np.ndarray) -> np.ndarray:
    return RULES["lu"].evaluate(a)


def each(cases: list[tuple[np.ndarray, ...]], name: str) -> list[Operands]:
    return [(operands, dict(example)) for operands in cases for example in RULES[name].examples]


MATRIX_CASES: dict[str, list[Operands]] = {
    "lu": each([(a,) for a in SQUARE], "lu"),
    "lu_solve": each([(factored(a), right(*a.shape[:-1], 2)) for a in SQUARE], "lu_solve"),
    **{
        name: each([(factored(a),) for a in SQUARE], name)
        for name in ("lu_inverse", "lu_det", "lu_slogdet", "lu_factors")
    },
    "permutation": [
        ((np.array(a),), {"inverse": inverse}) for a in ([2, 3, 3], [[1, 2, 3], [3, 3, 3]]) for inverse in (False, True)
    ],
    "cholesky": each([(symmetric(3, 3),), (symmetric(2, 3, 3),)], "cholesky"),
    "triangular_solve": each([(a + 3 * np.eye(3), right(*a.shape[:-1], 2)) for a in SQUARE[:2]], "triangular_solve"),
    "band_lu": [((band,), form) for band, form in BANDS],
    "band_solve": [
        ((RULES["band_lu"].evaluate(band, **form), right(5, 2)), {**form, "transposed": transposed})
        for band, form in BANDS
        for transposed in (False, True)
    ],
    "sylvester": [((matrix(3, 3), symmetric(2, 2), right(3, 2)), {})],
    "eigh": each([(symmetric(3, 3),), (symmetric(2, 3, 3),)], "eigh"),
    "svd": each([(matrix(*shape),) for shape in ((3, 3), (2, 3, 3))], "svd")
    + [((matrix(*shape),), {"full": False}) for shape in ((3, 2), (2, 3))],
    "qr": each([(matrix(3, 3),), (matrix(2, 3, 3),)], "qr") + [((matrix(3, 2),), {"complete": False})],
    **{
        name: each([(complex_matrix(*shape),) for shape in ((3, 3), (2, 3, 3))], name)
        for name in ("complex_svd", "complex_qr", "complex_eig")
    },
    "complex_eigh": each([(hermitian(3, 3),), (hermitian(2, 3, 3),)], "complex_eigh"),
    "eig": [((general(*shape),), {}) for shape in ((3, 3), (2, 3, 3))],
    "pinv": each([(matrix(*shape),) for shape in ((3, 2), (2, 3), (2, 3, 3))], "pinv"),
}
# A tangent of a factorisation is that of the matrix it stands for: differences of its numbers are another thing.
FACTORED = {"lu", "lu_solve", "lu_inverse", "lu_det", "lu_slogdet", "lu_factors", "band_lu", "band_solve"}
