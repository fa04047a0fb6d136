"""Machine code for machines other than this one: LLVM compiles a module in a separate process.

LLVM ends its process if a target cannot do what a module asks for ("Cannot select ..."). Therefore a child process
compiles, and its output after a failure becomes the message of an error here:

    python -m weft.codegen.llvm.cross object 3 '{"triple": "wasm32", ...}'    < module.ll    > module.o
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from weft.ir.errors import WeftError

__all__ = ["CrossTarget", "assembly", "header", "object_code", "optimized"]

_SECONDS = 600
_REASON = re.compile(r"(?m)^(LLVM ERROR|error|RuntimeError): .*(\n.*){0,3}")
_MOST = 500  # characters of its output to show, if the reason is not found in it


@dataclass(frozen=True)
class CrossTarget:
    """A target of LLVM."""

    triple: str
    processor: str
    features: str = ""  # switches, as "+simd128,-atomics"
    reloc: str = "pic"
    vectorize: bool = False  # loops and straight code
    bitcode: str = ""  # path of a library in LLVM bitcode whose functions may be used


def header(target: CrossTarget) -> str:
    """The first lines of a module."""
    return f'target datalayout = "{_machine(target, 1).target_data}"\ntarget triple = "{target.triple}"\n'


def object_code(text: str, target: CrossTarget, opt_level: int) -> bytes:
    """The object file of a module. Raises WeftError with LLVM's message if the target cannot do what the module asks
    for."""
    return _run("object", text, target, opt_level)


def assembly(text: str, target: CrossTarget, opt_level: int) -> str:
    """The instructions of a module as text."""
    return _run("assembly", text, target, opt_level).decode()


def optimized(text: str, target: CrossTarget, opt_level: int) -> str:
    """The module after LLVM's passes."""
    return _run("llvm", text, target, opt_level).decode()


def _run(kind: str, text: str, target: CrossTarget, opt_level: int) -> bytes:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-m", __name__, kind, str(opt_level), json.dumps(asdict(target))]
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        command, input=text.encode(), env=environment, capture_output=True, check=False, timeout=_SECONDS
    )
    said = run.stderr.decode(errors="replace").strip()
    if "not a recognized processor" in said:  # LLVM goes on with another one
        raise WeftError(f"LLVM does not know the processor {target.processor!r} of {target.triple}")
    if run.returncode:
        found = _REASON.search(said)
        why = found[0] if found else said[-_MOST:]
        raise WeftError(f"LLVM cannot compile this kernel for {target.processor}: {why}")
    return run.stdout


# ---- the child -------------------------------------------------------------------------------------------------------


@cache
def _machine(target: CrossTarget, opt_level: int) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    kind = llvm.Target.from_triple(target.triple)
    return kind.create_target_machine(cpu=target.processor, features=target.features, opt=opt_level, reloc=target.reloc)


def _link(module: Any, path: str, machine: Any) -> None:
    """Link the functions that the module calls from a library; they are its own then."""
    import llvmlite.binding as llvm

    missing = {function.name for function in module.functions if function.is_declaration}
    library = llvm.parse_bitcode(Path(path).read_bytes())
    library.triple, library.data_layout = module.triple, module.data_layout
    given = set[str]()
    for function in library.functions:
        if not function.is_declaration:
            wanted = function.name in missing
            function.linkage = "external" if wanted else "internal"
            given |= {function.name} if wanted else set()
    if lost := sorted(name for name in missing - given if not name.startswith("llvm.")):
        raise WeftError(f"{path} has no function {lost[0]}")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(library, builder)
    module.link_in(library)
    for function in module.functions:
        if function.name in given:
            function.linkage = "internal"


_MAKERS: dict[str, Callable[[Any, Any], bytes]] = {
    "object": lambda machine, module: bytes(machine.emit_object(module)),
    "assembly": lambda machine, module: str(machine.emit_assembly(module)).encode(),
    "llvm": lambda machine, module: str(module).encode(),
}


def _main() -> None:
    from weft.codegen.llvm.machine import optimize, parse

    kind, opt_level, target = sys.argv[1], int(sys.argv[2]), CrossTarget(**json.loads(sys.argv[3]))
    machine = _machine(target, opt_level)
    module = parse(sys.stdin.read())
    if target.bitcode:
        _link(module, target.bitcode, machine)
    optimize(module, machine, opt_level, target.vectorize)
    sys.stdout.buffer.write(_MAKERS[kind](machine, module))


if __name__ == "__main__":
    _main()
