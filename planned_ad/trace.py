"""The front door of tracing: run a function once on tracers, and hand back its tape.

>>> from planned_ad.tape.listing import brief
>>> def f(x, n):
...     y = x[1:] * n
...     y[0] = 0.0
...     for row in range(n):
...         y += np.sin(x[0])
...     return y.sum()
>>> print(brief(trace(f, (np.zeros(4), 20)).tape))
v0: float64[3] = x[1:4]
v1 = 20.0
v2: float64[3] = multiply(v0, v1)
v3 = 0.0
y#1[...] = v2
y#1[0] = v3
for i0 in range(0, 20, 1):
    v4 = x[0]
    v5 = sin(v4)
    v6: float64[3] = y#1[...]
    v7: float64[3] = add(v6, v5)
    y#1[...] = v7
v8: float64[3] = y#1[...]
v9 = reduce_sum(v8, axes=(0,))
return v9

`n` is what it is in the example, a loop of more than `unroll` iterations is recorded once, and `y`, which is written
to, is a buffer.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .errors import (
    ArgumentError,
    CapturedWriteError,
    PlannedADError,
    TraceError,
    UnrollLimitError,
    UnsupportedError,
)
from .python.comprehensions import rewritten
from .python.garbage import seldom_collected
from .python.interruptions import is_interruption
from .python.namespace import Namespace
from .python.outside_changes import handles_any_error, has_changes, names_read
from .python.progress import tell
from .python.signatures import Signature, bind
from .python.source import Line
from .python.structure import Structure, complex_leaves, flatten_arguments, paths
from .tape.captured import share_memory
from .tape.compact import compact
from .tape.found_outside import Outside
from .tape.tape import Guard, Tape, Value
from .tracing.loops.flow import LoopFlow
from .tracing.record.decisions import Decisions, Restart, Site, Unrolled
from .tracing.record.leaves import ArgumentLeaf
from .tracing.record.promotion import KINDS
from .tracing.record.recorder import Recorder
from .tracing.record.refusals import subclass_instead
from .tracing.record.storage import Storage
from .tracing.replacements.argument_identity import Apart, ArgumentIdentity, memory_in_common
from .tracing.replacements.caught_refusals import CaughtRefusals
from .tracing.replacements.floating_point_errors import ask_for_errors, check_settings
from .tracing.replacements.kept_outside import (
    check_written_outside,
    places_assigned,
    stand_ins_for_kept,
    without_what_is_kept,
)
from .tracing.replacements.library_errors import beside_python, is_of_the_trace, note_line
from .tracing.replacements.rebinding import (
    check_captured,
    owners_of_leaves,
    rebound,
    snapshots,
    store_rebound,
)
from .tracing.replacements.replacements import AddLoaded, outsiders, replacements
from .tracing.replacements.results import results_of
from .tracing.replacements.whole_function import ONCE, in_one_loop
from .tracing.values.array_classes import forget, traced_base
from .tracing.values.array_tracer import ArrayTracer
from .tracing.values.scalar_tracer import ScalarTracer

from .tracing.complex import handling as _complex  # isort: skip  # noqa: F401 (registers what is done with complex values)
from .tracing import numpy_functions as _numpy_functions  # isort: skip  # noqa: F401 (registers what it implements)

MOST_RUNS = 200  # each decides something about one loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One run of a function, recorded.

    Attributes
    ----------
    tape : Tape
        Its `arguments` are the buffers of the leaves that have one, in order.
    leaves : tuple of ArgumentLeaf
        Of the positional arguments, then of the keyword arguments.
    structure : Structure
        How those leaves nest in the tuple of all arguments.
    signature : Signature
        Their names, and which of them are passed by keyword.
    result_structure : Structure
    result_leaves : tuple of (str, object)
        For each leaf of the result `("value", index in tape.results)` or `("static", object)`.
    result_kinds : tuple of str
        For each leaf of the result 'array', 'scalar' (a NumPy scalar), 'float' (a Python number) or 'static'.
    name : str
    line : Line
        Where the function is defined.
    outside : Outside
        What the function has found outside, which the trace depends on.
    unrolled : tuple of Unrolled
        Loops whose iterations were recorded one by one although they are many, and why.
    max_steps : int
        What it was traced with.
    decisions : Decisions
        What was found out about its loops; `rolled` are those that were recorded once for many iterations.
    unchecked : str
        Why the function cannot run by itself, to be compared with the trace; empty where it can.
    changes_outside : bool
        Whether the function changes what it finds outside: the next call may begin from another state.
    reads_changes : bool
        Whether it reads something of that, too.
    meets_opaque : bool
        Whether there are objects around its loops that may have a state which is not seen: a file, a queue.
    may_hide_errors : bool
        Whether traced code handles errors of all kinds: also those that are raised because a value is traced.
    apart : Apart
        What the arguments of a call must not have in common.
    """

    tape: Tape
    leaves: tuple[ArgumentLeaf, ...]
    structure: Structure
    signature: Signature
    result_structure: Structure
    result_leaves: tuple[tuple[str, object], ...]
    result_kinds: tuple[str, ...]
    name: str
    line: Line
    outside: Outside
    unrolled: tuple[Unrolled, ...] = ()
    max_steps: int = 1000
    decisions: Decisions = field(default_factory=Decisions)
    rolled: tuple[tuple[Site, Line], ...] = ()
    unchecked: str = ""
    changes_outside: bool = False
    reads_changes: bool = False
    meets_opaque: bool = False
    may_hide_errors: bool = False
    apart: Apart = field(default_factory=Apart)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each argument, as the user's function calls it."""
        return self.signature.names


