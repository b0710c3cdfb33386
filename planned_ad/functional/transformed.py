"""Functions made from functions by a derivative: how they are called, outside of traced code and in it.

Outside, a plan is compiled for each signature, once. In a traced function the derivative is written to its tape, so
that derivatives nest, and mix with loops, branches and writes to memory in any way.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic

import numpy as np

from ..compiling import default_options
from ..errors import ArgumentError, NotDifferentiableError, PlannedADError
from ..plan import Plan
from ..python import options as checks
from ..python.made import MadeOf, function_behind
from ..python.shadows import ShadowGlobals
from ..python.structure import Structure, flatten
from ..python.type_variables import Arguments, Given
from ..tape.tape import Value
from ..tracing.lengths.varying import VaryingArray
from ..tracing.loops.list_in_trace import is_traced_list
from ..tracing.record.recorder import Recorder
from ..tracing.replacements.results import with_plain_lists
from ..tracing.replacements.returned import read_in_trace
from ..tracing.values.array_tracer import ArrayTracer
from ..tracing.values.scalar_tracer import ScalarTracer
from .by_signature import BySignature
from .segments import Segment

Argnums = int | Sequence[int]


NOT_TOLD = {"function", "linear", "_plans", "__wrapped__", "__signature__", "__doc__"}


class Transformed(MadeOf, Generic[Arguments, Given]):
    """A function made from another by a derivative. Callable; keeps a compiled plan for each signature.

    Attributes
    ----------
    function : callable
        The function that it was made from.
    """

    name = ""
    extra: str | None = None  # an argument more than the function has

    def __init__(self, function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False):
        checks.takes_function(f"planned_ad.{self.name}", function)
        if not isinstance(has_aux, bool | np.bool_):
            raise ArgumentError(f"planned_ad.{self.name}: has_aux is True or False, not {checks.shown(has_aux)}")
        chosen = checks.numbers_of("argnums", argnums)
        argnums = chosen if isinstance(argnums, tuple | list) else chosen[0]
        function = function_behind(function)
        self.function, self.argnums, self.has_aux = function, argnums, has_aux
        self.__name__ = self.__qualname__ = f"{self.name}({getattr(function, '__name__', type(function).__name__)})"
        self.__doc__ = f"The {self.name} of {getattr(function, '__name__', 'a function')}."
        self.__wrapped__ = function
        self.__signature__ = self.signature()
        self.inactive: frozenset[int] = frozenset()  # leaves of the arguments, by number, that are constant
        self.linear: Any = None  # for those that return a function: the value and that function
        self._plans = BySignature[Plan]()

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Given:
        frame = sys._getframe(1)
        if not kwargs and type(frame.f_globals) is not ShadowGlobals:
            found = self._plans.known(args)
            if found is not None:
                return found(*args)
        recorder = recorder_of((*args, *kwargs.values()), frame)
        if recorder is not None:
            recorder.mark()
            recorder.unchecked = f"it calls {self.__name__}, which would compile a plan of its own"
            return self.traced(recorder, args, kwargs)
        return self.outside(args, kwargs)

    def __get__(self, obj: Any, owner: type | None = None) -> Transformed[..., Given]:
        """Of a method: that of an object, which is no argument."""
        return self if obj is None else self.made_of(types.MethodType(self.function, obj))

    def outside(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call outside of traced code."""
        return self.plan(*args, **kwargs)(*args, **kwargs)

    def signature(self) -> inspect.Signature:
        """That of the function, and what comes after its arguments."""
        try:
            found = inspect.signature(getattr(self.function, "py_func", self.function))
        except (TypeError, ValueError):
            found = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
        if isinstance(self.function, np.ufunc):
            found = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
        if self.extra is None or any(p.kind is p.VAR_POSITIONAL for p in found.parameters.values()):
            return found
        every = found.parameters.values()
        if any(p.default is not p.empty for p in every if p.kind is not p.KEYWORD_ONLY):  # any number of arguments
            kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            return inspect.Signature([inspect.Parameter(n, k) for n, k in zip(("args", "kwargs"), kinds)])
        extra = inspect.Parameter(self.extra, inspect.Parameter.POSITIONAL_ONLY)
        before = [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        before = [p.replace(kind=p.POSITIONAL_ONLY) for p in before]
        return inspect.Signature([*before, extra, *(p for p in every if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD))])

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for arguments like these; compiled at the first time."""
        return self._plans.of(lambda a, k: Plan(self, a, default_options(), k), args, kwargs)

    def calls(self, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
        yield args if self.extra is None else args[:-1], kwargs

    def made_of(self, function: Callable[..., Any]) -> Transformed[Arguments, Given]:
        if function is self.function:
            return self
        made = copy.copy(self)
        made.function = made.__wrapped__ = function
        made.__signature__ = made.signature()
        made._plans = BySignature[Plan]()
        return made

    def told(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in NOT_TOLD}

    def __repr__(self) -> str:
        return f"<planned_ad.{self.__name__}>"

    def within(self, recorder: Recorder) -> Callable[..., Any]:
        """It as the function that is traced."""

        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.mark()
            return self.traced(recorder, args, kwargs)

        return call

    def traced(self, recorder: Recorder, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call in a traced function."""
        raise NotImplementedError


