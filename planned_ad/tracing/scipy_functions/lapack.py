"""Routines of LAPACK by name, for code of SciPy that calls them itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.linalg

from ..numpy_functions.support import unsupported
from ..record.dispatch import FUNCTIONS, implements
from ..record.recorder import Recorder


def gbsv(recorder: Recorder, kl: int, ku: int, ab: Any, b: Any, **options: Any) -> tuple[Any, Any, Any, int]:
    """The equations of a banded matrix; the first `kl` rows of `ab` are room for its factors, which are not given."""
    return None, None, FUNCTIONS[scipy.linalg.solve_banded](recorder, (kl, ku), ab[kl:], b), 0


ROUTINES: dict[str, Callable[..., Any]] = {"gbsv": gbsv}


@implements(scipy.linalg.get_lapack_funcs)
def get_lapack_funcs(recorder, names, arrays=(), dtype=None, ilp64=False):
    def routine(name: str) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            if name not in ROUTINES:
                raise unsupported(f"the routine {name} of LAPACK", "call the function of scipy.linalg that uses it")
            return ROUTINES[name](recorder, *args, **options)

        return called

    return routine(names) if isinstance(names, str) else [routine(name) for name in names]
