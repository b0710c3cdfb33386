"""The slow path: calls whose arguments need a look, a container taken apart, a new result, or another trace.

It checks everything, then runs the same kernels. Nothing is written before all checks have passed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, PlannedADError, ShapeError
from ..kernels.library.native_callees import FIRST_GUARD
from ..planning.schedule import guard_steps
from ..python.callbacks import raise_pending
from ..python.examples import restored
from ..python.structure import Const, Leaf, Structure, flatten, flatten_arguments, is_mutable, is_object_class, updated
from ..tape.captured import named_in
from ..tape.guards import REQUIRED, error_of, guards_of, index_out_of_range, is_room, is_stretch, known_outcomes
from ..tape.interpret import memory_of
from ..tape.tape import Buffer, Guard, Tape
from ..trace import ArgumentLeaf, Trace
from .arguments import check_arguments, check_array, check_overlaps, check_shadow, names_of
from .entries import Entry, out_names

if TYPE_CHECKING:
    from ..plan import Variant


class Call:
    """One call on the slow path: what was passed, where it lies in memory, and what is to be returned."""

    def __init__(self, trace: Trace, kind: str, arguments: Sequence[Any], keywords: dict[str, Any]):
        self.trace, self.kind = trace, kind
        self.name = f"plan.{kind}" if kind != "call" else "plan"
        more = len(out_names(trace)) if kind == "call" else (kind == "pullback") + len(shadowed(trace))
        complete = len(trace.names) + more
        self.arguments, self.extra, self.keywords = trace.signature.gather(arguments, keywords, complete, self.name)
        self.leaves = check_arguments(trace, self.arguments, self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the arguments that come first."""
        return self.trace.names

    def example(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position and by keyword to trace again with: numbers of the same types, the same ones active."""
        inactive = self.trace.structure.inactive_leaves
        leaves = [
            leaf.value(value) if isinstance(leaf.value, type) and leaf.kind == "float" else value
            for leaf, value in zip(self.trace.leaves, self.leaves)
        ]
        marked = [Const(value) if number in inactive else value for number, value in enumerate(leaves)]
        return self.trace.signature.split(self.trace.structure.unflatten(marked))

    def place(self, entry: Entry, preserve_args: bool = False) -> Placed:
        """Find or make the memory of everything that `entry` needs; checked, nothing written."""
        trace, tape = self.trace, entry.tape
        memory, named = self.place_arguments(tape)
        shadows = {b.shadow_of: b for b in (tape.buffers[i] for i in tape.arguments) if b.kind == "shadow"}
        cotangents = [b for b in (tape.buffers[i] for i in tape.arguments) if is_cotangent(b)]
        extra = self.take_extra(entry, len(cotangents))
        returned = self.place_shadows(shadows, extra, memory, named, preserve_args)
        for buffer, value in zip(cotangents, extra[len(extra) - len(cotangents) :]):
            memory[buffer.id] = self.cotangent(buffer, value)
            if buffer.shape != ():
                named.append((buffer.label, memory[buffer.id], False))
        results = [tape.buffers[i] for i in tape.arguments if tape.buffers[i].kind == "result"]
        outs = iter(extra) if self.kind == "call" else iter(())
        for buffer, kind in zip(results, (k for k in trace.result_kinds if k != "static")):
            given = next(outs, None) if kind == "array" else None
            memory[buffer.id] = (
                np.empty(buffer.shape, buffer.dtype) if given is None else self.out(buffer, given, named)
            )
        check_overlaps(named, self.name)
        return Placed(memory, returned, [memory[b.id] for b in results])

    def place_arguments(self, tape: Tape) -> tuple[dict[int, Any], list[tuple[str, np.ndarray, bool]]]:
        """The memory of the function's own arguments, by buffer; and the arrays, with whether they are written to."""
        memory: dict[int, Any] = {}
        named: list[tuple[str, np.ndarray, bool]] = [*named_in(tape)]
        written = {region.buffer for op in tape.operations for region in op.writes}
        for leaf, value in zip(self.trace.leaves, self.leaves):
            if leaf.buffer is None:
                continue
            memory[leaf.buffer] = value if leaf.kind == "array" else np.array(value, leaf.dtype)
            is_copied = leaf.buffer in written and leaf.is_fresh
            if isinstance(value, np.ndarray):
                named.append((leaf.path, value, leaf.buffer in written and not is_copied))
            if is_copied:
                memory[leaf.buffer] = restored(value, value.strides)
        return memory, named

    def rebind(self, memory: dict[int, Any]) -> None:
        """Give attributes of the arguments their new values, where the function has replaced what they held."""
        if all(leaf.rebound is None for leaf in self.trace.leaves):
            return
        leaves = iter(
            rebound_value(self.trace, leaf, value, memory)
            for leaf, value in zip(self.trace.leaves, flatten_arguments(self.arguments)[0])
        )
        for argument, child in zip(self.arguments, self.trace.structure.children):
            updated(argument, child, leaves, is_object_class)

    def take_extra(self, entry: Entry, cotangents: int) -> list[Any]:
        """Shadows and cotangents in order; None for shadows to be made."""
        if self.kind == "call":
            return self.take_outs()
        names = ["d" + self.trace.names[k] for k in entry.layout.shadows]
        self.take_gathered(names)
        many = cotangents != 1
        labels = [f"cotangent{k}" for k in range(cotangents)] if many else ["cotangent"]
        extra = list(self.extra)
        if 0 < len(extra) == cotangents and not self.keywords and names and isinstance(extra[0], numbers.Real):
            return [None] * len(names) + extra  # no shadows passed, since a number is none: new ones
        slots = dict(zip([*names, *labels], extra))
        if len(extra) > len(names) + cotangents:
            raise ArgumentError(
                f"{self.name}: takes {', '.join([*self.names, *names, *labels])}; "
                f"{len(self.arguments) + len(extra)} arguments were given"
            )
        for key, value in self.keywords.items():
            if key not in (*names, *labels) or key in slots:
                raise ArgumentError(f"{self.name}: unexpected or repeated argument {key!r}")
            slots[key] = value
        if 0 < sum(n in slots for n in names) < len(names):
            missing = next(n for n in names if n not in slots)
            raise ArgumentError(f"{self.name}: the shadow {missing} is missing; pass all shadows, or none")
        for label in labels:
            if label not in slots:
                after = f"it follows the shadows ({', '.join(names)}); " if names else ""
                raise ArgumentError(
                    f"{self.name}: the {label} of the result is missing; {after}without shadows, pass it by name, "
                    f"{label}=..."
                )
        return [slots.get(n) for n in (*names, *labels)]

    def take_outs(self) -> list[Any]:
        """Where the arrays of the result are to be written; None for new ones."""
        names = out_names(self.trace)
        slots = dict(zip(names, self.extra)) | self.keywords
        if len(self.extra) > len(names) or len(slots) < len(self.extra) + len(self.keywords) or set(slots) - set(names):
            more = f", and then {', '.join(names)}" if names else ""
            raise ArgumentError(f"{self.name}: takes only the arguments of {self.trace.name}{more}")
        return [slots.get(name) for name in names]

    def out(self, buffer: Buffer, array: Any, named: list[tuple[str, np.ndarray, bool]]) -> np.ndarray:
        """Memory that the caller brings for an array of the result."""
        checked = check_shadow(buffer, array, "out", self.name)
        named.append(("out", checked, True))
        return checked

    def take_gathered(self, names: Sequence[str]) -> None:
        """Shadows of what `*args` gathers, passed together as `dargs=`: one for each, of which only some are needed."""
        gathered = self.trace.signature.gathered
        prefix = f"d{gathered}["
        if not gathered or f"d{gathered}" not in self.keywords:
            return
        given = self.keywords.pop(f"d{gathered}")
        count = sum(name.startswith(prefix[1:]) for name in self.trace.names)
        if not isinstance(given, tuple | list) or len(given) != count:
            raise ArgumentError(f"{self.name}: d{gathered} must be a tuple of {count} shadows, as {gathered} is")
        places = {f"{prefix}{k}]": value for k, value in enumerate(given)}
        self.keywords |= {name: places[name] for name in names if name in places}

    def place_shadows(self, shadows, extra, memory, named, preserve_args: bool) -> list[Any]:
        """Fill in shadow memory; what the call returns for each active argument, as functions of no argument."""
        returned: list[Any] = []
        trace, start, used = self.trace, 0, 0
        for number, child in enumerate(trace.structure.children):
            leaves = trace.leaves[start : start + child.leaf_count]
            primals = self.leaves[start : start + child.leaf_count]
            start += child.leaf_count
            buffers = [shadows.get(leaf.buffer) if leaf.buffer is not None else None for leaf in leaves]
            if all(b is None for b in buffers):
                continue
            first = buffers[0]
            if child.kind is Leaf and leaves[0].kind == "float" and first is not None:
                cell = memory[first.id] = np.zeros((), first.dtype)
                returned.append(lambda cell=cell: float(cell))
                continue
            given = extra[used]
            used += 1
            name = "d" + trace.names[number]
            if given is None:
                values: list[Any] = [None if b is None else new_array(b) for b in buffers]
            else:
                values, structure = flatten(given)
                if structure != child:
                    raise ArgumentError(
                        f"{self.name}: {name} is {structure}, and must have the structure of "
                        f"{trace.names[number]}: {child}"
                    )
                if self.kind == "pullback" and not preserve_args:
                    values = on_entry(leaves, start - child.leaf_count, values)
            paths = names_of(child, name)
            for k, (buffer, leaf) in enumerate(zip(buffers, leaves)):
                if buffer is None:
                    values[k] = primals[k] if given is None else values[k]
                elif leaf.kind == "float":
                    start_value = 0.0 if given is None else self.number(values[k], paths[k])
                    values[k] = memory[buffer.id] = np.array(start_value, buffer.dtype)
                else:
                    values[k] = memory[buffer.id] = check_shadow(buffer, values[k], paths[k], self.name)
                    named.append((paths[k], values[k], True))
            returned.append(finisher(given, child, leaves, values))
        return returned

    def number(self, value: Any, path: str) -> float:
        if isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.shape == ()):
            return float(value)
        raise ArgumentError(f"{self.name}: {path} must be a float, not {type(value).__name__}")

    def cotangent(self, buffer: Buffer, value: Any) -> Any:
        if buffer.shape == ():
            return np.array(self.number(value, buffer.label), buffer.dtype)
        itemsize = buffer.dtype.itemsize
        strides = tuple(s * itemsize for s in buffer.view.strides)
        try:
            return check_array(value, buffer.dtype, buffer.shape, strides, buffer.label, self.name)
        except ShapeError as error:
            raise CotangentShapeError(*error.args) from None


