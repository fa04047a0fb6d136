"""Memory shared with PyTorch, CuPy and other libraries on a GPU: no copies, and the right order between streams."""

from __future__ import annotations

import ctypes
import gc
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from weft.lang.program.init import program
from weft.runtime import dlpack


@pytest.fixture
def torch(gpu: Any) -> Any:
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return found


@pytest.fixture
def cupy(gpu: Any) -> Any:
    return pytest.importorskip("cupy", reason="cupy is not installed")


def doubling(ti: Any) -> Any:
    @ti.kernel
    def double(a: ti.types.ndarray()):
        for I in ti.grouped(a):
            a[I] = a[I] * 2

    return double


def slow_adding(ti: Any) -> Any:
    """A kernel that takes some milliseconds, and adds 1 at its end."""

    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in a:
            x = a[i]
            for _ in range(20000):
                x = ti.sin(x) * 0.5
            a[i] += 1.0 + x * 0

    return add


# ---- without another library -----------------------------------------------------------------------------------------


def test_elements_on_the_device(ti: Any) -> None:
    for name in ("i8", "u8", "i16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "u1"):
        dtype = getattr(ti, name)
        x, n = ti.field(dtype, (3, 4)), ti.ndarray(dtype, 5)
        x[2, 1], n[4] = 1, 1
        assert (x[2, 1], n[4], x[0, 0], n[0]) == (1, 1, 0, 0)
        assert x.to_numpy().astype(int).sum() == n.to_numpy().astype(int).sum() == 1
    v, m = ti.Vector.field(3, ti.f32, 4), ti.Matrix.ndarray(2, 2, ti.f64, (2, 2))
    v[np.int32(2)] = [1, 2, 3]
    v[2][1] = 5
    m[1, 0] = [[1, 2], [3, 4]]
    assert v[2].to_list() == [1, 5, 3]
    assert v[1].to_list() == [0, 0, 0]
    assert m[np.int8(1), 0].to_list() == [[1, 2], [3, 4]]
    far = ti.field(ti.i64, (2, 40))
    far[np.int8(1), np.int8(39)] = 7  # beyond what its indices can count
    assert (far[np.int8(1), np.int8(39)], far[1, 39]) == (7, 7)
    x = ti.field(ti.u8, 2)
    x[0] = 300
    assert (x[0], x[1]) == (44, 0)
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]


def test_a_capsule_of_ours_and_back(ti: Any) -> None:
    x = ti.field(ti.f32, (3, 4))
    x.from_numpy(np.arange(12).reshape(3, 4))
    memory = program().device.memory
    for request in ({}, {"max_version": (1, 0)}, {"stream": -1}):
        capsule = x.__dlpack__(**request)
        assert x.__dlpack_device__() == (2, 0)

        class Producer:
            def __dlpack__(self, capsule=capsule, **_):
                return capsule

            def __dlpack_device__(self):
                return (2, 0)

        found = dlpack.borrow(Producer(), memory.stream)
        assert (found.shape, found.strides, found.dtype) == ((3, 4), (16, 4), np.float32)
        assert found.read_only == ("max_version" not in request)
        assert (found.on_host, found.address) == (False, x._lend().address)
        with pytest.raises(BufferError):
            dlpack.borrow(Producer())
        del found
        gc.collect()
    unused = x.__dlpack__()
    del unused
    with pytest.raises(BufferError):
        x.__dlpack__(copy=True)


def test_lent_memory_outlives_its_field(ti: Any) -> None:
    memory = program().device.memory
    x = ti.field(ti.f32, 1000, name="lent")
    x.fill(3)
    facts, capsule = x.__cuda_array_interface__, x.__dlpack__()
    assert (facts["shape"], facts["typestr"], facts["strides"]) == ((1000,), "<f4", None)
    del x
    gc.collect()
    assert "lent" in [name for name, _ in memory.holders()]  # the capsule has it
    del capsule
    gc.collect()
    assert "lent" not in [name for name, _ in memory.holders()]


