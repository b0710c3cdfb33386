"""Plans are found again, in a process and by others, and never one that is not up to date."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import types
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.special

import planned_ad
from planned_ad import caching
from planned_ad.__main__ import main
from planned_ad.caching import store
from planned_ad.calls.known_plans import KnownPlans
from planned_ad.kernels.llvm import codelibrary
from planned_ad.kernels.llvm.codelibrary import MachineCode

X = np.array([0.5, 1.0, 2.0])
ROOT = Path(__file__).parent.parent
FACTOR = 2.0
NUMBERS = np.array([1.0, 2.0, 3.0])


# In a process.


def by_factor(x):
    return FACTOR * np.sum(x**2)


def by_sign(x):
    return np.sum(x) if x[0] > 0 else np.sum(2 * x)


def by_numbers(x):
    return np.sum(NUMBERS * x)


def power(n):
    return lambda x: np.sum(x**n)


def test_the_same_function_is_not_compiled_again():
    plan = planned_ad.compile(by_factor, X)
    assert planned_ad.compile(by_factor, 3 * X) is plan
    assert planned_ad.compile(by_factor, (X.tolist()[0] * X,)) is plan
    others = [
        planned_ad.compile(by_factor, np.ones(4)),
        planned_ad.compile(by_factor, np.ones(6)[::2]),
        planned_ad.compile(by_factor, X.astype(np.float32)),
        planned_ad.compile(by_factor, X, on_branch="raise"),
        planned_ad.compile(lambda x, y: np.sum(x * y), (X, X + 1)),
        planned_ad.compile(lambda x, y: np.sum(x * y), (X, planned_ad.Const(X + 1))),
    ]
    assert len({id(p) for p in (plan, *others)}) == 1 + len(others)


def test_a_cell_of_a_notebook_that_runs_again_finds_its_plan():
    source = "import numpy as np\ndef f(x, n=2):\n    return np.sum(x**n)\n"
    names: dict[str, Any] = {"__name__": "cell"}
    exec(compile(source, "cell", "exec"), names)
    plan = planned_ad.compile(names["f"], X)
    exec(compile(source, "cell", "exec"), names)
    assert planned_ad.compile(names["f"], X) is plan
    exec(compile(source.replace("n=2", "n=3"), "cell", "exec"), names)
    again = planned_ad.compile(names["f"], X)
    assert again is not plan
    np.testing.assert_allclose(again.gradient(X), 3 * X**2)


def test_closures_are_the_same_where_nothing_else_can_bind_them():
    plan = planned_ad.compile(power(2), X)
    assert planned_ad.compile(power(2), X) is plan
    assert planned_ad.compile(power(3), X) is not plan

    def with_setter(n):
        def put(new):
            nonlocal n
            n = new

        return (lambda x: np.sum(x**n)), put

    (f, put), (g, _) = with_setter(2), with_setter(2)
    plan = planned_ad.compile(f, X)
    assert planned_ad.compile(g, X) is not plan
    put(3)
    again = planned_ad.compile(f, X)
    np.testing.assert_allclose(again.gradient(X), 3 * X**2)
    np.testing.assert_allclose(plan.gradient(X), 3 * X**2)
    np.testing.assert_allclose(planned_ad.compile(g, X).gradient(X), 2 * X)


def applied(f):
    return lambda x: np.sum(f(x))


def by_module(xp):
    return lambda x: xp.sum(x * x)


def test_closures_over_what_libraries_have():
    for f in (np.sin, np.exp, scipy.special.gammaln, lambda x: x * x):
        inner = applied(f)  # whose code is the same each time, as is that of what calls it
        plan = planned_ad.compile(lambda x: inner(x) * 2, X)  # noqa: B023
        np.testing.assert_allclose(plan(X), 2 * np.sum(f(X)))
    largest = types.ModuleType("largest")
    largest.sum = np.max
    for xp in (np, largest):
        inner = by_module(xp)
        np.testing.assert_allclose(planned_ad.compile(lambda x: inner(x), X)(X), inner(X))  # noqa: B023


def counted(x):
    return np.sum(x) * len(x)


def test_names_of_modules_and_of_built_in_functions(monkeypatch):
    plan = planned_ad.compile(counted, X)
    assert planned_ad.compile(counted, X) is plan
    monkeypatch.setitem(globals(), "len", lambda x: 7)
    assert planned_ad.compile(counted, X)(X) == 7 * np.sum(X)
    largest = types.ModuleType("largest")
    largest.sum = np.max
    monkeypatch.setitem(globals(), "np", largest)
    assert planned_ad.compile(counted, X)(X) == 7 * max(X)


def test_what_has_changed_outside_is_not_found(monkeypatch):
    plan = planned_ad.compile(by_factor, X)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    again = planned_ad.compile(by_factor, X)
    assert again is not plan
    np.testing.assert_allclose(again.gradient(X), 10 * X)
    plan = planned_ad.compile(by_numbers, X)
    monkeypatch.setitem(globals(), "NUMBERS", np.array([4.0, 5.0, 6.0]))
    again = planned_ad.compile(by_numbers, X)
    np.testing.assert_allclose(again.gradient(X), [4, 5, 6])
    NUMBERS[:] = 7.0
    np.testing.assert_allclose(planned_ad.compile(by_numbers, X).gradient(X), [7, 7, 7])


def test_numbers_that_decide_a_branch_are_compared():
    plan = planned_ad.compile(by_sign, X, on_branch="raise")
    assert planned_ad.compile(by_sign, X, on_branch="raise") is plan
    np.testing.assert_allclose(planned_ad.compile(by_sign, -X, on_branch="raise").gradient(-X), [2, 2, 2])


def test_what_is_not_looked_at_is_compiled_again():
    plan = planned_ad.compile(by_factor, X, frozen="FACTOR")
    assert planned_ad.compile(by_factor, X, frozen="FACTOR") is not plan
    table = list(range(1000))  # too long for a watch to look into
    plan = planned_ad.compile(lambda x: table[3] * np.sum(x), X)
    assert planned_ad.compile(plan._f, X) is not plan


def test_a_function_that_reads_a_file_is_compiled_again(tmp_path):
    file = tmp_path / "table.txt"
    file.write_text("1 2 3")

    def f(x):
        return np.sum(np.loadtxt(file) * x)

    first = planned_ad.compile(f, X)
    file.write_text("4 5 6")
    np.testing.assert_allclose(planned_ad.compile(f, X).gradient(X), [4, 5, 6])
    np.testing.assert_allclose(first.gradient(X), [1, 2, 3])


def test_what_is_refused_is_refused_again():
    for _ in range(2):
        with pytest.raises(planned_ad.errors.NotDifferentiableError) as error:
            planned_ad.compile(by_factor, np.arange(3))
        assert error.traceback  # whose frames hold the plan


def test_nothing_is_held():
    plan = planned_ad.compile(power(4), X)
    gone = weakref.ref(plan), weakref.ref(plan._f)
    del plan
    gc.collect()
    assert [found() for found in gone] == [None, None]


def test_methods_are_known_by_their_object():
    class Model:
        def __init__(self, n):
            self.n = n

        def loss(self, x):
            return np.sum(x**self.n)

    model = Model(2)
    plan = planned_ad.compile(model.loss, X)
    assert planned_ad.compile(model.loss, X) is plan
    assert planned_ad.compile(Model(2).loss, X) is not plan
    model.n = 3
    np.testing.assert_allclose(planned_ad.compile(model.loss, X).gradient(X), 3 * X**2)


# From pickles.


def test_a_pickle_is_the_plan_that_is_there():
    plan = planned_ad.compile(by_factor, X)
    assert pickle.loads(pickle.dumps(plan)) is plan


CODE = compile("import numpy as np\ndef f(x):\n    return FACTOR * np.sum(x**2)\n", "by_value", "exec")


def made_anew(code: Any, factor: float) -> types.FunctionType:
    names = {"__name__": "by_value", "FACTOR": factor, "np": np}
    return types.FunctionType(code, names)


def test_a_pickle_by_value_is_loaded_once():
    names: dict[str, Any] = {"__name__": "by_value", "FACTOR": 2.0}
    exec(CODE, names)
    plan = planned_ad.compile(names["f"], X)

    def sent() -> planned_ad.Plan:
        """The plan, by the way of a pickle that has its function by value."""
        make, (_, *rest) = plan.__reduce__()
        rest = pickle.loads(pickle.dumps(rest))
        return make(made_anew(names["f"].__code__, names["FACTOR"]), *rest)

    with mock.patch("planned_ad.plan.KNOWN", KnownPlans()):
        first = sent()
        assert first is not plan and sent() is first
        names["FACTOR"] = 3.0
        second = sent()
        np.testing.assert_allclose(second.gradient(X), 6 * X)
        assert sent() is second
        second._f.__globals__["FACTOR"] = 9.0  # the worker's own: no more what is sent
        np.testing.assert_allclose(sent().gradient(X), 6 * X)


# On disk.


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PLANNED_AD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    """What processes have found that were started one after the other, or at once."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    command = [sys.executable, "-m", "tests.cached_programs", str(tmp_path_factory.mktemp("caches"))]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


