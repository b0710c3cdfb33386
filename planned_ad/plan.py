"""The plan: what `compile` returns. Each public call is a built-in function made for these arguments."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import examples
from .entries import Entry, build_entry, limited_tape
from .errors import ArgumentError, BranchError, IndexRangeError, NotDifferentiableError, PlannedADError
from .explain import Explanation, explain
from .interpret import GuardBroken, interpret, memory_of
from .replay import replay
from .reverse import activity
from .schedule_listing import plan_listing
from .structure import flatten
from .tape import Guard, Operation, Scatter, Store, walk
from .trace import Trace, trace


class Variant:
    """One trace of the function (one outcome of its branches), and the entries compiled from it."""

    def __init__(
        self,
        traced: Trace,
        preserve_args: bool,
        memory_limit: int | None,
        slow_path: Callable[[str], Callable[..., Any]],
    ):
        self.trace = traced
        self.entries: dict[str, Entry] = {}
        self._preserve_args = preserve_args
        self._memory_limit = memory_limit
        self._slow_path = slow_path
        self._lock = threading.Lock()

    def entry(self, kind: str) -> Entry:
        """The compiled entry; compiled at first use."""
        found = self.entries.get(kind)
        if found is None:
            with self._lock:
                found = self.entries.get(kind)
                if found is None:
                    tape, reruns = limited_tape(self.trace, kind, self._preserve_args, self._memory_limit)
                    found = build_entry(self.trace, kind, tape, self._slow_path(kind), reruns)
                    self.entries[kind] = found
        return found


class CompiledCall:
    """A public call of a plan: at first use the plan's own compiled function takes its place in the instance.

    There is no `__set__`, so that from then on the attribute is found in the instance without running any Python.
    """

    def __init__(self, documented: Callable[..., Any]):
        self.__doc__ = documented.__doc__
        self.__wrapped__ = documented
        self.name = documented.__name__

    def __get__(self, plan: Plan | None, owner: type | None = None) -> Any:
        return self.__wrapped__ if plan is None else plan._compiled(self.name, self.name.lstrip("_"))


MORE_STEPS = 8  # times as many, where the memory for a `while` loop did not do
MOST_STEPS = 10_000_000


class Plan:
    """A compiled function with its derivatives. Made by `planned_ad.compile`.

    The methods below are replaced, on each plan, by built-in functions compiled for the example's arguments:
    a call checks them in machine code and allocates nothing. What does not match is refused with a
    `planned_ad.errors.ArgumentError` before anything is written.

    A plan can be called from several threads at once, pickled (it is compiled again when loaded) and deep-copied.
    """

    def __init__(self, f: Callable[..., Any], example_args: tuple, options: dict[str, Any]):
        self._f, self._options = f, options
        self._lock = threading.RLock()
        self._variants: list[Variant] = []
        first = self._add_variant(example_args)
        # What is traced again from a pickle: its numbers matter only where they decided something.
        decided = any(isinstance(op, Guard) for op in first.trace.tape.operations)
        self._example = examples.copied(example_args, with_numbers=decided)

    # The public calls, for readers and type checkers; instances carry compiled ones.

    def __call__(self, *args: Any) -> Any:
        """Run `f`: its value is returned, its own writes to its arguments are visible."""
        return self._call(*args)

    @CompiledCall
    def gradient(self, *args: Any) -> Any:
        """Gradient of the scalar that `f` returns, at the arguments on entry.

        `plan.gradient(x, n, dx)`: one shadow for each active argument follows the arguments; it is overwritten and
        returned. Without shadows new ones are made. A Python float argument gets its derivative returned. Several
        active arguments: a tuple.

        Raises
        ------
        planned_ad.errors.ArgumentError
            Arguments or shadows other than those the plan was compiled for. Nothing has been written.

        Examples
        --------
        >>> import numpy as np, planned_ad
        >>> x = np.array([1.0, 2.0])
        >>> plan = planned_ad.compile(lambda x: np.sum(x**2), x)
        >>> dx = np.empty(2)
        >>> plan.gradient(x, dx)
        array([2., 4.])
        """

    @CompiledCall
    def value_and_gradient(self, *args: Any) -> Any:
        """`(value, gradient)`; arguments as for `gradient`."""

    @CompiledCall
    def pullback(self, *args: Any) -> Any:
        """Pull a cotangent of the result back: `plan.pullback(x, n, dx, cotangent)`.

        Shadows are in-out. On entry: the adjoint of the arguments' final state; on exit: that of their initial state.
        For arguments that `f` only reads, this means that the derivative is added to the shadow. One cotangent for
        each floating result, of its shape; a float for a scalar.
        """

    @CompiledCall
    def _call(self, *args: Any) -> Any:
        """Run `f`."""

    def _compiled(self, name: str, kind: str) -> Callable[..., Any]:
        function = self.__dict__[name] = self._variants[0].entry(kind).call.function
        return function

    def bind(self, *args: Any) -> Callable[[], Any]:
        """`gradient` on fixed memory: a callable without arguments, for the tightest loops."""
        return functools.partial(self.gradient, *args)

    # Variants.

    def _slow_path(self, kind: str) -> Callable[..., Any]:
        return functools.partial(_slow_path, self, kind)

    def _add_variant(self, arguments: tuple) -> Variant:
        options = self._options
        traced = trace(
            self._f,
            arguments,
            max_operations=options["max_operations"],
            unroll=options["unroll"],
            max_steps=options["max_steps"],
        )
        variant = Variant(traced, options["preserve_args"], options["memory_limit"], self._slow_path)
        self._variants.append(variant)
        return variant

    def _replay(self, kind: str, arguments: tuple, keywords: dict[str, Any]) -> Any:
        tried = list(self._variants)
        done, result = replay(tried, kind, arguments, keywords)
        if done:
            return result
        first = tried[0].trace
        if self._options["on_branch"] == "raise":
            raise broken_guard(first, arguments)
        with self._lock:
            done, result = replay(self._variants[len(tried) :], kind, arguments, keywords)  # of other threads
            if done:
                return result
            if len(self._variants) >= self._options["max_variants"]:
                raise BranchError(
                    f"{first.name} has taken more than {self._options['max_variants']} different branches: "
                    f"{lines_of_guards(first)}. Use np.where for values that change from call to call, or raise the "
                    f"limit with compile(..., max_variants=)"
                )
            variant = self._add_variant(tuple(arguments[: len(first.names)]))
            try:
                done, result = replay([variant], kind, arguments, keywords, final=True)
                while not done:
                    variant = self._with_more_steps(variant, arguments)
                    done, result = replay([variant], kind, arguments, keywords, final=True)
            except PlannedADError:
                self._variants.remove(variant)
                raise
        return result

    def _with_more_steps(self, variant: Variant, arguments: tuple) -> Variant:
        """In place of a variant whose `while` loops end too early for these arguments, one with more memory for them.

        It takes the place of all that were traced with less. Other guards break for a reason, which is raised.
        """
        traced = variant.trace
        has_limit = any(is_limit(op) for op in traced.tape.operations)
        steps = self._options["max_steps"] * MORE_STEPS
        if has_limit and steps > MOST_STEPS:
            raise endless(traced)
        if not has_limit:
            raise broken_guard(traced, arguments)
        self._options["max_steps"] = steps
        self._variants.remove(variant)
        found = self._add_variant(tuple(arguments[: len(traced.names)]))
        kept = [v for v in self._variants[:-1] if not any(is_limit(op) for op in v.trace.tape.operations)]
        self._variants[:] = [*kept, found]
        for name in ("gradient", "value_and_gradient", "pullback", "_call"):
            self.__dict__.pop(name, None)
        return found

    # What the plan says of itself.

    def _entry(self, kind: str | None, variant: int) -> Entry:
        chosen = self._variants[variant]
        return chosen.entry(kind or ("gradient" if is_scalar_loss(chosen.trace) else "pullback"))

    def explain(self, kind: str | None = None, variant: int = 0) -> Explanation:
        """What a kind of call caches, reloads and recomputes, why, and in how many bytes.

        Parameters
        ----------
        kind : {'gradient', 'value_and_gradient', 'pullback', 'call'}, optional
            By default the gradient, or the pullback of a function that does not return one floating scalar.
        variant : int
            Which of the traces, where branches have led to several.
        """
        return explain(self._variants[variant].trace, self._entry(kind, variant), len(self._variants))

    def listing(self, kind: str | None = None, variant: int = 0) -> str:
        """The plan as stable pseudo-Python, with the user's lines beside it; arguments as for `explain`."""
        return plan_listing(self._entry(kind, variant).memory)

    def llvm(self, kind: str | None = None, variant: int = 0) -> str:
        """The optimised LLVM of a call; arguments as for `explain`."""
        return self._entry(kind, variant).call.llvm()

    def asm(self, kind: str | None = None, variant: int = 0) -> str:
        """The machine code of a call, as assembly; arguments as for `explain`."""
        return self._entry(kind, variant).call.asm()

    def __repr__(self) -> str:
        first = self._variants[0].trace
        return f"<planned_ad.Plan of {first.name}({', '.join(first.names)})>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __reduce__(self) -> tuple:
        return _compile_again, (self._f, examples.picklable(self._example), self._options)

    def __copy__(self) -> Plan:
        return Plan(self._f, self._example, dict(self._options))

    def __deepcopy__(self, memo: dict) -> Plan:
        return self.__copy__()


