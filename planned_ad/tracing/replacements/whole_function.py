"""All of a function in a loop of one iteration, in which tests of data are branches, and not guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import control
from ...python.namespace import Namespace

ONCE = control.in_one_iteration.__code__


def in_one_loop(namespace: Namespace, shadow: Callable[..., Any]) -> Callable[..., Any]:
    """The shadow of a function, called in the shadow of such a loop."""
    loop = namespace.function(control.in_one_iteration)
    return lambda *args, **kwargs: loop(shadow, args, kwargs)
