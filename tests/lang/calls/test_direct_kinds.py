"""Calls that native code makes alone, by the kind of argument: numbers of numpy's, names, packs, constants, prints."""

from __future__ import annotations

import enum
import gc
import linecache
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.runtime.direct import native_type

pytestmark = pytest.mark.skipif(native_type(Kernel, False) is Kernel, reason="this Python has no native kernel objects")

vec2 = ti.types.vector(2, ti.f32)
ivec2 = ti.types.vector(2, ti.i32)
inner = ti.types.argpack(k=ti.f64, v=vec2)
body = ti.types.struct(m=ti.f32, x=vec2)
heavy = ti.types.struct(weight=ti.f32)
pack = ti.types.argpack(a=ti.i32, inner=inner, body=body, arr=ti.types.ndarray(dtype=ti.f32, ndim=1))


@pytest.fixture(autouse=True)
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


class Side(enum.IntEnum):
    LEFT = 3


class Liar(int):
    """Whatever it says, its number is what it is."""

    def __int__(self) -> int:
        return 99

    __index__ = __bool__ = __int__  # type: ignore[assignment]


_WHOLE = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
NUMBERS: dict[Any, list[Any]] = {
    ti.i32: [7, Side.LEFT, Liar(5), True, np.bool_(True)],
    ti.i8: [-128, np.int64(-3)],
    ti.i64: [-(2**63), *(kind(100) for kind in _WHOLE)],
    ti.u64: [2**64 - 1, np.uint32(7)],
    ti.f32: [np.float32(0.1), np.float64(-np.inf), np.uint8(200)],
    ti.f64: [np.float32(0.1), np.float64(0.1), np.int64(2**53 + 1), np.bool_(True)],
    ti.u1: [np.int8(2), np.bool_(False), 3],
}
REFUSED: dict[Any, list[tuple[Any, str]]] = {
    ti.i32: [
        (2**31, "an integer from -2147483648 to 2147483647"),
        (np.int64(2**31), "an integer from -2147483648"),
        (np.float32(1), "an integer"),
        (float("nan"), "an integer"),
        (np.float64("inf"), "an integer"),
        (enum.Enum("Plain", "A").A, "got Plain.A"),
    ],
    ti.u64: [(2**64, "an integer from 0"), (np.int64(-1), "an integer from 0"), (-1, "an integer from 0")],
    ti.u8: [(Liar(256), "an integer from 0 to 255")],
    ti.u1: [(np.float32(1), "an integer")],
    ti.f32: [(2**2000, "a number"), (np.complex64(1), "a number")],
}


@pytest.mark.parametrize("prim", NUMBERS, ids=str)
def test_numbers_of_all_kinds(by_python: list[str], prim: Any) -> None:
    @ti.kernel
    def same(a: prim) -> prim:
        return a

    one = same(1)
    for value in NUMBERS[prim]:
        expected = int.__int__(value) if isinstance(value, int) else value.item()
        got = same(value)
        assert got == prim.np.type(expected).item(), value
        assert type(got) is type(one)
    assert by_python == ["same"]


@pytest.mark.parametrize("prim", REFUSED, ids=str)
def test_numbers_that_do_not_fit(prim: Any) -> None:
    @ti.kernel
    def same(a: prim) -> prim:
        return a

    assert same(1) == same(1) == 1
    for value, words in REFUSED[prim]:
        for _ in range(2):
            with pytest.raises(ArgumentError, match=words):
                same(value)
    assert same(1) == 1


def test_numbers_of_numpy_that_are_too_large_for_a_word_come_by_python(by_python: list[str]) -> None:
    @ti.kernel
    def real(a: ti.f64) -> ti.f64:
        return a

    assert [real(np.uint64(2**64 - 1)) for _ in range(2)] == [float(2**64)] * 2
    assert by_python == ["real"] * 2


def test_arguments_by_name_and_by_default(by_python: list[str]) -> None:
    @ti.kernel
    def line(a: ti.i32, b: ti.i32 = 20, c: ti.i32 = 300) -> ti.i32:
        return a * 10000 + b + c

    assert [line(1) for _ in range(2)] == [10320] * 2
    assert [line(1, c=4), line(c=4, a=1), line(b=1, c=2, a=3), line(1, 2), line(1, c=5, b=6)] == [
        10024,
        10024,
        30003,
        10302,
        10011,
    ]
    assert by_python == ["line"]
    assert line(1, **{"".join("c"): 4}) == 10024  # a name that is not interned
    assert partial(line, b=0)(2, c=0) == 20000


