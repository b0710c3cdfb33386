"""Traces and their compiled entries on disk: what another process has made for the same function and arguments.

A trace is found by what is known before tracing (`key_of_trace`): the function's code with what it closes over, the
arguments' layouts and static values, the options, the versions of everything, the processor. What it has read besides,
of globals say, is known only to the trace: the file tells where to look, and the digest of what was there
(`Watch.portrait`). Only where it is the same now are trace, plan and machine code those of the other process; else the
function is traced again, and the file is overwritten. Whatever cannot be told to another process is not stored.

Objects of the program (functions, classes, arrays that are read from their own memory) are not stored but pointed to:
by their number in the walk along which the watch looks, which is the same walk in both processes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import llvmlite
import numba
import numpy as np
import scipy

from ..caching import folders, store
from ..differentiate.keep.split import Halves
from ..kernels.entry import headers
from ..kernels.llvm.codelibrary import processor
from ..python.made import MadeOf
from ..python.options import PlanOptions
from ..python.signatures import bind
from ..python.structure import Structure, flatten_arguments
from ..tape.found_outside import Outside
from ..tape.tape import Guard, Tape, walk
from ..trace import Trace
from ..tracing.record.decisions import Decisions
from .check.checked import Checked
from .entries import EntryParts
from .kinds import SPLIT, CallKind
from .outside.portraits import NotPortable, importable_name
from .outside.told import PLAIN
from .outside.watch import Watch
from .split_tape import KeptLayout

UNABLE = (NotPortable, pickle.PickleError, TypeError, AttributeError, ValueError, RecursionError, ImportError)
DATA_KINDS = "fiub"  # of arrays whose numbers are data at run time
NOT_KEYED = ("calls", "convert")  # set by what the trace returns; matters to calls only


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What a trace is asked for: the function, an example, and the key under which it would be stored.

    `given`: the objects that are known before tracing, in the order in which a walk meets them.
    """

    key: str
    given: tuple[object, ...]
    leaves: tuple[Any, ...]


def numbers_in(leaves: Sequence[Any]) -> str:
    """A digest of an example's numbers, for traces that they have decided."""
    digest = hashlib.sha256()
    for leaf in leaves:
        if isinstance(leaf, np.ndarray | np.generic | float | complex):
            digest.update(np.asarray(leaf).tobytes())
    return digest.hexdigest()


def is_decided(trace: Trace, checked: Checked) -> bool:
    """Whether the example's numbers have decided what the trace is."""
    return checked.unrolled or any(isinstance(op, Guard) for op in trace.tape.operations)


@dataclass(frozen=True, slots=True, eq=False)
class StoredTrace:
    """A trace that is on disk, for its entries to be found and put beside it.

    `digest`: of what was outside when it was traced; `version`: of what was known of it.
    """

    key: str
    trace: Trace
    checked: Checked
    watch: Watch
    digest: str
    version: int

    def met(self) -> tuple[object, ...]:
        """The objects outside, where they are as they were."""
        portrait = self.watch.portrait()
        if portrait.digest != self.digest or self.trace.outside.version != self.version:
            raise NotPortable("something outside has changed since the trace")
        return portrait.met


def request_for(f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], options: PlanOptions) -> Request | None:
    """What to look for; None where nothing is ever stored."""
    is_made = isinstance(f, MadeOf) and f.is_pure
    if folders.folder_now() is None or options["frozen"]:
        return None
    if type(f) not in (types.FunctionType, types.MethodType) and not is_made:
        return None
    try:
        arguments, signature = bind(f, args, kwargs)
        leaves, structure = flatten_arguments(arguments)
        described = [leaf_layout(leaf) for leaf in leaves]
        if share_bytes(leaves):
            return None
        static = [leaf for leaf, layout in zip(leaves, described) if layout is None]
        outside = Outside()
        outside.add([(f, "f"), *((leaf, f"static {k}") for k, leaf in enumerate(static))], (), {})
        portrait = Watch(outside).portrait()
        chosen = sorted((name, value) for name, value in options.items() if name not in NOT_KEYED)
        told = (structure_told(structure), sorted(signature.by_name), replace(signature, by_name=frozenset()))
        modules = [met.__module__ for met in portrait.met if type(met) is types.FunctionType]
        key = store.key_of("trace", versions(), portrait.digest, modules, described, told, chosen)
    except UNABLE:
        return None
    return Request(key, portrait.met, tuple(leaves))


def leaf_layout(leaf: Any) -> tuple | None:
    """What a trace knows of a leaf that it does not take as it is; None for a static one."""
    if isinstance(leaf, np.ndarray):
        if type(leaf) is not np.ndarray or leaf.dtype.kind not in DATA_KINDS:
            raise NotPortable("an array that is not of numbers")
        return leaf.dtype.str, leaf.shape, leaf.strides, leaf.flags.writeable, leaf.flags.aligned
    if isinstance(leaf, float | complex | np.inexact):
        return (type(leaf).__name__,)
    return None


