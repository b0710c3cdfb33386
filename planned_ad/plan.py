"""The plan: what `compile` returns. Each public call is a built-in function made for these arguments."""

from __future__ import annotations

import copy
import functools
import operator
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any, Concatenate, Generic, overload

from .calls.at_first_use import MadeAtFirstUse
from .calls.check.checked import Checked
from .calls.check.checked_traces import of_function
from .calls.entries import Entry
from .calls.explain import Explanation, explain
from .calls.export import Exported, export
from .calls.kernel_functions import Kernel
from .calls.kinds import KINDS, CallKind
from .calls.known_plans import KnownPlans, Unpickled, Wanted, identity_of, wanted
from .calls.next_call import lead_nowhere, next_call
from .calls.parameters import usual_kind
from .calls.replay import Call
from .calls.split_calls import Forward, Reverse, SignatureOf, run_reverse
from .calls.stored_plans import is_decided, numbers_in
from .calls.variant import Variant
from .calls.variants import add_variant, replay
from .errors import ArgumentError, missing_where_refused
from .pictures.pictured import Pictured
from .planning.schedule import MemoryPlan
from .planning.schedule_listing import plan_listing
from .python import examples
from .python.callbacks import raise_pending
from .python.options import Mode, PlanOptions, of_derivative, one_of, whole_number
from .python.signatures import bind
from .python.source import Line
from .python.structure import flatten
from .python.type_variables import Arguments, Given, Result
from .trace import Trace


class CompiledCall(Generic[Arguments, Given]):
    """A public call of a plan: at first use the plan's own compiled function takes its place in the instance.

    There is no `__set__`, so that from then on the attribute is found in the instance without running any Python. What
    refuses to make the function is an AttributeError too: `hasattr`, `inspect` and completion ask for every attribute.
    """

    def __init__(self, documented: Callable[Concatenate[Any, Arguments], Given]):
        self.__doc__ = documented.__doc__
        self.__wrapped__ = documented
        self.name: str = documented.__name__

    @overload
    def __get__(self, plan: None, owner: type | None = None) -> Callable[Concatenate[Any, Arguments], Given]: ...
    @overload
    def __get__(self, plan: Plan, owner: type | None = None) -> Callable[Arguments, Given]: ...
    def __get__(self, plan: Plan | None, owner: type | None = None) -> Callable[..., Given]:
        if plan is None:
            return self.__wrapped__
        with missing_where_refused():
            return self.of(plan)

    def of(self, plan: Plan) -> Callable[Arguments, Given]:
        """The call of one plan, which takes this descriptor's place there."""
        row = next(row for row in KINDS.values() if row.attribute == self.name)
        call = plan.__dict__[self.name] = plan._variants[0].entry(row.name).call.function
        return call


# Calls that are plans of their own, of a derivative as a function: from the name to what makes that function of a plan,
# with options by keyword. Filled by `plan_derivatives`.
DERIVATIVES: dict[str, Callable[..., Callable[..., Any]]] = {}


class DerivedCall(CompiledCall[Arguments, Given]):
    """A public call of a plan that is the call of a plan of its own, compiled at first use too."""

    def of(self, plan: Plan) -> Callable[Arguments, Given]:
        derived = plan._derived(self.name)
        derived._shown_by = (plan, self.name)
        call = plan.__dict__[self.name] = derived._call
        return call


def called(derived: Any, args: tuple, out: Any) -> Any:
    """A derivative as a plan, or as a function with `out`, called."""
    if not isinstance(derived, Plan):
        return derived(*args) if out is None else derived(*args, out=out)
    return derived(*args, *(out if isinstance(out, tuple) else () if out is None else (out,)))


