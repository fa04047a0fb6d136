"""A target is a folder, a row and a package: one more is added to a copy of Weft, and compiles."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.compat import is_arch_supported
from weft.lang.program.backends import BACKENDS

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("ir", "codegen", "runtime", "lang")
KERNEL = '''\
"""ARM's 64-bit CPUs."""

from weft.codegen.cpu.kernel import emit_kernel
from weft.codegen.llvm import cross
from weft.codegen.llvm.cross import CrossTarget
from weft.ir.artifact import Artifact
from weft.ir.target import Target

TARGET = CrossTarget("aarch64-unknown-linux-gnu", "neoverse-n1", vectorize=True)
MAPPED_TO = Target("cpu", frozenset({"neon"}), threads=1)


def compile_kernel(kernel, config, timer=None, functions=()):
    module = emit_kernel(kernel, config, MAPPED_TO.features, functions)
    text = module.text(cross.header(TARGET))
    code = cross.object_code(text, TARGET, config.opt_level)
    made = {"llvm": text, "native": TARGET, "sites": tuple(module.sites)}
    return Artifact(kernel.symbol, "aarch64", code, "weft_entry", module.slots, **made)
'''
ROW = """

def _for_aarch64(request):
    from weft.codegen.aarch64.kernel import compile_kernel

    return compile_kernel(request.kernel, request.config, request.timer, request.functions)


def _map_to_aarch64(config, machine):
    from weft.codegen.aarch64.kernel import MAPPED_TO

    return MAPPED_TO


BACKENDS["aarch64"] = _WASM32._replace(arch="aarch64", compile=_for_aarch64, mapping=_map_to_aarch64)
"""
PROGRAM = """
import re

import weft as ti

ti.init(arch=ti.cpu, offline_cache=False)
x = ti.field(ti.f32, 1024)


@ti.kernel
def scale(a: ti.f32):
    for i in x:
        x[i] = a * x[i] + 1


stages = scale.stages(2.0).on("aarch64")
assert stages.object[:4] == b"\\x7fELF" and stages.object[18] == 183, stages.object[:20]
assert re.search(r"fm(ul|la)\\s+v\\d+\\.4s", stages.asm), stages.asm
print(stages.artifact.target)
"""


def test_a_target_is_added(tmp_path: Path) -> None:
    copy = tmp_path / "weft"
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", copy)
    folder, rows = copy / "codegen" / "aarch64", copy / "lang" / "program" / "backends.py"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""ARM."""\n')
    (folder / "kernel.py").write_text(KERNEL)
    rows.write_text(rows.read_text() + ROW)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join([str(tmp_path), *(entry for entry in sys.path if entry.endswith("-packages"))])
    run = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "aarch64\n"


def test_an_arch_that_is_none() -> None:
    assert {name: one.arch for name, one in BACKENDS.items()} == {name: name for name in BACKENDS}


def _compares_an_arch(node: ast.Compare) -> bool:
    """Whether a side is the name of an arch: a string, or `cpu`, `cuda` and `python` of `init`."""
    sides = [part for side in (node.left, *node.comparators) for part in getattr(side, "elts", [side])]
    if any(isinstance(side, ast.Attribute) and side.attr == "type" for side in sides):
        return False  # of a device of torch
    strings = {side.value for side in sides if isinstance(side, ast.Constant)}
    names = {side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "") for side in sides}
    return not (strings.isdisjoint(BACKENDS) and names.isdisjoint({"cpu", "cuda", "python"}))


@pytest.mark.parametrize("floor", PARTS)
def test_no_arch_is_compared_by_name(floor: str) -> None:
    """The record of an arch, its traits and the target say how it differs."""
    found = list[str]()
    for path in sorted((ROOT / floor).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            patterns = [case.pattern for case in node.cases] if isinstance(node, ast.Match) else []
            named = {part.value for one in patterns for part in ast.walk(one) if isinstance(part, ast.Constant)}
            if (isinstance(node, ast.Compare) and _compares_an_arch(node)) or not named.isdisjoint(BACKENDS):
                found.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    assert not found


def test_targets_without_a_device_are_refused_by_init() -> None:
    with pytest.raises(WeftError, match=r"can compile for arch=wasm32, but cannot run it: see kernel\.stages"):
        ti.init(arch="wasm32")
    assert [is_arch_supported(arch) for arch in ("cpu", "python", "amdgcn", "wasm32", "vulkan")] == [
        *(True, True),
        *(False, False, False),
    ]
