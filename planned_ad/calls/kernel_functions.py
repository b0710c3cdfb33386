"""`plan.kernel`: the calls of a plan for code that is compiled itself, by Numba or as C."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from numba.core import types
from numba.extending import typeof_impl

from ..errors import (
    BoundsError,
    BranchError,
    IndexRangeError,
    LengthError,
    PlannedADError,
    SingularMatrixError,
    UnsupportedError,
    missing_where_refused,
)
from ..kernels.entry import watchtable
from ..kernels.entry.callspec import ArgumentResult, ArraySpec, FloatResult, Result, StaticSpec, TupleResult
from ..kernels.entry.native_calls import NativeCall, NativeParameter
from ..kernels.entry.njit_calls import NjitCall, NjitParameter, NjitSpec, njit_function
from ..kernels.library.native_callees import in_python
from ..planning.schedule import walk_steps
from ..python.structure import Leaf
from ..tape.guards import is_room
from ..tape.tape import Guard, Operation
from ..trace import Trace
from .entries import Entry
from .kinds import RESULT
from .parameters import Parameter, Place, identifier
from .specs import leaf_spec
from .variant import PlanOfTraces, Variant

SPARE_VARIANTS = 8  # of those whose `while` loops have got more memory


class Kernel:
    """The calls of a plan for compiled code: `value`, `gradient`, `value_and_gradient`, `pullback`.

    Examples
    --------
    >>> import numba, numpy as np, planned_ad
    >>> plan = planned_ad.compile(lambda x: np.sum((x - 1) ** 2), np.zeros(3))
    >>> gradient = plan.kernel.gradient
    >>> @numba.njit
    ... def descend(x, dx, steps):
    ...     for _ in range(steps):
    ...         gradient(x, dx)
    ...         x -= 0.25 * dx
    >>> x = np.zeros(3)
    >>> descend(x, np.empty(3), 50)
    >>> x
    array([1., 1., 1.])
    """

    def __init__(self, plan: PlanOfTraces) -> None:
        self._plan = plan
        self._made: dict[str, KernelFunction] = {}

    @property
    def value(self) -> KernelFunction:
        """Runs the function. Arrays that it returns are written to arrays that are passed after the arguments; numbers
        are returned, or written to arrays too where the result has other containers than tuples."""
        return self._function("call")

    @property
    def gradient(self) -> KernelFunction:
        """As `plan.gradient` with its shadows."""
        return self._function("gradient")

    @property
    def value_and_gradient(self) -> KernelFunction:
        """As `plan.value_and_gradient` with its shadows."""
        return self._function("value_and_gradient")

    @property
    def pullback(self) -> KernelFunction:
        """As `plan.pullback` with its shadows."""
        return self._function("pullback")

    def __repr__(self) -> str:
        return f"<planned_ad kernel of {self._plan!r}>"

    def __reduce__(self) -> tuple:
        return getattr, (self._plan, "kernel")

    def _function(self, kind: str) -> KernelFunction:
        with self._plan._lock, missing_where_refused():
            if kind not in self._made:
                self._made[kind] = KernelFunction(self._plan, kind)
            return self._made[kind]

    def _extend(self) -> None:
        """Let the functions made so far, and the code that calls them, try the variants that are new."""
        for function in self._made.values():
            function._extend(self._plan._variants)


class KernelFunction:
    """One call of a plan for compiled code.

    Called from ``@njit`` code with the arguments of the plan's own call and all shadows, it returns the same. It
    allocates nothing, needs no GIL, and may be called from several threads at once, as in ``prange``.

    An array must have the dtype, shape and strides that the plan was compiled for; a pointer to its first element, of
    its type, may take its place, and is not checked. Containers are passed as tuples. The derivative with respect to a
    float in a container is written to an array of one element, which stands in its place in the shadow. A static
    argument is passed as the integer it was, or as None, which stands for it.

    Attributes
    ----------
    address : int
        of a C function, for `ctypes`, `cffi` and C: ``int32_t f(...)`` with the parameters of `declaration`: a pointer
        for each array, a number by value for each float, and last a pointer for each number that is returned. It
        checks nothing, and returns 0 where it is done. It returns 1 where a branch is taken that was not recorded, and
        -1 without memory for another workspace, when nothing has been written; 2 where a function that the kernel
        calls failed. It is valid as long as this object lives.
    declaration : str
        of the C function.

    Raises
    ------
    numba.TypingError
        When the caller is compiled, for arguments of the wrong type or number.
    planned_ad.errors.ShapeError, LayoutError, OverlapError, StaticArgumentError
        When it runs; nothing has been written.
    planned_ad.errors.BranchError, IndexRangeError
        The data take a branch that was not recorded. Compiled code cannot trace the function again; the plan's own
        call does, from Python, and code compiled before knows the new branch from then on.

    Notes
    -----
    In the threads of a `prange`, Numba loses exceptions: call it there from a function that catches them, and returns
    whether there was one.

    A function that calls this one is not written to Numba's cache (``cache=True`` warns): it holds an address.
    """

    def __init__(self, plan: PlanOfTraces, kind: str) -> None:
        first = plan._variants[0]
        check_compiled(first.trace, first.entry(kind))
        self._plan, self._kind = plan, kind
        self._spec = njit_spec(first.trace, first.entry(kind), plan._options["on_branch"])
        self.__name__ = self._spec.name
        most = plan._options["max_variants"] + SPARE_VARIANTS
        self._native = NativeCall(self.__name__, (*self._spec.leaves, *self._spec.outputs), most)
        self.dispatcher: Any = njit_function(
            NjitCall(self._spec, self._native), first.entry(kind).call.function.__doc__ or ""
        )
        self._extend(plan._variants)

    @property
    def address(self) -> int:
        return self._native.address

    @property
    def address_taking_gil(self) -> int:
        """As `address`, of a function that takes the GIL to see whether what is outside has changed."""
        return self._native.address_taking_gil

    @property
    def declaration(self) -> str:
        return self._native.declaration

    @property
    def parameters(self) -> tuple[NativeParameter, ...]:
        """Of the C function."""
        return self._native.parameters

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """From Python: as compiled code calls it, by way of Numba."""
        return self.dispatcher(*args, **keywords)

    def __repr__(self) -> str:
        return f"<planned_ad kernel {self.declaration}>"

    def __reduce__(self) -> tuple:
        return getattr, (self._plan.kernel, self.__name__)

    def _extend(self, variants: list[Variant]) -> None:
        """Try these variants but those that take other memory, have no such call, or are for what was outside."""
        found, fixed = [], self._spec.fixed
        for variant in variants:
            if not variant.watch.is_same():
                continue
            try:
                entry = variant.entry(self._kind)
                check_compiled(variant.trace, entry)
            except PlannedADError:
                continue
            spec = njit_spec(variant.trace, entry, "")
            # Arrays from outside that others must not overlap: compiled code compares with those that it knows.
            if same_memory(spec, self._spec) and (spec.fixed == fixed or not self.dispatcher.signatures):
                fixed = tuple(dict.fromkeys((*fixed, *spec.fixed)))
                table = None if not watchtable.supported() else variant.watch.table
                address = 0 if table is None else table.address
                keep = (entry.call.run, table)
                found.append((entry.call.kernel_address, entry.spec.workspace_nbytes, address, keep))
        if fixed != self._spec.fixed:
            self._spec = replace(self._spec, fixed=fixed)
            self.dispatcher = njit_function(NjitCall(self._spec, self._native), self.dispatcher.__doc__ or "")
        self._native.try_variants(found)


@typeof_impl.register(KernelFunction)
def _type_of_function(value: KernelFunction, context: object) -> types.Dispatcher:
    return types.Dispatcher(value.dispatcher)


def check_compiled(trace: Trace, entry: Entry, caller: str = "plan.kernel") -> None:
    """Refuse what a call can only do with Python at hand."""
    for leaf in trace.leaves:
        if leaf.rebound is not None:
            raise UnsupportedError(
                f"{caller}: {trace.name} puts a new value in the place of {leaf.path}, which a call from compiled "
                f"code cannot; write into an array instead: `{leaf.path}[...] = new`"
            )
    for step in walk_steps(entry.memory.steps):
        if in_python(step):
            line = step.operation.line
            raise UnsupportedError(
                f"{caller}: {line}: `{line.text}` calls back into Python, where exceptions are raised that "
                f"cannot pass through compiled code; call the plan from Python"
            )


def same_memory(one: NjitSpec, other: NjitSpec) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("parameters", "leaves", "outputs", "disjoint"))


def njit_spec(trace: Trace, entry: Entry, on_branch: str) -> NjitSpec:
    """What compiled code passes to an entry: its parameters, of which results are passed one by one.

    Numbers are returned; where they are in other containers than tuples, they are written to arrays that are passed.
    """
    spec, returns = entry.spec, only_tuples(entry.spec.result)
    passed = [p for p in entry.parameters if p.is_passed]
    numbers = [p for p in entry.parameters if not p.is_passed]
    leaves = [native_parameter(place) for p in passed for place in p.places if place.id is not None]
    outputs = [native_parameter(place, is_output=returns) for p in numbers for place in p.places]
    order = passed
    if not returns:
        results = sorted((p for p in entry.of(RESULT)), key=lambda p: p.number)
        names = ["out"] if len(results) == 1 else [f"out{p.number}" for p in results]
        order = [p for p in passed if p.role is not RESULT] + [replace(p, name=n) for p, n in zip(results, names)]
        leaves, outputs = [*leaves, *outputs], []
    places = {id: number for number, id in enumerate(entry.buffers)}
    name = entry.row.compiled_name
    memory = [number for number, leaf in enumerate(leaves) if isinstance(leaf.spec, ArraySpec)]
    cells = [number for number, leaf in enumerate(leaves) if not leaf.is_number and number not in memory]
    pairs = [(memory[i], memory[j]) for i, j in spec.disjoint]
    pairs += [(other, cell) for cell in cells for other in (*memory, *cells) if other < cell or other in memory]
    return NjitSpec(
        name=name,
        parameters=tuple(njit_parameters(order, places)),
        leaves=tuple(leaves),
        outputs=tuple(outputs),
        disjoint=tuple(pairs),
        fixed=spec.fixed,
        result=spec.result if returns else None,
        broken=broken_guard(trace, entry, name, on_branch),
    )


def only_tuples(result: Result) -> bool:
    """Whether compiled code can put a result together."""
    if isinstance(result, TupleResult):
        return all(map(only_tuples, result.items))
    return result is None or isinstance(result, ArgumentResult | FloatResult)


def native_parameter(place: Place, is_output: bool = False) -> NativeParameter:
    """A leaf as a parameter of the C function."""
    assert place.buffer is not None
    return NativeParameter(path=place.path, spec=leaf_spec(place), dtype=place.buffer.dtype, is_output=is_output)


def njit_parameters(passed: Sequence[Parameter], numbers: dict[int, int]) -> Iterator[NjitParameter]:
    """The parameters of a call from compiled code."""
    used: set[str] = set()

    def fresh(name: str) -> str:
        name = identifier(name)
        while name in used or keyword.iskeyword(name):
            name += "_"
        used.add(name)
        return name

    for parameter in passed:
        items = tuple(
            numbers[place.id] if place.id is not None else StaticSpec(value=place.value)
            for place in parameter.places
            if place.id is not None or place.kind == "static"
        )
        is_container = parameter.structure.kind is not Leaf
        yield NjitParameter(name=fresh(parameter.name), items=items, is_container=is_container)


def broken_guard(trace: Trace, entry: Entry, name: str, on_branch: str) -> tuple[type[Exception], str]:
    """The exception for arguments with which the guards of all variants break, and what can be done."""
    guards = [op for op in trace.tape.operations if isinstance(op, Guard)]
    lines, full = guarded_lines(guards), guarded_lines(op for op in entry.tape.operations if is_room(op))
    is_watched = entry.spec.watch is not None and bool(entry.spec.watch.watched)  # more than the function's own code
    kinds, others = {op.what for op in guards}, bool(full) or is_watched
    if kinds == {"index"} and not others:
        return IndexRangeError, f"{name}: an index is out of range: {lines}"
    if kinds == {"length"} and not others:
        return LengthError, f"{name}: arrays of run-time lengths do not go together, or are empty: {lines}"
    if kinds == {"linear algebra"} and not others:
        return SingularMatrixError, f"{name}: {'; '.join(dict.fromkeys(op.detail for op in guards))}: {lines}"
    if kinds == {"bounds"} and not others:
        return BoundsError, f"{name}: {'; '.join(dict.fromkeys(op.detail for op in guards))}: {lines}"
    found = []
    if guards:
        found.append(f"{trace.name} goes another way for these arguments than recorded, in one of these lines: {lines}")
    if full:
        found.append(f"there is no room for as many iterations as these arguments take: {full}")
    if is_watched or not found:
        found.append(f"what {trace.name} finds outside, in globals or closures, has changed since it was traced")
    method = "plan" if name == "value" else f"plan.{name}"
    advice = f"; compiled code cannot record it, and {method} does where it is called with them"
    return BranchError, f"{name}: {', or '.join(found)}" + advice * (on_branch != "raise" or bool(full))


def guarded_lines(operations: Iterable[Operation]) -> str:
    return "; ".join(dict.fromkeys(f"{op.line}: `{op.line.text}`" for op in operations))