@seldom_collected
def trace(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    max_operations: int = 200_000,
    unroll: int = 16,
    max_steps: int = 1000,
    known: Sequence[Guard] = (),
    stretched: Iterable[Line] = (),
    unrolled: Mapping[Site, Unrolled] = MappingProxyType({}),
    branches: int = 0,
    decisions: Decisions | None = None,
    outside: Outside | None = None,
) -> Trace:
    """Record one run of `f` on arguments like `args`.

    The example arguments are never written to; their numbers are read only where Python needs one (a branch).

    Parameters
    ----------
    f : callable
        A Python function, method, or Numba-jitted function (whose Python source is traced).
    args, kwargs
        Example arguments: nested tuples, lists, dicts, namedtuples, objects of arrays and numbers. Floating arrays and
        floats are active unless inside a `Const`; integer and boolean arrays are run-time data; all else is static.
    max_operations : int
        More recorded operations than this raise an UnrollLimitError.
    unroll : int
        Loops of at most so many iterations are recorded one by one.
    max_steps : int
        `while` loops on traced values run at most so often.
    known : sequence of Guard
        The first guards, with what they are for the example: there its numbers are not asked for.
    stretched : iterable of Line
        Lines that combine arrays of run-time lengths, some of which may be 1 where others are not; or whose masks
        choose another number of elements in each call.
    unrolled : mapping of Site to Unrolled
        Loops whose iterations are recorded one by one, and why.
    branches : int
        In how many passes the tests of data outside of loops have to be branches, as in loops; 0 or less: are guards.
    decisions : Decisions, optional
        What is decided about its loops beforehand.
    outside : Outside
        Is told what the function has found outside; by default a new one.

    Raises
    ------
    TraceError
        Where `f` does what cannot be recorded, by its line. What `f` or NumPy raises passes through, with a note.
    """
    decisions = decisions or Decisions.begun(known, stretched, unrolled, ONCE if branches > 0 else None, abs(branches))
    outside = Outside() if outside is None else outside
    decisions.set_first |= {(id(found[0]), name): found for (_, name), found in outside.set_first.items()}
    failure: Exception | None = None
    for _ in range(MOST_RUNS):
        recorder = Recorder(max_operations, unroll, max_steps, decisions, outside, LoopFlow)
        tell(recorder.progress)
        try:
            traced = _trace_once(f, args, dict(kwargs or {}), recorder)
        except Restart:
            continue
        except Exception as error:
            if is_interruption(error):
                raise
            # Perhaps of an attempt; or since a number is asked for that is known where captured arrays are constants.
            may_be_known = not isinstance(error, CapturedWriteError | UnrollLimitError)
            if recorder.scopes.gives_up() or (may_be_known and recorder.take_captured_as_constants()):
                continue
            # Or since an array is as long as data say, which it need not be outside of loops.
            of_a_length = recorder.stretches or "known at run time only" in str(error)
            if of_a_length and not decisions.fixed_lengths:
                decisions.fixed_lengths, failure = True, failure or error
                continue
            is_first, failure = failure is None, failure or error
            if decisions.learn_numbers(recorder.filled, recorder.tabled, recorder.gives_letters):
                continue  # perhaps since a number is asked for that is known where all is done as Python does it
            recorder.watch.off()
            if is_of_the_trace(failure, f, args, dict(kwargs or {})):
                raise beside_python(failure) from failure
            if is_first:
                raise
            raise failure from None
        else:
            if traced.decisions.unroll_what_reaches_outside(
                traced.tape, traced.rolled, f"{traced.name} ({traced.line})"
            ):
                continue
            _check_written(traced, recorder, bind(f, args, dict(kwargs or {}))[0])
            return traced
        finally:
            recorder.watch.off()
            recorder.scopes.restarting = True  # loops of this run that are garbage later decide nothing
            forget(recorder)
    raise failure or TraceError(f"{recorder.builder.line}: the loops here could not be followed: unroll them (unroll=)")


