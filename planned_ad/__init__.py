"""Reverse-mode automatic differentiation of NumPy code with statically planned, non-allocating tapes."""

from . import errors
from . import plan_derivatives as _plan_derivatives  # noqa: F401 (registers what plans offer)
from .annotations import (
    Active,
    BatchDuplicated,
    Duplicated,
    DuplicatedNoNeed,
    Forward,
    ForwardWithPrimal,
    Reverse,
    ReverseWithPrimal,
)
from .autodiff import autodiff, gradient
from .compiling import compile
from .control import cond, fori_loop, scan, switch, while_loop
from .custom import custom_rule
from .explain import Explanation
from .native_rules import numba_rule, opaque
from .plan import Plan
from .remade import checkpoint
from .sparse import sparse_hessian, sparse_jacobian
from .structure import Const
from .transforms import grad, hessian, hvp, jacobian, jvp, linearize, stop_gradient, value_and_grad, vjp
from .vectorized import vectorize
from .zeros import make_zero

__version__ = "0.1.0"
__all__ = [
    "Active",
    "BatchDuplicated",
    "Const",
    "Duplicated",
    "DuplicatedNoNeed",
    "Explanation",
    "Forward",
    "ForwardWithPrimal",
    "Plan",
    "Reverse",
    "ReverseWithPrimal",
    "autodiff",
    "checkpoint",
    "compile",
    "cond",
    "custom_rule",
    "errors",
    "fori_loop",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "make_zero",
    "numba_rule",
    "opaque",
    "scan",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vectorize",
    "vjp",
    "while_loop",
]
