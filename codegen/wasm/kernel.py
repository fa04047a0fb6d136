"""Compiles a lowered kernel to an object file for wasm32: the code of `codegen/cpu` for one thread, with 128-bit SIMD.

    define void @weft_entry(ptr noalias %ctx) { ... }        v128.load  f32x4.add  v128.store

`wasm-ld` links it to a module, alone or with other objects. `weft_entry` takes the same context as on any CPU (see
`ir/artifact.py`): its words have 8 bytes, and a pointer is the low 4. LLVM's vectorizers vectorize the code.

WebAssembly has no math library. With `fast_math`, exp and exp2 are Weft's own. The module imports all other functions
that a kernel calls (sinf, pow, memcpy ...) from the C library under their names there. `imports` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from weft.codegen.cpu.kernel import emit_kernel, target_hooks
from weft.codegen.llvm import cross
from weft.codegen.llvm.cross import CrossTarget
from weft.codegen.llvm.overlap_check import write_check
from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.target import Target

__all__ = ["MAPPED_TO", "TARGET", "compile_kernel", "imports"]

_FEATURES = ("simd128", "bulk-memory", "nontrapping-fptoint", "sign-ext")
TARGET = CrossTarget("wasm32-unknown-unknown", "generic", ",".join(f"+{one}" for one in _FEATURES), vectorize=True)
MAPPED_TO = Target("cpu", frozenset(_FEATURES), threads=1)


def compile_kernel(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any = None,
    functions: Sequence[Kernel] = (),
) -> Artifact:
    """Compile lowered CHI that is mapped to `MAPPED_TO`, with the functions it calls, to an object file. `timer(stage)`
    is called as each stage begins."""
    note = timer or (lambda _stage: None)
    note("emit")
    assert config.target == MAPPED_TO
    module = emit_kernel(kernel, config, frozenset(_FEATURES), functions)
    check = write_check(module, target_hooks(frozenset(_FEATURES), config.fast_math), kernel)
    text = module.text(cross.header(TARGET))
    note("codegen")
    return Artifact(
        name=kernel.symbol,
        target="wasm32",
        code=cross.object_code(text, TARGET, config.opt_level),
        entry="weft_entry",
        slots=module.slots,
        sites=tuple(module.sites),
        llvm=text,
        native=TARGET,
        check=check,
    )


# ---- what an object imports ------------------------------------------------------------------------------------------

_IMPORTS = 2  # the number of that section
_FUNCTION, _TABLE, _MEMORY, _GLOBAL = range(4)


def imports(code: bytes) -> tuple[str, ...]:
    """The functions that an object file, or a module, imports, in alphabetical order."""
    if code[:4] != b"\0asm":
        raise InternalError("codegen: the object file does not begin with the magic number of WebAssembly")
    place = 8
    while place < len(code):
        section = code[place]
        size, place = _number(code, place + 1)
        if section == _IMPORTS:
            return tuple(sorted(_functions(code, place)))
        place += size
    return ()


def _functions(code: bytes, place: int) -> Iterator[str]:
    count, place = _number(code, place)
    for _ in range(count):
        _, place = _name(code, place)  # the module that has it
        name, place = _name(code, place)
        kind, place = code[place], place + 1
        if kind == _FUNCTION:
            yield name
            _, place = _number(code, place)
        elif kind == _GLOBAL:
            place += 2
        else:  # limits; of a table behind the type of its elements
            place += int(kind == _TABLE)
            flags, place = _number(code, place)
            for _ in range(1 + (flags & 1)):
                _, place = _number(code, place)


def _name(code: bytes, place: int) -> tuple[str, int]:
    length, place = _number(code, place)
    return code[place : place + length].decode(), place + length


def _number(code: bytes, place: int) -> tuple[int, int]:
    """An unsigned number in LEB128, and the position after it."""
    value = shift = 0
    while True:
        byte, place = code[place], place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place
