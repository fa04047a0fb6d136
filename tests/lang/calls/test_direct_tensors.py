"""Tensors of PyTorch and arrays of CuPy in calls that native code makes alone."""

from __future__ import annotations

import importlib.util
import struct
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir import types as ir
from weft.lang.data.direct_tensors import packer_of
from weft.lang.kernels.kernel import Kernel
from weft.runtime.direct import native_type

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or native_type(Kernel, False) is Kernel,
    reason="torch is not installed (pip install weft[arrays]), or this Python has no native kernel objects",
)


class Tensor:
    """As much of a `cupy.ndarray` as a packer reads, on the CPU."""

    def __init__(self, values: Any, device: int = 0) -> None:
        self.shape, self.strides, self.dtype = values.shape, values.strides, values.dtype
        self.data = SimpleNamespace(ptr=values.ctypes.data, device_id=device)


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The current stream of what stands for CuPy."""
    current = SimpleNamespace(ptr=0)
    cuda = SimpleNamespace(get_current_stream=lambda: current)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(ndarray=Tensor, cuda=cuda))
    return current


def words(array: Any, axes: int) -> bytes:
    return struct.pack(f"=Q{2 * axes}q", array.ctypes.data, *array.shape[:axes], *array.strides[:axes])


def test_an_array_becomes_its_address_extents_and_strides(stream: Any) -> None:
    a = np.zeros((4, 6), np.float32)
    pack = packer_of(Tensor(a), ir.array(ir.f32, 2, True, False), 0)
    assert pack is not None
    assert pack(Tensor(a)) == words(a, 2)
    assert pack(Tensor(a[1:])) == words(a[1:], 2)
    empty = np.zeros((0, 6), np.float32)
    assert pack(Tensor(empty)) == words(empty, 2)


@pytest.mark.parametrize(
    "other",
    [
        Tensor(np.zeros((4, 6), np.float64)),
        Tensor(np.zeros(4, np.float32)),
        Tensor(np.zeros((4, 6, 1), np.float32)),
        Tensor(np.zeros((4, 6), np.float32)[:, ::2]),
        Tensor(np.zeros((6, 4), np.float32).T),
        Tensor(np.zeros((4, 6), np.float32), device=1),
        Tensor(np.broadcast_to(np.float32(0), (2**31, 1))),
        np.zeros((4, 6), np.float32),
    ],
)
def test_others_are_left_to_python(stream: Any, other: Any) -> None:
    pack = packer_of(Tensor(np.zeros((4, 6), np.float32)), ir.array(ir.f32, 2, True, False), 0)
    assert pack is not None
    assert pack(other) is None


def test_other_streams_are_left_to_python(stream: Any) -> None:
    a = np.zeros(4, np.float32)
    pack = packer_of(Tensor(a), ir.array(ir.f32, 1, True, False), 0)
    assert pack is not None
    assert pack(Tensor(a)) is not None
    stream.ptr = 7
    assert pack(Tensor(a)) is None


def test_elements_must_be_packed_also_in_arrays_that_are_not(stream: Any) -> None:
    a = np.zeros((4, 6, 3), np.float32)
    pack = packer_of(Tensor(a[:, ::2]), ir.array(ir.tensor(ir.f32, (3,)), 2, False, False), 0)
    assert pack is not None
    assert pack(Tensor(a[:, ::2])) == words(a[:, ::2], 2)
    assert pack(Tensor(a[:, ::-1])) == words(a[:, ::-1], 2)
    assert pack(Tensor(a[:, :, ::-1])) is None
    assert pack(Tensor(a[..., :2])) is None


def test_unknown_libraries_and_wide_arrays_have_no_packer(stream: Any) -> None:
    assert packer_of(np.zeros(4, np.float32), ir.array(ir.f32, 1, True, False), None) is None
    assert packer_of(Tensor(np.zeros(4, np.float32)), ir.array(ir.f32, 1, True, True), 0) is None


def test_shapes_are_not_remembered_without_end(stream: Any) -> None:
    a = np.zeros(1000, np.float32)
    pack = packer_of(Tensor(a), ir.array(ir.f32, 1, True, False), 0)
    assert pack is not None
    for size in range(1, 1000):
        assert pack(Tensor(a[:size])) == words(a[:size], 1)


@needs_torch
def test_only_the_first_call_with_tensors_is_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    calls: list[str] = []
    plain = Kernel.call_on
    monkeypatch.setattr(Kernel, "call_on", lambda self, *args: calls.append(self.__name__) or plain(self, *args))
    ti.init(arch=ti.cpu)

    @ti.kernel
    def add(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(a.shape[0]):
            b[i] += a[i]

    def run(kind: Any, size: int) -> Any:
        a, b = kind(size), kind(size)
        add(a, b)
        return b[size - 1]

    kinds = (torch.ones, lambda n: np.ones(n, np.float32), lambda n: ti.ndarray(ti.f32, n))
    for kind in kinds:
        run(kind, 4)
    assert len(calls) == 3  # the first of each kind
    assert [run(kind, size) for kind in kinds[:2] for size in (6, 7)] == [2] * 4
    assert len(calls) == 3
    assert run(lambda n: torch.ones(n, dtype=torch.int32), 4) == 2  # no plan for float32 takes it
    assert len(calls) == 4
    strided = torch.ones(8)[::2]
    add(strided, strided)
    assert strided.tolist() == [2] * 4


@needs_torch
def test_tensors_whose_numbers_are_not_in_memory_are_refused() -> None:
    import torch

    ti.init(arch=ti.cpu)

    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in range(a.shape[0]):
            a[i] += 1

    for _ in range(2):
        add(torch.ones(4))
    negative = torch.complex(torch.ones(4), torch.ones(4)).conj().imag
    with pytest.raises(ti.TaichiRuntimeError, match="negative bit"):
        add(negative)
    with pytest.raises(ti.TaichiRuntimeError, match=r"[Ss]parse"):
        add(torch.ones(4).to_sparse())


class CpuTensor:
    """As much of a `torch.Tensor` on the CPU as calls look at."""

    layout, is_cuda = "strided", False

    def __init__(self, values: Any) -> None:
        self.values, self.shape, self.ndim = values, values.shape, values.ndim
        self.dtype = _DTYPES[values.dtype.name]
        self.detach, self.numpy = lambda: self, lambda: values
        self.element_size, self.get_device, self.is_neg = lambda: values.itemsize, lambda: -1, lambda: False
        self.stride = lambda: tuple(step // values.itemsize for step in values.strides)
        self.data_ptr = lambda: values.ctypes.data


_DTYPES = {name: SimpleNamespace(is_floating_point=name.startswith("f")) for name in ("float32", "int32")}


@pytest.mark.skipif(native_type(Kernel, False) is Kernel, reason="this Python has no native kernel objects")
def test_tensors_of_several_kinds_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=CpuTensor, strided="strided"))
    ti.init(arch=ti.cpu)
    calls, plain = list[Any](), Kernel.call_on
    monkeypatch.setattr(Kernel, "call_on", lambda self, *args: (calls.append(self), plain(self, *args))[1])

    @ti.kernel
    def grow(a: ti.types.ndarray()):
        for i in ti.grouped(a):
            a[i] += 1

    kinds = [np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros((4, 2), np.float32).T]
    for _ in range(4):
        for array in kinds:
            grow(CpuTensor(array))
    assert [array.min() for array in kinds] == [array.max() for array in kinds] == [4, 4, 4]
    assert len(calls) == 3
