"""What the documents say is what happens: their programs are run, and their generated parts are up to date."""

import ast
import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import planned_ad

from .forks import server

ROOT = Path(__file__).parent.parent
PROGRAM = re.compile(r"```python\n(.*?)```\n(?:(?:<!--[^\n]*-->\n|\n)*```text\n(.*?)```)?", re.DOTALL)
PAGES = ["README.md", *(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").rglob("*.md")))]
NEEDED = {"odes": "scipy", "pymc": "nutpie", "parallel": "concurrent"}  # by pages that are not named after a package


def programs():
    for page in PAGES:
        for number, found in enumerate(PROGRAM.finditer((ROOT / page).read_text()), 1):
            package = NEEDED.get(Path(page).stem, Path(page).stem)
            is_missing = "interop" in page and find_spec(package) is None
            skipped = pytest.mark.skipif(is_missing, reason=f"{package} is not installed")
            yield pytest.param(*found.groups(), id=f"{page}-{number}", marks=skipped)


@pytest.mark.parametrize("program, output", list(programs()))
def test_programs_print_what_the_page_says(program, output, tmp_path):
    done = server(BEFORE_FORKS="import numba; numba.njit(lambda x: x)(1.0)").run(program, tmp_path)  # takes a second
    assert done.status == 0, done.stderr
    assert done.stdout.replace(f"{tmp_path}/", "") == (output or "")


def test_the_list_of_supported_functions_is_up_to_date():
    text = (ROOT / "docs" / "supported.md").read_text()
    if f"with NumPy {'.'.join(np.__version__.split('.')[:2])}." not in text:
        pytest.skip("the list was generated with another NumPy, which has other functions")
    assert runpy.run_path(str(ROOT / "docs" / "generate_supported.py"))["page"]() == text, "run `make docs`"


COVERAGE = runpy.run_path(str(ROOT / "docs" / "generate_coverage.py"))
EVERY = 40  # of the functions, in the quick test


@pytest.fixture(scope="module")
def coverage_page():
    text = (ROOT / "docs" / "coverage.md").read_text()
    if f"with {COVERAGE['VERSIONS']}:" not in text:
        pytest.skip("the page was generated with other versions, which have other functions")
    return text


def states_on(page, module):
    """Of a section of the page: from a function to what is said of it."""
    section = page.partition(f"## {module}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\w ,]+) \| \d+ \| (.*) \|$", section, re.MULTILINE)
    return {name: state for state, names in rows for name in re.findall(r"`(\w+)`", names)}


@pytest.mark.parametrize("module", COVERAGE["MODULES"])
def test_the_coverage_page_is_up_to_date(coverage_page, module):
    """All names, and what is said of a few; the long test makes the whole page."""
    said, names = states_on(coverage_page, module), COVERAGE["names_of"](module)
    assert sorted(said, key=str.lower) == names, "run `make docs`"
    for name in names[7::EVERY]:
        assert COVERAGE["quietly"](COVERAGE["state"], module, name) == said[name], f"{name}: run `make docs`"


@pytest.mark.long
def test_the_whole_coverage_page(coverage_page):
    assert COVERAGE["page"]() == coverage_page, "run `make docs`"


LINK = re.compile(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)")


def places(page):
    """What the headings of a page are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    for target, place in LINK.findall((ROOT / page).read_text()):
        file = (ROOT / page).parent / target if target else ROOT / page
        assert file.exists(), f"{page}: {target}"
        assert not place or place in places(file), f"{page}: {target}{place}"


def test_the_readme_is_short_and_begins_with_the_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 1000
    assert re.match(r"# planned_ad\n\n```sh\nmake demo .*\nmake test .*\n```\n", text)


SITE = "https://example.org/planned_ad/"


def test_package_indices_show_no_link_that_leads_nowhere():
    """They know no repository: links lead to the site, which has a page for each, or are gone."""
    described = runpy.run_path(str(ROOT / "setup.py"))["described"]
    text = (ROOT / "README.md").read_text()
    assert not re.search(r"\]\(|<!--", described(text, None))
    there = re.findall(r"\]\(([^)]*)\)", described(text, SITE))
    assert len(there) == len(LINK.findall(text)) and all(link.startswith(SITE) for link in there)
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in there:
        name = page.removeprefix(SITE)
        assert name.replace(".html", ".md") in navigation if name.endswith("html") else (ROOT / "docs" / name).exists()


def test_the_pictures_are_those_of_the_examples():
    figure = runpy.run_path(str(ROOT / "docs" / "generate_figure.py"))
    assert figure["TARGET"].read_text() == figure["picture"](*figure["example"]()), "run `make docs`"
    assert figure["MAP"].read_text() == figure["map_of_notebooks"](), "run `make docs`"


def test_each_page_is_in_the_navigation_of_the_site():
    """Those of docs/interop/ are found by themselves."""
    named = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {page.removeprefix("docs/") for page in PAGES if not page.startswith(("README", "docs/interop/"))}
    notebooks = {f"notebooks/{file.stem}.md" for file in (ROOT / "notebooks").glob("*.ipynb")}
    assert named == pages | notebooks | {"CHANGELOG.md", "CONTRIBUTING.md"}


def test_the_reference_has_each_public_name():
    listed = set(re.findall(r"^::: planned_ad\.(\w+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    assert listed == {*planned_ad.__all__, "interop", "testing"}


NAMED_FILE = re.compile(r"`([\w./-]+\.py)`")
FOLDERS = [ROOT, ROOT / "planned_ad", ROOT / "tests", ROOT / "asv_bench"]
DOCUMENTS = [ROOT / page for page in (*PAGES, "CONTRIBUTING.md")]
SOURCES = [file for folder in FOLDERS[1:] for file in sorted(folder.rglob("*.py"))]
EXISTING = {f"/{file.relative_to(base).as_posix()}" for base in FOLDERS for file in SOURCES if base in file.parents}
USERS = {"code.py"}  # files of users


def test_files_that_are_named_exist():
    """In the documents, and in docstrings and comments."""
    stale = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in (*DOCUMENTS, *SOURCES)
        for name in NAMED_FILE.findall(file.read_text())
        if name not in USERS and not (ROOT / name).exists() and not any(e.endswith(f"/{name}") for e in EXISTING)
    }
    assert not stale


def test_every_folder_is_in_the_table_of_stages():
    text = (ROOT / "docs" / "how_it_works.md").read_text()
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    package = ROOT / "planned_ad"
    folders = {f"{file.parent.relative_to(package)}/" for file in package.rglob("*.py")} - {"./"}
    assert set(re.findall("`([a-z_/]+/)`", " ".join(first))) == folders


def passes():
    """Files with a function from a tape to a tape, in the folders of passes."""
    for folder in ("passes", "differentiate"):
        for file in sorted((ROOT / "planned_ad" / folder).rglob("*.py")):
            functions = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)]
            if any(re.match(r"def \w+\(tape: Tape\b.*\) -> Tape:", ast.unparse(f)) for f in functions):
                yield file


@pytest.mark.parametrize("file", [pytest.param(f, id=f.stem) for f in [*passes(), ROOT / "planned_ad" / "planner.py"]])
def test_passes_open_with_a_miniature(file):
    """A tape before and after, as doctests, and what the pass requires and ensures."""
    opening = ast.get_docstring(ast.parse(file.read_text())) or ""
    assert opening.count(">>> print(brief") >= 2
    assert re.search("[Rr]equires? ", opening) and re.search("[Ee]nsures? ", opening)


def test_the_demo_finds_the_known_optimum(monkeypatch):
    """Log-likelihood and means as published for two components with free covariances (mclust, VVV)."""
    monkeypatch.syspath_prepend(ROOT / "demo")
    import old_faithful

    eruptions = old_faithful.load()
    assert eruptions.shape == (272, 2)
    np.testing.assert_allclose(eruptions.mean(axis=0), [3.4878, 70.897], rtol=1e-5)
    result = old_faithful.fit(old_faithful.compiled(eruptions), eruptions)
    assert result.fun == pytest.approx(1130.264, abs=1e-3)
    _, means, _ = old_faithful.unpack(result.x)
    np.testing.assert_allclose(means, [[2.0364, 54.4785], [4.2897, 79.9681]], rtol=1e-4)
