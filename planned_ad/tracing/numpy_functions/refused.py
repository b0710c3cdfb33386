"""NumPy functions without a rule for traced values, and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..record.dispatch import implements
from .support import unsupported

SORT = "use max, min or where, or sort by a fixed permutation, x[order]"
FIND = "use max or min for the value, or find the index outside and pass it as an argument"
WITHOUT_NAN = "replace nan first, np.where(np.isnan(x), other, x)"
COMPLEX = "its results are complex numbers, which come later; np.linalg.eigh has those of symmetric matrices"
FIXED_SHAPE = "the result's shape depends on the data; use np.where"

INSTEAD: dict[str, str] = {
    **dict.fromkeys(["median", "percentile", "quantile", "sort", "partition", "argsort", "argpartition"], SORT),
    **dict.fromkeys(["nanmedian", "nanpercentile", "nanquantile", "lexsort"], SORT),
    **dict.fromkeys(["argmax", "argmin", "nanargmax", "nanargmin", "searchsorted", "digitize"], FIND),
    **dict.fromkeys(["nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod"], WITHOUT_NAN),
    **dict.fromkeys(["unique", "union1d", "intersect1d", "setdiff1d", "trim_zeros"], FIXED_SHAPE),
    "piecewise": "use np.where or np.select, with both sides finite everywhere",
    "choose": "use np.select, or index the stacked choices",
    "place": "assign with a boolean index, x[mask] = values",
    "interp": "find the interval outside, and interpolate between x[i] and x[i + 1]",
    "geomspace": "write np.exp(np.linspace(np.log(start), np.log(stop), num))",
}
OF_SCIPY = ["eig", "eigvals", "logm", "schur", "rsf2csf", "hessenberg", "qz", "signm", "cosm", "sinm", "tanm", "funm"]
OPAQUE = "make it an operation of its own with planned_ad.opaque, and give it a vjp"
LINEAR_ALGEBRA = ["eig", "eigvals"]


def _refuse_traced(function: Any, name: str, instead: str) -> None:
    @implements(function)
    def refused(recorder, *arguments, **options):
        raise unsupported(name, instead)


for _name, _instead in INSTEAD.items():
    _refuse_traced(getattr(np, _name), f"np.{_name}", _instead)
for _name in LINEAR_ALGEBRA:
    _refuse_traced(getattr(np.linalg, _name), f"np.linalg.{_name}", COMPLEX)
for _name in OF_SCIPY:
    _instead = COMPLEX if _name in LINEAR_ALGEBRA else OPAQUE
    _refuse_traced(getattr(scipy.linalg, _name), f"scipy.linalg.{_name}", _instead)
