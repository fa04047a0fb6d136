"""Calls of kernels that native code makes alone: when it may, and when it must leave the call to Python."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.runtime.direct import native_type

pytestmark = pytest.mark.skipif(native_type(Kernel, False) is Kernel, reason="this Python has no native kernel objects")


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels whose calls came to Python."""
    calls: list[str] = []
    plain = Kernel.call_on

    def noted(self: Kernel, *args: Any) -> Any:
        calls.append(self.__name__)
        return plain(self, *args)

    monkeypatch.setattr(Kernel, "call_on", noted)
    ti.init(arch=ti.cpu)
    return calls


def test_only_the_first_call_is_pythons(by_python: list[str]) -> None:
    x = ti.field(ti.f32, 4)
    vec = ti.types.vector(3, ti.f32)
    pair = ti.types.struct(a=ti.i32, v=vec)

    @ti.kernel
    def all_kinds(
        a: ti.i32, b: ti.f32, c: ti.f64, d: ti.u1, e: ti.f16, v: vec, p: pair, t: ti.template(), u: ti.types.ndarray()
    ) -> ti.f64:
        u[1] += 1
        t[2] = a
        return a + b + c + d + e + v[1] + p.a + p.v[2] + u[0]

    array = np.array([0.5, 0])
    arguments = (1, 2.0, 4, True, 8.0, ti.Vector([0.0, 16.0, 0.0]), pair(a=32, v=[0, 0, 64]), x, array)
    assert [all_kinds(*arguments) for _ in range(3)] == [128.5] * 3
    assert by_python == ["all_kinds"]
    assert (x[2], array[1]) == (1, 3)


def test_types_as_arguments(by_python: list[str]) -> None:
    @ti.kernel
    def sized(kind: ti.template(), x: ti.f64) -> ti.f64:
        return ti.cast(x, kind)

    assert [sized(ti.i32, 2.5), sized(ti.i32, 3.5), sized(ti.f64, 2.5), sized(ti.i32, 4.5)] == [2, 3, 2.5, 4]
    assert by_python == ["sized"] * 2


def test_results_of_every_kind(by_python: list[str]) -> None:
    @ti.kernel
    def nothing():
        pass

    @ti.kernel
    def whole() -> ti.i8:
        return -3

    @ti.kernel
    def big() -> ti.u64:
        return ti.u64(9223372036854775809)

    @ti.kernel
    def half() -> ti.f16:
        return 0.25

    @ti.kernel
    def truth() -> ti.u1:
        return True

    @ti.kernel
    def several() -> (ti.i32, ti.types.vector(2, ti.f32)):
        return 7, ti.Vector([1.5, 2.5])

    for kernel, expected in ((nothing, None), (whole, -3), (big, 2**63 + 1), (half, 0.25), (truth, True)):
        first, again = kernel(), kernel()
        assert first == again == expected
        assert type(first) is type(again)
    several()
    number, vector = several()
    assert (number, vector.to_list()) == (7, [1.5, 2.5])
    assert by_python == ["nothing", "whole", "big", "half", "truth", "several"]


SCALE = 2


