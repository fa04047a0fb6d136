"""Which configuration `ti.autotune` takes, what it leaves as it was, and what it says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm.instruction_sets import levels_here
from weft.lang.errors import ArgumentError
from weft.lang.program import store
from weft.lang.tuning import autotune as module

Times = Callable[[dict[str, float]], list[str]]


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    """`times({"Config(K=1)": 2.0, ...})`: how long runs of each configuration take, in place of the clock, though they
    do run. Gives the list of those that are measured, which grows."""
    measured: list[str] = []
    table: dict[str, float] = {}

    def measure(self: Any, way: Any, args: Any, before: Any) -> float:
        measured.append(repr(way.config))
        for _ in range(3):
            for put_back in before:
                put_back()
            way(args)
        return table[repr(way.config)]

    monkeypatch.setattr(module.Autotuned, "_measure", measure)

    def given(told: dict[str, float]) -> list[str]:
        table.clear()
        table.update(told)
        return measured

    return given


def scaled(configs: list[Any] | None = None, **options: Any) -> Any:
    @ti.autotune(configs=configs or [ti.Config(K=k) for k in (1, 2, 3)], **options)
    @ti.kernel
    def add(x: ti.types.ndarray(), K: ti.template(), n: ti.i32) -> ti.i32:
        for i in range(n):
            x[i] += K
        return K

    return add


def test_the_fastest_is_taken(times: Times) -> None:
    measured = times({"Config(K=1)": 3.0, "Config(K=2)": 1.0, "Config(K=3)": 2.0})
    add, x = scaled(), np.zeros(8, np.float32)
    assert [add(x, 8), add(x, n=4), add(n=2, x=x)] == [2, 2, 2]
    assert measured == ["Config(K=1)", "Config(K=2)", "Config(K=3)"]
    assert x.tolist() == [6, 6, 4, 4, 2, 2, 2, 2]  # trying left no trace
    assert list(add.choices.values()) == [ti.Config(K=2)]


def test_keys(times: Times) -> None:
    measured = times({"Config(K=1)": 1.0, "Config(K=2)": 2.0, "Config(K=3)": 3.0})
    add, x = scaled(key=["n", "x"]), np.zeros(8, np.float32)
    add(x, 8)
    times({"Config(K=1)": 3.0, "Config(K=2)": 2.0, "Config(K=3)": 1.0})
    assert [add(x, 4), add(x, np.int64(8)), add(x, 4)] == [3, 1, 3]  # another n
    assert len(measured) == 6
    assert add(np.zeros(9, np.float32), 8) == 3  # another shape
    assert add(np.zeros(8, np.float64), 8) == 3  # another type
    assert len(measured) == 12
    other = scaled(key=[])
    assert [other(x, 8), other(np.zeros(20, np.float32), 4)] == [3, 3]
    assert len(measured) == 15
    other(np.zeros(20, np.int32), 4)
    assert len(measured) == 18
    ti.init(arch=ti.cpu)
    other(x, 8)
    assert len(measured) == 21


def test_everything_is_as_it_was(times: Times) -> None:
    times({"Config(K=1)": 1.0, "Config(K=2)": 2.0})
    x = ti.field(ti.f32, 4)
    near, pair = ti.field(ti.i32), ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=4)
    ti.root.dense(ti.i, 4).place(near)
    given, drawn = ti.ndarray(ti.f32, 4), ti.field(ti.f32, 4)

    @ti.autotune(configs=[ti.Config(K=1), ti.Config(K=2)])
    @ti.kernel
    def change(y: ti.template(), a: ti.types.ndarray(), b: ti.types.ndarray(), K: ti.template()):
        for i in x:
            x[i] += K
            y[i] += K
            a[i] += K
            b[i] += K
            pair[i].a += K
            drawn[i] = ti.random()

    b = np.ones((4, 2), np.float32)[:, 0]
    x.fill(1)
    change(near, given, b)
    assert x.to_numpy().tolist() == [2] * 4
    assert near.to_numpy().tolist() == given.to_numpy().tolist() == pair.a.to_numpy().tolist() == [1] * 4
    assert b.tolist() == [2] * 4
    first = drawn.to_numpy()
    ti.init(arch=ti.cpu)
    drawn = ti.field(ti.f32, 4)

    @ti.kernel
    def draw():
        for i in drawn:
            drawn[i] = ti.random()

    draw()
    assert (drawn.to_numpy() == first).all()  # nor were random numbers used up


def test_state_that_is_restored_before_each_run(times: Times) -> None:
    times({"Config(K=1)": 1.0, "Config(K=2)": 2.0})
    ti.init(arch=ti.cpu, debug=True)
    total, z = ti.field(ti.i32, ()), ti.field(ti.i32, ())
    pair = ti.Struct.field({"a": ti.f32, "v": ti.math.vec2}, shape=4)

    @ti.autotune(configs=[ti.Config(K=1), ti.Config(K=2)], restore=["x", z, "p"], reset_to_zero=[total])
    @ti.kernel
    def note(x: ti.types.ndarray(), p: ti.template(), K: ti.template()):
        ti.static_assert(K > 0)
        assert x[0] == 5, "not put back"
        assert total[None] + z[None] == 0, "not put back"
        assert p[0].v.y == 0, "not put back"
        p[0].v.y += 1
        x[0] += 1
        total[None] += 1
        z[None] += 1

    x = np.full(1, 5, np.int32)
    note(x, pair)
    assert (x[0], total[None], z[None], pair[0].v.y) == (6, 1, 1, 1)


def test_a_failing_configuration_is_left_out(times: Times, caplog: pytest.LogCaptureFixture) -> None:
    times({"Config(K=0)": 0.1, "Config(K=1)": 1.0, "Config(K=2)": 0.5})
    x = ti.field(ti.i32, 4)

    @ti.autotune(configs=[ti.Config(K=0), ti.Config(K=1), ti.Config(K=2)])
    @ti.kernel
    def half(K: ti.template()) -> ti.i32:
        ti.static_assert(K > 0, "K must be positive")
        for i in x:
            x[i] += K
        return 8 // K

    with caplog.at_level(logging.INFO, "weft.autotune"):
        assert half() == 4
    assert x.to_numpy().tolist() == [2] * 4
    warning, info = caplog.records
    assert (warning.name, warning.levelname) == ("weft.autotune", "WARNING")
    assert "Config(K=0) is left out: StaticAssertion" in warning.getMessage()
    assert "K must be positive" in warning.getMessage()
    assert info.getMessage() == "half: Config(K=2), 0.5000 ms, is the fastest of 2"


def test_a_run_that_fails_leaves_no_trace(times: Times) -> None:
    ti.init(arch=ti.cpu, debug=True)
    times({"Config(K=1)": 1.0, "Config(K=2)": 0.5})
    x = ti.field(ti.i32, 4)

    @ti.autotune(configs=[ti.Config(K=1), ti.Config(K=2)])
    @ti.kernel
    def risky(K: ti.template()):
        for i in x:
            x[i] += K
        for i in x:
            assert x[i] < 2 * K + 2 - K, "too much"

    with pytest.raises(
        ti.AutotuneError, match=r"no configuration of kernel 'risky' works:\nConfig\(K=1\): KernelFault"
    ):
        risky()
    assert x.to_numpy().tolist() == [0] * 4


@pytest.mark.parametrize(("level", "widest"), [("x86-64-v3", 8), ("x86-64-v4", 16)])
def test_loops_are_set_from_outside(times: Times, monkeypatch: pytest.MonkeyPatch, level: str, widest: int) -> None:
    monkeypatch.delenv("WEFT_CPU_FEATURES", raising=False)
    if level not in levels_here():
        pytest.skip(f"this machine is no {level}")
    ti.init(arch=ti.cpu, cpu_features=level)
    times({"Config(simd=4)": 1.0, "Config(simd=8)": 2.0, "Config(simd=16)": 3.0})
    x = ti.field(ti.f32, 64)

    @ti.autotune(configs=[ti.Config(simd=4), ti.Config(simd=8), ti.Config(simd=16)])
    @ti.kernel
    def long(n: ti.i32):
        for i in x:
            for _ in range(n):
                x[i] = x[i] * 0.5 + i
        ti.loop_config(simd=2)
        for i in x:
            for _ in range(n):
                x[i] += 1

    long(3)
    lanes = [{w for w in (2, 4, 8, 16) if f"<{w} x float>" in llvm(way, 3)} for way in long._ways]
    assert lanes == [{2, 4}, {2, 8}, {2, widest}]
    assert "<4 x float>" not in llvm(long.kernel, 3)  # the kernel itself is as it was
    plain = ti.kernel(long.kernel.function)
    first = x.to_numpy()
    x.fill(0)
    plain(3)
    assert (x.to_numpy() == first).all()


def llvm(way: Any, *args: Any) -> str:
    kernel = getattr(way, "kernel", way)
    return str(kernel.stages(*args).llvm)


def test_methods(times: Times) -> None:
    measured = times({"Config(K=1)": 2.0, "Config(K=2)": 1.0})

    @ti.data_oriented
    class Box:
        def __init__(self) -> None:
            self.x = ti.field(ti.i32, 4)

        @ti.autotune(configs=[ti.Config(K=1), ti.Config(K=2)], key=["n"])
        @ti.kernel
        def add(self, n: ti.i32, K: ti.template()) -> ti.i32:
            for i in self.x:
                self.x[i] += K * n
            return self.x[0]

    box = Box()
    assert [box.add(1), box.add(n=1), box.add(10)] == [2, 4, 24]
    assert len(measured) == 4


def test_choices_are_kept(times: Times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_OFFLINE_CACHE")
    monkeypatch.setattr(store, "version_stamp", lambda _: "1")  # whoever edits Weft meanwhile
    measured = times({"Config(K=1)": 1.0, "Config(K=2)": 2.0, "Config(K=3)": 3.0})

    def run(configs: list[Any] | None = None, n: int = 4, key: tuple[str, ...] = ("n",)) -> tuple[int, int]:
        ti.init(arch=ti.cpu, offline_cache_file_path=str(tmp_path))
        before = len(measured)
        return scaled(configs, key=key)(np.zeros(8, np.float32), n), len(measured) - before

    assert run() == (1, 3)
    times({"Config(K=1)": 3.0, "Config(K=2)": 2.0, "Config(K=3)": 1.0})
    assert run() == (1, 0)
    assert run(n=5) == (3, 3)
    assert run([ti.Config(K=1), ti.Config(K=2)]) == (2, 2)
    assert run() == (1, 0)
    for file in (tmp_path / "kernels").iterdir():
        data = file.read_bytes()
        file.write_bytes(data.replace(b'"choice": 0', b'"choice": 1'))
    assert run() == (3, 3)  # one that was damaged is not believed
    assert run() == (3, 0)


def test_what_is_kept_is_checked(times: Times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Store:
        """One that answers anything with `said`."""

        said: bytes | None = None

        def get(self, key: str) -> bytes | None:
            return self.said

        def put(self, key: str, payload: bytes) -> None:
            pass

    ways = scaled()._ways
    for said in (b"", b"{}", b"[]", b"\xff", b'{"choice": 3}', b'{"choice": -1}', b'{"choice": true}', b"null", None):
        Store.said = said
        assert module._read(Store(), "key", ways) is None
    Store.said = b'{"choice": 1}'
    assert module._read(Store(), "key", ways) is ways[1]


def test_real_times() -> None:
    @ti.autotune(configs=[ti.Config(MUCH=400), ti.Config(MUCH=1)], warmup=1, rep=10)
    @ti.kernel
    def work(x: ti.types.ndarray(), MUCH: ti.template()) -> ti.i32:
        for i in range(2000):
            for _ in range(MUCH):
                x[i] = ti.sin(x[i])
        return MUCH

    x = np.ones(2000, np.float32)
    assert work.tune(x) == ti.Config(MUCH=1)
    assert (x == 1).all()
    assert work(x) == 1


def test_python_takes_the_first(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(arch=ti.python)
    with caplog.at_level(logging.INFO, "weft.autotune"):
        assert scaled()(np.zeros(8, np.float32), 8) == 1
    assert [record.getMessage() for record in caplog.records if record.name == "weft.autotune"] == [
        "add: Config(K=1), without trying"
    ]


def test_mistakes() -> None:
    def wrong(what: str, configs: Any, **options: Any) -> None:
        with pytest.raises(ArgumentError, match=what):
            scaled(configs, **options)

    wrong("has no parameter 'L'; a configuration can set K, block_dim, simd", [ti.Config(L=1)])
    wrong("parameter 'n' must be annotated ti.template", [ti.Config(K=1, n=3)])
    wrong("block_dim must be 1 to 1024, not 2048", [ti.Config(K=1, block_dim=2048)])
    wrong("simd must be 1, 2, 4, ... or 64, not 3", [ti.Config(K=1, simd=3)])
    wrong("simd must be 1, 2, 4, ... or 64, not 'wide'", [ti.Config(K=1, simd="wide")])
    wrong("all configurations must set the same parameters", [ti.Config(K=1), ti.Config(simd=4)])
    wrong("takes configs=", [{"K": 1}])
    wrong("key: 'm' is not one of x, n", None, key=["m"])
    wrong("key: 'K' is not one of x, n", None, key=["K"])
    wrong("restore: 'y' is not one of x, n", None, restore=["y"])
    with pytest.raises(ArgumentError, match=r"put it above @ti\.kernel"):
        ti.autotune(configs=[ti.Config(K=1)])(lambda x: x)
    with pytest.raises(ArgumentError, match="at least one"):
        ti.autotune(configs=[])(scaled().kernel)
    add, x = scaled(), np.zeros(8, np.float32)
    with pytest.raises(ArgumentError, match="'K' of kernel 'add' is chosen by autotune"):
        add(x, 8, K=1)
    with pytest.raises(ArgumentError, match="takes x, n: missing"):
        add(x)
    with pytest.raises(ArgumentError, match="takes x, n: too many"):
        add(x, 1, 2)
