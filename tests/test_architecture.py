"""Files follow the data: no stage imports a later one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "planned_ad"

# In processing order. A module imports its own layer and those above it in this list.
LAYERS = [
    (
        "errors",
        "checks",
        "callbacks",
        "shadows",
        "exit_syntax",
        "comprehensions",
        "namespace",
        "structure",
        "outside_changes",
        "examples",
        "zeros",
        "affine",
        "bounds",
        "regions",
        "source",
        "tape",
        "listing",
    ),
    ("rules",),
    ("builder",),
    ("interpret", "loop_code", "verify", "calls"),
    ("compact", "copies", "guards", "captured", "outside"),
    ("signatures", "functions", "recorder", "rebinding", "trace", "tracing", "numpy_functions"),
    (
        "enclosing",
        "integer_sets",
        "coordinates",
        "dependence",
        "minimum_cut",
        "cells",
        "known_contents",
        "rewrite",
        "known_zeros",
        "dead_code",
        "invariants",
    ),
    ("independence", "lifting", "selection", "vectorise"),
    (
        "boundary",
        "inline",
        "counted_exits",
        "reverse",
        "reverse_blocks",
        "handover",
        "kept_values",
        "equal_values",
        "mirrors",
        "gather_form",
        "in_place",
        "simplify",
        "lower",
        "transposition",
        "forward",
        "batch",
        "segments",
        "index_sets",
        "dependence_rules",
        "sparsity",
        "colouring",
    ),
    ("forms", "subtrace", "custom", "native_rules", "remade"),
    ("decisions", "segment_lengths", "loop_pairs", "recomputation", "checkpoints", "memory_limit", "split"),
    (
        "schedule",
        "schedule_listing",
        "reciprocals",
        "early_uses",
        "anchors",
        "order",
        "placement_blocks",
        "placement",
        "layout",
        "planner",
    ),
    ("kernels",),
    (
        "arguments",
        "split_tape",
        "used_names",
        "sightings",
        "watch",
        "entries",
        "replay",
        "explain",
        "time_limit",
        "comparison",
        "checked",
        "kernel_functions",
        "split_calls",
        "variants",
        "plan",
        "compiling",
    ),
    (
        "control",
        "transformed",
        "pullbacks",
        "derivatives",
        "plan_derivatives",
        "transforms",
        "sparse",
        "vectorized",
        "testing",
    ),
    ("annotations", "sweeps", "autodiff"),
    ("__init__",),
]
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}
LONG = 500  # lines

MODULES = sorted(PACKAGE.rglob("*.py"))


def part(file: Path) -> str:
    """The module or subpackage directly inside the package that a file belongs to."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(file: Path) -> set[str]:
    """The parts of the package that a file imports when it runs, at the top or inside functions."""
    found: set[str] = set()
    package = ("planned_ad", *file.relative_to(PACKAGE).parts[:-1])

    def visit(node: ast.AST) -> None:
        if is_for_types(node):
            return
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            module = tuple(p for p in module if p)
            if module[:1] == ("planned_ad",):
                found.update([module[1]] if len(module) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            found.update(a.name.split(".")[1] for a in node.names if a.name.startswith("planned_ad."))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(file.read_text()))
    return found


def test_every_module_has_a_layer() -> None:
    assert {part(file) for file in MODULES} == set(LAYER), "add new modules to LAYERS, in processing order"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_import_runs_upward(file: Path) -> None:
    own = part(file)
    later = {name for name in imports(file) if LAYER.get(name, -1) > LAYER[own]}
    assert not later, f"{file.name} imports {sorted(later)}, which come after it"


def test_files_are_short_enough_to_read() -> None:
    lengths = {str(file.relative_to(PACKAGE)): len(file.read_text().splitlines()) for file in MODULES}
    long = {name: count for name, count in lengths.items() if count > LONG}
    assert not long, "split these where they have two subjects"