LOSS = [4.317706501883096, 2.9884329813931156, 7.180982680657079]  # of `cached_programs.loss`, traced in this process


def outcome(answer: Any) -> tuple[list[float], bool]:
    gradient, was_traced = answer
    return np.round(gradient, 9).tolist(), was_traced


def all_right(answers: list[Any]) -> bool:
    return all(np.allclose(gradient, LOSS) for gradient, _ in answers)


def test_eight_processes_at_once(found):
    eight = found["eight"]
    assert len(eight["found"]) == 8 and all_right([*eight["found"], eight["after"]])
    assert not eight["after"][1] and not eight["unfinished"]


def test_a_process_that_is_killed_while_it_writes(found):
    killed = found["killed"]
    assert killed["first"] is None and killed["left"] == 1
    assert killed["after"] == [[[2, 4, 8], True], [[2, 4, 8], False]]
    assert killed["still"] == []  # what it has left behind is removed in time


@pytest.mark.parametrize(
    "what, expected",
    {
        "factor": [([2, 4, 8], True), ([2, 4, 8], False), ([3, 6, 12], True), ([3, 6, 12], False), ([2, 4, 8], True)],
        "table": [([1, 2, 3], True), ([1, 2, 3], False), ([4, 5, 6], False)],  # read from its memory at each call
        "view": [([1, 2, 3], True), ([4, 5, 6], False)],
        "order": [([1, 2, 0], True), ([1, 2, 0], False), ([0, 1, 2], True)],
        "closure": [([1, 2, 4], True), ([1, 2, 4], False), ([0.75, 3, 12], True), ([1, 2, 4], False)],
        "function": [([1, 2, 4], True), ([1, 2, 4], False), ([1, 1, 1], True), ([1, 2, 4], False)],
        "sign": [([1, 1, 1], True), ([1, 1, 1], False), ([2, 2, 2], True), ([1, 1, 1], True)],
        "options": [(np.round(LOSS, 9).tolist(), traced) for traced in (True, False, True)],
        "solve": [([0.0704, -0.0192, -0.1984], traced) for traced in (True, False)],
        "transform": [([3, 6, 12], traced) for traced in (True, False)],  # whose routines each process compiles
    }.items(),
)
def test_never_an_old_gradient(found, what, expected):
    assert list(map(outcome, found["changed"][what])) == expected


