"""Object files become callable code: one ORC JIT per loader, one library in it per object.

Symbols that an object leaves undefined are looked up, in this order:

- `vm_NAME`: the C library's scalar math function NAME (`vm_expf` is `expf`). LLVM does not know the alias, so a call
  keeps the vector variants that its call site declares;
- everything the process exports, the vectorized math library among it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from threading import Lock
from typing import Any

from weft.ir.errors import InternalError
from weft.runtime import system

__all__ = ["Code", "Loader", "emit"]

_MATH = "weft.math"


class Code:
    """Machine code in memory, for as long as this object lives: `code[name]` is the address of a function."""

    __slots__ = ("_loader", "_tracker")

    def __init__(self, tracker: Any, loader: Loader) -> None:
        self._tracker, self._loader = tracker, loader  # the loader must outlive its libraries

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])


class Loader:
    """Loads object files into this process. Made cheaply; LLVM is imported with the first object."""

    def __init__(self) -> None:
        self._jit: Any = None
        self._keep: Any = None
        self._lock = Lock()
        self._names = count()

    def load(self, code: bytes, functions: Sequence[str]) -> Code:
        """The object file `code` linked into the process. InternalError if a symbol is missing."""
        with self._lock:
            jit = self._jit or self._start()
            name = f"weft.{next(self._names)}"
        from llvmlite import binding

        builder: Any = binding.JITLibraryBuilder()
        builder.add_object_img(code).add_jit_library(_MATH).add_current_process()
        for function in functions:
            builder.export_symbol(function)
        try:
            tracker = builder.link(jit, name)
        except RuntimeError as error:
            raise InternalError(f"loading {', '.join(functions)}: {error}") from error
        return Code(tracker, self)

    def _start(self) -> Any:
        from llvmlite import binding

        _initialize(binding)
        for library in (system.vector_math_library(), *system.support_libraries()):
            if library is not None:
                binding.load_library_permanently(library)
        jit = binding.create_lljit_compiler(_target_machine(binding, 1))
        builder: Any = binding.JITLibraryBuilder()
        for function, address in system.math_addresses().items():
            builder.import_symbol("vm_" + function, address)
        self._keep = builder.add_ir("").link(jit, _MATH)
        self._jit = jit
        return jit


def emit(text: str) -> bytes:
    """LLVM IR text as an object file for this processor, lightly optimized."""
    from llvmlite import binding

    _initialize(binding)
    machine: Any = _target_machine(binding, 2)
    module: Any = binding.parse_assembly(text)
    module.triple = binding.get_default_triple()
    module.data_layout = str(machine.target_data)
    options: Any = binding.create_pipeline_tuning_options(speed_level=1)
    passes: Any = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def _initialize(binding: Any) -> None:
    binding.initialize_native_target()  # these return at once when it has been done
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()  # for the pool's inline `pause`


def _target_machine(binding: Any, opt: int) -> Any:
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=opt, jit=True)
