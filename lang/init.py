"""The program: what `init` sets up and `reset` drops. The only global state of Weft lives in this file.

`program()` gives the current one; a first use without `init` is `init(arch=cpu)`. Every `init` and `reset` starts a new
generation: fields and compiled kernels of older generations say so when used.
"""

from __future__ import annotations

import importlib
import logging
import os
import random
import warnings
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.ir.types import FLOATS, PRIMS, Prim, f32, i32

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "TRACE",
    "WARN",
    "Program",
    "amdgpu",
    "arm64",
    "cfg",
    "cpu",
    "cuda",
    "dx11",
    "gles",
    "gpu",
    "init",
    "metal",
    "opengl",
    "program",
    "python",
    "reset",
    "set_logging_level",
    "sync",
    "vulkan",
    "x64",
]

cpu, cuda, python, gpu = "cpu", "cuda", "python", "gpu"
x64 = arm64 = cpu
TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"
vulkan, metal, opengl, gles, dx11, amdgpu = "vulkan", "metal", "opengl", "gles", "dx11", "amdgpu"

# Taichi's other options: they steer how a thing is compiled, cached or logged, never what it computes.
IGNORED = frozenset(
    (
        *("ad_stack_size", "cfg_optimization", "cpu_block_dim_adaptive", "cuda_stack_limit", "default_cpu_block_dim"),
        *("default_gpu_block_dim", "default_up", "demote_dense_struct_fors", "detect_read_only", "device_memory_GB"),
        *("device_memory_fraction", "dynamic_index", "flatten_if", "force_scalarize_matrix", "gdb_trigger"),
        *("gpu_max_reg", "half2_vectorization", "kernel_profiler", "log_level", "lower_access", "make_block_local"),
        *("make_cpu_multithreading_loop", "make_mesh_block_local", "make_thread_local", "max_block_dim", "packed"),
        *("move_loop_invariant_outside_if", "num_compile_threads", "offline_cache", "offline_cache_cleaning_factor"),
        *("offline_cache_cleaning_policy", "offline_cache_file_path", "offline_cache_max_size_of_files", "print_ir"),
        *("print_accessor_ir", "print_ir_dbg_info", "print_kernel_asm", "print_kernel_llvm_ir", "timeline"),
        *("print_kernel_llvm_ir_optimized", "print_preprocessed_ir", "print_struct_llvm_ir", "real_matrix_scalarize"),
        *("quant_opt_atomic_demotion", "quant_opt_store_fusion", "saturating_grid_dim", "short_circuit_operators"),
        *("simplify_after_lower_access", "simplify_before_lower_access", "unrolling_limit", "use_llvm", "verbose"),
        *("verbose_kernel_launches", "vk_api_version", "_test_mode"),
    )
)

_CONFIG: dict[str, type] = {
    "debug": bool,
    "fast_math": bool,
    "opt_level": int,
    "advanced_optimization": bool,
    "verify": bool,
    "random_seed": int,
    "threads": int,
}


@dataclass(eq=False)
class Program:
    """The state between two resets. `arch` is what runs ("cpu", "cuda" or "python"); `generation` counts them;
    `trees` are the SNode trees still alive, `builder` is the one that `root` is building."""

    config: CompileConfig
    generation: int
    trees: weakref.WeakSet[Any] = field(default_factory=lambda: weakref.WeakSet[Any]())
    random: random.Random = field(default_factory=random.Random)
    alive: bool = True
    builder: Any = None
    _device: Any = None

    @property
    def arch(self) -> str:
        """What runs kernels: "cpu", "cuda" or "python"."""
        return self.config.arch

    @property
    def device(self) -> Any:
        """The device that runs this program's kernels; opened at first use."""
        if self._device is None:
            if self.arch == cuda:
                self._device = importlib.import_module("weft.runtime.cuda").CudaDevice(self.config.random_seed)
            else:
                from weft.runtime.cpu import CpuDevice

                self._device = CpuDevice(self.config.threads, self.config.random_seed)
        return self._device

    def opened(self) -> Any:
        """The device if one was opened already, else None."""
        return self._device


_current: Program | None = None
_generation = 0


