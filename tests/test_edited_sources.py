"""Modules that are written anew while a program runs: loaded again, or not."""

import importlib
import linecache
import sys

import numpy as np
import pytest

import planned_ad
from planned_ad.python.source_text import TEXTS, compiled_text

SHORT = """
def f(x):
    s = 0.0
    for i in range(30):
        if x[i] > 0.1:
            s += x[i] ** 2
        else:
            s -= x[i]
        if s > 4.0:
            break
    return s
"""
LONG = """
# one that leaves by `return`, where the other one had its loop

def g(x):
    for i in range(3):
        if x[i] > 3:
            return x[0]
    return x[1]


def f(x):
    s = 0.0
    t = 1.0
    for i in range(30):
        if x[i] > 0.1:
            s += x[i] ** 3
        else:
            s -= 2 * x[i]
            t *= 1.5
        if s > 5.0:
            continue
        t += 1
    out = [t * v for v in x if v > 0]
    return s * t + sum(out)
"""


@pytest.fixture
def edited(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "edited_while_running.py"
    path.write_text(SHORT)
    importlib.invalidate_caches()
    yield path, importlib.import_module("edited_while_running")
    del sys.modules["edited_while_running"]


def right_for_all_inputs(f, rolled):
    plan = planned_ad.compile(f, (np.random.default_rng(0).normal(size=30),))
    for seed in range(4):
        x, dx = np.random.default_rng(seed).normal(size=30), np.zeros(30)
        assert plan(x) == pytest.approx(f(x), rel=1e-12)
        plan.gradient(x, dx)
        slopes = [(f(x + step) - f(x - step)) / 2e-7 for step in 1e-7 * np.eye(30)]  # so small that no test turns
        np.testing.assert_allclose(dx, slopes, rtol=1e-4, atol=1e-5)
    assert (len(plan._variants) == 1) == rolled
    return plan


def test_a_module_that_is_loaded_again_has_the_loops_and_lines_that_it_has_now(edited):
    path, module = edited
    right_for_all_inputs(module.f, rolled=True)
    path.write_text(LONG)
    importlib.reload(module)
    plan = right_for_all_inputs(module.f, rolled=True)
    assert "for i in range(30):" in str(plan.explain())


def test_a_module_that_was_edited_and_not_loaded_again_is_what_it_was(edited):
    path, module = edited
    right_for_all_inputs(module.f, rolled=True)
    path.write_text(LONG)
    linecache.checkcache(str(path))
    right_for_all_inputs(module.f, rolled=True)
    assert compiled_text(module.f.__code__) == SHORT


def test_code_whose_text_nobody_has_seen_has_no_source(edited):
    path, module = edited
    path.write_text(LONG)
    assert compiled_text(module.f.__code__) == ""
    right_for_all_inputs(module.f, rolled=False)


def test_the_last_texts_of_a_file_are_kept(edited):
    path, module = edited
    for k in range(2 * TEXTS):
        text = SHORT.replace("4.0", f"{k}.25")
        path.write_text(text)
        linecache.clearcache()
        importlib.reload(module)
        assert compiled_text(module.f.__code__) == text
