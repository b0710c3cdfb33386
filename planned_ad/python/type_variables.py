"""What the annotations of public functions speak of: a function's types go through what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault  # with Python 3.13, one of `typing`

    Result = TypeVarWithDefault("Result", default=Any)
else:
    Result = TypeVar("Result")  # what a function returns
Arguments = ParamSpec("Arguments")  # what it takes
Given = TypeVar("Given")  # what something made of it returns
Operands = TypeVarTuple("Operands")  # arguments by position that are handed on
Carry = TypeVar("Carry")  # what one iteration hands to the next
Item = TypeVar("Item")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
