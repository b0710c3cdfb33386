"""What the passes over a loop's body record, compared: a body that is not the same each time is no loop.

What a body changes out of our sight, in a class, a generator of random numbers or an iterator of C, is never put back
between passes. So when the forms are settled in which a loop hands things on, its body is recorded a few times more:
whatever moves on shows as another operation, constant, or variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.source import Line
from ...regions.affine import Affine, Ragged
from ...regions.regions import Region, View
from ...tape.tape import Apply, Buffer, Loop, Operation, Value, walk
from ..record.lost_variables import Lost
from ..record.storage import Storage
from ..values.array_tracer import ArrayTracer
from ..values.loop_index import LoopIndex
from ..values.scalar_tracer import ScalarTracer
from .forms import Nothing
from .held import taken_apart
from .list_in_trace import is_traced_list

if TYPE_CHECKING:
    from .recorded_loop import RecordedLoop
    from .state import State

AGAIN = 2  # passes that have to record what the one before them recorded
DEPTH = 4  # of containers and objects that variables are followed through
STRUCTURED = (Value, Region, View, Ragged, Affine, tuple)  # in which there are names

Stores = Sequence[tuple[Buffer, Value]]
Difference = tuple[Line, object, object]  # where, and what two passes have there


@dataclass
class Pass:
    """What one pass over a body recorded, block by block where some are still open, and what it left in variables."""

    operations: list[list[Operation]]
    stores: Stores
    variables: dict[Any, tuple[str, Any]]


@dataclass
class Comparison:
    """The passes over one loop's body, from the first in which everything it hands on had its form."""

    loop: RecordedLoop
    last: Pass | None = None
    agreed: int = 0
    left_in_vain: set[tuple[object, ...]] = field(default_factory=set)  # loops in this one, see `is_vain`
    lines: dict[Line, None] = field(default_factory=dict)  # of what earlier passes recorded, in other forms

    def is_complete(self, now: State, stores: Stores) -> bool:
        """Whether the pass that is over is the last one that is needed; a difference unrolls the loop."""
        loop = self.loop
        recorded = self.recorded(now, stores)
        if self.last is not None:
            self.agreed += 1
            found = Matching(loop).difference(self.last, recorded)
            if found is not None:
                raise loop.unrolled(self.reason(found))
        self.last = recorded
        if self.is_verified_around():
            return True
        sides = 2 * len(loop.branches.nodes)  # some of which may not be met any more
        if self.agreed < AGAIN or (self.agreed < AGAIN + sides and loop.branches.unverified()):
            return False
        known = {op.line for block in recorded.operations for op in walk(tuple(block))}
        gone = next((line for line in self.lines if line not in known), None)
        if gone is not None:
            raise loop.peeled(f"computes something at {gone}, `{gone.text}`, in its first iterations only")
        loop.recorder.verified.add(loop.site)
        nodes = loop.branches.nodes.values()
        loop.recorder.verified_tests |= {node.calls for node in nodes}
        known = loop.origin.values.keys() - loop.unset
        if all(key in known or key[0] < 0 for node in nodes for key in node.places()):
            loop.recorder.assigns_nothing_new.add(loop.site)
        return True

    def forget(self) -> None:
        """Begin anew: this pass was recorded in other forms than the next will be."""
        scopes = self.loop.recorder.scopes
        blocks = [scope.outer for scope in scopes.open[self.loop.depth + 1 :]]
        for block in (*blocks, scopes.builder.operations):
            ops = (op for op in walk(tuple(block)) if id(op) not in scopes.builder.of_forms)
            self.lines |= dict.fromkeys(op.line for op in ops)
        self.last, self.agreed = None, 0
        for node in self.loop.branches.nodes.values():  # what a side leaves is seen where passes are compared
            for side in node.sides.values():
                side.times = 0

    def recorded(self, now: State, stores: Stores) -> Pass:
        loop, scopes = self.loop, self.loop.recorder.scopes
        inside = [scope.outer for scope in scopes.open[loop.depth + 1 :]]
        variables = {
            key: (place.name, value)
            for key, (place, value) in now.values.items()
            if key not in loop.origin.values or isinstance(loop.carries.get(key), Nothing)
        }
        return Pass([list(block) for block in (*inside, scopes.builder.operations)], stores, variables)

    def is_verified_around(self) -> bool:
        """Whether passes were compared when the body of a loop around ran first; its own passes are compared too."""
        return self.loop.site in self.loop.recorder.verified and any(outer.passes > 1 for outer in self.around())

    def is_vain(self) -> bool:
        """Whether a loop around is recorded once more in any case, and this one with it, which was recorded before.

        Not where the sides of tests assign variables that were not there before it: what comes after it may read them.
        """
        if self.loop.site not in self.loop.recorder.assigns_nothing_new:
            return False
        if not any(outer.branches.is_incomplete for outer in self.around()):
            return False
        outer, key = self.side_around()
        return key not in outer.comparison.left_in_vain  # once: what is missing in it then is missing in that side

    def note_incomplete(self) -> None:
        """Of a loop that is left with a side of a test missing: the side around it that it is on is incomplete, too."""
        if self.loop.branches.unknown:
            outer, key = self.side_around()
            outer.comparison.left_in_vain.add(key)
            outer.branches.incomplete()

    def side_around(self) -> tuple[Any, tuple[object, ...]]:
        """The loop around, and which one of those in it this is, by where it is and the sides that are running."""
        *_, outer = self.around()
        return outer, (self.loop.site, outer.branches.path)

    def around(self) -> Iterator[RecordedLoop]:
        """The loops around that are recorded."""
        scopes = self.loop.recorder.scopes
        return (scope.loop for scope in scopes.open[: self.loop.depth] if scope.loop is not None)

    def reason(self, difference: Difference) -> str:
        """Why the loop is unrolled: where its iterations differ, and what they have there."""
        line, a, b = difference
        constants = self.loop.recorder.scopes.blocks.numbers
        a, b = (described(item, constants) for item in (a, b))
        return f"does not do the same in each iteration: {line}: `{line.text}` has {a} in one, {b} in another"


