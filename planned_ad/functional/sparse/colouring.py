"""Colouring of sparsity patterns: which columns of a sparse matrix are found from one product with a vector.

Columns of a Jacobian share a colour where no row has an entry in two of them (distance-1 colouring of the column
intersection graph). Of a symmetric matrix fewer do: by star colouring each entry, or its mirror image, is an entry of a
product. All colourings are greedy, in the order of the columns, which is optimal for bands.

Acyclic colouring takes fewer products still, from which entries follow by substitution. Measured, its calls took as
long as those of star colouring on bands and grids (0.9 to 1.2 times, with 2 colours instead of 3 and 4 instead of 7:
the substitution is sequential), half of it on random patterns alone (6 colours instead of 12), with rounding errors
that add up along the chains; so it is not here.

References: Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005); Gebremedhin, Pothen,
Tarafdar & Walther, Efficient computation of sparse Hessians using coloring and automatic differentiation, INFORMS J.
Comput. 21 (2009).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse

Pattern = Any  # a Boolean scipy.sparse.csr_array, each row sorted and without duplicates
COMPILED_FROM = 20_000  # entries: below, plain Python is faster than compiling


def distance_1(pattern: Pattern) -> np.ndarray:
    """A colour for each column, so that no two columns with an entry in one row share theirs."""
    by_columns = canonical(pattern.T)
    return run(_distance_1, pattern.nnz, *arrays(pattern), *arrays(by_columns), pattern.shape[1])


def star(pattern: Pattern) -> np.ndarray:
    """A colour for each column of a symmetric pattern: neighbours differ, and so do some two on each path of four.

    A column with very many entries gets a colour of its own, which no path of two colours can contain; the time for
    each other one is bounded by what its neighbours have.
    """
    rows, columns = coordinates(pattern)
    edges = rows != columns
    rows, columns = rows[edges], columns[edges]
    size = pattern.shape[0]
    dense = np.bincount(rows, minlength=size) > 4 * math.sqrt(len(rows)) + 16
    edges = ~(dense[rows] | dense[columns])
    rows, columns = rows[edges], columns[edges]
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    colours = run(_star, len(rows), pointers, columns, size)
    colours[dense] = colours[~dense].max(initial=-1) + 1 + np.arange(dense.sum())
    return np.asarray(colours)


def source_of_entries(pattern: Pattern, colours: np.ndarray, *, of_rows: bool = False) -> np.ndarray:
    """Where each entry is in the compressed matrix, row-major: a line for each colour of columns (of rows).

    Entry `(i, j)` is element `i` of the line of `j`'s colour.
    """
    rows, columns = coordinates(pattern)
    if of_rows:
        rows, columns = columns, rows
    return colours[columns] * pattern.shape[1 if of_rows else 0] + rows


def source_of_symmetric_entries(pattern: Pattern, colours: np.ndarray) -> np.ndarray:
    """The same of a symmetric pattern: both entries of a pair come from where one of them is the only one.

    Raises
    ------
    ValueError
        There is no such place for some entry: the colouring is no star colouring.
    """
    source = source_of_entries(pattern, colours)
    _, place, count = np.unique(source, return_inverse=True, return_counts=True)
    is_alone = count[place] == 1
    rows, columns = coordinates(pattern)
    own, mirrored = np.arange(len(rows)), np.lexsort((rows, columns))
    first, second = np.minimum(own, mirrored), np.maximum(own, mirrored)
    chosen = np.where(is_alone[first], first, second)
    if not is_alone[chosen].all():
        raise ValueError("the entries do not follow from the compressed matrix: this is no star colouring")
    return source[chosen]


def canonical(pattern: Any) -> Pattern:
    """As a Boolean CSR array: entries that are stored are true, sorted, each once."""
    found = scipy.sparse.csr_array(pattern, copy=True)
    found.data = np.ones(found.nnz, bool)
    found.sum_duplicates()
    return found


def coordinates(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each entry, by rows."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def arrays(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    return pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)


# What follows is plain Python on arrays, which Numba compiles for large patterns.


def run(function: Callable[..., Any], size: int, *arguments: Any) -> Any:
    return (compiled(function) if size >= COMPILED_FROM else function)(*arguments)


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return numba.njit(function)


def _distance_1(
    row_starts: np.ndarray, columns: np.ndarray, column_starts: np.ndarray, rows: np.ndarray, size: int
) -> np.ndarray:
    """Greedy partial distance-2 colouring of the bipartite graph (2005, Algorithm 4.2)."""
    colours = np.full(size, -1)
    forbidden = np.full(size + 1, -1)  # of each colour, the last column that it was forbidden for
    for v in range(size):
        for k in range(column_starts[v], column_starts[v + 1]):
            for m in range(row_starts[rows[k]], row_starts[rows[k] + 1]):
                if colours[columns[m]] >= 0:
                    forbidden[colours[columns[m]]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
    return colours


def _star(starts: np.ndarray, neighbours: np.ndarray, size: int) -> np.ndarray:
    """Greedy star colouring (2005, Algorithm 4.5): no path of four vertices has two colours.

    Of a neighbour without colour, the neighbours all get different ones: that is why only paths that begin at `v`
    are looked at.
    """
    colours = np.full(size, -1)
    forbidden = np.full(size + 1, -1)
    for v in range(size):
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            if colours[w] >= 0:
                forbidden[colours[w]] = v
            for m in range(starts[w], starts[w + 1]):
                x = neighbours[m]
                if x == v or colours[x] < 0:
                    continue
                if colours[w] < 0:
                    forbidden[colours[x]] = v
                elif forbidden[colours[x]] != v:
                    for p in range(starts[x], starts[x + 1]):
                        y = neighbours[p]
                        if y != w and colours[y] == colours[w]:
                            forbidden[colours[x]] = v
                            break
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
    return colours
