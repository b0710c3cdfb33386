"""The rule table: what each primitive is, and its derivative. Importing this package fills `RULES`."""

from . import bessel, calls, comparisons, elementwise, integrals, linear, reductions, special, structural
from .table import RULES, Rule, register

__all__ = [
    "RULES",
    "Rule",
    "bessel",
    "calls",
    "comparisons",
    "elementwise",
    "integrals",
    "linear",
    "reductions",
    "register",
    "special",
    "structural",
]