@dataclass
class Matching:
    """Two passes side by side. What they make may have other names, one for one, as in a part of them it has."""

    loop: RecordedLoop
    names: dict[str, dict[int, int]] = field(default_factory=lambda: {"value": {}, "buffer": {}, "index": {}})
    taken: dict[str, set[int]] = field(default_factory=lambda: {"value": set(), "buffer": set(), "index": set()})

    def difference(self, a: Pass, b: Pass) -> Difference | None:
        """Where the passes begin to differ."""
        return self.blocks(a.operations, b.operations) or self.variables(a, b)

    def variables(self, a: Pass, b: Pass) -> Difference | None:
        line = self.loop.recorder.builder.line
        for (buffer, x), (other, y) in zip(a.stores, b.stores):
            if not (self.buffer(buffer.id, other.id) and self.same(x, y)):
                return line, f"one number for `{buffer.label}`", "another"
        for key, (name, x) in a.variables.items():
            if key in b.variables and not self.alike(x, b.variables[key][1]):
                return line, f"`{name}` = {shown(x)}", shown(b.variables[key][1])
        return None

    # Operations.

    def blocks(self, a: Sequence[Sequence[Operation]], b: Sequence[Sequence[Operation]]) -> Difference | None:
        for left, right in zip(a, b):
            for x, y in zip(left, right):
                found = self.operations(x, y)
                if found is not None:
                    return found
            if len(left) != len(right):
                longer = left if len(left) > len(right) else right
                return longer[min(len(left), len(right))].line, f"{len(left)} operations", str(len(right))
        return None

    def operations(self, x: Operation, y: Operation) -> Difference | None:
        """Where two operations begin to differ, which may be in their blocks; one may come from two lines."""
        if type(x) is not type(y):
            return y.line, x, y
        if isinstance(x, Loop) and isinstance(y, Loop):
            self.bind("index", x.index, y.index)
        for a, b in zip(x.outputs, y.outputs):
            self.bind("value", a.id, b.id)
        for name in compared_fields(x):
            one, other = getattr(x, name), getattr(y, name)
            if not (self.named("index", one, other) if name == "index" else self.same(one, other)):
                return y.line, x, y
        return self.blocks(x.blocks, y.blocks)

    def same(self, a: Any, b: Any) -> bool:
        """Whether what two operations hold is the same."""
        kind = type(a)
        if kind not in STRUCTURED:
            return a is b or (kind is type(b) and (bool(a == b) or (isinstance(a, float) and a != a and b != b)))
        match a, b:
            case Value(), Value():
                return self.named("value", a.id, b.id) and a.dtype == b.dtype and self.same(a.shape, b.shape)
            case Region(), Region():
                return self.buffer(a.buffer, b.buffer) and self.same(a.view, b.view)
            case View(), View():
                return self.same(a.offset, b.offset) and self.same(a.shape, b.shape) and a.strides == b.strides
            case Ragged(), Ragged():
                return int(a) == int(b) and self.same(a.expression, b.expression)
            case Affine(), Affine():
                names = self.names["index"]
                return a.constant == b.constant and {names.get(i, i): c for i, c in a.terms} == dict(b.terms)
            case tuple(), tuple() if type(b) is tuple:
                return len(a) == len(b) and all(map(self.same, a, b))
        return False

    def named(self, kind: str, a: int, b: int) -> bool:
        return self.names[kind].get(a, a) == b

    def bind(self, kind: str, a: int, b: int) -> bool:
        """Let one name stand for the other from here on; False where either has another partner."""
        names, taken = self.names[kind], self.taken[kind]
        if a in names or b in taken:
            return names.get(a) == b
        names[a] = b
        taken.add(b)
        return True

    def buffer(self, a: int, b: int) -> bool:
        """Whether two buffers are one, or both are made in the body, for the same."""
        if a == b:
            return self.bind("buffer", a, b)
        builder, depth = self.loop.recorder.builder, self.loop.depth
        made = dict(builder.made)
        one, other = builder.buffers[a], builder.buffers[b]
        is_inside = made.get(a, 0) > depth and made.get(b, 0) > depth
        return is_inside and one.dtype == other.dtype and one.view == other.view and self.bind("buffer", a, b)

    # Variables.

    def alike(self, a: Any, b: Any, depth: int = 0) -> bool:
        """Whether a variable holds the same after two passes, each of which has made it anew."""
        kind = type(a)
        if a is b or depth > DEPTH or kind is Lost or type(b) is Lost:
            return True
        if kind is not type(b):
            return False
        if kind is ScalarTracer:
            return self.same(a.value, b.value) and a.is_python == b.is_python
        if kind is LoopIndex:
            return self.same(a.expression, b.expression)
        if kind is ArrayTracer:
            return self.same(a.layout, b.layout) and self.alike_memory(a.storage, b.storage)
        if kind in (int, float, bool, str, bytes, complex) or issubclass(kind, np.generic):
            return bool(a == b) or (a != a and b != b)
        if kind is np.ndarray:
            return a.shape == b.shape and a.tobytes() == b.tobytes()
        if kind is Storage:
            return self.alike_memory(a, b)
        if is_traced_list(a):
            held, others_held = list(a.held()), list(b.held())
            pairs = zip(held, others_held)
            return len(held) == len(others_held) and all(self.alike(x, y, depth + 1) for (_, x), (_, y) in pairs)
        parts, others = taken_apart(a), taken_apart(b)
        if parts is not None and others is not None:
            return parts[1] == others[1] and all(self.alike(x, y, depth + 1) for x, y in zip(parts[2], others[2]))
        return self.alike_attributes(a, b, depth)

    def alike_memory(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        if hasattr(a, "memory"):
            return self.alike_memory(a.memory, b.memory)
        if a.buffer is not None or b.buffer is not None:
            return a.buffer is not None and b.buffer is not None and self.buffer(a.buffer.id, b.buffer.id)
        if a.is_concrete or b.is_concrete:
            return a.is_concrete and b.is_concrete and a.base.tobytes() == b.base.tobytes()
        return all(self.same(x, y) for x, y in zip(a.held_values, b.held_values))

    def alike_attributes(self, a: Any, b: Any, depth: int) -> bool:
        """Of objects of the program's own classes; nothing is known of others."""
        try:
            mine, others = vars(a), vars(b)
        except TypeError:
            return True
        return mine.keys() == others.keys() and all(self.alike(mine[n], others[n], depth + 1) for n in mine)


def described(item: object, constants: dict[int, np.ndarray]) -> str:
    """An operation, or something else that differs, for a message."""
    if not isinstance(item, Operation):
        return str(item)
    numbers = [constants[v.id] for v in item.inputs if v.id in constants]
    if numbers:
        return " and ".join(shown(number[()]) for number in numbers)
    return item.primitive if isinstance(item, Apply) else f"a {type(item).__name__.lower()}"


def shown(value: Any) -> str:
    if isinstance(value, bool | int | float | str | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


FIELDS: dict[type, tuple[str, ...]] = {}


def compared_fields(op: Operation) -> tuple[str, ...]:
    """What an operation has, but for its line and its blocks."""
    kind = type(op)
    if kind not in FIELDS:
        FIELDS[kind] = tuple(f.name for f in fields(kind) if f.name not in ("line", "body", "then", "otherwise"))
    return FIELDS[kind]