def test_copies_stay_on_the_device(ti: Any) -> None:
    a, b = ti.Vector.ndarray(3, ti.f32, (4, 5)), ti.Vector.ndarray(3, ti.f32, (4, 5))
    a.from_numpy(np.arange(60, dtype=np.float32).reshape(4, 5, 3))
    b.copy_from(a)
    assert (b.to_numpy() == a.to_numpy()).all()
    x, y = ti.field(ti.f64, 7), ti.field(ti.f64, 7)
    x.from_numpy(np.arange(7))
    y.copy_from(x)
    assert y.to_numpy().tolist() == list(range(7))


def test_large_copies_through_many_lanes(ti: Any) -> None:
    n = (70 << 20) // 4 + 13
    values = np.arange(n, dtype=np.int32)
    x = ti.field(ti.i32, n)
    x.from_numpy(values)
    assert (x.to_numpy() == values).all()
    a = ti.ndarray(ti.i32, n)
    a.from_numpy(values[::-1])
    assert (a.to_numpy() == values[::-1]).all()


class Interface:
    """Only `__cuda_array_interface__`, over memory of ours."""

    def __init__(self, of: Any, **more: Any) -> None:
        self.of, self.__cuda_array_interface__ = of, {**of.__cuda_array_interface__, **more}


def test_an_interface_as_argument(ti: Any) -> None:
    a = ti.ndarray(ti.f32, 8)
    a.fill(3)
    double = doubling(ti)
    for more in ({"stream": None}, {"stream": 1}, {}):
        double(Interface(a, **more))
    assert a.to_numpy().tolist() == [24] * 8
    address = a.__cuda_array_interface__["data"][0]
    double(Interface(a, shape=(4,), strides=(8,), data=(address + 4, False)))
    assert a.to_numpy().tolist() == [24, 48] * 4
    with pytest.raises(Exception, match="read-only"):
        double(Interface(a, data=(address, True)))
    with pytest.raises(Exception, match="mask"):
        double(Interface(a, mask=a))


def test_structs_on_the_device(ti: Any) -> None:
    kind = ti.types.struct(tag=ti.u8, pos=ti.math.vec3, mass=ti.f64)
    s = ti.ndarray(kind, 5)

    @ti.kernel
    def run(s: ti.types.ndarray(dtype=kind, ndim=1)):
        for i in s:
            s[i].tag = ti.cast(i, ti.u8)
            s[i].pos = [i, 2 * i, 3]
            s[i].mass += 0.5 * i

    run(s)
    assert s.mass.to_numpy().tolist() == [0, 0.5, 1, 1.5, 2]
    assert s[4].to_dict() == {"tag": 4, "pos": [4, 8, 3], "mass": 2}
    s[2].pos[1] = -1
    s[1].mass = 7
    assert s.pos.to_numpy()[2].tolist() == [2, -1, 3]
    assert s.to_numpy()["mass"].tolist() == [0, 7, 1, 1.5, 2]


class Float32(str):
    """torch's type of that name."""

    is_floating_point = True


class Tensor:
    """A torch tensor, as far as arguments need one, over memory of ours."""

    dtype, is_cuda, device, layout = Float32("torch.float32"), True, SimpleNamespace(index=0), "strided"

    def __init__(self, of: Any) -> None:
        self.of, self.shape = of, of.shape

    def detach(self) -> Any:
        return self

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // 4 for stride in self.of.array().strides)

    def data_ptr(self) -> int:
        return self.of.array().address

    def element_size(self) -> int:
        return 4

    def get_device(self) -> int:
        return 0

    def is_neg(self) -> bool:
        return False


