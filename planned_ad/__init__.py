"""Reverse-mode automatic differentiation of NumPy code with statically planned, non-allocating tapes."""

from . import errors
from .control import cond, fori_loop, scan, switch, while_loop
from .explain import Explanation
from .plan import Plan, compile
from .structure import Const

__version__ = "0.1.0"
__all__ = [
    "Const",
    "Explanation",
    "Plan",
    "compile",
    "cond",
    "errors",
    "fori_loop",
    "scan",
    "switch",
    "while_loop",
]
