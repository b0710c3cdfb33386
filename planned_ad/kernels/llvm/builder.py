"""A builder of LLVM that leaves out what says nothing, and what it has said in the same block already.

Addresses are sums and products of indices, most of them with zero or one, and the same ones again at each access. LLVM
would find all that, but whatever it is told has to be written, read and looked at first: half of what emission would
write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir


class Retyped(ir.values.NamedValue):
    """A pointer, of which llvmlite thinks that it points to something else: to LLVM it is the same."""

    def __init__(self, pointer: ir.Value, kind: ir.Type) -> None:
        self.pointer, self.type = pointer, kind

    def _get_reference(self) -> str:
        return self.pointer.get_reference()


class TerseBuilder(ir.IRBuilder):
    """Writes at the end of blocks: so what a block computes is there for all that comes later in it."""

    def __init__(self, block: ir.Block | None = None) -> None:
        super().__init__(block)
        self._said: dict[ir.Block, dict[tuple, ir.Instruction]] = {}

    def add(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if is_the_integer(lhs, 0):
            return rhs
        return lhs if is_the_integer(rhs, 0) else self._once("add", super().add, lhs, rhs, name, tuple(flags))

    def mul(self, lhs: ir.Value, rhs: ir.Value, name: str = "", flags: Sequence[str] = ()) -> ir.Value:
        if is_the_integer(lhs, 1):
            return rhs
        return lhs if is_the_integer(rhs, 1) else self._once("mul", super().mul, lhs, rhs, name, tuple(flags))

    def gep(self, ptr: ir.Value, indices: Sequence[ir.Value], *rest: Any, **options: Any) -> ir.Value:
        if len(indices) != 1 or rest or options:
            return super().gep(ptr, indices, *rest, **options)
        (index,) = indices
        return ptr if is_the_integer(index, 0) else self._once("gep", self._element, ptr, index)

    def _element(self, pointer: ir.Value, index: ir.Value) -> ir.Value:
        return super().gep(pointer, [index])

    def bitcast(self, value: ir.Value, typ: ir.Type, name: str = "") -> ir.Value:
        pointers = isinstance(value.type, ir.PointerType) and isinstance(typ, ir.PointerType)
        if not pointers:
            return super().bitcast(value, typ, name)
        pointer = value.pointer if isinstance(value, Retyped) else value
        return pointer if pointer.type == typ else Retyped(pointer, typ)

    def _once(self, what: str, write: Callable[..., ir.Value], one: ir.Value, other: ir.Value, *rest: Any) -> ir.Value:
        """What `write` would write, or what it wrote of the same in this block."""
        said = self._said.setdefault(self.block, {})
        key = (what, value_key(one), value_key(other), *rest)
        found = said.get(key)
        if found is None:
            found = said[key] = write(one, other, *rest)
        return found


def is_the_integer(value: ir.Value, number: int) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType) and value.constant == number


def value_key(value: ir.Value) -> object:
    """What is equal for the same value, which is there as long as what was written of it."""
    if isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType):
        return value.type.width, value.constant
    return (value_key(value.pointer), value.type) if isinstance(value, Retyped) else id(value)
