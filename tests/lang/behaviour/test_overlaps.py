"""Arguments that overlap: kernels are compiled for such as do not, and other launches run a variant that is careful."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

N = 24


@pytest.fixture
def compiled(ti: Any) -> Any:
    """`ti` where kernels are compiled, and numpy's arrays are not copied."""
    if ti.cfg.arch != "cpu":
        pytest.skip("memory of a GPU is not shared with numpy; Python has no variants")
    return ti


def variants(kernel: Any) -> list[bool]:
    """Of each instance, whether it has a careful variant."""
    return [one.careful is not None for one in kernel._instances.values()]


# ---- what a launch finds ---------------------------------------------------------------------------------------------


def test_one_array_passed_twice(ti: Any) -> None:
    array = ti.types.ndarray(ti.i32, 1)

    @ti.kernel
    def shift(a: array, b: array):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                a[i] = b[i - 1] + 1

    for make in (lambda: np.zeros(N, np.int32), lambda: ti.ndarray(ti.i32, N)):
        for _ in range(3):  # through Python, then natively
            one, other = make(), make()
            shift(one, other)
            assert [one[i] for i in range(N)] == [0] + [1] * (N - 1)
            shift(other, other)
            assert [other[i] for i in range(N)] == list(range(N))


def test_a_store_is_seen_by_the_other_name(ti: Any) -> None:
    array = ti.types.ndarray(ti.i32, 1)

    @ti.kernel
    def through(a: array, b: array) -> ti.i32:
        a[0] = 1
        before = a[0]
        b[0] = 2
        return before * 10 + a[0]

    one, other = ti.ndarray(ti.i32, 4), ti.ndarray(ti.i32, 4)
    for _ in range(3):
        assert through(one, other) == 11
        assert through(one, one) == 12
        assert through(other, other) == 12


def test_iterations_update_in_place(ti: Any) -> None:
    array = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def scale(out: array, a: array, b: array):
        for i, j in out:
            out[i, j] = 2 * a[i, j] + 1
            out[i, j] += b[i, j]

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    y = x.copy()
    scale(y, y, y)
    np.testing.assert_array_equal(y, 2 * (2 * x + 1))
    y, z = x.copy(), np.ones_like(x)
    scale(y, y, z)
    np.testing.assert_array_equal(y, 2 * x + 2)
    out = np.zeros_like(x)
    scale(out, x, x)
    np.testing.assert_array_equal(out, 3 * x + 1)


