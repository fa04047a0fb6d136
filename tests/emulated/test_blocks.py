"""What the GPU in software does where code for it is wrong, or wide: threads that never meet, several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import weft
from tests import emulated
from tests.emulated import blocks
from weft.codegen.gpu import ops as cuda_ops
from weft.lang.program.init import program
from weft.runtime.cuda_driver import CudaError

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(bool(blocks.missing()), reason=f"what threads do together is not tested: {blocks.missing()}"),
]

ALL = 0xFFFFFFFF


@pytest.fixture
def ti(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`weft` on the emulated GPU."""
    emulated.use(monkeypatch)
    weft.init(arch=weft.cuda, enable_fallback=False)
    yield weft
    weft.reset()


def test_threads_that_wait_for_ever_are_told(ti: Any) -> None:
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(64):
            if i == 5:
                ti.simt.block.sync()
            else:
                x[i] = ti.simt.warp.all_nonzero(ti.u32(ALL), 1)

    with pytest.raises(CudaError, match="threads wait for others that never come"):
        run()


def test_threads_that_come_for_other_things_are_told(ti: Any) -> None:
    x = ti.field(ti.i32, 32)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(32):
            if i < 16:
                x[i] = ti.simt.warp.all_nonzero(ti.u32(ALL), 1)
            else:
                x[i] = ti.simt.warp.any_nonzero(ti.u32(ALL), 1)

    with pytest.raises(CudaError, match="meetings of several kinds"):
        run()


def test_addresses_that_are_not_what_the_code_says_are_told(ti: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_ops, "gcd", lambda *_: 16)
    x, y = ti.field(ti.f32, (400, 131)), ti.field(ti.f32, (400, 131))

    @ti.kernel
    def run():
        for i, j in x:
            y[i, j] = x[i, j] + 1

    with pytest.raises(CudaError, match="an address is no multiple of what the code says"):
        run()


@pytest.mark.parametrize("block_dim", [32, 96, 1024])
def test_parts_of_a_warp_meet_apart(ti: Any, block_dim: int) -> None:
    x = ti.field(ti.i32, 2048)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=block_dim)
        for i in range(2048):
            lane = ti.simt.block.thread_idx() % 32
            if lane < 10:
                for k in range(lane % 2 * 0 + 5):
                    x[i] += ti.simt.warp.shfl_sync_i32(ti.u32(0x3FF), i + k, 3)
            else:
                x[i] = ti.simt.warp.shfl_sync_i32(ti.u32(0xFFFFFC00), i, 31)
                ti.simt.block.sync()
                x[i] += 1

    run()
    i = np.arange(2048)
    number = i % block_dim
    first = i - number % 32
    assert (x.to_numpy() == np.where(number % 32 < 10, 5 * (first + 3) + 10, first + 32)).all()


def test_sums_of_blocks_are_made_by_their_threads(ti: Any) -> None:
    x = ti.field(ti.i64, 100_003)

    @ti.kernel
    def total() -> ti.i64:
        found = ti.i64(0)
        for i in x:
            found += i
        return found

    assert total() == 100_003 * 100_002 // 2
    launches = program().device.driver.launches
    assert max(launch[4] for launch in launches) >= 128


def test_launches_of_several_threads_do_not_mix(ti: Any) -> None:
    @ti.kernel
    def fill(x: ti.types.ndarray(ti.i32, 1), a: ti.i32):
        ti.loop_config(block_dim=64)
        for i in x:
            pad = ti.simt.block.SharedArray((64,), ti.i32)
            pad[i % 64] = i * a
            ti.simt.block.sync()
            x[i] = pad[63 - i % 64]

    def work(a: int) -> bool:
        x = ti.ndarray(ti.i32, 640)
        for _ in range(20):
            fill(x, a)
        return bool((x.to_numpy() == np.arange(640).reshape(-1, 64)[:, ::-1].ravel() * a).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(1, 9)))


def test_modules_go_with_their_kernels(ti: Any) -> None:
    modules = program().device._modules

    def once() -> None:
        @ti.kernel
        def run() -> ti.i32:
            return 5

        assert run() == 5

    once()
    some = len(modules)
    for _ in range(5):
        once()
    deadline = monotonic() + 10  # a thread that is inside of native code delays what other threads release
    while len(modules) > some + 1 and monotonic() < deadline:
        sleep(0.05)
        once()
    assert len(modules) <= some + 1
