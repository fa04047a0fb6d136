"""Memory in lanes: every way in which lanes load, store and add gives what iterations one by one give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti

N = 45  # not a multiple of any vector
TYPES = ("u8", "i32", "f64")


@pytest.fixture(autouse=True)
def exact() -> None:
    ti.init(arch=ti.cpu, fast_math=False, opt_level=1)


@pytest.fixture(params=[True, False], ids=["simplified", "plain"])
def simplified(request: pytest.FixtureRequest) -> None:
    ti.init(arch=ti.cpu, fast_math=False, opt_level=1, advanced_optimization=request.param)


def made(kernel_of: Callable[[int], tuple[Any, list[Any]]]) -> None:
    """Run what `kernel_of(lanes)` makes, one by one and in lanes, and compare its fields."""
    results: list[list[Any]] = []
    for lanes in (1, 4, 64):
        kernel, out = kernel_of(lanes)
        kernel()
        results.append([one.to_numpy() for one in out])
    for found in results[1:]:
        for one, first in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(one, first)
    assert any(np.any(one != 0) for one in results[0])


def numbered(field: Any) -> Any:
    """The field, with numbers that tell where they are."""
    shape = field.to_numpy().shape
    field.from_numpy((np.arange(np.prod(shape)) % 101).reshape(shape).astype(field.to_numpy().dtype))
    return field


@pytest.mark.parametrize("name", TYPES)
def test_places_of_every_kind(simplified: None, name: str) -> None:
    """At constants, side by side, at even distances, and anywhere, of numbers, vectors and structs."""
    dtype = getattr(ti, name)

    def make(lanes: int) -> tuple[Any, list[Any]]:
        pair = ti.types.struct(a=dtype, b=ti.f64, c=dtype)
        x, v, s = ti.field(dtype, (3, N)), ti.Vector.field(3, dtype, N), pair.field(shape=N)
        out, far = [ti.field(dtype, (3, N)), ti.Vector.field(3, dtype, N), pair.field(shape=N)], ti.field(ti.i32, N)
        other = ti.Vector.field(3, dtype, N)
        far.from_numpy(np.random.default_rng(5).permutation(N).astype(np.int32))
        small = ti.field(ti.u8, N)
        small.from_numpy(far.to_numpy().astype(np.uint8))
        numbered(x)
        numbered(v)
        s.a.from_numpy((np.arange(N) % 7).astype(s.a.to_numpy().dtype))
        s.b.from_numpy(np.arange(N) * 0.5)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                k, m = far[i], small[i]
                out[0][1, i] = x[2, i] + x[1, 3] + x[0, k] + x[k % 3, k] + x[1, m] + x[i % 3, N - 1 - i]
                out[0][2, k] = x[0, i // 2] + x[2, i % 16]
                out[1][i][1] = v[i][0] + v[k][2] + v[5][1] + v[i][i % 3] + v[i // 4][k % 3]
                other[k][k % 3] = v[m][1]
                out[2][i].a = s[k].a + s[i].c
                out[2][k].b = s[i].b + s[k].b

        return run, [out[0], out[1], other, out[2].a, out[2].b]

    made(make)


@pytest.mark.parametrize("name", TYPES)
def test_locals_of_each_lane(simplified: None, name: str) -> None:
    """Arrays of which each lane has its own, at places that lanes share, that move with them, and anywhere."""
    dtype = getattr(ti, name)

    def make(lanes: int) -> tuple[Any, list[Any]]:
        out, far = ti.field(dtype, (6, 8)), ti.field(ti.i32, 8)
        far.from_numpy(np.array([3, 1, 7, 0, 2, 6, 5, 4], np.int32))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i, j in ti.ndrange(6, 8):
                v = ti.Vector([0] * 8, dtype)
                for k in range(8):
                    v[k] = k * 3 + j
                v[j] += i
                v[far[j]] += 5
                if j % 3 == 1:
                    v[j] = 2
                    v[i] += 1
                out[i, j] = v[j] + v[i] + v[far[j]] + v[7 - j]

        return run, [out]

    made(make)


def test_a_local_of_an_outer_loop_keeps_what_lanes_had_that_left() -> None:
    def make(lanes: int) -> tuple[Any, list[Any]]:
        out = ti.field(ti.i32, (2, N))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                v, w, total, rounds = 1, 0, 0, 0
                while rounds < 3 + i % 4:
                    steps = 0
                    while True:
                        total += v
                        v = (v * 5 + i) % 17
                        steps += 1
                        if steps > (i * 7 + rounds) % 6:
                            break
                    for k in range((i + rounds) % 5):
                        w = w * 3 % 11 + k + 1
                    rounds += 1
                out[0, i], out[1, i] = total, w

        return run, [out]

    made(make)


def test_parts_of_every_second_cell_and_of_cells_that_are_no_multiples_of_a_part() -> None:
    def make(lanes: int) -> tuple[Any, list[Any]]:
        odd = ti.types.struct(a=ti.f64, b=ti.i32)
        v, s, out = ti.Vector.field(3, ti.f32, 2 * N), odd.field(shape=N), ti.field(ti.f64, (5, N))
        numbered(v)
        s.a.from_numpy(np.arange(N) * 0.5)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                out[0, i] = v[2 * i][1] + v[2 * i][2] + v[i][0]
                out[1, i] = s[i].a
                s[i].a = i * 3
                s[i].b = i
                v[2 * i + 1][1] = i
                out[2, i], out[3, i] = v[2 * i + 1].x, v[2 * i].z

        return run, [out, v, s.a, s.b]

    made(make)


@pytest.mark.parametrize("name", ["i32", "f32"])
def test_lanes_that_are_not_here_touch_nothing(name: str) -> None:
    """They have zeros for what they did not load, which lead far out of the field. And what is loaded is so large that
    it leaves 32 bits, times the size of an element, before a constant is added that leads back into the field."""
    far, dtype = 1_000_000_000, getattr(ti, name)

    def make(lanes: int) -> tuple[Any, list[Any]]:
        v, x, at = ti.Vector.field(3, dtype, N), ti.field(dtype, N), ti.field(ti.i32, N)
        out, some = ti.Vector.field(3, dtype, N), ti.field(ti.i32, N)
        placed = ti.Vector.field(3, dtype, N, offset=far)
        at.from_numpy((np.random.default_rng(3).permutation(N) + far).astype(np.int32))
        some.from_numpy((np.arange(N) % 3 == 1).astype(np.int32))
        numbered(v)
        numbered(x)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                if some[i] > 0:
                    k = at[i] - far
                    out[k] = v[k] + x[k] + v[N - 1 - k][1] * v[N - 1 - k][2]
                    x[k] += 1
                    placed[at[i]] = v[k] + 1
                    out[k] += placed[k + far]

        return run, [out, x, placed]

    made(make)


def test_what_an_atomic_left_is_loaded_behind_it() -> None:
    def make(lanes: int) -> tuple[Any, list[Any]]:
        x, y, out, at = ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, (2, N)), ti.field(ti.i32, N)
        at.from_numpy(np.random.default_rng(3).permutation(N).astype(np.int32))
        numbered(x)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                k = at[i]
                ti.atomic_add(x[k], i)
                out[0, i] = y[k]
                out[1, i] = x[k]
                ti.atomic_max(x[k], 20)
                ti.atomic_add(y[k], x[k])

        return run, [x, y, out]

    made(make)


KINDS = ("add", "sub", "mul", "min", "max", "and", "or", "xor")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["i32", "f32"])
def test_atomics_where_all_lanes_meet_and_where_some_do(kind: str, name: str) -> None:
    if name[0] == "f" and kind in ("and", "or", "xor"):
        pytest.skip("floats have no bits to combine")
    dtype, atomic = getattr(ti, name), getattr(ti, f"atomic_{kind}")

    def make(lanes: int) -> tuple[Any, list[Any]]:
        one, row, many, far = ti.field(dtype, ()), ti.field(dtype, 4), ti.field(dtype, 9), ti.field(ti.i32, N)
        old, cells = ti.field(dtype, 2 * N), ti.Vector.field(2, dtype, 9)
        far.from_numpy((np.arange(N) * 5 % 9).astype(np.int32))
        for field in (row, many, cells):
            numbered(field)
        one[None] = 3

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                value = ti.cast(i % 2 + 1, dtype)
                atomic(one[None], value)
                atomic(many[far[i]], value)
                atomic(cells[far[i]][0], value)
                atomic(cells[far[i]][1], value)
                if i % 3 == 0:
                    atomic(row[2], value)
                    atomic(many[4], ti.cast(1, dtype))
                    atomic(cells[4][1], ti.cast(2, dtype))

        @ti.kernel
        def alone():
            ti.loop_config(simd=lanes)
            for i in range(N):
                old[i] = atomic(old[N + i], ti.cast(i % 5, dtype)) + ti.cast(1, dtype)

        def both():
            run()
            alone()

        return both, [one, row, many, cells, old]

    made(make)


def test_atomics_on_truth_values() -> None:
    def make(lanes: int) -> tuple[Any, list[Any]]:
        one, many, old, far = ti.field(ti.u1, ()), ti.field(ti.u1, 9), ti.field(ti.u1, N), ti.field(ti.i32, N)
        far.from_numpy((np.arange(N) * 5 % 9).astype(np.int32))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                ti.atomic_or(one[None], i == 30)
                ti.atomic_xor(many[far[i]], i % 4 == 1)
                old[i] = ti.atomic_or(old[i], i % 3 == 0) | (i % 2 == 0)

        return run, [one, many, old]

    made(make)


def test_a_flag_that_all_lanes_take() -> None:
    def make(lanes: int) -> tuple[Any, list[Any]]:
        out, taken = ti.field(ti.i32, N), ti.field(ti.i32, 1)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                if i % 7 == 3:
                    taken[0] = 5
                out[i] = 1

        return run, [out, taken]

    made(make)


def test_arrays_beyond_two_gigabytes() -> None:
    """An offset in bytes does not fit 32 bits."""
    far = np.zeros((3 << 30) // 4, np.float32)  # the system gives memory for what is touched only
    places = (np.arange(N) * 16_000_001 + 3).astype(np.int32)
    far[places] = np.arange(N) + 1
    got = np.zeros((2, N), np.float32)

    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f32, 1), at: ti.types.ndarray(ti.i32, 1), out: ti.types.ndarray(ti.f32, 2), k: ti.i32
    ):
        ti.loop_config(simd=16)
        for i in range(N):
            out[k, i] = x[at[i]]
            x[at[i]] = 0

    run(far, places, got, 1)
    np.testing.assert_array_equal(got[1], np.arange(N) + 1)
    assert not far[places].any()
