"""PTX of what makes kernels fast: wide accesses, unroll-and-jam, sums of vectors; and of `ti.simt`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.assembling import ptxas
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from weft.codegen.nvptx.target import libdevice

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")


def test_neighbours_move_in_one_piece(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x, y, total = ti.field(ti.f32, 1 << 20), ti.field(ti.f32, 1 << 20), ti.field(ti.f32, ())
    a, b = ti.field(ti.f32, (64, 96)), ti.field(ti.f32, (64, 96))
    u, v = ti.field(ti.u8, (64, 96)), ti.field(ti.u8, (64, 97))

    @ti.kernel
    def saxpy(k: ti.f32):
        for i in x:
            y[i] = k * x[i] + y[i]

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def heat():
        for i, j in ti.ndrange((1, 63), (1, 95)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j]

    @ti.kernel
    def count():
        for i, j in ti.ndrange(64, (1, 95)):
            u[i, j] = u[i, j] + 1

    @ti.kernel
    def odd():
        for i, j in ti.ndrange(64, (1, 95)):
            v[i, j] = v[i, j] + 1

    for kernel, loads, stores in ((lambda: saxpy(2.0), 2, 1), (add, 2, 0), (heat, 9, 5), (count, 1, 1), (odd, 0, 0)):
        ptx = compiled(device, kernel)
        assert len(re.findall(r"ld\.global\S*\.v4\.b32", ptx)) == loads
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == stores
        assembled(ptx, 90, tmp_path)


def test_histograms_are_counted_in_the_block(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x, bins, sums = ti.field(ti.u8, 1 << 20), ti.field(ti.i32, 256), ti.Vector.field(2, ti.f32, 64)
    large, seen = ti.field(ti.i32, 1 << 14), ti.field(ti.i32, 256)

    @ti.kernel
    def histogram():
        for i in x:
            bins[x[i]] += 1

    @ti.kernel
    def moments():
        for i in x:
            sums[x[i] % 64] += ti.Vector([1.0, i])

    @ti.kernel
    def others():
        for i in x:
            large[x[i]] += 1
            seen[x[i]] += bins[i % 256]
            if seen[x[i] // 2] > 5:
                large[0] -= 1

    ptx = compiled(device, histogram)
    assert len(re.findall(r"(atom|red)\.shared\.add", ptx)) >= 16
    assert len(re.findall(r"(atom|red)\.global\S*\.add", ptx)) == 1
    assert "ld.global.nc.v4.b32" in ptx
    assembled(ptx, 90, tmp_path)
    ptx = compiled(device, moments)
    assert re.search(r"atom\.shared\.add\.f32", ptx)
    assert "16384 bytes smem" in assembled(ptx, 90, tmp_path) or ptxas() is None
    assert "others_0_share" not in compiled(device, others)


def test_filters_read_each_neighbour_once(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    n = 512
    x, y = ti.Vector.field(3, ti.f32, (n, n)), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def inside():
        for i, j in ti.ndrange((2, n - 2), (2, n - 2)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-2, 3), (-2, 3)):
                total += x[i + p, j + q]
            y[i, j] = total

    @ti.kernel
    def clamped():
        for i, j in y:
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-2, 3), (-2, 3)):
                total += x[ti.max(0, ti.min(n - 1, i + p)), ti.max(0, ti.min(n - 1, j + q))]
            y[i, j] = total

    @ti.kernel
    def large():
        for i, j in ti.ndrange((5, n - 5), (5, n - 5)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-5, 6), (-5, 6)):
                total += x[i + p, j + q]
            y[i, j] = total

    # A row of four pixels and their neighbours: 168 bytes from byte -60 on.
    assert len(re.findall(r"ld\.global\.nc\.v4\.b32", compiled(device, large))) >= 10
    for kernel in (inside, clamped):
        ptx = compiled(device, kernel)
        wide = re.findall(r"ld\.global\.nc\.v4\.b32", ptx)
        pairs = re.findall(r"ld\.global\.nc\.v2\.b32", ptx)
        # A row of four pixels and their neighbours: 96 bytes from byte -24 on.
        assert len(wide) >= 5
        assert len(pairs) >= 1
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) >= 3
        assembled(ptx, 90, tmp_path)


def test_rounds_of_a_loop_stand_side_by_side(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    n = 4096
    x, f = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def attract(count: ti.i32):
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(count):
                d = x[j] - x[i]
                inverse = 1.0 / ti.sqrt(d.dot(d) + 1e-3)
                a += d * (inverse * inverse * inverse)
            f[i] = a

    ptx = compiled(device, attract, 100)
    blocks = [
        (block.count("rsqrt.approx.ftz"), len(re.findall(r"ld\.global\.nc\.v4", block)), block)
        for block in re.split(r"^\$L__BB\w+:", ptx, flags=re.M)
    ]
    loops = {(roots, loads) for roots, loads, block in blocks if roots}
    assert (8, 6) in loops  # eight rounds for one i
    assert (16, 6) in loops  # the same for two i
    assert ".minnctapersm 1" in ptx  # all the registers that it wants
    assert "div." not in ptx
    assembled(ptx, 90, tmp_path)


def test_filters_of_rows_that_begin_anywhere(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Taps are read in whole words, whatever the length of a row is: there is a loop for each place in a word where one
    may begin. Of a field, that its length allows only two of these is seen."""
    device = compiling()
    even, odd = (ti.Vector.field(3, ti.f32, (99, width)) for width in (4106, 4107))
    vectors = ti.types.ndarray(ti.math.vec3, 2)

    @ti.func
    def around(x: ti.template(), i, j):
        total = ti.Vector([0.0, 0.0, 0.0])
        for p, q in ti.ndrange((-5, 6), (-5, 6)):
            total += x[i + p, j + q]
        return total

    @ti.kernel
    def of_field(x: ti.template(), y: ti.template()):
        for i, j in ti.ndrange((5, 94), (5, 4090)):
            y[i, j] = around(x, i, j)

    @ti.kernel
    def of_array(x: vectors, y: vectors):
        for i, j in ti.ndrange((5, 94), (5, 4090)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-5, 6), (-5, 6)):
                total += x[i + p, j + q]
            y[i, j] = total

    arrays = ti.ndarray(ti.math.vec3, (99, 4107)), ti.ndarray(ti.math.vec3, (99, 4107))
    for kernel, arguments, phases in ((of_field, (even, odd), 2), (of_field, (odd, even), 4), (of_array, arrays, 5)):
        ptx = compiled(device, kernel, *arguments)
        assert len(re.findall(r"ld\.global\.nc\.v4\.b32", ptx)) >= 9 * phases
        assembled(ptx, 90, tmp_path)


