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
    cache = commands.add_parser("cache", help="the compiled kernels that are kept on disk")
    text = "say where and how many they are, which is what is done without a word, or remove them"
    cache.add_argument("what", nargs="?", choices=("info", "clear"), default="info", help=text)
    cache.add_argument("--folder", default="", metavar="FOLDER", help="another one than programs use by default")
    cache.set_defaults(action=_cache)


def _cache(given: argparse.Namespace) -> int:
    folder = cache_folder(given.folder or environment("offline_cache_file_path"))
    if folder is None:
        print("there is no home folder, and so no cache: set WEFT_CACHE_DIR, or give --folder", file=sys.stderr)
        return 1
    store = Store(folder)
    entries, size = store.size()
    if given.what == "clear":
        entries = store.clear()
    found = f"{entries} {'entry' if entries == 1 else 'entries'} ({readable_size(size)})"
    print(f"{'removed ' if given.what == 'clear' else ''}{found} in {store.folder}", flush=True)
    return 0
