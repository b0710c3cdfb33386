"""Print a memory plan as pseudo-Python: loop nests over fixed memory, with the user's lines beside them.

Stable and address-free: the golden listings of the tests are this text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..python.source import UNKNOWN, Line
from ..regions.regions import View, contiguous
from ..tape.listing import aligned, declared, label, loop_range, parameter, slices, written
from .schedule import (
    BranchStep,
    Compute,
    Counted,
    GatherRead,
    GuardStep,
    Immediate,
    Item,
    LibraryStep,
    LoopStep,
    Memory,
    MemoryPlan,
    Nest,
    Position,
    Read,
    Reduce,
    Step,
    Write,
)

Row = tuple[str, Line | None]


def plan_listing(plan: MemoryPlan) -> str:
    """The whole plan: memory first, then the steps in order."""
    rows: list[Row] = [(f"# {b.kind} {declared(b)}", None) for b in plan.tape.buffers if b.visible]
    used = {m.id for m in plan.offsets if m.kind == "buffer"}
    rows += [(f"# local {declared(b)}", None) for b in plan.tape.buffers if b.id in used]
    return aligned([*rows, *plan_rows(plan)])


def brief_plan(plan: MemoryPlan) -> str:
    """The workspace and the steps alone, as in the miniatures that the planner's files open with."""
    return "\n".join(text for text, _ in plan_rows(plan))


def plan_rows(plan: MemoryPlan) -> list[Row]:
    """The workspace, and the steps in order."""
    names = slot_names(plan)
    rows: list[Row] = [(f"# workspace: {plan.workspace_nbytes} bytes (lower bound {plan.lower_bound_nbytes})", None)]
    for memory in sorted(plan.offsets, key=lambda m: (plan.offsets[m], m.kind, m.id)):
        first, last = plan.lifetimes[memory]
        size, offset = plan.sizes[memory], plan.offsets[memory]
        text = f"#   {memory_name(plan, names, memory)}: {size} bytes at {offset}, steps {first} to {last}"
        rows.append((text, None))
    numbers = itertools.count()
    for step in plan.steps:
        rows += step_rows(plan, names, numbers, step)
    return rows


def slot_names(plan: MemoryPlan) -> dict[Memory, str]:
    """Slots are called s0, s1, ... in the order of their first use."""
    slots = sorted((m for m in plan.offsets if m.kind == "slot"), key=lambda m: (plan.lifetimes[m][0], m.id))
    return {memory: f"s{k}" for k, memory in enumerate(slots)}


def memory_name(plan: MemoryPlan, names: dict[Memory, str], memory: Memory) -> str:
    if memory.kind == "buffer":
        return label(plan.tape.buffers[memory.id])
    return names.get(memory, f"{memory.kind}{memory.id}")


def step_rows(
    plan: MemoryPlan, names: dict[Memory, str], numbers: Iterator[int], step: Step, free: int = 0
) -> list[Row]:
    """One step, and those inside; names of indices are taken below `free`."""
    number = next(numbers)
    if isinstance(step, GuardStep):
        where = place(plan, names, step.memory, step.view)
        text = f"guard {where} == {step.operation.outcome}: {step.operation.what}"
        return [(f"# step {number}", None), (text, step.operation.line)]
    if isinstance(step, LoopStep):
        op = step.operation
        count = "" if step.count is None else f"[:{place(plan, names, *step.count)}]"
        return [
            (f"# step {number}, {step.sweep}", None),
            (f"for i{op.index} in {loop_range(op)}{count}:", op.line),
            *block_rows(plan, names, numbers, step.steps, max(free, op.index + 1)),
        ]
    if isinstance(step, BranchStep):
        rows: list[Row] = [
            (f"# step {number}, {step.sweep}", None),
            (f"if {place(plan, names, step.memory, step.view)}:", step.operation.line),
            *block_rows(plan, names, numbers, step.then, free),
        ]
        if step.otherwise:
            rows += [("else:", step.operation.line), *block_rows(plan, names, numbers, step.otherwise, free)]
        return rows
    if isinstance(step, LibraryStep):
        arguments = [place(plan, names, memory, view) for memory, view, _ in step.operands]
        arguments += [f"{key}={parameter(p)}" for key, p in step.operation.parameters]
        result = memory_name(plan, names, step.result)
        if step.place is not None:
            result = place(plan, names, step.result, step.place)
        sign = "+=" if step.accumulate else "="
        text = f"{result} {sign} {step.operation.primitive}({', '.join(arguments)})"
        return [(f"# step {number}, library", None), (text, step.operation.line)]
    return nest_rows(plan, names, number, step, free)


