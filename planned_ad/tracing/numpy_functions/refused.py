"""NumPy functions without a rule for traced values, and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements
from .support import unsupported

SOLVE = "its rule comes with a later version; for now write the elimination as a loop over rows"

INSTEAD: dict[str, str] = {}  # of functions of `numpy`
LINEAR_ALGEBRA = [
    *("solve", "inv", "pinv", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "lstsq", "cond", "matrix_rank"),
    *("eig", "eigh", "eigvals", "eigvalsh", "tensorsolve", "tensorinv"),
]


def _refuse_traced(function: Any, name: str, instead: str) -> None:
    @implements(function)
    def refused(recorder, *arguments, **options):
        raise unsupported(name, instead)


for _name, _instead in INSTEAD.items():
    _refuse_traced(getattr(np, _name), f"np.{_name}", _instead)
for _name in LINEAR_ALGEBRA:
    _refuse_traced(getattr(np.linalg, _name), f"np.linalg.{_name}", SOLVE)
