"""Turn object files into callable code, by LLVM's ORC JIT with one library per kernel.

A JIT keeps 9 KiB of names and tables for each library that it has removed. Each JIT therefore takes a limited number of
libraries and is closed with the last of them, so the memory that dropped kernels leave behind is bounded by the number
of live kernels.

Undefined symbols of an object are resolved from the exports of the process: the C library, the helpers that compilers
call (f64 to f16 is one, on a CPU without an instruction for it), and the libraries that the object names.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any

from weft.ir.errors import InternalError
from weft.runtime import system
from weft.runtime.forks import forkable, gate

__all__ = ["Code", "Loader", "emit"]

# LLVM has two linkers. The older one allocates the memory of code and of data separately. If another library has
# reserved most of the nearby addresses, as CUDA's driver does, the two are further apart than code can address, and
# LLVM ends the process. The newer linker allocates one piece. (It is the default on macOS, and still new on Windows.)
_TOGETHER = sys.platform == "linux"

# The number of libraries of one JIT. Making a JIT takes 1.5 ms, about four times as long as loading a small kernel.
_MOST_LIBRARIES = 32


class Code:
    """Machine code in memory, for the lifetime of this object. `code[name]` is the address of a function."""

    __slots__ = ("__weakref__", "_tracker")

    def __init__(self, tracker: Any, jit: _Jit) -> None:
        self._tracker = tracker
        _close_with(self, tracker, jit)  # the JIT must outlive its libraries

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])


class _Jit:
    """LLVM's linker for a number of libraries. `engine` is closed when this object and all its Code objects are
    gone."""

    __slots__ = ("__weakref__", "engine", "libraries")

    def __init__(self, engine: Any) -> None:
        self.engine, self.libraries = engine, 0
        _close_with(self, engine)


class Loader:
    """Loads object files into this process. It is cheap to create: LLVM is imported with the first object."""

    def __init__(self) -> None:
        self._jit: _Jit | None = None
        self._lock = forkable(Lock())

    def load(
        self,
        code: bytes,
        functions: Sequence[str],
        libraries: Sequence[str] = (),
        symbols: Mapping[str, int] = MappingProxyType({}),
        parts: Sequence[bytes] = (),
    ) -> Code:
        """Link the object file `code` into the process, so that its `functions` can be called. It may refer to
        `symbols`, which are addresses by name, and to functions of `parts`, which are other object files. Raises
        InternalError if a symbol is missing."""
        with self._lock:
            jit = self._jit_with_room()
            jit.libraries += 1
            name = f"weft.{jit.libraries}"
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
            tracker = builder.link(jit.engine, name)
        except RuntimeError as error:
            raise InternalError(f"loading {', '.join(functions)}: {error}") from error
        return Code(tracker, jit)

    def _jit_with_room(self) -> _Jit:
        """Return the JIT for the next library."""
        if self._jit is not None and self._jit.libraries < _MOST_LIBRARIES:
            return self._jit
        from llvmlite import binding

        _initialize(binding)
        for library in system.support_libraries():
            binding.load_library_permanently(library)
        self._jit = _Jit(binding.create_lljit_compiler(_target_machine(binding), use_jit_link=_TOGETHER))
        return self._jit


def _close_with(owner: Any, one: Any, *keeps: Any) -> None:
    """Close the LLVM object when its owner is gone. (It is held from outside until then. Otherwise the garbage
    collector would close an object of a cycle without the gate, and a fork would not know that LLVM is busy.)"""
    weakref.finalize(owner, _close, one, *keeps).atexit = False


def _close(one: Any, *_: Any) -> None:
    with gate:  # LLVM has locks of its own
        one.close()


def emit(text: str) -> bytes:
    """Compile LLVM IR text to an object file for this processor, quickly and without optimization."""
    from llvmlite import binding

    _initialize(binding)
    machine: Any = _target_machine(binding)
    module: Any = binding.parse_assembly(text)
    module.triple = binding.get_default_triple()
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


def _initialize(binding: Any) -> None:
    binding.initialize_native_target()  # these return at once if already initialized
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # for the inline assembly `pause` of the pool


def _target_machine(binding: Any) -> Any:
    """Return a target machine without the optimizer (opt=0), which would take five times as long as the rest. With
    `vzeroupper`, LLVM would clear the upper halves of registers at the end of functions that must preserve them
    (`preserve_allcc`)."""
    features = binding.get_host_cpu_features().flatten()
    if "+avx" in features.split(","):
        features += ",-vzeroupper"
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=0, jit=True)
