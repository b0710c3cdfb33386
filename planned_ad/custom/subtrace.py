"""Trace a function of abstract operands into a closed tape, to be called from another trace."""

from __future__ import annotations

import enum
import itertools
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import TraceError, UnsupportedError
from ..passes.boundary import first_write, written_arguments
from ..passes.pipeline import simplify
from ..python.shadows import ShadowGlobals
from ..python.source import Line
from ..python.structure import flatten_arguments
from ..tape.guards import guards_of
from ..tape.tape import Guard, Tape
from ..trace import Trace, trace
from ..tracing.record.recorder import Recorder
from ..tracing.record.traced import Traced
from ..tracing.replacements.rebinding import Snapshot, paths_changed, snapshots

Options = dict[str, Any]
UNCHANGED = (
    int, float, complex, str, bytes, range, slice, np.generic, np.dtype, np.ufunc, type(None), type(...), type,
    types.ModuleType, types.BuiltinFunctionType, types.CodeType, enum.Enum,
)  # fmt: skip


def options_of(recorder: Recorder) -> Options:
    """What another function is to be traced with, besides."""
    names = ("max_operations", "unroll", "max_steps", "outside")
    return {name: getattr(recorder, name) for name in names}


def closed_tape(
    function: Callable[..., Any],
    what: str,
    examples: Sequence[np.ndarray],
    begin: Callable[..., tuple[tuple, dict]],
    finish: Callable[[Recorder, Any], Sequence[Any]],
    options: Options,
) -> tuple[Tape, Trace]:
    """The tape of `finish(function(*args, **kwargs))` for `args, kwargs = begin(*arrays)`, and the trace it comes from.

    `examples` say shapes and dtypes; their numbers are not used. `what` is the function in messages. Where it tests
    traced values, both outcomes are recorded.
    """

    def begun(*arrays):
        return arrays[0].recorder.namespace.shadow(begin(*arrays))

    def finished(recorder: Recorder, before: Sequence[Snapshot], result: Any) -> Sequence[Any]:
        for path in paths_changed(before):
            raise TraceError(
                f"{recorder.here()}: {what} puts something else in `{path}`, which has to stay as it is: return what "
                f"is new"
            )
        return finish(recorder, result)

    def run(*arrays):
        args, kwargs = begun(*arrays)
        before = snapshots_of_call(args, kwargs)
        return finished(arrays[0].recorder, before, function(*args, **kwargs))

    def run_in_loop(*arrays):
        args, kwargs = begun(*arrays)
        before = snapshots_of_call(args, kwargs)
        for _ in range(1):  # a loop, where both outcomes of a test are recorded
            result = function(*args, **kwargs)
        return finished(arrays[0].recorder, before, result)

    traced = trace(run, tuple(examples), **options)
    if guards_of(without_singular_checks(traced.tape)):
        traced = trace(run_in_loop, tuple(examples), **{**options, "unroll": 0})
    tape = without_singular_checks(traced.tape)
    for guard in guards_of(tape):
        raise UnsupportedError(
            f"{guard.line}: `{guard.line.text}` has to be checked at run time ({guard.what}), which {what} cannot do: "
            f"its numbers are not known where it is recorded. Use np.where, or do this outside of it"
        )
    for id in written_arguments(tape):
        line: Line = first_write(tape, id)
        raise TraceError(
            f"{line}: `{line.text}` writes to an argument of {what}, which has to leave them as they are. Copy it "
            f"first, and return the copy"
        )
    return simplify(tape), traced


def snapshots_of_call(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Snapshot]:
    """Of what a function is passed; its arguments are called by their numbers, or their names."""
    passed = [*args, *kwargs.values()]
    _, structure = flatten_arguments(passed)
    return snapshots(structure, passed, [*(f"argument {k}" for k in range(len(args))), *kwargs])


def without_singular_checks(tape: Tape) -> Tape:
    """`tape` without the guards of linear algebra: of a singular matrix its results are inf or nan.

    A callee has no way to leave the program around it; the numbers show what has happened.
    """
    kept = [not (isinstance(op, Guard) and op.what == "linear algebra") for op in tape.operations]
    operations = tuple(itertools.compress(tape.operations, kept))
    return replace(tape, operations=operations, turn=sum(kept[: tape.turn]))


def note(recorder: Recorder, traced: Trace) -> None:
    """Add the loops that another trace unrolled to those of this one."""
    for loop in traced.unrolled:
        recorder.scopes.decisions.unrolled.setdefault(("callee", loop), loop)  # type: ignore[arg-type]


class Closed:
    """Functions that were defined in traced code, with what their variables hold now.

    Attributes
    ----------
    contents : list
        What they hold; while these are the same objects, so are the functions.
    may_change : bool
        Whether there are arrays or objects among them, which may hold something else later.
    """

    def __init__(self, what: str):
        self.what = what
        self.contents: list[Any] = []
        self.may_change = False
        self._copies: dict[int, Any] = {}

    def function(self, function: Any) -> Any:
        """`function` in a form that is no part of the trace; itself where it never was."""
        if type(function) is not types.FunctionType or not isinstance(function.__globals__, ShadowGlobals):
            return function
        return self._copied("", function)

    def look_into(self, obj: Any) -> None:
        """What an argument that is no operand leads to is among the contents."""
        try:
            self._copied("", obj)
        except UnsupportedError:  # which its own trace raises, if it needs that
            self.may_change = True

    def _copied(self, name: str, obj: Any) -> Any:
        if id(obj) in self._copies:
            return self._copies[id(obj)]
        kind = type(obj)
        if issubclass(kind, Traced):
            if not obj.is_known:
                raise UnsupportedError(
                    f"{obj.recorder.here()}: {self.what} uses the traced value `{name}` of the function around it; "
                    f"pass it as an argument"
                )
            self.may_change = True
            copy: Any = np.array(obj.recorder.plain(obj))
        elif kind is types.FunctionType:
            return self._copied_function(obj)
        elif kind is list or kind is tuple:
            copy = kind(self._copied(name, item) for item in obj)
        elif kind is dict:
            copy = {key: self._copied(name, item) for key, item in obj.items()}
        else:
            self.contents.append(obj)
            self.may_change |= not issubclass(kind, UNCHANGED)
            return obj
        self._copies[id(obj)] = copy
        self.contents.append(obj)
        return copy

    def _copied_function(self, f: types.FunctionType) -> Any:
        cells = tuple(types.CellType() for _ in f.__closure__ or ())
        names = f.__globals__.real if isinstance(f.__globals__, ShadowGlobals) else f.__globals__
        copy = types.FunctionType(f.__code__, names, f.__name__, None, cells)
        self._copies[id(f)] = copy
        copy.__qualname__, copy.__doc__, copy.__module__ = f.__qualname__, f.__doc__, f.__module__
        for variable, cell, new in zip(f.__code__.co_freevars, f.__closure__ or (), cells):
            try:
                new.cell_contents = self._copied(variable, cell.cell_contents)
            except ValueError:  # has no value yet
                continue
        if f.__defaults__ is not None:
            copy.__defaults__ = tuple(self._copied("", value) for value in f.__defaults__)
        if f.__kwdefaults__ is not None:
            copy.__kwdefaults__ = {name: self._copied(name, value) for name, value in f.__kwdefaults__.items()}
        return copy
