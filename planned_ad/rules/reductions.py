"""Reductions over axes, and scans along one axis.

A reduction's `axes` are distinct axes in increasing order, all of which go. Its adjoint puts them back as
axes of length one and repeats along them. Products are differentiated without division, so that zeros are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .algebra import Symbol
from .elementwise import ANY, NUMBERS
from .rows import check_kinds
from .table import Adjoint, Infer, Rule, Tangent, register


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def reduced(name: str, kinds: tuple[str, ...], result: np.dtype | None) -> Infer:
    """The type rule of a reduction; `result` is its dtype where that is not the operand's."""

    def infer(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        check_kinds(name, operands, kinds)
        (a,) = operands
        axes: tuple[int, ...] = parameters["axes"]
        if list(axes) != sorted({k for k in axes if 0 <= k < len(a.shape)}):
            raise ValueError(f"{name}: axes {axes} of shape {a.shape}")
        return without(a.shape, axes), result or a.dtype

    return infer


def reduction(
    name: str,
    evaluate,
    adjoint: Adjoint | None,
    needs: str,
    kinds: tuple[str, ...],
    result: np.dtype | None = None,
    tangent: Tangent | None = None,
) -> Rule:
    return register(
        Rule(
            name=name,
            kind="reduce",
            infer=reduced(name, kinds, result),
            evaluate=evaluate,
            adjoints=(adjoint,),
            needs=(needs,),
            tangent=tangent,
            kinds=kinds,
        )
    )


def along(reduced: Symbol, a: Symbol, axes: tuple[int, ...]) -> Symbol:
    """What belongs to the result of a reduction, repeated along the axes that the reduction of `a` took away."""
    kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
    return reduced.reshape(kept).broadcast(a.shape)


def sum_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, axes: tuple[int, ...]) -> Symbol:
    return along(ct, a, axes)


def extremum_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, axes: tuple[int, ...]) -> Symbol:
    """The elements that attain the extremum share equally; nan where the extremum is nan."""
    attained = a.equals(along(y, a, axes)).cast(a.dtype)
    count = attained.apply("reduce_sum", axes=axes)
    return attained * along(ct / count, a, axes)


def product_adjoint(ct: Symbol, y: Symbol, a: Symbol, *, axes: tuple[int, ...]) -> Symbol:
    """The product of the elements before times the product of the elements after, which needs no division."""
    kept = tuple(k for k in range(len(a.shape)) if k not in axes)
    order = kept + axes
    moved = tuple(a.shape[k] for k in order)
    line = (*without(a.shape, axes), math.prod(a.shape[k] for k in axes))
    factors = a.transpose(order).reshape(line)
    last = len(line) - 1
    before = factors.apply("cumulate", axis=last, operation="multiply", reverse=False, exclusive=True)
    after = factors.apply("cumulate", axis=last, operation="multiply", reverse=True, exclusive=True)
    back = tuple(order.index(k) for k in range(len(order)))
    return along(ct, a, axes) * (before * after).reshape(moved).transpose(back)


reduction(
    "reduce_sum",
    lambda a, *, axes: np.sum(a, axis=axes, dtype=a.dtype),
    sum_adjoint,
    "",
    ANY,
    tangent=lambda tangents, y, a, *, axes: tangents[0].apply("reduce_sum", axes=axes),
)
reduction("reduce_prod", lambda a, *, axes: np.prod(a, axis=axes, dtype=a.dtype), product_adjoint, "a", ANY)
reduction("reduce_max", lambda a, *, axes: np.max(a, axis=axes), extremum_adjoint, "ya", ANY)
reduction("reduce_min", lambda a, *, axes: np.min(a, axis=axes), extremum_adjoint, "ya", ANY)
reduction("reduce_any", lambda a, *, axes: np.any(a, axis=axes), None, "", ("b",), np.dtype(bool))
reduction("reduce_all", lambda a, *, axes: np.all(a, axis=axes), None, "", ("b",), np.dtype(bool))