@pytest.mark.parametrize("stream", [0, 7])
def test_the_order_of_streams(ti: Any, stream: int, monkeypatch: Any) -> None:
    memory = program().device.memory
    library = getattr(program().device.gpu, "library", None)
    if library is None:
        pytest.skip("the GPU itself is asked below")
    monkeypatch.setattr(memory, "_stream", 5)  # the emulator's is the default one
    streams = [stream]
    current = SimpleNamespace(current_stream=lambda index: SimpleNamespace(cuda_stream=streams[0]))
    torch = SimpleNamespace(Tensor=Tensor, cuda=current, strided="strided", _C=None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    seen: list[tuple[Any, ...]] = []

    def record(self: Any, event: int, of: int) -> int:
        seen.append(("record", of))
        return 0

    def wait(self: Any, waits: int, event: int, flags: int) -> int:
        seen.append(("wait", waits))
        return 0

    monkeypatch.setattr(type(library), "do_EventRecord", record, raising=False)
    monkeypatch.setattr(type(library), "do_StreamWaitEvent", wait, raising=False)
    a, b = ti.ndarray(ti.f32, (3, 4)), ti.ndarray(ti.f32, (3, 4))
    a.fill(3)
    double = doubling(ti)
    double(Tensor(a))
    assert a.to_numpy().tolist() == [[6] * 4] * 3
    ours = memory.stream
    around = [("record", stream), ("wait", ours), ("record", ours), ("wait", stream)]
    assert seen == ([] if stream == 0 else around)
    for streams[0] in (0, 7, 0):  # from the second call on native code may take it
        seen.clear()
        double(Tensor(a))
        assert seen == ([] if streams[0] == 0 else [("record", 7), ("wait", ours), ("record", ours), ("wait", 7)])
    assert a.to_numpy().tolist() == [[48] * 4] * 3
    seen.clear()
    double(b)  # an array of ours needs no order
    assert seen == []


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


@pytest.mark.cuda
def test_tensors_as_arguments(ti: Any, torch: Any) -> None:
    double = doubling(ti)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int32, torch.int64, torch.uint8):
        t = torch.arange(12, device="cuda").to(dtype).reshape(3, 4)
        want = (t * 2).cpu()
        double(t)
        assert torch.equal(t.cpu(), want)
    t = torch.arange(12.0, device="cuda").reshape(3, 4)
    double(t.T[::2])
    assert t.cpu().tolist() == [[0, 1, 4, 3], [8, 5, 12, 7], [16, 9, 20, 11]]
    parameter = torch.nn.Parameter(torch.ones(3, device="cuda"))
    double(parameter)
    assert parameter.detach().cpu().tolist() == [2, 2, 2]
    on_host = torch.ones(3)
    double(on_host)
    assert on_host.tolist() == [2, 2, 2]
    with pytest.raises(Exception, match="bfloat16"):
        double(torch.ones(3, device="cuda", dtype=torch.bfloat16))


@pytest.mark.cuda
def test_a_tensor_needs_the_arch(torch: Any) -> None:
    import weft as ti

    ti.init(arch=ti.cpu)
    with pytest.raises(Exception, match=r"argument 'a'.*arch=ti\.cuda"):
        doubling(ti)(torch.ones(3, device="cuda"))


@pytest.mark.cuda
@pytest.mark.parametrize("which", ["default", "other"])
def test_order_with_torch_streams(ti: Any, torch: Any, which: str) -> None:
    add = slow_adding(ti)
    n = 1 << 16
    add(torch.zeros(n, device="cuda"))  # compiled
    stream = torch.cuda.Stream() if which == "other" else torch.cuda.default_stream()
    for _ in range(5):
        with torch.cuda.stream(stream):
            t = torch.zeros(n, device="cuda")
            torch.cuda._sleep(20_000_000)  # some 10 ms
            t += 1
            add(t)  # must come after
            u = t * 10  # and this after it
        stream.synchronize()
        assert u.eq(20).all().item()


