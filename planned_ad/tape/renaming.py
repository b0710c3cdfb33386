"""A second copy of some operations, under other names: of their values, their memory and their loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..regions.affine import Affine, Ragged, affine, ragged
from ..regions.regions import Region, View
from .tape import Loop, Operation, Value

Names = dict[int, int]


@dataclass
class Copier:
    """Copies operations, and remembers what it calls things.

    Values (from the id `first` on) that the copied operations define get new names, and so do loops if there is a
    `new_index`; all else that `values`, `buffers` and `indices` do not have stays what it is.
    """

    new_value: Callable[[tuple[int, ...], Any], Value]
    new_index: Callable[[], int] | None = None
    first: int = 0
    values: dict[int, Value] = field(default_factory=dict)
    buffers: Names = field(default_factory=dict)
    indices: Names = field(default_factory=dict)

    def copy(self, op: Operation) -> Operation:
        """`op` under the new names."""
        if isinstance(op, Loop) and self.new_index is not None:
            self.indices[op.index] = self.new_index()
            op = replace(op, index=self.indices[op.index])
        for value in op.outputs:
            if value.id >= self.first:
                self.values[value.id] = self.new_value(self.renamed(value.shape), value.dtype)
        changes = {f.name: self.renamed(getattr(op, f.name)) for f in fields(op) if f.name != "line"}
        return replace(op, **changes)

    def renamed(self, item: Any) -> Any:
        """Whatever an operation holds, under the new names."""
        match item:
            case Value():
                return self.values.get(item.id, item)
            case Region():
                return Region(self.buffers.get(item.buffer, item.buffer), self.renamed(item.view))
            case View():
                return View(self.renamed(item.offset), self.renamed(item.shape), item.strides)
            case Ragged():
                return ragged(int(item), self.renamed(item.expression))
            case Affine():
                return affine(item.constant, {self.indices.get(index, index): c for index, c in item.terms})
            case Operation():
                return self.copy(item)
            case tuple() if type(item) is tuple:
                return tuple(map(self.renamed, item))
        return item
