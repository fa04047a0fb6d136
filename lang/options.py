"""The options of `init`: which there are, of what type, and who has the last word.

An option comes from the call, from TI_<NAME> or from WEFT_<NAME> in the environment; the latter win. Some of Taichi's
options steer machinery that Weft does not have: they are accepted, and said to mean nothing, once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.logs.levels import logger

__all__ = ["OPTIONS", "UnknownOption", "collect", "did_you_mean", "environment", "inert", "mention_inert", "parse"]

# What changes something here.
OPTIONS: dict[str, type] = {
    "advanced_optimization": bool,
    "check_nan": bool,
    "check_out_of_bound": bool,
    "check_races": bool,
    "check_uninitialised": bool,
    "compile_threads": int,
    "cpu_max_num_threads": int,
    "cuda_stack_limit": int,
    "debug": bool,
    "device": int,
    "fast_math": bool,
    "kernel_profiler": bool,
    "line_info": bool,
    "log_level": str,
    "num_compile_threads": int,
    "offline_cache": bool,
    "offline_cache_cleaning_factor": float,
    "offline_cache_cleaning_policy": str,
    "offline_cache_file_path": str,
    "offline_cache_max_size_of_files": int,
    "nvtx": bool,
    "opt_level": int,
    "print_ir": bool,
    "print_kernel_asm": bool,
    "print_kernel_llvm_ir": bool,
    "print_kernel_llvm_ir_optimized": bool,
    "print_preprocessed_ir": bool,
    "random_seed": int,
    "threads": int,
    "verbose": bool,
    "verify": bool,
}

# Taichi's other options: they steer how a thing is compiled or cached there, never what it computes.
_INERT = frozenset(
    (
        *("_test_mode", "ad_stack_size", "allow_nv_shader_extension", "auto_mesh_local_default_occupacy"),
        *("cache_loop_invariant_global_vars", "cfg_optimization", "cpu_block_dim_adaptive"),
        *("default_cpu_block_dim", "default_gpu_block_dim", "default_up", "demote_dense_struct_fors"),
        *("demote_no_access_mesh_fors", "detect_read_only", "device_memory_GB", "device_memory_fraction"),
        *("dynamic_index", "experimental_auto_mesh_local", "experimental_real_function", "flatten_if"),
        *("force_scalarize_matrix", "gdb_trigger", "gpu_max_reg", "half2_vectorization", "lower_access"),
        *("make_block_local", "make_cpu_multithreading_loop", "make_mesh_block_local", "make_thread_local"),
        *("max_block_dim", "max_vector_width", "mesh_localize_all_attr_mappings", "mesh_localize_from_end_mapping"),
        *("mesh_localize_to_end_mapping", "move_loop_invariant_outside_if"),
        *("optimize_mesh_reordered_mapping", "packed", "print_accessor_ir"),
        *("print_ir_dbg_info", "print_kernel_amdgcn", "print_struct_llvm_ir", "quant_opt_atomic_demotion"),
        *("quant_opt_store_fusion", "real_matrix_scalarize", "saturating_grid_dim", "short_circuit_operators"),
        *("simplify_after_lower_access", "simplify_before_lower_access", "timeline", "unrolling_limit", "use_llvm"),
        *("use_mesh", "verbose_kernel_launches", "vk_api_version"),
    )
)

# Options by Taichi's names, and by ours.
_TWINS = {"cpu_max_num_threads": "threads", "num_compile_threads": "compile_threads"}

_TRUE, _FALSE = ("1", "true", "on", "yes"), ("0", "false", "off", "no")
_mentioned: set[str] = set()


class UnknownOption(WeftError, KeyError):
    """`init` was given a keyword that is no option."""

    def __str__(self) -> str:  # KeyError would show the message quoted
        return str(self.args[0])


def collect(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that have a meaning, from the call and the environment, each of its type.

    UnknownOption for a name that is none; TypeError for a value of another type."""
    for name in given:
        if name not in OPTIONS and name not in _INERT:
            raise UnknownOption(f"init has no option '{name}'{did_you_mean(name, (*OPTIONS, *_INERT))}")
    chosen = {name: _checked(name, kind, given[name]) for name, kind in OPTIONS.items() if given.get(name) is not None}
    chosen |= {name: parse(name, kind, text) for name, kind in OPTIONS.items() if (text := environment(name))}
    for name, ours in _TWINS.items():
        if name in chosen:
            chosen.setdefault(ours, chosen.pop(name))
    return chosen


def inert(name: str) -> bool:
    """Whether `name` is an option of Taichi's that means nothing here."""
    return name in _INERT


def mention_inert(given: Iterable[str]) -> None:
    """Say of each option that means nothing here that it does not, once in a process."""
    new = sorted(name for name in set(given) & _INERT - _mentioned if not name.startswith("_"))
    _mentioned.update(new)
    if new:
        logger.warning("init: %s: no meaning in Weft, ignored", ", ".join(new))


def environment(name: str) -> str:
    """What the environment says about an option: WEFT_<NAME>, else TI_<NAME>, else ""."""
    return os.environ.get(f"WEFT_{name.upper()}", "") or os.environ.get(f"TI_{name.upper()}", "")


def parse(name: str, kind: type, text: str) -> Any:
    """An option's value from its text in the environment; TypeError if it is none."""
    if kind is bool:
        if text.lower() in (*_TRUE, *_FALSE):
            return text.lower() in _TRUE
        raise TypeError(f"WEFT_{name.upper()} (or TI_{name.upper()}) is 1 or 0, not {text!r}")
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise TypeError(f"WEFT_{name.upper()} (or TI_{name.upper()}) is {what}, not {text!r}") from None


def did_you_mean(name: Any, known: Iterable[str], cutoff: float = 0.6) -> str:
    """ "; did you mean 'x'?" where something known is spelt alike (`cutoff`: how much so, up to 1), else ""."""
    import difflib  # only for mistakes

    close = difflib.get_close_matches(str(name), known, 1, cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""


def _checked(name: str, kind: Any, value: Any) -> Any:
    words = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}
    fits: Any = {bool: (bool, int), int: (int,), float: (int, float), str: (str, os.PathLike)}[kind]
    if not isinstance(value, fits) and not (kind is int and hasattr(value, "__index__")):
        raise TypeError(f"init: {name} is {words[kind]}, not {value!r}")
    return kind(os.fspath(value) if kind is str else value)
