"""The programs, and how one is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(2)


def floats(*shape: int) -> np.ndarray:
    return np.asarray(RANDOM.normal(size=shape))


def positive(*shape: int) -> np.ndarray:
    return np.asarray(RANDOM.uniform(0.5, 2.0, size=shape))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple, dict[str, Any]]] = {}


def program(*args: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Test the decorated function with these arguments."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = (f, args, options)
        return f

    return add
