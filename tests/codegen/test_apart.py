"""Versions of blocks that are seldom needed are functions of their own: same results, and the usual version is as
without masks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.codegen.folding import has_lanes
from weft.codegen.cpu import parts
from weft.codegen.llvm import cold_versions as apart
from weft.codegen.llvm import machine

pytestmark = pytest.mark.filterwarnings("ignore::weft.runtime.errors.OutOfBoundsWarning")

SIZE, COUNT = 12, 203
Modules = list[str]


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=2)


@pytest.fixture(params=[1, 8])
def lanes(request: pytest.FixtureRequest) -> int:
    if request.param > 1 and not has_lanes():
        pytest.skip("no lanes")
    return int(request.param)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    """The LLVM modules that kernels become from now on."""
    seen: Modules = []
    compile_object = machine.compile_object

    def noting(text: str, *rest: Any) -> bytes:
        seen.append(text)
        return compile_object(text, *rest)

    monkeypatch.setattr(machine, "compile_object", noting)
    return seen


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every version be long enough."""
    monkeypatch.setattr(apart, "_LEAST", 1)


def cut(modules: Modules) -> list[str]:
    """How the functions begin that were cut out."""
    return re.findall(r"define internal fastcc (?:void|i1) @weft_task\w+_apart\d+\(.*", "\n".join(modules))


def at(grid: Any, i: int, j: int) -> Any:
    """An element of a grid, 0 outside."""
    return grid[i, j] if 0 <= i < SIZE and 0 <= j < SIZE else 0


