"""Primitives that move elements: views, gathers, and the positions of true elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..regions.regions import View, show
from .elementwise import ANY
from .rows import check_kinds
from .table import Rule, register

INDEX = np.dtype(np.int64)


def infer_view(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    """The view's shape; the view stays inside the operand (checked here unless a loop moves it)."""
    (a,), view = operands, parameters["view"]
    assert isinstance(view, View)
    low, high = view.bounds()
    if view.size and isinstance(low, int) and isinstance(high, int) and (low < 0 or high >= a.size):
        raise ValueError(f"view {view} of {a.size} elements")
    return view.shape, a.dtype


def view(a: np.ndarray, *, view: View) -> np.ndarray:
    """The elements that `view` shows of `a`, stored row-major; a copy, since values are immutable."""
    return show(np.ascontiguousarray(a).reshape(-1), view).copy()


def infer_gather(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    """`source[index_1, ..., index_k]`: the indices' common shape, then the axes of the source that are left."""
    source, *indices = operands
    shapes = {v.shape for v in indices}
    if len(shapes) != 1 or len(indices) > len(source.shape) or any(v.dtype != INDEX for v in indices):
        raise ValueError(f"gather from {source.shape} at {[(str(v.dtype), v.shape) for v in indices]}")
    return indices[0].shape + source.shape[len(indices) :], source.dtype


def gather(source: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    """`source[indices]`; the indices are in range and not negative (see `wrap_index`)."""
    for index, extent in zip(indices, source.shape):
        if np.any((index < 0) | (index >= extent)):
            raise IndexError(f"gather: an index is out of range for an axis of {extent}")
    return source[indices]


def infer_nonzero(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    check_kinds("nonzero", operands, ("b",))
    return (parameters["count"],), INDEX


def nonzero(mask: np.ndarray, *, count: int, padded: bool = False) -> np.ndarray:
    """Row-major positions of the true elements: as many as a guard has checked; `padded`, with zeros after them."""
    positions = np.flatnonzero(mask)
    if positions.size > count or (positions.size != count and not padded):
        raise ValueError(f"nonzero: {positions.size} true elements, not {count}")
    return np.pad(positions.astype(INDEX), (0, count - positions.size))


def infer_argsort(operands: Sequence, parameters: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
    check_kinds("argsort", operands, ANY)
    (a,) = operands
    if not 0 <= parameters["axis"] < len(a.shape):
        raise ValueError(f"argsort along axis {parameters['axis']} of shape {a.shape}")
    return a.shape, INDEX


def argsort(a: np.ndarray, *, axis: int) -> np.ndarray:
    """The permutation that sorts each line along `axis`; equal elements keep their order, nan comes last."""
    return np.argsort(a, axis=axis, kind="stable").astype(INDEX)


# The cotangents of `view` and `gather` concern a part of their source only: reverse.py adds them in place, by kind.
register(Rule(name="view", kind="view", infer=infer_view, evaluate=view, adjoints=(None,), needs=("",), kinds=ANY))
register(
    Rule(name="gather", kind="gather", infer=infer_gather, evaluate=gather, adjoints=(None,), needs=("",), kinds=ANY)
)
register(
    Rule(
        name="nonzero", kind="other", infer=infer_nonzero, evaluate=nonzero, adjoints=(None,), needs=("",), kinds=("b",)
    )
)
register(
    Rule(
        name="argsort",
        kind="other",
        infer=infer_argsort,
        evaluate=argsort,
        adjoints=(None,),
        needs=("",),
        kinds=ANY,
        cost=30,
    )
)
