"""Memory of a plan that lies on the stack of the function that uses it."""

from __future__ import annotations

import numpy as np
import pytest

import planned_ad
from planned_ad.kernels.llvm.codelibrary import MachineCode
from tests.loop_programs import PROGRAMS, Draw


def test_an_array_on_the_stack_is_cleared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a store of an array LLVM makes one for each element, looks at these for long, and puts them together again."""
    texts, made = [], MachineCode.of
    monkeypatch.setattr(MachineCode, "of", lambda text, optimization: texts.append(text) or made(text, optimization))
    program = PROGRAMS["nussinov"]
    arguments = program.arguments(program.small, Draw(np.dtype(float), np.random.default_rng(0)))
    planned_ad.compile(program.function, arguments, check=False)
    assert any("@llvm.memset" in text or '@"llvm.memset' in text for text in texts)
    assert not any("store [" in text for text in texts)
