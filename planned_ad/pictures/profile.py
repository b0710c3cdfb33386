"""Where the time of a call goes: what `plan.profile` returns, as text, as a table in a notebook and as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .figures import Bar, plot_bars
from .markup import Markup, element, html_table, joined_markup
from .schedule_picture import MOST_ROWS, SWEEPS, bar, left_out, lines_cell, step_cells, step_label, sweeps_legend
from .schedule_rows import StepRow, beside_lines
from .units import bytes_text, seconds_text


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """A step of the schedule, what it took in one call, and how often it ran in it."""

    row: StepRow
    seconds: float
    runs: int

    @property
    def nbytes(self) -> int:
        """Read and written in one call."""
        return self.row.nbytes * self.runs

    @property
    def bytes_per_second(self) -> float:
        return self.nbytes / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where the time of one kind of call goes.

    Attributes
    ----------
    steps : tuple of TimedStep
        In the order of the schedule: `.seconds`, `.nbytes`, `.runs`, `.row.lines`, `.row.what`. A loop's time is that
        of all its iterations, with the steps inside of it.
    seconds : float
        Of a call, as it is: the mean of the middle half of `calls` ones.
    steps_seconds : float
        Of the steps outside of loops and of the loops, together. What is missing to `seconds` is the call itself: its
        arguments are checked, and arrays are made where none are passed.
    reading_seconds : float
        What reading the clock takes, which is taken off. Steps of less than some five times as much are told roughly.
    calls : int
    """

    name: str
    kind: str
    steps: tuple[TimedStep, ...]
    seconds: float
    reading_seconds: float
    calls: int

    @property
    def steps_seconds(self) -> float:
        return sum(step.seconds for step in self.steps if step.row.depth == 0)

    def share(self, step: TimedStep) -> float:
        """Of the time of all steps."""
        return step.seconds / self.steps_seconds if self.steps_seconds else 0.0

    @property
    def title(self) -> str:
        return (
            f"{self.kind} of {self.name}: {seconds_text(self.seconds)} a call ({self.calls} measured), "
            f"{seconds_text(self.steps_seconds)} of it in {len(self.steps)} step{'s' * (len(self.steps) != 1)}"
        )

    def __str__(self) -> str:
        rows = [("time", "share", "bytes", "per second", "runs", "step")]
        for step in self.steps:
            rate = bytes_text(step.bytes_per_second) if step.nbytes and not step.row.has_steps else ""
            moved = bytes_text(step.nbytes) if not step.row.has_steps else ""
            what = f"{'  ' * step.row.depth}{step.row.number} {step.row.what}"
            taken, share = seconds_text(step.seconds), f"{100 * self.share(step):.0f} %"
            rows.append((taken, share, moved, rate, str(step.runs), what))
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        written = ["  ".join([*(t.rjust(width) for t, width in zip(row, widths)), row[5]]) for row in rows]
        lines = [self.title, written[0]]
        for text, step in zip(written[1:], self.steps):
            indent = " " * (sum(widths) + 2 * len(widths) + 2 * step.row.depth + 4)
            lines += [text, *(indent + line for line in beside_lines(step.row.lines))]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return profile_html(self)

    def plot(self, ax: Any = None) -> Any:
        """Bars of the time of each step, on `ax` or a new figure of matplotlib's; the axes are returned."""
        steps = [step for step in self.steps if not step.row.has_steps]
        bars = [Bar(step_label(step.row), 1e6 * step.seconds, SWEEPS[step.row.sweep]) for step in steps]
        return plot_bars(bars, "time in a call, us", self.title, ax)


def profile_html(profile: Profile) -> str:
    """The table: time, share, what was moved how fast, how often, and the lines."""
    most = max((profile.share(step) for step in profile.steps), default=0.0)
    rows = [
        [*step_cells(step.row), time_cell(profile, step, most), moved_text(step), runs_text(step), lines_cell(step.row)]
        for step in profile.steps[:MOST_ROWS]
    ]
    shown = html_table(["", "step", "time", "bytes moved", "runs", "lines"], rows)
    title = element("p", element("b", profile.title))
    return element("div", title, shown, *left_out(profile.steps), sweeps_legend())


def time_cell(profile: Profile, step: TimedStep, most: float) -> Markup:
    share = profile.share(step)
    text = element("span", f"{seconds_text(step.seconds)} ({100 * share:.0f} %)")
    if step.row.has_steps:  # whose bars are those of the steps inside
        return text
    return joined_markup([bar(share / most if most else 0.0, step.row.sweep), text])


def moved_text(step: TimedStep) -> Markup:
    if step.row.has_steps:
        return Markup("")
    rate = f", {bytes_text(step.bytes_per_second)}/s" if step.seconds else ""
    return element("span", f"{bytes_text(step.nbytes)}{rate}")


def runs_text(step: TimedStep) -> Markup:
    return element("span", str(step.runs))
