"""What surrounds kernels on a GPU: finding one, losing it, its errors, and the profiler. A driver in Python stands in
for NVIDIA's, so that all of this is tried on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import weft
from tests import emulated
from tests.emulated.driver import EmulatedDriver
from weft.lang.program.init import program
from weft.runtime import cuda_driver, cuda_gpu, doctor, nvtx
from weft.runtime.cuda_driver import OUT_OF_MEMORY, CudaError
from weft.runtime.cuda_graph import graph_of
from weft.runtime.errors import OutOfMemory
from weft.runtime.launch import load_runtime


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts a driver in software in place of NVIDIA's: `machine(gpus=2)`."""

    def install(**facts: Any) -> EmulatedDriver:
        made = EmulatedDriver(**facts)
        monkeypatch.setattr(cuda_driver, "open_driver", lambda: made)
        return made

    monkeypatch.setattr(cuda_gpu, "_gpus", {})
    monkeypatch.setattr(cuda_gpu, "_given_up", set())
    cuda_driver.driver.cache_clear()
    yield install
    cuda_driver.driver.cache_clear()


def test_no_driver(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", "libnobodyhas.so.1")
    with pytest.raises(weft.WeftError, match=r"no NVIDIA driver was found .*: install one, or use arch=cpu"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_a_driver_without_the_package_that_calls_it(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "LIBRARY", None)  # the program itself, which is there
    for name in ("cuda", "cuda.bindings", "cuda.bindings.driver"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(weft.WeftError, match=r"there is an NVIDIA driver.*type `pip install weft\[cuda\]`"):
        weft.init(arch=weft.cuda, enable_fallback=False)
    with pytest.warns(UserWarning, match=r"`pip install weft\[cuda\]`.*running on cpu"):
        weft.init(arch=weft.gpu)
    assert "pip install weft[cuda]" in doctor.facts()["cuda driver"]


def test_the_package_is_imported_only_for_a_gpu() -> None:
    program = "import sys, weft; weft.init(arch=weft.cpu); print([n for n in sys.modules if n.split('.')[0] == 'cuda'])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[-2] == "[]"


def test_an_old_driver(machine: Any) -> None:
    machine(supported=11_080)
    with pytest.raises(weft.WeftError, match=r"supports CUDA 11\.8 only: update it to one that supports 12\.0"):
        weft.init(arch=weft.cuda, enable_fallback=False)


def test_no_gpu(machine: Any) -> None:
    machine().failing["start"] = 100
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


def test_reserved_memory_is_managed_and_freed_with_its_last_user(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    memory = program().device.memory
    assert memory.most_reserved == 8 << 30
    pool = memory.reserve(1 << 33, "pool", grows=True)
    view = memory.view(pool, "i4", (4,), 1 << 32)
    assert view.copy().tolist() == [0, 0, 0, 0]
    view[2] = 5
    assert view.copy().tolist() == [0, 0, 5, 0]
    held = len(made.blocks)
    del pool, view
    assert "free_managed" in made.calls
    assert len(made.blocks) == held - 1
    made.failing["prefer_device"] = 801  # not supported: it would only be faster
    kept = memory.reserve(64, "pool")
    made.failing["allocate_managed"] = OUT_OF_MEMORY
    with pytest.raises(OutOfMemory, match=r"velocity needs 8\.0 GiB of GPU memory"):
        memory.reserve(1 << 33, "velocity")
    assert kept.size == 64


def test_reserved_memory_needs_pages_on_demand(machine: Any) -> None:
    machine(pages=False)
    weft.init(arch=weft.cuda, enable_fallback=False)
    with pytest.raises(CudaError, match="velocity needs memory that grows by pages, which this GPU or its driver"):
        program().device.memory.reserve(1 << 33, "velocity")


@pytest.mark.parametrize("others", [None, 0xC0DE0])
def test_the_gpu_that_another_library_chose_stays(machine: Any, others: int | None) -> None:
    made = machine(gpus=2)
    made.current = others
    weft.init(arch=weft.cuda, device=1, enable_fallback=False)
    assert made.current == others
    array, memory = weft.ndarray(weft.f32, 4), program().device.memory
    buffer = memory.allocate(16, "a test")
    seen = []
    made.watch = lambda name: seen.append((name, made.current))
    array.fill(1.0)
    array.to_numpy()
    memory.assign(memory.duplicate(buffer), buffer)
    memory.follow(77)
    program().device.seconds_between(program().device.stamp(), program().device.stamp())
    del array, buffer
    weft.sync()
    weft.reset()
    assert made.current == others
    free_of_it = ("context", "device", "facts", "pool", "destroy_event")
    work = [(name, current) for name, current in seen if not any(part in name for part in free_of_it)]
    assert len(work) > 10
    # What carries single elements goes by the stream, and makes the context current where the driver refuses that.
    assert [name for name, current in work if current != 0xC0DE1] == ["copy_out", "synchronize_stream"]


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
    driver, own = program().device.driver, program().device.gpu.context
    driver.current = own if others is None else others
    before, seen = driver.current, []
    driver.watch = lambda name: seen.append(driver.current) if name == "launch" else None
    run(2)
    assert driver.current == before
    assert set(seen) == {own}
    assert list(x.to_numpy()) == [2] * 4


def test_no_stream_ordered_memory(machine: Any) -> None:
    machine(pools=False)
    with pytest.raises(CudaError, match="update the NVIDIA driver"):
        cuda_gpu.gpu(0)


def test_gpu_falls_back_with_one_line(machine: Any) -> None:
    machine().failing["start"] = 100
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
    made.failing["is_done"] = 700
    with pytest.raises(CudaError, match=r"ILLEGAL_ADDRESS.*debug=True.*The context of the GPU is lost.*restart"):
        weft.sync()
    with pytest.raises(CudaError, match="ILLEGAL_ADDRESS"):
        weft.sync()
    weft.reset()
    assert made.calls.count("reset_context") == 1
    assert not old.usable
    freed = made.calls.count("free")
    del array
    assert made.calls.count("free") == freed
    made.failing.clear()
    weft.init(arch=weft.cuda, enable_fallback=False)
    assert cuda_gpu.gpu(0) is not old
    assert cuda_gpu.missing() == ""
    weft.ndarray(weft.f32, 4)
    weft.sync()
    with pytest.raises(CudaError, match="create another one"):
        old.enter()
    weft.reset()


def test_a_process_that_gets_no_other_context(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    weft.ndarray(weft.f32, 4)
    made.failing["is_done"] = made.failing["retain_context"] = 700
    weft.reset()
    with pytest.raises(weft.WeftError, match="another one: restart the process, or use arch=cpu"):
        weft.init(arch=weft.cuda, enable_fallback=False)
    with pytest.warns(UserWarning, match="running on cpu"):
        weft.init(arch=weft.gpu)


def test_no_memory(machine: Any) -> None:
    made = machine()
    weft.init(arch=weft.cuda, enable_fallback=False)
    array = weft.ndarray(weft.f32, 1 << 20)
    made.failing["allocate"] = OUT_OF_MEMORY
    with pytest.raises(OutOfMemory, match=r"needs 8\.0 MiB of GPU memory, but only 4\.0 GiB of 8\.0 GiB are free"):
        weft.ndarray(weft.f32, 1 << 21)
    made.failing["allocate"] = 700
    with pytest.raises(CudaError, match=r"allocating 8\.0 MiB for .*ILLEGAL_ADDRESS.*The context of the GPU is lost"):
        weft.ndarray(weft.f32, 1 << 21)
    made.failing.clear()
    assert array.to_numpy().shape == (1 << 20,)


@pytest.mark.emulated
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("call", ["launch", "record_event"])
def test_a_launch_that_the_driver_refuses(monkeypatch: pytest.MonkeyPatch, timed: bool, call: str) -> None:
    emulated.use(monkeypatch)
    weft.init(arch=weft.cuda, kernel_profiler=timed, enable_fallback=False)
    x = weft.field(weft.i32, 4)

    @weft.kernel
    def run(n: weft.i32):
        for i in x:
            x[i] = n

    run(1)
    driver = program().device.driver
    driver.failing[call] = 1
    if call == "launch" or timed:
        with pytest.raises(CudaError, match="kernel run: CUDA_ERROR_INVALID_VALUE"):
            run(2)
    driver.failing.clear()
    run(3)
    assert list(x.to_numpy()) == [3] * 4
    weft.reset()


def test_other_errors_are_not_forgiven(machine: Any) -> None:
    made = machine()
    gpu = cuda_gpu.gpu(0)
    made.failing["is_done"] = 1
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
    error = EmulatedDriver().error(999, "cuSomething")
    assert str(error).startswith("cuSomething: CUDA_ERROR_UNKNOWN")
    assert "lost" not in str(error)


# ---- graphs ----------------------------------------------------------------------------------------------------------


def test_only_tasks_with_something_to_do_are_launched(ti: Any) -> None:
    driver = getattr(program().device, "driver", None)  # of the emulated device
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
        before = len(driver.launches) if driver else 0
        steps(*lengths)
        assert not driver or len(driver.launches) - before == sum(n > 0 for n in lengths)
        for n, step in zip(lengths, (1, 10, 100)):
            expected = [value + step * (i < n) for i, value in enumerate(expected)]
    assert x.to_numpy().tolist() == expected


def test_drivers_that_cannot_do_graphs(machine: Any) -> None:
    made = machine()
    driver = cuda_driver.driver()

    def graph() -> Any:
        return graph_of(driver, 0, load_runtime(), [(5, 256), (6, 1)], 4, lambda: True)

    assert graph() is not None
    assert made.calls.count("add_kernel") == 2
    assert made.calls.count("destroy_graph") == 1  # it is gone already
    made.failing["instantiate"] = 801
    assert graph() is None
    assert made.calls.count("destroy_graph") == 2
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
    made.failing["set_stack_limit"] = OUT_OF_MEMORY
    made.calls.clear()
    with pytest.raises(OutOfMemory, match=r"stacks of 65536 bytes.*init\(cuda_stack_limit=\.\.\.\)"):
        gpu.reserve_stack(65536)
    assert made.calls.index("trim_pool") < made.calls.index("set_stack_limit")
    made.failing["set_stack_limit"] = 1
    with pytest.raises(CudaError, match="set_stack_limit"):
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