def _slow_path(plan: Plan, kind: str, *arguments: Any, **keywords: Any) -> Any:
    return plan._replay(kind, arguments, keywords)


def _compile_again(f: Callable[..., Any], example: tuple, options: dict[str, Any]) -> Plan:
    plan = Plan(f, example, options)
    if options["differentiate"]:
        plan.gradient  # noqa: B018
    return plan


def is_limit(op: Operation) -> bool:
    """Whether an operation guards the number of iterations of a `while` loop."""
    return isinstance(op, Guard) and op.what == "max_steps"


def endless(traced: Trace) -> BranchError:
    """The error for a `while` loop that goes on and on."""
    lines = [op.line for op in traced.tape.operations if is_limit(op)]
    where = "; ".join(f"{line}: `{line.text}`" for line in dict.fromkeys(lines))
    return BranchError(
        f"a `while` loop does not end within {traced.max_steps:,} iterations, and more are not tried by themselves: "
        f"{where}. Raise compile(..., max_steps=), or see whether it ends at all for these arguments"
    )


def broken_guard(traced: Trace, arguments: tuple) -> Exception:
    """The error for arguments with which a guard of `traced` breaks: it names the guard's line."""
    leaves, _ = flatten(tuple(arguments[: len(traced.names)]))
    memories = {
        leaf.buffer: memory_of(traced.tape.buffers[leaf.buffer], np.asarray(value, leaf.dtype))
        for leaf, value in zip(traced.leaves, leaves)
        if leaf.buffer is not None
    }
    try:
        interpret(traced.tape, memories)
    except GuardBroken as broken:
        line = broken.guard.line
        if broken.guard.what == "index":
            return IndexRangeError(f"{line}: an index is out of range: `{line.text}`")
        if broken.guard.what == "max_steps":
            return BranchError(
                f"{line}: `{line.text}` does not end within the {traced.max_steps:,} iterations that there is memory "
                f"for; raise compile(..., max_steps=), or see whether it ends at all for these arguments"
            )
        return BranchError(
            f"{traced.name} takes another branch for these arguments than the one recorded, at {line}: `{line.text}` "
            f"({broken.guard.what}: {broken.actual} instead of {broken.guard.outcome})"
        )
    return BranchError(f"{traced.name} takes another branch for these arguments: {lines_of_guards(traced)}")


