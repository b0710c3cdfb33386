"""Names that occur in code: attributes and keys that it may read, found without running it."""

from __future__ import annotations

import dis
import functools
import re
import types
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .instructions import instructions_of
from .source import Line
from .written_names import COUNTED, WRITTEN_TO, is_container, names_assigned, nested, uses_in

# Code with one of these may read attributes whose names do not occur in it.
ANY_ATTRIBUTE = frozenset(
    {"getattr", "vars", "__dict__", "__getattribute__", "attrgetter", "asdict", "astuple", "fields", "dir", "replace"}
)
# Code with one of these may ask for names that are not there; with one of the last ones, for any that occur in it.
ASKS_FOR = frozenset({"getattr", "hasattr", "vars", "globals", "__dict__", "AttributeError", "NameError"})
FOR_ANY = frozenset({"AttributeError", "NameError"})
# And with one of these (as attributes, as globals), items of a dict whose keys do not.
ITEM_ATTRIBUTES = frozenset({"items", "values", "keys", "popitem", "deepcopy", "update", "format", "join", "chain"})
ITEM_FUNCTIONS = frozenset(
    {"dict", "list", "tuple", "set", "frozenset", "sorted", "len", "sum", "max", "min", "any", "all", "map", "filter",
     "zip", "enumerate", "iter", "reversed", "reduce", "format", "str", "repr", "locals", "globals", "chain", "chr",
     "ascii", "hex", "bin", "oct", "next"}
)  # fmt: skip
# And with one of these attributes, strings that do not occur in it.
TEXT_ATTRIBUTES = frozenset(dir(str)) - frozenset(dir(tuple)) | {
    "name", "__name__", "__qualname__", "__module__", "group", "groups", "groupdict", "load", "loads", "dumps",
    "substitute", "safe_substitute", "getvalue", "read", "readline", "readlines", "strftime", "isoformat", "decode",
    "hex", "most_common", "total", "elements", "subtract",
}  # fmt: skip
SHORT = 16  # letters of a string whose letters may be names
# What is asked for under a name that does not occur, by instructions and by functions.
ASKED_BY = {
    "__match_args__": {"MATCH_CLASS"},
    "__dataclass_fields__": {"fields", "asdict", "astuple", "replace"},
    "__replace__": {"replace"},
}
MAKES_STRINGS = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING"})
UNPACKS = frozenset({"DICT_MERGE", "DICT_UPDATE", "LIST_EXTEND"})
COMPARISONS = frozenset({"COMPARE_OP", "CONTAINS_OP"})
COMPARING = frozenset(  # functions and methods that compare what they are given
    {"max", "min", "sorted", "sort", "index", "count", "remove", "heappush", "heappop", "heapify", "heapreplace",
     "heappushpop", "nlargest", "nsmallest", "merge", "bisect", "bisect_left", "bisect_right", "insort", "insort_left",
     "insort_right", "groupby", "PriorityQueue"}
)  # fmt: skip
NO_DICT = frozenset(
    {"LOAD_CONST", "BINARY_OP", "UNARY_NEGATIVE", "BUILD_TUPLE", "BUILD_LIST"}
)  # what makes a right side
READS_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX", "PRECALL"})


