"""The compiled functions of SciPy's modules that work on arrays.

The modules' Python code is traced as the user's is (see `PURE_PYTHON`); here is what stands for the compiled functions
that it calls. A file is imported once the library's module is: some of them take as long to import as this package.
"""

from __future__ import annotations

import importlib
import sys

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
    "scipy.signal": ("signals",),
    "scipy.spatial.distance": ("distances",),
    "scipy.spatial.transform": ("rotations",),
}
"""By the module of SciPy, the files here that stand for its functions."""

_registered: set[str] = set()


def register_loaded() -> bool:
    """Fill `dispatch.FUNCTIONS` for the modules that are imported by now; whether there were new ones."""
    found = [module for module in FILES if module in sys.modules and module not in _registered]
    for module in found:
        for file in FILES[module]:
            importlib.import_module(f".{file}", __name__)
        _registered.add(module)
    return bool(found)
