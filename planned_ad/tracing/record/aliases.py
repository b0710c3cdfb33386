"""Arrays that stand for others: what a branch chose, what an iteration hands on, the rows of a list that a loop fills.

Each has memory of its own, into which the values are copied. To the program it is no copy, but a name for memory that
other names may lead to as well. So a copy knows for which memories it may stand, in all iterations and on both sides
of branches. Where one of these is written to, it is behind from then on; where it is written to itself, these are, and
the other copies of them. What is behind must not be read any more: the loop that made the copy is unrolled.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...python.attributes_held import attributes_held
from ...python.shadows import ShadowClass
from ...tape.tape import Buffer
from .recording import Recording
from .storage import Name, Storage
from .traced import Traced

Names = frozenset[Name]
Refusal = Callable[[str, bool], BaseException]
NONE: Names = frozenset()
WRITES = "writes to memory of which an earlier iteration, or a branch, chose a part, and reads that"
WRITES_CHOICE = "writes to what an earlier iteration, or a branch, chose among arrays, and reads those"


@dataclass(frozen=True, slots=True)
class Copy:
    """What one copy stands for; `first` are memories for which it does so in the first iteration only.

    `refuse(reason, first)` makes what is raised where it is used as a copy cannot be; `first` says whether that
    is so in the first iteration only.
    """

    names: Names
    first: Names
    refuse: Refusal

    def joined(self, other: Copy) -> Copy:
        later = (self.names - self.first) | (other.names - other.first)
        return Copy(self.names | other.names, (self.first | other.first) - later, self.refuse)


@dataclass(frozen=True, slots=True)
class Write:
    """A write of the program, to the memory `own`: that of `copy`, if it is one."""

    own: Name
    copy: Copy | None

    @property
    def names(self) -> Names:
        return self.copy.names | {self.own} if self.copy is not None else frozenset((self.own,))


@dataclass(frozen=True, slots=True)
class Behind:
    """Why a memory no longer holds what it does in the program."""

    copy: Copy
    reason: str
    first: bool

    def refused(self) -> BaseException:
        return self.copy.refuse(self.reason, self.first)


@dataclass(frozen=True, slots=True)
class Left:
    """What one side of a branch leaves: the copies that it made, and all that is behind after it."""

    copies: dict[Name, Copy] = field(default_factory=dict)
    behind: dict[Name, Behind] = field(default_factory=dict)


@dataclass
class Copies:
    """The copies of one trace, and what is behind at the moment."""

    recorder: Recording
    known: dict[Name, Copy] = field(default_factory=dict)
    behind: dict[Name, Behind] = field(default_factory=dict)
    outside: set[Name] = field(default_factory=set)  # memories that are seen outside of the traced function

    # For what an array stands.

    def names(self, storage: Storage) -> Names:
        """The memories that a storage may be."""
        root = storage.root
        own = root.name
        if root.captured or root.shared_with or (root.buffer is not None and root.buffer.visible):
            self.outside.add(own)
        copy = self.known.get(own)
        return frozenset((own,)) if copy is None else copy.names | {own}

    def names_in(self, value: Any) -> Names:
        """The memories that the arrays in a value may be: it itself, items of tuples, lists and dicts."""
        return NONE.union(*(self.names(storage) for storage in storages_in(value)))

    def refused(self, storage: Storage, reason: str) -> BaseException:
        """What to raise where a copy in this memory cannot be used so."""
        copy = self.known.get(storage.name)
        if copy is not None:
            return copy.refuse(reason, False)
        return self.recorder.scopes.unroll_innermost(reason, self.recorder.builder.line)

    def made(self, storage: Storage, copy: Copy) -> None:
        """A copy is made, or made anew: it holds now what it stands for."""
        self.known[storage.name] = copy
        self.behind.pop(storage.name, None)

    def since(self, known: dict[Name, Copy]) -> Left:
        """What the side of a branch leaves that has begun with these copies."""
        return Left({own: copy for own, copy in self.known.items() if known.get(own) is not copy}, dict(self.behind))

    def join(self, other: Left) -> None:
        """A branch is over, whose other side has left this: what it may stand for after either."""
        for own, copy in other.copies.items():
            known = self.known.get(own)
            self.known[own] = copy if known is None else known.joined(copy)
        self.behind = other.behind | self.behind

    def is_behind(self, value: Any) -> bool:
        return leads_to_one_of(value, self.behind)

    # What the program does.

    def read(self, storage: Storage) -> None:
        """The program reads a memory."""
        name = storage.name
        if name in self.behind:
            raise self.behind[name].refused()
        if self.recorder.scopes.open:
            self.recorder.scopes.open[-1].reads.add(name)

    def written(self, storage: Storage) -> None:
        """The program writes to a memory."""
        open, own = self.recorder.scopes.open, storage.name
        if own in self.behind:
            raise self.behind[own].refused()
        if not open and not self.known:
            return
        copy = self.known.get(own)
        write = Write(own, copy)
        if copy is not None and not copy.names.isdisjoint(self.outside):
            raise copy.refuse(WRITES_CHOICE, copy.names & self.outside <= copy.first)
        self.apply(write)
        if open:
            open[-1].writes[write] = None

    def apply(self, write: Write) -> None:
        """What a write leaves behind."""
        names = write.names
        for own, copy in self.known.items():
            common = (copy.names | {own}) & names
            if own != write.own and common:
                first = common <= copy.first or (write.copy is not None and common <= write.copy.first)
                self.behind.setdefault(own, Behind(copy, WRITES, first))
        if write.copy is not None:
            for name in write.copy.names - self.known.keys() - {write.own}:
                self.behind.setdefault(name, Behind(write.copy, WRITES_CHOICE, name in write.copy.first))

    def compared(self, a: Storage, b: Storage) -> None:
        """The program asks whether two arrays have memory in common, which differs between what a copy stands for."""
        if not self.names(a).isdisjoint(self.names(b)):
            copy = self.known.get(a.root.name) or self.known.get(b.root.name)
            if copy is not None:
                raise copy.refuse("asks whether arrays share memory, of which one was chosen", False)

    def array_in(self, buffer: Buffer, copy: Copy) -> Any:
        """The copy that a buffer holds."""
        recorder, base = self.recorder, np.empty(buffer.shape, buffer.dtype)
        storage = Storage(base, buffer.line, buffer=buffer, depth=recorder.scopes.depth)
        storage.name = (recorder.scopes.indices, "copy", buffer.id)
        storage.chosen = not copy.names.isdisjoint(self.outside)
        self.made(storage, copy)
        return recorder.array_at(storage, base)

    # Blocks that are recorded several times.

    def mark(self) -> tuple[dict[Name, Copy], dict[Name, Behind]]:
        return dict(self.known), dict(self.behind)

    def restore(self, mark: tuple[dict[Name, Copy], dict[Name, Behind]]) -> None:
        self.known, self.behind = dict(mark[0]), dict(mark[1])

    @property
    def state(self) -> object:
        """What a block that begins now sees of all this."""
        if not self.known:
            return None
        return frozenset((own, copy.names) for own, copy in self.known.items()), frozenset(self.behind)


@dataclass
class Standing:
    """For what the copy stands that a loop hands on (or fills): found out over the passes over its body."""

    label: object  # the same in all passes
    initial: Names = NONE
    names: Names = NONE
    left: Names = NONE  # the memories that the last pass has left in it, as they are called in that pass


def settled(standings: Iterable[Standing], index: int, path: tuple[int, ...]) -> bool:
    """After a pass over the loop with this index: whether the copies stand for nothing that was not known of them.

    Memory that an iteration has made is another one than that of the next. What remains of it is who has it in common.
    """
    standings = list(standings)
    inner = [{name for name in s.left if index in name[0]} for s in standings]
    known = True
    for k, standing in enumerate(standings):
        names = standing.initial | {name for name in standing.left if index not in name[0]}
        names |= {
            (path, "past", frozenset((standing.label, other.label)))
            for j, other in enumerate(standings)
            if j != k and not inner[k].isdisjoint(inner[j])
        }
        if not names <= standing.names:
            standing.names |= names
            known = False
    return known


def copy_of(standing: Standing, refuse: Refusal, *, over: bool = False) -> Copy:
    """What a copy stands for in an iteration, or when the loop is `over`."""
    later = standing.names - standing.initial | standing.left
    names = standing.names | standing.left if over else standing.names
    return Copy(names, standing.initial - later, refuse)


def leads_to_one_of(value: Any, names: Collection[Name]) -> bool:
    """Whether a value leads to one of these memories."""
    return bool(names) and any(storage.root.name in names for storage in storages_in(value))


def storages_in(value: Any, seen: set[int] | None = None) -> Iterator[Storage]:
    """The memories to which a value leads, also through tuples, lists, dicts and the program's objects."""
    kind: Any = type(value)
    if issubclass(kind, Traced):
        yield from value.storages()
        return
    is_tuple = kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields"))
    items: Iterable[Any] = value if is_tuple or kind is list else value.values() if kind is dict else ()
    if isinstance(kind, ShadowClass) or kind is types.SimpleNamespace:
        items = (item for _, item in attributes_held(value))
    seen = set() if seen is None else seen
    if id(value) not in seen:
        seen.add(id(value))
        for item in items:
            yield from storages_in(item, seen)
