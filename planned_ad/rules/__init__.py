"""The rule table: what each primitive is, and its derivative. Importing this package fills `RULES`."""

from . import (
    bessel,
    calls,
    comparisons,
    complex_decompositions,
    decompositions,
    eigenvalues,
    elementwise,
    equations,
    fourier,
    integrals,
    linear,
    more_integrals,
    reductions,
    special,
    structural,
    systems,
)
from .table import RULES, Rule, register

__all__ = [
    "RULES",
    "Rule",
    "bessel",
    "calls",
    "comparisons",
    "complex_decompositions",
    "decompositions",
    "eigenvalues",
    "elementwise",
    "equations",
    "fourier",
    "integrals",
    "linear",
    "more_integrals",
    "reductions",
    "register",
    "special",
    "structural",
    "systems",
]