def _trace_once(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], recorder: Recorder) -> Trace:
    """One run of the function; a `Restart` where it has to begin again with other decisions."""
    arguments, signature = bind(f, args, kwargs)
    namespace = _namespace_of(recorder)
    if recorder.scopes.decisions.asks_errors:
        ask_for_errors(recorder)
    leaves, tracers, structure = _traced_arguments(recorder, namespace, arguments, signature)
    run_arguments = namespace.shadow(structure.unflatten(tracers))  # shadows, so that methods are traced too
    before = snapshots(structure, run_arguments, signature.names)
    recorder.identity = ArgumentIdentity(recorder, structure, signature.names, run_arguments, arguments)
    shadow = f.within(recorder) if hasattr(f, "within") else namespace.function(f)
    if recorder.scopes.decisions.whole is not None:
        shadow = in_one_loop(namespace, shadow)
    result = _run(shadow, signature, run_arguments, structure, recorder)
    found = results_of(recorder, result)
    check_captured(namespace, arguments, signature.names)
    check_settings(recorder, namespace)
    leaves = store_rebound(recorder, rebound(before), leaves, arguments)
    changes_outside = has_changes(namespace)
    tape, leaves = _taped(recorder, namespace, leaves, found.values)
    check_written_outside(recorder, namespace)
    _tell_outside(recorder, namespace, leaves)
    rolled = {scope.site: scope.loop.line for scope in recorder.scopes.over if scope.site}
    return Trace(
        tape=tape,
        leaves=tuple(leaves),
        structure=structure,
        signature=signature,
        result_structure=found.structure,
        result_leaves=tuple(found.leaves),
        result_kinds=tuple(found.kinds),
        name=signature.function,
        line=_definition(f),
        outside=recorder.outside,
        unrolled=recorder.scopes.decisions.reported(rolled.values()),
        max_steps=recorder.max_steps,
        decisions=recorder.scopes.decisions,
        rolled=tuple(rolled.items()),
        unchecked=recorder.unchecked or uncompiled(namespace, f),
        changes_outside=changes_outside,
        reads_changes=changes_outside and any(place.is_read for place in places_assigned(namespace)),
        meets_opaque=recorder.meets_opaque,
        may_hide_errors=handles_any_error(namespace),
        apart=recorder.identity.found(),
    )


def _namespace_of(recorder: Recorder) -> Namespace:
    """What the traced code sees."""
    flow = recorder.flow
    assert isinstance(flow, LoopFlow)
    found, decisions = replacements(recorder), recorder.scopes.decisions
    namespace = Namespace(
        found,
        recorder.captured,
        outsiders(recorder),
        flow.on_integers.look_at,
        lambda code: recorder.watch.aside(
            rewritten, code, decisions.followed_in(code), bool(decisions.nones), decisions.items
        ),
        AddLoaded(recorder, found),
        traced_base(recorder),
    )
    namespace.recorder, recorder.namespace = recorder, namespace
    namespace.first_held = stand_ins_for_kept(recorder)
    return namespace


