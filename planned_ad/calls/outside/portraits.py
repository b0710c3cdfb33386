"""What a trace has found outside, in a form that another process can compare: the walk's sightings without addresses.

A watch notices what changes as long as its process lives, and may take an object for the same where it is the same
one. Another process has other objects: there, all that counts must be in the sightings by value. What is not (the
contents of a long array that are in the program, an object of a library that is not looked into), and code that may ask
the world (a file, the time, random numbers), makes a portrait impossible, and the function is traced again.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import itertools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...python.instructions import instructions_of
from ...python.shadows import is_library
from ...python.used_names import nested
from ...tape.found_outside import Outside
from .sightings import Walk
from .told import PLAIN, Same, shown_object


class NotPortable(Exception):
    """Something counts that another process cannot compare; the message says what."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """Equal digests: whatever a trace has read is the same. `met`: the objects behind it, in the order of the walk."""

    digest: str
    met: tuple[object, ...]


# Modules whose functions depend on their arguments alone, apart from those in `ASKS_THE_WORLD`.
PURE = frozenset(
    {"numpy", "scipy", "numba", "planned_ad", "math", "cmath", "builtins", "itertools", "functools", "operator",
     "_operator", "_functools", "collections", "_collections", "_collections_abc", "types", "typing", "dataclasses",
     "enum", "numbers", "copy", "abc", "_abc", "contextlib", "warnings", "_warnings", "__future__"}
)  # fmt: skip
ASKS_THE_WORLD = frozenset(
    {"open", "input", "load", "loads", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap",
     "loadmat", "io", "datasets", "datasource", "DataSource", "read", "readline", "readlines", "read_text",
     "read_bytes", "read_csv", "environ", "getenv", "random", "default_rng", "RandomState", "Generator", "rvs",
     "datetime64", "time", "perf_counter", "monotonic", "now", "today", "urandom", "id", "hash", "globals", "locals",
     "vars", "dir", "exec", "eval", "compile", "__import__", "import_module", "ctypes", "_getframe", "gc"}
)  # fmt: skip
IMPURE_PARTS = ("numpy.random", "numpy.lib.npyio", "numpy.lib._npyio", "numpy.lib.format", "scipy.io", "scipy.datasets")
IMPORT = dis.opmap["IMPORT_NAME"]
SETS = frozenset({"set", "frozenset"})
MAKE_SETS = frozenset({dis.opmap["BUILD_SET"], dis.opmap["SET_ADD"], dis.opmap["SET_UPDATE"]})


def portrait_of(walk: Walk, outside: Outside, with_contents: bool = False) -> Portrait:
    """The portrait of what a walk has seen."""
    require_complete(walk, outside)
    met = tuple(walk.met.values())
    numbers = {id(obj): number for number, obj in enumerate(met)}
    digest = hashlib.sha256()
    for sighting in walk.seen:
        for part in pieces_of((sighting.path, key_told(sighting.key, numbers))):
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little") + data)
        if with_contents and sighting.key[0] == "array":
            digest.update(sighting.key[1].object.tobytes())
    return Portrait(digest.hexdigest(), met)


def require_complete(walk: Walk, outside: Outside) -> None:
    """Refuse what is not all compared, and code whose result may depend on more than what it reads of objects."""
    if outside.frozen:
        raise NotPortable("names are frozen")
    if walk.notes:
        raise NotPortable(walk.notes[0])
    compiled = [obj for obj in walk.met.values() if isinstance(obj, type) and not is_written_in_python(obj)]
    for value in (*walk.fixed, *compiled):
        module = module_of(value)
        if module.partition(".")[0] not in PURE or module.startswith(IMPURE_PARTS) or asks_by_name(value):
            raise NotPortable(f"{shown_object(value)} may depend on more than its arguments")
    for code in walk.codes:
        for inner in nested(code):
            asks = ASKS_THE_WORLD.intersection(inner.co_names)
            if asks or IMPORT in inner.co_code[::2]:
                raise NotPortable(f"{inner.co_qualname} may depend on the world ({next(iter(asks), 'an import')})")
    for obj in walk.met.values():
        if type(obj) is types.FunctionType and not is_library(obj.__module__ or "", obj.__code__.co_filename):
            for inner in nested(obj.__code__):
                if makes_sets(inner):
                    raise NotPortable(f"{inner.co_qualname} makes sets, whose order is another one in each process")


@functools.lru_cache(maxsize=1024)
def makes_sets(code: types.CodeType) -> bool:
    """Whether code has sets that it may go through: others than constants that something is looked for in."""
    if not SETS.isdisjoint(code.co_names) or not MAKE_SETS.isdisjoint(code.co_code[::2]):
        return True
    if not any(type(constant) is frozenset for constant in code.co_consts):
        return False
    pairs = itertools.pairwise(instructions_of(code))
    return any(type(a.argval) is frozenset and b.opname != "CONTAINS_OP" for a, b in pairs)


def is_written_in_python(cls: type) -> bool:
    """Whether a class statement has made it, or one of its bases: its methods are walked."""
    return any("__dict__" in vars(base) or "__slots__" in vars(base) for base in cls.__mro__)


def asks_by_name(value: object) -> bool:
    return not isinstance(value, types.ModuleType) and getattr(value, "__name__", "") in ASKS_THE_WORLD


def module_of(value: object) -> str:
    """The name of the module of something of a library; that of a module."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, np.ufunc | np.dtype):
        return type(value).__module__
    module = getattr(value, "__module__", None)
    owner = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
    if not isinstance(module, str):
        module = getattr(owner, "__module__", None) or getattr(owner, "__name__", None)
    return module if isinstance(module, str) else ""


