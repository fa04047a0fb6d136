"""What a Python function says, for its fingerprint: its text, its code, and the names in it."""

from __future__ import annotations

import builtins
import dis
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from os import sep
from os.path import abspath, dirname, join
from threading import Lock
from types import CodeType
from typing import Any

import numpy as np

from weft.lang.translate.source import source_lines
from weft.runtime.forks import forkable

__all__ = [
    "PURE_BUILTINS",
    "CodeFacts",
    "facts_of",
    "in_weft",
    "is_fixed_file",
    "is_fixed_module",
    "is_pure_library",
    "is_weft_module",
    "module_of",
]

# The floors of Weft that kernels are made of. (The demos are programs like any other.)
_FLOORS = ("lang", "ir", "codegen", "runtime")
_HOME = dirname(dirname(dirname(abspath(__file__))))
_WEFT = tuple(join(_HOME, floor) + sep for floor in _FLOORS)
_FIXED = (*_WEFT, dirname(abspath(np.__file__)) + sep, "<frozen ")
_STANDARD = tuple({sysconfig.get_path(name) + sep for name in ("stdlib", "platstdlib")})
_PACKAGES = tuple(f"{sep}{name}{sep}" for name in ("site-packages", "dist-packages"))
_LIBRARY_MODULES = sys.stdlib_module_names | {"numpy"}

# Python's own functions whose result depends on nothing but their arguments.
PURE_BUILTINS = frozenset(
    (
        *("abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict"),
        *("divmod", "enumerate", "filter", "float", "format", "hex", "int", "isinstance", "issubclass", "iter", "len"),
        *("list", "map", "max", "min", "next", "oct", "ord", "pow", "range", "repr", "reversed", "round", "slice"),
        *("sorted", "str", "sum", "tuple", "type", "zip"),
    )
)

# Libraries whose functions are alike.
_PURE_LIBRARIES = frozenset(
    (
        *("math", "cmath", "operator", "itertools", "functools", "fractions", "dataclasses", "enum", "collections"),
        *("typing", "weft"),
    )
)

# Those of numpy's, besides what numpy calls ufuncs and linear algebra. (Others read files, or draw random numbers.)
_PURE_NUMPY = frozenset(
    (
        *("abs", "all", "allclose", "any", "append", "arange", "argmax", "argmin", "argsort", "around", "array"),
        *("array_equal", "asarray", "atleast_1d", "atleast_2d", "average", "broadcast_to", "clip", "concatenate"),
        *("copy", "cross", "cumprod", "cumsum", "delete", "diag", "diff", "dot", "dtype", "einsum", "empty_like"),
        *("expand_dims", "eye", "fill_diagonal", "flip", "full", "full_like", "gradient", "histogram", "hstack"),
        *("identity", "inner", "insert", "interp", "isclose", "kron", "linspace", "logspace", "max", "mean", "median"),
        *("meshgrid", "min", "moveaxis", "ndarray", "ndim", "nonzero", "ones", "ones_like", "outer", "pad"),
        *("percentile", "polyfit", "polyval", "prod", "ravel", "repeat", "reshape", "roll", "rot90", "round"),
        *("searchsorted", "shape", "size", "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes", "take"),
        *("tensordot", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "triu", "unique", "vander", "var"),
        *("vdot", "vstack", "where", "zeros", "zeros_like"),
    )
)

# Ops of Python's machine that change something outside of the function.
_CHANGES = frozenset(
    dis.opmap[name]
    for name in ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "IMPORT_NAME")
    if name in dis.opmap
)
_LOOKS_ANYWHERE = frozenset(("__dict__", "__globals__", "__closure__", "__code__"))
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ANNOTATION = re.compile(r":([^=\n]*)=")


@dataclass(frozen=True)
class CodeFacts:
    """`text` is the source ("" if it is not known), `code` says all that Python's machine is told. `names` are those
    that the function may look up outside of it, as variables or attributes; `changes`: run by Python, it may change
    or read what is not among those."""

    text: str
    code: str
    names: frozenset[str]
    changes: bool


_known: dict[int, tuple[CodeType, CodeFacts]] = {}  # by identity, the code kept alive: equal ones may differ in text
_MOST_KNOWN = 4096
_remembering = forkable(Lock())


def facts_of(code: CodeType) -> CodeFacts:
    """The facts of a function's code; found once."""
    known = _known.get(id(code))
    if known is None:
        known = (code, _facts(code))
        with _remembering:
            if len(_known) >= _MOST_KNOWN:
                del _known[next(iter(_known))]
            _known[id(code)] = known
    return known[1]


def _facts(code: CodeType) -> CodeFacts:
    try:
        text = "".join(source_lines(code)[0])
    except (OSError, TypeError):
        text = ""
    inner = list(_nested(code))
    names = {name for part in inner for name in (*part.co_names, *part.co_freevars)}
    # What no code is made of: annotations of locals.
    names.update(name for found in _ANNOTATION.findall(text) for name in _IDENTIFIER.findall(found))
    if names & {"getattr", "hasattr"}:
        names.update(const for part in inner for const in part.co_consts if isinstance(const, str))
    changes = bool(names & _LOOKS_ANYWHERE) or any(_CHANGES.intersection(part.co_code[::2]) for part in inner)
    called = {name for part in inner for name in part.co_names if callable(getattr(builtins, name, None))}
    unsure = {name for name in called - PURE_BUILTINS if not isinstance(getattr(builtins, name), type)}
    return CodeFacts(text, _spelled(code), frozenset(names), changes or bool(unsure))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _spelled(code: CodeType) -> str:
    """The code as text, the same in every process."""
    shape = (code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((shape, names, code.co_code, [_constant(constant) for constant in code.co_consts]))


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _spelled(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, frozenset):  # its order is another in each process
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    return f"{type(value).__name__} {value!r}"


def in_weft(file: str) -> bool:
    """Whether a function of that file is Weft's own."""
    return file.startswith(_WEFT)


def is_fixed_file(file: str) -> bool:
    """Whether a function of that file changes only with the version of Python, numpy or Weft."""
    return file.startswith(_FIXED) or (file.startswith(_STANDARD) and not any(part in file for part in _PACKAGES))


def module_of(x: Any) -> str:
    """The name of the module that `x` says it is from; "" if it says none."""
    module = getattr(x, "__module__", None)
    return module if isinstance(module, str) else ""


def is_weft_module(name: str) -> bool:
    """Whether a module of that name is Weft's own."""
    top, _, rest = name.partition(".")
    return top == "weft" and (not rest or rest.partition(".")[0] in _FLOORS)


def is_fixed_module(name: str) -> bool:
    """Whether a module of that name is Python's, numpy's or Weft's."""
    return name.partition(".")[0] in _LIBRARY_MODULES or is_weft_module(name)


def is_pure_library(module: str, name: str) -> bool:
    """Whether that function or class of a library depends on nothing but its arguments, and changes nothing."""
    library = module.lstrip("_").partition(".")[0]
    if library == "numpy":
        kind = getattr(np, name, None)
        scalar = isinstance(kind, np.ufunc) or (isinstance(kind, type) and issubclass(kind, np.generic))
        return not module.startswith("numpy.random") and (
            name in _PURE_NUMPY or scalar or module.startswith("numpy.linalg")
        )
    return library in _PURE_LIBRARIES
