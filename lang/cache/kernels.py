"""Compiled kernels from the disk: looked up before a kernel is translated, kept after it was compiled.

The key is the fingerprint of all that the kernel can look up, with its arguments, the options, the machine and the
versions of all that takes part in compiling. An entry holds the code, and which of the things that the fingerprint met
the kernel uses: its field trees, and the names whose values are constants in it.
"""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, replace
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.archive import ArchiveError, pack, unpack
from weft.ir.artifact import Artifact
from weft.ir.errors import WeftError
from weft.lang.cache.fingerprint import Fingerprint, fingerprint
from weft.lang.captures import Attributes
from weft.lang.init import imported_at, threads_of
from weft.lang.translate.contract import Loss

__all__ = ["Found", "Lookup", "keeping", "look_up", "open_store", "version_stamp"]

_log = logging.getLogger("weft")

_BY_PLACE = b"see the key with the place\n"  # an entry in place of a kernel whose messages name files and lines


class Found:
    """A kernel that was kept: `run` launches it, `trees` and `captures` are as a translation gives them."""

    def __init__(self, run: Callable[..., Any], trees: Sequence[Any], captures: Sequence[tuple[Any, str, Any]]) -> None:
        self.run, self.trees, self.captures = run, trees, captures


class Lookup:
    """One kernel's place in the store."""

    def __init__(self, store: Any, key: str, walked: Fingerprint, walk: Callable[[], Fingerprint]) -> None:
        self._store, self.key, self._walked, self._walk = store, key, walked, walk

    def find(self, device: Any) -> Found | None:
        """The kernel, ready to run on `device`; None if it is not kept, or cannot be used."""
        data = self._store.get(self.key)
        if data == _BY_PLACE:
            data = self._store.get(self._key_here())
        if data is None:
            return None
        try:
            artifact, head = unpack(data)
            trees = [self._walked.trees[number] for number in head["trees"]]
            captures = [self._capture(*pair) for pair in head["captures"]]
            losses = [self._loss(*loss) for loss in head["losses"]]
            found = Found(device.load(artifact), trees, captures)
        except (ArchiveError, WeftError, LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            _log.info("an entry of the cache cannot be used (%s): compiling anew", error)
            return None
        for loss in losses:
            loss.warn()
        return found

    def _loss(self, text: str, file: str, line: int, number: int | None) -> Loss:
        space = {} if number is None else self._walked.spaces[number]
        if not isinstance(space, dict):
            raise TypeError("a warning is about a function, with globals")
        return Loss(str(text), str(file), int(line), space)

    def _capture(self, number: int, name: str, of_object: bool) -> tuple[Any, str, Any]:
        if of_object:
            owner = self._walked.objects[number]
            return Attributes(owner), name, getattr(owner, name)
        space = self._walked.spaces[number]
        return space, name, space[name] if isinstance(space, dict) else space.cell_contents

    def _number(self, space: Any) -> tuple[int | None, bool]:
        """The number of a namespace or cell, or of an object that has attributes elsewhere; and whether it is such."""
        if isinstance(space, Attributes):
            return self._walked.number_of_object(space.owner), True
        return self._walked.number_of_space(space), False

    def keep(self, artifact: Artifact, translation: Any) -> None:
        """Keep a kernel just compiled, if the key says all that it depends on."""
        walked = self._walked
        trees = [walked.number_of_tree(tree) for tree in translation.trees]
        numbered = [(name, *self._number(space)) for space, name, _ in translation.captures]
        captures = [(number, name, of_object) for name, number, of_object in numbered]
        losses = [(one.text, one.file, one.line, walked.number_of_space(one.space)) for one in translation.losses]
        whole = None not in trees and all(number is not None for number, _, _ in captures)
        still = self._walk().key() == walked.key()  # whatever ran meanwhile, here or in another thread
        if not whole or not still or not walked.explains(translation.reads, translation.ran):
            _log.debug("kernel %s is not kept: it depends on more than its key says", artifact.name)
            return
        try:
            data = pack(artifact, {"trees": trees, "captures": captures, "losses": losses})
        except ArchiveError as error:
            _log.debug("kernel %s is not kept: %s", artifact.name, error)
            return
        placed = bool(losses) or any(site.kind != "print" for site in artifact.sites)
        self._store.put(self._key_here() if placed else self.key, data)
        if placed:
            self._store.put(self.key, _BY_PLACE)

    def _key_here(self) -> str:
        """The key of a kernel whose messages name files and lines."""
        return _hashed(f"{self.key} {self._walked.place()}")


def look_up(program: Any, function: Any, arguments: Sequence[Any], results: Sequence[Any]) -> Lookup | None:
    """The place of a kernel with those arguments; None where nothing is kept."""
    store = program.store
    if store is None:
        return None

    def roots(made: Fingerprint) -> None:
        made.function(function, runs=False)
        for argument in arguments:
            made.say(argument.name, argument.type)
            made.value(argument.annotation)
            made.value(argument.value)
        made.value(list(results))

    def walk() -> Fingerprint:
        return fingerprint(roots)

    options = astuple(replace(program.config, random_seed=0, threads=threads_of(program.device)))
    try:
        walked = walk()
        lines = walked.place() if program.config.line_info else ""
        key = _hashed(f"{walked.key()} {options} {_target(program)} {lines}")
    except Exception as error:  # the walk meets objects of all kinds, and what they do is no reason to fail
        _log.debug("kernel %s is not kept: %s: %s", function.__name__, type(error).__name__, error)
        return None
    return Lookup(store, key, walked, walk)


def _hashed(text: str) -> str:
    return blake2b(text.encode(), digest_size=20).hexdigest()


def _target(program: Any) -> str:
    """What machine the code is for."""
    if program.arch == "cpu":
        return _native_target()
    library = import_module("weft.codegen.cuda_target").libdevice()
    stamp = "" if library is None else f"{library} {library.stat().st_mtime_ns}"
    return f"{_native_target()} {program.device.target} {stamp}"


@cache
def _native_target() -> str:
    binding = import_module("llvmlite.binding")
    binding.initialize_native_target()
    features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_default_triple()} {binding.get_host_cpu_name()} {features}"


