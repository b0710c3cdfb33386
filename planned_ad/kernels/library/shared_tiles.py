"""Products of one layout and many sizes: one function of their sizes, where each in place would be code of its own.

A triangle that is cut into squares is a product for each size of them, on the same arrays: what differs between these
products is how many rows, columns and steps they have. Rows and columns that are left over from whole tiles are done by
tiles of which a part exists: the last row takes the place of rows that there are not, and is not stored for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

import numpy as np
from llvmlite import ir

from ..llvm.builder import TerseBuilder
from ..llvm.places import Place, loop
from ..llvm.types import I64, POINTER, align_stack
from ..nests.access import Tail, tail
from .tiles import VECTOR_BYTES, VECTORS, Tiled, emit_tile

ROWS = 4  # of a tile
SHARED_FROM = 3  # products: fewer are emitted in place

Kind = tuple[np.dtype, bool]  # whether it adds to what is there


@dataclass
class SharedTiles:
    """The layouts that have a function, and the functions."""

    kinds: frozenset[Kind] = frozenset()
    functions: dict[Kind, ir.Function] = field(default_factory=dict)

    @staticmethod
    def of(found: Iterable[Kind]) -> SharedTiles:
        """For the kinds of all products of a plan."""
        return SharedTiles(frozenset(kind for kind, count in Counter(found).items() if count >= SHARED_FROM))

    def call(self, builder: ir.IRBuilder, product: Tiled, kind: Kind, places: Iterable[ir.Value]) -> None:
        function = self.functions.get(kind)
        if function is None:
            name = f"{builder.function.name}.product{len(self.functions)}"
            function = self.functions[kind] = product_function(builder.module, name, *kind)
        numbers = (I64(getattr(product, f.name)) for f in fields(product))
        builder.call(function, [*(builder.bitcast(place, POINTER) for place in places), *numbers])


def product_function(module: ir.Module, name: str, dtype: np.dtype, accumulate: bool) -> ir.Function:
    """A function of the pointers to the first elements of scalar and vector operand and result, and of a `Tiled`."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 3 + [I64] * len(fields(Tiled))), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    align_stack(function)
    builder = TerseBuilder(function.append_basic_block("entry"))
    places = tuple(map(Place, function.args[:3]))
    product = Tiled(*function.args[3:])
    rows, width = product.rows, product.width
    lanes = VECTOR_BYTES // dtype.itemsize
    whole_rows = builder.sub(rows, builder.urem(rows, I64(ROWS)))
    whole_width = builder.sub(width, builder.urem(width, I64(lanes * VECTORS)))

    def tile_at(v: ir.Value, u: ir.Value, counts: list[int | Tail], last_row: ir.Value | None = None) -> None:
        emit_tile(builder, product, places, (I64(0), product.depth), v, u, ROWS, counts, dtype, accumulate, last_row)

    def rest(u: ir.Value) -> list[int | Tail]:
        return [tail(builder, builder.sub(width, u), lanes)]

    with loop(builder, I64(0), whole_rows, ROWS) as v:
        with loop(builder, I64(0), whole_width, lanes * VECTORS) as u:
            tile_at(v, u, [lanes] * VECTORS)
        with loop(builder, whole_width, width, lanes) as u:
            tile_at(v, u, rest(u))
    with loop(builder, whole_rows, rows, ROWS) as v, loop(builder, I64(0), width, lanes) as u:
        tile_at(v, u, rest(u), builder.sub(rows, I64(1)))
    builder.ret_void()
    return function
