"""Trace a function of abstract operands into a closed tape, to be called from another trace."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .boundary import first_write, written_arguments
from .errors import TraceError, UnsupportedError
from .recorder import Recorder
from .simplify import simplify
from .source import Line
from .tape import Guard, Tape
from .trace import trace
from .tracing.array_tracer import ArrayTracer
from .tracing.loop_index import LoopIndex
from .tracing.ragged import RaggedArray
from .tracing.scalar_tracer import ScalarTracer

TRACERS = (ArrayTracer, ScalarTracer, LoopIndex, RaggedArray)

Options = dict[str, Any]


def options_of(recorder: Recorder) -> Options:
    """What another function is to be traced with, besides."""
    return {"max_operations": recorder.max_operations, "unroll": recorder.unroll, "max_steps": recorder.max_steps}


def closed_tape(
    function: Callable[..., Any],
    what: str,
    examples: Sequence[np.ndarray],
    begin: Callable[..., tuple[tuple, dict]],
    finish: Callable[[Recorder, Any], Sequence[Any]],
    options: Options,
) -> tuple[Tape, tuple[str, ...]]:
    """The tape of `finish(function(*args, **kwargs))` for `args, kwargs = begin(*arrays)`, and what it relies on.

    `examples` say shapes and dtypes; their numbers are not used. `what` is the function in messages. Where it tests
    traced values, both outcomes are recorded.
    """
    refuse_captured(function, what)

    def run(*arrays):
        args, kwargs = begin(*arrays)
        return finish(arrays[0].recorder, function(*args, **kwargs))

    def run_in_loop(*arrays):
        args, kwargs = begin(*arrays)
        for _ in range(1):  # a loop, where both outcomes of a test are recorded
            result = function(*args, **kwargs)
        return finish(arrays[0].recorder, result)

    traced = trace(run, tuple(examples), **options)
    if guards_of(traced.tape):
        traced = trace(run_in_loop, tuple(examples), **{**options, "unroll": 0})
    for guard in guards_of(traced.tape):
        raise UnsupportedError(
            f"{guard.line}: `{guard.line.text}` has to be checked at run time ({guard.what}), which {what} cannot do: "
            f"its numbers are not known where it is recorded. Use np.where, or do this outside of it"
        )
    for id in written_arguments(traced.tape):
        line: Line = first_write(traced.tape, id)
        raise TraceError(
            f"{line}: `{line.text}` writes to an argument of {what}, which has to leave them as they are. Copy it "
            f"first, and return the copy"
        )
    return simplify(traced.tape), traced.assumptions


def guards_of(tape: Tape) -> list[Guard]:
    return [op for op in tape.operations if isinstance(op, Guard)]


def refuse_captured(function: Any, what: str) -> None:
    """Refuse a function that has traced values of another trace in its closure."""
    seen: set[int] = set()
    waiting = [("", function)]
    while waiting:
        name, obj = waiting.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if type(obj) in TRACERS and not (type(obj) is ArrayTracer and obj.storage.is_concrete):
            raise UnsupportedError(
                f"{obj.recorder.here()}: {what} uses the traced value `{name}` of the function around it; pass it "
                f"as an argument"
            )
        if type(obj) is types.FunctionType:
            for variable, cell in zip(obj.__code__.co_freevars, obj.__closure__ or ()):
                try:
                    waiting.append((variable, cell.cell_contents))
                except ValueError:  # has no value yet
                    continue
            waiting += [(name, value) for value in obj.__defaults__ or ()]
        elif type(obj) in (list, tuple):
            waiting += [(name, item) for item in obj]
        elif type(obj) is dict:
            waiting += [(name, item) for item in obj.values()]
