"""Derivatives of a plan with explicit shadows, several at once: a forward or a reverse sweep on one primal.

Each is a call of a kind of its own, compiled as the calls of a plan are. It gives the shadows of each argument, the
tangents of the result, and the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...calls.entries import Entry, build_entry, finished
from ...calls.kinds import ARGUMENT, COTANGENT, RESULT, CallKind
from ...calls.parameters import Parameter, lone_floats, new_array
from ...calls.replay import Call
from ...calls.variant import Variant
from ...calls.variants import replay
from ...differentiate.batch import batched
from ...differentiate.forward import forward
from ...differentiate.reverse import reverse
from ...errors import ArgumentError, UnsupportedError
from ...passes.boundary import privatise, written_before_guards
from ...passes.invariants import hoist_invariants
from ...passes.small_matrices import small_matrices_in_numbers
from ...passes.vectorise.vectorise import vectorise
from ...plan import Plan
from ...python.callbacks import raise_pending
from ...python.structure import Leaf, Structure, is_mutable, parts_of, path_of
from ...tape.tape import Tape, walk
from ...trace import ArgumentLeaf, Trace

Outcome = tuple[tuple, tuple, Any]  # of each argument its shadows, as they were passed or new; tangents; the result


def swept(plan: Plan, row: CallKind, arguments: Sequence[Any], shadows: Sequence[Any], seed: float = 1.0) -> Outcome:
    """Run a sweep of the function of `plan`.

    Parameters
    ----------
    plan : Plan
    row : CallKind
        As `kinds.sweep` gives it.
    arguments : sequence
        Of the function, by position.
    shadows : sequence
        For each argument its shadows (see `annotations.Duplicated`), or None: new ones, which begin as zero.
    seed : float
        Reverse: the cotangents of all floating results.
    """
    entry = entry_of(plan._variants[0], row)
    given = passed_after(entry, shadows, seed)
    found = given if given is NotImplemented else entry.call.function(*arguments, *given)
    if found is not NotImplemented:
        return found
    return replay(
        plan, lambda trace: SweepCall(trace, row, arguments, shadows, seed), lambda variant: entry_of(variant, row)
    )


def passed_after(entry: Entry, shadows: Sequence[Any], seed: float) -> Any:
    """What machine code is passed after the arguments; NotImplemented where there are shadows that it does not take."""
    if any(shadows[p.number] is not None for p in entry.of(entry.row.follows) if not p.is_passed):  # of floats
        return NotImplemented
    after = [p for p in entry.parameters if p.is_passed and p.role not in (ARGUMENT, RESULT)]
    return tuple(given_for(parameter, shadows, seed) for parameter in after)


def given_for(parameter: Parameter, shadows: Sequence[Any], seed: float) -> Any:
    """What is passed for a parameter; None for what is to be made."""
    if parameter.role is COTANGENT:
        (place,) = parameter.places
        assert place.buffer is not None
        return seed if place.kind == "float" else np.full(place.buffer.shape, seed, place.buffer.dtype)
    several = None if parameter.role is RESULT else shadows[parameter.number]
    return None if several is None else several[parameter.copy]


def entry_of(variant: Variant, row: CallKind) -> Entry:
    """The compiled sweep of one trace; compiled at first use."""
    found = variant.entries.get(row.name)
    return found or variant.made(row, lambda: {row.name: compiled(variant, row)})


def compiled(variant: Variant, row: CallKind) -> Entry:
    tape = sweep_tape(variant.trace, row)
    return build_entry(variant.trace, row, tape, declined, watch=variant.watch, threads=variant.threads)


def declined(*arguments: Any) -> Any:
    """That the machine code of a sweep did not do: another variant may, or says what is wrong."""
    raise_pending()
    return NotImplemented


def sweep_tape(traced: Trace, row: CallKind) -> Tape:
    """The tape of a sweep: traced, on private copies where guards need them, differentiated, simplified, repeated."""
    tape = traced.tape
    early = written_before_guards(tape)
    if early:
        tape = privatise(tape, early, write_back=True)
    tape = small_matrices_in_numbers(hoist_invariants(vectorise(tape), loads=True))
    if not row.is_reverse:
        tape = finished(forward(tape))
        results = [id for id in tape.arguments if tape.buffers[id].kind == "result"]
        return batched(tape, row.width, outputs=frozenset(results[len(traced.tape.results) :]))
    tape = reverse(tape, accumulate=True, fresh=lone_floats(traced), keep_results=True, loss=False)
    return batched(finished(tape), row.width)


class SweepCall(Call):
    """One call of a sweep on the slow path, with shadows by argument."""

    def __init__(self, trace: Trace, row: CallKind, arguments: Sequence[Any], shadows: Sequence[Any], seed: float):
        super().__init__(trace, row, arguments, {})
        self.shadows, self.seed = shadows, seed
        replaced = [leaf.path for leaf in trace.leaves if leaf.holds is not None or leaf.is_fresh]
        if replaced and not row.is_reverse:
            raise UnsupportedError(
                f"{trace.line}: {trace.name} puts another array in the place of {', '.join(replaced)}, which forward "
                f"mode cannot follow yet; write into the array instead (`a[...] = new`)"
            )

    def bound(self, entry: Entry, passed: Sequence[Parameter]) -> list[Any]:
        for parameter in entry.of(self.row.follows):
            shadows = self.shadows[parameter.number]
            if shadows is not None and not parameter.is_passed:
                self.check_floats(parameter, shadows[parameter.copy])
        return [given_for(parameter, self.shadows, self.seed) for parameter in passed]

    def given_shadow(self, parameter: Parameter, given: Any, leaves: Sequence[ArgumentLeaf]) -> tuple[Any, list[Any]]:
        given, values = super().given_shadow(parameter, self.as_array(parameter, given), leaves)
        if self.row.is_reverse:
            self.check_floats(parameter, given)
        return given, values

    def as_array(self, parameter: Parameter, shadow: Any) -> Any:
        """A number, list or tuple of floats in the place of an array, as an array of the call's own.

        Only where there is nothing to write back: a seed of what the function overwrites, a tangent of what it reads.
        """
        buffer = parameter.places[0].buffer if parameter.structure.kind is Leaf else None
        if buffer is None or not isinstance(shadow, int | float | list | tuple):
            return shadow
        operations = [op for op in walk(self.trace.tape.operations) if not op.blocks]
        is_read = any(r.buffer == buffer.shadow_of for op in operations for r in op.reads)
        is_written = any(r.buffer == buffer.shadow_of for op in operations for r in op.writes)
        found = new_array(buffer)
        array = np.asarray(shadow, found.dtype)
        if (is_read or not is_written if self.row.is_reverse else is_written) or array.size != found.size:
            return shadow
        found[...] = array.reshape(found.shape)
        return found

    def check_floats(self, parameter: Parameter, shadow: Any) -> None:
        """Refuse a shadow with floats that cannot be replaced, in which the derivative would be lost."""
        for place, (path, is_replaceable) in zip(parameter.places, floats_in(shadow, parameter.structure, "", False)):
            if place.buffer is not None and place.kind == "float" and not is_replaceable:
                raise ArgumentError(
                    f"{self.name}: {parameter.name}{path} is a float, which the derivative cannot be written to; "
                    f"annotate the argument as Active(...), or hold its numbers in arrays or in a list"
                )


def floats_in(shadow: Any, child: Structure, path: str, is_replaceable: bool) -> Iterator[tuple[str, bool]]:
    """Of each leaf its path, and whether it is an array or stands somewhere in a container that can be changed."""
    if child.kind is Leaf:
        yield path, is_replaceable or isinstance(shadow, np.ndarray)
        return
    inside = is_replaceable or is_mutable(child.kind)
    for (key, part), inner in zip(parts_of(shadow) or (), child.children):
        yield from floats_in(part, inner, path + path_of(child, key), inside)
