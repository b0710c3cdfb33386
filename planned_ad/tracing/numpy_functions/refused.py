"""NumPy functions without a rule for traced values, and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record.dispatch import implements
from .support import unsupported

SOLVE = "its rule comes with a later version; for now write the elimination as a loop over rows"
FIXED_SHAPE = "the result's shape depends on the data; use np.where"

INSTEAD: dict[str, str] = {
    **dict.fromkeys(["union1d", "intersect1d", "setdiff1d", "trim_zeros"], FIXED_SHAPE),
    "piecewise": "use np.where or np.select, with both sides finite everywhere",
    "choose": "use np.select, or index the stacked choices",
    "place": "assign with a boolean index, x[mask] = values",
    "geomspace": "write np.exp(np.linspace(np.log(start), np.log(stop), num))",
}
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
