"""Object files become callable code: one ORC JIT per loader, one library in it per kernel.

Symbols that an object leaves undefined are those the process exports: the C library, the helpers that compilers call
(f64 to f16 is one where the CPU has no instruction for it), and the libraries that the object names.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Any

from weft.ir.errors import InternalError
from weft.runtime import system
from weft.runtime.forks import forkable, gate

__all__ = ["Code", "Loader", "emit"]

# LLVM has two linkers. The older one asks for the memory of code and of data separately; where another library has
# reserved most of the addresses around, as CUDA's driver does, they come to lie further apart than code can reach, and
# LLVM ends the process. The newer one asks for one piece. (It is the usual one on macOS, and young for Windows.)
_TOGETHER = sys.platform == "linux"


class Code:
    """Machine code in memory, for as long as this object lives: `code[name]` is the address of a function."""

    __slots__ = ("__weakref__", "_tracker")

    def __init__(self, tracker: Any, loader: Loader) -> None:
        self._tracker = tracker
        _close_with(self, tracker, loader)  # the loader must outlive its libraries

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])


class Loader:
    """Loads object files into this process. Made cheaply; LLVM is imported with the first object."""

    def __init__(self) -> None:
        self._jit: Any = None
        self._lock = forkable(Lock())
        self._names = count()

    def load(
        self,
        code: bytes,
        functions: Sequence[str],
        libraries: Sequence[str] = (),
        symbols: Mapping[str, int] = MappingProxyType({}),
        parts: Sequence[bytes] = (),
    ) -> Code:
        """The object file `code` linked into the process, its `functions` ready to call. `symbols` are addresses that
        it may refer to by name, `parts` other object files with functions that it calls. InternalError if a symbol is
        missing."""
        with self._lock:
            jit = self._jit or self._start()
            name = f"weft.{next(self._names)}"
        from llvmlite import binding

        for library in libraries:
            binding.load_library_permanently(library)
        builder: Any = binding.JITLibraryBuilder()
        for one in (code, *parts):
            builder.add_object_img(one)
        builder.add_current_process()
        for function in functions:
            builder.export_symbol(function)
        for symbol, address in symbols.items():
            builder.import_symbol(symbol, address)
        try:
            tracker = builder.link(jit, name)
        except RuntimeError as error:
            raise InternalError(f"loading {', '.join(functions)}: {error}") from error
        return Code(tracker, self)

    def _start(self) -> Any:
        from llvmlite import binding

        _initialize(binding)
        for library in system.support_libraries():
            binding.load_library_permanently(library)
        self._jit = binding.create_lljit_compiler(_target_machine(binding), use_jit_link=_TOGETHER)
        _close_with(self, self._jit)
        return self._jit


def _close_with(owner: Any, one: Any, *keeps: Any) -> None:
    """Let LLVM let go of it when its owner goes. (Held until then from outside: the collector would close what is part
    of a cycle where nothing says to a fork that LLVM is busy.)"""
    weakref.finalize(owner, _close, one, *keeps).atexit = False


def _close(one: Any, *_: Any) -> None:
    with gate:  # LLVM has locks of its own
        one.close()


def emit(text: str) -> bytes:
    """LLVM IR text as an object file for this processor: quickly, as it stands."""
    from llvmlite import binding

    _initialize(binding)
    machine: Any = _target_machine(binding)
    module: Any = binding.parse_assembly(text)
    module.triple = binding.get_default_triple()
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


def _initialize(binding: Any) -> None:
    binding.initialize_native_target()  # these return at once when it has been done
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # for the pool's inline `pause`


def _target_machine(binding: Any) -> Any:
    """The optimizer is left out (opt=0): it would take five times as long as the rest."""
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=0, jit=True)
