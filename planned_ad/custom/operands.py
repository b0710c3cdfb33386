"""Which arguments and results of a user's function are operands of a call, and how they nest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..python.structure import Leaf, Structure, flatten
from ..tracing.record.promotion import KINDS
from ..tracing.values.array_tracer import ArrayTracer
from ..tracing.values.loop_index import LoopIndex
from ..tracing.values.scalar_tracer import ScalarTracer


@dataclass(frozen=True, slots=True)
class Operand:
    """A leaf that is computed with: an 'array', a 'scalar' (of NumPy) or a 'number' (of Python)."""

    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def type(self) -> tuple[tuple[int, ...], np.dtype]:
        return self.shape, self.dtype

    @property
    def is_floating(self) -> bool:
        return self.dtype.kind == "f"

    def example(self) -> np.ndarray:
        return np.zeros(self.shape, self.dtype)

    def object(self, array: Any) -> Any:
        """What the user's function sees of an array, traced or not, of shape () for scalars and numbers."""
        if self.kind == "array":
            return array
        return array[()] if self.kind == "scalar" else array[()].item()


@dataclass(frozen=True, slots=True)
class Static:
    """A leaf that is passed through as it is."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


def leaf_of(obj: Any) -> Operand | Static:
    kind = type(obj)
    if kind is ArrayTracer or kind is np.ndarray:
        return Operand("array", tuple(obj.shape), obj.dtype) if obj.dtype in KINDS else Static(obj)
    if kind is ScalarTracer:
        return Operand("number" if obj.is_python else "scalar", (), obj.dtype)
    if kind is LoopIndex:
        return Operand("number", (), np.dtype(np.int64))
    if kind is float:
        return Operand("number", (), np.dtype(np.float64))
    if isinstance(obj, np.generic) and obj.dtype in KINDS:
        return Operand("scalar", (), obj.dtype)
    return Static(obj)


@dataclass(frozen=True, slots=True)
class Form:
    """The arguments (a dict by parameter) or the result of a function: how they nest, and what their leaves are."""

    structure: Structure
    leaves: tuple[Operand | Static, ...]

    @property
    def operands(self) -> list[Operand]:
        return [leaf for leaf in self.leaves if isinstance(leaf, Operand)]

    def objects(self, arrays: Sequence[Any]) -> Any:
        """The whole, of an array for each operand."""
        left = iter(arrays)
        return self.structure.unflatten(
            [leaf.object(next(left)) if isinstance(leaf, Operand) else leaf.value for leaf in self.leaves]
        )

    def derivatives(self, arrays: Sequence[Any]) -> Any:
        """Cotangents or tangents, one for each floating operand, nested alike; None for other leaves."""
        left = iter(arrays)
        found = [
            leaf.object(next(left)) if isinstance(leaf, Operand) and leaf.is_floating else None for leaf in self.leaves
        ]
        return self.structure.unflatten(found)

    def parts(self) -> Iterator[tuple[str, Form, list[int]]]:
        """Of arguments: for each parameter its form, and the numbers of its operands."""
        start = first = 0
        for name, child in zip(self.structure.keys, self.structure.children):
            leaves = self.leaves[start : start + child.leaf_count]
            start += child.leaf_count
            part = Form(child, leaves)
            count = len(part.operands)
            yield str(name), part, list(range(first, first + count))
            first += count


def is_floating(leaf: Operand | Static) -> bool:
    return isinstance(leaf, Operand) and leaf.is_floating


def form_of(tree: Any) -> tuple[list[Any], Form]:
    """The leaves of `tree` that are operands, and its form."""
    leaves, structure = flatten(tree)
    form = Form(structure, tuple(map(leaf_of, leaves)))
    return [obj for obj, leaf in zip(leaves, form.leaves) if isinstance(leaf, Operand)], form


Refuse = Callable[[str], Exception]


def matched(form: Form, tree: Any, name: str, refuse: Refuse) -> list[tuple[str, Any]]:
    """For each floating operand of `form`, how it is called, and what `tree` (None for zero) has in its place."""
    found: list[tuple[str, Any]] = []
    leaves = iter(form.leaves)

    def visit(structure: Structure, node: Any, path: str) -> None:
        if structure.kind is Leaf:
            if is_floating(next(leaves)):
                found.append((path, node))
            return
        is_indexed = structure.kind in (tuple, list) or issubclass(structure.kind, dict)
        for key, child in zip(structure.keys, structure.children):
            inner = None
            if node is not None:
                try:
                    inner = node[key] if is_indexed else getattr(node, key)
                except (LookupError, TypeError, AttributeError):
                    raise refuse(f"`{path}` is {type(node).__name__}, and must nest as {structure}") from None
            visit(child, inner, f"{path}[{key!r}]")

    visit(form.structure, tree, name)
    return found
