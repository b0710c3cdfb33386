"""Contraction: sums of products over shared labels; `dot`, `matmul`, `outer`, `tensordot`, two-operand `einsum`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .algebra import Symbol
from .rows import check_kinds, same_dtype
from .table import Rule, register

Labels = tuple[int, ...]
KINDS = ("f", "i")


def infer_contract(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    """The extents of the labels kept.

    Each label occurs at most once in an operand, with one extent in both; one that is not in the result is in both
    operands (what only one operand has is summed before).
    """
    check_kinds("contract", operands, KINDS)
    a, b = operands
    a_labels, b_labels, out_labels = (parameters[name] for name in ("a_labels", "b_labels", "out_labels"))
    extents: dict[int, int] = {}
    for value, labels in ((a, a_labels), (b, b_labels)):
        if len(labels) != len(value.shape) or len(set(labels)) != len(labels):
            raise ValueError(f"contract: labels {labels} of shape {value.shape}")
        for label, extent in zip(labels, value.shape):
            if extents.setdefault(label, extent) != extent:
                raise ValueError(f"contract: label {label} has extents {extents[label]} and {extent}")
    shared = set(a_labels) & set(b_labels)
    lone = set(extents) - shared
    kept = set(out_labels)
    if not lone <= kept <= set(extents) or len(kept) != len(out_labels):
        raise ValueError(f"contract: labels {a_labels}, {b_labels} -> {out_labels}")
    return tuple(extents[label] for label in out_labels), same_dtype(operands, parameters)


def contract(a: np.ndarray, b: np.ndarray, *, a_labels: Labels, b_labels: Labels, out_labels: Labels) -> np.ndarray:
    """`out[out_labels] = sum of a[a_labels] b[b_labels]` over the labels that are not in `out_labels`."""
    summed = [label for label in a_labels if label not in out_labels]
    if set(a_labels) & set(b_labels) <= set(summed):
        axes = ([a_labels.index(label) for label in summed], [b_labels.index(label) for label in summed])
        product = np.tensordot(a, b, axes)
        left = [label for label in (*a_labels, *b_labels) if label not in summed]
        return np.transpose(product, [left.index(label) for label in out_labels])
    names = {label: k for k, label in enumerate(dict.fromkeys((*a_labels, *b_labels)))}
    a_axes, b_axes, out_axes = ([names[label] for label in labels] for labels in (a_labels, b_labels, out_labels))
    return np.einsum(a, a_axes, b, b_axes, out_axes)


def contract_in_first(
    ct: Symbol, y: Symbol, a: Symbol, b: Symbol, *, a_labels: Labels, b_labels: Labels, out_labels: Labels
) -> Symbol:
    return ct.apply("contract", b, a_labels=out_labels, b_labels=b_labels, out_labels=a_labels)


def contract_in_second(
    ct: Symbol, y: Symbol, a: Symbol, b: Symbol, *, a_labels: Labels, b_labels: Labels, out_labels: Labels
) -> Symbol:
    return a.apply("contract", ct, a_labels=a_labels, b_labels=out_labels, out_labels=b_labels)


def contract_tangent(tangents: Sequence[Symbol | None], y: Symbol, a: Symbol, b: Symbol, **labels: Labels) -> Symbol:
    """The product rule."""
    in_first, in_second = tangents
    parts = []
    if in_first is not None:
        parts.append(in_first.apply("contract", b, **labels))
    if in_second is not None:
        parts.append(a.apply("contract", in_second, **labels))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


register(
    Rule(
        name="contract",
        kind="contract",
        infer=infer_contract,
        evaluate=contract,
        adjoints=(contract_in_first, contract_in_second),
        needs=("b", "a"),
        tangent=contract_tangent,
        cost=2,
        kinds=KINDS,
    )
)
