"""The program: what `init` creates and `reset` drops. The only global state of Weft is in this file.

`program()` returns the current program. A first use without `init` calls `init(arch=cpu)`. Every `init` and `reset`
starts a new generation. Fields and compiled kernels of older generations raise an error when they are used."""

from __future__ import annotations

import ctypes
import importlib
import os
import random
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.config import CompileConfig
from weft.ir.errors import TypeMismatch, WeftError
from weft.ir.types import FLOATS, PRIMS, Prim, f32, i32
from weft.lang.logs.levels import ERROR, logger, set_logging_level
from weft.lang.program.backends import BACKENDS, Backend
from weft.lang.program.layout_changes import LayoutChanges
from weft.lang.program.options import checked, collect, did_you_mean, environment, mention_inert
from weft.runtime.forks import forkable
from weft.runtime.forks import gate as compiling
from weft.runtime.live_objects import LiveObjects

if TYPE_CHECKING:
    from weft.runtime.device import Device

__all__ = [
    "DUMPS",
    "Program",
    "amdgpu",
    "arm64",
    "compiling",
    "cpu",
    "cuda",
    "current_program",
    "dx11",
    "dx12",
    "follow_programs",
    "gles",
    "gpu",
    "init",
    "metal",
    "opengl",
    "program",
    "python",
    "reset",
    "seed",
    "sync",
    "vulkan",
    "x64",
    "x86_64",
]

cpu, cuda, python, gpu = "cpu", "cuda", "python", "gpu"
x64 = x86_64 = arm64 = cpu
vulkan, metal, opengl, gles, dx11, dx12, amdgpu = "vulkan", "metal", "opengl", "gles", "dx11", "dx12", "amdgpu"

_CONFIG = (
    "check_nan",
    "check_races",
    "check_uninitialised",
    "cpu_features",
    "debug",
    "cuda_stack_limit",
    "fast_math",
    "line_info",
    "mask_out_of_bounds",
    "opt_level",
    "advanced_optimization",
    "random_seed",
    "threads",
)

# Options that print texts of the compiler, with the names that WEFT_DUMP uses.
DUMPS = {
    "print_ir": "all",
    "print_preprocessed_ir": "tree",
    "print_kernel_llvm_ir": "llvm",
    "print_kernel_llvm_ir_optimized": "llvm",
    "print_kernel_asm": "asm",
}

on_open: list[Callable[[Any], None]] = []  # called with each device when it is opened

imported_at = time.time()  # files of Weft that are newer may differ from the code that runs

_FOLLOWS = "1.7.4"
_ARCHES = (cpu, cuda, gpu, python)
_ALIASES = {"x64": cpu, "x86_64": cpu, "arm64": cpu}
_ELSEWHERE = (vulkan, metal, opengl, gles, dx11, dx12, amdgpu)


def _new_lock() -> Any:
    return forkable(threading.RLock())


