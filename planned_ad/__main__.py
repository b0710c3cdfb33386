"""`python -m planned_ad cache [list|size|clear]`: what is in the cache on disk."""

from __future__ import annotations

import argparse

from . import caching
from .caching.listing import as_table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m planned_ad", description="What planned_ad keeps on disk.")
    commands = parser.add_subparsers(dest="command", required=True)
    cache = commands.add_parser("cache", help="compiled plans that later processes find again")
    cache.add_argument("what", nargs="?", choices=("list", "size", "clear"), default="list")
    what = parser.parse_args(arguments).what
    if what == "clear":
        print(f"{caching.clear()} files removed")
    else:
        print(f"{caching.total_size() / 1e6:.1f} MB" if what == "size" else as_table())


if __name__ == "__main__":
    main()
