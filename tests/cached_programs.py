"""Processes that compile the same functions again, for `test_caches`: forked before any of these is compiled.

`python -m tests.cached_programs FOLDER` prints what its children found, as JSON. A child is as good as a
process that has just imported planned_ad, and begins at once: LLVM has been started by another function.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import planned_ad
from planned_ad.caching import store
from planned_ad.calls import watched_traces
from planned_ad.kernels.entry import callpath

X = np.array([0.5, 1.0, 2.0])
FACTOR = 2.0
TABLE = np.array([1.0, 2.0, 3.0])
VIEW = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])[:, 0]
ORDER = np.array([2, 0, 1])


def loss(x):
    total = 0.0
    for i in range(len(x)):
        total += np.sin(x[i]) * x[0]
    return total + np.sum(np.exp(x))


def scaled(x):
    return FACTOR * np.sum(x**2)


def by_table(x):
    return np.sum(TABLE * x)


def in_order(x):
    return np.sum(np.arange(3.0) * x[ORDER])


def by_sign(x):
    return np.sum(x) if x[0] > 0 else np.sum(2 * x)


def with_solve(x):
    return np.sum(np.linalg.solve(np.outer(x, x) + np.eye(3), x))


def with_transform(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def from_file(x):
    return np.sum(np.loadtxt(os.environ["PLANNED_AD_TEST_TABLE"]) * x)


def by_view(x):
    return np.sum(VIEW * x)


def power(n):
    return lambda x: np.sum(x**n)


def applied(f):
    return lambda x: np.sum(f(x))


def child(work: Callable[[], Any]) -> Any:
    """What a process of its own gives back; None where it was killed."""
    end, start = os.pipe()
    number = os.fork()
    if not number:
        try:
            os.close(end)
            found = json.dumps(work())
        except BaseException:
            found = json.dumps(traceback.format_exc())
        os.write(start, found.encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end) as answer:
        text = answer.read()
    os.waitpid(number, 0)
    return json.loads(text) if text else None


def gradient(f: Callable, x: np.ndarray = X, **options: Any) -> tuple[list[float], bool]:
    """The gradient, and whether the function was traced for it."""
    return counted(lambda: planned_ad.compile(f, np.zeros_like(x) + x, **options).gradient(x))


def counted(work: Callable[[], np.ndarray]) -> tuple[list[float], bool]:
    """An array, and whether a function was traced for it."""
    traced = []
    trace = watched_traces.traced_and_checked
    watched_traces.traced_and_checked = lambda *a: traced.append(1) or trace(*a)
    try:
        found = work()
    finally:
        watched_traces.traced_and_checked = trace
    return found.tolist(), bool(traced)


def compiled_in_child(f: Callable, **changes: Any) -> Any:
    """With globals of this module set to other values first."""

    def work() -> Any:
        globals().update(changes)
        return gradient(f)

    return child(work)


# Scenarios.


def eight(folder: Path) -> Any:
    """Eight at once on an empty cache, and one afterwards."""
    begin = time.time() + 0.3

    def work() -> Any:
        time.sleep(max(0.0, begin - time.time()))
        return gradient(loss)

    ends = []
    for _ in range(8):
        end, start = os.pipe()
        if not os.fork():
            try:
                os.write(start, json.dumps(work()).encode())
            finally:
                os._exit(0)
        os.close(start)
        ends.append(os.fdopen(end))
    found = [json.loads(end.read()) for end in ends]
    for _ in ends:
        os.wait()
    unfinished = [name for name in os.listdir(folder) if name.endswith(store.UNFINISHED)]
    return {"found": found, "after": compiled_in_child(loss), "unfinished": unfinished}


def killed(folder: Path) -> Any:
    """Killed before its first file is in its place."""

    def work() -> Any:
        os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        return gradient(scaled)

    first = child(work)
    left = [str(path) for path in folder.iterdir()]
    after = [compiled_in_child(scaled) for _ in range(2)]
    old = time.time() - 2 * store.LEFT_BEHIND
    for path in left:
        os.utime(path, (old, old))
    compiled_in_child(by_table)
    return {"first": first, "left": len(left), "after": after, "still": [p for p in left if os.path.exists(p)]}


def changed(folder: Path) -> Any:
    """Numbers and arrays outside of the function, its example and its options are others in the next process."""
    return {
        "factor": [compiled_in_child(scaled, FACTOR=v) for v in (2.0, 2.0, 3.0, 3.0, 2.0)],
        "table": [compiled_in_child(by_table, TABLE=np.array(v)) for v in ([1.0, 2, 3], [1.0, 2, 3], [4.0, 5, 6])],
        "view": [compiled_in_child(by_view, VIEW=np.array(v)[::2]) for v in ([1.0, 0, 2, 0, 3], [4.0, 0, 5, 0, 6])],
        "order": [compiled_in_child(in_order, ORDER=np.array(v)) for v in ([2, 0, 1], [2, 0, 1], [0, 1, 2])],
        "closure": [compiled_in_child(power(n)) for n in (2, 2, 3, 2)],
        "function": [compiled_in_child(applied(f)) for f in (np.square, np.square, np.positive, np.square)],
        "sign": [child(lambda s=s: gradient(by_sign, s * X)) for s in (1, 1, -1, 1)],
        "options": [child(lambda n=n: gradient(loss, unroll=n)) for n in (16, 16, 1)],
        "solve": [compiled_in_child(with_solve) for _ in range(2)],
        "transform": [compiled_in_child(with_transform) for _ in range(2)],
    }


def by_split(f: Callable) -> np.ndarray:
    forward, reverse = planned_ad.compile(f, X).split()
    tape = forward.tape()
    forward(X, tape)
    return reverse(tape)


def product(x, y):
    return np.sum(x * y**2)


FORMS: dict[str, Callable[[Callable], np.ndarray]] = {
    "grad": lambda f: planned_ad.grad(f)(X),
    "value_and_grad": lambda f: planned_ad.value_and_grad(f)(X)[1],
    "hvp": lambda f: planned_ad.hvp(f)(X, np.ones(3)),
    "plan.hvp": lambda f: planned_ad.compile(f, X).hvp(X, np.ones(3)),
    "vjp": lambda f: planned_ad.vjp(f)(X)[1](1.0),
    "split": by_split,
    "grad of grad": lambda f: planned_ad.grad(lambda x: np.sum(planned_ad.grad(f)(x)))(X),
}


def derived(folder: Path) -> Any:
    """Derivatives as functions, of a function that has changed, or another derivative of the same function."""

    def found(form: Callable[[Callable], np.ndarray], f: Callable = scaled, factor: float = 2.0) -> Any:
        def work() -> Any:
            globals()["FACTOR"] = factor
            return counted(lambda: form(f))

        return child(work)

    answers = {name: [found(form, factor=v) for v in (2.0, 2.0, 3.0)] for name, form in FORMS.items()}
    answers["closure"] = [found(FORMS["grad"], power(n)) for n in (3, 3, 4)]
    by_argument = [lambda f, k=k: planned_ad.grad(f, k)(X, 1 + X) for k in (0, 0, 1)]
    answers["argnums"] = [found(form, product) for form in by_argument]
    by_library = [lambda f, g=g: planned_ad.grad(lambda x: np.sum(g(x)))(X) for g in (np.sin, np.sin, np.cos)]
    answers["library"] = [found(form) for form in by_library]
    return answers


def edited(folder: Path) -> Any:
    """The file of the function is edited, and that of a function which it calls."""
    source = folder.parent / "edited.py"
    found = []
    for factor, inner in ((2, 1), (2, 1), (3, 1), (3, 5)):
        source.write_text(
            f"import numpy as np\ndef inner(x):\n    return x * {inner}\n"
            f"def outer(x):\n    return {factor} * np.sum(inner(x))\n"
        )

        def work() -> Any:
            spec = importlib.util.spec_from_file_location("edited", source)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["edited"] = module
            sys.dont_write_bytecode = True
            exec(compile(source.read_text(), str(source), "exec"), vars(module))
            return gradient(module.outer)

        found.append(child(work))
    return found


def asked(folder: Path) -> Any:
    """A function that reads a file when it is traced."""
    table = folder.parent / "table.txt"
    os.environ["PLANNED_AD_TEST_TABLE"] = str(table)
    found = []
    for numbers in ("1 2 3", "4 5 6"):
        table.write_text(numbers)
        found.append(compiled_in_child(from_file))
    return found


def spoilt(folder: Path) -> Any:
    """Files that end early, that are changed in one byte, that are something else."""
    found = [compiled_in_child(scaled)]
    for spoil in (lambda b: b[:-5], lambda b: b[:-9] + b"x" + b[-8:], lambda b: b"nonsense"):
        for path in folder.iterdir():
            path.write_bytes(spoil(path.read_bytes()))
        found += [compiled_in_child(scaled), compiled_in_child(scaled)]
    return found


def refused(folder: Path) -> Any:
    """A disk that is full, a folder that is a file, one that nobody may write to."""

    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def on_full_disk() -> Any:
        Path.write_bytes = full  # type: ignore[method-assign]
        return gradient(scaled)

    found = [child(on_full_disk), len(list(folder.iterdir()))]
    file = folder.parent / "file"
    file.write_text("")
    os.environ["PLANNED_AD_CACHE_DIR"] = str(file / "cache")
    found.append(compiled_in_child(scaled))
    os.environ["PLANNED_AD_CACHE_DIR"] = "/proc/nobody"
    found.append(compiled_in_child(scaled))
    return found


def beside(folder: Path) -> Any:
    """Without a word on where, beside the file of the function; the user's folder tells of it."""
    del os.environ["PLANNED_AD_CACHE_DIR"]
    os.environ["XDG_CACHE_HOME"] = str(folder.parent / "home")
    source = folder.parent / "somewhere" / "beside.py"
    source.parent.mkdir()
    source.write_text("import numpy as np\ndef f(x):\n    return np.sum(x * x)\n")

    def work() -> Any:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(source.read_text(), str(source), "exec"), names)
        return gradient(names["f"])

    found = child(work)
    listed = [str(file.path.parent.relative_to(folder.parent)) for file in planned_ad.caching.entries()]
    removed = planned_ad.caching.clear()
    return {"found": found, "listed": sorted(set(listed)), "removed": removed, "left": planned_ad.caching.total_size()}


SCENARIOS = (eight, killed, changed, derived, edited, asked, spoilt, refused, beside)

if __name__ == "__main__":
    os.environ["PLANNED_AD_CACHE_DIR"] = "off"
    gradient(lambda x: x @ x)
    callpath._entry_of_kind.cache_clear()  # which the children are to find, too
    answers = {}
    for scenario in SCENARIOS:
        here = Path(sys.argv[1]) / scenario.__name__ / "cache"
        here.mkdir(parents=True)
        os.environ["PLANNED_AD_CACHE_DIR"] = str(here)
        answers[scenario.__name__] = scenario(here)
    print(json.dumps(answers))
