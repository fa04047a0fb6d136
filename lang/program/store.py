"""The program's store on disk: compiled kernels, and what the run-time library compiles for itself.

Entries belong to one version of everything that takes part in compiling. `version_stamp` identifies a version."""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["hashed", "keeping", "kept_in", "native_target", "native_triple", "open_store", "version_stamp"]

_log = logging.getLogger("weft")
_FLOORS = ("lang", "ir", "codegen", "runtime")  # the folders of the compiler


def hashed(text: str) -> str:
    """A key of 40 hexadecimal digits."""
    return blake2b(text.encode(), digest_size=20).hexdigest()


@cache
def native_triple() -> str:
    """The kind of processor and the operating system of this machine, as LLVM names them."""
    return str(import_module("llvmlite.binding").get_default_triple())


@cache
def native_target() -> str:
    """The triple, the CPU and the CPU features of this machine."""
    binding = import_module("llvmlite.binding")
    binding.initialize_native_target()
    features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_default_triple()} {binding.get_host_cpu_name()} {features}"


def keeping(program: Any) -> Callable[[str], bytes]:
    """A function that compiles LLVM IR to an object file for this machine, and stores it with the program's kernels."""

    def emitted(text: str) -> bytes:
        from weft.runtime.jit import emit

        return kept_in(program, text, lambda: emit(text))

    return emitted


def kept_in(program: Any, depends: str, make: Callable[[], bytes]) -> bytes:
    """The object file for this machine that `make` gives, or has given in some process for the same `depends`, which
    says all that it depends on besides the machine and the version of the compiler."""
    if program.store is None:
        return make()
    key = hashed(f"{native_target()} {depends}")
    code = program.store.get(key)
    if code is None:
        code = make()
        program.store.put(key, code)
    return bytes(code)


def open_store(chosen: dict[str, Any], imported: float) -> Any:
    """The store that the options of `init` select. None if they disable it. `imported` is the time when Weft was
    imported."""
    if not chosen.get("offline_cache", True):
        return None
    from weft.runtime.cache import Store, cache_folder

    version = version_stamp(imported)
    if not version:
        _log.debug("the cache is off: files of Weft have changed since they were imported")
        return None
    path = chosen.get("offline_cache_file_path")
    given = {
        "most_bytes": chosen.get("offline_cache_max_size_of_files"),
        "policy": chosen.get("offline_cache_cleaning_policy"),
        "cleaning": chosen.get("offline_cache_cleaning_factor"),
    }
    folder = cache_folder(path)
    if folder is None:
        _log.warning("the cache is off, because there is no home folder: set WEFT_CACHE_DIR")
        return None
    return Store(folder, version, **{name: value for name, value in given.items() if value is not None})


@cache
def version_stamp(imported: float) -> str:
    """A stamp for the versions of everything that takes part in compiling: Python, numpy, llvmlite and the files of
    Weft, so that an edit of the compiler is a new version. Two machines that installed the same wheel have the same
    stamp. "" if the files were edited after `imported`, because the running code is older than the files."""
    llvmlite: Any = import_module("llvmlite")
    said = [*sys.version_info, platform.machine(), sys.platform, np.__version__, llvmlite.__version__]
    home = Path(__file__).resolve().parent.parent.parent
    files = list(_files(home))
    if any(changed * 1e-9 >= imported for _, _, changed in files):
        return ""
    said += _as_installed(home, files) or files
    return blake2b(repr(said).encode(), digest_size=6).hexdigest()


def _as_installed(home: Path, files: Sequence[tuple[str, int, int]]) -> list[str]:
    """The hashes of the compiler's files, as the installer of a wheel has recorded them. Nothing if there is no such
    record, or if a file was added, removed or changed since."""
    record = next(home.parent.glob(f"{home.name}-*.dist-info/RECORD"), None)
    if record is None:
        return []
    folders = tuple(f"{home.name}/{floor}/" for floor in _FLOORS)
    lines = [line for line in record.read_text(encoding="utf-8").splitlines() if line.startswith(folders)]
    hashes = sorted(line for line in lines if ".py,sha256=" in line)
    recorded = Counter((path.rpartition("/")[2], int(size)) for path, _, size in (h.rsplit(",", 2) for h in hashes))
    written = record.stat().st_mtime_ns
    same = recorded == Counter((name, size) for name, size, _ in files) and all(at <= written for _, _, at in files)
    return hashes if same else []


def _files(home: Path) -> Iterator[tuple[str, int, int]]:
    """The names, sizes and times (in nanoseconds) of the compiler's Python files. `home` is the folder of the
    package."""
    found = False
    for floor in _FLOORS:
        for folder, folders, names in os.walk(home / floor):
            folders.sort()
            for name in sorted(name for name in names if name.endswith(".py")):
                status, found = os.stat(os.path.join(folder, name)), True
                yield name, status.st_size, status.st_mtime_ns
    if not found:  # Weft is not installed as plain files: its version number must do
        weft: Any = import_module("weft")
        yield weft.__version__, 0, 0
