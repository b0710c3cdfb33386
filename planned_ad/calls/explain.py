"""`plan.explain()`: the planner's decisions and reasons, formatted. Nothing is decided here."""

from __future__ import annotations

import html
import itertools
from collections import Counter
from dataclasses import dataclass
from os.path import basename

from ..analysis.activity import activity
from ..differentiate.keep.memory_limit import Rerun
from ..kernels.threads import pool
from ..kernels.threads.told import Threaded, ThreadedStep, threaded
from ..planning.schedule import BlockedRows, Cached, Compute, Immediate, LibraryStep, Nest, Source, walk_steps
from ..tape.captured import captured_in
from ..tape.tape import Guard
from ..trace import Trace
from .check.checked import Checked
from .described import array_layout
from .entries import Entry
from .outside.watch import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardNote:
    """A branch that the plan relies on."""

    what: str
    outcome: object
    line: int
    file: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What one kind of call does with memory, and why.

    Attributes
    ----------
    forwards : bool
        Whether a gradient in one number is computed beside the value, with no reverse sweep.
    active : tuple of str
        Arguments, and arrays that the function makes, that carry derivatives, as found out from the trace.
    constant : tuple of str
        Arguments that carry none. (Both empty for a call without derivative.)
    cached : tuple of Cached
        Values kept from the primal for the reverse sweep: `.nbytes`, `.reason`, `.line`, `.file`, `.source`.
    recomputed, reloaded : tuple of Source
        Values that the reverse sweep computes again, or finds unchanged in memory.
    reruns : tuple of Rerun
        Loops whose iterations the reverse sweep runs again to keep a memory limit: `.iterations`, `.times`.
    threaded : Threaded or None
        With `threads=`, what several threads do: `.share` of the operations, `.nbytes` of memory more than one thread
        needs, `.steps` with `.what`, `.parts` and `.line`.
    blocked : tuple of BlockedRows
        Work on large arrays that is done in blocks of rows: `.rows`, `.together`, and `.nbytes` that are never whole.
    workspace_bytes, lower_bound_bytes : int
        Size of the one workspace, and the least that any layout of this schedule needs.
    guards : tuple of GuardNote
        Branches and counts checked at each call.
    assumptions : tuple of str
        What else the plan relies on.
    frozen : tuple of str
        What was found outside of the function and is not looked at again: too much to compare, or named in `frozen=`.
    fallbacks : tuple of str
        Ways taken that promise less, and where: slower, or with memory allocated by a library.
    checked : Checked
        What the function and its trace were found to give alike: `.compared`, `.left_out`, `.seconds`.
    """

    name: str
    kind: str
    forwards: bool
    active: tuple[str, ...]
    constant: tuple[str, ...]
    cached: tuple[Cached, ...]
    recomputed: tuple[Source, ...]
    reloaded: tuple[Source, ...]
    reruns: tuple[Rerun, ...]
    blocked: tuple[BlockedRows, ...]
    threaded: Threaded | None
    workspace_bytes: int
    lower_bound_bytes: int
    guards: tuple[GuardNote, ...]
    assumptions: tuple[str, ...]
    frozen: tuple[str, ...]
    fallbacks: tuple[str, ...]
    steps: int
    variants: int
    dropped: int
    checked: Checked

    @property
    def cached_bytes(self) -> int:
        """All bytes kept from the primal for the reverse sweep."""
        return sum(c.nbytes for c in self.cached)

    def __str__(self) -> str:
        lines = [
            f"{self.kind} of {self.name}: {count(self.steps, 'step')}, workspace {self.workspace_bytes} bytes "
            f"(lower bound {self.lower_bound_bytes})"
        ]
        if self.forwards:
            lines.append("forwards: the gradient is one number, computed beside the value")
        for title, names in (("active", self.active), ("constant", self.constant)):
            if names:
                lines.append(f"{title}: {', '.join(names)}")
        lines.append(f"cached: {self.cached_bytes} bytes" + (":" if self.cached else ""))
        lines += [f"  {text}" for text in grouped_cached(self.cached)]
        for title, loops in (("run again", self.reruns), ("in blocks", self.blocked)):
            if loops:
                lines.append(f"{title}:")
                lines += [f"  {n}   {basename(n.line.file)}:{n.line.number}  {n.line.text}" for n in loops]
        if self.threaded is not None:
            lines.append(f"in {self.threaded.threads} threads: {self.threaded}")
            lines += [f"  {text}" for text in grouped_threaded(self.threaded.steps)]
        for title, found in (("recomputed", self.recomputed), ("reloaded", self.reloaded)):
            if found:
                lines.append(f"{title}:")
                lines += [f"  {text}" for text in grouped_sources(found)]
        if self.guards:
            lines.append("guards:")
            lines += [f"  {g.what} == {g.outcome}   {basename(g.file)}:{g.line}  {g.source}" for g in self.guards]
        if self.variants > 1:
            others = f"; {self.dropped} others have made way for them" * bool(self.dropped)
            lines.append(f"variants: {self.variants} traces of different branches{others}")
        for title, notes in (
            ("relies on", self.assumptions),
            ("frozen", self.frozen),
            ("fallbacks", self.fallbacks),
        ):
            if notes:
                lines.append(f"{title}:")
                lines += [f"  {note}" for note in notes]
        lines.append(f"checked: {self.checked}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:right'>{sum(sizes)}</td>"
            f"<td style='text-align:right'>{len(sizes)}</td>"
            f"<td>{html.escape(basename(file))}:{line}</td>"
            f"<td style='text-align:left'><code>{html.escape(source)}</code></td>"
            f"<td style='text-align:left'>{html.escape(reason)}</td></tr>"
            for (file, line, source, reason), sizes in by_line(self.cached).items()
        )
        head = "".join(f"<th>{title}</th>" for title in ("bytes", "values", "line", "source", "why it is cached"))
        table = f"<table style='color:inherit'><tr>{head}</tr>{rows}</table>" if rows else "<p>Nothing is cached.</p>"
        first, rest = str(self).split("\ncached:", 1)
        below = itertools.dropwhile(lambda line: line.startswith("  "), rest.split("\n")[1:])  # what the table lacks
        title, more = html.escape(first).replace("\n", "<br>"), html.escape("\n".join(below))
        return f"<div><p><b>{title}</b></p>{table}<pre>{more}</pre></div>"


def count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def by_line(cached: tuple[Cached, ...]) -> dict[tuple[str, int, str, str], list[int]]:
    """The sizes of what is cached, by file, line, source and reason."""
    groups: dict[tuple[str, int, str, str], list[int]] = {}
    for c in cached:
        groups.setdefault((c.file, c.line, c.source, c.reason), []).append(c.nbytes)
    return groups


def grouped_cached(cached: tuple[Cached, ...]) -> list[str]:
    """One row for each line and reason."""
    return [
        f"{sum(sizes)} bytes ({count(len(sizes), 'value')})  {basename(file)}:{line}  {source}\n      {reason}"
        for (file, line, source, reason), sizes in by_line(cached).items()
    ]


def grouped_threaded(steps: tuple[ThreadedStep, ...]) -> list[str]:
    """One row for all that are alike."""
    return [
        f"{count(times, 'time')} {s}   {basename(s.line.file)}:{s.line.number}  {s.line.text}"
        for s, times in Counter(steps).items()
    ]


def grouped_sources(sources: tuple[Source, ...]) -> list[str]:
    groups: dict[tuple[str, int, str], list[str]] = {}
    for s in sources:
        groups.setdefault((s.file, s.line, s.source), []).append(s.what)
    return [
        ", ".join(dict.fromkeys(names)) + (f"   {basename(file)}:{line}  {source}" if line else ", by no line of yours")
        for (file, line, source), names in groups.items()
    ]


def explain(trace: Trace, entry: Entry, variants: tuple[int, int], checked: Checked, watch: Watch) -> Explanation:
    """Collect what the plan of `entry` decided. `variants`: how many there are, and were before them."""
    memory = entry.memory
    guards = dict.fromkeys(
        GuardNote(what=op.what, outcome=op.outcome, line=op.line.number, file=op.line.file, source=op.line.text)
        for op in memory.tape.operations
        if isinstance(op, Guard)
    )
    return Explanation(
        name=trace.name,
        kind=entry.row.name,
        forwards=entry.row.of_loss and memory.tape.turn == len(memory.tape.operations),
        active=active(trace) if entry.row.is_derivative else (),
        constant=tuple(leaf.path for leaf in trace.leaves if not leaf.active) if entry.row.is_derivative else (),
        cached=memory.cached,
        recomputed=memory.recomputed,
        reloaded=memory.reloaded,
        reruns=entry.reruns,
        blocked=memory.blocked,
        threaded=threaded(memory) if memory.threads > 1 else None,
        workspace_bytes=memory.workspace_nbytes,
        lower_bound_bytes=memory.lower_bound_nbytes,
        guards=tuple(guards),
        assumptions=assumptions(trace, entry, watch),
        frozen=watch.notes,
        fallbacks=(*fallbacks(entry), *unrolled(trace), *watch.compared_in_python),
        steps=len(memory.steps),
        variants=variants[0],
        dropped=variants[1],
        checked=checked,
    )


def active(trace: Trace) -> tuple[str, ...]:
    """Active arguments, then the memory of the function's own that depends on them."""
    _, buffers = activity(trace.tape)
    own = (b.label for b in trace.tape.buffers if b.id in buffers and b.kind == "local" and b.label)
    return tuple(dict.fromkeys([*(leaf.path for leaf in trace.leaves if leaf.active), *own]))


