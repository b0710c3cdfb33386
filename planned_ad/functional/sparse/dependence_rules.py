"""What the elements of a result depend on, by the kind of its primitive; and their numbers, where they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rules import RULES
from .index_sets import EMPTY, IndexSets

MOST_TERMS = 1 << 24  # of a contraction that are looked at one by one


@dataclass(frozen=True, slots=True)
class Elements:
    """Of each element of an array the set of what it depends on, and its number where that is known (else 1)."""

    sets: np.ndarray
    numbers: np.ndarray
    known: np.ndarray

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.sets, self.numbers, self.known

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Elements:
        return Elements(*map(change, self.parts))

    @property
    def zero(self) -> np.ndarray:
        """Where it is known to be zero."""
        return self.known & (self.numbers == 0)


def unknown(shape: tuple[int, ...], dtype: np.dtype) -> Elements:
    """Numbers of which nothing is known but that no derivative reaches them."""
    return Elements(np.zeros(shape, np.int64), np.ones(shape, dtype), np.zeros(shape, bool))


def number(data: np.ndarray) -> Elements:
    data = np.asarray(data)
    return Elements(np.zeros(data.shape, np.int64), data, np.ones(data.shape, bool))


def result_of(
    sets: IndexSets,
    primitive: str,
    operands: Sequence[Elements],
    parameters: Mapping[str, Any],
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> Elements:
    """The result of a primitive, of this shape and dtype."""
    rule = RULES[primitive]
    if rule.kind == "view":
        return operands[0].each(lambda a: rule.evaluate(a, **parameters))
    if rule.kind == "gather":
        return gathered(sets, operands[0], operands[1:])
    found = numbers_of(primitive, operands, parameters, shape, dtype)
    if dtype.kind not in "fc" or found.known.all():
        return found
    smooth = [
        a if adjoint is not None or rule.refused else unknown(a.sets.shape, a.numbers.dtype)
        for a, adjoint in zip(operands, rule.adjoints)
    ]
    match rule.kind:
        case "elementwise":
            own = chosen(sets, *operands) if primitive == "where" else united(sets, smooth, shape)
        case "reduce":
            own = sets.union_over(smooth[0].sets, parameters["axes"])
        case "scan":
            own = scanned(sets, smooth, **parameters)
        case "contract":
            own = contracted(sets, *smooth, **parameters)
        case "matrix" if "behind" in parameters:
            own = transformed(sets, smooth[0], primitive != "real_fourier", parameters["behind"], shape)
        case _:  # of a call everything depends on everything
            every = np.concatenate([np.zeros(0, np.int64), *(a.sets.reshape(-1) for a in operands)])
            own = np.broadcast_to(sets.union_over(every, (0,)), shape)
    return Elements(np.where(found.known, EMPTY, own), found.numbers, found.known)


def gathered(sets: IndexSets, source: Elements, indices: Sequence[Elements]) -> Elements:
    known = np.logical_and.reduce([i.known for i in indices])
    places = tuple(np.where(known, i.numbers, 0) for i in indices)
    if not source.sets.size:
        shape = known.shape + source.sets.shape[len(indices) :]
        return unknown(shape, source.numbers.dtype)
    found = source.each(lambda a: a[places])
    if known.all():
        return found
    anywhere = sets.union_over(source.sets, tuple(range(len(indices))))
    exact = known.reshape(known.shape + (1,) * anywhere.ndim)
    return Elements(np.where(exact, found.sets, anywhere), found.numbers, found.known & exact)


def united(sets: IndexSets, operands: Sequence[Elements], shape: tuple[int, ...]) -> np.ndarray:
    total, *others = (a.sets for a in operands)
    for other in others:
        total = sets.union(total, other)
    return total if total.shape == shape else np.broadcast_to(total, shape)


def chosen(sets: IndexSets, condition: Elements, a: Elements, b: Elements) -> np.ndarray:
    either = sets.union(a.sets, b.sets) if not condition.known.all() else EMPTY
    return np.where(condition.known, np.where(condition.numbers, a.sets, b.sets), either)


def transformed(sets: IndexSets, a: Elements, pairs: bool, behind: int, shape: tuple[int, ...]) -> np.ndarray:
    """Of a Fourier transform, each number depends on all of its line."""
    rank = a.sets.ndim - pairs
    axis = rank - 1 - behind
    own = np.expand_dims(sets.union_over(a.sets, (axis, rank) if pairs else (axis,)), axis)
    return np.broadcast_to(own if own.ndim == len(shape) else own[..., None], shape)


def scanned(
    sets: IndexSets,
    operands: Sequence[Elements],
    *,
    axis: int,
    reverse: bool,
    form: str = "",
    exclusive: bool = False,
    operation: str = "",
) -> np.ndarray:
    """Running unions; a factor of a linear recurrence that is known to be zero lets nothing pass."""
    lines = [directed(a.sets, axis, reverse) for a in operands]
    out = np.zeros_like(operands[0].sets)
    target, state = directed(out, axis, reverse), np.zeros_like(lines[0][:1].reshape(lines[0].shape[1:]))
    stops = directed(operands[0].zero, axis, reverse) if form else None
    for i in range(len(target)):
        before = state
        if stops is not None and i:
            k = i - 1 if form == "late" else i
            state = np.where(stops[k], EMPTY, sets.union(state, lines[0][k]))
        state = sets.union(state, lines[-1][i])
        target[i] = before if exclusive or form == "exclusive" else state
    return out


def numbers_of(
    primitive: str,
    operands: Sequence[Elements],
    parameters: Mapping[str, Any],
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> Elements:
    """The numbers of a result where they are known, with no sets."""
    if not any(a.known.any() for a in operands):
        return unknown(shape, dtype)
    rule = RULES[primitive]
    zero = np.zeros((), bool)
    if primitive == "where":
        condition, a, b = operands
        known = condition.known & np.where(condition.numbers, a.known, b.known)
    elif rule.kind == "elementwise":
        if primitive.removeprefix("strong_") in ("multiply", "divide"):
            zero = operands[0].zero | (operands[1].zero if primitive.endswith("multiply") else False)
        known = np.logical_and.reduce(np.broadcast_arrays(*(a.known for a in operands))) | zero
    elif rule.kind == "reduce":
        known = np.all(operands[0].known, axis=parameters["axes"])
    else:
        known = np.array(all(a.known.all() for a in operands))
    known = np.broadcast_to(known, shape)
    if not known.any():
        return unknown(shape, dtype)
    numbers = np.asarray(rule.evaluate(*(a.numbers for a in operands), **parameters), dtype)
    numbers = np.where(zero, np.zeros((), dtype), np.broadcast_to(numbers, shape))
    return Elements(np.zeros(shape, np.int64), numbers, known)


def directed(a: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """`a` with the scanned axis first, in the direction of the scan: a view."""
    line = np.moveaxis(a, axis, 0)
    return line[::-1] if reverse else line


Labels = tuple[int, ...]


def contracted(
    sets: IndexSets, a: Elements, b: Elements, *, a_labels: Labels, b_labels: Labels, out_labels: Labels
) -> np.ndarray:
    """Each sum of products depends on what its factors depend on, but for products with a known zero."""
    if not a.zero.any():
        a, b, a_labels, b_labels = b, a, b_labels, a_labels
    extents = dict(zip((*a_labels, *b_labels), (*a.sets.shape, *b.sets.shape)))
    lone = tuple(label for label in b_labels if label not in a_labels)
    width = int(np.prod([extents[label] for label in lone], dtype=int))
    present = np.nonzero(np.atleast_1d(~a.zero))
    if a.zero.any() and len(present[0]) * width <= MOST_TERMS:
        place = dict(zip(a_labels, present))
        shared = tuple(label for label in b_labels if label in a_labels)
        other = b.each(lambda part: np.transpose(part, [b_labels.index(label) for label in (*shared, *lone)]))
        at_places = tuple(place[label] for label in shared)
        terms = len(present[0])
        lines = other.each(lambda part: part[at_places].reshape(terms if shared else 1, width))
        lines = lines.each(lambda part: np.broadcast_to(part, (terms, width)))
        own = np.where(lines.zero, EMPTY, np.atleast_1d(a.sets)[present][:, None])
        kept = tuple(label for label in out_labels if label not in lone)
        shape = tuple(extents[label] for label in (*kept, *lone))
        rows = np.zeros(terms, np.int64)
        for label in kept:
            rows = rows * extents[label] + place[label]
        rows = (rows[:, None] * width + np.arange(width)).reshape(-1)
        both = np.concatenate([own.reshape(-1), np.where(lines.zero, EMPTY, lines.sets).reshape(-1)])
        found = sets.unions(np.tile(rows, 2), both, int(np.prod(shape, dtype=int))).reshape(shape)
        return np.transpose(found, [(*kept, *lone).index(label) for label in out_labels])
    total = np.zeros((), np.int64)
    for part, labels in ((a, a_labels), (b, b_labels)):
        summed = tuple(k for k, label in enumerate(labels) if label not in out_labels)
        left = [label for label in labels if label in out_labels]
        reduced = sets.union_over(part.sets, summed)
        order = [label for label in out_labels if label in left]
        reduced = np.transpose(reduced, [left.index(label) for label in order])
        total = sets.union(total, reduced.reshape([extents[label] if label in left else 1 for label in out_labels]))
    return np.broadcast_to(total, tuple(extents[label] for label in out_labels))