def test_views_of_one_buffer(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def copy(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(a.shape[0]):
                a[i] = b[i] + 100

    def run(a: slice, b: slice) -> bool:
        mine, theirs = np.arange(N, dtype=np.int32), np.arange(N, dtype=np.int32)
        copy(mine[a], mine[b])
        to, source = theirs[a], theirs[b]
        for i in range(len(to)):
            to[i] = source[i] + 100
        np.testing.assert_array_equal(mine, theirs)
        return any(variants(copy))

    assert not run(slice(0, 8), slice(8, 16))  # side by side
    assert not run(slice(16, 24), slice(8, 16))
    assert not run(slice(0, 8, 2), slice(8, 16, 2))
    assert not run(slice(7, None, -1), slice(15, 7, -1))
    assert not run(slice(4, 4), slice(4, 4))  # nothing
    assert run(slice(1, 9), slice(0, 8))
    assert run(slice(0, 8), slice(1, 9))
    assert run(slice(1, 9), slice(8, 0, -1))
    assert run(slice(8, 0, -1), slice(1, 9))
    assert run(slice(0, 16, 2), slice(1, 17, 2))  # woven into one another: taken for an overlap


def test_only_what_is_written_counts(compiled: Any) -> None:
    ti = compiled
    array = ti.types.ndarray(ti.f32, 1)

    @ti.kernel
    def add(out: array, a: array, b: array, unused: array):
        for i in out:
            out[i] = a[i] + b[i]

    x, out = np.ones(N, np.float32), np.zeros(N, np.float32)
    for _ in range(3):
        add(out, x, x, out)
    assert variants(add) == [False]
    assert out.tolist() == [2.0] * N
    add(out, out, x, x)
    assert variants(add) == [True]
    assert out.tolist() == [3.0] * N


def test_kernels_with_nothing_to_compare_do_not_compare(compiled: Any) -> None:
    ti = compiled
    array = ti.types.ndarray(ti.f32, 1)
    x = ti.field(ti.f32, N)

    @ti.kernel
    def one(a: array):
        for i in a:
            a[i] += 1.0

    @ti.kernel
    def read(a: array, b: array) -> ti.f32:
        return a[0] + b[0] + x[0]

    @ti.kernel
    def fill(a: array):
        for i in x:
            x[i] = a[0]

    y = np.ones(N, np.float32)
    one(y)
    read(y, y)
    fill(y)
    checks = [kernel.last.artifact.check for kernel in (one, read, fill)]
    assert checks == ["", "", "weft_overlaps"]


# ---- other kinds of arguments ----------------------------------------------------------------------------------------


def test_arrays_of_structs(ti: Any) -> None:
    particle = ti.types.struct(x=ti.f32, v=ti.types.vector(2, ti.f32))

    @ti.kernel
    def shift(a: ti.types.ndarray(particle, 1), b: ti.types.ndarray(particle, 1)):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                a[i].x = b[i - 1].x + 1
                a[i].v = b[i - 1].v + a[i].x

    one, other = (particle.ndarray(5) if hasattr(particle, "ndarray") else ti.ndarray(particle, 5) for _ in range(2))
    for _ in range(2):
        one.fill(0)
        other.fill(0)
        shift(one, other)
        assert one.to_numpy()["x"].tolist() == [0, 1, 1, 1, 1]
        shift(other, other)
        assert other.to_numpy()["x"].tolist() == [0, 1, 2, 3, 4]
        assert other.to_numpy()["v"][:, 1].tolist() == [0, 1, 3, 6, 10]


def test_arrays_in_packs(ti: Any) -> None:
    pack = ti.types.argpack(a=ti.types.ndarray(ti.i32, 1), b=ti.types.ndarray(ti.i32, 1))

    @ti.kernel
    def shift(p: pack):
        for _ in range(1):
            for i in range(1, p.a.shape[0]):
                p.a[i] = p.b[i - 1] + 1

    x, y = ti.ndarray(ti.i32, 5), ti.ndarray(ti.i32, 5)
    for _ in range(2):
        x.fill(0)
        y.fill(0)
        shift(pack(a=x, b=y))
        assert x.to_numpy().tolist() == [0, 1, 1, 1, 1]
        shift(pack(a=y, b=y))
        assert y.to_numpy().tolist() == [0, 1, 2, 3, 4]


def test_arrays_of_real_functions(ti: Any) -> None:
    """Inside, two arrays may always be the same one of the kernel's."""

    @ti.real_func
    def through(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        a[0] = 1
        b[0] = 2
        return a[0]

    @ti.kernel
    def twice(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        before = through(a, a)
        a[0] = 5
        after = through(b, a)
        return 100 * before + 10 * after + a[0]

    x, y = ti.ndarray(ti.i32, 4), ti.ndarray(ti.i32, 4)
    for _ in range(2):
        assert twice(x, y) == 212
        assert twice(x, x) == 222


def test_what_a_real_function_writes_comes_back(ti: Any) -> None:
    @ti.real_func
    def put(a: ti.types.ndarray(ti.i32, 1), value: ti.i32):
        a[0] = value

    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1)):
        put(a, 7)

    x = np.zeros(3, np.int32)
    run(x)
    assert x.tolist() == [7, 0, 0]


def test_graphs(ti: Any) -> None:
    @ti.kernel
    def shift(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                a[i] = b[i - 1] + 1

    kind = ti.graph.ArgKind.NDARRAY
    a, b = ti.graph.Arg(kind, "a", ti.i32, ndim=1), ti.graph.Arg(kind, "b", ti.i32, ndim=1)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(shift, a, b)
    step = builder.compile()
    x, y = ti.ndarray(ti.i32, 5), ti.ndarray(ti.i32, 5)
    for _ in range(2):
        step.run({"a": x, "b": y})
        assert x.to_numpy().tolist() == [0, 1, 1, 1, 1]
    for _ in range(2):
        step.run({"a": x, "b": x})
        assert x.to_numpy().tolist() == [0, 1, 2, 3, 4]


def test_tensors(ti: Any) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (pip install weft[arrays])")
    import torch

    @ti.kernel
    def shift(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                a[i] = b[i - 1] + 1

    where = "cuda" if ti.cfg.arch == "cuda" else "cpu"
    for _ in range(3):
        x, y = (torch.zeros(5, dtype=torch.int32, device=where) for _ in range(2))
        shift(x, y)
        assert x.tolist() == [0, 1, 1, 1, 1]
        shift(y, y)
        assert y.tolist() == [0, 1, 2, 3, 4]
        z = torch.zeros(6, dtype=torch.int32, device=where)
        shift(z[1:], z[:-1])
        assert z.tolist() == [0, 0, 1, 1, 2, 2]


# ---- how the variants are kept ---------------------------------------------------------------------------------------


@pytest.mark.unverified
def test_both_variants_are_called_natively(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ti = compiled

    @ti.kernel
    def add(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            a[i] += b[i]

    x, y = ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    y.fill(1)
    for _ in range(2):
        add(x, y)
        add(y, y)
    by_python = []
    monkeypatch.setattr(type(add), "run", lambda *args: by_python.append(args))
    add(x, y)
    add(y, y)
    assert not by_python
    assert y.to_numpy().tolist() == [8.0] * 4
    assert x.to_numpy().tolist() == [7.0] * 4


def test_a_careful_variant_goes_with_what_it_was_compiled_for(compiled: Any) -> None:
    ti = compiled
    factor = 2

    @ti.kernel
    def scale(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for i in a:
            a[i] = b[i] * factor

    x = np.ones(3, np.int32)
    scale(x, x)
    scale(x, x)
    assert x.tolist() == [4, 4, 4]
    factor = 3
    scale(x, x)
    assert x.tolist() == [12, 12, 12]


def test_a_launch_that_does_not_happen_draws_no_random_numbers(ti: Any) -> None:
    if ti.cfg.arch == "python":
        pytest.skip("Python has no variants")

    @ti.kernel
    def draw(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            a[i] = ti.random() + 0 * b[i]

    def drawn(same: bool) -> list[float]:
        ti.init(arch=ti.cfg.arch, random_seed=3)
        x, y = ti.ndarray(ti.f32, 8), ti.ndarray(ti.f32, 8)
        draw(x, x if same else y)
        draw(x, x if same else y)
        return x.to_numpy().tolist()

    assert drawn(True) == drawn(False)


def test_races_are_looked_for_in_one_variant(compiled: Any) -> None:
    ti = compiled
    ti.init(arch=ti.cfg.arch, check_races=True)

    @ti.kernel
    def shift(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                a[i] = b[i - 1] + 1

    x = np.zeros(5, np.int32)
    shift(x, x)
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert variants(shift) == [False]


# ---- random views ----------------------------------------------------------------------------------------------------


def _bodies() -> list[Any]:
    def shifted(a, b, c):
        for i in range(1, a.shape[0]):
            a[i] = b[i - 1] + c[i]

    def through(a, b, c):
        for i in range(a.shape[0]):
            a[i] = i
            t = b[i]
            c[i] = t + a[i]
            a[i] = t - c[i]

    def summed(a, b, c):
        for i in range(a.shape[0]):
            a[0] += b[i] + c[1]

    def kept(a, b, c):
        for i in range(a.shape[0]):
            for j in range(3):
                a[i] = a[i] + b[j]
                c[j] = b[0] + i

    def overwritten(a, b, c):
        for i in range(a.shape[0] - 1):
            a[i + 1] = b[i]
            c[i] = a[i] - b[i + 1]
            a[i + 1] = c[i] + 1

    return [shifted, through, summed, kept, overwritten]


LENGTH = 9
views = st.builds(
    lambda start, step: (
        slice(start, start + LENGTH * step, step)
        if step > 0
        else slice(start + (LENGTH - 1) * -step, start - 1 if start else None, step)
    ),
    st.integers(0, 30),
    st.sampled_from([1, 1, 2, -1, -2]),
)


def test_random_views(ti: Any) -> None:
    bodies = _bodies()

    def kernel_of(body: Any) -> Any:
        called = ti.func(body)

        @ti.kernel
        def serial(
            a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1), c: ti.types.ndarray(ti.i32, 1)
        ):  # fmt: skip
            for _ in range(1):
                called(a, b, c)

        return serial

    kernels = [kernel_of(body) for body in bodies]

    @settings(max_examples=60, deadline=None)
    @given(which=st.integers(0, len(bodies) - 1), places=st.tuples(views, views, views))
    def check(which: int, places: tuple[slice, slice, slice]) -> None:
        mine, wanted = (np.arange(3, 53, dtype=np.int32) % 7 for _ in range(2))
        kernels[which](*(mine[place] for place in places))
        with np.errstate(over="ignore"):
            bodies[which](*(wanted[place] for place in places))
        np.testing.assert_array_equal(mine, wanted)

    check()