@dataclass(frozen=True, slots=True)
class Broken:
    """A variant whose guards do not hold for some arguments, and the first of `count` guards that does not."""

    variant: Variant
    guard: Guard
    number: int
    count: int

    def error(self) -> PlannedADError:
        traced = self.variant.trace
        return error_of(self.guard, traced.name, traced.max_steps)

    def known(self) -> list[Guard]:
        """What this says of another trace for the same arguments."""
        return known_outcomes(self.variant.trace.tape, self.count, self.number)


def broken(call: Call, variant: Variant, entry: Entry, number: int) -> Broken:
    """That guard `number` of an entry broke. What no run does without is an error at once."""
    steps = [step.operation for step in guard_steps(entry.memory.steps)]
    guard, number = steps[number], number - sum(map(is_room, steps[:number]))
    guards = [guard for guard in steps if not is_room(guard)]  # those of the trace
    if guard.what not in REQUIRED or is_stretch(guard):
        return Broken(variant, guard, number, len(guards))
    traced, index = variant.trace, None
    recorded = guards_of(traced.tape)
    if guard.what == "index" and len(recorded) == len(guards):
        buffers = traced.tape.buffers
        memories = {
            leaf.buffer: memory_of(buffers[leaf.buffer], np.asarray(value, leaf.dtype))
            for leaf, value in zip(traced.leaves, call.leaves)
            if leaf.buffer is not None
        }
        index = index_out_of_range(traced.tape, recorded[number], memories)
    raise error_of(guard, traced.name, traced.max_steps, index)


