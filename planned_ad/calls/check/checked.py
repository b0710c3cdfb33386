"""The check of a trace against the function itself: both run on the example, and give the same, or the trace is wrong.

What passes a trace by (state that moves on outside of its sight) shows in numbers that differ. The tape as traced
repeats NumPy's operations one by one, so that even a chaotic program agrees to the last bit, or nearly.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...custom.custom import CustomFunction
from ...differentiate.keep.rooms import capacities, projected
from ...python.examples import copied_together
from ...python.interruptions import is_interruption
from ...python.shadows import is_library
from ...python.signatures import bind
from ...python.structure import flatten, flatten_arguments, is_object_class, paths
from ...tape.guards import RAISES, error_of, is_stretch
from ...tape.interpret import GuardBroken, array_of, memory_of
from ...tape.loop_code import TapeInterpreter, costs
from ...trace import ArgumentLeaf, Trace, trace
from ...tracing.record.decisions import Unrolled
from ...tracing.replacements.results import with_plain_lists
from .comparison import Difference, Pair, first_difference, jumps_elsewhere, noise_of, precision_of, rounded, same_bits
from .muted import without_warnings
from .other_inputs import ANYWAY, MOST_MISSES, MOST_RUNS, has_branches, hides, may_vary, other_inputs
from .returned import rebound_value, rebuild
from .time_limit import within

LARGE = 1 << 20  # bytes of an array that is not copied where nothing writes to it
MOST = 0.6  # of the time, for the tape: the function takes about as long
RAISE = dis.opmap["RAISE_VARARGS"]
DIFFERS = "gives something else than the function when it is recorded once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check of a trace has compared.

    Attributes
    ----------
    compared : tuple of str
        Results and written arguments that the function and its trace give alike, and how precisely.
    left_out : str
        What was not compared, and why; empty where all was.
    others : int
        Of how many other inputs the same was compared: some that take other ways through branches in loops.
    unrolled : bool
        Whether loops were unrolled since they made a difference; `fallbacks` says which.
    seconds : float
        How long it took.
    iterations : tuple of (int, int)
        Of each loop whose length data decide, its index, and how many iterations it has had: so many need room.
    """

    compared: tuple[str, ...] = ()
    left_out: str = ""
    others: int = 0
    unrolled: bool = False
    seconds: float = 0.0
    iterations: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        found = [*self.compared, *([f"not compared: {self.left_out}"] if self.left_out else [])]
        found += [f"compared for {self.others} other input{'s' * (self.others > 1)} too"] if self.others else []
        return "; ".join(found) or "nothing is returned or written"


class NotComparable(Exception):
    """The function cannot be compared with its trace here; the message says why."""


