"""The leaves of the arguments: what a traced function is given, and what it leaves there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentLeaf:
    """One leaf of the arguments.

    Attributes
    ----------
    path : str
        How the user's function reaches it, such as `x` or `params['w'][0]`.
    kind : str
        'array', 'float' (a Python float, or a NumPy floating scalar), or 'static' (whatever else, passed as it is).
    buffer : int or None
        Id of its argument buffer; None for a static leaf.
    active : bool
        Whether there is a derivative with respect to it.
    value : object
        A static leaf itself; of another, the type of the example.
    rebound : type or None
        The type of what the function puts in its place, as an attribute of an object; None where it does not.
    holds : int or None
        Of an array in whose place the function puts another: the leaf whose memory it shows in the end.
    is_fresh : bool
        Whether that memory is a copy for the call, since the array that it was no attribute shows in the end.
    dtype, shape, strides
        Of an array; the strides count elements.
    is_pairs : bool
        Whether it is the memory of a complex array.
    """

    path: str
    kind: str
    buffer: int | None = None
    active: bool = False
    value: object = None
    rebound: type | None = None
    holds: int | None = None
    is_fresh: bool = False
    dtype: np.dtype | None = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    is_pairs: bool = False
