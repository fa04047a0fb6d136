"""The options of `init`: their names, their types, and the order in which their sources apply.

An option comes from the call, from TI_<NAME> or from WEFT_<NAME> in the environment. Each of these overrides the ones
before it. Some of Taichi's options control parts that Weft does not have. They are accepted, and a message says once
that they have no effect."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.lang.logs.levels import logger

__all__ = [
    "OPTIONS",
    "UnknownOption",
    "WrongOption",
    "checked",
    "collect",
    "did_you_mean",
    "environment",
    "inert",
    "mention_inert",
    "parse",
]

# The options that have an effect.
OPTIONS: dict[str, type] = {
    "advanced_optimization": bool,
    "check_nan": bool,
    "check_out_of_bound": bool,
    "check_overflow": bool,
    "check_races": bool,
    "check_uninitialised": bool,
    "compile_threads": int,
    "cpu_features": str,
    "cpu_max_num_threads": int,
    "cuda_stack_limit": int,
    "debug": bool,
    "device": int,
    "fast_math": bool,
    "kernel_profiler": bool,
    "line_info": bool,
    "log_level": str,
    "mask_out_of_bounds": bool,
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
    "verify_limit": int,
}

# Words that an option accepts besides the values of its type.
ALSO: dict[str, tuple[str, ...]] = {"verify": ("results",)}

# Taichi's other options. They control compilation or caching in Taichi, never results.
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

# Taichi's names of options, and Weft's.
_TWINS = {"cpu_max_num_threads": "threads", "num_compile_threads": "compile_threads"}

# The restrictions on values beyond the type, and the text that describes them.
_AT_LEAST_0 = (
    *("compile_threads", "cpu_max_num_threads", "cuda_stack_limit", "device", "num_compile_threads"),
    *("offline_cache_max_size_of_files", "threads"),
)
_POLICIES = ("lru", "fifo", "version", "never")
_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **{name: (lambda value: value >= 0, "0 or more") for name in _AT_LEAST_0},
    "offline_cache_cleaning_factor": (lambda value: 0 <= value <= 1, "a number from 0 to 1"),
    "offline_cache_cleaning_policy": (lambda value: value in _POLICIES, f"one of {', '.join(_POLICIES)}"),
    "opt_level": (lambda value: 0 <= value <= 3, "0, 1, 2 or 3"),
    "random_seed": (lambda value: -(2**63) <= value < 2**64, "a number that fits 64 bits"),
    "verify_limit": (lambda value: value >= 1, "1 or more"),
}

_TRUE, _FALSE = ("1", "true", "on", "yes"), ("0", "false", "off", "no")
_mentioned: set[str] = set()


class UnknownOption(WeftError, KeyError):
    """`init` got a keyword that is not an option."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class WrongOption(WeftError, TypeError, ValueError):
    """An option of `init` has a value of the wrong type, or a value that is not allowed."""


def collect(given: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the options that have an effect, from the call and the environment, each converted to its type.

    Raises UnknownOption for an unknown name, and WrongOption for a value of the wrong type or out of range."""
    for name in given:
        if name not in OPTIONS and name not in _INERT:
            raise UnknownOption(f"init has no option '{name}'{did_you_mean(name, (*OPTIONS, *_INERT))}")
    chosen = {name: checked(name, kind, given[name]) for name, kind in OPTIONS.items() if given.get(name) is not None}
    chosen |= {name: parse(name, kind, text) for name, kind in OPTIONS.items() if (text := environment(name))}
    for name, ours in _TWINS.items():
        if name in chosen:
            chosen.setdefault(ours, chosen.pop(name))
    return chosen


def inert(name: str) -> bool:
    """Whether `name` is an option of Taichi's that has no effect in Weft."""
    return name in _INERT


def mention_inert(given: Iterable[str]) -> None:
    """Print that each of these options has no effect, once per process."""
    new = sorted(name for name in set(given) & _INERT - _mentioned if not name.startswith("_"))
    _mentioned.update(new)
    if new:
        logger.warning("init: %s: ignored, because it has no effect in Weft", ", ".join(new))


def environment(name: str) -> str:
    """The value of an option in the environment: WEFT_<NAME>, else TI_<NAME>, else ""."""
    return os.environ.get(f"WEFT_{name.upper()}", "") or os.environ.get(f"TI_{name.upper()}", "")


def parse(name: str, kind: type, text: str) -> Any:
    """Parse the value of an option in the environment. Raises WrongOption if the text is not valid."""
    label = f"WEFT_{name.upper()} (or TI_{name.upper()})"
    if text.lower() in ALSO.get(name, ()):
        return text.lower()
    if kind is bool:
        if text.lower() in (*_TRUE, *_FALSE):
            return text.lower() in _TRUE
        raise WrongOption(f"{label} must be {' or '.join(('1', '0', *ALSO.get(name, ())))}, not {text!r}")
    try:
        value = kind(text)
    except ValueError:
        raise WrongOption(f"{label} must be {_WORDS[kind]}, not {text!r}") from None
    return _in_range(name, value, label)


def did_you_mean(name: Any, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The text "; did you mean 'x'?" if a known name has a similar spelling, else "". `cutoff`, at most 1, is the
    required similarity."""
    import difflib  # only needed for mistakes

    close = difflib.get_close_matches(str(name), known, 1, cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""


_WORDS: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}
_TYPES: dict[Any, Any] = {int: (int,), float: (int, float), str: (str, os.PathLike)}


def checked(name: str, kind: Any, value: Any) -> Any:
    """Convert an argument of `init` to the type of the option. Raises WrongOption for another type or a value that is
    not allowed."""
    also = ALSO.get(name, ())
    if isinstance(value, str) and value in also:
        return value
    if not _fits(kind, value):
        raise WrongOption(f"init: {name} must be {' or '.join((_WORDS[kind], *map(repr, also)))}, not {value!r}")
    return _in_range(name, kind(os.fspath(value) if kind is str else value), f"init: {name}")


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value has this type, or is an equivalent number of numpy or another library."""
    truth = isinstance(value, bool | np.bool_)
    if kind is bool:
        return truth or (type(value) is int and value in (0, 1))
    number = hasattr(value, "__index__") or (kind is float and isinstance(value, np.floating))
    return not truth and (isinstance(value, _TYPES[kind]) or (kind is not str and number))


def _in_range(name: str, value: Any, label: str) -> Any:
    fits, words = _VALUES.get(name, (None, ""))
    if fits is not None and not fits(value):
        raise WrongOption(f"{label} must be {words}, not {value!r}")
    return value