class Comparison:
    """A function and its trace, on copies of one example.

    Attributes
    ----------
    expected, actual : list of Pair
        Results and written arguments, by the function and by its tape.
    """

    def __init__(self, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], traced: Trace):
        self.f, self.args, self.kwargs, self.trace = f, args, kwargs, traced
        self.arguments, self.signature = bind(f, args, kwargs)
        self.leaves, self.structure = flatten_arguments(self.arguments)
        self.written = {region.buffer for op in traced.tape.operations for region in op.writes}
        self.pairs: list[Pair] = []
        self.noise: list[Any] | None = None  # of each pair, where it was needed
        self.running = ""
        self.others = 0  # inputs that were compared beside these
        self.iterations: dict[int, int] = {}  # of each loop whose length data decide, by index
        self.interpreter: TapeInterpreter | None = None  # of a tape that may take other ways, for other inputs too

    def sampled_iterations(self, seconds: float) -> tuple[tuple[int, int], ...]:
        """About how many iterations loops need room for, from as much of the example as can be run in so long."""
        tape = self.trace.tape
        if not capacities(tape, 1):
            return ()
        if self.interpreter is None:
            with contextlib.suppress(Exception):  # which are of data that the trace is not for
                within(seconds, self.run_tape)
        found = self.interpreter
        return () if found is None else tuple(projected(tape, found.iterations, found.runs).items())

    def difference(self, seconds: float | None) -> Difference | None:
        """The first thing in which the two runs differ, other than by rounding and what the function makes of that."""
        reason = self.trace.unchecked or derivative(self.f)
        if reason:
            raise NotComparable(reason)
        expected = costs(self.trace.tape)
        if seconds is not None and expected > seconds:
            raise NotComparable(f"it would take about {expected:.1g} s, which is more than a check may")
        done, difference = within(seconds, lambda: self.runs_differ(seconds))
        if not done:
            raise NotComparable(f"{self.running} takes longer on the example than a check may")
        if difference is not None and self.noise is None:
            self.noise = self.sensitivity()
            difference = first_difference(self.pairs, self.noise)
        return difference

    def runs_differ(self, seconds: float | None) -> Difference | None:
        """Both runs, and the first thing in which they differ by more than rounding."""
        start = time.thread_time()
        broken = None
        self.running = "the trace"
        try:
            results, memories = self.run_tape()
        except GuardBroken as guard:
            if guard.guard.what == "max_steps":
                raise NotComparable("a `while` loop goes on for longer than there is memory for") from None
            if is_stretch(guard.guard):
                raise NotComparable("a length is 1 and is repeated, for which the first call traces again") from None
            broken = guard
        if seconds is not None and time.thread_time() - start > MOST * seconds:
            raise NotComparable("the trace alone takes most of the time that a check may")
        self.running = "the function"
        outcome = self.run_function(self.copies(), broken)
        if broken is not None:
            self.noise, self.pairs = [], self.with_nothing(outcome)
            return Difference(text="its trace does not hold", error=self.error_of(broken))
        difference = self.pair(outcome, results, memories)
        if difference is not None:
            self.noise = []
            return difference
        difference = first_difference(self.pairs)
        if difference is None and self.trace.changes_outside:
            self.noise, difference = [], self.repeated() or self.after_another()
        return difference

    # Elsewhere.

    def elsewhere(self, seconds: float) -> tuple[Comparison | None, Difference | None]:
        """Inputs beside the example for which the two runs differ, where the example may not have shown it."""
        traced = self.trace
        varied = may_vary(self.leaves, traced.leaves)
        may_differ = traced.meets_opaque or hides(traced.tape, [self.leaves[place] for place in varied])
        if not varied or traced.changes_outside or traced.decisions.searches or not may_differ:
            return None, None
        anyway, has_ways = MOST_RUNS if traced.meets_opaque else ANYWAY, has_branches(traced.tape)
        most = MOST_RUNS if has_ways else anyway
        ends, ran, missed = time.thread_time() + seconds / 2, 0, 0
        self.running = "the trace"
        for leaves in other_inputs(traced.tape, self.leaves, varied):
            if ran == most or missed == anyway + MOST_MISSES or time.thread_time() > ends:
                break
            other = self.at(leaves)
            is_new = has_ways and other.goes_another_way(seconds)
            missed = 0 if is_new else missed + 1
            if not is_new and ran >= anyway:
                continue
            ran += 1
            difference = other.difference_if_any(seconds)
            if difference is not None and other.repeated() is None:
                return other, difference
            self.others += bool(other.pairs)
        return None, None

    def at(self, leaves: list[Any]) -> Comparison:
        """The same of other inputs."""
        args, kwargs = self.signature.split(list(self.structure.unflatten(leaves)))
        found = Comparison(self.f, args, kwargs, self.trace)
        found.interpreter = self.interpreter
        return found

    def goes_another_way(self, seconds: float) -> bool:
        """Whether the tape takes ways through branches that no run before has taken, and ends soon enough."""
        assert self.interpreter is not None
        before = self.interpreter.known_ways()
        try:
            with without_warnings():
                done, _ = within(seconds, self.run_tape)
        except Exception as error:  # there is no comparing such inputs
            if is_interruption(error):
                raise
            return False
        return done and self.interpreter.known_ways() > before

    def difference_if_any(self, seconds: float | None) -> Difference | None:
        """As `difference`, of inputs that may be beyond what the function and this trace are for."""
        try:
            found = self.difference(seconds)
        except Exception as error:
            if is_interruption(error):
                raise
            return None
        is_for_another = found is not None and found.error is not None
        return None if found is None or is_for_another else replace(found, text=f"for other numbers, {found.text}")

    # The runs.

    def run_tape(self) -> tuple[list[np.ndarray], dict[int, Any]]:
        """Results, and what the memory of the arguments holds in the end."""
        buffers, is_kept = self.trace.tape.buffers, has_branches(self.trace.tape)
        memories = {}
        for leaf, value in zip(self.trace.leaves, self.leaves):
            if leaf.buffer is None:
                continue
            buffer, array = buffers[leaf.buffer], np.asarray(value, leaf.dtype)
            is_plain = leaf.buffer not in self.written and array.flags.c_contiguous and array.size and not is_kept
            memories[leaf.buffer] = array.reshape(-1) if is_plain else memory_of(buffer, array)
        if self.interpreter is not None and is_kept:
            self.interpreter.restart(memories)
        else:
            self.interpreter = TapeInterpreter(self.trace.tape, memories)
        results = self.interpreter.results()
        for index, count in self.interpreter.iterations.items():
            self.iterations[index] = max(count, self.iterations.get(index, 0))
        if is_kept:  # and so its memory
            results = [np.array(result) for result in results]
            memories = {id: memory.copy() for id, memory in self.interpreter.memories.items() if id in memories}
        return results, {id: array_of(buffers[id], memory) for id, memory in memories.items()}

    def copies(self, leaves: Sequence[Any] | None = None) -> Any:
        """The function's own object, if it has one, and its arguments."""
        arguments = self.arguments if leaves is None else list(self.structure.unflatten(leaves))
        kept = {id(v) for v, leaf in zip(self.leaves, self.trace.leaves) if leaf.buffer not in self.written}
        kept -= {id(v) for v in self.leaves if id(v) not in kept}
        return copied_together((owner_of(self.f), *arguments), lambda a: a.nbytes >= LARGE and id(a) in kept)

    def run_function(self, copies: Any, broken: GuardBroken | None = None) -> Outcome:
        """Run the function on `copies`; what it raises, it raises, unless the example is not in its domain."""
        owner, *arguments = copies
        before = flatten_arguments(arguments)[0]
        args, kwargs = self.signature.split(arguments)
        asks = self.trace.outside.raises or "geterr" in getattr(getattr(self.f, "__code__", None), "co_names", ())
        try:
            with contextlib.nullcontext() if asks else np.errstate(all="ignore"):
                result = with_owner(self.f, owner)(*args, **kwargs)
        except Exception as error:
            if is_interruption(error):
                raise
            if broken is not None and broken.guard.what != RAISES:
                raise self.error_of(broken) from error
            if broken is not None:  # of an example that ends in the function's own error
                raise
            if is_of_domain(error):
                name = type(error).__name__
                raise NotComparable(f"the function raises {name} for the example ({error})") from None
            error.add_note(
                f"while planned_ad compared {self.trace.name} ({self.trace.line}) with its trace, which does not raise "
                f"this; compile(..., check=False) does not compare"
            )
            raise
        return Outcome(result, before, arguments)

    def error_of(self, broken: GuardBroken) -> Exception:
        """What is said of a guard of the trace that does not hold for its own example."""
        return error_of(broken.guard, self.trace.name, self.trace.max_steps)

    def repeated(self) -> Difference | None:
        """Where the function gives other numbers when it runs once more."""
        return self.again(self.copies(), "at its second call")

    def again(self, copies: Any, when: str) -> Difference | None:
        second = self.run_function(copies)
        if len(self.numbers(second)) != len(self.pairs):
            return Difference(text=f"the function gives something else {when}")
        return first_difference(self.beside(second), other=when)

    def after_another(self) -> Difference | None:
        """Where the function gives other numbers after a call with others, if it reads what it changes outside."""
        if not self.trace.reads_changes or self.trace.outside.is_again:
            return None
        (owner, *arguments), other = self.copies(), self.moved(0.3)
        try:
            other.run_function((owner, *other.copies()[1:]))
        except Exception as error:  # of numbers that the function is not for
            if is_interruption(error):
                raise
        return self.again((owner, *arguments), "after a call with other numbers")

    def moved(self, distance: float) -> Comparison:
        """The same of numbers at a distance from these."""
        varied = may_vary(self.leaves, self.trace.leaves) if distance else []
        return self.at([v * (1 + distance) + distance if k in varied else v for k, v in enumerate(self.leaves)])

    def has_history(self) -> bool:
        """Whether what earlier calls have left makes a difference to the function, for which the trace computes anew.

        It runs for the example, for numbers beside it, near and far, and for the example again, on one object.
        """
        owner, *_ = self.copies()
        self.running = "the function, one call after the other,"
        for distance in (0.0, 1e-3, 0.3, 0.0, 0.0):
            other = self.moved(distance)
            try:
                results, memories = other.run_tape()
                _, *arguments = other.copies()
                outcome = other.run_function((owner, *arguments))
            except Exception as error:  # of numbers that the function, or its trace, is not for
                if is_interruption(error):
                    raise
                continue
            if other.pair(outcome, results, memories) is not None or first_difference(other.pairs) is not None:
                return True
        return False

    def sensitivity(self) -> list[Any]:
        """How much each result moves where the arguments move by one rounding; zero where the function cannot say.

        Where it jumps, the trace is on one side or the other.
        """
        numbers, noise = [pair.expected for pair in self.pairs], [0.0] * len(self.pairs)
        if self.repeated() is not None:
            return noise
        precision, others = precision_of(self.trace.tape), []
        for to_other_side in (False, True):
            leaves = rounded(self.leaves, to_other_side, precision)
            try:
                moved = self.numbers(self.run_function(self.copies(leaves)))
            except Exception:
                continue
            if len(moved) == len(numbers):
                noise = [np.fmax(old, noise_of(a, b)) for old, a, b in zip(noise, numbers, moved)]
                others.append(moved)
        if len(others) < 2:
            return noise
        elsewhere = [jumps_elsewhere(pair, runs) for pair, *runs in zip(self.pairs, *others)]
        return [np.where(jumps, 0.0, own) for jumps, own in zip(elsewhere, noise)]

    # What is compared.

    def pair(self, outcome: Outcome, results: list[np.ndarray], memories: dict[int, Any]) -> Difference | None:
        """Put what the function gives beside what its tape gives; a difference where they are not nested alike."""
        traced = self.trace
        found, structure = flatten(with_plain_lists(outcome.result))
        theirs, _ = flatten(rebuild(traced, results))
        names = ["the result" + path for path in paths(structure)]
        if names != ["the result" + path for path in paths(traced.result_structure)]:
            return Difference(text=f"its result is {structure}, and {traced.result_structure} in its trace")
        is_static = [kind == "static" for kind in traced.result_kinds]
        self.pairs = [
            Pair(name=name, expected=a, actual=b)
            for name, a, b, static in zip(names, found, theirs, is_static)
            if not static or is_plain(a, b)
        ]
        after, structure = flatten_arguments(outcome.arguments)
        if structure != self.structure:
            return Difference(text="it changes how its arguments are nested")
        for leaf, held, now in zip(traced.leaves, outcome.before, after):
            if leaf.buffer is None:
                continue
            self.pairs += pairs_of(traced, leaf, held, now, memories)
        return None

    def numbers(self, outcome: Outcome) -> list[Any]:
        """What `pairs` has of a run of the function, in that order."""
        return [pair.expected for pair in self.with_nothing(outcome)]

    def with_nothing(self, outcome: Outcome) -> list[Pair]:
        """The pairs of a run of the function alone."""
        compared = Comparison(self.f, self.args, self.kwargs, self.trace)
        empty = [np.zeros(v.shape, v.dtype) for v in self.trace.tape.results]
        memories = {
            leaf.buffer: np.zeros(leaf.shape, leaf.dtype) for leaf in self.trace.leaves if leaf.buffer is not None
        }
        compared.pair(outcome, empty, memories)
        return compared.pairs

    def beside(self, outcome: Outcome) -> list[Pair]:
        """What another run of the function or of its plan gives, beside what the function gave first."""
        found = self.numbers(outcome)
        return [
            Pair(name=pair.name, expected=pair.expected, actual=v) for pair, v in zip(self.pairs, found, strict=True)
        ]

    # What comes of it.

    def with_loops_unrolled(
        self, loops: Sequence[Any], options: dict[str, Any], other: Comparison | None
    ) -> tuple[Comparison, Difference | None]:
        """The function traced again with these loops unrolled, and compared once more, for `other` inputs too."""
        decisions = self.trace.decisions.copied()
        decisions.unrolled |= {site: Unrolled(line=line, reason=DIFFERS) for site, line in loops}
        traced = trace(self.f, self.args, self.kwargs, **options, decisions=decisions)
        found = Comparison(self.f, self.args, self.kwargs, traced)
        difference = found.difference(None)
        if difference is None and other is not None:
            difference = found.at(other.leaves).difference_if_any(None)
        return found, difference

    def checked(self, seconds: float, unrolled: bool = False) -> Checked:
        written = {leaf.path for leaf in self.trace.leaves if leaf.buffer in self.written or leaf.rebound}
        compared = [
            f"{pair.name} {precision(pair)}"
            for pair in self.pairs
            if pair.name.startswith("the result") or pair.name in written
        ]
        most = tuple(self.iterations.items())
        return Checked(
            compared=tuple(compared), others=self.others, unrolled=unrolled, seconds=seconds, iterations=most
        )