class Cells:
    """Places in a grid, some of them outside, and what is there."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.bases = rng.integers(-3, SIZE + 2, (COUNT, 2)).astype(np.int32)
        self.values = rng.integers(1, 9, (SIZE, SIZE)).astype(np.int32)
        self.base, self.out = ti.Vector.field(2, ti.i32, COUNT), ti.field(ti.i32, COUNT)
        self.grid, self.other = ti.field(ti.i32, (SIZE, SIZE)), ti.field(ti.i32, (SIZE, SIZE))
        self.base.from_numpy(self.bases)
        self.grid.from_numpy(self.values)


def gather(cells: Cells, lanes: int) -> None:
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in out:
            b = base[p]
            total = p * 1000
            for i, j in ti.static(ti.ndrange(3, 3)):
                total += (i + 2 * j + 1) * grid[b.x + i, b.y + j]
            out[p] = total

    k()
    for p, (x, y) in enumerate(cells.bases):
        total = sum((i + 2 * j + 1) * at(cells.values, x + i, y + j) for i in range(3) for j in range(3))
        assert out[p] == total + 1000 * p


def scatter(cells: Cells, lanes: int) -> None:
    base, grid, other = cells.base, cells.grid, cells.other

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in base:
            b = base[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                grid[b + ti.Vector([i, j])] += p + i
                other[b + ti.Vector([i, j])] += j

    k()
    sums, others = cells.values.copy(), np.zeros_like(cells.values)
    for p, (x, y) in enumerate(cells.bases):
        for i, j in np.ndindex(3, 3):
            if 0 <= x + i < SIZE and 0 <= y + j < SIZE:
                sums[x + i, y + j] += p + i
                others[x + i, y + j] += j
    assert grid.to_numpy().tolist() == sums.tolist()
    assert other.to_numpy().tolist() == others.tolist()


def rounds(cells: Cells, lanes: int) -> None:
    """Loops, a `break` and a `continue` inside."""
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in out:
            b = base[p]
            total = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            for i in range(p % 7):
                if i == 2:
                    continue
                if total > 40:
                    break
                total += grid[b.x + 1, b.y + 1] + i
            out[p] = total

    k()
    for p, (x, y) in enumerate(cells.bases):
        total = sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        for i in range(p % 7):
            if i == 2:
                continue
            if total > 40:
                break
            total += at(cells.values, x + 1, y + 1) + i
        assert out[p] == total


@pytest.mark.parametrize("program", [gather, scatter, rounds])
def test_results(short: None, modules: Modules, lanes: int, program: Callable[[Cells, int], None]) -> None:
    program(Cells(), lanes)
    (head,) = cut(modules)[:1]
    assert ("minsize" in head) == (program is not rounds)  # loops are worth their time
    assert "fastcc void" in head  # its loops are too short to end the task
    assert "<" not in head.partition("(")[2]  # for one lane


def test_the_usual_version_is_as_without_masks(modules: Modules) -> None:
    lengths: list[int] = []
    for masked in (False, True):
        ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=1, mask_out_of_bounds=masked)
        cells = Cells()
        cells.base.fill(4)
        cells.bases[:] = 4
        gather(cells, 8 if has_lanes() else 1)
        (body,) = re.findall(r"define internal void @weft_task0\(.*?\n}", modules[-1], re.DOTALL)
        lengths.append(body.count("\n"))
        assert bool(cut(modules[-1:])) == masked
        assert "weft_tell" not in body
    assert lengths[1] < 1.7 * lengths[0]


def test_short_versions_stay(monkeypatch: pytest.MonkeyPatch, modules: Modules) -> None:
    monkeypatch.setattr(apart, "_LEAST", 10**6)
    scatter(Cells(), 1)
    assert not cut(modules)


def test_a_version_that_reaches_a_local_stays(short: None, modules: Modules, lanes: int) -> None:
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in out:
            b = base[p]
            local = ti.Vector([p, p + 1, p + 2, p + 3])
            local[p % 4] = 7
            local[b.x & 3] += grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            out[p] = local[0] + 2 * local[1] + 3 * local[2] + 4 * local[3]

    k()
    assert not cut(modules)
    for p, (x, y) in enumerate(cells.bases):
        local = [p, p + 1, p + 2, p + 3]
        local[p % 4] = 7
        local[x & 3] += sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert out[p] == sum((k + 1) * value for k, value in enumerate(local))


def test_debug_lines_keep_both_in_one_function(short: None, modules: Modules) -> None:
    ti.init(arch=ti.cpu, offline_cache=False, line_info=True)
    gather(Cells(), 1)
    assert not cut(modules)


def test_in_several_modules(short: None, monkeypatch: pytest.MonkeyPatch, modules: Modules) -> None:
    monkeypatch.setattr(parts, "_LEAST", 1)
    ti.init(arch=ti.cpu, offline_cache=False, compile_threads=2)
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        for p in out:
            b = base[p]
            out[p] = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
        for p in out:
            b = base[p]
            out[p] += grid[b] + grid[b.x - 1, b.y] + grid[b.x, b.y - 1]

    k()
    assert len(cut(modules)) == 2
    for p, (x, y) in enumerate(cells.bases):
        places = ((0, 0), (1, 0), (0, 1), (0, 0), (-1, 0), (0, -1))
        assert out[p] == sum(at(cells.values, x + i, y + j) for i, j in places)


def test_masks_behind_it_have_a_place_for_what_they_tell(short: None, modules: Modules) -> None:
    cells = Cells()
    base, grid, other, count = cells.base, cells.grid, cells.other, ti.field(ti.i32, SIZE)
    count.from_numpy(np.arange(SIZE, dtype=np.int32) * 2)

    @ti.kernel
    def k():
        for p in range(SIZE):
            for j in range(count[p]):
                other[p, j] = j + 1
            grid[base[p]] = -1

    k()
    assert len(cut(modules)) == 1
    assert "fastcc i1" in cut(modules)[0]  # its loop looks for interrupts, which end the task
    assert re.search(r"(%left\d*) = call fastcc i1 @\w+\(.*\n  br i1 \1, label %", modules[-1])
    expected = np.array([[j + 1 if j < 2 * p else 0 for j in range(SIZE)] for p in range(SIZE)])
    assert other.to_numpy().tolist() == expected.tolist()
    for x, y in cells.bases[:SIZE]:
        assert at(grid, x, y) in (0, -1)


@pytest.mark.parametrize("inner", [False, True])
def test_a_version_that_ends_the_round_stays(short: None, modules: Modules, lanes: int, inner: bool) -> None:
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in out:
            b = base[p]
            total = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            if total > 20:
                out[p] = -1
                continue
            out[p] = total + grid[b.x + 1, b.y + 1]

    @ti.kernel
    def rounds():
        ti.loop_config(simd=lanes)
        for p in out:
            for i in range(2):
                b = base[p] + i
                total = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
                if total > 20:
                    out[p] = -1
                    continue
                out[p] = total + grid[b.x + 1, b.y + 1]

    (rounds if inner else k)()
    assert not cut(modules)
    for p, (x, y) in enumerate(cells.bases + int(inner)):
        total = sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert out[p] == (-1 if total > 20 else total + at(cells.values, x + 1, y + 1))


def test_a_version_that_calls_a_recursive_function_stays(short: None, modules: Modules) -> None:
    """It calls what may fill the stack, and then leaves the task."""
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.real_func
    def sum_to(n: ti.i32) -> ti.i32:  # type: ignore[valid-type]  # pyright: ignore
        return 0 if n <= 0 else n + sum_to(n - 1)

    @ti.kernel
    def k():
        for p in out:
            b = base[p]
            total = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            out[p] = sum_to(total) + grid[b.x + 1, b.y + 1]

    k()
    assert "%floor" in "".join(modules)
    assert not cut(modules)
    for p, (x, y) in enumerate(cells.bases):
        total = sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert out[p] == total * (total + 1) // 2 + at(cells.values, x + 1, y + 1)


@pytest.mark.parametrize("within", [False, True])
def test_arrays_that_are_handed_to_functions(short: None, modules: Modules, within: bool) -> None:
    """An array has no register of its own."""
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.real_func
    def third(a: ti.types.ndarray(), p: ti.i32) -> ti.i32:  # type: ignore[valid-type]  # pyright: ignore
        return a[p % 3]

    @ti.kernel
    def k(a: ti.types.ndarray(ti.i32, 1)):  # type: ignore[valid-type]  # pyright: ignore
        for p in out:
            out[p] = third(a, p)
            b = base[p]
            total = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            if ti.static(within):
                total *= third(a, p)
            out[p] += total

    k(np.array([5, 6, 7], np.int32))
    assert cut(modules)
    for p, (x, y) in enumerate(cells.bases):
        total = sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert out[p] == 5 + p % 3 + total * (5 + p % 3 if within else 1)


def test_what_is_computed_before_a_version_is_handed_to_it(short: None, modules: Modules, lanes: int) -> None:
    """A choice, a comparison and a part of a number, which LLVM's text says no type of."""
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k():
        ti.loop_config(simd=lanes)
        for p in out:
            b = base[p]
            low, odd = ti.min(p, 100), p % 2 == 1
            x = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]
            out[p] = (x + low if odd else x - low) + (3 if odd else 5)

    k()
    assert cut(modules)
    for p, (x, y) in enumerate(cells.bases):
        total = sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        assert out[p] == (total + min(p, 100) + 3 if p % 2 == 1 else total - min(p, 100) + 5)


def test_versions_of_serial_code_stay(short: None, modules: Modules) -> None:
    cells = Cells()
    base, grid, out = cells.base, cells.grid, cells.out

    @ti.kernel
    def k(p: ti.i32):  # type: ignore[valid-type]  # pyright: ignore
        b = base[p]
        out[p] = grid[b] + grid[b.x + 1, b.y] + grid[b.x, b.y + 1]

    for p, (x, y) in enumerate(cells.bases[:20]):
        k(p)
        assert out[p] == sum(at(cells.values, x + i, y + j) for i, j in ((0, 0), (1, 0), (0, 1)))
    assert "_apart" not in "".join(modules)