def assumptions(trace: Trace, entry: Entry, watch: Watch) -> tuple[str, ...]:
    """What each call checks."""
    found = []
    for leaf in trace.leaves:
        if leaf.kind == "array":
            assert leaf.dtype is not None
            strides = tuple(stride * leaf.dtype.itemsize for stride in leaf.strides)
            layout = array_layout(leaf.dtype, leaf.shape, strides, leaf.is_pairs)
            found.append(f"{leaf.path}: {layout} (checked at each call)")
        elif leaf.kind == "static":
            found.append(f"{leaf.path} is {leaf.value!r} (checked at each call)")
    if entry.spec.disjoint:
        found.append("memory that is written to overlaps no other argument (checked at each call)")
    found += [f"the array {b.label} from outside is read at each call" for b in captured_in(trace.tape)]
    watched = watch.watched
    if watched:
        found.append(f"what was found outside is the same (checked at each call): {', '.join(watched)}")
    return tuple(dict.fromkeys(found))


def unrolled(trace: Trace) -> tuple[str, ...]:
    """Loops whose iterations are recorded one by one although they are many."""
    return tuple(f"the loop at {loop.line} is unrolled, since it {loop.reason}" for loop in trace.unrolled)


def allocating(nest: Nest) -> list[str]:
    from ..kernels.maths.scalar_library import scipy_allocates

    found = []
    for item, line in zip(nest.items, nest.lines):
        if isinstance(item, Compute) and item.operands:
            order = nest.items[item.operands[0]]
            known = order.number if isinstance(order, Immediate) else None
            if scipy_allocates(item.primitive, known):
                found.append(f"Bessel's function {item.primitive} by SciPy, which allocates: {line}  {line.text}")
    return found


