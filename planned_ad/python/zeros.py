"""Shadows to begin with: nested containers of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from .examples import blank
from .structure import flatten
from .type_variables import Item


def make_zero(tree: Item) -> Item:
    """A shadow of `tree`: its containers and objects copied, its floating numbers and arrays zero.

    Parameters
    ----------
    tree : object
        A number or array; tuples, lists, dicts, namedtuples, dataclasses and instances of your classes around them.

    Returns
    -------
    object
        Like `tree`. Arrays have its shapes, dtypes and strides, each its own memory. Integers, booleans, strings, what
        is inside a `planned_ad.Const`, and all else are those of `tree` itself. No `__init__` is run.

    Notes
    -----
    Costs the memory of the floating arrays.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> planned_ad.make_zero({"w": np.ones(2), "power": 2, "bias": (1.0, np.float32(3))})
    {'w': array([0., 0.]), 'power': 2, 'bias': (0.0, np.float32(0.0))}
    """
    leaves, structure = flatten(tree)
    inactive = structure.inactive_leaves
    return structure.unflatten(leaf if number in inactive else zero(leaf) for number, leaf in enumerate(leaves))


def zero(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.kind not in "fc":
            return leaf
        return blank(leaf, leaf.strides) if type(leaf) is np.ndarray else np.zeros_like(leaf)
    if isinstance(leaf, np.inexact):
        return leaf.dtype.type(0)
    if isinstance(leaf, float | complex):
        return 0.0 if isinstance(leaf, float) else 0j
    return leaf
