"""Sums of products over labelled axes: what dot, matmul, tensordot and einsum have in common.

The primitive `contract` takes two operands in which each label occurs at most once, and each label is in the
result or in both operands. Everything else is brought to that form by views and sums: a repeated label is a
diagonal, an axis of length 1 against a longer one is dropped rather than broadcast, a label that nobody else
has is summed first. A product without a sum stays elementwise, where it fuses with its neighbours.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from ...regions.regions import View, c_strides
from ...tape.tape import Value
from ..record.recorder import Recorder
from .support import BOOL, cast, reshape

Labels = tuple[Hashable, ...]


def label_sizes(operands: Iterable[tuple[tuple[int, ...], Labels]]) -> dict[Hashable, int]:
    """The length of each label's axes, which may be 1 in some operands where it is longer in others."""
    sizes: dict[Hashable, int] = {}
    for shape, labels in operands:
        for n, label in zip(shape, labels):
            known = sizes.setdefault(label, n)
            if known == 1:
                sizes[label] = n
            elif n not in (1, known):
                raise ValueError(f"axes of lengths {known} and {n} cannot be multiplied with one another")
    return sizes


def diagonal_strides(shape: Sequence[int], strides: Sequence[int], labels: Labels) -> dict[Hashable, tuple[int, int]]:
    """Length and stride of each label's axis when axes with equal labels move together."""
    axes: dict[Hashable, tuple[int, int]] = {}
    for n, stride, label in zip(shape, strides, labels):
        if label in axes:
            m, before = axes[label]
            if m != n:
                raise ValueError(f"a repeated label joins axes of lengths {m} and {n}")
            axes[label] = (n, before + stride)
        else:
            axes[label] = (n, stride)
    return axes


def single(recorder: Recorder, a: Value, labels: Labels, out_labels: Labels) -> Value:
    """One operand: its diagonals, summed over the labels that the result does not have, with axes in its order."""
    axes = diagonal_strides(a.shape, c_strides(a.shape), labels)
    kept = out_labels + tuple(label for label in axes if label not in out_labels)
    view = View(0, tuple(axes[k][0] for k in kept), tuple(axes[k][1] for k in kept))
    value = recorder.builder.view(a, view)
    summed = tuple(range(len(out_labels), len(kept)))
    if not summed:
        return value
    if a.dtype == BOOL:
        return recorder.apply("reduce_any", value, axes=summed)
    return recorder.apply("reduce_sum", value, axes=summed)


def pair(recorder: Recorder, a: Value, a_labels: Labels, b: Value, b_labels: Labels, out_labels: Labels) -> Value:
    """Two operands of one dtype: `out[out_labels] = sum(a[a_labels] * b[b_labels])`."""
    if a.dtype == BOOL:  # a sum of truths is whether there is one
        counts = pair(
            recorder, cast(recorder, a, np.int64), a_labels, cast(recorder, b, np.int64), b_labels, out_labels
        )
        return cast(recorder, counts, BOOL)
    sizes = label_sizes([(a.shape, a_labels), (b.shape, b_labels)])
    a, a_labels = _alone(recorder, a, a_labels, b_labels, out_labels, sizes)
    b, b_labels = _alone(recorder, b, b_labels, a_labels, out_labels, sizes)
    a, a_labels = _alone(recorder, a, a_labels, b_labels, out_labels, sizes)  # what only b had dropped
    if set(a_labels) | set(b_labels) == set(out_labels):
        return _product(recorder, a, a_labels, b, b_labels, out_labels, sizes)
    names = {label: k for k, label in enumerate(dict.fromkeys((*a_labels, *b_labels)))}
    return recorder.apply(
        "contract",
        a,
        b,
        a_labels=tuple(names[k] for k in a_labels),
        b_labels=tuple(names[k] for k in b_labels),
        out_labels=tuple(names[k] for k in out_labels),
    )


def _alone(recorder, a, labels, others, out_labels, sizes) -> tuple[Value, Labels]:
    """`a` with distinct labels, without axes that would have to be broadcast, and summed where nobody else looks."""
    distinct = tuple(dict.fromkeys(labels))
    if distinct != labels:
        a, labels = single(recorder, a, labels, distinct), distinct
    short = [
        n == 1 and (label not in out_labels or (label in others and sizes[label] > 1))
        for n, label in zip(a.shape, labels)
    ]
    if any(short):
        a = reshape(recorder, a, tuple(n for n, drop in zip(a.shape, short) if not drop))
        labels = tuple(label for label, drop in zip(labels, short) if not drop)
    kept = tuple(label for label in labels if label in out_labels or label in others)
    return (a, labels) if kept == labels else (single(recorder, a, labels, kept), kept)


def _product(recorder, a, a_labels, b, b_labels, out_labels, sizes) -> Value:
    """Without anything to sum: the axes are lined up and multiplied elementwise."""
    shape = tuple(sizes[k] for k in out_labels)
    factors = (spread(recorder, v, labels, out_labels, shape) for v, labels in ((a, a_labels), (b, b_labels)))
    return recorder.apply("multiply", *factors)


def spread(recorder: Recorder, value: Value, labels: Labels, out_labels: Labels, shape: tuple[int, ...]) -> Value:
    """`value` with its axes where `out_labels` has them, repeated along the others; scalars stay scalars."""
    if value.shape == ():
        return value
    strides = {k: 0 if n == 1 else s for k, n, s in zip(labels, value.shape, c_strides(value.shape))}
    return recorder.builder.view(value, View(0, shape, tuple(strides.get(k, 0) for k in out_labels)))