def fallbacks(entry: Entry) -> tuple[str, ...]:
    """Ways taken that promise less: callbacks and calls in Python, and products by BLAS or by plain loops."""
    from ..kernels.library.blas import product_of, tiled_form
    from ..kernels.library.matrices import may_allocate
    from ..kernels.library.native_callees import in_python

    found = []
    for step in walk_steps(entry.memory.steps):
        if in_python(step):
            op = step.operation
            found.append(f"a callback into Python, which allocates: {op.params['callee']}, {op.line}  {op.line.text}")
        if isinstance(step, Nest):
            found += allocating(step)
        if isinstance(step, LibraryStep) and may_allocate(step):
            op = step.operation
            found.append(f"{op.primitive} by LAPACK, which may allocate at this size: {op.line}  {op.line.text}")
    found += entry.conversions.notes()
    threads, there = entry.memory.threads, 1 + pool.WORKING.count
    if threads > there:
        found.append(f"{count(there, 'thread')} in place of {threads}: more are not to be had on this system")
    if not entry.call.fast_path:
        found.append("the call path checks arguments in Python: object headers are not laid out as expected here")
    for step in entry.memory.steps:
        if not isinstance(step, LibraryStep) or step.operation.primitive != "contract":
            continue
        product, line = product_of(step), step.operation.line
        if tiled_form(product) is not None:
            continue
        what = "a product by plain loops, since no axis of an operand is contiguous"
        if product.blas:
            what = "a product by BLAS, which allocates memory of its own when it uses threads"
        found.append(f"{what}: {line}  {line.text}")
    return tuple(dict.fromkeys(found))
