"""The rule table: what each primitive is, and its derivative. Importing this package fills `RULES`."""

from . import (
    calls,
    comparisons,
    decompositions,
    elementwise,
    equations,
    linear,
    reductions,
    special,
    structural,
    systems,
)
from .table import RULES, Rule, register

__all__ = [
    "RULES",
    "Rule",
    "calls",
    "comparisons",
    "decompositions",
    "elementwise",
    "equations",
    "linear",
    "reductions",
    "register",
    "special",
    "structural",
    "systems",
    "triangular",
]
