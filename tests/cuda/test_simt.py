"""What the threads of a block and of a warp do together: `ti.simt`, on a GPU, and in blocks of emulated threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

ALL = 0xFFFFFFFF


def test_a_block_reverses_what_it_shares(ti: Any) -> None:
    x = ti.field(ti.i32, 192)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(192):
            pad = ti.simt.block.SharedArray((64,), ti.i32)
            pad[i % 64] = i
            ti.simt.block.sync()
            x[i] = pad[63 - i % 64]

    run()
    assert (x.to_numpy() == np.arange(192).reshape(3, 64)[:, ::-1].ravel()).all()


@pytest.mark.unverified
@pytest.mark.parametrize("block_dim", [32, 40, 96])
def test_kernels_that_count_their_threads_are_graphs_too(ti: Any, block_dim: int) -> None:
    """The driver refuses a node whose block has another size than the code requires."""
    x, total = ti.field(ti.i32, 192), ti.field(ti.i32, ())

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            x[i] = i
        ti.loop_config(block_dim=block_dim)
        for i in range(n):
            x[i] += 1000 * ti.simt.block.thread_idx()
        total[None] = x[5] + x[ti.max(n, 1) - 1]

    run(192)
    (instance,) = run._instances.values()
    assert instance.run._module.graph is not None
    i = np.arange(192)
    want = i + 1000 * (i % block_dim)
    assert (x.to_numpy() == want).all()
    assert total[None] == want[5] + want[191]
    run(0)
    assert (x.to_numpy() == i).all()


@pytest.mark.parametrize("n", [64, 100, 31])
def test_threads_know_who_they_are(ti: Any, n: int) -> None:
    x = ti.Vector.field(2, ti.i32, n)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=40)
        for i in range(n):
            x[i] = [ti.simt.block.thread_idx(), ti.global_thread_idx()]

    run()
    i = np.arange(n)
    assert (x.to_numpy() == np.stack([i % 40, i], 1)).all()


def test_iterations_of_a_box_are_numbered_through(ti: Any) -> None:
    x, y = ti.field(ti.i32, (6, 16)), ti.field(ti.i32, (4, 3, 8))

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i, j in ti.ndrange((1, 5), (2, 14)):
            x[i, j] = ti.simt.block.global_thread_idx()
        ti.loop_config(block_dim=32)
        for i, j, k in y:
            y[i, j, k] = ti.simt.block.global_thread_idx()

    run()
    assert (x.to_numpy()[1:5, 2:14].ravel() == np.arange(48)).all()
    assert (y.to_numpy().ravel() == np.arange(96)).all()


def test_shared_arrays_of_vectors_and_matrices(ti: Any) -> None:
    x, y = ti.Vector.field(3, ti.f32, 64), ti.Matrix.field(2, 2, ti.f64, 64)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(64):
            v = ti.simt.block.SharedArray(64, ti.math.vec3)
            m = ti.simt.block.SharedArray((8, 8), ti.types.matrix(2, 2, ti.f64))
            v[i] = ti.Vector([i, 2 * i, 3 * i])
            m[i // 8, i % 8] = ti.Matrix([[i, 1], [2, i * i]])
            m[i // 8, i % 8][0, 1] += 0.5
            ti.simt.block.sync()
            x[i] = v[(i + 1) % 64]
            y[i] = m[i % 8, i // 8]
            assert v.shape[0] == 64

    run()
    i, j = (np.arange(64) + 1) % 64, np.arange(64) % 8 * 8 + np.arange(64) // 8
    assert (x.to_numpy() == i[:, None] * np.array([1, 2, 3])).all()
    assert (y.to_numpy() == np.stack([[[k, 1.5], [2, k * k]] for k in j])).all()


def test_atomics_on_shared_memory(ti: Any) -> None:
    n = 4 * 64
    x, bins = ti.field(ti.i32, n), ti.field(ti.i32, 10)
    x.from_numpy(np.arange(n, dtype=np.int32) ** 2 % 10)

    @ti.kernel
    def histogram():
        ti.loop_config(block_dim=64)
        for i in range(n):
            own = ti.simt.block.SharedArray((10,), ti.i32)
            t = i % 64
            if t < 10:
                own[t] = 0
            ti.simt.block.sync()
            own[x[i]] += 1
            ti.simt.block.sync()
            if t < 10:
                bins[t] += own[t]

    histogram()
    assert (bins.to_numpy() == np.bincount(np.arange(n) ** 2 % 10, minlength=10)).all()


def test_blocks_vote(ti: Any) -> None:
    x = ti.Vector.field(3, ti.i32, 192)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(192):
            ones = ti.simt.block.sync_count_nonzero(i % 3 == 0)
            every = ti.simt.block.sync_all_nonzero(i >= 64)
            some = ti.simt.block.sync_any_nonzero(i > 150)
            x[i] = [ones, every, some]

    run()
    third = [sum(i % 3 == 0 for i in range(k, k + 64)) for k in (0, 64, 128)]
    want = np.repeat(np.array([[third[0], 0, 0], [third[1], 1, 0], [third[2], 1, 1]]), 64, 0)
    assert (x.to_numpy() == want).all()


def test_shuffles(ti: Any) -> None:
    x, y = ti.Vector.field(5, ti.i32, 64), ti.Vector.field(4, ti.f32, 64)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(64):
            w = ti.simt.warp
            x[i] = [
                w.shfl_sync_i32(ALL, i, 3),
                w.shfl_up_i32(ALL, i, 2),
                w.shfl_down_i32(ti.u32(ALL), i, 2),
                w.shfl_xor_i32(ALL, i, 5),
                w.shfl_sync_i32(ALL, i, i + 1),
            ]
            f = i + 0.5
            y[i] = [
                w.shfl_sync_f32(ALL, f, 3),
                w.shfl_up_f32(ALL, f, 2),
                w.shfl_down_f32(ALL, f, 2),
                w.shfl_xor_f32(ALL, f, 5),
            ]

    run()
    i = np.arange(64)
    lane, first = i % 32, i // 32 * 32
    up = np.where(lane >= 2, i - 2, i)
    down = np.where(lane < 30, i + 2, i)
    want = np.stack([first + 3, up, down, first + (lane ^ 5), first + (lane + 1) % 32], 1)
    assert (x.to_numpy() == want).all()
    assert (y.to_numpy() == want[:, :4] + 0.5).all()


def test_votes_and_matches_of_a_warp(ti: Any) -> None:
    x, masks = ti.Vector.field(7, ti.i32, 64), ti.field(ti.u32, 64)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(64):
            w = ti.simt.warp
            w.sync(ALL)
            masks[i] = w.active_mask()
            x[i] = [
                w.all_nonzero(ALL, i + 1),
                w.all_nonzero(ALL, i),
                w.any_nonzero(ALL, i == 7),
                w.unique(ALL, i < 32),
                w.ballot(i % 4 == 1),
                w.match_any(ALL, i % 5),
                w.match_all(ALL, i // 32),
            ]

    run()
    i = np.arange(64)
    ballot = sum(1 << k for k in range(32) if k % 4 == 1)
    same = [sum(1 << k for k in range(32) if (j // 32 * 32 + k) % 5 == j % 5) for j in i]
    want = [[1, int(j >= 32), int(j < 32), 1, ballot, same[j], ALL] for j in i]
    assert (x.to_numpy() == np.array(want, np.uint32).view(np.int32)).all()
    assert (masks.to_numpy() == ALL).all()


def test_sums_of_warps_and_blocks(ti: Any) -> None:
    n = 256
    x, total = ti.field(ti.f32, n), ti.field(ti.f32, ())
    x.from_numpy(np.arange(n, dtype=np.float32))

    @ti.kernel
    def add():
        ti.loop_config(block_dim=128)
        for i in range(n):
            parts = ti.simt.block.SharedArray((4,), ti.f32)
            value = x[i]
            for k in ti.static(range(5)):
                value += ti.simt.warp.shfl_down_f32(ALL, value, 16 >> k)
            thread = i % 128
            if thread % 32 == 0:
                parts[thread // 32] = value
            ti.simt.block.sync()
            if thread == 0:
                total[None] += parts[0] + parts[1] + parts[2] + parts[3]

    add()
    assert total[None] == n * (n - 1) / 2


@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "i64"])
def test_subgroups(ti: Any, dtype: str) -> None:
    prim, g = getattr(ti, dtype), ti.simt.subgroup
    x = ti.Vector.field(9, prim, 32)
    whole = ti.field(ti.i32, 32)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(32):
            v = ti.cast((i * 7) % 11, prim)
            x[i] = [
                g.reduce_add(v),
                g.reduce_max(v),
                g.reduce_min(v - 3),
                g.inclusive_add(v),
                g.exclusive_add(v),
                g.inclusive_max(v),
                g.broadcast(v, 5),
                g.broadcast_first(v + 1),
                g.shuffle_xor(v, 1),
            ]
            g.barrier()
            whole[i] = g.elect() + 2 * g.all_true(i < 32) + 4 * g.any_true(i == 40) + 8 * g.all_equal(i // 32)
            whole[i] += 16 * g.group_size() + 1000 * g.invocation_id()

    run()
    v = np.arange(32) * 7 % 11
    running = np.cumsum(v)
    flat = np.ones(32, int)
    columns = [running[-1] * flat, v.max() * flat, (v.min() - 3) * flat, running, running - v]
    columns += [np.maximum.accumulate(v), v[5] * flat, (v[0] + 1) * flat, v[np.arange(32) ^ 1]]
    assert (x.to_numpy() == np.stack(columns, 1)).all()
    assert (whole.to_numpy() == (np.arange(32) == 0) + 2 + 8 + 16 * 32 + 1000 * np.arange(32)).all()


def test_subgroups_of_bits(ti: Any) -> None:
    g, x = ti.simt.subgroup, ti.Vector.field(7, ti.i32, 32)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(32):
            x[i] = [
                g.reduce_and(i | 64),
                g.reduce_or(i),
                g.reduce_xor(i + 1),
                g.exclusive_and(i | 8),
                g.exclusive_or(i),
                g.exclusive_min(i - 3),
                g.exclusive_max(i - 3),
            ]

    run()
    i, rows = np.arange(32), list[Any]()
    for k in i:
        least = i[:k].min() - 3 if k else 2**31 - 1
        most = i[:k].max() - 3 if k else -(2**31)
        some = np.bitwise_or.reduce(i[:k]) if k else 0
        rows.append([64, 31, np.bitwise_xor.reduce(i + 1), np.bitwise_and.reduce(i[:k] | 8), some, least, most])
    assert (x.to_numpy() == np.array(rows)).all()


@pytest.mark.parametrize("tile", [4, 8])
def test_tiled_matmul_and_transpose(ti: Any, tile: int) -> None:
    n = 4 * tile
    a, b, c, d = (ti.field(ti.f32, (n, n)) for _ in range(4))

    @ti.kernel
    def multiply():
        ti.loop_config(block_dim=tile * tile)
        for number in range(n * n):
            block, thread = number // (tile * tile), number % (tile * tile)
            row, column = thread // tile, thread % tile
            i, j = block // (n // tile) * tile + row, block % (n // tile) * tile + column
            left = ti.simt.block.SharedArray((tile, tile), ti.f32)
            right = ti.simt.block.SharedArray((tile, tile), ti.f32)
            total = 0.0
            for step in range(n // tile):
                left[row, column] = a[i, step * tile + column]
                right[row, column] = b[step * tile + row, j]
                ti.simt.block.sync()
                for k in range(tile):
                    total += left[row, k] * right[k, column]
                ti.simt.block.sync()
            c[i, j] = total

    @ti.kernel
    def transpose():
        ti.loop_config(block_dim=tile * tile)
        for number in range(n * n):
            block, thread = number // (tile * tile), number % (tile * tile)
            row, column = thread // tile, thread % tile
            first, second = block // (n // tile) * tile, block % (n // tile) * tile
            held = ti.simt.block.SharedArray((tile, tile + 1), ti.f32)
            held[row, column] = a[first + row, second + column]
            ti.simt.block.sync()
            d[second + row, first + column] = held[column, row]

    x, y = np.random.default_rng(0).random((2, n, n), np.float32)
    a.from_numpy(x)
    b.from_numpy(y)
    multiply()
    transpose()
    assert np.allclose(c.to_numpy(), x @ y, rtol=1e-4)
    assert (d.to_numpy() == x.T).all()


def test_more_shared_memory_than_code_may_bring(ti: Any) -> None:
    x = ti.field(ti.f32, 64)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(64):
            large = ti.simt.block.SharedArray((60, 256), ti.f32)
            small = ti.simt.block.SharedArray((32,), ti.f64)
            for k in range(60):
                large[k, i % 32] = k * i
            small[i % 32] = i
            ti.simt.block.sync()
            total = 0.0
            for k in range(60):
                total += large[k, (i + 1) % 32]
            x[i] = total + small[(i + 2) % 32]

    run()
    i = np.arange(64)
    block = i // 32 * 32
    assert (x.to_numpy() == 1770 * (block + (i + 1) % 32) + block + (i + 2) % 32).all()


def test_sums_beside_barriers(ti: Any) -> None:
    x, total = ti.field(ti.i32, 96), ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        most = 0
        ti.loop_config(block_dim=32)
        for i in range(90):
            own = ti.simt.block.SharedArray((32,), ti.i32)
            own[i % 32] = i
            ti.simt.block.mem_sync()
            ti.simt.grid.memfence()
            ti.simt.block.sync()
            x[i] += 1
            total[None] += own[i % 32]
            ti.atomic_max(most, i)
        return most

    assert run() == 89
    assert total[None] == 89 * 90 // 2
    assert (x.to_numpy() == (np.arange(96) < 90)).all()