PACKAGE = __name__.partition(".")[0] + "."


def recorder_of(items: Sequence[Any], frame: types.FrameType) -> Recorder | None:
    """The recorder of the trace that a call belongs to: of the calling code, or of traced arguments."""
    around: types.FrameType | None = frame
    while around is not None:
        names = around.f_globals
        if type(names) is ShadowGlobals:
            return names.namespace.recorder
        if not (names.get("__name__") or "").startswith(PACKAGE):
            break
        around = around.f_back  # the tracing version of a function such as `sum`, which calls the function itself
    for item in flatten(tuple(items))[0]:
        if type(item) is ArrayTracer or type(item) is ScalarTracer:
            return item.recorder
    return None


class Tree:
    """Arguments or a result taken apart, some of whose leaves are active."""

    def __init__(self, recorder: Recorder, tree: Any, inactive: Callable[[int], bool] = lambda number: False):
        self.recorder = recorder
        self.leaves, self.structure = flatten_traced(recorder, tree)
        self.marks = [is_active(leaf) and not inactive(number) for number, leaf in enumerate(self.leaves)]

    @property
    def active(self) -> list[Any]:
        return [leaf for leaf, mark in zip(self.leaves, self.marks) if mark]

    def put(self, items: Iterator[Any]) -> Any:
        """The tree with one of `items` in the place of each active leaf."""
        found = [next(items) if m else leaf for leaf, m in zip(self.leaves, self.marks)]
        return self.recorder.namespace.shadow(self.structure.unflatten(found))

    def like(self, values: Iterator[Value]) -> Any:
        """The tree of these values: arrays and numbers as the active leaves are."""
        return self.put(like(self.recorder, leaf, next(values)) for leaf in self.active)

    def values_of(self, tree: Any, what: str) -> list[Value]:
        """The values in `tree`, which is nested as this one is: one for each active leaf."""
        given, structure = flatten_traced(self.recorder, tree)
        here = self.recorder.here
        if structure != self.structure:
            raise ArgumentError(f"{here()}: {what} is {structure}, and must be {self.structure}")
        found = []
        for number, leaf, mark in zip(given, self.leaves, self.marks):
            if mark:
                try:
                    value = self.recorder.value_of(number, np.dtype(dtype_of(leaf)))
                except (TypeError, ValueError) as error:
                    if isinstance(error, PlannedADError):
                        raise
                    raise ArgumentError(f"{here()}: {what} is no number: {checks.shown(number)}") from None
                if value.shape != np.shape(leaf):
                    raise ArgumentError(f"{here()}: {what} has shape {value.shape}, and must have {np.shape(leaf)}")
                found.append(value)
        return found


