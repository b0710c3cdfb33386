"""Whether the items of a generator expression, all of them looked at, have changed what the program can see.

`any` and `all` end with the item that decides. To look at all of them is the same where nothing else tells how far
they came: no variable, list, attribute or array is another one afterwards, and no iterator that they asked is at hand.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...python.frames import user_frames
from ...tape.tape import Scatter, Store, walk
from .consumers import assigns, is_generator_expression
from .held import same
from .hidden_state import Identities, is_iterator
from .list_in_trace import is_traced_list
from .places import is_read_first
from .state import State, capture, is_advanced, met_in_loop

if TYPE_CHECKING:
    from ..record.recorder import Recorder

MANY = 1000  # objects around a generator expression
CONTAINERS: tuple[Any, ...] = ([], (), "", b"", set(), range(0), {}, {}.values(), {}.items())
OF_CONTAINERS = tuple(type(iter(each)) for each in CONTAINERS)


def is_over_containers(source: Any) -> bool:
    """Whether an iterator asks no other one for its items that somebody else may have."""
    if type(source) in (zip, enumerate):
        return all(is_over_containers(inner) for inner in source.__reduce__()[1] if is_iterator(type(inner)))
    return type(source) in OF_CONTAINERS


def containers_of(source: Any) -> Iterator[Any]:
    """The lists and the like whose items an iterator gives: these may be written to while they are looked at."""
    if getattr(type(source), "is_iterator", False):
        owner = getattr(source.sequence.item, "__self__", None) if hasattr(source, "sequence") else None
        yield from (owner,) if is_traced_list(owner) else ()
    elif is_iterator(type(source)) and is_over_containers(source):
        for inner in source.__reduce__()[1]:
            yield from containers_of(inner) if is_iterator(type(inner)) else (inner,)


class SideEffects:
    """Of a generator expression, from before its first item on."""

    def __init__(self, recorder: Recorder, items: types.GeneratorType):
        assert items.gi_frame is not None
        self.recorder = recorder
        # The variables that its code sees, and what it iterates over, which lead to all that it can change.
        seen, has_assigned = dict[str, Any](), False
        source: Any = items
        while is_generator_expression(source):
            inside = f"{len(seen)} " if seen else ""
            seen |= {inside + name.replace(".", "iterator "): value for name, value in source.gi_frame.f_locals.items()}
            has_assigned = has_assigned or assigns(source.gi_code)
            source = source.gi_frame.f_locals.get(".0")
        seen |= {f"items {k}": holder for k, holder in enumerate(containers_of(source))}
        self.roots = types.SimpleNamespace(f_locals=seen, f_globals=items.gi_frame.f_globals)
        self.iterators = any(holds_iterator(recorder, frame) for frame in user_frames(sys._getframe(1)))
        # What a generator function changes when it is asked, or one whose items `zip` takes, nothing here leads to.
        is_unknown = is_iterator(type(source)) and not is_over_containers(source)
        self.iterators = self.iterators or is_unknown or has_assigned
        self.state, self.versions = self.look()
        self.operations = recorder.builder.operations
        self.begun, self.made = len(self.operations), len(recorder.builder.made)

    def writes(self) -> bool:
        """Whether something was written to memory that was there before, as that of records is."""
        builder, required = self.recorder.builder, {flag.id for flag in self.recorder.scopes.flags.values()}
        new = {buffer for buffer, _ in builder.made[self.made :]} | required
        added = self.operations[self.begun :] if builder.operations is self.operations else []
        return any(isinstance(op, Store | Scatter) and op.region.buffer not in new for op in walk(tuple(added)))

    def look(self) -> tuple[State, dict[int, object]]:
        """The variables; and of arrays how often they have been written to, of traced lists what they are made of."""
        state = capture(self.roots, known=self.recorder.held)  # type: ignore[arg-type]
        for value in self.roots.f_locals.values():  # what it iterates over moves on
            if getattr(type(value), "is_iterator", False):
                state.contents.pop(id(value), None)
        versions: dict[int, object] = {id(array.storage): array.storage.version for array in state.arrays()}
        lists = [value for _, value in state.values.values() if is_traced_list(value)]
        return state, versions | {id(items): Identities(value for _, value in items.held()) for items in lists}

    def show(self) -> bool:
        """Whether there may be any."""
        before, (now, versions) = self.state, self.look()
        if not self.recorder.scopes.depth and len(self.recorder.held) < MANY:
            self.recorder.held.clear()  # quickly found again, and perhaps gone soon
        if self.iterators or now.changed_contents(before) or self.writes():
            return True
        if any(versions.get(id, version) != version for id, version in self.versions.items()):
            return True
        if any(now.sizes[id][1] != size for id, (_, size) in before.sizes.items() if id in now.sizes):
            return True
        if any(key not in now.values or not same(old, now.values[key][1]) for key, (_, old) in before.values.items()):
            return True
        made = {key: found for key, found in now.values.items() if key not in before.values}
        outside, known = met_in_loop(self.recorder.namespace, made), before.owners()
        return any(
            not same(outside[key][1], value) if key in outside else owner_is_known(key, known, place, value)
            for key, (place, value) in made.items()
        )


def owner_is_known(key: tuple[int, str, Any], known: set[int], place: Any, value: Any) -> bool:
    """Whether a place is new in something that was there before, and not since it has been read for the first time."""
    return key[0] in known and not is_read_first(place, value)


def holds_iterator(recorder: Recorder, frame: types.FrameType) -> bool:
    """Whether a variable of a function is an iterator, or leads to one."""
    every = [*frame.f_locals.values(), *(value for _, value in capture(frame, known=recorder.held).values.values())]
    kinds: set[Any] = set(map(type, every))
    return any(map(is_iterator, kinds)) or any(map(is_advanced, every))
