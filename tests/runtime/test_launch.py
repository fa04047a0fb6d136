"""Launching: every type travels both ways, faults and prints come back as Python knows them."""

from __future__ import annotations

import gc
import math
import threading
from typing import Any

import numpy as np
import pytest

from tests.null_device import NullDevice
from weft.ir.artifact import Artifact, Site, Slots
from weft.ir.errors import InternalError, Span
from weft.ir.symbols import Param
from weft.ir.types import PRIMS, Type, array, f16, f32, f64, i32, i64, struct, tensor, u1, u8, u64
from weft.runtime.cpu import CpuDevice
from weft.runtime.errors import ArithmeticFault, IndexFault, KernelFault
from weft.runtime.jit import emit
from weft.runtime.launch import CpuKernel, array_argument


@pytest.fixture(scope="module")
def device() -> CpuDevice:
    return CpuDevice(threads=3, random_seed=7)


def artifact(body: str, slots: Slots, sites: tuple[Site, ...] = (), more: str = "") -> Artifact:
    text = f"define void @entry(ptr %ctx) {{\n{body}\n  ret void\n}}\n{more}"
    return Artifact("test", "cpu", emit(text), "entry", slots, sites)


def params(*types: Type) -> tuple[Param, ...]:
    return tuple(Param(f"p{k}", type) for k, type in enumerate(types))


def copying(slots: Slots, count: int, source: int | None = None) -> str:
    """Copies `count` slots of the parameters, or those from `source` on, to the results."""
    first = slots.param_start[0] if source is None else source
    return "\n".join(
        f"  %a{k} = getelementptr i64, ptr %ctx, i64 {first + k}\n"
        f"  %b{k} = getelementptr i64, ptr %ctx, i64 {slots.result_start + k}\n"
        f"  %v{k} = load i64, ptr %a{k}\n  store i64 %v{k}, ptr %b{k}"
        for k in range(count)
    )


def echo(device: CpuDevice, *types: Type) -> CpuKernel:
    slots = Slots(0, params(*types), types, 0)
    return device.load(artifact(copying(slots, slots.result_start - slots.param_start[0]), slots))


@pytest.mark.parametrize("name", sorted(PRIMS))
def test_scalars_travel_both_ways(device: CpuDevice, name: str) -> None:
    type = PRIMS[name]
    kernel = echo(device, type)
    if type is u1:
        assert [kernel((), (v,))[0] for v in (True, False, 1, 0, 2.5)] == [True, False, True, False, True]
        return
    if type.is_float:
        for value in (0.0, -1.0, 1.5, math.inf, -math.inf, 7, np.float32(0.5), np.int64(3)):
            assert kernel((), (value,)) == (float(value),)
        assert math.isnan(kernel((), (math.nan,))[0])
        assert math.copysign(1, kernel((), (-0.0,))[0]) == -1
        assert kernel((), (0.1,)) == (float(type.np.type(0.1)),)
        return
    low, high = (int(np.iinfo(type.np).min), int(np.iinfo(type.np).max))
    for value in (0, 1, low, high, np.int8(5), True):
        assert kernel((), (value,)) == (int(value),)
    assert kernel((), (high + 1,)) == (low,)  # wraps
    assert kernel((), (2.75,)) == (2,)  # a float is cast
    assert kernel((), (math.nan,)) == (0,)
    assert kernel((), (1e30,)) == (high,)


def test_a_large_float_becomes_infinite(device: CpuDevice) -> None:
    assert echo(device, f32)((), (1e300,)) == (math.inf,)
    assert echo(device, f16)((), (1e300,)) == (math.inf,)


def test_tensors_and_structs_are_flat(device: CpuDevice) -> None:
    pair = struct((("n", i32), ("v", tensor(f64, (2,)))))
    kernel = echo(device, f16, tensor(f32, (2, 2)), pair, u8, tensor(f16, (2,)))
    values = (0.5, [1.0, 2.0, 3.0, 4.0], (-5, 6.5, 7.5), 255, [0.25, -2.0])
    assert kernel((), values) == (0.5, 1.0, 2.0, 3.0, 4.0, -5, 6.5, 7.5, 255, 0.25, -2.0)


