"""Routines of LAPACK by name, for code of SciPy and of users that calls them itself.

What `scipy.linalg.lapack` has under a name with a type (`dpotrf`) and what `get_lapack_funcs` gives are the same here.
Their arguments are those of SciPy, whose permissions to overwrite are not made use of. Whether a routine has failed is
a number of the program (`info`), which may be tested; which step of it has failed is not known: it is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ...regions.regions import View, c_strides
from ...tape.tape import Value
from ..numpy_functions.support import FLOAT, constant, unsupported
from ..numpy_functions.systems import matrices
from ..record.dispatch import FUNCTIONS, implements
from ..record.recorder import Recorder

INT = np.dtype(np.int64)


def gbsv(recorder: Recorder, kl: int, ku: int, ab: Any, b: Any, **options: Any) -> tuple[Any, Any, Any, int]:
    """The equations of a banded matrix; the first `kl` rows of `ab` are room for its factors, which are not given."""
    return None, None, FUNCTIONS[scipy.linalg.solve_banded](recorder, (kl, ku), ab[kl:], b), 0


def failed(recorder: Recorder, is_true: Value) -> Any:
    """What `info` is."""
    return recorder.result(recorder.builder.cast(is_true, INT))


def triangle_of(matrix: Any, lower: Any) -> Any:
    return np.tril(matrix) if lower else np.triu(matrix)


def others(matrix: Any, lower: Any) -> Any:
    """The elements that a routine on a triangle leaves as they are."""
    return np.triu(matrix, 1) if lower else np.tril(matrix, -1)


def potrf(recorder: Recorder, a: Any, lower: Any = 0, clean: Any = 1, overwrite_a: Any = 0) -> tuple[Any, Any]:
    """Cholesky's factors; where there are none, `info` says so, and the numbers are no factors."""
    a = recorder.array(recorder.value_of(a))
    (value,) = matrices(recorder, a if lower else a.T)
    if not value.size:
        return a, 0
    found = recorder.apply("cholesky", value)
    first = recorder.builder.view(found, View(0, (), c_strides(found.shape)[:-2]))
    info = failed(recorder, recorder.apply("less", first, constant(recorder, 0, first.dtype)))
    factor = recorder.array(found)
    factor = factor if lower else factor.T
    return (factor if clean else factor + others(a, lower)), info


def potrs(recorder: Recorder, c: Any, b: Any, lower: Any = 0, overwrite_b: Any = 0) -> tuple[Any, int]:
    return FUNCTIONS[scipy.linalg.cho_solve](recorder, (c, bool(lower)), b), 0


def potri(recorder: Recorder, c: Any, lower: Any = 0, overwrite_c: Any = 0) -> tuple[Any, int]:
    """The inverse, in one triangle."""
    c = recorder.array(recorder.value_of(c))
    inverse = FUNCTIONS[scipy.linalg.cho_solve](recorder, (c, bool(lower)), np.eye(len(c), dtype=c.dtype))
    return triangle_of(inverse, lower) + others(c, lower), 0


def trtrs(
    recorder: Recorder, a: Any, b: Any, lower: Any = 0, trans: Any = 0, unitdiag: Any = 0, lda: Any = None, **_: Any
) -> tuple[Any, Any]:
    """Solutions of triangular equations; nan where an element of the diagonal is zero, which `info` says."""
    if lda is not None:
        raise unsupported("the argument lda= of trtrs", "leave it out")
    a, info = without_zeros(recorder, a, unitdiag)
    solve = FUNCTIONS[scipy.linalg.solve_triangular]
    return solve(recorder, a, b, trans=trans, lower=bool(lower), unit_diagonal=bool(unitdiag)), info


def trtri(recorder: Recorder, c: Any, lower: Any = 0, unitdiag: Any = 0, overwrite_c: Any = 0) -> tuple[Any, Any]:
    """The inverse of a triangle, beside what the other one holds."""
    given = recorder.array(recorder.value_of(c))
    c, info = without_zeros(recorder, given, unitdiag)
    solve = FUNCTIONS[scipy.linalg.solve_triangular]
    unit = np.eye(len(given), dtype=given.dtype)
    inverse = solve(recorder, c, unit, lower=bool(lower), unit_diagonal=bool(unitdiag))
    inverse = triangle_of(inverse, lower) + others(given, lower)
    return (inverse - unit + np.diag(np.diagonal(given)) if unitdiag else inverse), info


def without_zeros(recorder: Recorder, a: Any, unitdiag: Any) -> tuple[Any, Any]:
    """A triangular matrix whose diagonal has no zeros, for which they are nan, and whether it had."""
    a = recorder.array(recorder.value_of(a))
    if unitdiag:
        return a, 0
    is_zero = np.diagonal(a) == 0
    return a + np.diag(np.where(is_zero, np.nan, 0.0)), failed(recorder, recorder.value_of(np.any(is_zero)))


ROUTINES: dict[str, Callable[..., Any]] = {
    "gbsv": gbsv, "potrf": potrf, "potrs": potrs, "potri": potri, "trtrs": trtrs, "trtri": trtri,
}  # fmt: skip


@implements(scipy.linalg.get_lapack_funcs)
def get_lapack_funcs(recorder, names, arrays=(), dtype=None, ilp64=False):
    def routine(name: str) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            if name not in ROUTINES:
                raise unsupported(f"the routine {name} of LAPACK", "call the function of scipy.linalg that uses it")
            return ROUTINES[name](recorder, *args, **options)

        return called

    return routine(names) if isinstance(names, str) else [routine(name) for name in names]


def of_doubles(routine: Callable[..., Any]) -> Callable[..., Any]:
    """A routine by the name that it has for double precision, to which arrays are converted."""

    def called(recorder: Recorder, *args: Any, **options: Any) -> Any:
        return routine(
            recorder, *(recorder.array(recorder.value_of(a, FLOAT)) if np.ndim(a) else a for a in args), **options
        )

    return called


for _name in ("potrf", "potrs", "potri", "trtrs", "trtri"):
    implements(getattr(lapack, f"d{_name}"))(of_doubles(ROUTINES[_name]))