@pytest.mark.parametrize(
    ("args", "names", "words"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((), {"b": 1, "c": 1}, "missing a required argument: 'a'"),
        ((1, 2, 3, 4), {}, "too many positional"),
        ((1,), {"a": 2}, "multiple values for argument 'a'"),
        ((1, 2, 3), {"c": 2}, "multiple values for argument 'c'"),
        ((1,), {"d": 2}, "has no parameter 'd'"),
    ],
)
def test_wrong_names(args: tuple[int, ...], names: dict[str, int], words: str) -> None:
    @ti.kernel
    def line(a: ti.i32, b: ti.i32 = 20, c: ti.i32 = 300) -> ti.i32:
        return a

    line(1)
    with pytest.raises(ArgumentError, match=words):
        line(*args, **names)


def test_methods_by_name(by_python: list[str]) -> None:
    @ti.data_oriented
    class Line:
        def __init__(self, step: int) -> None:
            self.step = step

        @ti.kernel
        def at(self, x: ti.i32, base: ti.i32 = 5) -> ti.i32:
            return base + x * self.step

    one, other = Line(2), Line(10)
    stored = one.at
    assert [one.at(x=1), one.at(1, base=0), stored(x=3), other.at(base=1, x=1), Line.at(self=one, x=1)] == [
        7,
        2,
        11,
        11,
        7,
    ]
    assert by_python == ["at"] * 2


def test_more_parameters_than_native_code_names(by_python: list[str]) -> None:
    names = [f"a{k}" for k in range(70)]
    space: dict[str, Any] = {"ti": ti}
    text = f"def many({', '.join(f'{n}: ti.i32' for n in names)}) -> ti.i32:\n    return {' + '.join(names)}\n"
    linecache.cache["<many>"] = (len(text), None, text.splitlines(True), "<many>")
    exec(compile(text, "<many>", "exec"), space)
    many = ti.kernel(space["many"])
    assert many(*range(70)) == many(*range(70)) == many(**{n: k for k, n in enumerate(names)}) == sum(range(70))
    assert by_python == ["many"] * 2


def test_a_default_that_is_a_field(by_python: list[str]) -> None:
    x, y = ti.field(ti.i32, 2), ti.field(ti.i32, 2)

    @ti.kernel
    def put(value: ti.i32, to: ti.template() = x):
        to[0] = value

    for k in range(3):
        put(k)
        put(k + 10, to=y)
    assert (x[0], y[0]) == (2, 12)
    assert by_python == ["put"] * 2


def test_packs(by_python: list[str]) -> None:
    @ti.kernel
    def total(p: pack, s: ti.f32 = 0) -> ti.f64:
        p.arr[0] += 1
        return p.a + p.inner.k + p.inner.v[1] + p.body.m + p.body.x[0] + s + p.arr[1]

    array = np.array([0, 0.5], np.float32)
    p = pack(a=1, inner=inner(k=10, v=[0, 100]), body=body(m=1000, x=[10000, 0]), arr=array)
    assert [total(p), total(p), total(p, s=3)] == [11111.5, 11111.5, 11114.5]
    p.a, p.inner.k, p.inner.v = 2, 20, [0, 200]
    assert total(p) == 11222.5
    p.inner = inner(k=0, v=[0, 0])
    p.body.m = 0
    assert total(p) == 10002.5
    assert array[0] == 5
    assert by_python == ["total"]
    p.arr = ti.ndarray(ti.f32, 2)
    p.arr[1] = 7.0
    assert [total(p), total(p)] == [10009, 10009]
    assert by_python == ["total"] * 2
    p.arr = array
    assert total(p) == 10002.5
    alike = ti.types.argpack(**pack.members)(a=1, inner=inner(0, [0, 0]), body=body(), arr=array)
    assert [total(alike), total(alike), total(p)] == [1.5, 1.5, 10002.5]
    assert by_python == ["total"] * 3


def test_packs_that_do_not_fit() -> None:
    @ti.kernel
    def first(p: pack) -> ti.f32:
        return p.arr[0]

    p = pack(a=1, inner=inner(0, [0, 0]), body=body(), arr=np.ones(2, np.float32))
    assert first(p) == first(p) == 1
    p.arr = np.ones(2, np.float64)
    with pytest.raises(ArgumentError, match=r"'p.arr' must be an array of f32, got one of f64"):
        first(p)
    with pytest.raises(ArgumentError, match="argument 'p': expected argpack"):
        first(inner(0, [0, 0]))
    p.arr = np.ones(2, np.float32)
    assert first(p) == 1


