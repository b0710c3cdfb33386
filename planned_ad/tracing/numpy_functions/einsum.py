"""`np.einsum`: subscripts parsed into labels, then contracted two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tape.tape import Value
from ..record.dispatch import implements
from ..record.recorder import Recorder
from .contraction import Labels, label_sizes, pair, single
from .support import cast, deliver, geometry, promoted, refuse

ELLIPSIS = "..."
MOST_COMPARED = 6  # operands, of which NumPy compares all orders in a millisecond; one more takes six


@implements(np.einsum)
def einsum(recorder, *operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """As NumPy. Three and more operands are contracted pairwise, in the order `np.einsum_path` finds."""
    refuse("einsum", order=None if order in "KC" else order, casting=None if casting == "safe" else casting)
    arrays, inputs, output = _parsed(operands)
    if len(arrays) == 1 and dtype is None and out is None and recorder.is_array(arrays[0]):
        array = arrays[0]
        labels, kept = _resolved(inputs, output, [array.shape])
        if kept and set(labels[0]) == set(kept):
            return _diagonal_view(recorder, array, labels[0], kept)
    values = promoted(recorder, *arrays)
    if dtype is not None:
        values = [cast(recorder, v, dtype) for v in values]
    inputs, output = _resolved(inputs, output, [v.shape for v in values])
    like = _memory([geometry(recorder, a) for a in arrays], inputs, output)
    return deliver(recorder, chain(recorder, values, inputs, output), out, like)


def _memory(arrays: list[np.ndarray | None], inputs: list[Labels], output: Labels) -> np.ndarray | None:
    """An array in the layout that NumPy gives the result, which follows the operands; None: row-major."""
    known = [a for a in arrays if a is not None]
    if len(output) < 2 or len(known) < len(arrays) or all(a.flags.c_contiguous for a in known):
        return None
    names = {label: k for k, label in enumerate(dict.fromkeys((*output, *(k for labels in inputs for k in labels))))}
    shown, axes = [], []
    for a, labels in zip(known, inputs):
        distinct = list(dict.fromkeys(names[k] for k in labels))
        shown.append(np.einsum(a, [names[k] for k in labels], distinct))
        axes.append([distinct.index(k) if k in distinct else -1 for k in range(len(names))])
    axes.append([k if k < len(output) else -1 for k in range(len(names))])
    flags = [["readonly"]] * len(shown) + [["readwrite", "allocate"]]
    operands: list[Any] = [*shown, None]
    iterator: Any = np.nditer(operands, ["reduce_ok", "zerosize_ok"], flags, op_axes=axes, order="K")  # type: ignore[call-overload]
    return iterator.operands[-1]


def chain(recorder: Recorder, values: Sequence[Value], inputs: Sequence[Labels], output: Labels) -> Value:
    """The contraction of any number of operands of one dtype, pairwise."""
    label_sizes(zip((v.shape for v in values), inputs))  # raises where they do not fit
    if len(values) == 1:
        return single(recorder, values[0], inputs[0], output)
    pending = list(zip(values, inputs))
    for step in _path(values, inputs, output):
        taken = [pending.pop(position) for position in sorted(step, reverse=True)][::-1]
        (a, a_labels), *others = taken
        for k, (b, b_labels) in enumerate(others):
            later = [labels for _, labels in (*pending, *others[k + 1 :])]
            needed = set(output).union(*later)
            there = [label for label in dict.fromkeys((*a_labels, *b_labels)) if label in needed]
            # What is summed later comes last: the next product then finds it side by side.
            kept = (*(k for k in output if k in there), *(k for k in there if k not in output))
            last = not later
            a, a_labels = pair(recorder, a, a_labels, b, b_labels, output if last else kept), output if last else kept
        pending.append((a, a_labels))
    ((result, labels),) = pending
    return result if labels == output else single(recorder, result, labels, output)


def _path(values: Sequence[Value], inputs: Sequence[Labels], output: Labels) -> Sequence[Sequence[int]]:
    if len(values) == 2:
        return [(0, 1)]
    names = {label: k for k, label in enumerate(dict.fromkeys(k for labels in inputs for k in labels))}
    shapes = [np.broadcast_to(np.zeros((), np.int8), v.shape) for v in values]  # no memory: strides are 0
    operands = [item for shape, labels in zip(shapes, inputs) for item in (shape, [names[k] for k in labels])]
    search = "optimal" if len(values) <= MOST_COMPARED else "greedy"
    path, _ = np.einsum_path(*operands, [names[k] for k in output], optimize=search)
    return path[1:]


def _diagonal_view(recorder: Recorder, array: Any, labels: Labels, kept: Labels) -> Any:
    """One operand and nothing summed: a view into it, as NumPy gives."""
    names = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    geometry = np.einsum(array.geometry, [names[k] for k in labels], [names[k] for k in kept])
    return recorder.seen(array, geometry)


def _parsed(operands: tuple[Any, ...]) -> tuple[list[Any], list[Labels], Labels | None]:
    """Arrays, the labels of each, and those of the result (None: implied), from either form of the call."""
    if not isinstance(operands[0], str):  # einsum(a, [0, 1], b, [1, 2], [0, 2])
        pairs = len(operands) // 2
        lists: list[Labels] = [
            tuple(ELLIPSIS if k is Ellipsis else int(k) for k in labels) for labels in operands[1 : 2 * pairs : 2]
        ]
        output = operands[-1] if len(operands) % 2 else None
        if output is not None:
            output = tuple(ELLIPSIS if k is Ellipsis else int(k) for k in output)
        return list(operands[: 2 * pairs : 2]), lists, output
    text, *arrays = operands
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = [_letters(part) for part in left.split(",")]
    if len(inputs) != len(arrays):
        raise ValueError("einsum: the number of subscripts differs from the number of operands")
    return arrays, inputs, _letters(right) if arrow else None


def _letters(text: str) -> Labels:
    before, dots, after = text.partition(ELLIPSIS)
    if not (before + after).isalpha() and before + after:
        raise ValueError(f"einsum: invalid subscripts {text!r}")
    return (*before, *([ELLIPSIS] if dots else []), *after)


def _resolved(
    inputs: list[Labels], output: Labels | None, shapes: list[tuple[int, ...]]
) -> tuple[list[Labels], Labels]:
    """Labels with each ellipsis written out as the axes it stands for, counted from the last."""
    resolved, longest = [], 0
    for labels, shape in zip(inputs, shapes):
        hidden = len(shape) - len(labels) + (ELLIPSIS in labels)
        if hidden < 0 or (ELLIPSIS not in labels and hidden):
            raise ValueError(f"einsum: subscripts {labels} do not fit an operand of shape {shape}")
        longest = max(longest, hidden)
        resolved.append(_written_out(labels, hidden))
    if output is None:
        named = [k for labels in inputs for k in labels if k != ELLIPSIS]
        output = (ELLIPSIS, *sorted({k for k in named if named.count(k) == 1}))  # type: ignore[type-var]
    elif longest and ELLIPSIS not in output:
        raise ValueError("einsum: the result's subscripts lack the ellipsis that the operands have")
    out = _written_out(output, longest)
    if len(set(out)) != len(out) or not set(out) <= {k for labels in resolved for k in labels}:
        raise ValueError(f"einsum: invalid subscripts {output} of the result")
    return resolved, out


def _written_out(labels: Labels, hidden: int) -> Labels:
    position = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
    axes = tuple((ELLIPSIS, k) for k in reversed(range(hidden)))
    return labels[:position] + axes + labels[position + 1 :]