# Scans.
def scanned(name: str, kinds: tuple[str, ...]) -> Infer:
    def infer(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        check_kinds(name, operands, kinds)
        a, axis = operands[0], parameters["axis"]
        if any(v.shape != a.shape or v.dtype != a.dtype for v in operands) or not 0 <= axis < len(a.shape):
            raise ValueError(f"{name} along axis {axis} of shapes {[v.shape for v in operands]}")
        return a.shape, a.dtype

    return infer


def directed(a: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """`a` with the scanned axis first, in the direction of the scan: a view."""
    line = np.moveaxis(a, axis, 0)
    return line[::-1] if reverse else line


RUNNING: dict[str, np.ufunc] = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "fmin": np.fmin,
}  # fmt: skip


def start_of(operation: str, dtype: np.dtype) -> Any:
    """What a running sum, product or extremum begins with."""
    if operation in ("add", "multiply"):
        return int(operation == "multiply")
    least = operation in ("maximum", "fmax")
    if dtype.kind == "f":
        if operation.startswith("f"):
            return math.nan  # which `fmax` and `fmin` pass over
        return -math.inf if least else math.inf
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def cumulate(a: np.ndarray, *, axis: int, operation: str, reverse: bool, exclusive: bool) -> np.ndarray:
    """Running sums, products or extrema along `axis`; `exclusive`: of the elements before, `start_of` for the first."""
    function, start = RUNNING[operation], start_of(operation, a.dtype)
    out = np.empty_like(a, order="C")
    source, target = directed(a, axis, reverse), directed(out, axis, reverse)
    if exclusive:
        target[:1] = start
        function.accumulate(source[:-1], axis=0, dtype=a.dtype, out=target[1:])
    else:
        function.accumulate(source, axis=0, dtype=a.dtype, out=target)
    return out


def cumulate_adjoint(
    ct: Symbol, y: Symbol, a: Symbol, *, axis: int, operation: str, reverse: bool, exclusive: bool
) -> Symbol:
    """Of a sum: the sum in the other direction. Of a product `y[i] = a[0] ... a[i]`, with no division:

    `d y[i] / d a[k] = before[k] * (a[k + 1] ... a[i])`, so that `da[k] = before[k] * s[k]`, where
    `s[k] = ct[k] + a[k + 1] s[k + 1]` is a linear recurrence; likewise for the exclusive product. Of an extremum: an
    element takes the cotangents from where it becomes the extremum to where another does.
    """
    if operation == "add":
        return ct.apply("cumulate", axis=axis, operation="add", reverse=not reverse, exclusive=exclusive)
    if operation != "multiply":
        taken, kept = taken_and_kept(a, axis, operation, reverse)
        form = "exclusive" if exclusive else "late"
        return taken * kept.apply("recurrence", ct, axis=axis, reverse=not reverse, form=form)
    before = a.apply("cumulate", axis=axis, operation="multiply", reverse=reverse, exclusive=True)
    after = a.apply("recurrence", ct, axis=axis, reverse=not reverse, form="exclusive" if exclusive else "late")
    return before * after


def taken_and_kept(a: Symbol, axis: int, operation: str, reverse: bool) -> tuple[Symbol, Symbol]:
    """One where an element is the new running extremum, else zero; and the other way round. A tie changes nothing."""
    before = a.apply("cumulate", axis=axis, operation=operation, reverse=reverse, exclusive=True)
    taken = ((a > before if operation in ("maximum", "fmax") else a < before) | before.differs(before)).cast(a.dtype)
    return taken, 1 - taken


def cumulate_tangent(
    tangents: Sequence[Symbol], y: Symbol, a: Symbol, *, axis: int, operation: str, reverse: bool, exclusive: bool
) -> Symbol:
    """Of a product `y[i] = a[i] y[i - 1]`, with no division: `dy[i] = before[i] da[i] + a[i] dy[i - 1]`."""
    (tangent,) = tangents
    if operation == "add":
        return tangent.apply("cumulate", axis=axis, operation="add", reverse=reverse, exclusive=exclusive)
    if operation != "multiply":
        taken, kept = taken_and_kept(a, axis, operation, reverse)
        form = "exclusive" if exclusive else "inclusive"
        return kept.apply("recurrence", taken * tangent, axis=axis, reverse=reverse, form=form)
    before = a.apply("cumulate", axis=axis, operation="multiply", reverse=reverse, exclusive=True)
    form = "exclusive" if exclusive else "inclusive"
    return a.apply("recurrence", before * tangent, axis=axis, reverse=reverse, form=form)


register(
    Rule(
        name="cumulate",
        kind="scan",
        infer=scanned("cumulate", NUMBERS),
        evaluate=cumulate,
        adjoints=(cumulate_adjoint,),
        needs=("a",),
        tangent=cumulate_tangent,
        kinds=NUMBERS,
        reference="Blelloch, Prefix sums and their applications (1990)",
    )
)


def recurrence(a: np.ndarray, b: np.ndarray, *, axis: int, reverse: bool, form: str) -> np.ndarray:
    """The linear recurrence `s[i] = b[i] + a[i] s[i - 1]` along `axis`, `s[-1] = 0`.

    `form`: 'inclusive' returns `s`; 'exclusive' returns `s[i - 1]` at `i`; 'late' returns the `s` of
    `s[i] = b[i] + a[i - 1] s[i - 1]`. `reverse` counts `i` from the far end.
    """
    out = np.empty_like(b, order="C")
    factors, terms, target = (directed(array, axis, reverse) for array in (a, b, out))
    state = np.zeros_like(terms[0]) if len(terms) else None
    for i in range(len(terms)):
        if form == "exclusive":
            target[i] = state
        factor = factors[i - 1] if form == "late" else factors[i]
        state = terms[i] + factor * state if i else terms[i]
        if form != "exclusive":
            target[i] = state
    return out


# With `lambda` the cotangent of `b`, each form's adjoint is again one of the three forms, in the other direction:
#   inclusive: lambda[i] = ct[i] + a[i + 1] lambda[i + 1]            (late),      da[i] = lambda[i] s[i - 1]
#   late:      lambda[i] = ct[i] + a[i] lambda[i + 1]                (inclusive), da[i] = lambda[i + 1] s[i]
#   exclusive: lambda[i] = ct[i + 1] + a[i + 1] lambda[i + 1]        (exclusive), da[i] = lambda[i] s[i - 1]
OTHER_FORM = {"inclusive": "late", "late": "inclusive", "exclusive": "exclusive"}


def recurrence_in_terms(ct: Symbol, y: Symbol, a: Symbol, b: Symbol, *, axis: int, reverse: bool, form: str) -> Symbol:
    return a.apply("recurrence", ct, axis=axis, reverse=not reverse, form=OTHER_FORM[form])


def recurrence_in_factors(
    ct: Symbol, y: Symbol, a: Symbol, b: Symbol, *, axis: int, reverse: bool, form: str
) -> Symbol:
    if form == "inclusive":
        cotangent = recurrence_in_terms(ct, y, a, b, axis=axis, reverse=reverse, form=form)
        return cotangent * a.apply("recurrence", b, axis=axis, reverse=reverse, form="exclusive")
    return y * a.apply("recurrence", ct, axis=axis, reverse=not reverse, form="exclusive")


def recurrence_tangent(
    tangents: Sequence[Symbol | None], y: Symbol, a: Symbol, b: Symbol, *, axis: int, reverse: bool, form: str
) -> Symbol:
    """`ds[i] = (db[i] + da[i] s[i - 1]) + a[i] ds[i - 1]`; of the late form, with the `a` before."""
    in_factors, in_terms = tangents
    terms = in_terms
    if in_factors is not None:
        if form == "late":
            zeros = a.constant(0).broadcast(a.shape)  # a recurrence that remembers nothing: the term before
            own = zeros.apply("recurrence", in_factors * y, axis=axis, reverse=reverse, form="exclusive")
        else:
            own = in_factors * a.apply("recurrence", b, axis=axis, reverse=reverse, form="exclusive")
        terms = own if terms is None else terms + own
    assert terms is not None
    return a.apply("recurrence", terms, axis=axis, reverse=reverse, form=form)


register(
    Rule(
        name="recurrence",
        kind="scan",
        infer=scanned("recurrence", ("f",)),
        evaluate=recurrence,
        adjoints=(recurrence_in_factors, recurrence_in_terms),
        needs=("yab", "a"),
        tangent=recurrence_tangent,
        cost=2,
        reference="Blelloch, Prefix sums and their applications (1990), 1.4",
    )
)
