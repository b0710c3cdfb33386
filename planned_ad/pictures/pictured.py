"""What a plan shows of itself: in a notebook, as figures, and as a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calls.kinds import KINDS
from ..calls.parameters import usual_kind
from ..errors import ArgumentError
from .figures import plot_memory_map, plot_steps
from .graph import graph_picture
from .markup import Markup, element, foldable
from .measurement import measured_profile
from .memory_map import memory_picture
from .profile import Profile
from .schedule_picture import schedule_html


class Pictured:
    """The part of a plan that draws it; the plan knows its memory, and how to explain itself."""

    if TYPE_CHECKING:
        explain: Any
        memory: Any
        _chosen: Any
        _variants: Any

    def profile(self, *args: Any, kind: str | None = None, seconds: float = 0.5, **kwargs: Any) -> Profile:
        """Measure where the time of a call goes, step by step: time and bytes, beside your lines.

        Parameters
        ----------
        *args, **kwargs
            What the call takes: `plan.profile(x, n)` or, with shadows, `plan.profile(x, n, dx)`. Calls are made on
            copies.
        kind : str, optional
            As for `explain`, but for the halves of `split`.
        seconds : float
            How long to measure, once two more kernels have been compiled: the same steps with clocks between.

        Returns
        -------
        Profile
            A table as text, and in a notebook; `.steps`, `.seconds`, `.plot()`.

        Notes
        -----
        What reading the clock takes, some 20 ns, is taken off. Each step is told of as if nothing ran beside it; short
        ones overlap in the processor, and take less together. Within loops the proportions are measured and applied to
        the time that the loop takes undisturbed: where an iteration takes less than some 200 ns they are rough.
        """
        plan, kind = self._chosen(kind)
        row = KINDS[kind or usual_kind(plan._variants[0].trace)]
        if row.is_half:
            raise ArgumentError("plan.profile: of the halves of a split plan there is no profile; use kind='pullback'")
        return measured_profile(plan, row, args, kwargs, seconds)

    def plot_memory(self, kind: str | None = None, variant: int = 0, *, ax: Any = None) -> Any:
        """The memory map, by matplotlib: each place in the workspace, from its first step to its last.

        Parameters
        ----------
        kind, variant
            As for `explain`.
        ax : matplotlib axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib axes
        """
        return plot_memory_map(self.memory(kind, variant), self._title(kind, variant), ax)

    def plot_schedule(self, kind: str | None = None, variant: int = 0, *, ax: Any = None) -> Any:
        """The bytes that each step moves, by matplotlib; arguments as for `plot_memory`."""
        return plot_steps(self.memory(kind, variant), self._title(kind, variant), ax)

    def _title(self, kind: str | None, variant: int) -> str:
        found = self.explain(kind, variant)
        return f"{found.kind} of {found.name}"

    def _repr_html_(self) -> str:
        return plan_html(self)


def plan_html(plan: Pictured) -> Markup:
    """A page about the usual call of a plan: what is kept and why, memory over time, the schedule, dependences."""
    memory = plan.memory()
    return element(
        "div",
        Markup(plan.explain()._repr_html_()),
        foldable("Memory over time", memory_picture(memory), is_open=True),
        foldable("Schedule", schedule_html(memory)),
        foldable("Dependences", graph_picture(memory.tape)),
        style="line-height:1.4",
    )
