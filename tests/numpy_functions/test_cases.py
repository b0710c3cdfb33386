"""Every case, in each dtype and memory layout, is what NumPy makes of it: numbers, dtypes, shapes, scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.tracing_oracle import check

from . import cases_of_fourier, cases_of_order, cases_of_special  # noqa: F401 (add their cases)
from .cases import CASES, Case


def as_given(a: np.ndarray) -> np.ndarray:
    return a


def single_precision(a: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) if a.dtype == np.float64 else a


def column_major(a: np.ndarray) -> np.ndarray:
    return np.array(a, order="F")


def strided(a: np.ndarray) -> np.ndarray:
    """Every second element of a larger array, counted from the end."""
    memory = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    view = memory[tuple(slice(None, None, -2) for _ in a.shape)] if a.ndim else memory
    view[...] = a
    return view


VARIANTS = (as_given, single_precision, column_major, strided)


def layouts_in_turn() -> list[Any]:
    """Each case as it is, and every third in one of the other variants; in all with `-m long`."""
    return [
        pytest.param(case, variant, id=f"{case.name}-{variant.__name__}", marks=pytest.mark.long if left else [])
        for number, case in enumerate(CASES)
        for k, variant in enumerate(VARIANTS)
        for left in [k not in (0, 1 + number // 3 % 3 if number % 3 == 1 else 0)]
    ]


@pytest.mark.parametrize(("case", "variant"), layouts_in_turn())
def test_as_numpy(case: Case, variant: Callable[[np.ndarray], np.ndarray]) -> None:
    check(case.function, *map(variant, case.arguments))


def test_table() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 200
