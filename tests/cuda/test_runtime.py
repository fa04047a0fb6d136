"""What surrounds kernels on a GPU: finding one, losing it, its errors, and the profiler. A driver in Python stands in
for NVIDIA's, so that all of this is tried on every machine."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import weft
from weft.lang.program.init import program
from weft.runtime import cuda_driver, cuda_gpu, nvtx
from weft.runtime.cuda_driver import CudaError, Driver
from weft.runtime.cuda_graph import graph_of
from weft.runtime.errors import OutOfMemory
from weft.runtime.launch import load_runtime

_ERRORS = {3: b"CUDA_ERROR_NOT_INITIALIZED", 100: b"CUDA_ERROR_NO_DEVICE", 700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}


class _Machine:
    """libcuda of a machine with so many GPUs. `status` is what the functions in `failing` answer."""

    def __init__(self, gpus: int = 1, version: int = 12_080, capability: int = 90, pools: int = 1) -> None:
        self.gpus, self.version = gpus, version
        self.facts = {75: capability // 10, 76: capability % 10, 16: 132, 115: pools}
        self.failing: dict[str, int] = {}
        self.calls: list[str] = []
        self.busy, self.stack, self.current = 0, 1024, 0
        self.pinned = list[Any]()
        self.watch: Any = lambda name: None
        self._functions: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        if name not in self._functions:
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *cuda_driver.PROTOTYPES[name])
            self._functions[name] = kind(lambda *arguments: self._answer(name, *arguments))
        return self._functions[name]

    def _answer(self, name: str, *arguments: Any) -> int:
        self.calls.append(name)
        self.watch(name)
        if name == "cuGetErrorName":
            arguments[1][0] = _ERRORS.get(arguments[0], b"CUDA_ERROR_UNKNOWN")
        elif name == "cuDriverGetVersion":
            arguments[0][0] = self.version
        elif name == "cuDeviceGetCount":
            arguments[0][0] = self.gpus
        elif name == "cuDeviceGetAttribute":
            arguments[0][0] = self.facts.get(arguments[1], 0)
        elif name == "cuDeviceGet":
            arguments[0][0] = arguments[1]
        elif name == "cuMemHostAlloc":
            self.pinned.append(ctypes.create_string_buffer(arguments[1]))
            arguments[0][0] = ctypes.addressof(self.pinned[-1])
        elif name == "cuDevicePrimaryCtxRetain":
            arguments[0][0] = 0xC0DE0 + arguments[1]
        elif name == "cuCtxGetCurrent":
            arguments[0][0] = self.current
        elif name == "cuCtxSetCurrent":
            self.current = arguments[0]
        elif name == "cuCtxGetLimit":
            arguments[0][0] = self.stack
        elif name == "cuCtxSetLimit" and name not in self.failing:
            self.stack = arguments[1]
        elif name == "cuStreamQuery" and self.busy:
            self.busy -= 1
            return cuda_driver.NOT_READY
        return self.failing.get(name, 0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a machine under the driver: `machine(gpus=2)`."""

    real: Any = ctypes.CDLL

    def install(**facts: Any) -> _Machine:
        made = _Machine(**facts)

        def load(name: str, *rest: Any, **keywords: Any) -> Any:
            return made if name == cuda_driver.LIBRARY else real(name, *rest, **keywords)

        monkeypatch.setattr(ctypes, "CDLL", load)
        return made

    monkeypatch.setattr(cuda_gpu, "_gpus", {})
    monkeypatch.setattr(cuda_gpu, "_given_up", set())
    cuda_driver.driver.cache_clear()
    yield install
    cuda_driver.driver.cache_clear()