class Program:
    """The state between two resets."""

    def __init__(
        self,
        config: CompileConfig,
        generation: int,
        dumps: frozenset[str],
        profiling: bool,
        gpu: int,
        chosen: dict[str, Any],
    ) -> None:
        self.config, self.generation = config, generation  # the number of this program in this process
        self.dumps = dumps  # the texts of the compiler to print, as in WEFT_DUMP
        self.profiling = profiling  # `init(kernel_profiler=True)`
        self.gpu = gpu  # the number of the GPU
        self.chosen = chosen  # the options of `init` that were given
        self.trees = LiveObjects()  # the SNode trees that are alive
        self.builder: Any = None  # the tree that `root` builds
        self.random = random.Random(config.random_seed)
        self.draws: Any = None  # the state of the random numbers of arch=python
        self.told = set[Any]()  # the places where arch=python has warned of an overflow
        self.shadow: Any = None  # the shadow of the race check, see `data/shadows.py`
        self.arena: Any = None  # memory for records of launches, see `autodiff/records.py`
        self.marks: Any = None  # the marks of the check of uninitialised elements, see `data/marks.py`
        self.zeros: Any = None  # what is known of gradients, see `autodiff/zeros.py`; False: nothing, for good
        self.alive = True
        self.epoch = ctypes.c_int64()  # see `touch`
        self.lock: Any = _new_lock()  # held while an object is made at its first use
        self.growths, self.layouts = 0, LayoutChanges()  # how often trees have grown, and what waits meanwhile
        self._counting: Any = _new_lock()  # (garbage collection in the meantime may count too)
        self._device: Device | None = None
        self._compilers: Any = None
        self._kinds: dict[Any, int] = {}

    @property
    def interprets(self) -> bool:
        """Whether kernels run as Python. (The checks of races and of uninitialised elements compile kernels on every
        arch.)"""
        return self.backend.interprets and not (self.config.check_races or self.config.check_uninitialised)

    @property
    def verifies_results(self) -> bool:
        """Whether launches are evaluated as well, see `checks/results.py`."""
        return bool(self.chosen.get("verify") == "results" and not self.backend.interprets)

    def touch(self) -> None:
        """Advance the epoch, because an object that compiled kernels depend on is gone. Native code then looks up again
        what it knows about kernels."""
        with self._counting:
            self.epoch.value += 1

    def adopt(self, data: Any) -> None:
        """Make the program call `end` on `data` when it ends. If it has ended in the meantime, do so at once."""
        with self._counting:
            self.trees.add(data)
            alive = self.alive
        if not alive:
            data.end(_RESET)

    def end(self) -> None:
        """Destroy all fields of the program."""
        with self._counting:
            self.alive = False
        for tree in self.living():
            tree.end(_RESET)

    def living(self) -> list[Any]:
        """The trees, ndarrays and other data that the program has adopted and that are alive."""
        with self._counting:
            return list(self.trees)

    def kind(self, facts: Any) -> int:
        """The number of these facts about an argument. It is unique to this program."""
        with self._counting:
            return self._kinds.setdefault(facts, (self.generation << 32) + len(self._kinds))

    @property
    def arch(self) -> str:
        """The arch that runs kernels: "cpu", "cuda" or "python"."""
        return self.config.arch

    @property
    def backend(self) -> Backend:
        """The record of that arch."""
        return BACKENDS[self.config.arch]

    @property
    def device(self) -> Device:
        """The device that runs the kernels of this program. It is opened at its first use."""
        if self._device is None:
            with compiling, self.lock:
                if self._device is None:
                    device = self._open()
                    if self.profiling:
                        device.time_tasks()
                    self._device = device
                    for tell in list(on_open):
                        tell(device)
        return self._device

    def _open(self) -> Device:
        emit = importlib.import_module("weft.lang.program.store").keeping(self)
        assert self.backend.open is not None
        return self.backend.open(self.config, self.gpu, emit, lambda: self.store)

    @cached_property
    def store(self) -> Any:
        """The disk cache of compiled kernels. None if the options disable it."""
        return importlib.import_module("weft.lang.program.store").open_store(self.chosen, imported_at)

    @property
    def compilers(self) -> Any:
        """The threads that compile kernels before their first use."""
        with compiling, self.lock:
            if self._compilers is None:
                futures = importlib.import_module("concurrent.futures")
                self._compilers = futures.ThreadPoolExecutor(self.compile_threads, "weft-compiler")
        return self._compilers

    @cached_property
    def compile_threads(self) -> int:
        """The number of these threads."""
        return max(0, self.chosen.get("compile_threads", 0)) or _cores()

    @cached_property
    def seats(self) -> Any:
        """Limits how many threads compile at once. Other threads help to compile a long kernel only while the limit is
        not reached."""
        return importlib.import_module("weft.codegen.llvm.crew").Seats(min(self.compile_threads, _cores()))

    def forget_compilers(self) -> None:
        """Forget the compiler threads after a fork: they belong to the parent process."""
        self._compilers = None

    def opened(self) -> Device | None:
        """The device if it was opened already, else None."""
        return self._device


def _cores() -> int:
    count: int = importlib.import_module("weft.runtime.system").threads_available()
    return count


_current: Program | None = None
_followers: list[Callable[[Program, bool], None]] = []
_generation = 0
_starting = forkable(threading.RLock())  # held while a program begins or ends
_RESET = "`init` or `reset` was called after this field was created"


def _in_child() -> None:
    """Run in the child after a fork: the compiler threads are those of the parent."""
    if _current is not None:
        _current.forget_compilers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def program() -> Program:
    """The current program. If there is none yet, start one with the default options."""
    current = _current
    if current is not None:
        return current
    with _starting:  # another thread may start one
        if _current is None:
            init()
        assert _current is not None
        return _current


def current_program() -> Program | None:
    """The current program, or None."""
    return _current


