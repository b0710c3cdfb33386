"""Workspaces with guard zones before and behind them, to see whether a kernel writes beside its own."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from planned_ad.kernels.entry import workspace

ZONE, FILL = 1 << 16, 0xA5


class GuardedWorkspaces:
    """All that are made from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.made: list[tuple[np.ndarray, int, int]] = []
        real = workspace.aligned_bytes
        ours = [module for name, module in sys.modules.items() if name.startswith("planned_ad.")]
        for module in ours:
            if getattr(module, "aligned_bytes", None) is real:
                monkeypatch.setattr(module, "aligned_bytes", self.aligned_bytes)

    def aligned_bytes(self, nbytes: int, sparse: bool = False) -> np.ndarray:
        memory = np.full(nbytes + 2 * ZONE + workspace.ALIGNMENT, FILL, np.uint8)
        start = ZONE - (memory.ctypes.data + ZONE) % workspace.ALIGNMENT + workspace.ALIGNMENT
        self.made.append((memory, start, nbytes))
        return memory[start : start + nbytes]

    def are_intact(self) -> bool:
        """Whether nothing has been written beside any."""
        zones = [zone for memory, start, nbytes in self.made for zone in (memory[:start], memory[start + nbytes :])]
        return all(bool((zone == FILL).all()) for zone in zones)