def _traced_arguments(
    recorder: Recorder, namespace: Namespace, arguments: Sequence[Any], signature: Signature
) -> tuple[list[ArgumentLeaf], list[Any], Structure]:
    """The leaves of the arguments, what the function receives for each, and how they make up the arguments."""
    examples, structure = flatten_arguments(arguments)
    labels = _labels(signature.names, structure)
    shared = memory_in_common(examples, labels)
    owners = [owner for argument in arguments for owner in owners_of_leaves(argument)]
    leaves, tracers = [], []
    in_pairs = complex_leaves(structure)
    for number, (example, label) in enumerate(zip(examples, labels)):
        active, shared_with = number not in structure.inactive_leaves, shared.get(number, "")
        leaf, tracer = _argument(recorder, namespace, example, label, active, shared_with, owners[number])
        if number in in_pairs:
            leaf = replace(leaf, is_pairs=True)
        leaves.append(leaf)
        tracers.append(tracer)
    return leaves, tracers, structure


def _run(
    shadow: Callable[..., Any], signature: Signature, arguments: Any, structure: Structure, recorder: Recorder
) -> Any:
    """What the function returns; all its loops and branches are recorded then."""
    args, kwargs = signature.split(arguments)
    assert isinstance(recorder.flow, LoopFlow)
    recorder.flow.begin(sys._getframe())
    recorder.caught = CaughtRefusals()
    try:
        result = shadow(*args, **kwargs)
    except Exception as error:
        if is_interruption(error):
            raise
        if recorder.scopes.restarting or isinstance(error, PlannedADError):  # a `finally` can lose a restart
            raise (Restart() if recorder.scopes.restarting else error) from error.__cause__
        recorder.flow.refuse_stale()
        if recorder.refusal is not None:  # which compiled code has not passed on as it was
            raise recorder.refusal from error
        if recorder.scopes.open:  # an error in one of many iterations: which one, they tell when they run one by one
            raise recorder.scopes.unroll_innermost(f"raises {type(error).__name__}", recorder.builder.line) from None
        note_line(error)
        _say_if_a_list(error, signature, structure)
        raise
    if recorder.scopes.restarting or recorder.scopes.pending:
        raise Restart
    if recorder.scopes.open:
        raise recorder.scopes.unroll_innermost("is left early", recorder.builder.line)
    recorder.flow.finish()
    recorder.caught.check()
    return result


def _taped(
    recorder: Recorder, namespace: Namespace, leaves: list[ArgumentLeaf], results: list[Value]
) -> tuple[Tape, list[ArgumentLeaf]]:
    """The tape of what has been recorded, and the leaves with their buffers on it."""
    tape = recorder.builder.tape(
        tuple(leaf.buffer for leaf in leaves if leaf.buffer is not None),
        tuple(results),
        frozenset(leaf.buffer for leaf in leaves if leaf.active and leaf.buffer is not None),
    )
    tape = without_what_is_kept(recorder, namespace, tape)
    if recorder.builder.blocks is not None or any(b.array is not None for b in tape.buffers):
        tape = compact(tape)
        ids = iter(tape.arguments)
        leaves = [leaf if leaf.buffer is None else replace(leaf, buffer=next(ids)) for leaf in leaves]
    return tape, leaves


def _tell_outside(recorder: Recorder, namespace: Namespace, leaves: list[ArgumentLeaf]) -> None:
    """What the function has found outside, which each call compares."""
    static = [(leaf.value, leaf.path) for leaf in leaves if leaf.kind == "static"]
    classes = [(cls, cls.__name__) for cls in namespace.classes()]
    roots = [*namespace.roots, *static, *classes]
    recorder.outside.add(roots, names_read(namespace), recorder.constants, namespace.kept.values())


def uncompiled(namespace: Namespace, f: object) -> str:
    """The function of Numba's, among those called, that would have to be compiled first."""
    names = [d.__name__ for d in namespace.dispatchers if d is not f and not d.signatures]
    return f"it calls {names[0]}, which Numba has not compiled yet" if names else ""