def test_arrays_give_address_shape_and_strides(device: CpuDevice) -> None:
    slots = Slots(0, params(i32, array(f32, 2, False)), (i64,) * 5, 0)
    kernel = device.load(artifact(copying(slots, 5, slots.param_start[1]), slots))
    data = np.zeros((6, 8), np.float32)[::2, ::-1]
    right = (data.ctypes.data, 3, 8, 64, -4)
    assert kernel((), (1, array_argument(data, 2))) == right
    assert kernel((), (1, data)) == right
    assert kernel((), (1.5, data)) == right
    data.flags.writeable = False
    assert kernel((), (1, data)) == right
    deep = np.zeros((3, 8, 2), np.float32)  # elements are vectors
    assert kernel((), (1, deep)) == (deep.ctypes.data, 3, 8, 64, 8)
    with pytest.raises(InternalError, match="or more axes"):
        kernel((), (1, deep[0, 0]))


def test_trees_come_first(device: CpuDevice) -> None:
    slots = Slots(2, params(i32), (u64, u64), 0)
    kernel = device.load(artifact(copying(slots, 2, Slots.FIRST_TREE), slots))
    assert kernel((2**63 + 1, 64), (0,)) == (2**63 + 1, 64)


def test_seeds_advance_and_depend_on_the_device_seed() -> None:
    slots = Slots(0, (), (u64,), 0)
    code = artifact(copying(slots, 1, 2), slots)
    first, again, other = (CpuDevice(threads=1, random_seed=seed).load(code) for seed in (1, 1, 2))
    seeds = [first((), ())[0] for _ in range(3)]
    assert len(set(seeds)) == 3
    assert [again((), ())[0] for _ in range(3)] == seeds
    assert other((), ())[0] not in seeds


def test_large_temporaries(device: CpuDevice) -> None:
    slots = Slots(0, (), (i64,), 8 << 20)
    at = slots.temp_start + (1 << 20) - 1
    body = f"  %t = getelementptr i64, ptr %ctx, i64 {at}\n  store i64 42, ptr %t\n" + copying(slots, 1, at)
    assert device.load(artifact(body, slots))((), ()) == (42,)


def test_wrong_number_of_arguments_is_our_mistake(device: CpuDevice) -> None:
    kernel = echo(device, i32, i32)
    for trees, args in (((), (1,)), ((), (1, 2, 3)), ((5,), (1, 2))):
        with pytest.raises(InternalError, match="takes 0 trees and 2 arguments"):
            kernel(trees, args)
    with pytest.raises((TypeError, ValueError)):
        kernel((), (1, "two"))


def failing(kind: str, message: str, types: tuple[Type, ...], values: dict[int, str]) -> Artifact:
    """A kernel that fills its error record with those typed LLVM constants by position."""
    stores = "\n".join(
        f"  %w{k} = getelementptr i64, ptr %record, i64 {2 + k}\n  store {text}, ptr %w{k}"
        for k, text in values.items()
    )
    body = f"""
  %at = getelementptr i64, ptr %ctx, i64 1
  %record = load ptr, ptr %at
  %site = getelementptr i64, ptr %record, i64 1
  store i64 1, ptr %site
{stores}
  store i64 2, ptr %record"""
    sites = (Site("print", ("never",), ()), Site(kind, (message,), types, Span(__file__, 3, 0, 3, 4)))
    return artifact(body, Slots(0, (), (), 0), sites)


@pytest.mark.parametrize(
    ("kind", "error"), [("assert", KernelFault), ("bounds", IndexFault), ("arithmetic", ArithmeticFault)]
)
def test_faults_are_exceptions(device: CpuDevice, kind: str, error: type[Exception]) -> None:
    vector = tensor(i32, (2,))
    kernel = device.load(
        failing(kind, "x[{}] of {{}} is {} {", (vector, f32), {0: "i32 -3", 1: "i32 4", 2: "float 0x3FB99999A0000000"})
    )
    for _ in range(2):  # the record is fresh each time
        with pytest.raises(error, match=r"x\[\[-3, 4\]\] of \{0.1\} is \.\.\. \{") as caught:
            kernel((), ())
        assert isinstance(caught.value, AssertionError)
        assert "test_launch.py" in str(caught.value)


def printing(types: tuple[Type, ...], parts: tuple[str, ...], body: str) -> Artifact:
    """A kernel that prints what `body` put into %words."""
    text = f"""
  %words = alloca [8 x i64]
{body}
  %table = load ptr, ptr %ctx
  %at = getelementptr i64, ptr %table, i64 1
  %print = load ptr, ptr %at
  call void %print(i64 0, ptr %words)"""
    return artifact(text, Slots(0, (), (), 0), (Site("print", parts, types),))