def init(
    arch: str | None = None,
    default_fp: Any = None,
    default_ip: Any = None,
    *,
    enable_fallback: bool = True,
    require_version: str | None = None,
    **options: Any,
) -> None:
    """Start a new program. Fields and kernels that were made before this call become invalid.

    `arch` is `cpu` (the default), `cuda`, `gpu` (cuda if it works, else cpu) or `python` (kernel bodies run as plain
    Python, for debugging). With `enable_fallback`, cpu replaces an arch that is not available, with a warning. The
    types of literals, `float` and `int` are `default_fp` (f32, f16 or f64) and `default_ip` (i32, or another one).

    - Checks: `debug` (bounds, integer divisions by zero, asserts, integer overflows), `check_out_of_bound` (only
      bounds), `check_overflow` (only overflows; False: all of `debug` but overflows), `check_nan` (an error at the
      first NaN or infinity), `check_races` (find unordered accesses of iterations to one element; slow),
      `check_uninitialised` (an error when an unwritten element is read), `mask_out_of_bounds` (True; a load out of
      bounds gives 0, a store is dropped, with a warning), `verify` (check the IR after each pass; "results": also
      evaluate each launch and compare), `verify_limit` (200 000: the most operations of such an evaluation).
    - Execution: `fast_math` (True), `random_seed` (0), `cpu_max_num_threads` (0: all), `device` (0: which GPU),
      `cpu_features` ("native"; "x86-64-v2", "x86-64-v3", "x86-64-v4", or "v2" ...: at most SSE4.2, AVX2, AVX-512).
    - Compilation: `compile_threads` (0: all; how many threads compile several kernels, or the loops of a long one),
      `opt_level` (3), `advanced_optimization`. `offline_cache` (True) keeps compiled kernels on disk, with
      `offline_cache_file_path` (the folder), `offline_cache_max_size_of_files` (bytes), `offline_cache_cleaning_policy`
      ("lru", "fifo", "version", "never") and `offline_cache_cleaning_factor` (0.25).
    - Tools: `kernel_profiler`, `nvtx` (name launches for NVIDIA's tools), `line_info` (tell these tools source lines),
      `log_level`, `verbose` (False: only errors), `print_ir` and similar ones (texts of the compiler on stderr).

    Taichi's other options are accepted with a message that they have no effect. The environment overrides arguments:
    WEFT_ARCH or TI_ARCH, WEFT_DEBUG or TI_DEBUG ... Raises UnknownOption (a KeyError) for an unknown option,
    WrongOption (a TypeError and a ValueError) for a wrong type or value, WeftError for instructions the CPU lacks.

    Example:
        ti.init(arch=ti.cpu, default_fp=ti.f64, random_seed=7)
        ti.cfg.default_fp, ti.cfg.random_seed  # (f64, 7)
    """
    global _current, _generation
    chosen = collect(options)
    if "cpu_features" in chosen:
        chosen["cpu_features"] = _instruction_sets().named(chosen["cpu_features"])
    _set_level(chosen)
    mention_inert(options)
    _check_version(require_version)
    number = chosen.get("device", 0)
    found = _resolve_arch(environment("arch") or arch or cpu, checked("enable_fallback", bool, enable_fallback), number)
    config = _configuration(found, chosen, default_fp, default_ip)
    dumps = frozenset(text for option, text in DUMPS.items() if chosen.get(option))
    with compiling, _starting:
        reset()
        _generation += 1
        begun = Program(config, _generation, dumps, chosen.get("kernel_profiler", False), number, chosen)
        _current = begun
        _tell(begun, True)
    logger.info("running on arch=%s", config.arch)


def _configuration(arch: str, chosen: dict[str, Any], default_fp: Any, default_ip: Any) -> CompileConfig:
    return CompileConfig(
        arch=arch,
        traits=BACKENDS[arch].traits,
        default_fp=_default_type("default_fp", default_fp, f32),
        default_ip=_default_type("default_ip", default_ip, i32),
        boundary_check=chosen.get("check_out_of_bound", False) or chosen.get("debug", False),
        check_overflow=chosen.get("check_overflow", chosen.get("debug", False)),
        verify=chosen.get("verify") is True,
        **{name: chosen[name] for name in _CONFIG if name in chosen},
    )


def reset() -> None:
    """Drop the program. All its fields are destroyed, even if the program still refers to them. The next use starts a
    program with the default options.

    Example:
        x = ti.field(ti.f32, 4)
        ti.reset()
        x[0]  # raises FieldError
    """
    global _current
    with compiling, _starting:
        old, _current = _current, None
        if old is not None:
            _drop(old)