@pytest.mark.cuda
def test_fields_as_tensors(ti: Any, torch: Any) -> None:
    x = ti.Vector.field(3, ti.f32, (4, 5))
    x.from_numpy(np.arange(60).reshape(4, 5, 3))
    for t in (torch.from_dlpack(x), torch.as_tensor(x, device="cuda")):
        assert t.is_cuda
        assert t.cpu().numpy().tolist() == x.to_numpy().tolist()
        t += 1
        torch.cuda.synchronize()
    assert x.to_numpy()[0, 0, 0] == 2
    arch = ti.cfg.arch
    lent = torch.from_dlpack(x)
    ti.init(arch=arch)
    assert lent[3, 4, 2].item() == 61
    with pytest.raises(RuntimeError, match="no longer exists"):
        torch.from_dlpack(x)


@pytest.mark.cuda
def test_to_and_from_torch_on_the_device(ti: Any, torch: Any) -> None:
    x, n = ti.field(ti.f32, (64, 64)), ti.Matrix.ndarray(2, 2, ti.f64, 9)
    x.from_numpy(np.random.default_rng(0).random((64, 64)))
    for device in ("cuda", "cuda:0", "cpu", None):
        t = x.to_torch(device=device)
        assert t.is_cuda == (device is not None and "cuda" in device)
        assert np.array_equal(t.cpu().numpy(), x.to_numpy())
        t += 1
    assert x.to_numpy().max() < 1
    with torch.cuda.stream(torch.cuda.Stream()):
        source = torch.rand(64, 64, device="cuda")
        torch.cuda._sleep(20_000_000)
        source += 5
        x.from_torch(source)
    assert np.array_equal(x.to_numpy(), source.cpu().numpy())
    x.from_torch(source.T)
    assert np.array_equal(x.to_numpy(), source.T.cpu().numpy())
    x.from_torch(source.double().cpu())
    n.from_torch(torch.full((9, 2, 2), 3.0, device="cuda", dtype=torch.float64))
    assert n.to_numpy().sum() == 108
    n.from_torch(torch.full((9, 2, 2), 4, device="cuda"))
    assert n.to_torch(device="cuda").sum().item() == 144
    with pytest.raises(ValueError, match=r"\(64, 64\).*\(3, 3\)"):
        x.from_torch(torch.zeros(3, 3, device="cuda"))
    v = ti.Vector.field(3, ti.f32, 4)
    v.fill(2)
    assert tuple(v.to_torch(device="cuda", keep_dims=True).shape) == (4, 3, 1)


# ---- CuPy ------------------------------------------------------------------------------------------------------------


@pytest.mark.cuda
def test_cupy_arrays(ti: Any, cupy: Any) -> None:
    double = doubling(ti)
    a = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    double(a)
    double(a.T[1:, ::2])
    want = np.arange(12, dtype=np.float32).reshape(3, 4) * 2
    want.T[1:, ::2] *= 2
    assert (cupy.asnumpy(a) == want).all()
    x = ti.field(ti.i32, (3, 4))
    x.fill(5)
    for b in (cupy.asarray(x), cupy.from_dlpack(x)):
        b += 1
        cupy.cuda.Device().synchronize()
    assert x.to_numpy().tolist() == [[7] * 4] * 3
    unsupported = cupy.ones(3, dtype=cupy.complex64)
    with pytest.raises(Exception, match="complex64"):
        double(unsupported)


@pytest.mark.cuda
def test_order_with_cupy_streams(ti: Any, cupy: Any) -> None:
    add = slow_adding(ti)
    n = 1 << 16
    add(cupy.zeros(n, dtype=cupy.float32))
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin() { long long t = clock64(); while (clock64() - t < 20000000) {} }', "spin"
    )
    for _ in range(5):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            t = cupy.zeros(n, dtype=cupy.float32)
            spin((1,), (1,), ())
            t += 1
            add(t)
            u = t * 10
            stream.synchronize()
            assert bool((u == 20).all())


@pytest.mark.cuda
def test_only_dlpack(ti: Any, cupy: Any) -> None:
    class Only:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    a = cupy.arange(5, dtype=cupy.float32)

    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in a:
            s += a[i]
        return s

    assert total(Only(a)) == 10
    assert ctypes.sizeof(dlpack._Tensor) == 48