def test_prints(device: CpuDevice, capsys: pytest.CaptureFixture[str]) -> None:
    body = """
  %w1 = getelementptr i64, ptr %words, i64 1
  %w2 = getelementptr i64, ptr %words, i64 2
  %w3 = getelementptr i64, ptr %words, i64 3
  store i32 -7, ptr %words
  store float 0x3FB99999A0000000, ptr %w1
  store float 2.0, ptr %w2
  store i8 1, ptr %w3"""
    parts = ("n=", "\0", " v=", "\0.2f", " ", "\0", "\n")
    device.load(printing((i32, tensor(f32, (2,)), u1), parts, body))((), ())
    assert capsys.readouterr().out == "n=-7 v=[0.10, 2.00] True\n"


def test_errors_in_a_print_are_raised_after_the_launch(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> None:
            raise KeyboardInterrupt

    kernel = device.load(printing((), ("text",), ""))
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Broken())
        with pytest.raises(KeyboardInterrupt):
            kernel((), ())
    kernel((), ())


def test_a_print_may_launch(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    inner, seen = echo(device, i32), []

    class Launching:
        def write(self, text: str) -> None:
            seen.append(inner((), (5,)))

    monkeypatch.setattr("sys.stdout", Launching())
    device.load(printing((), ("text",), ""))((), ())
    assert seen == [(5,)]


WORKERS_PRINT = """
define void @body(ptr %ctx, ptr %share, i64 %begin, i64 %end) {
  %word = alloca i64
  store i64 %begin, ptr %word
  %table = load ptr, ptr %ctx
  %at = getelementptr i64, ptr %table, i64 1
  %print = load ptr, ptr %at
  call void %print(i64 0, ptr %word)
  ret void
}
"""


def test_workers_print(device: CpuDevice, capsys: pytest.CaptureFixture[str]) -> None:
    body = """
  %table = load ptr, ptr %ctx
  %for = load ptr, ptr %table
  %pool.at = getelementptr i64, ptr %table, i64 2
  %pool = load i64, ptr %pool.at
  call void %for(i64 %pool, ptr @body, ptr %ctx, ptr null, i64 7, i64 1)"""
    sites = (Site("print", ("\0", "\n"), (i64,)),)
    device.load(artifact(body, Slots(0, (), (), 0), sites, WORKERS_PRINT))((), ())
    assert sorted(map(int, capsys.readouterr().out.split())) == list(range(7))  # few iterations are chunks of one


def test_python_threads_launch_at_once(device: CpuDevice) -> None:
    kernel, wrong = echo(device, i64, f64), []

    def work(k: int) -> None:
        wrong.extend(i for i in range(2000) if kernel((), (k, i)) != (k, float(i)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_kernel_keeps_what_it_needs() -> None:
    kernel: Any = echo(CpuDevice(threads=2), i32)
    gc.collect()
    assert kernel((), (3,)) == (3,)
    del kernel
    gc.collect()


def test_f64_to_f16_links(device: CpuDevice) -> None:
    slots = Slots(0, params(f64), (f16,), 0)
    body = f"""
  %a = getelementptr i64, ptr %ctx, i64 {slots.param_start[0]}
  %b = getelementptr i64, ptr %ctx, i64 {slots.result_start}
  %v = load double, ptr %a
  %h = fptrunc double %v to half
  store half %h, ptr %b"""
    assert device.load(artifact(body, slots))((), (0.1,)) == (float(np.float16(0.1)),)


def test_a_missing_symbol_is_named(device: CpuDevice, capfd: pytest.CaptureFixture[str]) -> None:
    text = "declare void @weft_no_such_function()\ndefine void @entry(ptr %c) {\n"
    code = emit(text + "  call void @weft_no_such_function()\n  ret void\n}")
    with pytest.raises(InternalError, match="loading entry"):
        device.load(Artifact("test", "cpu", code, "entry", Slots(0, (), (), 0)))
    assert "weft_no_such_function" in capfd.readouterr().err  # LLVM tells it there


def test_the_null_device_runs_nothing() -> None:
    kernel = NullDevice().load(Artifact("test", "null", b"", "entry", Slots(0, (), (i32, tensor(f32, (2,))), 0)))
    assert kernel((), ()) == (0, 0.0, 0.0)
    assert kernel.launches == 1