def share_bytes(leaves: Sequence[Any]) -> bool:
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])


def structure_told(structure: Structure) -> tuple:
    """A structure by the names of its classes, with what is active."""
    kind = structure.kind
    name = kind.__name__ if kind.__module__ in ("builtins", Structure.__module__) else importable_name(kind)
    return (name, repr(structure.keys), structure.is_active, *map(structure_told, structure.children))


@functools.cache
def versions() -> str:
    """Of all that makes plans: this package by its files, since in development its version says little."""
    others = (np.__version__, scipy.__version__, numba.__version__, llvmlite.__version__)
    return repr((store.own_files(), others, sys.version, headers.supported(), sys.flags.optimize, os.name, processor()))


# Traces.


def find_trace(request: Request) -> StoredTrace | None:
    """The trace that was stored for the request, if all that it has read is as it was."""
    contents = store.find(request.key)
    if contents is None:
        return None
    try:
        roots, read, constants, digest, numbers, blob = pickle.loads(contents)
        if numbers and numbers != numbers_in(request.leaves):
            return None
        outside = Outside()
        outside.add(
            [(root_at(recipe, request.given), name) for recipe, name in roots],
            [(globals_at(recipe, request.given), keys) for recipe, keys in read],
            {},
        )
        if constants:
            met = Watch(outside).portrait().met
            outside.constants.update({id(met[k]): met[k] for k in constants})
        watch = Watch(outside)
        portrait = watch.portrait()
        if portrait.digest != digest:
            return None
        trace, checked = ProgramUnpickler(blob, portrait.met, outside).load()
    except (*UNABLE, KeyError, IndexError, EOFError):
        return None
    return StoredTrace(key_of_entries(request.key, blob), trace, checked, watch, digest, outside.version)


def put_trace(request: Request, trace: Trace, checked: Checked, watch: Watch) -> StoredTrace | None:
    """Store a trace that was made for a request; None where it cannot be told to another process."""
    outside = trace.outside
    if outside.plain or outside.kept or outside.set_first:
        return None
    try:
        if any(op.primitive == "call" for op in walk(trace.tape.operations) if hasattr(op, "primitive")):
            return None
        portrait = watch.portrait()
        require_met(trace.tape, portrait.met)
        given = {id(obj): k for k, obj in enumerate(request.given)}
        roots = [(recipe_of(obj, given), name) for obj, name in outside.roots]
        read = [(recipe_of_globals(names, request.given), list(keys)) for names, keys in outside.read.values()]
        constants = [k for k, obj in enumerate(portrait.met) if id(obj) in outside.constants]
        numbers = numbers_in(request.leaves) if is_decided(trace, checked) else ""
        blob = pickled((replace(trace, rolled=()), checked), portrait.met)
        contents = pickle.dumps((roots, read, constants, portrait.digest, numbers, blob))
    except UNABLE:
        return None
    store.put(request.key, contents, f"trace of {told_of(trace)}")
    return StoredTrace(key_of_entries(request.key, blob), trace, checked, watch, portrait.digest, outside.version)


def told_of(trace: Trace) -> str:
    """The function, for people."""
    return f"{trace.name} ({os.path.basename(trace.line.file)}:{trace.line.number})"


def key_of_entries(key: str, blob: bytes) -> str:
    return store.key_of("entries", key, blob)


def recipe_of(obj: object, given: dict[int, int]) -> tuple:
    """How another process finds a root."""
    if id(obj) in given:
        return "given", given[id(obj)]
    return ("value", obj) if type(obj) in (float, complex, *PLAIN) else ("named", importable_name(obj))


def root_at(recipe: tuple, given: Sequence[object]) -> Any:
    kind, what = recipe
    if kind != "named":
        return given[what] if kind == "given" else what
    module, _, name = what.partition(":")
    return functools.reduce(getattr, name.split(".") if name else (), sys.modules[module])


def recipe_of_globals(names: dict[str, Any], given: Sequence[object]) -> tuple:
    """How another process finds a dict of globals: as those of a function that it has, or of a module."""
    for number, obj in enumerate(given):
        if type(obj) is types.FunctionType and obj.__globals__ is names:
            return "given", number
    module = sys.modules.get(names.get("__name__", ""))
    if module is None or vars(module) is not names:
        raise NotPortable("globals of no module")
    return "module", module.__name__


def globals_at(recipe: tuple, given: Sequence[Any]) -> dict[str, Any]:
    kind, what = recipe
    return given[what].__globals__ if kind == "given" else vars(sys.modules[what])


# Entries.


def find_entry(stored: StoredTrace, row: CallKind) -> EntryParts | None:
    """The compiled entry of a stored trace."""
    found, _ = found_under(stored, row.name)
    return found[0] if found is not None and fits(stored, found[0]) else None


