"""Where NVIDIA's math library is looked for, and in which order."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from weft.codegen.nvptx import target

find: Any = target.libdevice.__wrapped__


def _put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    place = folder / target.LIBDEVICE
    place.write_bytes(b"")
    return place


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of packages, which is empty; there is no cuda-pathfinder."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder)])
    monkeypatch.delenv("WEFT_LIBDEVICE", raising=False)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    return folder


def _pathfinder(monkeypatch: pytest.MonkeyPatch, **names: Any) -> None:
    module = ModuleType("cuda.pathfinder")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", module)


@pytest.mark.parametrize("inside", ["nvidia/cu13/nvvm/libdevice", "nvidia/cuda_nvcc/nvvm/libdevice"])
def test_the_wheel_comes_before_other_packages(site: Path, monkeypatch: pytest.MonkeyPatch, inside: str) -> None:
    _put(site / "triton" / "backends" / "nvidia" / "lib")
    wheel = _put(site / inside)
    _pathfinder(monkeypatch, find_bitcode_lib=lambda name: pytest.fail("not needed"))
    assert find() == wheel
    monkeypatch.setenv("WEFT_LIBDEVICE", "/named.bc")
    assert find() == Path("/named.bc")


def test_pathfinder_comes_before_other_packages(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(site / "triton" / "backends" / "nvidia" / "lib")
    _pathfinder(monkeypatch, find_bitcode_lib=lambda name: f"/conda/{name}.bc")
    assert find() == Path("/conda/device.bc")


def test_without_either_another_package_serves(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> str:
        raise RuntimeError(f"no {name}")

    glob = Path.glob  # (a machine's own toolkit is no matter here)
    monkeypatch.setattr(Path, "glob", lambda self, pattern: glob(self, pattern) if self == site else iter(()))
    assert find() is None
    triton = _put(site / "triton" / "backends" / "nvidia" / "lib")
    assert find() == triton
    _pathfinder(monkeypatch)  # older than 1.4
    assert find() == triton
    _pathfinder(monkeypatch, find_bitcode_lib=nothing)
    assert find() == triton


@pytest.mark.skipif(find_spec("cuda") is None or find_spec("cuda.pathfinder") is None, reason="no cuda-pathfinder")
def test_the_real_pathfinder_finds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pathfinder = import_module("cuda.pathfinder")
    _put(tmp_path / "nvvm" / "libdevice")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert issubclass(pathfinder.BitcodeLibNotFoundError, RuntimeError)
    found = target._by_pathfinder()  # that one, or that of a package
    assert found is not None
    assert found.is_file()
    assert found.name == target.LIBDEVICE
