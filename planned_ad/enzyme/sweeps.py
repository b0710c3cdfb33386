"""Derivatives of a plan with explicit shadows, several at once: a forward or a reverse sweep on one primal.

The calls go through Python, which checks everything and finds the memory; the kernel allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..calls.arguments import check_arguments, check_overlaps, check_shadow, names_of
from ..calls.entries import OPTIMIZATION, RELEASE_GIL_AT, Entry, Layout, finished, leaf_spec, lone_floats
from ..calls.replay import Call, Placed, broken, new_array, on_entry, rebuild
from ..differentiate.batch import batched
from ..differentiate.forward import forward
from ..differentiate.reverse import reverse
from ..errors import ArgumentError, UnsupportedError
from ..kernels.emit import KernelEmitter, cut, flops, scratch_nbytes
from ..kernels.entry.callpath import make_builtin
from ..kernels.entry.callspec import CallSpec
from ..passes.boundary import privatise, written_before_guards
from ..passes.counted_exits import fills_sparsely
from ..passes.invariants import hoist_invariants
from ..passes.vectorise.vectorise import vectorise
from ..plan import Plan, Variant
from ..planner import plan_memory
from ..python.structure import Leaf, Structure, flatten, is_mutable, parts_of, path_of, updated
from ..tape.tape import Buffer, Tape, walk
from ..trace import ArgumentLeaf, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which sweep: forward or reverse, and how many shadows it has of each argument."""

    is_forward: bool
    width: int

    @property
    def kind(self) -> str:
        return f"{'forward' if self.is_forward else 'reverse'}[{self.width}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a sweep gives.

    Attributes
    ----------
    shadows : list
        Of each argument its shadows, as they were passed or new; None for an argument without.
    tangents : list
        Forward: of the result, one after the other.
    primal : object
        The result of the function.
    """

    shadows: list[list[Any] | None]
    tangents: list[Any]
    primal: Any


def swept(plan: Plan, sweep: Sweep, arguments: Sequence[Any], shadows: Sequence[Any], seed: float = 1.0) -> Outcome:
    """Run a sweep of the function of `plan`.

    Parameters
    ----------
    plan : Plan
    sweep : Sweep
    arguments : sequence
        Of the function, by position.
    shadows : sequence
        For each argument its shadows (see `annotations.Duplicated`), or None: new ones, which begin as zero.
    seed : float
        Reverse: the cotangents of all floating results.
    """

    def attempt(variants: Sequence[Variant], final: bool) -> tuple[bool, Any]:
        found = None
        for variant in variants:
            call = SweepCall(variant.trace, sweep, arguments)
            entry = entry_of(variant, sweep)
            placed = call.placed(entry, shadows, seed)
            number = placed.run(entry)
            if number is None:
                call.rebind(placed.memory)
                return True, call.outcome(placed)
            found = broken(call, variant, entry, number)
        return False, found

    found = plan._attempted(attempt, lambda: SweepCall(plan._variants[0].trace, sweep, arguments))
    assert isinstance(found, Outcome)
    return found


def entry_of(variant: Variant, sweep: Sweep) -> Entry:
    """The compiled sweep of one trace; compiled at first use."""
    found = variant.entries.get(sweep.kind)
    if found is None:
        with variant._lock:
            found = variant.entries.get(sweep.kind)
            if found is None:
                found = variant.entries[sweep.kind] = compiled(variant.trace, sweep)
    return found


def sweep_tape(traced: Trace, sweep: Sweep) -> Tape:
    """The tape of a sweep: traced, on private copies where guards need them, differentiated, simplified, repeated."""
    tape = traced.tape
    early = written_before_guards(tape)
    if early:
        tape = privatise(tape, early, write_back=True)
    tape = hoist_invariants(vectorise(tape), loads=True)
    if sweep.is_forward:
        tape = finished(forward(tape))
        results = [id for id in tape.arguments if tape.buffers[id].kind == "result"]
        return batched(tape, sweep.width, outputs=frozenset(results[len(traced.tape.results) :]))
    tape = reverse(tape, accumulate=True, fresh=lone_floats(traced), keep_results=True, loss=False)
    return batched(finished(tape), sweep.width)


def compiled(traced: Trace, sweep: Sweep) -> Entry:
    tape = sweep_tape(traced, sweep)
    memory = plan_memory(tape)
    chunks = cut(memory.steps)
    written = {region.buffer for op in tape.operations for region in op.writes}
    spec = CallSpec(
        arguments=tuple(leaf_spec(tape.buffers[id], id in written, "array") for id in tape.arguments),
        workspace_nbytes=memory.workspace_nbytes + scratch_nbytes(chunks),
        sparse=fills_sparsely(tape.operations),
        release_gil=flops(memory.steps) > RELEASE_GIL_AT,
    )
    emitter = KernelEmitter(memory, chunks, tape.arguments, memory.workspace_nbytes)
    call = make_builtin(
        "sweep",
        "",
        "()",
        spec,
        lambda builder, context, leaves, workspace: emitter.emit(builder, leaves, workspace),
        refuse_call,
        optimization=OPTIMIZATION,
        keep=memory,
    )
    layout = Layout(specs=spec.arguments, buffers=tape.arguments, outputs=(), shadows=(), result=None)
    return Entry(kind=sweep.kind, tape=tape, memory=memory, layout=layout, spec=spec, call=call)


def refuse_call(*arguments: Any) -> None:
    raise AssertionError("a sweep is run on memory that has been checked")


class SweepCall(Call):
    """One call of a sweep: what was passed, where it lies in memory, and what is to be returned."""

    def __init__(self, trace: Trace, sweep: Sweep, arguments: Sequence[Any]):
        self.trace, self.kind, self.sweep = trace, sweep.kind, sweep
        self.name = f"autodiff of {trace.name}"
        self.arguments, self.extra, self.keywords = list(arguments), [], {}
        self.leaves = check_arguments(trace, self.arguments, self.name)
        self.finish: list[Callable[[], Any]] = []
        if sweep.is_forward and any(leaf.holds is not None or leaf.is_fresh for leaf in trace.leaves):
            names = ", ".join(leaf.path for leaf in trace.leaves if leaf.holds is not None or leaf.is_fresh)
            raise UnsupportedError(
                f"{trace.line}: {trace.name} puts another array in the place of {names}, which forward mode cannot "
                f"follow yet; write into the array instead (`a[...] = new`)"
            )

    def placed(self, entry: Entry, shadows: Sequence[Any], seed: float) -> Placed:
        """Find or make the memory of everything that `entry` needs; checked, nothing written."""
        tape = entry.tape
        memory, named = self.place_arguments(tape)
        buffers = [tape.buffers[id] for id in tape.arguments]
        for buffer in buffers:
            if buffer.kind == "cotangent":
                memory[buffer.id] = np.full(buffer.shape, seed, buffer.dtype)
            elif buffer.kind == "result":
                memory[buffer.id] = np.empty(buffer.shape, buffer.dtype)
        of_leaf: dict[int, list[Buffer]] = {}
        for buffer in buffers:
            if buffer.kind in ("shadow", "tangent"):
                assert buffer.shadow_of is not None
                of_leaf.setdefault(buffer.shadow_of, []).append(buffer)
        start = 0
        for number, child in enumerate(self.trace.structure.children):
            count = child.leaf_count
            self.place_argument(number, start, of_leaf, shadows[number], memory, named)
            start += count
        for found in of_leaf.values():  # tangents of what is inactive, and holds active numbers in the end
            for buffer in found:
                memory.setdefault(buffer.id, new_array(buffer))
        check_overlaps(named, self.name)
        return Placed(memory, [], [memory[b.id] for b in buffers if b.kind == "result"])

    def place_argument(
        self,
        number: int,
        start: int,
        of_leaf: dict[int, list[Buffer]],
        given: Sequence[Any] | None,
        memory: dict[int, Any],
        named: list[tuple[str, np.ndarray, bool]],
    ) -> None:
        """Memory for the shadows of one argument; `finish` is told what they are afterwards."""
        trace, child = self.trace, self.trace.structure.children[number]
        leaves = trace.leaves[start : start + child.leaf_count]
        buffers = [of_leaf.get(leaf.buffer) if leaf.buffer is not None else None for leaf in leaves]
        name = "d" + trace.names[number]
        made = []
        for k in range(self.sweep.width):
            label = name if self.sweep.width == 1 else f"{name}[{k}]"
            if given is None:
                values: list[Any] = list(self.leaves[start : start + child.leaf_count])
                shadow, paths = None, names_of(child, label)
            else:
                shadow = self.as_array(given[k], child, leaves, buffers)
                values, structure = flatten(shadow)
                if structure != child:
                    raise ArgumentError(
                        f"{self.name}: {label} is {structure}, and must have the structure of "
                        f"{trace.names[number]}: {child}"
                    )
                if not self.sweep.is_forward:
                    self.check_floats(shadow, child, leaves, label)
                    values = on_entry(leaves, start, values)
                paths = names_of(child, label)
            for place, (several, leaf) in enumerate(zip(buffers, leaves)):
                if several is None:
                    continue
                buffer = several[k]
                if given is None:
                    values[place] = new_array(buffer)
                elif leaf.kind == "float":
                    values[place] = np.array(self.number(values[place], paths[place]), buffer.dtype)
                else:
                    values[place] = check_shadow(buffer, values[place], paths[place], self.name)
                    if shadow is given[k]:
                        named.append((paths[place], values[place], True))
                memory[buffer.id] = values[place]
            made.append((shadow, values))
        self.finish.append(lambda: [self.finished(child, leaves, *each, given) for each in made])

    def finished(
        self, child: Structure, leaves: Sequence[Any], shadow: Any, values: list[Any], given: Sequence[Any] | None
    ) -> Any:
        """A shadow after the sweep: the object passed, with its floats brought up to date."""
        final = [
            float(v) if leaf.kind == "float" and isinstance(v, np.ndarray) else v for leaf, v in zip(leaves, values)
        ]
        return child.unflatten(final) if given is None else updated(shadow, child, iter(final), is_mutable)

    def as_array(self, shadow: Any, child: Structure, leaves: Sequence[ArgumentLeaf], buffers: Sequence[Any]) -> Any:
        """A number, list or tuple of floats in the place of an array, as an array of the call's own.

        Only where there is nothing to write back: a seed of what the function overwrites, a tangent of what it reads.
        """
        if child.kind is not Leaf or buffers[0] is None or not isinstance(shadow, int | float | list | tuple):
            return shadow
        operations = [op for op in walk(self.trace.tape.operations) if not op.blocks]
        is_read = any(r.buffer == leaves[0].buffer for op in operations for r in op.reads)
        is_written = any(r.buffer == leaves[0].buffer for op in operations for r in op.writes)
        found = new_array(buffers[0][0])
        array = np.asarray(shadow, found.dtype)
        if (is_written if self.sweep.is_forward else is_read or not is_written) or array.size != found.size:
            return shadow
        found[...] = array.reshape(found.shape)
        return found

    def check_floats(self, shadow: Any, child: Structure, leaves: Sequence[ArgumentLeaf], label: str) -> None:
        """Refuse a shadow with floats that cannot be replaced, in which the derivative would be lost."""
        for leaf, (path, is_replaceable) in zip(leaves, floats_in(shadow, child, "", False)):
            if leaf.active and leaf.kind == "float" and not is_replaceable:
                raise ArgumentError(
                    f"{self.name}: {label}{path} is a float, which the derivative cannot be written to; annotate the "
                    f"argument as Active(...), or hold its numbers in arrays or in a list"
                )

    def outcome(self, placed: Placed) -> Outcome:
        """What is made of the memory afterwards."""
        shadows = [finish() for finish in self.finish]
        count = len(self.trace.tape.results)
        primal = rebuild(self.trace, placed.results[:count])
        tangents = []
        if self.sweep.is_forward:
            rest = placed.results[count:]
            tangents = [self.tangent(placed, rest[k :: self.sweep.width]) for k in range(self.sweep.width)]
        return Outcome(shadows=shadows, tangents=tangents, primal=primal)

    def tangent(self, placed: Placed, found: Sequence[np.ndarray]) -> Any:
        """A tangent of the result; what has none stands for itself."""
        trace, rest = self.trace, iter(found)
        tangents = {k: next(rest) for k, value in enumerate(trace.tape.results) if value.dtype.kind == "f"}
        whole = [tangents.get(k, placed.results[k]) for k in range(len(trace.tape.results))]
        return rebuild(trace, whole)


def floats_in(shadow: Any, child: Structure, path: str, is_replaceable: bool) -> Iterator[tuple[str, bool]]:
    """Of each leaf its path, and whether it is an array or stands somewhere in a container that can be changed."""
    if child.kind is Leaf:
        yield path, is_replaceable or isinstance(shadow, np.ndarray)
        return
    inside = is_replaceable or is_mutable(child.kind)
    for (key, part), inner in zip(parts_of(shadow) or (), child.children):
        yield from floats_in(part, inner, path + path_of(child, key), inside)
