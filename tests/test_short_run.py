"""Which tests a run of the whole suite leaves out: none that alone runs a line."""

from __future__ import annotations

from pathlib import Path

from .short_run import LEFT_OUT, Run, left_out

ROOT = Path(__file__).parent.parent


def run(test: str, seconds: float, *lines: int) -> Run:
    return Run(test, seconds, frozenset(("file", line) for line in lines))


def test_the_longest_ones_go_that_others_stand_for() -> None:
    runs = [run("a", 5.0, 1, 2), run("b", 4.0, 1, 2, 3), run("c", 3.0, 2), run("d", 2.0, 1), run("e", 0.001, 2)]
    assert left_out(runs, 100.0) == []
    assert left_out(runs, 10.0) == ["a"]
    assert left_out(runs, 0.0) == ["a", "c", "d"]  # b alone runs line 3, and e is short


def test_what_is_left_out_is_there() -> None:
    names = LEFT_OUT.read_text().splitlines()
    assert names and {name.partition("::")[0] for name in names} <= {
        str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")
    }
