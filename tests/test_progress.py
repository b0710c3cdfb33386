"""What long compilations say of themselves."""

from __future__ import annotations

import io
import logging
import threading
import time

import numpy as np
import pytest

import planned_ad
from planned_ad.errors import UnrollLimitError
from planned_ad.python import progress
from planned_ad.trace import trace
from planned_ad.tracing.record import recorder


def test_records_of_a_compilation(caplog):
    caplog.set_level(logging.DEBUG, "planned_ad")
    planned_ad.compile(lambda x: np.sum(np.exp(x) * x[::-1]), np.zeros(3))
    told = [(record.levelno, record.getMessage()) for record in caplog.records]
    info = [text for level, text in told if level == logging.INFO]
    assert [text.split(" took ")[0] for text in info] == ["tracing <lambda>", "compiling gradient of <lambda>"]
    stages = [text.split()[0] for level, text in told if level == logging.DEBUG]
    assert stages == ["comparing", "differentiating", "planning", "making"]
    assert all(float(text.split(" took ")[1].removesuffix(" s")) >= 0 for _, text in told)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, seconds: float) -> tuple[str, int]:
    terminal, threads = Terminal(), threading.active_count()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.02)
    with progress.stage("tracing f"):
        progress.tell(lambda: "12 operations")
        time.sleep(seconds)
        with progress.stage("an inner one"):
            time.sleep(seconds)
    assert threading.active_count() == threads
    return terminal.getvalue(), threads


def test_a_terminal_shows_a_line_and_it_goes_away(monkeypatch):
    text, _ = shown(monkeypatch, 0.2)
    assert "planned_ad: tracing f, 12 operations, 0 s" in text and "planned_ad: an inner one" in text
    assert text.endswith(progress.ERASE) and "\n" not in text


def test_short_work_is_not_shown(monkeypatch):
    text, _ = shown(monkeypatch, 0.0)
    assert text == ""


@pytest.mark.parametrize("why", ["no terminal", "turned off"])
def test_nobody_watches(monkeypatch, why):
    terminal = Terminal()
    if why == "no terminal":
        terminal.isatty = lambda: False
    else:
        monkeypatch.setenv("PLANNED_AD_PROGRESS", "0")
    monkeypatch.setattr("sys.stderr", terminal)
    assert not progress.is_watched()


def test_a_stage_that_fails_is_over(caplog):
    with pytest.raises(ZeroDivisionError), progress.stage("this"):
        _ = 1 / 0
    assert progress.STAGES.now == []


def keyed(x):
    seen, total = {}, 0.0
    for i in range(300):
        seen[0.5, i] = x[i % 5] * i
        total = total + seen[0.5, i]
    return total


def test_a_loop_that_is_unrolled_to_much_is_told_of_early(monkeypatch, caplog):
    monkeypatch.setattr(recorder, "WARNS_AT", 200)
    monkeypatch.setattr(recorder, "MANY_OF_A_LINE", 50)
    trace(keyed, (np.ones(5),))
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "`seen[0.5, i] = x[i % 5] * i`" in warning and "dict key" in warning and "max_operations=200,000" in warning
    caplog.clear()
    with pytest.raises(UnrollLimitError, match="more than 400 operations"):
        trace(keyed, (np.ones(5),), max_operations=400)
    assert len(caplog.records) == 1
    caplog.clear()
    trace(lambda x: np.sum(np.exp(x) * x), (np.ones(5),))
    assert not caplog.records


def test_long_programs_without_loops_are_not_warned_of(monkeypatch, caplog):
    monkeypatch.setattr(recorder, "WARNS_AT", 200)
    trace(keyed, (np.ones(5),))
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]
