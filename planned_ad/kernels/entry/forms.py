"""Arguments in other forms than all by position: some by keyword, some missing. Brought in order in machine code.

One function for all calls, compiled once in a process; a table says what a call takes.
"""

import ctypes
import functools
import sys

from llvmlite import ir

from ..llvm.builder import TerseBuilder
from ..llvm.codelibrary import LITTLE, lasting_address
from ..llvm.types import I32, I64, POINTER
from . import headers
from .callspec import Forms

HEADER, FIELDS = 4, 3  # of a table: numbers before, and for each parameter


def forms_table(forms: Forms) -> ctypes.Array:
    """How many arguments, how many by position, `None`, how many together; of each its name, whether it may be missing,
    and whether it is one of those together. Names are interned, so that they are compared by address."""
    optional = dict(forms.made)
    names = [sys.intern(name) for name in forms.names]
    rows = [
        number
        for k, name in enumerate(names)
        for number in (id(name) if name else 0, int(k in optional), int(k in forms.together))
    ]
    table = (ctypes.c_int64 * (HEADER + len(rows)))(
        len(names), min(forms.most, len(names)), id(None), len(forms.together), *rows
    )
    table.names = names  # type: ignore[attr-defined]
    return table


@functools.cache
def arranger() -> int:
    """The address of ``int32 arrange(table, args, nargs, kwnames, ordered)``: 0 where `ordered` has been filled.

    It has not where an argument is missing, is passed twice, out of order, or by a name that there is none of.
    """
    return lasting_address("arrange", lambda module: _emit(module, "arrange"), LITTLE)


SIGNATURE = ir.FunctionType(I32, [I64.as_pointer(), I64.as_pointer(), I64, POINTER, I64.as_pointer()])


def _emit(module: ir.Module, symbol: str) -> None:
    function = ir.Function(module, SIGNATURE, symbol)
    builder = TerseBuilder(function.append_basic_block("entry"))
    table, arguments, count, keywords, ordered = function.args
    number, used, together = (builder.alloca(I64) for _ in range(3))
    named = builder.alloca(I64)
    for cell in (number, used, together, named):
        builder.store(I64(0), cell)
    refuse, loop, body, after, done = (
        function.append_basic_block(name) for name in ("refuse", "loop", "body", "after", "done")
    )

    def at(place: ir.Value, index: ir.Value) -> ir.Value:
        return builder.load(builder.gep(place, [index]))

    def increase(cell: ir.Value, by: ir.Value) -> None:
        builder.store(builder.add(builder.load(cell), by), cell)

    with builder.if_then(builder.icmp_unsigned("!=", keywords, POINTER(None))):
        length = builder.gep(keywords, [I64(headers.SEQUENCE_LENGTH)])
        builder.store(builder.load(builder.bitcast(length, I64.as_pointer())), named)
    names = builder.bitcast(builder.gep(keywords, [I64(headers.TUPLE_ITEMS)]), I64.as_pointer())
    builder.cbranch(builder.icmp_signed(">", count, at(table, I64(1))), refuse, loop)

    builder.position_at_end(loop)
    position = builder.load(number)
    builder.cbranch(builder.icmp_signed("<", position, at(table, I64(0))), body, after)

    builder.position_at_end(body)
    row = builder.add(builder.mul(position, I64(FIELDS)), I64(HEADER))
    name, optional, group = (at(table, builder.add(row, I64(k))) for k in range(FIELDS))
    place = builder.gep(ordered, [position])
    increase(number, I64(1))
    by_position, later, ask, by_name, missing, made = (
        function.append_basic_block(name) for name in ("position", "later", "ask", "name", "missing", "made")
    )
    builder.cbranch(builder.icmp_signed("<", position, count), by_position, later)
    builder.position_at_end(by_position)
    builder.store(at(arguments, position), place)
    increase(together, group)
    builder.branch(loop)
    builder.position_at_end(later)
    builder.cbranch(builder.icmp_signed("<", builder.load(used), builder.load(named)), ask, missing)
    builder.position_at_end(ask)
    builder.cbranch(builder.icmp_signed("==", at(names, builder.load(used)), name), by_name, missing)
    builder.position_at_end(by_name)
    builder.store(at(arguments, builder.add(count, builder.load(used))), place)
    increase(used, I64(1))
    increase(together, group)
    builder.branch(loop)
    builder.position_at_end(missing)
    builder.cbranch(builder.icmp_signed("!=", optional, I64(0)), made, refuse)
    builder.position_at_end(made)
    builder.store(at(table, I64(2)), place)
    builder.branch(loop)

    builder.position_at_end(after)
    all_used = builder.icmp_signed("==", builder.load(used), builder.load(named))
    none, every = (builder.icmp_signed("==", builder.load(together), n) for n in (I64(0), at(table, I64(3))))
    builder.cbranch(builder.and_(all_used, builder.or_(none, every)), done, refuse)
    builder.position_at_end(done)
    builder.ret(I32(0))
    builder.position_at_end(refuse)
    builder.ret(I32(1))
