"""Weft: spatial computing in Python. `import weft as ti` runs programs written for Taichi's Python API.

This file only re-exports. What compiles kernels is imported when first asked for.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

from weft.lang import compat
from weft.lang import sparse_fields as _sparse_fields  # noqa: F401 - sets how Python reaches their elements
from weft.lang.compat import types
from weft.lang.compat.finder import name_modules as _name_modules
from weft.lang.compat.later import later as _later
from weft.lang.compat.types import (
    Template,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    ref,
    sparse_matrix_builder,
    template,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from weft.lang.data.axes import AXES, Layout, axes
from weft.lang.data.field import Field, MatrixField, ScalarField
from weft.lang.data.field_tree import FieldError, FieldTree
from weft.lang.data.make_field import field
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, VectorNdarray
from weft.lang.data.snode_api import FieldsBuilder, SNode, deactivate_all_snodes, root
from weft.lang.data.struct_field import StructField
from weft.lang.library import mathlib as math
from weft.lang.library.addresses import get_addr
from weft.lang.library.decompose import eig, polar_decompose, solve, svd, sym_eig
from weft.lang.library.indices import rescale_index
from weft.lang.library.mathlib import (
    ivec2,
    ivec3,
    ivec4,
    mat2,
    mat3,
    mat4,
    uvec2,
    uvec3,
    uvec4,
    vec2,
    vec3,
    vec4,
)
from weft.lang.logs.levels import CRITICAL, DEBUG, ERROR, INFO, TRACE, WARN, is_logging_effective, set_logging_level
from weft.lang.logs.topics import set_logs
from weft.lang.names import MODULES as _MODULES
from weft.lang.names import NAMES as _NAMES
from weft.lang.program.init import (
    amdgpu,
    arm64,
    cpu,
    cuda,
    dx11,
    dx12,
    gles,
    gpu,
    init,
    metal,
    opengl,
    python,
    reset,
    seed,
    sync,
    vulkan,
    x64,
    x86_64,
)
from weft.lang.program.settings import cfg
from weft.lang.values.argpack import ArgPack, ArgPackType
from weft.lang.values.brackets import Array, Array1, Array2, Array3, Array4, NDArray
from weft.lang.values.builtins import (
    abs,
    acos,
    activate,
    append,
    asin,
    assume_in_range,
    atan,
    atan2,
    atomic_add,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
    bit_cast,
    bit_not,
    bit_sar,
    bit_shl,
    bit_shr,
    block_local,
    cache_read_only,
    cast,
    ceil,
    clz,
    cos,
    cosh,
    deactivate,
    exp,
    exp2,
    floor,
    frexp,
    grouped,
    ifte,
    is_active,
    isinf,
    isnan,
    length,
    log,
    log2,
    logical_and,
    logical_not,
    logical_or,
    loop_config,
    max,
    min,
    ndrange,
    no_activate,
    one,
    popcnt,
    pow,
    pyfunc,
    randn,
    random,
    raw_div,
    raw_mod,
    round,
    rsqrt,
    select,
    sign,
    sin,
    sinh,
    sqrt,
    static,
    static_assert,
    static_print,
    stop_grad,
    tan,
    tanh,
    trunc,
    zero,
)
from weft.lang.values.color import hex_to_rgb, rgb_to_hex
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.struct import Struct, dataclass

__version__ = "0.1.0"

i, j, k, l = (AXES[name] for name in "ijkl")  # noqa: E741 - the names of axes
ij, ik, il, jk, jl, kl = (AXES[name] for name in ("ij", "ik", "il", "jk", "jl", "kl"))
ijk, ijl, ikl, jkl, ijkl = (AXES[name] for name in ("ijk", "ijl", "ikl", "jkl", "ijkl"))

# `import weft.math as tm` and `from weft.types import vector` work as they read.
sys.modules[f"{__name__}.math"] = math
sys.modules[f"{__name__}.types"] = types

_TOOLS = ("image", "np2ply", "video", "vtk")  # Taichi's modules below `ti.tools`
_name_modules(
    {f"{__name__}.{name}": home for name, home in _MODULES.items()}
    | {f"{__name__}.tools.{name}": _MODULES["tools"] for name in _TOOLS}
)

sys.modules[f"{__name__}.compat"] = compat
compat.register()
extension = compat.Extension


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _NAMES:
        if name.startswith("__"):  # of Python's protocols: nobody has misspelled it
            raise AttributeError(f"weft has no attribute '{name}'")
        if waits := _later(name):
            raise AttributeError(
                f"weft has no attribute '{name}' yet: it is part of a feature that is not implemented ({waits})"
            )
        from weft.lang.program.options import did_you_mean

        meant = f": it is in ti.math, as ti.math.{name}" if hasattr(math, name) else did_you_mean(name, __all__, 0.75)
        raise AttributeError(f"weft has no attribute '{name}'{meant}")
    value = getattr(importlib.import_module(_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})


MAKERS.arrays = functools.partial(importlib.import_module, "weft.lang.arrays.in_python")

if "IPython" in sys.modules:  # tracebacks in notebooks end at the user's line
    importlib.import_module("weft.lang.notebook.tracebacks").install()


__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "GUI",
    "INFO",
    "TRACE",
    "WARN",
    "ArgPack",
    "ArgPackType",
    "ArgumentError",
    "Array",
    "Array1",
    "Array2",
    "Array3",
    "Array4",
    "AutotuneError",
    "CheckpointError",
    "CompilationError",
    "Config",
    "DataRace",
    "Field",
    "FieldError",
    "FieldTree",
    "FieldsBuilder",
    "GradientWarning",
    "InternalError",
    "Layout",
    "Matrix",
    "MatrixField",
    "MatrixNdarray",
    "MemoryFault",
    "NDArray",
    "Ndarray",
    "OutOfBoundsWarning",
    "OutOfMemory",
    "OverflowWarning",
    "PrecisionWarning",
    "RaceWarning",
    "Recorder",
    "SNode",
    "ScalarField",
    "ScalarNdarray",
    "Struct",
    "StructField",
    "TaichiAssertionError",
    "TaichiCompilationError",
    "TaichiIndexError",
    "TaichiNameError",
    "TaichiRuntimeError",
    "TaichiRuntimeTypeError",
    "TaichiSyntaxError",
    "TaichiTypeError",
    "Tape",
    "Template",
    "Timer",
    "UninitialisedRead",
    "Vector",
    "VectorNdarray",
    "WeftError",
    "WrongResult",
    "__version__",
    "abs",
    "acos",
    "activate",
    "ad",
    "algorithms",
    "amdgpu",
    "append",
    "arm64",
    "asin",
    "assume_in_range",
    "atan",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "autotune",
    "axes",
    "bit_cast",
    "bit_not",
    "bit_sar",
    "bit_shl",
    "bit_shr",
    "block_local",
    "cache_read_only",
    "cast",
    "ceil",
    "cfg",
    "clz",
    "compat",
    "cos",
    "cosh",
    "cpu",
    "cuda",
    "data_oriented",
    "dataclass",
    "deactivate",
    "deactivate_all_snodes",
    "dx11",
    "dx12",
    "eig",
    "elementwise",
    "exp",
    "exp2",
    "f16",
    "f32",
    "f64",
    "field",
    "float16",
    "float32",
    "float64",
    "floor",
    "frexp",
    "func",
    "get_addr",
    "gles",
    "gpu",
    "graph",
    "grouped",
    "hex_to_rgb",
    "i",
    "i8",
    "i16",
    "i32",
    "i64",
    "ifte",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "init",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_active",
    "is_logging_effective",
    "isinf",
    "isnan",
    "ivec2",
    "ivec3",
    "ivec4",
    "j",
    "jk",
    "jkl",
    "jl",
    "k",
    "kernel",
    "kl",
    "l",
    "length",
    "load",
    "log",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "loop_config",
    "mat2",
    "mat3",
    "mat4",
    "math",
    "max",
    "metal",
    "min",
    "ndarray",
    "ndrange",
    "no_activate",
    "one",
    "opengl",
    "polar_decompose",
    "popcnt",
    "pow",
    "profile",
    "profiler",
    "progress",
    "pyfunc",
    "python",
    "randn",
    "random",
    "raw_div",
    "raw_mod",
    "real_func",
    "reduce",
    "ref",
    "rescale_index",
    "reset",
    "rgb_to_hex",
    "root",
    "round",
    "rsqrt",
    "save",
    "seed",
    "select",
    "set_logging_level",
    "set_logs",
    "sign",
    "simt",
    "sin",
    "sinh",
    "solve",
    "sparse",
    "sparse_matrix_builder",
    "sqrt",
    "static",
    "static_assert",
    "static_print",
    "stop_grad",
    "svd",
    "sym_eig",
    "sync",
    "tan",
    "tanh",
    "template",
    "testing",
    "tools",
    "trunc",
    "types",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "ui",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uvec2",
    "uvec3",
    "uvec4",
    "vec2",
    "vec3",
    "vec4",
    "views",
    "vulkan",
    "warm",
    "x64",
    "x86_64",
    "zero",
]
