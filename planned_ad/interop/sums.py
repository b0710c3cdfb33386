"""Gradients of sums over data in parts: what is done to one part, and how results are put together.

An engine (`dask`, `futures`, `joblib`) has `of_part` run wherever a part of the data is, and puts what comes out
together with `combined`, in a tree whose shape depends on the number of parts alone: the same parts give the same sum,
to the last bit, whoever computes them and however often.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import pickle
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, PlannedADError
from ..functional.function import Function
from ..functional.row_sums import gradient_sum
from ..python.structure import flatten

FAN_IN = 8  # how many results are put together at once
MOST_FUNCTIONS = 8  # that a process holds
MOST_SENT_AGAIN = 1 << 20  # bytes: of larger functions it is not looked whether they have changed


class Total(NamedTuple):
    """What some parts sum to, and how many of them and of their rows these are."""

    value: float
    gradient: Any
    parts: int
    rows: int


def of_part(function: Function, parameters: Sequence[Any], part: Any, with_gradient: bool) -> Total:
    """What one part of the data contributes."""
    rows = rows_in(function, part)
    args, kwargs = function.joined(parameters, rows)
    value, gradient = (
        function.value_and_gradient(*args, **kwargs) if with_gradient else (function(*args, **kwargs), None)
    )
    return Total(value, gradient, 1, len(flatten(rows, lambda node: type(node) is np.ndarray)[0][0]))


def combined(totals: Sequence[Total]) -> Total:
    """What several totals sum to, in this order; they are left as they are, since an engine may use them again."""
    first, *others = totals
    gradient = first.gradient
    if others and gradient is not None:
        gradient = reduce(gradient_sum, (total.gradient for total in others), copied_gradient(gradient))
    return Total(
        sum((total.value for total in others), first.value),
        gradient,
        sum(total.parts for total in totals),
        sum(total.rows for total in totals),
    )


def copied_gradient(gradient: Any) -> Any:
    leaves, structure = flatten(gradient)
    return structure.unflatten([np.copy(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])


def tree(totals: Sequence[Total], fan_in: int = FAN_IN) -> Total:
    """All totals put together, up to `fan_in` neighbours at a time."""
    while len(totals) > 1:
        totals = [combined(group) for group in in_groups(totals, fan_in)]
    return totals[0]


def in_groups(items: Sequence[Any], count: int) -> list[list[Any]]:
    return [list(items[k : k + count]) for k in range(0, len(items), count)]


def rows_in(function: Function, part: Any) -> tuple[Any, ...]:
    """The arguments with rows, as a part holds them: a tuple, or by itself where there is one."""
    part = part() if callable(part) else part
    if len(function.sums_over) == 1 and type(part) is not tuple:
        part = (part,)
    if not isinstance(part, tuple | list) or len(part) != len(function.sums_over):
        raise ArgumentError(f"a part of the data is a tuple of {', '.join(function.sums_over)}")
    return tuple(np.asarray(rows) if isinstance(rows, np.memmap) else rows for rows in part)


class SumOverParts:
    """A loss that is a sum over parts of data: its value and gradient, by the parameters.

    Attributes
    ----------
    function : Function
        The loss of one part.
    """

    def __init__(self, function: Function, parts: Sequence[Any]):
        if type(function) is not Function or not function.sums_over:
            raise ArgumentError(
                "a sum over parts is of planned_ad.function(f, sums_over=...), which says what has rows"
            )
        if not len(parts):
            raise ArgumentError("there are no parts to sum over")
        self.function, self._count = function, len(parts)
        self._rows: int | None = None
        self._sent: Shipped | None = None

    def __call__(self, *parameters: Any) -> float:
        return self._checked(self._total(parameters, False)).value

    def value_and_gradient(self, *parameters: Any) -> tuple[float, Any]:
        """`(value, gradient)`: what the function takes besides rows is passed in its order."""
        total = self._checked(self._total(parameters, True))
        return total.value, total.gradient

    def gradient(self, *parameters: Any) -> Any:
        return self.value_and_gradient(*parameters)[1]

    def _total(self, parameters: tuple, with_gradient: bool) -> Total:
        raise NotImplementedError

    def _checked(self, total: Total) -> Total:
        """Refuse a total in which a part is missing, or counted twice, or has other rows than before."""
        rows = self._rows = total.rows if self._rows is None else self._rows
        if (total.parts, total.rows) != (self._count, rows):
            raise PlannedADError(
                f"the sum has {total.parts} parts of {total.rows} rows, and should have {self._count} of {rows}"
            )
        return total

    @property
    def _shipped(self) -> Shipped:
        """The function as it is now: with what has changed in globals and closures that are sent by value."""
        if self._sent is None or len(self._sent.content) <= MOST_SENT_AGAIN:
            now = Shipped(self.function)
            self._sent = self._sent if self._sent is not None and self._sent.name == now.name else now
        return self._sent


# To processes that hold nothing from one task to the next by themselves.


class Shipped:
    """A function as bytes: each process makes it once, and keeps the plans that it compiles for it."""

    def __init__(self, function: Function):
        self.content = function_bytes(function)
        self.name = hashlib.blake2b(self.content, digest_size=16).hexdigest()

    def get(self) -> Function:
        with _LOCK:
            found = _FUNCTIONS.get(self.name)
            if found is None:
                found = _FUNCTIONS[self.name] = pickle.loads(self.content)
                while len(_FUNCTIONS) > MOST_FUNCTIONS:
                    _FUNCTIONS.popitem(last=False)
            _FUNCTIONS.move_to_end(self.name)
        return found


_FUNCTIONS: collections.OrderedDict[str, Function] = collections.OrderedDict()
_LOCK = threading.Lock()


def function_bytes(function: Function) -> bytes:
    """By value what cannot be imported, where cloudpickle is installed (joblib and Dask bring it)."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(function)
    return cloudpickle.dumps(function)


def of_shipped(shipped: Shipped, parameters: Sequence[Any], part: Any, with_gradient: bool) -> Total:
    return of_part(shipped.get(), parameters, part, with_gradient)


class OnDisk:
    """Parts of data in files of a temporary folder, which all processes of a machine map into their memory."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    @cached_property
    def _folder(self) -> Path:
        """Gone with this, or at the end of the process."""
        found = tempfile.mkdtemp(prefix="planned_ad-")
        weakref.finalize(self, shutil.rmtree, found, ignore_errors=True)
        return Path(found)

    def part(self, part: Any) -> Any:
        """What stands for a part that is in memory; what is called for it, is called by each process itself."""
        if callable(part):
            return part
        leaves, structure = flatten(part, lambda node: type(node) is np.ndarray)
        return Mapped([self._saved(leaf) if type(leaf) is np.ndarray else leaf for leaf in leaves], structure)

    def _saved(self, array: np.ndarray) -> Path:
        path = self._folder / f"{next(self._numbers)}.npy"
        np.save(path, array)
        return path


class Mapped:
    """A part of data in files."""

    def __init__(self, leaves: list[Any], structure: Any):
        self.leaves, self.structure = leaves, structure

    def __call__(self) -> Any:
        read = (np.asarray(np.load(f, mmap_mode="r")) if isinstance(f, Path) else f for f in self.leaves)
        return self.structure.unflatten(read)
