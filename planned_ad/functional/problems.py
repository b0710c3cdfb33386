"""Initial value problems and their events, as what is traced is given them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .tableaus import Tableau


class Event(NamedTuple):
    """A function whose zeros are looked for."""

    function: Callable[..., Any]  # of a time, the state there, and `args`
    args: tuple
    direction: float  # only where it rises, if above 0; only where it falls, if below
    most: float  # the crossing that ends the integration


class Problem(NamedTuple):
    """An initial value problem, and how it is to be solved: what `solve_ivp` is given."""

    function: Callable
    args: tuple
    t0: Any
    t_bound: Any
    y0: Any
    method: Tableau
    t_eval: Any
    rtol: Any
    atol: Any
    max_step: Any
    first_step: Any
    events: tuple[Event, ...] = ()
    is_dense: bool = False  # the solution between the ends of steps is asked for
    held: bool = False
