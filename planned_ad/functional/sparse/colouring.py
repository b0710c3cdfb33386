"""Colouring of sparsity patterns: which columns of a sparse matrix are found from one product with a vector.

Columns of a Jacobian share a colour where no row has an entry in two of them (distance-1 colouring of the column
intersection graph). Of a symmetric matrix fewer do: by star colouring each entry is an entry of a product, by acyclic
colouring it follows by substitution. All colourings are greedy, in the order of the columns, which is optimal for
bands.

References: Gebremedhin, Manne & Pothen, What color is your Jacobian?, SIAM Review 47 (2005); Gebremedhin, Tarafdar,
Manne & Pothen, New acyclic and star coloring algorithms with application to computing Hessians, SIAM J. Sci. Comput. 29
(2007); Gebremedhin, Pothen, Tarafdar & Walther, Efficient computation of sparse Hessians using coloring and automatic
differentiation, INFORMS J. Comput. 21 (2009).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse

Pattern = Any  # a Boolean scipy.sparse.csr_array, each row sorted and without duplicates
COMPILED_FROM = 20_000  # entries: below, plain Python is faster than compiling


@dataclass(frozen=True, slots=True)
class Recovery:
    """How the entries of a matrix follow from its compressed form, in which each colour is a line.

    `source`: of each slot, where it is in the compressed matrix, row-major. Then, in order, for each pair of `steps`:
    subtract the number in the first slot from that in the second. Then `entries`: of each entry of the pattern, by
    rows, its slot.
    """

    source: np.ndarray
    steps: np.ndarray  # of shape (count, 2)
    entries: np.ndarray

    def __call__(self, compressed: np.ndarray) -> np.ndarray:
        slots = compressed.reshape(-1)[self.source]
        for known, other in self.steps:
            slots[other] -= slots[known]
        return slots[self.entries]


def distance_1(pattern: Pattern) -> np.ndarray:
    """A colour for each column, so that no two columns with an entry in one row share theirs."""
    by_columns = canonical(pattern.T)
    return run(_distance_1, pattern.nnz, *arrays(pattern), *arrays(by_columns), pattern.shape[1])


def star(pattern: Pattern) -> np.ndarray:
    """A colour for each column of a symmetric pattern: neighbours differ, and so do some two on each path of four."""
    return symmetric(_star, pattern)


def acyclic(pattern: Pattern) -> np.ndarray:
    """A colour for each column of a symmetric pattern: neighbours differ, and each cycle has three colours."""
    return symmetric(_acyclic, pattern)


def direct_recovery(pattern: Pattern, colours: np.ndarray, *, of_rows: bool = False) -> Recovery:
    """From a line for each colour of columns (of rows): entry `(i, j)` is element `i` of the line of `j`'s colour."""
    rows, columns = coordinates(pattern)
    if of_rows:
        rows, columns = columns, rows
    length = pattern.shape[1 if of_rows else 0]
    source = colours[columns] * length + rows
    return Recovery(source, np.zeros((0, 2), np.int64), np.arange(len(source)))


def symmetric_recovery(pattern: Pattern, colours: np.ndarray) -> Recovery:
    """For a star or acyclic colouring of a symmetric pattern; without steps for a star colouring.

    An edge, which is two entries of one value, is in two slots. It is found from one in which all others are known.

    Raises
    ------
    ValueError
        Not all entries are found: the colouring is not acyclic.
    """
    rows, columns = coordinates(pattern)
    source, slot = np.unique(colours[columns] * pattern.shape[0] + rows, return_inverse=True)
    upper = np.flatnonzero(rows < columns)
    lower = np.lexsort((rows, columns))[upper]  # the same edges, as entries below the diagonal
    one, two = slot[upper], slot[lower]
    own, known, other, count = run(_peeled, pattern.nnz, one, two, len(source))
    diagonal = slot[rows == columns]
    if count < len(upper) or np.isin(diagonal, slot[rows != columns]).any():
        raise ValueError("the entries do not follow from the compressed matrix: the colouring is not acyclic")
    used = np.zeros(len(source), bool)
    used[own] = True
    steps = np.stack([known, other], axis=1)[used[other]]
    entries = slot.copy()
    entries[upper] = entries[lower] = own
    return Recovery(source, steps, entries)


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