def more_telling(found: Broken | None, other: Broken) -> Broken:
    """What to say of two variants that broke, in this order: one that only lacks room takes the right branch."""
    return found if found is not None and is_room(found.guard) else other


class CotangentShapeError(ShapeError):
    """A cotangent of another shape than the result of a variant."""


class Placed:
    """The memory of one call, by tape buffer, and what is made of it afterwards."""

    def __init__(self, memory: dict[int, Any], returned: list[Any], results: list[np.ndarray]):
        self.memory, self.returned, self.results = memory, returned, results

    def run(self, entry: Entry) -> int | None:
        """Run the kernel; the number of the guard that broke (and nothing was written), if one did."""
        pointers = [self.memory[id].__array_interface__["data"][0] for id in entry.layout.buffers]
        status = entry.call.run(pointers)
        if status == 0:
            return None
        raise_pending()
        return status - FIRST_GUARD

    def result(self, trace: Trace, kind: str) -> Any:
        if kind == "call":
            return rebuild(trace, self.results)
        shadows = [finish() for finish in self.returned]
        gradient = None if not shadows else shadows[0] if len(shadows) == 1 else tuple(shadows)
        return (float(self.results[0]), gradient) if kind == "value_and_gradient" else gradient


def finisher(given: Any, child: Structure, leaves: Sequence[ArgumentLeaf], values: list[Any]) -> Callable[[], Any]:
    """What a call returns for one argument's shadow: the object passed, with its floats brought up to date."""

    def finish() -> Any:
        final = [
            float(v) if leaf.kind == "float" and isinstance(v, np.ndarray) else v for leaf, v in zip(leaves, values)
        ]
        return child.unflatten(final) if given is None else updated(given, child, iter(final), is_mutable)

    return finish


