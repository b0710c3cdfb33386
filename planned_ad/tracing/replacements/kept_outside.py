"""What a traced function keeps outside of it from one call to the next: a call of the plan would not.

Attributes that get computed numbers and are not read (`self.last_value = value`) may be as they are. Where a function
returns what it has kept since its argument is that of the call before, it is recorded as if the argument were another:
what has been kept is what it then computes, and has no derivative. Everything else that it sets and reads is refused.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import TraceError
from ...python.namespace import Namespace
from ...python.outside_changes import codes_met, contents_of
from ...python.structure import attributes_of, state_in_dict
from ...python.used_names import UsedNames, strings
from ...python.written_names import ANY, READ, assigned_in, items_written_in, nested, uses_in
from ...tape.tape import Apply, Constant, Guard, Load, Operation, Tape, Value, walk
from ..loops.letters import Letter
from ..record.decisions import Restart
from ..record.lost_variables import Lost
from ..record.recorder import Recorder

WHERE_EQUAL = {"equal": True, "not_equal": False}
# What is compared with a distance, and whether it holds for small ones.
WHERE_CLOSE = {"less": True, "less_equal": True, "greater": False, "greater_equal": False}
TURNED = ("logical_not", "bitwise_invert")
OF_TRUTHS = (*TURNED, "reduce_all", "reduce_any", "view", "logical_and", "logical_or", "bitwise_and", "bitwise_or")
MOST_KEPT = 1000  # numbers and arrays of one container


def check_written_outside(recorder: Recorder, namespace: Namespace) -> None:
    """Computed values in the place of numbers and arrays that objects from outside held, and that are read.

    Raises
    ------
    Restart
        There are some: the function is recorded with a stand-in for what they held, which says so where it is read.
    """
    names, set_first = None, recorder.scopes.decisions.set_first
    found: dict[tuple[int, str], tuple[Any, str]] = {}
    for real, shadow in namespace.instances():
        held = attributes_of(real)
        for name, value in attributes_of(shadow).items():
            of_class = name not in held and has_plain_default(type(real), name)
            old = getattr(real, name) if of_class else held.get(name)
            is_kept = type(old) is np.ndarray or issubclass(type(old), float) or of_class or type(value) is Letter
            if not is_kept or namespace.shadow(old) is value or name in recorder.outside.last_call:
                continue
            if not (recorder.is_scalar(value) or recorder.is_array(value) or type(value) is Letter):
                continue
            names = names or UsedNames(frozenset(codes_met(namespace)))
            if names.is_only_written(name, old) or (id(real), name) in set_first:
                continue
            if of_class and not names.is_counted(name):  # the best so far, perhaps, which makes no difference
                continue
            told = (
                f"the traced function sets the attribute `{name}` of a {type(real).__name__} that is no argument, and "
                f"reads what an earlier call has set: a call of the plan would not set it. Pass the object as an "
                f"argument (of a method, `{type(real).__name__}.method, (obj, x)`), or return what is new."
            )
            if name not in state_in_dict(real) or recorder.outside.has_others:  # another trace may read it
                raise TraceError(told)
            found[id(real), name] = real, told
    if found:
        set_first |= found
        raise Restart
    recorder.outside.set_first |= {(id(state_in_dict(found[0])), key[1]): found for key, found in set_first.items()}


def has_plain_default(kind: type, name: str) -> bool:
    """Whether objects of a class have a number or a text from it, as long as they have nothing themselves."""
    found = next((vars(cls)[name] for cls in kind.__mro__ if name in vars(cls)), ...)
    return type(found) in (float, int, bool, str) or isinstance(found, np.generic)


def stand_ins_for_kept(recorder: Recorder) -> dict[tuple[int, str], Lost]:
    """What objects hold instead, in an attribute that is set before it is read: where it is read first, it says so."""

    def stand_in(name: str, told: str) -> Lost:
        return Lost(recorder, name, refuse=lambda reason, first: TraceError(f"{recorder.here()}: {told}"))

    return {key: stand_in(key[1], told) for key, (_, told) in recorder.scopes.decisions.set_first.items()}


def without_what_is_kept(recorder: Recorder, namespace: Namespace, tape: Tape) -> Tape:
    """The tape without its tests for whether an argument is the one of an earlier call.

    Raises
    ------
    Restart
        It is: then the function is recorded as if it were not.
    TraceError
        There is more that depends on such a test than which way the function goes.
    """
    compares = any(isinstance(op, Apply) and op.primitive in WHERE_EQUAL | WHERE_CLOSE for op in walk(tape.operations))
    if recorder.outside.has_history or not compares:
        return tape
    places = list(places_assigned(namespace))
    tests = Tests(tape, KeptNumbers(tape, [place for place in places if place.is_read], codes_met(namespace)))
    if not tests.found:
        return tape
    dropped = set()
    for k, op in enumerate(tape.operations):
        inputs = [value for value in op.inputs if value.id in tests.holds]
        if isinstance(op, Guard) and inputs:
            if bool(op.outcome) == tests.holds[inputs[0].id]:
                before = [guard for guard in tape.operations[:k] if isinstance(guard, Guard)]
                recorder.scopes.decisions.known = (*before, replace(op, outcome=not op.outcome))
                raise Restart
            dropped.add(k)
        elif isinstance(op, Apply) and inputs and op.primitive in OF_TRUTHS:
            tests.holds[op.out.id] = tests.holds[inputs[0].id] != (op.primitive in TURNED)
        elif any(v.id in tests.holds for inner in walk((op,)) for v in inner.inputs):
            raise TraceError(
                f"{op.line}: the function compares with `{tests.found[0].path}`, which it has kept from an earlier "
                f"call, and a plan would go on with what was kept when it was traced. Pass it as an argument."
            )
    operations = needed_operations([op for k, op in enumerate(tape.operations) if k not in dropped], tape.results)
    tape = replace(tape, operations=operations, turn=len(operations))
    recorder.outside.computes_anew = True
    recorder.outside.last_call |= not_compared(tests.found, places, tape)
    return tape


def not_compared(tested: Sequence[Place], places: Sequence[Place], tape: Tape) -> set[str]:
    """What the functions with such tests keep beside, where the tape has none of its numbers."""
    codes = {place.code for place in tested}
    beside = [place for place in places if place.code in codes]
    used = KeptNumbers(tape, beside, ())
    needed = {used.place_of(value) for op in walk(tape.operations) for value in op.outputs}
    known = {place.path for place in beside if place not in needed and place.is_of_numbers()}
    partly = [place for place in beside if place.number is not None]  # other items of such a list are compared
    whole = {p.path for p in partly if len({q.number for q in partly if q.value is p.value}) == len(p.value)}
    return known - ({place.path for place in partly} - whole)


@dataclass(frozen=True, eq=False)
class Place:
    """Where a function keeps something: an attribute, a global, a variable around it, or items of one.

    `is_read`: whether the function reads the name, too.
    """

    code: types.CodeType
    path: str
    value: Any
    is_read: bool
    number: int | None = None  # of the item of a list that is written to, where it is always the same

    def leaves(self) -> list[Any]:
        """The arrays and floats there, whatever containers they are in."""
        found: list[Any] = []
        waiting = [self.value]
        while waiting and len(found) < MOST_KEPT:
            value = waiting.pop()
            if type(value) in (list, tuple, collections.deque):
                waiting += value
            elif isinstance(value, dict):
                waiting += value.values()
            elif type(value) in (np.ndarray, float, np.float64, np.float32):
                found.append(value)
        return found

    def is_of_numbers(self) -> bool:
        """Whether there are no flags or counters, by which the function may go another way."""
        return self.value is None or not isinstance(self.value, int | str | np.bool_)


def places_assigned(namespace: Namespace) -> Iterator[Place]:
    """What functions that traced code has met assign to, as it was before."""
    owners = [attributes_of(real) for real, _ in namespace.instances()]
    owners += [vars(f) for f in (*namespace.functions(), *namespace.classes())]
    owners += [vars(real) for real, _ in namespace._memo.values() if type(real) is types.SimpleNamespace]
    met = {id(cell) for cell, _ in namespace._cells.values()}
    for f in namespace.functions():
        cells = [(n, c) for n, c in zip(f.__code__.co_freevars, f.__closure__ or ()) if id(c) in met]
        around = {name: value for name, cell in cells for value in contents_of(cell).values()}
        parameters = f.__code__.co_varnames[: f.__code__.co_argcount]
        defaults = dict(zip(parameters[::-1], (f.__defaults__ or ())[::-1]))
        for code in nested(f.__code__):
            read = {name for name, use in uses_in(code) if use == READ} | {*strings(code.co_consts)}
            for kind, name in assigned_in(code):
                holders = {"STORE_ATTR": owners, "STORE_GLOBAL": [f.__globals__], "STORE_DEREF": [around]}[kind]
                for holder in holders:
                    if name in holder:
                        yield Place(code, name, holder[name], name in read)
            for loaded, name, key in items_written_in(code):
                is_own, is_shared = loaded == "LOAD_FAST", loaded in ("LOAD_DEREF", "LOAD_CLOSURE")
                others = [around] if is_shared else [*owners, f.__globals__]
                for holder in [defaults] if is_own else others:
                    yield from items_at(code, holder, name, key, is_own or name in read)


def items_at(code: types.CodeType, holder: Mapping[str, Any], name: str, key: Any, is_read: bool) -> Iterator[Place]:
    container = holder.get(name)
    if key is ANY and isinstance(container, list | dict | collections.deque | np.ndarray):
        yield Place(code, name, container, is_read)
    elif isinstance(container, dict):
        yield Place(code, f"{name}[{key!r}]", container.get(key), is_read)
    elif isinstance(container, list) and type(key) is int and -len(container) <= key < len(container):
        yield Place(code, name, container, is_read, key % len(container))


class KeptNumbers:
    """Where a tape has numbers that were at some places before."""

    def __init__(self, tape: Tape, places: Sequence[Place], codes: Iterable[types.CodeType]) -> None:
        leaves = [(place, leaf) for place in places for leaf in place.leaves()]
        arrays = [(place, leaf) for place, leaf in leaves if type(leaf) is np.ndarray]
        self.numbers = {leaf: place for place, leaf in leaves if type(leaf) is not np.ndarray}
        self.contents = {(leaf.shape, leaf.tobytes()): place for place, leaf in arrays}
        addresses = {leaf.ctypes.data: place for place, leaf in arrays}
        memory = {b.id: b.array.ctypes.data for b in tape.buffers if b.array is not None}
        self.memory = {id: addresses[address] for id, address in memory.items() if address in addresses}
        self.written = {number for code in codes for number in code.co_consts if type(number) in (int, float)}
        self.made = {v.id: op for op in walk(tape.operations) for v in op.outputs} if leaves else {}

    def place_of(self, value: Value) -> Place | None:
        """Where the numbers of a value were, as a whole."""
        op = self.made.get(value.id)
        while isinstance(op, Apply) and op.primitive in ("view", "cast"):
            op = self.made.get(op.operands[0].id)
        if isinstance(op, Constant) and op.data.shape:
            return self.contents.get((op.data.shape, op.data.tobytes()))
        if isinstance(op, Constant):
            return None if op.data.item() in self.written else self.numbers.get(op.data.item())
        return self.memory.get(op.region.buffer) if isinstance(op, Load) else None


class Tests:
    """Tests for whether something is what was kept, or close to it.

    Attributes
    ----------
    found : list of Place
    holds : dict of int to bool
        By the values that are made of such tests: what they are where it is.
    """

    def __init__(self, tape: Tape, kept: KeptNumbers) -> None:
        self.kept, self.found, self.holds = kept, list[Place](), dict[int, bool]()
        for op in walk(tape.operations) if kept.made else ():
            if not isinstance(op, Apply):
                continue
            if op.primitive in WHERE_EQUAL:
                self.note(op, [kept.place_of(value) for value in op.operands], WHERE_EQUAL[op.primitive])
            elif op.primitive in WHERE_CLOSE:
                distances = [self.distance_from(value) for value in op.operands]
                if None in distances:  # else it is the question which of two is further away
                    self.note(op, distances, WHERE_CLOSE[op.primitive] == (distances[1] is None))

    def note(self, op: Apply, places: Iterable[Place | None], holds: bool) -> None:
        place = next((place for place in places if place is not None), None)
        if place is not None:
            self.found.append(place)
            self.holds[op.out.id] = holds

    def distance_from(self, value: Value) -> Place | None:
        """What a value is the distance from, of what has been kept."""
        waiting, seen = [value.id], set[int]()
        while waiting:
            op = self.kept.made.get(waiting.pop())
            if not isinstance(op, Apply) or op.out.id in seen:
                continue
            seen.add(op.out.id)
            if op.primitive == "subtract":
                places = [place for v in op.operands if (place := self.kept.place_of(v)) is not None]
                if len(places) == 1:
                    return places[0]
            waiting += [v.id for v in op.operands]
        return None


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