def test_arrays_that_a_pack_loses_during_a_call_live_on() -> None:
    @ti.kernel
    def fill(p: pack):
        for i in p.arr:
            for _ in range(50):
                p.arr[i] = ti.sin(p.arr[i]) + 1

    def made() -> Any:
        return np.zeros(200_000, np.float32)

    p = pack(a=1, inner=inner(0, [0, 0]), body=body(), arr=made())
    fill(p)
    held, done = [weakref.ref(p.arr)], threading.Event()

    def replace() -> None:
        while not done.is_set():
            p.arr = made()
            held.append(weakref.ref(p.entries["arr"]))
            time.sleep(0.002)

    thread = threading.Thread(target=replace)
    thread.start()
    for _ in range(10):
        fill(p)
    done.set()
    thread.join()
    fill(p)
    gc.collect()
    assert len(held) > 2
    assert [one() for one in held[:-1]] == [None] * (len(held) - 1)  # and no longer


def test_structs_before_templates_in_turns(by_python: list[str]) -> None:
    fields = [ti.field(ti.f32, 2) for _ in range(20)]

    @ti.kernel
    def put(b: body, v: vec2, p: inner, to: ti.template()):
        to[0] += b.m + v[0] + p.k

    arguments = body(m=1), [1.0, 0.0], inner(1, [0, 0])
    for _ in range(3):
        for one in fields:
            put(*arguments, one)
    assert [one[0] for one in fields] == [9] * 20
    assert by_python == ["put"] * 20


def test_constants_that_are_equal(by_python: list[str]) -> None:
    @ti.kernel
    def give(a: ti.template()) -> ti.f64:
        return a

    for _ in range(3):
        values = [int("1000"), float("1.5"), -0.0, 0.0, int("2") ** 30, float("nan")]
        got = [give(value) for value in values]
        assert got[:5] == values[:5]
        assert str(got[2]) == "-0.0"
        assert str(got[3]) == "0.0"
        assert got[5] != got[5]
    assert by_python == ["give"] * 6
    assert give(True) == give(1) == 1
    assert give(1.0) == 1


@pytest.mark.parametrize(
    "make", [lambda: ti.Vector([1.0, 2.0]), lambda: [1, 2], lambda: (1, 2), lambda: heavy(weight=3)]
)
def test_constants_that_hold_values(by_python: list[str], make: Callable[[], Any]) -> None:
    @ti.kernel
    def give(a: ti.template(), k: ti.i32) -> ti.f32:
        return a.weight + k if ti.static(hasattr(a, "weight")) else a[1] + k

    value = make()
    expected = 3 if hasattr(value, "weight") else 2
    assert [give(value, 0), give(value, 1), give(make(), 2)] == [expected, expected + 1, expected + 2]
    assert by_python == ["give"]
    if isinstance(value, tuple):
        return
    if hasattr(value, "weight"):
        value.weight = 8
    else:
        value[1] = 8
    assert [give(value, 0), give(value, 0), give(make(), 0)] == [8, 8, expected]
    assert by_python == ["give"] * 2


def test_constants_that_hold_fields_keep_none(by_python: list[str]) -> None:
    @ti.kernel
    def put(to: ti.template()):
        to[0][0] += 1

    fields = [ti.field(ti.i32, 2)]
    put(fields)
    put(fields)
    assert fields[0][0] == 2
    assert by_python == ["put"]
    gone = weakref.ref(fields[0])
    fields[0] = ti.field(ti.i32, 2)
    gc.collect()
    assert gone() is None
    put(fields)
    assert fields[0][0] == 1


def test_arrays_of_classes_that_inherit(by_python: list[str]) -> None:
    class Mine(np.ndarray):
        pass

    @ti.kernel
    def grow(a: ti.types.ndarray()):
        for i in a:
            a[i] += 1

    plain, mine = np.zeros(3, np.float32), np.zeros(3, np.float32).view(Mine)
    for _ in range(2):
        for one in (plain, mine):
            grow(one)
    assert (plain.tolist(), mine.tolist()) == ([2, 2, 2], [2, 2, 2])
    assert by_python == ["grow"] * 2
    with pytest.raises(ArgumentError, match="would ignore its mask"):
        grow(np.ma.masked_array(plain))


