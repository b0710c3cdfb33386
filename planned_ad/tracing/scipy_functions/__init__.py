"""The compiled functions of SciPy's modules that work on arrays.

The modules' Python code is traced as the user's is (see `PURE_PYTHON`); here is what stands for the compiled functions
that it calls. A file is imported once the library's module is: some of them take as long to import as this package.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable

FILES = {
    "scipy.interpolate": (
        "piecewise_polynomials",
        "b_splines",
        "fitpack",
        "grids",
        "lapack",
        "radial_basis",
        "table_bounds",
    ),
    "scipy.ndimage": ("image_filters", "image_sampling"),
    "scipy.signal": ("signals", "filter_design", "peaks"),
    "scipy.sparse": ("sparse_matrices",),
    "scipy.spatial": ("trees",),
    "scipy.spatial.distance": ("distances",),
    "scipy.spatial.transform": ("rotations",),
}
"""By the module of SciPy, the files here that stand for its functions."""

_later: dict[str, list[Callable[[], object]]] = {
    module: [functools.partial(importlib.import_module, f".{file}", __name__) for file in files]
    for module, files in FILES.items()
}


def when_loaded(module: str, register: Callable[[], object]) -> None:
    """Have `register` called before the first trace after a module of SciPy has been imported."""
    _later.setdefault(module, []).append(register)


def register_loaded() -> bool:
    """Fill `dispatch.FUNCTIONS` for the modules that are imported by now; whether there were new ones."""
    found = [module for module in _later if module in sys.modules]
    for module in found:
        for register in _later[module]:
            register()
        del _later[module]
    return bool(found)
