"""Functions that are compiled once in a process for all modules that call them: long ones, where a call costs little.

A module only declares such a function, under a name that is registered with LLVM. A module that is to stand alone, for
a linker or as one of these functions itself, has it written inside.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import llvmlite.binding as llvm
from llvmlite import ir

from ..llvm.addresses import OpenModule
from ..llvm.codelibrary import REGISTERED, lasting_address
from .notation import F64, declare, suffix

PREFIX = "planned_ad.shared."


@dataclass(frozen=True, slots=True)
class SharedFunction:
    """A function for each type of doubles: its arguments and its result, and what writes it."""

    type_of: Callable[[ir.Type], ir.FunctionType]
    write: Callable[[ir.Function], None]


FUNCTIONS: dict[str, SharedFunction] = {}


def shared(module: ir.Module, name: str, kind: ir.Type) -> ir.Function:
    """The function of this name on values of type `kind`, a double or a vector of them."""
    written, which = FUNCTIONS[name], f"{name}.{suffix(kind)}"
    signature = written.type_of(kind)
    function = declare(module, PREFIX + which, signature.return_type, signature.args)
    if not function.is_declaration or function.attributes:
        return function
    for attribute in ("nounwind", "noinline"):
        function.attributes.add(attribute)
    if isinstance(module, OpenModule) and module.stands_alone:
        function.linkage = "internal"
        written.write(function)
    else:
        shared_symbol(which)
    return function


@functools.cache
def shared_symbol(which: str) -> str:
    """Compile the function and register it with LLVM; `which`: its name and its type, as in `tan.v8f64`."""

    def emit(module: ir.Module) -> None:
        name, _, type_name = which.rpartition(".")
        shared(module, name, double_of(type_name)).linkage = "external"

    symbol = PREFIX + which
    llvm.add_symbol(symbol, lasting_address(symbol, emit))
    return symbol


REGISTERED[PREFIX] = shared_symbol


def double_of(type_name: str) -> ir.Type:
    """The type of this name, as `suffix` gives it."""
    found = re.fullmatch(r"(?:v(\d+))?f64", type_name)
    assert found is not None, type_name
    return ir.VectorType(F64, int(found[1])) if found[1] else F64
