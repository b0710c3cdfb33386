"""What package indices show of the README: its links are written for the repository, and lead to the site there.

The rest is in pyproject.toml.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^]]*)\]\((?P<path>(?:\w+/)*\w+)\.(?P<kind>\w+)\)")


def described(readme: str, site: str | None) -> str:
    """The README with links to the site; without a site, with the words of its links, and no pictures."""

    def relinked(link: re.Match) -> str:
        if site is None:
            return "" if link["picture"] else link["text"]
        kind = "html" if link["kind"] in ("md", "ipynb") else link["kind"]
        return f"{link['picture']}[{link['text']}]({site.rstrip('/')}/{link['path'].removeprefix('docs/')}.{kind})"

    return LINK.sub(relinked, re.sub(r"<!--.*?-->\n", "", readme))


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        long_description=described(
            (ROOT / "README.md").read_text(encoding="utf-8"), project.get("urls", {}).get("Documentation")
        ),
        long_description_content_type="text/markdown",
    )
