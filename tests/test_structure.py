"""The house rules that no linter knows: the list of packages, sizes of files and functions, what importing costs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("ir", "codegen", "runtime", "lang", "demos")
SOURCES = sorted(path for folder in FLOORS for path in (ROOT / folder).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
FILE_CAP, FUNCTION_CAP, DEMO_CAP, TARGET_CAP = 500, 60, 150, 300


def _declared_packages() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("packages = [", 1)[1].split("]", 1)[0]
    return [line.strip().strip('",') for line in block.splitlines() if line.strip()]


def test_the_list_of_packages_is_the_tree() -> None:
    for_checkers = {"weft.stubs"} | {f"weft.{path.parent.name}" for path in ROOT.glob("stubs/modules/*/__init__.py")}
    found = (
        {"weft"}
        | for_checkers
        | {
            "weft." + ".".join(path.parent.relative_to(ROOT).parts)
            for folder in FLOORS
            for path in (ROOT / folder).rglob("__init__.py")
        }
    )
    assert set(_declared_packages()) == found
    assert (ROOT / "py.typed").exists()


def test_the_rooms_of_lang_are_told() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text()
    table = page.split("### The rooms of `lang/`", 1)[1].split("\n\n", 3)[2]
    names = {name for line in table.splitlines() for name in re.findall(r"`(\w+)/?`", line.split("|")[1])}
    lang = ROOT / "lang"
    files = {path.stem for path in lang.glob("*.py") if path.name != "__init__.py"}
    found = files | {path.parent.name for path in lang.glob("*/__init__.py")}
    assert names == found, f"docs/contributing.md and lang/ differ in {sorted(names ^ found)}"


@pytest.mark.parametrize("folder", [*FLOORS, "tests", "__init__.py"])
def test_sizes(folder: str) -> None:
    paths = [path for path in [*SOURCES, *TESTS, ROOT / "__init__.py"] if path.relative_to(ROOT).parts[0] == folder]
    assert paths
    for path in paths:
        _check_sizes(path)


def _check_sizes(path: Path) -> None:
    text = path.read_text()
    cap = DEMO_CAP if path.parent == ROOT / "demos" else FILE_CAP
    assert len(text.splitlines()) <= cap, f"{path} is longer than {cap} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= FUNCTION_CAP, f"{path}:{node.lineno} {node.name} has {lines} lines"


@pytest.mark.parametrize("target", ["amdgcn", "wasm"])
def test_a_target_is_small(target: str) -> None:
    files = (ROOT / "codegen" / target).rglob("*.py")
    assert sum(len(path.read_text().splitlines()) for path in files) < TARGET_CAP


def test_public_names_have_docstrings() -> None:
    missing: list[str] = []
    for path in SOURCES:
        if path.parent.name == "demos":
            continue
        tree = ast.parse(path.read_text())
        if ast.get_docstring(tree) is None and path.read_text().strip():
            missing.append(str(path.relative_to(ROOT)))
        for node in tree.body:
            public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
            if public and ast.get_docstring(node) is None:
                missing.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not missing, "no docstring: " + ", ".join(missing)


def test_files_named_in_the_code_are_there() -> None:
    """By their names, or by their last folders as well."""
    there = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")]
    for path in SOURCES:
        for name in re.findall(r"`([\w/]+\.py)`", path.read_text(encoding="utf-8")):
            assert any(f"/{one}".endswith(f"/{name}") for one in there), f"{path}: `{name}` is not there"


# `import weft` imports none of this. A kernel from the disk cache is translated, and needs no more.
HEAVY = ("matplotlib", "cuda", "torch", "PIL")
UNNEEDED = (
    "llvmlite",
    "importlib.resources",
    "difflib",
    "weft.lang.kernels.kernel",
    "weft.ir.artifact",
    "weft.ir.storage.layout",
)
COMPILER = ("weft.ir.ops", "weft.ir.pipeline", "weft.codegen")
TRANSLATOR = ("weft.lang.translate.kernels", "weft.ir.tree")
WARM = """
import weft as ti
ti.init(arch=ti.cpu)
x = ti.field(ti.f32, 8)
@ti.kernel
def k():
    for i in x:
        x[i] += 1
k()
"""


def _imported(code: str, names: Sequence[str], **environment: str) -> list[str]:
    """Which of those modules a program has imported when it ends."""
    code += f"\nimport sys; print([name for name in {names} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    found: list[str] = ast.literal_eval(run.stdout)
    return found


def test_importing_weft_is_light() -> None:
    already = _imported("import numpy", UNNEEDED)  # by the interpreter's own start
    assert _imported("import weft", (*HEAVY, *UNNEEDED, *TRANSLATOR, *COMPILER)) == already


def test_a_kernel_from_the_cache_needs_no_compiler(tmp_path: Path) -> None:
    cache = {"WEFT_OFFLINE_CACHE": "1", "WEFT_OFFLINE_CACHE_FILE_PATH": str(tmp_path)}
    assert _imported(WARM, COMPILER, **cache) == list(COMPILER)
    assert _imported(WARM, (*HEAVY, *COMPILER), **cache) == []
