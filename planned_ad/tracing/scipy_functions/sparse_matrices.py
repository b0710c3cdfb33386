"""Matrices of `scipy.sparse` in traced code: their places are known, their numbers may be traced.

One found outside is read from its own memory, as arrays are: its numbers at each call, its places are compared. What
only moves entries about (a transpose, a slice, a change of format) SciPy does to a matrix of their numbers, 1, 2, ..
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from ..numpy_functions.support import asarray, unsupported
from ..record.dispatch import FUNCTIONS, MADE_HERE, STAND_INS, implements
from ..record.number_sources import require_numbers
from ..record.recorder import Recorder
from ..record.traced import LibraryObject

ADVICE = "multiply with the matrix, solve with spsolve, or use .toarray()"


class SparseStandIn(LibraryObject):
    """A sparse matrix with entries `data`; `pattern` is a real one with the numbers of the entries in their place.

    `pattern` has the class and format of the matrix that this stands for.
    """

    def __init__(self, recorder: Recorder, data: Any, pattern: Any):
        self.recorder, self._data, self.pattern = recorder, data, pattern

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for `isinstance`
        return type(self.pattern)

    # As all that is traced.

    @property
    def is_known(self) -> bool:
        return self.recorder.is_concrete(self._data)

    def plain(self) -> Any:
        """The real matrix, where its numbers are known."""
        numbers = np.asarray(self.recorder.plain(self._data))
        found = self.pattern.astype(numbers.dtype)
        found.data = numbers[self.pattern.data - 1]
        return found

    def read(self) -> Any:
        raise unsupported("a sparse matrix in a function of NumPy", ADVICE)

    def sources(self) -> Any:
        return self._data.sources()

    def storages(self) -> Any:
        return self._data.storages()

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.pattern.shape
        return found

    @property
    def dtype(self) -> np.dtype:
        found: np.dtype = self._data.dtype
        return found

    @property
    def data(self) -> Any:
        return self._data[self.pattern.data - 1]

    @property
    def T(self) -> SparseStandIn:
        return self._moved(self.pattern.T)

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseStandIn:
        return self.T

    def conj(self, copy: bool = True) -> SparseStandIn:
        return self

    conjugate = conj

    def __getitem__(self, key: Any) -> Any:
        found = self.pattern[self.recorder.plain(key)]
        if scipy.sparse.issparse(found):
            return self._moved(found)
        if isinstance(found, np.matrix):
            raise unsupported("single entries of a sparse matrix, which come as a numpy.matrix", "use a csr_array")
        if not np.ndim(found):
            return self._data[int(found) - 1] if found else self._data.dtype.type(0)
        return np.where(found > 0, self._data[np.maximum(found, 1) - 1], 0.0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in STRUCTURAL:
            return lambda *args, **kwargs: self._moved(getattr(self.pattern, name)(*args, **kwargs))
        found = getattr(self.pattern, name)
        if not callable(found):
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            if not self.is_known:
                require_numbers(self.recorder, [self._data])
                raise unsupported(f".{name}() of a sparse matrix with traced numbers", ADVICE)
            return stood_in(self.recorder, getattr(self.plain(), name)(*args, **kwargs))

        return called

    def _moved(self, pattern: Any) -> Any:
        return SparseStandIn(self.recorder, self._data, pattern)

    def of_class(self, cls: Any) -> SparseStandIn:
        """The same entries in a matrix or array of another class."""
        return self._moved(cls(self.pattern))

    def with_data(self, function: Callable[[Any], Any]) -> SparseStandIn:
        """The matrix with other numbers in the same places."""
        return SparseStandIn(self.recorder, function(self._data), self.pattern)

    def entries(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Numbers, rows and columns of the entries, row after row."""
        coordinates = self.pattern.tocsr().tocoo()
        return self._data[coordinates.data - 1], coordinates.row.astype(np.int64), coordinates.col.astype(np.int64)

    # Products.

    def _product(self, other: Any) -> Any:
        if type(other) is SparseStandIn:
            return self._product_of_entries(other)
        x = asarray(self.recorder, other)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(f"matmul: dimension mismatch of {self.shape} and {x.shape}")
        numbers, rows, columns = self.entries()
        dtype = np.result_type(numbers.dtype, x.dtype)
        out = self.recorder.empty((self.shape[0], *x.shape[1:]), dtype)
        numbers = numbers if x.ndim == 1 else numbers[:, None]
        np.add.at(out, rows, numbers * x[columns])
        return out

    def _product_of_entries(self, other: SparseStandIn) -> Any:
        """Each entry meets all those of the other in the row that is its column."""
        if self.is_known and other.is_known:
            return stood_in(self.recorder, self.plain() @ other.plain())
        (a, rows, middle), (b, _, columns) = self.entries(), other.entries()
        pointers = other.pattern.tocsr().indptr
        counts = np.diff(pointers)[middle]
        first = np.repeat(np.arange(len(middle)), counts)
        starts = np.repeat(pointers[middle] - (np.cumsum(counts) - counts), counts)
        second = starts + np.arange(len(first))
        like = (self.pattern[:, :1] @ other.pattern[:1]) if self.shape[1] else self.pattern
        return sparse_of(self.recorder, a[first] * b[second], rows[first], columns[second], like)

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Of each entry; zero ones stay zero."""
        if dtype is not None or not is_number(n) or not self.recorder.is_concrete(n) or self.recorder.plain(n) <= 0:
            raise unsupported("this power of the entries of a sparse matrix", "take that of its .data")
        return self.with_data(lambda data: data**n)

    def __pow__(self, power: Any) -> Any:
        """The matrix times itself, so often; of a sparse array that of each entry."""
        if isinstance(self.pattern, scipy.sparse.sparray):
            return self.power(power)
        if type(power) is not int or power < 1:
            raise unsupported("this power of a sparse matrix", "multiply it with itself")
        return functools.reduce(lambda product, _: product @ self, range(power - 1), self)

    def __matmul__(self, other: Any) -> Any:
        return self._product(other)

    def __rmatmul__(self, other: Any) -> Any:
        x = asarray(self.recorder, other)
        found = self.T._product(x.T)
        return found.T

    def dot(self, other: Any) -> Any:
        return self * other if np.ndim(other) == 0 else self._product(other)

    def __mul__(self, other: Any) -> Any:
        if is_number(other):
            return self.with_data(lambda data: data * other)
        return self._product(other) if isinstance(self.pattern, scipy.sparse.spmatrix) else self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if is_number(other):
            return self.with_data(lambda data: data * other)
        return other @ self if isinstance(self.pattern, scipy.sparse.spmatrix) else self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        return self.with_data(lambda data: data / other) if is_number(other) else NotImplemented

    def __neg__(self) -> Any:
        return self.with_data(lambda data: -data)

    def __abs__(self) -> Any:
        return self.with_data(np.abs)

    def multiply(self, other: Any) -> Any:
        """Entry by entry, with numbers or an array that broadcasts."""
        if is_number(other):
            return self * other
        if type(other) is SparseStandIn:
            return self._with_real(other, lambda a, b: a.multiply(b))
        numbers, rows, columns = self.entries()
        whole = np.broadcast_to(asarray(self.recorder, other), self.shape)
        return sparse_of(self.recorder, numbers * whole[rows, columns], rows, columns, self.pattern)

    # Sums.

    def _sum_of(self, other: Any, sign: float) -> Any:
        if type(other) is not SparseStandIn:
            return self.toarray() + sign * other if np.ndim(other) else NotImplemented
        own, others = self.entries(), other.entries()
        data = np.concatenate([own[0], sign * others[0]])
        rows, columns = (np.concatenate([own[k], others[k]]) for k in (1, 2))
        return sparse_of(self.recorder, data, rows, columns, self.pattern)

    def __add__(self, other: Any) -> Any:
        return self._sum_of(other, 1.0)

    def __radd__(self, other: Any) -> Any:
        return self if is_number(other) and other == 0 else self._sum_of(other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return self._sum_of(other, -1.0)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum_of(other, 1.0)

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        numbers, rows, columns = self.entries()
        found = self.recorder.empty(self.shape, self.dtype)
        found[rows, columns] = numbers
        return found

    def diagonal(self, k: int = 0) -> Any:
        return self.toarray().diagonal(k).copy()

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            return np.sum(self.data)
        if isinstance(self.pattern, scipy.sparse.spmatrix):
            if self.is_known:
                return self.plain().sum(axis)
            require_numbers(self.recorder, [self._data])
            raise unsupported("sum(axis) of a sparse matrix, which gives a numpy.matrix", "use A @ numpy.ones(n)")
        return (self.T if axis in (0, -2) else self) @ np.ones(self.shape[0] if axis in (0, -2) else self.shape[1])

    def _with_real(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        """What SciPy does to two sparse matrices whose numbers are known."""
        pair = [self, other]
        if not all(matrix.is_known for matrix in pair):
            require_numbers(self.recorder, [matrix._data for matrix in pair])
            raise unsupported(
                "the product, entry by entry, of sparse matrices with traced numbers", "multiply their .data"
            )
        return stood_in(self.recorder, function(*(matrix.plain() for matrix in pair)))


STRUCTURAL = ("tocsr", "tocsc", "tocoo", "tobsr", "asformat", "copy", "getrow", "getcol", "reshape", "swapaxes")


def is_number(obj: Any) -> bool:
    return type(obj) is not SparseStandIn and np.ndim(obj) == 0


def with_numbers(matrix: Any) -> Any:
    """A matrix with the numbers of the entries, 1, 2, .., in their place."""
    found = matrix.copy()
    found.data = np.arange(1, found.data.size + 1)
    return found


def stood_in(recorder: Recorder, matrix: Any, name: str = "") -> Any:
    """What traced code sees of a sparse matrix; anything else as it is."""
    if not scipy.sparse.issparse(matrix):
        return matrix if np.ndim(matrix) == 0 else recorder.adopt(matrix)
    if matrix.format not in ("csr", "csc", "coo"):
        matrix = matrix.tocsr()  # whose numbers are then known; see `sparse_from_outside`
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return SparseStandIn(recorder, recorder.concrete(np.array(matrix.data)), with_numbers(matrix))


def sparse_from_outside(recorder: Recorder, obj: Any, name: str) -> object | None:
    if not scipy.sparse.issparse(obj):
        return None
    shadow = recorder.namespace.shadow
    if obj.format in ("lil", "dok"):
        raise unsupported(
            f"a sparse matrix of format {obj.format}", "convert it outside of the traced function: .tocsr()"
        )
    parts = vars(obj)
    is_plain = obj.format in ("csr", "csc", "coo") and obj.has_canonical_format and obj.data.dtype.kind in "fiub"
    held = [(key, value) for key, value in parts.items() if isinstance(value, np.ndarray)]
    held += [(f"coords[{k}]", value) for k, value in enumerate(parts.get("coords", ()))]
    if name == MADE_HERE:
        return stood_in(recorder, obj)  # type: ignore[no-any-return]
    if not is_plain:  # each call compares all of it
        for key, value in held:
            recorder.assume(recorder.concrete(value, captured=f"{name}.{key}").storage)
        return stood_in(recorder, obj)  # type: ignore[no-any-return]
    for key, value in held:
        if value is not obj.data:
            recorder.captured_arrays[id(value)] = f"{name}.{key}", value
            recorder.assume(recorder.concrete(value, captured=f"{name}.{key}").storage)
    return SparseStandIn(recorder, shadow(obj.data, f"{name}.data"), with_numbers(obj))


STAND_INS.append(sparse_from_outside)


# Made of traced numbers.


def sparse_of(recorder: Recorder, data: Any, rows: np.ndarray, columns: np.ndarray, like: Any) -> SparseStandIn:
    """A matrix of the class of `like` with these entries; those in the same place are added up."""
    places, which = np.unique(rows * np.int64(like.shape[1]) + columns, return_inverse=True)
    if len(places) < len(which):
        total = recorder.empty((len(places),), data.dtype)
        np.add.at(total, which, data)
        data, rows, columns = total, places // like.shape[1], places % like.shape[1]
    numbers = np.arange(1, data.shape[0] + 1)
    kind = scipy.sparse.csr_array if isinstance(like, scipy.sparse.sparray) else scipy.sparse.csr_matrix
    return SparseStandIn(recorder, data, kind((numbers, (rows, columns)), like.shape).asformat(like.format))


def _made_of(cls: Any) -> None:
    @implements(cls)
    def made(recorder, arg1, shape=None, dtype=None, copy=False, **options):
        if type(arg1) is SparseStandIn:
            return arg1.of_class(cls)
        if not isinstance(arg1, tuple):
            return dense_as_sparse(recorder, arg1, cls)
        data, *places = arg1
        coordinates = places[0] if len(places) == 1 else places
        if not recorder.is_concrete(coordinates):
            require_numbers(recorder, coordinates)
            raise unsupported(f"{cls.__name__} with traced places", "make its indices outside of the traced function")
        plain = recorder.plain(coordinates)
        data = asarray(recorder, data) if dtype is None else asarray(recorder, data).astype(dtype)
        tags = np.arange(1, data.shape[0] + 1)
        if len(places) == 2:
            pattern = cls((tags, *plain), shape=shape)
        else:
            pattern = scipy.sparse.coo_array((tags, tuple(map(np.asarray, plain))), shape=shape)
        entries = pattern.tocoo()
        return sparse_of(
            recorder, data[entries.data - 1], entries.row.astype(np.int64), entries.col.astype(np.int64),
            cls(pattern.shape),
        )  # fmt: skip


def dense_as_sparse(recorder: Recorder, array: Any, cls: Any) -> SparseStandIn:
    """All entries of a dense matrix, zeros among them."""
    a = asarray(recorder, array)
    rows, columns = (index.reshape(-1) for index in np.indices(a.shape))
    return sparse_of(recorder, a.reshape(-1), rows, columns, cls(a.shape))


for _format in ("csr", "csc", "coo"):
    _made_of(getattr(scipy.sparse, f"{_format}_matrix"))
    _made_of(getattr(scipy.sparse, f"{_format}_array"))


def _diagonals(function: Any, kind: Any) -> None:
    @implements(function)
    def diags(recorder, diagonals, offsets=0, shape=None, format=None, dtype=None, **options):
        if not recorder.is_concrete(offsets):
            raise unsupported(f"{function.__name__} with traced offsets", "pass them as integers")
        is_one = np.ndim(offsets) == 0
        offsets = np.atleast_1d(recorder.plain(offsets)).tolist()
        given = [diagonals] if is_one else list(diagonals)
        if len(given) != len(offsets) or (is_one and np.ndim(diagonals[0])):
            raise ValueError("Different number of diagonals and offsets.")
        given = [np.atleast_1d(asarray(recorder, d)) for d in given]
        size = given[0].shape[0] + abs(offsets[0])
        shape = (size, size) if shape is None else shape
        parts, rows, columns = [], [], []
        for values, k in zip(given, offsets):
            count = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
            if values.shape[0] not in (1, count):
                raise ValueError(f"Diagonal length (index {k}) does not agree with array size {shape}.")
            parts.append(np.broadcast_to(values, (count,)))
            rows.append(np.arange(count) - min(k, 0))
            columns.append(np.arange(count) + max(k, 0))
        like = kind(shape, dtype=float).asformat(format or "csr")
        return sparse_of(recorder, np.concatenate(parts), np.concatenate(rows), np.concatenate(columns), like)


_diagonals(scipy.sparse.diags, scipy.sparse.csr_matrix)
if hasattr(scipy.sparse, "diags_array"):
    _diagonals(scipy.sparse.diags_array, scipy.sparse.csr_array)


def of_columns(recorder: Recorder, data: Any, offsets: Any, shape: Any, like: Any) -> SparseStandIn:
    """A matrix of diagonals as SciPy stores them, each with its numbers in the places of their columns."""
    if not recorder.is_concrete(offsets):
        raise unsupported("diagonals with traced offsets", "pass them as integers")
    offsets = np.atleast_1d(recorder.plain(offsets))
    data = np.atleast_2d(asarray(recorder, data))
    numbers = np.arange(1, data.shape[0] * data.shape[1] + 1).reshape(data.shape)
    entries = scipy.sparse.dia_array((numbers, offsets), shape=shape).tocoo()
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    return sparse_of(recorder, data.reshape(-1)[entries.data - 1], rows, columns, like)


def _of_diagonals(cls: Any, kind: Any) -> None:
    @implements(cls)
    def made(recorder, arg1, shape=None, dtype=None, copy=False, **options):
        if type(arg1) is not tuple:
            return FUNCTIONS[kind](recorder, arg1, shape, dtype)
        data, offsets = arg1
        data = asarray(recorder, data) if dtype is None else asarray(recorder, data).astype(dtype)
        return of_columns(recorder, data, offsets, shape, kind(shape))


_of_diagonals(scipy.sparse.dia_matrix, scipy.sparse.csr_matrix)
_of_diagonals(scipy.sparse.dia_array, scipy.sparse.csr_array)


@implements(scipy.sparse.spdiags)
def spdiags(recorder, data, diags, m=None, n=None, format=None):
    shape = m if n is None else (m, n)
    shape = (len(data[0]),) * 2 if shape is None else shape
    found = of_columns(recorder, data, diags, shape, scipy.sparse.csr_matrix(shape))
    return found if format is None else found.asformat(format)
