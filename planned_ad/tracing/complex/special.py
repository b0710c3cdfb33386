"""Functions of `scipy.special` of complex arguments: a primitive for each part of what they give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..record.dispatch import implements
from .elementwise import complex_ufunc
from .formulas import FORMULAS, exponential_m1, logarithm_1p
from .reals import ComplexValue

OF_ONE = (
    "erf", "erfc", "erfi", "erfcx", "dawsn", "wofz", "exp1", "expi", "spence", "loggamma", "gamma", "rgamma", "psi",
)  # fmt: skip
OF_AN_ORDER = ("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hankel1e", "hankel2e")
ONLY_COMPLEX = ("wofz", "hankel1", "hankel2", "hankel1e", "hankel2e")  # also of real arguments


def by_two_primitives(name: str) -> Callable[..., ComplexValue]:
    def formula(*operands: ComplexValue) -> ComplexValue:
        *order, z = operands
        given = [*(v.real for v in order), z.real, z.imag]
        return ComplexValue(*(given[0].apply(f"complex_{name}_{part}", *given[1:]) for part in ("re", "im")))

    return formula


def normal(z: ComplexValue) -> ComplexValue:
    half = FORMULAS[special.erfc](ComplexValue(-math.sqrt(0.5) * z.real, -math.sqrt(0.5) * z.imag))
    return ComplexValue(0.5 * half.real, 0.5 * half.imag)


def complex_at_all(ufunc: np.ufunc) -> None:
    @implements(ufunc)  # type: ignore[arg-type]
    def implementation(recorder: Any, *operands: Any, **options: Any) -> Any:
        return complex_ufunc(recorder, ufunc, operands, **options)


for _name in (*OF_ONE, *OF_AN_ORDER):
    FORMULAS[getattr(special, _name)] = by_two_primitives(_name)
FORMULAS[special.ndtr] = normal
FORMULAS[special.expm1] = exponential_m1
FORMULAS[special.log1p] = logarithm_1p
for _name in ONLY_COMPLEX:
    complex_at_all(getattr(special, _name))
