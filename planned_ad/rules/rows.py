"""The common way to write an elementwise row: its type rule from the kinds of operands that it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .table import Adjoint, Infer, Rule, Tangent, register

Result = Callable[[Sequence, Mapping[str, Any]], np.dtype]


def common_shape(name: str, operands: Sequence) -> tuple[int, ...]:
    """The one shape of the operands that are not scalars."""
    shapes = {v.shape for v in operands if v.shape != ()}
    if len(shapes) > 1:
        raise ValueError(f"{name}: operands of shapes {sorted(shapes)}; broadcast them first")
    return shapes.pop() if shapes else ()


def check_kinds(name: str, operands: Sequence, kinds: tuple[str, ...]) -> None:
    """Refuse operands whose dtypes the row does not take (`Rule.kinds`)."""
    letters = "".join(v.dtype.kind for v in operands).replace("u", "i")
    if not any(letters == (kind * len(letters) if len(kind) == 1 else kind) for kind in kinds):
        raise TypeError(f"{name}: operands of dtypes {[str(v.dtype) for v in operands]}; cast them first")


def same_dtype(operands: Sequence, parameters: Mapping[str, Any]) -> np.dtype:
    """The one dtype of all operands."""
    dtypes = {v.dtype for v in operands}
    if len(dtypes) != 1:
        raise TypeError(f"operands of dtypes {sorted(map(str, dtypes))}; cast them first")
    return dtypes.pop()


def boolean(operands: Sequence, parameters: Mapping[str, Any]) -> np.dtype:
    """Bool, of operands of one dtype."""
    same_dtype(operands, parameters)
    return np.dtype(bool)


def elementwise(name: str, arity: int, kinds: tuple[str, ...], result: Result) -> Infer:
    """The type rule of an elementwise row."""

    def infer(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        if len(operands) != arity:
            raise TypeError(f"{name}: {len(operands)} operands, not {arity}")
        check_kinds(name, operands, kinds)
        return common_shape(name, operands), result(operands, parameters)

    return infer


def row(
    name: str,
    evaluate: Callable,
    adjoints: Sequence[Adjoint | None],
    needs: Sequence[str],
    *,
    cost: float = 1.0,
    kinds: tuple[str, ...] = ("f",),
    result: Result = same_dtype,
    samples: Sequence[tuple[float, float]] = (),
    examples: Sequence[Mapping[str, Any]] = ({},),
    tangent: Tangent | None = None,
    reference: str = "",
    poles: str = "",
    cusps: str = "",
) -> Rule:
    """Add an elementwise row."""
    return register(
        Rule(
            name=name,
            kind="elementwise",
            infer=elementwise(name, len(adjoints), kinds, result),
            evaluate=evaluate,
            adjoints=tuple(adjoints),
            needs=tuple(needs),
            cost=cost,
            kinds=kinds,
            samples=tuple(samples),
            examples=tuple(examples),
            tangent=tangent,
            reference=reference,
            poles=poles,
            cusps=cusps,
        )
    )
