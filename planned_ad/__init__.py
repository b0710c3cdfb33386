"""Reverse-mode automatic differentiation of NumPy code with statically planned, non-allocating tapes."""

from typing import Any

from . import errors
from .caching import cache_dir
from .calls.explain import Explanation
from .compiling import compile
from .control import cond, fori_loop, scan, switch, while_loop
from .custom import sparse_solves as _sparse_solves  # noqa: F401 (registers what it implements)
from .custom.checkpoint import checkpoint
from .custom.custom import custom_rule
from .custom.native_rules import numba_rule, opaque
from .functional import binary_images as _binary_images  # noqa: F401
from .functional import constrained as _constrained  # noqa: F401
from .functional import elementwise_solvers as _elementwise_solvers  # noqa: F401
from .functional import factors as _factors  # noqa: F401
from .functional import fits as _fits  # noqa: F401 (with `solvers`, registers what stands for SciPy's)
from .functional import hypothesis_tests as _hypothesis_tests  # noqa: F401
from .functional import initial_values as _initial_values  # noqa: F401
from .functional import older_minima as _older_minima  # noqa: F401
from .functional import plan_derivatives as _plan_derivatives  # noqa: F401 (registers what plans offer)
from .functional import quadrature as _quadrature  # noqa: F401
from .functional.enzyme.annotations import (
    Active,
    BatchDuplicated,
    Duplicated,
    DuplicatedNoNeed,
    Forward,
    ForwardWithPrimal,
    Reverse,
    ReverseWithPrimal,
)
from .functional.enzyme.autodiff import autodiff, gradient
from .functional.function import Function, function
from .functional.sparse.sparse import sparse_hessian, sparse_jacobian
from .functional.transforms import grad, hessian, hvp, jacobian, jvp, linearize, stop_gradient, value_and_grad, vjp
from .functional.vectorized import vectorize
from .pictures.profile import Profile
from .plan import Plan
from .python.structure import Const
from .python.versions import show_versions
from .python.zeros import make_zero

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
    "Function",
    "Plan",
    "Profile",
    "Reverse",
    "ReverseWithPrimal",
    "autodiff",
    "cache_dir",
    "checkpoint",
    "compile",
    "cond",
    "custom_rule",
    "errors",
    "fori_loop",
    "function",
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
    "show_versions",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "switch",
    "value_and_grad",
    "vectorize",
    "vjp",
    "while_loop",
]

_LATER = ("interop", "testing")


def __getattr__(name: str) -> Any:
    """`planned_ad.testing` and `planned_ad.interop`, which nobody pays for who does not use them."""
    if name in _LATER:
        import importlib

        return importlib.import_module(f"planned_ad.{name}")
    raise AttributeError(f"module 'planned_ad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_LATER, "__version__"])
