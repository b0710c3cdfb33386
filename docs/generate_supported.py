"""Write docs/supported.md from the tables that tracing uses: `make docs`."""

from __future__ import annotations

import cmath
import importlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import planned_ad.trace  # noqa: F401  (registers the functions)
from planned_ad.python.library_names import public_name
from planned_ad.tracing.complex.formulas import FORMULAS
from planned_ad.tracing.complex.functions import COMPLEX_FUNCTIONS
from planned_ad.tracing.numpy_functions.refused import INSTEAD, OF_SCIPY
from planned_ad.tracing.record.dispatch import CALLERS, FUNCTIONS
from planned_ad.tracing.replacements import builtin_functions
from planned_ad.tracing.scipy_functions import FILES, register_loaded
from planned_ad.tracing.values.ufuncs import UFUNCS

OPAQUE = "make it an operation of its own with planned_ad.opaque, and give it a vjp"
TARGET = Path(__file__).with_name("supported.md")
NUMPY = ".".join(np.__version__.split(".")[:2])

HEAD = f"""# Supported functions

Generated from the tables in `planned_ad/` by `make docs`, with NumPy {NUMPY}. Edit the tables, not this page.

Operators, basic and advanced indexing, and the `ndarray` methods of the functions below work too, on float64 and
float32 data, and on complex128 and complex64 data where that is said; integer and boolean arrays are run-time data
without derivative. Functions that take no traced value
(`np.zeros`, `np.arange`, `np.eye`, ...) run as they are, and give arrays that can be written to.
An argument of a function that is not supported, such as `where=` of a sum, is refused by an error that names it.

What has a derivative has it in forward and in reverse mode, to any order. Of `planned_ad` itself, these may be called
in traced code: `grad`, `value_and_grad`, `jvp`, `vjp`, `linearize`, `jacobian`, `hessian`, `hvp`, `vectorize`,
`checkpoint`, `stop_gradient`, `cond`, `switch`, `fori_loop`, `while_loop`, `scan`, and what `custom_rule`, `opaque` and
`numba_rule` make.
"""


def full_name(function: Callable) -> str:
    """`np.linalg.norm`, `scipy.special.expit`: as people write it."""
    if type(function).__name__ == "fortran":
        return public_name(function)
    name = function.__name__
    module = getattr(function, "__module__", None) or "scipy.special"
    if isinstance(function, np.ufunc):
        module = "numpy" if getattr(np, name, None) is function else "scipy.special"
    for public in ("scipy.special", "scipy.linalg", "scipy.fft"):
        if module.startswith(public):
            module = public
    return f"{module}.{name}".replace("numpy", "np", 1)


def is_public(function: Callable) -> bool:
    """Whether people write it; what is behind other functions is not listed."""
    module = getattr(function, "__module__", None) or ""
    return not function.__name__.startswith("_") and not module.endswith(("pypocketfft", "pyduccfft"))


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(set(names), key=str.lower)) + ".\n"


def title(module: str) -> str:
    """The first sentence of a module's docstring."""
    doc = importlib.import_module(module).__doc__ or module
    return doc.strip().splitlines()[0].rstrip(".").replace("`", "")


def page() -> str:
    """The text of docs/supported.md."""
    for module in (*FILES, "scipy.sparse.linalg"):  # what stands for their functions comes with them
        importlib.import_module(module)
    register_loaded()
    by_module: dict[str, list[str]] = {}
    for function, implementation in FUNCTIONS.items():
        if not implementation.__module__.endswith(".refused") and is_public(function):
            by_module.setdefault(implementation.__module__, []).append(full_name(function))
    private = np._core.umath.clip  # behind np.clip, which is listed
    math_names = [f"math.{f.__name__}" for f in (*builtin_functions.UNARY, *builtin_functions.BINARY)]
    of_cmath = (*builtin_functions.COMPLEX_UNARY, cmath.log, cmath.phase, cmath.polar, cmath.rect)
    math_names += [f"cmath.{f.__name__}" for f in of_cmath]
    math_names += [f"math.{f.__name__}" for f in (math.log, math.hypot, math.fsum, math.prod, math.dist, math.isclose)]
    parts = [HEAD, "## Elementwise (ufuncs), with broadcasting, `out=` and `where=`\n"]
    parts.append(listed(full_name(f) for f in UFUNCS if f is not private))
    parts.append("`reduce`, `accumulate`, `reduceat`, `outer` and `at` of any of them.\n")
    parts += [f"## {title(module)}\n\n{listed(names)}" for module, names in sorted(by_module.items())]
    parts.append(
        "## What SciPy computes when the plan runs: solvers, fits, tests, of functions of yours that are traced\n"
    )
    parts.append(listed(f"{module}.{name}" for module, name in CALLERS))
    parts.append("## Of complex numbers and arrays: elementwise, then the others ([convention](complex_numbers.md))\n")
    parts.append(listed(full_name(f) for f in FORMULAS))
    supported = (f for f, i in COMPLEX_FUNCTIONS.items() if i.__name__ != "refuse" and not isinstance(f, np.ufunc))
    parts.append(listed(map(full_name, supported)))
    parts.append(f"## Python\n\nThe built-ins `abs`, `max`, `min`, `pow`, `round`, `sum`; {listed(math_names)}")
    parts.append("## Refused, and what to write instead\n\n| function | instead |\n|---|---|")
    refused = {f"np.{name}": text for name, text in INSTEAD.items()}
    refused |= {f"scipy.linalg.{name}": OPAQUE for name in OF_SCIPY}
    rows: dict[str, list[str]] = {}
    for name, text in refused.items():
        rows.setdefault(text, []).append(name)
    parts += [f"| {', '.join(f'`{name}`' for name in sorted(names))} | {text} |" for text, names in rows.items()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(page())
