"""The same pictures by matplotlib, where that is installed: for papers, and to be put beside one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..planning.schedule import MemoryPlan
from .memory_map import COLOURS, loop_spans, memory_blocks, reverse_begins, spans_of
from .schedule_picture import SWEEPS, step_label
from .schedule_rows import schedule_rows

MOST_BARS = 40


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    size: float
    colour: str


def axes_for(ax: Any, height: float) -> Any:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots are drawn by matplotlib: pip install 'planned_ad[pictures]'") from None
    return pyplot.subplots(figsize=(8, height), layout="constrained")[1]


def plot_memory_map(plan: MemoryPlan, title: str, ax: Any) -> Any:
    """The memory map on `ax`."""
    ax = axes_for(ax, 3.5)
    seen = set()
    spans = spans_of(memory_blocks(plan))
    for block, (first, width) in spans.items():
        colour, label = COLOURS[block.kind]
        label = "" if block.kind in seen else label
        seen.add(block.kind)
        ax.bar(
            first, block.nbytes, width, block.offset, align="edge", color=colour, alpha=0.75,
            edgecolor="black", linewidth=0.5, label=label or None,
        )  # fmt: skip
    turn = reverse_begins(plan)
    if turn is not None:
        ax.axvline(turn, color="gray", linestyle="--")
    top = max(plan.workspace_nbytes, 1)
    for first, last in loop_spans(plan):
        ax.annotate(
            "", (first, 1.03 * top), (last + 1, 1.03 * top), arrowprops={"arrowstyle": "|-|", "mutation_scale": 3}
        )
        ax.text((first + last + 1) / 2, 1.05 * top, "loop", fontsize="small", ha="center")
    ax.set_xlim(0, max(len(schedule_rows(plan)), 1))
    ax.set_ylim(0, 1.12 * top)
    ax.set(xlabel="step of the schedule", ylabel="byte of the workspace", title=title)
    for block, (first, width) in spans.items():
        if block.nbytes > top / 20:
            ax.text(
                first + width / 2,
                block.offset + block.nbytes / 2,
                block.name,
                fontsize="small",
                ha="center",
                va="center",
            )
    if seen:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def plot_steps(plan: MemoryPlan, title: str, ax: Any) -> Any:
    """Bars of the bytes that each step moves in a call."""
    rows = [row for row in schedule_rows(plan) if not row.has_steps]
    bars = [Bar(step_label(row), row.nbytes * (row.runs or 1) / 1e3, SWEEPS[row.sweep]) for row in rows]
    return plot_bars(bars, "bytes moved in a call, kB", title, ax)


def plot_bars(bars: Sequence[Bar], what: str, title: str, ax: Any) -> Any:
    """Horizontal bars from the top; of many, the longest."""
    if len(bars) > MOST_BARS:
        least = sorted((bar.size for bar in bars), reverse=True)[MOST_BARS]
        bars = [bar for bar in bars if bar.size > least]
        what += f" (the {len(bars)} largest)"
    ax = axes_for(ax, 1.2 + 0.25 * len(bars))
    places = range(len(bars))
    ax.barh(places, [bar.size for bar in bars], color=[bar.colour for bar in bars])
    # A dollar sign would begin a formula.
    ax.set_yticks(places, [bar.label.replace("$", r"\$") for bar in bars], family="monospace", fontsize="small")
    ax.invert_yaxis()
    ax.set(xlabel=what, title=title)
    return ax
