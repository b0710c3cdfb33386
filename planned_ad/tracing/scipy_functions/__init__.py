"""The compiled functions of SciPy's modules that work on arrays.

The modules' Python code is traced as the user's is (see `PURE_PYTHON`); here is what stands for the compiled functions
that it calls. A file is imported once the library's module is: some of them take as long to import as this package.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import warnings
from collections.abc import Callable

import scipy

from ...python.versions import SCIPY

FILES = {
    "scipy.integrate": ("integrals",),
    "scipy.interpolate": (
        "piecewise_polynomials",
        "b_splines",
        "fitpack_by_c" if SCIPY >= (1, 18) else "fitpack_by_f2py",
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
    "scipy.stats": ("multivariate",),
}
"""By the module of SciPy, the files here that stand for its functions."""

_later: dict[str, list[Callable[[], object]]] = {
    module: [functools.partial(importlib.import_module, f".{file}", __name__) for file in files]
    for module, files in FILES.items()
}


def when_loaded(module: str, register: Callable[[], object]) -> None:
    """Have `register` called before the first trace after a module of SciPy has been imported."""
    _later.setdefault(module, []).append(register)


_registering = threading.RLock()


def register_loaded() -> bool:
    """Fill `dispatch.FUNCTIONS` for the modules that are imported by now; whether there were new ones.

    Other threads wait until they are there.
    """
    with _registering:
        found = [module for module in _later if module in sys.modules]
        for module in found:
            for register in _later.pop(module):
                try:
                    register()
                except (ImportError, AttributeError) as error:  # compiled functions that another version has not
                    found_no = f"planned_ad does not know SciPy {scipy.__version__}: {error}"
                    warnings.warn(f"{found_no}. Some functions of {module} have no rules.", stacklevel=2)
        return bool(found)
