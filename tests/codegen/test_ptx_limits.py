"""What a GPU has only so much of: shared memory for copies, 32 bits for counters; and fields that share a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from weft.codegen.nvptx.target import libdevice
from weft.ir.mapping.layouts import layouts_of
from weft.ir.ops import Kernel
from weft.ir.schedule import Privatized
from weft.ir.scopes import Scope
from weft.ir.storage.dense import Term
from weft.ir.storage.path import Cells
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.mapping.privatize_in_blocks import LIMITS, with_copies
from weft.ir.types import Prim, Tensor, f32, f64, i32

__all__ = ["compiling"]  # a fixture

needs_libdevice = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")


@pytest.mark.parametrize(
    "words", [[2], [256], [4096], [4096, 4096], [3000, 3000, *[25] * 8], [4096, *[100] * 40], [25] * 300, [7, 4000, 90]]
)
@pytest.mark.parametrize("type", [i32, f64])
def test_copies_fit_the_memory_of_a_block(words: list[int], type: Prim) -> None:
    words = [4 * size // type.size for size in words]
    shares = [Privatized(Scope(f"field:{k}"), 0, 0, size, "add", type, 0) for k, size in enumerate(words)]
    copies = [share.copies for share in with_copies(shares)]
    assert sum(type.size * count * size for count, size in zip(copies, words, strict=True)) <= LIMITS.total
    assert set(copies) <= {1, 2, 4, 8, 16, 32}
    assert all(a >= b for (m, a), (n, b) in product(zip(words, copies, strict=True), repeat=2) if m < n)


@needs_libdevice
def test_many_histograms_in_one_loop(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    targets = [ti.field(ti.i32, size) for size in (3000, 3000, *[25] * 8)]

    @ti.kernel
    def count():
        for i in range(1 << 20):
            for target in ti.static(targets):
                target[i % target.shape[0]] += 1

    ptx = compiled(device, count)
    assert len(re.findall(r"\.shared \.align 16 \.b8 count_0_share_\d+", ptx)) == len(targets)
    assembled(ptx, 90, tmp_path)


@needs_libdevice
def test_long_loops_step_in_64_bits(compiling: Callable[..., Recorder]) -> None:
    """A grid of 2**22 blocks of 1024 threads is too many for 32: their number would be 0, and the loop without end."""
    device = compiling()
    x = ti.field(ti.i64, 9)

    @ti.kernel
    def long(n: ti.i64):
        for i in range(n):
            x[i % 9] = i

    @ti.kernel
    def short(n: ti.i32):
        for i in range(n):
            x[i % 9] = i

    for kernel, wide in ((long, True), (short, False)):
        compiled(device, kernel, 5)
        text = device.loaded[-1].llvm
        grid = re.search(r"(%\w+) = call i32 @llvm\.nvvm\.read\.ptx\.sreg\.nctaid\.x\(\)", text)
        assert grid is not None
        assert (f"zext i32 {grid[1]} to i64" in text) is wide
        assert (f"mul i32 {grid[1]}" in text) is not wide


@needs_libdevice
@pytest.mark.parametrize(("size", "ptx", "fits"), [(20, 80, True), (25, 80, False), (60, 83, True), (64, 83, False)])
def test_arguments_that_a_launch_can_hand_over(
    size: int, ptx: int, fits: bool, compiling: Callable[..., Recorder], tmp_path: Path
) -> None:
    device = compiling(ptx=ptx)
    matrix = ti.types.matrix(size, size, ti.i32)

    @ti.kernel
    def trace(m: matrix) -> ti.i32:
        return m.trace()

    given = [[0] * size for _ in range(size)]
    if fits:
        assembled(compiled(device, trace, matrix(given)), 90, tmp_path)
    else:
        with pytest.raises(ti.CompilationError, match=r"have \d+ bytes, but a launch on this GPU can have at most"):
            trace(matrix(given))


def test_layouts_of_fields_of_one_name() -> None:
    """Fields in a list have one. Each is what it is, not what the last of them is."""
    far = FieldSymbol.dense("x", i32, (1 << 30,), 0, (0,), (Term(0, 1, 1 << 30, 4),))
    near = FieldSymbol.dense("x", Tensor(f32, (2,)), (100,), 1, (0, 4), (Term(0, 1, 100, 8),))
    layouts = layouts_of(Kernel("k", (), (), (far, near)))
    assert layouts.near == {Scope("field:x.1")}
    assert layouts.cells == {Scope("field:x.1"): Cells(8, 0, 8)}
