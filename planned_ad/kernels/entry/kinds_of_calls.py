"""Calls of the same kind, which one entry serves: their arguments and results are the same by value.

A specification that holds objects, whose identity an entry compares, is of a kind of its own.
"""

from dataclasses import replace

import numpy as np

from .callspec import (
    AnySpec,
    ArgumentResult,
    ArraySpec,
    CallSpec,
    ComplexResult,
    ComplexSpec,
    FloatResult,
    FloatSpec,
    ListResult,
    NewArray,
    Result,
    SequenceSpec,
    Spec,
    StaticSpec,
    TupleResult,
)
from .watchtable import WatchTable


class AnyWatch:
    """That something is watched, whatever it is."""

    table = WatchTable()
    watched: tuple[str, ...] = ()

    def is_same(self) -> bool:
        raise AssertionError("no call has this watch")


WATCHED = AnyWatch()


def kind_of_call(spec: CallSpec) -> CallSpec | None:
    """The specification that stands for all calls of one kind; None where this one is of a kind of its own."""
    results = [spec.result]
    if spec.forms is not None:
        results += [made for _, made in spec.forms.made]
    if not (all(map(_is_value, spec.arguments)) and all(map(_is_made_of_values, results))):
        return None
    return replace(
        spec,
        fixed=tuple((0, nbytes) for _, nbytes in spec.fixed),
        workspace_nbytes=int(spec.workspace_nbytes > 0),
        sparse=False,
        watch=None if spec.watch is None or spec.watch.table is None else WATCHED,
    )


def _is_value(spec: Spec) -> bool:
    match spec:
        case ArraySpec():
            return np.dtype(spec.dtype.str).char == spec.dtype.char  # of types of the same size, the usual one
        case AnySpec():
            return spec.also is None
        case FloatSpec():
            return True
        case StaticSpec():
            return spec.is_int64
        case SequenceSpec():
            return spec.type in (list, tuple) and all(map(_is_value, spec.items))
        case ComplexSpec():
            return all(map(_is_value, spec.items))
    return False


def _is_made_of_values(result: Result) -> bool:
    match result:
        case None | ArgumentResult() | FloatResult():
            return True
        case NewArray():
            return _is_value(result.spec)
        case ComplexResult() | TupleResult() | ListResult():
            return all(map(_is_made_of_values, result.items))
    return False