def program() -> Program:
    """The current program; makes one with the defaults if there is none yet."""
    if _current is None:
        init()
        assert _current is not None
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
    """Start afresh: fields and kernels made before this call are gone.

    `arch` is `cpu` (the default), `cuda`, `gpu` (cuda if it works, else cpu) or `python` (kernel bodies run as plain
    Python, for debugging). With `enable_fallback` an arch that is not there becomes cpu, with a warning. `default_fp`
    (f32, or f16, f64) and `default_ip` (i32, or another integer type) are the types of literals, `float` and `int`.
    Options: `debug` (bounds checks and asserts), `fast_math` (True), `random_seed` (0), `cpu_max_num_threads` (0:
    all), `opt_level` (3), `advanced_optimization`, `verify` (check the IR after each pass). Taichi's other options
    are taken and mean nothing here. The environment has the last word: WEFT_ARCH, WEFT_DEBUG, WEFT_FAST_MATH ...
    KeyError for an unknown option; TypeError for a wrong type.
    """
    global _current, _generation
    del require_version
    if "cpu_max_num_threads" in options:
        options.setdefault("threads", options.pop("cpu_max_num_threads"))
    unknown = sorted(set(options) - set(_CONFIG) - IGNORED - {"check_out_of_bound"})
    if unknown:
        raise KeyError(f"init has no option {', '.join(map(repr, unknown))}")
    chosen = {name: kind(options[name]) for name, kind in _CONFIG.items() if options.get(name) is not None}
    chosen |= {name: _parsed(kind, text) for name, kind in _CONFIG.items() if (text := _environment(name))}
    config = CompileConfig(
        arch=_resolve_arch(_environment("arch") or arch or cpu, enable_fallback),
        default_fp=_default_type("default_fp", default_fp, f32),
        default_ip=_default_type("default_ip", default_ip, i32),
    )
    bounds = bool(options.get("check_out_of_bound")) or chosen.get("debug", False)
    config = replace(config, boundary_check=bounds, **chosen)
    reset()
    _generation += 1
    _current = Program(config, _generation)
    _current.random.seed(config.random_seed)


def reset() -> None:
    """Drop the program: all fields of it are destroyed, whoever holds them. The next use starts one with defaults."""
    global _current
    old, _current = _current, None
    if old is None:
        return
    for tree in list(old.trees):
        tree.destroy("the program was reset (by `init` or `reset`) after this field was made")
    old.alive = False
    device = old.opened()
    if device is not None:
        device.close()


def sync() -> None:
    """Wait until every kernel launched so far has finished."""
    device = None if _current is None else _current.opened()
    if device is not None:
        device.synchronize()


def set_logging_level(level: str) -> None:
    """How much the logger "weft" of Python's `logging` says: TRACE, DEBUG, INFO, WARN, ERROR or CRITICAL."""
    logging.getLogger("weft").setLevel("DEBUG" if level == TRACE else level.upper())


class _CurrentConfig:
    """`cfg.debug`, `cfg.arch`, ...: the current program's settings."""

    def __getattr__(self, name: str) -> Any:
        return getattr(program().config, name)

    def __repr__(self) -> str:
        return repr(program().config)


cfg = _CurrentConfig()


def _environment(name: str) -> str:
    return os.environ.get(f"WEFT_{name.upper()}", "")


def _parsed(kind: type, text: str) -> Any:
    return text not in ("0", "false", "False") if kind is bool else kind(text)


def _default_type(name: str, given: Any, usual: Prim) -> Prim:
    text = _environment(name)
    prim = PRIMS.get(text) if text else given
    if prim is None and not text:
        return usual
    prim = {float: f32, int: i32}.get(prim, prim) if isinstance(prim, type) else prim
    wants_float = usual.is_float
    if not isinstance(prim, Prim) or (prim in FLOATS) != wants_float:
        raise TypeError(f"{name} is {'f16, f32 or f64' if wants_float else 'an integer type'}, not {text or given!r}")
    return prim


def _resolve_arch(arch: Any, fallback: bool) -> str:
    """The arch that will run: `arch`, or cpu where it is missing."""
    wanted = arch[0] if isinstance(arch, list | tuple) else arch
    if wanted in (cpu, python):
        return str(wanted)
    if wanted not in (cuda, gpu, vulkan, metal, opengl, gles, dx11, amdgpu):
        raise WeftError(f"arch is one of cpu, cuda, gpu, python, not {wanted!r}")
    why = _cuda_missing() if wanted in (cuda, gpu) else "Weft has no such backend"
    if not why:
        return cuda
    if not fallback:
        raise WeftError(f"arch={wanted} is not available: {why}")
    if wanted != gpu:
        warnings.warn(f"arch={wanted} is not available ({why}); running on cpu", stacklevel=3)
    return cpu


def _cuda_missing() -> str:
    """Why CUDA cannot be used, "" if it can."""
    try:
        module = importlib.import_module("weft.runtime.cuda")
    except ImportError as error:
        return str(error)
    return str(module.missing())


def python_random(dtype: Prim) -> Any:
    """A random number in Python scope: [0, 1) for floats, the whole range for integers."""
    source = program().random
    if dtype.is_float:
        return dtype.np.type(source.random())
    return np.frombuffer(source.randbytes(8), np.uint64)[0].astype(dtype.np)
