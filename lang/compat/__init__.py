"""Run programs that are written for Taichi: map `import taichi`, and the inner modules that they import, to Weft.

    import weft.compat
    weft.compat.install()
    import taichi as ti        # is weft

Or, without a change of the program: `weft run program.py`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np

from weft.ir.types import Prim
from weft.lang.compat.finder import TAICHI
from weft.lang.compat.later import later
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.program.backends import BACKENDS
from weft.lang.program.init import cpu, program
from weft.lang.program.settings import cfg
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct
from weft.lang.values.types import CompoundType, primitive

__all__ = ["install", "register", "uninstall"]

# -- inner modules -----------------------------------------------------------------------------------------------------


class Extension(Enum):
    """`ti.extension`: names of parts of the language that not every arch of Taichi supports, for Taichi's programs that
    ask for them. A program for Weft needs none of them.

    Example:
        ti.extension.sparse  # <Extension.sparse: 'sparse'>
    """

    sparse = "sparse"
    quant = "quant"
    quant_basic = "quant_basic"
    mesh = "mesh"
    data64 = "data64"
    adstack = "adstack"
    bls = "bls"
    assertion = "assertion"
    extfunc = "extfunc"


_EXTENSIONS = frozenset((Extension.sparse, Extension.data64, Extension.bls, Extension.assertion))


class Runtime:
    """The result of `impl.get_runtime()`: the program, with Taichi's interface."""

    @property
    def prog(self) -> Any:
        """The current program."""
        return program()

    @property
    def default_fp(self) -> Prim:
        """The type of float literals."""
        return program().config.default_fp

    @property
    def default_ip(self) -> Prim:
        """The type of integer literals."""
        return program().config.default_ip

    def materialize(self) -> None:
        """Do nothing: fields are laid out at their first use."""

    def sync(self) -> None:
        """Wait for all launches."""
        importlib.import_module("weft").sync()


def get_host_arch_list() -> list[str]:
    """Return the arches that run on the CPU."""
    return [cpu]


def is_arch_supported(arch: Any) -> bool:
    """Return whether `init(arch=arch)` would run on that arch."""
    found = BACKENDS.get(arch) if isinstance(arch, str) else None
    return found is not None and not found.missing(0)


def is_extension_supported(arch: Any, ext: Extension) -> bool:
    """Return whether Weft supports that part of the language. The arch makes no difference."""
    del arch
    return ext in _EXTENSIONS


def index_nd(dim: int) -> Any:
    """Return the axes 0 .. dim - 1."""
    return importlib.import_module("weft").axes(*range(dim))


def to_numpy_type(dt: Any) -> Any:
    """Return the numpy scalar type of a primitive."""
    return primitive(dt).np.type


def to_pytorch_type(dt: Any) -> Any:
    """Return the torch dtype of a primitive. Its name is that of numpy's type, except for u1."""
    name = np.dtype(primitive(dt).np).name
    return getattr(importlib.import_module("torch"), "bool" if name == "bool" else name)


def to_taichi_type(dt: Any) -> Any:
    """Return the primitive of a numpy or torch dtype. A type of Weft is returned unchanged."""
    if isinstance(dt, Prim | CompoundType):
        return dt
    return primitive(np.dtype(str(dt).removeprefix("torch.")) if type(dt).__module__ == "torch" else dt)


def is_taichi_class(rhs: Any) -> bool:
    """Return whether a value is a matrix, a struct or a field of Weft."""
    return isinstance(rhs, Matrix | Struct | Field | StructField)


def is_matrix_class(rhs: Any) -> bool:
    """Return whether a class is Matrix or Vector."""
    return isinstance(rhs, type) and issubclass(rhs, Matrix)


def get_cuda_compute_capability() -> int:
    """Return 90 for sm_90, and so on; 0 if the program does not run on an NVIDIA GPU."""
    target = program().device.target
    return 0 if target is None else target.sm


def warning(msg: str, warning_type: type[Warning] = UserWarning, stacklevel: int = 1) -> None:
    """Warn the caller of the function that calls this."""
    warnings.warn(msg, warning_type, stacklevel=stacklevel + 1)


