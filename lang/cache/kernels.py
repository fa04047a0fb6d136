"""The disk cache of compiled kernels. A kernel is looked up after its translation and stored after its compilation.

The key is the text of the kernel's tree (`ir/tree_key.py`), with the options, the machine, and the versions of all
parts of the compiler. Later stages of the compiler see nothing of a kernel except its tree. A program therefore never
gets code that was made of another program, whatever Python code it runs during compilation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from weft.ir.archive import ArchiveError, pack, unpack
from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.ir.tree_key import describe
from weft.lang.program.backends import threads_of
from weft.lang.program.store import hashed, native_target, native_triple

if TYPE_CHECKING:
    from weft.ir.artifact import Artifact
    from weft.ir.tree import KernelTree
    from weft.runtime.device import Device

__all__ = ["Entry", "entry_of", "key_of"]

_log = logging.getLogger("weft")

_NATIVE = CompileConfig().cpu_features  # all features of the host
_BY_PLACE = b"see the key with the place\n"  # for a kernel whose messages name files and lines


class Entry:
    """The entry of one kernel in the store. `words` lists what its code depends on besides its tree. `lines` is true if
    it also depends on files and lines."""

    def __init__(self, store: Any, tree: KernelTree, words: str, lines: bool) -> None:
        self._store = store
        text, self._spans = describe(tree)
        self._key = hashed(f"{text}\n{words}\n{self._places() if lines else ''}")

    def find(self, device: Device) -> Callable[..., Any] | None:
        """Load the kernel on `device`. Returns None if it is not stored, or cannot be used."""
        data = self._store.get(self._key)
        if data == _BY_PLACE:
            data = self._store.get(self._key_here())
        if data is None:
            return None
        try:
            loaded: Callable[..., Any] = device.load(unpack(data))
        except (ArchiveError, WeftError, RuntimeError) as error:
            _log.info("cannot use an entry of the cache (%s): compiling the kernel again", error)
            return None
        return loaded

    def holds(self) -> bool:
        """Return whether the kernel is stored."""
        data = self._store.get(self._key)
        return (self._store.get(self._key_here()) if data == _BY_PLACE else data) is not None

    def keep(self, artifact: Artifact) -> None:
        """Store the code of the kernel."""
        data = pack(artifact)
        if not any(site.kind != "print" for site in artifact.sites):
            self._store.put(self._key, data)
            return
        self._store.put(self._key_here(), data)
        self._store.put(self._key, _BY_PLACE)

    def _key_here(self) -> str:
        """Return the key of a kernel whose messages name files and lines."""
        return hashed(f"{self._key} {self._places()}")

    def _places(self) -> str:
        return "\n".join(map(repr, self._spans))


def entry_of(program: Any, tree: KernelTree, config: CompileConfig | None = None) -> Entry | None:
    """Return the entry of a kernel in the program's store; None if nothing is stored. `config` is None for that of the
    program."""
    if program.store is None:
        return None
    chosen: CompileConfig = program.config if config is None else config
    return Entry(program.store, tree, _words(program, chosen), bool(chosen.line_info))


def key_of(program: Any, tree: KernelTree) -> str:
    """Return a hash of everything that the code of a kernel depends on."""
    return hashed(f"{describe(tree)[0]}\n{_words(program, program.config)}")


def _words(program: Any, config: CompileConfig) -> str:
    return f"{_options(config, threads_of(program.device))} {_target(program, config)}"


@lru_cache(64)
def _options(config: CompileConfig, threads: int) -> str:
    return str(astuple(replace(config, random_seed=0, threads=threads)))


def _target(program: Any, config: CompileConfig) -> str:
    """Return a description of the machine that the code is for. Code for a level of x86-64 is the same on all machines,
    so an entry that another machine made can be used."""
    own = program.backend.lowered_as == "cpu" and config.cpu_features != _NATIVE
    machine = f"{native_triple()} {config.cpu_features}" if own else native_target()
    return f"{machine} {program.backend.depends_on(program.device)}"
