"""A triangle cut into squares: half of its rows by half of its columns, two of a quarter, and what is left.

>>> from planned_ad.regions.affine import affine
>>> loop = Loop(index=0, start=0, step=1, trips=128, body=())
>>> numbers = iter(range(1, 100))
>>> for piece in triangle_pieces(GrowingAxis(loop, affine(0, {0: 1}), 0), lambda: next(numbers)):
...     print(piece.rows, "rows:", piece.row, "from", piece.first, "to", piece.end)
64 rows: i1 + 64 from 0 to 64
32 rows: 64*i2 + i3 + 32 from 64*i2 to 64*i2 + 32
16 rows: 32*i4 + i5 + 16 from 32*i4 to 32*i4 + 16
15 rows: 16*i6 + i7 + 1 from 16*i6 to 16*i6 + i7 + 1

(Recursive splitting of triangular routines: Elmroth, Gustavson, Jonsson & Kagstrom, Recursive blocked algorithms and
hybrid data structures for dense matrix library software, SIAM Review 46, 2004.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...regions.affine import Affine, Extent, Ragged, exact, loop_index, ragged, substitute
from ...regions.regions import View
from ...tape.renaming import Copier
from ...tape.tape import Loop
from .growing_axes import GrowingAxis

LANES = 8  # of vectors
LEAF = 16  # rows of the triangles that stay loops, at least; fewer than twice as many


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows, and for each of them the numbers from `first` to `end` of the axis, counted as they came to it.

    `row` is in terms of `index`, which has `rows` values, and of that of `blocks`.
    """

    index: int
    rows: int
    row: Extent
    first: Extent
    end: Extent
    blocks: Loop | None = None  # over pieces of this size

    @property
    def is_triangle(self) -> bool:
        """Whether each row has one number more than the one before."""
        return isinstance(self.end - self.first, Affine)


@dataclass
class InPiece(Copier):
    """Copies operations of one iteration for a row of a piece."""

    growth: GrowingAxis | None = None
    piece: Piece | None = None

    def renamed(self, item: Any) -> Any:
        assert self.growth is not None and self.piece is not None
        growth, piece = self.growth, self.piece
        match item:
            case View():
                first = self.begin()
                moved = sum(item.strides[k] for k in growth.axes(item.shape)) * first
                return View(self.renamed(item.offset) + moved, self.renamed(item.shape), item.strides)
            case Ragged() if growth.is_along(item):
                return ragged(int(piece_width(piece)), exact(piece_width(piece)))
            case Ragged():
                return ragged(int(item), self.renamed(item.expression))
            case Affine():
                return substitute(item, growth.loop.index, growth.index_of(piece.row))
        return super().renamed(item)

    def begin(self) -> Extent:
        """The first number of the piece along the axis, as it lies in memory."""
        assert self.growth is not None and self.piece is not None
        return self.growth.least + self.piece.row - self.piece.end if self.growth.in_front else self.piece.first


def piece_width(piece: Piece) -> int:
    """How many numbers a row of the piece has."""
    width = piece.end - piece.first
    return Ragged(piece.rows, width) if isinstance(width, Affine) else width


def triangle_pieces(growth: GrowingAxis, new_index: Callable[[], int]) -> Iterator[Piece]:
    """The pieces of the triangle: the rectangle beside it, squares from large to small, triangles, and what is left.

    (The first row of a triangle has nothing in it.)
    """
    rows, least = growth.rows, growth.least
    leaf = leaf_rows(rows)
    whole = leaf << levels(rows)

    def inner(count: int) -> tuple[int, Extent]:
        index = new_index()
        return index, growth.upwards(loop_index(index), count)

    if least:
        index, at = inner(rows)
        yield Piece(index, rows, at, 0, least)
    size = whole // 2
    while size >= leaf:
        blocks, begin = over_blocks(whole // (2 * size), 2 * size, new_index)
        index, at = inner(size)
        yield Piece(index, size, begin + at + size, begin + least, begin + size + least, blocks)
        size //= 2
    blocks, begin = over_blocks(whole // leaf, leaf, new_index)
    index, at = inner(leaf - 1)
    yield Piece(index, leaf - 1, begin + at + 1, begin + least, begin + at + 1 + least, blocks)
    if whole < rows:
        index, at = inner(rows - whole)
        yield Piece(index, rows - whole, at + whole, least, least + whole)
    if whole + 1 < rows:
        index, at = inner(rows - whole - 1)
        yield Piece(index, rows - whole - 1, at + whole + 1, whole + least, at + whole + 1 + least)


def over_blocks(count: int, rows: int, new_index: Callable[[], int]) -> tuple[Loop | None, Extent]:
    """A loop over so many blocks of rows, and where each begins; no loop where there is one."""
    if count == 1:
        return None, 0
    loop = Loop(index=new_index(), start=0, step=1, trips=count, body=())
    return loop, loop_index(loop.index) * rows


def leaf_rows(rows: int) -> int:
    """Rows of the smallest triangles: whole vectors, where a triangle is left over in any case."""
    count = levels(rows)
    leaf = rows >> count
    whole = leaf // LANES * LANES
    return whole if rows - (leaf << count) > 1 and rows - (whole << count) <= whole else leaf


def levels(rows: int) -> int:
    """How often a triangle is halved."""
    count = 0
    while rows >> (count + 1) >= LEAF:
        count += 1
    return count