class Plan(Pictured, MadeAtFirstUse, Generic[Result]):
    """A compiled function with its derivatives. Made by `planned_ad.compile`.

    The methods below are replaced, on each plan, by built-in functions compiled for the example's arguments:
    a call checks them in machine code and allocates nothing. What does not match is refused with a
    `planned_ad.errors.ArgumentError` before anything is written.

    A plan can be called from several threads at once, pickled (where the process that loads it has none like it, it is
    compiled again) and deep-copied.
    """

    def __init__(
        self,
        f: Callable[..., Result],
        example_args: tuple,
        options: PlanOptions,
        example_kwargs: dict[str, Any] | None = None,
        checked: Checked | None = None,
        after: Plan | None = None,
    ):
        self._f, self._options = f, options
        self._lock = threading.RLock()
        self._variants: list[Variant] = []
        self._asked: dict[str, Callable[[Trace], None]] = {}  # what refuses traces, by who has had it asked
        self._stretched: set[Line] = set()  # lines of whose lengths, or masks, a trace knows less: see `trace`
        self._has_history = False  # whether what earlier calls of the function have left makes a difference
        # Whether it has been tried in vain to have one trace for all branches, and how many there were the last time.
        self._one_way, self._tried_with, self._dropped = False, 0, 0  # and how many have made way for others
        self._exact: set[Line] = set()  # lines whose masks are traced for each number of elements that they choose
        # Loops that a trace has not got right as loops; and the trace of what this one's function differentiates.
        self._unrolled: dict[Any, Any] = {} if after is None else dict(after._unrolled)
        self._after = None if after is None else after._variants[0].trace
        self._derivatives: dict[Any, Any] = {}
        self._shown_by: tuple[Plan, str] | None = None  # the plan, and its attribute, that show this one's call
        self._made_for: Wanted | None = None
        self._name, example_kwargs = "", example_kwargs or {}  # the name in pickles
        first = add_variant(self, example_args, example_kwargs, checked=checked)
        # What is traced again from a pickle: its numbers matter only where they decided something.
        decided = is_decided(first.trace, first.checked)
        self._example, self._example_kwargs = examples.copied((example_args, example_kwargs), with_numbers=decided)

    # The public calls, for readers and type checkers; instances carry compiled ones.

    # Looked up as an attribute of the instance: without running any Python.
    __call__: Callable[..., Result] = property(  # type: ignore[assignment]
        operator.attrgetter("_call"),
        doc="""Run `f`: its value is returned, its own writes to its arguments are visible.

        Arrays that it returns are new ones, or those that are passed after the arguments: `plan(x, n, out)`.
        """,
    )

    __signature__ = SignatureOf("_call")

    @CompiledCall
    def gradient(self, *args: Any, **kwargs: Any) -> Any:
        """Gradient of the scalar that `f` returns, at the arguments on entry.

        `plan.gradient(x, n, dx)`: one shadow for each active argument follows the arguments; it is overwritten and
        returned. Without shadows new ones are made. A Python float argument gets its derivative returned. Several
        active arguments: a tuple. Arguments and shadows may be passed by keyword, `plan.gradient(x, n=n, dx=dx)`;
        what `f` takes by keyword only follows the others, in the order that `help(plan.gradient)` shows.

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
    def value_and_gradient(self, *args: Any, **kwargs: Any) -> tuple[float, Any]:  # type: ignore[empty-body]
        """`(value, gradient)`; arguments as for `gradient`."""

    @CompiledCall
    def pullback(self, *args: Any, **kwargs: Any) -> Any:
        """Pull a cotangent of the result back: `plan.pullback(x, n, dx, cotangent)`.

        Shadows are in-out. On entry: the adjoint of the arguments' final state; on exit: that of their initial state.
        For arguments that `f` only reads, this means that the derivative is added to the shadow. One cotangent for
        each floating result, of its shape; a float for a scalar. New shadows are returned where none are passed:
        `plan.pullback(x, n, cotangent=ct)`; `cotangent0=`, `cotangent1=` and so on where there are several.
        """

    @DerivedCall
    def jvp(self, *args: Any) -> tuple[Result, Result]:  # type: ignore[empty-body]
        """Forward mode: `plan.jvp(x, n, tx)` is `(value, tangent)` for the tangent `tx` of `x`; nothing is kept.

        A tangent for each active argument follows the arguments, and then, if wanted, where the arrays of the result
        are to be written. Arguments and tangents are left as they are, also where `f` writes to its arguments.

        Examples
        --------
        >>> import numpy as np, planned_ad
        >>> plan = planned_ad.compile(lambda x: x**2, np.zeros(2))
        >>> plan.jvp(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        (array([1., 4.]), array([ 2., 40.]))
        """

    @DerivedCall
    def hvp(self, *args: Any) -> Any:
        """The Hessian of the scalar that `f` returns times a vector: `plan.hvp(x, n, vx)`; `plan.hvp(x, n, vx, out)`.

        Forward mode over the reverse sweep. A vector for each active argument follows the arguments; several active
        arguments: a tuple is returned. Arguments are left as they are.
        """

    def jacobian(self, *args: Any, mode: Mode | None = None, sparse: bool = False, out: Any = None) -> Any:
        """The derivatives of the results by the active arguments, as `planned_ad.jacobian` nests them.

        Parameters
        ----------
        mode : {'forward', 'reverse'}, optional
            One direction for each element of the arguments, or of the results; by default the fewer.
        sparse : bool
            Of one array by one array, as a `scipy.sparse` array whose pattern is the same in all calls.
        out : array, or tuple of arrays, optional
            Where to write it; of several blocks, each.
        """
        one_of("mode", mode, (None, "forward", "reverse"))
        derived = self._derived("sparse_jacobian" if sparse else "jacobian", mode=mode)
        return called(derived, args, out)

    def hessian(self, *args: Any, sparse: bool = False, out: Any = None) -> Any:
        """The second derivatives of the scalar that `f` returns, as `planned_ad.hessian` nests them.

        `sparse` and `out` as for `jacobian`.
        """
        return called(self._derived("sparse_hessian" if sparse else "hessian"), args, out)

    def _derived(self, name: str, **options: Any) -> Any:
        """The plan behind a call."""
        options = {option: value for option, value in options.items() if value is not None}
        key = (name, *options.values())
        with self._lock:
            found = self._derivatives.get(key)
            if found is None:
                found = self._derivatives[key] = DERIVATIVES[name](self, **options)
        return found

    def _plan_of(self, f: Callable[..., Any], again: Sequence[int]) -> Plan:
        """A plan of `f`, a function of this plan's arguments by position, and of directions like some of them."""
        example, _ = bind(self._f, self._example, self._example_kwargs)
        directions = (examples.copied(example[k]) for k in again)
        first = self._variants[0]  # has been compared; the example need not have its numbers any more
        checked = of_function(first.trace, first.checked)
        options: PlanOptions = {**of_derivative(self._options), "convert": True}  # SciPy has directions of integers
        return Plan(f, (*example, *directions), options, checked=checked, after=self)

    def split(self) -> tuple[Forward, Reverse]:
        """The pullback in two halves: `forward` runs the primal and fills a tape, from which `reverse` runs later.

        Returns
        -------
        forward, reverse
            `tape = forward.tape()` makes a tape, of `forward.tape_nbytes` bytes; `value = forward(x, n, tape)` fills
            it, and `reverse(tape, dx, cotangent)` reads it. Between the two the arguments may be overwritten, and other
            tapes filled. `plan.explain("forward")` says what is on a tape, and why.

        Notes
        -----
        A call allocates nothing where it fills a tape as the last call did, and is passed where its results are to be
        written. A run along another branch of the function has a tape of its own size: a smaller one grows. A
        `memory_limit` is one of the tape.

        Examples
        --------
        >>> import numpy as np, planned_ad
        >>> plan = planned_ad.compile(lambda x: np.sum(x**3), np.zeros(2))
        >>> forward, reverse = plan.split()
        >>> tape = forward.tape()
        >>> value = forward(np.array([1.0, 2.0]), tape)
        >>> reverse(tape)
        array([ 3., 12.])
        """
        self._forward, self._reverse  # noqa: B018  (compiled now)
        return Forward(self), Reverse(self)

    @CompiledCall
    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run `f` and fill a tape."""

    @CompiledCall
    def _reverse(self, *args: Any, **kwargs: Any) -> Any:
        """Pull cotangents back through the run that filled a tape."""

    @CompiledCall
    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """Run `f`."""

    def bind(self, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """`gradient` on fixed memory: a callable without arguments, for the tightest loops."""
        order = [parameter.name for parameter in self._variants[0].entry("gradient").parameters]
        kwargs = dict(sorted(kwargs.items(), key=lambda item: order.index(item[0]) if item[0] in order else 0))
        return functools.partial(self.gradient, *args, **kwargs)

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The calls for the user's own `@njit` code, and for C: `plan.kernel.gradient`, `.value`, ..."""
        return Kernel(self)

    def export(
        self,
        path: str | os.PathLike[str],
        *example: Any,
        calls: Sequence[str] | None = None,
        cpu: str | None = None,
    ) -> Exported:
        """Write the plan for use without Python: an object file, a C header, and a shared library where `cc` is found.

        Parameters
        ----------
        path : path
            Of the files, without a suffix. Its last part begins the names of the C functions:
            `plan.export("build/model")` writes `model_gradient` and others to `build/model.o`, `.so` and `.h`.
        *example
            Arguments: with them, the header contains a program that calls each function and compares what it gives
            with what the plan gives.
        calls : sequence of str, optional
            Of 'value', 'gradient', 'value_and_gradient', 'pullback'; by default all that the function has.
        cpu : str, optional
            LLVM's name of the processor that it is for; by default this one. "generic" is for all of its kind.

        Returns
        -------
        planned_ad.calls.export.Exported
            The files, and what other libraries are called.

        Raises
        ------
        planned_ad.errors.UnsupportedError
            The plan calls into Python, or compiled code of this process or of SciPy's.

        Notes
        -----
        Constants are inside, and so are arrays that the function has found outside of its arguments, as they are now.
        The branches that were recorded so far are known; for others a function returns 1. It allocates nothing.
        """
        return export(self, path, example, calls, cpu)

    # Variants.

    def _ask(self, who: str, refuse: Callable[[Trace], None]) -> None:
        """Ask each trace that there is, and each one to come: `refuse` raises where `who` cannot use the plan with it.

        A trace that is refused becomes no variant, whoever calls the plan: compiled code tries all variants.
        """
        with self._lock:
            for variant in self._variants:
                refuse(variant.trace)
            self._asked[who] = refuse

    def _slow_path(self, row: CallKind, variant: Variant) -> Callable[..., Any]:
        return functools.partial(_slow_path, self, row, variant)

    def _forget_calls(self) -> None:
        """Have the public calls be those of the first variant from now on."""
        lead_nowhere(self._variants)
        for row in KINDS.values():
            self.__dict__.pop(row.attribute, None)
        if self._shown_by is not None:
            self._shown_by[0].__dict__.pop(self._shown_by[1], None)
        if "kernel" in self.__dict__:
            self.kernel._extend()

    # What the plan says of itself.

    def _chosen(self, kind: str | None) -> tuple[Plan, str | None]:
        """The plan behind a kind of call, and that plan's kind."""
        one_of("the kind of a call", kind, (None, *KINDS, *DERIVATIVES))
        if kind in DERIVATIVES:
            found = self._derived(kind)
            return (found if isinstance(found, Plan) else found.plan), "call"
        return self, kind

    def _entry(self, kind: str | None, variant: int) -> Entry:
        if whole_number("variant", variant) >= len(self._variants):
            raise ArgumentError(f"variant is less than {len(self._variants)}, the number of traces, not {variant}")
        chosen = self._variants[variant]
        return chosen.entry(kind or usual_kind(chosen.trace))

    def explain(self, kind: str | None = None, variant: int = 0) -> Explanation:
        """What a kind of call caches, reloads and recomputes, why, and in how many bytes.

        Parameters
        ----------
        kind : {'gradient', 'value_and_gradient', 'pullback', 'call', 'jvp', 'hvp', 'jacobian', 'hessian'}, optional
            By default the gradient, or the pullback of a function that does not return one floating scalar. 'forward'
            and 'reverse' are the halves of `split`, of which what is cached is what lies on a tape.
        variant : int
            Which of the traces, where branches have led to several.
        """
        plan, kind = self._chosen(kind)
        entry = plan._entry(kind, variant)
        chosen = plan._variants[variant]
        return explain(chosen.trace, entry, (len(plan._variants), plan._dropped), chosen.checked, chosen.watch)

    def listing(self, kind: str | None = None, variant: int = 0) -> str:
        """The plan as stable pseudo-Python, with the user's lines beside it; arguments as for `explain`."""
        return plan_listing(self.memory(kind, variant))

    def memory(self, kind: str | None = None, variant: int = 0) -> MemoryPlan:
        """The schedule of steps, and where each value lies in the workspace and when; arguments as for `explain`."""
        plan, kind = self._chosen(kind)
        return plan._entry(kind, variant).memory

    def llvm(self, kind: str | None = None, variant: int = 0) -> str:
        """The optimised LLVM of a call; arguments as for `explain`."""
        plan, kind = self._chosen(kind)
        return plan._entry(kind, variant).call.llvm()

    def asm(self, kind: str | None = None, variant: int = 0) -> str:
        """The machine code of a call, as assembly; arguments as for `explain`."""
        plan, kind = self._chosen(kind)
        return plan._entry(kind, variant).call.asm()

    def __repr__(self) -> str:
        first = self._variants[0].trace
        return f"<planned_ad.Plan of {first.name}({', '.join(first.names)})>"

    def __reduce__(self) -> tuple:
        example = examples.picklable((self._example, self._example_kwargs))
        return _compile_again, (self._f, example, self._options, self._variants[0].checked, identity_of(self))

    def __copy__(self) -> Plan[Result]:
        return Plan(self._f, self._example, self._options.copy(), self._example_kwargs, self._variants[0].checked)

    def __deepcopy__(self, memo: dict) -> Plan[Result]:
        if "_example" not in self.__dict__:  # it is being made, or to be
            return self.copied_later(memo)
        f = copy.deepcopy(self._f, memo)  # a method, with its object
        if f == self._f:
            return self.__copy__()
        return Plan.later(f, self._example, self._options.copy(), self._example_kwargs)


def _slow_path(plan: Plan, row: CallKind, variant: Variant, *arguments: Any, **keywords: Any) -> Any:
    def called(trace: Trace) -> Call:
        return Call(trace, row, arguments, keywords, plan._options["convert"])

    try:
        raise_pending()  # of a callback in the call that has just been tried
    except BaseException:
        if row.writes_tape and (tape := called(variant.trace).tape) is not None:
            tape.forget()
        raise
    if not row.takes_arguments:
        return run_reverse(plan, variant.trace.name, arguments, keywords)
    if not row.is_half and (following := next_call(plan, row, variant)) is not None:
        return following(*arguments, **keywords)
    if variant not in plan._variants:  # it was the first one when its call was looked up
        plan._forget_calls()
        return getattr(plan, row.attribute)(*arguments, **keywords)
    return replay(plan, called, lambda chosen: chosen.entry(row.name))


KNOWN = KnownPlans[Plan]()
UNPICKLED = Unpickled[Plan]()


def known_or_new(
    f: Callable[..., Any],
    args: tuple,
    options: PlanOptions,
    kwargs: dict[str, Any] | None,
    checked: Checked | None = None,
    identity: tuple[str, str] | None = None,
) -> tuple[Plan, bool]:
    """A plan that this process has for the same, or a new one, to be added to `KNOWN`; and whether it is new."""
    this = wanted(f, args, kwargs or {}, options)
    found = KNOWN.find(this, lambda: numbers_in(flatten((args, kwargs or {}))[0])) or UNPICKLED.find(identity)
    if found is not None:
        return found, False
    plan = Plan(f, args, options, kwargs, checked)
    if this is not None:
        first = plan._variants[0]
        decided = is_decided(first.trace, first.checked)
        plan._made_for = replace(this, numbers=numbers_in(flatten((args, kwargs or {}))[0]) if decided else "")
    return plan, True


def _compile_again(
    f: Callable[..., Any],
    example: tuple,
    options: PlanOptions,
    checked: Checked,
    identity: tuple[str, str] | None = None,
) -> Plan:
    args, kwargs = example
    if isinstance(f, MethodType):
        return UNPICKLED.find(identity) or Plan.later(f, args, options, kwargs, checked)
    plan, _ = known_or_new(f, args, options, kwargs, checked, identity)
    for name in options["calls"]:
        getattr(plan, name)
    KNOWN.add(plan)
    UNPICKLED.add(identity, plan)
    return plan
