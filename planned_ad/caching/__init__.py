"""What compiling has made, kept on disk for later processes: `entries`, `total_size` and `clear` show and remove it."""

from .folders import cache_dir
from .listing import CachedFile, clear, entries, total_size

__all__ = ["CachedFile", "cache_dir", "clear", "entries", "total_size"]