def _drop(old: Program) -> None:
    old.end()
    _tell(old, False)
    if old._compilers is not None:
        old._compilers.shutdown(wait=False, cancel_futures=True)
    old.touch()
    device = old.opened()
    if device is not None:
        device.close()


def _tell(one: Program, began: bool) -> None:
    for told in list(_followers):
        told(one, began)


def follow_programs(told: Callable[[Program, bool], None]) -> None:
    """Call `told(program, True)` for the current program, if there is one, and for each program that starts later. Call
    `told(program, False)` when a program ends."""
    with _starting:
        _followers.append(told)
        if _current is not None:
            told(_current, True)


def seed(random_seed: Any) -> None:
    """Restart the random numbers of kernels and of Python scope, as `init(random_seed=...)` does, but keep the program.
    The same seed and the same launches give the same numbers on every arch. Raises TypeMismatch for what is not an
    integer.

    Example:
        ti.seed(3)
        first = ti.random(ti.i32)
        ti.seed(3)
        ti.random(ti.i32) == first  # True
    """
    if not isinstance(random_seed, int | np.integer):
        raise TypeMismatch(f"the seed of random numbers must be an integer, not {random_seed!r}")
    random_seed = int(random_seed)
    current = program()
    current.config = replace(current.config, random_seed=random_seed)
    current.random.seed(random_seed)
    current.draws = None
    device = current.opened()
    if device is not None:
        device.reseed(random_seed)


def sync() -> None:
    """Wait until all kernels that were launched so far have finished. On the CPU, a kernel call returns when the kernel
    has finished. On a GPU it returns at once, so measure times only after `sync`. Raises the error of a kernel that
    failed.

    Example:
        x = ti.field(ti.f32, 4)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = 1

        fill()
        ti.sync()
        x[0]  # 1.0
    """
    device = None if _current is None else _current.opened()
    if device is not None:
        device.synchronize()


def _default_type(name: str, given: Any, usual: Prim) -> Prim:
    text = environment(name)
    prim = PRIMS.get(text) if text else given
    if prim is None and not text:
        return usual
    prim = {float: f32, int: i32}.get(prim, prim) if isinstance(prim, type) else prim
    wants_float = usual.is_float
    if not isinstance(prim, Prim) or (prim in FLOATS) != wants_float:
        raise TypeError(
            f"{name} must be {'f16, f32 or f64' if wants_float else 'an integer type'}, not {text or given!r}"
        )
    return prim


def _instruction_sets() -> Any:
    """The module that knows the names of instruction sets. It is imported when an option names one."""
    return importlib.import_module("weft.codegen.llvm.instruction_sets")


def _set_level(chosen: dict[str, Any]) -> None:
    if "log_level" in chosen:
        set_logging_level(chosen["log_level"])
    elif not chosen.get("verbose", True):
        set_logging_level(ERROR)


def _check_version(required: Any) -> None:
    if required is not None:
        checked("require_version", str, required)
    if required is not None and required != _FOLLOWS:
        logger.warning(
            "init: require_version=%r has no effect: Weft implements the language of Taichi %s", required, _FOLLOWS
        )


def _resolve_arch(arch: Any, fallback: bool, number: int) -> str:
    """The arch that will run: `arch`, or cpu if `arch` is not available."""
    wanted = arch[0] if isinstance(arch, list | tuple) else arch
    wanted = _ALIASES.get(wanted, wanted) if isinstance(wanted, str) else wanted
    if wanted in BACKENDS and BACKENDS[wanted].open is None:
        raise WeftError(f"Weft can compile for arch={wanted}, but cannot run it: see kernel.stages(...).on({wanted!r})")
    if wanted not in (*_ARCHES, *_ELSEWHERE):
        raise WeftError(f"arch must be one of {', '.join(_ARCHES)}, not {wanted!r}{did_you_mean(wanted, _ARCHES)}")
    found = BACKENDS.get(cuda if wanted == gpu else wanted)
    why = "Weft has no such backend" if found is None else found.missing(number)
    if found is not None and not why:
        return found.arch
    if not fallback:
        raise WeftError(f"arch={wanted} is not available: {why}")
    warnings.warn(f"arch={wanted} is not available ({why}); running on cpu", stacklevel=3)
    return cpu


def python_random(dtype: Prim) -> Any:
    """A random number in Python scope: in [0, 1) for floats, in the whole range for integers."""
    source = program().random
    if dtype.is_float:
        return dtype.np.type(source.random())
    return np.frombuffer(source.randbytes(8), np.uint64)[0].astype(dtype.np)