def test_derivatives_as_functions_are_found_and_never_old_ones(found):
    derived = dict(found["derived"])
    special = {name: derived.pop(name) for name in ("closure", "argnums", "library")}
    for form, answers in derived.items():
        of_hessian = "hvp" in form or form == "grad of grad"
        first = [4.0, 4.0, 4.0] if of_hessian else [2.0, 4.0, 8.0]
        changed = [1.5 * g for g in first]
        assert [g for g, _ in map(outcome, answers)] == [first, first, changed], form
        assert [traced for _, traced in answers] == [True, False, True], form
    cubes, fourths = (3 * X**2).tolist(), (4 * X**3).tolist()
    assert list(map(outcome, special["closure"])) == [(cubes, True), (cubes, False), (fourths, True)]
    by_x, by_y = ((1 + X) ** 2).tolist(), (2 * X * (1 + X)).tolist()
    assert list(map(outcome, special["argnums"])) == [(by_x, True), (by_x, False), (by_y, True)]
    sines, cosines = np.round(np.cos(X), 9).tolist(), np.round(-np.sin(X), 9).tolist()
    assert list(map(outcome, special["library"])) == [(sines, True), (sines, False), (cosines, True)]


def test_a_function_that_is_edited(found):
    expected = [([2, 2, 2], True), ([2, 2, 2], False), ([3, 3, 3], True), ([15, 15, 15], True)]
    assert list(map(outcome, found["edited"])) == expected


def test_a_function_that_reads_a_file_is_traced_in_each_process(found):
    assert list(map(outcome, found["asked"])) == [([1, 2, 3], True), ([4, 5, 6], True)]