def test_kernels_that_print(by_python: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def tell(a: ti.i32) -> ti.i32:
        if a > 1:
            print("got", a)
        return a + 1

    @ti.kernel
    def only(a: ti.i32):
        print(a)

    assert [tell(1), tell(2), tell(1), tell(3)] == [2, 3, 2, 4]
    assert [only(1), only(2)] == [None, None]
    assert capsys.readouterr().out == "got 2\ngot 3\n1\n2\n"
    assert by_python == ["tell", "only"]


def test_what_a_print_raises_in_a_native_call(by_python: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, text: str) -> None:
            raise OSError("no space")

    @ti.kernel
    def tell(a: ti.i32) -> ti.i32:
        if a > 1:
            print(a)
        return a

    assert [tell(1), tell(1)] == [1, 1]
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Full())
        with pytest.raises(OSError, match="no space"):
            tell(2)
    assert tell(1) == 1
    assert by_python == ["tell"]


def test_a_print_that_calls_kernels(by_python: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    x, seen = ti.field(ti.i32, 1), list[str]()

    @ti.kernel
    def tell(a: ti.i32):
        print(a)

    @ti.kernel
    def count() -> ti.i32:
        x[0] += 1
        return x[0]

    class Counting:
        def write(self, text: str) -> None:
            seen.append(f"{text.strip()}: {count()}")
            if seen[-1].startswith("2"):
                ti.reset()

    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Counting())
        for k in range(3):
            tell(k)
    assert seen == ["0: 1", "1: 2", "2: 3"]
    assert by_python == ["tell", "count"]


def test_vectors_as_lists(by_python: list[str]) -> None:
    @ti.kernel
    def both(a: vec2, b: ivec2) -> ti.f32:
        return a[1] + b[0]

    assert [both([0, 1.5], (2, 0)), both((0.0, 2.5), [3, 4]), both(ti.Vector([0, 1]), np.array([5, 6]))] == [
        3.5,
        5.5,
        6,
    ]
    assert by_python == ["both"]
    for wrong in ([0.5, 0], [2**31, 0], [1, 2, 3], [1], [[1, 2]], ["1", 2]):
        with pytest.raises(ArgumentError, match="argument 'b' must be"):
            both([0, 0], wrong)


def test_structs_as_dicts(by_python: list[str]) -> None:
    kind = ti.types.struct(a=ti.i32, v=ivec2, b=body)

    @ti.kernel
    def total(s: kind) -> ti.f32:
        return s.a + s.v[1] + s.b.m + s.b.x[0]

    whole = {"a": 1, "v": [0, 20], "b": {"m": 300.0, "x": [4000.0, 0.0]}}
    assert [total(whole), total(whole), total({"b": whole["b"], "a": 1, "v": (0, 20)})] == [4321] * 3
    assert total({"a": 1}) == 1
    assert by_python == ["total"]
    for wrong, words in (
        ({"a": 1.5}, "'s.a' must be an integer"),
        ({"v": [1, 2.5]}, r"'s.v' must be vector\(2, i32\), of integers"),
    ):
        with pytest.raises(ArgumentError, match=words):
            total({**whole, **wrong})
    with pytest.raises(ArgumentError, match="argument 's' must be struct"):
        total({**whole, "c": 1})


def test_results_are_the_same_from_both_ways(by_python: list[str]) -> None:
    kind = ti.types.struct(a=ti.i8, h=ti.f16, t=ti.u1, v=vec2, b=body)

    @ti.kernel
    def all_kinds() -> (kind, ti.types.matrix(2, 3, ti.i16), ti.f16, ti.u1):
        s = kind(a=-3, h=0.1, t=True, v=vec2(1, 2), b=body(m=4, x=vec2(5, 6)))
        return s, ti.Matrix([[1, 2, 3], [4, 5, -6]], ti.i16), ti.f16(0.1), True

    @ti.kernel
    def halves() -> (ti.f16, ti.i32):
        return ti.f16(-0.1), 3

    first, again = all_kinds(), all_kinds()
    assert repr(first) == repr(again)
    assert [type(v) for v in first[0].entries.values()] == [type(v) for v in again[0].entries.values()]
    assert type(again[0].entries["h"]) is np.float16
    assert again[1].values.dtype == np.int16
    assert again[2:] == (float(np.float16(0.1)), True)
    assert halves() == halves() == (float(np.float16(-0.1)), 3)
    again[0].v[0] = 9  # a value of its own
    assert all_kinds()[0].v[0] == 1
    assert by_python == ["all_kinds", "halves"]
