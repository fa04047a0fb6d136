"""GPUs apart from their spellings: what `codegen/gpu` writes names no target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weft.codegen.amdgcn.dialect import dialect as amdgcn
from weft.codegen.amdgcn.target import AmdTarget
from weft.codegen.gpu.dialect import GpuDialect
from weft.codegen.gpu.simt import _KINDS
from weft.codegen.nvptx.dialect import dialect as nvptx
from weft.ir.artifact import CudaTarget
from weft.ir.simt import SIMT

GPU = Path(__file__).resolve().parents[2] / "codegen" / "gpu"
SPELLINGS = r"nvvm|\bptx|PTX|sreg|libdevice|__nv_|amdgcn|amdgpu|syncscope\(|asm sideeffect \"[^\"]"
DIALECTS = [nvptx(CudaTarget()), amdgcn(AmdTarget("gfx90a")), amdgcn(AmdTarget("gfx1100"))]


@pytest.mark.parametrize("path", sorted(GPU.glob("*.py")), ids=lambda path: path.stem)
def test_no_target_is_spelled_out(path: Path) -> None:
    assert re.findall(SPELLINGS, path.read_text()) == []


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_each_op_on_blocks_and_warps_has_one_writer(dialect: GpuDialect) -> None:
    assert not _KINDS.keys() & dialect.simt.keys()
    assert _KINDS.keys() | dialect.simt.keys() == SIMT.keys()
