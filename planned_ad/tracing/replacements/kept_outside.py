"""What a traced function keeps outside of it from one call to the next: a call of the plan would not.

Attributes that get computed numbers and are not read (`self.last_value = value`) may be as they are. Where a function
returns what it has kept since its argument is that of the call before, it is recorded as if the argument were another:
what has been kept is what it then computes, and has no derivative. Everything else that it sets and reads is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import TraceError
from ...python.namespace import Namespace
from ...python.outside_changes import codes_met, contents_of
from ...python.structure import attributes_of
from ...python.used_names import UsedNames, names_assigned_first, names_replaced
from ...tape.tape import Apply, Constant, Guard, Load, Operation, Tape, Value, walk
from ..record.decisions import Restart
from ..record.recorder import Recorder

EQUALITY = ("equal", "not_equal")
TURNED = ("logical_not", "bitwise_invert")
OF_TRUTHS = (*TURNED, "reduce_all", "reduce_any", "view")


def check_written_outside(recorder: Recorder, namespace: Namespace) -> None:
    """Refuse computed values in the place of numbers and arrays that objects from outside held, and that are read."""
    names = None
    for real, shadow in namespace.instances():
        held = attributes_of(real)
        for name, value in attributes_of(shadow).items():
            old = held.get(name)
            if not (type(old) is np.ndarray or issubclass(type(old), float)) or namespace.shadow(old) is value:
                continue
            if name in recorder.outside.last_call or not (recorder.is_scalar(value) or recorder.is_array(value)):
                continue
            names = names or UsedNames(frozenset(codes_met(namespace)))
            if not names.is_only_written(name, old):
                raise TraceError(
                    f"the traced function sets the attribute `{name}` of a {type(real).__name__} that is no "
                    f"argument, and reads it: a call of the plan would not set it. Pass the object as an argument "
                    f"(of a method, `{type(real).__name__}.method, (obj, x)`), or return what is new."
                )


def without_what_is_kept(recorder: Recorder, namespace: Namespace, tape: Tape) -> Tape:
    """The tape without its tests for whether an argument is the one of an earlier call.

    Raises
    ------
    Restart
        It is: then the function is recorded as if it were not.
    TraceError
        There is more that depends on such a test than which way the function goes.
    """
    kept = KeptBefore(namespace, tape)
    applied = [(op, kept.name_in(op)) for op in walk(tape.operations) if isinstance(op, Apply)]
    tests = {op.out.id: name for op, name in applied if name}
    if not tests:
        return tape
    holds = {op.out.id: op.primitive == "equal" for op, name in applied if name}
    dropped = set()
    for k, op in enumerate(tape.operations):
        (value,) = op.inputs if len(op.inputs) == 1 else (None,)
        if isinstance(op, Guard) and value is not None and value.id in holds:
            if bool(op.outcome) == holds[value.id]:
                before = [guard for guard in tape.operations[:k] if isinstance(guard, Guard)]
                recorder.scopes.decisions.known = (*before, replace(op, outcome=not op.outcome))
                raise Restart
            dropped.add(k)
        elif isinstance(op, Apply) and value is not None and value.id in holds and op.primitive in OF_TRUTHS:
            holds[op.out.id] = holds[value.id] != (op.primitive in TURNED)
        elif any(v.id in holds for inner in walk((op,)) for v in inner.inputs):
            raise TraceError(
                f"{op.line}: the function compares with `{next(iter(tests.values()))}`, which it has kept from an "
                f"earlier call, and a plan would go on with what was kept when it was traced. Pass it as an argument."
            )
    names = set(tests.values())
    recorder.outside.last_call |= names.union(*(names_assigned_first(code, names) for code in codes_met(namespace)))
    operations = needed_operations([op for k, op in enumerate(tape.operations) if k not in dropped], tape.results)
    return replace(tape, operations=operations, turn=len(operations))


class KeptBefore:
    """Where a tape has numbers that an earlier call of the function has kept."""

    def __init__(self, namespace: Namespace, tape: Tape) -> None:
        found = list(kept_outside(namespace))
        arrays = [(name, value) for name, value in found if type(value) is np.ndarray]
        self.numbers = {value: name for name, value in found if type(value) in (float, np.float64, np.float32)}
        self.contents = {(value.shape, value.tobytes()): name for name, value in arrays}
        addresses = {value.ctypes.data: name for name, value in arrays}
        places = {b.id: b.array.ctypes.data for b in tape.buffers if b.array is not None}
        self.memory = {id: addresses[place] for id, place in places.items() if place in addresses}
        self.made = {v.id: op for op in walk(tape.operations) for v in op.outputs} if found else {}
        codes = codes_met(namespace) if found else ()
        self.written = {number for code in codes for number in code.co_consts if type(number) in (int, float)}

    def name_in(self, op: Apply) -> str | None:
        """What a test for equality is with, of what has been kept."""
        if op.primitive not in EQUALITY or not self.made:
            return None
        return next(filter(None, (self.name_of(v) for v in op.operands)), None)

    def name_of(self, value: Value) -> str | None:
        op = self.made.get(value.id)
        while isinstance(op, Apply) and op.primitive in ("view", "cast"):
            op = self.made.get(op.operands[0].id)
        if isinstance(op, Constant) and value.shape:
            return self.contents.get((op.data.shape, op.data.tobytes()))
        if isinstance(op, Constant):
            return None if op.data.item() in self.written else self.numbers.get(op.data.item())
        return self.memory.get(op.region.buffer) if isinstance(op, Load) else None


def needed_operations(operations: Sequence[Operation], results: Iterable[Value]) -> tuple[Operation, ...]:
    """Operations without those that only make values which nothing uses."""
    used = {v.id for v in results}
    found = []
    for op in reversed(operations):
        if isinstance(op, Apply | Load | Constant) and op.out.id not in used:
            continue
        used.update(v.id for inner in walk((op,)) for v in inner.inputs)
        found.append(op)
    return tuple(reversed(found))


def kept_outside(namespace: Namespace) -> Iterator[tuple[str, Any]]:
    """Attributes, globals and variables around, which a function reads and then assigns to, as they were before."""
    attributes, globals_, variables = (
        frozenset[str]().union(*(names_replaced(code, kind) for code in codes_met(namespace)))
        for kind in ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF")
    )
    for real, _ in namespace.instances():
        yield from ((name, value) for name, value in attributes_of(real).items() if name in attributes)
    for names in namespace._globals.values():
        if names.is_users:
            yield from ((name, names.real[name]) for name in globals_ if name in names.real)
    met = {id(cell) for cell, _ in namespace._cells.values()}
    for f in namespace.functions():
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            if name in variables and id(cell) in met:
                yield from ((name, value) for value in contents_of(cell).values())
