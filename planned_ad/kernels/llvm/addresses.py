"""What code refers to outside of its module: each address lies in a cell of the module, filled once it is loaded.

So neither the text of a module nor its machine code holds an address, and both are the same in every process: machine
code is found again by the text that it was made from, and is stored with the list of what its cells are to hold.

A `TableModule` has no cells: its functions are handed a table of what they refer to, so that the same machine code, in
memory once, serves calls that differ in nothing but that.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
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
        'object' (a Python object), 'array' (the first element of one), 'number' (an integer itself), or one of those
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
    """A module that refers to what is outside of it; one that `stands_alone` to data only, and to C's functions."""

    def __init__(self, name: str, stands_alone: bool = False) -> None:
        super().__init__(name)
        self.stands_alone = stands_alone
        self.referents: dict[str, Referent] = {}  # by the name of the cell
        self._cells: dict[tuple, ir.GlobalVariable] = {}
        self._weights: dict[bool, ir.MDValue] = {}

    def cell(self, referent: Referent) -> ir.GlobalVariable:
        found = self._cells.get(referent.key)
        if found is None:
            name = f"outside.{len(self._cells)}"
            found = self._cells[referent.key] = ir.GlobalVariable(self, I64, name)
            found.initializer, found.align = I64(0), 8
            self.referents[name] = referent
        return found

    def place(self, builder: ir.IRBuilder, referent: Referent) -> ir.Value:
        """Where the address of what is outside is found."""
        return self.cell(referent)

    @functools.cached_property
    def nothing(self) -> ir.MDValue:
        """What is said of a load that it is invariant: nothing more. llvmlite looks for it as long as it makes it."""
        return self.add_metadata([])

    def expect(self, branch: ir.PredictableInstr, goes: bool) -> None:
        """Say which way a branch nearly always goes."""
        weights = self._weights.get(goes)
        if weights is None:
            branch.set_weights([99, 1] if goes else [1, 99])
            self._weights[goes] = branch.metadata["prof"]
        else:
            branch.set_metadata("prof", weights)


def take_apart(module: ir.Module) -> None:
    """Have a module that is written go at once: its parts refer to one another, and the collector of garbage is slow.

    Nothing may look at the module, its functions and their blocks any more.
    """
    for value in module.globals.values():
        if isinstance(value, ir.Function):
            for block in value.blocks:
                vars(block).clear()
        vars(value).clear()
    vars(module).clear()


class TableModule(OpenModule):
    """A module of one function, which finds what is outside in its `table`, a pointer to integers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.table: ir.Value | None = None
        self._numbers: dict[tuple, int] = {}  # of what is in the table, the place

    def place(self, builder: ir.IRBuilder, referent: Referent) -> ir.Value:
        number = self._numbers.get(referent.key)
        if number is None:
            number = self._numbers[referent.key] = self._append(referent)
        return builder.gep(self.table, [I64(number)])

    def integers(self, builder: ir.IRBuilder, integers: Iterable[int]) -> ir.Value:
        """Where these integers lie in the table, one after the other: code that differs in them only is the same."""
        first = len(self.referents)
        for integer in integers:
            self._append(Referent("number", integer))
        return builder.gep(self.table, [I64(first)])

    def _append(self, referent: Referent) -> int:
        self.referents[f"table.{len(self.referents)}"] = referent
        return len(self.referents) - 1


def integer_at(builder: ir.IRBuilder, kind: str, what: Any) -> ir.Value:
    """The address of what is outside, as an integer."""
    module = builder.module
    assert isinstance(module, OpenModule)
    return invariant(builder, module.place(builder, Referent(kind, what)))


def invariant(builder: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """What lies somewhere for good."""
    number = builder.load(place)
    number.set_metadata("invariant.load", builder.module.nothing)
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
    if kind in ("number", "address"):  # an address is of this process only
        return what, None
    raise KeyError(kind)
