"""The schedule as a table, with a bar for the bytes that each step moves."""

from __future__ import annotations

from collections.abc import Sequence

from ..planning.schedule import MemoryPlan
from .markup import BLUE, PINK, Markup, code_lines, element, html_table, joined_markup
from .schedule_rows import StepRow, beside_lines, schedule_rows
from .units import bytes_text

MOST_ROWS = 200
SWEEPS = {"primal": BLUE, "reverse": PINK}
BAR = 120.0  # pixels


def schedule_html(plan: MemoryPlan) -> Markup:
    """All steps: what they are, what they move, and the lines that they come from."""
    rows = schedule_rows(plan)
    most = max((row.nbytes * (row.runs or 1) for row in rows), default=0)
    cells = [[*step_cells(row), moved_cell(row, most), lines_cell(row)] for row in rows[:MOST_ROWS]]
    shown = html_table(["", "step", "bytes moved", "lines"], cells)
    return joined_markup([shown, *left_out(rows), sweeps_legend()])


def step_cells(row: StepRow) -> list[Markup]:
    """Its number, and what it is, further in where it is in a loop."""
    what = element("span", row.what, style=f"padding-left:{1.2 * row.depth}em")
    return [element("span", str(row.number), style="opacity:0.6"), what]


def moved_cell(row: StepRow, most: int) -> Markup:
    if row.has_steps:
        return Markup("")
    runs = "" if row.runs == 1 else f" x {row.runs} runs" if row.runs else " in each run"
    text = f" {bytes_text(row.nbytes)}{runs}"
    return joined_markup([bar(row.nbytes * (row.runs or 1) / most if most else 0.0, row.sweep), element("span", text)])


def step_label(row: StepRow) -> str:
    """What a step is called beside a bar: its number, and its first line."""
    lines = beside_lines(row.lines)
    more = f" (+{len(lines) - 1})" if len(lines) > 1 else ""
    return f"{row.number}  {lines[0][:40]}{more}" if lines else f"{row.number}  {row.what}"


def lines_cell(row: StepRow) -> Markup:
    return code_lines(beside_lines(row.lines))


def bar(share: float, sweep: str) -> Markup:
    """A bar of part of the full width."""
    style = (
        f"display:inline-block;height:0.7em;width:{max(BAR * share, 1.0):.0f}px;"
        f"background:{SWEEPS.get(sweep, BLUE)};margin-right:4px"
    )
    return element("span", style=style)


def left_out(rows: Sequence[object]) -> list[Markup]:
    return [element("p", f"... and {len(rows) - MOST_ROWS} more steps")] if len(rows) > MOST_ROWS else []


def sweeps_legend() -> Markup:
    parts = [
        joined_markup([bar(0.08, sweep), element("span", f"{sweep} ", style="margin-right:1em")]) for sweep in SWEEPS
    ]
    return element("p", *parts, style="font-size:90%;opacity:0.8;margin:0.3em 8px")
