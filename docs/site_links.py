"""Every link and picture of the built site leads somewhere, and nothing is loaded from elsewhere. A hook of MkDocs."""

from __future__ import annotations

import logging
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LOG = logging.getLogger("mkdocs.hooks.links")  # a warning fails `mkdocs build --strict`


class Links(HTMLParser):
    """What a page links to, what it loads, and the places in it that links can lead to."""

    def __init__(self, page: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attributes if value is not None}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and "href" in given:
            self.loaded.append(given["href"])


def on_post_build(config: Any) -> None:
    site = Path(config.site_dir)
    pages = {page.resolve(): Links(page) for page in sorted(site.rglob("*.html")) if page.name != "404.html"}
    for page, found in pages.items():
        for link in (*found.links, *found.loaded):
            trouble = checked(link, page, pages, link in found.loaded)
            if trouble:
                LOG.warning(f"{page.relative_to(site.resolve())}: {link} {trouble}")


def checked(link: str, page: Path, pages: dict[Path, Links], loaded: bool) -> str:
    """What is wrong with a link; links to other sites are taken as they are."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "is loaded from elsewhere" if loaded and parts.scheme != "data" else ""
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "leads nowhere"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places | {"__top"}:
        return "leads to no place of that page"
    return ""
