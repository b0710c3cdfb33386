"""Sparse linear systems in traced code, `spsolve(A, b)`, `splu(A).solve(b)` and `factorized(A)(b)`: SciPy solves them.

With `x = A^-1 b` and a cotangent w of x, that of b is `v = A^-T w`, and that of an entry of A is `-v[row] x[column]`
(Giles, Collected matrix derivative results, 2008). Both solves take the same factors, which are kept until the numbers
of the matrix are others. Plans call back into Python for them, as `explain().fallbacks` says.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse

from ..tracing.numpy_functions.support import FLOAT, asarray, unsupported
from ..tracing.record.dispatch import STAND_INS, implements
from ..tracing.record.recorder import Recorder
from ..tracing.scipy_functions import when_loaded
from ..tracing.scipy_functions.sparse_matrices import SparseStandIn
from .native_rules import OpaqueFunction, opaque


class System:
    """The systems of all matrices with their entries in these places, of a matrix in CSC form."""

    def __init__(self, shape: tuple[int, int], rows: np.ndarray, pointers: np.ndarray):
        self.shape, self.rows, self.pointers = shape, rows, pointers
        self.columns = np.repeat(np.arange(shape[1]), np.diff(pointers))
        self.last: tuple[np.ndarray, Any] | None = None
        self.plain, self.transposed = self._solver("spsolve", "N"), self._solver("spsolve of the transpose", "T")
        self._add_derivative(self.plain, self.transposed, self.rows, self.columns)
        self._add_derivative(self.transposed, self.plain, self.columns, self.rows)

    def factors(self, data: np.ndarray) -> Any:
        from scipy.sparse.linalg import splu

        last = self.last
        if last is None or not np.array_equal(last[0], data):
            matrix = scipy.sparse.csc_matrix((data.copy(), self.rows, self.pointers), self.shape)
            self.last = last = matrix.data.copy(), splu(matrix)
        return last[1]

    def _solver(self, name: str, trans: str) -> OpaqueFunction:
        def solve(data: Any, b: Any) -> Any:
            return self.factors(data).solve(b, trans)

        solve.__name__ = name
        return opaque(solve, result=lambda data, b: b)

    def _add_derivative(self, solve: Any, other: Any, rows: np.ndarray, columns: np.ndarray) -> None:
        @solve.vjp(needs="data, result")
        def derivative(data, x, cotangent):
            v = other(data, cotangent)
            products = v[rows] * x[columns]
            return -(products if products.ndim == 1 else np.sum(products, axis=1)), v


@functools.lru_cache(maxsize=64)
def system_of(shape: tuple[int, int], rows: bytes, pointers: bytes) -> System:
    return System(shape, np.frombuffer(rows, np.int64), np.frombuffer(pointers, np.int64))


class FactorsStandIn:
    """What traced code sees of `splu(A)`."""

    def __init__(self, recorder: Recorder, matrix: SparseStandIn):
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"matrix must be square, has shape {matrix.shape}")
        csc = matrix.pattern.tocsc()
        csc.sort_indices()
        rows, pointers = (index.astype(np.int64).tobytes() for index in (csc.indices, csc.indptr))
        self._system = system_of(matrix.shape, rows, pointers)
        self._recorder, self._data, self.shape = recorder, matrix._data[csc.data - 1].astype(FLOAT), matrix.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        b = asarray(self._recorder, rhs).astype(FLOAT)
        if b.shape[:1] != self.shape[:1] or b.ndim > 2:
            raise ValueError(f"right hand side array has invalid shape {b.shape}, of a matrix of shape {self.shape}")
        return (self._system.plain if trans == "N" else self._system.transposed)(self._data, b)

    def __getattr__(self, name: str) -> Any:
        raise unsupported(f".{name} of factors of a sparse matrix", "use their solve")


class RealFactors:
    """What traced code sees of factors that it finds outside."""

    def __init__(self, real: Any):
        self._real, self.shape = real, real.shape
        self._plain, self._transposed = self._solver("N"), self._solver("T")
        for solve, other in ((self._plain, self._transposed), (self._transposed, self._plain)):
            solve.vjp(needs="")(other)

    def _solver(self, trans: str) -> OpaqueFunction:
        def solve(rhs: Any) -> Any:
            return self._real.solve(rhs, trans)

        return opaque(solve, result=lambda rhs: rhs)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        return (self._plain if trans == "N" else self._transposed)(rhs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def register_solves() -> None:
    """Once `scipy.sparse.linalg` is there."""
    import scipy.sparse.linalg as linalg

    SuperLU = linalg.SuperLU

    @implements(linalg.splu)
    def splu(recorder, A, *args, **options):
        return FactorsStandIn(recorder, sparse_matrix_of(recorder, A, "splu"))

    @implements(linalg.factorized)
    def factorized(recorder, A):
        return FactorsStandIn(recorder, sparse_matrix_of(recorder, A, "factorized")).solve

    @implements(linalg.spsolve)
    def spsolve(recorder, A, b, permc_spec=None, use_umfpack=True):
        if type(b) is SparseStandIn:
            raise unsupported("spsolve with a sparse right hand side", "use b.toarray()")
        b = asarray(recorder, b)
        is_vector = b.ndim == 1 or b.shape[1] == 1
        return FactorsStandIn(recorder, sparse_matrix_of(recorder, A, "spsolve")).solve(
            b.reshape(-1) if is_vector else b
        )

    def factors(recorder: Recorder, obj: Any, name: str) -> object | None:
        return RealFactors(obj) if isinstance(obj, SuperLU) else None

    STAND_INS.append(factors)


def sparse_matrix_of(recorder: Recorder, matrix: Any, function: str) -> SparseStandIn:
    if type(matrix) is SparseStandIn:
        return matrix
    raise unsupported(f"{function} of a dense matrix", "use scipy.linalg.solve, or make it sparse: csc_matrix(A)")


when_loaded("scipy.sparse.linalg", register_solves)