def test_no_driver(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(weft.WeftError, match=r"no NVIDIA driver was found .*; install one, or use arch=cpu"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_an_old_driver(machine: Any) -> None:
    machine(version=10_020)
    with pytest.raises(weft.WeftError, match=r"supports CUDA 10\.2 only: update it to one that supports 11\.2"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_no_gpu(machine: Any) -> None:
    machine().failing["cuInit"] = 100
    with pytest.raises(weft.WeftError, match="sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_an_old_gpu(machine: Any) -> None:
    machine(capability=61)
    with pytest.raises(weft.WeftError, match=r"compute capability 6\.1; Weft needs 7\.0 \(Volta\) or newer"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_which_of_two(machine: Any) -> None:
    machine(gpus=2)
    weft.init(arch=weft.cuda, device=1, enable_fallback=False)
    with pytest.raises(weft.WeftError, match="there is no CUDA device 2: the driver sees 2"):
        weft.init(arch=weft.cuda, device=2, enable_fallback=False)
    first, second = cuda_gpu.gpu(0), cuda_gpu.gpu(1)
    assert (first.index, second.index) == (0, 1)
    assert cuda_gpu.gpu(1) is second


@pytest.mark.parametrize("others", [None, 0xC0DE0])
def test_the_gpu_that_another_library_chose_stays(machine: Any, others: int | None) -> None:
    made = machine(gpus=2)
    made.current = others
    weft.init(arch=weft.cuda, device=1, enable_fallback=False)
    assert made.current == others
    array, memory = weft.ndarray(weft.f32, 4), program().device.memory
    buffer = memory.allocate(16, "a test")
    seen = []
    made.watch = lambda name: seen.append((name, made.current)) if "Ctx" not in name else None
    array.fill(1.0)
    array.to_numpy()
    memory.assign(memory.duplicate(buffer), buffer)
    memory.follow(77)
    program().device.seconds_between(program().device.stamp(), program().device.stamp())
    del array, buffer
    weft.sync()
    weft.reset()
    assert made.current == others
    work = [(name, current) for name, current in seen if "Async" in name or "Event" in name or "Stream" in name]
    assert len(work) > 10
    # What carries single elements goes by the stream, and makes the context current where the driver refuses that.
    single = ["cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"]
    assert [name for name, current in work if "Destroy" not in name and current != 0xC0DE1] == single


@pytest.mark.parametrize("others", [None, 0, 0xC0DE1])
def test_a_launch_gives_back_the_context_that_it_found(ti: Any, request: Any, others: int | None) -> None:
    """`others` is None: the device's own one."""
    if "gpu" in request.node.name:
        pytest.skip("the one GPU of a machine has one context")
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run(n: ti.i32):
        if n > 0:
            for i in x:
                x[i] = n

    run(1)
    library, own = program().device.gpu.library, program().device.gpu.context
    library.current = own if others is None else others
    before, seen, launch = library.current, [], library.do_LaunchKernel

    def watched(*arguments: Any) -> int:
        seen.append(library.current)
        return launch(*arguments)

    library.do_LaunchKernel = watched
    run(2)
    assert library.current == before
    assert set(seen) == {own}
    library.current = before
    assert list(x.to_numpy()) == [2] * 4


def test_no_stream_ordered_memory(machine: Any) -> None:
    machine(pools=0)
    with pytest.raises(CudaError, match="update the NVIDIA driver"):
        cuda_gpu.gpu(0)


def test_gpu_falls_back_with_one_line(machine: Any) -> None:
    machine().failing["cuInit"] = 100
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weft.init(arch=weft.gpu)
    assert weft.cfg.arch == "cpu"
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith("arch=gpu is not available")
    assert text.endswith("running on cpu")
    assert "\n" not in text


# ---- a context that breaks -------------------------------------------------------------------------------------------


def test_a_wait_asks_until_the_work_is_done(machine: Any) -> None:
    made = machine()
    gpu = cuda_gpu.gpu(0)
    made.busy = 5
    gpu.synchronize()
    assert made.busy == 0


def test_ctrl_c_ends_a_wait(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine()
    gpu = cuda_gpu.gpu(0)
    made.busy = 10**9

    def interrupted(seconds: float) -> None:
        assert 0 < seconds < 0.01
        raise KeyboardInterrupt

    monkeypatch.setattr(cuda_gpu.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gpu.synchronize()


def test_a_broken_context_says_so_and_the_next_program_has_a_new_one(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    array = weft.ndarray(weft.f32, 4)
    old = cuda_gpu.gpu(0)
    made.failing["cuStreamQuery"] = 700
    with pytest.raises(CudaError, match=r"ILLEGAL_ADDRESS.*debug=True.*the context of the GPU is lost.*restart"):
        weft.sync()
    with pytest.raises(CudaError, match="ILLEGAL_ADDRESS"):
        weft.sync()
    weft.reset()
    assert made.calls.count("cuDevicePrimaryCtxReset_v2") == 1
    assert not old.usable
    freed = made.calls.count("cuMemFreeAsync")
    del array
    assert made.calls.count("cuMemFreeAsync") == freed
    made.failing.clear()
    weft.init(arch=weft.cuda, enable_fallback=False)
    assert cuda_gpu.gpu(0) is not old
    assert cuda_gpu.missing() == ""
    weft.ndarray(weft.f32, 4)
    weft.sync()
    with pytest.raises(CudaError, match="starts afresh"):
        old.enter()
    weft.reset()


def test_a_process_that_gets_no_other_context(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    weft.ndarray(weft.f32, 4)
    made.failing["cuStreamQuery"] = made.failing["cuDevicePrimaryCtxRetain"] = 700
    weft.reset()
    with pytest.raises(weft.WeftError, match="no other one: restart it, or use arch=cpu"):
        weft.init(arch=weft.cuda, enable_fallback=False)
    with pytest.warns(UserWarning, match="running on cpu"):
        weft.init(arch=weft.gpu)


def test_other_errors_are_not_forgiven(machine: Any) -> None:
    made = machine()
    gpu = cuda_gpu.gpu(0)
    made.failing["cuStreamQuery"] = 1
    with pytest.raises(CudaError):
        gpu.trim()
    assert gpu.usable


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_told_what_to_do(machine: Any) -> None:
    machine()
    gpu = cuda_gpu.gpu(0)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            gpu.synchronize()
        except CudaError as error:
            os.write(writing, f"{error}\n{gpu.driver.error(1, 'launching')}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).decode().count('multiprocessing\'s "spawn" method') == 2
    os.close(reading)
    gpu.synchronize()


def test_errors_without_advice_name_the_function() -> None:
    error = Driver(_Machine()).error(999, "cuSomething")
    assert str(error).startswith("cuSomething: CUDA_ERROR_UNKNOWN")
    assert "lost" not in str(error)


# ---- graphs ----------------------------------------------------------------------------------------------------------


def test_only_tasks_with_something_to_do_are_launched(ti: Any) -> None:
    library = getattr(program().device.gpu, "library", None)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def steps(a: ti.i32, b: ti.i32, c: ti.i32):
        for i in range(a):
            x[i] += 1
        for i in range(b):
            x[i] += 10
        for i in range(c):
            x[i] += 100

    expected = [0] * 8
    for lengths in ((8, 8, 8), (0, 3, 0), (2, 0, 0), (0, 0, 0), (1, 1, 8), (0, 0, 1)):
        before = len(library.launches) if library else 0
        steps(*lengths)
        assert not library or len(library.launches) - before == sum(n > 0 for n in lengths)
        for n, step in zip(lengths, (1, 10, 100)):
            expected = [value + step * (i < n) for i, value in enumerate(expected)]
    assert x.to_numpy().tolist() == expected


def test_drivers_that_cannot_do_graphs(machine: Any) -> None:
    made = machine()
    driver = cuda_driver.driver()

    def graph() -> Any:
        return graph_of(driver, 0, load_runtime(), [(5, 256), (6, 1)], 4, lambda: True)

    assert graph() is not None
    assert made.calls.count("cuGraphAddKernelNode") == 2
    assert made.calls.count("cuGraphDestroy") == 1  # it is gone already
    made.failing["cuGraphInstantiateWithFlags"] = 801
    assert graph() is None
    assert made.calls.count("cuGraphDestroy") == 2
    made.failing.clear()
    made.version = 11_040
    assert graph() is None
    assert graph_of(driver, 0, load_runtime(), [], 4, lambda: True) is None


# ---- the profiler ----------------------------------------------------------------------------------------------------


def test_tasks_are_timed_on_the_device(ti: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.cuda, kernel_profiler=True, enable_fallback=False)
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def two() -> ti.f32:
        for i in x:
            x[i] = i
        for i in range(500):
            x[i] += 1
        return x[3]

    @ti.kernel
    def one():
        for i in x:
            x[i] = 0

    assert [two(), two()] == [4, 4]
    one()
    found = ti.profiler.query_kernel_profiler_info("two")
    assert found.counter == 2
    assert 0 < found.min <= found.avg <= found.max < 100
    ti.profiler.print_kernel_profiler_info()
    rows = capsys.readouterr().out.splitlines()
    tasks = [row.split()[-1] for row in rows if "two_" in row]
    assert tasks == [f"two_{k}" for k in range(len(tasks))]
    assert len(tasks) >= 2
    assert not any("one_" in row for row in rows)
    total = sum(float(row.split()[1]) for row in rows if row.endswith(("  two", "  one")))
    assert ti.profiler.get_kernel_profiler_total_time() * 1000 == pytest.approx(total, abs=0.01)


def test_a_range_for_each_launch(ti: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[str] = []

    class Library:
        """libnvToolsExt."""

        def nvtxRangePushA(self, name: bytes) -> int:
            ranges.append(name.decode())
            return 0

        def nvtxRangePop(self) -> int:
            ranges.append("end")
            return 0

    monkeypatch.setattr(nvtx, "_library", Library)
    ti.init(arch=ti.cuda, nvtx=True, enable_fallback=False)

    @ti.kernel
    def seven() -> ti.i32:
        return 7

    line = seven.function.__code__.co_firstlineno
    assert [seven(), seven()] == [7, 7]
    assert ranges == [f"seven (test_runtime.py:{line})", "end"] * 2


def test_without_the_library_ranges_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(nvtx, "_NAMES", ("libthatnobodyhas.so.7",))
    nvtx._library.cache_clear()
    assert not nvtx.available()
    with nvtx.in_range("quiet"):
        pass
    nvtx._library.cache_clear()


def test_no_room_for_stacks(machine: Any) -> None:
    """What the pool keeps is given back first; then it is said what to do."""
    made = machine()
    gpu = cuda_gpu.gpu(0)
    gpu.reserve_stack(8192)
    made.failing["cuCtxSetLimit"] = cuda_driver.OUT_OF_MEMORY
    made.calls.clear()
    with pytest.raises(OutOfMemory, match=r"stack of 65536 bytes.*init\(cuda_stack_limit=\.\.\.\)"):
        gpu.reserve_stack(65536)
    assert made.calls.index("cuMemPoolTrimTo") < made.calls.index("cuCtxSetLimit")
    made.failing["cuCtxSetLimit"] = 1
    with pytest.raises(CudaError, match="cuCtxSetLimit"):
        gpu.reserve_stack(65536)


def test_stacks_are_given_back_with_the_program(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    gpu = program().device.gpu
    gpu.reserve_stack(512)
    assert made.stack == 1024
    gpu.reserve_stack(8192)
    gpu.reserve_stack(65536)
    assert made.stack == 65536
    weft.reset()
    assert made.stack == 1024
    weft.init(arch=weft.cuda, enable_fallback=False)
    assert program().device.gpu is gpu
    gpu.reserve_stack(8192)
    made.stack = 32768  # another library's wish
    weft.reset()
    assert made.stack == 32768
