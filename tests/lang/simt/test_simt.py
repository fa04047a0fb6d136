"""What is said of `ti.simt` where it cannot be: on other arches, outside of parallel loops, with wrong operands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft as ti
from tests.null_device import NullDevice
from weft.codegen.nvptx.target import libdevice
from weft.ir.artifact import CudaTarget
from weft.ir.target import CUDA
from weft.lang.errors import CompilationError
from weft.lang.program import init as state

ALL = 0xFFFFFFFF


@pytest.fixture
def cuda() -> Iterator[None]:
    """A program whose kernels are compiled for a GPU, and not run."""
    ti.init(arch=ti.cpu)
    program, device = state.program(), NullDevice()
    program.config = dataclasses.replace(program.config, arch="cuda", traits=CUDA)
    setattr(device, "target", CudaTarget(90, 83))  # noqa: B010 - a null device has none
    program._device = device
    yield
    ti.reset()


@pytest.mark.parametrize("arch", ["cpu", "python"])
def test_other_arches(arch: str) -> None:
    ti.init(arch=arch)

    @ti.kernel
    def waits():
        for _ in range(8):
            ti.simt.block.sync()

    @ti.kernel
    def shares():
        for i in range(8):
            pad = ti.simt.block.SharedArray(8, ti.f32)
            pad[i] = 1.0

    @ti.kernel
    def votes() -> ti.i32:
        total = 0
        for i in range(8):
            total += ti.simt.warp.ballot(i)
        return total

    for kernel, said, marked in (
        (
            waits,
            "ti.simt.block.sync works only on arch=ti.cuda, because threads of a GPU execute it together",
            "ti.simt.block.sync()",
        ),
        (
            shares,
            f"because threads of a GPU execute it together; this is arch=ti.{arch}",
            "ti.simt.block.SharedArray(8, ti.f32)",
        ),
        (votes, "ti.simt.warp.ballot works only on arch=ti.cuda", "ti.simt.warp.ballot(i)"),
    ):
        with pytest.raises(CompilationError) as caught:
            kernel()
        text = str(caught.value)
        assert said in text
        line = next(line for line in text.splitlines() if marked in line)
        carets = text.splitlines()[text.splitlines().index(line) + 1]
        assert carets == " " * line.index(marked) + "^" * len(marked)


def test_outside_of_kernels() -> None:
    for function in (ti.simt.block.sync, ti.simt.warp.active_mask, ti.simt.subgroup.invocation_id):
        with pytest.raises(CompilationError, match=r"works only in kernels of arch=ti\.cuda"):
            function()


def before_the_loop() -> None:
    pad = ti.simt.block.SharedArray(8, ti.f32)
    for i in range(8):
        pad[i] = 1.0


def in_a_serial_loop() -> None:
    ti.loop_config(serialize=True)
    for _ in range(8):
        ti.simt.warp.sync(ALL)


def of_unknown_shape() -> None:
    for i in range(8):
        pad = ti.simt.block.SharedArray(i, ti.f32)
        pad[0] = 1.0


def of_no_shape() -> None:
    for _ in range(8):
        ti.simt.block.SharedArray((4, 0), ti.f32)


def of_structs() -> None:
    for _ in range(8):
        ti.simt.block.SharedArray(4, ti.types.struct(a=ti.f32))


def with_too_few() -> None:
    for i in range(8):
        ti.simt.warp.shfl_sync_i32(ALL, i)


def of_vectors() -> None:
    for i in range(8):
        ti.simt.warp.shfl_sync_f32(ALL, ti.Vector([i, i]), 0)


def with_too_many_threads() -> None:
    ti.loop_config(block_dim=2048)
    for _ in range(8):
        ti.simt.block.sync()


def as_a_value() -> None:
    for _ in range(8):
        pad = ti.simt.block.SharedArray(4, ti.f32)
        other = pad + 1
        print(other)


def as_a_loop() -> None:
    for _ in range(8):
        pad = ti.simt.block.SharedArray(4, ti.f32)
        for x in ti.static(pad):
            print(x)


def with_a_wrong_index() -> None:
    for i in range(8):
        pad = ti.simt.block.SharedArray((4, 4), ti.f32)
        pad[i] = 1.0


@pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (before_the_loop, "a SharedArray is memory of a block of threads: use it in a parallel loop"),
        (in_a_serial_loop, "'warp_sync' is an operation of the threads of a block: use it in a parallel loop"),
        (of_unknown_shape, "an extent must be known at compile time"),
        (of_no_shape, r"the extents of a SharedArray must be at least 1, got \(4, 0\)"),
        (of_structs, "the elements of a SharedArray must be numbers, vectors or matrices, not"),
        (with_too_few, "ti.simt.warp.shfl_sync_i32 takes 3 arguments, got 2"),
        (of_vectors, "ti.simt.warp.shfl_sync_f32 takes numbers, not a value of type i32x2"),
        (with_too_many_threads, "block_dim=2048 is too large: a block can have at most 1024 threads"),
        (as_a_value, "an array cannot be used as a value here: write an index"),
        (as_a_loop, "a loop over an array cannot be unrolled"),
        (with_a_wrong_index, "array .pad. has 2 axes, got 1"),
    ],
)
def test_mistakes(body: Callable[..., Any], said: str, cuda: None) -> None:
    with pytest.raises(CompilationError, match=said) as caught:
        ti.kernel(body)()
    assert "test_simt.py" in str(caught.value)
    assert "^^^" in str(caught.value)
