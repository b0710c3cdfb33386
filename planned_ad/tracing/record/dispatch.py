"""Which of our functions stands for which NumPy or SciPy function while tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# From a NumPy or SciPy function to `implementation(recorder, *args, **kwargs)`.
FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}

# Those that write to an argument: recorded even where every operand is a known number.
WRITING = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})


def implements(function: Callable[..., Any]) -> Callable[[F], F]:
    """Register the decorated `(recorder, *args, **kwargs)` as what runs in place of `function` on traced values.

    It is called when an argument, or an item of a list or tuple among the arguments, is traced and not a known number.
    """

    def register(implementation: F) -> F:
        FUNCTIONS[function] = implementation
        return implementation

    return register