def _labels(names: Sequence[str], structure: Structure) -> list[str]:
    return [name + path for name, child in zip(names, structure.children) for path in paths(child)]


def _argument(
    recorder: Recorder,
    namespace: Namespace,
    example: Any,
    label: str,
    active: bool,
    shared_with: str,
    owner: int,
) -> tuple[ArgumentLeaf, Any]:
    """A leaf of the arguments, and what the traced function receives for it."""
    if isinstance(example, np.ndarray) and not is_text(example, owner):
        if type(example) is not np.ndarray:
            raise UnsupportedError(f"the argument `{label}` is a {subclass_instead(type(example), label)}")
        if example.dtype not in KINDS or not example.dtype.isnative:
            raise UnsupportedError(
                f"the argument `{label}` has dtype {example.dtype}; float64, float32, complex128, complex64, integers "
                f"and booleans are supported"
            )
        active = active and example.dtype.kind == "f"
        buffer = recorder.argument(label, example, active)
        leaf = ArgumentLeaf(
            path=label, kind="array", buffer=buffer.id, active=active, value=np.ndarray, dtype=example.dtype,
            shape=example.shape, strides=buffer.view.strides,
        )  # fmt: skip
        storage = Storage(example, buffer.line, buffer=buffer, shared_with=shared_with)
        return leaf, ArrayTracer(recorder, storage, example)
    if isinstance(example, np.floating | np.complexfloating) and np.asarray(example).dtype not in KINDS:
        raise UnsupportedError(f"the argument `{label}` is {type(example).__name__}; float64 and float32 are supported")
    if isinstance(example, float | np.floating):
        number = np.asarray(example)
        buffer = recorder.argument(label, number, active)
        leaf = ArgumentLeaf(
            path=label, kind="float", buffer=buffer.id, active=active, value=type(example), dtype=number.dtype
        )
        value = recorder.builder.load(buffer.whole)
        return leaf, ScalarTracer(recorder, value, is_python=not isinstance(example, np.floating))
    return ArgumentLeaf(path=label, kind="static", value=example), namespace.shadow(example, label)


def is_text(example: np.ndarray, owner: int) -> bool:
    """Whether an array in an object is no data that a kernel could read, but part of the plan, as a string is."""
    return owner != 0 and example.dtype.kind not in "biufc"


def _check_written(traced: Trace, recorder: Recorder, arguments: Sequence[Any]) -> None:
    """Refuse arguments that are written to where an array from outside shows their memory."""
    if not recorder.captured_arrays:
        return
    written = {region.buffer for op in traced.tape.operations for region in op.writes}
    for leaf, example in zip(traced.leaves, flatten_arguments(arguments)[0]):
        if leaf.buffer not in written or leaf.is_fresh or leaf.kind != "array":
            continue
        for name, array in recorder.captured_arrays.values():
            if np.may_share_memory(example, array) and share_memory(example, array):
                raise TraceError(
                    f"the traced function writes to the argument `{leaf.path}`, and reads `{name}` from outside, which "
                    f"shares memory with it. Use the argument instead, or pass `{name}` as an argument of its own."
                )


def _say_if_a_list(error: Exception, signature: Signature, structure: Structure) -> None:
    """Where the function fails over the type of an argument: a list of numbers is no array."""
    for name, child in zip(signature.names, structure.children):
        if child.kind is list and isinstance(error, TypeError | AttributeError) and "list" in str(error):
            where = "; ".join(getattr(error, "__notes__", ()))
            raise ArgumentError(
                f"{signature.function}: {name} is a list, {child}, with which the function fails: {error}; {where}. "
                f"Pass an array, numpy.asarray({name}), or a number"
            ) from error


def _definition(f: Any) -> Line:
    f = inspect.unwrap(getattr(f, "py_func", f))
    code = getattr(getattr(f, "__func__", f), "__code__", None)
    if code is None:
        return Line(file="", number=0, function=getattr(f, "__name__", type(f).__name__))
    return Line(file=code.co_filename, number=code.co_firstlineno, function=f.__name__)
