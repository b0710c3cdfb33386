"""Which tests a run of the whole suite leaves out: long ones of which others run each line of the package.

`python -m tests.short_run` (Python 3.12 and later) runs all of them, with the lines that each runs, and writes
`left_out.txt`. The longest one first, a test is left out if another one that is not runs each of its lines, until the
rest takes `SECONDS`. `pytest --all`, and a run of one module, leave nothing out.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = str(ROOT / "planned_ad") + "/"
LEFT_OUT = Path(__file__).parent / "left_out.txt"
SECONDS = 440.0  # of processors, for the tests that stay
LEAST = 0.02  # seconds of a test that is worth leaving out
SEEN_BY = 1  # tests that are to run a line


@dataclass(frozen=True)
class Run:
    """The seconds of processors that one test took, and the lines of the package that it ran."""

    test: str
    seconds: float
    lines: frozenset[tuple[str, int]]


def left_out(runs: Iterable[Run], seconds: float) -> list[str]:
    """The tests without which the others take no longer than this, as far as each line stays seen."""
    every = sorted(runs, key=lambda run: (-run.seconds, run.test))
    seen = Counter(line for run in every for line in run.lines)
    spare = Counter({line: max(count - SEEN_BY, 0) for line, count in seen.items()})
    rest, found = sum(run.seconds for run in every), []
    for run in every:
        if rest <= seconds or run.seconds < LEAST:
            break
        if all(spare[line] for line in run.lines):
            spare.subtract(run.lines)
            rest -= run.seconds
            found.append(run.test)
    return sorted(found)


class LinesOfTests:
    """A plugin of pytest: what each test of this process runs, in a file of the folder."""

    def __init__(self, folder: Path):
        self.folder, self.runs, self.lines = folder, list[Run](), set[tuple[str, int]]()
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self.tool = self.monitoring.COVERAGE_ID
        self.monitoring.use_tool_id(self.tool, "lines of tests")
        self.monitoring.register_callback(self.tool, self.monitoring.events.LINE, self.line)
        self.monitoring.set_events(self.tool, self.monitoring.events.LINE)

    def line(self, code: Any, number: int) -> Any:
        if code.co_filename.startswith(PACKAGE):
            self.lines.add((code.co_filename, number))
        return self.monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.lines.clear()
        self.monitoring.restart_events()
        start = sum(os.times()[:4])  # of the process, and of its children
        try:
            return (yield)
        finally:
            self.runs.append(Run(item.nodeid, sum(os.times()[:4]) - start, frozenset(self.lines)))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        worker = getattr(session.config, "workerinput", {}).get("workerid", "main")
        (self.folder / f"{worker}.pickle").write_bytes(pickle.dumps(self.runs))


def measured(folder: Path) -> list[Run]:
    """All tests, each as it ran."""
    command = ["-m", "pytest", "--all", "-q", "-n", "2", "-p", "no:cacheprovider", "--lines-to", str(folder), "tests"]
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)
    return [run for file in folder.iterdir() for run in pickle.loads(file.read_bytes())]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        runs = measured(Path(folder))
    chosen = left_out(runs, SECONDS)
    LEFT_OUT.write_text("".join(f"{test}\n" for test in chosen))
    took = {run.test: run.seconds for run in runs}
    shares = sum(took[test] for test in chosen), sum(took.values())
    print(f"{len(chosen)} of {len(runs)} tests are left out, {shares[0]:.0f} of {shares[1]:.0f} s")
