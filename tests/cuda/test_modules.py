"""From PTX to a module of the driver: cubins that are kept, and kernels from the disk cache. A linker in Python stands
in for the driver's; what only a GPU can tell is tried on one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulated.driver import EmulatedDriver
from tests.lang.cache.cached_programs import Session
from weft.lang.program.init import program
from weft.runtime.cache import Store
from weft.runtime.cuda_driver import CudaError
from weft.runtime.cuda_module import load_module

PTX = b".version 7.0\n.target sm_70\n"


class _Assembler(EmulatedDriver):
    """Keeps what it loads in `modules`. `refused`: what is no cubin for this driver."""

    def __init__(self) -> None:
        super().__init__()
        self.refused, self.modules = b"", list[bytes]()

    def load_cubin(self, cubin: bytes) -> int:
        if not cubin.startswith(b"cubin of ") or cubin == self.refused:
            raise self.error(200, "load_cubin")
        return self.load(cubin)

    def load_ptx(self, ptx: bytes) -> int:
        return self.load(ptx)

    def load(self, image: bytes) -> int:
        """The number of the module."""
        self.modules.append(image)
        return len(self.modules)


@pytest.fixture
def assembler() -> _Assembler:
    return _Assembler()


def load(assembler: _Assembler, store: Any, ptx: bytes = PTX, architecture: int = 90) -> list[str]:
    """Loads it; gives what the driver was called for."""
    assembler.calls.clear()
    assert load_module(assembler, "k", ptx, architecture, store) == len(assembler.modules)
    return [name for name in assembler.calls if name in ("assemble", "load_cubin", "load_ptx")]


ANEW, KEPT, PLAIN = ["assemble", "load_cubin"], ["load_cubin"], ["load_ptx"]


def test_assembled_code_is_cached(assembler: _Assembler, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert load(assembler, store) == ANEW
    assert load(assembler, Store(tmp_path)) == KEPT
    assert assembler.modules == [b"cubin of " + PTX] * 2
    assert load(assembler, store, PTX + b"//") == ANEW
    assert load(assembler, store, PTX, 100) == ANEW
    assembler.supported = 13_000
    assert load(assembler, store) == ANEW
    assert load(assembler, store) == KEPT


def test_without_a_store_ptx_is_loaded(assembler: _Assembler) -> None:
    assert load(assembler, None) == PLAIN
    assert assembler.modules == [PTX]


def test_line_tables_are_left_to_the_driver(assembler: _Assembler, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert load(assembler, store, PTX + b"\t.loc\t1 5 0\n") == PLAIN
    assert store.size() == (0, 0)


def test_a_refused_cubin_is_made_anew(assembler: _Assembler, tmp_path: Path) -> None:
    store = Store(tmp_path)
    load(assembler, store)
    (path,) = store.folder.iterdir()
    for bad in (b"", b"\x7fELF and so on"):
        store.put(path.name.partition("-")[2], bad)
        assert load(assembler, store)[-2:] == ANEW
        assert load(assembler, store) == KEPT
    path.write_bytes(path.read_bytes()[:-1])
    assert load(assembler, store) == ANEW


@pytest.mark.parametrize("step", ["assemble", "load_cubin"])
def test_a_driver_that_makes_no_cubins(assembler: _Assembler, tmp_path: Path, step: str) -> None:
    assembler.failing[step] = 801
    store = Store(tmp_path)
    assert load(assembler, store)[-1:] == PLAIN
    assert assembler.modules == [PTX]
    assert store.size() == (0, 0)


def test_ptx_that_cannot_be_assembled(assembler: _Assembler, tmp_path: Path) -> None:
    assembler.failing |= {"assemble": 218, "load_ptx": 218}
    with pytest.raises(CudaError, match="kernel k: load_ptx"):
        load_module(assembler, "k", PTX, 90, Store(tmp_path))


# ---- kernels from the disk -------------------------------------------------------------------------------------------

_PROGRAM = """
import weft as ti
x = ti.field(ti.f32, 1000)
ALL = ti.u32(0xFFFFFFFF)
@ti.kernel
def fill(a: ti.f32) -> ti.f32:
    for i in x:
        x[i] = a * ti.sin(0.0 * i) + i
    total = 0.0
    for i in x:
        total += x[i]
    return total
@ti.kernel
def shift(a: ti.types.ndarray(), by: ti.types.vector(2, ti.f32)):
    ti.loop_config(block_dim=32)
    for i in a:
        lanes = ti.simt.subgroup.reduce_add(ti.cast(1, ti.i32))
        a[i] += x[i] + by[1] * ti.simt.block.thread_idx() + lanes + ti.simt.warp.shfl_sync_i32(ALL, i, 3)
def main():
    a = ti.ndarray(ti.f32, 32)
    seen = [fill(1.0)]
    shift(a, [3, 0.5])
    return seen + a.to_numpy().tolist()
"""
_WANT = [499500.0, *(1.5 * i + 35 for i in range(32))]


@pytest.fixture
def session(ti: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


def test_kernels_come_from_the_cache(session: Session) -> None:
    for how in (session.fresh, session.warm):
        assert how(_PROGRAM, "program.py", arch="cuda", enable_fallback=False) == _WANT
    assert program().arch == "cuda"


def test_cubins_are_kept_and_damage_is_no_harm(gpu: Any, session: Session) -> None:
    def run(how: Any) -> None:
        assert how(_PROGRAM, "program.py", arch="cuda", enable_fallback=False) == _WANT

    def cubins() -> list[Path]:
        return [path for path in (session.cache / "kernels").iterdir() if b"\x7fELF" in path.read_bytes()[45:49]]

    run(session.fresh)
    kept = {path.name: path.read_bytes() for path in cubins()}
    assert len(kept) >= 2
    run(session.warm)
    for bad in (b"", b"no ELF", b"\x7fELF" + bytes(100)):
        for name in kept:
            version, _, key = name.partition("-")
            Store(session.cache, version).put(key, bad)
        run(session.warm)
        assert {path.name for path in cubins()} >= kept.keys()


def test_a_warm_start_compiles_nothing(gpu: Any, tmp_path: Path) -> None:
    """In a process of its own: what would parse, pass or generate is not even imported."""
    script = tmp_path / "program.py"
    asks = "\nti.init(arch=ti.cuda, enable_fallback=False)\n" + _PROGRAM.replace("import weft as ti\n", "")
    tell = "\nimport sys\nprint(main())\nprint(sorted(name for name in sys.modules if name.startswith('weft')))\n"
    script.write_text("import weft as ti" + asks + tell)
    here = {**os.environ, "WEFT_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache"), "WEFT_OFFLINE_CACHE": "1"}
    runs = [subprocess.run([sys.executable, script], env=here, capture_output=True, text=True) for _ in range(2)]
    first, second = (run.stdout.splitlines() for run in runs)
    assert first[0] == second[0] == str(_WANT), [run.stderr for run in runs]
    compilers = ("weft.ir.pipeline", "weft.ir.transforms.licm", "weft.codegen.nvptx.kernel'")
    assert all(name in first[1] for name in compilers)
    assert not any(name in second[1] for name in compilers), second[1]