class Call:
    """One call of the function in a traced function, on copies of its arguments, the active ones cut off from before.

    Attributes
    ----------
    arguments : list of Tree
        The chosen ones.
    independents : list of Value
        Their active leaves, in order.
    tree : Tree
        The result.
    results : list of Value
        Its active leaves, in order.
    """

    def __init__(
        self,
        transformed: Transformed,
        recorder: Recorder,
        args: tuple,
        kwargs: dict[str, Any],
        tangents: tuple[Any, ...] = (),
    ):
        self.recorder, self.name = recorder, transformed.__name__
        self.single = isinstance(transformed.argnums, int)
        own_of: dict[int, tuple[Tree, list[Value]]] = {}  # of the chosen arguments: what is active, as values
        chosen, seen = positions(transformed, len(args)), 0
        self.shared = shared_memory(transformed, args, kwargs)
        given = []
        for number, arg in enumerate(args):
            tree = Tree(recorder, arg, lambda k, seen=seen: seen + k in transformed.inactive)  # type: ignore[misc]
            seen += len(tree.leaves)
            if number in chosen:
                own_of[number] = tree, []
            given.append((tree, self._values(tree, number, own_of[number][1] if number in chosen else None)))
        keyword_trees = {name: Tree(recorder, arg) for name, arg in kwargs.items()}
        named = {name: (tree, self._values(tree)) for name, tree in keyword_trees.items()}
        self.arguments: list[Tree] = [own_of[number][0] for number in chosen]
        self.independents: list[Value] = [value for number in chosen for value in own_of[number][1]]
        self.tangents = [v for tangent in tangents for v in self.tangents_of(tangent)]
        self.segment = Segment(recorder, self.independents)
        # The copies belong to the segment: they may be memory from the first, and what is stored there is active.
        own = [self._copied(*tree_and_values) for tree_and_values in given]
        keywords = {name: self._copied(*tree_and_values) for name, tree_and_values in named.items()}
        result = recorder.namespace.function(transformed.function)(*own, **keywords)
        self.aux = None
        if transformed.has_aux:
            if type(result) is not tuple or len(result) != 2:
                raise ArgumentError(
                    f"{recorder.here()}: with has_aux=True the function of {self.name} returns a pair, (result, aux)"
                )
            result, self.aux = result
        if type(result) is int:  # `return 0` of one branch, where others return a floating number
            result = float(result)
        self.result, self.tree = result, Tree(recorder, result)
        self.results = [recorder.value_of(leaf) for leaf in self.tree.active]
        others = (value_in(leaf) for leaf in flatten((result, self.aux))[0])
        self.segment.results = (*self.results, *(v for v in others if v is not None))

    def _values(self, tree: Tree, number: int = 0, independents: list[Value] | None = None) -> list[Value | None]:
        """What the leaves of an argument hold, where it is copied; of a chosen one `independents` are added to."""
        recorder = self.recorder
        found: list[Value | None] = []
        for leaf, mark in zip(tree.leaves, tree.marks):
            if independents is not None and mark:
                value = recorder.apply("cut", recorder.value_of(leaf))
                independents.append(value)
                found.append(value)
            else:
                found.append(recorder.value_of(leaf) if type(leaf) in (ArrayTracer, np.ndarray) else None)
        if independents is not None and not any(tree.marks):
            raise NotDifferentiableError(
                f"{recorder.here()}: argument {number} of {self.name} is {tree.structure}, which has no floating "
                f"number; choose another with argnums="
            )
        return found

    def _copied(self, tree: Tree, values: list[Value | None]) -> Any:
        """An argument with these values in the place of what it holds."""
        found = []
        for leaf, value in zip(tree.leaves, values):
            found.append(leaf if value is None else like(self.recorder, leaf, value))
            if id(leaf) in self.shared:  # the copies have no memory in common
                found[-1].storage.shared_with = self.shared[id(leaf)]
        return self.recorder.namespace.shadow(tree.structure.unflatten(found))

    def scalar(self) -> Value:
        """The one result, of which there is a gradient."""
        if len(self.tree.leaves) != 1 or len(self.results) != 1 or self.results[0].shape != ():
            raise NotDifferentiableError(
                f"{self.recorder.here()}: {self.name} is of a function that returns one floating scalar, and this one "
                f"returns {described(self.tree)}; use planned_ad.jacobian or planned_ad.vjp"
            )
        return self.results[0]

    def per_argument(self, items: Iterable[Any]) -> Any:
        """Something for each active leaf of the chosen arguments, nested as they are."""
        rest = iter(items)
        found = [tree.put(rest) for tree in self.arguments]
        return found[0] if self.single else tuple(found)

    def gradients(self, values: Iterable[Value]) -> Any:
        """Cotangents of the independents as arrays and numbers like the active leaves."""
        leaves = [leaf for tree in self.arguments for leaf in tree.active]
        return self.per_argument(like(self.recorder, leaf, v) for leaf, v in zip(leaves, values))

    def tangents_of(self, tangents: Any) -> list[Value]:
        """What is given for the chosen arguments, as values: one for each independent."""
        parts = (tangents,) if self.single else tuple(tangents)
        if len(parts) != len(self.arguments):
            raise ArgumentError(f"{self.recorder.here()}: {self.name} takes {len(self.arguments)} tangents")
        return [v for part, tree in zip(parts, self.arguments) for v in tree.values_of(part, "a tangent")]


