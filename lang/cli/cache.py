"""The command `weft cache`: show the folder and the number of compiled kernels, or delete them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from weft.lang.program.options import environment
from weft.runtime.cache import Store, cache_folder
from weft.runtime.memory import readable_size

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Declare the command. It sets `action`, which runs it."""
    cache = commands.add_parser("cache", help="show or clear the cache of compiled kernels on disk")
    text = "info (the default) shows the folder, the number of kernels and their size; clear removes them"
    cache.add_argument("what", nargs="?", choices=("info", "clear"), default="info", help=text)
    cache.add_argument("--folder", default="", metavar="FOLDER", help="use this folder instead of the default one")
    cache.set_defaults(action=_cache)


def _cache(given: argparse.Namespace) -> int:
    folder = cache_folder(given.folder or environment("offline_cache_file_path"))
    if folder is None:
        print(
            "weft: there is no cache, because there is no home folder: set WEFT_CACHE_DIR, or use --folder",
            file=sys.stderr,
        )
        return 1
    store = Store(folder)
    entries, size = store.size()
    if given.what == "clear":
        entries = store.clear()
    found = f"{entries} {'entry' if entries == 1 else 'entries'} ({readable_size(size)})"
    print(f"{'removed ' if given.what == 'clear' else ''}{found} in {store.folder}", flush=True)
    return 0
