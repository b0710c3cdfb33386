"""What traced code sees in place of the methods of `float` and `int` that stand for operators: `float.__mul__`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..record.recorder import Recorder
from ..record.traced import Traced
from ..values.elementwise import operate
from ..values.loop_index import plain_or_traced
from ..values.operators import BINARY, COMPARISONS, UNARY
from .made_later import Later

OPERATORS = BINARY | COMPARISONS | UNARY | {"pow": np.power}


def methods() -> Iterator[tuple[Any, np.ufunc, bool]]:
    """The methods, with the ufunc that NumPy has for the operator, and whether the operands change sides."""
    for kind in (float, int):
        for name, ufunc in OPERATORS.items():
            for prefix in ("", "r"):
                method = vars(kind).get(f"__{prefix}{name}__")
                if method is not None:
                    yield method, ufunc, prefix == "r"


def number_method_replacements() -> dict[int, Later]:
    """By identity; called with numbers alone, each is itself."""
    found = {}
    for method, ufunc, is_reflected in methods():
        found[id(method)] = Later(method, functools.partial(replacing, ufunc=ufunc, is_reflected=is_reflected))
    return found


def replacing(recorder: Recorder, method: Any, ufunc: np.ufunc, is_reflected: bool) -> Callable[..., Any]:
    @functools.wraps(method, ("__name__", "__doc__"), ())
    def replaced(*operands: Any) -> Any:
        if not any(issubclass(type(operand), Traced) for operand in operands):
            return method(*operands)
        operands = tuple(map(plain_or_traced, operands))
        return operate(recorder, ufunc, *(operands[::-1] if is_reflected else operands))

    return replaced
