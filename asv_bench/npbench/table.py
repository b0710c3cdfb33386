"""All kernels, and their ports."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from . import deep_learning, products, science, solvers, stencils, triangles

KINDS = (products, triangles, solvers, stencils, science, deep_learning)
KERNELS = {name: kernel for kind in KINDS for name, kernel in kind.KERNELS.items()}


def port(name: str) -> Callable:
    """What stands for a kernel in JAX, which is only then imported."""
    kind = next(kind for kind in KINDS if name in kind.KERNELS)
    return getattr(importlib.import_module(f".ports.{kind.__name__.rpartition('.')[2]}", __package__), name)