def test_files_that_are_spoilt_are_as_good_as_none(found):
    assert all(gradient == [2, 4, 8] for gradient, _ in found["spoilt"])
    assert [traced for _, traced in found["spoilt"]] == [True] + [True, False] * 3


def test_a_disk_that_refuses(found):
    full, files, *others = found["refused"]
    assert files == 0 and all(answer == [[2, 4, 8], True] for answer in (full, *others))


def test_beside_the_function(found):
    beside = found["beside"]
    assert outcome(beside["found"]) == ([1, 2, 4], True)
    assert beside["listed"] == ["somewhere/__pycache__"] and beside["removed"] > 1 and beside["left"] == 0


def test_machine_code_is_found_by_its_text(folder, monkeypatch):
    """Also where a trace is not: of a function that is frozen, say."""
    monkeypatch.setattr(codelibrary, "RECENT", codelibrary.Recent(0))  # the disk alone
    planned_ad.compile(lambda x: np.sum(x) * 3.0, X)  # with what all plans share
    with mock.patch.object(MachineCode, "made", side_effect=MachineCode.made) as made:
        planned_ad.compile(by_factor, X, frozen="FACTOR")
        assert made.call_count == 1
        np.testing.assert_allclose(planned_ad.compile(by_factor, X, frozen="FACTOR").gradient(X), 4 * X)
        assert made.call_count == 1


def test_a_process_has_machine_code_once(monkeypatch):
    """Without a folder, too: until there is more than fits."""
    recent = codelibrary.Recent(2**20)
    monkeypatch.setattr(codelibrary, "RECENT", recent)
    with mock.patch.object(MachineCode, "made", side_effect=MachineCode.made) as made:
        first, second = ((lambda x: np.sum(np.sin(x) * x)) for _ in range(2))
        expected = planned_ad.compile(first, X).gradient(X)
        count, nbytes = made.call_count, recent.nbytes
        assert count > 0 and nbytes > 0
        np.testing.assert_array_equal(planned_ad.compile(second, X, frozen="nothing").gradient(X), expected)
        assert made.call_count == count and recent.nbytes == nbytes
        recent.most = 0
        planned_ad.compile(lambda x: np.sum(np.cos(x) * x), X).gradient(X)
        assert recent.nbytes == 0
        np.testing.assert_array_equal(planned_ad.compile(first, X, frozen="other").gradient(X), expected)
        assert made.call_count > count + 1


def test_a_file_under_another_name_is_none(folder):
    for key in ("one", "other"):
        store.put(key, key.encode())
    one, other = (next(folder.rglob(f"{key}.pladc")) for key in ("one", "other"))
    one.write_bytes(other.read_bytes())
    assert store.find("one") is None and store.find("other") == b"other"


def test_a_limit_of_bytes(folder, monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 1000)
    for k in range(6):
        store.put(f"key{k}", bytes([k]) * 150)
        os.utime(folder / f"key{k}{store.SUFFIX}", (k, k))
    store.put("last", b"x" * 150)
    assert store.find("key0") is None and store.find("key5") == b"\x05" * 150 and store.find("last") is not None
    assert caching.total_size() <= 1000
    store.put("large", b"x" * 500)  # more than a quarter of all
    assert store.find("large") is None


def test_the_tool(folder, capsys):
    store.put("a", b"x" * 1000, "gradient of loss (model.py:2)")
    store.put("b", b"y" * 1000)
    main(["cache"])
    listed = capsys.readouterr().out
    assert str(folder) in listed and "2 files" in listed and "gradient of loss (model.py:2)\n" in listed
    assert [file.about for file in caching.entries()] == ["gradient of loss (model.py:2)", ""]
    assert store.find("a") == b"x" * 1000
    main(["cache", "size"])
    main(["cache", "clear"])
    assert capsys.readouterr().out.splitlines() == ["0.0 MB", "2 files removed"]
    assert caching.entries() == [] and store.find("a") is None


def test_where(tmp_path, monkeypatch):
    monkeypatch.setattr(caching.folders, "_chosen", caching.folders.UNSET)
    monkeypatch.setenv("PLANNED_AD_CACHE_DIR", "off")
    assert planned_ad.cache_dir() is None and caching.entries() == []
    assert planned_ad.cache_dir(tmp_path) == tmp_path == planned_ad.cache_dir()
    store.put("a", b"x")
    assert [file.path.name for file in caching.entries()] == ["a.pladc"]
    assert planned_ad.cache_dir(None) is None and store.find("a") is None