def lines_of_guards(traced: Trace) -> str:
    lines = dict.fromkeys(f"{op.line}: {op.line.text}" for op in traced.tape.operations if isinstance(op, Guard))
    return "; ".join(lines)


def compile(
    f: Callable[..., Any],
    example_args: Any,
    *,
    on_branch: str = "retrace",
    preserve_args: bool = False,
    max_operations: int = 200_000,
    unroll: int = 16,
    max_steps: int = 1000,
    max_variants: int = 32,
    memory_limit: int | None = None,
) -> Plan:
    """Trace `f` once, plan its memory, and compile it with its derivatives.

    Parameters
    ----------
    f : callable
        A function of NumPy arrays and numbers, as people write them: loops, views, in-place updates, helper functions.
    example_args : tuple or object
        Arguments like those of later calls (one bare argument is taken as a 1-tuple); nested tuples, lists, dicts,
        namedtuples, dataclasses. Shapes, dtypes, strides, and whatever is neither floating nor an array become part of
        the plan. Floating arrays and Python floats are active; `planned_ad.Const(x)` makes one inactive. They are
        never written to.
    on_branch : {'retrace', 'raise'}
        What a call does whose data take another branch: trace again and keep both, or raise BranchError.
    preserve_args : bool
        Leave arguments that `f` writes to as they were (costs a copy).
    max_operations : int
        Limit of recorded operations.
    unroll : int
        Loops of at most so many iterations are recorded one by one; longer ones once, as loops.
    max_steps : int
        For how many iterations of a `while` loop on computed values there is memory. A call that needs more grows it
        (with `on_branch="raise"`, raises BranchError).
    max_variants : int
        Limit of recorded branches.
    memory_limit : int, optional
        Limit, in bytes, of what is kept from the primal for the reverse sweep (`explain().cached_bytes`). Where it
        would be exceeded, loops are run again in the reverse sweep, from checkpoints; `explain().reruns` says which.

    Returns
    -------
    Plan

    Raises
    ------
    planned_ad.errors.TraceError
        `f` does something that cannot be recorded; the message names the line.
    planned_ad.errors.NotDifferentiableError
        No argument is active.
    planned_ad.errors.MemoryLimitError
        `memory_limit` cannot be kept; the message names the least that can.

    Notes
    -----
    Costs about 10 us per recorded operation, and LLVM's time for the loops that come out: tens of milliseconds.
    The first call of `value_and_gradient`, `pullback` or the plan itself compiles its own kernel.

    Examples
    --------
    >>> import numpy as np, planned_ad
    >>> def f(x):
    ...     y = np.zeros(3)
    ...     y[1:] = x[:-1] * x[1:]
    ...     return y.sum()
    >>> plan = planned_ad.compile(f, np.array([1.0, 2.0, 3.0]))
    >>> plan.gradient(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 2.])
    """
    if on_branch not in ("retrace", "raise"):
        raise ArgumentError(f"on_branch is 'retrace' or 'raise', not {on_branch!r}")
    if memory_limit is not None and memory_limit < 0:
        raise ArgumentError(f"memory_limit is a number of bytes, not {memory_limit!r}")
    arguments = example_args if type(example_args) is tuple else (example_args,)
    options = {
        "on_branch": on_branch,
        "preserve_args": preserve_args,
        "max_operations": max_operations,
        "unroll": unroll,
        "max_steps": max_steps,
        "max_variants": max_variants,
        "memory_limit": memory_limit,
        "differentiate": False,
    }
    plan = Plan(f, arguments, options)
    traced = plan._variants[0].trace
    check_differentiable(traced)
    if is_scalar_loss(traced):
        options["differentiate"] = True
        plan.gradient  # noqa: B018  (compiled now, not at the first call)
    return plan


def check_differentiable(traced: Trace) -> None:
    """Refuse a function without active arguments, and one whose results and writes depend on none."""
    if not traced.tape.active:
        raise NotDifferentiableError(
            f"{traced.name} ({traced.line}): no argument is active; pass floating arrays or Python floats (not "
            f"integers), outside of planned_ad.Const"
        )
    values, _ = activity(traced.tape)
    writes = any(
        isinstance(op, Store | Scatter) and op.region.buffer in traced.tape.active
        for op in walk(traced.tape.operations)
    )
    if not writes and not any(value.id in values for value in traced.tape.results):
        what = f"returns {traced.result_structure}" if traced.result_leaves else "returns None"
        raise NotDifferentiableError(
            f"{traced.name} ({traced.line}) {what}, which depends on no active argument, and writes to none: there is "
            f"nothing to differentiate. Return a value computed from its floating arguments"
        )


def is_scalar_loss(traced: Trace) -> bool:
    """Whether `f` returns one floating scalar, of which there is a gradient."""
    results = traced.tape.results
    return len(results) == 1 and results[0].shape == () and results[0].dtype.kind == "f"