@dataclass(frozen=True)
class UsedNames:
    """The names in some code objects, and strings that these may use as names."""

    codes: frozenset[types.CodeType] = frozenset()
    texts: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()  # for which objects are asked by what is not in the code

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Names of attributes, globals and strings."""
        found = self._strings.union(n for code in self._every for n in code.co_names)
        found |= {name for text in self._strings if "{" in text for name in re.findall(r"\.(\w+)", text)}  # of formats
        return found.union(name for name, words in ASKED_BY.items() if words & (found | self._opcodes))

    @functools.cached_property
    def any_attribute(self) -> bool:
        return not ANY_ATTRIBUTE.isdisjoint(self.names)

    @functools.cached_property
    def asked_for(self) -> frozenset[str]:
        """Names of attributes that code may ask for which need not be there."""
        asking = [code for code in self._every if not ASKS_FOR.isdisjoint(code.co_names)]
        found = [*self.texts, *(n for c in asking for n in strings(c.co_consts))] if asking else []
        found += [n for c in asking if not FOR_ANY.isdisjoint(c.co_names) for n in c.co_names]
        return self.asked.union(n for n in found if n.isidentifier() and not n.startswith("__"))

    @functools.cached_property
    def any_item(self) -> bool:
        """Whether the code may read items of dicts by keys that do not occur in it."""
        return any(map(makes_keys, self._every))

    def may_be_key(self, key: str) -> bool:
        """Whether a string occurs, or is two that do, or a letter of a short one."""
        pairs = ((key[:k], key[k:]) for k in range(1, len(key)))
        return key in self.names or key in self._letters or any(self._strings.issuperset(pair) for pair in pairs)

    def is_only_written(self, name: str, value: object) -> bool:
        """Whether code writes to what it finds under this name, a number or a container, and does not read it."""
        if self.any_attribute or name in self._strings:
            return False
        uses = self._uses.get(name)
        if not uses:
            return any(name in names_assigned(code) for code in self.codes)
        return uses == {COUNTED} if type(value) in (int, float) else uses == {WRITTEN_TO} and is_container(value)

    def is_counted(self, name: str) -> bool:
        """Whether code adds to what it finds under this name, `self.total += v`."""
        return COUNTED in self._uses.get(name, ())

    @functools.cached_property
    def _uses(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for code in self._every:
            for name, use in uses_in(code):
                found[name].add(use)
        return found

    @functools.cached_property
    def _strings(self) -> frozenset[str]:
        return self.texts.union(text for code in self._every for text in strings(code.co_consts))

    @functools.cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset("".join(text for text in self._strings if len(text) <= SHORT))

    @functools.cached_property
    def compares(self) -> bool:
        return not (COMPARISONS.isdisjoint(self._opcodes) and COMPARING.isdisjoint(self.names))

    @functools.cached_property
    def _opcodes(self) -> frozenset[str]:
        return frozenset().union(*map(opcodes_of, self._every))

    @property
    def _every(self) -> Iterator[types.CodeType]:
        return (inner for code in self.codes for inner in nested(code))


@functools.lru_cache(maxsize=1024)
def opcodes_of(code: types.CodeType) -> frozenset[str]:
    return frozenset(dis.opname[number] for number in code.co_code[::2])


@functools.lru_cache(maxsize=1024)
def globals_in(code: types.CodeType) -> tuple[str, ...]:
    """The names that code reads of its globals."""
    found = [i.argval for inner in nested(code) for i in instructions_of(inner) if i.opname in READS_GLOBALS]
    return tuple(dict.fromkeys(found))


def names_in_class_bodies(code: types.CodeType) -> set[str]:
    """The names that class statements nested in a function may read from its globals."""
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if not constant.co_flags & 0x1:  # CO_OPTIMIZED: functions have it, class bodies do not
                names.update(constant.co_names)
            names |= names_in_class_bodies(constant)
    return names


def strings(constants: Iterable[object]) -> Iterator[str]:
    for constant in constants:
        if type(constant) is str:
            yield constant
        elif type(constant) in (tuple, frozenset):
            yield from strings(constant)  # type: ignore[arg-type]


def makes_keys(code: types.CodeType) -> bool:
    """Whether code puts strings together, or goes through something that may be a dict."""
    if any("%" in text for text in strings(code.co_consts)):
        return True
    before = ""
    for instruction in instructions_of(code):
        if instruction.opname in MAKES_STRINGS | UNPACKS:
            return True
        if instruction.argval in (ITEM_FUNCTIONS if instruction.opname == "LOAD_GLOBAL" else ITEM_ATTRIBUTES):
            return True
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval in TEXT_ATTRIBUTES:
            return True
        if instruction.opname == "GET_ITER" and before not in CALLS:
            return True
        if instruction.argval in ("==", "!=") and before not in NO_DICT:
            return True
        before = instruction.opname
    return False


def lines_of(codes: Iterable[types.CodeType], names: Iterable[str]) -> list[Line]:
    """Where a name is used, by the first of `names` that is."""
    every = [inner for code in codes for inner in nested(code)]
    for name in names:
        found = []
        for code in every:
            for instruction in instructions_of(code):
                number = instruction.positions.lineno if instruction.positions else None
                if instruction.argval == name and number:
                    found.append(Line(file=code.co_filename, number=number, function=code.co_name))
        if found:
            return found
    return []