def symmetric(greedy: Callable[..., np.ndarray], pattern: Pattern) -> np.ndarray:
    """Colours of the adjacency graph of a symmetric pattern.

    A column with very many entries gets a colour of its own, which no path or cycle of two colours can contain; the
    time for each other one is bounded by what its neighbours have.
    """
    rows, columns = coordinates(pattern)
    edges = rows != columns
    rows, columns = rows[edges], columns[edges]
    size = pattern.shape[0]
    dense = np.bincount(rows, minlength=size) > 4 * math.sqrt(len(rows)) + 16
    edges = ~(dense[rows] | dense[columns])
    rows, columns = rows[edges], columns[edges]
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    colours = run(greedy, len(rows), pointers, columns, size)
    colours[dense] = colours[~dense].max(initial=-1) + 1 + np.arange(dense.sum())
    return colours


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


def _acyclic(starts: np.ndarray, neighbours: np.ndarray, size: int) -> np.ndarray:
    """Greedy acyclic colouring (2007, Algorithm 3.1): no cycle has two colours.

    The edges between two colours form trees, kept as disjoint sets of edges. `v` must not get the colour of a vertex
    `x` behind a neighbour `w` if another of its neighbours touches the tree of `wx` as well.
    """
    colours = np.full(size, -1)
    forbidden = np.full(size + 1, -1)
    edge = np.zeros(len(neighbours), np.int64)  # the number that both directions of an edge have
    cursor = starts[:-1].copy()
    for v in range(size):
        for k in range(starts[v], starts[v + 1]):
            if neighbours[k] > v:
                edge[k] = k
                edge[cursor[neighbours[k]]] = k
                cursor[neighbours[k]] += 1
    tree = np.arange(len(neighbours))
    visitor = np.full((len(neighbours), 2), -1)  # of a tree: the vertex that came to it last, and from where
    first = np.full((size + 1, 2), -1)  # of a colour: the vertex that has a neighbour of it, and the edge to the first
    for v in range(size):
        for k in range(starts[v], starts[v + 1]):
            if colours[neighbours[k]] >= 0:
                forbidden[colours[neighbours[k]]] = v
        for k in range(starts[v], starts[v + 1]):
            w = neighbours[k]
            if colours[w] < 0:
                continue
            for m in range(starts[w], starts[w + 1]):
                x = neighbours[m]
                if x == v or colours[x] < 0 or forbidden[colours[x]] == v:
                    continue
                root = edge[m]
                while tree[root] != root:
                    tree[root] = tree[tree[root]]
                    root = tree[root]
                if visitor[root, 0] != v:
                    visitor[root, 0], visitor[root, 1] = v, w
                elif visitor[root, 1] != w:
                    forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for k in range(starts[v], starts[v + 1]):  # edges to one colour form a star; it joins the trees behind it
            w = neighbours[k]
            if colours[w] < 0:
                continue
            root = edge[k]
            if first[colours[w], 0] != v:
                first[colours[w], 0], first[colours[w], 1] = v, root
            else:
                other = first[colours[w], 1]
                while tree[other] != other:
                    other = tree[other]
                while tree[root] != root:
                    root = tree[root]
                tree[root] = other
            for m in range(starts[w], starts[w + 1]):
                if neighbours[m] != v and colours[neighbours[m]] == colour:
                    other, root = edge[m], edge[k]
                    while tree[other] != other:
                        other = tree[other]
                    while tree[root] != root:
                        root = tree[root]
                    tree[other] = root
    return colours


def _peeled(one: np.ndarray, two: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Edges in the order in which they are found: `known`, the slot, `other`, the slot to subtract it in.

    `own`: of each edge, its slot. Edges found without others come first.
    """
    count, inside = np.zeros(size, np.int64), np.zeros(size, np.int64)  # edges of a slot that are not found; their xor
    for e in range(len(one)):
        count[one[e]] += 1
        count[two[e]] += 1
        inside[one[e]] ^= e
        inside[two[e]] ^= e
    own, known, other = np.full(len(one), -1), np.full(len(one), -1), np.full(len(one), -1)
    queue = np.zeros(size, np.int64)
    head = tail = found = 0
    for s in range(size):
        if count[s] == 1:
            queue[tail] = s
            tail += 1
    while head < tail:
        s = queue[head]
        head += 1
        if count[s] != 1:
            continue
        e = inside[s]
        t = one[e] + two[e] - s
        own[e], known[found], other[found] = s, s, t
        found += 1
        count[s] -= 1
        count[t] -= 1
        inside[t] ^= e
        if count[t] == 1:
            queue[tail] = t
            tail += 1
    return own, known, other, found
