"""What closure cells hold, as traced code finds it."""

from __future__ import annotations

import collections
import functools
import types

from .written_calls import made_container

DEFAULT = "_dflt_"  # in the names of cells from which a dataclass takes the defaults of its fields
FACTORIES = (list, dict, set, collections.deque)


def found_in(cell: types.CellType, name: str) -> tuple[object, ...]:
    """The value of a variable; none where it has none yet: reading it is the user's NameError.

    What a `default_factory` makes is made as where the program has `list()` itself: so it may grow in a loop.
    """
    try:
        value = cell.cell_contents
    except ValueError:
        return ()
    is_factory = DEFAULT in name and any(value is kind for kind in FACTORIES)
    return (functools.partial(made_container, value) if is_factory else value,)
