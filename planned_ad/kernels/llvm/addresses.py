"""What code refers to outside of its module: each address lies in a cell of the module, filled once it is loaded.

So neither the text of a module nor its machine code holds an address, and both are the same in every process: machine
code is found again by the text that it was made from, and is stored with the list of what its cells are to hold.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .types import I64, POINTER


@dataclass(frozen=True, slots=True, eq=False)
class Referent:
    """What a cell points to.

    Parameters
    ----------
    kind : str
        'object' (a Python object), 'array' (the first element of one), 'integers' (a table of them), or one of those
        that whoever loads the code knows more of.
    what : object
    """

    kind: str
    what: Any

    @property
    def key(self) -> tuple:
        by_identity = self.kind in ("object", "array")
        return self.kind, id(self.what) if by_identity else self.what


class OpenModule(ir.Module):
    """A module that refers to what is outside of it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.referents: dict[str, Referent] = {}  # by the name of the cell
        self._cells: dict[tuple, ir.GlobalVariable] = {}

    def cell(self, referent: Referent) -> ir.GlobalVariable:
        found = self._cells.get(referent.key)
        if found is None:
            name = f"outside.{len(self._cells)}"
            found = self._cells[referent.key] = ir.GlobalVariable(self, I64, name)
            found.initializer, found.align = I64(0), 8
            self.referents[name] = referent
        return found


def integer_at(builder: ir.IRBuilder, kind: str, what: Any) -> ir.Value:
    """The address of what is outside, as an integer."""
    module = builder.module
    assert isinstance(module, OpenModule)
    number = builder.load(module.cell(Referent(kind, what)))
    number.set_metadata("invariant.load", module.add_metadata([]))
    return number


def pointer_at(builder: ir.IRBuilder, kind: str, what: Any, pointee: ir.Type | None = None) -> ir.Value:
    """The address of what is outside, as a pointer."""
    return builder.inttoptr(integer_at(builder, kind, what), POINTER if pointee is None else pointee.as_pointer())


def plain_address(referent: Referent) -> tuple[int, object]:
    """The address of what any code may refer to, and what has to be kept for it."""
    kind, what = referent.kind, referent.what
    if kind == "object":
        return id(what), what
    if kind == "array":
        return what.ctypes.data, what
    if kind == "integers":
        table = (ctypes.c_int64 * max(len(what), 1))(*what)
        return ctypes.addressof(table), table
    if kind == "address":  # of this process only
        return what, None
    raise KeyError(kind)