def rebound_value(trace: Trace, leaf: ArgumentLeaf, value: Any, memory: dict[int, Any]) -> Any:
    """What an attribute holds after the call."""
    if leaf.rebound is None:
        return value
    shown = leaf if leaf.holds is None else trace.leaves[leaf.holds]
    assert shown.buffer is not None
    place = memory[shown.buffer]
    return place if leaf.rebound is np.ndarray else leaf.rebound(place[()])


def on_entry(leaves: Sequence[ArgumentLeaf], start: int, values: list[Any]) -> list[Any]:
    """Shadows of one argument's final state, each in the place of the leaf whose memory the attribute shows then."""
    found = list(values)
    for leaf, value in zip(leaves, values):
        if leaf.holds is not None:
            found[leaf.holds - start] = value
    return found


def shadowed(trace: Trace) -> list[int]:
    """Positions of the arguments that have a shadow argument: all that are active, but for lone floats."""
    found, start = [], 0
    for number, child in enumerate(trace.structure.children):
        leaves = trace.leaves[start : start + child.leaf_count]
        start += child.leaf_count
        if any(leaf.active for leaf in leaves) and not (child.kind is Leaf and leaves[0].kind == "float"):
            found.append(number)
    return found


def new_array(buffer: Buffer) -> np.ndarray:
    """A zero array in the layout of `buffer`."""
    order = sorted(range(len(buffer.shape)), key=lambda k: (-buffer.view.strides[k], k))
    dense = np.zeros(tuple(buffer.shape[k] for k in order), buffer.dtype)
    return dense.transpose([order.index(k) for k in range(len(order))]) if order else dense


def rebuild(trace: Trace, results: Sequence[np.ndarray]) -> Any:
    """What `f` returns, from the numbers of its traced results."""
    leaves = []
    for (kind, what), result_kind in zip(trace.result_leaves, trace.result_kinds):
        if kind == "static":
            leaves.append(what)
            continue
        assert isinstance(what, int)
        value, array = trace.tape.results[what], results[what]
        leaves.append(RESULT_KINDS[result_kind](value.dtype, array))
    return trace.result_structure.unflatten(leaves)


RESULT_KINDS = {
    "array": lambda dtype, array: array.astype(dtype, copy=False),
    "scalar": lambda dtype, array: dtype.type(array[()]),
    "float": lambda dtype, array: dtype.type(array[()]).item(),
}


def in_order(trace: Trace, kind: str, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict]:
    """The arguments of a call by position, which is the fast way, where all of its shadows are among them."""
    call = Call(trace, kind, arguments, keywords)
    names = ["d" + trace.names[k] for k in shadowed(trace)][len(call.extra) :]
    if any(name not in call.keywords for name in names):
        return list(arguments), keywords
    return [*call.arguments, *call.extra, *(call.keywords.pop(name) for name in names)], call.keywords


def is_cotangent(buffer: Buffer) -> bool:
    return buffer.kind == "cotangent"


def replay(
    variants: Sequence[Variant], kind: str, arguments: Sequence[Any], keywords: dict[str, Any], *, final: bool = False
) -> tuple[bool, Any]:
    """Try the variants of a plan in order: (True, result) of the first whose guards hold, else (False, what broke).

    A cotangent of another shape than a variant's result may belong to another branch: then that variant is passed over.
    """
    found: Broken | None = None
    for variant in variants:
        call = Call(variant.trace, kind, arguments, keywords)
        entry = variant.entry(kind)
        try:
            placed = call.place(entry, variant.preserve_args)
        except CotangentShapeError:
            if final or not any(isinstance(op, Guard) for op in variant.trace.tape.operations):
                raise
            continue
        number = placed.run(entry)
        if number is None:
            if not variant.preserve_args:
                call.rebind(placed.memory)
            return True, placed.result(variant.trace, kind)
        found = more_telling(found, broken(call, variant, entry, number))
    return False, found
