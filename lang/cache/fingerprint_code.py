"""What a Python function says, for its fingerprint: its text, its code, and the names in it; and what is known of
files, modules and classes by where they are from."""

from __future__ import annotations

import builtins
import dis
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from os import sep
from os.path import abspath, dirname, join
from threading import Lock
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from weft.lang.functions.source import text_of
from weft.runtime.forks import forkable

__all__ = [
    "MAKING",
    "PURE_BUILTINS",
    "CodeFacts",
    "facts_of",
    "full_name",
    "in_weft",
    "is_fixed_file",
    "is_fixed_module",
    "is_plain",
    "is_pure_library",
    "is_weft_module",
    "module_of",
    "package_of",
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
        *("abc", "argparse", "numbers", "types", "typing", "weft"),
    )
)

# But these look up names that no code says.
_LOOKS_BY_NAME = frozenset(
    ("asdict", "astuple", "attrgetter", "fields", "get_type_hints", "make_dataclass", "methodcaller", "replace")
)

# Library classes that add nothing to what a class derived from them looks up.
_BARE = frozenset(
    (
        *("abc.ABC", "argparse.Namespace", "argparse._AttributeHolder"),
        *("types.SimpleNamespace", "typing.Generic", "typing.Protocol"),
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

# Ops of Python's machine that change something outside of the function, or look where no key does.
_CHANGES = {
    dis.opmap[name]: what
    for name, what in (
        ("STORE_ATTR", "sets an attribute"),
        ("DELETE_ATTR", "deletes an attribute"),
        ("STORE_GLOBAL", "sets a global"),
        ("DELETE_GLOBAL", "deletes a global"),
        ("STORE_DEREF", "sets a variable that another function shares"),
        ("IMPORT_NAME", "imports a module"),
    )
    if name in dis.opmap
}

# Methods that only the making of an object calls, or its end.
MAKING = frozenset(
    ("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__setattr__", "__del__")
)

# Methods that Python calls for these ops. (Operators and the like are taken to be called by any function.)
_SHOWING = ("__repr__", "__str__", "__format__")
_METHODS = {
    dis.opmap[name]: methods
    for names, methods in (
        (("BEFORE_WITH", "SETUP_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL"), ("__enter__", "__exit__")),
        (("STORE_SUBSCR", "STORE_SLICE"), ("__setitem__",)),
        (("DELETE_SUBSCR",), ("__delitem__",)),
        (("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"), _SHOWING),
    )
    for name in names
    if name in dis.opmap
}
_MAKERS = frozenset(("type", "__class__", "classmethod", "replace"))  # which may call classes that they do not name
_CALLS = frozenset(op for name, op in dis.opmap.items() if name.startswith("CALL"))
_METHODS_OF_NAMES = {
    **dict.fromkeys(("str", "repr", "format", "ascii", "print", "format_map", "join"), _SHOWING),
    "setitem": ("__setitem__",),
    "delitem": ("__delitem__",),
}
_LOOKS_ANYWHERE = frozenset(
    (
        *("__annotations__", "__dict__", "__globals__", "__closure__", "__code__"),
        *("__base__", "__bases__", "__mro__", "__subclasses__", "mro"),
    )
)
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_ANNOTATION = re.compile(r":([^=\n]*)=")


@dataclass(frozen=True)
class CodeFacts:
    """`text` is the source ("" if it is not known), `code` says all that Python's machine is told. `names` are those
    that the function may look up outside of it, as variables or attributes, or whose methods it calls without saying
    so; `changes`: what it does that, run by Python, changes or reads what is not among those, "" if nothing."""

    text: str
    code: str
    names: frozenset[str]
    changes: str


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
        text = text_of(code)
    except (OSError, TypeError):
        text = ""
    inner = list(_nested(code))
    names = {name for part in inner for name in (*part.co_names, *part.co_freevars)}
    # What no code is made of: annotations of locals.
    names.update(name for found in _ANNOTATION.findall(text) for name in _IDENTIFIER.findall(found))
    if names & {"getattr", "hasattr"}:
        names.update(const for part in inner for const in part.co_consts if isinstance(const, str))
    ops = {op for part in inner for op in part.co_code[::2]}
    names.update(method for op in ops & _METHODS.keys() for method in _METHODS[op])
    if names & _MAKERS and not _CALLS.isdisjoint(ops):
        names.update(("__init__", "__new__", "__post_init__"))
    names.update(method for name in names & _METHODS_OF_NAMES.keys() for method in _METHODS_OF_NAMES[name])
    if any(isinstance(const, str) and "%" in const for part in inner for const in part.co_consts):
        names.update(_SHOWING)
    return CodeFacts(text, _spelled(code), frozenset(names), _changes(inner, names, ops))


def _changes(inner: list[CodeType], names: set[str], ops: set[int]) -> str:
    looks = names & _LOOKS_ANYWHERE
    called = {name for part in inner for name in part.co_names if callable(getattr(builtins, name, None))}
    unsure = {name for name in called - PURE_BUILTINS if not isinstance(getattr(builtins, name), type)}
    if looks or unsure:
        return f"uses `{min(looks | unsure)}`"
    return next((what for op, what in _CHANGES.items() if op in ops), "")


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


@cache
def package_of(file: str) -> str:
    """The folder among the installed packages that a file belongs to; "" if it was not installed."""
    for part in _PACKAGES:
        _, found, rest = file.partition(part)
        if found:
            return rest.partition(sep)[0]
    return ""


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


def full_name(kind: type) -> str:
    """The name of a class, with its module's if it is not Python's own."""
    module = module_of(kind)
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


@lru_cache(1024)
def is_plain(kind: Any) -> bool:
    """Whether instances are made of attributes alone, by classes written in Python by the user: the methods of a
    library's class look up names that no key has."""
    for base in kind.__mro__[:-1]:
        if full_name(base) in _BARE:
            continue
        new = vars(base).get("__new__")
        if is_fixed_module(module_of(base)) or not (new is None or isinstance(new, (FunctionType, staticmethod))):
            return False
    return True


def is_pure_library(module: str, name: str, qualified: str = "") -> bool:
    """Whether that function or class of a library depends on nothing but its arguments, and changes nothing.
    `qualified`: its name with that of its class."""
    library = module.lstrip("_").partition(".")[0]
    if library == "numpy":
        kind = vars(np).get(name)  # asked for, numpy would import parts of itself
        scalar = isinstance(kind, np.ufunc) or (isinstance(kind, type) and issubclass(kind, np.generic))
        return not module.startswith("numpy.random") and (
            name in _PURE_NUMPY or scalar or module.startswith("numpy.linalg")
        )
    if library == "pathlib":  # of other paths, methods ask the file system
        return qualified.startswith("PurePath")
    return library in _PURE_LIBRARIES and (library == "weft" or name not in _LOOKS_BY_NAME)