@pytest.mark.parametrize(
    ("sm", "ptx_version", "wide"), [(90, 83, True), (100, 88, True), (89, 83, False), (90, 80, False)]
)
def test_sums_of_vectors(
    sm: int, ptx_version: int, wide: bool, compiling: Callable[..., Recorder], tmp_path: Path
) -> None:
    device = compiling(sm, ptx_version)
    v, w = ti.Vector.field(2, ti.f32, 1 << 16), ti.Vector.field(3, ti.f32, 1 << 16)
    m = ti.Matrix.field(2, 2, ti.f32, 1 << 16)

    @ti.kernel
    def scatter(n: ti.i32):
        for i in range(n):
            v[i * 7 % 1000] += ti.Vector([1.0, i])
            w[i * 7 % 1000] += ti.Vector([1.0, i, 2.0])
            m[i * 7 % 1000] += ti.Matrix([[1.0, i], [2.0, 3.0]])

    ptx = compiled(device, scatter, 9)
    assert ("red.relaxed.gpu.global.add.v2.f32" in ptx) == wide
    assert ("red.relaxed.gpu.global.add.v4.f32" in ptx) == wide
    assert len(re.findall(r"(atom|red)\.global\.add\.f32", ptx)) == (1 if wide else 9)
    assembled(ptx, sm, tmp_path)