def _installed(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _scope(inside: bool) -> Callable[[], bool]:
    # Kernels are translated and never run by Python. Code that Python runs is in Python's scope.
    return lambda: not inside


def python_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one for Python's scope. Returns it unchanged."""
    return function


_RUNTIME = Runtime()

_HELPERS: dict[str, Any] = {
    "cook_dtype": primitive,
    "current_cfg": lambda: cfg,
    "default_cfg": lambda: cfg,
    "get_cuda_compute_capability": get_cuda_compute_capability,
    "get_host_arch_list": get_host_arch_list,
    "get_runtime": lambda: _RUNTIME,
    "has_paddle": _installed("paddle"),
    "has_pytorch": _installed("torch"),
    "in_python_scope": _scope(inside=False),
    "in_taichi_scope": _scope(inside=True),
    "index_nd": index_nd,
    "inside_kernel": _scope(inside=True),
    "is_arch_supported": is_arch_supported,
    "is_extension_supported": is_extension_supported,
    "is_matrix_class": is_matrix_class,
    "is_taichi_class": is_taichi_class,
    "pytaichi": _RUNTIME,
    "python_scope": python_scope,
    "taichi_scope": python_scope,
    "ti_bool": bool,
    "ti_float": float,
    "ti_int": int,
    "to_numpy_type": to_numpy_type,
    "to_pytorch_type": to_pytorch_type,
    "to_taichi_type": to_taichi_type,
    "warning": warning,
}

# Internals of Taichi's compiler. No program can use them here.
_INTERNAL = frozenset(
    (
        *("PyTaichi", "SrcInfoGuard", "begin_frontend_if", "begin_frontend_struct_for", "call_internal"),
        *("create_field_member", "expr_init", "expr_init_func", "expr_init_shared_array", "subscript", "ti_assert"),
        *("ti_format", "ti_format_list_to_content_entries", "ti_print", "validate_subscript_index"),
        *("adaptive_arch_select", "get_clangpp", "get_traceback", "has_clangpp", "prepare_sandbox"),
        *("timeline_clear", "timeline_save", "to_paddle_type"),
    )
)

# Modules that Taichi's programs import from. Each has the public names of Weft, or those of one of its modules, and the
# functions above. If Weft has a module of that name, the missing names are added to it. `_NAMESPACES` are parts of `ti`
# whose source is imported at the first access.
_MODULES: dict[str, str] = {
    **dict.fromkeys(("_ndarray", "enums", "field", "impl", "matrix", "misc", "ops", "snode", "struct"), "weft"),
    **dict.fromkeys(("_ndrange", "common_ops", "kernel_impl", "runtime_ops", "util"), "weft"),
    "exception": "weft.lang.errors",
}
_LINALG = ("linear.solvers", "sparse_matrices.builder", "sparse_matrices.matrix", "sparse_matrices.solvers")
_NAMESPACES = {
    "experimental": "weft.lang.functions.func",
    "argpack": "weft.lang.values.argpack",
    "_lib": "weft.lang.compat",
    "_lib.core": "weft.lang.compat.core",
    "_logging": "weft",
    "_snode": "weft.lang.compat",
    "_snode.fields_builder": "weft",
    "examples": "weft.lang.compat",
    "examples.patterns": "weft.lang.compat.patterns",
}
_TYPE_MODULES = ("annotations", "compound_types", "ndarray_type", "primitive_types", "utils")
_LINALG_MODULES = ("matrixfree_cg", "sparse_cg", "sparse_matrix", "sparse_solver")
_NUMBERS = "weft.lang.compat.numbers"


def register() -> None:
    """Make `weft.lang.misc`, `weft.lang.impl`, `weft.types.primitive_types` and so on importable, which programs import
    from the inner modules of Taichi. `import weft` calls it.

    Example:
        from weft.types.primitive_types import f32

        f32 is ti.f32  # True
    """
    for name, source in _MODULES.items():
        _register("weft.lang", name, (source, "weft.lang.compat.types", _NUMBERS))
    for name in _TYPE_MODULES:
        _register("weft.types", name, ("weft.lang.compat.types", _NUMBERS))
    for name, source in _NAMESPACES.items():
        owner, _, own = f"weft.{name}".rpartition(".")
        _register(owner, own, (source,))
    solvers = [f"weft.lang.{module}" for module in _LINALG]
    for owner, name in (("weft", "linalg"), *(("weft.linalg", name) for name in _LINALG_MODULES)):
        _register(owner, name, solvers)


def _register(parent: str, name: str, sources: Sequence[str]) -> None:
    full = f"{parent}.{name}"
    module = sys.modules.get(full)
    if module is None:
        module = sys.modules[full] = ModuleType(full, f"Names that Taichi's programs import from {name}.")
        setattr(sys.modules[parent], name, module)
    module.__dict__["__getattr__"] = functools.partial(_look_up, full, tuple(sources))


def _look_up(module: str, sources: Sequence[str], name: str) -> Any:
    if name in _HELPERS and module.startswith("weft.lang"):
        return _HELPERS[name]
    for source in sources:
        found = getattr(importlib.import_module(source), name, None)
        if found is not None and not name.startswith("__"):
            return found
    what = later(f"{module}.{name}".removeprefix("weft.")) or (later(name) if "weft" in sources else "")
    when = f" yet: it is part of a feature that is not implemented ({what})" if what else ""
    if name in _INTERNAL:
        when = ": it is part of Taichi's compiler, and Weft has its own compiler"
    raise AttributeError(f"module '{module}' has no attribute '{name}'{when}")


# -- import taichi -----------------------------------------------------------------------------------------------------


def install() -> None:
    """Make `import taichi` import Weft from now on. Raises RuntimeError if the real Taichi was imported already.

    Example:
        ti.compat.install()
        import taichi

        taichi.math.pi == ti.math.pi  # True
        ti.compat.uninstall()
    """
    present = sys.modules.get("taichi")
    if present is not None and present.__name__ != "weft":
        raise RuntimeError("taichi is already imported: call weft.compat.install() before the first `import taichi`")
    if TAICHI not in sys.meta_path:
        sys.meta_path.insert(0, TAICHI)


def uninstall() -> None:
    """Undo `install`: `import taichi` has its earlier meaning again.

    Example:
        ti.compat.install()
        ti.compat.uninstall()
        "taichi" in __import__("sys").modules  # False
    """
    if TAICHI in sys.meta_path:
        sys.meta_path.remove(TAICHI)
        for name in [name for name in sys.modules if name == "taichi" or name.startswith("taichi.")]:
            del sys.modules[name]
