"""Plans that this process has: found again for the same function, arguments and options, instead of compiled again.

Only weak references are held. A plan looks at each call at what it has found outside, so that it serves as well as a
new one would wherever the function is the same: the same object, or one of the same code with the same globals, default
values and closure, as a notebook makes it when a cell runs again. Closures of their own, as a factory makes them, are
the same where plain numbers, texts or the very same objects are in cells that nothing else can bind anew. What a watch
does not see in full, frozen names, and code that may ask the world, have a function compiled again: somebody who does
so may mean the world of now.
"""

from __future__ import annotations

import collections
import dis
import sys
import threading
import types
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..python.options import PlanOptions
from ..python.structure import Structure, flatten
from ..python.used_names import nested
from .outside.portraits import NotPortable
from .outside.told import PLAIN, number_key
from .stored_plans import leaf_layout, share_bytes
from .variant import PlanOfTraces

MOST_UNPICKLED = 8
PlanType = TypeVar("PlanType", bound="PlanWithIdentity")


class PlanWithIdentity(PlanOfTraces, Protocol):
    """A plan, as far as it is known again."""

    _made_for: Wanted | None
    _name: str


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What a plan is for: a function, arguments like these, options.

    `own`: what the function alone closes over. `numbers`: of the example, where they have decided something.
    """

    f: Any
    structure: Structure
    inactive: frozenset[int]
    layouts: tuple
    static: tuple[Any, ...]
    options: PlanOptions
    own: tuple[Any, ...] | None
    numbers: str = ""

    def is_like(self, other: Wanted) -> bool:
        """Whether a plan made for `other` was made for this."""
        return (
            self.layouts == other.layouts
            and self.structure == other.structure
            and self.inactive == other.inactive
            and self.options == other.options
            and len(self.static) == len(other.static)
            and all(map(is_same_value, self.static, other.static))
            and is_same_function(self.f, other.f)
            and self.closes_over_the_same(other)
        )

    def closes_over_the_same(self, other: Wanted) -> bool:
        ours, theirs = plain_function(self.f), plain_function(other.f)
        if ours is theirs or are_same_cells(ours, theirs):
            return True
        return None not in (self.own, other.own) and are_same_values(self.own, other.own)


def wanted(f: Any, args: tuple, kwargs: dict[str, Any], options: PlanOptions) -> Wanted | None:
    """None where no plan is ever found again."""
    leaves, structure = flatten((args, kwargs))
    options = options | {"calls": ()}
    try:
        layouts = tuple(map(leaf_layout, leaves))
    except NotPortable:
        return None
    if options["frozen"] or share_bytes(leaves):
        return None
    function = plain_function(f)
    own = own_contents(function) if type(function) is types.FunctionType else None
    static = tuple(leaf for leaf, layout in zip(leaves, layouts) if layout is None)
    return Wanted(f, structure, structure.inactive_leaves, layouts, static, options, own)


def is_same_value(a: Any, b: Any) -> bool:
    """Whether two objects can stand for one another: the same one, or equal numbers and texts."""
    return a is b or (type(a) is type(b) and type(a) in (float, complex, *PLAIN) and number_key(a) == number_key(b))


def is_same_function(f: Any, g: Any) -> bool:
    """Whether a plan of `g` does for `f`."""
    if f is g:
        return True
    if type(f) is types.MethodType and type(g) is types.MethodType:
        return f.__self__ is g.__self__ and is_same_function(f.__func__, g.__func__)
    if type(f) is not types.FunctionType or type(g) is not types.FunctionType:
        return False
    return (
        f.__code__ == g.__code__
        and f.__globals__ is g.__globals__
        and not f.__dict__
        and not g.__dict__
        and are_same_values(f.__defaults__, g.__defaults__)
        and (f.__kwdefaults__ or {}).keys() == (g.__kwdefaults__ or {}).keys()
        and are_same_values(*(tuple((h.__kwdefaults__ or {}).values()) for h in (f, g)))
    )


def are_same_values(ours: Sequence[Any] | None, theirs: Sequence[Any] | None) -> bool:
    ours, theirs = ours or (), theirs or ()
    return len(ours) == len(theirs) and all(map(is_same_value, ours, theirs))


def are_same_cells(f: types.FunctionType, g: types.FunctionType) -> bool:
    """Whether what they close over is in the same cells."""
    cells = zip(f.__closure__ or (), g.__closure__ or ())
    return all(ours is theirs for ours, theirs in cells)


def own_contents(f: types.FunctionType) -> tuple[Any, ...] | None:
    """What a function closes over, where nothing else can bind these names anew, nor does it do so; else None."""
    closure = f.__closure__ or ()
    if any(references(f, number) != ALONE for number in range(len(closure))):
        return None
    if any(not BINDS.isdisjoint(code.co_code[::2]) for code in nested(f.__code__)):
        return None
    try:
        return tuple(cell.cell_contents for cell in closure)
    except ValueError:  # not bound yet
        return None


def references(f: types.FunctionType, number: int) -> int:
    """How many references there are to a cell of its closure."""
    return sys.getrefcount(f.__closure__[number])  # type: ignore[index]


def closure_alone() -> Any:
    number = 0
    return lambda: number


ALONE = references(closure_alone(), 0)
BINDS = frozenset({dis.opmap["STORE_DEREF"], dis.opmap["DELETE_DEREF"]})


class KnownPlans(Generic[PlanType]):
    """Plans by the code of their functions; gone from here when they are gone."""

    def __init__(self) -> None:
        self._plans: dict[object, list[weakref.ref[PlanType]]] = {}
        self._lock = threading.RLock()

    def find(self, this: Wanted | None, numbers: Callable[[], str]) -> PlanType | None:
        """The plan that was made for the same, if it is still there and sees all that it depends on."""
        if this is None:
            return None
        with self._lock:
            plans = [reference() for reference in self._plans.get(place_of(this.f), ())]
        for plan in plans:
            made_for = None if plan is None else plan._made_for
            if plan is None or made_for is None or not this.is_like(made_for):
                continue
            watch = plan._variants[0].watch
            if (
                made_for.numbers in ("", numbers() if made_for.numbers else "")
                and watch.is_complete()
                and watch.holds()
            ):
                return plan
        return None

    def add(self, plan: PlanType) -> None:
        if plan._made_for is None:
            return
        place = place_of(plan._made_for.f)

        def forget(reference: weakref.ref[PlanType]) -> None:
            with self._lock:
                self._plans[place] = [other for other in self._plans.get(place, ()) if other is not reference]
                if not self._plans[place]:
                    del self._plans[place]

        with self._lock:
            known = self._plans.setdefault(place, [])
            if not any(reference() is plan for reference in known):
                known.append(weakref.ref(plan, forget))


def plain_function(f: Any) -> Any:
    return f.__func__ if type(f) is types.MethodType else f


def place_of(f: Any) -> object:
    function = plain_function(f)
    return function.__code__ if type(function) is types.FunctionType else id(function)


class Unpickled(Generic[PlanType]):
    """The plans that were unpickled last, by what their pickles say of them, for the next pickle of the same plan.

    They are held, since between the tasks of a worker nobody else may hold them.
    """

    def __init__(self) -> None:
        self._plans: collections.OrderedDict[str, PlanType] = collections.OrderedDict()
        self._lock = threading.Lock()

    def find(self, identity: tuple[str, str] | None) -> PlanType | None:
        """The plan, if all that it has found outside is as it was for the one that was pickled."""
        with self._lock:
            plan = None if identity is None else self._plans.get(identity[0])
        return plan if plan is not None and identity == identity_of(plan) else None

    def add(self, identity: tuple[str, str] | None, plan: PlanType) -> None:
        if identity is None:
            return
        plan._name = identity[0]
        with self._lock:
            self._plans[identity[0]] = plan
            self._plans.move_to_end(identity[0])
            while len(self._plans) > MOST_UNPICKLED:
                self._plans.popitem(last=False)


def identity_of(plan: PlanWithIdentity) -> tuple[str, str] | None:
    """A name for a plan that no other one has, and a digest of all that it has found outside; None without one."""
    try:
        portrait = plan._variants[0].watch.portrait(with_contents=True)
    except NotPortable:
        return None
    if not plan._name:
        plan._name = uuid.uuid4().hex
    return plan._name, portrait.digest
