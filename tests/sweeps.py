"""Parameters of tests that repeat themselves: a share of them always, all with `-m long`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(values: Iterable[Any], quick: slice) -> list[Any]:
    """Values of a parameter (tuples: of several), of which those of the slice `quick` need no `-m long`."""
    found = list(values)
    always = range(len(found))[quick]
    return [v if k in always else left_out(v) for k, v in enumerate(found)]


def left_out(value: Any) -> Any:
    """One that runs with `-m long` only."""
    return pytest.param(*(value if type(value) is tuple else (value,)), marks=pytest.mark.long)