def positions(transformed: Transformed, count: int) -> tuple[int, ...]:
    """The numbers of the chosen arguments, in the order that is asked for."""
    argnums = transformed.argnums
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    found = tuple(n + count if n < 0 else n for n in chosen)
    if any(not 0 <= n < count for n in found) or len(set(found)) != len(found) or not found:
        raise ArgumentError(f"{transformed.__name__}: argnums={argnums!r}, and {count} arguments were given")
    return found


def shared_memory(transformed: Transformed, args: tuple, kwargs: dict[str, Any]) -> dict[int, str]:
    """For each array (by identity) that shares memory with another, the name of the argument which that one is in."""
    parameters = list(transformed.__signature__.parameters)
    names = [parameters[k] if k < len(parameters) else f"args[{k}]" for k in range(len(args))]
    arrays = [
        (name, leaf)
        for name, arg in zip((*names, *kwargs), (*args, *kwargs.values()))
        for leaf in flatten(arg)[0]
        if type(leaf) is ArrayTracer and leaf.size
    ]
    groups: dict[Any, list[tuple[str, ArrayTracer]]] = {}
    for name, a in arrays:
        memory = memory_of(a)
        groups.setdefault("arguments" if memory.shared_with else id(memory), []).append((name, a))
    found = {}
    for group in groups.values():
        for (_, a), (name, b) in itertools.permutations(group, 2):
            if may_overlap(a, b):
                found[id(a)] = name
    return found


def memory_of(array: ArrayTracer) -> Any:
    return getattr(array.storage, "memory", array.storage)


def may_overlap(a: ArrayTracer, b: ArrayTracer) -> bool:
    """Whether two arrays in one memory have an element in common; those that move with a loop may."""
    fixed = a.storage is memory_of(a) and b.storage is memory_of(b)
    return not fixed or np.may_share_memory(a.geometry, b.geometry)


def flatten_traced(recorder: Recorder, tree: Any) -> tuple[list[Any], Structure]:
    """`flatten` of what traced code holds; an array whose length is no number yet is refused, or its loop unrolled."""
    leaves, structure = flatten(with_plain_lists(tree), read=functools.partial(read_in_trace, recorder))
    for leaf in leaves:
        if is_traced_list(leaf):
            raise leaf.refuse()
        if issubclass(type(leaf), VaryingArray):
            raise leaf.refused("differentiates")
    return leaves, structure


def dtype_of(leaf: Any) -> Any:
    return leaf.dtype if type(leaf) in (ArrayTracer, ScalarTracer, np.ndarray) else np.asarray(leaf).dtype


def is_active(leaf: Any) -> bool:
    """Whether a leaf is floating."""
    if type(leaf) in (ArrayTracer, ScalarTracer, np.ndarray):
        return leaf.dtype.kind == "f"
    return isinstance(leaf, float | np.floating)


def like(recorder: Recorder, leaf: Any, value: Value) -> Any:
    """`value` as what `leaf` is: an array, a NumPy scalar or a Python float."""
    if type(leaf) is ArrayTracer or type(leaf) is np.ndarray:
        return recorder.array(value, leaf)
    python = leaf.is_python if type(leaf) is ScalarTracer else not isinstance(leaf, np.floating)
    return ScalarTracer(recorder, value, is_python=python)


def value_in(leaf: Any) -> Value | None:
    """The value that a leaf has at hand."""
    if type(leaf) is ScalarTracer:
        return leaf.value
    return leaf.storage.value if type(leaf) is ArrayTracer else None


def described(tree: Tree) -> str:
    (*_, last) = tree.leaves or [None]
    if len(tree.leaves) == 1 and type(last) is ArrayTracer:
        return f"an array of shape {last.shape} and dtype {last.dtype}"
    return repr(tree.structure)