def test_sums_in_the_memory_of_a_block_are_no_wide_ones(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Such an instruction reaches the memory of all threads only."""
    device = compiling(mask_out_of_bounds=False)
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=96)
        for i in x:
            pad = ti.simt.block.SharedArray((288,), ti.f32)
            for k in ti.static(range(3)):
                pad[i % 96 * 3 + k] = 0.0
            ti.simt.block.sync()
            for k in ti.static(range(3)):
                pad[i % 32 * 3 + k] += x[i]
            ti.simt.block.sync()
            x[i] = pad[i % 96]

    ptx = compiled(device, run)
    assert len(re.findall(r"(atom|red)\.shared\.add\.f32", ptx)) == 3
    assert "red.relaxed.gpu.global" not in ptx
    assembled(ptx, 90, tmp_path)


def test_sums_of_rows_of_cells(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Two of three neighbours lie well together, wherever they lie."""
    device = compiling(mask_out_of_bounds=False)  # (else there is a version with masks)
    v, m = ti.Vector.field(2, ti.f32, (99, 64)), ti.field(ti.f32, (99, 64))

    @ti.kernel
    def scatter(n: ti.i32, a: ti.f32):
        for k in range(n):
            base = ti.Vector([k // 60, k % 60])
            for i, j in ti.static(ti.ndrange(2, 3)):
                v[base + ti.Vector([i, j])] += ti.Vector([a, k + j])
                m[base + ti.Vector([i, j])] += a * i

    ptx = compiled(device, scatter, 9, 0.5)
    assert len(re.findall(r"red\.relaxed\.gpu\.global\.add\.v4\.f32", ptx)) == 2
    assert len(re.findall(r"red\.relaxed\.gpu\.global\.add\.v2\.f32", ptx)) == 4
    assert len(re.findall(r"(atom|red)\.global\.add\.f32", ptx)) == 2
    assembled(ptx, 90, tmp_path)


def test_threads_that_work_together(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=96)
        for i in x:
            pad = ti.simt.block.SharedArray((96,), ti.f32)
            pad[i % 96] = x[i]
            ti.simt.block.sync()
            value = ti.simt.warp.shfl_xor_f32(ti.simt.warp.active_mask(), pad[95 - i % 96], 1)
            votes = ti.simt.warp.ballot(value > 0.5) + ti.simt.warp.match_any(0xFFFFFFFF, i)
            x[i] = value + votes + ti.simt.block.sync_count_nonzero(i)

    ptx = compiled(device, run)
    assert ".reqntid 96" in ptx
    for wanted in (
        "st.shared.b32",
        "ld.shared.b32",
        "bar.sync",
        "shfl.sync.bfly",
        "vote.sync.ballot",
        "match.any.sync",
    ):
        assert wanted in ptx, wanted
    assert "barrier.cta.red.popc" in ptx or "bar.red.popc" in ptx or "barrier.red.popc" in ptx
    assert "384 bytes smem" in assembled(ptx, 90, tmp_path) or ptxas() is None
    assert device.loaded[-1].shared == (0,)


def test_shared_memory_beyond_what_code_may_bring(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x = ti.field(ti.f32, 1024)

    def kernel(rows: int) -> Any:
        @ti.kernel
        def run():
            for i in x:
                a = ti.simt.block.SharedArray((rows, 256), ti.f32)
                b = ti.simt.block.SharedArray((5,), ti.f64)
                a[i % rows, i % 256] = i
                b[i % 5] = i
                ti.simt.block.sync()
                x[i] = a[0, i % 256] + b[0]

        return run

    ptx = compiled(device, kernel(100))
    assert device.loaded[-1].shared == (100 * 1024 + 48,)
    assert ".extern .shared" in ptx
    assembled(ptx, 90, tmp_path)
    with pytest.raises(ti.CompilationError, match=r"a block of this GPU \(sm_90\) has only 232448"):
        kernel(300)()


def test_neighbours_in_arrays_move_in_one_piece(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(mask_out_of_bounds=False)  # (else there are two versions, since shapes may differ)

    @ti.kernel
    def saxpy(a: ti.f32, x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = a * x[i] + y[i]

    @ti.kernel
    def heat(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2)):
        for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

    line, plane = ti.ndarray(ti.f32, 1024), ti.ndarray(ti.f32, (64, 64))
    for kernel, args, loads, stores in ((saxpy, (2.0, line, line), 2, 1), (heat, (plane, plane), 9, 5)):
        ptx = compiled(device, kernel, *args)
        assert len(re.findall(r"ld\.global\S*\.v4\.b32", ptx)) == loads
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == stores
        assert not re.search(r"\b(ld|st)\.(b|u|f|s|v)\d", ptx)
        assembled(ptx, 90, tmp_path)


def test_threads_run_along_what_is_written(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """A transpose is the same code whichever way its loop is written; not where iterations draw numbers by place."""
    device = compiling()
    x, y = ti.field(ti.f32, (512, 256)), ti.field(ti.f32, (256, 512))

    def code(outer: int, inner: int, by_rows: bool, drawn: bool = False, shift: int = 0) -> str:
        @ti.kernel
        def run():
            for a, b in ti.ndrange(outer, inner):
                i, j = (b, a) if ti.static(by_rows) else (a, b)
                y[j + shift, i - shift] = x[i, j] + (ti.random() if ti.static(drawn) else 0.0)

        return compiled(device, run)

    ptx = code(512, 256, by_rows=False)
    assert ptx == code(256, 512, by_rows=True)
    assembled(ptx, 90, tmp_path)
    assert code(512, 256, False, drawn=True) != code(256, 512, True, drawn=True)
    assert code(512, 256, False, shift=3) == code(256, 512, True, shift=3)


def test_what_all_threads_read_is_asked_for_ahead(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """In the loop it is loaded behind what is computed, for the next time."""
    device = compiling()
    a, x, y = ti.field(ti.f32, (1024, 512)), ti.field(ti.f32, 1024), ti.field(ti.f32, 512)

    @ti.kernel
    def shared(n: ti.i32):
        for j in range(512):
            total = 0.0
            for i in range(n):
                total += ti.sqrt(x[i] + j)
            y[j] = total

    @ti.kernel
    def own(n: ti.i32):
        for j in range(512):
            total = 0.0
            for i in range(n):
                total += a[i, j] * x[i]
            y[j] = total

    for kernel, ahead in ((shared, True), (own, False)):
        ptx = compiled(device, kernel, 1024)
        blocks = re.split(r"^\$L__BB\w+:", ptx, flags=re.M)
        loops = [block for block in blocks if "ld.global.nc.v4" in block and re.search(r"sqrt|fma", block)]
        starts = [re.search(r"ld\.global\.nc\.v4|sqrt|fma", block) for block in loops]
        assert any(start and not start.group().startswith("ld") for start in starts) == ahead
        assembled(ptx, 90, tmp_path)


def test_vectors_of_three_move_in_half_words(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """12 bytes do not fill words; where neighbours have much in common they are read in words all the same."""
    device = compiling()
    x, y = ti.Vector.field(3, ti.f32, (64, 64)), ti.Vector.field(3, ti.f32, (64, 64))

    @ti.kernel
    def scale():
        for i, j in x:
            y[i, j] = 2 * x[i, j]

    ptx = compiled(device, scale)
    assert len(re.findall(r"ld\.global\.nc\.v2\.b32", ptx)) == 3
    assert len(re.findall(r"st\.global\.v2\.b32", ptx)) == 3
    assert "v4" not in ptx
    assembled(ptx, 90, tmp_path)


def test_warps_share_sums_along_rows(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Only where neighbours read far apart, floats may be added in any order, and nothing else is done in the loop."""
    device = compiling()
    a, x, y = ti.field(ti.f32, (1024, 512)), ti.field(ti.f32, 512), ti.field(ti.f32, 1024)

    @ti.kernel
    def rows():
        for i in range(1024):
            s = 0.0
            for j in range(512):
                s += a[i, j] * x[j]
            y[i] = s

    @ti.kernel
    def columns():
        for j in range(512):
            s = 0.0
            for i in range(1024):
                s += a[i, j] * y[i]
            x[j] = s

    @ti.kernel
    def running():
        for i in range(1024):
            s = 0.0
            for j in range(512):
                s += a[i, j]
                a[i, j] = s

    ptx = compiled(device, rows)
    assert len(re.findall(r"shfl\.sync\.down", ptx)) == 5
    assembled(ptx, 90, tmp_path)
    for other in (columns, running):
        assert "shfl" not in compiled(device, other)
    exact = compiling(fast_math=False)
    a, x, y = ti.field(ti.f32, (1024, 512)), ti.field(ti.f32, 512), ti.field(ti.f32, 1024)
    assert "shfl" not in compiled(exact, rows)


def test_rounds_are_counted_between_quotients(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Of a difference behind a division by a constant, ptxas loses the borrow if it can: the loop did not end."""
    device = compiling()
    cells, pixels, sums = 25, ti.field(ti.i32, 1 << 14), ti.field(ti.f32, 25)

    @ti.kernel
    def gather():
        for c in sums:
            low, high = ti.max(c - 1, 0), ti.min(c + 2, cells)
            for p in range((low << 14) // cells, (high << 14) // cells):
                if pixels[p] == c:
                    sums[c] += p

    ptx = compiled(device, gather)
    assert len(re.findall(r"ld\.global\S*\.b32", ptx)) >= 4  # side by side
    assert re.search(r"shr\.u64\s+%rd\d+, %rd\d+, 2;", ptx)
    assert "mul.wide.u32 \tboth" in ptx
    assembled(ptx, 90, tmp_path)