def key_told(key: Any, numbers: dict[int, int]) -> Any:
    """The key of a sighting, in nested tuples of text and bytes."""
    kind = key[0] if isinstance(key, tuple) and key else None
    if kind == "array":  # read from its own memory at each call
        return ("array", repr(key[3]))
    if kind == "again":
        return ("again", repr(numbers[id(key[1].object)]))
    if kind == "class":
        bases = (f"{base.object.__module__}:{base.object.__qualname__}" for base in key[2])
        return (kind, importable_name(key[1].object), *bases)
    if kind in ("instance", "module", "function", "library"):
        return (kind, importable_name(key[1].object))
    if kind == "code":
        return ("code", code_digest(key[1]))
    return value_told(key)


def value_told(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        return ("tuple", *map(value_told, value))
    if kind is bytes:
        return ("bytes", value)
    if kind in (float, complex) or kind in PLAIN:
        return (kind.__name__, repr(value))
    if isinstance(value, type):
        return ("type", value.__name__ if value in PLAIN else importable_name(value))
    if isinstance(value, np.generic):
        return (kind.__name__, value.tobytes())
    what = value.object if isinstance(value, Same) else value
    raise NotPortable(f"a {type(what).__name__} is compared by what it is, not by what is in it")


def importable_name(obj: Any) -> str:
    """The name under which another process finds the same class, function or module."""
    if isinstance(obj, types.ModuleType):
        return obj.__name__
    if isinstance(obj, np.dtype):
        return repr(obj)
    if isinstance(obj, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{importable_name(obj.__objclass__)}.{obj.__name__}"
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if isinstance(obj, np.ufunc):
        module, name = "numpy" if hasattr(np, obj.__name__) else "scipy.special", obj.__name__
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    if found is not obj:
        raise NotPortable(f"{obj!r} is not found under its name")
    return f"{module}:{name}"


def code_digest(code: types.CodeType) -> str:
    """Code by all that running it, and telling its lines, depends on."""
    digest = hashlib.sha256()
    for part in pieces_of(code_parts(code)):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def code_parts(code: types.CodeType) -> tuple:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    tables = (code.co_code, code.co_linetable, code.co_exceptiontable)
    return (
        lasting_name(code.co_filename),
        code.co_qualname,
        repr(counts),
        repr(names),
        *tables,
        constants_told(code.co_consts),
    )


def lasting_name(file: str) -> str:
    """The name of a file; of a notebook's cell, what it has in common with that of the next session."""
    return re.sub(r"ipykernel_\d+|ipython-input-\d+", "cell", file)


def constants_told(constants: Iterable[Any]) -> tuple:
    """The constants of code: numbers by their bits, as -0.0 is not 0.0."""
    found: list[Any] = []
    for value in constants:
        if isinstance(value, types.CodeType):
            found.append(code_parts(value))
        elif isinstance(value, tuple):
            found.append(("tuple", constants_told(value)))
        elif isinstance(value, frozenset):
            found.append(("frozenset", repr(sorted(map(repr, value)))))
        else:
            found.append((type(value).__name__, value if isinstance(value, bytes) else repr(value)))
    return tuple(found)


def pieces_of(parts: Any) -> Iterator[str | bytes]:
    """The leaves of nested tuples, with where each tuple begins and ends."""
    if isinstance(parts, tuple):
        yield "("
        for part in parts:
            yield from pieces_of(part)
        yield ")"
    else:
        yield parts