def block_rows(
    plan: MemoryPlan, names: dict[Memory, str], numbers: Iterator[int], steps: list[Step], free: int
) -> list[Row]:
    """The steps inside a loop or a branch."""
    rows = [row for step in steps for row in step_rows(plan, names, numbers, step, free)]
    return [("    " + text, line) for text, line in rows] or [("    pass", UNKNOWN)]


def nest_rows(plan: MemoryPlan, names: dict[Memory, str], number: int, nest: Nest, free: int) -> list[Row]:
    rows: list[Row] = [(f"# step {number}, {nest.sweep}", None)]
    indent = ""
    indices = [f"i{free + k}" for k in range(len(nest.domain))]
    if nest.domain:
        rows.append((f"for {', '.join(indices)} in {list(nest.domain)}:", None))
        indent = "    "
    shown: dict[int, str] = {}
    for k, item in enumerate(nest.items):
        if isinstance(item, Immediate):
            shown[k] = repr(item.number)
            continue
        if isinstance(item, Position) and k not in nest.spills:
            shown[k] = f"({written(item.expression)})"
            continue
        rows.append((indent + item_text(plan, names, indices, k, item, shown), nest.lines[k]))
        if k in nest.spills:
            write = nest.spills[k]
            rows.append((f"{indent}{place(plan, names, write.memory, write.view)} = r{k}", nest.lines[k]))
    return rows


def item_text(
    plan: MemoryPlan, names: dict[Memory, str], indices: list[str], k: int, item: Item, shown: dict[int, str]
) -> str:
    def register(number: int) -> str:
        return shown.get(number, f"r{number}")

    match item:
        case Read():
            return f"r{k} = {place(plan, names, item.memory, item.view)}"
        case Counted():
            return f"r{k} = {item.first} + {item.step} * {{{item.view}}}"
        case Position():
            return f"r{k} = {written(item.expression)}"
        case Compute():
            arguments = [register(n) for n in item.operands] + [f"{key}={parameter(p)}" for key, p in item.parameters]
            return f"r{k} = {item.primitive}({', '.join(arguments)})"
        case GatherRead():
            at = ", ".join(register(n) for n in item.indices)
            return f"r{k} = {place(plan, names, item.memory, item.view)}[{at}]"
        case Write():
            at = f"[{', '.join(register(n) for n in item.indices)}]" if item.indices else ""
            operator = "+=" if item.accumulate else "="
            return f"{place(plan, names, item.memory, item.view)}{at} {operator} {register(item.source)}"
        case Reduce():
            kept = [index for axis, index in enumerate(indices) if axis not in item.axes]
            target = memory_name(plan, names, item.memory) + (f"[{', '.join(kept)}]" if kept else "")
            return f"{target} = {item.operation}({register(item.source)})"
    raise AssertionError(type(item).__name__)


def place(plan: MemoryPlan, names: dict[Memory, str], memory: Memory, view: View) -> str:
    """A memory at a view of the nest's domain, as a subscript where it is one."""
    name = memory_name(plan, names, memory)
    if memory.kind == "buffer":
        whole = plan.tape.buffers[memory.id].view
        parts = slices(view, whole)
        if view == whole:
            return f"{name}[...]" if whole.shape else name
        return f"{name}[{', '.join(parts)}]" if parts is not None else f"{name}{{{view}}}"
    if view == contiguous(view.shape):
        return f"{name}[...]" if view.shape else name
    return f"{name}{{{view}}}"