class Outcome:
    """What one run of the function gave: the result, the leaves of its arguments before, and these arguments."""

    def __init__(self, result: Any, before: list[Any], arguments: list[Any]):
        self.result, self.before, self.arguments = result, before, arguments


def pairs_of(traced: Trace, leaf: ArgumentLeaf, held: Any, now: Any, memories: dict[int, Any]) -> list[Pair]:
    """An argument after the run: the array that it was, and what an attribute holds in its place."""
    found = []
    assert leaf.buffer is not None
    if leaf.kind == "array" and not leaf.is_fresh:
        found.append(Pair(name=leaf.path, expected=held, actual=memories[leaf.buffer]))
    if leaf.rebound is not None or now is not held:
        found.append(Pair(name=leaf.path, expected=now, actual=rebound_value(traced, leaf, held, memories)))
    return found


def precision(pair: Pair) -> str:
    if same_bits(pair):
        return "(to the last bit)"
    alone = first_difference([pair]) is None
    return "(to rounding)" if alone else "(as far as the roundings of its arguments let it be)"


def is_plain(*items: Any) -> bool:
    """Whether objects can be compared as numbers and text are."""
    return all(item is None or isinstance(item, bool | int | float | complex | str | bytes) for item in items)


def derivative(f: Any) -> str:
    """Why a function of this package is not compared; empty for the user's own."""
    kind = type(f)
    if isinstance(f, CustomFunction) or not kind.__module__.startswith(__name__.partition(".")[0] + "."):
        return ""
    return f"{getattr(f, '__name__', kind.__name__)} is a derivative; compile the function itself to check it"


def owner_of(f: Any) -> Any:
    """The object that a function may write to: that of a method, or the one that is called."""
    owner = f.__self__ if type(f) is types.MethodType else f
    kind: Any = type(owner)
    return owner if is_object_class(kind) else None


def with_owner(f: Any, owner: Any) -> Callable[..., Any]:
    """The function, of another object; of Numba's functions the Python one."""
    if owner is None:
        return getattr(f, "py_func", f)
    return functools.partial(f.__func__, owner) if type(f) is types.MethodType else owner


def is_of_domain(error: Exception) -> bool:
    """Whether numbers for which there is no result have led to an error: not one that the user's own code raises."""
    if not isinstance(error, ArithmeticError | ValueError):
        return False
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None:
        return False
    names = entry.tb_frame.f_globals
    code, at = entry.tb_frame.f_code.co_code, entry.tb_lasti
    return is_library(names.get("__name__") or "", names.get("__file__")) or code[at] != RAISE
