"""The versions of Python and the libraries, and the processor: what a report of a mistake should say."""

from __future__ import annotations

import importlib.metadata
import platform
import sys

import llvmlite.binding as llvm
import numpy as np
import scipy

# Of libraries whose functions differ from one to the next.
NUMPY, SCIPY = (tuple(int(part) for part in library.__version__.split(".")[:2]) for library in (np, scipy))
LIBRARIES = ("planned_ad", "numpy", "numba", "llvmlite", "scipy")


def versions_here() -> dict[str, str]:
    """By name: of Python, the system, the processor as LLVM calls it, and each library (perhaps 'not installed')."""
    found = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "processor": f"{platform.machine()}, {llvm.get_host_cpu_name()}",
    }
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions of Python, planned_ad and the libraries that it is made of, for a report of a mistake.

    Examples
    --------
    >>> import planned_ad
    >>> planned_ad.show_versions()  # doctest: +ELLIPSIS
    python      3...
    system      ...
    processor   ...
    planned_ad  ...
    numpy       ...
    numba       ...
    llvmlite    ...
    scipy       ...
    """
    for name, version in versions_here().items():
        print(f"{name:<10}  {version}")