def test_a_global_that_changes(by_python: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    here = 10

    @ti.kernel
    def scaled(n: ti.i32) -> ti.i32:
        return n * SCALE + here

    assert [scaled(1), scaled(1)] == [12, 12]
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert [scaled(1), scaled(1)] == [13, 13]
    here = 20
    assert [scaled(1), scaled(1)] == [23, 23]
    assert len(by_python) == 3


def test_a_matrix_that_changes_inside(by_python: list[str]) -> None:
    down = ti.Vector([0.0, -9.5])

    @ti.kernel
    def fall() -> ti.f32:
        return down[1]

    assert [fall(), fall()] == [-9.5, -9.5]
    down[1] = 1.0
    assert [fall(), fall()] == [1, 1]
    assert by_python == ["fall"] * 2


def test_fields_as_templates_take_turns(by_python: list[str]) -> None:
    a, b = ti.field(ti.i32, 2), ti.field(ti.i32, 2)

    @ti.kernel
    def step(x: ti.template(), y: ti.template()):
        y[0] = x[0] + 1

    for _ in range(5):
        step(a, b)
        step(b, a)
    assert (a[0], b[0]) == (10, 9)
    assert len(by_python) == 2


def test_methods(by_python: list[str]) -> None:
    @ti.data_oriented
    class Counter:
        def __init__(self, step: int) -> None:
            self.step, self.x = step, ti.field(ti.i32, ())

        @ti.kernel
        def add(self, n: ti.i32) -> ti.i32:
            self.x[None] += n * self.step
            return self.x[None]

    one, ten = Counter(1), Counter(10)
    assert [one.add(2), ten.add(2), one.add(2), ten.add(2)] == [2, 20, 4, 40]
    bound = one.add
    assert bound(1) == 5
    assert len(by_python) == 2
    one.step = 100
    assert [one.add(1), one.add(1)] == [105, 205]
    gone = weakref.ref(ten)
    del ten
    gc.collect()
    assert gone() is None
    assert one.add(1) == 305


def test_arrays_of_another_kind_are_not_mistaken(by_python: list[str]) -> None:
    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f64:
        s = 0.0
        for I in ti.grouped(a):
            s += a[I]
        return s

    line = np.arange(6, dtype=np.float32)
    total(line)
    calls = len(by_python)
    assert total(np.arange(7, dtype=np.float32)) == 21
    assert len(by_python) == calls
    for other in (line.astype(np.float64), line.astype(np.int32), line[::2], line[::-1], line.reshape(2, 3), line > 2):
        assert total(other) == other.sum()
    frozen = line.copy()
    frozen.flags.writeable = False
    assert total(frozen) == 15
    own, wide = ti.ndarray(ti.f32, 6), ti.ndarray(ti.f64, 6)
    own.from_numpy(line)
    wide.from_numpy(line)
    assert [total(own), total(wide), total(own), total(wide), total(line)] == [15] * 5


def test_an_ndarray_is_known_from_its_first_call_on(by_python: list[str]) -> None:
    pair = ti.types.struct(a=ti.i32)

    @ti.kernel
    def count(x: ti.types.ndarray(), y: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in x:
            x[i] += y[i] + 1
            s[i].a += 1

    vectors = [(ti.ndarray(ti.f32, 2 + n), ti.ndarray(ti.f32, 4), ti.ndarray(pair, 5)) for n in range(3)]
    for _ in range(2):
        for x, y, s in vectors:
            count(x, y, s)
    assert by_python == ["count"] * 3
    x, y, _ = vectors[0]
    for z in (vectors[1][2], vectors[2][2]):
        count(x, y, z)
        count(x, x, z)
    assert by_python == ["count"] * 4  # the first with arguments that overlap is one more
    assert x.to_numpy().tolist() == [17, 17]
    assert [s[1].a for _, _, s in vectors] == [2, 4, 4]
    alive = weakref.ref(x)
    del x, vectors
    gc.collect()
    assert alive() is None


def test_read_only_arrays_are_still_refused(by_python: list[str]) -> None:
    @ti.kernel
    def write(a: ti.types.ndarray()):
        a[0] = 1

    a = np.zeros(2)
    write(a)
    a.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        write(a)


def test_arguments_that_do_not_fit_raise_as_ever(by_python: list[str]) -> None:
    @ti.kernel
    def take(a: ti.i32, b: ti.f32, v: ti.types.vector(2, ti.i32)) -> ti.f32:
        return a + b + v[0]

    v = ti.Vector([1, 2])
    assert take(1, 2, v) == 4
    for wrong in (
        (1.5, 2.0, v),
        (1, "x", v),
        (1, 2.0, 3),
        (1, 2.0),
        (1, 2.0, v, 4),
        (2**32 + 1, 2, v),
        (1, 10**400, v),
    ):
        with pytest.raises(ArgumentError):
            take(*wrong)
    assert take(np.int64(1), np.float32(2), [1, 2]) == 4
    assert take(a=1, b=2, v=v) == 4


def test_a_destroyed_tree_and_a_reset_are_noticed(by_python: list[str]) -> None:
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 4).place(x)
    tree = builder.finalize()

    @ti.kernel
    def use() -> ti.i32:
        x[0] += 1
        return x[0]

    assert [use(), use()] == [1, 2]
    tree.destroy()
    with pytest.raises(ti.WeftError, match="no longer exists"):
        use()

    @ti.kernel
    def plain(a: ti.types.ndarray()) -> ti.f32:
        return a[0]

    old = ti.ndarray(ti.f32, 2)
    plain(old)
    plain(old)
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.WeftError, match="no longer exists"):
        plain(old)
    new = ti.ndarray(ti.f64, 2)
    new[0] = 5
    assert [plain(new), plain(new)] == [5, 5]


def test_faults_of_direct_calls(by_python: list[str]) -> None:
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def get(i: ti.i32) -> ti.i32:
        return x[i]

    assert [get(1), get(2)] == [0, 0]
    for _ in range(2):
        with pytest.raises(IndexError, match="9"):
            get(9)
    assert get(3) == 0
    assert len(by_python) == 1


def test_random_numbers_go_on(by_python: list[str]) -> None:
    @ti.kernel
    def draw(n: ti.i32) -> ti.f32:
        return ti.random()

    ti.init(arch=ti.cpu, random_seed=3)
    direct = [draw(1) for _ in range(5)]
    ti.init(arch=ti.cpu, random_seed=3)
    assert [draw(np.int32(1)) for _ in range(5)] == direct
    assert len(set(direct)) == 5


def test_a_program_that_ends_during_its_own_call(by_python: list[str]) -> None:
    @ti.kernel
    def one() -> ti.i32:
        return 1

    for arch in (ti.cpu, ti.python, ti.cpu, ti.cpu):
        ti.init(arch=arch)
        gc.collect()
        assert [one(), one()] == [1, 1]


def test_threads_call_at_once(by_python: list[str]) -> None:
    x = ti.field(ti.i64, ())

    @ti.kernel
    def add(a: ti.types.ndarray(), n: ti.i32):
        x[None] += n * a[0]

    arrays = [np.full(3, k) for k in (1, 2, 3, 4)]
    threads = [threading.Thread(target=lambda a=a: [add(a, 2) for _ in range(2000)]) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x[None] == 2 * 2000 * 10


def test_nothing_is_kept_alive(by_python: list[str]) -> None:
    @ti.kernel
    def touch(x: ti.template(), a: ti.types.ndarray(), v: ti.types.vector(2, ti.f32)):
        x[0] = a[0] + v[0]

    x, a = ti.field(ti.f32, 4), ti.ndarray(ti.f32, 4)
    for _ in range(3):
        touch(x, a, ti.Vector([1.0, 2.0]))
    refs = [weakref.ref(x), weakref.ref(a)]
    del x, a
    gc.collect()
    assert [ref() for ref in refs] == [None, None]
    kernel = weakref.ref(touch)
    del touch
    gc.collect()
    assert kernel() is None
