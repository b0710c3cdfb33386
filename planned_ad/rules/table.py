"""The rule table: one row per primitive.

A row says what a primitive's result looks like (`infer`), what it is (`evaluate`, in NumPy),
how a cotangent of the result becomes cotangents of the operands (`adjoints`), which values
that reads (`needs`), and how tangents of the operands become one of the result (`tangent`).
Rows for users' own functions are added in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Infer = Callable[[Sequence, Mapping[str, Any]], tuple[tuple[int, ...], np.dtype]]
Adjoint = Callable[..., object]
Tangent = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One primitive.

    kind : 'elementwise' (operands of one shape or scalars, a result of that shape), 'reduce', 'scan', 'contract',
        'matrix' (of the last axes; any axes before them are a batch that all operands share), 'view', 'gather' or
        'other'. The planner and the emitter ask for the kind, never for the name.
    infer : `(operands, parameters) -> (shape, dtype)` of the result.
    evaluate : `(*arrays, **parameters) -> array`: the meaning, in plain NumPy.
    adjoints : per operand, None (no derivative) or `(ct, y, a, b, ..., **parameters) -> cotangent`; `ct` is the
        cotangent of the result `y`, `a, b, ...` are the operands, all as symbols (see `rules.algebra`).
        For an elementwise row, a cotangent of the result's shape that belongs to a scalar operand is summed by
        the caller. The cotangents of 'view' and 'gather' concern parts of their operand: `reverse` adds them by kind.
    tangent : `(tangents, y, a, b, ..., **parameters) -> tangent of y`, linear in `tangents` (per operand a symbol, or
        None for zero). Not given where it follows from the kind: 'elementwise' applies the adjoints, 'view' and
        'gather' the primitive itself, 'reduce' sums the operand's tangent weighted by the adjoint of one.
    needs : per operand, the names among 'y', 'a', 'b', ... that its adjoint reads the numbers of.
        What an adjoint reads of shapes and dtypes alone is not named.
    cost : rough time per element, in units of one addition; steers recomputation.
    kinds : the operands it takes, as `dtype.kind` letters: one for all operands alike ('f', 'i', 'b'; unsigned
        integers count as 'i'), or one letter per operand ('bff').
    poles : the operands ('a', 'b', ...) whose zeros or negative numbers make the value infinite or nan; 'y' where that
        has nothing to do with the sign of an operand. Empty: finite operands give finite values.
    cusps : likewise, where the derivative is infinite or nan though the value is finite.
    refused : why an adjoint is None although a derivative exists; reverse mode then raises. Empty: None means zero.
    samples : test hints: per operand the interval to draw test points from.
    examples : test hints: the parameters to test with.
    """

    name: str
    kind: str
    infer: Infer
    evaluate: Callable[..., np.ndarray]
    adjoints: tuple[Adjoint | None, ...]
    needs: tuple[str, ...]
    tangent: Tangent | None = None
    cost: float = 1.0
    kinds: tuple[str, ...] = ("f",)
    poles: str = ""
    cusps: str = ""
    refused: str = ""
    samples: tuple[tuple[float, float], ...] = ()
    examples: tuple[Mapping[str, Any], ...] = field(default=({},), compare=False)
    reference: str = ""


RULES: dict[str, Rule] = {}


def register(rule: Rule) -> Rule:
    """Add a row; a name is taken once."""
    if rule.name in RULES:
        raise ValueError(f"there is already a rule for {rule.name!r}")
    if len(rule.adjoints) != len(rule.needs):
        raise ValueError(f"rule {rule.name!r}: one `needs` entry for each adjoint")
    RULES[rule.name] = rule
    return rule