def keeping(program: Any) -> Callable[[str], bytes]:
    """What makes an object file of LLVM IR for this machine, and keeps it with the program's kernels."""

    def emitted(text: str) -> bytes:
        from weft.runtime.jit import emit

        if program.store is None:
            return emit(text)
        key = _hashed(f"{_native_target()} {text}")
        code = program.store.get(key)
        if code is None:
            code = emit(text)
            program.store.put(key, code)
        return bytes(code)

    return emitted


def open_store(chosen: dict[str, Any]) -> Any:
    """The store that the options of `init` ask for; None if they want none."""
    if not chosen.get("offline_cache", True):
        return None
    from weft.runtime.cache import Store, cache_folder

    version = version_stamp()
    if not version:
        _log.debug("the files of Weft were changed since they were imported: kernels are not kept")
        return None
    path = chosen.get("offline_cache_file_path")
    given = {
        "most_bytes": chosen.get("offline_cache_max_size_of_files"),
        "policy": chosen.get("offline_cache_cleaning_policy"),
        "cleaning": chosen.get("offline_cache_cleaning_factor"),
    }
    folder = cache_folder(path)
    if folder is None:
        _log.warning("there is no home folder, kernels are not kept: set WEFT_CACHE_DIR")
        return None
    return Store(folder, version, **{name: value for name, value in given.items() if value is not None})


@cache
def version_stamp() -> str:
    """A number for the versions of all that takes part in compiling: Python, numpy, llvmlite, and the very files of
    Weft, so that an edit of the compiler is another version. "" if they were edited since this process read them."""
    llvmlite: Any = import_module("llvmlite")
    said = [*sys.version_info, platform.machine(), sys.platform, np.__version__, llvmlite.__version__]
    said += (files := list(_files(Path(__file__).resolve().parent.parent.parent)))
    if any(changed * 1e-9 >= imported_at for _, _, changed in files):
        return ""
    return blake2b(repr(said).encode(), digest_size=6).hexdigest()


def _files(home: Path) -> Iterator[tuple[str, int, int]]:
    """Names, sizes and times (in nanoseconds) of the Python files of the compiler, the package being at `home`."""
    found = False
    for floor in ("lang", "ir", "codegen", "runtime"):
        for folder, folders, names in os.walk(home / floor):
            folders.sort()
            for name in sorted(name for name in names if name.endswith(".py")):
                status, found = os.stat(os.path.join(folder, name)), True
                yield name, status.st_size, status.st_mtime_ns
    if not found:  # Weft is not in plain files: its version must do
        weft: Any = import_module("weft")
        yield weft.__version__, 0, 0
