"""`planned_ad.compile`: the front door."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from .analysis.activity import activity
from .calls.conversions import read_example
from .calls.kinds import KINDS
from .calls.parameters import is_scalar_loss
from .errors import ArgumentError, NotDifferentiableError
from .plan import DERIVATIVES, KNOWN, Plan, known_or_new
from .python.options import OnBranch, PlanOptions, one_of, takes_function, whole_number
from .python.type_variables import Result
from .tape.guards import decides
from .tape.tape import Scatter, Store, walk
from .trace import Trace


def compile(
    f: Callable[..., Result],
    example_args: Any,
    example_kwargs: dict[str, Any] | None = None,
    *,
    on_branch: OnBranch = "retrace",
    preserve_args: bool = False,
    max_operations: int = 200_000,
    unroll: int = 16,
    max_steps: int = 1000,
    max_variants: int = 32,
    memory_limit: int | None = None,
    check: bool = True,
    frozen: Sequence[str] = (),
    convert: bool = False,
    threads: int = 1,
    calls: str | Sequence[str] | None = None,
) -> Plan[Result]:
    """Trace `f` once, plan its memory, and compile it with its derivatives.

    Parameters
    ----------
    f : callable
        A function of NumPy arrays and numbers, as people write them: loops, views, in-place updates, helper functions.
    example_args : tuple or object
        Arguments like those of later calls (one bare argument is taken as a 1-tuple); nested tuples, lists, dicts,
        namedtuples, dataclasses and instances of your classes, whose attributes count. Shapes, dtypes, strides, and
        whatever is neither floating nor an array become part of the plan. Floating arrays and Python floats are active;
        `planned_ad.Const(x)` makes one inactive. They are never written to.
    example_kwargs : dict, optional
        Arguments by keyword. Those that `f` takes by position too are ordered among `example_args`; those that it takes
        by keyword only follow. Each has a shadow and a derivative as an argument by position has.
    on_branch : {'retrace', 'raise', 'record'}
        What a call does whose data take another branch, or that finds something else outside of `f`: trace again and
        keep both, or raise BranchError. With 'record', all ways through the branches of `f` are in one trace from the
        beginning, as with 'retrace' from the fifth on: for compiled code and exported plans, which cannot trace.
    preserve_args : bool
        Leave arguments that `f` writes to as they were (costs a copy).
    max_operations : int
        Limit of recorded operations.
    unroll : int
        Loops of at most so many iterations are recorded one by one; longer ones once, as loops.
    max_steps : int
        For how many iterations of a `while` loop on computed values there is memory, and for how many elements of
        an array whose computed length (`np.zeros(n[i])`) has no known limit. A call that needs more grows it (with
        `on_branch="raise"`, raises BranchError).
    max_variants : int
        How many ways through branches outside of loops are kept, where they cannot all be recorded in one trace.
        Another one is traced in the call that takes it; the one that was used least recently goes (a warning, once).
    memory_limit : int, optional
        Limit, in bytes, of what is kept from the primal for the reverse sweep (`explain().cached_bytes`). Where it
        would be exceeded, loops are run again in the reverse sweep, from checkpoints; `explain().reruns` says which.
        It holds for `gradient`, `value_and_gradient` and `pullback`, not for derivatives of derivatives.
    check : bool
        Run `f` on a copy of the example and compare what it gives with the trace; so for each trace, with its own
        arguments. Loops that make a difference are unrolled. It may take 50 ms, or a tenth of the time of compiling
        where that is more, and 10 ms where there is no loop; `explain().checked` says what was compared, and what was
        not. What `f` does besides (printing, say) happens once more: False is for functions with such effects.
    frozen : sequence of str
        Names outside of `f` (globals, variables that it closes over, `"model.table"`) that are taken for constant, with
        all that they lead to. Each call looks at all others: arrays are read from their own memory, and what else has
        changed since `f` was traced has it traced again (with `on_branch="raise"`, raises BranchError).
    convert : bool
        Take arguments that are not quite like the example: lists, integers or float32 where the plan takes float64,
        other strides, arrays of PyTorch and JAX. They are copied, or read where they lie, as `explain().fallbacks`
        counts; such calls take about a hundred microseconds. What would lose something is refused; shadows are never
        converted. In the example, too, arrays of other libraries are read as NumPy's. By default all that is refused.
    threads : int
        How many threads do the work of a call: loops over large arrays, in parts that anybody does who is free. The
        numbers are the same for each number of threads, to the last bit. `explain().threaded` says what is done so.
        Others wait for work in this process from then on; products by BLAS have threads of their own.
    calls : str or sequence of str, optional
        The calls of the plan that are compiled now: `"value_and_gradient"`, `("gradient", "hvp")`. All others are at
        their first use. By default the gradient is, where `f` returns one floating number.

    Returns
    -------
    Plan
        The one that this process has for the same function, arguments like these and the same options, where it sees in
        each call all that it depends on; else a new one, from disk where another process has compiled it.

    Raises
    ------
    planned_ad.errors.TraceError
        `f` does something that cannot be recorded; the message names the line. Or the trace gives something else than
        `f` does.
    planned_ad.errors.NotDifferentiableError
        No argument is active.
    planned_ad.errors.MemoryLimitError
        `memory_limit` cannot be kept; the message names the least that can.

    Notes
    -----
    Costs about 10 us per recorded operation, and LLVM's time for the loops that come out: tens of milliseconds.
    Each kind of call has a kernel of its own; those that are not among `calls` compile it the first time.

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
    takes_function("compile", f)
    one_of("on_branch", on_branch, ("retrace", "raise", "record"))
    if example_kwargs is not None and not isinstance(example_kwargs, dict):
        raise ArgumentError(f"example_kwargs is a dict of arguments by name, not {type(example_kwargs).__name__}")
    arguments = example_args if type(example_args) is tuple else (example_args,)
    if convert:
        arguments, example_kwargs = read_example(arguments), read_example(example_kwargs)
    options: PlanOptions = {
        "on_branch": on_branch,
        "preserve_args": preserve_args,
        "max_operations": whole_number("max_operations", max_operations, 1),
        "unroll": whole_number("unroll", unroll),
        "max_steps": whole_number("max_steps", max_steps, 1),
        "max_variants": whole_number("max_variants", max_variants, 1),
        "memory_limit": None if memory_limit is None else whole_number("memory_limit, in bytes,", memory_limit),
        "check": check,
        "frozen": (frozen,) if isinstance(frozen, str) else tuple(frozen),
        "convert": bool(convert),
        "threads": whole_number("threads", threads, 1),
        "calls": calls_named(calls),
    }
    plan, is_new = known_or_new(f, arguments, options, example_kwargs)
    traced = plan._variants[0].trace
    if is_new:
        check_differentiable(traced)
    if calls is None and is_scalar_loss(traced):
        options["calls"] = ("gradient",)
    for name in options["calls"]:
        getattr(plan, name)  # compiled now, not at the first call
    if is_new:
        KNOWN.add(plan)
    return plan


def calls_named(calls: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of public calls of a plan, of which there may be none."""
    names = () if calls is None else (calls,) if isinstance(calls, str) else tuple(calls)
    known = (*(row.attribute for row in KINDS.values() if not row.attribute.startswith("_")), *DERIVATIVES)
    for name in names:
        one_of("calls", name, known)
    return names


def default_options() -> PlanOptions:
    """The options of a plan unless `compile` is told otherwise."""
    return _DEFAULTS.copy()


_OF_COMPILE = [p for p in inspect.signature(compile).parameters.values() if p.kind is p.KEYWORD_ONLY]
_DEFAULTS = cast(PlanOptions, {p.name: p.default for p in _OF_COMPILE} | {"calls": ()})


def check_differentiable(traced: Trace) -> None:
    """Refuse a function without active arguments, and one whose results and writes never depend on one."""
    if not traced.tape.active:
        raise NotDifferentiableError(
            f"{traced.name} ({traced.line}): no argument is active; pass floating arrays or Python floats (not "
            f"integers), outside of planned_ad.Const"
        )
    if any(map(decides, traced.tape.operations)):  # for other data it may return something else
        return
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
