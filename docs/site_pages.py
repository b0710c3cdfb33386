"""Pages of the site that are not Markdown in docs/: notebooks, and files at the top. A hook of MkDocs.

Links are written so that they work in the repository; here they lead to the pages that these files became.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
AT_THE_TOP = ("CHANGELOG.md", "CONTRIBUTING.md")
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_config(config: Any) -> Any:
    """`folder/*.md` in `nav` stands for the pages of a folder; without any, the entry goes."""
    config.nav = [entry for given in config.nav for entry in expanded(given)]
    return config


def expanded(entry: Any) -> Iterator[Any]:
    title, where = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
    if not (isinstance(where, str) and "*" in where):
        yield entry
        return
    pages = sorted((ROOT / "docs").glob(where), key=lambda page: (page.stem != "index", page.stem))
    if pages:
        yield {title: [page.relative_to(ROOT / "docs").as_posix() for page in pages]}


def on_files(files: Files, config: Any) -> Files:
    for name in AT_THE_TOP:
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text, pictures = as_markdown(notebook)
        files.append(File.generated(config, f"notebooks/{notebook.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def as_markdown(notebook: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook with the outputs that it holds, and its pictures by their names."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                data = output.get("data", {"text/plain": output.get("text", "")})
                if "image/png" in data:
                    name = f"{notebook.stem}_{len(pictures)}.png"
                    pictures[name] = base64.b64decode(data["image/png"])
                    parts.append(f"![What the cell above draws]({name})")
                else:
                    parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Links to files that lie elsewhere in the repository than on the site."""
    here = origin(page.file)

    def relinked(found: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), found[2]))
        for file in files:
            if origin(file) == target:
                start = posixpath.dirname(page.file.src_uri) or "."
                return found[1] + posixpath.relpath(file.src_uri, start) + found[3]
        return found[0]

    return LINK.sub(relinked, markdown)


def origin(file: File) -> str:
    """Where a file of the site lies in the repository."""
    if file.src_uri.startswith("notebooks/"):
        return file.src_uri.removesuffix(".md") + ".ipynb" if file.src_uri.endswith(".md") else file.src_uri
    return file.src_uri if file.src_uri in AT_THE_TOP else f"docs/{file.src_uri}"
