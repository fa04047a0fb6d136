"""The targets that LLVM compiles for, in one small table, and the optimization pipeline that they share.

llvmlite lets only one thread at a time into LLVM. LLVM itself requires less: threads must not share a context or a
target machine. `compile_object` follows that rule, and several threads run it at once
(docs/adr/0020-llvm-in-threads.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from weft.codegen.llvm.instruction_sets import NATIVE, instruction_set
from weft.codegen.llvm.kept_objects import KeptObjects
from weft.ir.errors import WeftError

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "HostCpu",
    "Keep",
    "assembly",
    "assembly_of",
    "compile_anew",
    "compile_object",
    "disposing",
    "emit_object",
    "host_cpu",
    "optimize",
    "optimized",
    "parse",
]


_OLDEST_LLVM = (22,)

Keep = Callable[[str, Callable[[], bytes]], bytes]  # what the function gives, or has given for the same text


@dataclass(frozen=True)
class HostCpu:
    """The CPU we run on, or as much of it as is used: its LLVM target machine, name, features, and the header of a
    module for it."""

    machine: Any
    name: str
    features: frozenset[str]
    header: str


@cache
def host_cpu(opt_level: int = 3, cpu_features: str = NATIVE) -> HostCpu:
    """The host with that instruction set, a name of `instruction_sets.py`. WeftError for an LLVM that is too old."""
    import llvmlite.binding as llvm

    _check_version(llvm.llvm_version_info)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    used, machine = instruction_set(cpu_features), _host_machine(opt_level, cpu_features)
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    return HostCpu(machine, used.processor, used.features, header)


def _check_version(found: tuple[int, ...]) -> None:
    """LLVM 20, which llvmlite 0.45 to 0.47 bring, miscompiles loops that keep a minimum or maximum of floats."""
    if found < _OLDEST_LLVM:
        version = ".".join(map(str, found))
        raise WeftError(
            f"Weft needs LLVM {_OLDEST_LLVM[0]}, but the installed llvmlite has LLVM {version}, which compiles "
            'some loops wrongly: type `pip install "llvmlite>=0.48"`'
        )


def _host_machine(opt_level: int, cpu_features: str) -> Any:
    """A target machine of its own, which takes 0.1 ms to create. Above level 1, LLVM schedules instructions again after
    register allocation. That takes an eighth of the time of code generation, CPUs reorder instructions by themselves,
    and no program ran faster."""
    import llvmlite.binding as llvm

    used = instruction_set(cpu_features)
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=used.processor, features=used.switches, opt=min(opt_level, 1), jit=True, reloc="pic", codemodel="small"
    )


def parse(text: str) -> Any:
    """An LLVM module from its text, verified."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    return module


def optimize(module: Any, machine: Any, level: int, vectorize: bool = True) -> None:
    """LLVM's own pipeline at that level, with both vectorizers (they are off by default) if `vectorize`. The machine is
    one that stays."""
    builder = _builder_that_stays(machine, level, vectorize)
    with disposing(builder.getModulePassManager()) as passes:
        passes.run(module, builder)


@contextmanager
def disposing(passes: Any) -> Generator[Any, None, None]:
    """Free the pass manager at the end. (llvmlite never does: the class takes an empty `_dispose` of ObjectRef before
    the right one. A pipeline takes 60 KiB.)"""
    from llvmlite.binding.newpassmanagers import NewPassManager

    try:
        yield passes
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


def _builder(machine: Any, level: int, vectorize: bool) -> Any:
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = vectorize
    tuning.loop_unrolling = True
    return llvm.create_pass_builder(machine, tuning)


_builder_that_stays = cache(_builder)


class _Benches:
    """Target machines with their pass builders, used by one thread at a time and reused by others. llvmlite frees a
    builder only in part: each one leaks 1.5 KiB."""

    def __init__(self, level: int, cpu_features: str) -> None:
        self._level, self._cpu_features = level, cpu_features
        self._free: list[tuple[Any, Any]] = []

    @contextmanager
    def one(self) -> Generator[tuple[Any, Any], None, None]:
        """A machine and a builder that no other thread uses."""
        try:
            bench = self._free.pop()
        except IndexError:
            machine = _host_machine(self._level, self._cpu_features)
            bench = machine, _builder(machine, self._level, True)
        yield bench
        self._free.append(bench)  # (not after an error: it goes)


_benches = cache(_Benches)


def compile_object(
    text: str,
    opt_level: int,
    note: Callable[[str], None] = lambda _stage: None,
    cpu_features: str = NATIVE,
    keep: Keep | None = None,
) -> bytes:
    """The object file of a module for the host, or for one of its instruction sets. Any number of threads may run this
    at once. `note(stage)` is called as each stage begins (optimize, codegen). The same text is compiled once: in this
    process, and by `keep` in all."""

    def make() -> bytes:
        return compile_anew(text, opt_level, note, cpu_features)

    kept = make if keep is None else lambda: keep(f"object {opt_level} {cpu_features}\n{text}", make)
    return _KEPT(kept, opt_level, cpu_features, text)


_KEPT = KeptObjects()


def emit_object(text: str, opt_level: int, cpu_features: str = NATIVE) -> bytes:
    """The object file of a module for the host, without passes. The same text is emitted once."""

    def emit() -> bytes:
        code: bytes = host_cpu(opt_level, cpu_features).machine.emit_object(parse(text))
        return code

    return _KEPT(emit, "plain", opt_level, cpu_features, text)


def compile_anew(text: str, opt_level: int, note: Callable[[str], None], cpu_features: str = NATIVE) -> bytes:
    """As `compile_object`, whatever was compiled before."""
    import llvmlite.binding as llvm

    note("optimize")
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        # (They are closed here, in this order: garbage collection knows none, and LLVM would crash.)
        module.verify()
        with _benches(opt_level, cpu_features).one() as (machine, builder):
            with disposing(builder.getModulePassManager()) as passes:
                _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)
            note("codegen")
            return _emit(machine, module)


def _emit(machine: Any, module: Any) -> bytes:
    """As `emit_object` of llvmlite's target machine."""
    from llvmlite.binding import ffi

    with ffi.OutputString() as error:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not buffer:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@cache
def _unlocked(name: str) -> Any:
    """llvmlite's function of that name without llvmlite's lock around it. (ctypes lets other threads run Python
    meanwhile.) With it, where an llvmlite has none to take away."""
    from llvmlite.binding import ffi

    locked = getattr(ffi.lib, name)
    return getattr(locked, "_cfn", locked)


def optimized(text: str, opt_level: int = 3, cpu_features: str = NATIVE) -> Any:
    """The module that `compile_object` makes machine code of."""
    module = parse(text)
    optimize(module, host_cpu(opt_level, cpu_features).machine, opt_level)
    return module


def assembly(text: str, opt_level: int = 3, cpu_features: str = NATIVE) -> str:
    """What the host's instructions for a module are, as text."""
    return assembly_of(optimized(text, opt_level, cpu_features), opt_level, cpu_features)


def assembly_of(module: Any, opt_level: int = 3, cpu_features: str = NATIVE) -> str:
    """What the host's instructions for an optimized module are, as text."""
    text: str = host_cpu(opt_level, cpu_features).machine.emit_assembly(module)
    return text