def put_entry(stored: StoredTrace, row: CallKind, parts: EntryParts) -> None:
    """Store a compiled entry, unless its machine code or derivative rules belong to this process."""
    put_under(stored, row.name, parts)


def find_halves(stored: StoredTrace) -> tuple[Halves, EntryParts, EntryParts, KeptLayout] | None:
    """What was stored of a split plan, and the layout that its parts refer to, which is yet to be made."""
    found, layout = found_under(stored, SPLIT.name)
    if found is None or not fits(stored, found[0]):
        return None
    forward, reverse, halves = found
    return halves, forward, reverse, layout


def put_halves(stored: StoredTrace, halves: Halves, forward: EntryParts, reverse: EntryParts) -> None:
    put_under(stored, SPLIT.name, forward, reverse, halves)


def fits(stored: StoredTrace, parts: EntryParts) -> bool:
    return parts.is_watched == (stored.watch.table is not None)


def found_under(stored: StoredTrace, name: str) -> tuple[Any, KeptLayout]:
    """What was put beside a stored trace under a name; None where there is nothing."""
    layout: KeptLayout = object.__new__(KeptLayout)
    contents = store.find(store.key_of(stored.key, name))
    if contents is None:
        return None, layout
    try:
        return ProgramUnpickler(contents, stored.met(), stored.trace.outside, layout).load(), layout
    except (*UNABLE, KeyError, IndexError, EOFError):
        return None, layout


def put_under(stored: StoredTrace, name: str, *what: Any) -> None:
    """Put this beside a stored trace, unless the code of an entry in it belongs to this process."""
    entries = [parts for parts in what if isinstance(parts, EntryParts)]
    if any(parts.compiled.is_of_process for parts in entries):
        return
    with contextlib.suppress(*UNABLE):
        met = stored.met()
        for parts in entries:
            require_met(parts.tape, met)
        told = [replace(p, spec=replace(p.spec, fixed=())) if isinstance(p, EntryParts) else p for p in what]
        store.put(store.key_of(stored.key, name), pickled(told, met), f"{name} of {told_of(stored.trace)}")


# Objects of the program.


def require_met(tape: Tape, met: Sequence[object]) -> None:
    """Refuse a program that reads memory outside which the walk does not meet: to pickle it would be to copy it."""
    known = set(map(id, met))
    if any(buffer.array is not None and id(buffer.array) not in known for buffer in tape.buffers):
        raise NotPortable("memory is read of an array that has no name")


class ProgramPickler(pickle.Pickler):
    """Points to what the watch meets."""

    def __init__(self, file: io.BytesIO, met: Sequence[object]):
        super().__init__(file, 5)
        self.numbers = {id(obj): number for number, obj in enumerate(met)}
        functions = [(obj, number) for number, obj in enumerate(met) if type(obj) is types.FunctionType]
        self.files = {f.__code__.co_filename: number for f, number in functions}  # another one for a notebook's cell

    def persistent_id(self, obj: object) -> tuple | None:
        number = self.numbers.get(id(obj))
        if number is not None:
            return "met", number
        if type(obj) is str and obj in self.files:
            return "file", self.files[obj]
        if type(obj) in (Outside, Decisions, KeptLayout):  # what is found out again where it is needed
            return (type(obj).__name__,)
        return None

    def reducer_override(self, obj: object) -> Any:
        """Dataclasses with slots by their fields: a tenth of the time that they take to restore themselves."""
        kind = type(obj)
        if not is_dataclass(kind) or "__slots__" not in vars(kind):
            return NotImplemented
        return restored_fields, (kind, *(getattr(obj, name) for name in names_of_fields(kind)))


class ProgramUnpickler(pickle.Unpickler):
    """Finds it again."""

    def __init__(self, contents: bytes, met: Sequence[object], outside: Outside, layout: KeptLayout | None = None):
        super().__init__(io.BytesIO(contents))
        self.met, self.outside, self.layout = met, outside, layout

    def persistent_load(self, recipe: Any) -> object:
        if recipe[0] == "met":
            return self.met[recipe[1]]
        if recipe[0] == "file":
            function = self.met[recipe[1]]
            assert type(function) is types.FunctionType
            return function.__code__.co_filename
        if recipe[0] == "KeptLayout":
            return self.layout
        return self.outside if recipe[0] == "Outside" else Decisions()


@functools.cache
def names_of_fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def restored_fields(kind: type, *values: Any) -> Any:
    obj: Any = object.__new__(kind)
    put = object.__setattr__
    for name, value in zip(names_of_fields(kind), values):
        put(obj, name, value)
    return obj


def pickled(obj: object, met: Sequence[object]) -> bytes:
    file = io.BytesIO()
    ProgramPickler(file, met).dump(obj)
    return file.getvalue()
