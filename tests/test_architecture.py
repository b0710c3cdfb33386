"""The folders show the stages: no import runs from an earlier stage to a later one, and folders form no circle."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "planned_ad"

# The way of the data. A module imports its own folder and what stands above it here: at the top of the file, inside of
# functions, and for types alike. A name that is no folder is a module at the top of the package.
ORDER = """
    errors caching python control regions rules tape analysis
    tracing.record tracing.values tracing.complex tracing.numpy_functions tracing.scipy_functions tracing.lengths
    tracing.loops tracing.replacements trace
    passes passes.packing passes.vectorise differentiate.keep differentiate custom
    planning planner kernels.llvm kernels.maths kernels.nests kernels.library kernels.threads kernels.entry
    kernels
    calls.outside calls.check calls pictures plan compiling
    functional functional.sparse functional.enzyme testing interop __main__
"""
STAGES = ORDER.split()
STAGE = {name: number for number, name in enumerate(STAGES)}
FRONT_DOORS = 10  # modules at the top of the package, at most
ROOMS = 25  # with the folders beside them
LONG = 500  # lines

FILES = {
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}


def folder(module: str) -> str:
    """The stage that a module belongs to: its folder, or itself where it is a front door."""
    inside, _, _ = module.rpartition(".")
    return module if FILES[module].name == "__init__.py" else inside or module


def imported(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports in statements; there are none in expressions, which are most of what there is."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.expr):
            yield from imported(child)


@functools.cache
def imports(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, wherever the import stands."""
    file = FILES[module]
    here = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    found: set[str] = set()
    for node in imported(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else (node.module or "").split(".")[1:]
            name = ".".join([*base, *(node.module.split(".") if node.level and node.module else [])])
            if node.level or (node.module or "").split(".")[0] == "planned_ad":
                names = [f"{name}.{alias.name}".lstrip(".") for alias in node.names]
                found.update(whole if whole in FILES else name for whole in names)
        else:
            found.update(a.name.removeprefix("planned_ad.") for a in node.names if a.name.startswith("planned_ad."))
    return frozenset(found - {module})


MODULES = sorted(set(FILES) - {"__init__"})


def test_every_folder_is_a_stage() -> None:
    assert {folder(module) for module in MODULES} - {"tracing", "tests"} == set(STAGES)


def test_the_front_is_small() -> None:
    modules, folders = list(PACKAGE.glob("*.py")), list(PACKAGE.glob("*/__init__.py"))
    assert len(modules) <= FRONT_DOORS
    assert len(modules) + len(folders) <= ROOMS


@pytest.mark.parametrize("module", MODULES)
def test_no_import_runs_back_up(module: str) -> None:
    own = folder(module)
    later = {name for name in imports(module) if STAGE[folder(name)] > STAGE[own]}
    assert not later, f"{module} imports what comes after it"


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach one another (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in graph[name]:
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_no_circle_of_folders() -> None:
    """Follows from the order of stages; said apart, so that an order that is wrong cannot hide one."""
    graph: dict[str, set[str]] = {stage: set() for stage in STAGES}
    for module in MODULES:
        if folder(module) in graph:
            graph[folder(module)] |= {folder(name) for name in imports(module)} & set(graph) - {folder(module)}
    assert not circles(graph)


def test_no_circle_of_files() -> None:
    assert not circles({module: set(imports(module) & set(MODULES)) for module in MODULES})


def test_files_are_short_enough_to_read() -> None:
    lengths = {str(file.relative_to(PACKAGE)): len(file.read_text().splitlines()) for file in FILES.values()}
    long = {name: count for name, count in lengths.items() if count > LONG}
    assert not long, "split these where they have two subjects"


# Names of classes and functions that still mean two things; none may be added. NumPy's own names, of what implements
# them, do not count.
IMPLEMENTS = {
    "implements",
    "of_complex",
    "of_any",
    "calls",
}  # decorators of what stands for a function of NumPy or SciPy
TWO_MEANINGS = """
    Active Call Comparison CompiledCall Copy Derivative Exits Leaf Made Memory
    Outside Place Position Segment Snapshot Watch Write add at
    axes_of axis_of block_rows body call cast cell collected common_shape compiled constant coordinates copied
    decides described directed dtype_of elementwise fixed flipped gather gathered get hessian
    identifier in_place_of is_fixed is_floating is_number is_plain jacobian joined kind_of
    like memory_of moved moves nonzero number numbers_of operand over packed place place_of power
    put read_by reduced refuse renamed result_of rounded run same scanned scatter
    seeds share_memory shown side_by_side signature split split_axes spread stored stretch supported taken_apart
    touches unpacked unrolled view where zero
"""


def public_names(module: str) -> set[str]:
    """What a module defines at its top, apart from what stands for a function of NumPy's."""
    return {
        node.name
        for node in ast.parse(FILES[module].read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not any(IMPLEMENTS & set(ast.unparse(decorator).split("(")) for decorator in node.decorator_list)
    }


def test_a_name_means_one_thing() -> None:
    left, where = set(TWO_MEANINGS.split()), dict[str, list[str]]()
    for module in MODULES:
        for name in public_names(module):
            where.setdefault(name, []).append(module)
    twice = {name: modules for name, modules in where.items() if len(modules) > 1}
    added = {name: modules for name, modules in twice.items() if name not in left}
    assert not added, "these names mean something else in another module"
    assert not left - set(twice), "these mean one thing: strike them from the list"
