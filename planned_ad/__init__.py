"""Reverse-mode automatic differentiation of NumPy code with statically planned, non-allocating tapes."""

from . import errors
from . import plan_derivatives as _plan_derivatives  # noqa: F401 (registers what plans offer)
from .compiling import compile
from .control import cond, fori_loop, scan, switch, while_loop
from .custom import custom_rule
from .explain import Explanation
from .native_rules import numba_rule, opaque
from .plan import Plan
from .structure import Const
from .transforms import grad, hessian, hvp, jacobian, jvp, linearize, stop_gradient, value_and_grad, vjp
from .zeros import make_zero

__version__ = "0.1.0"
__all__ = [
    "Const",
    "Explanation",
    "Plan",
    "compile",
    "cond",
    "custom_rule",
    "errors",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "make_zero",
    "numba_rule",
    "opaque",
    "scan",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vjp",
    "while_loop",
]
