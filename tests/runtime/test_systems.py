"""The runtime's native code is valid for every system, and the doctor can see this one."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from weft import codegen, runtime
from weft.runtime import doctor, system
from weft.runtime.guard_ir import guard_ir
from weft.runtime.launch import runtime_ir

CONSTANTS = {"THREADS", "VECTOR_MATH", "SUPPORT", "CATCHES_FAULTS"}
NAMES = CONSTANTS | {"physical_memory", "stack_limit", "cpu_name", "reserve", "commit", "release", "advise", "resident"}


@pytest.mark.parametrize(
    ("name", "triple", "pause"),
    [
        ("linux", "x86_64-unknown-linux-gnu", "pause"),
        ("linux", "aarch64-unknown-linux-gnu", "isb"),
        ("darwin", "arm64-apple-macosx14.0.0", "isb"),
        ("darwin", "x86_64-apple-macosx11.0.0", "pause"),
        ("windows", "x86_64-pc-windows-msvc", "pause"),
    ],
)
def test_native_code_is_valid(name: str, triple: str, pause: str) -> None:
    module = importlib.import_module(f"weft.runtime.system_{name}")
    assert set(module.__all__) == NAMES
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text = replaced(runtime_ir(), system.THREADS.text(), module.THREADS.text())
    guards = guard_ir(triple.startswith("x86_64-unknown-linux"))
    text = replaced(text, guard_ir(system.CATCHES_FAULTS), guards)
    text = re.sub(r'sideeffect "\w+"', f'sideeffect "{pause}"', text)
    native = llvm.parse_assembly(text)
    native.triple = triple
    native.verify()
    llvm.initialize_native_asmparser()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=0)
    if pause == "pause":  # llvmlite has the assembly parser of the host only
        assert len(machine.emit_object(native)) > 1000


def replaced(text: str, old: str, new: str) -> str:
    """The text with a part of it replaced, which must be there once."""
    assert text.count(old) == 1
    return text.replace(old, new)


def repeated_labels(text: str) -> list[str]:
    """Labels that a function of that LLVM IR has twice. LLVM's parser makes one block of the two."""
    found = list[str]()
    for body in re.split(r"^define ", text, flags=re.MULTILINE)[1:]:
        counts = Counter(re.findall(r"^\s*([\w.$-]+):", body, flags=re.MULTILINE))
        found += [f"{body.partition('(')[0].split()[-1]} {label}" for label, count in counts.items() if count > 1]
    return found


def test_labels_are_unique_in_each_function() -> None:
    twice = "define void @f() {\na:\n  br label %b\nb:\n  br label %a\na:\n  ret void\n}\n"
    assert repeated_labels(twice) == ["@f a"]
    assert repeated_labels(twice.replace("b:", "}\ndefine void @g() {\nb:")) == []
    texts = {"guards": guard_ir(True), "no guards": guard_ir(False), "runtime": runtime_ir()}
    for package in (codegen, runtime):
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            texts |= {f"{info.name}.{name}": text for name, text in vars(module).items() if isinstance(text, str)}
    assert sum(text.count("\ndefine ") for text in texts.values()) > 100
    assert {name: labels for name, text in texts.items() if (labels := repeated_labels(text))} == {}


def test_facts() -> None:
    found = doctor.facts()
    assert {"python", "processor", "features", "threads", "memory", "cuda driver", "cache"} <= set(found)
    assert all(found.values())
    assert all(name in doctor.report() for name in found)
    assert system.threads_available() >= 1
    assert system.physical_memory() > 1 << 20


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "here"))
    assert doctor.cache_folder() == tmp_path / "here"
    assert doctor.folder_size(tmp_path / "here") == 0
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a").write_bytes(b"123")
    assert doctor.folder_size(tmp_path / "here") == 3
    monkeypatch.delenv("WEFT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert doctor.cache_folder() == tmp_path / "weft"


@pytest.mark.skipif(sys.platform == "win32", reason="there homes are found by other means")
def test_without_a_home_nothing_is_kept(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import pwd
from weft.runtime import cache
from weft.lang.program.store import open_store
def nobody(_):
    raise KeyError("uid not found")
pwd.getpwuid = nobody
print(cache.cache_folder(), open_store({}, float("inf")), cache.cache_folder("here"))
""")
    for home in ({}, {"HOME": "not/absolute"}):
        command = [sys.executable, str(program)]
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        done = subprocess.run(command, capture_output=True, text=True, env={**kept, **home})
        assert done.stdout == "None None here\n", done.stderr
        assert "WEFT_CACHE_DIR" in done.stderr
