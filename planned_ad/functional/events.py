"""Where functions of an initial value problem's solution cross zero: the `events` of SciPy's `solve_ivp`.

A crossing within a step is found by halving it, and its derivative is an implicit function's: two steps of Newton's
method from there, which change no digit but have its first three derivatives.

What is traced is ordinary Python, as in `adaptive_steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .problems import Event
from .transforms import jvp, stop_gradient

ENDED = "A termination event occurred."
HALVINGS = 60


def events_of(events: Any, args: tuple, traced: Callable[[Any], Callable]) -> tuple[Event, ...]:
    """What is given as `events`, with the attributes of each; `traced` makes functions that can be traced."""
    return tuple(Event(traced(event), args, direction, most) for event, direction, most in attributes_of_events(events))


def attributes_of_events(events: Any) -> list[tuple[Callable, float, float]]:
    """Functions, directions and the number of crossings after which each ends the integration."""
    found = []
    for event in (events,) if callable(events) else events or ():
        terminal = getattr(event, "terminal", None)
        if terminal and not (int(terminal) == terminal and terminal > 0):
            raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
        found.append((event, float(getattr(event, "direction", 0)), float(terminal or np.inf)))
    return found


def event_value(event: Event, t: Any, y: Any) -> Any:
    return np.reshape(np.array(event.function(t, y, *event.args), float), ())[()]


def is_crossing(event: Event, before: Any, after: Any) -> Any:
    """Whether its values at the ends of a step tell a zero that it looks for."""
    rises = np.logical_and(before <= 0, after >= 0)
    falls = np.logical_and(before >= 0, after <= 0)
    if event.direction == 0:
        return np.logical_or(rises, falls)
    return rises if event.direction > 0 else falls


def zero_between(event: Event, within: Callable[[Any], Any], t: Any, t_new: Any, before: Any, is_met: Any) -> Any:
    """The time between the ends of a step at which an event that `is_met` is zero; `within` gives the state then."""

    def value(time: Any) -> Any:
        return event_value(event, time, within(time))

    low, high, side = stop_gradient(t), stop_gradient(t_new), stop_gradient(before)
    high = np.where(side == 0, low, high)[()]
    low = np.where(value(high) == 0, high, low)[()]
    for _ in range(HALVINGS):
        middle = low + 0.5 * (high - low)
        found = stop_gradient(value(middle))
        is_behind = side * found <= 0
        high = np.where(is_behind, middle, high)[()]
        low = np.where(np.logical_and(is_behind, found != 0), low, middle)[()]
    zero = better_zero(value, within, stop_gradient(high), is_met)
    return np.where(is_met, better_zero(value, within, zero, is_met), t_new)[()]


def better_zero(value: Callable[[Any], Any], within: Callable[[Any], Any], zero: Any, is_met: Any) -> Any:
    """A step of Newton's method; its derivative is nan where there is none, as where the function jumps."""
    found, slope = jvp(value)(zero, 1.0)
    is_flat = np.logical_and(is_met, slope == 0)
    is_sloping = np.logical_and(is_met, slope != 0)
    state = np.sum(within(zero))
    gap = np.where(is_flat, state - stop_gradient(state), 1.0)[()]
    nothing = np.where(is_flat, np.sqrt(gap) - np.sqrt(2 * gap), 0.0)[()]
    return zero + nothing - np.where(is_sloping, found, 0.0)[()] / np.where(is_sloping, slope, 1.0)[()]


def where_it_ends(
    events: Any, met: Any, crossings: Any, zeros: Any, t_new: Any, direction: Any
) -> tuple[Any, Any, Any]:
    """The time at which a step ends, the number of the event that ends it, and whether one does.

    `crossings` are counted on.
    """
    last: Any = t_new
    which: Any = len(events)
    is_ended: Any = False
    for k, event in enumerate(events):
        if event.most < np.inf:
            crossings[k] = crossings[k] + met[k]
            is_next = np.logical_or(np.logical_not(is_ended), direction * (zeros[k] - last) < 0)
            ends = np.logical_and(np.logical_and(met[k], crossings[k] >= event.most), is_next)
            last, which = np.where(ends, zeros[k], last)[()], np.where(ends, k, which)[()]
            is_ended = np.logical_or(is_ended, ends)
    return last, which, is_ended


def is_before_the_end(is_met: Any, zero: Any, k: int, last: Any, which: Any, direction: Any) -> Any:
    """Whether the zero of event number k is told: SciPy tells none behind that which ends the integration."""
    gap = direction * (zero - last)
    return np.logical_and(is_met, np.logical_or(gap < 0, np.logical_and(gap == 0, k <= which)))
