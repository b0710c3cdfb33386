"""Sums over the rows of some arguments, part by part, so that few plans serve any number of rows.

    f(theta, rows) = f(theta, rows[:m]) + f(theta, rows[m:])        for every m

The rows are cut into parts of `largest` rows, and what is left into powers of four: there are no more plans than these.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..python.structure import Const, Leaf, Structure, flatten, is_mutable, updated

Arguments = tuple[tuple, dict[str, Any]]  # by position, by keyword


class RowArguments:
    """The arguments of one call, some of which have rows.

    Attributes
    ----------
    name : str
        Of the function.
    chosen : tuple of str
        The arguments that have rows.
    count : int
        Of the rows.
    """

    def __init__(self, name: str, chosen: Sequence[str], places: Sequence[int | str], given: Arguments):
        self.name, self.chosen, self.places, self.given = name, tuple(chosen), tuple(places), given
        args, kwargs = given
        self.taken: list[tuple[list[Any], Structure]] = [
            flatten(args[place] if isinstance(place, int) else kwargs[place], lambda node: type(node) is np.ndarray)
            for place in places
        ]
        self.count = self.common_length()

    def common_length(self) -> int:
        lengths: dict[str, int] = {}
        for key, (leaves, _) in zip(self.chosen, self.taken):
            for leaf in leaves:
                if type(leaf) is not np.ndarray or not leaf.ndim:
                    raise ArgumentError(f"{self.name}: {key} has rows that are summed over: an array, or several")
                if len(leaf) != lengths.setdefault(key, len(leaf)) or len(set(lengths.values())) > 1:
                    found = ", ".join(f"{n} of {k}" for k, n in (lengths | {key: len(leaf)}).items())
                    raise ArgumentError(f"{self.name}: what is summed over has as many rows everywhere, not {found}")
        count = next(iter(lengths.values()), 0)
        if not count:
            raise ArgumentError(f"{self.name}: there are no rows in {', '.join(self.chosen)}")
        return count

    def part(self, start: int, stop: int) -> Arguments:
        """The arguments with some of the rows."""
        return self.with_rows(lambda leaf: packed(leaf, start, stop))

    def with_rows(
        self, of: Callable[[np.ndarray], np.ndarray], mark: Callable[[Any], Any] = lambda rows: rows
    ) -> Arguments:
        """The arguments with `of(array)` in the place of each array of rows, each argument as `mark` has it."""
        args, kwargs = list(self.given[0]), dict(self.given[1])
        for place, (leaves, structure) in zip(self.places, self.taken):
            found = mark(of(leaves[0]) if structure.kind is Leaf else structure.unflatten(map(of, leaves)))
            if isinstance(place, int):
                args[place] = found
            else:
                kwargs[place] = found
        return tuple(args), kwargs

    @functools.cached_property
    def unmarked(self) -> RowArguments:
        """The same without `Const` around arguments."""
        args, kwargs = self.given
        if not any(type(argument) is Const for argument in (*args, *kwargs.values())):
            return self
        return self.replaced((tuple(map(unmarked, args)), {key: unmarked(a) for key, a in kwargs.items()}))

    def replaced(self, given: Arguments) -> RowArguments:
        """Other arguments, with rows in the same places."""
        return RowArguments(self.name, self.chosen, self.places, given)


def rows_of(name: str, parameters: inspect.Signature, chosen: Sequence[str], args: tuple, kwargs: dict) -> RowArguments:
    """The arguments of a call, of which those with rows are chosen by name."""
    try:
        bound = parameters.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{name}{parameters} cannot be called with these arguments: {error}") from None
    missing = next((key for key in chosen if key not in bound.arguments), None)
    if missing is not None:
        raise ArgumentError(f"{name}: pass {missing}, whose rows are summed over")
    places = [key if key in bound.kwargs else list(bound.arguments).index(key) for key in chosen]
    by_position = tuple(unmarked(a) if number in places else a for number, a in enumerate(bound.args))
    by_name = {key: unmarked(a) if key in places else a for key, a in bound.kwargs.items()}
    return RowArguments(name, chosen, places, (by_position, by_name))


def unmarked(argument: Any) -> Any:
    return argument.value if type(argument) is Const else argument


def packed(leaf: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Some rows; copied where a row is not packed, as in Fortran's order: strides would tell how many there are."""
    found = leaf[start:stop]
    return found if leaf[:1].flags.c_contiguous else np.ascontiguousarray(found)


def parts(count: int, largest: int) -> Iterator[tuple[int, int]]:
    """Where so many rows are cut.

    >>> list(parts(28, 16)), list(parts(33, 16))
    ([(0, 16), (16, 20), (20, 24), (24, 28)], [(0, 16), (16, 32), (32, 33)])
    """
    start, size = 0, largest
    while start < count:
        while size > count - start:
            size //= 4
        yield start, start + size
        start += size


def gradient_sum(total: Any, part: Any) -> Any:
    """The sum of two gradients that are nested alike, in the memory of the first."""
    if type(total) is np.ndarray:
        total += part
        return total
    if isinstance(total, float | np.floating):
        return total + part
    leaves, structure = flatten(total)
    return updated(total, structure, map(gradient_sum, leaves, flatten(part)[0]), is_mutable)
