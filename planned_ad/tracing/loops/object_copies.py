"""Objects and lists of which a trace makes copies: rows of a list, and what an iteration hands on that is in a list.

Copies stand for one another as long as nothing is assigned to any of them, and nobody asks which one he has. Where
something is, the trace starts again with the list as Python makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...python.complex_parts import kind_of_parts
from ..record.storage import Storage
from .form import HandedOn
from .held import ObjectKind, has_places, is_made_of_attributes, same, taken_apart
from .references import refer, site_of_record
from .stored_forms import Number

TRUTH = np.dtype(bool)

if TYPE_CHECKING:
    from ..record.decisions import Site
    from ..record.recorder import Recorder
    from .list_in_trace import ListInTrace


def may_be_copied(kind: Any) -> bool:
    """Whether what is of this kind is compared by what is in it, if at all: a list, or an object like a dataclass's."""
    if not isinstance(kind, ObjectKind):
        return kind is list
    return kind.cls.__eq__ is not object.__eq__ and kind.cls.__hash__ is not object.__hash__


def refuse_truths_in(owner: ListInTrace, form: HandedOn) -> None:
    """A list of truths, or of truths among other numbers, is as Python makes it where code asks if one `is True`."""
    numbers = [leaf for leaf in form.leaves() if isinstance(leaf, Number)]
    if any((TRUTH, True) in (leaf.types or [(leaf.dtype, leaf.is_python)]) for leaf in numbers):
        owner.recorder.gives_truths = True
        if owner.recorder.scopes.decisions.truths:
            raise owner.refuse()


def objects_in(form: HandedOn) -> Iterator[HandedOn]:
    """The forms of objects in it, and of dicts."""
    kind = getattr(form, "kind", None)
    if kind is dict or type(kind) is ObjectKind:
        yield form
    for part in form.parts():
        yield from objects_in(part)


def has_arrays_in_objects(form: HandedOn) -> bool:
    """Whether there are objects in it, dicts aside, that have arrays: these may be written to under other names."""
    kinds = [found for found in objects_in(form) if getattr(found, "kind", None) is not dict]
    return not all(map(is_of_numbers, kinds))


def has_arrays_within(form: HandedOn) -> bool:
    """So, dicts included, for which rows may stand only while the list is not changed."""
    return not all(map(is_of_numbers, objects_in(form)))


def is_of_numbers(form: HandedOn) -> bool:
    """Whether there are numbers in it alone, and what is the same each time."""
    return all(isinstance(leaf, Number) or not hasattr(leaf, "memory") for leaf in form.leaves())


@dataclass
class Copied:
    """An object, or a list, that is in a list or is a copy of one that is; with what is in it."""

    obj: Any
    held: dict[Any, Any]
    sites: set[Site] = field(default_factory=set)  # where these lists were made
    made_at: set[Site] = field(default_factory=set)  # where it was made itself, if that is known
    is_changed: bool = False  # whether the program has assigned to it

    def look(self) -> None:
        """Compare it with what it held."""
        now = parts_by_key(self.obj)
        if now.keys() != self.held.keys() or not all(same(value, now[key]) for key, value in self.held.items()):
            self.is_changed = True

    def write(self, key: Any, value: Any) -> None:
        """A loop or a branch is about to put something into it."""
        self.look()
        self.held[key] = value

    def refuse_compared(self, recorder: Recorder) -> None:
        """The program asks which object this is."""
        if not self.sites <= recorder.scopes.decisions.plain:
            recorder.scopes.decisions.plain |= self.sites
            raise recorder.scopes.restart()


def parts_by_key(obj: Any) -> dict[Any, Any]:
    parts = taken_apart(obj)
    return {} if parts is None else dict(zip(parts[1], parts[2]))


def note_copy(recorder: Recorder, site: Site, obj: Any) -> None:
    """An object, or a list, is in a list that was made there, or a copy of one that is."""
    parts = taken_apart(obj)
    if parts is None:
        return
    if has_places(parts[0]):
        found = recorder.copied.setdefault(id(obj), Copied(obj, parts_by_key(obj)))
        found.look()
        found.sites.add(site)
        shown = site_of_record(recorder, obj)
        found.made_at |= recorder.records.within.get(site, set()) if shown is None else {shown}
    for item in parts[2]:
        note_copy(recorder, site, item)


def sites_of_lists(recorder: Recorder, *values: Any) -> frozenset[Site]:
    """Where the lists were made that have one of these, too."""
    found = [recorder.copied[id(value)].sites for value in values if id(value) in recorder.copied]
    none: frozenset[Site] = frozenset()
    return none.union(*found)


def lend_to_list(owner: Any, value: Any) -> None:
    """A row does not change when the array is written to that was put into the list: such a write is refused."""
    recorder = owner.recorder
    if isinstance(value, tuple | dict) or kind_of_parts(value) is not None or is_made_of_attributes(type(value)):
        parts = taken_apart(value)
        for item in parts[2] if parts is not None else ():
            lend_to_list(owner, item)
    elif recorder.is_array(value):
        memory = getattr(value.storage, "memory", value.storage)
        if memory.carried or memory.lent:
            raise owner.refuse()
        note_owner(memory, owner)
        memory.chosen = True


def note_owner(memory: Storage, owner: Any) -> None:
    """An array is in a list, from now on; one that is in another list too is no row of either."""
    other = memory.listed
    if other is not None and other is not owner:
        owner.is_shared = other.is_shared = True
    memory.listed = owner


def is_whole(array: Any) -> bool:
    """Whether nothing else lies in its memory."""
    return type(array.storage) is Storage and array.size == array.storage.base.size


def refuse_changed(recorder: Recorder) -> None:
    """The trace starts again where something was assigned to an object that is in a list, or to a copy of it."""
    decisions = recorder.scopes.decisions
    sites: set[Site] = set()
    for found in recorder.copied.values():
        found.look()
        if found.is_changed:
            sites |= found.sites
    if not sites <= decisions.plain:
        alike: dict[object, set[Site]] = {}  # by what they are made of: those in one another lie apart
        for found in recorder.copied.values():
            if found.sites & sites and found.made_at:
                alike.setdefault((type(found.obj), *found.held), set()).update(found.made_at)
        if not any([refer(recorder, made_at, *sites) for made_at in alike.values()]):
            decisions.plain |= sites
        raise recorder.scopes.restart()
